/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A document is a line of JSON, and is written again as the bytes that it had. Where a paragraph is
 * cut out, only the inside of its text changes.
 *
 *     line      {"id": 7, "text": "Cookies?\nAn essay on bees.\n", "lang": "en"}
 *                                  ^ cut    ^^^^^^^^^^^^^^^^^^^^
 *     written   {"id": 7, "text": "An essay on bees.\n", "lang": "en"}
 *
 * Whether a document is dropped follows from its paragraphs. Of n-grams a document may have enough
 * that were seen though no paragraph of it has.
 *
 * If a text does not end in a line end and its last paragraph is cut, the line end before goes too.
 */
#include "command/dedupe/documents.h"
#include "base/bits.h"
#include "key/rule.h"
#include "key/word_breaks.h"
#include "tool.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

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
};

/* The bytes between two quotes: [begin, next paragraph's begin). */
struct raw_paragraph {
    const unsigned char *begin;
    const unsigned char *content, *content_end; /* its first line that is not blank, without its
                                                   line end */
    bool escaped;                               /* the content has a backslash */
    bool ends_line;                             /* a line end follows the content */
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

/* Behind the blanks from `at` on: at the end, at a line end or at something else. */
static const unsigned char *skip_blanks(const unsigned char *at, const unsigned char *end)
{
    while (at < end) {
        if (*at == '\\') {
            const uint32_t code = escaped_ascii(at);
            if (code != ' ' && (code < '\t' || code > '\r' || code == '\n'))
                break;
            at += escape_bytes(at);
        } else if (*at == ' ') {
            at++;
        } else {
            break;
        }
    }
    return at;
}

static bool is_line_end(const unsigned char *at, const unsigned char *end)
{
    return at < end && *at == '\\' && escaped_ascii(at) == '\n';
}

/* The first line end from the content on, or the end. */
static const unsigned char *find_line_end(struct raw_paragraph *paragraph, const unsigned char *end)
{
    const unsigned char *at = paragraph->content, *carriage_return = NULL;
    paragraph->content_end = end;
    while ((at = memchr(at, '\\', (size_t)(end - at))) != NULL) {
        const uint32_t code = escaped_ascii(at);
        assert((size_t)(end - at) >= escape_bytes(at)); /* the line was checked */
        if (code == '\n') {
            const bool two =
                carriage_return != NULL && carriage_return + escape_bytes(carriage_return) == at;
            paragraph->ends_line = true;
            paragraph->content_end = two ? carriage_return : at;
            return at;
        }
        paragraph->escaped = true;
        carriage_return = code == '\r' ? at : NULL;
        at += escape_bytes(at);
    }
    return end;
}

static bool next_paragraph(struct raw_text *text, struct raw_paragraph *paragraph)
{
    const unsigned char *const end = text->end, *line = text->at, *at;
    *paragraph = (struct raw_paragraph){.begin = text->at};
    while (is_line_end(at = skip_blanks(line, end), end))
        line = at + escape_bytes(at);
    if (at == end)
        return false;
    paragraph->content = line;
    at = find_line_end(paragraph, end);
    while (at < end) { /* blank lines behind it */
        line = at + escape_bytes(at);
        at = skip_blanks(line, end);
        if (at == end) {
            paragraph->ends_line = line == end; /* or blanks are behind the last line end */
            line = end;
        } else if (!is_line_end(at, end)) {
            break;
        }
    }
    text->at = paragraph->ends_line ? line : end;
    return true;
}

static uint64_t count_code_points(const unsigned char *from, const unsigned char *end)
{
    uint64_t count = 0;
    while (from < end) {
        if (*from != '\\') {
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

/* A paragraph's keys: a document's or a paragraph's own one, or n-grams. */
struct weighed {
    uint64_t first; /* of those that are added, which are different ones */
    uint32_t count; /* of these */
    uint32_t keys;  /* all of them, repeats included */
    uint32_t known; /* of these, those that are in another filter */
};

enum { BATCH = 1024 };

struct tool_document_keys {
    const struct tool_judge *judge;
    struct tool_adding *adding; /* of the documents */
    uint32_t *weights;          /* how many keys of its paragraph each one added stands for */
    size_t weight_room;

    /* The batch. `of[i]` is key i's paragraph: they move only after the batch was judged. */
    bloomery_key batch[BATCH];
    struct weighed *of[BATCH];
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
};

struct twin {
    bloomery_hash hash;
    uint32_t stamp; /* 0: of no paragraph */
    uint32_t place; /* among the paragraph's keys that are added */
};

/* Returns the twin of this n-gram, or the place for it: its stamp is then another paragraph's. Its
 * place follows from `hi`, since `lo` is 0 in every hash of 64 bits. */
static struct twin *find_twin(struct tool_document_keys *keys, bloomery_hash hash)
{
    const size_t mask = keys->twin_room - 1;
    size_t at = (size_t)(hash.hi ^ hash.hi >> 32) & mask;
    while (keys->twins[at].stamp == keys->stamp &&
           (keys->twins[at].hash.lo != hash.lo || keys->twins[at].hash.hi != hash.hi))
        at = (at + 1) & mask;
    return &keys->twins[at];
}

/* Whether a key is another machine's to judge. The shard is not made of the filter's hash, whose
 * bits say where in the filter a key is: a shard's filter would be used in part. */
static bool is_elsewhere(const struct tool_judge *judge, bloomery_key key)
{
    return judge->shards > 0 && crc32_z(0, key.data, key.bytes) % judge->shards != judge->shard;
}

/* The next key to be added, which stands for `weight` keys of its paragraph. */
static inline void add_key(struct tool_document_keys *keys, struct weighed *weighed,
                           bloomery_hash hash, uint32_t weight)
{
    struct tool_adding *adding = keys->adding;
    assert(adding->count < adding->room && weighed->first + weighed->count == adding->count);
    if (keys->weight_room < adding->room) {
        keys->weight_room = adding->room;
        keys->weights = tool_reallocate(keys->weights, keys->weight_room * sizeof(uint32_t));
    }
    adding->hashes[adding->count] = hash;
    keys->weights[adding->count++] = weight;
    weighed->count++;
}

/* A key that no other filter has. */
static void take_new(struct tool_document_keys *keys, struct weighed *weighed, bloomery_hash hash)
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

/* The bands of a document, keys `first` to first + count - 1 of the batch. They are added together,
 * or not at all if another filter has one of them. */
static void take_bands(struct tool_document_keys *keys, size_t first, size_t count,
                       const uint64_t *known)
{
    const struct tool_judge *judge = keys->judge;
    struct weighed *weighed = keys->of[first];
    assert(weighed->keys == 0 && keys->of[first + count - 1] == weighed);
    weighed->keys = (uint32_t)count;
    weighed->first = keys->adding->count;
    for (size_t i = first; i < first + count; i++)
        weighed->known += tool_bit(known, i);
    if (judge->no_add || (weighed->known > 0 && !judge->add_all))
        return;
    for (size_t i = first; i < first + count; i++)
        add_key(keys, weighed, keys->hashes[i], tool_bit(known, i) ? 0 : 1);
}

static void flush_keys(struct tool_document_keys *keys)
{
    const struct tool_judge *judge = keys->judge;
    uint64_t known[BATCH / 64] = {0}, found[BATCH / 64];
    keys->arena_used = 0; /* texts without keys were in it */
    if (keys->count == 0)
        return;
    for (size_t i = 0; i < judge->against_count; i++) {
        tool_batch_query(judge->against[i].filter, keys->batch, keys->count, found);
        for (size_t w = 0; w < tool_words_of(keys->count); w++)
            known[w] |= found[w];
    }
    tool_adding_make_room(keys->adding, keys->count);
    if (!judge->no_add) {
        const bloomery_status status =
            tool_batch_hash(judge->filter, keys->batch, keys->count, keys->hashes);
        assert(status == BLOOMERY_OK); /* its secret was required when it was opened */
        (void)status;
    }
    for (size_t i = 0; judge->near != NULL && i < keys->count; i += judge->near->bands)
        take_bands(keys, i, judge->near->bands, known);
    for (size_t i = 0; judge->near == NULL && i < keys->count; i++) {
        struct weighed *weighed = keys->of[i];
        if (is_elsewhere(judge, keys->batch[i]))
            continue;
        if (weighed->keys++ == 0)
            weighed->first = keys->adding->count;
        if (tool_bit(known, i))
            weighed->known++;
        else if (!judge->no_add)
            take_new(keys, weighed, keys->hashes[i]);
    }
    keys->count = 0;
}

static void put(struct tool_document_keys *keys, struct weighed *weighed, const void *data,
                size_t bytes)
{
    if (keys->count == BATCH)
        flush_keys(keys);
    keys->batch[keys->count] = bloomery_key_of(data, bytes);
    keys->of[keys->count++] = weighed;
}

/* Room in the arena. What is in it is used up first, if it is too small. */
static unsigned char *arena_take(struct tool_document_keys *keys, size_t bytes)
{
    if (keys->arena_room - keys->arena_used < bytes) {
        flush_keys(keys);
        if (keys->arena_room < bytes) {
            keys->arena_room = 2 * bytes + 65536;
            keys->arena = tool_reallocate(keys->arena, keys->arena_room);
        }
    }
    unsigned char *taken = keys->arena + keys->arena_used;
    keys->arena_used += bytes;
    return taken;
}

/* The text without escapes, by the key rule. */
static bloomery_key plain_text(struct tool_document_keys *keys, const unsigned char *text,
                               size_t bytes, bool escaped)
{
    const bloomery_key_rule *rule = &keys->judge->rule;
    bloomery_key key = bloomery_key_of(text, bytes);
    if (!escaped && rule->flags == 0)
        return key;
    const size_t room = rule->flags != 0 ? BLOOMERY_RULE_ROOM(bytes) : 0;
    unsigned char *plain = arena_take(keys, (escaped ? bytes : 0) + room);
    if (escaped)
        key = bloomery_key_of(plain, tool_json_unescape(text, bytes, plain));
    if (rule->flags != 0) {
        const bloomery_record made = bloomery_rule_apply(
            rule, key.data, key.bytes, plain + (escaped ? bytes : 0), room, &key, NULL);
        assert(made == BLOOMERY_RECORD_KEY);
        (void)made;
    }
    return key;
}

static void take_ngrams(struct tool_document_keys *keys, struct weighed *weighed, bloomery_key text)
{
    struct tool_words *words = &keys->words;
    const size_t ngram = keys->judge->ngram;
    tool_words_split(words, text.data, text.bytes);
    if (words->count == 0 || words->count < keys->judge->min_words)
        return;
    const size_t span = words->count < ngram ? words->count : ngram;
    const size_t count = words->count - span + 1;
    if (keys->twin_room < 4 * count || keys->stamp == UINT32_MAX) {
        while (keys->twin_room < 4 * count || keys->twin_room == 0)
            keys->twin_room = keys->twin_room == 0 ? 256 : 2 * keys->twin_room;
        keys->twins = tool_reallocate(keys->twins, keys->twin_room * sizeof(*keys->twins));
        memset(keys->twins, 0, keys->twin_room * sizeof(*keys->twins));
        keys->stamp = 0;
    }
    keys->stamp++; /* the twins of other paragraphs are free places */
    for (size_t i = 0; i < count; i++) {
        const size_t begin = words->words[i].begin, end = words->words[i + span - 1].end;
        put(keys, weighed, words->joined + begin, end - begin);
    }
    flush_keys(keys); /* the next paragraph's words take the place of these */
}

/*
 * Near-duplicates. A document is compared by the bands of its signature (bloomery/near.h), which
 * stay together: if any of them was seen, the document goes, and none is added.
 *
 *     signature   17 4 99 | 5 61 8 | 30 7 7      three bands of three values
 *     keys        (0; 17 4 99)  (1; 5 61 8)  (2; 30 7 7)
 */

/* The bands of a text's signature. */
static void take_near(struct tool_document_keys *keys, struct weighed *weighed, bloomery_key text)
{
    const bloomery_near *near = keys->judge->near;
    struct tool_words *words = &keys->words;
    tool_words_split(words, text.data, text.bytes);
    if (words->count == 0 || words->count < keys->judge->min_words)
        return;
    if (keys->list_room < words->count) {
        keys->list_room = words->count + words->count / 2 + 512;
        free(keys->list);
        keys->list = tool_allocate(keys->list_room * sizeof(*keys->list));
    }
    for (size_t i = 0; i < words->count; i++)
        keys->list[i] = bloomery_key_of(words->joined + words->words[i].begin,
                                        words->words[i].end - words->words[i].begin);
    const bloomery_keys list = bloomery_keys_of_list(keys->list, words->count);
    const bloomery_status status =
        bloomery_signature_of(near, keys->judge->hasher, &list, keys->signature, NULL);
    assert(status == BLOOMERY_OK); /* its secret was required when it was opened */
    (void)status;
    if (BATCH - keys->count < near->bands) /* a document's bands are in one batch */
        flush_keys(keys);
    const bloomery_keys bands =
        bloomery_bands_of(near, keys->signature, arena_take(keys, bloomery_bands_bytes(near)));
    for (size_t i = 0; i < bands.count; i++)
        put(keys, weighed, (const unsigned char *)bands.data + i * bands.width, bands.width);
}

/* Whether a text has too few words to be compared. */
static bool is_short(struct tool_document_keys *keys, bloomery_key text)
{
    if (keys->judge->min_words == 0)
        return false;
    tool_words_split(&keys->words, text.data, text.bytes);
    return keys->words.count < keys->judge->min_words;
}

/* Makes the keys of a text, which may have escapes. `weighed` is filled when they are flushed. */
static void take_text(struct tool_document_keys *keys, struct weighed *weighed,
                      const unsigned char *text, size_t bytes, bool escaped)
{
    *weighed = (struct weighed){0};
    if (keys->count == BATCH) /* now: the next key may be in the arena */
        flush_keys(keys);
    const bloomery_key key = plain_text(keys, text, bytes, escaped);
    if (keys->judge->near != NULL)
        take_near(keys, weighed, key);
    else if (keys->judge->unit == TOOL_COMPARED_NGRAMS)
        take_ngrams(keys, weighed, key);
    else if (!is_short(keys, key))
        put(keys, weighed, key.data, key.bytes);
}

/* After the adding: how many of a paragraph's keys were seen. */
static uint32_t count_seen(const struct tool_document_keys *keys, const struct weighed *weighed)
{
    uint32_t seen = weighed->known;
    for (uint64_t i = weighed->first; i < weighed->first + weighed->count; i++)
        seen += tool_bit(keys->adding->answers, i) ? 0 : keys->weights[i];
    assert(seen <= weighed->keys);
    return seen;
}

struct tool_paragraph {
    struct raw_paragraph raw;
    struct weighed weighed;
    uint32_t seen;
    bool cut;
};

struct tool_document {
    bloomery_key line;
    const unsigned char *text, *text_end; /* NULL: it has none, and stays */
    size_t first, count;                  /* its paragraphs; a whole text is one */
};

struct tool_documents *tool_documents_new(const struct tool_judge *judge)
{
    struct tool_documents *documents = tool_allocate(sizeof(*documents));
    memset(documents, 0, sizeof(*documents));
    documents->judge = judge;
    documents->keys = tool_allocate(sizeof(*documents->keys));
    memset(documents->keys, 0, sizeof(*documents->keys));
    documents->keys->judge = judge;
    documents->keys->adding = &documents->adding;
    return documents;
}

void tool_documents_free(struct tool_documents *documents)
{
    struct tool_document_keys *keys = documents->keys;
    tool_words_free(&keys->words);
    free(keys->weights);
    free(keys->arena);
    free(keys->twins);
    free(keys->list);
    free(keys);
    tool_adding_free(&documents->adding);
    free(documents->documents);
    free(documents->paragraphs);
    free(documents->output);
    free(documents);
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

/* ---- Reading --------------------------------------------------------------------------------- */

/* Keys that wait for their batch point to paragraphs. */
static struct tool_paragraph *new_paragraph(struct tool_documents *documents)
{
    if (documents->paragraph_count == documents->paragraph_room) {
        flush_keys(documents->keys);
        documents->paragraph_room = 2 * documents->paragraph_room + 256;
        documents->paragraphs = tool_reallocate(
            documents->paragraphs, documents->paragraph_room * sizeof(*documents->paragraphs));
    }
    return &documents->paragraphs[documents->paragraph_count++];
}

static void read_document(struct tool_documents *documents, const struct tool_chunk *chunk,
                          bloomery_key line, size_t left)
{
    struct tool_document *document = &documents->documents[documents->count++];
    *document = (struct tool_document){.line = line, .first = documents->paragraph_count};
    const struct tool_json_value value =
        tool_json_find(documents->judge->path, line.data, line.bytes);
    if (value.kind == TOOL_JSON_BROKEN || value.kind == TOOL_JSON_TOO_DEEP)
        tool_tally_note_broken(&documents->tally, chunk, left, value.kind == TOOL_JSON_TOO_DEEP);
    if (value.kind != TOOL_JSON_STRING)
        return;
    const struct tool_json_path *member = documents->judge->member;
    documents->texts++;
    if (member != NULL && tool_json_find(member, line.data, line.bytes).kind != TOOL_JSON_MISSING)
        documents->clashes++;
    document->text = value.at;
    document->text_end = value.at + value.bytes;
    if (documents->judge->unit == TOOL_COMPARED_DOCUMENTS) {
        struct tool_paragraph *whole = new_paragraph(documents);
        whole->raw = (struct raw_paragraph){
            .begin = document->text, .content = document->text, .content_end = document->text_end};
        take_text(documents->keys, &whole->weighed, value.at, value.bytes, value.escaped);
    } else {
        struct raw_text text = {document->text, document->text_end};
        struct raw_paragraph raw;
        while (next_paragraph(&text, &raw)) {
            struct tool_paragraph *paragraph = new_paragraph(documents);
            paragraph->raw = raw;
            take_text(documents->keys, &paragraph->weighed, raw.content,
                      (size_t)(raw.content_end - raw.content), raw.escaped);
        }
    }
    document->count = documents->paragraph_count - document->first;
}

void tool_documents_read(struct tool_documents *documents, struct tool_chunk *chunk)
{
    bloomery_key lines[TOOL_BATCH_ROOM];
    size_t count;
    documents->count = documents->paragraph_count = 0;
    assert(documents->keys->count == 0);
    documents->adding.count = 0;
    while ((count = tool_chunk_keys(chunk, lines)) > 0) {
        if (documents->room - documents->count < count) {
            documents->room = 2 * documents->room + count;
            documents->documents = tool_reallocate(documents->documents,
                                                   documents->room * sizeof(*documents->documents));
        }
        for (size_t i = 0; i < count; i++)
            read_document(documents, chunk, lines[i], count - i);
    }
    flush_keys(documents->keys);
}

uint32_t tool_documents_keys_of(const struct tool_documents *documents, size_t paragraph)
{
    assert(paragraph < documents->paragraph_count);
    return documents->paragraphs[paragraph].weighed.keys;
}

/* How many documents have all their keys among the first that were answered. */
static size_t count_answered(const struct tool_documents *documents)
{
    const struct tool_adding *adding = &documents->adding;
    if (adding->answered == adding->count)
        return documents->count;
    for (size_t i = 0; i < documents->count; i++) {
        const struct tool_document *document = &documents->documents[i];
        for (size_t p = document->first; p < document->first + document->count; p++) {
            const struct weighed *weighed = &documents->paragraphs[p].weighed;
            if (weighed->count > 0 && weighed->first + weighed->count > adding->answered)
                return i;
        }
    }
    return documents->count;
}

/* ---- Judging --------------------------------------------------------------------------------- */

static bool is_too_much(const struct tool_judge *judge, uint64_t seen, uint64_t keys)
{
    return keys > 0 && seen * TOOL_THRESHOLD_ONE >= (uint64_t)judge->threshold * keys;
}

/* A paragraph that stays: how near it was to being cut. */
static void count_short(struct tool_documents *documents, const struct tool_paragraph *paragraph)
{
    const struct weighed *weighed = &paragraph->weighed;
    const uint64_t most = (uint64_t)documents->judge->threshold * weighed->keys;
    const uint64_t needed = (most + TOOL_THRESHOLD_ONE - 1) / TOOL_THRESHOLD_ONE;
    const uint64_t missing = needed - paragraph->seen;
    double ways = 1;
    if (weighed->keys == 0 || missing > 4)
        return;
    for (uint64_t i = 0; i < missing; i++)
        ways *= (double)(weighed->keys - paragraph->seen - i) / (double)(i + 1);
    documents->counts.short_by[missing - 1] += ways;
}

/* Decides which paragraphs are cut. Returns whether the whole document goes. */
static bool judge_document(struct tool_documents *documents, const struct tool_document *document)
{
    struct tool_dedupe_counts *counts = &documents->counts;
    uint64_t keys = 0, seen = 0;
    size_t cut = 0;
    for (size_t i = document->first; i < document->first + document->count; i++) {
        struct tool_paragraph *paragraph = &documents->paragraphs[i];
        paragraph->seen = count_seen(documents->keys, &paragraph->weighed);
        keys += paragraph->weighed.keys;
        seen += paragraph->seen;
        paragraph->cut = is_too_much(documents->judge, paragraph->seen, paragraph->weighed.keys);
        cut += paragraph->cut;
        if (!paragraph->cut)
            count_short(documents, paragraph);
    }
    /* Of paragraphs there may be some that another shard judges. */
    const bool too_much =
        documents->judge->unit == TOOL_COMPARED_NGRAMS && is_too_much(documents->judge, seen, keys);
    const bool dropped = document->count > 0 && (cut == document->count || too_much);
    counts->paragraphs += document->count;
    counts->keys += keys;
    counts->seen += seen;
    counts->cut += dropped ? document->count : cut;
    counts->dropped += dropped;
    counts->changed += !dropped && cut > 0;
    return dropped;
}

/* ---- Writing --------------------------------------------------------------------------------- */

static unsigned char *room_for(struct tool_documents *documents, size_t bytes)
{
    if (documents->output_room - documents->output_bytes < bytes) {
        documents->output_room = 2 * documents->output_room + bytes;
        documents->output = tool_reallocate(documents->output, documents->output_room);
    }
    return documents->output + documents->output_bytes;
}

static void write_bytes(struct tool_documents *documents, const unsigned char *from,
                        const unsigned char *end)
{
    assert(from != NULL && from <= end);
    const size_t bytes = (size_t)(end - from);
    memcpy(room_for(documents, bytes), from, bytes);
    documents->output_bytes += bytes;
}

/* Where the paragraph's bytes end that stay or go with it: behind its blank lines. But of the last
 * paragraph that stays, at its content, if the text has no line end that it could keep. */
static const unsigned char *end_of(const struct tool_documents *documents,
                                   const struct tool_document *document, size_t paragraph)
{
    const size_t end = document->first + document->count;
    size_t next = paragraph + 1;
    if (next == end)
        return document->text_end;
    if (!documents->paragraphs[paragraph].cut && !documents->paragraphs[end - 1].raw.ends_line) {
        while (next < end && documents->paragraphs[next].cut)
            next++;
        if (next == end)
            return documents->paragraphs[paragraph].raw.content_end;
    }
    return documents->paragraphs[paragraph + 1].raw.begin;
}

/* Behind a line: its delimiter, which is in the chunk. */
static const unsigned char *end_of_line(const struct tool_document *document)
{
    return (const unsigned char *)document->line.data + document->line.bytes + 1;
}

static void write_cut(struct tool_documents *documents, const struct tool_document *document)
{
    const size_t before = documents->output_bytes;
    write_bytes(documents, document->line.data, document->text);
    for (size_t i = document->first; i < document->first + document->count; i++)
        if (!documents->paragraphs[i].cut)
            write_bytes(documents, documents->paragraphs[i].raw.begin,
                        end_of(documents, document, i));
    write_bytes(documents, document->text_end, end_of_line(document));
    documents->counts.removed_bytes +=
        document->line.bytes + 1 - (documents->output_bytes - before);
}

/* Where the bytes begin that go with a paragraph that was cut: behind those that stay. */
static const unsigned char *begin_of(const struct tool_documents *documents,
                                     const struct tool_document *document, size_t paragraph)
{
    const struct tool_paragraph *cut = &documents->paragraphs[paragraph];
    assert(cut->cut);
    return paragraph > document->first && !cut[-1].cut ? end_of(documents, document, paragraph - 1)
                                                       : cut->raw.begin;
}

/* The document with the paragraphs that were cut, and none of the others. */
static void write_removed(struct tool_documents *documents, const struct tool_document *document)
{
    write_bytes(documents, document->line.data, document->text);
    for (size_t i = document->first; i < document->first + document->count; i++)
        if (documents->paragraphs[i].cut) {
            const unsigned char *begin = begin_of(documents, document, i);
            const unsigned char *end = end_of(documents, document, i);
            write_bytes(documents, begin, end);
            documents->counts.removed_bytes += (size_t)(end - begin);
        }
    write_bytes(documents, document->text_end, end_of_line(document));
}

/* The span of the paragraphs from `first` on that were cut and lie together, as code points. */
static void write_span(struct tool_documents *documents, const struct tool_document *document,
                       const struct tool_paragraph *paragraph, const unsigned char **from,
                       uint64_t *place)
{
    const size_t number = (size_t)(paragraph - documents->paragraphs);
    const unsigned char *begin = begin_of(documents, document, number);
    const unsigned char *end = end_of(documents, document, number);
    *place += count_code_points(*from, begin);
    const uint64_t start = *place;
    *place += count_code_points(begin, end);
    *from = end;
    char *to = (char *)room_for(documents, 80);
    const uint32_t keys = paragraph->weighed.keys;
    const uint64_t share = 1000 * (uint64_t)paragraph->seen / keys;
    int bytes =
        snprintf(to, 80, "[%llu,%llu,", (unsigned long long)start, (unsigned long long)*place);
    if (share == 1000)
        bytes += snprintf(to + bytes, 80 - (size_t)bytes, "1]");
    else
        bytes += snprintf(to + bytes, 80 - (size_t)bytes, "0.%03u]", (unsigned)share);
    documents->output_bytes += (size_t)bytes;
}

static void write_text(struct tool_documents *documents, const char *text)
{
    write_bytes(documents, (const unsigned char *)text, (const unsigned char *)text + strlen(text));
}

/* Of how many bands of the document were seen, and the similarity that they speak for. */
static void write_similarity(struct tool_documents *documents,
                             const struct tool_paragraph *paragraph, bool dropped)
{
    const bloomery_near *near = documents->judge->near;
    const double similarity = bloomery_near_similarity(near, paragraph->seen);
    char text[100];
    snprintf(text, sizeof(text), "\":{\"bands\":%u,\"of\":%u,\"similarity\":%.3g,\"drop\":%s}",
             paragraph->seen, near->bands, similarity, dropped ? "true" : "false");
    write_text(documents, text);
}

static void write_annotated(struct tool_documents *documents, const struct tool_document *document,
                            bool dropped)
{
    const unsigned char *begin = document->line.data, *from = document->text;
    const unsigned char *brace = begin + document->line.bytes; /* behind it, then at it */
    const char *separator = "";
    uint64_t place = 0;
    while (brace > begin && (brace[-1] == ' ' || brace[-1] == '\t' || brace[-1] == '\r'))
        brace--;
    if (brace == begin || *--brace != '}') {
        write_bytes(documents, begin, end_of_line(document));
        return;
    }
    write_bytes(documents, begin, brace);
    write_text(documents, ",\"");
    write_text(documents, documents->judge->annotate);
    if (documents->judge->near != NULL) {
        write_similarity(documents, &documents->paragraphs[document->first], dropped);
        write_bytes(documents, brace, end_of_line(document));
        return;
    }
    write_text(documents, "\":{\"spans\":[");
    for (size_t i = document->first; i < document->first + document->count; i++)
        if (documents->paragraphs[i].cut) {
            write_text(documents, separator);
            write_span(documents, document, &documents->paragraphs[i], &from, &place);
            separator = ",";
        }
    write_text(documents, dropped ? "],\"drop\":true}" : "],\"drop\":false}");
    write_bytes(documents, brace, end_of_line(document));
}

void tool_documents_judge(struct tool_documents *documents)
{
    const size_t count = count_answered(documents);
    struct tool_dedupe_counts *counts = &documents->counts;
    const unsigned char *kept = NULL, *kept_end = NULL; /* whole lines that lie together */
    assert(count <= documents->count);
    documents->output_bytes = 0;
    for (size_t i = 0; i < count; i++) {
        const struct tool_document *document = &documents->documents[i];
        const uint64_t changed = counts->changed;
        const bool dropped = judge_document(documents, document);
        const unsigned char *line = document->line.data;
        counts->without_key += document->text == NULL;
        counts->records++;
        counts->bytes += document->line.bytes + 1;
        const bool whole = !dropped && counts->changed == changed;
        counts->removed_bytes +=
            dropped && documents->judge->annotate == NULL ? document->line.bytes + 1 : 0;
        if (documents->judge->invert ? dropped : whole) {
            kept = kept == NULL ? line : kept;
            kept_end = end_of_line(document);
            continue;
        }
        if (kept != NULL)
            write_bytes(documents, kept, kept_end);
        kept = NULL;
        if (documents->judge->annotate != NULL)
            write_annotated(documents, document, dropped);
        else if (documents->judge->invert && !whole)
            write_removed(documents, document);
        else if (!documents->judge->invert && !dropped)
            write_cut(documents, document);
    }
    if (kept != NULL)
        write_bytes(documents, kept, kept_end);
}
