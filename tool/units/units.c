/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts are read where they stand: in a line of JSON, or plain. Where a paragraph is cut out, the
 * rest of the text keeps its bytes.
 *
 *     text      Cookies?\nAn essay on bees.\n
 *               ^ cut     ^^^^^^^^^^^^^^^^^^^
 *
 * Whether a text is dropped follows from its paragraphs. Of n-grams a text may have enough that
 * were seen though no paragraph of it has.
 *
 * If a text does not end in a line end and its last paragraph is cut, the line end before goes too.
 */
#include "units/units.h"
#include "base/bits.h"
#include "units/word_breaks.h"

#include <bloomery/records.h>

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- How texts are judged -------------------------------------------------------------------- */

/* The shortest way to write a number with six digits, with a point in every locale. */
static void write_number(double number, char text[32])
{
    char here[32];
    size_t used = 0;
    const int bytes = snprintf(here, sizeof(here), "%g", number);
    assert(bytes > 0 && (size_t)bytes < sizeof(here));
    for (int i = 0; i < bytes; i++) {
        const bool mark = (here[i] < '0' || here[i] > '9') && strchr("+-e", here[i]) == NULL;
        if (!mark)
            text[used++] = here[i];
        else if (used == 0 || text[used - 1] != '.')
            text[used++] = '.';
    }
    text[used] = '\0';
}

void tool_judge_note(const struct tool_judge *judge, char note[TOOL_JUDGE_NOTE_BYTES])
{
    const bloomery_near *near = judge->near;
    const size_t room = TOOL_JUDGE_NOTE_BYTES;
    char similarity[32];
    int bytes;
    if (near != NULL) {
        write_number(near->threshold, similarity);
        bytes = snprintf(note, room,
                         TOOL_CORPUS_NOTE
                         "near texts, similarity %s, %u bands of %u of %u values, runs of %u words",
                         similarity, near->bands, near->rows, near->values, near->words);
    } else if (judge->unit == TOOL_COMPARED_NGRAMS) {
        bytes = snprintf(note, room, TOOL_CORPUS_NOTE "runs of %u words", judge->ngram);
    } else {
        bytes = snprintf(note, room, TOOL_CORPUS_NOTE "%s",
                         judge->unit == TOOL_COMPARED_DOCUMENTS ? "whole texts" : "paragraphs");
    }
    assert(bytes > 0 && (size_t)bytes < room);
    (void)bytes;
}

bool tool_judge_needs_words(const struct tool_judge *judge)
{
    return judge->unit == TOOL_COMPARED_NGRAMS || judge->min_words > 0 || judge->near != NULL;
}

/* The rate of the filters that keys were compared with. */
static double rate_of_against(const struct tool_judge *judge)
{
    double pass = 0;
    for (size_t i = 0; i < judge->against_count; i++) {
        bloomery_scan_result scan = BLOOMERY_SCAN_RESULT;
        bloomery_scan(judge->against[i].filter, &scan);
        pass += log1p(-scan.live_rate);
    }
    return -expm1(pass);
}

/* A key is wrongly seen at the mean rate of this run. A paragraph with n new n-grams that is d
 * short of the threshold is cut wrongly if d of the n are wrongly seen: in C(n, d) ways, at rate^d
 * each. The sums over all paragraphs that stayed are in `short_by`. */
double tool_judge_wrong(const struct tool_judge *judge, const struct tool_dedupe_counts *counts,
                        const struct tool_seen *seen)
{
    struct tool_seen_facts facts = {0};
    double rate = 0, wrong = 0, power = 1;
    if (!judge->no_add) {
        tool_seen_facts_get(seen, &facts);
        if (facts.wrong_drops > 0)
            rate = facts.wrong_drops / (facts.wrong_drops + (double)seen->kept);
    }
    const double against = rate_of_against(judge);
    rate = rate + against - rate * against;
    for (size_t i = 0; i < sizeof(counts->short_by) / sizeof(counts->short_by[0]); i++) {
        power *= rate / (1 - rate);
        wrong += counts->short_by[i] * power;
    }
    return wrong;
}

/* ---- Paragraphs ------------------------------------------------------------------------------ */

