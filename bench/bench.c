/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench: the command line, the cases, the phases. bench.h says what the words mean.
 *
 *     bench filters [--sizes 1M,20M] [--types integers,ids,urls] [--rates 1e-2,1e-4]
 *                   [--only NAME,...] [--also NAME,...] [--parts 5] [--asks 2M]
 *                   [--slow-most 100M] [--batch-only 0] [--processor 1] [--json FILE]
 *     bench remove  [--sizes 20M] [--parts 5] [--json FILE]
 *     bench several [--sizes 200M] [--parts 5] [--json FILE]
 *     bench threads [--sizes 100M] [--threads 2] [--parts 5] [--json FILE]
 *     bench open    [--json FILE]
 *     bench instructions [--types ...] [--only NAME,...] [--json FILE]
 */
#include "bench.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS_MAX = 25, ENTRANTS_MAX = 32, LIST_MAX = 16 };

enum phase { ADD_ONE, ADD_BATCH, ABSENT_ONE, ABSENT_BATCH, PRESENT_ONE, PRESENT_BATCH, PHASES };

static const struct phase_facts {
    const char *name;
    int operation;
} phases[PHASES] = {
    [ADD_ONE] = {"add_one", BENCH_ADD_ONE},
    [ADD_BATCH] = {"add_batch", BENCH_ADD_BATCH},
    [ABSENT_ONE] = {"absent_one", BENCH_QUERY_ONE},
    [ABSENT_BATCH] = {"absent_batch", BENCH_QUERY_BATCH},
    [PRESENT_ONE] = {"present_one", BENCH_QUERY_ONE},
    [PRESENT_BATCH] = {"present_batch", BENCH_QUERY_BATCH},
};

struct request {
    uint64_t sizes[LIST_MAX];
    size_t size_count;
    double rates[LIST_MAX];
    size_t rate_count;
    bool types[BENCH_TYPES];
    const char *only; /* NULL: all but those that have to be named */
    const char *also; /* of those */
    uint32_t parts;
    uint64_t queries; /* per part */
    uint64_t slow_max;
    bool batch_only; /* no single keys where there are batches */
    uint32_t threads;
    int processor;
    FILE *json;
    bool first_row;
};

/* A contestant in a case. */
struct entrant {
    const struct bench_contestant *contestant;
    void *context;
    struct bench_facts facts;
    uint64_t memory;  /* what it made the process grow by */
    uint64_t queried; /* absent keys */
    uint64_t found;   /* of them */
    bool measured[PHASES];
    double ns[PHASES][PARTS_MAX];
};

struct group {
    const struct request *request;
    struct bench_case wanted;
    struct entrant entrants[ENTRANTS_MAX];
    size_t count;
};

/* ---- Measuring ------------------------------------------------------------------------------ */

/* Up to this many keys a whole filter is filled in each part; above, each part fills a part. */
static const uint64_t refill_max = 2000000;

/* Adds or asks `count` keys from number `first` on. The sum of what the operation returned. */
static uint64_t run_keys(struct entrant *entrant, int operation, enum bench_type type,
                         uint64_t first, uint64_t count, double *seconds)
{
    bench_operation *work = entrant->contestant->operations[operation];
    uint64_t sum = 0;
    *seconds = 0;
    for (uint64_t done = 0; done < count; done += BENCH_CHUNK) {
        size_t now = count - done < BENCH_CHUNK ? (size_t)(count - done) : BENCH_CHUNK;
        const struct bench_chunk *chunk = bench_keys(type, first + done, now);
        if (entrant->contestant->prepare != NULL)
            entrant->contestant->prepare(entrant->context, chunk);
        double begin = bench_seconds();
        sum += work(entrant->context, chunk);
        *seconds += bench_seconds() - begin;
    }
    return sum;
}

static bool has_batch(const struct entrant *entrant)
{
    return entrant->contestant->operations[BENCH_QUERY_BATCH] != NULL;
}

/* A filter that fits into the processor's caches should be there when the clock starts, whatever
 * ran before: some keys are queried first, as many as it takes to see most blocks. */
