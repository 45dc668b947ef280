/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filters of other systems on a string: a line in, a line out, so that a test in any language can
 * use the public interface. Bytes are in hexadecimal, "-" where there are none.
 *
 *     create DIALECT [NAME=VALUE...]      an empty filter, in the place of the one before
 *     load DIALECT FILE [NAME=VALUE...]   one from the bytes of a file
 *     peek DIALECT FILE [NAME=VALUE...]   the same, for inspection where its hash is not available
 *     open FILE                           one from a Bloomery file, for adding
 *     add KEY                             1 new, 0 seen
 *     add-hash LO HI                      as add, by a hash that no key need have
 *     add-all KEY...                      a digit for each, by one batch
 *     ask KEY                             1 possibly, 0 definitely not
 *     ask-all KEY...                      a digit for each, by one batch
 *     remove KEY                          1 removed, 0 absent
 *     count KEY
 *     add-absent KEY                      1 new, 0 there: to a cuckoo filter
 *     compact                             1 changed, 0 not: a cuckoo filter, all of its tables
 *     positions KEY [LINK]
 *     info                                NAME=VALUE... ("scan" for the scanned part too)
 *     layer NUMBER                         bits, probes, keys, rate and adds of a layer
 *     remark NUMBER                       a sentence, or "none"
 *     write FILE [DIALECT]                in the dialect's own bytes
 *     save FILE                           in our file
 *     scandump ITERATOR FILE              RedisBloom's chunk: the next iterator; its bytes are in
 *                                         the file
 *     loadchunk ITERATOR FILE             such a chunk; the header's makes a filter, in the place
 *                                         of the one before
 *     sniff FILE                          a name, or "none"
 *     list                                a line for each dialect, then "end"
 *
 * What fails is answered by "error STATUS TEXT". The names are those of
 * bloomery_dialect_parameters. Ends with the input. A file is read whole and its bytes are given to
 * the library at an address where the byte after the last one is not readable, so that reading past
 * the end is seen.
 */
#define BLOOMERY_EXPERIMENTAL
#include "../support/many.h"

#include <bloomery/dialect.h>
#include <bloomery/experimental.h>

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifndef __wasi__
#include <sys/mman.h>
#include <unistd.h>
#endif

enum { WORDS_MAX = 65536 };

static bloomery_filter *filter;
static char *words[WORDS_MAX];
static size_t word_count;

static void fail(const char *why)
{
    fprintf(stderr, "driver: %s\n", why);
    exit(2);
}

static void say_error(const bloomery_error *error, int status)
{
    printf("error %s %s\n", bloomery_status_name(status), error != NULL ? error->text : "");
}

static void split(char *line)
{
    word_count = 0;
    for (char *word = strtok(line, " \n"); word != NULL; word = strtok(NULL, " \n")) {
        if (word_count == WORDS_MAX)
            fail("too many words");
        words[word_count++] = word;
    }
}

/* Bytes of a word, written over it. */
static bloomery_key key_of(char *word)
{
    size_t bytes = 0;
    if (strcmp(word, "-") == 0)
        return bloomery_key_of(word, 0);
    for (; word[2 * bytes] != 0; bytes++) {
        unsigned value = 0;
        if (!isxdigit((unsigned char)word[2 * bytes + 1]) ||
            sscanf(word + 2 * bytes, "%2x", &value) != 1)
            fail("no hexadecimal digits");
        word[bytes] = (char)value;
    }
    return bloomery_key_of(word, bytes);
}

/* ---- Parameters ------------------------------------------------------------------------------ */

static void set_parameter(bloomery_dialect_parameters *parameters, const char *name, char *value)
{
    const uint64_t number = strtoull(value, NULL, 10);
    if (strcmp(name, "variant") == 0)
        parameters->variant = value;
    else if (strcmp(name, "keys") == 0)
        parameters->keys = number;
    else if (strcmp(name, "rate") == 0)
        parameters->rate = strtod(value, NULL);
    else if (strcmp(name, "bits") == 0)
        parameters->bits = number;
    else if (strcmp(name, "bytes") == 0)
        parameters->bytes = number;
    else if (strcmp(name, "probes") == 0)
        parameters->probes = (uint32_t)number;
    else if (strcmp(name, "bits_per_key") == 0)
        parameters->bits_per_key = strtod(value, NULL);
    else if (strcmp(name, "seed") == 0)
        parameters->seed = number;
    else if (strcmp(name, "growth") == 0)
        parameters->growth = (uint32_t)number;
    else if (strcmp(name, "columns") == 0)
        parameters->columns = (uint32_t)number;
    else if (strcmp(name, "index") == 0)
        parameters->index = number;
    else if (strcmp(name, "cell_bits") == 0)
        parameters->cell_bits = (uint32_t)number;
    else if (strcmp(name, "slots") == 0)
        parameters->slots = (uint32_t)number;
    else if (strcmp(name, "iterations") == 0)
        parameters->iterations = (uint32_t)number;
    else
        fail("no such parameter");
}

