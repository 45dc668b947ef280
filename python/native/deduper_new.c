/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A new deduper: options as those of 'bloomery dedupe --unit', and where its keys are remembered: a
 * new filter or table, or one that was saved. The same options make the same filter as the
 * command's, to the byte.
 */
#include "deduper.h"
#include "units/word_breaks.h"

#include <stdlib.h>
#include <string.h>

enum {
    KEYS_DEFAULT = 1 << 20, /* of a filter that grows, if no number is given */
    MIN_WORDS_MAX = 1000000,
    TEXT_RULES = BLOOMERY_RULE_TRIM | BLOOMERY_RULE_LOWER | BLOOMERY_RULE_UPPER,
};

/* The arguments as they came. NULL or None: not given. */
struct given {
    const char *unit, *on_full;
    PyObject *keys, *rate, *memory, *exact, *ngram, *threshold, *min_words, *permutations, *bands,
        *rows, *against, *secret, *path, *data;
    int add_all, no_add, trim, lower, upper;
    /* What became of them. */
    uint64_t key_count, memory_bytes;
    double rate_number, threshold_number;
    uint32_t exact_bits, ngram_words;
    uint8_t secret_bytes[BLOOMERY_SECRET_BYTES];
    const uint8_t *secret_taken; /* NULL: none, or one that is drawn */
    bool keyed;
    /* By the note of a saved filter; 0: it does not say. */
    struct {
        const char *unit;
        double threshold;
        uint32_t words, bands, rows, values;
    } noted;
};

static bool is_given(const PyObject *object)
{
    return object != NULL && object != Py_None;
}

static bool refuse(const char *text)
{
    PyErr_SetString(PyExc_ValueError, text);
    return false;
}

/* ---- Options --------------------------------------------------------------------------------- */

/* A share or a rate: above 0, and below 1 or, if `whole`, up to it. 0 if it was not given. */
static bool take_share(PyObject *object, const char *name, bool whole, double *share)
{
    *share = 0;
    if (!is_given(object))
        return true;
    *share = PyFloat_AsDouble(object);
    if (*share == -1.0 && PyErr_Occurred() != NULL)
        return false;
    if (*share > 0 && (whole ? *share <= 1 : *share < 1))
        return true;
    PyErr_Format(PyExc_ValueError, "%s must be above 0 and %s 1", name, whole ? "up to" : "below");
    return false;
}

static bool take_small(PyObject *object, const char *name, uint32_t most, uint32_t *number)
{
    if (!native_small_take(object, name, number))
        return false;
    if (!is_given(object) || (*number >= 1 && *number <= most))
        return true;
    PyErr_Format(PyExc_ValueError, "%s must be from 1 to %u", name, most);
    return false;
}

static bool take_numbers(struct native_deduper *self, struct given *given)
{
    const bool is_near = strcmp(given->unit, "near") == 0;
    if (!native_count_take(given->keys, "keys", &given->key_count) ||
        !native_small_take(given->exact, "exact", &given->exact_bits) ||
        !take_share(given->rate, "rate", false, &given->rate_number) ||
        !take_share(given->threshold, "threshold", !is_near, &given->threshold_number) ||
        !take_small(given->ngram, "ngram", is_near ? BLOOMERY_NEAR_WORDS_MAX : TOOL_NGRAM_MAX,
                    &given->ngram_words) ||
        !native_small_take(given->min_words, "min_words", &self->judge.min_words) ||
        !take_small(given->permutations, "permutations", BLOOMERY_NEAR_VALUES_MAX,
                    &self->near.permutations) ||
        !take_small(given->bands, "bands", BLOOMERY_NEAR_VALUES_MAX, &self->near.forced_bands) ||
        !take_small(given->rows, "rows", BLOOMERY_NEAR_VALUES_MAX, &self->near.forced_rows))
        return false;
    if (is_given(given->keys) && given->key_count == 0)
        return refuse("keys must be at least 1");
    if (given->exact_bits != 0 && given->exact_bits != 64 && given->exact_bits != 128)
        return refuse("exact must be 64 or 128: the bits of a fingerprint");
    if (self->judge.min_words > MIN_WORDS_MAX)
        return refuse("min_words must be up to 1,000,000");
    if (given->rate_number >= 0.5)
        return refuse("rate must be below 0.5; with more, most new keys would be dropped");
    return true;
}

