/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/growth.h"

#include "base/numbers.h"
#include "tool.h"

#include <math.h>

static const char head[] =
    "  link            keys     memory lines probes       rate            odds\n";

/* ---- Links to come --------------------------------------------------------------------------- */

/* The next link of a chain that is to take `keys` keys and can take `room` of them so far. */
static bool next_link(const bloomery_plan *plan, uint64_t keys, uint64_t room, uint32_t index,
                      bloomery_plan *link)
{
    return room < keys && bloomery_plan_link(plan, index, link, NULL) == BLOOMERY_OK;
}

bool tool_growth_reaches(const bloomery_plan *plan, uint64_t keys)
{
    char most[TOOL_NUMBER_BYTES], wanted[TOOL_NUMBER_BYTES];
    uint64_t room = 0;
    bloomery_plan link;
    for (uint32_t i = 0; next_link(plan, keys, room, i, &link); i++)
        room += link.keys;
    if (room >= keys)
        return true;
    tool_error(
        "a scalable filter that begins with these keys and this rate grows to %s keys at the "
        "most, not to %s",
        tool_format_count(most, room), tool_format_count(wanted, keys));
    return false;
}

void tool_growth_print(struct tool_out *out, const bloomery_plan *plan, uint64_t keys)
{
    char count[TOOL_NUMBER_BYTES], memory[TOOL_NUMBER_BYTES], rate[TOOL_NUMBER_BYTES],
        odds[TOOL_NUMBER_BYTES];
    uint64_t room = 0, bytes = 0;
    bloomery_plan link;
    tool_out_format(out, "\nWith %s keys it will be a chain of\n\n%s",
                    tool_format_count(count, keys), head);
    for (uint32_t i = 0; next_link(plan, keys, room, i, &link); i++) {
        room += link.keys;
        bytes += link.bytes;
        tool_out_format(out, "  %4u %15s %10s %5u %6u %10s %15s\n", i + 1,
                        tool_format_count(count, link.keys), tool_format_size(memory, link.bytes),
                        link.lines, link.probes, tool_format_rate(rate, link.rate),
                        tool_format_odds(odds, link.rate));
    }
    tool_out_format(out, "  all  %15s %10s, at a rate under %s\n", tool_format_count(count, room),
                    tool_format_size(memory, bytes), tool_format_odds(odds, plan->rate));
}

json_t *tool_growth_json(const bloomery_plan *plan, uint64_t keys)
{
    json_t *links = tool_json_array();
    uint64_t room = 0;
    bloomery_plan link;
    for (uint32_t i = 0; next_link(plan, keys, room, i, &link); i++) {
        json_t *object = tool_json_object();
        tool_json_add(object, "keys", tool_json_count(link.keys));
        tool_json_add(object, "rate", tool_json_number(link.rate));
        tool_json_add(object, "bytes", tool_json_count(link.bytes));
        tool_json_add(object, "lines", tool_json_count(link.lines));
        tool_json_add(object, "probes", tool_json_count(link.probes));
        tool_json_append(links, object);
        room += link.keys;
    }
    return links;
}

/* ---- Links there are ------------------------------------------------------------------------- */

static bool read_link(const bloomery_filter *filter, uint32_t index, bloomery_link_info *link)
{
    *link = (bloomery_link_info)BLOOMERY_LINK_INFO;
    return bloomery_link_info_get(filter, index, true, link) == BLOOMERY_OK;
}

void tool_links_print(struct tool_out *out, const bloomery_filter *filter)
{
    char keys[TOOL_NUMBER_BYTES], planned[TOOL_NUMBER_BYTES], memory[TOOL_NUMBER_BYTES],
        rate[TOOL_NUMBER_BYTES], live[TOOL_NUMBER_BYTES];
    bloomery_link_info link;
    tool_out_format(out, "\n  %4s %15s %15s %10s %5s %6s %10s %10s\n", "link", "keys, about",
                    "planned for", "memory", "lines", "probes", "rate", "live");
    for (uint32_t i = 0; read_link(filter, i, &link); i++)
        tool_out_format(out, "  %4u %15s %15s %10s %5u %6u %10s %10s\n", i + 1,
                        isinf(link.estimated_keys)
                            ? "all bits set"
                            : tool_format_count(keys, (uint64_t)(link.estimated_keys + 0.5)),
                        tool_format_count(planned, link.planned_keys),
                        tool_format_size(memory, link.bytes), link.lines, link.probes,
                        tool_format_rate(rate, link.planned_rate),
                        tool_format_rate(live, link.live_rate));
    tool_out_text(out, "\n");
}

json_t *tool_links_json(const bloomery_filter *filter)
{
    json_t *links = tool_json_array();
    bloomery_link_info link;
    for (uint32_t i = 0; read_link(filter, i, &link); i++) {
        json_t *object = tool_json_object();
        tool_json_add(object, "lines", tool_json_count(link.lines));
        tool_json_add(object, "probes", tool_json_count(link.probes));
        tool_json_add(object, "bits", tool_json_count(link.bits));
        tool_json_add(object, "bytes", tool_json_count(link.bytes));
        tool_json_add(object, "adds", tool_json_count(link.adds));
        tool_json_add(object, "planned_keys", tool_json_count(link.planned_keys));
        tool_json_add(object, "planned_rate", tool_json_number(link.planned_rate));
        tool_json_add(object, "bits_set", tool_json_count(link.bits_set));
        tool_json_add(object, "estimated_keys", tool_json_number(link.estimated_keys));
        tool_json_add(object, "live_rate", tool_json_number(link.live_rate));
        tool_json_append(links, object);
    }
    return links;
}
