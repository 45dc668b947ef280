/* SPDX-License-Identifier: Apache-2.0 */
#include "base/report.h"

#include "base/json.h"
#include "base/out.h"
#include "tool.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a fact is, beside a value. */
enum shape { PLAIN, LINE, LIST };

struct fact {
    const char *name, *label; /* constants */
    enum shape shape;
    struct tool_value value;
    char *text, *note;         /* copies of the value's text and of a note, or NULL */
    struct tool_report *inner; /* an object or a list */
};

struct tool_report {
    struct fact *facts;
    size_t count, room;
    struct tool_report_form form;   /* of a report */
    const struct tool_table *table; /* of a list that the text has, too */
    bool is_list, shown;
};

/* ---- Making ---------------------------------------------------------------------------------- */

static struct tool_report *new_list(bool is_list)
{
    struct tool_report *list = tool_allocate(sizeof(*list));
    *list = (struct tool_report){.is_list = is_list};
    return list;
}

static struct fact *append(struct tool_report *report, struct fact fact)
{
    assert(!report->is_list || fact.name == NULL); /* its elements have none */
    if (report->count == report->room) {
        report->room = 2 * report->room + 8;
        report->facts = tool_reallocate(report->facts, report->room * sizeof(*report->facts));
    }
    report->facts[report->count] = fact;
    return &report->facts[report->count++];
}

/* A formatted text of its own. */
static char *format_text(const char *format, va_list arguments)
    __attribute__((format(printf, 1, 0)));

static char *format_text(const char *format, va_list arguments)
{
    char *text;
    if (vasprintf(&text, format, arguments) < 0) {
        tool_error("not enough memory for the report");
        exit(TOOL_ERROR);
    }
    return text;
}

/* A fact whose value is this text, which it takes over. */
static void append_text(struct tool_report *report, enum shape shape, const char *label, char *text)
{
    append(report,
           (struct fact){.shape = shape, .label = label, .value = tool_text(text), .text = text});
}

struct tool_report *tool_report_start(const char *command, struct tool_report_form form)
{
    struct tool_report *report = new_list(false);
    report->form = form;
    tool_fact(report, "schema", NULL, tool_count(1));
    tool_fact(report, "command", NULL, tool_text(command));
    return report;
}

void tool_fact(struct tool_report *report, const char *name, const char *label,
               struct tool_value value)
{
    struct fact *fact = append(report, (struct fact){.name = name, .label = label, .value = value});
    if (value.unit == TOOL_IS_TEXT) {
        const size_t bytes = strlen(value.text) + 1;
        fact->value.text = fact->text = memcpy(tool_allocate(bytes), value.text, bytes);
    }
}

void tool_fact_note(struct tool_report *report, const char *format, ...)
{
    va_list arguments;
    assert(report->count > 0 && report->facts[report->count - 1].note == NULL);
    va_start(arguments, format);
    report->facts[report->count - 1].note = format_text(format, arguments);
    va_end(arguments);
}

void tool_fact_say(struct tool_report *report, const char *label, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    append_text(report, PLAIN, label, format_text(format, arguments));
    va_end(arguments);
}

void tool_report_line(struct tool_report *report, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    append_text(report, LINE, NULL, format_text(format, arguments));
    va_end(arguments);
}

void tool_report_blank(struct tool_report *report)
{
    tool_report_line(report, "%s", "");
}

static struct tool_report *append_list(struct tool_report *report, const char *name, bool is_list)
{
    struct tool_report *inner = new_list(is_list);
    append(report, (struct fact){.name = name, .shape = LIST, .inner = inner});
    return inner;
}

struct tool_report *tool_fact_object(struct tool_report *report, const char *name)
{
    return append_list(report, name, false);
}

struct tool_report *tool_fact_list(struct tool_report *report, const char *name)
{
    return append_list(report, name, true);
}

struct tool_report *tool_fact_table(struct tool_report *report, const char *name,
                                    const struct tool_table *table)
{
    struct tool_report *rows = append_list(report, name, true);
    rows->table = table;
    return rows;
}

struct tool_report *tool_fact_row(struct tool_report *table, bool shown)
{
    assert(table->is_list);
    struct tool_report *row = append_list(table, NULL, false);
    row->shown = shown;
    return row;
}

