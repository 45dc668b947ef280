/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inspect: a filter's own figures, and whether they are true.
 *
 * Four rates are distinguished. The planned one was promised for the planned number of keys. The
 * predicted one is what filters of this shape have on average with the keys that are in it now. The
 * live one is that of these very bits, exact for a random absent key. The measured one is found by
 * queries. Measured and live must agree within chance whatever happened to the filter before, or
 * queries are broken. Live and planned must agree within what small filters vary by. Otherwise the
 * plan was wrong, unless the filter holds more keys than planned.
 */
#include "base/bits.h"
#include "base/experimental.h"
#include "base/numbers.h"
#include "base/options.h"
#include "base/progress.h"
#include "base/random.h"
#include "base/report.h"
#include "base/statistics.h"
#include "filter/files.h"
#include "filter/filter_file.h"
#include "filter/filter_report.h"
#include "input/chunks.h"
#include "key/rule.h"
#include "key/wrong_form.h"
#include "tool.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CANARIES_SHOWN = 10, CANARY_BYTES = 80 };

/* Keys that a filter must not have. A canary that the filter takes for a member shows that the
 * filter is over full, or wrong, or holds other keys than was thought. */
struct canaries {
    uint64_t queried;
    uint64_t hits; /* those that the filter may have */
    size_t shown;  /* of them, the first */
    char text[CANARIES_SHOWN][CANARY_BYTES];
};

struct inspection {
    /* What was asked for. */
    const char *path;
    const char *secret_file;
    struct tool_dialect_choice chosen;
    struct tool_rule_choice choice; /* of another system's file, which keeps no rule */
    const char *canary;             /* a file of keys, or NULL */
    uint64_t measure;               /* how many keys, 0: do not */
    uint64_t seed;
    bool verify;
    bool json;

    /* What was found. */
    const bloomery_filter *filter;
    struct tool_origin origin;
    const bloomery_dialect *dialect; /* of the filter; NULL: our own */
    bloomery_info info;
    bloomery_scan_result scan;
    bool intact; /* if it was verified */
    bloomery_error damage;
    uint64_t hits; /* if it was measured */
    struct tool_interval interval;
    bool hits_plausible; /* measured agrees with live */
    bool enough_queries; /* for a measured rate that says something */
    bool over_full;      /* more keys than planned */
    bool too_high;       /* live above planned without that excuse */
    bool part_full;      /* clearly fewer keys than planned, and so a better rate */
    bool above_planned;  /* live above planned, for whatever reason and by however little */
    struct canaries canaries;
};

/* ---- The command line ------------------------------------------------------------------------ */

static const struct tool_option options[] = {
    {0, "verify", NULL, TOOL_FLAG(struct inspection, verify),
     .help = "read the whole file and compare all checksums",
     .more = "Without it, only the header's checksum is compared."},
    {0, "measure", "N", TOOL_COUNT(struct inspection, measure, 1, TOOL_KEYS_MAX),
     .help = "look up N random absent keys, and test whether the measured rate is the "
             "expected one. With fewer than 10 expected false positives there is no verdict",
     .more = "Then enough_queries of --json is false."},
    {0, "seed", "S", TOOL_COUNT(struct inspection, seed, 0, UINT64_MAX),
     .help = "seed the random keys with S (default 0)"},
    {0, "canary", "FILE", TOOL_TEXT(struct inspection, canary),
     .help = "look up the lines of FILE, which must not be in the filter, and print those "
             "that are possibly in it. The filter's rule makes keys of them. If hexadecimal "
             "digests are found only in the other case, a hint on standard error says so. The "
             "hint is not a finding",
     .more = "The number of lines that are possibly in it is printed, with the first ten. A "
             "single one is a finding."},
    {0, "secret-file", "FILE", TOOL_TEXT(struct inspection, secret_file),
     .help = "read the secret from FILE, for a filter that does not contain it. Only "
             "--measure and --canary need it"},
    {0, "dialect", "D", TOOL_DIALECT(struct inspection, chosen),
     .help = "read another system's file. D is NAME[,parameter=value...], as listed by "
             "'bloomery dialects'. Files with a magic number do not need it"},
    TOOL_PROGRESS_ROW,
    {0, "json", NULL, TOOL_FLAG(struct inspection, json),
     .help = "print the report as one JSON object, with unrounded numbers"},
    TOOL_OPTIONS_END,
};

