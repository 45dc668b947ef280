/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cuckoo filters as RedisBloom has them (Fan, Andersen, Kaminsky, Mitzenmacher: Cuckoo Filter,
 * 2014). A table is an array of buckets of b slots, a byte each. A key's hash h gives a fingerprint
 * f, 1 to 255, and two buckets, in either of which f may lie; 0 is a free slot:
 *
 *     f  = h mod 255 + 1
 *     i1 = h mod n                      n: the buckets, a power of two
 *     i2 = (h ^ 0x5bd1e995 f) mod n     so f and one bucket give the other one
 *
 *     bucket      0       1       2       3       4       5       6       7      n = 8, b = 2
 *              | 9 .  | 41 7  | . .   | 8 .   | . .   | 77 3  | . .   | . .  |
 *                         i1 ───────────── f ──────────── i2
 *
 * A key goes to the first free slot of its buckets, in the newest table first. If there is none, it
 * takes the slot of another key in the newest table, which moves to its other bucket, and so on: up
 * to `iterations` keys move. If the last of them found no slot either, all go back the way they
 * came, since each fingerprint says where it came from, and the filter gets another table, E times
 * as large.
 *
 *     victim       slot 0 of i1, slot 1 of that key's other bucket, ..., slot b - 1, slot 0, ...
 *
 * Each add takes a slot, that of a key that is there already too. So a key can be removed as often
 * as it was added. A filter has all keys that were not removed; a removed key that was never added
 * takes the fingerprint of another one with it.
 *
 * Removals leave free slots in old tables. Compaction moves fingerprints from newer tables to free
 * slots of older ones, and frees the newest table once it is empty. When h is no longer known, its
 * bucket in a larger table stands for it: the low bits of that are those of h, or of i2.
 *
 * The first layer counts the keys of all tables in `adds`, and what was removed since the last
 * compaction in `removed`.
 */
#include "kinds/tables.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/memory.h"
#include "kinds/chain.h"

#include <assert.h>
#include <bloomery/experimental.h>
#include <string.h>

static const uint64_t other_factor = UINT64_C(0x5bd1e995);

/* The least share of removed keys, of those that are left, at which tables are compacted. */
static const double removed_share = 0.1;

/* ---- Buckets --------------------------------------------------------------------------------- */

/* Where a key may lie in any table: bucket `first` or `second`, modulo the table's. */
struct home {
    uint64_t first;
    uint64_t second;
    uint8_t print;
};

static inline uint64_t other_of(uint64_t bucket, uint8_t print)
{
    return bucket ^ other_factor * print;
}

static inline struct home home_of(bloomery_hash hash)
{
    const uint8_t print = (uint8_t)(hash.lo % BLOOMERY_PRINTS + 1);
    return (struct home){hash.lo, other_of(hash.lo, print), print};
}

/* The first slot of a bucket. */
static inline uint64_t slot_of(const struct bloomery_layer *table, uint64_t bucket)
{
    assert(table->blocks > 0 && (table->blocks & (table->blocks - 1)) == 0);
    return (bucket & (table->blocks - 1)) * table->probes;
}

/* The high bit of each byte of a word that is this byte, if it is one of the usual sizes; the
 * lowest such bit is always right, and whether there is one. */
static inline uint64_t matches(const uint8_t *bucket, uint32_t slots, uint8_t byte)
{
    static const uint64_t ones = UINT64_C(0x0101010101010101);
    const uint64_t word = slots == 2   ? bloomery_load_u16(bucket)
                          : slots == 4 ? bloomery_load_u32(bucket)
                                       : bloomery_load_u64(bucket);
    const uint64_t past = slots == 8 ? 0 : ~UINT64_C(0) << 8 * slots; /* bytes that differ */
    const uint64_t differs = (word ^ ones * byte) | past;
    assert(slots == 2 || slots == 4 || slots == 8);
    return (differs - ones) & ~differs & ones << 7;
}

static inline bool is_usual(uint32_t slots)
{
    return slots == 2 || slots == 4 || slots == 8;
}

/* The slot of a bucket that has this byte; NULL: none. */
static inline uint8_t *find(uint8_t *bucket, uint32_t slots, uint8_t byte)
{
    if (!is_usual(slots))
        return memchr(bucket, byte, slots);
    const uint64_t at = matches(bucket, slots, byte);
    return at != 0 ? bucket + __builtin_ctzll(at) / 8 : NULL;
}

