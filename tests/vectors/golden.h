/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The golden filters of format version 2: small files that every later version must read, and that
 * version 2 must go on writing byte for byte. This list makes them (make_golden.c) and checks them
 * (../property/golden.c). A released list only ever grows: a file that was released is never made
 * anew.
 *
 * golden-v1-blocked-one-line.bloom is one of version 1, which was never released: such a file is
 * refused.
 *
 * Filter number i holds the decimal numbers "0", "3", "6", ... below `below`.
 */
#ifndef TESTS_GOLDEN_H
#define TESTS_GOLDEN_H

#include <stdio.h>

#include <bloomery/builder.h>
#include <bloomery/dialect.h>
#include <bloomery/records.h>

struct golden {
    const char *name; /* the file is golden-v2-NAME.bloom */
    bloomery_kind kind;
    uint32_t cell_bits; /* 0: the kind's own */
    uint64_t bits;
    uint32_t lines;
    uint32_t probes;
    unsigned below;
    uint64_t planned; /* keys; 0: as many as it gets */
    uint64_t seed;
    bloomery_hash_id hash; /* 0: XXH3-64, or SipHash where there is a key */
    const char *key;       /* 16 bytes, or NULL */
    bool secret_outside;
    bloomery_key_rule rule;
    const char *note;
    uint64_t absent_digest; /* of the answers for the numbers that are no multiple of three */
};

