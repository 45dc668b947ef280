/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scalable filter: a chain of blocked layers, each for twice the keys of the one before and
 * with a lower rate.
 *
 *     layer      0          1               2
 *     keys      n          2 n             4 n                              ...
 *     rate      p/4        3/4 p/4         (3/4)^2 p/4                      ...
 *               ├──────┤   ├───────────┤   ├─────────────────────┤
 *                  full         full            keys are added here
 *
 * An absent key is a false positive if it is one in some layer. So the rate of the chain is at most
 * the sum of the layers' rates, and
 *
 *     p/4 (1 + 3/4 + (3/4)^2 + ...)  =  p/4 / (1 - 3/4)  =  p,
 *
 * however many layers there are. The factor is a trade-off between little and much growth. With 1/2
 * the first layer would be planned for p/2 and not p/4 (a bit per key less). The eighth would be
 * planned for p/256 and not p/30 (three bits more, for half of all keys).
 *
 * A layer is full when as many of its bits are set as n + sqrt(n) keys set on average. Here n is
 * the number of keys that it was planned for, and the number of set bits is
 *
 *     full_at = m (1 - (1 - q)^((n + sqrt(n)) L)),    q = k / (512 N),
 *
 * which each add knows without reading anything, since it knows how many bits it set itself. A
 * batch goes on as long as its keys, k L bits each, cannot make the layer full; near the end keys
 * come one by one. If the caller wants no answers, the kernels count bits and nothing else. Calls
 * of add would be a wrong measure: keys come again. The next layer is made when a key that is in
 * none comes to a full one. So the sequence of the keys alone decides where layers begin. The
 * number of bits that n keys set varies by a quarter of sqrt(n) keys (docs/mathematics.md, 9.2).
 * Hence the margin of four times that. Without it every other filter with just its planned keys
 * would grow, to three times its memory. Layers are made large enough for n + sqrt(n), so the rate
 * holds there too.
 *
 * All layers have one hash. XXH3's 64 bits give n of them a rate of n/2^64 (plan/solve.h),
 * whatever the layers are like. A chain takes 128 if its 10th doubling would make that more than 1
 * % of the rate planned for its newest layer then.
 *
 * A key that an older layer may have is not added again. It would take the place of a new one, and
 * the answer for it is "possibly" already.
 *
 * If several threads add, one of them makes a layer, under a lock. It becomes visible to all others
 * with the number of layers. Cells never move, and in such a chain neither do the records of its
 * layers: it has room for all of them. Other chains get room for records as they grow. Some keys
 * may then still go to the layer that was full, at most one for each thread. A thread that adds a
 * word of keys counts their bits before, and takes back what they did not set. While others do so a
 * layer can seem full some words of keys early.
 *
 * Chains of other systems take the same way, with three differences. The row of their kind has
 * `next_layer`, which describes the next layer. A layer is full with as many new keys as it was
 * planned for, and `adds` counts those; bits are counted for estimates alone. One thread adds, and
 * where a layer might become full, one key at a time.
 */
#include "kinds/chain.h"
#include "base/bits.h"
#include "base/error.h"
#include "base/memory.h"
#include "kernels/pipeline.h"
#include "kinds/cells.h"
#include "plan/blocked_rate.h"
#include "plan/solve.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* ---- Plans ---------------------------------------------------------------------------------- */

/* The keys with which a layer for `keys` is full. */
static double full_keys(uint64_t keys)
{
    return (double)keys + sqrt((double)keys);
}

/* The doublings of the keys for which 64 bits of hash have to be enough. */
enum { DOUBLINGS_AHEAD = 10 };

bloomery_hash_id bloomery_chain_hash(uint64_t keys, double rate)
{
    rate *= BLOOMERY_CHAIN_FIRST;
    for (int i = 0; i < DOUBLINGS_AHEAD; i++)
        rate *= BLOOMERY_CHAIN_FACTOR;
    return bloomery_hash_for(keys << DOUBLINGS_AHEAD, rate);
}

/* Solves a plan for keys and rate, with room for those by which a full layer exceeds its plan. */
static bloomery_status solve_layer(bloomery_plan *plan, uint32_t blocks_per_key, uint32_t probes,
                                   uint32_t folds, bloomery_hash_id hash, bloomery_error *error)
{
    const uint64_t keys = plan->keys;
    const double full = fmin(ceil(full_keys(keys)), (double)BLOOMERY_KEYS_MAX);
    assert(keys <= BLOOMERY_KEYS_MAX);
    if (keys == 0) /* a file may say so: a layer after its last one cannot be planned */
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "a layer is planned for 1 key or more");
    plan->keys = (uint64_t)full;
    bloomery_status status = bloomery_solve(plan, blocks_per_key, probes, folds, hash, error);
    plan->keys = keys;
    if (status != BLOOMERY_OK)
        return status;
    plan->bits_per_key *= full / (double)keys;
    plan->planned_keys = keys;
    return BLOOMERY_OK;
}

