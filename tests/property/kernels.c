/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_equals_scalar: every kernel that this machine can run against the scalar code, which is
 * the definition: the same answers, the same counts of new bits, the same payload, for every k and
 * L.
 *
 * Hashes go in: random ones, and ones made of few bits, so that positions repeat and blocks
 * coincide. The filters are small, so that every block is hit often and some fill up.
 *
 * batches_of_every_form_equal_single_keys: then keys, in every form that has code of its own, 0 to
 * 300 of them, against libxxhash and the scalar code key by key. They end where a page begins that
 * must not be read, or at odd addresses before it.
 *
 * BLOOMERY_TEST_LONG=1: each form and count with every k and L, not with one of each.
 */
#include "../support/built.h"

#include "base/cpu.h"
#include "kernels/block.h"
#include "kernels/fast_path.h"
#include "kinds/blocked.h"
#include "kinds/chain.h"
#include "kinds/filter.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { HASHES = 4096, BLOCKS = 37 };

static bloomery_hash hashes[HASHES];
static uint64_t random_state;

static uint64_t random64(void)
{
    return test_next(&random_state);
}

static void make_hashes(uint64_t seed)
{
    random_state = seed;
    for (size_t i = 0; i < HASHES; i++) {
        hashes[i] = (bloomery_hash){random64(), random64()};
        switch (i % 8) {
        case 0: /* positions repeat */
            hashes[i].lo &= random64() & random64();
            break;
        case 1: /* the highest of everything */
            hashes[i].lo |= random64() | random64();
            hashes[i].hi |= UINT64_C(0xFFFFFFFF00000000);
            break;
        case 2: /* queried and added before */
            hashes[i] = hashes[i / 2];
            break;
        case 3:
            hashes[i].lo = i % 16 == 3 ? 0 : UINT64_MAX;
            break;
        default:
            break;
        }
    }
}

static struct bloomery_layer layer_of(uint32_t blocks_per_key, uint32_t probes)
{
    return (struct bloomery_layer){.bits = BLOCKS * 512,
                                   .blocks = BLOCKS,
                                   .probes = probes,
                                   .blocks_per_key = blocks_per_key,
                                   .bytes = BLOCKS * 64};
}

/* Words of every length, so that no kernel may look past its count. */
static size_t word_length(size_t at)
{
    size_t length = 1 + at % 64;
    return length < HASHES - at ? length : HASHES - at;
}

/* A level's kernels: for batches, and for single hashes. */
struct kernels {
    const struct bloomery_fast_path *batches;
    const struct bloomery_operations *single; /* plain, and for several threads */
};

/* Of a blocked filter, whose own layer is not touched. */
static const bloomery_filter *holder;

static uint64_t query_word(const struct kernels *kernel, const struct bloomery_layer *layer,
                           const bloomery_hash *word, size_t count)
{
    const struct bloomery_input input = bloomery_input_of_hashes(word);
    uint64_t answers = 0;
    const size_t found = kernel->batches->query(holder, layer, &input, count, &answers);
    assert_int_equal(found, __builtin_popcountll(answers));
    return answers;
}

/* `new_bits` grows, unless it is NULL. */
static uint64_t add_word(const struct kernels *kernel, const struct bloomery_layer *layer,
                         const bloomery_hash *word, size_t count, bool shared, uint64_t *new_bits)
{
    const struct bloomery_input input = bloomery_input_of_hashes(word);
    bloomery_counts counts = {0, 0, 0};
    uint64_t answers = 0;
    kernel->batches->add[shared](holder, layer, &input, count, &answers,
                                 new_bits != NULL ? &counts : NULL);
    if (new_bits != NULL)
        *new_bits += counts.cells;
    return answers;
}