void tool_report_free(struct tool_report *report)
{
    for (size_t i = 0; i < report->count; i++) {
        struct fact *fact = &report->facts[i];
        if (fact->shape == LIST)
            tool_report_free(fact->inner);
        free(fact->text);
        free(fact->note);
    }
    free(report->facts);
    free(report);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_t *json_value(struct tool_value value)
{
    char text[TOOL_NUMBER_BYTES];
    switch (value.unit) {
    case TOOL_NOTHING:
        break;
    case TOOL_IS_YES:
        return tool_json_bool(value.yes);
    case TOOL_IS_COUNT:
    case TOOL_IS_SIZE:
        return tool_json_count(value.count);
    case TOOL_IS_INTEGER:
        return tool_json_integer(value.integer);
    case TOOL_IS_NUMBER:
    case TOOL_IS_ODDS:
    case TOOL_IS_ABOUT:
    case TOOL_IS_SECONDS:
        return tool_json_number(value.number);
    case TOOL_IS_DECIMAL:
        snprintf(text, sizeof(text), "%llu", (unsigned long long)value.count);
        return tool_json_text(text);
    case TOOL_IS_HEX:
        snprintf(text, sizeof(text), "%016llx", (unsigned long long)value.count);
        return tool_json_text(text);
    case TOOL_IS_TEXT:
        return tool_json_text(value.text);
    }
    return tool_json_null();
}

static json_t *json_of(const struct tool_report *report)
{
    json_t *json = report->is_list ? tool_json_array() : tool_json_object();
    for (size_t i = 0; i < report->count; i++) {
        const struct fact *fact = &report->facts[i];
        if (!report->is_list && fact->name == NULL)
            continue; /* of the text */
        json_t *value = fact->shape == LIST ? json_of(fact->inner) : json_value(fact->value);
        if (report->is_list)
            tool_json_append(json, value);
        else
            tool_json_add(json, fact->name, value);
    }
    return json;
}

/* ---- Text ------------------------------------------------------------------------------------ */

/* The text of a value; `number` is where one that is a number is written. */
static const char *text_of(struct tool_value value, char number[TOOL_NUMBER_BYTES])
{
    switch (value.unit) {
    case TOOL_NOTHING:
        break;
    case TOOL_IS_YES:
        return value.yes ? "yes" : "no";
    case TOOL_IS_COUNT:
        return tool_format_count(number, value.count);
    case TOOL_IS_INTEGER:
        snprintf(number, TOOL_NUMBER_BYTES, "%lld", (long long)value.integer);
        return number;
    case TOOL_IS_SIZE:
        return tool_format_size(number, value.count);
    case TOOL_IS_NUMBER:
        return tool_format_rate(number, value.number);
    case TOOL_IS_ODDS:
        return tool_format_odds(number, value.number);
    case TOOL_IS_ABOUT:
        return value.number < 1e18 ? tool_format_count(number, (uint64_t)(value.number + 0.5))
                                   : tool_format_rate(number, value.number);
    case TOOL_IS_SECONDS:
        return tool_format_duration(number, value.number);
    case TOOL_IS_DECIMAL:
        snprintf(number, TOOL_NUMBER_BYTES, "%llu", (unsigned long long)value.count);
        return number;
    case TOOL_IS_HEX:
        snprintf(number, TOOL_NUMBER_BYTES, "%016llx", (unsigned long long)value.count);
        return number;
    case TOOL_IS_TEXT:
        return value.text;
    }
    return "-";
}

/* Names and notes come from others, and a terminal obeys what is in them: tool_out_name shows
 * control characters as '?'. */
static void print_fact(struct tool_out *out, struct tool_report_form form, const struct fact *fact)
{
    char number[TOOL_NUMBER_BYTES];
    const char *text = text_of(fact->value, number);
    if (fact->shape == PLAIN) {
        tool_out_format(out, "%*s%-*s", form.indent, "", form.label, fact->label);
        if (strlen(text) < (size_t)form.value)
            tool_out_format(out, "%*s", form.value - (int)strlen(text), "");
    }
    tool_out_name(out, text);
    if (fact->note != NULL && fact->note[0] != '\0') {
        tool_out_text(out, "  ");
        tool_out_name(out, fact->note);
    }
    tool_out_text(out, "\n");
}

/* The text of a row's fact that a column shows. */
static const char *cell_of(const struct tool_report *row, const char *wanted,
                           char number[TOOL_NUMBER_BYTES])
{
    for (size_t i = 0; i < row->count; i++) {
        const struct fact *fact = &row->facts[i];
        const char *known_by = fact->label != NULL ? fact->label : fact->name;
        if (fact->shape == PLAIN && strcmp(known_by, wanted) == 0)
            return text_of(fact->value, number);
    }
    return "";
}

/* Prints the head of the table, or a row of it. */
static void print_row(struct tool_out *out, const struct tool_table *table,
                      const struct tool_report *row)
{
    char number[TOOL_NUMBER_BYTES];
    for (size_t i = 0; i < table->count; i++) {
        const struct tool_column *column = &table->columns[i];
        tool_out_format(out, "%s%*s", i == 0 ? table->indent : table->gap, column->width,
                        row != NULL ? cell_of(row, column->fact, number) : column->head);
    }
    tool_out_text(out, "\n");
}

int tool_report_print(struct tool_report *report, bool json, int code)
{
    if (json)
        code = tool_json_print(json_of(report), code);
    else {
        struct tool_out out;
        tool_out_start(&out);
        for (size_t i = 0; i < report->count; i++) {
            const struct fact *fact = &report->facts[i];
            if (fact->shape == LIST && fact->inner->table != NULL) {
                print_row(&out, fact->inner->table, NULL);
                for (size_t r = 0; r < fact->inner->count; r++)
                    if (fact->inner->facts[r].inner->shown)
                        print_row(&out, fact->inner->table, fact->inner->facts[r].inner);
            } else if (fact->shape == LINE || (fact->shape == PLAIN && fact->label != NULL))
                print_fact(&out, report->form, fact);
        }
        code = tool_out_finish(&out, code);
    }
    tool_report_free(report);
    return code;
}

void tool_report_say_json(struct tool_report *report)
{
    tool_json_say(json_of(report));
    tool_report_free(report);
}
