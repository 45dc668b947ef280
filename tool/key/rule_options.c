/* SPDX-License-Identifier: Apache-2.0 */
/* Key rules on the command line and in messages. What they do to a record: rule.c. */
#include "base/numbers.h"
#include "key/rule.h"
#include "tool.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

const char *const tool_rule_names[TOOL_RULE_NAMES] = {
    "trim", "lower", "upper", "hex", "crlf", "skip-empty", "csv", "int64", "int32", "utf16"};
_Static_assert((1 << TOOL_RULE_NAMES) - 1 == BLOOMERY_RULE_KNOWN,
               "every flag of a key rule has a name");

/* ---- Options --------------------------------------------------------------------------------- */

static bool take_byte(const char *option, const char *text, uint32_t *byte)
{
    if (strcmp(text, "\\t") == 0 || strcmp(text, "tab") == 0)
        *byte = '\t';
    else if (text[0] != '\0' && text[1] == '\0')
        *byte = (unsigned char)text[0];
    else {
        tool_usage("%s '%s': it takes one byte, such as ';', or tab", option, text);
        return false;
    }
    return true;
}

static bool take_field_number(const char *text, int32_t *field)
{
    uint32_t number;
    bool from_end = text[0] == '-';
    if (!tool_option_small("-F", text + from_end, 1, INT32_MAX, &number))
        return false;
    *field = from_end ? -(int32_t)number : (int32_t)number;
    return true;
}

bool tool_rule_option(struct tool_rule_choice *choice, int option)
{
    bloomery_key_rule *rule = &choice->rule;
    switch (option) {
    case 'd':
        choice->delimiter_given = true;
        return take_byte("-d", optarg, &rule->delimiter);
    case 'F':
        return take_field_number(optarg, &rule->field);
    case TOOL_OPTION_COMMENT:
        return take_byte("--comment", optarg, &rule->comment);
    case TOOL_OPTION_CSV:
        rule->flags |= BLOOMERY_RULE_CSV;
        return true;
    case TOOL_OPTION_CRLF:
        rule->flags |= BLOOMERY_RULE_CRLF;
        return true;
    case TOOL_OPTION_TRIM:
        rule->flags |= BLOOMERY_RULE_TRIM;
        return true;
    case TOOL_OPTION_LOWER:
        rule->flags |= BLOOMERY_RULE_LOWER;
        return true;
    case TOOL_OPTION_UPPER:
        rule->flags |= BLOOMERY_RULE_UPPER;
        return true;
    case TOOL_OPTION_HEX:
        rule->flags |= BLOOMERY_RULE_HEX;
        return true;
    case TOOL_OPTION_INT64:
        rule->flags |= BLOOMERY_RULE_INT64;
        return true;
    case TOOL_OPTION_INT32:
        rule->flags |= BLOOMERY_RULE_INT32;
        return true;
    case TOOL_OPTION_UTF16:
        rule->flags |= BLOOMERY_RULE_UTF16;
        return true;
    case TOOL_OPTION_SKIP_EMPTY:
        rule->flags |= BLOOMERY_RULE_SKIP_EMPTY;
        return true;
    case TOOL_OPTION_KEEP_BOM:
        choice->keep_bom = true;
        return true;
    default:
        return false;
    }
}

bool tool_rule_complete(struct tool_rule_choice *choice)
{
    bloomery_key_rule *rule = &choice->rule;
    const bool csv = (rule->flags & BLOOMERY_RULE_CSV) != 0;
    const uint32_t cases = rule->flags & (TOOL_RULE_CHANGES & ~(uint32_t)BLOOMERY_RULE_UTF16);
    const uint32_t forms = rule->flags & TOOL_RULE_FORMS;
    if ((cases & (cases - 1)) != 0) {
        tool_usage("--lower, --upper, --hex, --int64 and --int32 exclude each other");
        return false;
    }
    if ((forms & (forms - 1)) != 0) {
        tool_usage("--utf16 is for texts: it excludes --hex, --int64 and --int32");
        return false;
    }
    if (rule->field == 0 && (choice->delimiter_given || csv)) {
        tool_usage("%s is about fields; -F N says which of them is the key", csv ? "--csv" : "-d");
        return false;
    }
    if (csv && rule->delimiter == '"') {
        tool_usage("-d '\"': with --csv the double quote can't delimit fields");
        return false;
    }
    if (rule->field != 0 && !choice->delimiter_given)
        rule->delimiter = csv ? ',' : '\t';
    return true;
}

/* ---- Rules ----------------------------------------------------------------------------------- */

bool tool_rule_equal(const bloomery_key_rule *one, const bloomery_key_rule *other)
{
    return one->flags == other->flags && one->field == other->field &&
           one->delimiter == other->delimiter && one->comment == other->comment;
}

bloomery_key_rule tool_rule_of_keys(const bloomery_key_rule *rule)
{
    return (bloomery_key_rule){.flags = rule->flags & (BLOOMERY_RULE_TRIM | TOOL_RULE_CHANGES)};
}

enum { BYTE_NAME_BYTES = 12 };

static const char *byte_name(uint32_t byte, char text[BYTE_NAME_BYTES])
{
    if (byte == '\t')
        snprintf(text, BYTE_NAME_BYTES, "tab");
    else if (byte > 0x20 && byte < 0x7f)
        snprintf(text, BYTE_NAME_BYTES, "'%c'", (char)byte);
    else
        snprintf(text, BYTE_NAME_BYTES, "byte %u", (unsigned)(byte & 255));
    return text;
}

