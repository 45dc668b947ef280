/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/sieve: the sieve under a load whose outcome is known.
 *
 *     sieve [disk] --directory D [--urls 1M] [--repeats 0] [--recent 0.8] [--memory 64MB]
 *                  [--drain] [--again] [--check] [--bits 64] [--partitions 0] [--sync 1]
 *                  [--ordered] [--die-after PUSHES] [--json FILE]
 *     sieve open   --directory D [--memory 64MB] [--json FILE]
 *     sieve memory [--keys 20M] [--threads 2] [--parts 5] [--json FILE]
 *
 * disk      pushes --urls distinct URLs, and --repeats times as many that were pushed before
 *           (sieve.h), decides what is pending, and empties the queue: at the end, or with --drain
 *           whenever there is something. --again then pushes all URLs once more: nothing may come
 *           out. The outcome is compared with the expected one by a tally, or number by number with
 *           --check, which takes a bit for each. Exit 1 if they differ. --memory bounds the whole
 *           process: its memory when the sieve is opened and a reserve are subtracted, and the run
 *           fails (exit 1) if the peak was higher all the same. --die-after ends the process by
 *           SIGKILL.
 * open      opens what is there, such as what a killed process left, and says how long that took.
 * memory    sieve_memory.c
 *
 * D must not exist or be empty, and is left behind.
 */
#include "sieve.h"

#include <bloomery/sieve.h>

#include <inttypes.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum {
    LEASES = 1024,
    /* What the process will take beside: code that did not run yet, stack, and the pages by which
     * the kernel's count may run ahead. */
    RESERVE = 480000,
    /* Chunks between two looks whether the queue holds something. */
    LOOK = 16,
};

struct run {
    struct sieve_stream stream;
    struct sieve_tally out;
    unsigned char *bits; /* with --check, of numbers that came out */
    bool drain;
    bool check;
    uint64_t die_after;
    uint64_t memory; /* of the process */
    uint64_t url_bytes;
    uint64_t disk_max;
    uint64_t twice; /* came out twice, or was never pushed */
    double push_seconds;
    double flush_seconds;
    double drain_seconds;
    double again_seconds;
    uint64_t again; /* what came out then */
    bloomery_sieve_options options;
    bloomery_sieve *sieve;
    bloomery_error error;
};

static struct sieve_chunk chunk;
static uint8_t results[SIEVE_CHUNK];
static bloomery_sieve_item items[LEASES];
static uint64_t numbers[LEASES];

static void must(struct run *run, bloomery_status status)
{
    if (status != BLOOMERY_OK)
        sieve_fail("%s", run->error.text);
}

static bloomery_sieve_info info_of(struct run *run)
{
    bloomery_sieve_info info = BLOOMERY_SIEVE_INFO;
    bloomery_sieve_info_get(run->sieve, &info);
    const uint64_t disk = info.seen_bytes + info.pending_bytes + info.queue_bytes;
    run->disk_max = disk > run->disk_max ? disk : run->disk_max;
    return info;
}

/* ---- Taking out ------------------------------------------------------------------------------ */

static void take(struct run *run, bloomery_key key)
{
    uint64_t number;
    if (!sieve_url_number(key, &number) || number >= run->stream.urls) {
        run->twice++;
        return;
    }
    sieve_tally_add(&run->out, number);
    if (run->bits != NULL) {
        const unsigned char bit = (unsigned char)(1U << (number & 7));
        run->twice += (run->bits[number >> 3] & bit) != 0;
        run->bits[number >> 3] |= bit;
    }
}