static void compare(const struct kernels *kernel, const struct kernels *scalar, bool shared,
                    uint32_t blocks_per_key, uint32_t probes)
{
    const struct bloomery_operations *single = &kernel->single[shared];
    struct bloomery_layer one_layer = layer_of(blocks_per_key, probes);
    struct bloomery_layer other_layer = one_layer;
    static uint8_t left[BLOCKS * 64] __attribute__((aligned(64)));
    static uint8_t right[BLOCKS * 64] __attribute__((aligned(64)));
    one_layer.payload = left;
    other_layer.payload = right;
    memset(left, 0, sizeof left);
    memset(right, 0, sizeof right);
    for (size_t at = 0; at < HASHES; at += word_length(at)) {
        const size_t count = word_length(at);
        const bloomery_hash *word = hashes + at;
        uint64_t new_left = 7, new_right = 7;
        assert_int_equal(query_word(scalar, &one_layer, word, count),
                         query_word(kernel, &other_layer, word, count));
        if (at % 7 == 0) /* what follows then finds nothing new */
            for (uint32_t which = 0; which < blocks_per_key; which++) {
                const struct bloomery_hashes aside = {(const uint64_t *)(const void *)word, false};
                scalar->single->add_block(&one_layer, left, aside, count, which);
                if (single->add_block != NULL)
                    single->add_block(&other_layer, right, aside, count, which);
                else
                    scalar->single->add_block(&other_layer, right, aside, count, which);
                assert_memory_equal(left, right, sizeof left);
            }
        /* With and without counting, which may be different code. */
        uint64_t *counts[] = {at % 3 == 0 ? NULL : &new_left, at % 3 == 0 ? NULL : &new_right};
        assert_int_equal(add_word(scalar, &one_layer, word, count, false, counts[0]),
                         add_word(kernel, &other_layer, word, count, shared, counts[1]));
        assert_int_equal(new_left, new_right);
        assert_memory_equal(left, right, sizeof left);
        assert_int_equal(query_word(kernel, &other_layer, word, count),
                         count == 64 ? UINT64_MAX : (UINT64_C(1) << count) - 1);
        bloomery_hash one = {random64(), random64()};
        assert_int_equal(scalar->single->may_contain(&one_layer, left, one),
                         single->may_contain(&other_layer, right, one));
        if (at % 5 == 0)
            assert_int_equal(scalar->single->add(&one_layer, left, one),
                             single->add(&other_layer, right, one));
        assert_memory_equal(left, right, sizeof left);
        if (at % 512 == 0) { /* before everything says yes */
            memset(left, 0, sizeof left);
            memset(right, 0, sizeof right);
        }
    }
}

static const struct kernels scalar_kernels = {&bloomery_fast_scalar, bloomery_blocked_scalar};

/* The kernels of a level; NULL where this architecture has none. */
static const struct kernels *kernels_of(enum bloomery_cpu level)
{
#if defined(__x86_64__)
    static const struct kernels avx2 = {&bloomery_fast_avx2, bloomery_blocked_avx2};
    static const struct kernels avx512 = {&bloomery_fast_avx512, bloomery_blocked_avx512};
#elif defined(BLOOMERY_ARM_KERNELS)
    static const struct kernels neon = {&bloomery_fast_neon, bloomery_blocked_neon};
#endif
    switch (level) {
    case BLOOMERY_CPU_SCALAR:
        return &scalar_kernels;
#if defined(__x86_64__)
    case BLOOMERY_CPU_AVX2:
        return &avx2;
    case BLOOMERY_CPU_AVX512:
    case BLOOMERY_CPU_VPOPCNTDQ:
        return &avx512;
#elif defined(BLOOMERY_ARM_KERNELS)
    case BLOOMERY_CPU_NEON:
        return &neon;
#endif
    default:
        return NULL;
    }
}

static __attribute__((unused)) void compare_all(enum bloomery_cpu level)
{
    const struct kernels *kernel = kernels_of(level);
    assert_non_null(kernel);
    if (bloomery_cpu_level() < level)
        skip();
    bloomery_filter *filter = bloomery_new(1000, 0.01, NULL);
    assert_non_null(filter);
    holder = filter;
    for (uint32_t blocks_per_key = 1; blocks_per_key <= BLOOMERY_BLOCKS_PER_KEY_MAX;
         blocks_per_key++)
        for (uint32_t probes = 1; probes <= BLOOMERY_BLOCK_PROBES; probes++)
            for (int shared = 0; shared < 2; shared++) {
                make_hashes(blocks_per_key * 1000 + probes);
                compare(kernel, &scalar_kernels, shared, blocks_per_key, probes);
            }
    bloomery_free(filter);
}

/* ---- Single keys ----------------------------------------------------------------------------- */

/* Keys of all lengths up to 40 bytes, which begin anywhere; integers are the most usual. */
static bloomery_key single_key(size_t i)
{
    const uint8_t *text = (const uint8_t *)(const void *)hashes;
    return bloomery_key_of(text + 17 * i, i % 3 == 0 ? 8 : i % 41);
}

static bloomery_filter *single_filter(uint32_t blocks_per_key, uint32_t probes)
{
    const bloomery_plan plan = {.kind = BLOOMERY_BLOCKED,
                                .bits = BLOCKS * 512,
                                .blocks_per_key = blocks_per_key,
                                .probes = probes};
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    bloomery_filter *filter = NULL;
    options.seed = blocks_per_key * UINT64_C(0x123456789abcdef) + probes;
    assert_int_equal(bloomery_create(&plan, &options, &filter, NULL), BLOOMERY_OK);
    return filter;
}

