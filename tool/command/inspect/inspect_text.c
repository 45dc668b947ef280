/* SPDX-License-Identifier: Apache-2.0 */
#include "command/inspect/inspect.h"

#include "base/experimental.h"
#include "base/numbers.h"
#include "base/out.h"
#include "filter/filter_report.h"
#include "filter/growth.h"
#include "key/rule.h"
#include "tool.h"

#include <math.h>
#include <stdio.h>

/* "0.009983 (1 in 100)" */
enum { RATE_BYTES = 2 * TOOL_NUMBER_BYTES + 4 };

static const char *rate_text(char *text, double rate)
{
    char odds[TOOL_NUMBER_BYTES];
    /* Plus zero: an empty filter has rate 0, not -0. */
    snprintf(text, RATE_BYTES, "%.4g (%s)", rate + 0.0, tool_format_odds(odds, rate));
    return text;
}

static void print_fact(struct tool_out *out, const char *name, const char *text)
{
    tool_out_format(out, "  %-16s %s\n", name, text);
}

/* Of more than one. */
static const char *cells_name(const bloomery_info *info)
{
    return info->counter_max > 0 ? "counters" : "bits";
}

static void print_shape(struct tool_out *out, const struct tool_findings *report)
{
    const bloomery_info *info = &report->info;
    char text[320], memory[TOOL_NUMBER_BYTES], file[TOOL_NUMBER_BYTES];
    const char *kind = bloomery_kind_name((int)info->kind);
    if (!info->has_bits)
        snprintf(text, sizeof(text), "%s: %u or %u columns, in %u layer%s", kind, info->probes - 1,
                 info->probes, info->layers, info->layers == 1 ? "" : "s");
    else if (report->dialect != NULL && info->blocks_per_key > 0)
        snprintf(text, sizeof(text), "%s: %u bit%s of one block for a key", kind, info->probes,
                 info->probes == 1 ? "" : "s");
    else if (info->blocks_per_key > 0)
        snprintf(text, sizeof(text), "%s: %u block%s of 512 %s for a key, %u %s%s in %s", kind,
                 info->blocks_per_key, info->blocks_per_key == 1 ? "" : "s", cells_name(info),
                 info->probes, info->counter_max > 0 ? "counter" : "bit",
                 info->probes == 1 ? "" : "s", info->blocks_per_key == 1 ? "it" : "each");
    else
        snprintf(text, sizeof(text), "%s: %u bit%s for a key, anywhere", kind, info->probes,
                 info->probes == 1 ? "" : "s");
    print_fact(out, "kind", text);
    if (info->kind == BLOOMERY_SCALABLE) { /* of RedisBloom some never grow */
        snprintf(text, sizeof(text), "%u%s", info->layers,
                 info->layers > 1     ? ", this being the newest"
                 : info->dialect == 0 ? "; it grows"
                                      : "");
        print_fact(out, "layers", text);
    }
    snprintf(text, sizeof(text), "%s, in a file of %s", tool_format_size(memory, info->bytes),
             tool_format_size(file, report->origin.dialect != NULL ? report->origin.bytes
                                                                   : info->file_bytes));
    print_fact(out, "memory", text);
}

static const char *key_place(const bloomery_info *info)
{
    if (info->secret_in_file)
        return "in this file";
    return info->secret_known ? "kept outside, and given" : "kept outside, and not given";
}

/* The other system, and the known remarks on its filters. */
static void print_dialect(struct tool_out *out, const struct tool_findings *report)
{
    char text[600];
    const char *variant = bloomery_dialect_variant(report->filter);
    if (report->dialect == NULL)
        return;
    snprintf(text, sizeof(text), "%s%s%s: %s", report->dialect->name,
             variant != NULL ? ", variant " : "", variant != NULL ? variant : "",
             report->dialect->description);
    print_fact(out, "dialect", text);
    for (uint32_t i = 0; bloomery_dialect_remark(report->filter, i, text, sizeof(text)); i++)
        print_fact(out, "remark", text);
}

