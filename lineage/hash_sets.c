/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Structures of the experiment that keep a hash instead of the key:
 *
 *   digest set    a table, two thirds full, of 16-byte MD5 digests, which give a fixed size for
 *                 keys of any length. That two of a billion keys share a digest has a
 *                 chance of 1.5e-21, so it counts as exact
 *   bitmap        one hash and 100 bits a key: a filter with k = 1, the oldest way to 1 %
 */
#include "exact_sets.h"

#include "base/load.h"
#include "base/statistics.h"
#include "portions.h"
#include "tool.h"

#include <math.h>
#include <stdlib.h>

#ifdef BLOOMERY_HAVE_LIBCRYPTO
#include <openssl/evp.h>
#endif

/* ---- Set of MD5 digests ---------------------------------------------------------------------- */

#ifdef BLOOMERY_HAVE_LIBCRYPTO

/* The functions of libcrypto that are called. */
#define FUNCTIONS(X)      \
    X(EVP_DigestFinal_ex) \
    X(EVP_DigestInit_ex2) \
    X(EVP_DigestUpdate)   \
    X(EVP_MD_CTX_free)    \
    X(EVP_MD_CTX_new)     \
    X(EVP_MD_fetch)       \
    X(EVP_MD_free)

struct libcrypto {
    FUNCTIONS(TOOL_LOAD_FIELD)
};

#define TEXT_OF(number)   #number
#define SONAME_OF(number) "libcrypto.so." TEXT_OF(number)

static const char *load(struct libcrypto *functions)
{
    const struct tool_wanted wanted[] = {FUNCTIONS(TOOL_LOAD_WANTED)};
    return tool_load(SONAME_OF(OPENSSL_SHLIB_VERSION), wanted, sizeof(wanted) / sizeof(wanted[0]));
}

struct digest {
    uint64_t words[2];
};

struct digest_set {
    struct libcrypto library;
    EVP_MD *md5;
    struct digest *slots; /* both words 0: empty */
    uint64_t slot_count;
    bool has_zero; /* a key's digest is all zero, which no slot can hold */
};

static void digest_set_release(void *set, struct tool_meter *meter)
{
    struct digest_set *digests = set;
    if (digests->md5 != NULL)
        digests->library.EVP_MD_free(digests->md5);
    tool_meter_release(meter, digests->slots, digests->slot_count * sizeof(struct digest));
    tool_meter_release(meter, digests, sizeof(*digests));
}

static void digest_set_begin(const struct digest_set *set, const char *keys, size_t count,
                             struct digest *digests, uint64_t *slots)
{
    EVP_MD_CTX *context = set->library.EVP_MD_CTX_new();
    bool well = context != NULL;
    for (size_t i = 0; i < count && well; i++) {
        digests[i] = (struct digest){{0, 0}};
        well =
            set->library.EVP_DigestInit_ex2(context, set->md5, NULL) == 1 &&
            set->library.EVP_DigestUpdate(context, keys + i * TOOL_DIGITS, TOOL_DIGITS) == 1 &&
            set->library.EVP_DigestFinal_ex(context, (unsigned char *)digests[i].words, NULL) == 1;
        slots[i] = tool_scale(digests[i].words[0], set->slot_count);
        tool_fetch_slots(set->slots, slots[i], sizeof(struct digest));
    }
    set->library.EVP_MD_CTX_free(context);
    if (!well) {
        tool_error("libcrypto could not make an MD5 digest");
        exit(TOOL_ERROR);
    }
}

static bool digest_zero(struct digest digest)
{
    return (digest.words[0] | digest.words[1]) == 0;
}

static uint64_t digest_set_find(const struct digest_set *set, uint64_t slot, struct digest digest)
{
    while (!digest_zero(set->slots[slot]) && (set->slots[slot].words[0] != digest.words[0] ||
                                              set->slots[slot].words[1] != digest.words[1]))
        slot = tool_next_slot(slot, set->slot_count);
    return slot;
}

static void digest_set_add(void *set, const char *keys, size_t count)
{
    struct digest_set *all = set;
    struct digest digests[TOOL_PORTION];
    uint64_t slots[TOOL_PORTION];
    digest_set_begin(all, keys, count, digests, slots);
    for (size_t i = 0; i < count; i++) {
        all->has_zero |= digest_zero(digests[i]);
        all->slots[digest_set_find(all, slots[i], digests[i])] = digests[i];
    }
}

static uint64_t digest_set_query_portion(const void *set, const char *keys, size_t count)
{
    const struct digest_set *all = set;
    struct digest digests[TOOL_PORTION];
    uint64_t slots[TOOL_PORTION];
    digest_set_begin(all, keys, count, digests, slots);
    uint64_t answers = 0;
    for (size_t i = 0; i < count; i++) {
        struct digest found = all->slots[digest_set_find(all, slots[i], digests[i])];
        bool in = digest_zero(digests[i]) ? all->has_zero : !digest_zero(found);
        answers |= (uint64_t)in << i;
    }
    return answers;
}

