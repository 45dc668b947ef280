/* SPDX-License-Identifier: Apache-2.0 */
/*
 * generate: test input that anybody can make again from a number of lines and a seed.
 *
 * Nothing is remembered to keep the lines distinct; each is a one-to-one function of its index:
 *
 *   ids        ids.c
 *   urls       the last eight characters of a URL write forty bits in base 32, and these are a
 *              permutation of the index; everything before them is chosen by a hash of it
 *   integers   the index, multiplied by an odd number and mixed, each step a bijection
 *
 * The hosts of the URLs are as unequal as in the world: the chance of the host of rank r falls as
 * 1/r. It is made without floating point, by drawing a number of bits first and then a rank of
 * that many bits. (A logarithm might differ in its last bit from one machine to another.)
 */
#include "base/ids.h"
#include "base/numbers.h"
#include "base/options.h"
#include "base/out.h"
#include "base/progress.h"
#include "base/random.h"
#include "tool.h"

#include <assert.h>
#include <string.h>

struct request {
    uint64_t count;
    uint64_t seed;
    unsigned char delimiter;
};

struct generator {
    const char *name;
    uint64_t most;
    /* False after a message; a failure to write is left to tool_out_finish. */
    bool (*run)(const struct request *request, struct tool_out *out,
                struct tool_progress *progress);
};

enum {
    BATCH = 1024, /* lines between two looks at the output and the clock */
    ID_LINE = TOOL_ID_DIGITS + 1,
    ID_LINES = BATCH * ID_LINE,
};

/* False if writing has failed and nothing more need be made. */
static bool go_on(const struct request *request, struct tool_out *out,
                  struct tool_progress *progress, uint64_t done)
{
    tool_progress_update(progress, done, done, request->count);
    return !tool_out_failed(out);
}

/* ---- IDs ------------------------------------------------------------------------------------- */

static bool generate_ids(const struct request *request, struct tool_out *out,
                         struct tool_progress *progress)
{
    struct tool_ids *ids = tool_ids_make(request->count, request->seed);
    if (ids == NULL) {
        tool_error("not enough memory");
        return false;
    }
    char digits[BATCH * TOOL_ID_DIGITS];
    uint64_t done = 0;
    size_t count;
    while (go_on(request, out, progress, done) && (count = tool_ids_next(ids, BATCH, digits)) > 0) {
        unsigned char *line = tool_out_room(out, ID_LINES);
        for (size_t i = 0; i < count; i++) {
            memcpy(line, digits + i * TOOL_ID_DIGITS, TOOL_ID_DIGITS);
            line[TOOL_ID_DIGITS] = request->delimiter;
            line += ID_LINE;
        }
        tool_out_take(out, count * ID_LINE);
        done += count;
    }
    tool_ids_free(ids);
    return true;
}

/* ---- URLs ------------------------------------------------------------------------------------ */

enum {
    TOKEN_DIGITS = 8,
    TOKEN_BITS = 5 * TOKEN_DIGITS,
    HOST_BITS = 17,
    URL_BYTES_MIN = 40,
    URL_BYTES_MAX = 80,
};

static const char words[128][7] = {
    "amber",  "apple",  "arch",  "ash",    "autumn", "azure",  "bay",    "beech",  "bell",
    "berry",  "birch",  "bird",  "blue",   "bold",   "book",   "brass",  "bread",  "brick",
    "bridge", "bright", "brook", "cabin",  "calm",   "candle", "canvas", "castle", "cedar",
    "chalk",  "cherry", "city",  "clay",   "clear",  "cliff",  "cloud",  "clover", "coast",
    "cobalt", "coffee", "comet", "copper", "coral",  "cotton", "craft",  "crane",  "creek",
    "crisp",  "crow",   "daily", "dawn",   "deer",   "delta",  "desk",   "dew",    "dome",
    "dove",   "dune",   "eagle", "early",  "earth",  "east",   "echo",   "elm",    "ember",
    "falcon", "farm",   "fern",  "field",  "fig",    "finch",  "fire",   "flint",  "flower",
    "fog",    "forest", "fox",   "frost",  "garden", "gate",   "ginger", "glade",  "glass",
    "gold",   "grain",  "green", "grove",  "harbor", "hazel",  "heath",  "heron",  "hill",
    "honey",  "horn",   "iron",  "island", "ivory",  "ivy",    "jade",   "jet",    "kite",
    "lake",   "lamp",   "lark",  "leaf",   "lemon",  "light",  "lily",   "linen",  "maple",
    "market", "meadow", "mill",  "mint",   "moon",   "moss",   "north",  "oak",    "ocean",
    "olive",  "orchid", "otter", "paper",  "pearl",  "pine",   "quartz", "river",  "stone",
    "thorn",  "willow",
};
static const char prefixes[4][6] = {"", "www.", "shop.", "blog."};
static const char domains[8][7] = {".com", ".org", ".net", ".de", ".fr", ".co.uk", ".io", ".info"};
static const char sections[8][9] = {"news",   "blog", "products", "item",
                                    "photos", "wiki", "archive",  "topic"};

