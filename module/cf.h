/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cuckoo filters, the keys of CF.*:
 *
 *     cf_add.c     CF.RESERVE, CF.ADD, CF.INSERT, and the last two with NX
 *     cf_ask.c     CF.EXISTS, CF.MEXISTS, CF.COUNT, CF.INFO, CF.DEBUG
 *     cf_change.c  CF.DEL, CF.COMPACT, CF.SCANDUMP, CF.LOADCHUNK
 *     cf_value.c   what such a key holds; cf_type.c: how it is saved
 *
 * A key holds a bf_value whose filter is a cuckoo filter. So its memory, its limits, the pages of
 * large sub-filters and its release are those of Bloom filters.
 */
#ifndef BLOOMERY_MODULE_CF_H
#define BLOOMERY_MODULE_CF_H

#define BLOOMERY_EXPERIMENTAL

#include "bf.h"

#include <bloomery/experimental.h>

/* What a filter is made with. */
struct cf_parameters {
    uint64_t capacity;
    uint32_t bucket_size;
    uint32_t iterations;
    uint32_t growth; /* 0: it does not grow */
};

extern server_type *cf_type;

/* ---- Values ---------------------------------------------------------------------------------- */

/* A value with an empty filter. Limits are those of `context`. */
bloomery_status cf_value_create(server_context *context, const struct cf_parameters *parameters,
                                struct bf_value **value);

/* A value made of a header, all slots empty. Limits are those of `context`; NULL: none. */
bloomery_status cf_value_from_header(server_context *context, const void *header, size_t bytes,
                                     struct bf_value **value);

/* A copy without limits, or NULL. */
struct bf_value *cf_value_copy(const struct bf_value *value);

void cf_value_free(void *value);

void cf_facts_of(const struct bf_value *value, bloomery_cuckoo_info *facts);

/* The header with which CF.SCANDUMP begins. */
void cf_header(const struct bf_value *value, uint8_t header[BLOOMERY_CUCKOO_HEADER]);

/* The number of bytes that the reference gives for such a key (CF.INFO, MEMORY USAGE). */
uint64_t cf_told_bytes(const struct bf_value *value);

/* The slots of a sub-filter, 0 the oldest, a byte each. */
const char *cf_slots(const struct bf_value *value, const bloomery_cuckoo_info *facts,
                     uint32_t index, uint64_t *bytes);

/* Opens a key of the type. The caller closes it in any case. */
enum bf_found cf_open(server_context *context, server_string *name, int mode,
                      struct bf_opened *opened);

/* The type of these keys, under the reference's name if that is free; `is_reference` says whether
 * it was. False: none could be had. */
bool cf_type_create(server_context *context, bool *is_reference);

/* ---- Replication ----------------------------------------------------------------------------- */

/* Others get to see CF.* if it is ours, else BLOOM.CF.*. */
void cf_names_choose(bool drop_in);

/* A filter was made. */
void cf_made(server_context *context, server_string *name, const struct cf_parameters *made);

/* These items were added, in this order. `command`: its name, if the command as it came did that
 * and nothing else, and means the same on every server; else NULL. */
void cf_added(server_context *context, const server_string *command, server_string *name,
              server_string *const *items, size_t count);

/* Pieces of a filter, for LOADCHUNK in a rewritten AOF. */
const char *cf_loadchunk_name(void);

/* A command of a key and other words, which is passed on as it came, under the name that others
 * know. */
enum cf_change { CF_DELETED, CF_COMPACTED, CF_LOADED };
void cf_changed(server_context *context, enum cf_change change, server_string **words, int count);

/* ---- Commands -------------------------------------------------------------------------------- */

int cf_reserve(server_context *context, server_string **words, int count);
int cf_add(server_context *context, server_string **words, int count);
int cf_addnx(server_context *context, server_string **words, int count);
int cf_insert(server_context *context, server_string **words, int count);
int cf_insertnx(server_context *context, server_string **words, int count);
int cf_exists(server_context *context, server_string **words, int count);
int cf_mexists(server_context *context, server_string **words, int count);
int cf_count(server_context *context, server_string **words, int count);
int cf_del(server_context *context, server_string **words, int count);
int cf_compact(server_context *context, server_string **words, int count);
int cf_info(server_context *context, server_string **words, int count);
int cf_debug(server_context *context, server_string **words, int count);
int cf_scandump(server_context *context, server_string **words, int count);
int cf_loadchunk(server_context *context, server_string **words, int count);

#endif /* BLOOMERY_MODULE_CF_H */
