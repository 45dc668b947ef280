/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A report is a list of facts, and one function prints it, as text for people or as one JSON
 * object:
 *
 *     static const struct tool_report_form form = {.indent = 2, .label = 17};
 *     struct tool_report *report = tool_report_start("inspect", form);
 *     tool_report_line(report, "%s: a Bloomery filter", path);
 *     tool_fact(report, "bytes", "memory", tool_size(info->bytes));
 *     tool_fact(report, "seed", NULL, tool_decimal(info->seed));
 *     tool_fact_say(report, "keys in it", "about %s", TOOL_SAY_COUNT(keys));
 *     return tool_report_print(report, json, TOOL_FOUND);
 *
 *       ids.bloom: a Bloomery filter              {
 *         memory           23.6 MiB                 "schema": 1,
 *         keys in it       about 20,000,000         "command": "inspect",
 *                                                   "bytes": 24773120,
 *                                                   "seed": "0"
 *                                                 }
 *
 * A fact has a name, by which JSON has it, and a label, by which the text has it. Without a label
 * it is in JSON alone, without a name in the text alone: there a sentence often says what several
 * facts of the object are. Both keep the order in which facts are added. The unit of a value
 * decides its form: JSON has numbers unrounded and sizes in bytes, and the text has "23.6 MiB".
 * Values that may take all 64 bits (seeds, fingerprints) are strings in JSON, because many readers
 * keep numbers as doubles.
 *
 * Lists and objects nest, and a table is a list of rows: JSON has all facts of a row, the text has
 * those that its columns name. Every object begins with "schema": 1. Later versions add names and
 * never change one.
 *
 * Running out of memory ends the program with a message.
 */
#ifndef BLOOMERY_TOOL_REPORT_H
#define BLOOMERY_TOOL_REPORT_H

#include "base/numbers.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Values ---------------------------------------------------------------------------------- */

/* The unit of a value, and its form in JSON and in the text. */
enum tool_unit {
    TOOL_NOTHING,    /* null, and "-" */
    TOOL_IS_YES,     /* true, and "yes" */
    TOOL_IS_COUNT,   /* 20000000, and "20,000,000" */
    TOOL_IS_INTEGER, /* -3, and "-3" */
    TOOL_IS_SIZE,    /* 24773120, and "23.6 MiB" */
    TOOL_IS_NUMBER,  /* 0.009983, and "0.00998"; not finite: null */
    TOOL_IS_ODDS,    /* 0.01, and "1 in 100" */
    TOOL_IS_ABOUT,   /* an estimated count: 1234.56, and "1,235" */
    TOOL_IS_SECONDS, /* 200.5, and "3 min 20 s" */
    TOOL_IS_DECIMAL, /* "18446744073709551615", and the same */
    TOOL_IS_HEX,     /* "00000000deadbeef", and the same */
    TOOL_IS_TEXT,
};

struct tool_value {
    enum tool_unit unit;
    union {
        bool yes;
        uint64_t count;
        int64_t integer;
        double number;
        const char *text; /* tool_fact copies it */
    };
};

static inline struct tool_value tool_null(void)
{
    return (struct tool_value){.unit = TOOL_NOTHING};
}

static inline struct tool_value tool_yes(bool yes)
{
    return (struct tool_value){.unit = TOOL_IS_YES, .yes = yes};
}

static inline struct tool_value tool_count(uint64_t count)
{
    return (struct tool_value){.unit = TOOL_IS_COUNT, .count = count};
}

static inline struct tool_value tool_integer(int64_t integer)
{
    return (struct tool_value){.unit = TOOL_IS_INTEGER, .integer = integer};
}

static inline struct tool_value tool_size(uint64_t bytes)
{
    return (struct tool_value){.unit = TOOL_IS_SIZE, .count = bytes};
}

static inline struct tool_value tool_number(double number)
{
    return (struct tool_value){.unit = TOOL_IS_NUMBER, .number = number};
}

static inline struct tool_value tool_odds(double rate)
{
    return (struct tool_value){.unit = TOOL_IS_ODDS, .number = rate};
}

static inline struct tool_value tool_about(double count)
{
    return (struct tool_value){.unit = TOOL_IS_ABOUT, .number = count};
}

