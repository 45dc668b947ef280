/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Key rules: how a record of the input becomes a key. bloomery_rule_apply has the order of the
 * steps. Three things are here.
 *
 * The options, the same for all commands that read records:
 *
 *     static const struct tool_option_group groups[] = {
 *         {.rows = options},
 *         TOOL_RULE_GROUPS("How a line becomes a key:", struct building, choice),
 *         TOOL_GROUPS_END,
 *     };
 *     if (!tool_options_read(argc, argv, &building, &code) ||
 *         !tool_rule_complete(&building.choice))
 *         ...
 *
 * The rule: choice.rule for a new filter; for an existing one, the result of tool_rule_settle.
 *
 * The keys of a batch of records, in each thread:
 *
 *     struct tool_made *made = tool_made_new();
 *     while ((count = tool_chunk_keys(&chunk, records)) > 0) {
 *         tool_rule_apply(&rule, &chunk, records, count, made);
 *         ... ask for or add the made->count keys at made->keys: one bit for each key ...
 *         tool_made_spread(made, count, bits_of_keys, bits_of_records);
 *         ... records without a key: those whose bit in made->with_key is not set ...
 *     }
 *     tool_tally_add(&total, &made->tally);
 *     tool_made_free(made);
 *
 * and at the end tool_tally_say. If tool_rule_is_none(&rule), records are the keys as they are, and
 * tool_rule_apply would only copy them.
 */
#ifndef BLOOMERY_TOOL_RULE_H
#define BLOOMERY_TOOL_RULE_H

#include "base/options.h"
#include "input/chunks.h"

#include <bloomery/bloomery.h>
#include <bloomery/records.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Options --------------------------------------------------------------------------------- */

/* The options about keys on the command line. Begins as zeros. */
struct tool_rule_choice {
    bloomery_key_rule rule;
    struct tool_layout layout; /* settings that no rule can hold; for tool_source.layout */
    bool field_given;          /* with -F; 0 is the whole record */
    bool delimiter_given;
    bool comment_given;
    bool crlf_implied; /* by --csv, and not given */
    bool keep_bom;     /* for tool_source.keep_bom */
    bool text;         /* and for tool_source.text */
    bool keys_only;    /* no input is read: keys are given by themselves */
    /* Further members of --jsonl, for a command that has room for them. */
    struct tool_json_path *more_paths; /* NULL: it has none */
    size_t more_count;
};

enum { TOOL_MORE_PATHS_MAX = 7 };

/* The rows of a table of options: what is read of an input, and the rule. Both are groups of a
 * struct tool_rule_choice; their values are complete only after tool_rule_complete. */
extern const struct tool_option tool_text_options[];
extern const struct tool_option tool_rule_options[];

/* The two groups, under one title. */
#define TOOL_RULE_GROUPS(said, structure, member)                         \
    {.title = (said),                                                     \
     .rows = tool_text_options,                                           \
     .offset = TOOL_MEMBER(structure, member, struct tool_rule_choice)},  \
    {                                                                     \
        .rows = tool_rule_options,                                        \
        .offset = TOOL_MEMBER(structure, member, struct tool_rule_choice) \
    }

/* The same for a command whose filter keeps the rule: its options are not listed. */
#define TOOL_KEPT_RULE_GROUPS(structure, member)                                            \
    {.rows = tool_text_options,                                                             \
     .offset = TOOL_MEMBER(structure, member, struct tool_rule_choice)},                    \
    {                                                                                       \
        .rows = tool_rule_options,                                                          \
        .offset = TOOL_MEMBER(structure, member, struct tool_rule_choice), .unlisted = true \
    }

/* After the last one: sets the default delimiter; false after a message if they do not go
 * together. */
bool tool_rule_complete(struct tool_rule_choice *choice);

/* Whether a filter can keep all that the options set; false after a message. For commands that read
 * no records but set how a filter's keys are made. */
bool tool_rule_is_kept(const struct tool_rule_choice *choice);

/* ---- Rules ----------------------------------------------------------------------------------- */

/* The names of the flags: row i is the flag 1 << i. */
enum { TOOL_RULE_NAMES = 12 };
extern const char *const tool_rule_names[TOOL_RULE_NAMES];

/* Those that define a key; those of them that make other bytes of it; and of these, those that not
 * every text can be made. The others (field, delimiter and comment) define how an input is laid
 * out. A filter keeps them as the default. */