static const struct golden goldens[] = {
    {.name = "blocked-empty",
     .absent_digest = 0xf132bec5391249a1,
     .kind = BLOOMERY_BLOCKED,
     .bits = 512,
     .lines = 1,
     .probes = 8},
    {.name = "blocked-one-line",
     .absent_digest = 0x28704f29616687cb,
     .kind = BLOOMERY_BLOCKED,
     .bits = 512 * 5,
     .lines = 1,
     .probes = 7,
     .below = 600},
    {.name = "blocked-eight-bits",
     .absent_digest = 0x6370ca58bacddcd0,
     .kind = BLOOMERY_BLOCKED,
     .bits = 512 * 6,
     .lines = 1,
     .probes = 8,
     .below = 600,
     .seed = 1},
    {.name = "blocked-one-bit",
     .absent_digest = 0x6608009861e499fe,
     .kind = BLOOMERY_BLOCKED,
     .bits = 512 * 3,
     .lines = 1,
     .probes = 1,
     .below = 900},
    {.name = "blocked-two-lines",
     .absent_digest = 0x2f1cec75c4330ee3,
     .kind = BLOOMERY_BLOCKED,
     .bits = 512 * 8,
     .lines = 2,
     .probes = 4,
     .below = 900,
     .seed = 0x0123456789abcdef},
    {.name = "blocked-three-lines",
     .absent_digest = 0x93bcadbf518f2f82,
     .kind = BLOOMERY_BLOCKED,
     .bits = 512 * 7,
     .lines = 3,
     .probes = 5,
     .below = 1200,
     .note = "golden: three lines \xc3\xa9"},
    {.name = "blocked-four-lines",
     .absent_digest = 0x71703cd10899c7ed,
     .kind = BLOOMERY_BLOCKED,
     .bits = 512 * 9,
     .lines = 4,
     .probes = 8,
     .below = 1050},
    {.name = "blocked-four-times-two",
     .absent_digest = 0xa14dee17525d8be7,
     .kind = BLOOMERY_BLOCKED,
     .bits = 512 * 8,
     .lines = 4,
     .probes = 2,
     .below = 900},
    {.name = "blocked-128",
     .absent_digest = 0x1838252c8ec24ec4,
     .kind = BLOOMERY_BLOCKED,
     .bits = 512 * 5,
     .lines = 1,
     .probes = 6,
     .below = 600,
     .hash = BLOOMERY_HASH_XXH3_128},
    {.name = "blocked-128-four-lines",
     .absent_digest = 0x2d6f02197857314f,
     .kind = BLOOMERY_BLOCKED,
     .bits = 512 * 7,
     .lines = 4,
     .probes = 3,
     .below = 600,
     .seed = 0xfedcba9876543210,
     .hash = BLOOMERY_HASH_XXH3_128},
    {.name = "classic",
     .absent_digest = 0x8dd31054d5eb0b0b,
     .kind = BLOOMERY_CLASSIC,
     .bits = 4099,
     .probes = 6,
     .below = 1200},
    {.name = "classic-128",
     .absent_digest = 0xb34e895635710bd1,
     .kind = BLOOMERY_CLASSIC,
     .bits = 3001,
     .probes = 5,
     .below = 900,
     .seed = 7,
     .hash = BLOOMERY_HASH_XXH3_128},
    {.name = "classic-tiny",
     .absent_digest = 0xa5363b7c88d592f1,
     .kind = BLOOMERY_CLASSIC,
     .bits = 1,
     .probes = 64,
     .below = 1},
    {.name = "classic-two-spans",
     .absent_digest = 0xf132bec5391249a1,
     .kind = BLOOMERY_CLASSIC,
     .bits = 65536 * 8 + 1,
     .probes = 9,
     .below = 3000},
    {.name = "counting",
     .absent_digest = 0xe7c65c9018126938,
     .kind = BLOOMERY_COUNTING,
     .bits = 512 * 3,
     .lines = 2,
     .probes = 4,
     .below = 900},
    {.name = "counting-bytes",
     .absent_digest = 0x14634eb9bfd189d5,
     .kind = BLOOMERY_COUNTING,
     .cell_bits = 8,
     .bits = 512 * 2,
     .lines = 1,
     .probes = 8,
     .below = 300,
     .seed = 5},
    {.name = "counting-coinciding",
     .absent_digest = 0xff8f387ea964c357,
     .kind = BLOOMERY_COUNTING,
     .cell_bits = 8,
     .bits = 512,
     .lines = 4,
     .probes = 3,
     .below = 90},
    {.name = "keyed",
     .absent_digest = 0x8266feaa4c4143be,
     .kind = BLOOMERY_BLOCKED,
     .bits = 512 * 4,
     .lines = 1,
     .probes = 5,
     .below = 500,
     .key = "a golden secret!"},
    {.name = "keyed-four-lines",
     .absent_digest = 0x0746b37f54821b03,
     .kind = BLOOMERY_BLOCKED,
     .bits = 512 * 4,
     .lines = 4,
     .probes = 2,
     .below = 1200,
     .key = "a golden secret!"},
    {.name = "key-outside",
     .absent_digest = 0xef6a885ea0e965e6,
     .kind = BLOOMERY_CLASSIC,
     .bits = 2000,
     .probes = 5,
     .below = 500,
     .key = "a golden secret!",
     .secret_outside = true},
    {.name = "rule",
     .absent_digest = 0xa037c77a61bbf365,
     .kind = BLOOMERY_BLOCKED,
     .bits = 512,
     .lines = 1,
     .probes = 3,
     .below = 100,
     .rule = {127 & ~(BLOOMERY_RULE_UPPER | BLOOMERY_RULE_HEX), ';', -2, '#'},
     .note = "with a key rule"},
    {.name = "scalable",
     .absent_digest = 0x0c09eb703139147f,
     .kind = BLOOMERY_SCALABLE,
     .bits = 512,
     .lines = 1,
     .probes = 5,
     .below = 600,
     .planned = 20},
    {.name = "scalable-128",
     .absent_digest = 0xd8bceae2f80b48b6,
     .kind = BLOOMERY_SCALABLE,
     .bits = 512 * 2,
     .lines = 2,
     .probes = 3,
     .below = 600,
     .planned = 20,
     .hash = BLOOMERY_HASH_XXH3_128},
};
enum { GOLDENS = sizeof goldens / sizeof goldens[0] };

/* The name of its file. */
static inline void golden_path(const struct golden *golden, const char *directory, char *path,
                               size_t size)
{
    snprintf(path, size, "%s/golden-v2-%s.bloom", directory, golden->name);
}

/* A number as a key; text keeps the digits. */
static inline bloomery_key golden_key(unsigned number, char text[16])
{
    int length = snprintf(text, 16, "%u", number);
    return bloomery_key_of(text, (size_t)length);
}