/*
 * Paragraphs partition a text.
 *
 *     raw        \n  A first line.\n \t\nAnother, \u0022quoted\u0022.\r\nThe last
 *     paragraph  1111111111111111111111111222222222222222222222222222222233333333
 *     content        ^^^^^^^^^^^^^       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^    ^^^^^^^^
 *
 * A line ends with a line feed. A line of white space alone is blank, and belongs to the paragraph
 * before it, or before the first one to that. So a paragraph that is cut out takes the blank lines
 * behind it along, and what stays keeps its own. The content is what two paragraphs are compared
 * by.
 *
 * The text is walked as it stands in the line. Each step is a run of plain bytes or one escape. A
 * line feed is an escape always, since JSON allows no control character in a string.
 */

/* Where a text is read; begins with `at` at its first byte. */
struct raw_text {
    const unsigned char *at, *end;
    bool quoted;
};

/* The bytes of the escape at a backslash. */
static size_t escape_bytes(const unsigned char *at)
{
    return at[1] == 'u' ? 6 : 2;
}

static uint32_t code_of(const unsigned char *at)
{
    uint32_t code = 0;
    for (int i = 2; i < 6; i++)
        code = 16 * code + (at[i] <= '9' ? at[i] - 48U : (at[i] | 0x20U) - 87U); /* '0', 'a' */
    return code;
}

/* What an escape stands for, if that is below 0x80; 0x80 otherwise. */
static uint32_t escaped_ascii(const unsigned char *at)
{
    switch (at[1]) {
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    case 'f':
        return '\f';
    case 'b':
        return '\b';
    case 'u': {
        const uint32_t code = code_of(at);
        return code < 0x80 ? code : 0x80;
    }
    default:
        return at[1];
    }
}

/* The bytes of the step at `at`, and the character that it stands for, if that is below 0x80. */
static inline size_t step_at(const struct raw_text *text, const unsigned char *at, uint32_t *code)
{
    if (text->quoted && *at == '\\') {
        *code = escaped_ascii(at);
        return escape_bytes(at);
    }
    *code = *at;
    return 1;
}

/* Behind the blanks from `at` on: at the end, at a line end or at something else. */
static const unsigned char *skip_blanks(const struct raw_text *text, const unsigned char *at)
{
    uint32_t code;
    while (at < text->end) {
        const size_t bytes = step_at(text, at, &code);
        if (code != ' ' && (code < '\t' || code > '\r' || code == '\n'))
            break;
        at += bytes;
    }
    return at;
}

/* The bytes of the line end at `at`; 0 if there is none. */
static size_t line_end_at(const struct raw_text *text, const unsigned char *at)
{
    uint32_t code = 0;
    const size_t bytes = at < text->end ? step_at(text, at, &code) : 0;
    return code == '\n' ? bytes : 0;
}

/* The first line end from the content on, or the end. */
static const unsigned char *find_line_end(struct tool_paragraph_place *place,
                                          const unsigned char *end)
{
    const unsigned char *at = place->content, *carriage_return = NULL;
    place->content_end = end;
    while ((at = memchr(at, '\\', (size_t)(end - at))) != NULL) {
        const uint32_t code = escaped_ascii(at);
        assert((size_t)(end - at) >= escape_bytes(at)); /* the line was checked */
        if (code == '\n') {
            const bool two =
                carriage_return != NULL && carriage_return + escape_bytes(carriage_return) == at;
            place->ends_line = true;
            place->content_end = two ? carriage_return : at;
            return at;
        }
        place->escaped = true;
        carriage_return = code == '\r' ? at : NULL;
        at += escape_bytes(at);
    }
    return end;
}

/* The same of plain text. */
static const unsigned char *find_plain_end(struct tool_paragraph_place *place,
                                           const unsigned char *end)
{
    const unsigned char *at = memchr(place->content, '\n', (size_t)(end - place->content));
    place->ends_line = at != NULL;
    place->content_end = at == NULL ? end : at > place->content && at[-1] == '\r' ? at - 1 : at;
    return at != NULL ? at : end;
}