const char *tool_rule_describe(const bloomery_key_rule *rule, char text[TOOL_RULE_TEXT_BYTES])
{
    size_t used = 0;
    char name[BYTE_NAME_BYTES];
    text[0] = '\0';
    if (rule->field != 0)
        used += (size_t)snprintf(text, TOOL_RULE_TEXT_BYTES, "field %d, delimited by %s",
                                 (int)rule->field, byte_name(rule->delimiter, name));
    for (size_t i = 0; i < TOOL_RULE_NAMES; i++)
        if (rule->flags >> i & 1)
            used += (size_t)snprintf(text + used, TOOL_RULE_TEXT_BYTES - used, "%s%s",
                                     used > 0 ? ", " : "", tool_rule_names[i]);
    if (rule->comment != 0)
        used +=
            (size_t)snprintf(text + used, TOOL_RULE_TEXT_BYTES - used, "%scomments begin with %s",
                             used > 0 ? ", " : "", byte_name(rule->comment, name));
    assert(used < TOOL_RULE_TEXT_BYTES);
    return text;
}

/* What an option says that the filter's rule does not; NULL where they agree. */
static const char *difference(const struct tool_rule_choice *choice, const bloomery_key_rule *kept)
{
    const bloomery_key_rule *queried = &choice->rule;
    static char option[32];
    for (size_t i = 0; i < TOOL_RULE_NAMES; i++)
        if ((queried->flags & ~kept->flags) >> i & 1) {
            snprintf(option, sizeof(option), "--%s", tool_rule_names[i]);
            return option;
        }
    if (queried->field != 0 && queried->field != kept->field) {
        snprintf(option, sizeof(option), "-F %d", (int)queried->field);
        return option;
    }
    if (choice->delimiter_given && queried->delimiter != kept->delimiter)
        return "-d";
    return queried->comment != 0 && queried->comment != kept->comment ? "--comment" : NULL;
}

bool tool_rule_settle(const struct tool_rule_choice *choice, const char *path,
                      const bloomery_filter *filter, bool queries, bloomery_key_rule *rule)
{
    char text[TOOL_RULE_TEXT_BYTES];
    bloomery_info info = BLOOMERY_INFO;
    bloomery_info_get(filter, false, &info);
    *rule = info.rule;
    if (tool_rule_is_none(&choice->rule))
        return true;
    if (tool_rule_is_none(&info.rule) && queries) {
        *rule = choice->rule;
        return true;
    }
    const char *what = difference(choice, &info.rule);
    if (what == NULL)
        return true;
    if (tool_rule_is_none(&info.rule))
        tool_error("%s: %s: its keys are whole lines; a filter's rule is given when it is built",
                   path, what);
    else
        tool_error("%s: %s: its keys are made by another rule: %s. Leave the option out: the rule "
                   "is followed without it",
                   path, what, tool_rule_describe(&info.rule, text));
    return false;
}

/* ---- What was passed over -------------------------------------------------------------------- */

void tool_tally_place(struct tool_tally *tally, const struct tool_chunks *chunks)
{
    if (tally->malformed > 0 && tally->input != NULL)
        tally->line = tool_chunks_line(chunks, tally->chunk_number, tally->record);
}

static const char *wrong_form(const bloomery_key_rule *rule)
{
    if ((rule->flags & BLOOMERY_RULE_HEX) != 0)
        return "is not pairs of hexadecimal digits";
    if ((rule->flags & BLOOMERY_RULE_INT64) != 0)
        return "is no whole number from -2^63 to 2^63-1";
    if ((rule->flags & BLOOMERY_RULE_INT32) != 0)
        return "is no whole number from -2^31 to 2^31-1";
    return "is no UTF-8";
}

bool tool_tally_say(const struct tool_tally *tally, const bloomery_key_rule *rule,
                    const char *consequence)
{
    char number[TOOL_NUMBER_BYTES];
    if (tally->without_field > 0)
        tool_warning("%s record%s had no field %d and %s passed over",
                     tool_format_count(number, tally->without_field),
                     tally->without_field == 1 ? "" : "s", (int)rule->field,
                     tally->without_field == 1 ? "was" : "were");
    if (tally->open_quotes > 0)
        tool_warning("%s record%s within quotes: a quoted field that goes over several lines is "
                     "not supported, each line was taken for a record",
                     tool_format_count(number, tally->open_quotes),
                     tally->open_quotes == 1 ? " ends" : "s end");
    if (tally->malformed == 0)
        return true;
    char more[TOOL_NUMBER_BYTES + 20] = "";
    if (tally->malformed > 1)
        snprintf(more, sizeof(more), " (nor %s %s more)", tally->malformed == 2 ? "is" : "are",
                 tool_format_count(number, tally->malformed - 1));
    char line[TOOL_NUMBER_BYTES + 8] = "";
    if (tally->line > 0)
        snprintf(line, sizeof(line), "line %llu: ", (unsigned long long)tally->line);
    tool_error("%s%s%s'%s' %s%s; %s", tally->input != NULL ? tool_path_said(tally->input) : "",
               tally->input != NULL ? ": " : "", line, tally->shown, wrong_form(rule), more,
               consequence);
    return false;
}

bool tool_tally_has_keys(const struct tool_tally *tally, const bloomery_key_rule *rule,
                         uint64_t keys)
{
    char delimiter[16];
    const unsigned char byte = (unsigned char)rule->delimiter;
    const bool tab = byte == '\t';
    if (keys > 0 || tally->without_field == 0)
        return true;
    tool_error("no record has a field %d, so there is no key; fields are delimited by %s%s%s (-d)",
               (int)rule->field, tab ? "" : "'",
               tab ? "tabs" : tool_show_bytes(delimiter, sizeof(delimiter), &byte, 1),
               tab ? "" : "'");
    return false;
}
