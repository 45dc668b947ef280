/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A document is a line of JSON, and is written again as the bytes that it had. Where a paragraph is
 * cut out, only the inside of its text changes.
 *
 *     line      {"id": 7, "text": "Cookies?\nAn essay on bees.\n", "lang": "en"}
 *                                  ^ cut    ^^^^^^^^^^^^^^^^^^^^
 *     written   {"id": 7, "text": "An essay on bees.\n", "lang": "en"}
 */
#include "command/dedupe/documents.h"
#include "key/rule.h"
#include "tool.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

struct tool_document {
    bloomery_key line;
    struct tool_judged text; /* without a beginning: it has none, and stays */
};

bool tool_key_is_elsewhere(const struct tool_judge *judge, bloomery_key key)
{
    return crc32_z(0, key.data, key.bytes) % judge->shards != judge->shard;
}

/* Ends the command if there was no memory. */
static void must(const struct tool_documents *documents, bool good)
{
    if (good)
        return;
    tool_no_memory(documents->units->missing);
    exit(TOOL_ERROR);
}

struct tool_documents *tool_documents_new(const struct tool_judge *judge)
{
    struct tool_documents *documents = tool_allocate(sizeof(*documents));
    memset(documents, 0, sizeof(*documents));
    documents->judge = judge;
    documents->units = tool_units_new(judge);
    if (documents->units == NULL) {
        tool_no_memory(sizeof(*documents->units));
        exit(TOOL_ERROR);
    }
    return documents;
}

void tool_documents_free(struct tool_documents *documents)
{
    tool_units_free(documents->units);
    free(documents->documents);
    free(documents->output);
    free(documents);
}

/* ---- Reading --------------------------------------------------------------------------------- */

static void read_document(struct tool_documents *documents, const struct tool_chunk *chunk,
                          bloomery_key line, size_t left)
{
    struct tool_document *document = &documents->documents[documents->count++];
    *document = (struct tool_document){.line = line};
    const struct tool_json_value value =
        tool_json_find(documents->judge->lines->path, line.data, line.bytes);
    if (value.kind == TOOL_JSON_BROKEN || value.kind == TOOL_JSON_TOO_DEEP)
        tool_tally_note_broken(&documents->tally, chunk, left, value.kind == TOOL_JSON_TOO_DEEP);
    if (value.kind != TOOL_JSON_STRING)
        return;
    const struct tool_json_path *member = documents->judge->lines->member;
    documents->texts++;
    if (member != NULL && tool_json_find(member, line.data, line.bytes).kind != TOOL_JSON_MISSING)
        documents->clashes++;
    must(documents,
         tool_units_read(documents->units, value.at, value.bytes, value.escaped, &document->text));
}

void tool_documents_read(struct tool_documents *documents, struct tool_chunk *chunk)
{
    bloomery_key lines[TOOL_BATCH_ROOM];
    size_t count;
    documents->count = 0;
    tool_units_begin(documents->units);
    while ((count = tool_chunk_keys(chunk, lines)) > 0) {
        if (documents->room - documents->count < count) {
            documents->room = 2 * documents->room + count;
            documents->documents = tool_reallocate(documents->documents,
                                                   documents->room * sizeof(*documents->documents));
        }
        for (size_t i = 0; i < count; i++)
            read_document(documents, chunk, lines[i], count - i);
    }
    must(documents, tool_units_end(documents->units));
}

uint32_t tool_documents_keys_of(const struct tool_documents *documents, size_t paragraph)
{
    assert(paragraph < documents->units->paragraph_count);
    return documents->units->paragraphs[paragraph].weighed.keys;
}