/* What is needed before a filter is opened. */
static bool take_access(struct given *given)
{
    given->keyed = given->secret == Py_True;
    if (!native_count_take(given->memory, "memory", &given->memory_bytes))
        return false;
    if (given->secret == Py_True || given->secret == Py_False)
        return true;
    if (!native_secret_take(given->secret, given->secret_bytes, &given->secret_taken))
        return false;
    given->keyed = given->secret_taken != NULL;
    return true;
}

/* What was not given is as the note of a saved filter says. */
static void take_noted(struct native_deduper *self, struct given *given)
{
    bloomery_near *near = &self->near;
    if (given->noted.unit == NULL || strcmp(given->noted.unit, given->unit) != 0)
        return;
    if (given->ngram_words == 0)
        given->ngram_words = given->noted.words;
    if (given->threshold_number == 0)
        given->threshold_number = given->noted.threshold;
    if (near->permutations == 0)
        near->permutations = given->noted.values;
    if (near->forced_bands == 0 && near->forced_rows == 0) {
        near->forced_bands = given->noted.bands;
        near->forced_rows = given->noted.rows;
    }
}

static bool take_unit(struct native_deduper *self, const struct given *given)
{
    static const char *const units[] = {"document", "paragraph", "ngram", "near"};
    for (int i = 0; i < 4; i++)
        if (strcmp(given->unit, units[i]) == 0) {
            self->judge.unit = i == 3 ? TOOL_COMPARED_DOCUMENTS : (enum tool_compared)i;
            self->judge.near = i == 3 ? &self->near : NULL;
            return true;
        }
    PyErr_Format(PyExc_ValueError,
                 "unknown unit '%s'; the units are document, paragraph, ngram and near",
                 given->unit);
    return false;
}

static bool fit_together(const struct native_deduper *self, const struct given *given)
{
    const bool is_near = self->judge.near != NULL;
    const bool words = is_near || self->judge.unit == TOOL_COMPARED_NGRAMS;
    if (!words && (given->ngram_words > 0 || given->threshold_number > 0))
        return refuse("ngram and threshold go with the units ngram and near");
    if (!is_near && (self->near.permutations > 0 || self->near.forced_bands > 0 ||
                     self->near.forced_rows > 0 || given->add_all))
        return refuse("permutations, bands, rows and add_all go with the unit near");
    if (given->add_all && given->no_add)
        return refuse("no_add adds nothing, and add_all everything: give one");
    if (given->lower && given->upper)
        return refuse("lower and upper contradict each other: give one");
    if (given->exact_bits > 0 && given->rate_number > 0)
        return refuse("rate is that of a filter; exact keeps fingerprints instead");
    return true;
}

/* How texts are judged. After _unit and _numbers. */
static bool plan_judge(struct native_deduper *self, const struct given *given)
{
    struct tool_judge *judge = &self->judge;
    bloomery_error error;
    judge->threshold = TOOL_THRESHOLD_ONE;
    if (judge->unit == TOOL_COMPARED_NGRAMS) {
        judge->ngram = given->ngram_words > 0 ? given->ngram_words : TOOL_NGRAM_DEFAULT;
        judge->threshold = given->threshold_number > 0
                               ? (uint32_t)(given->threshold_number * TOOL_THRESHOLD_ONE + 0.5)
                               : TOOL_THRESHOLD_DEFAULT;
        if (judge->threshold == 0)
            return refuse("threshold must be at least 0.000001");
    }
    if (judge->near != NULL) {
        self->near.threshold = given->threshold_number > 0 ? given->threshold_number : 0.8;
        self->near.rate = given->rate_number;
        self->near.shingle = given->ngram_words;
        if (bloomery_near_plan(&self->near, &error) != BLOOMERY_OK) {
            native_raise(self->state, &error, NULL);
            return false;
        }
        judge->ngram = self->near.words;
        judge->threshold = 1; /* any band of them */
    }
    judge->add_all = given->add_all != 0;
    self->no_add = judge->no_add = given->no_add != 0;
    judge->rule.flags = (given->trim ? (uint32_t)BLOOMERY_RULE_TRIM : 0) |
                        (given->lower ? (uint32_t)BLOOMERY_RULE_LOWER : 0) |
                        (given->upper ? (uint32_t)BLOOMERY_RULE_UPPER : 0);
    tool_judge_note(judge, self->note);
    const char *missing = tool_judge_needs_words(judge) ? tool_words_load() : NULL;
    if (missing == NULL)
        return true;
    PyErr_Format(self->state->exceptions[NATIVE_UNSUPPORTED], "words need libunistring: %s",
                 missing);
    return false;
}