static void warm_up(struct group *group, struct entrant *entrant)
{
    static const uint64_t caches = (uint64_t)64 << 20;
    double ignored;
    uint64_t keys = entrant->facts.bytes > caches ? 10 * BENCH_CHUNK : entrant->facts.bytes / 32;
    int query = has_batch(entrant) ? BENCH_QUERY_BATCH : BENCH_QUERY_ONE;
    if (entrant->contestant->operations[query] != NULL)
        run_keys(entrant, query, group->wanted.type, group->wanted.keys * 3 + 1, keys, &ignored);
}

static void add_part(struct group *group, struct entrant *entrant, enum phase phase, uint32_t part)
{
    uint64_t keys = group->wanted.keys;
    uint64_t first = 0;
    uint64_t count = keys;
    double seconds;
    if (keys <= refill_max) {
        entrant->contestant->clear(entrant->context);
    } else {
        first = keys / group->request->parts * part;
        count = part + 1 == group->request->parts ? keys - first : keys / group->request->parts;
    }
    warm_up(group, entrant);
    run_keys(entrant, phases[phase].operation, group->wanted.type, first, count, &seconds);
    entrant->ns[phase][part] = seconds * 1e9 / (double)count;
}

static void query_part(struct group *group, struct entrant *entrant, enum phase phase,
                       uint32_t part)
{
    bool absent = phase == ABSENT_ONE || phase == ABSENT_BATCH;
    bool one = phase == ABSENT_ONE || phase == PRESENT_ONE;
    uint64_t keys = group->wanted.keys;
    uint64_t queries = group->request->queries;
    uint64_t first = keys + queries * part;
    double seconds;
    /* Asking singly takes a quarter where there are batches too: the rate is counted in those. */
    if (one && has_batch(entrant) && keys > refill_max)
        queries = (queries + 3) / 4;
    if (!absent) {
        queries = queries < keys ? queries : keys;
        first = (keys - queries) / group->request->parts * part;
    }
    warm_up(group, entrant);
    uint64_t found =
        run_keys(entrant, phases[phase].operation, group->wanted.type, first, queries, &seconds);
    entrant->ns[phase][part] = seconds * 1e9 / (double)queries;
    if (entrant->contestant->role == BENCH_LIMIT)
        return;
    if (absent && one == !has_batch(entrant)) {
        entrant->queried += queries;
        entrant->found += found;
    } else if (!absent && found != queries) {
        bench_fail("%s lost %" PRIu64 " of %" PRIu64 " keys", entrant->contestant->name,
                   queries - found, queries);
    }
}

static void run_phase(struct group *group, enum phase phase)
{
    struct entrant *turn[ENTRANTS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < group->count; i++) {
        struct entrant *entrant = &group->entrants[i];
        if (entrant->contestant->operations[phases[phase].operation] == NULL)
            continue;
        bool single =
            phases[phase].operation == BENCH_ADD_ONE || phases[phase].operation == BENCH_QUERY_ONE;
        if (single && has_batch(entrant) && group->request->batch_only)
            continue;
        /* Adding singly takes the slow too long, and shows nothing that it does not at 1 M. */
        if (phase == ADD_ONE && entrant->contestant->slow && has_batch(entrant) &&
            group->wanted.keys > refill_max)
            continue;
        if (phase == ADD_BATCH)
            entrant->contestant->clear(entrant->context);
        entrant->measured[phase] = true;
        turn[count++] = entrant;
    }
    for (uint32_t part = 0; part < group->request->parts; part++)
        for (size_t i = 0; i < count; i++) {
            struct entrant *entrant = turn[(i + part) % count];
            if (phase == ADD_ONE || phase == ADD_BATCH)
                add_part(group, entrant, phase, part);
            else
                query_part(group, entrant, phase, part);
        }
}

/* ---- A case --------------------------------------------------------------------------------- */

bool bench_named(const char *list, const char *name)
{
    size_t bytes = strlen(name);
    for (const char *at = list; at != NULL; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, name, bytes) == 0 && (at[bytes] == ',' || at[bytes] == 0))
            return true;
    }
    return false;
}