static inline bool bucket_has(const uint8_t *bucket, uint32_t slots, uint8_t print)
{
    return is_usual(slots) ? matches(bucket, slots, print) != 0
                           : memchr(bucket, print, slots) != NULL;
}

/* The first slot with this byte in the two buckets of a table; NULL: none. */
static inline uint8_t *find_home(const struct bloomery_layer *table, const struct home *home,
                                 uint8_t byte)
{
    uint8_t *slot = find(table->payload + slot_of(table, home->first), table->probes, byte);
    return slot != NULL ? slot
                        : find(table->payload + slot_of(table, home->second), table->probes, byte);
}

/* How often a byte is in a bucket. */
static uint32_t count_in(const uint8_t *bucket, uint32_t slots, uint8_t print)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < slots; i++)
        count += bucket[i] == print;
    return count;
}

/* ---- Queries of a table ---------------------------------------------------------------------- */

static inline bool table_has(const struct bloomery_layer *table, const uint8_t *payload,
                             const struct home *home)
{
    return bucket_has(payload + slot_of(table, home->first), table->probes, home->print) ||
           bucket_has(payload + slot_of(table, home->second), table->probes, home->print);
}

static bool may_contain(const struct bloomery_layer *table, const uint8_t *payload,
                        bloomery_hash hash)
{
    const struct home home = home_of(hash);
    return table_has(table, payload, &home);
}

static void prefetch(const struct bloomery_layer *table, const uint8_t *payload,
                     const bloomery_hash *hashes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct home home = home_of(hashes[i]);
        bloomery_request_line(payload + slot_of(table, home.first), table->bytes);
        bloomery_request_line(payload + slot_of(table, home.second), table->bytes);
    }
}

/* Buckets of a usual size are compared as words, both of them without a branch. */
static inline __attribute__((always_inline)) uint64_t
query_usual(const struct bloomery_layer *table, const uint8_t *payload, uint32_t slots,
            const bloomery_hash *hashes, size_t count)
{
    uint64_t answers = 0;
    for (size_t i = 0; i < count; i++) {
        const struct home home = home_of(hashes[i]);
        const uint64_t mask = table->blocks - 1;
        const uint8_t *one = payload + (home.first & mask) * slots;
        const uint8_t *other = payload + (home.second & mask) * slots;
        const uint64_t there = matches(one, slots, home.print) | matches(other, slots, home.print);
        answers |= (uint64_t)(there != 0) << i;
    }
    return answers;
}

static uint64_t query_word(const struct bloomery_layer *table, const uint8_t *payload,
                           const bloomery_hash *hashes, size_t count)
{
    uint64_t answers = 0;
    assert(count <= 64);
    if (table->probes == 2)
        return query_usual(table, payload, 2, hashes, count);
    if (table->probes == 4)
        return query_usual(table, payload, 4, hashes, count);
    if (table->probes == 8)
        return query_usual(table, payload, 8, hashes, count);
    for (size_t i = 0; i < count; i++) {
        const struct home home = home_of(hashes[i]);
        answers |= (uint64_t)table_has(table, payload, &home) << i;
    }
    return answers;
}

/* A bucket that is both of a key's counts twice, as it does in RedisBloom. */
static uint32_t count_key(const struct bloomery_layer *table, const uint8_t *payload,
                          bloomery_hash hash)
{
    const struct home home = home_of(hash);
    return count_in(payload + slot_of(table, home.first), table->probes, home.print) +
           count_in(payload + slot_of(table, home.second), table->probes, home.print);
}

/* The slots that a key may have: those of its first bucket, then those of its second. */
static void positions_of(const struct bloomery_layer *table, bloomery_hash hash,
                         uint64_t *positions)
{
    const struct home home = home_of(hash);
    for (uint32_t i = 0; i < table->probes; i++) {
        positions[i] = slot_of(table, home.first) + i;
        positions[table->probes + i] = slot_of(table, home.second) + i;
    }
}