static const struct tool_option_group groups[] = {
    {.rows = options},
    {.rows = tool_text_options, .offset = offsetof(struct inspection, choice), .unlisted = true},
    {.rows = tool_rule_options, .offset = offsetof(struct inspection, choice), .unlisted = true},
    TOOL_GROUPS_END,
};

/* ---- Measuring ------------------------------------------------------------------------------- */

enum {
    KEY_BYTES = 16,
    BATCH = 4096,
};

/* How many of `count` random keys the filter takes for members. That one of them is one has a
 * chance of the number of keys over 2^128. */
static uint64_t query_random_keys(const bloomery_filter *filter, uint64_t count, uint64_t seed)
{
    uint64_t words[BATCH][KEY_BYTES / sizeof(uint64_t)];
    bloomery_key keys[BATCH];
    for (size_t i = 0; i < BATCH; i++)
        keys[i] = bloomery_key_of(words[i], KEY_BYTES);

    struct tool_random random = tool_random_make(seed, 20);
    struct tool_progress progress;
    tool_progress_start(&progress, "querying", false);
    uint64_t hits = 0;
    for (uint64_t done = 0; done < count;) {
        size_t batch = count - done < BATCH ? (size_t)(count - done) : (size_t)BATCH;
        for (size_t i = 0; i < batch; i++)
            for (size_t w = 0; w < KEY_BYTES / sizeof(uint64_t); w++)
                words[i][w] = tool_random_next(&random);
        hits += tool_batch_query(filter, keys, batch, NULL);
        done += batch;
        tool_progress_update(&progress, done, done, count);
    }
    tool_progress_stop(&progress);
    return hits;
}

/* With this many expected hits the measured rate is within 60 % of the true one. */
static const double hits_least = 10;

static void measure(struct inspection *it)
{
    const bloomery_info *info = &it->info;
    const bloomery_scan_result *scan = &it->scan;
    it->hits = query_random_keys(it->filter, it->measure, it->seed);
    assert(it->hits <= it->measure);
    it->interval = tool_wilson(it->hits, it->measure);
    it->hits_plausible = tool_plausible(it->hits, it->measure, scan->live_rate);
    it->enough_queries =
        scan->live_rate == 0 || (double)it->measure * scan->live_rate >= hits_least;
    /* A tenth fewer, and by more than the estimate is off in a small filter. */
    const double planned = (double)info->planned_keys;
    it->part_full = planned > 0 && scan->live_rate < info->planned_rate &&
                    scan->estimated_keys < planned * 0.9 - 0.5 * sqrt(planned);
    it->above_planned = info->planned_rate > 0 && scan->live_rate > info->planned_rate;
    /* A chain has no one plan. Other systems often don't keep the plan that was requested, which is
     * remarked on. */
    const bloomery_plan shape = {.kind = info->kind,
                                 .bits = info->bits,
                                 .blocks_per_key = info->blocks_per_key,
                                 .probes = info->probes};
    it->too_high = !it->over_full && info->planned_keys > 0 && info->planned_rate > 0 &&
                   !info->can_grow && it->dialect == NULL &&
                   scan->live_rate >
                       fmax(info->wanted_rate,
                            info->planned_rate * tool_allowed_factor(&shape, info->planned_keys));
}

/* ---- Canaries -------------------------------------------------------------------------------- */

static void query_batch(const bloomery_filter *filter, const bloomery_key *records, size_t count,
                        const struct tool_made *made, struct canaries *canaries)
{
    uint64_t of_keys[TOOL_BATCH_WORDS], of_records[TOOL_BATCH_WORDS];
    canaries->queried += made->count;
    if (tool_batch_query(filter, made->keys, made->count, of_keys) == 0)
        return;
    tool_made_spread(made, count, of_keys, of_records);
    for (size_t i = 0; i < count; i++)
        if (tool_bit(of_records, i)) {
            canaries->hits++;
            if (canaries->shown < CANARIES_SHOWN)
                tool_show_bytes(canaries->text[canaries->shown++], CANARY_BYTES, records[i].data,
                                records[i].bytes);
        }
}