/* Takes out up to `most` items; how many there were. */
static uint64_t drain(struct run *run, uint64_t most)
{
    uint64_t taken = 0;
    while (taken < most) {
        size_t count = 0;
        const size_t room = most - taken < LEASES ? (size_t)(most - taken) : LEASES;
        must(run,
             bloomery_sieve_pop(run->sieve, items, room, BLOOMERY_SIEVE_POP, &count, &run->error));
        if (count == 0)
            break;
        for (size_t i = 0; i < count; i++) {
            take(run, items[i].key);
            numbers[i] = items[i].number;
        }
        must(run, bloomery_sieve_finish(run->sieve, numbers, count, BLOOMERY_SIEVE_DONE, NULL,
                                        &run->error));
        taken += count;
    }
    return taken;
}

/* ---- Putting in ------------------------------------------------------------------------------ */

/* A pop from an empty queue would decide what is pending, long before that is worth while: so only
 * what is there is taken. */
static void push_all(struct run *run, struct sieve_stream *stream)
{
    size_t since = 0;
    while (sieve_stream_next(stream, &chunk) > 0) {
        run->url_bytes += stream == &run->stream ? chunk.bytes : 0;
        must(run, bloomery_sieve_push(run->sieve, chunk.keys, NULL, chunk.count,
                                      BLOOMERY_SIEVE_PUSH, results, NULL, &run->error));
        if (stream->pushed >= run->die_after)
            raise(SIGKILL);
        if (++since < LOOK)
            continue;
        since = 0;
        const bloomery_sieve_info info = info_of(run);
        if (run->drain && info.queued > 0)
            drain(run, info.queued);
    }
}

static void first_pass(struct run *run)
{
    const double begin = sieve_seconds();
    push_all(run, &run->stream);
    const double pushed = sieve_seconds();
    must(run, bloomery_sieve_flush(run->sieve, &run->error));
    info_of(run);
    const double flushed = sieve_seconds();
    drain(run, UINT64_MAX);
    must(run, bloomery_sieve_commit(run->sieve, &run->error));
    run->push_seconds = pushed - begin;
    run->flush_seconds = flushed - pushed;
    run->drain_seconds = sieve_seconds() - flushed;
}

/* Everything was seen: whatever comes out is wrong. */
static void second_pass(struct run *run)
{
    struct sieve_stream stream = {.urls = run->stream.urls};
    const uint64_t before = run->out.count + run->twice;
    const double begin = sieve_seconds();
    push_all(run, &stream);
    must(run, bloomery_sieve_flush(run->sieve, &run->error));
    drain(run, UINT64_MAX);
    run->again = run->out.count + run->twice - before;
    run->again_seconds = sieve_seconds() - begin;
}

/* ---- Opening --------------------------------------------------------------------------------- */

static void remark(void *context, const char *text)
{
    (void)context;
    fprintf(stderr, "sieve: %s\n", text);
}

/* The memory that is left for the sieve of what the process may take. */
static void open_sieve(struct run *run, bool existing)
{
    memset(&chunk, 1, sizeof chunk);
    memset(items, 1, sizeof items);
    memset(numbers, 1, sizeof numbers);
    memset(results, 1, sizeof results);
    const uint64_t taken = sieve_process_now().peak + RESERVE;
    if (run->memory <= taken)
        sieve_fail("the process takes %" PRIu64 " bytes without a sieve", taken);
    run->options.memory = run->memory - taken;
    run->options.engine = BLOOMERY_SIEVE_DISK;
    run->options.leases = existing ? 0 : LEASES;
    run->options.existing = existing;
    run->options.warning = remark;
    must(run, bloomery_sieve_open(&run->options, &run->sieve, &run->error));
}

/* ---- Reporting ------------------------------------------------------------------------------- */

