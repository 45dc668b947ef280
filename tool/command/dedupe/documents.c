/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A document is a line of JSON, and is written again as the bytes that it had. Where a paragraph is
 * cut out, only the inside of its text changes.
 *
 *     line      {"id": 7, "text": "Cookies?\nAn essay on bees.\n", "lang": "en"}
 *                                  ^ cut    ^^^^^^^^^^^^^^^^^^^^
 *     written   {"id": 7, "text": "An essay on bees.\n", "lang": "en"}
 *
 * A document may have several texts, its parts. Their paragraphs are judged together, in the order
 * of the line. A whole text is made of all parts, in the order of the options, with byte 31 between
 * them, as keys of several CSV fields are.
 */
#include "command/dedupe/documents.h"
#include "key/rule.h"
#include "tool.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

struct tool_part {
    struct tool_judged text;
    const struct tool_json_path *path; /* NULL: it is joined */
};

struct tool_document {
    bloomery_key line;
    struct tool_judged text; /* all parts; without a beginning: it has none, and stays */
    size_t first, count;     /* its parts, in the order of the line; of a joined text one */
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

static void free_joined(struct tool_documents *documents)
{
    while (documents->joined_count > 0)
        free(documents->joined[--documents->joined_count]);
}

void tool_documents_free(struct tool_documents *documents)
{
    tool_units_free(documents->units);
    free_joined(documents);
    free(documents->joined);
    free(documents->documents);
    free(documents->parts);
    free(documents->output.data);
    free(documents->removed.data);
    free(documents->place.data);
    free(documents);
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* A text that was found in a line. */
struct found {
    struct tool_json_value value;
    const struct tool_json_path *path; /* NULL: it is joined */
};

enum { TEXTS_MAX = TOOL_MORE_PATHS_MAX + 1 };

/* Finds the texts of a line, in the order of the paths. If two paths lead to one text, it counts
 * once. Returns how many; 0 if the line is not JSON. */
static size_t find_texts(struct tool_documents *documents, const struct tool_chunk *chunk,
                         bloomery_key line, size_t left, struct found found[TEXTS_MAX])
{
    const struct tool_judge_lines *lines = documents->judge->lines;
    size_t count = 0;
    assert(lines->path_count > 0 && lines->path_count <= TEXTS_MAX);
    for (size_t i = 0; i < lines->path_count; i++) {
        const struct tool_json_value value =
            tool_json_find(&lines->paths[i], line.data, line.bytes);
        if (value.kind == TOOL_JSON_BROKEN || value.kind == TOOL_JSON_TOO_DEEP) {
            tool_tally_note_broken(&documents->tally, chunk, left,
                                   value.kind == TOOL_JSON_TOO_DEEP);
            return 0;
        }
        bool known = value.kind != TOOL_JSON_STRING;
        for (size_t j = 0; j < count && !known; j++)
            known = found[j].value.at == value.at;
        if (!known)
            found[count++] = (struct found){value, &lines->paths[i]};
    }
    return count;
}

static struct tool_part *add_part(struct tool_documents *documents,
                                  const struct tool_json_path *path)
{
    if (documents->part_count == documents->part_room) {
        documents->part_room = 2 * documents->part_room + 256;
        documents->parts =
            tool_reallocate(documents->parts, documents->part_room * sizeof(*documents->parts));
    }
    struct tool_part *part = &documents->parts[documents->part_count++];
    *part = (struct tool_part){.path = path};
    return part;
}

/* One text of several, as it would be in a line; one that is missing is empty. It stays until the
 * next chunk. */
static struct tool_json_value join_texts(struct tool_documents *documents,
                                         const struct found *found, size_t count)
{
    static const char separator[] = "\\u001f";
    const struct tool_judge_lines *lines = documents->judge->lines;
    struct tool_json_value joined = {.kind = TOOL_JSON_STRING, .escaped = true};
    size_t room = lines->path_count * sizeof(separator), next = 0;
    for (size_t i = 0; i < count; i++)
        room += found[i].value.bytes;
    if (documents->joined_count == documents->joined_room) {
        documents->joined_room = 2 * documents->joined_room + 64;
        documents->joined =
            tool_reallocate(documents->joined, documents->joined_room * sizeof(char *));
    }
    unsigned char *to = documents->joined[documents->joined_count++] = tool_allocate(room);
    joined.at = to;
    for (size_t i = 0; i < lines->path_count; i++) {
        if (i > 0)
            to = mempcpy(to, separator, sizeof(separator) - 1);
        if (next < count && found[next].path == &lines->paths[i]) {
            to = mempcpy(to, found[next].value.at, found[next].value.bytes);
            next++;
        }
    }
    joined.bytes = (size_t)(to - joined.at);
    assert(next == count && joined.bytes <= room);
    return joined;
}

static void sort_by_place(struct found *found, size_t count)
{
    for (size_t i = 1; i < count; i++)
        for (size_t j = i; j > 0 && found[j].value.at < found[j - 1].value.at; j--) {
            const struct found other = found[j];
            found[j] = found[j - 1];
            found[j - 1] = other;
        }
}

/* Reads the texts of a document. All of them together are its text: their paragraphs lie one behind
 * the other. */
static void read_texts(struct tool_documents *documents, struct tool_document *document,
                       struct found *found, size_t count)
{
    if (documents->judge->lines->path_count > 1 &&
        documents->judge->unit == TOOL_COMPARED_DOCUMENTS) {
        found[0] = (struct found){join_texts(documents, found, count), NULL};
        count = 1;
    }
    sort_by_place(found, count);
    document->first = documents->part_count;
    document->count = count;
    for (size_t i = 0; i < count; i++) {
        struct tool_part *part = add_part(documents, found[i].path);
        const struct tool_json_value *value = &found[i].value;
        must(documents, tool_units_read(documents->units, value->at, value->bytes, value->escaped,
                                        &part->text));
        if (i == 0)
            document->text = part->text;
        else
            document->text.count += part->text.count;
        document->text.end = part->text.end;
        assert(document->text.first + document->text.count == documents->units->paragraph_count);
    }
}

static void read_document(struct tool_documents *documents, const struct tool_chunk *chunk,
                          bloomery_key line, size_t left)
{
    struct tool_document *document = &documents->documents[documents->count++];
    struct found found[TEXTS_MAX];
    *document = (struct tool_document){.line = line};
    const size_t count = find_texts(documents, chunk, line, left, found);
    if (count == 0)
        return;
    const struct tool_json_path *member = documents->judge->lines->member;
    documents->texts++;
    if (member != NULL && tool_json_find(member, line.data, line.bytes).kind != TOOL_JSON_MISSING)
        documents->clashes++;
    read_texts(documents, document, found, count);
}

void tool_documents_read(struct tool_documents *documents, struct tool_chunk *chunk)
{
    bloomery_key lines[TOOL_BATCH_ROOM];
    size_t count;
    documents->count = documents->part_count = 0;
    free_joined(documents);
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

static void write_string(struct tool_bytes *to, const char *text)
{
    const size_t bytes = strlen(text);
    write_text(to, "\"");
    unsigned char *at = room_for(to, 6 * bytes);
    to->count += tool_json_escape((const unsigned char *)text, bytes, at);
    write_text(to, "\"");
}

/* Behind a line: its delimiter, which is in the chunk. */
static const unsigned char *end_of_line(const struct tool_document *document)
{
    return (const unsigned char *)document->line.data + document->line.bytes + 1;
}

static void write_cut(struct tool_documents *documents, const struct tool_document *document)
{
    const size_t before = documents->output.count;
    const unsigned char *from = document->line.data;
    for (size_t p = document->first; p < document->first + document->count; p++) {
        const struct tool_judged *text = &documents->parts[p].text;
        /* Blank lines alone are not a paragraph, and stay. */
        write_bytes(&documents->output, from, text->count > 0 ? text->begin : text->end);
        for (size_t i = text->first; i < text->first + text->count; i++)
            if (!documents->units->paragraphs[i].cut)
                write_bytes(&documents->output, documents->units->paragraphs[i].place.begin,
                            tool_units_end_of(documents->units, text, i));
        from = text->end;
    }
    write_bytes(&documents->output, from, end_of_line(document));
    documents->units->counts.removed_bytes +=
        document->line.bytes + 1 - (documents->output.count - before);
}

/* The document with the paragraphs that were cut, and none of the others. */
static void write_removed(struct tool_documents *documents, const struct tool_document *document)
{
    const unsigned char *from = document->line.data;
    for (size_t p = document->first; p < document->first + document->count; p++) {
        const struct tool_judged *text = &documents->parts[p].text;
        write_bytes(&documents->output, from, text->begin);
        for (size_t i = text->first; i < text->first + text->count; i++)
            if (documents->units->paragraphs[i].cut) {
                const unsigned char *begin = tool_units_begin_of(documents->units, text, i);
                const unsigned char *end = tool_units_end_of(documents->units, text, i);
                write_bytes(&documents->output, begin, end);
                documents->units->counts.removed_bytes += (size_t)(end - begin);
            }
        from = text->end;
    }
    write_bytes(&documents->output, from, end_of_line(document));
}

/* [start,end,share], or with the path of the text, if there may be several, behind that. */
static void write_place(struct tool_bytes *to, uint64_t start, uint64_t end, uint64_t seen,
                        uint64_t keys, const struct tool_json_path *path)
{
    char text[80];
    assert(keys > 0 && seen <= keys);
    const uint64_t share = 1000 * seen / keys;
    const int bytes = snprintf(text, sizeof(text), "[%llu,%llu,", (unsigned long long)start,
                               (unsigned long long)end);
    if (share == 1000)
        snprintf(text + bytes, sizeof(text) - (size_t)bytes, "1");
    else
        snprintf(text + bytes, sizeof(text) - (size_t)bytes, "0.%03u", (unsigned)share);
    write_text(to, text);
    if (path != NULL) {
        write_text(to, ",");
        write_string(to, path->text);
    }
    write_text(to, "]");
}

/* Where the last span was, while those of a text are written. */
struct span_place {
    const unsigned char *from;
    uint64_t place; /* in code points */
};

/* The span of a paragraph that was cut, as code points of its text. */
static void write_span(const struct tool_documents *documents, struct tool_bytes *to,
                       const struct tool_part *part, size_t number, struct span_place *last)
{
    const struct tool_judge *judge = documents->judge;
    const struct tool_paragraph *paragraph = &documents->units->paragraphs[number];
    const unsigned char *begin = tool_units_begin_of(documents->units, &part->text, number);
    const unsigned char *end = tool_units_end_of(documents->units, &part->text, number);
    const uint64_t start = last->place + tool_units_code_points(judge, last->from, begin);
    last->place = start + tool_units_code_points(judge, begin, end);
    last->from = end;
    write_place(to, start, last->place, paragraph->seen, paragraph->weighed.keys,
                judge->lines->path_count > 1 ? part->path : NULL);
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
    const unsigned char *begin = document->line.data;
    const unsigned char *brace = begin + document->line.bytes; /* behind it, then at it */
    const char *separator = "";
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
    for (size_t p = document->first; p < document->first + document->count; p++) {
        const struct tool_part *part = &documents->parts[p];
        struct span_place last = {part->text.begin, 0};
        for (size_t i = part->text.first; i < part->text.first + part->text.count; i++)
            if (documents->units->paragraphs[i].cut) {
                write_text(&documents->output, separator);
                write_span(documents, &documents->output, part, i, &last);
                separator = ",";
            }
    }
    write_text(&documents->output, dropped ? "],\"drop\":true}" : "],\"drop\":false}");
    write_bytes(&documents->output, brace, end_of_line(document));
}

/* ---- Lines about what is removed ------------------------------------------------------------- */

/*
 * One for each span that is cut out, and one for a document that is dropped, whose parts count
 * with one code point between them. Spans are those of an annotation. A filter does not know which
 * document had a text. Which filter of --against had it is known.
 *
 *     {"file":"in/a.jsonl","line":2,"id":7,"span":[0,8,1],"drop":false}
 *     {"file":"in/b.jsonl","line":1,"id":"x","span":[0,40,0.9],"drop":true,"against":"x.bloom"}
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
    uint64_t seen = 0, keys = 0, points = 0;
    uint32_t against = 0;
    for (size_t i = text->first; i < text->first + text->count; i++) {
        const struct tool_paragraph *paragraph = &documents->units->paragraphs[i];
        seen += paragraph->seen;
        keys += paragraph->weighed.keys;
        against = against == 0 ? paragraph->weighed.against : against;
    }
    begin_record(documents, document, line);
    for (size_t p = document->first; p < document->first + document->count; p++) {
        const struct tool_judged *part = &documents->parts[p].text;
        points += tool_units_code_points(judge, part->begin, part->end) + (p > document->first);
    }
    write_place(to, 0, points, seen, keys, NULL);
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
    if (dropped) {
        record_document(documents, document, line);
        return;
    }
    for (size_t p = document->first; p < document->first + document->count; p++) {
        const struct tool_part *part = &documents->parts[p];
        struct span_place last = {part->text.begin, 0};
        for (size_t i = part->text.first; i < part->text.first + part->text.count; i++) {
            const struct tool_paragraph *paragraph = &documents->units->paragraphs[i];
            if (!paragraph->cut)
                continue;
            begin_record(documents, document, line);
            write_span(documents, &documents->removed, part, i, &last);
            end_record(documents, false, paragraph->weighed.against);
        }
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
