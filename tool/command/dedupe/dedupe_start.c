/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store in which dedupe remembers lines, before it begins: its size, and its contents so far.
 *
 * The number of distinct lines comes from -n, or from the sizes of the inputs and a sample of them
 * (sample.c). Of a pipe it comes from nowhere: then a filter for a million is made, which grows,
 * and with a state, which stays on the disk, one for fewer. Only a filter that can't grow needs the
 * number, and is made for all lines: a sample proves nothing.
 */
#include "command/dedupe/dedupe.h"

#include "base/experimental.h"
#include "base/numbers.h"
#include "base/system.h"
#include "command/dedupe/sample.h"
#include "filter/files.h"
#include "filter/fill.h"
#include "filter/filter_file.h"
#include "filter/hasher.h"
#include "input/packing.h"
#include "tool.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RATE_MOST      0.5   /* a higher rate is not worth a hint */
#define ROUNDED_UP     1.005 /* rounded to three digits, it is not lower than before */
#define WORTH_COUNTING 0.8   /* of the keys there may be, if there may be fewer than that */

enum {
    KEYS_OF_PIPE = 1 << 20,  /* the first filter's, if nothing is known */
    KEYS_OF_STATE = 1 << 16, /* and if it is kept in a file */
    KEYS_MIN = 1 << 10,
    ROOM_MIN = 1 << 20, /* for the first filter, however little memory there seems to be */
};

/* ---- The size -------------------------------------------------------------------------------- */

/* The keys to make room for; false if nothing gives their number. `grows`: an estimate that is too
 * low ends nothing. */
static bool estimate_keys(struct tool_dedupe_command *command, bool grows, uint64_t *keys)
{
    struct tool_estimate estimate;
    struct tool_source all = command->source;
    const size_t inputs = tool_source_count(&all);
    char **paths = tool_allocate((inputs + command->list_count) * sizeof(*paths));
    for (size_t i = 0; i < inputs; i++)
        paths[i] = (char *)(uintptr_t)tool_source_path(&command->source, i);
    for (size_t i = 0; i < command->list_count; i++)
        paths[inputs + i] = (char *)(uintptr_t)command->lists[i];
    all.paths = paths;
    all.count = inputs + command->list_count;
    tool_source_lay_out(&all, &command->choice, &command->choice.rule);
    const bool known = tool_estimate_keys(&all, &command->choice.rule, &estimate);
    /* Many of them may be repeated, or not: a filter for all would take twice the memory, and one
     * that grows the more time, than counting them first. */
    const bool counted = known && grows && !estimate.whole &&
                         estimate.least < WORTH_COUNTING * estimate.distinct &&
                         tool_lines_distinct(&all, &command->choice.rule, command->quiet, keys);
    free(paths);
    if (!known)
        return false;
    if (counted) {
        command->planned_from = "inputs";
        *keys = *keys < KEYS_MIN ? KEYS_MIN : *keys;
        return true;
    }
    command->planned_from = estimate.whole ? "inputs" : "sample";
    const double planned =
        1.05 * (grows ? tool_keys_of_sample(estimate.distinct, estimate.records, estimate.whole)
                      : estimate.records);
    *keys = planned < KEYS_MIN                ? KEYS_MIN
            : planned < (double)TOOL_KEYS_MAX ? (uint64_t)planned
                                              : TOOL_KEYS_MAX;
    return true;
}

/* Solves a plan, for the hash of a keyed filter or for the one that its rate needs. */
static bloomery_status solve(bloomery_plan *plan, bool keyed, bloomery_error *error)
{
    bloomery_plan_options wish = BLOOMERY_PLAN_OPTIONS;
    wish.hash = keyed ? BLOOMERY_HASH_SIPHASH : BLOOMERY_HASH_DEFAULT;
    return bloomery_plan_solve(plan, &wish, error);
}

/* -n and -p count documents if those are near-duplicates: a document's bands are keys, and each of
 * them may be wrong. These are the keys and the rate of a filter in the terms of -n and -p. */
static uint64_t keys_as_given(const struct tool_dedupe_command *command, uint64_t keys)
{
    const uint32_t bands = command->corpus.near.bands;
    return bands > 0 ? keys / bands + (keys % bands > 0) : keys;
}

