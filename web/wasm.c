/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library as a WebAssembly module: everything that the page calls, over the public interface.
 *
 * Numbers cross as doubles, which hold every count up to 2^53. Facts come back as JSON, in a text
 * that is valid until the next call (json.h). A failure is the object {"error": a sentence,
 * "status": a number}; a function that returns a filter returns NULL then, and web_failure() is
 * that object. Filters are pointers, and belong to the page until web_free.
 *
 * Bytes go through memory of web_allocate, which is aligned as a view needs it. page/engine.ts is
 * the other side.
 */
#define BLOOMERY_EXPERIMENTAL

#include "json.h"

#include <bloomery/bloomery.h>
#include <bloomery/dialect.h>
#include <bloomery/embedded.h>
#include <bloomery/experimental.h>
#include <bloomery/sieve.h>

#include <stdlib.h>
#include <string.h>

#define EXPORT(name) __attribute__((export_name(#name))) name

enum { ALIGNMENT = 64, PORTION = 1024 };

/* ---- What the page gives --------------------------------------------------------------------- */

__attribute__((import_module("bloomery"), import_name("digest"))) extern int
page_digest(int id, const bloomery_embedded_piece *pieces, size_t count, void *digest);

__attribute__((import_module("bloomery"), import_name("random"))) extern int
page_random(void *to, size_t bytes);

int bloomery_embedded_random(void *to, size_t bytes)
{
    return page_random(to, bytes);
}

int bloomery_embedded_digest(bloomery_embedded_digest_id id, const bloomery_embedded_piece *pieces,
                             size_t count, void *digest)
{
    return page_digest((int)id, pieces, count, digest);
}

/* ---- Memory, failures ------------------------------------------------------------------------ */

void *EXPORT(web_allocate)(size_t bytes)
{
    if (bytes > SIZE_MAX - ALIGNMENT)
        return NULL;
    return aligned_alloc(ALIGNMENT, (bytes + ALIGNMENT) / ALIGNMENT * ALIGNMENT);
}

void EXPORT(web_release)(void *memory)
{
    free(memory);
}

bloomery_error web_error;

static const char *failure(void)
{
    json_begin('{');
    json_text("error", web_error.text);
    json_number("status", web_error.status);
    json_text("name", bloomery_status_name(web_error.status));
    json_number("offset", (double)web_error.offset);
    return json_end('}');
}

const char *EXPORT(web_failure)(void)
{
    return failure();
}

const char *EXPORT(web_version)(void)
{
    return bloomery_version();
}

/* A double as a count. Anything that is not a count becomes 0, which the library refuses or takes
 * as not given. */
static uint64_t count_of(double number)
{
    return number >= 1 && number < 0x1p63 ? (uint64_t)number : 0;
}

static uint32_t small_of(double number)
{
    return number >= 1 && number <= UINT32_MAX ? (uint32_t)number : 0;
}

/* ---- Plans ----------------------------------------------------------------------------------- */

static bool solve(bloomery_plan *plan, int kind, double keys, double rate, double bytes,
                  int blocks_per_key, int probes, int cell_bits)
{
    bloomery_plan_options options = BLOOMERY_PLAN_OPTIONS;
    plan->kind = (bloomery_kind)kind;
    plan->keys = count_of(keys);
    plan->rate = rate;
    plan->bytes = count_of(bytes);
    options.blocks_per_key = (uint32_t)blocks_per_key;
    options.probes = (uint32_t)probes;
    options.cell_bits = (uint32_t)cell_bits;
    return bloomery_plan_solve(plan, &options, &web_error) == BLOOMERY_OK;
}

const char *EXPORT(web_plan)(int kind, double keys, double rate, double bytes, int blocks_per_key,
                             int probes, int cell_bits)
{
    bloomery_plan plan = BLOOMERY_PLAN;
    if (!solve(&plan, kind, keys, rate, bytes, blocks_per_key, probes, cell_bits))
        return failure();
    json_begin('{');
    json_number("kind", plan.kind);
    json_number("plannedKeys", (double)plan.planned_keys);
    json_number("plannedRate", plan.planned_rate);
    json_number("plannedBytes", (double)plan.planned_bytes);
    json_number("bits", (double)plan.bits);
    json_number("probes", plan.probes);
    json_number("blocksPerKey", plan.blocks_per_key);
    json_number("cellBits", plan.cell_bits);
    json_number("bitsPerKey", plan.bits_per_key);
    json_number("limitRatio", plan.limit_ratio);
    json_number("absentCacheLines", plan.absent_cache_lines);
    json_number("presentCacheLines", plan.present_cache_lines);
    json_number("hash", plan.hash);
    json_text("hashName", bloomery_hash_name(plan.hash));
    return json_end('}');
}