/* Queries a filter for all lines of a file, by its rule. `path`: "-" is stdin; it may be packed. If
 * none may be in the filter, `name`, but digests would be in the other case, a hint reports that.
 * False after a message. */
static bool query_canaries(const char *path, const char *name, const bloomery_filter *filter,
                           struct canaries *canaries)
{
    bloomery_info info = BLOOMERY_INFO;
    bloomery_info_get(filter, &info);
    union {
        const char *given;
        char *path; /* paths are not written to */
    } input = {.given = path};
    /* Without the place of keys in records, which no file keeps, lines are keys. */
    const struct tool_rule_choice none = {
        .layout.header = (info.rule.flags & BLOOMERY_RULE_HEADER) != 0 && info.rule.field != 0};
    const bloomery_key_rule rule = tool_rule_laid_out(&none, &info.rule);
    struct tool_source source = {.paths = &input.path, .count = 1, .delimiter = '\n', .threads = 1};
    tool_source_lay_out(&source, &none, &rule);
    struct tool_chunks *chunks = tool_chunks_open(&source, "querying");
    struct tool_chunk chunk = {0};
    struct tool_made *made = tool_made_new();
    struct tool_hint *hint = tool_hint_new();
    bloomery_key *records = tool_allocate(TOOL_BATCH_ROOM * sizeof(*records));
    *canaries = (struct canaries){0};
    while (tool_chunks_take(chunks, &chunk)) {
        size_t count;
        while ((count = tool_chunk_keys(&chunk, records)) > 0) {
            tool_rule_apply(&rule, &chunk, records, count, made);
            tool_hint_keep(hint, made->keys, made->count);
            query_batch(filter, records, count, made, canaries);
        }
    }
    tool_tally_place(&made->tally, chunks);
    bool all_read = tool_chunks_close(chunks);
    bool all_keys = tool_tally_say(&made->tally, &rule, "such records were not looked up") &&
                    tool_tally_has_keys(&made->tally, &rule, canaries->queried);
    /* Finding none proves nothing if the keys have another case than the filter's. */
    const struct tool_hint_answer answer = {.name = name};
    if (canaries->hits == 0 && all_read && all_keys && (rule.flags & TOOL_RULE_CHANGES) == 0)
        tool_hint_say(hint, filter, &answer);
    tool_hint_free(hint);
    free(records);
    tool_made_free(made);
    tool_chunk_free(&chunk);
    return all_read && all_keys;
}

/* ---- Files that can't be opened -------------------------------------------------------------- */

static const struct tool_report_form form = {.indent = 2, .label = 17};

/* A file whose header is damaged can't be opened; if damage was to be looked for, it is reported as
 * a finding. */
static int report_unreadable(const struct inspection *it, const struct tool_filter_file *file,
                             const bloomery_error *error)
{
    bool damage = error->status == BLOOMERY_CORRUPT || error->status == BLOOMERY_TRUNCATED;
    if (!it->verify || !damage) {
        tool_library_error(it->path, error);
        if (file->origin.dialect == NULL)
            tool_foreign_hint(file, "--dialect", error->status);
        else
            tool_foreign_hint_other(file, &it->chosen);
        return TOOL_ERROR;
    }
    struct tool_report *report = tool_report_start("inspect", form);
    tool_report_line(report, "%s: %s", it->path, error->text);
    tool_fact(report, "file", NULL, tool_text(it->path));
    tool_fact(report, "intact", NULL, tool_yes(false));
    tool_fact(report, "damage", NULL, tool_text(error->text));
    tool_fact(report, "finding", NULL, tool_yes(true));
    return tool_report_print(report, it->json, TOOL_NONE);
}

/* ---- The report ------------------------------------------------------------------------------ */

/* "0.009983 (1 in 100)". Plus zero: an empty filter has rate 0, not -0. */
#define RATE       "%.4g (%s)"
#define RATE_OF(x) (x) + 0.0, TOOL_SAY_ODDS(x)

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

/* Whether it is damaged, or measured and found wrong. */
static bool is_faulty(const struct inspection *it)
{
    return (it->verify && !it->intact) ||
           (it->measure > 0 && (!it->hits_plausible || it->over_full || it->too_high));
}