static bool next_paragraph(struct raw_text *text, struct tool_paragraph_place *place)
{
    const unsigned char *const end = text->end, *line = text->at, *at;
    size_t bytes;
    *place = (struct tool_paragraph_place){.begin = text->at};
    while ((bytes = line_end_at(text, at = skip_blanks(text, line))) > 0)
        line = at + bytes;
    if (at == end)
        return false;
    place->content = line;
    at = text->quoted ? find_line_end(place, end) : find_plain_end(place, end);
    while (at < end) { /* blank lines behind it */
        line = at + line_end_at(text, at);
        at = skip_blanks(text, line);
        if (at == end) {
            place->ends_line = line == end; /* or blanks are behind the last line end */
            line = end;
        } else if (line_end_at(text, at) == 0) {
            break;
        }
    }
    text->at = place->ends_line ? line : end;
    return true;
}

uint64_t tool_units_code_points(const struct tool_judge *judge, const unsigned char *from,
                                const unsigned char *end)
{
    const bool quoted = judge->unescape != NULL;
    uint64_t count = 0;
    while (from < end) {
        if (!quoted || *from != '\\') {
            count += (*from++ & 0xc0) != 0x80;
            continue;
        }
        const size_t bytes = escape_bytes(from);
        const bool high = bytes == 6 && (code_of(from) & 0xfc00) == 0xd800;
        from += bytes;
        if (high && end - from >= 6 && from[0] == '\\' && from[1] == 'u' &&
            (code_of(from) & 0xfc00) == 0xdc00)
            from += 6;
        count++;
    }
    return count;
}

/* ---- Keys ------------------------------------------------------------------------------------ */

/*
 * An n-gram is `ngram` words in a row, with one space between them. Fewer words are one n-gram.
 *
 *     content   Eat, sleep - and eat.     --ngram 2
 *     joined    Eat sleep and eat
 *     keys      Eat sleep | sleep and | and eat
 *
 * "Seen" means before this paragraph. So each of its different n-grams is added once, with a
 * weight: how many of the paragraph's n-grams it stands for. The adder's answer for it holds for
 * all of them, though the paragraph's other n-grams were added before it. They make a false
 * positive as likely as any other key.
 */

enum { BATCH = 1024 };

struct tool_unit_keys {
    const struct tool_judge *judge;
    struct tool_adding *adding; /* of the documents */
    uint32_t *weights;          /* how many keys of its paragraph each one added stands for */
    size_t weight_room;

    /* The batch. `of[i]` is key i's paragraph: they move only after the batch was judged. */
    bloomery_key batch[BATCH];
    struct tool_weighed *of[BATCH];
    bloomery_hash hashes[BATCH];
    size_t count;
    unsigned char *arena; /* the keys that are not spans of their lines */
    size_t arena_used, arena_room;

    struct tool_words words;
    bloomery_key *list; /* the words, for signatures */
    size_t list_room;
    uint32_t signature[BLOOMERY_NEAR_VALUES_MAX];

    struct twin *twins; /* the n-grams of this paragraph, by their hashes */
    size_t twin_room;   /* a power of two */
    uint32_t stamp;     /* of this paragraph's twins */
    size_t missing;     /* bytes that could not be had; 0: none */
};

struct twin {
    bloomery_hash hash;
    uint32_t stamp; /* 0: of no paragraph */
    uint32_t place; /* among the paragraph's keys that are added */
};

/* Returns memory that holds at least *room pieces of `piece` bytes, and makes room for `wanted` if
 * it has less. NULL, with the old memory as it was, if memory is exhausted. */
static void *grow(struct tool_unit_keys *keys, void *memory, size_t *room, size_t wanted,
                  size_t piece)
{
    size_t bytes;
    if (*room >= wanted && memory != NULL)
        return memory;
    void *grown = __builtin_mul_overflow(wanted, piece, &bytes) ? NULL : realloc(memory, bytes);
    if (grown == NULL)
        keys->missing = wanted > SIZE_MAX / piece ? SIZE_MAX : wanted * piece;
    else
        *room = wanted;
    return grown;
}

/* Returns the twin of this n-gram, or the place for it: its stamp is then another paragraph's. Its
 * place follows from `hi`, since `lo` is 0 in every hash of 64 bits. */