/* `row` of a level's functions for single keys, against those of the scalar code for a layer. */
static void compare_single(const struct bloomery_lookup *lookup,
                           const struct bloomery_addition *addition, uint32_t blocks_per_key,
                           uint32_t probes)
{
    bloomery_filter *filter = single_filter(blocks_per_key, probes);
    bloomery_filter *other = single_filter(blocks_per_key, probes);
    const struct bloomery_layer *layer = filter->layers;
    struct bloomery_layer *defined = other->layers;
    for (size_t i = 0; i < 300; i++) {
        bloomery_error error = {.status = BLOOMERY_FULL};
        const bloomery_key key = single_key(i);
        bloomery_hash hash;
        assert_int_equal(bloomery_hash_key(filter, key, &hash, NULL), BLOOMERY_OK);
        assert_memory_equal(&hash, &(bloomery_hash){0}, sizeof hash.lo);
        assert_int_equal(hash.hi, other->hash->one(bloomery_secret_of(other), key).hi);
        const bool there = bloomery_blocked_scalar->may_contain(defined, defined->payload, hash);
        assert_int_equal(lookup->key(filter, key), there);
        assert_int_equal(lookup->hash(filter, hash), there);
        lookup->prefetch(filter, hash);
        const bool fresh = bloomery_blocked_scalar->add(defined, defined->payload, hash) > 0;
        defined->adds++;
        assert_int_equal(i % 2 == 0 ? addition->key(filter, key, i % 4 == 0 ? NULL : &error)
                                    : addition->hash(filter, hash, &error),
                         fresh);
        assert_int_equal(error.status, i % 4 == 0 ? BLOOMERY_FULL : BLOOMERY_OK);
        assert_true(lookup->key(filter, key));
        hash = hashes[i]; /* of any value */
        assert_int_equal(lookup->hash(filter, hash),
                         bloomery_blocked_scalar->may_contain(defined, defined->payload, hash));
        if (i % 5 == 0) {
            assert_int_equal(addition->hash(filter, hash, NULL),
                             bloomery_blocked_scalar->add(defined, defined->payload, hash) > 0);
            defined->adds++;
        }
        assert_memory_equal(layer->payload, defined->payload, BLOCKS * 64);
        assert_int_equal(layer->adds, defined->adds);
    }
    bloomery_free(filter);
    bloomery_free(other);
}

/* A chain that grows, by a level's functions for single keys and by the slow ones. */
static void compare_chains(const struct bloomery_fast_path *fast)
{
    static const double rates[] = {0.02, 1e-5};
    for (size_t r = 0; r < 2; r++) {
        const bloomery_plan plan = {.kind = BLOOMERY_SCALABLE,
                                    .keys = 30,
                                    .rate = rates[r],
                                    .hash =
                                        r == 0 ? BLOOMERY_HASH_XXH3_64 : BLOOMERY_HASH_XXH3_128};
        bloomery_plan solved = plan;
        bloomery_filter *filter = NULL, *other = NULL;
        assert_int_equal(bloomery_plan_solve(&solved, NULL, NULL), BLOOMERY_OK);
        solved.hash = plan.hash;
        assert_int_equal(bloomery_create(&solved, NULL, &filter, NULL), BLOOMERY_OK);
        assert_int_equal(bloomery_create(&solved, NULL, &other, NULL), BLOOMERY_OK);
        for (size_t i = 0; i < 300; i++) {
            const bloomery_key key = single_key(i);
            const bloomery_hash hash = other->hash->one(bloomery_secret_of(other), key);
            uint32_t set = 0;
            const bool there = fast->lookups[2].key(filter, key);
            assert_int_equal(fast->lookups[2].hash(filter, hash), there);
            fast->lookups[2].prefetch(filter, hash);
            assert_int_equal(bloomery_chain_add(other, hash, &set, NULL), BLOOMERY_OK);
            assert_false(there && set > 0);
            const bool fresh = i % 2 == 0 ? fast->additions[2].key(filter, key, NULL)
                                          : fast->additions[2].hash(filter, hash, NULL);
            assert_int_equal(fresh, set > 0);
            assert_true(fast->lookups[2].key(filter, key));
        }
        assert_true(filter->shape.layer_count >= 3);
        assert_int_equal(filter->shape.layer_count, other->shape.layer_count);
        for (uint32_t i = 0; i < filter->shape.layer_count; i++) {
            const struct bloomery_layer *one = &filter->layers[i], *two = &other->layers[i];
            assert_memory_equal(one->payload, two->payload, (size_t)two->bytes);
            assert_int_equal(one->adds, two->adds);
            assert_int_equal(one->bits_set, two->bits_set);
        }
        bloomery_free(filter);
        bloomery_free(other);
    }
}

static void single_keys_equal_the_definition(void **state)
{
    (void)state;
    make_hashes(5);
    for (int level = BLOOMERY_CPU_SCALAR; level <= BLOOMERY_CPU_NEON; level++) {
        const struct kernels *kernel = kernels_of((enum bloomery_cpu)level);
        if (kernel == NULL || bloomery_cpu_level() < (enum bloomery_cpu)level)
            continue;
        const struct bloomery_fast_path *fast = kernel->batches;
        for (uint32_t blocks_per_key = 1; blocks_per_key <= BLOOMERY_BLOCKS_PER_KEY_MAX;
             blocks_per_key++)
            for (uint32_t probes = 1; probes <= BLOOMERY_BLOCK_PROBES; probes++) {
                compare_single(&fast->lookups[0], &fast->additions[0], blocks_per_key, probes);
                compare_single(&fast->lookups[0], fast->shared_addition, blocks_per_key, probes);
            }
        compare_single(&fast->lookups[1], &fast->additions[1], 1, BLOOMERY_BLOCK_PROBES);
        compare_single(&fast->lookups[2], &fast->additions[0], 2, 3);
        compare_chains(fast);
    }
}