bloomery_status bloomery_chain_first(bloomery_plan *plan, uint32_t blocks_per_key, uint32_t probes,
                                     uint32_t folds, bloomery_hash_id hash, bloomery_error *error)
{
    const double rate = plan->rate;
    bloomery_plan layer = {
        .kind = BLOOMERY_BLOCKED,
        .keys = plan->keys,
        .rate = rate * BLOOMERY_CHAIN_FIRST,
        .cell_bits = plan->cell_bits,
    };
    if (plan->bytes != 0)
        return bloomery_fail(
            error, BLOOMERY_BAD_ARGUMENT, 0,
            "a scalable filter is planned by keys and rate: leave bytes 0, and limit its memory "
            "where it is made (memory_limit)");
    if (plan->keys == 0 || !(rate >= BLOOMERY_CHAIN_RATE_MIN && rate < 1))
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "a scalable filter takes the keys of its first layer and a rate of at "
                             "least 1e-12 and below 1");
    if (plan->keys > BLOOMERY_KEYS_MAX)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0, "keys must be 1 to 2^48");
    if (hash == BLOOMERY_HASH_DEFAULT)
        hash = bloomery_chain_hash(layer.keys, rate);
    bloomery_status status = solve_layer(&layer, blocks_per_key, probes, folds, hash, error);
    if (status != BLOOMERY_OK)
        return status;
    layer.kind = plan->kind;
    layer.rate = layer.planned_rate = rate;
    /* Against the least for the rate of the whole filter, as of any other kind. */
    layer.limit_ratio = layer.bits_per_key / -log2(rate);
    *plan = layer;
    return BLOOMERY_OK;
}

bloomery_status bloomery_chain_next(const struct bloomery_layer *newest, bloomery_plan *plan,
                                    bloomery_hash_id hash, bloomery_error *error)
{
    /* No lower than any plan: a file may name any rate, and one of 0 would be none. */
    const double next = newest->rate * BLOOMERY_CHAIN_FACTOR;
    const double rate = next > BLOOMERY_RATE_MIN ? next : BLOOMERY_RATE_MIN;
    *plan = (bloomery_plan){
        .kind = BLOOMERY_BLOCKED,
        .keys = newest->keys < BLOOMERY_KEYS_MAX / BLOOMERY_CHAIN_GROWTH
                    ? newest->keys * BLOOMERY_CHAIN_GROWTH
                    : BLOOMERY_KEYS_MAX,
        .rate = rate,
    };
    /* Far beyond the doublings that the hash was chosen for no layer makes up for what it lacks. */
    const bool wide = bloomery_hash_rate(hash, plan->keys) > rate / 2;
    bloomery_status status =
        solve_layer(plan, 0, 0, 0, wide ? BLOOMERY_HASH_XXH3_128 : hash, error);
    plan->hash = hash;
    plan->planned_rate = rate; /* as planned: the next one follows from it */
    return status;
}

/*
 * If each layer follows from the one before it, the rate is the one that the chain was planned for,
 * to the last bit. If chains were merged, it is the sum of the rates of their layers and of those
 * still to come: r (a + a^2 + ...) = r a / (1 - a) after a last layer of rate r.
 */
double bloomery_chain_rate(const struct bloomery_layer *layers, uint32_t count)
{
    const double coming = BLOOMERY_CHAIN_FACTOR / (1 - BLOOMERY_CHAIN_FACTOR);
    double sum = 0;
    bool planned = true;
    for (uint32_t i = 0; i < count; i++) {
        const double next = i > 0 ? layers[i - 1].rate * BLOOMERY_CHAIN_FACTOR : layers[i].rate;
        planned =
            planned && layers[i].rate == (next > BLOOMERY_RATE_MIN ? next : BLOOMERY_RATE_MIN);
        sum += layers[i].rate;
    }
    sum += layers[count - 1].rate * coming;
    if (planned)
        sum = layers[0].rate / BLOOMERY_CHAIN_FIRST;
    return sum < 1 ? sum : 1;
}

/* ---- Growing -------------------------------------------------------------------------------- */

static uint64_t full_at(const struct bloomery_layer *layer)
{
    const double hit = bloomery_blocked_hit(layer->blocks, layer->probes);
    double fill = -expm1(full_keys(layer->keys) * layer->blocks_per_key * log1p(-hit));
    uint64_t bits = (uint64_t)ceil(fill * (double)layer->bits);
    return bits < layer->bits ? bits : layer->bits;
}

/* What is known of a chain without reading it. Of other systems' layers it is their keys that say
 * when they are full. */
static void begin(struct bloomery_filter *filter)
{
    if (bloomery_cold_in(filter)->next != NULL)
        bloomery_cold_in(filter)->next->planned_keys = 0;
    for (uint32_t i = 0; i < filter->shape.layer_count; i++) {
        struct bloomery_layer *layer = &filter->layers[i];
        layer->bits_set = 0;
        if (!filter->foreign)
            layer->full_at = full_at(layer);
    }
}

void bloomery_chain_open(struct bloomery_filter *filter)
{
    if (!filter->kind->grows || filter->storage != BLOOMERY_OWNED)
        return;
    begin(filter);
    for (uint32_t i = 0; i < filter->shape.layer_count; i++) {
        struct bloomery_layer *layer = &filter->layers[i];
        layer->bits_set = bloomery_count_payload(layer->payload,
                                                 (size_t)(bloomery_held_bytes(filter, layer) / 8));
    }
}

void bloomery_chain_begin(struct bloomery_filter *filter)
{
    if (!filter->kind->grows)
        return;
    assert(filter->storage == BLOOMERY_OWNED);
    begin(filter);
}

