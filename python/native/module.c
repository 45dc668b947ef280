/* SPDX-License-Identifier: Apache-2.0 */
/* The module bloomery._native: its types, its exceptions, and functions that need no filter. */
#include "native.h"

#include <assert.h>
#include <string.h>

static PyObject *module_plan(PyObject *module, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"keys", "rate", "bytes", "kind", NULL};
    struct native_request request = {.kind = "blocked", .integers = 64};
    struct native_state *state = PyModule_GetState(module);
    bloomery_error error;
    PyObject *bytes = NULL;
    uint64_t most = 0;

    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|OOO$s", names, &request.keys, &request.rate,
                                     &bytes, &request.kind)) {
        native_keyword_help(keywords, "keys");
        return NULL;
    }
    const bool has_keys = request.keys != NULL && request.keys != Py_None;
    const bool has_rate = request.rate != NULL && request.rate != Py_None;
    const bool has_bytes = bytes != NULL && bytes != Py_None;
    if (has_keys + has_rate + has_bytes != 2) {
        PyErr_SetString(PyExc_TypeError, "two of keys, rate and bytes are needed");
        return NULL;
    }
    if (has_keys || !has_rate) {
        request.memory = bytes;
        return native_request_solve(state, &request) ? native_plan_of(state, &request.plan) : NULL;
    }
    /* The most keys: not what new filters are made by. */
    if (!native_kind_take(&request))
        return NULL;
    bloomery_plan plan = {.kind = request.plan.kind, .rate = PyFloat_AsDouble(request.rate)};
    if (PyErr_Occurred() != NULL || !native_count_take(bytes, "bytes", &most))
        return NULL;
    plan.bytes = most;
    if (bloomery_plan_solve(&plan, NULL, &error) != BLOOMERY_OK)
        return native_raise(state, &error, NULL);
    return native_plan_of(state, &plan);
}

static PyObject *module_dialects(PyObject *module, PyObject *none)
{
    const struct native_state *state = PyModule_GetState(module);
    const bloomery_dialect *dialect;
    PyObject *list = PyList_New(0);

    (void)none;
    for (uint32_t i = 1; list != NULL && (dialect = bloomery_dialect_get(i)) != NULL; i++) {
        PyObject *tuple = native_dialect_of(state, dialect);
        if (tuple == NULL || PyList_Append(list, tuple) != 0)
            Py_CLEAR(list);
        Py_XDECREF(tuple);
    }
    PyObject *all = list == NULL ? NULL : PyList_AsTuple(list);
    Py_XDECREF(list);
    return all;
}

static PyObject *module_sniff(PyObject *module, PyObject *data)
{
    Py_buffer buffer;
    (void)module;
    if (PyObject_GetBuffer(data, &buffer, PyBUF_SIMPLE) != 0)
        return NULL;
    const bloomery_dialect *dialect = bloomery_dialect_sniff(buffer.buf, (size_t)buffer.len);
    PyBuffer_Release(&buffer);
    return native_text_of(dialect == NULL ? NULL : dialect->name);
}

/* ---- Signatures ------------------------------------------------------------------------------ */

/* "add(key) -> bool\n\nAdds ..." with "add($self, key, /)\n--\n\n" before it, of which Python makes
 * the signature that editors show. NULL after raising. */
static char *with_signature(const char *doc, int flags)
{
    const char *open = strchr(doc, '('), *close = strchr(doc, ')');
    const char *self = flags & METH_CLASS ? "$type" : "$self";
    assert(open != NULL && close != NULL);
    const int arguments = (int)(close - open - 1);
    /* What takes no keywords takes arguments by their place alone, unless they are any number. */
    const bool places =
        (flags & METH_KEYWORDS) == 0 && memchr(open, '*', (size_t)(close - open)) == NULL;
    const size_t room = 2 * strlen(doc) + 32;
    char *text = PyMem_Malloc(room);
    if (text == NULL)
        PyErr_NoMemory();
    else
        PyOS_snprintf(text, room, "%.*s(%s%s%.*s%s)\n--\n\n%s", (int)(open - doc), doc, self,
                      arguments > 0 ? ", " : "", arguments, open + 1, places ? ", /" : "", doc);
    return text;
}

static bool describe_methods(PyMethodDef *methods)
{
    for (; methods->ml_name != NULL; methods++) {
        const char *doc = methods->ml_doc;
        if (doc == NULL || strstr(doc, "\n--\n") != NULL ||
            strncmp(doc, methods->ml_name, strlen(methods->ml_name)) != 0)
            continue;
        methods->ml_doc = with_signature(doc, methods->ml_flags);
        if (methods->ml_doc == NULL) {
            methods->ml_doc = doc;
            return false;
        }
    }
    return true;
}

