/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The golden filters of format version 1: small files that every later version must read, and that
 * version 1 must go on writing byte for byte. This list makes them (make_golden.c) and checks them
 * (../property/golden.c). A released list only ever grows: a file that was released is never made
 * anew.
 *
 * Filter number i holds the decimal numbers "0", "3", "6", ... below `below`.
 */
#ifndef TESTS_GOLDEN_H
#define TESTS_GOLDEN_H

#include <stdio.h>

#include <bloomery/bloomery.h>

struct golden {
    const char *name; /* the file is golden-v1-NAME.bloom */
    bloomery_kind kind;
    uint32_t cell_bits; /* 0: the kind's own */
    uint64_t bits;
    uint32_t lines;
    uint32_t probes;
    unsigned below;
    uint64_t planned; /* keys; 0: as many as it gets */
    uint64_t seed;
    const char *key; /* 16 bytes, or NULL */
    bool key_outside;
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
     .absent_digest = 0xf6257e8e20016e79,
     .kind = BLOOMERY_BLOCKED,
     .bits = 512 * 5,
     .lines = 1,
     .probes = 7,
     .below = 600},
    {.name = "blocked-two-lines",
     .absent_digest = 0x50806abd6e2d111d,
     .kind = BLOOMERY_BLOCKED,
     .bits = 512 * 8,
     .lines = 2,
     .probes = 4,
     .below = 900,
     .seed = 0x0123456789abcdef},
    {.name = "blocked-three-lines",
     .absent_digest = 0xf132bec5391249a1,
     .kind = BLOOMERY_BLOCKED,
     .bits = 512 * 7,
     .lines = 3,
     .probes = 21,
     .below = 150,
     .note = "golden: three lines \xc3\xa9"},
    {.name = "classic",
     .absent_digest = 0xade76b2257cbf4fb,
     .kind = BLOOMERY_CLASSIC,
     .bits = 4099,
     .probes = 6,
     .below = 1200},
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
     .absent_digest = 0x2333c20c8e9c5654,
     .kind = BLOOMERY_COUNTING,
     .bits = 512 * 3,
     .lines = 2,
     .probes = 4,
     .below = 300},
    {.name = "counting-bytes",
     .absent_digest = 0x692f7d5cae08feb4,
     .kind = BLOOMERY_COUNTING,
     .cell_bits = 8,
     .bits = 512 * 2,
     .lines = 1,
     .probes = 20,
     .below = 300,
     .seed = 5},
    {.name = "keyed",
     .absent_digest = 0x70ed934704514ac5,
     .kind = BLOOMERY_BLOCKED,
     .bits = 512 * 4,
     .lines = 1,
     .probes = 5,
     .below = 500,
     .key = "a golden secret!"},
    {.name = "key-outside",
     .absent_digest = 0x4effc11a653dea57,
     .kind = BLOOMERY_CLASSIC,
     .bits = 2000,
     .probes = 5,
     .below = 500,
     .key = "a golden secret!",
     .key_outside = true},
    {.name = "rule",
     .absent_digest = 0x7f33f346136f385f,
     .kind = BLOOMERY_BLOCKED,
     .bits = 512,
     .lines = 1,
     .probes = 3,
     .below = 100,
     .rule = {127 & ~(BLOOMERY_RULE_UPPER | BLOOMERY_RULE_HEX), ';', -2, '#'},
     .note = "with a key rule"},
    {.name = "scalable",
     .absent_digest = 0xa405b5dd5d82f1a9,
     .kind = BLOOMERY_SCALABLE,
     .bits = 512,
     .lines = 1,
     .probes = 5,
     .planned = 20,
     .below = 600},
};
enum { GOLDENS = sizeof goldens / sizeof goldens[0] };

/* The name of its file. */
static inline void golden_path(const struct golden *golden, const char *directory, char *path,
                               size_t size)
{
    snprintf(path, size, "%s/golden-v1-%s.bloom", directory, golden->name);
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
    bloomery_options options = BLOOMERY_OPTIONS;
    bloomery_plan plan = {.kind = golden->kind,
                          .cell_bits = golden->cell_bits,
                          .bits = golden->bits,
                          .lines = golden->lines,
                          .probes = golden->probes,
                          .keys = golden->planned > 0 ? golden->planned : (golden->below + 2) / 3,
                          .rate = 0.0625};
    options.seed = golden->seed;
    options.key = (const uint8_t *)golden->key;
    options.key_outside = golden->key_outside;
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