/* How many documents have all their keys among the first that were answered. */
static size_t count_answered(const struct tool_documents *documents)
{
    const struct tool_adding *adding = &documents->units->adding;
    if (adding->answered == adding->count)
        return documents->count;
    for (size_t i = 0; i < documents->count; i++)
        if (!tool_units_are_answered(documents->units, &documents->documents[i].text))
            return i;
    return documents->count;
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

/* Behind a line: its delimiter, which is in the chunk. */
static const unsigned char *end_of_line(const struct tool_document *document)
{
    return (const unsigned char *)document->line.data + document->line.bytes + 1;
}

static void write_cut(struct tool_documents *documents, const struct tool_document *document)
{
    const size_t before = documents->output_bytes;
    write_bytes(documents, document->line.data, document->text.begin);
    for (size_t i = document->text.first; i < document->text.first + document->text.count; i++)
        if (!documents->units->paragraphs[i].cut)
            write_bytes(documents, documents->units->paragraphs[i].place.begin,
                        tool_units_end_of(documents->units, &document->text, i));
    write_bytes(documents, document->text.end, end_of_line(document));
    documents->units->counts.removed_bytes +=
        document->line.bytes + 1 - (documents->output_bytes - before);
}

/* The document with the paragraphs that were cut, and none of the others. */
static void write_removed(struct tool_documents *documents, const struct tool_document *document)
{
    write_bytes(documents, document->line.data, document->text.begin);
    for (size_t i = document->text.first; i < document->text.first + document->text.count; i++)
        if (documents->units->paragraphs[i].cut) {
            const unsigned char *begin = tool_units_begin_of(documents->units, &document->text, i);
            const unsigned char *end = tool_units_end_of(documents->units, &document->text, i);
            write_bytes(documents, begin, end);
            documents->units->counts.removed_bytes += (size_t)(end - begin);
        }
    write_bytes(documents, document->text.end, end_of_line(document));
}

/* The span of the paragraphs from `first` on that were cut and lie together, as code points. */
static void write_span(struct tool_documents *documents, const struct tool_document *document,
                       const struct tool_paragraph *paragraph, const unsigned char **from,
                       uint64_t *place)
{
    const size_t number = (size_t)(paragraph - documents->units->paragraphs);
    const unsigned char *begin = tool_units_begin_of(documents->units, &document->text, number);
    const unsigned char *end = tool_units_end_of(documents->units, &document->text, number);
    *place += tool_units_code_points(documents->judge, *from, begin);
    const uint64_t start = *place;
    *place += tool_units_code_points(documents->judge, begin, end);
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
    const unsigned char *begin = document->line.data, *from = document->text.begin;
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
    write_text(documents, documents->judge->lines->annotate);
    if (documents->judge->near != NULL) {
        write_similarity(documents, &documents->units->paragraphs[document->text.first], dropped);
        write_bytes(documents, brace, end_of_line(document));
        return;
    }
    write_text(documents, "\":{\"spans\":[");
    for (size_t i = document->text.first; i < document->text.first + document->text.count; i++)
        if (documents->units->paragraphs[i].cut) {
            write_text(documents, separator);
            write_span(documents, document, &documents->units->paragraphs[i], &from, &place);
            separator = ",";
        }
    write_text(documents, dropped ? "],\"drop\":true}" : "],\"drop\":false}");
    write_bytes(documents, brace, end_of_line(document));
}

void tool_documents_judge(struct tool_documents *documents)
{
    const size_t count = count_answered(documents);
    struct tool_dedupe_counts *counts = &documents->units->counts;
    const unsigned char *kept = NULL, *kept_end = NULL; /* whole lines that lie together */
    assert(count <= documents->count);
    documents->output_bytes = 0;
    for (size_t i = 0; i < count; i++) {
        const struct tool_document *document = &documents->documents[i];
        const uint64_t changed = counts->changed;
        const bool dropped = tool_units_judge(documents->units, &document->text);
        const unsigned char *line = document->line.data;
        counts->without_key += document->text.begin == NULL;
        counts->records++;
        counts->bytes += document->line.bytes + 1;
        const bool whole = !dropped && counts->changed == changed;
        counts->removed_bytes +=
            dropped && documents->judge->lines->annotate == NULL ? document->line.bytes + 1 : 0;
        if (documents->judge->lines->invert ? dropped : whole) {
            kept = kept == NULL ? line : kept;
            kept_end = end_of_line(document);
            continue;
        }
        if (kept != NULL)
            write_bytes(documents, kept, kept_end);
        kept = NULL;
        if (documents->judge->lines->annotate != NULL)
            write_annotated(documents, document, dropped);
        else if (documents->judge->lines->invert && !whole)
            write_removed(documents, document);
        else if (!documents->judge->lines->invert && !dropped)
            write_cut(documents, document);
    }
    if (kept != NULL)
        write_bytes(documents, kept, kept_end);
}