/* ---- A new filter or table ------------------------------------------------------------------- */

static bool solve(struct native_deduper *self, const struct given *given, bloomery_plan *plan)
{
    bloomery_plan_options wish = BLOOMERY_PLAN_OPTIONS;
    bloomery_error error;
    wish.hash = given->keyed ? BLOOMERY_HASH_SIPHASH : BLOOMERY_HASH_DEFAULT;
    if (bloomery_plan_solve(plan, &wish, &error) == BLOOMERY_OK)
        return true;
    native_raise(self->state, &error, NULL);
    return false;
}

static bool refuse_memory(const struct given *given, uint64_t bytes)
{
    PyErr_Format(PyExc_ValueError, "these keys need %llu bytes, and memory is %llu",
                 (unsigned long long)bytes, (unsigned long long)given->memory_bytes);
    return false;
}

/* The rate of a key, where none was given: 0 for near-duplicates, which have planned it. */
static double rate_of(const struct native_deduper *self, const struct given *given)
{
    if (self->judge.near != NULL)
        return self->near.key_rate;
    return given->rate_number > 0                     ? given->rate_number
           : self->judge.unit == TOOL_COMPARED_NGRAMS ? TOOL_NGRAM_RATE
                                                      : TOOL_KEY_RATE;
}

/* Without a number of keys the first layer may be smaller, to fit into the memory. */
static bool plan_growing(struct native_deduper *self, const struct given *given, uint64_t keys,
                         bloomery_plan *plan)
{
    const bool known = keys > 0;
    keys = known ? keys : KEYS_DEFAULT;
    while (true) {
        *plan =
            (bloomery_plan){.kind = BLOOMERY_SCALABLE, .keys = keys, .rate = rate_of(self, given)};
        if (!solve(self, given, plan))
            return false;
        if (given->memory_bytes == 0 || plan->planned_bytes <= given->memory_bytes)
            return true;
        if (known || keys < 16)
            return refuse_memory(given, plan->planned_bytes);
        keys -= keys / 16;
    }
}

static bool plan_fixed(struct native_deduper *self, const struct given *given, uint64_t keys,
                       bloomery_plan *plan)
{
    const bool rated = given->rate_number > 0;
    *plan = (bloomery_plan){.kind = BLOOMERY_BLOCKED, .keys = keys};
    if (keys == 0 && given->memory_bytes == 0)
        return refuse("keys or memory is needed: only a filter that grows (on_full='grow') needs "
                      "neither");
    if (rated || keys == 0 || given->memory_bytes == 0)
        plan->rate = rate_of(self, given);
    if (plan->rate == 0 || keys == 0)
        plan->bytes = given->memory_bytes;
    return solve(self, given, plan) &&
           (given->memory_bytes == 0 || plan->planned_bytes <= given->memory_bytes ||
            refuse_memory(given, plan->planned_bytes));
}

