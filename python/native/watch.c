/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file of a mapped filter. A program that overwrites it in place changes the bits below a plan
 * that is no longer theirs, and one that cuts it short makes reading end the interpreter. So its
 * size and time are compared before each portion of many keys is looked up, and before all bits are
 * read. Single keys are not watched: that would take longer than the query.
 *
 * Replacing the file by rename leaves the map as it was, and is not noticed.
 */
#include "native.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void native_watch_look(struct native_watch *watch, const char *path)
{
    struct stat found;
    *watch = (struct native_watch){.path = NULL};
    if (stat(path, &found) != 0 || !S_ISREG(found.st_mode))
        return;
    watch->path = realpath(path, NULL);
    watch->device = (uint64_t)found.st_dev;
    watch->inode = (uint64_t)found.st_ino;
    watch->size = found.st_size;
    watch->time = found.st_mtim;
}

void native_watch_end(struct native_watch *watch)
{
    free(watch->path);
    watch->path = NULL;
}

static bool raise_changed(const struct native_filter *self, const char *what)
{
    const struct native_watch *watch = &self->watch;
    PyObject *type = self->state->exceptions[NATIVE_CHANGED];
    PyObject *path = PyUnicode_DecodeFSDefault(watch->path);
    PyObject *text =
        path == NULL
            ? NULL
            : PyUnicode_FromFormat(
                  "%U was %s while it was open, so its answers are wrong from now on. Open "
                  "it again. To change a filter's file write a new one beside it and "
                  "rename that over it, as save() does",
                  path, what);
    PyObject *raised = text == NULL ? NULL : PyObject_CallFunctionObjArgs(type, text, NULL);
    PyObject *status = raised == NULL ? NULL : PyUnicode_FromString("BLOOMERY_CORRUPT");
    PyObject *offset = status == NULL ? NULL : PyLong_FromLong(0);
    if (offset != NULL && PyObject_SetAttrString(raised, "status", status) == 0 &&
        PyObject_SetAttrString(raised, "offset", offset) == 0)
        PyErr_SetObject(type, raised);
    Py_XDECREF(path);
    Py_XDECREF(text);
    Py_XDECREF(raised);
    Py_XDECREF(status);
    Py_XDECREF(offset);
    return false;
}

bool native_watch_holds(struct native_filter *self)
{
    struct native_watch *watch = &self->watch;
    struct stat now;
    bloomery_status status;

    if (watch->path == NULL || stat(watch->path, &now) != 0)
        return true;
    const bool is_another =
        (uint64_t)now.st_dev != watch->device || (uint64_t)now.st_ino != watch->inode;
    const bool is_unchanged = now.st_size == watch->size &&
                              now.st_mtim.tv_sec == watch->time.tv_sec &&
                              now.st_mtim.tv_nsec == watch->time.tv_nsec;
    if (is_another || is_unchanged)
        return true;
    if (now.st_size < watch->size)
        return raise_changed(self, "cut short");
    if (now.st_size > watch->size)
        return raise_changed(self, "overwritten");
    /* Its time alone is another: the same bytes may have been written once more. */
    Py_BEGIN_ALLOW_THREADS;
    status = bloomery_verify(self->filter, NULL);
    Py_END_ALLOW_THREADS;
    if (status != BLOOMERY_OK)
        return raise_changed(self, "overwritten");
    watch->time = now.st_mtim;
    return true;
}
