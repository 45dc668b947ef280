/* SPDX-License-Identifier: Apache-2.0 */
/* BoolColumn as Arrow's boolean array. The structs are described in arrow.c. */
#include "native.h"

#include <stdlib.h>

struct exported_schema {
    const char *format, *name, *metadata;
    int64_t flags, children_count;
    void *children, *dictionary;
    void (*release)(struct exported_schema *);
    void *private_data;
};

struct exported_array {
    int64_t length, null_count, offset, buffer_count, children_count;
    const void **buffers;
    void *children, *dictionary;
    void (*release)(struct exported_array *);
    void *private_data;
};

static void release_schema(struct exported_schema *schema)
{
    schema->release = NULL;
}

/* Any thread may release it, with the GIL or without. The buffers live as long as their owner, of
 * which a moved copy of the struct keeps a reference. */
struct lent {
    const void *both[2];
    PyObject *owner;
};

static void release_array(struct exported_array *array)
{
    struct lent *lent = array->private_data;
    const PyGILState_STATE state = PyGILState_Ensure();
    Py_DECREF(lent->owner);
    PyGILState_Release(state);
    free(lent);
    array->release = NULL;
}

static void free_schema(PyObject *capsule)
{
    struct exported_schema *schema = PyCapsule_GetPointer(capsule, "arrow_schema");
    if (schema != NULL && schema->release != NULL)
        schema->release(schema);
    free(schema);
}

static void free_array(PyObject *capsule)
{
    struct exported_array *array = PyCapsule_GetPointer(capsule, "arrow_array");
    if (array != NULL && array->release != NULL)
        array->release(array);
    free(array);
}

static PyObject *schema_capsule(void)
{
    struct exported_schema *schema = calloc(1, sizeof(*schema));
    if (schema == NULL)
        return PyErr_NoMemory();
    schema->format = "b";
    schema->name = "";
    schema->release = release_schema;
    PyObject *capsule = PyCapsule_New(schema, "arrow_schema", free_schema);
    if (capsule == NULL)
        free(schema);
    return capsule;
}

static PyObject *array_capsule(PyObject *self)
{
    const struct native_answers *answers = (const struct native_answers *)self;
    struct exported_array *array = calloc(1, sizeof(*array));
    struct lent *lent = calloc(1, sizeof(*lent));
    if (array == NULL || lent == NULL) {
        free(array);
        free(lent);
        return PyErr_NoMemory();
    }
    lent->both[1] = answers->bits.words;
    lent->owner = Py_NewRef(self);
    array->length = answers->shape;
    array->buffer_count = 2;
    array->buffers = lent->both;
    array->release = release_array;
    array->private_data = lent;
    PyObject *capsule = PyCapsule_New(array, "arrow_array", free_array);
    if (capsule == NULL) {
        release_array(array);
        free(array);
    }
    return capsule;
}

PyObject *native_answers_arrow(PyObject *self, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"requested_schema", NULL};
    PyObject *requested = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|O", names, &requested))
        return NULL;
    PyObject *schema = schema_capsule();
    PyObject *array = schema == NULL ? NULL : array_capsule(self);
    PyObject *both = array == NULL ? NULL : PyTuple_Pack(2, schema, array);
    Py_XDECREF(schema);
    Py_XDECREF(array);
    return both;
}

PyObject *native_answers_arrow_schema(PyObject *self, PyObject *none)
{
    (void)self;
    (void)none;
    return schema_capsule();
}
