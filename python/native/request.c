/* SPDX-License-Identifier: Apache-2.0 */
/* What new filters, builders and plans are made from. */
#include "native.h"

#include <math.h>
#include <string.h>

bool native_path_take(PyObject *path, PyObject **taken, const char **text)
{
    if (PyUnicode_FSConverter(path, taken) == 0) {
        const bool is_file = PyErr_ExceptionMatches(PyExc_TypeError) != 0;
        PyObject *type, *value, *trace;
        PyErr_Fetch(&type, &value, &trace);
        if (is_file && PyObject_HasAttrString(path, "read")) {
            PyErr_SetString(PyExc_TypeError,
                            "an open file is not a path: file.write(filter.to_bytes()) writes a "
                            "filter to it, and Filter.from_bytes(file.read()) reads one");
            Py_XDECREF(type);
            Py_XDECREF(value);
            Py_XDECREF(trace);
        } else
            PyErr_Restore(type, value, trace);
        return false;
    }
    *text = PyBytes_AsString(*taken);
    return *text != NULL;
}

static bool has_items(PyObject *object)
{
    PyObject *iterator = PyObject_GetIter(object);
    Py_XDECREF(iterator);
    PyErr_Clear();
    return iterator != NULL;
}

void native_keyword_help(PyObject *keywords, const char *count)
{
    static const char *const others[][2] = {{"capacity", "keys"},   {"expected_items", "keys"},
                                            {"n", "keys"},          {"max_elements", "keys"},
                                            {"error_rate", "rate"}, {"false_positive_rate", "rate"},
                                            {"fp_rate", "rate"},    {"fpr", "rate"},
                                            {"p", "rate"}};
    if (keywords == NULL || PyErr_ExceptionMatches(PyExc_TypeError) == 0)
        return;
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        if (PyDict_GetItemString(keywords, others[i][0]) != NULL) {
            PyErr_Format(PyExc_TypeError, "'%s' is called %s= here", others[i][0],
                         strcmp(others[i][1], "keys") == 0 ? count : others[i][1]);
            return;
        }
}

bool native_count_take(PyObject *object, const char *name, uint64_t *number)
{
    *number = 0;
    if (object == NULL || object == Py_None)
        return true;
    const double number_of_float = PyFloat_Check(object) ? PyFloat_AsDouble(object) : NAN;
    PyObject *index = NULL;
    if (isfinite(number_of_float) && floor(number_of_float) == number_of_float)
        index = PyNumber_Long(object); /* 1e6 */
    else if (!PyBool_Check(object) && PyIndex_Check(object))
        index = PyNumber_Index(object);
    else if (strcmp(name, "keys") == 0 && (PyUnicode_Check(object) || has_items(object)))
        PyErr_SetString(PyExc_TypeError, "keys is how many keys there will be; Filter.build(keys) "
                                         "makes a filter of keys");
    else
        PyErr_Format(PyExc_TypeError, "%s must be a whole number", name);
    if (index == NULL)
        return false;
    *number = PyLong_AsUnsignedLongLong(index);
    Py_DECREF(index);
    if (PyErr_Occurred() == NULL)
        return true;
    PyErr_Clear();
    PyErr_Format(PyExc_ValueError, "%s must be from 0 to 2**64 - 1", name);
    return false;
}

bool native_small_take(PyObject *object, const char *name, uint32_t *number)
{
    uint64_t taken;
    *number = 0;
    if (!native_count_take(object, name, &taken))
        return false;
    if (taken > UINT32_MAX) {
        PyErr_Format(PyExc_ValueError, "%s must be from 0 to 2**32 - 1", name);
        return false;
    }
    *number = (uint32_t)taken;
    return true;
}

bool native_threads_take(PyObject *object, uint32_t *threads)
{
    if (!native_small_take(object, "threads", threads))
        return false;
    if (*threads <= BLOOMERY_THREADS_MAX)
        return true;
    PyErr_Format(PyExc_ValueError, "threads must be from 0 to %u; 0: as many as there are cores",
                 BLOOMERY_THREADS_MAX);
    return false;
}

bool native_secret_take(PyObject *object, uint8_t secret[BLOOMERY_SECRET_BYTES],
                        const uint8_t **taken)
{
    Py_buffer buffer;

    *taken = NULL;
    if (object == NULL || object == Py_None)
        return true;
    if (PyObject_GetBuffer(object, &buffer, PyBUF_SIMPLE) != 0)
        return false;
    const bool fits = buffer.len == BLOOMERY_SECRET_BYTES;
    if (fits) {
        memcpy(secret, buffer.buf, BLOOMERY_SECRET_BYTES);
        *taken = secret;
    } else
        PyErr_Format(PyExc_ValueError, "a secret has %d bytes; this one has %zd",
                     BLOOMERY_SECRET_BYTES, buffer.len);
    PyBuffer_Release(&buffer);
    return fits;
}

