// How Python calls kernels: arguments are read by type, a wrong one gives a TypeError that names it, and the interpreter's lock
// is released while a kernel runs.
//
//     struct Trie { i64 nodes; Ints boundary; FIELDS(nodes, boundary) };      a named tuple with these fields, in this order
//     double price(const Trie& trie, const Floats& values) { ... }             the kernel, which knows nothing of Python
//     static Kernels here{kernel<price>("trie_price", "What a trie costs.")};  edrp._native.trie_price
//
// A kernel for arrays of several types is a template, of which each instance is an overload: kernel<price<int>,
// price<short>>(...). What a kernel returns becomes a number, None, an array (`std::vector`, `Matrix`) or a tuple of these
// (`std::tuple`).
#pragma once
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000  // one build for Python 3.11 and later
#include <Python.h>
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL EDRP_ARRAY_API
#ifndef EDRP_MODULE
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>

#include <cstdio>
#include <cstring>
#include <new>
#include <tuple>
#include <utility>
#include <vector>

#include "edrp/native/arrays.hpp"

namespace edrp {

template <class T>
struct Matrix {  // what a kernel returns as an array of two dimensions
    std::vector<T> cells;
    i64 rows = 0, columns = 0;

    Matrix(i64 rows_, i64 columns_, T value = T{})
        : cells(std::size_t(rows_ * columns_), value), rows(rows_), columns(columns_) {}
    Array<T, 2> view() { return {cells.data(), {rows, columns}}; }
};

template <class T, class = void>
constexpr bool is_record = false;
template <class T>
constexpr bool is_record<T, std::void_t<decltype(T::names)>> = true;

template <class T>
constexpr int number_type = is_record<T>                       ? NPY_VOID  // cells of a structured array are records
                            : std::is_same_v<T, bool>          ? NPY_BOOL
                            : std::is_same_v<T, std::int8_t>   ? NPY_INT8
                            : std::is_same_v<T, std::uint8_t>  ? NPY_UINT8
                            : std::is_same_v<T, std::int16_t>  ? NPY_INT16
                            : std::is_same_v<T, std::int32_t>  ? NPY_INT32
                            : std::is_same_v<T, std::int64_t>  ? NPY_INT64
                            : std::is_same_v<T, std::uint64_t> ? NPY_UINT64
                            : std::is_same_v<T, float>         ? NPY_FLOAT32
                            : std::is_same_v<T, double>        ? NPY_FLOAT64
                                                               : -1;

// Where something is read: an argument, or a field of what stands outside of it. A path of these becomes words only in an error.
struct Place {
    const Place* outer;
    const char* fields;  // names, divided by commas, of which `index` counts; arguments have none
    int index;

