/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts of the library as named tuples. One table for each: the name in Python, what it is, and
 * where the library's struct has it.
 */
#include "native.h"

#include <stddef.h>
#include <string.h>

enum form {
    FORM_U32,
    FORM_U64,
    FORM_DOUBLE,
    FORM_BOOL,
    FORM_TEXT,           /* const char *; NULL is None */
    FORM_CHARS,          /* char[] */
    FORM_UNKNOWN0,       /* uint64_t; 0 is None */
    FORM_SCANNED_U64,    /* None if the bits were not scanned */
    FORM_SCANNED_DOUBLE, /* the same */
    FORM_KIND,
    FORM_HASH,
    FORM_DIALECT, /* uint32_t; our own is None */
    FORM_RULE,
    FORM_BYTES, /* bloomery_key */
    FORM_ENGINE,
    FORM_ORDERED, /* bloomery_sieve_order, as a bool */
};

struct fact {
    const char *name, *text;
    enum form form;
    size_t offset;
};

#define INFO(name, text, form)                                      \
    {                                                               \
#name, text, form, offsetof(struct native_facts, info.name) \
    }
#define SCAN(name, text, form)                                      \
    {                                                               \
#name, text, form, offsetof(struct native_facts, scan.name) \
    }

static const struct fact info_facts[] = {
    INFO(kind, "blocked, classic, counting, scalable, static or cuckoo", FORM_KIND),
    INFO(dialect, "the other system's, or None for our own", FORM_DIALECT),
    INFO(layers, "arrays of cells, or tables of slots; more than one if it grew", FORM_U32),
    INFO(blocks_per_key, "blocks of a key; 0: a flat array", FORM_U32),
    INFO(probes, "probes of a key, in each of its blocks; cuckoo: the slots of a bucket", FORM_U32),
    INFO(cell_bits, "1, or the bits of a counter", FORM_U32),
    INFO(counter_max, "at which a counter saturates; 0: no counters", FORM_U32),
    INFO(bits, "cells of all layers; cuckoo: slots", FORM_U64),
    INFO(bytes, "memory of the cells", FORM_U64),
    INFO(file_bytes, "size of its file", FORM_U64),
    INFO(memory_bytes, "all that was allocated for it", FORM_U64),
    INFO(planned_keys, "keys it was planned for; None: unknown", FORM_UNKNOWN0),
    INFO(planned_rate, "false-positive rate with as many keys; 0: unknown", FORM_DOUBLE),
    INFO(wanted_rate,
         "the rate it was made for, if that is higher; the limit is this or twice the planned one",
         FORM_DOUBLE),
    INFO(growth, "the next layer is for this many times the keys; 0: it does not grow",
         FORM_DOUBLE),
    INFO(adds, "calls of add, repeated keys included; cuckoo: less those of remove", FORM_U64),
    INFO(hash, "name of the hash", FORM_HASH),
    INFO(seed, "of the hash", FORM_U64),
    {"keyed", "its hash has a secret", FORM_BOOL, SIZE_MAX},
    INFO(secret_in_file, "every reader of its file has the secret", FORM_BOOL),
    INFO(secret_known, "keys can be hashed", FORM_BOOL),
    INFO(writable, "keys can be added", FORM_BOOL),
    INFO(mapped, "a map of a file", FORM_BOOL),
    INFO(kernel, "the code that serves it: scalar, avx2, ...", FORM_TEXT),
    INFO(rule, "what is done to a key before it is hashed; None: nothing", FORM_RULE),
    INFO(note, "the remark kept in its file", FORM_TEXT),
    INFO(can_add, "keys can be added one by one", FORM_BOOL),
    INFO(can_remove, "keys can be removed and counted", FORM_BOOL),
    INFO(can_merge, "another one of its shape can be merged into it", FORM_BOOL),
    INFO(can_grow, "it gets layers as it fills", FORM_BOOL),
    INFO(has_bits, "it is an array of cells", FORM_BOOL),
    SCAN(bits_set, "cells that are not 0 (scanned; else None, as what follows)", FORM_SCANNED_U64),
    SCAN(saturated_cells, "counters at their maximum (scanned)", FORM_SCANNED_U64),
    SCAN(fill, "bits_set / bits (scanned)", FORM_SCANNED_DOUBLE),
    SCAN(live_rate, "false-positive rate of these very bits (scanned)", FORM_SCANNED_DOUBLE),
    SCAN(estimated_keys, "distinct keys, from the bits (scanned)", FORM_SCANNED_DOUBLE),
    SCAN(expected_rate, "of this shape with as many keys (scanned)", FORM_SCANNED_DOUBLE),
    {NULL, NULL, FORM_U32, 0}};