static const char chain_max[] = "a chain has no more";

static bool passes_limit(const struct bloomery_filter *filter, uint64_t bytes)
{
    uint64_t total;
    return __builtin_add_overflow(bloomery_payload_bytes(filter), bytes, &total) ||
           total > SIZE_MAX ||
           (bloomery_cold_in(filter)->memory_limit > 0 &&
            total > bloomery_cold_in(filter)->memory_limit);
}

/* Says why the chain can't have a further layer, and how full it is. `why`: the reason, if it is
 * not the `wanted` bytes. */
static bloomery_status refuse(const struct bloomery_filter *filter, uint64_t wanted,
                              const char *why, bloomery_error *error)
{
    struct bloomery_phrase now = {{0}}, more = {{0}}, limit = {{0}};
    const uint32_t layers = bloomery_layer_count(filter);
    const char *about = filter->foreign ? "" : "about ", *plural = layers == 1 ? "" : "s";
    double keys = 0;
    for (uint32_t i = 0; i < layers; i++)
        keys += filter->foreign
                    ? (double)filter->layers[i].adds
                    : filter->kind->estimate(
                          &filter->layers[i],
                          __atomic_load_n(&filter->layers[i].bits_set, __ATOMIC_RELAXED));
    if (why != NULL)
        return bloomery_fail(error, BLOOMERY_FULL, 0, "full with %s%llu keys in %u layer%s: %s",
                             about, (unsigned long long)fmin(keys, 0x1p63), layers, plural, why);
    bloomery_phrase_bytes(&now, bloomery_payload_bytes(filter));
    bloomery_phrase_bytes(&more, wanted);
    if (!passes_limit(filter, wanted)) {
        struct bloomery_phrase_limit met;
        return bloomery_fail(error, BLOOMERY_OUT_OF_MEMORY, 0,
                             "full with %s%llu keys in %u layer%s of %s; memory ran out for "
                             "another layer of %s%s",
                             about, (unsigned long long)fmin(keys, 0x1p63), layers, plural,
                             now.text, more.text,
                             bloomery_phrase_limit(&met, &filter->allocator, wanted));
    }
    return bloomery_fail(error, BLOOMERY_FULL, 0,
                         "full with %s%llu keys in %u layer%s of %s; another layer of %s would "
                         "pass the limit of %s",
                         about, (unsigned long long)fmin(keys, 0x1p63), layers, plural, now.text,
                         more.text,
                         bloomery_phrase_bytes(&limit, bloomery_cold_in(filter)->memory_limit));
}

/* Planned once: a full chain is tried again and again. */
static bloomery_status next_of_ours(struct bloomery_filter *filter,
                                    const struct bloomery_layer *newest,
                                    struct bloomery_layer *next, bloomery_error *error)
{
    bloomery_plan *plan = bloomery_cold_in(filter)->next;
    if (plan->planned_keys == 0 &&
        bloomery_chain_next(newest, plan, filter->shape.hash, NULL) != BLOOMERY_OK) {
        plan->planned_keys = 0;
        return refuse(filter, 0, chain_max, error);
    }
    *next = (struct bloomery_layer){
        .bits = plan->bits,
        .blocks = plan->bits / BLOOMERY_BLOCK_BITS,
        .probes = plan->probes,
        .blocks_per_key = plan->blocks_per_key,
        .keys = plan->planned_keys,
        .rate = plan->planned_rate,
        .bytes = plan->planned_bytes,
    };
    next->full_at = full_at(next);
    return BLOOMERY_OK;
}

static bloomery_status next_of_theirs(const struct bloomery_filter *filter,
                                      const struct bloomery_layer *newest,
                                      struct bloomery_layer *next, bloomery_error *error)
{
    struct bloomery_shape alone = filter->shape;
    struct bloomery_checked_shape checked;
    if (filter->shape.growth == 0)
        return refuse(filter, 0, "a filter of its kind does not grow", error);
    /* A rate can't be halved without end: at last a layer needs more probes or bits than we
     * allow. */
    bloomery_status status = filter->kind->next_layer(&filter->shape, newest, next, error);
    if (status == BLOOMERY_UNSUPPORTED)
        return status;
    if (status != BLOOMERY_OK)
        return refuse(filter, 0, "the next layer would have too many bits or probes", error);
    alone.layers = next;
    alone.layer_count = 1;
    status = bloomery_shape_lay_out(&alone, &next->bytes, error);
    if (status == BLOOMERY_OK)
        status = bloomery_shape_check(&alone, next->bytes, &checked, error);
    if (filter->kind->grows)
        next->dumped = newest->dumped + newest->bits / 8;
    return status;
}

