/* SPDX-License-Identifier: Apache-2.0 */
#include "key/wrong_form.h"

#include "base/numbers.h"
#include "base/statistics.h"
#include "tool.h"

#include <bloomery/records.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEPT_MAX = 1000, TEXT_MAX = 256 };

/* The chance at which a form's matches still count as chance. It is small: several are tried. */
static const double chance_max = 1e-3;

struct tool_hint {
    size_t count;
    size_t bytes[KEPT_MAX];
    unsigned char text[KEPT_MAX][TEXT_MAX];
};

static const struct form {
    uint32_t flag;  /* of a rule; 0: a carriage return is appended, unless a delimiter is given */
    char delimiter; /* the first field is taken; 0: all of the key is */
    const char *said;
    const char *does;    /* what to do */
    const char *instead; /* if options are not for the user to give; NULL: not looked at */
} forms[] = {
    {BLOOMERY_RULE_UPPER, 0, "in upper case", "use --upper",
     "change their letters first, as 'tr a-f A-F' does"},
    {BLOOMERY_RULE_LOWER, 0, "in lower case", "use --lower",
     "change their letters first, as 'tr A-F a-f' does"},
    {BLOOMERY_RULE_CRLF, 0, "without the carriage return at their end", "use --crlf", NULL},
    {BLOOMERY_RULE_TRIM, 0, "without the blanks around them", "use --trim", NULL},
    {BLOOMERY_RULE_HEX, 0, "as the bytes that their hexadecimal digits stand for", "use --hex",
     NULL},
    {BLOOMERY_RULE_INT64, 0, "as 64-bit numbers", "use --int64", NULL},
    {BLOOMERY_RULE_INT32, 0, "as 32-bit numbers", "use --int32", NULL},
    {BLOOMERY_RULE_UTF16, 0, "in UTF-16", "use --utf16", NULL},
    {0, 0, "with a carriage return at their end", "rebuild it with --crlf, or append one to them",
     NULL},
    {0, ':', "as the text before the colon", "use -d : -F 1", NULL},
    {0, ',', "as the text before the comma", "use -d , -F 1", NULL},
    {0, ';', "as the text before the semicolon", "use -d ';' -F 1", NULL},
    {0, '\t', "as the text before the tab", "use -F 1", NULL},
    {BLOOMERY_RULE_HEX, ':', "as the bytes of the hexadecimal digits before the colon",
     "use -d : -F 1 --hex", NULL},
};

enum { FORMS = sizeof(forms) / sizeof(forms[0]) };

struct tool_hint *tool_hint_new(void)
{
    struct tool_hint *hint = tool_allocate(sizeof(*hint));
    hint->count = 0;
    return hint;
}

void tool_hint_free(struct tool_hint *hint)
{
    free(hint);
}

void tool_hint_keep(struct tool_hint *hint, const bloomery_key *keys, size_t count)
{
    for (size_t i = 0; i < count && hint->count < KEPT_MAX; i++) {
        if (keys[i].bytes == 0 || keys[i].bytes > TEXT_MAX)
            continue;
        memcpy(hint->text[hint->count], keys[i].data, keys[i].bytes);
        hint->bytes[hint->count++] = keys[i].bytes;
    }
}

/* The kept key in this form. False if it has none, or is it already. */
static bool make(const struct tool_hint *hint, size_t i, const struct form *form,
                 unsigned char room[BLOOMERY_RULE_ROOM(TEXT_MAX)], bloomery_key *key)
{
    const bloomery_key_rule rule = {.flags = form->flag,
                                    .delimiter = (unsigned char)form->delimiter,
                                    .field = form->delimiter != 0};
    const unsigned char *text = hint->text[i];
    const size_t bytes = hint->bytes[i];
    if (form->flag == 0 && form->delimiter == 0) {
        memcpy(room, text, bytes);
        room[bytes] = '\r';
        *key = bloomery_key_of(room, bytes + 1);
        return text[bytes - 1] != '\r';
    }
    return bloomery_rule_apply(&rule, text, bytes, room, BLOOMERY_RULE_ROOM(TEXT_MAX), key, NULL) ==
               BLOOMERY_RECORD_KEY &&
           (key->bytes != bytes || memcmp(key->data, text, bytes) != 0);
}

/* How many of the kept keys may be in the filter in this form, of how many that have it. */
static size_t query_form(const struct tool_hint *hint, const struct form *form,
                         const bloomery_filter *filter, size_t *queried)
{
    unsigned char room[BLOOMERY_RULE_ROOM(TEXT_MAX)];
    size_t hits = 0;
    *queried = 0;
    for (size_t i = 0; i < hint->count; i++) {
        bloomery_key key;
        if (!make(hint, i, form, room, &key))
            continue;
        ++*queried;
        hits += bloomery_may_contain(filter, key);
    }
    return hits;
}

/* The chance of `hits` false positives among `queried` keys is below expected^hits / hits!. */
static bool by_chance(size_t hits, size_t queried, double rate)
{
    const double expected = (double)queried * rate;
    double chance = 1;
    for (size_t i = 1; i <= hits && chance > 0; i++)
        chance *= expected / (double)i;
    return chance > chance_max;
}

/* Whether all that was found may be false positives. */
static bool no_more_than_chance(const struct tool_hint_answer *answer, double rate)
{
    return answer->hits == 0 || (by_chance(answer->hits, answer->queried, rate) &&
                                 ((double)answer->hits <= (double)answer->queried * rate ||
                                  tool_plausible(answer->hits, answer->queried, rate)));
}

static void say(const struct form *form, const struct tool_hint_answer *answer, double rate)
{
    const char *does = answer->optional ? form->does : form->instead;
    char hits[TOOL_NUMBER_BYTES], queried[TOOL_NUMBER_BYTES], odds[TOOL_NUMBER_BYTES];
    if (answer->hits == 0)
        tool_error("hint: no key was found, but %s they match %s: %s", form->said, answer->name,
                   does);
    else
        tool_error(
            "hint: %s of %s keys were found, which may all be false positives of %s (%s). But %s "
            "they match it: %s",
            tool_format_count(hits, answer->hits), tool_format_count(queried, answer->queried),
            answer->name, tool_format_odds(odds, rate), form->said, does);
}

void tool_hint_say(const struct tool_hint *hint, const bloomery_filter *filter,
                   const struct tool_hint_answer *answer)
{
    const struct form *best = NULL;
    size_t best_hits = 0, best_queried = 0;
    for (size_t f = 0; f < FORMS; f++) {
        size_t queried;
        if (!answer->optional && forms[f].instead == NULL)
            continue;
        const size_t hits = query_form(hint, &forms[f], filter, &queried);
        if (hits > best_hits) {
            best = &forms[f];
            best_hits = hits;
            best_queried = queried;
        }
    }
    /* The rate takes a look at all bits. It is not needed if the keys are found as they are. */
    if (best == NULL || (double)answer->hits * (double)best_queried * 2 >
                            (double)answer->queried * (double)best_hits)
        return;
    bloomery_scan_result scan = BLOOMERY_SCAN_RESULT;
    bloomery_scan(filter, &scan);
    if (!by_chance(best_hits, best_queried, scan.live_rate) &&
        no_more_than_chance(answer, scan.live_rate))
        say(best, answer, scan.live_rate);
}