/* ---- Chains that nobody asks for answers ----------------------------------------------------- */

/* The same bits and the same count, for batches of every length and keys that come again. */
static void tallies_equal_the_definition(void **state)
{
    static uint8_t left[BLOCKS * 64] __attribute__((aligned(64)));
    static uint8_t right[BLOCKS * 64] __attribute__((aligned(64)));
    bloomery_filter *filter = bloomery_new(1000, 0.01, NULL);
    (void)state;
    assert_non_null(filter);
    for (int level = BLOOMERY_CPU_SCALAR; level <= BLOOMERY_CPU_NEON; level++) {
        const struct kernels *kernel = kernels_of((enum bloomery_cpu)level);
        if (kernel == NULL || bloomery_cpu_level() < (enum bloomery_cpu)level)
            continue;
        for (uint32_t shape = 0; shape < BLOOMERY_BLOCKS_PER_KEY_MAX * BLOOMERY_BLOCK_PROBES;
             shape++) {
            struct bloomery_layer layer = layer_of(1 + shape % BLOOMERY_BLOCKS_PER_KEY_MAX,
                                                   1 + shape / BLOOMERY_BLOCKS_PER_KEY_MAX);
            layer.payload = left;
            memset(left, 0, sizeof left);
            memset(right, 0, sizeof right);
            make_hashes(shape + 3);
            for (size_t at = 0, count = 0; at + count <= 400; at += count, count++) {
                const struct bloomery_input input = bloomery_input_of_hashes(hashes + at);
                uint64_t fresh = 0;
                for (size_t i = 0; i < count; i++)
                    fresh += bloomery_blocked_scalar->add(&layer, right, hashes[at + i]);
                assert_int_equal(kernel->batches->add_tallied(filter, &layer, &input, count),
                                 fresh);
                assert_memory_equal(left, right, sizeof left);
            }
            const struct bloomery_input input = bloomery_input_of_hashes(hashes);
            uint64_t fresh = 0;
            for (size_t i = 0; i < HASHES; i++)
                fresh += bloomery_blocked_scalar->add(&layer, right, hashes[i]);
            assert_int_equal(kernel->batches->add_tallied(filter, &layer, &input, HASHES), fresh);
            assert_memory_equal(left, right, sizeof left);
        }
    }
    bloomery_free(filter);
}

/* ---- Forms of keys --------------------------------------------------------------------------- */

enum { FORM_KEYS = 300, FORM_WORDS = (FORM_KEYS + 63) / 64, KEY_BYTES_MAX = 140, SHIFTS = 8 };

/* Lengths are `least` to `least` + `span`; `gap` bytes follow each key of a width. */
static const struct form {
    int form;
    size_t least, span, gap;
} key_forms[] = {
    {BLOOMERY_KEYS_FIXED, 8, 0, 0},      {BLOOMERY_KEYS_FIXED, 8, 0, 5},
    {BLOOMERY_KEYS_FIXED, 9, 0, 0},      {BLOOMERY_KEYS_FIXED, 12, 0, 0},
    {BLOOMERY_KEYS_FIXED, 16, 0, 0},     {BLOOMERY_KEYS_FIXED, 12, 0, 3},
    {BLOOMERY_KEYS_FIXED, 5, 0, 0},      {BLOOMERY_KEYS_FIXED, 17, 0, 0},
    {BLOOMERY_KEYS_FIXED, 64, 0, 1},     {BLOOMERY_KEYS_FIXED, 130, 0, 0},
    {BLOOMERY_KEYS_LIST, 8, 0, 0},       {BLOOMERY_KEYS_LIST, 9, 7, 0},
    {BLOOMERY_KEYS_LIST, 7, 2, 0},       {BLOOMERY_KEYS_LIST, 0, KEY_BYTES_MAX, 0},
    {BLOOMERY_KEYS_OFFSETS32, 8, 0, 0},  {BLOOMERY_KEYS_OFFSETS32, 9, 7, 0},
    {BLOOMERY_KEYS_OFFSETS32, 15, 2, 0}, {BLOOMERY_KEYS_OFFSETS32, 0, KEY_BYTES_MAX, 0},
    {BLOOMERY_KEYS_OFFSETS64, 8, 0, 0},  {BLOOMERY_KEYS_OFFSETS64, 9, 7, 0},
    {BLOOMERY_KEYS_OFFSETS64, 8, 1, 0},  {BLOOMERY_KEYS_OFFSETS64, 0, KEY_BYTES_MAX, 0},
    {BLOOMERY_KEYS_HASHES64, 8, 0, 0},   {BLOOMERY_KEYS_HASHES128, 16, 0, 0},
};

