/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the corpus to begin with: small filters of every sort, and the same with one number turned
 * hostile. The checksums of the hostile ones are left wrong: the target mends them. By hand:
 *
 *     cc -Iinclude fuzz/make_corpus.c -lbloomery -o make_corpus && ./make_corpus fuzz/corpus/load
 *
 * Build: no test; built by nothing but this command.
 */
#include <bloomery/bloomery.h>
#include <bloomery/builder.h>
#include <bloomery/records.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *directory;

struct file {
    uint8_t data[1 << 16];
    size_t size;
};

static int append(void *context, const void *data, size_t size)
{
    struct file *file = context;
    if (size > sizeof file->data - file->size)
        return 1;
    memcpy(file->data + file->size, data, size);
    file->size += size;
    return 0;
}

static void save(const char *name, const struct file *file)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.bloom", directory, name);
    FILE *out = fopen(path, "wb");
    if (out == NULL || fwrite(file->data, 1, file->size, out) != file->size || fclose(out) != 0) {
        perror(path);
        exit(2);
    }
}

/* The hash of the filters that are made. */
static bloomery_hash_id hash = BLOOMERY_HASH_DEFAULT;

static struct file make(bloomery_kind kind, uint64_t bits, uint32_t lines, uint32_t probes,
                        const bloomery_create_options *options)
{
    struct file file = {.size = 0};
    bloomery_filter *filter = NULL;
    bloomery_error error;
    bloomery_plan plan = {
        .kind = kind, .bits = bits, .blocks_per_key = lines, .probes = probes, .hash = hash};
    if (kind == BLOOMERY_SCALABLE) { /* of three layers in the end */
        plan.planned_keys = 3;
        plan.planned_rate = 0.25;
    }
    if (bloomery_create(&plan, options, &filter, &error) != BLOOMERY_OK) {
        fprintf(stderr, "%s\n", error.text);
        exit(2);
    }
    for (unsigned i = 0; i < 20; i++)
        bloomery_add(filter, bloomery_key_of(&(uint8_t){(uint8_t)i}, 1), NULL);
    if (bloomery_write(filter, append, &file, NULL) != BLOOMERY_OK)
        exit(2);
    bloomery_free(filter);
    return file;
}

/* A static filter of `count` keys. */
static struct file build(double rate, unsigned count)
{
    struct file file = {.size = 0};
    bloomery_builder *builder = NULL;
    const bloomery_filter *filter = NULL;
    bloomery_plan plan = {.kind = BLOOMERY_STATIC, .rate = rate};
    if (bloomery_builder_open(&plan, NULL, NULL, &builder, NULL) != BLOOMERY_OK)
        exit(2);
    for (unsigned i = 0; i < count; i++) {
        const bloomery_key one = bloomery_key_of(&i, sizeof i);
        const bloomery_keys keys = bloomery_keys_of_list(&one, 1);
        if (bloomery_builder_add(builder, &keys, NULL) != BLOOMERY_OK)
            exit(2);
    }
    if (bloomery_builder_finish(builder, &filter, NULL) != BLOOMERY_OK ||
        bloomery_write(filter, append, &file, NULL) != BLOOMERY_OK)
        exit(2);
    bloomery_builder_free(builder);
    bloomery_free(filter);
    return file;
}

/* Numbers of a ribbon's record changed. */
static void make_hostile_ribbons(const struct file *valid)
{
    static const struct {
        const char *name;
        size_t at;
        unsigned width;
        uint64_t value;
    } changes[] = {
        {"starts-0", 208, 8, 0},
        {"starts-65", 208, 8, 65},
        {"starts-wrap", 208, 8, 1ull << 32},
        {"wide-beyond", 216, 8, UINT64_MAX},
        {"wide-0", 216, 8, 0},
        {"sections-40", 224, 4, 40},
        {"sections-64", 224, 4, 64},
        {"columns-50", 228, 4, 50},
        {"columns-wrap", 228, 4, 0x10000},
        {"width-128", 232, 4, 128},
        {"bucket-64", 236, 4, 64},
        {"no-ribbon", 200, 4, 77},
    };
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        struct file file = *valid;
        char name[64];
        for (unsigned b = 0; b < changes[i].width; b++)
            file.data[changes[i].at + b] = (uint8_t)(changes[i].value >> (8 * b));
        snprintf(name, sizeof name, "hostile-ribbon-%s", changes[i].name);
        save(name, &file);
    }
}