/* Whose file it is, and the known remarks on another system's filters. */
static void report_origin(struct tool_report *report, const struct inspection *it)
{
    const bloomery_dialect *dialect = it->dialect, *origin = it->origin.dialect;
    if (origin != NULL)
        tool_report_line(report, "%s: a filter of another system, %s", it->path, origin->name);
    else
        tool_report_line(report, "%s: a Bloomery filter, format version %u", it->path,
                         it->info.format_version);
    tool_fact(report, "file", NULL, tool_text(it->path));
    tool_fact(report, "dialect", NULL, tool_text(dialect != NULL ? dialect->name : NULL));
    tool_fact(report, "file_dialect", NULL, tool_text(origin != NULL ? origin->name : NULL));
    if (dialect == NULL)
        return;
    const char *variant = bloomery_dialect_variant(it->filter);
    tool_fact_say(report, "dialect", "%s%s%s: %s", dialect->name,
                  variant != NULL ? ", variant " : "", variant != NULL ? variant : "",
                  dialect->description);
    tool_fact(report, "variant", NULL, tool_text(variant));
    tool_remarks_add(report, "remarks", "remark", it->filter);
}

/* The numbers of a cuckoo filter, which RedisBloom names in the same way. */
static void report_tables(struct tool_report *report, const bloomery_filter *filter)
{
    bloomery_cuckoo_info info = BLOOMERY_CUCKOO_INFO;
    if (bloomery_cuckoo_info_get(filter, &info) != BLOOMERY_OK)
        return;
    tool_fact_say(report, "tables", "%u of %s buckets, %s; at most %u keys are moved", info.tables,
                  TOOL_SAY_COUNT(info.buckets),
                  info.growth == 0   ? "and never another"
                  : info.growth == 1 ? "each as large as the first"
                                     : "the first; the others are larger",
                  info.iterations);
    tool_fact(report, "tables", NULL, tool_count(info.tables));
    tool_fact(report, "buckets", NULL, tool_count(info.buckets));
    tool_fact(report, "slots", NULL, tool_count(info.slots));
    tool_fact(report, "iterations", NULL, tool_count(info.iterations));
    tool_fact(report, "growth", NULL, tool_count(info.growth));
    tool_fact(report, "removed", NULL, tool_count(info.removed));
}

static void report_shape(struct tool_report *report, const struct inspection *it)
{
    const bloomery_info *info = &it->info;
    const char *kind = bloomery_kind_name((int)info->kind), *bits = plural(info->probes);
    const uint64_t file_bytes = it->origin.dialect != NULL ? it->origin.bytes : info->file_bytes;
    const bool counting = info->counter_max > 0;
    if (!info->has_bits)
        tool_fact_say(report, "kind", "%s: %u or %u columns, in %u layer%s", kind, info->probes - 1,
                      info->probes, info->layers, plural(info->layers));
    else if (info->kind == BLOOMERY_CUCKOO)
        tool_fact_say(report, "kind",
                      "%s: a fingerprint of 8 bits in one of %u buckets of %u slot%s", kind,
                      info->blocks_per_key, info->probes, bits);
    else if (it->dialect != NULL && info->blocks_per_key > 0)
        tool_fact_say(report, "kind", "%s: %u bit%s of one block per key", kind, info->probes,
                      bits);
    else if (info->blocks_per_key > 0)
        tool_fact_say(report, "kind", "%s: %u block%s of 512 %s per key, %u %s%s in %s", kind,
                      info->blocks_per_key, plural(info->blocks_per_key),
                      counting ? "counters" : "bits", info->probes, counting ? "counter" : "bit",
                      bits, info->blocks_per_key == 1 ? "it" : "each");
    else
        tool_fact_say(report, "kind", "%s: %u bit%s per key, anywhere", kind, info->probes, bits);
    if (info->kind == BLOOMERY_SCALABLE) /* of RedisBloom some never grow */
        tool_fact_say(report, "layers", "%u%s", info->layers,
                      info->layers > 1     ? ", this being the newest"
                      : info->dialect == 0 ? "; it grows"
                                           : "");
    if (info->kind == BLOOMERY_CUCKOO)
        report_tables(report, it->filter);
    tool_fact_say(report, "memory", "%s, in a file of %s", TOOL_SAY_SIZE(info->bytes),
                  TOOL_SAY_SIZE(file_bytes));
    tool_fact(report, "format_version", NULL, tool_count(info->format_version));
    tool_fact(report, "kind", NULL, tool_text(kind));
    tool_fact(report, "layers", NULL, tool_count(info->layers));
    tool_fact(report, "blocks_per_key", NULL, tool_count(info->blocks_per_key));
    tool_fact(report, "probes", NULL, tool_count(info->probes));
    tool_fact(report, "bits", NULL, tool_count(info->bits));
    tool_fact(report, "cell_bits", NULL, tool_count(info->cell_bits));
    if (counting)
        tool_fact(report, "counter_max", NULL, tool_count(info->counter_max));
    tool_fact(report, "bytes", NULL, tool_size(info->bytes));
    tool_fact(report, "file_bytes", NULL, tool_size(file_bytes));
}

