/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the first inputs of fuzz/server.c: sound payloads and pieces of filters of every sort, and
 * some of them wrong in one number.
 *
 *     build/fuzz/make_server_corpus fuzz/corpus/server
 *
 * Build: no test; it is built with the tests, so that it still builds.
 */
#include "tests/module/stand_in.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAYLOAD, PIECES, WINDOW_PAYLOAD, CUCKOO_PAYLOAD = 4, CUCKOO_PIECES };

static const char *directory;
static uint8_t input[1 << 16];
static size_t bytes;

static void put(const void *data, size_t count)
{
    if (count > sizeof input - bytes)
        abort();
    memcpy(input + bytes, data, count);
    bytes += count;
}

static void begin(uint8_t what, uint8_t encoding, uint8_t refused, uint8_t key)
{
    const uint8_t prefix[8] = {what, encoding, refused, key};
    bytes = 0;
    put(prefix, sizeof prefix);
}

static void end(const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.input", directory, name);
    FILE *out = fopen(path, "wb");
    if (out == NULL || fwrite(input, 1, bytes, out) != bytes || fclose(out) != 0) {
        perror(path);
        exit(2);
    }
}

static void put_piece(int64_t iterator, const void *data, uint32_t count)
{
    put(&iterator, sizeof iterator);
    put(&count, sizeof count);
    put(data, count);
}

static void payload(const char *key, const char *name, uint8_t encoding, uint8_t refused)
{
    stand_in_dump(key);
    begin(PAYLOAD, encoding, refused, 0);
    if (encoding < 4) { /* its fourth number is the growth, which came with version 4 */
        put(stand_in.payload, 24);
        put(stand_in.payload + 32, stand_in.payload_bytes - 32);
    } else {
        put(stand_in.payload, stand_in.payload_bytes);
    }
    end(name);
}

static void pieces(const char *key, const char *name, uint8_t refused)
{
    const bool is_cuckoo = strncmp(key, "cuckoo", 6) == 0;
    const char *dumps = is_cuckoo ? "cf.scandump" : "bf.scandump";
    char iterator[32] = "0";
    begin(is_cuckoo ? CUCKOO_PIECES : PIECES, 0, refused, 0);
    for (;;) {
        (void)sscanf(stand_in_ask(dumps, key, iterator, NULL), "*2 :%31[0-9]", iterator);
        if (strcmp(iterator, "0") == 0)
            break;
        put_piece(strtoll(iterator, NULL, 10), stand_in.bulk, (uint32_t)stand_in.bulk_bytes);
    }
    end(name);
}

/* Pieces for a key that is there: in place, past its end, from before its beginning, a header. */
static void wrong_pieces(void)
{
    static const uint8_t ones[64] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    begin(PIECES, 0, 0, 1);
    put_piece(9, ones, 8);
    put_piece(17, ones, 8);
    end("pieces-in-place");
    begin(PIECES, 0, 0, 1);
    put_piece(1 << 20, ones, 64);
    put_piece(3, ones, 64);
    put_piece(-1, ones, 8);
    put_piece(INT64_MAX, ones, 8);
    end("pieces-beside");
    (void)stand_in_ask("bf.scandump", "several", "0", NULL);
    begin(PIECES, 0, 0, 2);
    put_piece(1, stand_in.bulk, (uint32_t)stand_in.bulk_bytes);
    end("header-for-a-key");
}

static void window_payload(void)
{
    stand_in_dump("window");
    begin(WINDOW_PAYLOAD, 1, 0, 0);
    put(stand_in.payload, stand_in.payload_bytes);
    end("payload-window");
}

/* The payload of a cuckoo filter, with the number at `at` set to another one. */
static void cuckoo_payload(const char *key, const char *name, uint8_t refused, size_t at,
                           uint64_t number)
{
    stand_in_dump(key);
    if (at < stand_in.payload_bytes)
        memcpy(stand_in.payload + at, &number, sizeof number);
    begin(CUCKOO_PAYLOAD, 4, refused, 0);
    put(stand_in.payload, stand_in.payload_bytes);
    end(name);
}