static bloomery_dialect_parameters parameters_from(size_t first)
{
    bloomery_dialect_parameters parameters = BLOOMERY_DIALECT_PARAMETERS;
    for (size_t i = first; i < word_count; i++) {
        char *equals = strchr(words[i], '=');
        if (equals == NULL)
            fail("a parameter without a value");
        *equals = 0;
        set_parameter(&parameters, words[i], equals + 1);
    }
    return parameters;
}

static const bloomery_dialect *dialect_of(const char *name)
{
    const bloomery_dialect *dialect = bloomery_dialect_find(name);
    if (dialect == NULL)
        fail("no such dialect");
    return dialect;
}

/* ---- Files ----------------------------------------------------------------------------------- */

struct bytes {
    uint8_t *map;
    size_t map_bytes;
    uint8_t *data;
    size_t bytes;
};

#ifdef __wasi__

/* WebAssembly has no pages that can't be read; what lies behind is seen in other builds. */
static struct bytes read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0)
        fail("no such file");
    const long length = ftell(file);
    struct bytes bytes = {.bytes = (size_t)length};
    bytes.data = malloc(bytes.bytes + 1);
    if (bytes.data == NULL)
        fail("no memory");
    rewind(file);
    if (fread(bytes.data, 1, bytes.bytes, file) != bytes.bytes)
        fail("a file can't be read");
    fclose(file);
    return bytes;
}

static void release(struct bytes *bytes)
{
    free(bytes->data);
}

/* Files are opened by who has some. */
static int open_file(const char *path, const bloomery_open_options *options, bloomery_error *error)
{
    struct bytes bytes = read_file(path);
    const int status = bloomery_load(bytes.data, bytes.bytes, options, &filter, error);
    release(&bytes);
    return status;
}

#else

/* The last byte is the last one of a page, and the page after it can't be read. */
static struct bytes read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0)
        fail("no such file");
    const long length = ftell(file);
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct bytes bytes = {.bytes = (size_t)length};
    bytes.map_bytes = (bytes.bytes + page - 1) / page * page + page;
    bytes.map =
        mmap(NULL, bytes.map_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (bytes.map == MAP_FAILED)
        fail("no memory");
    bytes.data = bytes.map + bytes.map_bytes - page - bytes.bytes;
    rewind(file);
    if (fread(bytes.data, 1, bytes.bytes, file) != bytes.bytes)
        fail("a file can't be read");
    fclose(file);
    mprotect(bytes.map + bytes.map_bytes - page, page, PROT_NONE);
    return bytes;
}

static void release(struct bytes *bytes)
{
    munmap(bytes->map, bytes->map_bytes);
}

static int open_file(const char *path, const bloomery_open_options *options, bloomery_error *error)
{
    return bloomery_open(path, options, &filter, error);
}

#endif

static int to_file(void *context, const void *data, size_t bytes)
{
    return fwrite(data, 1, bytes, context) != bytes;
}

/* ---- Commands -------------------------------------------------------------------------------- */

static void made(int status, const bloomery_error *error)
{
    if (status == BLOOMERY_OK)
        puts("ok");
    else
        say_error(error, status);
}

static void create(void)
{
    bloomery_error error = {.text = ""};
    const bloomery_dialect_parameters parameters = parameters_from(2);
    bloomery_free(filter);
    made(bloomery_dialect_create(dialect_of(words[1]), &parameters, NULL, &filter, &error), &error);
}

static void load(bool peeking)
{
    bloomery_error error = {.text = ""};
    bloomery_open_options options = BLOOMERY_OPEN_OPTIONS;
    options.inspect = peeking;
    struct bytes bytes = read_file(words[2]);
    const bloomery_dialect_parameters parameters = parameters_from(3);
    bloomery_free(filter);
    made(bloomery_dialect_load(dialect_of(words[1]), bytes.data, bytes.bytes, &parameters, &options,
                               &filter, &error),
         &error);
    release(&bytes);
}

static void open_ours(void)
{
    bloomery_error error = {.text = ""};
    bloomery_open_options options = BLOOMERY_OPEN_OPTIONS;
    bloomery_free(filter);
    made(open_file(words[1], &options, &error), &error);
}

