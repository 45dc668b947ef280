/* SPDX-License-Identifier: Apache-2.0 */
/* Key rules on the command line and in messages. Their effect on a record: rule.c. */
#include "base/numbers.h"
#include "input/layout.h"
#include "key/rule.h"
#include "tool.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

const char *const tool_rule_names[TOOL_RULE_NAMES] = {"trim",  "lower",      "upper",  "hex",
                                                      "crlf",  "skip-empty", "csv",    "int64",
                                                      "int32", "utf16",      "header", "elsewhere"};
_Static_assert(1 << (TOOL_RULE_NAMES - 1) == BLOOMERY_RULE_ELSEWHERE,
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

/* One number goes into the rule, which a filter can keep. 0 is the whole record. */
static bool take_fields(struct tool_rule_choice *choice, const char *text)
{
    if (choice->field_given) {
        tool_usage("-F is given twice; the fields of a key are named together, as in -F 1,3");
        return false;
    }
    choice->field_given = true;
    choice->rule.field = 0;
    if (strcmp(text, "0") == 0)
        return true;
    if (!tool_layout_take_fields(&choice->layout, text))
        return false;
    if (choice->layout.field_count == 1 && choice->layout.fields[0].number != 0) {
        choice->rule.field = choice->layout.fields[0].number;
        choice->layout.field_count = 0;
    }
    return true;
}

/* As functions of rows: `at` is the whole choice. */
static bool take_text(const char *option, const char *text, void *at)
{
    struct tool_rule_choice *choice = at;
    (void)option;
    (void)text;
    choice->keep_bom = choice->text = true;
    return true;
}

static bool take_delimiter(const char *option, const char *text, void *at)
{
    struct tool_rule_choice *choice = at;
    choice->delimiter_given = true;
    return take_byte(option, text, &choice->rule.delimiter);
}

static bool take_comment(const char *option, const char *text, void *at)
{
    struct tool_rule_choice *choice = at;
    choice->comment_given = true;
    choice->rule.comment = 0;
    return text[0] == '\0' || take_byte(option, text, &choice->rule.comment);
}

static bool take_field(const char *option, const char *text, void *at)
{
    (void)option;
    return take_fields(at, text);
}

static bool take_jsonl(const char *option, const char *text, void *at)
{
    struct tool_rule_choice *choice = at;
    (void)option;
    if (choice->layout.jsonl && choice->more_paths == NULL)
        return !tool_usage("--jsonl is given twice; a key is one member of a line");
    if (choice->more_count == TOOL_MORE_PATHS_MAX)
        return !tool_usage("--jsonl is given more than %d times", TOOL_MORE_PATHS_MAX + 1);
    struct tool_json_path *path =
        choice->layout.jsonl ? &choice->more_paths[choice->more_count++] : &choice->layout.path;
    choice->layout.jsonl = true;
    return tool_json_path_parse(text, path) ||
           !tool_usage("--jsonl '%s': is not a path to a member, such as url or meta.id", text);
}

#define RULE_BITS(bit) TOOL_BITS(struct tool_rule_choice, rule.flags, BLOOMERY_RULE_##bit)

const struct tool_option tool_text_options[] = {
    {0, "keep-bom", NULL, TOOL_FLAG(struct tool_rule_choice, keep_bom),
     .help = "keep a UTF-8 byte order mark at the start of an input. It is then part of the first "
             "line; by default it is dropped. The option is not stored: give it each time"},
    {0, "text", NULL, TOOL_CALL_WHOLE(take_text),
     .help = "treat inputs as text even if they look compressed, binary or like UTF-16 (as "
             "grep -a). A byte order mark is kept"},
    TOOL_OPTIONS_END,
};

const struct tool_option tool_rule_options[] = {
    {0, "crlf", NULL, RULE_BITS(CRLF), .help = "remove one carriage return from the end of a line"},
    {0, "comment", "C", TOOL_CALL_WHOLE(take_comment),
     .help = "treat lines that begin with the byte C as comments. They have no key"},
    {'F', "field", "N[,N...]", TOOL_CALL_WHOLE(take_field),
     .help = "use field N as the key; -1 is the last, 0 the whole line. Several fields are "
             "joined in the order given. A line that lacks one has no key. A warning reports "
             "how many lines lack the field. If no line has it, the exit code is 2"},
    {0, "header", NULL, TOOL_FLAG(struct tool_rule_choice, layout.header),
     .help = "read field names from the first line of each input, for use with -F. That line "
             "has no key; query and dedupe print that of the first input"},
    {0, "jsonl", "PATH", TOOL_CALL_WHOLE(take_jsonl),
     .help = "use the string or number at PATH in each JSON line as the key. A PATH is, for "
             "example, url or meta.id. It is not stored: give it each time, as with --header, "
             "field names and several fields"},
    {'d', "delimiter", "C", TOOL_CALL_WHOLE(take_delimiter),
     .help = "set the byte between fields (default tab; comma with --csv)"},
    {0, "csv", NULL, RULE_BITS(CSV),
     .help = "read CSV: a field may be in double quotes, with \"\" for a quote. It may then "
             "contain line ends. Implies --crlf"},
    {0, "trim", NULL, RULE_BITS(TRIM), .help = "remove blanks and tabs from both ends of the key"},
    {0, "lower", NULL, RULE_BITS(LOWER)},
    {0, "upper", NULL, RULE_BITS(UPPER),
     .help = "change ASCII letters of the key to lower or upper case"},
    {0, "hex", NULL, RULE_BITS(HEX), .help = "read the key as hexadecimal digits, two per byte"},
    {0, "int64", NULL, RULE_BITS(INT64)},
    {0, "int32", NULL, RULE_BITS(INT32),
     .help = "read the key as a decimal integer. It becomes 8 or 4 bytes, little-endian"},
    {0, "utf16", NULL, RULE_BITS(UTF16),
     .help = "convert the key from UTF-8 to UTF-16, little-endian"},
    {0, "skip-empty", NULL, RULE_BITS(SKIP_EMPTY),
     .help = "ignore empty keys: a line whose key is empty has no key"},
    TOOL_OPTIONS_END,
};

/* Several fields, and names, are the layout's; the rule then has none. */
static bool complete_layout(struct tool_rule_choice *choice)
{
    bloomery_key_rule *rule = &choice->rule;
    struct tool_layout *layout = &choice->layout;
    for (uint32_t i = 0; i < layout->field_count; i++)
        if (layout->fields[i].number == 0 && !layout->header) {
            const char *name = layout->fields[i].name;
            const int bytes = (int)layout->fields[i].bytes;
            if (strspn(name, "0123456789-") >= (size_t)bytes)
                tool_usage("-F %.*s: ranges are not supported; name each field, as in -F 2,3",
                           bytes, name);
            else
                tool_usage("-F %.*s: fields are numbers; with --header they can be named", bytes,
                           name);
            return false;
        }
    layout->delimiter = rule->delimiter;
    layout->flags = rule->flags & (BLOOMERY_RULE_CSV | BLOOMERY_RULE_CRLF);
    if (layout->field_count > 0) {
        rule->field = 0;
        rule->delimiter = 0;
        rule->flags &= ~(uint32_t)BLOOMERY_RULE_CSV;
    }
    return true;
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
    const bool fields = rule->field != 0 || choice->layout.field_count > 0;
    if (choice->layout.jsonl &&
        (choice->field_given || choice->delimiter_given || csv || choice->layout.header)) {
        tool_usage("--jsonl names a member of JSON lines, which have no fields for %s",
                   choice->field_given                             ? "-F"
                   : choice->delimiter_given                       ? "-d"
                   : (choice->rule.flags & BLOOMERY_RULE_CSV) != 0 ? "--csv"
                                                                   : "--header");
        return false;
    }
    if (!fields && (choice->delimiter_given || csv)) {
        tool_usage("%s is for fields; -F N says which of them is the key", csv ? "--csv" : "-d");
        return false;
    }
    if (csv && rule->delimiter == '"') {
        tool_usage("-d '\"': with --csv the double quote can't delimit fields");
        return false;
    }
    if (fields && !choice->delimiter_given)
        rule->delimiter = csv ? ',' : '\t';
    choice->crlf_implied = csv && (rule->flags & BLOOMERY_RULE_CRLF) == 0;
    rule->flags |= csv ? BLOOMERY_RULE_CRLF : 0; /* the line end of CSV (RFC 4180) is CR LF */
    return complete_layout(choice);
}

bool tool_rule_is_kept(const struct tool_rule_choice *choice)
{
    if (tool_layout_is_none(&choice->layout))
        return true;
    tool_usage("%s says how an input is laid out, which a filter does not store",
               choice->layout.jsonl    ? "--jsonl"
               : choice->layout.header ? "--header"
                                       : "-F with several fields");
    return false;
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
    if ((rule->flags & BLOOMERY_RULE_ELSEWHERE) != 0)
        used += (size_t)snprintf(text + used, TOOL_RULE_TEXT_BYTES - used,
                                 "%sa place that is not kept (-F, --jsonl)", used > 0 ? ", " : "");
    for (size_t i = 0; i < TOOL_RULE_NAMES; i++)
        if ((rule->flags & ~(uint32_t)BLOOMERY_RULE_ELSEWHERE) >> i & 1)
            used += (size_t)snprintf(text + used, TOOL_RULE_TEXT_BYTES - used, "%s%s",
                                     used > 0 ? ", " : "", tool_rule_names[i]);
    if (rule->comment != 0)
        used +=
            (size_t)snprintf(text + used, TOOL_RULE_TEXT_BYTES - used, "%scomments begin with %s",
                             used > 0 ? ", " : "", byte_name(rule->comment, name));
    assert(used < TOOL_RULE_TEXT_BYTES);
    return text;
}

/* The first option that is not in the filter's rule; NULL if they agree. */
static const char *difference(const struct tool_rule_choice *choice, const bloomery_key_rule *kept)
{
    static char option[32];
    for (size_t i = 0; i < TOOL_RULE_NAMES; i++)
        if ((choice->rule.flags & TOOL_RULE_OF_KEY & ~kept->flags) >> i & 1) {
            snprintf(option, sizeof(option), "--%s", tool_rule_names[i]);
            return option;
        }
    return NULL;
}

bloomery_key_rule tool_rule_to_keep(const struct tool_rule_choice *choice)
{
    const struct tool_layout *layout = &choice->layout;
    bloomery_key_rule rule = choice->rule;
    rule.flags |= layout->header ? BLOOMERY_RULE_HEADER : 0;
    rule.flags |= layout->jsonl || layout->field_count > 0 ? BLOOMERY_RULE_ELSEWHERE : 0;
    return rule;
}

bool tool_rule_is_laid_out(const struct tool_rule_choice *choice, const char *path,
                           const bloomery_key_rule *kept)
{
    const bool elsewhere = (kept->flags & BLOOMERY_RULE_ELSEWHERE) != 0;
    if ((kept->flags & TOOL_RULE_LAYOUT) == 0 || choice->field_given || choice->layout.jsonl ||
        (choice->layout.header && !elsewhere))
        return true;
    if (elsewhere)
        tool_error("%s: was built with fields by name, several fields or JSON, and does not store "
                   "which. Give the same -F or --jsonl again, with --csv, -d and --header; or -F 0 "
                   "if lines are keys",
                   path);
    else
        tool_error("%s: was built with --header. Give it again if the first line of an input names "
                   "its fields; if not, give -F %d",
                   path, (int)kept->field);
    return false;
}

bloomery_key_rule tool_rule_laid_out(const struct tool_rule_choice *choice,
                                     const bloomery_key_rule *kept)
{
    const uint32_t csv = BLOOMERY_RULE_CSV;
    bloomery_key_rule rule = *kept;
    rule.flags &= ~(uint32_t)TOOL_RULE_LAYOUT;
    if (choice->field_given || choice->layout.jsonl)
        rule.field = choice->rule.field;
    /* Another field, of records that are cut as before. */
    const bool cut_as_before =
        kept->field != 0 && !choice->delimiter_given && (choice->rule.flags & csv) == 0;
    if (rule.field == 0 || !cut_as_before) {
        rule.delimiter = rule.field != 0 ? choice->rule.delimiter : 0;
        rule.flags = (rule.flags & ~csv) | (rule.field != 0 ? choice->rule.flags & csv : 0);
    }
    if (choice->comment_given)
        rule.comment = choice->rule.comment;
    /* A filter of CSV says itself whether returns are part of its keys: --csv did not always imply
     * --crlf, and need not elsewhere. */
    uint32_t taken = BLOOMERY_RULE_CRLF | BLOOMERY_RULE_SKIP_EMPTY;
    if (choice->crlf_implied && (kept->flags & csv) != 0)
        taken = BLOOMERY_RULE_SKIP_EMPTY;
    rule.flags |= choice->rule.flags & taken;
    return rule;
}

bool tool_rule_settle(const struct tool_rule_choice *choice, const char *path,
                      const bloomery_filter *filter, bool queries, bloomery_key_rule *rule)
{
    char text[TOOL_RULE_TEXT_BYTES];
    bloomery_info info = BLOOMERY_INFO;
    bloomery_info_get(filter, &info);
    *rule = tool_rule_laid_out(choice, &info.rule);
    if (tool_rule_is_none(&info.rule) && queries) {
        *rule = choice->rule;
        return true;
    }
    const char *what = difference(choice, &info.rule);
    if (what == NULL)
        return choice->keys_only || tool_rule_is_laid_out(choice, path, &info.rule);
    if (tool_rule_is_none(&info.rule))
        tool_error("%s: %s: its keys are whole lines; such options are given when a filter "
                   "is built",
                   path, what);
    else
        tool_error("%s: %s: its keys are made by another rule: %s. Leave the option out: the rule "
                   "is followed without it",
                   path, what, tool_rule_describe(&info.rule, text));
    return false;
}

void tool_source_quote(struct tool_source *source, const struct tool_rule_choice *choice,
                       const bloomery_key_rule *rule)
{
    const bool several = choice->layout.field_count > 0;
    source->quotes = (struct tool_quotes){
        .heeded = ((several ? choice->layout.flags : rule->flags) & BLOOMERY_RULE_CSV) != 0,
        .delimiter = (unsigned char)(several ? choice->layout.delimiter : rule->delimiter),
        .comment = (unsigned char)rule->comment,
    };
}

void tool_source_lay_out(struct tool_source *source, const struct tool_rule_choice *choice,
                         const bloomery_key_rule *rule)
{
    source->keep_bom = choice->keep_bom;
    source->text = choice->text;
    source->returns_taken = (rule->flags & BLOOMERY_RULE_CRLF) != 0;
    source->cuts = *rule;
    source->layout = &choice->layout;
    tool_source_quote(source, choice, rule);
}

/* ---- What was passed over -------------------------------------------------------------------- */

static void place(struct tool_place *place, const struct tool_chunks *chunks)
{
    if (!place->placed && place->input != NULL)
        place->line = tool_chunks_line(chunks, place->chunk_number, place->record);
    place->placed = true;
}

void tool_tally_place(struct tool_tally *tally, const struct tool_chunks *chunks)
{
    if (tally->malformed > 0)
        place(&tally->malformed_at, chunks);
    for (size_t i = 0; i < TOOL_TALLY_PLACES && i < tally->broken; i++)
        place(&tally->broken_at[i], chunks);
}

/* What becomes of records without a key. */
static const char *say_fate(const struct tool_tally *tally, bool one, const char *passed_over)
{
    return !tally->kept ? passed_over : one ? "is printed unchecked" : "are printed unchecked";
}

/* "a.jsonl: 12 lines are not JSON and have no key: 3, 7, b.jsonl:2 and 9 more" */
static void say_broken(const struct tool_tally *tally)
{
    char number[TOOL_NUMBER_BYTES], list[400] = "";
    const char *input = tally->broken_at[0].input;
    size_t used = 0, told = 0;
    for (; told < TOOL_TALLY_PLACES && told < tally->broken && used < sizeof(list) - 60; told++) {
        const struct tool_place *at = &tally->broken_at[told];
        const bool other = at->input != NULL && input != NULL && strcmp(at->input, input) != 0;
        used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%.30s%s%llu",
                                 told > 0 ? ", " : "", other ? tool_path_said(at->input) : "",
                                 other ? ":" : "", (unsigned long long)at->line);
    }
    if (told < tally->broken)
        snprintf(list + used, sizeof(list) - used, " and %s more",
                 tool_format_count(number, tally->broken - told));
    const bool one = tally->broken == 1;
    char what[100] = "not JSON";
    if (tally->too_deep == tally->broken)
        snprintf(what, sizeof(what), "nested deeper than %d levels", TOOL_JSON_DEPTH);
    else if (tally->too_deep > 0)
        snprintf(what, sizeof(what), "not JSON, or nested deeper than %d levels", TOOL_JSON_DEPTH);
    tool_warning("%s: %s line%s %s and %s: %s", input != NULL ? tool_path_said(input) : "a key",
                 tool_format_count(number, tally->broken), one ? " is" : "s are", what,
                 say_fate(tally, one, one ? "has no key" : "have no key"), list);
}