    int write(char* text, int room) const {
        if (!outer) return std::snprintf(text, std::size_t(room), "argument %d", index + 1);
        int written = outer->write(text, room);
        const char* name = fields;
        for (int k = 0; k < index && name; ++k) {
            name = std::strchr(name, ',');
            if (name) name += std::strspn(name, ", ");
        }
        if (!name || written >= room) return written;
        return written + std::snprintf(text + written, std::size_t(room - written), ".%.*s", int(std::strcspn(name, ",")), name);
    }
    // Sets a TypeError; returns false, as what cannot be read does.
    bool expected(const char* what, PyObject* found) const;
};

inline bool read(PyObject* object, i64& value, const Place& place) {
    if (PyFloat_Check(object)) return place.expected("a whole number", object);
    PyObject* number = PyNumber_Index(object);
    if (!number) return PyErr_Clear(), place.expected("a whole number", object);
    value = PyLong_AsLongLong(number);
    Py_DECREF(number);
    return value != -1 || !PyErr_Occurred();
}

inline bool read(PyObject* object, double& value, const Place& place) {
    value = PyFloat_AsDouble(object);
    if (value != -1.0 || !PyErr_Occurred()) return true;
    PyErr_Clear();
    return place.expected("a number", object);
}

inline bool read(PyObject* object, bool& value, const Place& place) {
    if (!PyBool_Check(object) && !PyArray_IsScalar(object, Bool)) return place.expected("True or False", object);
    const int truth = PyObject_IsTrue(object);
    value = truth == 1;
    return truth >= 0;
}

// Whether a type of tuples (attribute `_fields`, asked once per type) or of cells (`names`) has the fields of a record.
bool has_fields(PyObject* type, const char* attribute, const char* names);

template <class T>
bool has_layout(PyArrayObject* array) {
    if constexpr (is_record<T>)
        return PyArray_ITEMSIZE(array) == sizeof(T) &&
               has_fields(reinterpret_cast<PyObject*>(PyArray_DESCR(array)), "names", T::names);
    return true;
}

template <class T, int D>
bool read(PyObject* object, Array<T, D>& value, const Place& place) {
    constexpr int type = number_type<std::remove_const_t<T>>;
    static_assert(type >= 0);
    constexpr int needed = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED | (std::is_const_v<T> ? 0 : NPY_ARRAY_WRITEABLE);
    auto* array = reinterpret_cast<PyArrayObject*>(object);
    if (!PyArray_Check(object) || PyArray_NDIM(array) != D || !PyArray_EquivTypenums(PyArray_TYPE(array), type) ||
        (PyArray_FLAGS(array) & needed) != needed || PyArray_ISBYTESWAPPED(array) || !has_layout<T>(array)) {
        char what[300];
        PyArray_Descr* descr = PyArray_DescrFromType(type);
        PyObject* name = PyObject_Str(reinterpret_cast<PyObject*>(descr));
        const char* cells = name ? PyUnicode_AsUTF8AndSize(name, nullptr) : "numbers";
        if constexpr (is_record<T>) cells = T::names;
        std::snprintf(what, sizeof what, "a%s array of %s with %d dimension%s in C order", std::is_const_v<T> ? "n" : " writable",
                      cells, D, D == 1 ? "" : "s");
        Py_XDECREF(name);
        Py_DECREF(descr);
        return place.expected(what, object);
    }
    value.data = static_cast<T*>(PyArray_DATA(array));
    for (int d = 0; d < D; ++d) value.shape[d] = PyArray_DIM(array, d);
    return true;
}

template <class T, std::enable_if_t<is_record<T>, int> = 0>
bool read(PyObject* object, T& value, const Place& place) {
    static PyTypeObject* known = nullptr;
    if (Py_TYPE(object) != known) {
        if (!PyTuple_Check(object) || !has_fields(reinterpret_cast<PyObject*>(Py_TYPE(object)), "_fields", T::names)) {
            char what[1200];
            std::snprintf(what, sizeof what, "a named tuple of %s", T::names);
            return place.expected(what, object);
        }
        Py_INCREF(reinterpret_cast<PyObject*>(Py_TYPE(object)));  // a type that is known lives as long as the module
        known = Py_TYPE(object);
    }
    return value.visit([&](auto&... fields) {
        int k = 0;
        return (... && [&](auto& field) {
            const Place inside{&place, T::names, k};
            return read(PyTuple_GetItem(object, k++), field, inside);
        }(fields));
    });
}

inline PyObject* to_python(bool value) { return PyBool_FromLong(value); }
inline PyObject* to_python(i64 value) { return PyLong_FromLongLong(value); }
inline PyObject* to_python(double value) { return PyFloat_FromDouble(value); }

template <class T>
PyObject* to_array(const T* cells, int dimensions, const npy_intp* shape) {
    PyObject* array = PyArray_SimpleNew(dimensions, shape, number_type<T>);
    if (array && PyArray_SIZE(reinterpret_cast<PyArrayObject*>(array)))
        std::memcpy(PyArray_DATA(reinterpret_cast<PyArrayObject*>(array)), cells,
                    std::size_t(PyArray_NBYTES(reinterpret_cast<PyArrayObject*>(array))));
    return array;
}
template <class T>
PyObject* to_python(const std::vector<T>& values) {
    const npy_intp shape[] = {npy_intp(values.size())};
    return to_array(values.data(), 1, shape);
}
template <class T>
PyObject* to_python(const Matrix<T>& matrix) {
    const npy_intp shape[] = {npy_intp(matrix.rows), npy_intp(matrix.columns)};
    return to_array(matrix.cells.data(), 2, shape);
}
template <class... T>
PyObject* to_python(const std::tuple<T...>& values) {
    PyObject* tuple = PyTuple_New(sizeof...(T));
    if (!tuple) return nullptr;
    return std::apply(
        [tuple](const T&... value) {
            Py_ssize_t k = 0;
            const bool made = (... && [&](PyObject* item) {
                if (item) PyTuple_SetItem(tuple, k++, item);
                return item != nullptr;
            }(to_python(value)));
            if (!made) Py_DECREF(tuple);
            return made ? tuple : nullptr;
        },
        values);
}

class WithoutLock {
 public:
    WithoutLock() : state(PyEval_SaveThread()) {}
    ~WithoutLock() { PyEval_RestoreThread(state); }
    WithoutLock(const WithoutLock&) = delete;
    WithoutLock& operator=(const WithoutLock&) = delete;