bloomery_status bloomery_chain_grow(struct bloomery_filter *filter, bloomery_error *error)
{
    const uint32_t count = filter->shape.layer_count;
    const struct bloomery_layer *newest = &filter->layers[count - 1];
    struct bloomery_layer next = {.offset = 0};
    if (count == (filter->of_our_file ? BLOOMERY_CHAIN_MAX : bloomery_layers_max(&filter->shape)))
        return refuse(filter, 0, chain_max, error);
    const bloomery_status status = filter->kind->next_layer == NULL
                                       ? next_of_ours(filter, newest, &next, error)
                                       : next_of_theirs(filter, newest, &next, error);
    if (status != BLOOMERY_OK)
        return status;
    next.offset = bloomery_payload_bytes(filter);
    bloomery_prepare_layer(&filter->shape, &next);
    if (!passes_limit(filter, next.bytes) && bloomery_make_room(filter, count + 1))
        next.payload =
            bloomery_allocate(&filter->allocator, (size_t)next.bytes, BLOOMERY_PAYLOAD_UNIT);
    if (next.payload == NULL)
        return refuse(filter, next.bytes, NULL, error);
    if (bloomery_cold_in(filter)->next != NULL)
        bloomery_cold_in(filter)->next->planned_keys = 0;
    filter->layers[count] = next;
    __atomic_store_n(&filter->shape.layer_count, count + 1, __ATOMIC_RELEASE);
    assert(bloomery_payload_bytes(filter) == next.offset + next.bytes);
    return BLOOMERY_OK;
}

/* Adds a layer to a chain that had `count` of them, unless another thread was faster. */
static bloomery_status grow_past(struct bloomery_filter *filter, uint32_t count,
                                 bloomery_error *error)
{
    bloomery_status status = BLOOMERY_OK;
    if (bloomery_cold_in(filter)->growing == NULL)
        return bloomery_chain_grow(filter, error);
    bloomery_lock(bloomery_cold_in(filter)->growing);
    if (bloomery_layer_count(filter) == count)
        status = bloomery_chain_grow(filter, error);
    bloomery_unlock(bloomery_cold_in(filter)->growing);
    return status;
}

/* Whether the layer holds the keys that it was planned for. Other systems count new keys. */
static bool is_full(const struct bloomery_filter *filter, const struct bloomery_layer *layer)
{
    if (filter->foreign)
        return layer->adds >= layer->keys;
    return __atomic_load_n(&layer->bits_set, __ATOMIC_RELAXED) >= layer->full_at;
}

/* ---- Adding --------------------------------------------------------------------------------- */

/* Adds are counted in the layer that is the newest when they come, wherever the key is. So the
 * counts follow from the sequence of the keys too. Other systems count new keys only. */
static void count_adds(const struct bloomery_filter *filter, struct bloomery_layer *layer,
                       uint64_t adds, uint64_t bits)
{
    if (filter->concurrent) {
        __atomic_fetch_add(&layer->adds, adds, __ATOMIC_RELAXED);
        __atomic_fetch_add(&layer->bits_set, bits, __ATOMIC_RELAXED);
    } else {
        layer->adds += filter->foreign ? bits > 0 : adds;
        layer->bits_set += bits;
    }
    assert(filter->concurrent || layer->bits_set <= layer->bits);
}

/* A key that the newest layer may have is seen without a further one. */
static inline __attribute__((always_inline)) bloomery_status
add(struct bloomery_filter *filter, const struct bloomery_subject *subject, bool positions,
    uint32_t *new_bits, bloomery_error *error)
{
    uint32_t layers = bloomery_layer_count(filter);
    struct bloomery_layer *layer = &filter->layers[layers - 1];
    uint32_t set = 0;
    bool seen = bloomery_layers_may_contain(filter, layers - 1, subject, positions);
    while (!seen && is_full(filter, layer)) {
        seen = bloomery_layer_may_contain(filter, layer, subject, positions);
        if (seen)
            break;
        bloomery_status status = grow_past(filter, layers, error);
        if (status != BLOOMERY_OK)
            return status;
        layer = &filter->layers[layers++];
    }
    if (!seen)
        set = bloomery_layer_add(filter, layer, subject, positions);
    count_adds(filter, layer, 1, set);
    *new_bits = set;
    return BLOOMERY_OK;
}

bloomery_status bloomery_chain_add(struct bloomery_filter *filter, bloomery_hash hash,
                                   uint32_t *new_bits, bloomery_error *error)
{
    const struct bloomery_subject subject = {.hash = hash};
    return add(filter, &subject, false, new_bits, error);
}

bool bloomery_chain_add_one(struct bloomery_filter *filter, bloomery_hash hash,
                            bloomery_error *error)
{
    uint32_t set = 0;
    const bloomery_status status = bloomery_chain_add(filter, hash, &set, error);
    return bloomery_add_answer(filter, status, set, error);
}

bloomery_status bloomery_chain_add_positions(struct bloomery_filter *filter, bloomery_key key,
                                             uint32_t *new_bits, bloomery_error *error)
{
    const struct bloomery_subject subject = {.key = key};
    return add(filter, &subject, true, new_bits, error);
}

/* ---- Many keys ------------------------------------------------------------------------------- */

/*
 * A portion of keys passes through the layers, from the newest to the oldest. Each leaves those
 * that it surely does not have:
 *
 *     hashes     | a | b | c | d | e | f |      layer 2 may have b and e
 *                | a | c | d | f |              layer 1 may have d
 *                | a | c | f |      places 0, 2, 5
 *
 * Those that are left at the end are in no layer. Hashes and places fit in the first-level cache.
 */
enum { WORD = 64, PORTION = 512, PORTION_ALONE = 4096 };

struct portion {
    size_t count;
    bloomery_hash hashes[PORTION];
    uint16_t place[PORTION]; /* where they were among the keys */
};

