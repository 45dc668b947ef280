/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An n-gram is `ngram` words in a row, with one space between them. Fewer words are one n-gram.
 *
 *     content   Eat, sleep - and eat.     --ngram 2
 *     joined    Eat sleep and eat
 *     keys      Eat sleep | sleep and | and eat
 *
 * "Seen" means before this paragraph. So each of its different n-grams is added once, with a
 * weight: how many of the paragraph's n-grams it stands for. The adder's answer for it holds for
 * all of them, though the paragraph's other n-grams were added meanwhile. They make a false
 * positive as likely as any other key.
 */
#include "command/corpus/corpus_keys.h"

#include "base/bits.h"
#include "key/rule.h"
#include "tool.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

struct tool_twin {
    bloomery_hash hash;
    uint32_t stamp; /* 0: of no paragraph */
    uint32_t place; /* among the paragraph's keys that are added */
};

struct tool_corpus_keys *tool_corpus_keys_new(const struct tool_judge *judge)
{
    struct tool_corpus_keys *keys = tool_allocate(sizeof(*keys));
    memset(keys, 0, sizeof(*keys));
    keys->judge = judge;
    return keys;
}

void tool_corpus_keys_free(struct tool_corpus_keys *keys)
{
    tool_adding_free(&keys->adding);
    tool_words_free(&keys->words);
    free(keys->weights);
    free(keys->arena);
    free(keys->twins);
    free(keys);
}

void tool_corpus_keys_begin(struct tool_corpus_keys *keys)
{
    assert(keys->count == 0);
    keys->adding.count = 0;
}

/* ---- Twins ----------------------------------------------------------------------------------- */

/* Begins a paragraph of so many n-grams. */
static void begin_twins(struct tool_corpus_keys *keys, size_t count)
{
    if (keys->twin_room < 4 * count || keys->stamp == UINT32_MAX) {
        while (keys->twin_room < 4 * count || keys->twin_room == 0)
            keys->twin_room = keys->twin_room == 0 ? 256 : 2 * keys->twin_room;
        keys->twins = tool_reallocate(keys->twins, keys->twin_room * sizeof(*keys->twins));
        memset(keys->twins, 0, keys->twin_room * sizeof(*keys->twins));
        keys->stamp = 0;
    }
    keys->stamp++;
}

/* Returns the twin of this n-gram, or the place for it: its stamp is then another paragraph's. Its
 * place follows from `hi`, since `lo` is 0 in every hash of 64 bits. */
static struct tool_twin *find_twin(struct tool_corpus_keys *keys, bloomery_hash hash)
{
    const size_t mask = keys->twin_room - 1;
    size_t at = (size_t)(hash.hi ^ hash.hi >> 32) & mask;
    while (keys->twins[at].stamp == keys->stamp &&
           (keys->twins[at].hash.lo != hash.lo || keys->twins[at].hash.hi != hash.hi))
        at = (at + 1) & mask;
    return &keys->twins[at];
}

/* ---- Batches --------------------------------------------------------------------------------- */

/* Sets the bits of the keys that one of the other filters may have. */
static void find_known(struct tool_corpus_keys *keys, uint64_t *known)
{
    const struct tool_judge *judge = keys->judge;
    uint64_t found[TOOL_CORPUS_BATCH / 64];
    for (size_t i = 0; i < judge->against_count; i++) {
        tool_batch_query(judge->against[i].filter, keys->batch, keys->count, found);
        for (size_t w = 0; w < tool_words_of(keys->count); w++)
            known[w] |= found[w];
    }
}

/* Whether a key is another machine's to judge. The shard is not made of the filter's hash, whose
 * bits say where in the filter a key is: a shard's filter would be used in part. */
static bool is_elsewhere(const struct tool_judge *judge, bloomery_key key)
{
    return judge->shards > 0 && crc32_z(0, key.data, key.bytes) % judge->shards != judge->shard;
}

static void append(struct tool_corpus_keys *keys, struct tool_weighed *weighed, bloomery_hash hash)
{
    struct tool_adding *adding = &keys->adding;
    assert(adding->count < adding->room && weighed->first + weighed->count == adding->count);
    if (keys->weight_room < adding->room) {
        keys->weight_room = adding->room;
        keys->weights = tool_reallocate(keys->weights, keys->weight_room * sizeof(uint32_t));
    }
    adding->hashes[adding->count] = hash;
    keys->weights[adding->count++] = 1;
    weighed->count++;
}

