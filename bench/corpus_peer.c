/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The peer of dedupe --unit that is built as usual: one array of bits, and for each probe a hash of
 * its own, so that each key is hashed k times and misses the cache k times.
 *
 *     corpus-peer paragraph|ngram FILE KEYS RATE THREADS > out.jsonl
 *
 * Size and probes are the classic optimum for KEYS at RATE. Lines are parsed and printed by
 * Jansson. Words are split at white space, n-grams have 13 of them, and the threshold is 0.8.
 * Threads take pieces of the file as they come, and set bits atomically. So the output hangs on
 * their luck, as that of such tools does.
 */
#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

enum { PIECE = 4 << 20, NGRAM = 13, WORDS_MAX = 1 << 16, THREADS_MAX = 64 };

static struct {
    bool ngrams;
    FILE *file;
    pthread_mutex_t reading, writing;
    char *rest; /* the beginning of a line whose end is in the next piece */
    size_t rest_bytes;
    uint64_t *bits, count;
    unsigned probes;
} peer;

static void *allocate(size_t bytes)
{
    void *made = calloc(bytes, 1);
    if (made == NULL) {
        perror("corpus-peer");
        exit(1);
    }
    return made;
}

/* ---- The filter ------------------------------------------------------------------------------ */

static uint64_t place_of(const char *key, size_t bytes, unsigned probe)
{
    const uint64_t hash = XXH3_64bits_withSeed(key, bytes, probe + 1);
    return (uint64_t)((unsigned __int128)hash * peer.count >> 64);
}

static bool may_contain(const char *key, size_t bytes)
{
    for (unsigned i = 0; i < peer.probes; i++) {
        const uint64_t place = place_of(key, bytes, i);
        const uint64_t word = __atomic_load_n(&peer.bits[place / 64], __ATOMIC_RELAXED);
        if ((word >> place % 64 & 1) == 0)
            return false;
    }
    return true;
}

static void add(const char *key, size_t bytes)
{
    for (unsigned i = 0; i < peer.probes; i++) {
        const uint64_t place = place_of(key, bytes, i);
        __atomic_fetch_or(&peer.bits[place / 64], (uint64_t)1 << place % 64, __ATOMIC_RELAXED);
    }
}

/* ---- Paragraphs ------------------------------------------------------------------------------ */

/* Returns whether enough of the paragraph's n-grams were seen to cut it, and adds them. */
static bool judge_ngrams(const char *text, size_t bytes)
{
    static _Thread_local uint32_t begins[WORDS_MAX], ends[WORDS_MAX];
    size_t words = 0, at = 0, seen = 0;
    while (at < bytes && words < WORDS_MAX) {
        while (at < bytes && (text[at] == ' ' || text[at] == '\t' || text[at] == '\r'))
            at++;
        begins[words] = (uint32_t)at;
        while (at < bytes && text[at] != ' ' && text[at] != '\t' && text[at] != '\r')
            at++;
        ends[words] = (uint32_t)at;
        words += ends[words] > begins[words];
    }
    if (words == 0)
        return false;
    const size_t length = words < NGRAM ? words : NGRAM, count = words - length + 1;
    for (size_t i = 0; i < count; i++)
        seen += may_contain(text + begins[i], ends[i + length - 1] - begins[i]);
    for (size_t i = 0; i < count; i++)
        add(text + begins[i], ends[i + length - 1] - begins[i]);
    return (double)seen >= 0.8 * (double)count;
}

static bool judge(const char *text, size_t bytes)
{
    if (peer.ngrams)
        return judge_ngrams(text, bytes);
    const bool seen = may_contain(text, bytes);
    if (!seen)
        add(text, bytes);
    return seen;
}

/* ---- Documents ------------------------------------------------------------------------------- */

/* Prints what stays of a document. */
static void take_document(const char *line, size_t bytes, FILE *out, char *kept)
{
    json_t *document = json_loadb(line, bytes, 0, NULL);
    json_t *text = json_object_get(document, "text");
    const char *at = json_string_value(text), *end = at + json_string_length(text);
    size_t kept_bytes = 0;
    if (at == NULL) {
        fwrite(line, 1, bytes, out);
        json_decref(document);
        return;
    }
    for (const char *next; at < end; at = next) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        next = line_end != NULL ? line_end + 1 : end;
        if (!judge(at, (size_t)((line_end != NULL ? line_end : end) - at))) {
            memcpy(kept + kept_bytes, at, (size_t)(next - at));
            kept_bytes += (size_t)(next - at);
        }
    }
    if (kept_bytes == json_string_length(text)) {
        fwrite(line, 1, bytes, out);
    } else if (kept_bytes > 0) {
        json_string_setn(text, kept, kept_bytes);
        json_dumpf(document, out, JSON_COMPACT);
        fputc('\n', out);
    }
    json_decref(document);
}

/* Whole lines, or 0 at the end. */
static size_t read_piece(char *piece)
{
    pthread_mutex_lock(&peer.reading);
    size_t bytes = peer.rest_bytes;
    memcpy(piece, peer.rest, bytes);
    bytes += fread(piece + bytes, 1, PIECE - bytes, peer.file);
    size_t whole = bytes;
    while (whole > 0 && piece[whole - 1] != '\n')
        whole--;
    peer.rest_bytes = bytes - whole;
    memcpy(peer.rest, piece + whole, peer.rest_bytes);
    pthread_mutex_unlock(&peer.reading);
    return whole;
}

static void *work(void *unused)
{
    char *piece = allocate(PIECE), *kept = allocate(PIECE), *made = NULL;
    size_t bytes, made_bytes;
    while ((bytes = read_piece(piece)) > 0) {
        FILE *out = open_memstream(&made, &made_bytes);
        for (char *line = piece, *next; line < piece + bytes; line = next) {
            next = (char *)memchr(line, '\n', (size_t)(piece + bytes - line)) + 1;
            take_document(line, (size_t)(next - line), out, kept);
        }
        fclose(out);
        pthread_mutex_lock(&peer.writing);
        fwrite(made, 1, made_bytes, stdout);
        pthread_mutex_unlock(&peer.writing);
        free(made);
    }
    free(piece);
    free(kept);
    return unused;
}

int main(int count, char **arguments)
{
    if (count != 6 || (peer.file = fopen(arguments[2], "rb")) == NULL) {
        fputs("corpus-peer paragraph|ngram FILE KEYS RATE THREADS\n", stderr);
        return 2;
    }
    const double keys = strtod(arguments[3], NULL), rate = strtod(arguments[4], NULL);
    const unsigned long threads = strtoul(arguments[5], NULL, 10);
    pthread_t ids[THREADS_MAX];
    peer.ngrams = strcmp(arguments[1], "ngram") == 0;
    peer.rest = allocate(PIECE);
    peer.count = (uint64_t)ceil(keys * -log(rate) / (M_LN2 * M_LN2)) + 64;
    peer.probes = (unsigned)lround(-log2(rate));
    peer.bits = allocate((peer.count / 64 + 1) * sizeof(uint64_t));
    pthread_mutex_init(&peer.reading, NULL);
    pthread_mutex_init(&peer.writing, NULL);
    for (unsigned long i = 0; i < threads && i < THREADS_MAX; i++)
        pthread_create(&ids[i], NULL, work, NULL);
    for (unsigned long i = 0; i < threads && i < THREADS_MAX; i++)
        pthread_join(ids[i], NULL);
    free(peer.bits);
    free(peer.rest);
    fclose(peer.file);
    return fflush(stdout) == 0 ? 0 : 1;
}
