/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library's side of reader_agrees.py: makes filters of any shape, and says what it finds in
 * files. Keys are any bytes, so on standard input each stands behind its length, a u32.
 *
 *     reader_twin make FILE KIND M K L KEYS RATE SEED KEY NOTE FLAGS DELIMITER FIELD
 *                 COMMENT CELL HASH < keys
 *     reader_twin read KEY < files
 *
 * KEY is empty or 32 hexadecimal digits; a "-" before them keeps the key out of the file. `read`
 * takes any number of files: length, bytes, the number of keys to query, the keys. For each it
 * prints a line: a JSON object with the results of opening and verifying, the facts, and for each
 * key whether it may be in and how often.
 *
 * Build: this file, the library. Run by reader_agrees.py.
 */
#include "../support/many.h"

#include <bloomery/builder.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_BYTES_MAX = 1 << 24 };

static void *need(void *memory)
{
    if (memory == NULL) {
        fputs("reader_twin: out of memory\n", stderr);
        exit(2);
    }
    return memory;
}

/* A u32 of standard input; false at its end. */
static bool take_number(uint32_t *number)
{
    uint8_t bytes[4];
    if (fread(bytes, 1, sizeof bytes, stdin) != sizeof bytes)
        return false;
    *number = (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
              (uint32_t)bytes[3] << 24;
    return true;
}

/* A length and as many bytes, at a multiple of 64 for bloomery_view; NULL at the end. */
static uint8_t *take_bytes(size_t *bytes)
{
    uint32_t length = 0;
    if (!take_number(&length) || length > FILE_BYTES_MAX)
        return NULL;
    uint8_t *data = need(aligned_alloc(64, ((size_t)length / 64 + 1) * 64));
    *bytes = length;
    if (fread(data, 1, length, stdin) != length) {
        free(data);
        return NULL;
    }
    return data;
}

/* The key in `text`, or NULL where there is none. */
static const uint8_t *key_of(const char *text, uint8_t key[BLOOMERY_SECRET_BYTES])
{
    text += *text == '-';
    if (*text == '\0')
        return NULL;
    for (int i = 0; i < BLOOMERY_SECRET_BYTES; i++) {
        unsigned value = 0;
        if (sscanf(text + (ptrdiff_t)2 * i, "%2x", &value) != 1)
            exit(2);
        key[i] = (uint8_t)value;
    }
    return key;
}

/* As `make`, for static filters: their keys go to a builder. */
static bool build(const bloomery_plan *plan, const bloomery_create_options *options,
                  const char *path, bloomery_error *error)
{
    bloomery_builder *builder = NULL;
    bool good = bloomery_builder_open(plan, options, NULL, &builder, error) == BLOOMERY_OK;
    size_t bytes = 0;
    for (uint8_t *data = NULL; good && (data = take_bytes(&bytes)) != NULL; free(data)) {
        const bloomery_key key = bloomery_key_of(data, bytes);
        const bloomery_keys one = bloomery_keys_of_list(&key, 1);
        good = bloomery_builder_add(builder, &one, error) == BLOOMERY_OK;
    }
    good = good && bloomery_builder_save(builder, path, error) == BLOOMERY_OK;
    if (!good)
        fprintf(stderr, "reader_twin: %s\n", error->text);
    bloomery_builder_free(builder);
    return good;
}

static int make(char **argv)
{
    uint8_t key[BLOOMERY_SECRET_BYTES];
    bloomery_plan plan = {
        .kind = (bloomery_kind)strtoul(argv[1], NULL, 10),
        .bits = strtoull(argv[2], NULL, 10),
        .probes = (uint32_t)strtoul(argv[3], NULL, 10),
        .blocks_per_key = (uint32_t)strtoul(argv[4], NULL, 10),
        .planned_keys = strtoull(argv[5], NULL, 10),
        .planned_rate = strtod(argv[6], NULL),
        .cell_bits = (uint32_t)strtoul(argv[14], NULL, 10),
    };
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    options.seed = strtoull(argv[7], NULL, 10);
    plan.hash = (bloomery_hash_id)strtoul(argv[15], NULL, 10);
    options.secret = key_of(argv[8], key);
    options.secret_outside = argv[8][0] == '-';
    options.note = argv[9][0] != '\0' ? argv[9] : NULL;
    options.rule = (bloomery_key_rule){
        (uint32_t)strtoul(argv[10], NULL, 10), (uint32_t)strtoul(argv[11], NULL, 10),
        (int32_t)strtol(argv[12], NULL, 10), (uint32_t)strtoul(argv[13], NULL, 10)};
    bloomery_filter *filter = NULL;
    bloomery_error error = {.text = ""};
    if (plan.kind == BLOOMERY_STATIC)
        return build(&plan, &options, argv[0], &error) ? 0 : 2;
    bool good = bloomery_create(&plan, &options, &filter, &error) == BLOOMERY_OK;
    size_t bytes = 0;
    for (uint8_t *data = NULL; good && (data = take_bytes(&bytes)) != NULL; free(data))
        good = add_status(filter, bloomery_key_of(data, bytes)) == BLOOMERY_OK;
    good = good && bloomery_save(filter, argv[0], &error) == BLOOMERY_OK;
    if (!good)
        fprintf(stderr, "reader_twin: %s\n", error.text);
    bloomery_free(filter);
    return good ? 0 : 2;
}

static void print_facts(const bloomery_filter *filter)
{
    bloomery_info info = BLOOMERY_INFO;
    bloomery_info_get(filter, &info);
    bloomery_scan_result scan = scan_of(filter);
    printf(", \"info\": {\"kind\": %d, \"format_version\": %" PRIu32 ", \"links\": %" PRIu32
           ", \"lines\": %" PRIu32 ", \"probes\": %" PRIu32 ", \"bits\": %" PRIu64
           ", \"bytes\": %" PRIu64 ", \"file_bytes\": %" PRIu64 ", \"planned_keys\": %" PRIu64,
           (int)info.kind, info.format_version, info.layers, info.blocks_per_key, info.probes,
           info.bits, info.bytes, info.file_bytes, info.planned_keys);
    printf(", \"planned_rate\": %.17g, \"wanted_rate\": %.17g, \"adds\": %" PRIu64
           ", \"hash\": %d, \"seed\": %" PRIu64 ", \"key_fingerprint\": %" PRIu64
           ", \"key_in_file\": %s",
           info.planned_rate, info.wanted_rate, info.adds, (int)info.hash, info.seed,
           info.secret_fingerprint, info.secret_in_file ? "true" : "false");
    printf(", \"rule\": [%" PRIu32 ", %" PRIu32 ", %" PRId32 ", %" PRIu32 "], \"dialect\": %" PRIu32
           ", \"bits_set\": %" PRIu64 ", \"note\": ",
           info.rule.flags, info.rule.delimiter, info.rule.field, info.rule.comment, info.dialect,
           scan.bits_set);
    if (info.note == NULL)
        printf("null}");
    else {
        putchar('"');
        for (const char *at = info.note; *at != '\0'; at++)
            printf("%02x", (unsigned)(unsigned char)*at);
        printf("\"}");
    }
}

/* Takes the keys of a file off the input, whether it opened or not. */
static bool print_answers(const bloomery_filter *filter)
{
    uint32_t count = 0;
    if (!take_number(&count))
        return false;
    printf(", \"answers\": [");
    for (uint32_t i = 0; i < count; i++) {
        size_t bytes = 0;
        uint8_t *data = take_bytes(&bytes);
        if (data == NULL)
            return false;
        if (filter != NULL)
            printf("%s%d, %" PRIu32, i > 0 ? ", " : "",
                   bloomery_may_contain(filter, bloomery_key_of(data, bytes)),
                   bloomery_key_count(filter, bloomery_key_of(data, bytes)));
        free(data);
    }
    printf("]}\n");
    return true;
}

static int read_files(const char *key_text)
{
    uint8_t key[BLOOMERY_SECRET_BYTES];
    bloomery_open_options options = BLOOMERY_OPEN_OPTIONS;
    options.secret = key_of(key_text, key);
    options.inspect = options.secret == NULL;
    size_t bytes = 0;
    bool good = true;
    for (uint8_t *data = NULL; good && (data = take_bytes(&bytes)) != NULL; free(data)) {
        const bloomery_filter *filter = NULL;
        bloomery_status opened = bloomery_view(data, bytes, &options, &filter, NULL);
        printf("{\"opened\": \"%s\"", bloomery_status_name(opened));
        if (filter != NULL) {
            printf(", \"verified\": \"%s\"", bloomery_status_name(bloomery_verify(filter, NULL)));
            print_facts(filter);
        }
        good = print_answers(filter);
        bloomery_free(filter);
    }
    return good && ferror(stdout) == 0 ? 0 : 2;
}

int main(int argc, char **argv)
{
    if (argc == 18 && strcmp(argv[1], "make") == 0)
        return make(argv + 2);
    if (argc == 3 && strcmp(argv[1], "read") == 0)
        return read_files(argv[2]);
    return 2;
}