/* What the formula says of this run. */
static bloomery_sieve_plan plan_of(const struct run *run, const bloomery_sieve_info *info)
{
    const uint64_t pushes = sieve_stream_pushes(&run->stream);
    const uint64_t repeats = pushes - run->stream.urls;
    bloomery_sieve_plan plan = {
        .keys = run->stream.urls,
        .pushes = pushes,
        .memory = run->options.memory,
        .key_bytes = (double)run->url_bytes / (double)pushes,
        .fingerprint_bits = info->fingerprint_bits,
        .partitions = info->partitions,
        .cache_hit = repeats == 0 ? 0 : (double)info->cache_hits / (double)repeats,
    };
    bloomery_error error;
    plan.cache_hit = plan.cache_hit > 1 ? 1 : plan.cache_hit;
    if (bloomery_sieve_plan_solve(&plan, &error) != BLOOMERY_OK)
        fprintf(stderr, "sieve: the plan: %s\n", error.text);
    return plan;
}

struct outcome {
    bloomery_sieve_info info; /* after the first pass */
    bloomery_sieve_plan plan;
    struct sieve_process process;
    uint64_t disk; /* after the first pass */
    bool exact;
    bool within;
};

static void tell(const struct run *run, const struct outcome *outcome)
{
    const bloomery_sieve_info *info = &outcome->info;
    const bloomery_sieve_plan *plan = &outcome->plan;
    const double seconds = run->push_seconds + run->flush_seconds + run->drain_seconds;
    const uint64_t pushes = sieve_stream_pushes(&run->stream);
    const double planned = plan->seen_traffic + plan->pending_traffic + plan->queue_traffic;
    const double moved = (double)(info->bytes_read + info->bytes_written);
    printf("pushed    %" PRIu64 " URLs of %.1f bytes, %" PRIu64
           " distinct: %.2f M/s (%.1f s: pushes %.1f, flush %.1f, "
           "rest of the queue %.1f)\n",
           pushes, (double)run->url_bytes / (double)pushes, run->stream.urls,
           (double)pushes / seconds * 1e-6, seconds, run->push_seconds, run->flush_seconds,
           run->drain_seconds);
    printf("came out  %" PRIu64 ", %s\n", run->out.count,
           outcome->exact ? "each once and no other" : "NOT WHAT HAD TO");
    printf("memory    peak %" PRIu64 " of %" PRIu64 " bytes%s; the sieve has %" PRIu64
           " of %" PRIu64 "\n",
           outcome->process.peak, run->memory, outcome->within ? "" : ": TOO MUCH", info->memory,
           info->memory_budget);
    printf("disk      seen-set %.3f bytes a key; all %" PRIu64 " bytes at the end, %" PRIu64
           " at most\n",
           (double)info->seen_bytes / (double)(info->distinct == 0 ? 1 : info->distinct),
           outcome->disk, run->disk_max);
    printf("traffic   read %" PRIu64 ", written %" PRIu64
           "; the formula says %.4g together, %.3f of it came (seen "
           "%.4g, pending %.4g, queue %.4g); of the process %" PRIu64 " and %" PRIu64 "\n",
           info->bytes_read, info->bytes_written, planned, planned == 0 ? 0 : moved / planned,
           plan->seen_traffic, plan->pending_traffic, plan->queue_traffic, outcome->process.read,
           outcome->process.written);
    printf("work      %u partitions, batch %" PRIu64 ", %" PRIu64 " decisions, %" PRIu64
           " commits, %" PRIu64 " cache hits\n",
           info->partitions, plan->batch, info->decisions, info->commits, info->cache_hits);
    if (run->again_seconds > 0)
        printf("again     %.1f s, %" PRIu64 " came out\n", run->again_seconds, run->again);
}