#define PLAN(name, text, form)                           \
    {                                                    \
#name, text, form, offsetof(bloomery_plan, name) \
    }

static const struct fact plan_facts[] = {
    PLAN(kind, "blocked, classic, counting, scalable, static or cuckoo", FORM_KIND),
    {"keys", "distinct keys it is for", FORM_U64, offsetof(bloomery_plan, planned_keys)},
    {"rate", "false-positive rate with as many keys", FORM_DOUBLE,
     offsetof(bloomery_plan, planned_rate)},
    {"bytes", "memory of the cells", FORM_U64, offsetof(bloomery_plan, planned_bytes)},
    PLAN(bits, "cells", FORM_U64),
    PLAN(bits_per_key, "memory in bits for each key", FORM_DOUBLE),
    PLAN(limit_ratio, "memory relative to the least that any structure needs", FORM_DOUBLE),
    PLAN(blocks_per_key, "blocks of a key; 0: a flat array", FORM_U32),
    PLAN(probes, "probes of a key, in each of its blocks", FORM_U32),
    PLAN(cell_bits, "1, or the bits of a counter", FORM_U32),
    PLAN(absent_cache_lines, "cache lines read for an absent key, on average", FORM_DOUBLE),
    PLAN(present_cache_lines, "and for a present one", FORM_DOUBLE),
    PLAN(hash, "name of the hash; None: a cuckoo filter's own", FORM_HASH),
    {NULL, NULL, FORM_U32, 0}};

#define COMPARISON(name, text, form)                           \
    {                                                          \
#name, text, form, offsetof(bloomery_comparison, name) \
    }

static const struct fact comparison_facts[] = {
    {"keys", "estimated keys of the first", FORM_DOUBLE, offsetof(bloomery_comparison, keys)},
    {"other_keys", "and of the second", FORM_DOUBLE,
     offsetof(bloomery_comparison, keys) + sizeof(double)},
    COMPARISON(union_keys, "keys in at least one of them", FORM_DOUBLE),
    COMPARISON(common_keys, "keys in both", FORM_DOUBLE),
    COMPARISON(jaccard, "common_keys / union_keys", FORM_DOUBLE),
    COMPARISON(deviation, "standard deviation of common_keys", FORM_DOUBLE),
    COMPARISON(jaccard_deviation, "and of jaccard", FORM_DOUBLE),
    {"within", "the second seems to have all keys of the first", FORM_BOOL,
     offsetof(bloomery_comparison, within)},
    {"other_within", "the first seems to have all keys of the second", FORM_BOOL,
     offsetof(bloomery_comparison, within) + sizeof(bool)},
    COMPARISON(equal, "bit for bit", FORM_BOOL),
    {NULL, NULL, FORM_U32, 0}};

#define DIALECT(name, text, form)                           \
    {                                                       \
#name, text, form, offsetof(bloomery_dialect, name) \
    }

static const struct fact dialect_facts[] = {
    DIALECT(name, "as in Filter.from_dialect", FORM_TEXT),
    DIALECT(description, "what it is", FORM_TEXT),
    DIALECT(variants, "names of its variants, the default first; None: one only", FORM_TEXT),
    DIALECT(load_needs, "parameters that from_dialect needs, since the bytes do not say them",
            FORM_TEXT),
    DIALECT(load_takes, "parameters that from_dialect takes", FORM_TEXT),
    DIALECT(create_takes, "parameters that create_dialect takes", FORM_TEXT),
    DIALECT(reads, "its files can be read", FORM_BOOL),
    DIALECT(writes, "and written", FORM_BOOL),
    DIALECT(creates, "new filters can be made as that system makes them", FORM_BOOL),
    DIALECT(magic, "its files are recognised", FORM_BOOL),
    {NULL, NULL, FORM_U32, 0}};

#define ITEM(name, text, form)                                 \
    {                                                          \
#name, text, form, offsetof(bloomery_sieve_item, name) \
    }

static const struct fact item_facts[] = {
    ITEM(key, "bytes", FORM_BYTES),
    ITEM(payload, "bytes, empty if none came with the key", FORM_BYTES),
    ITEM(number, "to acknowledge it by", FORM_U64),
    ITEM(again, "it was leased before, and not acknowledged", FORM_BOOL),
    ITEM(deliveries, "how often it was popped, this time included", FORM_U32),
    {NULL, NULL, FORM_U32, 0}};

#define SIEVE(name, text, form)                                \
    {                                                          \
#name, text, form, offsetof(bloomery_sieve_info, name) \
    }