/* A text being written, and the random bits that have not been used yet. */
struct writer {
    unsigned char *end;
    uint64_t bits;
};

static uint64_t take_bits(struct writer *writer, unsigned count)
{
    uint64_t taken = writer->bits & ((UINT64_C(1) << count) - 1);
    writer->bits >>= count;
    return taken;
}

static void put(struct writer *writer, const char *text)
{
    size_t length = strlen(text);
    memcpy(writer->end, text, length);
    writer->end += length;
}

static void put_word(struct writer *writer)
{
    put(writer, words[take_bits(writer, 7)]);
}

static void put_number(struct writer *writer, unsigned width, unsigned value)
{
    for (unsigned i = width; i-- > 0; value /= 10)
        writer->end[i] = (unsigned char)('0' + value % 10);
    writer->end += width;
}

/* A host of 2^17, the lower numbers the likelier, and its name. */
static void put_host(struct writer *writer, const struct tool_permutation *names)
{
    unsigned bits = (unsigned)tool_scale(take_bits(writer, 16) << 48, HOST_BITS + 1);
    uint64_t rank = bits == 0 ? 0 : UINT64_C(1) << (bits - 1) | take_bits(writer, bits - 1);
    uint64_t name = tool_permutation_at(names, rank);
    assert(name >> HOST_BITS == 0);
    put(writer, "https://");
    put(writer, prefixes[name & 3]);
    put(writer, words[name >> 2 & 63]);
    put(writer, words[64 + (name >> 8 & 63)]);
    put(writer, domains[name >> 14]);
}

static void put_path(struct writer *writer)
{
    const char *section = sections[take_bits(writer, 3)];
    put(writer, "/");
    switch (take_bits(writer, 2)) {
    case 0:
        put(writer, section);
        put(writer, "/");
        put_number(writer, 4, 2009 + (unsigned)take_bits(writer, 4));
        put(writer, "/");
        put_number(writer, 2, 1 + (unsigned)tool_scale(take_bits(writer, 8) << 56, 12));
        put(writer, "/");
        put_word(writer);
        put(writer, "-");
        put_word(writer);
        put(writer, "-");
        break;
    case 1:
        put(writer, section);
        put(writer, "/");
        put_word(writer);
        put(writer, "-");
        put_word(writer);
        put(writer, "?id=");
        break;
    case 2:
        put_word(writer);
        put(writer, "/");
        put_word(writer);
        put(writer, "/");
        put_word(writer);
        put(writer, "-");
        put_word(writer);
        put(writer, "-");
        break;
    default:
        put(writer, "u/");
        put_word(writer);
        put_word(writer);
        put(writer, "/");
        put(writer, section);
        put(writer, "/");
        break;
    }
}

static void put_token(struct writer *writer, uint64_t token)
{
    for (unsigned i = TOKEN_DIGITS; i-- > 0; token >>= 5)
        writer->end[i] = (unsigned char)"0123456789abcdefghijklmnopqrstuv"[token & 31];
    assert(token == 0);
    writer->end += TOKEN_DIGITS;
}

static bool generate_urls(const struct request *request, struct tool_out *out,
                          struct tool_progress *progress)
{
    const struct tool_permutation tokens = tool_permutation_make(TOKEN_BITS, request->seed, 10);
    const struct tool_permutation names = tool_permutation_make(HOST_BITS, request->seed, 11);
    for (uint64_t i = 0; i < request->count; i++) {
        if (i % BATCH == 0 && !go_on(request, out, progress, i))
            return true;
        unsigned char *begin = tool_out_room(out, URL_BYTES_MAX + 1);
        uint64_t token = tool_permutation_at(&tokens, i);
        struct writer writer = {begin, tool_mix64(token + TOOL_GOLDEN)};
        put_host(&writer, &names);
        writer.bits = tool_mix64(token + 2 * TOOL_GOLDEN);
        put_path(&writer);
        put_token(&writer, token);
        size_t bytes = (size_t)(writer.end - begin);
        assert(bytes >= URL_BYTES_MIN && bytes <= URL_BYTES_MAX);
        begin[bytes] = request->delimiter;
        tool_out_take(out, bytes + 1);
    }
    return true;
}

/* ---- Integers -------------------------------------------------------------------------------- */