static struct twin *find_twin(struct tool_unit_keys *keys, bloomery_hash hash)
{
    const size_t mask = keys->twin_room - 1;
    size_t at = (size_t)(hash.hi ^ hash.hi >> 32) & mask;
    while (keys->twins[at].stamp == keys->stamp &&
           (keys->twins[at].hash.lo != hash.lo || keys->twins[at].hash.hi != hash.hi))
        at = (at + 1) & mask;
    return &keys->twins[at];
}

/* The next key to be added, which stands for `weight` keys of its paragraph. */
static inline void add_key(struct tool_unit_keys *keys, struct tool_weighed *weighed,
                           bloomery_hash hash, uint32_t weight)
{
    struct tool_adding *adding = keys->adding;
    assert(adding->count < adding->room && adding->count < keys->weight_room);
    assert(weighed->first + weighed->count == adding->count);
    adding->hashes[adding->count] = hash;
    keys->weights[adding->count++] = weight;
    weighed->count++;
}

/* A key that no other filter has. */
static void take_new(struct tool_unit_keys *keys, struct tool_weighed *weighed, bloomery_hash hash)
{
    if (keys->judge->unit == TOOL_COMPARED_NGRAMS) {
        struct twin *twin = find_twin(keys, hash);
        if (twin->stamp == keys->stamp) {
            keys->weights[weighed->first + twin->place]++;
            return;
        }
        *twin = (struct twin){hash, keys->stamp, weighed->count};
    }
    add_key(keys, weighed, hash, 1);
}

/* A key that filter `by` has. */
static inline void note_known(struct tool_weighed *weighed, uint32_t by)
{
    weighed->known++;
    weighed->against = weighed->against == 0 ? by : weighed->against;
}

/* The bands of a document, keys `first` to first + count - 1 of the batch. They are added together,
 * or not at all if another filter has one of them. */
static void take_bands(struct tool_unit_keys *keys, size_t first, size_t count,
                       const uint64_t *known, const uint32_t *by)
{
    const struct tool_judge *judge = keys->judge;
    struct tool_weighed *weighed = keys->of[first];
    assert(weighed->keys == 0 && keys->of[first + count - 1] == weighed);
    weighed->keys = (uint32_t)count;
    weighed->first = keys->adding->count;
    for (size_t i = first; i < first + count; i++)
        if (tool_bit(known, i))
            note_known(weighed, by[i]);
    if (judge->no_add || (weighed->known > 0 && !judge->add_all))
        return;
    for (size_t i = first; i < first + count; i++)
        add_key(keys, weighed, keys->hashes[i], tool_bit(known, i) ? 0 : 1);
}

/* Asks the filters that are compared against for the batch. `by` gets the first filter that has a
 * key, from 1 on, where `known` has a bit. */
static void query_againsts(const struct tool_unit_keys *keys, uint64_t known[BATCH / 64],
                           uint32_t by[BATCH])
{
    const struct tool_judge *judge = keys->judge;
    const bloomery_keys list = bloomery_keys_of_list(keys->batch, keys->count);
    uint64_t found[BATCH / 64];
    for (size_t i = 0; i < judge->against_count; i++) {
        /* A filter that was opened without its secret may have every key. */
        (void)bloomery_may_contain_keys(judge->against[i].filter, &list, found, NULL, NULL);
        for (size_t w = 0; w < tool_words_of(keys->count); w++) {
            for (uint64_t left = found[w] & ~known[w]; left != 0; left &= left - 1)
                by[64 * w + (size_t)__builtin_ctzll(left)] = (uint32_t)i + 1;
            known[w] |= found[w];
        }
    }
}

/* Room for the batch among the keys that are added. False if memory is exhausted. */
static bool make_room(struct tool_unit_keys *keys)
{
    struct tool_adding *adding = keys->adding;
    const bool grown = tool_adding_make_room(adding, keys->count);
    keys->missing = grown ? keys->missing : adding->missing;
    uint32_t *weights =
        grown ? grow(keys, keys->weights, &keys->weight_room, adding->room, sizeof(*keys->weights))
              : NULL;
    keys->weights = weights != NULL ? weights : keys->weights;
    return weights != NULL;
}