/* The plan of a filter that is to have these very cells. */
static bloomery_plan plan_of(int kind, double bits, int probes, int blocks_per_key, int cell_bits)
{
    bloomery_plan plan = BLOOMERY_PLAN;
    plan.kind = (bloomery_kind)kind;
    plan.bits = count_of(bits);
    plan.probes = (uint32_t)probes;
    plan.blocks_per_key = (uint32_t)blocks_per_key;
    plan.cell_bits = (uint32_t)cell_bits;
    return plan;
}

double EXPORT(web_plan_rate)(int kind, double bits, int probes, int blocks_per_key, int cell_bits,
                             double keys)
{
    const bloomery_plan plan = plan_of(kind, bits, probes, blocks_per_key, cell_bits);
    return bloomery_plan_rate(&plan, count_of(keys));
}

/* What a filter of a dialect is given: the page writes these numbers, 0 for none, in this order, and
 * the name of a variant, before it calls web_dialect_.... */
static struct {
    double keys, rate, bits, bytes, probes, bits_per_key, seed, growth, columns, index, cell_bits;
    char variant[40];
} given;

void *EXPORT(web_given)(void)
{
    return &given;
}

static bloomery_dialect_parameters parameters_of(void)
{
    bloomery_dialect_parameters parameters = BLOOMERY_DIALECT_PARAMETERS;
    given.variant[sizeof given.variant - 1] = '\0';
    parameters.variant = given.variant[0] != '\0' ? given.variant : NULL;
    parameters.keys = count_of(given.keys);
    parameters.rate = given.rate;
    parameters.bits = count_of(given.bits);
    parameters.bytes = count_of(given.bytes);
    parameters.probes = small_of(given.probes);
    parameters.bits_per_key = given.bits_per_key;
    parameters.seed = count_of(given.seed);
    parameters.growth = small_of(given.growth);
    parameters.columns = small_of(given.columns);
    parameters.index = count_of(given.index);
    parameters.cell_bits = small_of(given.cell_bits);
    return parameters;
}

/* What the other system would make of the numbers of web_given, and its real rate. */
const char *EXPORT(web_dialect_plan)(int dialect)
{
    const bloomery_dialect_parameters parameters = parameters_of();
    bloomery_dialect_plan plan = BLOOMERY_DIALECT_PLAN;
    if (bloomery_dialect_plan_solve(bloomery_dialect_get((uint32_t)dialect), &parameters, &plan,
                                    &web_error) != BLOOMERY_OK)
        return failure();
    json_begin('{');
    json_number("bits", (double)plan.bits);
    json_number("bytes", (double)plan.bytes);
    json_number("probes", plan.probes);
    json_number("blocksPerKey", plan.blocks_per_key);
    json_number("blockBits", plan.block_bits);
    json_bool("grows", plan.grows != 0);
    json_number("keys", (double)plan.keys);
    json_number("expectedRate", plan.expected_rate);
    json_number("bitsPerKey", plan.bits_per_key);
    return json_end('}');
}

const char *EXPORT(web_sieve_plan)(double keys, double pushes, double memory, double key_bytes,
                                   double rate)
{
    bloomery_sieve_plan plan = BLOOMERY_SIEVE_PLAN;
    plan.keys = count_of(keys);
    plan.pushes = count_of(pushes);
    plan.memory = count_of(memory);
    plan.key_bytes = key_bytes;
    plan.rate = rate;
    if (bloomery_sieve_plan_solve(&plan, &web_error) != BLOOMERY_OK)
        return failure();
    json_begin('{');
    json_number("keys", (double)plan.keys);
    json_number("pushes", (double)plan.pushes);
    json_number("memory", (double)plan.memory);
    json_number("keyBytes", plan.key_bytes);
    json_number("fingerprintBits", plan.fingerprint_bits);
    json_number("partitions", plan.partitions);
    json_number("minMemory", (double)plan.min_memory);
    json_number("pendingMax", (double)plan.pending_max);
    json_number("seenDisk", plan.seen_disk);
    json_number("pendingDisk", plan.pending_disk);
    json_number("queueDisk", plan.queue_disk);
    json_number("traffic", plan.seen_traffic + plan.pending_traffic + plan.queue_traffic);
    json_number("seconds", plan.seconds);
    json_number("wrongDrops", plan.wrong_drops);
    json_number("filterBytes", plan.filter_bytes);
    json_number("limitBytes", plan.limit_bytes);
    json_number("budgetRate", plan.budget_rate);
    return json_end('}');
}

/* ---- Making filters -------------------------------------------------------------------------- */

bloomery_filter *EXPORT(web_create)(int kind, double bits, int probes, int blocks_per_key,
                                    int cell_bits, double keys, double rate)
{
    bloomery_plan plan = plan_of(kind, bits, probes, blocks_per_key, cell_bits);
    bloomery_filter *filter = NULL;
    plan.planned_keys = count_of(keys);
    plan.planned_rate = rate;
    bloomery_create(&plan, NULL, &filter, &web_error);
    return filter;
}