static bool new_filter(struct native_deduper *self, const struct given *given, uint64_t keys)
{
    bloomery_plan plan;
    bloomery_error error;
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    bloomery_status status;
    const bool grows = self->seen.on_full == TOOL_FULL_GROW;
    options.rule = self->judge.rule;
    options.rule.flags |= BLOOMERY_RULE_ELSEWHERE; /* where in a line its text is */
    options.note = self->note;
    options.secret = given->secret_taken;
    options.secret_outside = given->secret_taken != NULL;
    options.memory_limit = grows ? given->memory_bytes : 0;
    if (!(grows ? plan_growing(self, given, keys, &plan) : plan_fixed(self, given, keys, &plan)))
        return false;
    Py_BEGIN_ALLOW_THREADS;
    status = bloomery_create(&plan, &options, &self->seen.filter, &error);
    Py_END_ALLOW_THREADS;
    if (status != BLOOMERY_OK)
        native_raise(self->state, &error, NULL);
    return status == BLOOMERY_OK;
}

/* The smallest filter: it makes hashes. */
static bloomery_filter *new_hasher(const struct native_deduper *self, bloomery_hash_id hash,
                                   const uint8_t *secret)
{
    const bloomery_plan plan = {.kind = BLOOMERY_BLOCKED,
                                .hash = hash,
                                .blocks_per_key = 1,
                                .probes = 1,
                                .cell_bits = 1,
                                .bits = 512};
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    bloomery_filter *filter = NULL;
    bloomery_error error;
    options.secret = secret;
    options.secret_outside = secret != NULL;
    if (bloomery_create(&plan, &options, &filter, &error) != BLOOMERY_OK)
        native_raise(self->state, &error, NULL);
    return filter;
}

static bool new_table(struct native_deduper *self, const struct given *given, uint64_t keys)
{
    const uint64_t needed = tool_fingerprints_bytes_for(given->exact_bits, keys);
    bloomery_limits limits = BLOOMERY_LIMITS;
    if (given->memory_bytes > 0 && keys > 0 && needed > given->memory_bytes)
        return refuse_memory(given, needed);
    self->seen.filter = new_hasher(
        self, given->keyed ? BLOOMERY_HASH_SIPHASH : BLOOMERY_HASH_XXH3_128, given->secret_taken);
    if (self->seen.filter == NULL)
        return false;
    bloomery_limits_get(&limits);
    self->seen.table_bits = given->exact_bits;
    self->seen.table = tool_fingerprints_new(
        given->exact_bits, keys, given->memory_bytes > 0 ? given->memory_bytes : limits.room);
    if (self->seen.table == NULL)
        PyErr_NoMemory();
    return self->seen.table != NULL;
}

static bool create(struct native_deduper *self, const struct given *given)
{
    const uint64_t keys = given->key_count, bands = self->near.bands;
    uint64_t all = keys;
    if (self->judge.near != NULL && __builtin_mul_overflow(keys, bands, &all))
        return refuse("keys documents of several bands are more keys than a filter can have");
    return given->exact_bits > 0 ? new_table(self, given, all) : new_filter(self, given, all);
}

/* ---- One that was saved ---------------------------------------------------------------------- */

/* A number behind a text. False: something else is there. */
static bool number_behind(const char **at, const char *text, unsigned *number)
{
    const size_t bytes = strlen(text);
    char *end;
    if (strncmp(*at, text, bytes) != 0)
        return false;
    const unsigned long value = strtoul(*at + bytes, &end, 10);
    const bool good = end != *at + bytes && value <= UINT_MAX;
    *number = good ? (unsigned)value : 0;
    *at = end;
    return good;
}

/* Reads the unit and what belongs to its keys off the note of a filter. */
static void read_note(const char *note, struct given *given)
{
    static const char near[] = "near texts, similarity ";
    const size_t prefix = strlen(TOOL_CORPUS_NOTE);
    unsigned words, bands, rows, values;
    char *end;
    if (note == NULL || strncmp(note, TOOL_CORPUS_NOTE, prefix) != 0)
        return;
    note += prefix;
    if (strcmp(note, "whole texts") == 0)
        given->noted.unit = "document";
    else if (strcmp(note, "paragraphs") == 0)
        given->noted.unit = "paragraph";
    else if (number_behind(&note, "runs of ", &words)) {
        given->noted.unit = "ngram";
        given->noted.words = words;
    } else if (strncmp(note, near, strlen(near)) == 0) {
        const double threshold = PyOS_string_to_double(note + strlen(near), &end, NULL);
        const char *at = end;
        if (PyErr_Occurred() == NULL && number_behind(&at, ", ", &bands) &&
            number_behind(&at, " bands of ", &rows) && number_behind(&at, " of ", &values) &&
            number_behind(&at, " values, runs of ", &words)) {
            given->noted.unit = "near";
            given->noted.threshold = threshold;
            given->noted.words = words;
            given->noted.bands = bands;
            given->noted.rows = rows;
            given->noted.values = values;
        }
        PyErr_Clear();
    }
}