/* The header of a cuckoo filter with the number at `at` set, and some slots. */
static void cuckoo_header(const char *name, size_t at, uint64_t number, size_t size)
{
    (void)stand_in_ask("cf.scandump", "cuckoo", "0", NULL);
    memcpy(stand_in.bulk + at, &number, size);
    begin(CUCKOO_PIECES, 0, 0, 0);
    put_piece(1, stand_in.bulk, (uint32_t)stand_in.bulk_bytes);
    put_piece(4, "abc", 3);
    end(name);
}

static void cuckoo_inputs(void)
{
    static const char *const keys[] = {"cuckoo", "cuckoos", "cuckoo-even", "cuckoo-wide",
                                       "cuckoo-tiny"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        char name[64];
        snprintf(name, sizeof name, "payload-%s", keys[i]);
        cuckoo_payload(keys[i], name, 0, SIZE_MAX, 0);
        snprintf(name, sizeof name, "pieces-%s", keys[i]);
        pieces(keys[i], name, 0);
    }
    cuckoo_payload("cuckoos", "payload-cuckoos-without-memory", 5, SIZE_MAX, 0);
    cuckoo_payload("cuckoos", "payload-cuckoos-of-a-million", 0, 0, 1000000);
    cuckoo_payload("cuckoo", "payload-cuckoo-of-a-terabyte", 0, 8, UINT64_C(1) << 40);
    cuckoo_payload("cuckoos", "payload-cuckoos-that-are-equal", 0, 48, 1);
    pieces("cuckoos", "pieces-cuckoos-without-memory", 4);
    cuckoo_header("header-cuckoo-of-the-most-items", 0, INT64_MAX, 8);
    cuckoo_header("header-cuckoo-of-too-many-items", 0, UINT64_C(1) << 63, 8);
    cuckoo_header("header-cuckoo-of-the-most-deletes", 16, INT64_MAX, 8);
    cuckoo_header("header-cuckoo-of-a-terabyte", 8, UINT64_C(1) << 38, 8);
    cuckoo_header("header-cuckoo-of-many-sub-filters", 24, 5000, 8);
    begin(CUCKOO_PIECES, 0, 0, 1);
    put_piece(3, "ab", 2);
    put_piece(6, "abc", 3);
    put_piece(INT64_MAX, "ab", 2);
    put_piece(-1, "ab", 2);
    end("pieces-beside-cuckoos");
}

/* They do not follow. */
static void many_links(void)
{
    static const uint64_t links = 1000000;
    stand_in_dump("several");
    memcpy(stand_in.payload + 8, &links, sizeof links);
    begin(PAYLOAD, 4, 0, 0);
    put(stand_in.payload, stand_in.payload_bytes);
    end("payload-of-a-million-links");
}

/* Eight bytes of bits more than there are bits; everything else is right. */
static void longer_bits(void)
{
    enum { AT_LENGTH = 80 };
    uint64_t length;
    stand_in_dump("one");
    memcpy(&length, stand_in.payload + AT_LENGTH, sizeof length);
    begin(PAYLOAD, 4, 0, 0);
    put(stand_in.payload, AT_LENGTH);
    put(&(uint64_t){length + 8}, 8);
    put(stand_in.payload + AT_LENGTH + 8, length);
    put(&(uint64_t){0}, 8);
    put(stand_in.payload + AT_LENGTH + 8 + length, 8);
    end("payload-with-longer-bits");
}

/* A header alone asks for all its memory. */
static void headers(void)
{
    static const uint64_t large = UINT64_C(1) << 40;
    (void)stand_in_ask("bf.scandump", "one", "0", NULL);
    begin(PIECES, 0, 0, 0);
    put_piece(1, stand_in.bulk, (uint32_t)stand_in.bulk_bytes);
    end("header-alone");
    memcpy(stand_in.bulk + 20, &large, sizeof large);
    memcpy(stand_in.bulk + 28, &(uint64_t){large * 8}, sizeof large);
    begin(PIECES, 0, 0, 0);
    put_piece(1, stand_in.bulk, (uint32_t)stand_in.bulk_bytes);
    end("header-of-a-terabyte");
    (void)stand_in_ask("bf.scandump", "coarse", "0", NULL);
    memcpy(stand_in.bulk, &(uint64_t){INT64_MAX}, 8);
    memcpy(stand_in.bulk + 36, &(uint64_t){INT64_MAX}, 8);
    begin(PIECES, 0, 0, 0);
    put_piece(1, stand_in.bulk, (uint32_t)stand_in.bulk_bytes);
    end("header-of-the-most-items");
}