/* Keys of a form, their hashes, and the pages that they end with. */
struct sample {
    struct bloomery_input input;
    bloomery_hash hashes[FORM_KEYS];
    struct test_fence data, beside; /* descriptors or offsets */
};

/* `shift` bytes are between the end and the page behind it. */
static void make_sample(struct sample *sample, const struct form *form, size_t count, size_t shift)
{
    static uint8_t bytes[FORM_KEYS * (KEY_BYTES_MAX + SHIFTS) + SHIFTS];
    static uint64_t wide[FORM_KEYS + 2];
    static uint32_t narrow[FORM_KEYS + 2];
    static bloomery_key list[FORM_KEYS];
    const struct bloomery_hash_secret *secret = bloomery_secret_of(holder);
    size_t end = 0;
    for (size_t i = 0; i < count; i++) {
        const size_t length = form->least + (size_t)(random64() % (form->span + 1));
        wide[i] = end;
        narrow[i] = (uint32_t)end;
        for (size_t j = 0; j < length; j++)
            bytes[end + j] = (uint8_t)random64();
        if (i % 5 == 4 && form->span == 0) /* one that was there before */
            memcpy(bytes + end, bytes + wide[i / 2], length);
        list[i].bytes = length;
        end += length + (i + 1 < count ? form->gap : 0);
    }
    wide[count] = end;
    narrow[count] = (uint32_t)end;
    sample->data = test_fence_make(bytes, end + shift);
    for (size_t i = 0; i < count; i++) {
        list[i].data = sample->data.data + wide[i];
        if (form->form == BLOOMERY_KEYS_HASHES64)
            sample->hashes[i] = (bloomery_hash){0, bloomery_load_u64(list[i].data)};
        else if (form->form == BLOOMERY_KEYS_HASHES128)
            memcpy(&sample->hashes[i], list[i].data, sizeof sample->hashes[i]);
        else
            sample->hashes[i] = bloomery_hash_xxh3_64.one(secret, list[i]);
    }
    sample->beside = form->form == BLOOMERY_KEYS_LIST ? test_fence_make(list, count * sizeof *list)
                     : form->form == BLOOMERY_KEYS_OFFSETS32
                         ? test_fence_make(narrow, (count + 1) * sizeof *narrow + shift)
                         : test_fence_make(wide, (count + 1) * sizeof *wide + shift);
    const bool is_list = form->form == BLOOMERY_KEYS_LIST;
    sample->input = (struct bloomery_input){
        .form = form->form,
        .data = is_list ? sample->beside.data : sample->data.data,
        .width = form->least,
        .stride = form->least + form->gap,
        .offsets = sample->beside.data,
    };
}

/* The batch on `right` does what single keys do on `left`. Both begin with the same bits, most of
 * them set. */
static void compare_form(const struct kernels *kernel, const struct sample *sample, size_t count,
                         uint32_t blocks_per_key, uint32_t probes)
{
    static uint8_t before[BLOCKS * 64] __attribute__((aligned(64)));
    static uint8_t left[BLOCKS * 64] __attribute__((aligned(64)));
    static uint8_t right[BLOCKS * 64] __attribute__((aligned(64)));
    const struct bloomery_operations *scalar = &bloomery_blocked_scalar[0];
    const size_t words = (count + 63) / 64;
    struct bloomery_layer layer = layer_of(blocks_per_key, probes);
    uint64_t wanted[FORM_WORDS + 1] = {0};
    uint64_t answers[FORM_WORDS + 1];
    bloomery_counts sums = {count, 0, 0};
    layer.payload = right;
    for (size_t i = 0; i < sizeof before; i++)
        before[i] = (uint8_t)(random64() | random64() | random64());
    memcpy(left, before, sizeof left);
    memcpy(right, before, sizeof right);
    for (size_t i = 0; i < count; i++)
        if (scalar->may_contain(&layer, left, sample->hashes[i])) {
            wanted[i / 64] |= UINT64_C(1) << i % 64;
            sums.positive++;
        }
    memset(answers, 0x55, sizeof answers);
    assert_int_equal(kernel->batches->query(holder, &layer, &sample->input, count, answers),
                     sums.positive);
    assert_memory_equal(answers, wanted, words * sizeof *answers);
    assert_int_equal(answers[words], UINT64_C(0x5555555555555555));
    assert_int_equal(kernel->batches->query(holder, &layer, &sample->input, count, NULL),
                     sums.positive);
    assert_memory_equal(right, before, sizeof right);
    sums.positive = 0;
    memset(wanted, 0, sizeof wanted);
    for (size_t i = 0; i < count; i++) {
        const uint32_t fresh = scalar->add(&layer, left, sample->hashes[i]);
        wanted[i / 64] |= (uint64_t)(fresh > 0) << i % 64;
        sums.positive += fresh > 0;
        sums.cells += fresh;
    }
    for (int how = 0; how < 4; how++) { /* with answers and without, plain and for threads */
        bloomery_counts counts = {0, 0, 0};
        const bool silent = how % 2 == 1;
        memcpy(right, before, sizeof right);
        memset(answers, 0x55, sizeof answers);
        kernel->batches->add[how / 2](holder, &layer, &sample->input, count,
                                      silent ? NULL : answers, silent ? NULL : &counts);
        assert_memory_equal(left, right, sizeof right);
        assert_int_equal(answers[words], UINT64_C(0x5555555555555555));
        if (silent)
            continue;
        assert_memory_equal(answers, wanted, words * sizeof *answers);
        assert_memory_equal(&counts, &sums, sizeof counts);
    }
    assert_int_equal(kernel->batches->query(holder, &layer, &sample->input, count, answers), count);
}