static void print_hash(struct tool_out *out, const bloomery_info *info)
{
    char text[120];
    const char *name = bloomery_hash_name(info->hash);
    if (info->dialect != 0) {
        snprintf(text, sizeof(text), "%s, seed %llu", name != NULL ? name : "unknown",
                 (unsigned long long)info->seed);
        print_fact(out, "hash", text);
        return;
    }
    if (info->secret_fingerprint != 0)
        snprintf(text, sizeof(text), "SipHash-2-4 with a secret (%016llx), %s",
                 (unsigned long long)info->secret_fingerprint, key_place(info));
    else
        snprintf(text, sizeof(text), "XXH3-%s, seed %llu",
                 info->hash == BLOOMERY_HASH_XXH3_128 ? "128" : "64",
                 (unsigned long long)info->seed);
    print_fact(out, "hash", text);
}

static void print_rule(struct tool_out *out, const bloomery_info *info)
{
    char text[TOOL_RULE_TEXT_BYTES];
    if (!tool_rule_is_none(&info->rule))
        print_fact(out, "keys made by", tool_rule_describe(&info->rule, text));
}

/* A note comes from the file's maker: control characters are not sent to a terminal. */
static void print_note(struct tool_out *out, const char *note)
{
    char text[BLOOMERY_NOTE_BYTES + 1];
    size_t length = 0;
    for (; note[length] != '\0' && length < BLOOMERY_NOTE_BYTES; length++) {
        unsigned char byte = (unsigned char)note[length];
        text[length] = byte < 0x20 || byte == 0x7f ? ' ' : note[length];
    }
    text[length] = '\0';
    print_fact(out, "note", tool_printable(text));
}

static void print_plan(struct tool_out *out, const bloomery_info *info)
{
    char text[RATE_BYTES + TOOL_NUMBER_BYTES + TOOL_ROOM_BYTES + 64], keys[TOOL_NUMBER_BYTES],
        rate[RATE_BYTES], space[TOOL_ROOM_BYTES];
    if (info->planned_keys > 0 && info->planned_rate > 0)
        snprintf(text, sizeof(text), "%s key%s at a rate of %s%s%s",
                 tool_format_count(keys, info->planned_keys), info->planned_keys == 1 ? "" : "s",
                 rate_text(rate, info->planned_rate),
                 info->can_grow && info->dialect == 0 ? ", however far it grows" : "",
                 tool_describe_room(space, info));
    else
        snprintf(text, sizeof(text), "unknown");
    print_fact(out, "planned for", text);
}

static void print_state(struct tool_out *out, const struct tool_findings *report)
{
    const bloomery_info *info = &report->info;
    const bloomery_scan_result *scan = &report->scan;
    char text[200], first[TOOL_NUMBER_BYTES], second[TOOL_NUMBER_BYTES], rate[RATE_BYTES];
    snprintf(text, sizeof(text), "%s of %s (%.2f %%)", tool_format_count(first, scan->bits_set),
             tool_format_count(second, info->bits), 100 * scan->fill);
    if (info->has_bits)
        print_fact(out, info->counter_max > 0 ? "counters used" : "bits set", text);
    if (info->counter_max > 0) {
        snprintf(text, sizeof(text), "%s, at %u", tool_format_count(first, scan->saturated_cells),
                 info->counter_max);
        print_fact(out, "saturated", text);
    }
    if (isinf(scan->estimated_keys))
        snprintf(text, sizeof(text), "any number: all %s %s", cells_name(info),
                 info->counter_max > 0 ? "used" : "set");
    else
        snprintf(text, sizeof(text), "about %s, after %s add%s%s",
                 tool_format_count(first, (uint64_t)(scan->estimated_keys + 0.5)),
                 tool_format_count(second, info->adds), info->adds == 1 ? "" : "s",
                 report->over_full ? ": more than planned" : "");
    if (!info->has_bits) /* they were counted as it was built */
        snprintf(text, sizeof(text), "%s",
                 tool_format_count(first, (uint64_t)(scan->estimated_keys + 0.5)));
    if (report->dialect != NULL && info->adds == 0 && scan->bits_set > 0 &&
        !isinf(scan->estimated_keys))
        snprintf(text, sizeof(text), "about %s; the file does not count them", first);
    print_fact(out, "keys in it", text);
    print_fact(out, "rate, predicted", rate_text(rate, scan->expected_rate));
    print_fact(out, "rate, live", rate_text(rate, scan->live_rate));
}

