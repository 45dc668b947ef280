/* SPDX-License-Identifier: Apache-2.0 */
/*
 * merge: filters of parts become the filter of the whole.
 *
 * Plain filters pass from maps of their files to the new file in pieces, so that they may be larger
 * than the memory. Only three sorts are merged in memory: chains, whose layers are joined, output
 * to stdout, which can't be taken back, and other systems' files. Everything is known to be good
 * before the first byte.
 */
#include "base/numbers.h"
#include "base/options.h"
#include "base/out.h"
#include "base/report.h"
#include "filter/files.h"
#include "filter/filter_file.h"
#include "tool.h"
#include "units/units.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct merging {
    struct tool_output output;
    struct tool_dialect_choice dialect;
    const char *secret_file;
    char **paths;
    const bloomery_filter **filters; /* maps, but for other systems' */
    size_t count;
    bool intersect, check_only, ours;
};

static const struct tool_option options[] = {
    {'o', "output", "OUT", TOOL_TEXT(struct merging, output.path),
     .help = "write the merged filter to OUT; '-' is standard output",
     .more = "OUT may be one of the inputs. It is replaced completely or not at all."},
    {0, "intersect", NULL, TOOL_FLAG(struct merging, intersect),
     .help = "keep only the bits that are set in all filters. OUT contains every key that all "
             "of them contain. Its false-positive rate is lower than that of each input, but "
             "higher than if only the common keys had been added"},
    {0, "check-only", NULL, TOOL_FLAG(struct merging, check_only),
     .help = "only report whether the filters are compatible, and if not, why. The exit "
             "code is 0 or 1"},
    {0, "secret-file", "FILE", TOOL_TEXT(struct merging, secret_file),
     .help = "check that the filters have this secret. Merging works without it"},
    {0, "dialect", "D", TOOL_DIALECT(struct merging, dialect),
     .help = "read filters of another system, and write OUT in that system's format. D is "
             "NAME[,parameter=value...], as listed by 'bloomery dialects'"},
    {0, "ours", NULL, TOOL_FLAG(struct merging, ours),
     .help = "with --dialect, write that system's filter in our file format"},
    {0, "force", NULL, TOOL_FLAG(struct merging, output.force),
     .help = "overwrite OUT even if it is not a filter. With --dialect, an existing OUT is "
             "overwritten only with --force"},
    {'q', "quiet", NULL, TOOL_FLAG(struct merging, output.quiet),
     .help = "print no report of what was written"},
    TOOL_JSON_ROW(struct merging, output.json),
    TOOL_OPTIONS_END,
};

static const struct tool_option_group groups[] = {
    {.rows = options},
    TOOL_GROUPS_END,
};

/* What is written back to another system's file must be all that the files have. */
static bool is_whole(const struct merging *merging, const struct tool_filter_file *file,
                     const bloomery_filter *filter)
{
    const bloomery_dialect *dialect = merging->output.dialect;
    if (merging->check_only || dialect == NULL || file->origin.dialect == NULL ||
        file->origin.packed || tool_foreign_is_whole(file, filter, dialect))
        return true;
    tool_error("%s: has more than one filter, which a merged file of %s would lose; --ours "
               "makes a Bloomery file",
               file->path, dialect->name);
    return false;
}

static const bloomery_filter *open_one(const struct merging *merging, const char *path)
{
    struct tool_filter_file file;
    bloomery_open_options opening = BLOOMERY_OPEN_OPTIONS;
    opening.inspect = true;
    if (!tool_filter_file_open(&file, path, &merging->dialect))
        return NULL;
    const bloomery_filter *filter =
        tool_filter_open_file(&file, opening, merging->secret_file, &merging->dialect, NULL);
    if (filter != NULL && !is_whole(merging, &file, filter)) {
        bloomery_free(filter);
        filter = NULL;
    }
    tool_filter_file_close(&file);
    return filter;
}

static bool open_all(struct merging *merging)
{
    merging->filters = tool_allocate(merging->count * sizeof(bloomery_filter *));
    for (size_t i = 0; i < merging->count; i++)
        merging->filters[i] = NULL;
    for (size_t i = 0; i < merging->count; i++) {
        merging->filters[i] = open_one(merging, merging->paths[i]);
        if (merging->filters[i] == NULL)
            return false;
    }
    return true;
}