/* keys, rate and memory: two of them give the plan. All three: memory is a limit. */
static bool take_numbers(struct native_request *request)
{
    bloomery_plan *plan = &request->plan;
    uint64_t memory;

    if (!native_count_take(request->keys, "keys", &plan->keys) ||
        !native_count_take(request->memory, "memory", &memory))
        return false;
    const bool has_keys = request->keys != NULL && request->keys != Py_None;
    const bool has_rate = request->rate != NULL && request->rate != Py_None;
    if (has_keys && plan->keys == 0) {
        PyErr_SetString(PyExc_ValueError, "keys must be at least 1");
        return false;
    }
    if (has_rate) {
        plan->rate = PyFloat_AsDouble(request->rate);
        if (plan->rate == -1.0 && PyErr_Occurred() != NULL)
            return false;
        if (!(plan->rate > 0 && plan->rate < 1)) {
            PyErr_SetString(PyExc_ValueError, "rate must be above 0 and below 1, as in 0.01");
            return false;
        }
    }
    if (has_keys && has_rate)
        request->limit = memory;
    else if (memory > 0)
        plan->bytes = memory;
    else {
        PyErr_SetString(PyExc_TypeError, "two of keys, rate and memory are needed");
        return false;
    }
    return true;
}

/* full='grow' is the kind that grows. */
static bool take_full(struct native_request *request)
{
    bool ignores;
    if (request->full == NULL || !native_full_take(request->full, true, &ignores))
        return request->full == NULL;
    if (strcmp(request->full, "grow") != 0 || request->plan.kind == BLOOMERY_SCALABLE)
        return true;
    if (request->plan.kind == BLOOMERY_BLOCKED) {
        request->plan.kind = BLOOMERY_SCALABLE;
        return true;
    }
    PyErr_Format(PyExc_ValueError, "full='grow' makes a filter of the kind scalable, not %s",
                 bloomery_kind_name((int)request->plan.kind));
    return false;
}

bool native_kind_take(struct native_request *request)
{
    if (request->plan.kind != BLOOMERY_KIND_DEFAULT) /* taken already */
        return true;
    request->plan.kind = bloomery_kind_find(request->kind);
    if (request->plan.kind != BLOOMERY_KIND_DEFAULT)
        return take_full(request);
    PyErr_Format(
        PyExc_ValueError,
        "unknown kind '%s'; the kinds are blocked, classic, counting, scalable, static and "
        "cuckoo",
        request->kind);
    return false;
}

/* secret=True: a random one, which the file carries. secret=bytes: the caller keeps it. */
static bool take_secret(struct native_request *request, bloomery_plan_options *wish)
{
    bloomery_create_options *options = &request->options;
    if (request->secret == Py_True) {
        wish->hash = BLOOMERY_HASH_SIPHASH;
        return true;
    }
    if (request->secret == Py_False)
        return true;
    if (!native_secret_take(request->secret, request->bytes, &options->secret))
        return false;
    options->secret_outside = options->secret != NULL;
    if (options->secret != NULL)
        wish->hash = BLOOMERY_HASH_SIPHASH;
    return true;
}

bool native_request_solve(const struct native_state *state, struct native_request *request)
{
    bloomery_plan_options wish = BLOOMERY_PLAN_OPTIONS;
    bloomery_create_options *options = &request->options;
    bloomery_plan *plan = &request->plan;
    bloomery_error error;

    *options = (bloomery_create_options)BLOOMERY_CREATE_OPTIONS;
    plan->struct_bytes = sizeof(*plan);
    if (!native_kind_take(request) || !take_numbers(request) || !take_secret(request, &wish) ||
        !native_count_take(request->seed, "seed", &options->seed))
        return false;
    if (request->integers != 64 && request->integers != 32) {
        PyErr_SetString(PyExc_ValueError, "integers must be 64 or 32: the bits of an int as a key");
        return false;
    }
    options->rule.flags = request->integers == 32 ? (uint32_t)BLOOMERY_RULE_INT32 : 0;
    options->note = request->note;
    options->concurrent_adds = request->concurrent != 0;
    if (bloomery_plan_solve(plan, &wish, &error) != BLOOMERY_OK) {
        native_raise(state, &error, NULL);
        return false;
    }
    if (plan->kind == BLOOMERY_SCALABLE || plan->kind == BLOOMERY_CUCKOO)
        options->memory_limit = request->limit;
    if (request->limit == 0 || plan->planned_bytes <= request->limit)
        return true;
    PyErr_Format(PyExc_ValueError, "such a filter takes %llu bytes, more than the memory of %llu",
                 (unsigned long long)plan->planned_bytes, (unsigned long long)request->limit);
    return false;
}