/* Opens the filter. False after raising. */
static bool read_filter(struct native_deduper *self, const struct given *given)
{
    bloomery_open_options options = BLOOMERY_OPEN_OPTIONS;
    bloomery_error error;
    bloomery_status status;
    PyObject *encoded = NULL;
    Py_buffer buffer;
    const char *path = NULL;
    options.memory_limit = given->memory_bytes;
    options.secret = given->secret_taken;
    if (is_given(given->path) && !native_path_take(given->path, &encoded, &path))
        return false;
    if (path == NULL && PyObject_GetBuffer(given->data, &buffer, PyBUF_SIMPLE) != 0)
        return false;
    Py_BEGIN_ALLOW_THREADS;
    status = path != NULL ? bloomery_open(path, &options, &self->seen.filter, &error)
                          : bloomery_load(buffer.buf, (size_t)buffer.len, &options,
                                          &self->seen.filter, &error);
    Py_END_ALLOW_THREADS;
    if (path == NULL)
        PyBuffer_Release(&buffer);
    Py_XDECREF(encoded);
    if (status != BLOOMERY_OK)
        native_raise(self->state, &error, given->path);
    return status == BLOOMERY_OK;
}

/* Whether keys can be added to the filter, and by which rule they are made. */
static bool check_filter(struct native_deduper *self, const bloomery_info *info)
{
    const uint32_t flags = info->rule.flags & ~(uint32_t)BLOOMERY_RULE_ELSEWHERE;
    const uint32_t given = self->judge.rule.flags;
    if (info->dialect != 0 || !info->can_add || info->can_remove) {
        PyErr_Format(self->state->exceptions[NATIVE_UNSUPPORTED],
                     "a %s filter%s can't remember what a deduper saw; give it as against=",
                     bloomery_kind_name((int)info->kind),
                     info->dialect != 0 ? " of another system" : "");
        return false;
    }
    if ((flags & ~(uint32_t)TEXT_RULES) != 0 || info->rule.comment != 0)
        return refuse("the filter makes its keys by a rule that is not for texts");
    if (given != 0 && given != flags)
        return refuse("the filter makes its keys by another rule than trim, lower and upper say; "
                      "without them its own is followed");
    if (info->secret_fingerprint != 0 && !info->secret_known) {
        PyErr_SetString(self->state->exceptions[NATIVE_SECRET_NEEDED],
                        "the filter is keyed, and its secret is missing or another one");
        return false;
    }
    self->judge.rule.flags = flags;
    return true;
}

static bool read_state(struct native_deduper *self, struct given *given)
{
    bloomery_info info = BLOOMERY_INFO;
    if (is_given(given->keys) || is_given(given->exact) || given->secret == Py_True)
        return refuse("keys, exact and secret=True are for a new one, not for one that was saved");
    if (!read_filter(self, given))
        return false;
    bloomery_info_get(self->seen.filter, &info);
    read_note(info.note, given);
    given->unit = given->unit != NULL ? given->unit : given->noted.unit;
    return given->unit != NULL ||
           refuse("the filter does not say what its keys are: give unit=, and the options that it "
                  "was made with");
}