static void answer(int found)
{
    if (found < 0)
        say_error(NULL, found);
    else
        printf("%d\n", found);
}

static void add_hash(void)
{
    const bloomery_hash hash = {strtoull(words[1], NULL, 10), strtoull(words[2], NULL, 10)};
    answer(add_hash_outcome(filter, hash));
}

/* One batch of all keys of the line. */
static void many(bool adding)
{
    static bloomery_key keys[WORDS_MAX];
    static uint64_t answers[WORDS_MAX / 64 + 1];
    const size_t count = word_count - 1;
    int status = BLOOMERY_OK;
    for (size_t i = 0; i < count; i++)
        keys[i] = key_of(words[i + 1]);
    if (adding)
        status = add_list(filter, keys, count, answers);
    else
        query_list(filter, keys, count, answers);
    if (status != BLOOMERY_OK) {
        say_error(NULL, status);
        return;
    }
    for (size_t i = 0; i < count; i++)
        putchar('0' + (int)(answers[i / 64] >> i % 64 & 1));
    putchar('\n');
}

static void positions(void)
{
    uint64_t all[BLOOMERY_POSITIONS_MAX];
    const uint32_t layer = word_count > 2 ? (uint32_t)strtoul(words[2], NULL, 10) : 0;
    const size_t count =
        bloomery_positions(filter, layer, key_of(words[1]), all, BLOOMERY_POSITIONS_MAX);
    for (size_t i = 0; i < count; i++)
        printf("%s%" PRIu64, i > 0 ? " " : "", all[i]);
    putchar('\n');
}

static void say_info(void)
{
    bloomery_info info = BLOOMERY_INFO;
    bloomery_info_get(filter, &info);
    const bloomery_dialect *dialect = bloomery_dialect_get(info.dialect);
    const char *variant = bloomery_dialect_variant(filter);
    printf("dialect=%s variant=%s kind=%s hash=%s links=%u probes=%u bits=%" PRIu64 " adds=%" PRIu64
           " keys=%" PRIu64 " rate=%.17g seed=%" PRIu64 " cell_bits=%u",
           dialect != NULL ? dialect->name : "-", variant != NULL ? variant : "-",
           bloomery_kind_name((int)info.kind), bloomery_hash_name(info.hash), info.layers,
           info.probes, info.bits, info.adds, info.planned_keys, info.planned_rate, info.seed,
           info.cell_bits);
    if (word_count > 1) {
        const bloomery_scan_result scan = scan_of(filter);
        printf(" set=%" PRIu64 " live=%.17g estimate=%.17g expected=%.17g", scan.bits_set,
               scan.live_rate, scan.estimated_keys, scan.expected_rate);
    }
    putchar('\n');
}

static void say_layer(void)
{
    bloomery_layer_info info = BLOOMERY_LAYER_INFO;
    const int status =
        bloomery_layer_info_get(filter, (uint32_t)strtoul(words[1], NULL, 10), false, &info);
    if (status != BLOOMERY_OK)
        say_error(NULL, status);
    else
        printf("bits=%" PRIu64 " probes=%u keys=%" PRIu64 " rate=%.17g adds=%" PRIu64 "\n",
               info.bits, info.probes, info.planned_keys, info.planned_rate, info.adds);
}

static void write_out(bool ours)
{
    bloomery_error error = {.text = ""};
    FILE *file = fopen(words[1], "wb");
    if (file == NULL)
        fail("a file can't be written");
    const bloomery_dialect *dialect = word_count > 2 ? dialect_of(words[2]) : NULL;
    const int status = ours ? bloomery_write(filter, to_file, file, &error)
                            : bloomery_dialect_write(filter, dialect, to_file, file, &error);
    if (fclose(file) != 0)
        fail("a file can't be written");
    made(status, &error);
}

static void scandump(void)
{
    bloomery_error error = {.text = ""};
    uint8_t *header = malloc(bloomery_redisbloom_header_bytes(filter) + 1);
    const void *data;
    size_t bytes;
    uint64_t next;
    if (header == NULL)
        fail("no memory");
    const int status = bloomery_redisbloom_scandump(filter, strtoull(words[1], NULL, 10), header,
                                                    &data, &bytes, &next, &error);
    FILE *file = fopen(words[2], "wb");
    if (file == NULL || fwrite(data, 1, bytes, file) != bytes || fclose(file) != 0)
        fail("a file can't be written");
    if (status == BLOOMERY_OK)
        printf("%" PRIu64 "\n", next);
    else
        say_error(&error, status);
    free(header);
}