static bool flush_keys(struct tool_unit_keys *keys)
{
    const struct tool_judge *judge = keys->judge;
    uint64_t known[BATCH / 64] = {0};
    uint32_t by[BATCH];   /* where `known` has a bit */
    keys->arena_used = 0; /* texts without keys were in it */
    if (keys->count == 0)
        return true;
    query_againsts(keys, known, by);
    if (!make_room(keys))
        return false;
    if (!judge->no_add) {
        const bloomery_keys list = bloomery_keys_of_list(keys->batch, keys->count);
        const bloomery_status status = bloomery_hash_keys(judge->filter, &list, keys->hashes, NULL);
        assert(status == BLOOMERY_OK); /* its secret was required when it was opened */
        (void)status;
    }
    for (size_t i = 0; judge->near != NULL && i < keys->count; i += judge->near->bands)
        take_bands(keys, i, judge->near->bands, known, by);
    for (size_t i = 0; judge->near == NULL && i < keys->count; i++) {
        struct tool_weighed *weighed = keys->of[i];
        if (judge->shards > 0 && judge->is_elsewhere(judge, keys->batch[i]))
            continue;
        if (weighed->keys++ == 0)
            weighed->first = keys->adding->count;
        if (tool_bit(known, i))
            note_known(weighed, by[i]);
        else if (!judge->no_add)
            take_new(keys, weighed, keys->hashes[i]);
    }
    keys->count = 0;
    return true;
}

static bool put(struct tool_unit_keys *keys, struct tool_weighed *weighed, const void *data,
                size_t bytes)
{
    if (keys->count == BATCH && !flush_keys(keys))
        return false;
    keys->batch[keys->count] = bloomery_key_of(data, bytes);
    keys->of[keys->count++] = weighed;
    return true;
}

/* Room in the arena, or NULL. What is in it is used up first, if it is too small. */
static unsigned char *arena_take(struct tool_unit_keys *keys, size_t bytes)
{
    if (keys->arena_room - keys->arena_used < bytes) {
        unsigned char *arena = NULL;
        if (flush_keys(keys))
            arena = keys->arena_room >= bytes
                        ? keys->arena
                        : grow(keys, keys->arena, &keys->arena_room, 2 * bytes + 65536, 1);
        if (arena == NULL)
            return NULL;
        keys->arena = arena;
    }
    unsigned char *taken = keys->arena + keys->arena_used;
    keys->arena_used += bytes;
    return taken;
}

/* Makes of `key`, a text as it stands, the text without escapes, by the key rule. */
static bool make_plain(struct tool_unit_keys *keys, bool escaped, bloomery_key *key)
{
    const bloomery_key_rule *rule = &keys->judge->rule;
    const size_t bytes = key->bytes;
    if (!escaped && rule->flags == 0)
        return true;
    const size_t room = rule->flags != 0 ? BLOOMERY_RULE_ROOM(bytes) : 0;
    unsigned char *plain = arena_take(keys, (escaped ? bytes : 0) + room);
    if (plain == NULL)
        return false;
    if (escaped)
        *key = bloomery_key_of(plain, keys->judge->unescape(key->data, bytes, plain));
    if (rule->flags != 0) {
        const bloomery_record made = bloomery_rule_apply(
            rule, key->data, key->bytes, plain + (escaped ? bytes : 0), room, key, NULL);
        assert(made == BLOOMERY_RECORD_KEY);
        (void)made;
    }
    return true;
}

static bool split(struct tool_unit_keys *keys, bloomery_key text)
{
    const bool split = tool_words_split(&keys->words, text.data, text.bytes);
    keys->missing = split ? keys->missing : keys->words.missing;
    return split;
}

/* Room for the twins of `count` n-grams, and none in it. */
static bool make_twins(struct tool_unit_keys *keys, size_t count)
{
    if (keys->twin_room < 4 * count || keys->stamp == UINT32_MAX) {
        size_t room = keys->twin_room > 0 ? keys->twin_room : 256;
        while (room < 4 * count)
            room *= 2;
        struct twin *twins = grow(keys, keys->twins, &keys->twin_room, room, sizeof(*twins));
        if (twins == NULL)
            return false;
        keys->twins = twins;
        memset(twins, 0, keys->twin_room * sizeof(*twins));
        keys->stamp = 0;
    }
    keys->stamp++; /* the twins of other paragraphs are free places */
    return true;
}