static void close_all(struct merging *merging)
{
    for (size_t i = 0; merging->filters != NULL && i < merging->count; i++)
        bloomery_free(merging->filters[i]);
    free(merging->filters);
}

/* ---- Whether they fit ------------------------------------------------------------------------ */

/* Whether filter `i` can be merged with the first one. Filters of corpora also need the same sort
 * of keys: a filter of paragraphs and runs of words would be of no use to either. */
static bool fits_first(const struct merging *merging, size_t i, bloomery_error *error)
{
    const size_t bytes = strlen(TOOL_CORPUS_NOTE);
    bloomery_info first = BLOOMERY_INFO, info = BLOOMERY_INFO;
    if (bloomery_compatible(merging->filters[0], merging->filters[i], error) != BLOOMERY_OK)
        return false;
    bloomery_info_get(merging->filters[0], &first);
    bloomery_info_get(merging->filters[i], &info);
    if (first.note == NULL || info.note == NULL || strcmp(first.note, info.note) == 0 ||
        strncmp(first.note, TOOL_CORPUS_NOTE, bytes) != 0 ||
        strncmp(info.note, TOOL_CORPUS_NOTE, bytes) != 0)
        return true;
    snprintf(error->text, sizeof(error->text), "their keys are %.100s, and %.100s",
             first.note + bytes, info.note + bytes);
    return false;
}

static int check_json(const struct merging *merging)
{
    struct tool_report *report = tool_report_start("merge", (struct tool_report_form){0});
    bloomery_error error;
    bool all = true;
    for (size_t i = 0; i < merging->count; i++)
        all = all && fits_first(merging, i, &error);
    tool_fact(report, "fits", NULL, tool_yes(all));
    struct tool_report *filters = tool_fact_list(report, "filters");
    for (size_t i = 0; i < merging->count; i++) {
        const bool fits = fits_first(merging, i, &error);
        struct tool_report *filter = tool_fact_object(filters, NULL);
        tool_fact(filter, "file", NULL, tool_text(merging->paths[i]));
        tool_fact(filter, "fits", NULL, tool_yes(fits));
        tool_fact(filter, "reason", NULL, tool_text(fits ? NULL : error.text));
    }
    return tool_report_print(report, true, all ? TOOL_FOUND : TOOL_NONE);
}

static int check_only(const struct merging *merging)
{
    struct tool_out out;
    size_t misfits = 0;
    if (merging->output.json)
        return check_json(merging);
    tool_out_start(&out);
    for (size_t i = 1; i < merging->count; i++) {
        bloomery_error error;
        if (fits_first(merging, i, &error))
            continue;
        misfits++;
        if (merging->output.quiet)
            continue;
        tool_out_name(&out, merging->paths[0]);
        tool_out_text(&out, " and ");
        tool_out_name(&out, merging->paths[i]);
        tool_out_format(&out, " are not compatible: %s\n", error.text);
    }
    if (misfits == 0 && !merging->output.quiet)
        tool_out_format(&out, "%zu filter%s compatible\n", merging->count,
                        merging->count == 1 ? " is" : "s are");
    return tool_out_finish(&out, misfits > 0 ? TOOL_NONE : TOOL_FOUND);
}

/* The same as an error of a merge, and the smallest of the sizes. */
static bool all_fit(const struct merging *merging, uint64_t *least)
{
    bloomery_error error;
    for (size_t i = 0; i < merging->count; i++) {
        bloomery_info info = BLOOMERY_INFO;
        bloomery_info_get(merging->filters[i], &info);
        if (i == 0 || info.bits < *least)
            *least = info.bits;
        if (!fits_first(merging, i, &error)) {
            tool_error("%s and %s are not compatible: %s", merging->paths[0], merging->paths[i],
                       error.text);
            return false;
        }
    }
    return true;
}

static uint32_t folds_to(const bloomery_info *info, uint64_t least)
{
    uint32_t times = 0;
    while (info->layers == 1 && !info->can_grow && info->bits >> times > least)
        times++;
    return times;
}