/* One number of a valid file changed: name, offset, width, value. */
static const struct {
    const char *name;
    size_t at;
    unsigned width;
    uint64_t value;
} edits[] = {
    {"version-1", 8, 2, 1},
    {"version-3", 8, 2, 3},
    {"kind-3", 10, 2, 3},
    {"records-odd", 16, 4, 71},
    {"records-beyond", 16, 4, 0xfffffff8},
    {"links-0", 20, 4, 0},
    {"links-65", 20, 4, 65},
    {"payload-at-0", 24, 8, 0},
    {"payload-at-2-63", 24, 8, 1ull << 63},
    {"payload-of-2-40", 32, 8, 1ull << 40},
    {"payload-wraps", 32, 8, UINT64_MAX - 63},
    {"fingerprint", 48, 8, 1},
    {"hash-2", 56, 2, 2},
    {"hash-4", 56, 2, 4},
    {"blocks-0", 64, 2, 0},
    {"cells-4", 66, 1, 4},
    {"required-bit", 72, 4, 1},
    {"ignorable-bits", 76, 4, 0xffffffff},
    {"record-type-0", 128, 2, 0},
    {"record-unknown-ignorable", 128, 4, 77},
    {"record-wraps", 132, 4, 0xffffffff},
    {"bits-0", 136, 8, 0},
    {"bits-1", 136, 8, 1},
    {"bits-2-63", 136, 8, 1ull << 63},
    {"bits-wrap", 136, 8, UINT64_MAX},
    {"probes-0", 144, 4, 0},
    {"probes-9", 144, 4, 9},
    {"probes-65", 144, 4, 65},
    {"probes-wrap", 144, 4, 0x55555556},
    {"lines-0", 148, 4, 0},
    {"lines-5", 148, 4, 5},
    {"lines-wrap", 148, 4, 0xffffffff},
    {"rate-not-a-number", 160, 8, 0x7ff8000000000001},
    {"offset-64", 176, 8, 64},
    {"bytes-wrap", 184, 8, UINT64_MAX - 63},
};

static void make_hostile(const struct file *valid)
{
    for (size_t i = 0; i < sizeof edits / sizeof edits[0]; i++) {
        struct file file = *valid;
        char name[64];
        for (unsigned b = 0; b < edits[i].width; b++)
            file.data[edits[i].at + b] = (uint8_t)(edits[i].value >> (8 * b));
        snprintf(name, sizeof name, "hostile-%s", edits[i].name);
        save(name, &file);
    }
}

int main(int count, char **arguments)
{
    static const uint8_t key[BLOOMERY_SECRET_BYTES] = "a golden secret!";
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    if (count != 2) {
        fprintf(stderr, "usage: %s DIRECTORY\n", arguments[0]);
        return 2;
    }
    directory = arguments[1];
    static struct file file;
    save("empty", &file);
    file = make(BLOOMERY_CLASSIC, 100, 0, 3, &options);
    save("valid-classic", &file);
    file = make(BLOOMERY_BLOCKED, 512, 1, 6, &options);
    save("valid-blocked-1", &file);
    file = make(BLOOMERY_BLOCKED, 512 * 3, 3, 5, &options);
    save("valid-blocked-3", &file);
    make_hostile(&file);
    file = make(BLOOMERY_BLOCKED, 512 * 2, 4, 8, &options);
    save("valid-blocked-4", &file);
    file = make(BLOOMERY_COUNTING, 512 * 2, 3, 8, &options);
    save("valid-counting", &file);
    file = make(BLOOMERY_SCALABLE, 512, 1, 4, &options);
    save("valid-scalable", &file);
    file = build(0.003, 5000); /* of two layers */
    save("valid-static", &file);
    file = build(0.6, 100);
    save("valid-static-no-columns", &file);
    file = build(1e-6, 20);
    save("valid-static-three-planes", &file);
    make_hostile_ribbons(&file);
    hash = BLOOMERY_HASH_XXH3_128;
    file = make(BLOOMERY_BLOCKED, 1024, 2, 3, &options);
    save("valid-blocked-128", &file);
    hash = BLOOMERY_HASH_DEFAULT;
    options.note = "n\xc3\xb6te";
    options.rule = (bloomery_key_rule){BLOOMERY_RULE_HEX | BLOOMERY_RULE_CSV, ',', -1, '#'};
    file = make(BLOOMERY_BLOCKED, 1024, 2, 4, &options);
    save("valid-note-and-rule", &file);
    options.secret = key;
    file = make(BLOOMERY_BLOCKED, 512, 1, 6, &options);
    save("valid-keyed", &file);
    options.secret_outside = true;
    file = make(BLOOMERY_CLASSIC, 512, 0, 6, &options);
    save("valid-key-outside", &file);
    return 0;
}