/* A key that no other filter has. */
static void take_new(struct tool_corpus_keys *keys, struct tool_weighed *weighed,
                     bloomery_hash hash)
{
    if (keys->judge->unit == TOOL_UNIT_NGRAM) {
        struct tool_twin *twin = find_twin(keys, hash);
        if (twin->stamp == keys->stamp) {
            keys->weights[weighed->first + twin->place]++;
            return;
        }
        *twin = (struct tool_twin){hash, keys->stamp, weighed->count};
    }
    append(keys, weighed, hash);
}

void tool_corpus_keys_flush(struct tool_corpus_keys *keys)
{
    const struct tool_judge *judge = keys->judge;
    uint64_t known[TOOL_CORPUS_BATCH / 64] = {0};
    keys->arena_used = 0; /* texts without keys were in it */
    if (keys->count == 0)
        return;
    find_known(keys, known);
    tool_adding_make_room(&keys->adding, keys->count);
    if (!judge->no_add) {
        const bloomery_status status =
            tool_batch_hash(judge->filter, keys->batch, keys->count, keys->hashes);
        assert(status == BLOOMERY_OK); /* its secret was required when it was opened */
        (void)status;
    }
    for (size_t i = 0; i < keys->count; i++) {
        struct tool_weighed *weighed = keys->of[i];
        if (is_elsewhere(judge, keys->batch[i]))
            continue;
        if (weighed->keys++ == 0)
            weighed->first = keys->adding.count;
        if (tool_bit(known, i))
            weighed->known++;
        else if (!judge->no_add)
            take_new(keys, weighed, keys->hashes[i]);
    }
    keys->count = 0;
}

static void put(struct tool_corpus_keys *keys, struct tool_weighed *weighed, const void *data,
                size_t bytes)
{
    if (keys->count == TOOL_CORPUS_BATCH)
        tool_corpus_keys_flush(keys);
    keys->batch[keys->count] = bloomery_key_of(data, bytes);
    keys->of[keys->count++] = weighed;
}

/* ---- Texts ----------------------------------------------------------------------------------- */

/* Room in the arena. What is in it is used up first, if it is too small. */
static unsigned char *arena_take(struct tool_corpus_keys *keys, size_t bytes)
{
    if (keys->arena_room - keys->arena_used < bytes) {
        tool_corpus_keys_flush(keys);
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
static bloomery_key plain_text(struct tool_corpus_keys *keys, const unsigned char *text,
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

static void take_ngrams(struct tool_corpus_keys *keys, struct tool_weighed *weighed,
                        bloomery_key text)
{
    struct tool_words *words = &keys->words;
    const size_t ngram = keys->judge->ngram;
    tool_words_split(words, text.data, text.bytes);
    if (words->count == 0 || words->count < keys->judge->min_words)
        return;
    const size_t span = words->count < ngram ? words->count : ngram;
    const size_t count = words->count - span + 1;
    begin_twins(keys, count);
    for (size_t i = 0; i < count; i++) {
        const size_t begin = words->words[i].begin, end = words->words[i + span - 1].end;
        put(keys, weighed, words->joined + begin, end - begin);
    }
    tool_corpus_keys_flush(keys); /* the next paragraph's words take the place of these */
}

/* Whether a text has too few words to be compared. */
static bool is_short(struct tool_corpus_keys *keys, bloomery_key text)
{
    if (keys->judge->min_words == 0)
        return false;
    tool_words_split(&keys->words, text.data, text.bytes);
    return keys->words.count < keys->judge->min_words;
}

void tool_corpus_keys_take(struct tool_corpus_keys *keys, struct tool_weighed *weighed,
                           const unsigned char *text, size_t bytes, bool escaped)
{
    *weighed = (struct tool_weighed){0};
    if (keys->count == TOOL_CORPUS_BATCH) /* now: the next key may be in the arena */
        tool_corpus_keys_flush(keys);
    const bloomery_key key = plain_text(keys, text, bytes, escaped);
    if (keys->judge->unit == TOOL_UNIT_NGRAM)
        take_ngrams(keys, weighed, key);
    else if (!is_short(keys, key))
        put(keys, weighed, key.data, key.bytes);
}

uint32_t tool_corpus_keys_seen(const struct tool_corpus_keys *keys,
                               const struct tool_weighed *weighed)
{
    uint32_t seen = weighed->known;
    for (uint64_t i = weighed->first; i < weighed->first + weighed->count; i++)
        seen += tool_bit(keys->adding.answers, i) ? 0 : keys->weights[i];
    assert(seen <= weighed->keys);
    return seen;
}