static void fill(struct portion *portion, const struct bloomery_filter *filter,
                 const struct bloomery_input *keys, size_t first, size_t count)
{
    assert(count > 0 && count <= PORTION);
    bloomery_key_hasher_of(keys, filter)(keys, filter, first, count, portion->hashes);
    for (size_t i = 0; i < count; i++)
        portion->place[i] = (uint16_t)i;
    portion->count = count;
}

/* Leaves the keys that the layer surely does not have. */
static void leave_absent(const struct bloomery_filter *filter,
                         const struct bloomery_fast_path *fast, const struct bloomery_layer *layer,
                         struct portion *portion)
{
    const struct bloomery_input input = bloomery_input_of_hashes(portion->hashes);
    const size_t count = portion->count;
    uint64_t found[PORTION / WORD];
    size_t kept = 0;
    if (fast != NULL)
        fast->query(filter, layer, &input, count, found);
    for (size_t first = 0; first < count; first += WORD) {
        const size_t now = count - first < WORD ? count - first : WORD;
        bloomery_hash *hashes = portion->hashes + first;
        const uint64_t may =
            fast != NULL ? found[first / WORD]
                         : filter->operations->query_word(layer, layer->payload, hashes, now);
        if (may == 0) { /* as it is for most words of new keys */
            memmove(portion->hashes + kept, hashes, now * sizeof *hashes);
            memmove(portion->place + kept, portion->place + first, now * sizeof *portion->place);
            kept += now;
            continue;
        }
        for (size_t i = 0; i < now; i++) {
            portion->hashes[kept] = hashes[i];
            portion->place[kept] = portion->place[first + i];
            kept += (may >> i & 1) == 0;
        }
    }
    assert(kept <= count);
    portion->count = kept;
}

size_t bloomery_chain_query(const struct bloomery_filter *filter,
                            const struct bloomery_fast_path *fast,
                            const struct bloomery_input *keys, size_t count, uint64_t *answers)
{
    const uint32_t layers = bloomery_layer_count(filter);
    bloomery_key_hasher *hash_keys = bloomery_key_hasher_of(keys, filter);
    size_t found = 0;
    if (layers == 1)
        return fast->query(filter, filter->layers, keys, count, answers);
    for (size_t first = 0; first < count; first += PORTION) {
        const size_t now = count - first < PORTION ? count - first : PORTION;
        const size_t words = (now + WORD - 1) / WORD;
        bloomery_hash hashes[PORTION];
        const struct bloomery_input input = bloomery_input_of_hashes(hashes);
        uint64_t here[PORTION / WORD], all[PORTION / WORD] = {0};
        size_t sum = 0;
        hash_keys(keys, filter, first, now, hashes);
        for (uint32_t i = layers; i-- > 0 && sum < now;) {
            const size_t more = fast->query(filter, &filter->layers[i], &input, now, here);
            for (size_t word = 0; word < words && more > 0; word++)
                all[word] |= here[word];
            sum = i == layers - 1 ? more
                  : more > 0      ? (size_t)bloomery_count_bits((const uint8_t *)all, words)
                                  : sum;
        }
        assert(sum <= now);
        found += sum;
        if (answers != NULL)
            memcpy(answers + first / WORD, all, words * sizeof *all);
    }
    return found;
}

/* Adds keys, none of which can make the newest layer full, in order. `answers`: which were new;
 * NULL if nobody asks, and the kernels then only count. Returns how many bits they set. */
static uint64_t add_to_newest(const struct bloomery_filter *filter,
                              const struct bloomery_fast_path *fast, uint32_t layers,
                              const struct bloomery_input *keys, size_t first, size_t count,
                              uint64_t *answers)
{
    const struct bloomery_layer *layer = &filter->layers[layers - 1];
    struct bloomery_input input = bloomery_input_from(keys, first);
    bloomery_counts counts = {0, 0, 0};
    struct portion portion;
    uint64_t set[PORTION / WORD];
    assert(answers != NULL || (fast != NULL && !filter->concurrent));
    if (answers == NULL && layers == 1)
        return fast->add_tallied(filter, layer, &input, count);
    if (fast != NULL && layers == 1) {
        fast->add[filter->concurrent](filter, layer, &input, count, answers, &counts);
        return counts.cells;
    }
    fill(&portion, filter, keys, first, count);
    if (fast == NULL)
        bloomery_pipeline_prefetch(filter, portion.hashes, count, true);
    for (uint32_t i = layers - 1; i-- > 0 && portion.count > 0;)
        leave_absent(filter, fast, &filter->layers[i], &portion);
    input = bloomery_input_of_hashes(portion.hashes);
    if (answers == NULL)
        return fast->add_tallied(filter, layer, &input, portion.count);
    if (fast != NULL && portion.count > 0)
        fast->add[filter->concurrent](filter, layer, &input, portion.count, set, &counts);
    for (size_t i = 0; fast == NULL && i < portion.count; i += WORD)
        set[i / WORD] = filter->operations->add_word(
            layer, layer->payload, portion.hashes + i,
            portion.count - i < WORD ? portion.count - i : WORD, &counts.cells);
    memset(answers, 0, (count + WORD - 1) / WORD * sizeof *answers);
    for (size_t i = 0; i < portion.count; i++)
        answers[portion.place[i] / WORD] |= (set[i / WORD] >> i % WORD & 1)
                                            << portion.place[i] % WORD;
    return counts.cells;
}