static bool takes_part(const struct request *request, const struct bench_contestant *contestant,
                       uint64_t keys)
{
    if (contestant->slow && keys > request->slow_max)
        return false;
    return bench_named(request->also, contestant->name) ||
           (request->only == NULL ? !contestant->named
                                  : bench_named(request->only, contestant->name));
}

/* What grows is measured full, and emptied again. */
static void fill(struct group *group, struct entrant *entrant)
{
    double ignored;
    run_keys(entrant, BENCH_ADD_BATCH, group->wanted.type, 0, group->wanted.keys, &ignored);
    entrant->contestant->full(entrant->context, &entrant->facts);
}

static void enter(struct group *group, const struct bench_contestant *contestant)
{
    struct entrant *entrant = &group->entrants[group->count];
    if (!takes_part(group->request, contestant, group->wanted.keys))
        return;
    *entrant = (struct entrant){.contestant = contestant};
    uint64_t before = bench_resident_bytes();
    entrant->context = contestant->make(contestant->variant, &group->wanted, &entrant->facts);
    if (entrant->context == NULL)
        return;
    contestant->clear(entrant->context); /* the kernel's work for new pages is nobody's time */
    if (contestant->full != NULL)
        fill(group, entrant);
    uint64_t after = bench_resident_bytes();
    if (contestant->full != NULL)
        contestant->clear(entrant->context);
    entrant->memory = after > before ? after - before : 0;
    if (++group->count == ENTRANTS_MAX)
        bench_fail("too many contestants");
}

static void print_row(const struct group *group, const struct entrant *entrant)
{
    const struct bench_facts *facts = &entrant->facts;
    printf("%-8s %10" PRIu64 " %7.0e %-16s %-8s %u %2u %7.2f", bench_type_names[group->wanted.type],
           group->wanted.keys, group->wanted.rate, entrant->contestant->name, facts->kernel,
           facts->lines, facts->probes, (double)facts->bytes * 8 / (double)group->wanted.keys);
    if (entrant->queried > 0)
        printf(" %9.3e", (double)entrant->found / (double)entrant->queried);
    else
        printf(" %9s", "-");
    for (int phase = 0; phase < PHASES; phase++)
        if (entrant->measured[phase])
            printf(" %7.2f", bench_median(entrant->ns[phase], group->request->parts));
        else
            printf(" %7s", "-");
    if (facts->built_ns > 0)
        printf("  built in %.1f ns a key", facts->built_ns);
    putchar('\n');
    fflush(stdout);
}

static void write_row(struct request *request, const struct group *group,
                      const struct entrant *entrant)
{
    static const char *const roles[] = {"ours", "peer", "comparison", "limit"};
    const struct bench_facts *facts = &entrant->facts;
    if (request->json == NULL)
        return;
    fprintf(
        request->json,
        "%s\n{\"type\": \"%s\", \"keys\": %" PRIu64 ", \"rate\": %g, \"name\": \"%s\", "
        "\"role\": \"%s\", \"layout\": \"%s\", \"kernel\": \"%s\", \"lines\": %u, "
        "\"probes\": %u, \"bytes\": %" PRIu64 ", \"memory\": %" PRIu64 ", \"held\": %" PRIu64
        ", \"links\": %u, \"below\": %s, \"planned\": %.6g, \"built\": %.4f, \"asked\": %" PRIu64
        ", \"found\": %" PRIu64 ", \"ns\": {",
        request->first_row ? "" : ",", bench_type_names[group->wanted.type], group->wanted.keys,
        group->wanted.rate, entrant->contestant->name, roles[entrant->contestant->role],
        facts->layout, facts->kernel, facts->lines, facts->probes, facts->bytes, entrant->memory,
        facts->held > 0 ? facts->held : facts->bytes, facts->layers > 0 ? facts->layers : 1,
        facts->below ? "true" : "false", facts->planned, facts->built_ns, entrant->queried,
        entrant->found);
    const char *separator = "";
    for (int phase = 0; phase < PHASES; phase++) {
        if (!entrant->measured[phase])
            continue;
        fprintf(request->json, "%s\"%s\": [", separator, phases[phase].name);
        for (uint32_t part = 0; part < request->parts; part++)
            fprintf(request->json, "%s%.4f", part == 0 ? "" : ", ", entrant->ns[phase][part]);
        fputc(']', request->json);
        separator = ", ";
    }
    fputs("}}", request->json);
    request->first_row = false;
}

