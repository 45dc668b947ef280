/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adding keys: key bytes become hashes here, once, and the kinds see only hashes.
 */
#include "base/bits.h"
#include "base/bytes.h"
#include "base/error.h"
#include "dialects/dialects.h"
#include "hash/xxh3.h"
#include "kernels/pipeline.h"
#include "kinds/chain.h"
#include "kinds/counting.h"
#include "kinds/derive.h"
#include "kinds/tables.h"
#include "library.h"

#include <assert.h>
#include <string.h>

bloomery_status bloomery_can_add(const bloomery_filter *filter, bloomery_error *error)
{
    if (!filter->kind->adds)
        return bloomery_fail(error, BLOOMERY_READ_ONLY, 0,
                             "a static filter takes no more keys: build it again from all of them, "
                             "or query a scalable filter of the new ones beside it");
    if (filter->storage != BLOOMERY_OWNED)
        return bloomery_fail(
            error, BLOOMERY_READ_ONLY, 0,
            "the filter is read-only: bloomery_open and _load make one that keys can be added to");
    if (!filter->secret_known && filter->foreign)
        return bloomery_dialect_no_hash(filter->hash, error);
    if (!filter->secret_known)
        return bloomery_fail(
            error, BLOOMERY_SECRET_NEEDED, 0,
            "keys can't be added: the filter is keyed and its secret was not given");
    return BLOOMERY_OK;
}

void bloomery_count_adds(bloomery_filter *filter, uint64_t adds)
{
    struct bloomery_layer *layer = bloomery_newest_layer(filter);
    /* Chains count by themselves: only kinds/chain.c knows which layer was the newest. */
    if (filter->kind->grows)
        return;
    if (filter->concurrent)
        __atomic_fetch_add(&layer->adds, adds, __ATOMIC_RELAXED);
    else
        layer->adds += adds;
}

/* ---- Single keys ----------------------------------------------------------------------------- */

/* A key whose hash gives positions; it is counted. */
static bloomery_status add_positions(bloomery_filter *filter, bloomery_key key, uint32_t *set,
                                     bloomery_error *error)
{
    const struct bloomery_subject subject = {.key = key};
    bloomery_status status = BLOOMERY_OK;
    if (filter->kind->grows)
        status = bloomery_chain_add_positions(filter, key, set, error);
    else
        *set = bloomery_layer_add(filter, filter->layers, &subject, true);
    assert(status != BLOOMERY_OK || *set <= BLOOMERY_POSITIONS_MAX);
    if (status == BLOOMERY_OK)
        bloomery_count_adds(filter, bloomery_counts_new(filter) ? *set > 0 : 1);
    return status;
}

/* A key by its hash; it is counted. It is new if it set bits. Fails if a chain could not grow. */
static inline __attribute__((always_inline)) bloomery_status
add_hash(bloomery_filter *filter, bloomery_hash hash, uint32_t *set, bloomery_error *error)
{
    const struct bloomery_layer *layer = filter->layers;
    if (filter->kind->grows) /* it counts by itself, as tables do */
        return bloomery_chain_add(filter, hash, set, error);
    if (bloomery_has_tables(filter->kind))
        return bloomery_tables_add(filter, hash, false, set, error);
    *set = filter->operations->add(layer, layer->payload, hash);
    bloomery_count_adds(filter, bloomery_counts_new(filter) ? *set > 0 : 1);
    return BLOOMERY_OK;
}

static bool add_hash_any(bloomery_filter *filter, bloomery_hash hash, bloomery_error *error)
{
    uint32_t set = 0;
    bloomery_status status = bloomery_can_add(filter, error);
    if (status == BLOOMERY_OK && bloomery_by_positions(filter))
        status = bloomery_can_take_hashes(filter, error);
    else if (status == BLOOMERY_OK)
        status = add_hash(filter, hash, &set, error);
    return bloomery_add_answer(filter, status, set, error);
}

static bool add_key_any(bloomery_filter *filter, bloomery_key key, bloomery_error *error)
{
    uint32_t set = 0;
    bloomery_status status = bloomery_can_add(filter, error);
    if (status == BLOOMERY_OK && bloomery_by_positions(filter))
        status = add_positions(filter, key, &set, error);
    else if (status == BLOOMERY_OK)
        status = add_hash(filter, filter->hash->one(bloomery_secret_of(filter), key), &set, error);
    return bloomery_add_answer(filter, status, set, error);
}

