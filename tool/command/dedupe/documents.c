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
    free(documents->output.data);
    free(documents->removed.data);
    free(documents->place.data);
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

static unsigned char *room_for(struct tool_bytes *to, size_t bytes)
{
    if (to->room - to->count < bytes) {
        to->room = 2 * to->room + bytes;
        to->data = tool_reallocate(to->data, to->room);
    }
    return to->data + to->count;
}

static void write_bytes(struct tool_bytes *to, const unsigned char *from, const unsigned char *end)
{
    assert(from != NULL && from <= end);
    const size_t bytes = (size_t)(end - from);
    memcpy(room_for(to, bytes), from, bytes);
    to->count += bytes;
}

static void write_text(struct tool_bytes *to, const char *text)
{
    write_bytes(to, (const unsigned char *)text, (const unsigned char *)text + strlen(text));
}

/* Behind a line: its delimiter, which is in the chunk. */
static const unsigned char *end_of_line(const struct tool_document *document)
{
    return (const unsigned char *)document->line.data + document->line.bytes + 1;
}

static void write_cut(struct tool_documents *documents, const struct tool_document *document)
{
    const size_t before = documents->output.count;
    write_bytes(&documents->output, document->line.data, document->text.begin);
    for (size_t i = document->text.first; i < document->text.first + document->text.count; i++)
        if (!documents->units->paragraphs[i].cut)
            write_bytes(&documents->output, documents->units->paragraphs[i].place.begin,
                        tool_units_end_of(documents->units, &document->text, i));
    write_bytes(&documents->output, document->text.end, end_of_line(document));
    documents->units->counts.removed_bytes +=
        document->line.bytes + 1 - (documents->output.count - before);
}

/* The document with the paragraphs that were cut, and none of the others. */
static void write_removed(struct tool_documents *documents, const struct tool_document *document)
{
    write_bytes(&documents->output, document->line.data, document->text.begin);
    for (size_t i = document->text.first; i < document->text.first + document->text.count; i++)
        if (documents->units->paragraphs[i].cut) {
            const unsigned char *begin = tool_units_begin_of(documents->units, &document->text, i);
            const unsigned char *end = tool_units_end_of(documents->units, &document->text, i);
            write_bytes(&documents->output, begin, end);
            documents->units->counts.removed_bytes += (size_t)(end - begin);
        }
    write_bytes(&documents->output, document->text.end, end_of_line(document));
}

/* [start,end,share] */
static void write_place(struct tool_bytes *to, uint64_t start, uint64_t end, uint64_t seen,
                        uint64_t keys)
{
    char text[80];
    const uint64_t share = 1000 * seen / keys;
    const int bytes = snprintf(text, sizeof(text), "[%llu,%llu,", (unsigned long long)start,
                               (unsigned long long)end);
    if (share == 1000)
        snprintf(text + bytes, sizeof(text) - (size_t)bytes, "1]");
    else
        snprintf(text + bytes, sizeof(text) - (size_t)bytes, "0.%03u]", (unsigned)share);
    write_text(to, text);
}

/* The span of the paragraphs from `first` on that were cut and lie together, as code points. */
static void write_span(struct tool_documents *documents, struct tool_bytes *to,
                       const struct tool_document *document, const struct tool_paragraph *paragraph,
                       const unsigned char **from, uint64_t *place)
{
    const size_t number = (size_t)(paragraph - documents->units->paragraphs);
    const unsigned char *begin = tool_units_begin_of(documents->units, &document->text, number);
    const unsigned char *end = tool_units_end_of(documents->units, &document->text, number);
    *place += tool_units_code_points(documents->judge, *from, begin);
    const uint64_t start = *place;
    *place += tool_units_code_points(documents->judge, begin, end);
    *from = end;
    write_place(to, start, *place, paragraph->seen, paragraph->weighed.keys);
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
    write_text(&documents->output, text);
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
        write_bytes(&documents->output, begin, end_of_line(document));
        return;
    }
    write_bytes(&documents->output, begin, brace);
    write_text(&documents->output, ",\"");
    write_text(&documents->output, documents->judge->lines->annotate);
    if (documents->judge->near != NULL) {
        write_similarity(documents, &documents->units->paragraphs[document->text.first], dropped);
        write_bytes(&documents->output, brace, end_of_line(document));
        return;
    }
    write_text(&documents->output, "\":{\"spans\":[");
    for (size_t i = document->text.first; i < document->text.first + document->text.count; i++)
        if (documents->units->paragraphs[i].cut) {
            write_text(&documents->output, separator);
            write_span(documents, &documents->output, document, &documents->units->paragraphs[i],
                       &from, &place);
            separator = ",";
        }
    write_text(&documents->output, dropped ? "],\"drop\":true}" : "],\"drop\":false}");
    write_bytes(&documents->output, brace, end_of_line(document));
}

/* ---- Lines about what is removed ------------------------------------------------------------- */

/*
 * One for each span that is cut out, and one for a document that is dropped. Numbers are those of
 * an annotation's span. A filter does not know which document had a text, but which filter of
 * --against had it is known.
 *
 *     {"file":"in/a.jsonl","line":2,"id":7,"span":[0,8,1],"drop":false}
 *     {"file":"in/b.jsonl","line":1,"id":"x","span":[0,40,0.923],"drop":true,"against":"bench.bloom"}
 */