static bool take_ngrams(struct tool_unit_keys *keys, struct tool_weighed *weighed,
                        bloomery_key text)
{
    struct tool_words *words = &keys->words;
    const size_t ngram = keys->judge->ngram;
    if (!split(keys, text))
        return false;
    if (words->count == 0 || words->count < keys->judge->min_words)
        return true;
    const size_t span = words->count < ngram ? words->count : ngram;
    const size_t count = words->count - span + 1;
    if (!make_twins(keys, count))
        return false;
    for (size_t i = 0; i < count; i++) {
        const size_t begin = words->words[i].begin, end = words->words[i + span - 1].end;
        if (!put(keys, weighed, words->joined + begin, end - begin))
            return false;
    }
    return flush_keys(keys); /* the next paragraph's words take the place of these */
}

/*
 * Near-duplicates. A document is compared by the bands of its signature (bloomery/near.h), which
 * stay together: if any of them was seen, the document goes, and none is added.
 *
 *     signature   17 4 99 | 5 61 8 | 30 7 7      three bands of three values
 *     keys        (0; 17 4 99)  (1; 5 61 8)  (2; 30 7 7)
 */

/* The bands of a text's signature. */
static bool take_near(struct tool_unit_keys *keys, struct tool_weighed *weighed, bloomery_key text)
{
    const bloomery_near *near = keys->judge->near;
    struct tool_words *words = &keys->words;
    if (!split(keys, text))
        return false;
    if (words->count == 0 || words->count < keys->judge->min_words)
        return true;
    bloomery_key *list = keys->list_room >= words->count
                             ? keys->list
                             : grow(keys, keys->list, &keys->list_room,
                                    words->count + words->count / 2 + 512, sizeof(*list));
    if (list == NULL)
        return false;
    keys->list = list;
    for (size_t i = 0; i < words->count; i++)
        list[i] = bloomery_key_of(words->joined + words->words[i].begin,
                                  words->words[i].end - words->words[i].begin);
    const bloomery_keys all = bloomery_keys_of_list(list, words->count);
    const bloomery_status status =
        bloomery_signature_of(near, keys->judge->hasher, &all, keys->signature, NULL);
    assert(status == BLOOMERY_OK); /* its secret was required when it was opened */
    (void)status;
    /* A document's bands are in one batch. */
    if (BATCH - keys->count < near->bands && !flush_keys(keys))
        return false;
    unsigned char *room = arena_take(keys, bloomery_bands_bytes(near));
    if (room == NULL)
        return false;
    const bloomery_keys bands = bloomery_bands_of(near, keys->signature, room);
    for (size_t i = 0; i < bands.count; i++)
        if (!put(keys, weighed, (const unsigned char *)bands.data + i * bands.width, bands.width))
            return false;
    return true;
}

/* Makes the keys of a text, which may have escapes. `weighed` is filled when they are flushed. */
static bool take_text(struct tool_unit_keys *keys, struct tool_weighed *weighed, bloomery_key text,
                      bool escaped)
{
    *weighed = (struct tool_weighed){0};
    if (keys->count == BATCH && !flush_keys(keys)) /* now: the next key may be in the arena */
        return false;
    if (!make_plain(keys, escaped, &text))
        return false;
    if (keys->judge->near != NULL)
        return take_near(keys, weighed, text);
    if (keys->judge->unit == TOOL_COMPARED_NGRAMS)
        return take_ngrams(keys, weighed, text);
    /* One with too few words is not compared. */
    if (keys->judge->min_words > 0 && !split(keys, text))
        return false;
    return keys->words.count < keys->judge->min_words || put(keys, weighed, text.data, text.bytes);
}

/* After the adding: how many of a paragraph's keys were seen. */
static uint32_t count_seen(const struct tool_unit_keys *keys, const struct tool_weighed *weighed)
{
    uint32_t seen = weighed->known;
    for (uint64_t i = weighed->first; i < weighed->first + weighed->count; i++)
        seen += tool_bit(keys->adding->answers, i) ? 0 : keys->weights[i];
    assert(seen <= weighed->keys);
    return seen;
}