const struct bloomery_addition bloomery_addition_any = {add_key_any, add_hash_any};

bool bloomery_add(bloomery_filter *filter, bloomery_key key, bloomery_error *error)
{
    return filter->addition->key(filter, key, error);
}

bool bloomery_add_hash(bloomery_filter *filter, bloomery_hash hash, bloomery_error *error)
{
    return filter->addition->hash(filter, hash, error);
}

/* ---- Many keys ------------------------------------------------------------------------------- */

struct adding {
    const bloomery_filter *filter;
    uint64_t *answers;
    uint64_t *cells; /* NULL: not counted */
    size_t found_new;
};

static void add_word(void *context, size_t word, const bloomery_hash *hashes, size_t count)
{
    struct adding *adding = context;
    const struct bloomery_layer *layer = adding->filter->layers;
    const uint64_t answers =
        adding->filter->operations->add_word(layer, layer->payload, hashes, count, adding->cells);
    adding->found_new += (size_t)__builtin_popcountll(answers);
    if (adding->answers != NULL)
        adding->answers[word] = answers;
}

/* Keys whose hash gives positions, one by one: a digest takes longer than the way to memory. */
static bloomery_status add_many_positions(bloomery_filter *filter,
                                          const struct bloomery_input *keys, size_t count,
                                          uint64_t *answers, bloomery_counts *counts,
                                          bloomery_error *error)
{
    bloomery_counts done = {0, 0, 0};
    bloomery_status status = BLOOMERY_OK;
    assert(!bloomery_input_is_hashes(keys));
    if (answers != NULL && count > 0)
        memset(answers, 0, (size_t)bloomery_words_of(count) * sizeof *answers);
    for (; done.done < count; done.done++) {
        uint32_t set = 0;
        status = add_positions(filter, bloomery_input_at(keys, done.done), &set, error);
        if (status != BLOOMERY_OK)
            break;
        if (answers != NULL)
            answers[done.done / 64] |= (uint64_t)(set > 0) << done.done % 64;
        done.positive += set > 0;
        done.cells += set;
    }
    if (counts != NULL)
        *counts = done;
    return status;
}

/* Keys on their way to tables. */
struct tabling {
    bloomery_filter *filter;
    uint64_t *answers;
    bloomery_counts done;
    bloomery_status status; /* of the first that could not be added: none after it is */
    bloomery_error *error;
};

/* One after the other, since each may move those before it; the window hides the memory's
 * latency. */
static void add_word_to_tables(void *context, size_t word, const bloomery_hash *hashes,
                               size_t count)
{
    struct tabling *tabling = context;
    uint64_t answers = 0;
    for (size_t i = 0; i < count && tabling->status == BLOOMERY_OK; i++) {
        uint32_t fresh = 0;
        tabling->status =
            bloomery_tables_add(tabling->filter, hashes[i], false, &fresh, tabling->error);
        if (tabling->status != BLOOMERY_OK)
            break;
        answers |= (uint64_t)fresh << i;
        tabling->done.done++;
    }
    tabling->done.positive += (size_t)__builtin_popcountll(answers);
    if (tabling->answers != NULL)
        tabling->answers[word] = answers;
}

static bloomery_status add_many_to_tables(bloomery_filter *filter,
                                          const struct bloomery_input *keys, size_t count,
                                          uint64_t *answers, bloomery_counts *counts,
                                          bloomery_error *error)
{
    struct tabling tabling = {filter, answers, {0, 0, 0}, BLOOMERY_OK, error};
    bloomery_pipeline(filter, keys, count, true, add_word_to_tables, &tabling);
    assert(tabling.status != BLOOMERY_OK || tabling.done.done == count);
    tabling.done.cells = tabling.done.done; /* a slot each */
    if (counts != NULL)
        *counts = tabling.done;
    return tabling.status;
}