static double rate_as_given(const struct tool_dedupe_command *command, double rate)
{
    const uint32_t bands = command->corpus.near.bands;
    return bands > 0 ? -expm1(bands * log1p(-rate)) : rate;
}

/* Returns the lowest -p with which these keys fit into --memory, or a little more; 1: none. */
static double rate_that_fits(const struct tool_dedupe_command *command, uint64_t keys)
{
    const bool grows = command->seen.on_full == TOOL_FULL_GROW;
    bloomery_plan plan = {.kind = BLOOMERY_BLOCKED, .keys = keys, .bytes = command->memory};
    if (solve(&plan, command->keyed, NULL) != BLOOMERY_OK)
        return 1;
    /* The first layer of a filter that grows is planned for a quarter of its rate. */
    for (double rate = (grows ? 4 : 1) * plan.planned_rate; rate < RATE_MOST; rate *= ROUNDED_UP) {
        plan = (bloomery_plan){
            .kind = grows ? BLOOMERY_SCALABLE : BLOOMERY_BLOCKED, .keys = keys, .rate = rate};
        if (solve(&plan, command->keyed, NULL) == BLOOMERY_OK &&
            plan.planned_bytes <= command->memory)
            return ROUNDED_UP * rate_as_given(command, rate);
    }
    return 1;
}

static bool refuse_memory(const struct tool_dedupe_command *command, uint64_t keys, uint64_t bytes)
{
    char count[TOOL_NUMBER_BYTES], needed[TOOL_NUMBER_BYTES], given[TOOL_NUMBER_BYTES];
    char rate[TOOL_NUMBER_BYTES], fits[TOOL_NUMBER_BYTES + 40] = "";
    const double fitting = command->exact == 0 ? rate_that_fits(command, keys) : 1;
    if (fitting < RATE_MOST)
        snprintf(fits, sizeof(fits), "; a rate of %s would fit (-p)",
                 tool_format_rate(rate, fitting));
    tool_error("%s %s need %s and --memory is %s%s",
               tool_format_count(count, keys_as_given(command, keys)),
               command->corpus.near.bands > 0 ? "documents"
               : command->note != NULL        ? "keys"
                                              : "lines",
               tool_format_size(needed, bytes), tool_format_size(given, command->memory), fits);
    return false;
}

/* Returns the maximum memory of the first layer: --memory, or three quarters of what the system
 * allows if the number of keys is an estimate. The layer behind it is twice as large, and does not
 * fit beside one that has half either. */
static uint64_t first_layer_max(const struct tool_dedupe_command *command)
{
    bloomery_limits limits = BLOOMERY_LIMITS;
    if (command->memory > 0)
        return command->memory;
    if (command->keys > 0 && command->keys != command->estimated_keys)
        return UINT64_MAX;
    bloomery_limits_get(&limits);
    const uint64_t most = limits.room / 4 * 3;
    return most > ROOM_MIN ? most : ROOM_MIN;
}

/* The plan of a filter that grows. If no number of lines was given and its first layer does not
 * fit, it becomes one that does. */
static bool plan_growing(struct tool_dedupe_command *command, bloomery_plan *plan)
{
    bloomery_error error;
    bool known = command->keys > 0;
    uint64_t keys = command->keys;
    const uint64_t most = first_layer_max(command);
    if (!known && !estimate_keys(command, true, &keys)) {
        command->planned_from = "default";
        keys = command->state != NULL ? KEYS_OF_STATE : KEYS_OF_PIPE;
    }
    while (true) {
        *plan = (bloomery_plan){.kind = BLOOMERY_SCALABLE, .keys = keys};
        plan->rate = command->rate > 0 ? command->rate : TOOL_KEY_RATE;
        if (solve(plan, command->keyed, &error) != BLOOMERY_OK)
            return !tool_library_error(NULL, &error);
        if (plan->planned_bytes <= most)
            return true;
        if ((known && command->memory > 0) || keys == 1)
            return refuse_memory(command, keys, plan->planned_bytes);
        uint64_t fitting =
            (uint64_t)(0.99 * (double)keys * (double)most / (double)plan->planned_bytes);
        keys = fitting == 0 ? 1 : fitting < keys ? fitting : keys - 1;
    }
}