static const struct bench_contestant *const lists[] = {
    bench_ours,     bench_columns,     bench_inline, bench_kinds,
    bench_libbloom, bench_split_block, bench_static, bench_limits};

static void run_case(struct request *request, enum bench_type type, uint64_t keys, double rate)
{
    static struct group group;
    group = (struct group){.request = request, .wanted = {type, keys, rate}};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        for (const struct bench_contestant *row = lists[i]; row->name != NULL; row++)
            enter(&group, row);
    for (int phase = 0; phase < PHASES; phase++)
        run_phase(&group, (enum phase)phase);
    for (size_t i = 0; i < group.count; i++) {
        print_row(&group, &group.entrants[i]);
        write_row(request, &group, &group.entrants[i]);
    }
    for (size_t i = group.count; i-- > 0;)
        group.entrants[i].contestant->release(group.entrants[i].context);
}

/* ---- The command line ----------------------------------------------------------------------- */

static uint64_t number_of(const char *text)
{
    char *end;
    double number = strtod(text, &end);
    switch (*end) {
    case 'K':
        number *= 1e3;
        break;
    case 'M':
        number *= 1e6;
        break;
    case 'G':
        number *= 1e9;
        break;
    default:
        break;
    }
    if (!(number >= 1 && number < 1e13))
        bench_fail("%s is not a number that can be used here", text);
    return (uint64_t)number;
}

/* Calls `take` for each item of a list with commas. */
static void each(const char *list, void (*take)(struct request *, const char *),
                 struct request *request)
{
    char *copy = strdup(list);
    for (char *at = strtok(copy, ","); at != NULL; at = strtok(NULL, ","))
        take(request, at);
    free(copy);
}

static void take_size(struct request *request, const char *item)
{
    if (request->size_count == LIST_MAX)
        bench_fail("too many sizes");
    request->sizes[request->size_count++] = number_of(item);
}

static void take_rate(struct request *request, const char *item)
{
    double rate = strtod(item, NULL);
    if (request->rate_count == LIST_MAX || !(rate > 0 && rate < 1))
        bench_fail("%s is not a rate that can be used here", item);
    request->rates[request->rate_count++] = rate;
}

static void take_type(struct request *request, const char *item)
{
    for (int type = 0; type < BENCH_TYPES; type++)
        if (strcmp(item, bench_type_names[type]) == 0) {
            request->types[type] = true;
            return;
        }
    bench_fail("%s is not a type of key", item);
}

static void take_option(struct request *request, const char *option, const char *value)
{
    if (strcmp(option, "--sizes") == 0)
        each(value, take_size, request);
    else if (strcmp(option, "--rates") == 0)
        each(value, take_rate, request);
    else if (strcmp(option, "--types") == 0)
        each(value, take_type, request);
    else if (strcmp(option, "--only") == 0)
        request->only = value;
    else if (strcmp(option, "--also") == 0)
        request->also = value;
    else if (strcmp(option, "--parts") == 0)
        request->parts = (uint32_t)number_of(value);
    else if (strcmp(option, "--asks") == 0)
        request->queries = number_of(value);
    else if (strcmp(option, "--slow-most") == 0)
        request->slow_max = number_of(value);
    else if (strcmp(option, "--batch-only") == 0)
        request->batch_only = atoi(value) != 0;
    else if (strcmp(option, "--threads") == 0)
        request->threads = (uint32_t)number_of(value);
    else if (strcmp(option, "--processor") == 0)
        request->processor = atoi(value);
    else if (strcmp(option, "--json") == 0)
        request->json = fopen(value, "w");
    else
        bench_fail("%s is not an option", option);
    if (request->parts > PARTS_MAX)
        bench_fail("%d parts at most", PARTS_MAX);
    if (strcmp(option, "--json") == 0 && request->json == NULL)
        bench_fail("cannot write %s", value);
}