static void *digest_set_make(struct tool_digits keys, double rate, struct tool_meter *meter,
                             bool *told)
{
    (void)rate;
    struct digest_set *digests = tool_meter_allocate(meter, sizeof(*digests), 64);
    if (digests == NULL)
        return NULL;
    digests->slot_count = tool_slots_for(keys.count);
    digests->slots = tool_meter_allocate(meter, digests->slot_count * sizeof(struct digest), 64);
    const char *trouble = load(&digests->library);
    digests->md5 = trouble == NULL ? digests->library.EVP_MD_fetch(NULL, "MD5", NULL) : NULL;
    if (digests->md5 == NULL) {
        tool_error("libcrypto of this machine does not offer MD5%s%s; leave 'md5' out",
                   trouble != NULL ? ": " : "", trouble != NULL ? trouble : "");
        *told = true;
    }
    if (digests->slots == NULL || digests->md5 == NULL) {
        digest_set_release(digests, meter);
        return NULL;
    }
    tool_add_by_portions(digests, keys, digest_set_add);
    return digests;
}

static void digest_set_query(const void *set, struct tool_digits keys, uint64_t *answers)
{
    tool_query_by_portions(set, keys, answers, digest_set_query_portion);
}

const struct tool_structure tool_digest_set = {
    .name = "md5",
    .title = "set of MD5 digests",
    .exact = true,
    .make = digest_set_make,
    .release = digest_set_release,
    .query = digest_set_query,
};

#endif /* BLOOMERY_HAVE_LIBCRYPTO */

/* ---- Bitmap with one hash -------------------------------------------------------------------- */

struct bitmap {
    uint64_t *words;
    uint64_t word_count;
    uint64_t bits;
    uint64_t keys;
};

enum { BITMAP_BITS_PER_KEY = 100 };

static void bitmap_release(void *set, struct tool_meter *meter)
{
    struct bitmap *bitmap = set;
    tool_meter_release(meter, bitmap->words, bitmap->word_count * sizeof(uint64_t));
    tool_meter_release(meter, bitmap, sizeof(*bitmap));
}

static void bitmap_begin(const struct bitmap *bitmap, const char *keys, size_t count,
                         uint64_t *positions)
{
    for (size_t i = 0; i < count; i++) {
        positions[i] = tool_scale(tool_key_hash(keys + i * TOOL_DIGITS), bitmap->bits);
        __builtin_prefetch(&bitmap->words[positions[i] / 64]);
    }
}

static void bitmap_add(void *set, const char *keys, size_t count)
{
    struct bitmap *bitmap = set;
    uint64_t positions[TOOL_PORTION];
    bitmap_begin(bitmap, keys, count, positions);
    for (size_t i = 0; i < count; i++)
        bitmap->words[positions[i] / 64] |= UINT64_C(1) << positions[i] % 64;
}

static uint64_t bitmap_query_portion(const void *set, const char *keys, size_t count)
{
    const struct bitmap *bitmap = set;
    uint64_t positions[TOOL_PORTION];
    bitmap_begin(bitmap, keys, count, positions);
    uint64_t answers = 0;
    for (size_t i = 0; i < count; i++)
        answers |= (bitmap->words[positions[i] / 64] >> positions[i] % 64 & 1) << i;
    return answers;
}

static void *bitmap_make(struct tool_digits keys, double rate, struct tool_meter *meter, bool *told)
{
    (void)rate;
    (void)told;
    struct bitmap *bitmap = tool_meter_allocate(meter, sizeof(*bitmap), 64);
    if (bitmap == NULL)
        return NULL;
    bitmap->keys = keys.count;
    bitmap->bits = (uint64_t)keys.count * BITMAP_BITS_PER_KEY;
    bitmap->word_count = (bitmap->bits + 63) / 64;
    bitmap->words = tool_meter_allocate(meter, bitmap->word_count * sizeof(uint64_t), 64);
    if (bitmap->words == NULL) {
        bitmap_release(bitmap, meter);
        return NULL;
    }
    tool_add_by_portions(bitmap, keys, bitmap_add);
    return bitmap;
}

static void bitmap_query(const void *set, struct tool_digits keys, uint64_t *answers)
{
    tool_query_by_portions(set, keys, answers, bitmap_query_portion);
}

/* A bit stays zero if every one of the n keys misses it. */
static double bitmap_predicted(const void *set)
{
    const struct bitmap *bitmap = set;
    return -expm1((double)bitmap->keys * log1p(-1.0 / (double)bitmap->bits));
}

static double bitmap_live(const void *set)
{
    const struct bitmap *bitmap = set;
    uint64_t ones = 0;
    for (uint64_t i = 0; i < bitmap->word_count; i++)
        ones += (uint64_t)__builtin_popcountll(bitmap->words[i]);
    return (double)ones / (double)bitmap->bits;
}

static double bitmap_allowed_factor(const void *set)
{
    const struct bitmap *bitmap = set;
    /* It is a classic filter of one probe. */
    const bloomery_plan shape = {.kind = BLOOMERY_CLASSIC, .bits = bitmap->bits, .probes = 1};
    return tool_allowed_factor(&shape, bitmap->keys);
}

const struct tool_structure tool_one_hash_bitmap = {
    .name = "bitmap",
    .title = "one-hash bitmap",
    .exact = false,
    .make = bitmap_make,
    .release = bitmap_release,
    .query = bitmap_query,
    .predicted_rate = bitmap_predicted,
    .live_rate = bitmap_live,
    .allowed_factor = bitmap_allowed_factor,
};