static void print_better(struct tool_out *out, const struct tool_findings *report)
{
    const bloomery_info *info = &report->info;
    const bloomery_scan_result *scan = &report->scan;
    char text[200], keys[TOOL_NUMBER_BYTES], planned[TOOL_NUMBER_BYTES];
    snprintf(text, sizeof(text),
             "right: measured agrees with live, which is better than planned: about %s different "
             "key%s of %s planned",
             tool_format_count(keys, (uint64_t)(scan->estimated_keys + 0.5)),
             scan->estimated_keys >= 0.5 && scan->estimated_keys < 1.5 ? "" : "s",
             tool_format_count(planned, info->planned_keys));
    print_fact(out, "verdict", text);
}

static void print_measurement(struct tool_out *out, const struct tool_inspection *request,
                              const struct tool_findings *report)
{
    char text[400], first[TOOL_NUMBER_BYTES], second[TOOL_NUMBER_BYTES], rate[RATE_BYTES];
    snprintf(text, sizeof(text), "%s: %s of %s absent keys; 95 %% interval %.4g to %.4g",
             rate_text(rate, (double)report->hits / (double)request->measure),
             tool_format_count(first, report->hits), tool_format_count(second, request->measure),
             report->interval.low, report->interval.high);
    print_fact(out, "rate, measured", text);
    const double expected = (double)request->measure * report->scan.live_rate;
    if (!report->hits_plausible)
        print_fact(out, "verdict",
                   "WRONG: the measured rate is not that of these bits, by more than chance");
    else if (!report->enough_queries) {
        snprintf(text, sizeof(text),
                 "none: too few queries to tell, since only about %.3g false positives are "
                 "expected",
                 expected);
        print_fact(out, "verdict", text);
    } else if (!tool_findings_fault(report) && report->part_full)
        print_better(out, report);
    else if (!tool_findings_fault(report))
        print_fact(out, "verdict",
                   report->info.planned_rate > 0
                       ? "right: measured agrees with live, and live with what was planned"
                       : "right: measured agrees with live");
    if (report->over_full)
        print_fact(out, "verdict", "OVER FULL: it holds more keys than it was planned for");
    if (report->too_high)
        print_fact(out, "verdict",
                   "TOO HIGH: the live rate is above the planned one, though the keys are not "
                   "too many");
}

/* Lines of the file, of which a terminal is to see no control characters: they are escaped. */
static void print_canaries(struct tool_out *out, const struct tool_canaries *canaries)
{
    char text[2 * TOOL_NUMBER_BYTES + 40], hits[TOOL_NUMBER_BYTES], queried[TOOL_NUMBER_BYTES];
    if (canaries->hits == 0)
        snprintf(text, sizeof(text), "none of %s may be in it",
                 tool_format_count(queried, canaries->queried));
    else
        snprintf(text, sizeof(text), "FOUND: %s of %s may be in it",
                 tool_format_count(hits, canaries->hits),
                 tool_format_count(queried, canaries->queried));
    print_fact(out, "canaries", text);
    for (size_t i = 0; i < canaries->shown; i++)
        print_fact(out, i == 0 ? "found" : "", canaries->text[i]);
    if (canaries->hits > canaries->shown)
        print_fact(out, "", "...");
}

int tool_inspect_text(const struct tool_inspection *request, const struct tool_findings *report)
{
    const bloomery_info *info = &report->info;
    struct tool_out out;
    tool_out_start(&out);
    tool_out_name(&out, request->path);
    if (report->origin.dialect != NULL)
        tool_out_format(&out, ": a filter of another system, %s\n", report->origin.dialect->name);
    else
        tool_out_format(&out, ": a Bloomery filter, format version %u\n", info->format_version);
    print_dialect(&out, report);
    print_shape(&out, report);
    print_hash(&out, info);
    print_rule(&out, info);
    if (info->note != NULL)
        print_note(&out, info->note);
    print_plan(&out, info);
    print_state(&out, report);
    if (report->measured)
        print_measurement(&out, request, report);
    if (request->canary != NULL)
        print_canaries(&out, &report->canaries);
    if (report->origin.dialect != NULL && (!report->verified || report->intact))
        print_fact(&out, "checksums", "none: this format has none");
    else if (report->verified)
        print_fact(&out, "checksums", report->intact ? "all right" : report->damage.text);
    else
        print_fact(&out, "checksums", "of the header only; --verify compares all");
    if (info->layers > 1)
        tool_layers_print(&out, report->filter);
    return tool_out_finish(&out, tool_findings_any(report) ? TOOL_NONE : TOOL_FOUND);
}