static void touch(const struct bench_contestant *row)
{
    const struct bench_case small = {BENCH_INTEGERS, 1000, 0.01};
    struct bench_facts facts;
    if (row->operations[BENCH_ADD_BATCH] == NULL)
        return;
    void *context = row->make(row->variant, &small, &facts);
    if (context == NULL)
        return;
    const struct bench_chunk *chunk = bench_keys(small.type, 0, 1000);
    if (row->prepare != NULL)
        row->prepare(context, chunk);
    for (int i = 0; i < BENCH_OPERATIONS; i++)
        if (row->operations[i] != NULL)
            row->operations[i](context, chunk);
    row->release(context);
}

/* Touches what the first contestant would otherwise be the first to touch, code included: it does
 * not count as that contestant's memory. */
static void touch_all(void)
{
    for (int type = 0; type < BENCH_TYPES; type++)
        bench_keys((enum bench_type)type, 0, BENCH_CHUNK);
    for (const struct bench_contestant *row = bench_ours; row->name != NULL; row++)
        touch(row);
    for (const struct bench_contestant *row = bench_columns; row->name != NULL; row++)
        touch(row);
    bench_resident_bytes();
}

static void run_filters(struct request *request)
{
    if (request->size_count == 0)
        each("1M,20M", take_size, request);
    if (request->rate_count == 0)
        each("1e-2,1e-4", take_rate, request);
    bool any = false;
    for (int type = 0; type < BENCH_TYPES; type++)
        any = any || request->types[type];
    bench_pin(request->processor);
    touch_all();
    printf("%-8s %10s %7s %-16s %-8s %s %2s %7s %9s %7s %7s %7s %7s %7s %7s\n", "type", "keys",
           "rate", "name", "kernel", "L", "k", "bits", "measured", "add 1", "add", "absent1",
           "absent", "prsent1", "present");
    for (int type = 0; type < BENCH_TYPES; type++)
        for (size_t i = 0; (!any || request->types[type]) && i < request->size_count; i++)
            for (size_t j = 0; j < request->rate_count; j++)
                run_case(request, (enum bench_type)type, request->sizes[i], request->rates[j]);
}

int main(int argc, char **argv)
{
    static struct request request = {
        .parts = 5,
        .queries = 2000000,
        .slow_max = 100000000,
        .threads = 2,
        .processor = 1,
        .first_row = true,
    };
    const char *what = argc > 1 ? argv[1] : "filters";
    for (int i = 2; i < argc; i += 2)
        if (i + 1 == argc)
            bench_fail("%s needs a value", argv[i]);
        else
            take_option(&request, argv[i], argv[i + 1]);
    if (request.json != NULL)
        fprintf(request.json, "{\"compiler\": \"%s\", \"%s\": [", __VERSION__, what);
    if (strcmp(what, "filters") == 0)
        run_filters(&request);
    else if (strcmp(what, "threads") == 0)
        bench_threads(request.json, request.size_count > 0 ? request.sizes[0] : 100000000,
                      request.threads, request.parts);
    else if (strcmp(what, "remove") == 0)
        bench_remove(request.json, request.size_count > 0 ? request.sizes[0] : 20000000,
                     request.parts);
    else if (strcmp(what, "several") == 0)
        bench_several(request.json, request.size_count > 0 ? request.sizes[0] : 200000000,
                      request.parts);
    else if (strcmp(what, "open") == 0)
        bench_open(request.json);
    else if (strcmp(what, "instructions") == 0)
        bench_instructions(request.json, lists, sizeof lists / sizeof lists[0], request.only,
                           request.types);
    else if (strcmp(what, "dialect") == 0)
        bench_dialect(request.json, request.size_count > 0 ? request.sizes[0] : 36000000,
                      request.parts);
    else
        bench_fail("filters, remove, several, threads, open, instructions or dialect, not %s",
                   what);
    if (request.json != NULL) {
        fputs("\n]}\n", request.json);
        if (fclose(request.json) != 0)
            bench_fail("cannot write the results");
    }
    return 0;
}