static void report_hash(struct tool_report *report, const bloomery_info *info)
{
    const char *name = bloomery_hash_name(info->hash);
    const unsigned long long seed = info->seed;
    const bool keyed = info->secret_fingerprint != 0;
    if (info->dialect != 0)
        tool_fact_say(report, "hash", "%s, seed %llu", name != NULL ? name : "unknown", seed);
    else if (keyed)
        tool_fact_say(report, "hash", "SipHash-2-4 with a secret (%016llx), %s",
                      (unsigned long long)info->secret_fingerprint,
                      info->secret_in_file ? "in this file"
                      : info->secret_known ? "kept outside, and given"
                                           : "kept outside, and not given");
    else
        tool_fact_say(report, "hash", "XXH3-%s, seed %llu",
                      info->hash == BLOOMERY_HASH_XXH3_128 ? "128" : "64", seed);
    tool_fact(report, "hash", NULL, tool_text(name));
    tool_fact(report, "seed", NULL, tool_decimal(info->seed));
    tool_fact(report, "secret_fingerprint", NULL,
              tool_known(keyed, tool_hex(info->secret_fingerprint)));
    tool_fact(report, "secret_in_file", NULL, tool_yes(info->secret_in_file));
}

/* The rule by which records become keys, and the maker's note. */
static void report_rule(struct tool_report *report, const bloomery_info *info)
{
    char text[TOOL_RULE_TEXT_BYTES];
    if (!tool_rule_is_none(&info->rule))
        tool_fact_say(report, "keys made by", "%s", tool_rule_describe(&info->rule, text));
    if (info->note != NULL) {
        char note[BLOOMERY_NOTE_BYTES + 1];
        snprintf(note, sizeof(note), "%s", info->note);
        for (char *at = note; *at != '\0'; at++)
            if ((unsigned char)*at < 0x20 || *at == 0x7f)
                *at = ' '; /* a line end is a blank, not an unknown letter */
        tool_fact_say(report, "note", "%s", note);
    }
    tool_fact(report, "note", NULL, tool_text(info->note));
    struct tool_report *flags = tool_fact_list(report, "rule");
    for (size_t i = 0; i < TOOL_RULE_NAMES; i++)
        if (info->rule.flags >> i & 1)
            tool_fact(flags, NULL, NULL, tool_text(tool_rule_names[i]));
    if (info->rule.field != 0) {
        tool_fact(report, "rule_field", NULL, tool_integer(info->rule.field));
        tool_fact(report, "rule_delimiter", NULL, tool_count(info->rule.delimiter));
    }
    if (info->rule.comment != 0)
        tool_fact(report, "rule_comment", NULL, tool_count(info->rule.comment));
}