/*
 * Returns how many of some keys surely do not fill the newest layer: whole words of them, or all.
 * In a concurrent chain the bits that these keys can set are counted as set; those that they did
 * not set are subtracted afterwards. So threads that add at once do not fill the same room.
 */
static size_t reserve(const struct bloomery_filter *filter, struct bloomery_layer *layer,
                      size_t keys)
{
    const uint64_t each = (uint64_t)layer->probes * layer->blocks_per_key;
    uint64_t known = __atomic_load_n(&layer->bits_set, __ATOMIC_RELAXED);
    uint64_t fit;
    do {
        if (filter->foreign) /* full with as many new keys as it is planned for */
            fit = layer->adds < layer->keys ? layer->keys - layer->adds : 0;
        else
            fit = known < layer->full_at ? (layer->full_at - known) / each : 0;
        fit = fit < keys ? fit / WORD * WORD : keys;
    } while (filter->concurrent && fit > 0 &&
             !__atomic_compare_exchange_n(&layer->bits_set, &known, known + fit * each, true,
                                          __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return (size_t)fit;
}

/* Adds a portion, or as many of its words as the newest layer has room for; 0: for none. */
static size_t add_portion(struct bloomery_filter *filter, const struct bloomery_fast_path *fast,
                          const struct bloomery_input *keys, size_t first, size_t count,
                          uint64_t *answers, uint64_t *cells)
{
    const uint32_t layers = bloomery_layer_count(filter);
    struct bloomery_layer *layer = &filter->layers[layers - 1];
    const size_t fit = reserve(filter, layer, count);
    if (fit == 0)
        return 0;
    const uint64_t set = add_to_newest(filter, fast, layers, keys, first, fit, answers);
    const uint64_t most = (uint64_t)fit * layer->probes * layer->blocks_per_key;
    assert(filter->foreign || set <= most);
    uint64_t added = 0;
    assert(!filter->foreign || answers != NULL);
    for (size_t i = 0; filter->foreign && i < fit; i += WORD)
        added += (uint64_t)__builtin_popcountll(answers[i / WORD]);
    if (filter->foreign) {
        layer->adds += added;
        layer->bits_set += set;
    } else {
        count_adds(filter, layer, fit, filter->concurrent ? set - most : set);
    }
    *cells += set;
    return fit;
}

/* Adds a word of keys one by one; returns how many were added. */
static size_t add_singly(struct bloomery_filter *filter, const struct bloomery_input *keys,
                         size_t first, size_t count, uint64_t *answers, uint64_t *cells,
                         bloomery_status *status, bloomery_error *error)
{
    bloomery_hash hashes[WORD];
    bloomery_key_hasher_of(keys, filter)(keys, filter, first, count, hashes);
    *answers = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t set = 0;
        *status = bloomery_chain_add(filter, hashes[i], &set, error);
        if (*status != BLOOMERY_OK)
            return i;
        *answers |= (uint64_t)(set > 0) << i;
        *cells += set;
    }
    return count;
}

bloomery_status bloomery_chain_add_many(struct bloomery_filter *filter,
                                        const struct bloomery_fast_path *fast,
                                        const struct bloomery_input *keys, size_t count,
                                        uint64_t *answers, bloomery_counts *counts,
                                        bloomery_error *error)
{
    const bool asked = answers != NULL || counts != NULL || filter->concurrent || fast == NULL ||
                       fast->add_tallied == NULL;
    bloomery_status status = BLOOMERY_OK;
    bloomery_counts done = {0, 0, 0};
    if (answers != NULL && count > 0)
        memset(answers, 0, (size_t)bloomery_words_of(count) * sizeof *answers);
    while (done.done < count && status == BLOOMERY_OK) {
        const size_t left = count - done.done;
        /* The layer; nothing is set aside. Others may add one to a concurrent chain. */
        const bool alone = !filter->concurrent && filter->shape.layer_count == 1;
        const bool whole = !asked && alone;
        /* Others add to a concurrent chain, and what is reserved is missing to them: a word at a
         * time. Without kernels of their own the memory of all keys of a portion is requested at
         * once. With them, each portion begins and ends with few keys on their way. */
        const size_t most = filter->concurrent ? WORD
                            : fast == NULL     ? 2 * WORD
                            : alone            ? PORTION_ALONE
                                               : PORTION;
        uint64_t found[PORTION_ALONE / WORD];
        size_t now = add_portion(filter, fast, keys, done.done, whole || left < most ? left : most,
                                 asked ? found : NULL, &done.cells);
        if (now == 0)
            now = add_singly(filter, keys, done.done, left < WORD ? left : WORD, found, &done.cells,
                             &status, error);
        for (size_t i = 0; asked && i < now; i += WORD)
            done.positive += (size_t)__builtin_popcountll(found[i / WORD]);
        if (answers != NULL)
            memcpy(answers + done.done / WORD, found, (now + WORD - 1) / WORD * sizeof *answers);
        done.done += now;
    }
    assert(done.done <= count && (done.done == count) == (status == BLOOMERY_OK));
    if (counts != NULL)
        *counts = done;
    return status;
}

/* ---- Positions ------------------------------------------------------------------------------- */

bool bloomery_positions_may_contain(const bloomery_filter *filter, bloomery_key key)
{
    const struct bloomery_subject subject = {.key = key};
    return bloomery_layers_may_contain(filter, bloomery_layer_count(filter), &subject, true);
}

bool bloomery_positions_remove(bloomery_filter *filter, bloomery_key key, uint32_t *cleared)
{
    uint64_t positions[BLOOMERY_POSITIONS_MAX];
    const struct bloomery_layer *layer = filter->layers;
    assert(filter->shape.layer_count == 1);
    filter->hash->positions(bloomery_secret_of(filter), key, layer->bits, layer->probes, positions);
    return filter->operations->remove_positions(layer, layer->payload, positions, cleared);
}

uint32_t bloomery_positions_count(const bloomery_filter *filter, bloomery_key key)
{
    uint64_t positions[BLOOMERY_POSITIONS_MAX];
    const struct bloomery_layer *layer = filter->layers;
    filter->hash->positions(bloomery_secret_of(filter), key, layer->bits, layer->probes, positions);
    return filter->operations->count_positions(layer, layer->payload, positions);
}

/* ---- Joining chains -------------------------------------------------------------------------- */

/*
 * The union of two chains. Layers of one shape become one where it stays below the mark at which a
 * layer is full (above), as those of shards with one plan do. The others stand side by side:
 *
 *     into    a0  a1  a2          ┐
 *     from    b0  b1  b2          ┴──>    a0|b0  a1  b1  a2|b2
 *
 * An absent key is a false positive if it is one in some layer. So the rates of layers add up, and
 * each layer keeps its own: the rate that it is planned for holds up to the mark. Keys go on to the
 * last layer: of the two newest ones the larger is put there, and of equal ones the own. The layer
 * after it is planned from it. So the rate of the whole stays under the sum of the two chains'
 * planned rates: their layers so far are parts of the two sums, and layers to come are part of one.
 *
 * What a layer of the other has becomes known by counting: keys that both have are counted once. A
 * layer whose bits are all in the other's adds nothing, so there the mark does not matter: it may
 * be passed by the bits of one key.
 *
 * Layers that stay apart are copied, since the other chain remains, and all memory is taken before
 * anything changes.
 */

/* ---- Which layers become one ---------------------------------------------------------------- */

enum {
    STRETCH = 4096,         /* bytes that pass over the stack */
    SAMPLE = 256 * STRETCH, /* after which it is plain whether a layer would be too full */
    APART = -1,
};

/* Where each layer of the other chain goes: into one of our layers, or beside them. */
struct joining {
    int into[BLOOMERY_CHAIN_MAX];
    uint32_t apart;
    uint64_t apart_bytes;
};

/* The bits of both layers in a stretch, and whether one of them has some that the other lacks. */
struct overlap {
    uint64_t bits;
    bool more, less;
};

/* Whether two layers of one shape may become one. Past the sample it need not read on if there are
 * a twentieth too many bits: keys lie alike in all of a layer. */
static bool may_unite(const struct bloomery_layer *one, const struct bloomery_layer *other)
{
    struct overlap overlap = {0, false, false};
    const uint64_t bytes = one->bytes;
    for (uint64_t at = 0; at < bytes; at += STRETCH) {
        const size_t now = bytes - at < STRETCH ? (size_t)(bytes - at) : STRETCH;
        const bool plain = at >= SAMPLE && (double)overlap.bits * (double)bytes >
                                               1.05 * (double)one->full_at * (double)at;
        if (overlap.more && overlap.less && (plain || overlap.bits > one->full_at))
            return false;
        uint8_t room[STRETCH];
        memcpy(room, one->payload + at, now);
        bloomery_cells_unite(1, room, other->payload + at, now);
        const uint64_t both = bloomery_count_payload(room, now / 8);
        overlap.bits += both;
        overlap.more = overlap.more || both > bloomery_count_payload(one->payload + at, now / 8);
        overlap.less = overlap.less || both > bloomery_count_payload(other->payload + at, now / 8);
    }
    return !overlap.more || !overlap.less || overlap.bits <= one->full_at;
}

static bool is_one_shape(const struct bloomery_layer *one, const struct bloomery_layer *other)
{
    return one->bits == other->bits && one->probes == other->probes &&
           one->blocks_per_key == other->blocks_per_key;
}

/* Each of our layers takes at most one of the other's. Those of one chain do not fit together, or
 * they would be one. */
static void find_places(const bloomery_filter *into, const bloomery_filter *from,
                        struct joining *joining)
{
    uint64_t taken = 0; /* a bit for each of our layers */
    _Static_assert(BLOOMERY_CHAIN_MAX <= 64, "a layer has a bit");
    *joining = (struct joining){.apart = 0};
    for (uint32_t i = 0; i < from->shape.layer_count; i++) {
        const struct bloomery_layer *other = &from->layers[i];
        uint32_t at = 0;
        while (at < into->shape.layer_count &&
               ((taken >> at & 1) != 0 || !is_one_shape(&into->layers[at], other) ||
                !may_unite(&into->layers[at], other)))
            at++;
        const bool unites = at < into->shape.layer_count;
        joining->into[i] = unites ? (int)at : APART;
        joining->apart += !unites;
        joining->apart_bytes += unites ? 0 : other->bytes;
        taken |= unites ? UINT64_C(1) << at : 0;
    }
}

/* ---- The others ----------------------------------------------------------------------------- */

/* Copies the layers that stay apart; none if memory ran out. */
static bloomery_status copy_layers(const bloomery_filter *into, const bloomery_filter *from,
                                   const struct joining *joining, struct bloomery_layer *copies,
                                   bloomery_error *error)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < from->shape.layer_count; i++) {
        const struct bloomery_layer *layer = &from->layers[i];
        if (joining->into[i] != APART)
            continue;
        copies[count] = *layer;
        copies[count].payload =
            bloomery_allocate(&into->allocator, (size_t)layer->bytes, BLOOMERY_PAYLOAD_UNIT);
        if (copies[count].payload == NULL) {
            for (uint32_t made = 0; made < count; made++)
                bloomery_release(&into->allocator, copies[made].payload, (size_t)copies[made].bytes,
                                 BLOOMERY_PAYLOAD_UNIT);
            return bloomery_fail_memory(error, &into->allocator, "a copy of a layer", layer->bytes);
        }
        memcpy(copies[count++].payload, layer->payload, (size_t)layer->bytes);
    }
    assert(count == joining->apart);
    return BLOOMERY_OK;
}