/* Hashes alone, from any key on, are those of single keys. */
static void compare_named(const struct kernels *kernel, const struct sample *sample, size_t count)
{
    bloomery_hash found[FORM_KEYS + 1];
    const int form = sample->input.form;
    const bool named = form == BLOOMERY_KEYS_LIST || form == BLOOMERY_KEYS_OFFSETS32 ||
                       form == BLOOMERY_KEYS_OFFSETS64;
    if (!named || kernel->batches->hash_named == NULL)
        return;
    for (size_t first = 0; first <= count; first += 1 + count / 3) {
        memset(found, 0x55, sizeof found);
        kernel->batches->hash_named(&sample->input, holder, first, count - first, found);
        assert_memory_equal(found, sample->hashes + first, (count - first) * sizeof *found);
        assert_int_equal(found[count - first].hi, UINT64_C(0x5555555555555555));
    }
}

static void compare_forms(enum bloomery_cpu level)
{
    const struct kernels *kernel = kernels_of(level);
    const bloomery_create_options options = {.struct_bytes = sizeof options,
                                             .seed = UINT64_C(0x8123456789abcdef)};
    const bloomery_plan plan = {
        .kind = BLOOMERY_BLOCKED, .bits = 512, .blocks_per_key = 1, .probes = 8};
    enum { SHAPES = BLOOMERY_BLOCKS_PER_KEY_MAX * BLOOMERY_BLOCK_PROBES };
    assert_non_null(kernel);
    if (bloomery_cpu_level() < level)
        skip();
    bloomery_filter *filter = test_create(&plan, &options);
    holder = filter;
    random_state = 77;
    for (size_t form = 0; form < sizeof key_forms / sizeof key_forms[0]; form++)
        for (size_t count = 0; count <= FORM_KEYS; count++) {
            static struct sample sample;
            const size_t first = (count * 5 + form) % SHAPES;
            const size_t last = test_long() ? first + SHAPES : first + 1;
            make_sample(&sample, &key_forms[form], count, count % 3 == 0 ? count / 3 % SHIFTS : 0);
            compare_named(kernel, &sample, count);
            for (size_t shape = first; shape < last; shape++)
                compare_form(
                    kernel, &sample, count, 1 + (uint32_t)(shape % BLOOMERY_BLOCKS_PER_KEY_MAX),
                    1 + (uint32_t)(shape / BLOOMERY_BLOCKS_PER_KEY_MAX) % BLOOMERY_BLOCK_PROBES);
            test_fence_free(&sample.data);
            test_fence_free(&sample.beside);
        }
    bloomery_free(filter);
}

/* Lanes know 32 bits of the number of blocks. A layer with more is only mapped, never filled. */
static void layers_of_2_32_blocks_hold_their_keys(enum bloomery_cpu level)
{
    enum { FEW = 70 };
    const uint64_t blocks = (UINT64_C(3) << 31) + 5;
    const struct kernels *kernel = kernels_of(level);
    uint64_t keys[FEW];
    if (bloomery_cpu_level() < level || sizeof(size_t) < sizeof blocks)
        skip();
    void *map = mmap(NULL, (size_t)(blocks * BLOOMERY_BLOCK_BYTES), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED)
        skip();
    madvise(map, (size_t)(blocks * BLOOMERY_BLOCK_BYTES), MADV_NOHUGEPAGE);
    bloomery_filter *filter = bloomery_new(1000, 0.01, NULL);
    assert_non_null(filter);
    holder = filter;
    random_state = 3;
    for (size_t i = 0; i < FEW; i++)
        keys[i] = random64();
    for (uint32_t blocks_per_key = 1; blocks_per_key <= 3; blocks_per_key += 2) {
        struct bloomery_layer layer = {.payload = map,
                                       .blocks = blocks,
                                       .bits = blocks * 512,
                                       .blocks_per_key = blocks_per_key,
                                       .probes = 7};
        const struct bloomery_input input = {
            .form = BLOOMERY_KEYS_FIXED, .data = (const uint8_t *)keys, .width = 8, .stride = 8};
        bloomery_counts counts;
        kernel->batches->add[0](holder, &layer, &input, FEW, NULL, &counts);
        assert_int_equal(kernel->batches->query(holder, &layer, &input, FEW, NULL), FEW);
        for (size_t i = 0; i < FEW; i++)
            assert_true(bloomery_blocked_scalar[0].may_contain(
                &layer, map,
                bloomery_hash_xxh3_64.one(bloomery_secret_of(holder),
                                          bloomery_key_of(&keys[i], 8))));
        if (blocks_per_key == 1)
            assert_int_equal(counts.cells, FEW * layer.probes);
    }
    bloomery_free(filter);
    munmap(map, (size_t)(blocks * BLOOMERY_BLOCK_BYTES));
}