bloomery_status bloomery_add_input(bloomery_filter *filter, const struct bloomery_input *keys,
                                   size_t count, uint64_t *answers, bloomery_counts *counts,
                                   bloomery_error *error)
{
    const struct bloomery_fast_path *fast = bloomery_fast_path_of(filter);
    assert(bloomery_can_add(filter, NULL) == BLOOMERY_OK && keys->valid == NULL);
    if (bloomery_by_positions(filter))
        return add_many_positions(filter, keys, count, answers, counts, error);
    if (filter->kind->grows)
        return bloomery_chain_add_many(filter, fast, keys, count, answers, counts, error);
    if (bloomery_has_tables(filter->kind))
        return add_many_to_tables(filter, keys, count, answers, counts, error);
    if (fast == NULL) {
        uint64_t cells = 0;
        struct adding adding = {filter, answers, counts != NULL ? &cells : NULL, 0};
        bloomery_pipeline(filter, keys, count, true, add_word, &adding);
        assert(adding.found_new <= count);
        bloomery_count_adds(filter, bloomery_counts_new(filter) ? adding.found_new : count);
        if (counts != NULL)
            *counts = (bloomery_counts){count, adding.found_new, cells};
        return BLOOMERY_OK;
    }
    bloomery_counts done = {count, 0, 0};
    const bool counts_new = bloomery_counts_new(filter);
    fast->add[filter->concurrent](filter, filter->layers, keys, count, answers,
                                  counts != NULL || counts_new ? &done : NULL);
    bloomery_count_adds(filter, counts_new ? done.positive : count);
    if (counts != NULL)
        *counts = done;
    return BLOOMERY_OK;
}

/* ---- Queries --------------------------------------------------------------------------------- */

/* Queries: keys -> hash/ -> hashes -> kinds/<kind> -> words of answers. */

bloomery_status bloomery_can_take_hashes(const bloomery_filter *filter, bloomery_error *error)
{
    if (!bloomery_by_positions(filter))
        return BLOOMERY_OK;
    return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                         "the positions of keys in this filter are not a function of a hash");
}

bloomery_status bloomery_can_hash(const bloomery_filter *filter, bloomery_error *error)
{
    if (!filter->secret_known)
        return bloomery_fail(
            error, BLOOMERY_SECRET_NEEDED, 0,
            "keys can't be hashed: the filter is keyed and its secret was not given");
    return bloomery_can_take_hashes(filter, error);
}

/* The hash of other keys than short ones, and of other filters. Apart, so that a short key saves no
 * registers for it. */
static __attribute__((noinline)) bloomery_status hash_other(const bloomery_filter *filter,
                                                            bloomery_key key, bloomery_hash *hash,
                                                            bloomery_error *error)
{
    if (!filter->secret_known || bloomery_by_positions(filter))
        return bloomery_can_hash(filter, error);
    *hash = filter->hash->one(bloomery_secret_of(filter), key);
    return BLOOMERY_OK;
}

bloomery_status bloomery_hash_key(const bloomery_filter *filter, bloomery_key key,
                                  bloomery_hash *hash, bloomery_error *error)
{
    const struct bloomery_short_secret *secret = &bloomery_secret_of(filter)->brief;
    if (filter->shape.hash != BLOOMERY_HASH_XXH3_64 || !bloomery_xxh3_is_short(key.bytes))
        return hash_other(filter, key, hash, error);
    assert(filter->secret_known); /* this hash has none */
    *hash = (bloomery_hash){0, bloomery_xxh3_single(secret, key.data, key.bytes)};
    return BLOOMERY_OK;
}

bool bloomery_may_contain_hash(const bloomery_filter *filter, bloomery_hash hash)
{
    return filter->lookup->hash(filter, hash);
}

void bloomery_prefetch_hash(const bloomery_filter *filter, bloomery_hash hash)
{
    filter->lookup->prefetch(filter, hash);
}

static bool query_hash_any(const bloomery_filter *filter, bloomery_hash hash)
{
    const uint32_t layers = bloomery_layer_count(filter);
    if (filter->operations->may_contain == NULL) /* no hash gives its positions */
        return true;
    if (__builtin_expect(layers == 1, 1))
        return filter->operations->may_contain(&filter->layers[0], filter->layers[0].payload, hash);
    if (filter->kind->cascades)
        return filter->operations->may_contain(filter->layers, filter->layers[0].payload, hash);
    const struct bloomery_subject subject = {.hash = hash};
    return bloomery_layers_may_contain(filter, layers, &subject, false);
}

