/* SPDX-License-Identifier: Apache-2.0 */
/* Digests, their division as numbers of 512 bits, and positions in arrays too large to be made. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dialects/dialects.h"
#include "dialects/schemes.h"
#include "hash/digest.h"
#include "hash/hashes.h"
#include "kinds/derive.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t draw(void)
{
    static uint64_t at;
    return bloomery_mix64(at += BLOOMERY_GOLDEN);
}

static void need_digests(void)
{
    if (!bloomery_digest_ready())
        skip();
}

/* Of "abc", as RFC 1321 and FIPS 180 print them. */
static const struct {
    enum bloomery_digest_id id;
    const char *digest;
} known[] = {
    {BLOOMERY_DIGEST_MD5, "900150983cd24fb0d6963f7d28e17f72"},
    {BLOOMERY_DIGEST_SHA1, "a9993e364706816aba3e25717850c26c9cd0d89d"},
    {BLOOMERY_DIGEST_SHA256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
    {BLOOMERY_DIGEST_SHA384, "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed"
                             "8086072ba1e7cc2358baeca134c825a7"},
    {BLOOMERY_DIGEST_SHA512, "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
                             "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"},
};

static void digest_of(enum bloomery_digest_id id, const void *data, size_t bytes, uint8_t *result)
{
    struct bloomery_digest digest;
    bloomery_digest_begin(&digest, id);
    bloomery_digest_add(&digest, data, bytes);
    bloomery_digest_get(&digest, result);
}

static void digests_are_the_published_ones(void **state)
{
    (void)state;
    need_digests();
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        uint8_t digest[BLOOMERY_DIGEST_MAX];
        char text[2 * BLOOMERY_DIGEST_MAX + 1] = "";
        digest_of(known[i].id, "abc", 3, digest);
        for (size_t at = 0; at < bloomery_digest_bytes(known[i].id); at++)
            snprintf(text + 2 * at, 3, "%02x", digest[at]);
        assert_string_equal(text, known[i].digest);
    }
}

static void pieces_make_the_digest_of_the_whole(void **state)
{
    uint8_t data[300];
    (void)state;
    need_digests();
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i * 7);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        struct bloomery_digest pieces;
        const size_t bytes = bloomery_digest_bytes(known[i].id);
        bloomery_digest_begin(&pieces, known[i].id);
        bloomery_digest_add(&pieces, NULL, 0);
        for (size_t at = 0, next = 0; at < sizeof data; at = next) {
            uint8_t so_far[BLOOMERY_DIGEST_MAX], whole[BLOOMERY_DIGEST_MAX];
            next = at + 1 + at % 70 < sizeof data ? at + 1 + at % 70 : sizeof data;
            bloomery_digest_add(&pieces, data + at, next - at);
            bloomery_digest_get(&pieces, so_far); /* does not end it */
            digest_of(known[i].id, data, next, whole);
            assert_memory_equal(so_far, whole, bytes);
        }
    }
}

/* ---- Division -------------------------------------------------------------------------------- */

/* The worked example: 654321 in base 16, from the lowest digit on. */
static void the_remainders_of_654321_by_16(void **state)
{
    static const uint8_t number[] = {0x09, 0xfb, 0xf1};
    (void)state;
    struct bloomery_wide x = bloomery_wide_be(number, sizeof number);
    assert_int_equal(x.limbs[0], 654321);
    assert_int_equal(bloomery_wide_divide(&x, 16), 1);
    assert_int_equal(bloomery_wide_divide(&x, 16), 15);
    assert_int_equal(bloomery_wide_divide(&x, 16), 11);
}

/* Bit by bit, as on paper. */
static uint64_t divide_slowly(uint8_t *number, size_t bytes, uint64_t divisor)
{
    uint64_t rest = 0;
    for (size_t bit = bytes * 8; bit-- > 0;) {
        const bool carry = rest >> 63;
        rest = rest << 1 | (number[bit / 8] >> bit % 8 & 1);
        number[bit / 8] &= (uint8_t) ~(1u << bit % 8);
        if (carry || rest >= divisor) {
            rest -= divisor;
            number[bit / 8] |= (uint8_t)(1u << bit % 8);
        }
    }
    return rest;
}