static inline struct tool_value tool_seconds(double seconds)
{
    return (struct tool_value){.unit = TOOL_IS_SECONDS, .number = seconds};
}

static inline struct tool_value tool_decimal(uint64_t number)
{
    return (struct tool_value){.unit = TOOL_IS_DECIMAL, .count = number};
}

static inline struct tool_value tool_hex(uint64_t number)
{
    return (struct tool_value){.unit = TOOL_IS_HEX, .count = number};
}

/* NULL is null. */
static inline struct tool_value tool_text(const char *text)
{
    return (struct tool_value){.unit = text != NULL ? TOOL_IS_TEXT : TOOL_NOTHING, .text = text};
}

/* The value, or null where it is not known. */
static inline struct tool_value tool_known(bool known, struct tool_value value)
{
    return known ? value : tool_null();
}

/* Numbers in the middle of a sentence, each with a buffer that lasts as long as the block. */
#define TOOL_SAY_BUFFER        ((char[TOOL_NUMBER_BYTES]){""})
#define TOOL_SAY_COUNT(count)  tool_format_count(TOOL_SAY_BUFFER, (count))
#define TOOL_SAY_SIZE(bytes)   tool_format_size(TOOL_SAY_BUFFER, (bytes))
#define TOOL_SAY_ODDS(rate)    tool_format_odds(TOOL_SAY_BUFFER, (rate))
#define TOOL_SAY_RATE(rate)    tool_format_rate(TOOL_SAY_BUFFER, (rate))
#define TOOL_SAY_EXACT(number) tool_format_exact(TOOL_SAY_BUFFER, (number))
#define TOOL_SAY_ABOUT(count)  tool_format_count(TOOL_SAY_BUFFER, (uint64_t)((count) + 0.5))

/* ---- Reports --------------------------------------------------------------------------------- */

/* How a line of the text is set: blanks before it, the width of labels, and that of values, which
 * stand at its right end; 0: they stand at the left. */
struct tool_report_form {
    int indent, label, value;
};

/* The list of facts: a report, and an object, a list or a row in it. */
struct tool_report;

struct tool_report *tool_report_start(const char *command, struct tool_report_form form);

/* A fact. In a list, whose elements have no names, `name` is NULL. */
void tool_fact(struct tool_report *report, const char *name, const char *label,
               struct tool_value value);

/* A note behind the value of the last fact, in the text alone. */
void tool_fact_note(struct tool_report *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A fact of the text alone, in words. */
void tool_fact_say(struct tool_report *report, const char *label, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A whole line of the text, which has no label, such as a title; and an empty one. */
void tool_report_line(struct tool_report *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void tool_report_blank(struct tool_report *report);

/* An object or a list in JSON alone, to which facts can be added for as long as `report` lives.
 * Without a name it is an element of a list. */
struct tool_report *tool_fact_object(struct tool_report *report, const char *name);
struct tool_report *tool_fact_list(struct tool_report *report, const char *name);

/* A column of a table in the text. `fact` is the label of the fact that it shows, or the name of
 * one without a label; a row that lacks it has a blank field. Widths are printf's: below 0, the
 * field stands at the left. The caller's columns live as long as the report. */
struct tool_column {
    const char *fact;
    const char *head;
    int width;
};

struct tool_table {
    const char *indent, *gap; /* before the first column, and before each other one */
    const struct tool_column *columns;
    size_t count;
};

/* A list of rows in JSON (`name` NULL: not there), and a table with a head in the text. A row is an
 * object; `shown`: whether the text has it, too. */
struct tool_report *tool_fact_table(struct tool_report *report, const char *name,
                                    const struct tool_table *table);
struct tool_report *tool_fact_row(struct tool_report *table, bool shown);

/* ---- Printing -------------------------------------------------------------------------------- */

/* Prints a report on stdout, as JSON or as text, frees it, and returns `code`, or TOOL_ERROR after
 * a message if writing failed. */
int tool_report_print(struct tool_report *report, bool json, int code);

/* The same as JSON on stderr, for commands whose stdout has something else. */
void tool_report_say_json(struct tool_report *report);

void tool_report_free(struct tool_report *report);

#endif /* BLOOMERY_TOOL_REPORT_H */