/* ---- The module ------------------------------------------------------------------------------ */

static bool add_type(PyObject *module, PyType_Spec *spec, PyTypeObject **type)
{
    for (PyType_Slot *slot = spec->slots; slot->slot != 0; slot++)
        if (slot->slot == Py_tp_methods && !describe_methods(slot->pfunc))
            return false;
    *type = (PyTypeObject *)PyType_FromModuleAndSpec(module, spec, NULL);
    return *type != NULL && PyModule_AddType(module, *type) == 0;
}

static int execute(PyObject *module)
{
    struct native_state *state = PyModule_GetState(module);
    const bool good = native_gates_start() && native_errors_add(module, state) &&
                      native_facts_add(module, state) &&
                      add_type(module, native_filter_spec(), &state->filter_type) &&
                      add_type(module, native_answers_spec(), &state->answers_type) &&
                      add_type(module, native_builder_spec(), &state->builder_type) &&
                      add_type(module, native_sieve_spec(), &state->sieve_type) &&
                      add_type(module, native_near_spec(), &state->near_type) &&
                      add_type(module, native_deduper_spec(), &state->deduper_type) &&
                      PyModule_AddStringConstant(module, "__version__", bloomery_version()) == 0 &&
                      PyModule_AddIntConstant(module, "SEEN", BLOOMERY_SIEVE_SEEN) == 0 &&
                      PyModule_AddIntConstant(module, "NEW", BLOOMERY_SIEVE_NEW) == 0 &&
                      PyModule_AddIntConstant(module, "PENDING", BLOOMERY_SIEVE_PENDING) == 0;
    return good ? 0 : -1;
}

static int traverse(PyObject *module, visitproc visit, void *arg)
{
    const struct native_state *state = PyModule_GetState(module);
    if (state == NULL)
        return 0;
    for (int i = 0; i < NATIVE_EXCEPTIONS; i++)
        Py_VISIT(state->exceptions[i]);
    for (int i = 0; i < NATIVE_TUPLES; i++)
        Py_VISIT(state->tuples[i]);
    Py_VISIT(state->filter_type);
    Py_VISIT(state->answers_type);
    Py_VISIT(state->builder_type);
    Py_VISIT(state->sieve_type);
    Py_VISIT(state->near_type);
    Py_VISIT(state->deduper_type);
    return 0;
}

static int clear(PyObject *module)
{
    struct native_state *state = PyModule_GetState(module);
    if (state == NULL)
        return 0;
    for (int i = 0; i < NATIVE_EXCEPTIONS; i++)
        Py_CLEAR(state->exceptions[i]);
    for (int i = 0; i < NATIVE_TUPLES; i++)
        Py_CLEAR(state->tuples[i]);
    Py_CLEAR(state->filter_type);
    Py_CLEAR(state->answers_type);
    Py_CLEAR(state->builder_type);
    Py_CLEAR(state->sieve_type);
    Py_CLEAR(state->near_type);
    Py_CLEAR(state->deduper_type);
    return 0;
}

static void release(void *module)
{
    clear(module);
}

static PyMethodDef functions[] = {
    {"plan", NATIVE_KEYWORDS(module_plan), METH_VARARGS | METH_KEYWORDS,
     "plan(keys=None, rate=None, bytes=None, *, kind='blocked') -> Plan\n\nTwo of the three give "
     "the third: the numbers of a filter before it exists."},
    {"dialects", module_dialects, METH_NOARGS,
     "dialects() -> tuple of Dialect\n\nOther systems whose filters are read or written."},
    {"recognise", module_sniff, METH_O,
     "recognise(data) -> str or None\n\nThe dialect that the first bytes of a file belong to."},
    {"_answers", native_answers_load, METH_VARARGS, NULL}, /* of pickles */
    {NULL, NULL, 0, NULL}};

static PyModuleDef_Slot slots[] = {{Py_mod_exec, execute}, {0, NULL}};

PyMODINIT_FUNC PyInit__native(void);

PyMODINIT_FUNC PyInit__native(void)
{
    if (!describe_methods(functions))
        return NULL;
    native_definition.m_methods = functions;
    native_definition.m_slots = slots;
    native_definition.m_traverse = traverse;
    native_definition.m_clear = clear;
    native_definition.m_free = release;
    return PyModuleDef_Init(&native_definition);
}