/* ---- Texts ----------------------------------------------------------------------------------- */

struct tool_units *tool_units_new(const struct tool_judge *judge)
{
    struct tool_units *units = calloc(1, sizeof(*units));
    struct tool_unit_keys *keys = calloc(1, sizeof(*keys));
    if (units == NULL || keys == NULL) {
        free(units);
        free(keys);
        return NULL;
    }
    units->judge = keys->judge = judge;
    units->keys = keys;
    keys->adding = &units->adding;
    return units;
}

void tool_units_free(struct tool_units *units)
{
    if (units == NULL)
        return;
    struct tool_unit_keys *keys = units->keys;
    tool_words_free(&keys->words);
    free(keys->weights);
    free(keys->arena);
    free(keys->twins);
    free(keys->list);
    free(keys);
    tool_adding_free(&units->adding);
    free(units->paragraphs);
    free(units);
}

void tool_dedupe_counts_add(struct tool_dedupe_counts *into, const struct tool_dedupe_counts *from)
{
    into->records += from->records;
    into->bytes += from->bytes;
    into->without_key += from->without_key;
    into->dropped += from->dropped;
    into->changed += from->changed;
    into->paragraphs += from->paragraphs;
    into->cut += from->cut;
    into->keys += from->keys;
    into->seen += from->seen;
    into->removed_bytes += from->removed_bytes;
    for (size_t i = 0; i < sizeof(into->short_by) / sizeof(into->short_by[0]); i++)
        into->short_by[i] += from->short_by[i];
}

void tool_units_begin(struct tool_units *units)
{
    units->paragraph_count = units->adding.count = units->missing = 0;
    /* Those of a text that could not be read. */
    units->keys->count = units->keys->arena_used = units->keys->missing = 0;
}

/* Keys that wait for their batch point to paragraphs. NULL if memory is exhausted. */
static struct tool_paragraph *new_paragraph(struct tool_units *units)
{
    struct tool_unit_keys *keys = units->keys;
    if (units->paragraph_count == units->paragraph_room) {
        struct tool_paragraph *grown = flush_keys(keys)
                                           ? grow(keys, units->paragraphs, &units->paragraph_room,
                                                  2 * units->paragraph_room + 256, sizeof(*grown))
                                           : NULL;
        if (grown == NULL)
            return NULL;
        units->paragraphs = grown;
    }
    return &units->paragraphs[units->paragraph_count++];
}

static bool read_paragraphs(struct tool_units *units, const struct tool_judged *judged)
{
    struct raw_text text = {judged->begin, judged->end, units->judge->unescape != NULL};
    struct tool_paragraph_place place;
    while (next_paragraph(&text, &place)) {
        struct tool_paragraph *paragraph = new_paragraph(units);
        if (paragraph == NULL)
            return false;
        paragraph->place = place;
        const bloomery_key content =
            bloomery_key_of(place.content, (size_t)(place.content_end - place.content));
        if (!take_text(units->keys, &paragraph->weighed, content, place.escaped))
            return false;
    }
    return true;
}

static bool read_whole(struct tool_units *units, const struct tool_judged *judged, bool escaped)
{
    struct tool_paragraph *whole = new_paragraph(units);
    if (whole == NULL)
        return false;
    whole->place = (struct tool_paragraph_place){
        .begin = judged->begin, .content = judged->begin, .content_end = judged->end};
    const bloomery_key text = bloomery_key_of(judged->begin, (size_t)(judged->end - judged->begin));
    return take_text(units->keys, &whole->weighed, text, escaped);
}

bool tool_units_read(struct tool_units *units, const unsigned char *text, size_t bytes,
                     bool escaped, struct tool_judged *judged)
{
    assert(text != NULL && (!escaped || units->judge->unescape != NULL));
    *judged =
        (struct tool_judged){.begin = text, .end = text + bytes, .first = units->paragraph_count};
    const bool read = units->judge->unit == TOOL_COMPARED_DOCUMENTS
                          ? read_whole(units, judged, escaped)
                          : read_paragraphs(units, judged);
    units->missing = units->keys->missing;
    assert(read == (units->missing == 0));
    judged->count = units->paragraph_count - judged->first;
    return read;
}

