/* SPDX-License-Identifier: Apache-2.0 */
/*
 * corpus-text BYTES [SEED]: writes a corpus of about BYTES bytes to standard output, as JSON lines.
 *
 *     {"id": 0, "text": "Paragraph.\nAnother \"one\".\n..."}
 *
 * Words are as frequent as Zipf's law says. Of ten paragraphs seven are new, one is boilerplate,
 * one repeats an earlier one, and one is that with some words changed. The same arguments make the
 * same bytes.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WORDS = 50000,
    WORD_BYTES = 24,
    DRAWS = 1 << 18, /* a uniform draw out of these is a draw by Zipf's law */
    PARAGRAPH_WORDS = 80,
    POOL = 1 << 14, /* earlier paragraphs that may be repeated */
    BOILERPLATE = 300,
};

struct paragraph {
    uint32_t count;
    uint32_t words[PARAGRAPH_WORDS];
};

static struct {
    char text[WORDS][WORD_BYTES];
    unsigned char bytes[WORDS];
    uint32_t draws[DRAWS];
    struct paragraph pool[POOL], boilerplate[BOILERPLATE];
    uint32_t pool_count, pool_next;
    uint64_t state, written;
    char buffer[1 << 20];
    size_t used;
} corpus;

/* SplitMix64. */
static uint64_t draw(void)
{
    uint64_t z = corpus.state += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

static uint32_t below(uint32_t bound)
{
    return (uint32_t)((draw() >> 32) * bound >> 32);
}

static void make_words(void)
{
    static const char *const odd[] = {"\\u00fcber", "caf\xc3\xa9",  "\\\"quoted\\\"", "don't",
                                      "3.14",       "na\xc3\xafve", "1,000",          "e-mail"};
    for (uint32_t i = 0; i < WORDS; i++) {
        const uint32_t length = 2 + below(5) + below(6);
        for (uint32_t j = 0; j < length; j++)
            corpus.text[i][j] = "etaoinshrdlucmfwypvbgkjq"[below(8) + below(9) + below(8)];
        if (i % 97 == 50)
            snprintf(corpus.text[i], WORD_BYTES, "%s",
                     odd[i / 97 % (sizeof(odd) / sizeof(odd[0]))]);
        corpus.bytes[i] = (unsigned char)strlen(corpus.text[i]);
    }
}

static void make_draws(void)
{
    double sum = 0, total = 0;
    uint32_t at = 0;
    for (uint32_t i = 0; i < WORDS; i++)
        total += 1 / (i + 2.7);
    for (uint32_t i = 0; i < WORDS; i++) {
        sum += 1 / (i + 2.7);
        while (at < DRAWS && at < sum / total * DRAWS)
            corpus.draws[at++] = i;
    }
    while (at < DRAWS)
        corpus.draws[at++] = WORDS - 1;
}

static void make_paragraph(struct paragraph *paragraph)
{
    paragraph->count = below(8) == 0 ? 1 + below(10) : 15 + below(PARAGRAPH_WORDS - 14);
    for (uint32_t i = 0; i < paragraph->count; i++)
        paragraph->words[i] = corpus.draws[below(DRAWS)];
}

static void put(const char *text, size_t bytes)
{
    if (corpus.used + bytes > sizeof(corpus.buffer)) {
        if (fwrite(corpus.buffer, 1, corpus.used, stdout) != corpus.used) {
            perror("corpus-text");
            exit(1);
        }
        corpus.written += corpus.used;
        corpus.used = 0;
    }
    memcpy(corpus.buffer + corpus.used, text, bytes);
    corpus.used += bytes;
}

static void put_paragraph(const struct paragraph *paragraph)
{
    for (uint32_t i = 0; i < paragraph->count; i++) {
        if (i > 0)
            put(" ", 1);
        put(corpus.text[paragraph->words[i]], corpus.bytes[paragraph->words[i]]);
    }
    put(".\\n", 3);
}

static void put_some_paragraph(void)
{
    const uint32_t choice = below(10);
    struct paragraph paragraph;
    if (choice == 0) {
        put_paragraph(&corpus.boilerplate[below(1 + below(BOILERPLATE))]);
        return;
    }
    if (choice <= 2 && corpus.pool_count > 0) {
        paragraph = corpus.pool[below(corpus.pool_count)];
        const uint32_t every = 4 + below(40);
        for (uint32_t i = 0; choice == 1 && i < paragraph.count; i++)
            if (below(every) == 0)
                paragraph.words[i] = corpus.draws[below(DRAWS)];
        put_paragraph(&paragraph);
        return;
    }
    make_paragraph(&paragraph);
    put_paragraph(&paragraph);
    corpus.pool[corpus.pool_next] = paragraph;
    corpus.pool_next = (corpus.pool_next + 1) % POOL;
    corpus.pool_count += corpus.pool_count < POOL;
}

int main(int count, char **arguments)
{
    if (count < 2) {
        fputs("corpus-text BYTES [SEED]\n", stderr);
        return 2;
    }
    const uint64_t bytes = strtoull(arguments[1], NULL, 10);
    corpus.state = count > 2 ? strtoull(arguments[2], NULL, 10) : 1;
    make_words();
    make_draws();
    for (uint32_t i = 0; i < BOILERPLATE; i++)
        make_paragraph(&corpus.boilerplate[i]);
    for (uint64_t id = 0; corpus.written + corpus.used < bytes; id++) {
        char head[64];
        put(head, (size_t)snprintf(head, sizeof(head), "{\"id\": %llu, \"text\": \"",
                                   (unsigned long long)id));
        for (uint32_t i = 1 + below(10); i > 0; i--)
            put_some_paragraph();
        corpus.used -= 2; /* the last paragraph has no line end */
        put("\"}\n", 3);
    }
    const size_t rest = corpus.used;
    if (fwrite(corpus.buffer, 1, rest, stdout) != rest || fflush(stdout) != 0) {
        perror("corpus-text");
        return 1;
    }
    return 0;
}