static void wide_numbers_divide_as_on_paper(void **state)
{
    (void)state;
    for (int round = 0; round < 20000; round++) {
        uint8_t low_first[64], high_first[64];
        const size_t bytes = 1 + draw() % 64;
        const uint64_t divisor = (draw() >> draw() % 64) | 1;
        for (size_t i = 0; i < bytes; i++)
            low_first[i] = draw() % 4 == 0 ? 0 : (uint8_t)draw();
        for (size_t i = 0; i < bytes; i++)
            high_first[i] = low_first[bytes - 1 - i];
        struct bloomery_wide number = bloomery_wide_le(low_first, bytes);
        struct bloomery_wide same = bloomery_wide_be(high_first, bytes);
        const uint64_t rest = bloomery_wide_divide(&number, divisor);
        assert_int_equal(bloomery_wide_divide(&same, divisor), rest);
        assert_int_equal(divide_slowly(low_first, bytes, divisor), rest);
        const struct bloomery_wide quotient = bloomery_wide_le(low_first, bytes);
        assert_int_equal(number.count, quotient.count);
        assert_memory_equal(number.limbs, quotient.limbs, number.count * sizeof number.limbs[0]);
    }
}

static void wide_numbers_are_compared(void **state)
{
    static const uint8_t numbers[3][9] = {{0}, {7}, {0, 0, 0, 0, 0, 0, 0, 0, 1}};
    struct bloomery_wide x[3];
    (void)state;
    for (size_t i = 0; i < 3; i++)
        x[i] = bloomery_wide_le(numbers[i], sizeof numbers[i]);
    assert_int_equal(x[0].count, 0);
    assert_true(bloomery_wide_below(&x[0], 1) && !bloomery_wide_below(&x[0], 0));
    assert_true(bloomery_wide_below(&x[1], 8) && !bloomery_wide_below(&x[1], 7));
    assert_true(!bloomery_wide_below(&x[2], UINT64_MAX));
}

/* ---- Positions ------------------------------------------------------------------------------- */

/* In 2^40 + 15 bits, where three digits use an MD5 up: bitarray's own
 * (tests/vectors/dialect/pybitarray). */
static const struct {
    uint32_t hash;
    const char *key;
    uint64_t positions[9];
} exhausting[] = {
    {BLOOMERY_HASH_MD5_CHAIN_A + 'a' - 'a',
     "",
     {81856767499, 1060535010971, 382011929965, 211854253646, 747012187974, 798445229593,
      67469458570, 974049068867, 290785841128}},
    {BLOOMERY_HASH_MD5_CHAIN_A + 'a' - 'a',
     "abc",
     {112305366732, 772784011875, 542135740672, 467899111575, 491333223263, 331779785587,
      189910571637, 1025284177666, 921545581159}},
    {BLOOMERY_HASH_MD5_CHAIN_A + 'b' - 'a',
     "",
     {785672433877, 851812814725, 312240600663, 216440200169, 1093005451845, 783726886264,
      1020031577096, 857686596222, 954439442589}},
    {BLOOMERY_HASH_MD5_CHAIN_A + 'b' - 'a',
     "abc",
     {440788313059, 380087470678, 19753942049, 313004156707, 107773613453, 435656352533,
      557767670974, 1039386699792, 994418774573}},
    {BLOOMERY_HASH_MD5_CHAIN_A + 'c' - 'a',
     "",
     {152177050907, 255608024386, 126917110201, 81856767499, 1060535010971, 382011929965,
      211854253646, 747012187974, 798445229593}},
    {BLOOMERY_HASH_MD5_CHAIN_A + 'c' - 'a',
     "abc",
     {1072166124575, 172855718223, 5647115138, 112305366732, 772784011875, 542135740672,
      467899111575, 491333223263, 331779785587}},
    {BLOOMERY_HASH_MD5_CHAIN_A + 'd' - 'a',
     "",
     {152177050907, 255608024386, 126917110201, 995162614616, 607495971855, 914364631770,
      509499132885, 452953219883, 235886753450}},
    {BLOOMERY_HASH_MD5_CHAIN_A + 'd' - 'a',
     "abc",
     {1072166124575, 172855718223, 5647115138, 440685547962, 713441869438, 723050869506,
      812109990140, 299522085924, 29704632880}},
    {BLOOMERY_HASH_MD5_CHAIN_A + 'e' - 'a',
     "",
     {152177050907, 255608024386, 995162614616, 607495971855, 509499132885, 452953219883,
      1075367749439, 546607238236, 656478539035}},
    {BLOOMERY_HASH_MD5_CHAIN_A + 'e' - 'a',
     "abc",
     {1072166124575, 172855718223, 440685547962, 713441869438, 812109990140, 299522085924,
      517565315246, 536042470438, 956961731472}},
    {BLOOMERY_HASH_MD5_CHAIN_A + 'f' - 'a',
     "",
     {26174913519, 1098466013888, 960355848777, 437036843552, 578640511589, 861916641250,
      623448954217, 895397823288, 62051841888}},
    {BLOOMERY_HASH_MD5_CHAIN_A + 'f' - 'a',
     "abc",
     {305852750249, 684463571075, 1025047373491, 29186979769, 195385993422, 605037076374,
      431325594969, 61008327106, 187108581988}},
    {BLOOMERY_HASH_MD5_CHAIN_A + 'g' - 'a',
     "",
     {1098466013888, 960355848777, 437036843552, 578640511589, 861916641250, 623448954217,
      895397823288, 62051841888, 903612222848}},
    {BLOOMERY_HASH_MD5_CHAIN_A + 'g' - 'a',
     "abc",
     {1025047373491, 29186979769, 195385993422, 605037076374, 431325594969, 61008327106,
      187108581988, 336136875642, 426995481993}},
};