/* Says which filters are folded, and how many are. */
static size_t say_folds(const struct merging *merging, uint64_t least)
{
    size_t folded = 0;
    for (size_t i = 0; i < merging->count; i++) {
        char from[TOOL_NUMBER_BYTES], to[TOOL_NUMBER_BYTES];
        bloomery_info info = BLOOMERY_INFO;
        bloomery_info_get(merging->filters[i], &info);
        const uint32_t times = folds_to(&info, least);
        folded += times > 0;
        if (times > 0 && !merging->output.quiet)
            tool_say("%s is folded: %s become %s, and its rate rises", merging->paths[i],
                     tool_format_size(from, info.bytes), tool_format_size(to, info.bytes >> times));
    }
    return folded;
}

/* ---- Merging --------------------------------------------------------------------------------- */

/* A failure while filters were put together: damage is reported with the file that has it. */
static bool failed(const struct merging *merging, const bloomery_error *error)
{
    bloomery_error damage;
    for (size_t i = 0; error->status == BLOOMERY_CORRUPT && i < merging->count; i++)
        if (bloomery_verify(merging->filters[i], &damage) != BLOOMERY_OK) {
            tool_library_error(merging->paths[i], &damage);
            return false;
        }
    tool_library_error(error->status == BLOOMERY_IO_FAILED ? merging->output.path : NULL, error);
    return false;
}

/* The first filter as one that can be changed, at the smallest size. */
static bloomery_filter *begin_in_memory(const struct merging *merging, uint64_t least)
{
    bloomery_filter *into = NULL;
    bloomery_error error;
    bloomery_info info = BLOOMERY_INFO;
    bloomery_info_get(merging->filters[0], &info);
    const uint32_t times = folds_to(&info, least);
    if (times == 0 && info.dialect != 0) {
        if (bloomery_copy(merging->filters[0], NULL, &into, &error) != BLOOMERY_OK)
            failed(merging, &error);
        return into;
    }
    if (times == 0) {
        bloomery_open_options opening = BLOOMERY_OPEN_OPTIONS;
        opening.inspect = true;
        return tool_filter_open(merging->paths[0], opening, merging->secret_file);
    }
    if (bloomery_fold(merging->filters[0], times, NULL, &into, &error) != BLOOMERY_OK)
        failed(merging, &error);
    return into;
}

static bool merge_in_memory(const struct merging *merging, uint64_t least, bloomery_filter **into,
                            uint64_t *bytes)
{
    bloomery_error error;
    *into = begin_in_memory(merging, least);
    if (*into == NULL)
        return false;
    for (size_t i = 1; i < merging->count; i++) {
        bloomery_status status = merging->intersect
                                     ? bloomery_intersect(*into, merging->filters[i], &error)
                                     : bloomery_merge(*into, merging->filters[i], &error);
        if (status != BLOOMERY_OK)
            return failed(merging, &error);
    }
    return tool_output_write(&merging->output, *into, bytes);
}

static bool merge_to_file(const struct merging *merging)
{
    bloomery_error error;
    if ((merging->intersect ? bloomery_intersect_save : bloomery_merge_save)(
            merging->filters, merging->count, merging->output.path, &error) == BLOOMERY_OK)
        return true;
    return failed(merging, &error);
}

static int report(const struct merging *merging, const struct tool_facts *facts, size_t folded,
                  uint64_t bytes)
{
    char keys[TOOL_NUMBER_BYTES], size[TOOL_NUMBER_BYTES], odds[TOOL_NUMBER_BYTES];
    char about[TOOL_NUMBER_BYTES + 20];
    const char *name = tool_output_is_stdout(&merging->output) ? "stdout" : merging->output.path;
    const bloomery_scan_result *scan = &facts->scan;
    if (scan->estimated_keys < 1e15)
        snprintf(about, sizeof(about), "about %s keys",
                 tool_format_count(keys, (uint64_t)(scan->estimated_keys + 0.5)));
    else
        snprintf(about, sizeof(about), "every bit is set");
    if (!merging->output.quiet && !merging->output.json)
        tool_say("wrote %s: %s %zu filter%s, %s%s, %s, %s", name,
                 merging->intersect ? "intersection of" : "union of", merging->count,
                 merging->count == 1 ? "" : "s", merging->intersect ? "bits as of " : "", about,
                 tool_format_size(size, bytes), tool_format_odds(odds, scan->live_rate));
    tool_warn_overfull(name, facts);
    if (!merging->output.json)
        return TOOL_FOUND;
    struct tool_report *object = tool_report_start("merge", (struct tool_report_form){0});
    tool_output_report(object, &merging->output, facts);
    tool_fact(object, "filters", NULL, tool_count(merging->count));
    tool_fact(object, "folded", NULL, tool_count(folded));
    if (merging->output.dialect != NULL) {
        tool_fact(object, "dialect", NULL, tool_text(merging->output.dialect->name));
        tool_fact(object, "file_bytes", NULL, tool_size(bytes)); /* of the other system's file */
        tool_fact(object, "written_bytes", NULL, tool_size(bytes));
    }
    tool_fact(object, "intersect", NULL, tool_yes(merging->intersect));
    return tool_report_print(object, true, TOOL_FOUND);
}