bool tool_units_end(struct tool_units *units)
{
    const bool flushed = flush_keys(units->keys);
    units->missing = units->keys->missing;
    return flushed;
}

bool tool_units_are_answered(const struct tool_units *units, const struct tool_judged *judged)
{
    for (size_t p = judged->first; p < judged->first + judged->count; p++) {
        const struct tool_weighed *weighed = &units->paragraphs[p].weighed;
        if (weighed->count > 0 && weighed->first + weighed->count > units->adding.answered)
            return false;
    }
    return true;
}

/* ---- Judging --------------------------------------------------------------------------------- */

static bool is_too_much(const struct tool_judge *judge, uint64_t seen, uint64_t keys)
{
    return keys > 0 && seen * TOOL_THRESHOLD_ONE >= (uint64_t)judge->threshold * keys;
}

/* A paragraph that stays: how near it was to being cut. */
static void count_short(struct tool_units *units, const struct tool_paragraph *paragraph)
{
    const struct tool_weighed *weighed = &paragraph->weighed;
    const uint64_t most = (uint64_t)units->judge->threshold * weighed->keys;
    const uint64_t needed = (most + TOOL_THRESHOLD_ONE - 1) / TOOL_THRESHOLD_ONE;
    const uint64_t missing = needed - paragraph->seen;
    double ways = 1;
    if (weighed->keys == 0 || missing > 4)
        return;
    for (uint64_t i = 0; i < missing; i++)
        ways *= (double)(weighed->keys - paragraph->seen - i) / (double)(i + 1);
    units->counts.short_by[missing - 1] += ways;
}

bool tool_units_judge(struct tool_units *units, const struct tool_judged *judged)
{
    struct tool_dedupe_counts *counts = &units->counts;
    uint64_t keys = 0, seen = 0;
    size_t cut = 0;
    for (size_t i = judged->first; i < judged->first + judged->count; i++) {
        struct tool_paragraph *paragraph = &units->paragraphs[i];
        paragraph->seen = count_seen(units->keys, &paragraph->weighed);
        keys += paragraph->weighed.keys;
        seen += paragraph->seen;
        paragraph->cut = is_too_much(units->judge, paragraph->seen, paragraph->weighed.keys);
        cut += paragraph->cut;
        if (!paragraph->cut)
            count_short(units, paragraph);
    }
    /* Of paragraphs there may be some that another shard judges. */
    const bool too_much =
        units->judge->unit == TOOL_COMPARED_NGRAMS && is_too_much(units->judge, seen, keys);
    const bool dropped = judged->count > 0 && (cut == judged->count || too_much);
    counts->paragraphs += judged->count;
    counts->keys += keys;
    counts->seen += seen;
    counts->cut += dropped ? judged->count : cut;
    counts->dropped += dropped;
    counts->changed += !dropped && cut > 0;
    return dropped;
}

/* Where the paragraph's bytes end that stay or go with it: behind its blank lines. But of the last
 * paragraph that stays, at its content, if the text has no line end that it could keep. */
const unsigned char *tool_units_end_of(const struct tool_units *units,
                                       const struct tool_judged *judged, size_t paragraph)
{
    const size_t end = judged->first + judged->count;
    size_t next = paragraph + 1;
    if (next == end)
        return judged->end;
    if (!units->paragraphs[paragraph].cut && !units->paragraphs[end - 1].place.ends_line) {
        while (next < end && units->paragraphs[next].cut)
            next++;
        if (next == end)
            return units->paragraphs[paragraph].place.content_end;
    }
    return units->paragraphs[paragraph + 1].place.begin;
}

/* Where the bytes begin that go with a paragraph that was cut: behind those that stay. */
const unsigned char *tool_units_begin_of(const struct tool_units *units,
                                         const struct tool_judged *judged, size_t paragraph)
{
    const struct tool_paragraph *cut = &units->paragraphs[paragraph];
    assert(cut->cut);
    return paragraph > judged->first && !cut[-1].cut
               ? tool_units_end_of(units, judged, paragraph - 1)
               : cut->place.begin;
}