/* The definition, written once more from kinds/derive.h's words: every bit of a block by itself. */
static bool bit_is_of_key(uint64_t w, uint32_t probes, uint32_t word, uint32_t bit)
{
    const uint32_t first = (uint32_t)(w >> 48) % 8;
    const uint32_t turn = (word + 8 - first) % 8;
    return turn < probes && (w >> 6 * word) % 64 == bit;
}

static void scalar_sets_the_bits_of_the_definition(void **state)
{
    static uint8_t block[64] __attribute__((aligned(64)));
    (void)state;
    random_state = 99;
    for (int round = 0; round < 2000; round++) {
        const uint64_t w = round == 0 ? 0 : round == 1 ? UINT64_MAX : random64();
        const uint32_t probes = 1 + (uint32_t)round % 8;
        memset(block, 0, sizeof block);
        assert_false(hits_scalar(block, w, probes));
        assert_int_equal(set_scalar(block, w, probes), probes);
        for (uint32_t at = 0; at < 512; at++)
            assert_int_equal(block[at / 8] >> at % 8 & 1,
                             bit_is_of_key(w, probes, at / 64, at % 64));
        assert_true(hits_scalar(block, w, probes));
        assert_int_equal(set_shared_scalar(block, w, probes), 0);
    }
}

/* Adding a key's blocks one by one, which threads do, is adding the key. */
static void scalar_blocks_make_a_key(void **state)
{
    (void)state;
    static uint8_t whole[BLOCKS * 64] __attribute__((aligned(64)));
    static uint8_t parts[BLOCKS * 64] __attribute__((aligned(64)));
    const struct bloomery_operations *scalar = &bloomery_blocked_scalar[0];
    for (uint32_t blocks_per_key = 1; blocks_per_key <= BLOOMERY_BLOCKS_PER_KEY_MAX;
         blocks_per_key++)
        for (uint32_t probes = 1; probes <= BLOOMERY_BLOCK_PROBES; probes++) {
            const struct bloomery_layer layer = layer_of(blocks_per_key, probes);
            make_hashes(blocks_per_key * 1000 + probes);
            memset(whole, 0, sizeof whole);
            memset(parts, 0, sizeof parts);
            for (size_t i = 0; i < 20; i++)
                scalar->add(&layer, whole, hashes[i]);
            const struct bloomery_hashes aside = {(const uint64_t *)(const void *)hashes, false};
            for (uint32_t which = blocks_per_key; which-- > 0;)
                scalar->add_block(&layer, parts, aside, 20, which);
            assert_memory_equal(whole, parts, sizeof whole);
        }
}

static void batches_of_every_form_equal_single_keys_scalar(void **state)
{
    (void)state;
    compare_forms(BLOOMERY_CPU_SCALAR);
}

static void large_layers_hold_their_keys_scalar(void **state)
{
    (void)state;
    layers_of_2_32_blocks_hold_their_keys(BLOOMERY_CPU_SCALAR);
}

#if defined(__x86_64__)

static void batches_of_every_form_equal_single_keys_avx2(void **state)
{
    (void)state;
    compare_forms(BLOOMERY_CPU_AVX2);
}

static void large_layers_hold_their_keys_avx2(void **state)
{
    (void)state;
    layers_of_2_32_blocks_hold_their_keys(BLOOMERY_CPU_AVX2);
}

static void batches_of_every_form_equal_single_keys_avx512(void **state)
{
    (void)state;
    compare_forms(BLOOMERY_CPU_AVX512);
}

static void large_layers_hold_their_keys_avx512(void **state)
{
    (void)state;
    layers_of_2_32_blocks_hold_their_keys(BLOOMERY_CPU_AVX512);
}

static void kernel_equals_scalar_avx2(void **state)
{
    (void)state;
    compare_all(BLOOMERY_CPU_AVX2);
}

static void kernel_equals_scalar_avx512(void **state)
{
    (void)state;
    compare_all(BLOOMERY_CPU_AVX512);
}

#elif defined(BLOOMERY_ARM_KERNELS)