static inline bloomery_status golden_make(const struct golden *golden, bloomery_filter **filter,
                                          bloomery_error *error)
{
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    bloomery_plan plan = {.kind = golden->kind,
                          .cell_bits = golden->cell_bits,
                          .bits = golden->bits,
                          .blocks_per_key = golden->lines,
                          .probes = golden->probes,
                          .planned_keys =
                              golden->planned > 0 ? golden->planned : (golden->below + 2) / 3,
                          .planned_rate = 0.0625,
                          .hash = golden->hash};
    options.seed = golden->seed;
    options.secret = (const uint8_t *)golden->key;
    options.secret_outside = golden->secret_outside;
    options.rule = golden->rule;
    options.note = golden->note;
    bloomery_status status = bloomery_create(&plan, &options, filter, error);
    if (status != BLOOMERY_OK)
        return status;
    for (unsigned number = 0; number < golden->below; number += 3) {
        char text[16];
        bloomery_add(*filter, golden_key(number, text), NULL);
    }
    return BLOOMERY_OK;
}

/* The golden static filter: golden-v2-static.bloom, with the numbers "0", "3", "6", ... */
enum { GOLDEN_STATIC_BELOW = 30000 };
#define GOLDEN_STATIC_DIGEST UINT64_C(0x0a954ad2b096666d)

static inline bloomery_status golden_static_make(const bloomery_filter **filter,
                                                 bloomery_error *error)
{
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    bloomery_plan plan = {.kind = BLOOMERY_STATIC, .rate = 0.003};
    bloomery_builder *builder = NULL;
    options.seed = 17;
    options.note = "static";
    bloomery_status status = bloomery_builder_open(&plan, &options, NULL, &builder, error);
    for (unsigned number = 0; number < GOLDEN_STATIC_BELOW && status == BLOOMERY_OK; number += 3) {
        char text[16];
        const bloomery_key key = golden_key(number, text);
        const bloomery_keys keys = bloomery_keys_of_list(&key, 1);
        status = bloomery_builder_add(builder, &keys, error);
    }
    if (status == BLOOMERY_OK)
        status = bloomery_builder_finish(builder, filter, error);
    bloomery_builder_free(builder);
    return status;
}

/* The golden cuckoo filter: golden-v2-cuckoo.bloom, of several tables, with the numbers "0", "3",
 * "6", ... of which the first ones were removed. */
enum { GOLDEN_CUCKOO_FROM = 30, GOLDEN_CUCKOO_BELOW = 600 };
#define GOLDEN_CUCKOO_DIGEST UINT64_C(0xee12b4d2eb39f2ac)

static inline bloomery_status golden_cuckoo_make(bloomery_filter **filter, bloomery_error *error)
{
    bloomery_dialect_parameters parameters = BLOOMERY_DIALECT_PARAMETERS;
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    parameters.keys = 64;
    parameters.slots = 4;
    parameters.iterations = 7;
    parameters.growth = 2;
    options.note = "cuckoo";
    const bloomery_status status =
        bloomery_dialect_create(bloomery_dialect_get(BLOOMERY_DIALECT_REDISBLOOM_CUCKOO),
                                &parameters, &options, filter, error);
    char text[16];
    for (unsigned number = 0; number < GOLDEN_CUCKOO_BELOW && status == BLOOMERY_OK; number += 3)
        bloomery_add(*filter, golden_key(number, text), NULL);
    for (unsigned number = 0; number < GOLDEN_CUCKOO_FROM && status == BLOOMERY_OK; number += 3)
        bloomery_remove(*filter, golden_key(number, text), NULL);
    return status;
}

/* One number that stands for the answers to a thousand absent keys. */
static inline uint64_t golden_digest(const bloomery_filter *filter)
{
    uint64_t digest = 1;
    for (unsigned number = 1; number < 1500; number += number % 3 == 1 ? 1 : 2) {
        char text[16];
        digest = digest * 0x100000001b3u + bloomery_may_contain(filter, golden_key(number, text));
    }
    return digest;
}

#endif