 private:
    PyThreadState* state;
};

template <class Result, class... Parameters>
PyObject* call(Result (*function)(Parameters...), PyObject* const* arguments, Py_ssize_t count) {
    if (count != Py_ssize_t(sizeof...(Parameters))) {
        PyErr_Format(PyExc_TypeError, "%d arguments expected, %zd given", int(sizeof...(Parameters)), count);
        return nullptr;
    }
    std::tuple<std::decay_t<Parameters>...> values;
    const bool all = std::apply(
        [arguments](auto&... value) {
            int k = 0;
            return (... && [&](auto& one) {
                const Place place{nullptr, nullptr, k};
                return read(arguments[k++], one, place);
            }(value));
        },
        values);
    if (!all) return nullptr;
    try {
        if constexpr (std::is_void_v<Result>) {
            {
                const WithoutLock released;
                std::apply(function, values);
            }
            return Py_NewRef(Py_None);
        } else {
            auto run = [&] {
                const WithoutLock released;
                return std::apply(function, values);
            };
            return to_python(run());
        }
    } catch (const std::bad_alloc&) {
        return PyErr_NoMemory();
    }
}

// Tries each overload; where none takes the arguments, the error is that of the first.
template <auto... Functions>
PyObject* call_first(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
    PyObject* result = nullptr;
    PyObject *type = nullptr, *error = nullptr, *trace = nullptr;
    bool done = false;
    (... || (done = [&] {
         result = call(Functions, arguments, count);
         if (result || !PyErr_ExceptionMatches(PyExc_TypeError)) return true;
         if (type)
             PyErr_Clear();
         else
             PyErr_Fetch(&type, &error, &trace);
         return false;
     }()));
    if (!done) {
        PyErr_Restore(type, error, trace);
        return nullptr;
    }
    Py_XDECREF(type);
    Py_XDECREF(error);
    Py_XDECREF(trace);
    return result;
}

template <auto... Functions>
PyMethodDef kernel(const char* name, const char* text) {
    auto function = call_first<Functions...>;
    return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function)), METH_FASTCALL, text};
}

// The kernels of a file, which the module lists when it is imported.
class Kernels {
 public:
    template <class... Methods>
    explicit Kernels(const Methods&... methods) : list{methods..., {nullptr, nullptr, 0, nullptr}}, next(first) {
        first = this;
    }
    std::vector<PyMethodDef> list;
    Kernels* next;
    static inline Kernels* first = nullptr;
};

}  // namespace edrp