static int merge_all(struct merging *merging)
{
    uint64_t least = 0, bytes = 0;
    bloomery_filter *into = NULL;
    bloomery_info info = BLOOMERY_INFO;
    struct tool_facts facts;
    if (!all_fit(merging, &least))
        return TOOL_ERROR;
    bloomery_info_get(merging->filters[0], &info);
    const bool streams = !info.can_grow && merging->output.dialect == NULL &&
                         !tool_output_is_stdout(&merging->output);
    const size_t folded = say_folds(merging, least);
    bool good = streams ? merge_to_file(merging) : merge_in_memory(merging, least, &into, &bytes);
    good = good && tool_output_look(&merging->output, into, &facts);
    if (good && merging->output.dialect != NULL && !merging->output.quiet && !merging->output.json)
        tool_foreign_say_reading(into, merging->output.dialect);
    bloomery_free(into);
    return good ? report(merging, &facts, folded, streams ? facts.info.file_bytes : bytes)
                : TOOL_ERROR;
}

/* ---- The command line ------------------------------------------------------------------------ */

static int merge_main(int argc, char **argv)
{
    struct merging merging = {.output.lock = -1, .dialect.ours_too = true};
    int code;
    if (!tool_options_read(argc, argv, &merging, &code))
        return code;
    code = TOOL_ERROR;
    merging.paths = argv + optind;
    merging.count = (size_t)(argc - optind);
    if (merging.count == 0)
        return tool_usage("no filters: name their files, as in 'bloomery merge -o all.bloom "
                          "one.bloom other.bloom'");
    if (merging.check_only && merging.output.path != NULL)
        return tool_usage("--check-only writes nothing, so -o %s does not go with it",
                          merging.output.path);
    if (merging.ours && merging.dialect.dialect == NULL)
        return tool_usage(
            "--ours goes with --dialect; all other filters are Bloomery files anyway");
    merging.output.dialect = merging.ours ? NULL : merging.dialect.dialect;
    if (!merging.check_only && !tool_output_begin(&merging.output)) {
        tool_output_end(&merging.output);
        return TOOL_ERROR;
    }
    if (open_all(&merging))
        code = merging.check_only ? check_only(&merging) : merge_all(&merging);
    close_all(&merging);
    tool_output_end(&merging.output);
    return code;
}

const struct tool_command cmd_merge = {
    .name = "merge",
    .run = merge_main,
    .summary = "make one filter of several",
    .synopsis = "bloomery merge -o OUT FILTER...\n"
                "bloomery merge --check-only FILTER...",
    .introduction =
        "Makes one filter with the keys of several. Filters are compatible if they were "
        "built with the same kind, blocks per key, probes, hash, seed or secret, and key "
        "options. Filters of different sizes are folded to the smallest one, if they can "
        "be. If every part was built with the same plan, sized for all keys, the result "
        "is identical to a filter built from everything. OUT may be one of the inputs. "
        "It is replaced completely or not at all. Plan, key options and note are those "
        "of the first filter. Layers of scalable filters with equal plans are merged "
        "while there is room. Other layers stay side by side, and their rates add up.",
    .groups = groups,
    .epilogue = "  bloomery merge -o week.bloom monday.bloom tuesday.bloom wednesday.bloom\n"
                "  bloomery merge -o seen.bloom seen.bloom today.bloom\n"
                "  bloomery merge --check-only a.bloom b.bloom\n"
                "  bloomery merge --dialect dcso -o both.bf a.bf b.bf",
};
