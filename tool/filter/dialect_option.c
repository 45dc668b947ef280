/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/dialect_option.h"

#include "base/numbers.h"
#include "tool.h"

#include <bloomery/records.h>

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum value {
    VALUE_TEXT,
    VALUE_COUNT,
    VALUE_SIZE,
    VALUE_SMALL,
    VALUE_RATE,
    VALUE_NUMBER,
    VALUE_SEED
};

static const struct parameter {
    const char *name;
    const char *other; /* what other systems call it; NULL: nothing else */
    enum value value;
    size_t offset;
} parameters[] = {
#define FIELD(name) offsetof(bloomery_dialect_parameters, name)
    {"variant", NULL, VALUE_TEXT, FIELD(variant)},
    {"keys", "n", VALUE_COUNT, FIELD(keys)},
    {"rate", "p", VALUE_RATE, FIELD(rate)},
    {"bits", "m", VALUE_COUNT, FIELD(bits)},
    {"bytes", "size", VALUE_SIZE, FIELD(bytes)},
    {"probes", "k", VALUE_SMALL, FIELD(probes)},
    {"bits_per_key", "bpk", VALUE_NUMBER, FIELD(bits_per_key)},
    {"seed", NULL, VALUE_SEED, FIELD(seed)},
    {"growth", "expansion", VALUE_SMALL, FIELD(growth)},
    {"columns", NULL, VALUE_SMALL, FIELD(columns)},
    {"index", NULL, VALUE_SEED, FIELD(index)},
    {"cell_bits", NULL, VALUE_SMALL, FIELD(cell_bits)},
    {"slots", "bucketsize", VALUE_SMALL, FIELD(slots)},
    {"iterations", "maxiterations", VALUE_SMALL, FIELD(iterations)},
#undef FIELD
};

enum { PARAMETERS = sizeof(parameters) / sizeof(parameters[0]), WORD_BYTES = 64, NAMES_MAX = 64 };

/* ---- Names ----------------------------------------------------------------------------------- */

bool tool_dialect_list_has(const char *list, const char *name)
{
    const size_t length = strlen(name);
    while (list != NULL && *list != '\0') {
        if (strcspn(list, ",") == length && memcmp(list, name, length) == 0)
            return true;
        list += strcspn(list, ",");
        list += strspn(list, ", ");
    }
    return false;
}

const char *tool_dialect_names(char text[TOOL_DIALECT_NAMES_BYTES])
{
    const bloomery_dialect *dialect;
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t id = 1; (dialect = bloomery_dialect_get(id)) != NULL; id++)
        used += (size_t)snprintf(text + used, TOOL_DIALECT_NAMES_BYTES - used, "%s%s",
                                 id > 1 ? ", " : "", dialect->name);
    assert(used < TOOL_DIALECT_NAMES_BYTES);
    return text;
}

static void say_unknown_dialect(const char *option, const char *name)
{
    const char *names[NAMES_MAX];
    const bloomery_dialect *dialect;
    char all[TOOL_DIALECT_NAMES_BYTES];
    size_t count = 0;
    for (uint32_t id = 1; count < NAMES_MAX && (dialect = bloomery_dialect_get(id)) != NULL; id++)
        names[count++] = dialect->name;
    const char *nearest = tool_nearest(name, names, count);
    if (nearest != NULL)
        tool_usage("%s: unknown dialect '%s'; did you mean '%s'?", option, name, nearest);
    else
        tool_usage("%s: unknown dialect '%s'; they are %s", option, name, tool_dialect_names(all));
}

static const struct parameter *find_parameter(const char *option, const char *name)
{
    const char *names[PARAMETERS];
    char plain[2 * WORD_BYTES];
    snprintf(plain, sizeof(plain), "%s", name);
    for (char *dash = plain; (dash = strchr(dash, '-')) != NULL;)
        *dash = '_';
    for (size_t i = 0; i < PARAMETERS; i++) {
        names[i] = parameters[i].name;
        if (strcmp(plain, parameters[i].name) == 0 ||
            (parameters[i].other != NULL && strcmp(plain, parameters[i].other) == 0))
            return &parameters[i];
    }
    const char *nearest = tool_nearest(plain, names, PARAMETERS);
    if (nearest != NULL)
        tool_usage("%s: unknown parameter '%s'; did you mean '%s'?", option, name, nearest);
    else
        tool_usage("%s: unknown parameter '%s'; 'bloomery dialects' says which there are", option,
                   name);
    return NULL;
}

/* ---- Values ---------------------------------------------------------------------------------- */

/* Also a negative number, for systems whose numbers have a sign. */
static bool read_seed(const char *text, uint64_t *value)
{
    const bloomery_key_rule number = {.flags = BLOOMERY_RULE_INT64};
    unsigned char bytes[8];
    bloomery_key key;
    if (text[0] != '-')
        return tool_parse_count(text, value);
    if (bloomery_rule_apply(&number, text, strlen(text), bytes, sizeof(bytes), &key, NULL) !=
        BLOOMERY_RECORD_KEY)
        return false;
    *value = 0;
    for (size_t i = sizeof(bytes); i-- > 0;)
        *value = *value << 8 | bytes[i];
    return true;
}