static void report_plan(struct tool_report *report, const bloomery_info *info)
{
    char space[TOOL_ROOM_BYTES];
    if (info->planned_keys > 0 && info->planned_rate > 0)
        tool_fact_say(report, "planned for", "%s key%s at a rate of " RATE "%s%s",
                      TOOL_SAY_COUNT(info->planned_keys), plural(info->planned_keys),
                      RATE_OF(info->planned_rate),
                      info->can_grow && info->dialect == 0 ? ", however far it grows" : "",
                      tool_describe_room(space, info));
    else
        tool_fact_say(report, "planned for", "unknown");
    tool_fact(report, "adds", NULL, tool_count(info->adds));
    tool_fact(report, "planned_keys", NULL,
              tool_known(info->planned_keys > 0, tool_count(info->planned_keys)));
    tool_fact(report, "planned_rate", NULL,
              tool_known(info->planned_rate > 0, tool_number(info->planned_rate)));
    tool_fact(report, "wanted_rate", NULL,
              tool_known(info->wanted_rate > 0, tool_number(info->wanted_rate)));
}

static void report_state(struct tool_report *report, const struct inspection *it)
{
    const bloomery_info *info = &it->info;
    const bloomery_scan_result *scan = &it->scan;
    const bool counting = info->counter_max > 0, full = isinf(scan->estimated_keys);
    if (info->has_bits)
        tool_fact_say(report,
                      counting                        ? "counters used"
                      : info->kind == BLOOMERY_CUCKOO ? "slots taken"
                                                      : "bits set",
                      "%s of %s (%.2f %%)", TOOL_SAY_COUNT(scan->bits_set),
                      TOOL_SAY_COUNT(info->bits), 100 * scan->fill);
    tool_fact(report, "bits_set", NULL, tool_count(scan->bits_set));
    if (counting) {
        tool_fact(report, "saturated_cells", NULL, tool_count(scan->saturated_cells));
        tool_fact_say(report, "saturated", "%s, at %u", TOOL_SAY_COUNT(scan->saturated_cells),
                      info->counter_max);
    }
    if (full)
        tool_fact_say(report, "keys in it",
                      "unknown: all %s, so any key is reported as possibly in it",
                      counting ? "counters are used" : "bits are set");
    else if (info->has_bits && scan->bits_set == 0)
        tool_fact_say(report, "keys in it", "none: no %s",
                      counting ? "counter is used" : "bit is set");
    else if (it->dialect != NULL && info->adds == 0 && scan->bits_set > 0)
        tool_fact_say(report, "keys in it", "about %s; the file does not count them",
                      TOOL_SAY_ABOUT(scan->estimated_keys));
    else if (!info->has_bits) /* they were counted as it was built */
        tool_fact(report, NULL, "keys in it", tool_about(scan->estimated_keys));
    else
        tool_fact_say(report, "keys in it", "about %s, after %s add%s%s",
                      TOOL_SAY_ABOUT(scan->estimated_keys), TOOL_SAY_COUNT(info->adds),
                      plural(info->adds), it->over_full ? ": more than planned" : "");
    tool_fact_say(report, "rate, predicted", RATE, RATE_OF(scan->expected_rate));
    tool_fact_say(report, "rate, live", RATE, RATE_OF(scan->live_rate));
    tool_fact(report, "fill", NULL, tool_number(scan->fill));
    tool_fact(report, "estimated_keys", NULL, tool_about(scan->estimated_keys));
    tool_fact(report, "over_full", NULL, tool_yes(it->over_full));
    tool_fact(report, "predicted_rate", NULL, tool_number(scan->expected_rate));
    tool_fact(report, "live_rate", NULL, tool_number(scan->live_rate));
    if (info->kind == BLOOMERY_SCALABLE) /* of RedisBloom some never grow */
        tool_layers_list(report, "chain", it->filter);
}

/* What the measured rate says, in words. */
static void report_verdict(struct tool_report *report, const struct inspection *it)
{
    const double keys = it->scan.estimated_keys;
    if (!it->hits_plausible)
        tool_fact_say(report, "verdict",
                      "WRONG: the measured rate is not that of these bits, by more than chance");
    else if (!it->enough_queries)
        tool_fact_say(report, "verdict",
                      "none: too few queries to tell, since only about %.3g false positives are "
                      "expected",
                      (double)it->measure * it->scan.live_rate);
    else if (!is_faulty(it) && it->part_full)
        tool_fact_say(report, "verdict",
                      "right: measured agrees with live, which is better than planned: about %s "
                      "distinct key%s of %s planned",
                      TOOL_SAY_ABOUT(keys), keys >= 0.5 && keys < 1.5 ? "" : "s",
                      TOOL_SAY_COUNT(it->info.planned_keys));
    else if (!is_faulty(it))
        tool_fact_say(report, "verdict", "right: measured agrees with live%s",
                      it->info.planned_rate > 0 ? ", and live with what was planned" : "");
    if (it->over_full)
        tool_fact_say(report, "verdict", "OVER FULL: it holds more keys than it was planned for");
    if (it->too_high)
        tool_fact_say(report, "verdict",
                      "TOO HIGH: the live rate is above the planned one, though the keys are not "
                      "too many");
}