static void write_row(FILE *json, const struct run *run, const struct outcome *outcome)
{
    const bloomery_sieve_info *info = &outcome->info;
    const bloomery_sieve_plan *plan = &outcome->plan;
    const struct sieve_process *process = &outcome->process;
    fprintf(json,
            "{\"name\": \"sieve\", \"urls\": %" PRIu64 ", \"pushes\": %" PRIu64
            ", \"url_bytes\": %" PRIu64 ", \"memory\": %" PRIu64 ", \"peak\": %" PRIu64
            ", \"anonymous\": %" PRIu64 ",\n",
            run->stream.urls, sieve_stream_pushes(&run->stream), run->url_bytes, run->memory,
            process->peak, process->anonymous);
    fprintf(
        json,
        " \"seconds\": %.3f, \"push_seconds\": %.3f, \"flush_seconds\": %.3f, \"drain_seconds\": "
        "%.3f, \"again_seconds\": %.3f,\n",
        run->push_seconds + run->flush_seconds + run->drain_seconds, run->push_seconds,
        run->flush_seconds, run->drain_seconds, run->again_seconds);
    fprintf(json,
            " \"found\": %" PRIu64 ", \"again\": %" PRIu64 ", \"exact\": %s, \"kept\": true,\n",
            run->out.count, run->again, outcome->exact ? "true" : "false");
    fprintf(json,
            " \"disk\": %" PRIu64 ", \"disk_most\": %" PRIu64 ", \"seen_bytes\": %" PRIu64
            ", \"read\": %" PRIu64 ", \"written\": %" PRIu64 ", \"process_read\": %" PRIu64
            ", \"process_written\": %" PRIu64 ", \"disk_read\": %" PRIu64
            ", \"disk_written\": %" PRIu64 ",\n",
            outcome->disk, run->disk_max, info->seen_bytes, info->bytes_read, info->bytes_written,
            process->read, process->written, process->disk_read, process->disk_written);
    fprintf(json,
            " \"planned\": %.0f, \"planned_seen\": %.0f, \"planned_pending\": %.0f, "
            "\"planned_queue\": %.0f,\n",
            plan->seen_traffic + plan->pending_traffic + plan->queue_traffic, plan->seen_traffic,
            plan->pending_traffic, plan->queue_traffic);
    fprintf(json,
            " \"partitions\": %u, \"batch\": %" PRIu64 ", \"decisions\": %" PRIu64
            ", \"commits\": %" PRIu64 ", \"cache_hits\": %" PRIu64 "}\n",
            info->partitions, plan->batch, info->decisions, info->commits, info->cache_hits);
    if (fclose(json) != 0)
        sieve_fail("cannot write the row");
}

/* ---- The command line ------------------------------------------------------------------------ */

/* "always", "never", or seconds. */
static void set_sync(bloomery_sieve_options *options, const char *text)
{
    if (strcmp(text, "always") == 0)
        options->sync = BLOOMERY_SIEVE_SYNC_ALWAYS;
    else if (strcmp(text, "never") == 0)
        options->sync = BLOOMERY_SIEVE_SYNC_NEVER;
    else
        options->sync_seconds = strtod(text, NULL);
}

static void set_up(struct run *run, int argc, char **argv)
{
    run->options.directory = sieve_option(argc, argv, "--directory", NULL);
    if (run->options.directory == NULL)
        sieve_fail("--directory says where");
    run->stream.urls = sieve_number(sieve_option(argc, argv, "--urls", "1M"));
    run->stream.repeats = strtod(sieve_option(argc, argv, "--repeats", "0"), NULL);
    run->stream.recent = strtod(sieve_option(argc, argv, "--recent", "0.8"), NULL);
    run->memory = sieve_number(sieve_option(argc, argv, "--memory", "64MB"));
    run->drain = sieve_flag(argc, argv, "--drain");
    run->die_after = sieve_number(sieve_option(argc, argv, "--die-after", "1e14"));
    run->options.keys = run->stream.urls;
    run->options.fingerprint_bits =
        (uint32_t)sieve_number(sieve_option(argc, argv, "--bits", "64"));
    run->options.partitions = (uint32_t)sieve_number(sieve_option(argc, argv, "--partitions", "0"));
    set_sync(&run->options, sieve_option(argc, argv, "--sync", "1"));
    run->options.order = sieve_flag(argc, argv, "--ordered") ? BLOOMERY_SIEVE_ORDER_FIFO
                                                             : BLOOMERY_SIEVE_ORDER_BY_PARTITION;
    if (run->stream.urls == 0 || !(run->stream.repeats >= 0 && run->stream.repeats <= 1e3))
        sieve_fail("at least one URL, and up to 1000 repeats of each");
    if (sieve_flag(argc, argv, "--check")) {
        run->check = true;
        run->bits = calloc((size_t)(run->stream.urls / 8 + 1), 1);
        if (run->bits == NULL)
            sieve_fail("no memory for the check");
    }
}