static void chains_go_on_where_a_digest_is_used_up(void **state)
{
    static const struct bloomery_hash_secret none;
    (void)state;
    need_digests();
    for (size_t i = 0; i < sizeof exhausting / sizeof exhausting[0]; i++) {
        uint64_t positions[9];
        const bloomery_key key = bloomery_key_of(exhausting[i].key, strlen(exhausting[i].key));
        const struct bloomery_hash_row *hash = bloomery_dialect_rows->hash(exhausting[i].hash);
        assert_true(hash->fits(UINT64_C(1099511627791), 9));
        hash->positions(&none, key, UINT64_C(1099511627791), 9, positions);
        assert_memory_equal(positions, exhausting[i].positions, sizeof positions);
    }
}

/* The most cells and probes that any filter has. */
static void positions_are_always_below_the_size(void **state)
{
    static const struct bloomery_hash_secret none;
    (void)state;
    need_digests();
    for (uint32_t id = BLOOMERY_HASH_FOREIGN; id < 64; id++) {
        const struct bloomery_hash_row *hash = bloomery_dialect_rows->hash(id);
        for (int round = 0; round < 300 && hash != NULL && hash->positions != NULL; round++) {
            static uint64_t positions[1024];
            const uint32_t probes = round < 8 ? 1024 : 1 + (uint32_t)draw() % 40;
            uint64_t cells = round % 2 ? UINT64_C(1) << 50 : 1 + (draw() >> (14 + draw() % 50));
            const uint64_t number = draw();
            if (hash->fits != NULL && !hash->fits(cells, probes))
                cells = cells / probes * probes;
            if (cells == 0 || (hash->fits != NULL && !hash->fits(cells, probes)))
                continue;
            hash->positions(&none, bloomery_key_of(&number, sizeof number), cells, probes,
                            positions);
            for (uint32_t i = 0; i < probes; i++)
                assert_true(positions[i] < cells);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digests_are_the_published_ones),
        cmocka_unit_test(pieces_make_the_digest_of_the_whole),
        cmocka_unit_test(the_remainders_of_654321_by_16),
        cmocka_unit_test(wide_numbers_divide_as_on_paper),
        cmocka_unit_test(wide_numbers_are_compared),
        cmocka_unit_test(chains_go_on_where_a_digest_is_used_up),
        cmocka_unit_test(positions_are_always_below_the_size),
    };
    const char *pattern = getenv("BLOOMERY_TEST_FILTER");
    if (pattern != NULL && pattern[0] != '\0')
        cmocka_set_test_filter(pattern);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