static void batches_of_every_form_equal_single_keys_neon(void **state)
{
    (void)state;
    compare_forms(BLOOMERY_CPU_NEON);
}

static void large_layers_hold_their_keys_neon(void **state)
{
    (void)state;
    layers_of_2_32_blocks_hold_their_keys(BLOOMERY_CPU_NEON);
}

static void kernel_equals_scalar_neon(void **state)
{
    (void)state;
    compare_all(BLOOMERY_CPU_NEON);
}

#endif

static const char *const level_names[] = {"scalar", "avx2", "avx512", "avx512-vpopcntdq", "neon"};

/* A filter is served by the kernel of the level in use, which is the one that was wanted. */
static void the_environment_chooses_the_kernel(void **state)
{
    (void)state;
    bloomery_plan plan = {.keys = 1000, .rate = 0.01};
    bloomery_info info = BLOOMERY_INFO;
    assert_int_equal(bloomery_plan_solve(&plan, NULL, NULL), BLOOMERY_OK);
    bloomery_filter *filter = test_create(&plan, NULL);
    bloomery_info_get(filter, &info);
    assert_string_equal(info.kernel, kernels_of(bloomery_cpu_level())->single->name);
    const char *wanted = getenv("BLOOMERY_CPU");
    if (wanted != NULL && wanted[0] != '\0')
        assert_string_equal(info.kernel, wanted);
    bloomery_free(filter);
    const bloomery_filter *built = test_static_of_integers(0.01, 0, 1000);
    bloomery_info_get(built, &info);
    assert_string_equal(info.kernel, level_names[bloomery_cpu_level()]);
    bloomery_free(built);
}

/* Misspelt, of another architecture, or above what the processor has: scalar, which the tests
 * see. */
static void levels_that_are_not_there_are_scalar(void **state)
{
    (void)state;
    for (int level = 0; level < (int)(sizeof level_names / sizeof level_names[0]); level++) {
        const bool known = kernels_of((enum bloomery_cpu)level) != NULL;
        for (int best = 0; best <= BLOOMERY_CPU_NEON; best++)
            assert_int_equal(bloomery_cpu_named(level_names[level], (enum bloomery_cpu)best),
                             known && level <= best ? level : BLOOMERY_CPU_SCALAR);
    }
    static const char *const wrong[] = {"", "avx", "avx22", "AVX2", "Neon", "scalar ", "1"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_int_equal(bloomery_cpu_named(wrong[i], BLOOMERY_CPU_NEON), BLOOMERY_CPU_SCALAR);
}

/* What every test program does with the level that it is given. */
static void no_test_runs_at_another_level(void **state)
{
    (void)state;
    assert_int_equal(test_level_of(NULL, "avx512"), TEST_LEVEL_RUNS);
    assert_int_equal(test_level_of("", "scalar"), TEST_LEVEL_RUNS);
    assert_int_equal(test_level_of("scalar", "scalar"), TEST_LEVEL_RUNS);
    assert_int_equal(test_level_of("avx2", "avx2"), TEST_LEVEL_RUNS);
    assert_int_equal(test_level_of("neon", "scalar"), TEST_LEVEL_SKIPS);
    assert_int_equal(test_level_of("avx2", "avx512"), TEST_LEVEL_FAILS); /* the switch is broken */
    assert_int_equal(test_level_of("scalar", "neon"), TEST_LEVEL_FAILS);
    assert_int_equal(test_level_of("avx-2", "scalar"), TEST_LEVEL_FAILS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(single_keys_equal_the_definition),
        cmocka_unit_test(tallies_equal_the_definition),
        cmocka_unit_test(scalar_sets_the_bits_of_the_definition),
        cmocka_unit_test(scalar_blocks_make_a_key),
        cmocka_unit_test(batches_of_every_form_equal_single_keys_scalar),
        cmocka_unit_test(large_layers_hold_their_keys_scalar),
#if defined(__x86_64__)
        cmocka_unit_test(kernel_equals_scalar_avx2),
        cmocka_unit_test(batches_of_every_form_equal_single_keys_avx2),
        cmocka_unit_test(large_layers_hold_their_keys_avx2),
        cmocka_unit_test(batches_of_every_form_equal_single_keys_avx512),
        cmocka_unit_test(large_layers_hold_their_keys_avx512),
        cmocka_unit_test(kernel_equals_scalar_avx512),
#elif defined(BLOOMERY_ARM_KERNELS)
        cmocka_unit_test(kernel_equals_scalar_neon),
        cmocka_unit_test(batches_of_every_form_equal_single_keys_neon),
        cmocka_unit_test(large_layers_hold_their_keys_neon),
#endif
        cmocka_unit_test(the_environment_chooses_the_kernel),
        cmocka_unit_test(levels_that_are_not_there_are_scalar),
        cmocka_unit_test(no_test_runs_at_another_level),
    };
    return test_run_group("kernels", tests, NULL, NULL);
}
