/* SPDX-License-Identifier: Apache-2.0 */
/* The definition of the module, and the way from a type to the module's state. */
#include "native.h"

struct PyModuleDef native_definition = {.m_base = PyModuleDef_HEAD_INIT,
                                        .m_name = "bloomery._native",
                                        .m_doc = "Bloomery's library.",
                                        .m_size = sizeof(struct native_state)};

struct native_state *native_state_find(PyTypeObject *type)
{
    for (; type != NULL && PyType_GetFlags(type) & Py_TPFLAGS_HEAPTYPE;
         type = PyType_GetSlot(type, Py_tp_base)) {
        PyObject *module = PyType_GetModule(type);
        if (module == NULL)
            PyErr_Clear();
        else if (PyModule_GetDef(module) == &native_definition)
            return PyModule_GetState(module);
    }
    return NULL;
}

struct native_state *native_state_of(PyTypeObject *type)
{
    struct native_state *state = native_state_find(type);
    if (state == NULL)
        PyErr_SetString(PyExc_TypeError, "this is not a class of bloomery");
    return state;
}
