/* SPDX-License-Identifier: Apache-2.0 */
/* The class Filter: the lines of files. bloomery._lines reads them, and the filter's rule for lines
 * makes keys of them, as the command does. */
#include "native.h"

/* Calls a function of bloomery._lines. */
static PyObject *call(const char *name, PyObject *args, PyObject *keywords)
{
    PyObject *module = PyImport_ImportModule("bloomery._lines");
    PyObject *function = module == NULL ? NULL : PyObject_GetAttrString(module, name);
    PyObject *result = function == NULL ? NULL : PyObject_Call(function, args, keywords);
    Py_XDECREF(function);
    Py_XDECREF(module);
    return result;
}

/* The rule of the filter's file with what it says of lines. False after raising. */
static bool keying_of_lines(struct native_filter *self, bool crlf, struct native_keying *keying)
{
    bloomery_info info = BLOOMERY_INFO;
    if (!native_filter_enter(self, true, false))
        return false;
    bloomery_info_get(self->filter, &info);
    native_filter_leave(self, false);
    *keying = self->keying;
    keying->rule = info.rule;
    keying->rule.flags |= crlf ? (uint32_t)BLOOMERY_RULE_CRLF : 0;
    keying->has_rule = keying->lines = true;
    return true;
}

/* Runs an operation over the lines of a file; the caller frees the work. */
static bool run(PyObject *object, enum native_verb verb, PyObject *args, PyObject *keywords,
                struct native_work *work)
{
    static char *names[] = {"path", "crlf", NULL};
    struct native_filter *self = (struct native_filter *)object;
    struct native_keying keying;
    PyObject *path;
    int crlf = 0;

    *work = (struct native_work){.verb = verb};
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|$p", names, &path, &crlf) ||
        !keying_of_lines(self, crlf != 0, &keying))
        return false;
    /* Nobody is warned where the return is not part of a key, as behind a first field. */
    const bool cut = (keying.rule.flags & (BLOOMERY_RULE_CRLF | BLOOMERY_RULE_TRIM)) != 0 ||
                     keying.rule.field == 1;
    PyObject *both = Py_BuildValue("(OO)", path, cut ? Py_True : Py_False);
    PyObject *lines = both == NULL ? NULL : call("read", both, NULL);
    Py_XDECREF(both);
    if (lines == NULL)
        return false;
    native_filter_work(self, verb, work);
    work->keying = &keying;
    work->keep = verb == NATIVE_QUERY;
    const bool good = native_work_run(work, lines);
    work->keying = NULL;
    Py_DECREF(lines);
    return good;
}

static PyObject *add_lines(PyObject *self, PyObject *args, PyObject *keywords)
{
    struct native_work work;
    const bool good = run(self, NATIVE_ADD, args, keywords, &work);
    native_work_free(&work);
    return good ? PyLong_FromSize_t(work.yes) : NULL;
}

static PyObject *contains_lines(PyObject *self, PyObject *args, PyObject *keywords)
{
    struct native_work work;
    PyObject *answers = NULL;
    if (run(self, NATIVE_QUERY, args, keywords, &work))
        answers = native_answers_new(work.state, &work.bits);
    native_work_free(&work);
    return answers;
}

static PyObject *build_lines(PyObject *type, PyObject *args, PyObject *keywords)
{
    PyObject *first = PyTuple_Pack(1, type);
    PyObject *all = first == NULL ? NULL : PySequence_Concat(first, args);
    PyObject *made = all == NULL ? NULL : call("build", all, keywords);
    Py_XDECREF(all);
    Py_XDECREF(first);
    return made;
}

PyMethodDef native_filter_line_methods[] = {
    {"add_lines", NATIVE_KEYWORDS(add_lines), METH_VARARGS | METH_KEYWORDS,
     "add_lines(path, *, crlf=False) -> int\n\nAdds the lines of a file, without their ends; how "
     "many were new. The filter's whole rule is applied, as 'bloomery add' does. Files of gzip, "
     "bzip2 and xz are unpacked. crlf: a carriage return at the end is not part of a key."},
    {"contains_lines", NATIVE_KEYWORDS(contains_lines), METH_VARARGS | METH_KEYWORDS,
     "contains_lines(path, *, crlf=False) -> BoolColumn\n\nWhich lines of a file are possibly in "
     "the filter. Lines that the rule makes no key of are False."},
    {"build_lines", NATIVE_KEYWORDS(build_lines), METH_VARARGS | METH_KEYWORDS | METH_CLASS,
     "build_lines(path, rate=0.01, *, crlf=False, count=None, **options) -> Filter\n\nA filter of "
     "the lines of a file. Without `count` they are counted first. The options are those of "
     "build."},
    {NULL, NULL, 0, NULL}};
