/* SPDX-License-Identifier: Apache-2.0 */
/* The section of INFO: what the filters really take, and what was done with them. */
#include "bf.h"

struct bf_counts bf_counts;

static void report(server_report *report, int crash)
{
    (void)crash; /* counters are safe to read then, too */
    if (server.InfoAddSection(report, "") != SERVER_OK)
        return;
    (void)server.InfoAddFieldCString(report, "bloomery_version", bloomery_version());
#define TELL(name) (void)server.InfoAddFieldULongLong(report, #name, atomic_load(&bf_counts.name));
    BF_COUNTS(TELL)
#undef TELL
}

void bf_info_register(server_context *context)
{
    if (server.RegisterInfoFunc != NULL && server.InfoAddSection != NULL &&
        server.InfoAddFieldULongLong != NULL && server.InfoAddFieldCString != NULL)
        (void)server.RegisterInfoFunc(context, report);
}