static void make_keys(void)
{
    (void)stand_in_load(NULL);
    stand_in_ask("bf.reserve", "one", "0.01", "20", "NONSCALING", NULL);
    stand_in_ask("bf.madd", "one", "1", "2", "3", "4", "5", "6", NULL);
    stand_in_ask("bf.reserve", "several", "0.01", "3", NULL);
    stand_in_ask("bf.madd", "several", "1", "2", "3", "4", "5", "6", "7", "8", "9", "a", NULL);
    stand_in_ask("bf.reserve", "even", "0.2", "2", "EXPANSION", "1", NULL);
    stand_in_ask("bf.madd", "even", "1", "2", "3", "4", "5", "6", "7", "8", "9", "a", "b", NULL);
    stand_in_ask("bf.reserve", "window", "0.1", "9", "GENERATIONS", "3", "EVERY", "60", "AT",
                 "5000", NULL);
    stand_in_ask("bf.madd", "window", "1", "2", "3", NULL);
    stand_in_ask("bf.rotate", "window", "COUNT", "1", "AT", "65000", NULL);
    stand_in_ask("bf.madd", "window", "3", "4", NULL);
    stand_in_ask("bf.reserve", "empty", "0.001", "10", "EXPANSION", "3", NULL);
    stand_in_ask("bf.reserve", "coarse", "0.25", "1000", NULL);
    stand_in_ask("bf.add", "coarse", "x", NULL);
    stand_in_ask("cf.reserve", "cuckoos", "4", "EXPANSION", "2", NULL);
    stand_in_ask("cf.insert", "cuckoos", "ITEMS", "1", "2", "3", "4", "5", "6", "7", "8", "9",
                 NULL);
    stand_in_ask("cf.reserve", "cuckoo", "24", "BUCKETSIZE", "3", "EXPANSION", "0", NULL);
    stand_in_ask("cf.insert", "cuckoo", "ITEMS", "1", "2", "3", "4", "5", NULL);
    stand_in_ask("cf.reserve", "cuckoo-even", "4", "BUCKETSIZE", "1", "EXPANSION", "1", NULL);
    stand_in_ask("cf.insert", "cuckoo-even", "ITEMS", "1", "2", "3", "4", "5", "6", "7", "8", "9",
                 NULL);
    stand_in_ask("cf.reserve", "cuckoo-wide", "510", "BUCKETSIZE", "255", "MAXITERATIONS", "1",
                 NULL);
    stand_in_ask("cf.insert", "cuckoo-wide", "ITEMS", "1", "2", "3", "1", "1", NULL);
    stand_in_ask("cf.reserve", "cuckoo-tiny", "2", "BUCKETSIZE", "1", "EXPANSION", "32768", NULL);
    stand_in_ask("cf.add", "cuckoo-tiny", "1", NULL);
    stand_in_ask("cf.del", "cuckoo-tiny", "1", NULL);
}

int main(int count, char **arguments)
{
    static const char *const keys[] = {"one", "several", "even", "empty", "coarse"};
    if (count != 2) {
        fprintf(stderr, "usage: %s DIRECTORY\n", arguments[0]);
        return 2;
    }
    directory = arguments[1];
    make_keys();
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        char name[64];
        snprintf(name, sizeof name, "payload-%s", keys[i]);
        payload(keys[i], name, 4, 0);
        snprintf(name, sizeof name, "pieces-%s", keys[i]);
        pieces(keys[i], name, 0);
    }
    window_payload();
    cuckoo_inputs();
    pieces("window", "pieces-window", 0);
    payload("several", "payload-without-growth", 3, 0);
    payload("several", "payload-of-another-version", 5, 0);
    payload("several", "payload-without-memory", 4, 5);
    pieces("even", "pieces-without-memory", 4);
    many_links();
    longer_bits();
    wrong_pieces();
    headers();
    stand_in_flush();
    return 0;
}