static const struct fact sieve_facts[] = {
    SIEVE(engine, "memory or disk", FORM_ENGINE),
    SIEVE(partitions, "of the disk engine", FORM_U32),
    {"ordered", "the whole queue is first in, first out", FORM_ORDERED,
     offsetof(bloomery_sieve_info, order)},
    SIEVE(canon, "the canonicaliser", FORM_CHARS),
    SIEVE(pushed, "the number of the last push", FORM_U64),
    SIEVE(durable, "pushes up to this number are durable", FORM_U64),
    SIEVE(new_keys, "pushes that were new", FORM_U64),
    SIEVE(seen, "pushes that were dropped", FORM_U64),
    SIEVE(pending, "pushes not decided yet", FORM_U64),
    SIEVE(forced, "pushes with force", FORM_U64),
    SIEVE(marked, "keys marked as seen", FORM_U64),
    SIEVE(queued, "items not popped yet", FORM_U64),
    SIEVE(leased, "items popped and not acknowledged", FORM_U64),
    SIEVE(done, "items acknowledged", FORM_U64),
    SIEVE(distinct, "distinct keys seen", FORM_U64),
    SIEVE(capacity, "planned keys of the memory engine; 0: none", FORM_U64),
    SIEVE(over_capacity, "it has more than these", FORM_BOOL),
    SIEVE(live_rate, "how often a new key is called seen now", FORM_DOUBLE),
    SIEVE(expected_drops, "new keys that were dropped so far, expected", FORM_DOUBLE),
    SIEVE(memory_budget, "bytes it may allocate; 0: no limit", FORM_U64),
    SIEVE(memory, "bytes allocated", FORM_U64),
    SIEVE(seen_bytes, "bytes of the seen-set", FORM_U64),
    SIEVE(pending_bytes, "bytes of what is pending, on disk", FORM_U64),
    SIEVE(queue_bytes, "bytes of the queue", FORM_U64),
    SIEVE(planned, "the keys it was made for", FORM_U64),
    SIEVE(dead, "items put aside after max_deliveries", FORM_U64),
    {NULL, NULL, FORM_U32, 0}};

static const struct {
    const char *name, *text;
    const struct fact *facts;
} tuples[NATIVE_TUPLES] = {
    [NATIVE_INFO] = {"bloomery.Info", "Facts about a filter.", info_facts},
    [NATIVE_PLAN] = {"bloomery.Plan", "The numbers of a filter before it exists.", plan_facts},
    [NATIVE_COMPARISON] = {"bloomery.Comparison", "Two filters beside each other.",
                           comparison_facts},
    [NATIVE_DIALECT] = {"bloomery.Dialect", "Another system's filters.", dialect_facts},
    [NATIVE_ITEM] = {"bloomery.Item", "What comes out of a sieve.", item_facts},
    [NATIVE_SIEVE_INFO] = {"bloomery.SieveInfo", "Facts about a sieve.", sieve_facts},
};

PyObject *native_text_of(const char *text)
{
    return text == NULL ? Py_NewRef(Py_None)
                        : PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "surrogateescape");
}

PyObject *native_rule_of(const bloomery_key_rule *rule)
{
    static const struct {
        uint32_t flag;
        const char *name;
    } names[] = {{BLOOMERY_RULE_TRIM, "trim"},   {BLOOMERY_RULE_LOWER, "lower"},
                 {BLOOMERY_RULE_UPPER, "upper"}, {BLOOMERY_RULE_HEX, "hex"},
                 {BLOOMERY_RULE_INT64, "int64"}, {BLOOMERY_RULE_INT32, "int32"},
                 {BLOOMERY_RULE_UTF16, "utf16"}};
    char text[80] = "";
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (rule->flags & names[i].flag) {
            const size_t used = strlen(text);
            PyOS_snprintf(text + used, sizeof(text) - used, "%s%s", used > 0 ? "," : "",
                          names[i].name);
        }
    return native_text_of(text[0] == '\0' ? NULL : text);
}

static PyObject *bytes_of(const bloomery_key *key)
{
    return PyBytes_FromStringAndSize(key->bytes == 0 ? "" : key->data, (Py_ssize_t)key->bytes);
}