static void prefetch_any(const bloomery_filter *filter, bloomery_hash hash)
{
    if (filter->operations->prefetch_add == NULL)
        return;
    for (uint32_t i = bloomery_queried_layers(filter); i-- > 0;) {
        const struct bloomery_layer *layer = &filter->layers[i];
        filter->operations->prefetch_add(layer, layer->payload, &hash, 1);
    }
}

static bool query_key_any(const bloomery_filter *filter, bloomery_key key)
{
    if (!filter->secret_known) /* whatever was added, "possibly" is never wrong */
        return true;
    if (bloomery_by_positions(filter))
        return bloomery_positions_may_contain(filter, key);
    return query_hash_any(filter, filter->hash->one(bloomery_secret_of(filter), key));
}

const struct bloomery_lookup bloomery_lookup_any = {query_key_any, query_hash_any, prefetch_any};

bool bloomery_may_contain(const bloomery_filter *filter, bloomery_key key)
{
    return filter->lookup->key(filter, key);
}

struct querying {
    const bloomery_filter *filter;
    uint64_t *answers;
    size_t found;
};

/* A key may be in a chain if it may be in one of its layers. */
static void query_word(void *context, size_t word, const bloomery_hash *hashes, size_t count)
{
    struct querying *querying = context;
    const bloomery_filter *filter = querying->filter;
    const uint64_t all = count < 64 ? ((uint64_t)1 << count) - 1 : UINT64_MAX;
    uint64_t answers = 0;
    for (uint32_t i = bloomery_queried_layers(filter); i-- > 0 && answers != all;) {
        const struct bloomery_layer *layer = &filter->layers[i];
        answers |= filter->operations->query_word(layer, layer->payload, hashes, count);
    }
    assert(count == BLOOMERY_WORD || answers >> count == 0);
    querying->found += (size_t)__builtin_popcountll(answers);
    if (querying->answers != NULL)
        querying->answers[word] = answers;
}

size_t bloomery_query_input(const bloomery_filter *filter, const struct bloomery_input *keys,
                            size_t count, uint64_t *answers)
{
    struct querying querying = {filter, answers, 0};
    const struct bloomery_fast_path *fast = bloomery_fast_path_of(filter);
    if (!filter->secret_known) {
        /* Every answer "possibly". */
        if (answers != NULL && count > 0) {
            memset(answers, 0xff, (size_t)bloomery_words_of(count) * 8);
            if (count % 64 != 0)
                answers[count / 64] = ((uint64_t)1 << count % 64) - 1;
        }
        return count;
    }
    if (bloomery_by_positions(filter)) {
        size_t found = 0;
        assert(!bloomery_input_is_hashes(keys));
        if (answers != NULL && count > 0)
            memset(answers, 0, (size_t)bloomery_words_of(count) * sizeof *answers);
        for (size_t i = 0; i < count; i++) {
            const bool there = bloomery_positions_may_contain(filter, bloomery_input_at(keys, i));
            found += there;
            if (answers != NULL)
                answers[i / 64] |= (uint64_t)there << i % 64;
        }
        return found;
    }
    if (fast != NULL && filter->kind->grows)
        return bloomery_chain_query(filter, fast, keys, count, answers);
    if (fast != NULL)
        return fast->query(filter, filter->layers, keys, count, answers);
    bloomery_pipeline(filter, keys, count, false, query_word, &querying);
    return querying.found;
}

/* ---- Removing -------------------------------------------------------------------------------- */

/*
 * What counters are for: removing keys, counting them, and leaving the counters behind. Removals do
 * not change the filter's count of adds: that counts calls of add.
 */

bloomery_status bloomery_can_remove(const bloomery_filter *filter, bloomery_error *error)
{
    if (!filter->kind->removes)
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                             "keys can be removed from counting and cuckoo filters only");
    return bloomery_can_add(filter, error);
}

