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
#include "command/corpus/documents.h"

#include "command/corpus/raw_text.h"
#include "tool.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tool_paragraph {
    struct tool_raw_paragraph raw;
    struct tool_weighed weighed;
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
    documents->keys = tool_corpus_keys_new(judge);
    return documents;
}

void tool_documents_free(struct tool_documents *documents)
{
    tool_corpus_keys_free(documents->keys);
    free(documents->documents);
    free(documents->paragraphs);
    free(documents->output);
    free(documents);
}

void tool_corpus_counts_add(struct tool_corpus_counts *into, const struct tool_corpus_counts *from)
{
    into->documents += from->documents;
    into->bytes += from->bytes;
    into->without_text += from->without_text;
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
        tool_corpus_keys_flush(documents->keys);
        documents->paragraph_room = 2 * documents->paragraph_room + 256;
        documents->paragraphs = tool_reallocate(
            documents->paragraphs, documents->paragraph_room * sizeof(*documents->paragraphs));
    }
    return &documents->paragraphs[documents->paragraph_count++];
}

static void read_paragraphs(struct tool_documents *documents, struct tool_document *document)
{
    struct tool_raw_text text = {document->text, document->text_end};
    struct tool_raw_paragraph raw;
    while (tool_raw_paragraph_next(&text, &raw)) {
        struct tool_paragraph *paragraph = new_paragraph(documents);
        paragraph->raw = raw;
        tool_corpus_keys_take(documents->keys, &paragraph->weighed, raw.content,
                              (size_t)(raw.content_end - raw.content), raw.escaped);
    }
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
    if (documents->judge->unit == TOOL_UNIT_DOCUMENT) {
        struct tool_paragraph *whole = new_paragraph(documents);
        whole->raw = (struct tool_raw_paragraph){
            .begin = document->text, .content = document->text, .content_end = document->text_end};
        tool_corpus_keys_take(documents->keys, &whole->weighed, value.at, value.bytes,
                              value.escaped);
    } else {
        read_paragraphs(documents, document);
    }
    document->count = documents->paragraph_count - document->first;
}

void tool_documents_read(struct tool_documents *documents, struct tool_chunk *chunk)
{
    bloomery_key lines[TOOL_BATCH_ROOM];
    size_t count;
    documents->count = documents->paragraph_count = 0;
    tool_corpus_keys_begin(documents->keys);
    while ((count = tool_chunk_keys(chunk, lines)) > 0) {
        if (documents->room - documents->count < count) {
            documents->room = 2 * documents->room + count;
            documents->documents = tool_reallocate(documents->documents,
                                                   documents->room * sizeof(*documents->documents));
        }
        for (size_t i = 0; i < count; i++)
            read_document(documents, chunk, lines[i], count - i);
    }
    tool_corpus_keys_flush(documents->keys);
    documents->keys->adding.number = chunk->number;
}

uint32_t tool_documents_keys_of(const struct tool_documents *documents, size_t paragraph)
{
    assert(paragraph < documents->paragraph_count);
    return documents->paragraphs[paragraph].weighed.keys;
}

size_t tool_documents_answered(const struct tool_documents *documents)
{
    const struct tool_adding *adding = &documents->keys->adding;
    if (adding->answered == adding->count)
        return documents->count;
    for (size_t i = 0; i < documents->count; i++) {
        const struct tool_document *document = &documents->documents[i];
        for (size_t p = document->first; p < document->first + document->count; p++) {
            const struct tool_weighed *weighed = &documents->paragraphs[p].weighed;
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
    const struct tool_weighed *weighed = &paragraph->weighed;
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
    struct tool_corpus_counts *counts = &documents->counts;
    uint64_t keys = 0, seen = 0;
    size_t cut = 0;
    for (size_t i = document->first; i < document->first + document->count; i++) {
        struct tool_paragraph *paragraph = &documents->paragraphs[i];
        paragraph->seen = tool_corpus_keys_seen(documents->keys, &paragraph->weighed);
        keys += paragraph->weighed.keys;
        seen += paragraph->seen;
        paragraph->cut = is_too_much(documents->judge, paragraph->seen, paragraph->weighed.keys);
        cut += paragraph->cut;
        if (!paragraph->cut)
            count_short(documents, paragraph);
    }
    /* Of paragraphs there may be some that another shard judges. */
    const bool too_much =
        documents->judge->unit == TOOL_UNIT_NGRAM && is_too_much(documents->judge, seen, keys);
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
    *place += tool_raw_code_points(*from, begin);
    const uint64_t start = *place;
    *place += tool_raw_code_points(begin, end);
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

/* The closing brace of the line's object; NULL if the line is none. */
static const unsigned char *closing_brace(const struct tool_document *document)
{
    const unsigned char *begin = document->line.data, *at = begin + document->line.bytes;
    while (at > begin && (at[-1] == ' ' || at[-1] == '\t' || at[-1] == '\r'))
        at--;
    return at > begin && at[-1] == '}' ? at - 1 : NULL;
}

static void write_text(struct tool_documents *documents, const char *text)
{
    write_bytes(documents, (const unsigned char *)text, (const unsigned char *)text + strlen(text));
}

static void write_annotated(struct tool_documents *documents, const struct tool_document *document,
                            bool dropped)
{
    const unsigned char *brace = closing_brace(document), *from = document->text;
    const char *separator = "";
    uint64_t place = 0;
    if (brace == NULL) {
        write_bytes(documents, document->line.data, end_of_line(document));
        return;
    }
    write_bytes(documents, document->line.data, brace);
    write_text(documents, ",\"");
    write_text(documents, documents->judge->annotate);
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

void tool_documents_judge(struct tool_documents *documents, size_t count)
{
    struct tool_corpus_counts *counts = &documents->counts;
    const unsigned char *kept = NULL, *kept_end = NULL; /* whole lines that lie together */
    assert(count <= documents->count);
    documents->output_bytes = 0;
    for (size_t i = 0; i < count; i++) {
        const struct tool_document *document = &documents->documents[i];
        const uint64_t changed = counts->changed;
        const bool dropped = judge_document(documents, document);
        const unsigned char *line = document->line.data;
        counts->without_text += document->text == NULL;
        counts->documents++;
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