/* After the judge was set: whether the keys are those of these options. */
static bool check_state(struct native_deduper *self)
{
    bloomery_info info = BLOOMERY_INFO;
    const size_t prefix = strlen(TOOL_CORPUS_NOTE);
    bloomery_info_get(self->seen.filter, &info);
    if (info.note != NULL && strncmp(info.note, TOOL_CORPUS_NOTE, prefix) == 0 &&
        strcmp(info.note, self->note) != 0) {
        PyErr_Format(PyExc_ValueError,
                     "the filter has other keys (%s) than these options make (%s)",
                     info.note + prefix, self->note + prefix);
        return false;
    }
    return check_filter(self, &info);
}

/* ---- Filters that are compared against ------------------------------------------------------- */

/* Whether a filter's keys are those of the judge. A filter that says nothing is taken. */
static bool check_against(const struct native_deduper *self, const struct native_filter *other)
{
    bloomery_info info = BLOOMERY_INFO;
    const size_t prefix = strlen(TOOL_CORPUS_NOTE);
    if (!native_filter_ready(other, true))
        return false;
    bloomery_info_get(other->filter, &info);
    if (info.note != NULL && strncmp(info.note, TOOL_CORPUS_NOTE, prefix) == 0 &&
        strcmp(info.note, self->note) != 0) {
        PyErr_Format(PyExc_ValueError,
                     "a filter of against has other keys (%s) than these options make (%s)",
                     info.note + prefix, self->note + prefix);
        return false;
    }
    const bool has_rule = info.rule.flags != 0 || info.rule.comment != 0;
    const uint32_t flags = info.rule.flags & ~(uint32_t)BLOOMERY_RULE_ELSEWHERE;
    if (has_rule && flags != self->judge.rule.flags)
        return refuse("a filter of against makes its keys by another rule; give trim, lower and "
                      "upper as it was built");
    return true;
}

static bool take_againsts(struct native_deduper *self, const struct given *given)
{
    self->againsts = is_given(given->against) ? PySequence_Tuple(given->against) : PyTuple_New(0);
    const Py_ssize_t count = self->againsts != NULL ? PyTuple_Size(self->againsts) : -1;
    if (count < 0)
        return false;
    self->known = calloc((size_t)count + 1, sizeof(*self->known));
    if (self->known == NULL) {
        PyErr_NoMemory();
        return false;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *object = PyTuple_GetItem(self->againsts, i);
        if (!PyObject_TypeCheck(object, self->state->filter_type)) {
            PyErr_SetString(PyExc_TypeError, "against is filters, or paths of filters");
            return false;
        }
        const struct native_filter *other = (const struct native_filter *)object;
        if (!check_against(self, other))
            return false;
        self->known[i] = (struct tool_against){.filter = other->filter, .rule = self->judge.rule};
    }
    self->judge.against = self->known;
    self->judge.against_count = (size_t)count;
    return true;
}

/* Chooses what hashes words for signatures, as the command does: with a secret the filter, else
 * XXH3-64. */
static bool choose_hasher(struct native_deduper *self)
{
    bloomery_info own = BLOOMERY_INFO;
    self->judge.filter = self->judge.hasher = self->seen.filter;
    if (self->judge.near == NULL)
        return true;
    bloomery_info_get(self->seen.filter, &own);
    self->seen.group = self->near.bands;
    self->seen.adds_seen = self->judge.add_all;
    for (size_t i = 0; i < self->judge.against_count; i++) {
        bloomery_info info = BLOOMERY_INFO;
        bloomery_info_get(self->known[i].filter, &info);
        if (info.secret_fingerprint != own.secret_fingerprint)
            return refuse("a filter of against has another secret, or none, and so other "
                          "signatures");
    }
    if (own.secret_fingerprint != 0)
        return true;
    self->hasher = new_hasher(self, BLOOMERY_HASH_XXH3_64, NULL);
    self->judge.hasher = self->hasher;
    return self->hasher != NULL;
}

/* ---- All ------------------------------------------------------------------------------------- */