const struct bloomery_operations *bloomery_table_operations(uint32_t cell_bits, bool concurrent)
{
    static const struct bloomery_operations tables = {
        .name = "scalar",
        .may_contain = may_contain,
        .prefetch_add = prefetch,
        .prefetch_query = prefetch,
        .query_word = query_word,
        .count = count_key,
        .positions_of = positions_of,
    };
    assert(cell_bits == 8 && !concurrent);
    (void)cell_bits;
    (void)concurrent;
    return &tables;
}

/* ---- Tables ---------------------------------------------------------------------------------- */

bloomery_status bloomery_tables_are(const struct bloomery_filter *filter, bool changed,
                                    bloomery_error *error)
{
    if (!filter->kind->tables)
        return bloomery_fail(error, BLOOMERY_MISMATCH, 0, "the filter is not a cuckoo filter");
    if (changed && filter->storage != BLOOMERY_OWNED)
        return bloomery_fail(
            error, BLOOMERY_READ_ONLY, 0,
            "the filter is read-only: bloomery_open and _load make one that can be changed");
    return BLOOMERY_OK;
}

uint64_t bloomery_tables_slots(const struct bloomery_shape *shape, uint32_t tables)
{
    const uint64_t first = shape->layers[0].bits;
    assert(tables >= 1 && tables <= shape->layer_count);
    if (shape->growth <= 1)
        return first * tables;
    /* first (E^tables - 1) / (E - 1); the last one has first E^(tables - 1), below 2^32. */
    return (shape->layers[tables - 1].bits * shape->growth - first) / (shape->growth - 1);
}

static bloomery_status check_counts(const struct bloomery_shape *shape,
                                    const struct bloomery_layer *table, bloomery_error *error)
{
    const uint32_t index = (uint32_t)(table - shape->layers);
    if (index > 0) {
        if (table->adds == 0 && shape->growth > 0 && table->bits == table[-1].bits * shape->growth)
            return BLOOMERY_OK;
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "a further table of a cuckoo filter has %u times the slots of the "
                             "one before",
                             shape->growth);
    }
    if (table->adds > INT64_MAX || table->removed > INT64_MAX)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "a cuckoo filter counts at most 2^63 - 1 keys, and removed keys");
    return BLOOMERY_OK;
}

bloomery_status bloomery_table_check(const struct bloomery_shape *shape,
                                     const struct bloomery_layer *table, bloomery_error *error)
{
    const uint32_t slots = shape->block_bits;
    const uint64_t buckets = table->blocks;
    if (slots < 1 || slots > BLOOMERY_CUCKOO_SLOTS_MAX || table->probes != slots ||
        table->blocks_per_key != 2)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "a key has two buckets of 1 to %d slots, not %u of %u",
                             BLOOMERY_CUCKOO_SLOTS_MAX, table->blocks_per_key, table->probes);
    if (table->bits >= BLOOMERY_TABLE_SLOTS)
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                             "a table of %llu slots is not possible: a table has fewer than 2^32",
                             (unsigned long long)table->bits);
    if (buckets == 0 || (buckets & (buckets - 1)) != 0 || buckets * slots != table->bits)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "%llu slots are not a power of two of buckets of %u",
                             (unsigned long long)table->bits, slots);
    if (table->iterations < 1 || table->iterations > BLOOMERY_CUCKOO_ITERATIONS_MAX)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "at most 1 to %d keys are moved, not %u",
                             BLOOMERY_CUCKOO_ITERATIONS_MAX, table->iterations);
    if (shape->growth > BLOOMERY_CUCKOO_GROWTH_MAX || (shape->growth & (shape->growth - 1)) != 0)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "tables grow by a power of two up to %d, or 0, not by %u",
                             BLOOMERY_CUCKOO_GROWTH_MAX, shape->growth);
    return check_counts(shape, table, error);
}

bloomery_status bloomery_table_next(const struct bloomery_shape *shape,
                                    const struct bloomery_layer *newest,
                                    struct bloomery_layer *next, bloomery_error *error)
{
    const uint64_t slots = newest->bits * shape->growth; /* 2^32 times 2^15 at most */
    assert(shape->growth > 0);
    if (slots >= BLOOMERY_TABLE_SLOTS)
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                             "full, and the next table would have %llu slots: a table has fewer "
                             "than 2^32",
                             (unsigned long long)slots);
    *next = (struct bloomery_layer){
        .bits = slots,
        .probes = newest->probes,
        .blocks_per_key = newest->blocks_per_key,
        .iterations = newest->iterations,
    };
    return BLOOMERY_OK;
}