static void loadchunk(void)
{
    bloomery_error error = {.text = ""};
    const uint64_t iterator = strtoull(words[1], NULL, 10);
    struct bytes bytes = read_file(words[2]);
    if (iterator == 1) {
        bloomery_free(filter);
        filter = NULL;
    }
    made(bloomery_redisbloom_loadchunk(&filter, iterator, bytes.data, bytes.bytes, NULL, &error),
         &error);
    release(&bytes);
}

static void add_absent(void)
{
    bloomery_error error;
    const bool added = bloomery_cuckoo_add_absent(filter, key_of(words[1]), &error);
    if (!added && error.status != BLOOMERY_OK)
        say_error(&error, error.status);
    else
        answer(added);
}

static void compact(void)
{
    bloomery_error error;
    bool changed;
    const bloomery_status status = bloomery_cuckoo_compact(filter, true, &changed, &error);
    if (status != BLOOMERY_OK)
        say_error(&error, status);
    else
        answer(changed);
}

static void sniff(void)
{
    struct bytes bytes = read_file(words[1]);
    const bloomery_dialect *dialect = bloomery_dialect_sniff(bytes.data, bytes.bytes);
    puts(dialect != NULL ? dialect->name : "none");
    release(&bytes);
}

static void list(void)
{
    const bloomery_dialect *dialect;
    for (uint32_t id = 1; (dialect = bloomery_dialect_get(id)) != NULL; id++)
        printf(
            "name=%s\tid=%u\treads=%d\twrites=%d\tcreates=%d\tmagic=%d\thashes=%d\tvariants=%s\n",
            dialect->name, dialect->id, dialect->reads, dialect->writes, dialect->creates,
            dialect->magic, dialect->hashes, dialect->variants != NULL ? dialect->variants : "");
    puts("end");
}

static bool obey_without_filter(const char *verb)
{
    if (strcmp(verb, "create") == 0 && word_count >= 2)
        create();
    else if ((strcmp(verb, "load") == 0 || strcmp(verb, "peek") == 0) && word_count >= 3)
        load(verb[0] == 'p');
    else if (strcmp(verb, "open") == 0 && word_count == 2)
        open_ours();
    else if (strcmp(verb, "sniff") == 0 && word_count == 2)
        sniff();
    else if (strcmp(verb, "loadchunk") == 0 && word_count == 3)
        loadchunk();
    else if (strcmp(verb, "list") == 0)
        list();
    else
        return false;
    return true;
}

static void obey(const char *verb)
{
    char text[512];
    const size_t most = word_count;
    if (filter == NULL)
        fail("no filter was made or opened");
    if (strcmp(verb, "add") == 0)
        answer(add_outcome(filter, key_of(words[1])));
    else if (strcmp(verb, "add-hash") == 0 && word_count == 3)
        add_hash();
    else if (strcmp(verb, "ask") == 0)
        answer(bloomery_may_contain(filter, key_of(words[1])));
    else if (strcmp(verb, "remove") == 0)
        answer(remove_outcome(filter, key_of(words[1])));
    else if (strcmp(verb, "count") == 0)
        answer((int)bloomery_key_count(filter, key_of(words[1])));
    else if (strcmp(verb, "add-absent") == 0)
        add_absent();
    else if (strcmp(verb, "compact") == 0)
        compact();
    else if (strcmp(verb, "add-all") == 0 || strcmp(verb, "ask-all") == 0)
        many(verb[1] == 'd');
    else if (strcmp(verb, "positions") == 0)
        positions();
    else if (strcmp(verb, "info") == 0)
        say_info();
    else if (strcmp(verb, "link") == 0)
        say_layer();
    else if (strcmp(verb, "write") == 0 || strcmp(verb, "save") == 0)
        write_out(verb[0] == 's');
    else if (strcmp(verb, "scandump") == 0 && word_count == 3)
        scandump();
    else if (strcmp(verb, "remark") == 0 && most == 2)
        puts(bloomery_dialect_remark(filter, (uint32_t)strtoul(words[1], NULL, 10), text,
                                     sizeof text)
                 ? text
                 : "none");
    else
        fail("no such command");
}

int main(void)
{
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, stdin) > 0) {
        split(line);
        if (word_count == 0)
            continue;
        if (!obey_without_filter(words[0])) {
            if (word_count < 2 && strcmp(words[0], "info") != 0 &&
                strcmp(words[0], "compact") != 0 && strstr(words[0], "-all") == NULL)
                fail("a word is missing");
            obey(words[0]);
        }
        fflush(stdout);
    }
    free(line);
    bloomery_free(filter);
    return 0;
}