/* Removes a key by its hash; `zero` counts the counters that are 0 now. */
static inline bool remove_hash(bloomery_filter *filter, bloomery_hash hash, uint32_t *zero)
{
    struct bloomery_layer *layer = bloomery_newest_layer(filter);
    if (bloomery_has_tables(filter->kind)) {
        *zero = bloomery_tables_remove(filter, hash);
        return *zero > 0;
    }
    assert(filter->shape.layer_count == 1);
    const bool removed = filter->operations->remove(layer, layer->payload, hash, zero);
    assert(*zero <= 64 && (removed || *zero == 0));
    return removed;
}

bool bloomery_remove(bloomery_filter *filter, bloomery_key key, bloomery_error *error)
{
    uint32_t zero = 0;
    if (bloomery_can_remove(filter, error) != BLOOMERY_OK)
        return false;
    if (error != NULL)
        error->status = BLOOMERY_OK;
    if (bloomery_by_positions(filter))
        return bloomery_positions_remove(filter, key, &zero);
    return remove_hash(filter, filter->hash->one(bloomery_secret_of(filter), key), &zero);
}

/* ---- Removing many keys ---------------------------------------------------------------------- */

struct removing {
    bloomery_filter *filter;
    const struct bloomery_input *keys;
    uint64_t *answers;
    bloomery_counts counts;
};

/* Keys one after the other, since one may come twice; the window hides the memory's latency. */
static void remove_word(void *context, size_t word, const bloomery_hash *hashes, size_t count)
{
    struct removing *removing = context;
    uint64_t answers = 0;
    uint64_t left = bloomery_input_valid(removing->keys, word * BLOOMERY_WORD, count);
    for (; left != 0; left &= left - 1) {
        uint32_t zero = 0;
        if (remove_hash(removing->filter, hashes[__builtin_ctzll(left)], &zero))
            answers |= left & -left;
        removing->counts.cells += zero;
    }
    removing->counts.positive += (size_t)__builtin_popcountll(answers);
    if (removing->answers != NULL)
        removing->answers[word] = answers;
}

/* The same of keys whose hash gives positions. */
static void remove_positions(struct removing *removing, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t zero = 0;
        const bool removed = bloomery_input_valid(removing->keys, i, 1) != 0 &&
                             bloomery_positions_remove(removing->filter,
                                                       bloomery_input_at(removing->keys, i), &zero);
        assert(zero <= BLOOMERY_POSITIONS_MAX && (removed || zero == 0));
        removing->counts.positive += removed;
        removing->counts.cells += zero;
        if (removing->answers != NULL && i % BLOOMERY_WORD == 0)
            removing->answers[i / BLOOMERY_WORD] = 0;
        if (removing->answers != NULL && removed)
            removing->answers[i / BLOOMERY_WORD] |= (uint64_t)1 << i % BLOOMERY_WORD;
    }
}

void bloomery_remove_input(bloomery_filter *filter, const struct bloomery_input *keys, size_t count,
                           uint64_t *answers, bloomery_counts *counts)
{
    struct removing removing = {filter, keys, answers, {count, 0, 0}};
    assert(bloomery_can_remove(filter, NULL) == BLOOMERY_OK);
    if (bloomery_by_positions(filter))
        remove_positions(&removing, count);
    else if (keys->form == BLOOMERY_KEYS_LIST && keys->valid != NULL) {
        /* A list in which some are not keys, which the pipeline would read. */
        bloomery_hash hashes[BLOOMERY_WORD];
        bloomery_key_hasher *hash_keys = bloomery_key_hasher_of(removing.keys, removing.filter);
        for (size_t i = 0; i < count; i += BLOOMERY_WORD) {
            const size_t now = count - i < BLOOMERY_WORD ? count - i : BLOOMERY_WORD;
            bloomery_hash_valid_keys(hash_keys, removing.keys, removing.filter, i, now,
                                     bloomery_input_valid(removing.keys, i, now), hashes);
            remove_word(&removing, i / BLOOMERY_WORD, hashes, now);
        }
    } else
        bloomery_pipeline(filter, keys, count, true, remove_word, &removing);
    if (counts != NULL)
        *counts = removing.counts;
}

/* ---- Counting -------------------------------------------------------------------------------- */