static int disk(int argc, char **argv)
{
    static const char *const names[] = {"=--directory", "=--urls", "=--repeats", "=--recent",
                                        "=--memory",    "--drain", "--again",    "--check",
                                        "=--bits",      "=--sync", "--ordered",  "=--partitions",
                                        "=--die-after", "=--json", NULL};
    static struct run run = {.options = BLOOMERY_SIEVE_OPTIONS};
    sieve_check_arguments(argc, argv, names);
    set_up(&run, argc, argv);
    open_sieve(&run, false);
    first_pass(&run);
    struct outcome outcome = {.info = info_of(&run)};
    outcome.disk = sieve_directory_bytes(run.options.directory);
    outcome.process = sieve_process_now();
    outcome.plan = plan_of(&run, &outcome.info);
    if (sieve_flag(argc, argv, "--again")) {
        second_pass(&run);
        outcome.process.peak = sieve_process_now().peak;
    }
    must(&run, bloomery_sieve_close(run.sieve, &run.error));
    const struct sieve_tally wanted = sieve_tally_of(run.stream.urls);
    outcome.exact = sieve_tally_equal(&wanted, &run.out) && run.twice == 0 && run.again == 0;
    outcome.within = run.check || outcome.process.peak <= run.memory;
    tell(&run, &outcome);
    FILE *json = sieve_json(argc, argv);
    if (json != NULL)
        write_row(json, &run, &outcome);
    free(run.bits);
    return outcome.exact && outcome.within ? 0 : 1;
}

static int open_again(int argc, char **argv)
{
    static const char *const names[] = {"=--directory", "=--memory", "=--json", NULL};
    static struct run run = {.options = BLOOMERY_SIEVE_OPTIONS};
    sieve_check_arguments(argc, argv, names);
    run.options.directory = sieve_option(argc, argv, "--directory", NULL);
    if (run.options.directory == NULL)
        sieve_fail("--directory says where");
    run.memory = sieve_number(sieve_option(argc, argv, "--memory", "64MB"));
    const double begin = sieve_seconds();
    open_sieve(&run, true);
    const double seconds = sieve_seconds() - begin;
    const bloomery_sieve_info info = info_of(&run);
    printf("opened    in %.3f s: %" PRIu64 " pushes, %" PRIu64 " distinct, %" PRIu64
           " pending, %" PRIu64 " queued\n",
           seconds, info.pushed, info.distinct, info.pending, info.queued);
    FILE *json = sieve_json(argc, argv);
    if (json != NULL) {
        fprintf(json,
                "{\"name\": \"open\", \"seconds\": %.6f, \"pushes\": %" PRIu64
                ", \"distinct\": %" PRIu64 "}\n",
                seconds, info.pushed, info.distinct);
        fclose(json);
    }
    must(&run, bloomery_sieve_close(run.sieve, &run.error));
    return 0;
}

int main(int argc, char **argv)
{
    /* No arenas of other threads, and no memory kept that was given back. */
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_MMAP_THRESHOLD, 65536);
    if (argc < 2 || argv[1][0] == '-')
        return disk(argc, argv);
    if (strcmp(argv[1], "disk") == 0)
        return disk(argc - 1, argv + 1);
    if (strcmp(argv[1], "open") == 0)
        return open_again(argc - 1, argv + 1);
    if (strcmp(argv[1], "memory") == 0)
        return sieve_memory(argc - 1, argv + 1);
    sieve_fail("disk, open or memory, not %s", argv[1]);
}