static bool take_full(struct native_deduper *self, const struct given *given)
{
    static const char *const names[] = {"stop", "grow", "pass"}; /* enum tool_on_full */
    bloomery_info info = BLOOMERY_INFO;
    self->seen.on_full = given->memory_bytes > 0 ? TOOL_FULL_STOP : TOOL_FULL_GROW;
    if (self->seen.filter != NULL) {
        bloomery_info_get(self->seen.filter, &info);
        self->seen.on_full =
            info.can_grow && given->memory_bytes == 0 ? TOOL_FULL_GROW : TOOL_FULL_STOP;
    }
    if (given->on_full == NULL)
        return true;
    for (int i = 0; i < 3; i++)
        if (strcmp(given->on_full, names[i]) == 0) {
            if (i == TOOL_FULL_GROW && self->seen.filter != NULL && !info.can_grow)
                return refuse("the filter can't grow: on_full is 'stop' or 'pass'");
            self->seen.on_full = (enum tool_on_full)i;
            return true;
        }
    PyErr_Format(PyExc_ValueError, "on_full must be 'stop', 'grow' or 'pass', not '%s'",
                 given->on_full);
    return false;
}

/* The rate at which it counts as full: the command's rule. 0: that of the filter's plan. */
static double rate_wanted(const struct native_deduper *self, const struct given *given, bool saved)
{
    if (saved)
        return 0;
    if (self->judge.near == NULL && given->rate_number == 0 && given->memory_bytes > 0 &&
        given->key_count > 0 && self->seen.on_full != TOOL_FULL_GROW)
        return 0; /* it is what came out of the memory */
    return rate_of(self, given);
}

static void note_news(const struct tool_seen *seen, enum tool_seen_news news)
{
    struct native_deduper *self =
        (struct native_deduper *)((char *)(uintptr_t)seen - offsetof(struct native_deduper, seen));
    self->news |= 1U << news;
}

static bool make(struct native_deduper *self, struct given *given)
{
    const bool saved = is_given(given->path) || is_given(given->data);
    if (!take_access(given) || (saved && !read_state(self, given)))
        return false;
    given->unit = given->unit != NULL ? given->unit : "document";
    if (!take_unit(self, given) || !take_numbers(self, given))
        return false;
    take_noted(self, given);
    if (!fit_together(self, given) || !plan_judge(self, given) || !take_full(self, given) ||
        !(saved ? check_state(self) : create(self, given)) || !take_againsts(self, given) ||
        !choose_hasher(self))
        return false;
    self->learned = saved;
    self->seen.tell = note_news;
    tool_seen_start(&self->seen, rate_wanted(self, given, saved));
    self->units = tool_units_new(&self->judge);
    self->others = tool_units_new(&self->judge);
    if (self->units == NULL || self->others == NULL)
        PyErr_NoMemory();
    return self->units != NULL && self->others != NULL;
}

PyObject *native_deduper_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {
        "unit",         "keys",    "rate",   "memory",  "on_full",   "exact",  "ngram", "threshold",
        "permutations", "bands",   "rows",   "add_all", "min_words", "no_add", "trim",  "lower",
        "upper",        "against", "secret", "path",    "data",      NULL};
    struct given given = {.unit = NULL};
    if (!PyArg_ParseTupleAndKeywords(
            args, keywords, "z|$OOOzOOOOOOpOppppOOOO", names, &given.unit, &given.keys, &given.rate,
            &given.memory, &given.on_full, &given.exact, &given.ngram, &given.threshold,
            &given.permutations, &given.bands, &given.rows, &given.add_all, &given.min_words,
            &given.no_add, &given.trim, &given.lower, &given.upper, &given.against, &given.secret,
            &given.path, &given.data))
        return NULL;
    struct native_state *state = native_state_of(type);
    allocfunc allocate = PyType_GetSlot(type, Py_tp_alloc);
    struct native_deduper *self =
        state == NULL ? NULL : (struct native_deduper *)(void *)allocate(type, 0);
    if (self == NULL)
        return NULL;
    self->state = state;
    self->near = (bloomery_near)BLOOMERY_NEAR;
    self->judge.unit = TOOL_COMPARED_DOCUMENTS;
    self->gate = (struct native_gate){.forks = native_forks};
    const bool made = make(self, &given);
    memset(given.secret_bytes, 0, sizeof(given.secret_bytes));
    if (!made)
        Py_CLEAR(self);
    return (PyObject *)self;
}