/* The member of a path as the line has it, or null. */
static void write_id(struct tool_bytes *to, const struct tool_json_path *path, bloomery_key line)
{
    const struct tool_json_value value = tool_json_find(path, line.data, line.bytes);
    if (value.kind == TOOL_JSON_STRING) /* with its quotes */
        write_bytes(to, value.at - 1, value.at + value.bytes + 1);
    else if (value.kind == TOOL_JSON_NUMBER)
        write_bytes(to, value.at, value.at + value.bytes);
    else
        write_text(to, "null");
}

static void write_string(struct tool_bytes *to, const char *text)
{
    const size_t bytes = strlen(text);
    write_text(to, "\"");
    unsigned char *at = room_for(to, 6 * bytes);
    to->count += tool_json_escape((const unsigned char *)text, bytes, at);
    write_text(to, "\"");
}

static void begin_record(struct tool_documents *documents, const struct tool_document *document,
                         uint64_t line)
{
    struct tool_bytes *to = &documents->removed;
    char number[64];
    write_bytes(to, documents->place.data, documents->place.data + documents->place.count);
    snprintf(number, sizeof(number), "%llu,\"id\":", (unsigned long long)line);
    write_text(to, number);
    write_id(to, documents->judge->lines->id, document->line);
    write_text(to, ",\"span\":");
}

/* `against`: the filter, from 1 on; 0: none. */
static void end_record(struct tool_documents *documents, bool dropped, uint32_t against)
{
    const struct tool_judge *judge = documents->judge;
    struct tool_bytes *to = &documents->removed;
    assert(against <= judge->against_count);
    write_text(to, dropped ? ",\"drop\":true" : ",\"drop\":false");
    if (against > 0 && against != judge->lines->of_lists) {
        write_text(to, ",\"against\":");
        write_string(to, judge->against[against - 1].path);
    }
    write_text(to, "}\n");
}

/* A document that is dropped is one span. */
static void record_document(struct tool_documents *documents, const struct tool_document *document,
                            uint64_t line)
{
    const struct tool_judged *text = &document->text;
    const struct tool_judge *judge = documents->judge;
    struct tool_bytes *to = &documents->removed;
    uint64_t seen = 0, keys = 0;
    uint32_t against = 0;
    for (size_t i = text->first; i < text->first + text->count; i++) {
        const struct tool_paragraph *paragraph = &documents->units->paragraphs[i];
        seen += paragraph->seen;
        keys += paragraph->weighed.keys;
        against = against == 0 ? paragraph->weighed.against : against;
    }
    begin_record(documents, document, line);
    write_place(to, 0, tool_units_code_points(judge, text->begin, text->end), seen, keys);
    if (judge->near != NULL) {
        char number[64];
        snprintf(number, sizeof(number), ",\"similarity\":%.3g",
                 bloomery_near_similarity(judge->near, (uint32_t)seen));
        write_text(to, number);
    }
    end_record(documents, true, against);
}

static void record_removed(struct tool_documents *documents, const struct tool_document *document,
                           bool dropped, uint64_t line)
{
    const struct tool_judged *text = &document->text;
    const unsigned char *from = text->begin;
    uint64_t place = 0;
    if (dropped) {
        record_document(documents, document, line);
        return;
    }
    for (size_t i = text->first; i < text->first + text->count; i++) {
        const struct tool_paragraph *paragraph = &documents->units->paragraphs[i];
        if (!paragraph->cut)
            continue;
        begin_record(documents, document, line);
        write_span(documents, &documents->removed, document, paragraph, &from, &place);
        end_record(documents, false, paragraph->weighed.against);
    }
}

/* {"file":"in/a.jsonl","line": */
static void set_place(struct tool_documents *documents, const char *input)
{
    if (documents->input == input)
        return;
    documents->input = input;
    documents->place.count = 0;
    write_text(&documents->place, "{\"file\":");
    write_string(&documents->place, input);
    write_text(&documents->place, ",\"line\":");
}

/* ---- Judging --------------------------------------------------------------------------------- */

void tool_documents_judge(struct tool_documents *documents, const char *input, uint64_t first_line)
{
    const size_t count = count_answered(documents);
    struct tool_dedupe_counts *counts = &documents->units->counts;
    const unsigned char *kept = NULL, *kept_end = NULL; /* whole lines that lie together */
    assert(count <= documents->count);
    documents->output.count = documents->removed.count = 0;
    if (documents->judge->lines->id != NULL)
        set_place(documents, input);
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
        if (!whole && documents->judge->lines->id != NULL)
            record_removed(documents, document, dropped, first_line + i);
        if (documents->judge->lines->invert ? dropped : whole) {
            kept = kept == NULL ? line : kept;
            kept_end = end_of_line(document);
            continue;
        }
        if (kept != NULL)
            write_bytes(&documents->output, kept, kept_end);
        kept = NULL;
        if (documents->judge->lines->annotate != NULL)
            write_annotated(documents, document, dropped);
        else if (documents->judge->lines->invert && !whole)
            write_removed(documents, document);
        else if (!documents->judge->lines->invert && !dropped)
            write_cut(documents, document);
    }
    if (kept != NULL)
        write_bytes(&documents->output, kept, kept_end);
}