/* ---- Adding ---------------------------------------------------------------------------------- */

/* Whether a table has a free slot for a key; takes it. */
static bool put(const struct bloomery_layer *table, const struct home *home)
{
    uint8_t *slot = find_home(table, home, 0);
    if (slot == NULL)
        return false;
    *slot = home->print;
    return true;
}

static inline uint8_t exchange(uint8_t *slot, uint8_t print)
{
    const uint8_t was = *slot;
    *slot = print;
    return was;
}

/* Makes room for a key in full buckets, by moving others. If that fails they go back: each one's
 * other bucket is the one that it came from. */
static bool push(const struct bloomery_layer *table, const struct home *home)
{
    const uint32_t slots = table->probes;
    uint64_t bucket = home->first;
    uint8_t print = home->print;
    uint32_t victim = 0;
    for (uint32_t i = 0; i < table->iterations; i++) {
        print = exchange(table->payload + slot_of(table, bucket) + victim, print);
        assert(print != 0);
        bucket = other_of(bucket, print);
        uint8_t *slot = find(table->payload + slot_of(table, bucket), slots, 0);
        if (slot != NULL) {
            *slot = print;
            return true;
        }
        victim = victim + 1 == slots ? 0 : victim + 1;
    }
    for (uint32_t i = 0; i < table->iterations; i++) {
        victim = victim == 0 ? slots - 1 : victim - 1;
        bucket = other_of(bucket, print);
        print = exchange(table->payload + slot_of(table, bucket) + victim, print);
    }
    assert(print == home->print);
    return false;
}

/* A hostile dump may say that more keys are there than it has slots. Any number up to the greatest
 * that a dump can say is kept, and the count ends there: so whatever was read can be written. */
static void count_one(struct bloomery_filter *filter)
{
    struct bloomery_layer *first = &filter->layers[0];
    first->adds += first->adds < INT64_MAX;
}

bloomery_status bloomery_tables_add(struct bloomery_filter *filter, bloomery_hash hash, bool absent,
                                    uint32_t *fresh, bloomery_error *error)
{
    const struct home home = home_of(hash);
    assert(filter->kind->tables && filter->storage == BLOOMERY_OWNED);
    *fresh = 1;
    for (uint32_t i = filter->shape.layer_count; i-- > 0 && *fresh == 1;)
        *fresh = !table_has(&filter->layers[i], filter->layers[i].payload, &home);
    if (absent && *fresh == 0)
        return BLOOMERY_OK;
    for (uint32_t i = filter->shape.layer_count; i-- > 0;)
        if (put(&filter->layers[i], &home)) {
            count_one(filter);
            return BLOOMERY_OK;
        }
    if (!push(bloomery_newest_layer(filter), &home)) {
        const bloomery_status status = bloomery_chain_grow(filter, error);
        if (status != BLOOMERY_OK)
            return status;
        const bool placed = put(bloomery_newest_layer(filter), &home);
        assert(placed);
        (void)placed;
    }
    count_one(filter);
    return BLOOMERY_OK;
}

/* ---- Removing -------------------------------------------------------------------------------- */

bool bloomery_tables_remove(struct bloomery_filter *filter, bloomery_hash hash)
{
    const struct home home = home_of(hash);
    assert(filter->kind->tables && filter->storage == BLOOMERY_OWNED);
    for (uint32_t i = filter->shape.layer_count; i-- > 0;) {
        struct bloomery_layer *first = &filter->layers[0];
        uint8_t *slot = find_home(&filter->layers[i], &home, home.print);
        if (slot == NULL)
            continue;
        *slot = 0;
        first->adds -= first->adds > 0;
        first->removed += first->removed < INT64_MAX;
        if (filter->shape.layer_count > 1 &&
            (double)first->removed > (double)first->adds * removed_share)
            (void)bloomery_tables_compact(filter, false);
        return true;
    }
    return false;
}

/* Frees the newest table, which is empty. One that lies in the memory that the filter was made with
 * stays there. */
static void drop_newest(struct bloomery_filter *filter)
{
    struct bloomery_layer *newest = bloomery_newest_layer(filter);
    assert(filter->shape.layer_count > 1);
    if (bloomery_is_apart(filter, newest))
        bloomery_release(&filter->allocator, newest->payload, (size_t)newest->bytes,
                         BLOOMERY_PAYLOAD_UNIT);
    filter->shape.layer_count--;
}