static void report_measurement(struct tool_report *report, const struct inspection *it)
{
    struct tool_report *measured = tool_fact_object(report, "measured");
    const double rate = (double)it->hits / (double)it->measure;
    tool_fact_say(report, "rate, measured",
                  RATE ": %s of %s absent keys; 95 %% interval %.4g to %.4g", RATE_OF(rate),
                  TOOL_SAY_COUNT(it->hits), TOOL_SAY_COUNT(it->measure), it->interval.low,
                  it->interval.high);
    report_verdict(report, it);
    tool_fact(measured, "queries", NULL, tool_count(it->measure));
    tool_fact(measured, "false_positives", NULL, tool_count(it->hits));
    tool_fact(measured, "rate", NULL, tool_number(rate));
    tool_fact(measured, "low_95", NULL, tool_number(it->interval.low));
    tool_fact(measured, "high_95", NULL, tool_number(it->interval.high));
    tool_fact(measured, "agrees_with_live", NULL, tool_yes(it->hits_plausible));
    tool_fact(measured, "enough_queries", NULL, tool_yes(it->enough_queries));
    tool_fact(measured, "live_above_planned", NULL, tool_yes(it->above_planned));
}

static void report_canaries(struct tool_report *report, const struct canaries *canaries)
{
    struct tool_report *object = tool_fact_object(report, "canaries");
    if (canaries->hits == 0)
        tool_fact_say(report, "canaries", "none of %s was found",
                      TOOL_SAY_COUNT(canaries->queried));
    else
        tool_fact_say(report, "canaries", "FOUND: %s of %s possibly in it",
                      TOOL_SAY_COUNT(canaries->hits), TOOL_SAY_COUNT(canaries->queried));
    tool_fact(object, "queries", NULL, tool_count(canaries->queried));
    tool_fact(object, "hits", NULL, tool_count(canaries->hits));
    struct tool_report *first = tool_fact_list(object, "first");
    for (size_t i = 0; i < canaries->shown; i++) {
        tool_fact(first, NULL, NULL, tool_text(canaries->text[i]));
        tool_fact(report, NULL, i == 0 ? "found" : "", tool_text(canaries->text[i]));
    }
    if (canaries->hits > canaries->shown)
        tool_fact(report, NULL, "", tool_text("..."));
}

static int report(const struct inspection *it)
{
    struct tool_report *report = tool_report_start("inspect", form);
    const bool finding = is_faulty(it) || it->canaries.hits > 0;
    report_origin(report, it);
    report_shape(report, it);
    report_hash(report, &it->info);
    report_rule(report, &it->info);
    report_plan(report, &it->info);
    report_state(report, it);
    if (it->measure > 0)
        report_measurement(report, it);
    if (it->canary != NULL)
        report_canaries(report, &it->canaries);
    if (it->verify) {
        tool_fact(report, "intact", NULL, tool_yes(it->intact));
        tool_fact(report, "damage", NULL, tool_text(it->intact ? NULL : it->damage.text));
    }
    tool_fact_say(report, "checksums", "%s",
                  it->origin.dialect != NULL && (!it->verify || it->intact)
                      ? "none: this format has none"
                  : !it->verify ? "of the header only; --verify compares all"
                  : it->intact  ? "all right"
                                : it->damage.text);
    if (it->info.layers > 1)
        tool_layers_table(report, it->filter);
    tool_fact(report, "finding", NULL, tool_yes(finding));
    return tool_report_print(report, it->json, finding ? TOOL_NONE : TOOL_FOUND);
}

/* ---- The command ----------------------------------------------------------------------------- */

