// The extension `edrp._native`: all kernels of the package, by name.
#define EDRP_MODULE
#include "edrp/native/python.hpp"

namespace edrp {

bool Place::expected(const char* what, PyObject* found) const {
    char path[300] = "";
    write(path, int(sizeof path));
    if (PyArray_Check(found)) {
        auto* array = reinterpret_cast<PyArrayObject*>(found);
        PyObject* type = PyObject_Str(reinterpret_cast<PyObject*>(PyArray_DESCR(array)));
        PyErr_Format(PyExc_TypeError, "%s: %s expected, not an array of %S with %d dimensions%s%s", path, what, type,
                     PyArray_NDIM(array), PyArray_IS_C_CONTIGUOUS(array) ? "" : " in another order",
                     PyArray_ISWRITEABLE(array) ? "" : " that must not be written");
        Py_XDECREF(type);
    } else {
        PyErr_Format(PyExc_TypeError, "%s: %s expected, not %R", path, what, found);
    }
    return false;
}

bool has_fields(PyObject* type, const char* attribute, const char* names) {
    PyObject* fields = PyObject_GetAttrString(type, attribute);
    if (!fields) return PyErr_Clear(), false;
    PyObject* between = PyUnicode_FromString(", ");
    PyObject* joined = between ? PyUnicode_Join(between, fields) : nullptr;
    const bool same = joined && PyUnicode_CompareWithASCIIString(joined, names) == 0;
    PyErr_Clear();
    Py_XDECREF(joined);
    Py_XDECREF(between);
    Py_DECREF(fields);
    return same;
}

// What the module answers for a name that it does not have, as after an update of its sources.
static PyObject* unknown(PyObject*, PyObject* name) {
    PyErr_Format(PyExc_AttributeError, "edrp._native has no kernel %R: it was built from other sources; install edrp again",
                 name);
    return nullptr;
}
static PyMethodDef attributes[] = {{"__getattr__", unknown, METH_O, nullptr}, {nullptr, nullptr, 0, nullptr}};

}  // namespace edrp

PyMODINIT_FUNC PyInit__native() {
    static PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                                     "edrp._native",
                                     "Kernels in C++; see docs/explanation/kernels.md.",
                                     -1,
                                     edrp::attributes,
                                     nullptr,
                                     nullptr,
                                     nullptr,
                                     nullptr};
    if (PyArray_ImportNumPyAPI() < 0) return nullptr;
    PyObject* module = PyModule_Create(&definition);
    for (edrp::Kernels* kernels = edrp::Kernels::first; module && kernels; kernels = kernels->next) {
        for (const PyMethodDef& method : kernels->list) {
            if (method.ml_name && PyDict_GetItemString(PyModule_GetDict(module), method.ml_name)) {
                PyErr_Format(PyExc_SystemError, "two kernels have the name %s", method.ml_name);
                Py_DECREF(module);
                return nullptr;
            }
        }
        if (PyModule_AddFunctions(module, kernels->list.data()) < 0) Py_CLEAR(module);
    }
    return module;
}