bloomery_filter *EXPORT(web_dialect_create)(int dialect)
{
    const bloomery_dialect_parameters parameters = parameters_of();
    bloomery_filter *filter = NULL;
    bloomery_dialect_create(bloomery_dialect_get((uint32_t)dialect), &parameters, NULL, &filter,
                            &web_error);
    return filter;
}

/* A filter of keys and a rate, or of keys and bytes, as bloomery_create makes it. */
bloomery_filter *EXPORT(web_make)(int kind, double keys, double rate, double bytes,
                                  int blocks_per_key, int probes, int cell_bits)
{
    bloomery_plan plan = BLOOMERY_PLAN;
    bloomery_filter *filter = NULL;
    if (solve(&plan, kind, keys, rate, bytes, blocks_per_key, probes, cell_bits))
        bloomery_create(&plan, NULL, &filter, &web_error);
    return filter;
}

/* A copy of a Bloomery file, to which keys can be added. */
bloomery_filter *EXPORT(web_load)(const void *data, size_t bytes)
{
    bloomery_filter *filter = NULL;
    bloomery_load(data, bytes, NULL, &filter, &web_error);
    return filter;
}

/* Of a filter whose hash is missing here the facts are shown all the same. */
static const bloomery_open_options *inspecting(void)
{
    static bloomery_open_options options = BLOOMERY_OPEN_OPTIONS;
    options.inspect = true;
    return &options;
}

bloomery_filter *EXPORT(web_dialect_load)(int dialect, const void *data, size_t bytes)
{
    const bloomery_dialect_parameters parameters = parameters_of();
    bloomery_filter *filter = NULL;
    bloomery_dialect_load(bloomery_dialect_get((uint32_t)dialect), data, bytes, &parameters,
                          inspecting(), &filter, &web_error);
    return filter;
}

/* The bytes stay the page's, and stay as they are until web_free. */
const bloomery_filter *EXPORT(web_view)(const void *data, size_t bytes)
{
    const bloomery_filter *filter = NULL;
    bloomery_view(data, bytes, inspecting(), &filter, &web_error);
    return filter;
}

void EXPORT(web_free)(const bloomery_filter *filter)
{
    bloomery_free(filter);
}

/* The number of the dialect whose magic the bytes begin with; 0: none. */
int EXPORT(web_sniff)(const void *data, size_t bytes)
{
    const bloomery_dialect *found = bloomery_dialect_sniff(data, bytes);
    return found != NULL ? (int)found->id : 0;
}

const char *EXPORT(web_dialects)(void)
{
    const bloomery_dialect *next;
    json_begin('[');
    for (uint32_t id = 1; (next = bloomery_dialect_get(id)) != NULL; id++) {
        json_open(NULL, '{');
        json_number("id", next->id);
        json_text("name", next->name);
        json_text("description", next->description);
        json_text("variants", next->variants);
        json_text("loadNeeds", next->load_needs);
        json_text("loadTakes", next->load_takes);
        json_text("createTakes", next->create_takes);
        json_bool("reads", next->reads);
        json_bool("writes", next->writes);
        json_bool("creates", next->creates);
        json_bool("magic", next->magic);
        json_bool("hashes", next->hashes);
        json_close('}');
    }
    return json_end(']');
}

/* ---- Writing filters ------------------------------------------------------------------------- */

struct written {
    uint8_t *data;
    size_t bytes;
    size_t room;
};

static int append(void *context, const void *data, size_t bytes)
{
    struct written *all = context;
    if (bytes > SIZE_MAX - all->bytes)
        return -1;
    if (bytes > all->room - all->bytes) {
        /* Twice what is needed would be past the last address of 32 bits where files are large. */
        const size_t needed = all->bytes + bytes;
        const size_t room = needed > SIZE_MAX / 2 ? needed : 2 * needed;
        uint8_t *grown = realloc(all->data, room);
        if (grown == NULL)
            return -1;
        all->data = grown;
        all->room = room;
    }
    memcpy(all->data + all->bytes, data, bytes);
    all->bytes += bytes;
    return 0;
}

/* The bytes of the last web_write, which are released by the next one. */
static struct written written;

/* How many bytes the file has, ours or (`theirs`) the dialect's; -1: a failure. */
double EXPORT(web_write)(const bloomery_filter *filter, int theirs)
{
    free(written.data);
    written = (struct written){NULL, 0, 0};
    const bloomery_status status =
        theirs ? bloomery_dialect_write(filter, NULL, append, &written, &web_error)
               : bloomery_write(filter, append, &written, &web_error);
    return status == BLOOMERY_OK ? (double)written.bytes : -1;
}

const void *EXPORT(web_written)(void)
{
    return written.data;
}