#define TOOL_RULE_FORMS \
    (BLOOMERY_RULE_HEX | BLOOMERY_RULE_INT64 | BLOOMERY_RULE_INT32 | BLOOMERY_RULE_UTF16)
#define TOOL_RULE_OF_KEY \
    (BLOOMERY_RULE_TRIM | BLOOMERY_RULE_LOWER | BLOOMERY_RULE_UPPER | TOOL_RULE_FORMS)
/* Those that say that a layout goes with the rule, which no file keeps. */
#define TOOL_RULE_LAYOUT  (BLOOMERY_RULE_HEADER | BLOOMERY_RULE_ELSEWHERE)
#define TOOL_RULE_CHANGES (BLOOMERY_RULE_LOWER | BLOOMERY_RULE_UPPER | TOOL_RULE_FORMS)

/* Whether a key is a whole record. */
static inline bool tool_rule_is_none(const bloomery_key_rule *rule)
{
    return rule->flags == 0 && rule->field == 0 && rule->comment == 0;
}

/* Whether records of a source are the keys as they are. */
static inline bool tool_records_are_keys(const bloomery_key_rule *rule,
                                         const struct tool_source *source)
{
    return tool_rule_is_none(rule) && tool_layout_is_none(source->layout);
}

bool tool_rule_equal(const bloomery_key_rule *one, const bloomery_key_rule *other);

/* "field 3, delimited by tab; trim, lower" in `text`; "" for none. Returns `text`. */
enum { TOOL_RULE_TEXT_BYTES = 240 };
const char *tool_rule_describe(const bloomery_key_rule *rule, char text[TOOL_RULE_TEXT_BYTES]);

/* The rule for the file of a new filter: that of the options, and whether a layout goes with it. */
bloomery_key_rule tool_rule_to_keep(const struct tool_rule_choice *choice);

/* Whether the options give the layout that goes with a filter's rule. If no file keeps it, lines
 * would become other keys than the filter has. False after a message. */
bool tool_rule_is_laid_out(const struct tool_rule_choice *choice, const char *path,
                           const bloomery_key_rule *kept);

/* A filter's rule with the layout of the options, if they have one: see tool_rule_settle. */
bloomery_key_rule tool_rule_laid_out(const struct tool_rule_choice *choice,
                                     const bloomery_key_rule *kept);

/*
 * The rule for keys of an existing filter. The filter's own rule defines a key (TOOL_RULE_OF_KEY),
 * and options must agree with it. The options define how the input is laid out; without them, the
 * filter's rule does. A filter without a rule takes all options if the command only `queries`.
 * Adding keys of a form that the file does not keep is refused, and so are inputs without the
 * layout that goes with the rule (tool_rule_is_laid_out). False after a message that names what
 * differs.
 */
bool tool_rule_settle(const struct tool_rule_choice *choice, const char *path,
                      const bloomery_filter *filter, bool queries, bloomery_key_rule *rule);

/* Sets what a source has to know of the keys that are made of it by this rule. */
void tool_source_lay_out(struct tool_source *source, const struct tool_rule_choice *choice,
                         const bloomery_key_rule *rule);

/* The part of it about quotes: which line ends are within them. */
void tool_source_quote(struct tool_source *source, const struct tool_rule_choice *choice,
                       const bloomery_key_rule *rule);

/* The part of a rule that applies to a key given by itself (-k KEY): trim, and the changes of
 * bytes. */
bloomery_key_rule tool_rule_of_keys(const bloomery_key_rule *rule);

/* ---- Keys of records ------------------------------------------------------------------------- */

enum { TOOL_TALLY_PLACES = 10 };

/* Of a record. */
struct tool_place {
    uint64_t chunk_number;
    uint64_t record;   /* in its chunk */
    bool placed;       /* the line has been looked for */
    uint64_t line;     /* in its input, from 1 on; 0: not known */
    const char *input; /* its name; NULL: -k */
};

/* Records that gave no key although the rule does not skip them (as it does comments and empty
 * keys). */
struct tool_tally {
    uint64_t without_field;
    uint64_t broken;      /* no JSON, or nested too deep */
    uint64_t too_deep;    /* those of them */
    uint64_t malformed;   /* no hexadecimal digits, no number, no UTF-8 */
    uint64_t open_quotes; /* records that end within quotes; they have a key all the same */
    uint64_t headers;
    uint64_t passed_over; /* all without a key: comments, empty keys, and those above but the open
                             quotes */
    const struct tool_layout *layout; /* of the records; NULL: the rule's */
    bool kept; /* the command keeps records without a key, and does not pass over them */