static bool generate_integers(const struct request *request, struct tool_out *out,
                              struct tool_progress *progress)
{
    enum { DIGITS_MAX = 20 };
    uint64_t start = tool_mix64(request->seed + TOOL_GOLDEN);
    for (uint64_t i = 0; i < request->count; i++) {
        if (i % BATCH == 0 && !go_on(request, out, progress, i))
            return true;
        unsigned char digits[DIGITS_MAX];
        size_t first = DIGITS_MAX;
        uint64_t value = tool_mix64(start + i * TOOL_GOLDEN);
        do {
            digits[--first] = (unsigned char)('0' + value % 10);
            value /= 10;
        } while (value > 0);
        unsigned char *line = tool_out_room(out, DIGITS_MAX + 1);
        memcpy(line, digits + first, DIGITS_MAX - first);
        line[DIGITS_MAX - first] = request->delimiter;
        tool_out_take(out, DIGITS_MAX - first + 1);
    }
    return true;
}

/* ---- The command line ------------------------------------------------------------------------ */

enum { GENERATORS = 3 };

static bool find_generator(int operands, char **names, struct generator *found)
{
    const struct generator generators[GENERATORS] = {
        {"ids", tool_ids_maximum(), generate_ids},
        {"urls", UINT64_C(1) << TOKEN_BITS, generate_urls},
        {"integers", UINT64_MAX, generate_integers},
    };
    const char *known[GENERATORS];
    if (operands != 1) {
        tool_usage("name one of ids, urls and integers");
        return false;
    }
    for (size_t i = 0; i < GENERATORS; i++) {
        known[i] = generators[i].name;
        if (strcmp(names[0], known[i]) == 0) {
            *found = generators[i];
            return true;
        }
    }
    const char *nearest = tool_nearest(names[0], known, GENERATORS);
    tool_usage("unknown '%s'; %s%s%s", names[0], nearest != NULL ? "did you mean '" : "",
               nearest != NULL ? nearest : "there are ids, urls and integers",
               nearest != NULL ? "'?" : "");
    return false;
}

static const struct tool_option options[] = {
    {'n', "count", "N", TOOL_COUNT(struct request, count, 1, UINT64_MAX),
     .help = "write N lines (20M, 1e6)"},
    {0, "seed", "S", TOOL_COUNT(struct request, seed, 0, UINT64_MAX),
     .help = "seed the lines with S (default 0)"},
    {'0', "null", NULL, TOOL_BYTE(struct request, delimiter, '\0'),
     .help = "end lines with NUL instead of newline"},
    TOOL_PROGRESS_ROW,
    TOOL_OPTIONS_END,
};

static const struct tool_option_group groups[] = {
    {.rows = options},
    TOOL_GROUPS_END,
};

static int generate_main(int argc, char **argv)
{
    struct request request = {.delimiter = '\n'};
    struct generator generator;
    int code;
    if (!tool_options_read(argc, argv, &request, &code))
        return code;
    if (!find_generator(argc - optind, argv + optind, &generator))
        return TOOL_ERROR;
    if (request.count == 0)
        return tool_usage("no number of lines: give -n N");
    if (request.count > generator.most) {
        char most[TOOL_NUMBER_BYTES];
        tool_error("there are at most %s distinct %s", tool_format_count(most, generator.most),
                   generator.name);
        return TOOL_ERROR;
    }

    struct tool_out out;
    struct tool_progress progress;
    tool_out_start(&out);
    tool_progress_start(&progress, "generating",
                        !tool_progress_is_shown(tool_progress_is_in_the_way(true)));
    bool made = generator.run(&request, &out, &progress);
    tool_progress_stop(&progress);
    return tool_out_finish(&out, made ? TOOL_FOUND : TOOL_ERROR);
}

const struct tool_command cmd_generate = {
    .name = "generate",
    .run = generate_main,
    .summary = "write test input: ids, urls or integers",
    .synopsis = "bloomery generate ids|urls|integers -n N [--seed S]",
    .introduction =
        "Writes N distinct lines to standard output, always the same for the same N and "
        "seed.\n"
        "\n"
        "  ids        valid 12-digit identification numbers of an invented population:\n"
        "             birth date, century and sex, serial number, check digit. Ages and\n"
        "             sexes follow a table of 2020\n"
        "  urls       web addresses of 40 to 71 bytes: a few hosts with many pages, and\n"
        "             many hosts with few\n"
        "  integers   64-bit numbers in decimal, spread over the whole range",
    .groups = groups,
    .operands = "ids|urls|integers",
    .epilogue = "  bloomery generate ids -n 20M > ids.txt\n"
                "  bloomery generate urls -n 1M --seed 7 | bloomery build -p 0.001 -o urls.bloom",
};