/* A value of 0 counts as not given, so only seeds and indexes, whose default it is, may be 0. */
static bool read_whole(enum value kind, const char *text, void *to)
{
    uint64_t value = 0;
    bool good = kind == VALUE_SEED   ? read_seed(text, &value)
                : kind == VALUE_SIZE ? tool_parse_size(text, &value)
                                     : tool_parse_count(text, &value);
    good =
        good && (kind == VALUE_SEED || value > 0) && (kind != VALUE_SMALL || value <= UINT32_MAX);
    const uint32_t small = (uint32_t)value;
    if (good && kind == VALUE_SMALL)
        memcpy(to, &small, sizeof(small));
    else if (good)
        memcpy(to, &value, sizeof(value));
    return good;
}

static bool read_value(const struct parameter *parameter, const char *text,
                       struct tool_dialect_choice *choice)
{
    void *to = (char *)&choice->parameters + parameter->offset;
    double number = 0;
    switch (parameter->value) {
    case VALUE_TEXT:
        if (text[0] == '\0' || strlen(text) >= sizeof(choice->variant))
            return false;
        memcpy(choice->variant, text, strlen(text) + 1);
        choice->parameters.variant = choice->variant;
        return true;
    case VALUE_RATE:
    case VALUE_NUMBER:
        if (!tool_parse_rate(text, &number) || !(number > 0) || !isfinite(number))
            return false;
        memcpy(to, &number, sizeof(number));
        return true;
    default:
        return read_whole(parameter->value, text, to);
    }
}

static const char *wanted(enum value value)
{
    switch (value) {
    case VALUE_TEXT:
        return "a name";
    case VALUE_SIZE:
        return "a size, such as 65536 or 1MiB";
    case VALUE_RATE:
        return "a rate, such as 0.01";
    case VALUE_NUMBER:
        return "a number above 0, such as 10 or 9.9";
    case VALUE_SEED:
        return "a whole number";
    case VALUE_SMALL:
        return "a whole number from 1 to 4,294,967,295";
    default:
        return "a whole number from 1 on, such as 20000000 or 20M";
    }
}

/* ---- The option ------------------------------------------------------------------------------ */

/* The next word of a list separated by commas. False if it is too long to be any. */
static bool next_word(const char **text, char word[2 * WORD_BYTES])
{
    const size_t length = strcspn(*text, ",");
    if (length >= (size_t)2 * WORD_BYTES)
        return false;
    memcpy(word, *text, length);
    word[length] = '\0';
    *text += length + ((*text)[length] == ',');
    return true;
}

static bool take_parameter(const char *option, char *word, uint32_t *given,
                           struct tool_dialect_choice *choice)
{
    char *equals = strchr(word, '=');
    if (equals == NULL) {
        tool_usage("%s: '%s' has no value: parameters are written as name=value", option, word);
        return false;
    }
    *equals = '\0';
    const struct parameter *parameter = find_parameter(option, word);
    if (parameter == NULL)
        return false;
    const uint32_t bit = UINT32_C(1) << (parameter - parameters);
    if ((*given & bit) != 0) {
        tool_usage("%s: %s is given twice", option, parameter->name);
        return false;
    }
    *given |= bit;
    choice->has_parameters = true;
    if (read_value(parameter, equals + 1, choice))
        return true;
    tool_usage("%s: %s=%s: it takes %s", option, word, equals + 1, wanted(parameter->value));
    return false;
}

bool tool_dialect_option(const char *option, const char *text, struct tool_dialect_choice *choice)
{
    char word[2 * WORD_BYTES];
    const char *const all = text;
    uint32_t given = 0;
    _Static_assert(PARAMETERS <= 32, "a bit for each");
    *choice = (struct tool_dialect_choice){.ours_too = choice->ours_too,
                                           .parameters = BLOOMERY_DIALECT_PARAMETERS};
    assert(strlen(option) < sizeof(choice->option));
    memcpy(choice->option, option, strlen(option) + 1);
    bool more = true;
    while (more && next_word(&text, word)) {
        if (choice->dialect != NULL) {
            if (!take_parameter(option, word, &given, choice))
                return false;
        } else {
            /* Capitals and underscores as in the systems' own names: DCSO, pybloom_live. */
            char name[sizeof(word)];
            snprintf(name, sizeof(name), "%s", word);
            for (char *at = name; *at != '\0'; at++)
                *at = (char)(*at >= 'A' && *at <= 'Z' ? *at | 0x20 : *at == '_' ? '-' : *at);
            choice->dialect = bloomery_dialect_find(name);
            if (choice->dialect == NULL) {
                say_unknown_dialect(option, word);
                return false;
            }
        }
        more = *text != '\0';
    }
    if (more)
        tool_usage("%s '%.40s...': a name or a value is too long", option, all);
    return !more;
}

bool tool_take_dialect(const char *option, const char *text, void *at)
{
    return tool_dialect_option(option, text, at);
}