    struct tool_place broken_at[TOOL_TALLY_PLACES]; /* the first that are not JSON */
    struct tool_place
        malformed_at; /* the first that no key can be made of; valid if there is one */
    char shown[80];   /* that record, escaped and cut */
};

/* The keys made of a batch of records. One thread's. */
struct tool_made {
    size_t count;                        /* of keys */
    uint64_t with_key[TOOL_BATCH_WORDS]; /* the records that have one */
    size_t malformed;                    /* records of this batch that no key can be made of */
    struct tool_tally tally;             /* of all batches so far */

    unsigned char *scratch; /* the keys that are not spans of their records */
    size_t capacity;
    bloomery_key keys[TOOL_BATCH_ROOM];
    bloomery_key texts[TOOL_BATCH_ROOM]; /* the keys as text, before TOOL_RULE_FORMS */
};

/* Never NULL. */
struct tool_made *tool_made_new(void);
void tool_made_free(struct tool_made *made);

/*
 * Makes keys of up to TOOL_BATCH_KEYS records; they are in the order of their records. Reads
 * nothing outside the records and changes nothing in them. Keys are spans of the records or of the
 * scratch: valid until the next call with this `made`, or until the records go. `chunk`: the
 * records' source, for messages; NULL if they come from elsewhere. Returns made->count.
 */
size_t tool_rule_apply(const bloomery_key_rule *rule, const struct tool_chunk *chunk,
                       const bloomery_key *records, size_t count, struct tool_made *made);

/* From a bit for each key to a bit for each of the `count` records: that of its key, or 0 if it has
 * none. The arrays are different ones. */
void tool_made_spread(const struct tool_made *made, size_t count, const uint64_t *of_keys,
                      uint64_t *of_records);

/* Bytes as a message shows them: a byte that is not printable ASCII as \xHH. Cut with "..." if
 * `room`, at least 8, is too small. Returns `text`. */
const char *tool_show_bytes(char *text, size_t room, const void *data, size_t bytes);

/* Notes a record that is not JSON, or nested too deep. `left`: how many of those taken out of the
 * chunk come from this one on, itself included. A thread's chunks come in the order of the input,
 * so its first places are its earliest. */
void tool_tally_note_broken(struct tool_tally *tally, const struct tool_chunk *chunk, size_t left,
                            bool too_deep);

/* Sums of threads. */
void tool_tally_add(struct tool_tally *into, const struct tool_tally *from);

/* Finds the line of the first record that no key can be made of; before the chunks are closed. */
void tool_tally_place(struct tool_tally *tally, const struct tool_chunks *chunks);

/* Warns of records without the field, and of quotes left open. Reports the record of which no key
 * can be made. That is an error for the caller to act on, and `consequence` ends the sentence
 * ("nothing was added"). True if there was none. */
bool tool_tally_say(const struct tool_tally *tally, const bloomery_key_rule *rule,
                    const char *consequence);

/* False after an error if there is not one key because no record had the key's field. The field or
 * the delimiter is a mistake then. `keys`: how many there were. */
bool tool_tally_has_keys(const struct tool_tally *tally, const bloomery_key_rule *rule,
                         uint64_t keys);

/* ---- Batches of keys ------------------------------------------------------------------------- */

/* Batches of keys, as an address and a length each, for calls that cannot fail.
 *
 * Returns how many of the keys the filter may have. Bit i & 63 of word i >> 6 of `answers`, which
 * may be NULL, is set for these. A filter that was opened without its secret may have every key,
 * and so the status says nothing more. */
static inline size_t tool_batch_query(const bloomery_filter *filter, const bloomery_key *list,
                                      size_t count, uint64_t *answers)
{
    const bloomery_keys keys = bloomery_keys_of_list(list, count);
    bloomery_counts counts;
    (void)bloomery_may_contain_keys(filter, &keys, answers, &counts, NULL);
    return counts.positive;
}

/* Hashes the keys. BLOOMERY_UNSUPPORTED if they have positions and no hash, as in some filters of
 * other systems. */
static inline bloomery_status tool_batch_hash(const bloomery_filter *filter,
                                              const bloomery_key *list, size_t count,
                                              bloomery_hash *hashes)
{
    const bloomery_keys keys = bloomery_keys_of_list(list, count);
    return bloomery_hash_keys(filter, &keys, hashes, NULL);
}

#endif /* BLOOMERY_TOOL_RULE_H */