/* The plan of a filter that keeps its size. */
static bool plan_fixed(struct tool_dedupe_command *command, bloomery_plan *plan)
{
    bloomery_error error;
    *plan = (bloomery_plan){.kind = BLOOMERY_BLOCKED, .keys = command->keys, .rate = command->rate};
    if (command->memory == 0 || (plan->keys > 0 && plan->rate > 0)) {
        if (plan->keys == 0 && !estimate_keys(command, false, &plan->keys)) {
            tool_usage(
                "no number of lines: without a filter that grows, a pipe or compressed input needs "
                "-n N or --memory SIZE");
            return false;
        }
    } else {
        plan->bytes = command->memory;
        command->planned_from = plan->keys > 0 ? command->planned_from : "memory";
    }
    if (plan->rate == 0 && (plan->keys == 0 || plan->bytes == 0))
        plan->rate = TOOL_KEY_RATE;
    if (solve(plan, command->keyed, &error) != BLOOMERY_OK)
        return !tool_library_error(NULL, &error);
    return command->memory == 0 || plan->planned_bytes <= command->memory ||
           refuse_memory(command, plan->planned_keys, plan->planned_bytes);
}

/* ---- What is remembered in ------------------------------------------------------------------- */

/* A keyed filter gets its secret from the file that is to keep it; otherwise the library draws
 * one. */
static bool create_by(struct tool_dedupe_command *command, const bloomery_plan *plan,
                      bloomery_create_options *create)
{
    uint8_t secret[BLOOMERY_SECRET_BYTES];
    bloomery_error error;
    create->secret_outside = command->keyed && command->secret_file != NULL;
    if (create->secret_outside && !tool_secret_read_or_make(command->secret_file, secret))
        return false;
    create->secret = create->secret_outside ? secret : NULL;
    const bloomery_status status = bloomery_create(plan, create, &command->seen.filter, &error);
    explicit_bzero(secret, sizeof(secret));
    create->secret = NULL;
    return status == BLOOMERY_OK || !tool_library_error(NULL, &error);
}

static bool create_filter(struct tool_dedupe_command *command)
{
    bloomery_plan plan;
    bloomery_create_options create = BLOOMERY_CREATE_OPTIONS;
    create.rule = tool_rule_to_keep(&command->choice);
    create.note = command->note;
    if (command->rate == 0)
        command->rate = command->estimated_keys > 0 && command->rate_default == 0
                            ? TOOL_KEY_RATE
                            : command->rate_default;
    command->planned_from = command->keys > 0 ? "option" : "sample";
    if (command->keys == 0)
        command->keys = command->estimated_keys;
    command->target = command->rate > 0                          ? command->rate
                      : command->memory > 0 && command->keys > 0 ? 0
                                                                 : TOOL_KEY_RATE;
    if (command->seen.on_full == TOOL_FULL_GROW)
        create.memory_limit = command->memory;
    if (command->seen.on_full == TOOL_FULL_GROW ? !plan_growing(command, &plan)
                                                : !plan_fixed(command, &plan))
        return false;
    return create_by(command, &plan, &create);
}

/* The smallest filter makes the hashes, of which a fingerprint may take both halves. */
static bool create_table(struct tool_dedupe_command *command)
{
    command->seen.filter =
        tool_hasher_least(command->keyed ? BLOOMERY_HASH_SIPHASH : BLOOMERY_HASH_XXH3_128, NULL);
    if (command->seen.filter == NULL)
        return false;
    const uint64_t needed = tool_fingerprints_bytes_for(command->exact, command->keys);
    if (command->memory > 0 && command->keys > 0 && needed > command->memory)
        return refuse_memory(command, command->keys, needed);
    command->seen.table_bits = command->exact;
    bloomery_limits limits = BLOOMERY_LIMITS;
    bloomery_limits_get(&limits);
    command->seen.table = tool_fingerprints_new(
        command->exact, command->keys, command->memory > 0 ? command->memory : limits.room);
    if (command->seen.table != NULL)
        return true;
    char size[TOOL_NUMBER_BYTES];
    if (needed == UINT64_MAX)
        tool_error("the fingerprints of -n lines need more than 16 EiB; give a smaller -n");
    else
        tool_error("not enough memory for a table of fingerprints of %s%s%s",
                   tool_format_size(size, needed), needed > limits.room ? ": " : "",
                   needed > limits.room ? limits.text : "");
    return false;
}