static void say_without_field(const struct tool_tally *tally, const bloomery_key_rule *rule)
{
    char number[TOOL_NUMBER_BYTES], text[TOOL_LAYOUT_TEXT_BYTES];
    const bool one = tally->without_field == 1;
    const char *have = !tally->kept ? "had" : one ? "has" : "have";
    tool_format_count(number, tally->without_field);
    if (tally->layout != NULL && tally->layout->jsonl)
        tool_warning("%s line%s no string and no number at %s and %s", number,
                     one ? " has" : "s have", tool_layout_describe(tally->layout, text),
                     say_fate(tally, one, one ? "has no key" : "have no key"));
    else if (tally->layout != NULL)
        tool_warning("%s record%s %s no %s and %s", number, one ? "" : "s", have,
                     tool_layout_describe(tally->layout, text),
                     say_fate(tally, one, one ? "was skipped" : "were skipped"));
    else
        tool_warning("%s record%s %s no field %d and %s", number, one ? "" : "s", have,
                     (int)rule->field, say_fate(tally, one, one ? "was skipped" : "were skipped"));
}

bool tool_tally_say(const struct tool_tally *tally, const bloomery_key_rule *rule,
                    const char *consequence)
{
    char number[TOOL_NUMBER_BYTES];
    if (tally->broken > 0)
        say_broken(tally);
    if (tally->without_field > 0)
        say_without_field(tally, rule);
    if (tally->open_quotes > 0)
        tool_warning("%s record%s within quotes: where records end is decided by the rule of "
                     "another filter",
                     tool_format_count(number, tally->open_quotes),
                     tally->open_quotes == 1 ? " ends" : "s end");
    if (tally->malformed == 0)
        return true;
    char more[TOOL_NUMBER_BYTES + 20] = "";
    if (tally->malformed > 1)
        snprintf(more, sizeof(more), " (nor %s %s more)", tally->malformed == 2 ? "is" : "are",
                 tool_format_count(number, tally->malformed - 1));
    char line[TOOL_NUMBER_BYTES + 8] = "";
    const struct tool_place *at = &tally->malformed_at;
    if (at->line > 0)
        snprintf(line, sizeof(line), "line %llu: ", (unsigned long long)at->line);
    const char *wrong =
        (rule->flags & BLOOMERY_RULE_HEX) != 0     ? "is not pairs of hexadecimal digits"
        : (rule->flags & BLOOMERY_RULE_INT64) != 0 ? "is not a whole number from -2^63 to 2^64-1"
        : (rule->flags & BLOOMERY_RULE_INT32) != 0 ? "is not a whole number from -2^31 to 2^32-1"
                                                   : "is not UTF-8";
    tool_error("%s%s%s'%s' %s%s; %s", at->input != NULL ? tool_path_said(at->input) : "",
               at->input != NULL ? ": " : "", line, tally->shown, wrong, more, consequence);
    return false;
}

bool tool_tally_has_keys(const struct tool_tally *tally, const bloomery_key_rule *rule,
                         uint64_t keys)
{
    char delimiter[16];
    const unsigned char byte = (unsigned char)rule->delimiter;
    const bool tab = byte == '\t';
    if (keys > 0 || tally->without_field + tally->broken == 0)
        return true;
    if (tally->layout != NULL) {
        char text[TOOL_LAYOUT_TEXT_BYTES];
        tool_error("no record has %s%s, so no key was made",
                   tally->layout->jsonl ? "a string or a number at " : "",
                   tool_layout_describe(tally->layout, text));
        return false;
    }
    tool_error("no record has a field %d, so no key was made; fields are delimited by %s%s%s (-d)",
               (int)rule->field, tab ? "" : "'",
               tab ? "tabs" : tool_show_bytes(delimiter, sizeof(delimiter), &byte, 1),
               tab ? "" : "'");
    return false;
}