static int inspect_filter(struct inspection *it)
{
    bloomery_info_get(it->filter, &it->info);
    bloomery_scan(it->filter, &it->scan);
    it->dialect = bloomery_dialect_get(it->info.dialect);
    /* The estimate of the keys is off by less than the root of their number. */
    const double planned = (double)it->info.planned_keys;
    it->over_full = planned > 0 && it->scan.estimated_keys > planned * 1.01 + 4 * sqrt(planned) &&
                    it->scan.live_rate > it->info.wanted_rate;
    if ((it->measure > 0 || it->canary != NULL) && !it->info.secret_known) {
        if (it->dialect != NULL)
            tool_error(
                "%s: its keys are hashed with %s, which needs libcrypto, and that is missing",
                it->path, bloomery_hash_name(it->info.hash));
        else
            tool_error("%s: its secret is not in the file, and without it no key can be looked "
                       "up; give it with --secret-file",
                       it->path);
        return TOOL_ERROR;
    }
    if (it->verify)
        it->intact = bloomery_verify(it->filter, &it->damage) == BLOOMERY_OK;
    if (it->measure > 0)
        measure(it);
    if (it->canary != NULL && !query_canaries(it->canary, it->path, it->filter, &it->canaries))
        return TOOL_ERROR;
    return report(it);
}

static int inspect_main(int argc, char **argv)
{
    struct inspection it = {.info = BLOOMERY_INFO, .scan = BLOOMERY_SCAN_RESULT};
    int code;
    if (!tool_options_read(argc, argv, &it, &code))
        return code;
    if (!tool_rule_complete(&it.choice) || !tool_rule_is_kept(&it.choice))
        return TOOL_ERROR;
    if (argc - optind != 1)
        return tool_usage("name one filter");
    it.path = argv[optind];

    uint8_t key[BLOOMERY_SECRET_BYTES];
    bloomery_open_options opening = BLOOMERY_OPEN_OPTIONS;
    opening.inspect = true;
    if (it.secret_file != NULL) {
        if (!tool_secret_read(it.secret_file, key))
            return TOOL_ERROR;
        opening.secret = key;
    }
    struct tool_filter_file file;
    bloomery_error error;
    if (!tool_filter_file_open(&file, it.path, &it.chosen))
        return TOOL_ERROR;
    if (file.origin.dialect == NULL && !tool_rule_is_none(&it.choice.rule))
        return tool_usage("%s: options for keys are for other systems' files; ours keep their rule",
                          it.path);
    opening.rule = it.choice.rule;
    const bloomery_filter *filter = tool_filter_load(&file, &opening, &it.chosen, NULL, &error);
    code = TOOL_ERROR;
    if (filter == NULL && error.status != BLOOMERY_OK)
        code = report_unreadable(&it, &file, &error);
    tool_filter_file_close(&file);
    it.filter = filter;
    it.origin = file.origin;
    if (filter != NULL && tool_origin_agrees(it.path, &it.chosen, filter))
        code = inspect_filter(&it);
    bloomery_free(filter);
    return code;
}

const struct tool_command cmd_inspect = {
    .name = "inspect",
    .run = inspect_main,
    .summary = "show a filter's properties and state",
    .synopsis = "bloomery inspect FILTER [--verify] [--measure N] [--canary FILE] [--json]",
    .introduction =
        "Shows a filter's properties and state: kind, size, plan, fill and the number of "
        "its keys. It shows three false-positive rates: planned, predicted for the "
        "present keys, and live, from the actual bits.",
    .groups = groups,
    .epilogue = "A filter in our format stores the rule by which lines of --canary become keys. "
                "For another system's file, give the options of 'bloomery help build' (-F, -d, "
                "--csv, --crlf, --comment, --trim, --lower, --upper, --hex, --int64, --int32, "
                "--utf16, --skip-empty).\n"
                "\n"
                "Exit codes: 0 all well; 1 a finding; 2 an error. A finding is damage "
                "(--verify), a rate that is not as expected (--measure), or a key that must not "
                "be in it (--canary).\n"
                "\n"
                "  bloomery inspect ids.bloom\n"
                "  bloomery inspect ids.bloom --verify --measure 10M",
};