/* Whether the filter that is there is what -n and -p would make. A plan's rate is a little below
 * the requested one, so the requested one is planned again. */
static bool is_as_asked(const struct tool_dedupe_command *command, const bloomery_info *info,
                        const bloomery_layer_info *first)
{
    if (command->keys > 0 && command->keys != first->planned_keys)
        return false;
    if (command->rate == 0 || first->planned_keys == 0)
        return command->rate == 0;
    bloomery_plan plan = {.kind = info->kind, .keys = first->planned_keys, .rate = command->rate};
    return solve(&plan, info->hash == BLOOMERY_HASH_SIPHASH, NULL) == BLOOMERY_OK &&
           fabs(plan.planned_rate - info->planned_rate) <= 1e-6 * plan.planned_rate;
}

/* A repeated command has the options of its first run, rightly. Other values change nothing, and we
 * warn of that. */
static void warn_of_others(const struct tool_dedupe_command *command, const bloomery_info *info)
{
    bloomery_layer_info first = BLOOMERY_LAYER_INFO;
    char keys[TOOL_NUMBER_BYTES], odds[TOOL_NUMBER_BYTES];
    bloomery_layer_info_get(command->seen.filter, 0, false, &first);
    if (!is_as_asked(command, info, &first))
        tool_warning("%s: already exists, planned for %s %s and a rate of %s, and keeps that plan; "
                     "-n and -p are for a new state",
                     command->state,
                     tool_format_count(keys, keys_as_given(command, first.planned_keys)),
                     command->corpus.near.bands > 0 ? "documents" : "keys",
                     tool_format_odds(odds, rate_as_given(command, info->planned_rate)));
    else if (!info->can_grow && command->keys == 0 &&
             command->memory > info->bytes + info->bytes / 8)
        tool_warning(
            "%s: already exists, has %s and can't grow; a larger --memory is for a new state",
            command->state, tool_format_size(keys, info->bytes));
}

/* Whether the options beside a filter that is there can be followed. */
static bool agrees_with_state(const struct tool_dedupe_command *command, const bloomery_info *info)
{
    static const char *const names[] = {"stop", "grow", "pass"}; /* as --on-full has them */
    const bool grows = info->can_grow;
    char taken[TOOL_NUMBER_BYTES], given[TOOL_NUMBER_BYTES];
    if (command->memory > 0 && info->bytes > command->memory) {
        tool_error("%s: already has %s, and --memory is %s", command->state,
                   tool_format_size(taken, info->bytes), tool_format_size(given, command->memory));
        return false;
    }
    /* One that grows up to a limit may stop there, or let pass. */
    if (command->on_full >= 0 && grows != (command->on_full == TOOL_FULL_GROW) &&
        !(grows && command->memory > 0)) {
        tool_usage(
            "%s: already exists and is a %s filter, which %s; --on-full=%s does not apply to it",
            command->state, bloomery_kind_name((int)info->kind), grows ? "grows" : "can't grow",
            names[command->on_full]);
        return false;
    }
    warn_of_others(command, info);
    return true;
}

static bool open_state(struct tool_dedupe_command *command)
{
    bloomery_open_options opening = BLOOMERY_OPEN_OPTIONS;
    bloomery_info info = BLOOMERY_INFO;
    opening.memory_limit = command->memory;
    command->seen.filter = tool_filter_open(command->state, opening, command->secret_file);
    if (command->seen.filter == NULL)
        return false;
    bloomery_info_get(command->seen.filter, &info);
    if (info.dialect != 0) {
        tool_error(
            "%s: is a filter of another system, which can't be a state; give it to --against",
            command->state);
        return false;
    }
    if (!info.can_add) {
        tool_error("%s: is a static filter, to which nothing can be added; give it to --against",
                   command->state);
        return false;
    }
    if (info.can_remove) {
        tool_error(
            "%s: is a counting filter, and would count dropped lines too; 'bloomery convert' "
            "makes a blocked one of it",
            command->state);
        return false;
    }
    if (command->keyed && info.hash != BLOOMERY_HASH_SIPHASH) {
        tool_error(
            "%s: is not keyed, and its keys can't be hashed again; --keyed needs a new state",
            command->state);
        return false;
    }
    if (command->on_full < 0 && !info.can_grow)
        command->seen.on_full = TOOL_FULL_STOP;
    return agrees_with_state(command, &info) &&
           tool_rule_settle(&command->choice, command->state, command->seen.filter, false,
                            &command->dedupe.rule);
}