uint32_t bloomery_key_count(const bloomery_filter *filter, bloomery_key key)
{
    uint32_t count = 0;
    if (filter->operations->count == NULL && filter->operations->count_positions == NULL)
        return bloomery_may_contain(filter, key) ? 1 : 0;
    if (!filter->secret_known) /* whatever was added, that is never too low */
        return bloomery_counter_max(filter->shape.cell_bits);
    if (filter->operations->count == NULL)
        return bloomery_positions_count(filter, key);
    const bloomery_hash hash = filter->hash->one(bloomery_secret_of(filter), key);
    for (uint32_t i = bloomery_layer_count(filter); i-- > 0;) /* several only in cuckoo filters */
        count += filter->operations->count(&filter->layers[i], filter->layers[i].payload, hash);
    return count;
}

/* ---- Keys of which some are null ------------------------------------------------------------- */

/*
 * Inputs of which some are not keys. The others go on as hashes, 1,024 at a time, and the answers
 * come back to their places:
 *
 *     valid      1 1 0 1 0 0 1 1
 *     hashes     a b   c     d e   ──>   a b c d e   ──>   1 0 1 1 0
 *     answers    1 0 0 1 0 0 1 0
 *
 * Filters whose hash gives positions take them one by one.
 */

/* Answer j goes to the place of the j-th bit of `valid`. */
static uint64_t spread(uint64_t answers, uint64_t valid)
{
    uint64_t all = 0;
    for (; valid != 0; valid &= valid - 1, answers >>= 1)
        all |= (valid & -valid) & -(answers & 1);
    return all;
}

/* The same for many words. */
static void spread_all(const uint64_t *answers, const uint64_t *valid, size_t words, uint64_t *to)
{
    size_t at = 0; /* answers taken */
    for (size_t i = 0; i < words; i++) {
        const size_t now = (size_t)__builtin_popcountll(valid[i]);
        uint64_t bits = answers[at / BLOOMERY_WORD] >> at % BLOOMERY_WORD;
        if (at % BLOOMERY_WORD + now > BLOOMERY_WORD) {
            assert(at % BLOOMERY_WORD > 0);
            bits |= answers[at / BLOOMERY_WORD + 1] << (BLOOMERY_WORD - at % BLOOMERY_WORD);
        }
        to[i] = spread(bits, valid[i]);
        at += now;
    }
}

/* The answers of a word of keys that hand out positions, or of a filter without its key. */
static uint64_t query_singly(const bloomery_filter *filter, const struct bloomery_input *keys,
                             size_t first, size_t count)
{
    const uint64_t valid = bloomery_input_valid(keys, first, count);
    uint64_t word = 0;
    if (!filter->secret_known) /* "possibly" is never wrong */
        return valid;
    for (uint64_t left = valid; left != 0; left &= left - 1)
        if (bloomery_may_contain(filter,
                                 bloomery_input_at(keys, first + (size_t)__builtin_ctzll(left))))
            word |= left & -left;
    return word;
}

size_t bloomery_query_present(const bloomery_filter *filter, const struct bloomery_input *keys,
                              size_t count, uint64_t *answers)
{
    if (keys->valid == NULL)
        return bloomery_query_input(filter, keys, count, answers);
    const bool singly = !filter->secret_known || bloomery_by_positions(filter);
    struct bloomery_compact compact;
    const struct bloomery_input list = bloomery_input_of_hashes(compact.hashes);
    uint64_t compacted[BLOOMERY_COMPACT / BLOOMERY_WORD + 1] = {0};
    uint64_t placed[BLOOMERY_COMPACT / BLOOMERY_WORD];
    size_t found = 0;
    for (size_t i = 0; i < count; i += BLOOMERY_COMPACT) {
        const size_t now = count - i < BLOOMERY_COMPACT ? count - i : BLOOMERY_COMPACT;
        if (singly) {
            for (size_t j = 0; j < now; j += BLOOMERY_WORD) {
                placed[j / BLOOMERY_WORD] = query_singly(
                    filter, keys, i + j, now - j < BLOOMERY_WORD ? now - j : BLOOMERY_WORD);
                found += (size_t)__builtin_popcountll(placed[j / BLOOMERY_WORD]);
            }
        } else {
            const size_t kept = bloomery_input_compact(keys, filter, i, now, &compact);
            found += bloomery_query_input(filter, &list, kept, compacted);
            spread_all(compacted, compact.valid, (size_t)bloomery_words_of(now), placed);
        }
        if (answers != NULL)
            memcpy(answers + i / BLOOMERY_WORD, placed,
                   (size_t)bloomery_words_of(now) * sizeof *placed);
    }
    return found;
}