static PyObject *value_of(enum form form, const void *at)
{
    switch (form) {
    case FORM_U32:
        return PyLong_FromUnsignedLong(*(const uint32_t *)at);
    case FORM_SCANNED_U64:
    case FORM_U64:
        return PyLong_FromUnsignedLongLong(*(const uint64_t *)at);
    case FORM_UNKNOWN0:
        if (*(const uint64_t *)at == 0)
            return Py_NewRef(Py_None);
        return PyLong_FromUnsignedLongLong(*(const uint64_t *)at);
    case FORM_SCANNED_DOUBLE:
    case FORM_DOUBLE:
        return PyFloat_FromDouble(*(const double *)at);
    case FORM_BOOL:
        return NATIVE_BOOL(*(const bool *)at);
    case FORM_TEXT:
        return native_text_of(*(const char *const *)at);
    case FORM_CHARS:
        return native_text_of(at);
    case FORM_KIND:
        return native_text_of(bloomery_kind_name((int)*(const bloomery_kind *)at));
    case FORM_HASH:
        return native_text_of(bloomery_hash_name(*(const bloomery_hash_id *)at));
    case FORM_DIALECT: {
        const bloomery_dialect *dialect = bloomery_dialect_get(*(const uint32_t *)at);
        return native_text_of(dialect == NULL ? NULL : dialect->name);
    }
    case FORM_RULE:
        return native_rule_of(at);
    case FORM_BYTES:
        return bytes_of(at);
    case FORM_ENGINE:
        return native_text_of(*(const bloomery_sieve_engine *)at == BLOOMERY_SIEVE_DISK ? "disk"
                                                                                        : "memory");
    case FORM_ORDERED:
        return NATIVE_BOOL(*(const bloomery_sieve_order *)at == BLOOMERY_SIEVE_ORDER_FIFO);
    }
    return NULL;
}

/* A tuple of a struct. The one fact that no field has is whether a filter is keyed; those of the
 * bits are None where these were not `scanned`. */
static PyObject *tuple_of(const struct native_state *state, enum native_tuple number,
                          const void *from, bool keyed, bool scanned)
{
    const struct fact *facts = tuples[number].facts;
    PyObject *tuple = PyStructSequence_New(state->tuples[number]);
    for (Py_ssize_t i = 0; tuple != NULL && facts[i].name != NULL; i++) {
        const enum form form = facts[i].form;
        PyObject *value;
        if (facts[i].offset == SIZE_MAX)
            value = NATIVE_BOOL(keyed);
        else if (!scanned && (form == FORM_SCANNED_U64 || form == FORM_SCANNED_DOUBLE))
            value = Py_NewRef(Py_None);
        else
            value = value_of(form, (const char *)from + facts[i].offset);
        if (value == NULL)
            Py_CLEAR(tuple);
        else
            PyStructSequence_SetItem(tuple, i, value);
    }
    return tuple;
}

bool native_facts_add(PyObject *module, struct native_state *state)
{
    enum { FACTS_MAX = 48 };
    for (int i = 0; i < NATIVE_TUPLES; i++) {
        PyStructSequence_Field fields[FACTS_MAX];
        int count = 0;
        for (; tuples[i].facts[count].name != NULL; count++)
            fields[count] =
                (PyStructSequence_Field){tuples[i].facts[count].name, tuples[i].facts[count].text};
        fields[count] = (PyStructSequence_Field){NULL, NULL};
        PyStructSequence_Desc description = {tuples[i].name, tuples[i].text, fields, count};
        state->tuples[i] = PyStructSequence_NewType(&description);
        if (state->tuples[i] == NULL ||
            PyModule_AddObjectRef(module, strchr(tuples[i].name, '.') + 1,
                                  (PyObject *)state->tuples[i]) < 0)
            return false;
    }
    return true;
}

PyObject *native_info_of(const struct native_state *state, const struct native_facts *facts,
                         bool scanned)
{
    return tuple_of(state, NATIVE_INFO, facts, facts->info.secret_fingerprint != 0, scanned);
}

PyObject *native_info_fact(const struct native_facts *facts, const char *name)
{
    const struct fact *fact = info_facts;
    while (strcmp(fact->name, name) != 0)
        fact++;
    return value_of(fact->form, (const char *)facts + fact->offset);
}

PyObject *native_plan_of(const struct native_state *state, const bloomery_plan *plan)
{
    return tuple_of(state, NATIVE_PLAN, plan, false, true);
}

PyObject *native_comparison_of(const struct native_state *state,
                               const bloomery_comparison *comparison)
{
    return tuple_of(state, NATIVE_COMPARISON, comparison, false, true);
}

PyObject *native_dialect_of(const struct native_state *state, const bloomery_dialect *dialect)
{
    return tuple_of(state, NATIVE_DIALECT, dialect, false, true);
}

PyObject *native_item_of(const struct native_state *state, const bloomery_sieve_item *item)
{
    return tuple_of(state, NATIVE_ITEM, item, false, true);
}

PyObject *native_sieve_info_of(const struct native_state *state, const bloomery_sieve_info *info)
{
    return tuple_of(state, NATIVE_SIEVE_INFO, info, false, true);
}