/* Moves the fingerprints of a table to older ones. Returns whether all had a place there. */
static bool move_to_older(struct bloomery_filter *filter, uint32_t index, bool *moved)
{
    const struct bloomery_layer *table = &filter->layers[index];
    bool all = true;
    for (uint64_t slot = 0; slot < table->bits; slot++) {
        if (slot % 8 == 0 && table->bits - slot >= 8 &&
            bloomery_load_u64(table->payload + slot) == 0) {
            slot += 7;
            continue;
        }
        const uint8_t print = table->payload[slot];
        if (print == 0)
            continue;
        const uint64_t bucket = slot / table->probes;
        const struct home home = {bucket, other_of(bucket, print), print};
        uint32_t older = 0;
        while (older < index && !put(&filter->layers[older], &home))
            older++;
        if (older == index) {
            all = false;
            continue;
        }
        table->payload[slot] = 0;
        *moved = true;
    }
    return all;
}

bool bloomery_tables_compact(struct bloomery_filter *filter, bool all)
{
    bool changed = filter->layers[0].removed != 0;
    assert(filter->kind->tables && filter->storage == BLOOMERY_OWNED);
    for (uint32_t i = filter->shape.layer_count; i-- > 1;) {
        const bool newest = i == filter->shape.layer_count - 1;
        const bool empty = move_to_older(filter, i, &changed);
        if (empty && newest) {
            drop_newest(filter);
            changed = true;
        } else if (!empty && !all) {
            break;
        }
    }
    filter->layers[0].removed = 0;
    return changed;
}

/* ---- Rates ----------------------------------------------------------------------------------- */

double bloomery_table_expected_rate(const struct bloomery_layer *table, uint64_t keys)
{
    return bloomery_table_rate(table->blocks, keys);
}

/* Keys take a slot each. */
double bloomery_table_estimate(const struct bloomery_layer *table, uint64_t used)
{
    (void)table;
    return (double)used;
}

/* Of a bucket: how many pairs answer because of it. A pair of whose two buckets one has the
 * fingerprint answers from both; if both have it, each counts for itself. */
static uint64_t answers_of(const struct bloomery_layer *table, const uint8_t *payload,
                           uint64_t bucket, uint64_t *used)
{
    const uint8_t *at = payload + slot_of(table, bucket);
    uint64_t seen[4] = {0}, pairs = 0;
    for (uint32_t i = 0; i < table->probes; i++) {
        const uint8_t print = at[i];
        if (print == 0)
            continue;
        ++*used;
        if ((seen[print / 64] >> print % 64 & 1) != 0)
            continue;
        seen[print / 64] |= (uint64_t)1 << print % 64;
        const uint64_t other = slot_of(table, other_of(bucket, print));
        const bool both =
            other == slot_of(table, bucket) || bucket_has(payload + other, table->probes, print);
        pairs += both ? 1 : 2;
    }
    return pairs;
}

enum { BUCKETS_AHEAD = 16 }; /* whose other buckets are requested */

static void request_others(const struct bloomery_layer *table, const uint8_t *payload,
                           uint64_t bucket)
{
    const uint8_t *at = payload + slot_of(table, bucket);
    for (uint32_t i = 0; i < table->probes; i++)
        __builtin_prefetch(payload + slot_of(table, other_of(bucket, at[i])));
}

/* The live rate is the share of pairs that answer. */
void bloomery_table_scan(const struct bloomery_shape *shape, const struct bloomery_layer *table,
                         const uint8_t *payload, struct bloomery_scan *scan)
{
    uint64_t pairs = 0, used = 0;
    (void)shape;
    for (uint64_t bucket = 0; bucket < table->blocks; bucket++) {
        if (table->blocks - bucket > BUCKETS_AHEAD)
            request_others(table, payload, bucket + BUCKETS_AHEAD);
        pairs += answers_of(table, payload, bucket, &used);
    }
    assert(used <= table->bits);
    scan->bits_set = used;
    scan->saturated = 0;
    scan->live_rate = (double)pairs / ((double)BLOOMERY_PRINTS * (double)table->blocks);
    assert(scan->live_rate >= 0 && scan->live_rate <= 1);
}