static bloomery_status check_room(const bloomery_filter *into, const struct joining *joining,
                                  bloomery_error *error)
{
    const uint32_t layers = into->shape.layer_count + joining->apart;
    struct bloomery_phrase all = {{0}}, limit = {{0}};
    uint64_t bytes;
    if (layers > BLOOMERY_CHAIN_MAX)
        return bloomery_fail(
            error, BLOOMERY_FULL, 0,
            "the union would have %u layers, and a filter has %d at most; layers that "
            "are full stay apart. Merge fewer filters, or look keys up in each "
            "(dedupe --against, query -f)",
            layers, BLOOMERY_CHAIN_MAX);
    if (__builtin_add_overflow(bloomery_payload_bytes(into), joining->apart_bytes, &bytes) ||
        bytes > SIZE_MAX)
        return bloomery_fail(error, BLOOMERY_OUT_OF_MEMORY, 0,
                             "the layers of both would take more bytes than there are addresses");
    if (bloomery_cold_in(into)->memory_limit > 0 && bytes > bloomery_cold_in(into)->memory_limit)
        return bloomery_fail(error, BLOOMERY_FULL, 0,
                             "the layers of both would take %s, and the limit is %s",
                             bloomery_phrase_bytes(&all, bytes),
                             bloomery_phrase_bytes(&limit, bloomery_cold_in(into)->memory_limit));
    return BLOOMERY_OK;
}