/* Locks the file that has this name when it is locked, or -1 with errno. ENOENT also if it lost its
 * name while we waited. */
static int lock_named(const char *path, struct stat *held)
{
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0 || tool_lock_as_named(descriptor, path, held))
        return descriptor;
    const int reason = errno;
    close(descriptor);
    errno = reason;
    return -1;
}

/* Locks the state. If there is none, an empty file is made to hold the lock. So of two processes
 * that begin at once the second waits for the first one's state. If the first fails and takes its
 * empty file away, the second makes another. True in `there`: it is to be opened. */
static bool lock_state(struct tool_dedupe_command *command, bool *there)
{
    struct stat made = {0}, held = {0};
    while (command->lock < 0) {
        bool old = stat(command->state, &held) == 0;
        if ((!old || S_ISREG(held.st_mode)) && !tool_may_replace(command->state, old))
            return false;
        /* A file that is replaced keeps its mode, and this one may get a secret. */
        int file = open(command->state, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                        command->keyed && command->secret_file == NULL ? 0600 : 0666);
        bool ours = file >= 0 && fstat(file, &made) == 0;
        if (file >= 0)
            close(file);
        command->lock = lock_named(command->state, &held);
        if (command->lock < 0 && errno != ENOENT) {
            tool_error("%s: %s", command->state, strerror(errno));
            return false;
        }
        /* We may remove it again, unless another run has saved its state there since. */
        command->state_made = command->lock >= 0 && ours && held.st_dev == made.st_dev &&
                              held.st_ino == made.st_ino && held.st_size == 0;
    }
    if (!S_ISREG(held.st_mode)) {
        tool_error("%s: is not a regular file", command->state);
        return false;
    }
    if (command->state_made)
        tool_interrupt_remove(command->state);
    *there = held.st_size > 0;
    return true;
}

/* Options for more room, when it is full. Only what would work here. */
static const char *advice(const struct tool_dedupe_command *command, bool there)
{
    const bool limited = command->memory > 0, grows = command->seen.grows;
    if (!limited && (grows || command->seen.table != NULL))
        return "with --memory SIZE and --on-full=pass it would go on without remembering";
    if (grows && !there)
        return "a larger --memory holds more";
    if (grows || command->seen.table != NULL)
        return "a larger --memory holds more, --on-full=pass goes on without remembering";
    if (command->state != NULL)
        return "a new --state with more room holds more, --on-full=pass goes on without "
               "remembering";
    if (limited)
        return command->keys > 0 ? "a larger -n or --memory holds more, --on-full=pass goes on "
                                   "without remembering"
                                 : "a larger --memory holds more, --on-full=pass goes on without "
                                   "remembering";
    return "a larger -n holds more, --on-full=grow goes on with more memory, --on-full=pass "
           "without remembering";
}

bool tool_dedupe_prepare(struct tool_dedupe_command *command)
{
    bool there = false;
    command->seen.on_full = command->on_full >= 0 ? (enum tool_on_full)command->on_full
                            : command->memory > 0 ? TOOL_FULL_STOP
                                                  : TOOL_FULL_GROW;
    command->dedupe.rule = command->choice.rule;
    if (command->state != NULL && !lock_state(command, &there))
        return false;
    if (!there && command->secret_file != NULL && command->againsts.count == 0 && !command->keyed) {
        tool_error("%s: does not exist, and would be made without a secret; --keyed makes it with "
                   "the secret of %s",
                   command->state, command->secret_file);
        return false;
    }
    if (there ? !open_state(command)
              : !(command->exact > 0 ? create_table(command) : create_filter(command)))
        return false;
    command->seen.tell = tool_seen_tell;
    tool_seen_start(&command->seen, command->target);
    if (there)
        command->planned_from = "state";
    if (command->seen.table == NULL)
        command->planned_keys = command->seen.start.layer[0].plan.planned_keys;
    command->seen.advice = advice(command, there);
    command->dedupe.may_stop = command->dedupe.judge != NULL ||
                               command->seen.on_full == TOOL_FULL_STOP || command->memory > 0;
    return true;
}