/* Keys with positions, one by one: those before one that fails are in the filter, and have their
 * answers. */
static bloomery_status add_valid_singly(bloomery_filter *filter, const struct bloomery_input *keys,
                                        size_t count, uint64_t *answers, bloomery_counts *counts,
                                        bloomery_error *error)
{
    for (size_t i = 0; i < count; i++) {
        struct bloomery_input one = bloomery_input_from(keys, i);
        bloomery_counts found;
        one.valid = NULL;
        counts->done = i;
        if (bloomery_input_valid(keys, i, 1) == 0)
            continue;
        const bloomery_status status = bloomery_add_input(filter, &one, 1, NULL, &found, error);
        if (status != BLOOMERY_OK)
            return status;
        counts->positive += found.positive;
        counts->cells += found.cells;
        if (answers != NULL)
            answers[i / BLOOMERY_WORD] |= (uint64_t)found.positive << i % BLOOMERY_WORD;
    }
    counts->done = count;
    return BLOOMERY_OK;
}

/* The place of key `number` of those that are keys. */
static size_t place_of(const struct bloomery_compact *compact, size_t number)
{
    size_t word = 0;
    uint64_t left = compact->valid[0];
    for (size_t now; number >= (now = (size_t)__builtin_popcountll(left)); number -= now)
        left = compact->valid[++word];
    for (; number > 0; number--)
        left &= left - 1;
    assert(left != 0 && word < BLOOMERY_COMPACT / BLOOMERY_WORD);
    return word * BLOOMERY_WORD + (size_t)__builtin_ctzll(left);
}

/* The keys among `count` (at most BLOOMERY_COMPACT) from `first` on. */
static bloomery_status add_valid_some(bloomery_filter *filter, const struct bloomery_input *keys,
                                      size_t first, size_t count, uint64_t *answers,
                                      bloomery_counts *counts, bloomery_error *error)
{
    struct bloomery_compact compact;
    const struct bloomery_input list = bloomery_input_of_hashes(compact.hashes);
    uint64_t compacted[BLOOMERY_COMPACT / BLOOMERY_WORD + 1] = {0};
    bloomery_counts found = {0, 0, 0};
    const size_t kept = bloomery_input_compact(keys, filter, first, count, &compact);
    const bloomery_status status =
        bloomery_add_input(filter, &list, kept, answers != NULL ? compacted : NULL,
                           counts != NULL ? &found : NULL, error);
    if (answers != NULL)
        spread_all(compacted, compact.valid, (size_t)bloomery_words_of(count), answers);
    if (counts != NULL) {
        counts->done += status == BLOOMERY_OK ? count : place_of(&compact, found.done);
        counts->positive += found.positive;
        counts->cells += found.cells;
    }
    return status;
}

bloomery_status bloomery_add_present(bloomery_filter *filter, const struct bloomery_input *keys,
                                     size_t count, uint64_t *answers, bloomery_counts *counts,
                                     bloomery_error *error)
{
    if (keys->valid == NULL)
        return bloomery_add_input(filter, keys, count, answers, counts, error);
    bloomery_counts own = {0, 0, 0};
    bloomery_status status = BLOOMERY_OK;
    if (counts != NULL)
        *counts = own;
    if (answers != NULL && count > 0)
        memset(answers, 0, (size_t)bloomery_words_of(count) * sizeof *answers);
    if (bloomery_by_positions(filter))
        return add_valid_singly(filter, keys, count, answers, counts != NULL ? counts : &own,
                                error);
    for (size_t i = 0; i < count && status == BLOOMERY_OK; i += BLOOMERY_COMPACT)
        status = add_valid_some(
            filter, keys, i, count - i < BLOOMERY_COMPACT ? count - i : BLOOMERY_COMPACT,
            answers != NULL ? answers + i / BLOOMERY_WORD : NULL, counts, error);
    return status;
}