/* Puts copies before our newest layer, or behind it if the newest of them is larger. */
static void insert_copies(bloomery_filter *into, const struct bloomery_layer *copies, uint32_t more)
{
    uint32_t count = into->shape.layer_count;
    const struct bloomery_layer newest = into->layers[count - 1];
    const bool own_last = newest.bits >= copies[more - 1].bits;
    if (own_last && into->first == count - 1)
        into->first = (uint16_t)(into->first + more);
    count -= own_last;
    memcpy(&into->layers[count], copies, more * sizeof copies[0]);
    count += more;
    if (own_last)
        into->layers[count++] = newest;
    into->shape.layer_count = count;
    uint64_t end = 0;
    for (uint32_t i = 0; i < count; i++) {
        into->layers[i].offset = end;
        end += into->layers[i].bytes;
    }
    assert(bloomery_payload_bytes(into) == end);
}

bloomery_status bloomery_chain_join(bloomery_filter *into, const bloomery_filter *from,
                                    bloomery_error *error)
{
    struct bloomery_layer copies[BLOOMERY_CHAIN_MAX];
    struct joining joining;
    assert(into != from && into->kind->grows && from->kind->grows);
    assert(!into->foreign && into->storage == BLOOMERY_OWNED);
    assert(into->shape.layer_count > 0 && from->shape.layer_count > 0);
    find_places(into, from, &joining);
    const uint32_t count = into->shape.layer_count + joining.apart;
    bloomery_status status = check_room(into, &joining, error);
    if (status == BLOOMERY_OK && !bloomery_make_room(into, count))
        status = bloomery_fail(error, BLOOMERY_OUT_OF_MEMORY, 0,
                               "not enough memory for the records of %u layers", count);
    if (status == BLOOMERY_OK)
        status = copy_layers(into, from, &joining, copies, error);
    if (status != BLOOMERY_OK)
        return status;
    for (uint32_t i = 0; i < from->shape.layer_count; i++) {
        if (joining.into[i] == APART)
            continue;
        struct bloomery_layer *layer = &into->layers[joining.into[i]];
        const struct bloomery_layer *other = &from->layers[i];
        bloomery_cells_unite(1, layer->payload, other->payload, (size_t)layer->bytes);
        if (__builtin_add_overflow(layer->adds, other->adds, &layer->adds))
            layer->adds = UINT64_MAX;
    }
    if (joining.apart > 0)
        insert_copies(into, copies, joining.apart);
    bloomery_chain_open(into);
    return BLOOMERY_OK;
}