bool tool_dedupe_save_state(struct tool_dedupe_command *command)
{
    bloomery_error error;
    if (command->state == NULL)
        return true;
    if (!tool_watched_unchanged()) /* it would remember lines that --against has */
        return false;
    tool_interrupt_remove(NULL); /* there will be more than the empty file */
    if (bloomery_save(command->seen.filter, command->state, &error) != BLOOMERY_OK)
        return !tool_library_error(command->state, &error);
    command->state_made = false;
    return true;
}

/* ---- What counts as seen --------------------------------------------------------------------- */

/* Lines have no NUL bytes. If a filter without a magic is named here, nothing in it would be
 * reported as seen. */
static bool is_list(const struct tool_dedupe_command *command, const struct tool_filter_file *file)
{
    unsigned char chunk[4096];
    uint64_t bytes = 0;
    bool undecided;
    if (command->source.delimiter == 0 || file->descriptor < 0 ||
        tool_read_at(file->descriptor, 0, chunk, sizeof chunk, &bytes) != 0 || bytes == 0 ||
        memchr(chunk, 0, (size_t)bytes) == NULL || tool_utf16_is_marked(chunk, (size_t)bytes) ||
        tool_packing_of(chunk, (size_t)bytes, &undecided) != TOOL_PLAIN)
        return true;
    tool_error(
        "%s: is not a list of lines, since it has NUL bytes; convert a filter of another system "
        "first ('bloomery convert --from'), or give -0 if lines end with NUL bytes",
        file->path);
    return false;
}

/* A filter or a list, as the file is that was opened. A file that can't be examined without
 * consuming it is taken for lines, and not opened: closing a FIFO would end its writer. */
static bool sort_against(struct tool_dedupe_command *command, const char *path)
{
    struct tool_filter_file file = {.path = path, .descriptor = -1};
    struct stat facts;
    const bool looks =
        !tool_path_is_stdin(path) && stat(path, &facts) == 0 && S_ISREG(facts.st_mode);
    if (looks && !tool_filter_file_open(&file, path, NULL))
        return false;
    const bool filter = file.origin.ours || file.origin.dialect != NULL;
    bool good;
    if (filter) { /* also one of another system, which has no secret */
        const bloomery_open_options opening = BLOOMERY_OPEN_OPTIONS;
        const char *secret_file = file.origin.dialect != NULL ? NULL : command->secret_file;
        struct tool_against against = {.path = path};
        against.filter = tool_filter_open_file(&file, opening, secret_file, NULL, NULL);
        good = against.filter != NULL;
        if (good)
            command->dedupe.against[command->dedupe.against_count++] = against;
    } else {
        good = is_list(command, &file);
        if (good)
            command->lists[command->list_count++] = path;
    }
    tool_filter_file_close(&file);
    return good;
}

/* Tells the filters from the lists, opens those, and puts the file to append to before these. */
bool tool_dedupe_sort_againsts(struct tool_dedupe_command *command)
{
    const size_t most = command->againsts.count + 1;
    struct tool_against *filters = tool_allocate(most * sizeof(*filters));
    command->dedupe.against = filters;
    command->lists = tool_allocate(most * sizeof(char *));
    if (command->append != NULL)
        command->lists[command->list_count++] = command->append;
    for (size_t i = 0; i < command->againsts.count; i++)
        if (!sort_against(command, command->againsts.list[i]))
            return false;
    return true;
}

/* A filter's own rule makes its keys; one that has none takes ours. */
bool tool_dedupe_settle_rules(struct tool_dedupe_command *command)
{
    for (size_t i = 0; i < command->dedupe.against_count; i++) {
        struct tool_against *against = &command->dedupe.against[i];
        bloomery_info info = BLOOMERY_INFO;
        bloomery_info_get(against->filter, &info);
        if (!tool_rule_is_laid_out(&command->choice, against->path, &info.rule))
            return false;
        against->rule = tool_rule_is_none(&info.rule)
                            ? command->dedupe.rule
                            : tool_rule_laid_out(&command->choice, &info.rule);
    }
    tool_source_lay_out(&command->source, &command->choice, &command->dedupe.rule);
    return true;
}
