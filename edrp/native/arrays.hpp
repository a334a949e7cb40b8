// Arrays of Python as kernels see them: a pointer and sizes. They own nothing; the caller's objects stay alive while a kernel
// runs.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <new>
#include <type_traits>

// Lists the fields of a struct that stands for a named tuple, once, in the tuple's order.
#define FIELDS(...)                                    \
    static constexpr const char* names = #__VA_ARGS__; \
    template <class Visitor>                           \
    bool visit(Visitor&& visitor) {                    \
        return visitor(__VA_ARGS__);                   \
    }

namespace edrp {

using i64 = std::int64_t;
constexpr double inf = std::numeric_limits<double>::infinity();

// Python's min and max of two: the first of equal ones, and the first where the second is no number.
template <class T>
T least(T a, T b) {
    return b < a ? b : a;
}
template <class T>
T most(T a, T b) {
    return b > a ? b : a;
}

// D dimensions in C order. `Array<const T, D>` is read only; an `Array<T, D>` becomes one where it is expected.
template <class T, int D>
struct Array {
    T* data = nullptr;
    i64 shape[D] = {};

    Array() = default;
    Array(T* data_, const i64 (&shape_)[D]) : data(data_) {
        for (int d = 0; d < D; ++d) shape[d] = shape_[d];
    }
    template <class U, std::enable_if_t<std::is_same_v<const U, T>, int> = 0>
    Array(const Array<U, D>& other) : Array(other.data, other.shape) {}

    i64 size() const {
        i64 cells = 1;
        for (i64 side : shape) cells *= side;
        return cells;
    }
    T* begin() const { return data; }
    T* end() const { return data + size(); }
    void fill(T value) const {
        for (T& cell : *this) cell = value;
    }

    T& operator[](i64 i) const {
        static_assert(D == 1);
        return data[checked(0, i)];
    }
    T& operator()(i64 i, i64 k) const {
        static_assert(D == 2);
        return data[checked(0, i) * shape[1] + checked(1, k)];
    }
    T& operator()(i64 i, i64 k, i64 l) const {
        static_assert(D == 3);
        return data[(checked(0, i) * shape[1] + checked(1, k)) * shape[2] + checked(2, l)];
    }
    T& operator()(i64 i, i64 k, i64 l, i64 m) const {
        static_assert(D == 4);
        return data[((checked(0, i) * shape[1] + checked(1, k)) * shape[2] + checked(2, l)) * shape[3] + checked(3, m)];
    }
    // All that stands at an index of the first dimension.
    template <int E = D, std::enable_if_t<E == 2, int> = 0>
    Array<T, 1> row(i64 i) const {
        return {data + checked(0, i) * shape[1], {shape[1]}};
    }
    template <int E = D, std::enable_if_t<E == 3, int> = 0>
    Array<T, 2> row(i64 i) const {
        return {data + checked(0, i) * shape[1] * shape[2], {shape[1], shape[2]}};
    }
    // The cells from `first` up to and without `last`.
    template <int E = D, std::enable_if_t<E == 1, int> = 0>
    Array<T, 1> slice(i64 first, i64 last) const {
#ifdef EDRP_CHECKED
        if (first < 0 || first > last || last > shape[0]) __builtin_trap();
#endif
        return {data + first, {last - first}};
    }

 private:
    // In builds for tests (`make test-native`) an index outside of its dimension ends the process, negative ones too.
    i64 checked([[maybe_unused]] int dimension, i64 index) const {
#ifdef EDRP_CHECKED
        if (index < 0 || index >= shape[dimension]) __builtin_trap();
#endif
        return index;
    }
};

// An array with memory of its own, in which a kernel works; all cells are 0 at first.
template <class T, int D>
class Own : public Array<T, D> {
 public:
    template <class... Sizes>
    explicit Own(Sizes... sizes)
        : Array<T, D>(nullptr, {i64(sizes)...}),
          cells(static_cast<T*>(std::calloc(std::size_t(most<i64>(this->size(), 1)), sizeof(T)))) {
        if (!cells) throw std::bad_alloc();
        this->data = cells.get();
    }

 private:
    struct Free {
        void operator()(T* memory) const { std::free(memory); }
    };
    std::unique_ptr<T, Free> cells;
};

// What a kernel reads, and what it writes.
using Ints = Array<const i64, 1>;
using Ints2 = Array<const i64, 2>;
using Ints3 = Array<const i64, 3>;
using Ints32 = Array<const std::int32_t, 1>;
using Floats = Array<const double, 1>;
using Floats2 = Array<const double, 2>;
using Floats3 = Array<const double, 3>;
using Bools = Array<const bool, 1>;
using Bools2 = Array<const bool, 2>;
using IntsOut = Array<i64, 1>;
using IntsOut2 = Array<i64, 2>;
using IntsOut3 = Array<i64, 3>;
using Ints32Out = Array<std::int32_t, 1>;
using FloatsOut = Array<double, 1>;
using FloatsOut2 = Array<double, 2>;
using FloatsOut3 = Array<double, 3>;
using BoolsOut = Array<bool, 1>;
using BoolsOut2 = Array<bool, 2>;

// Python's // and %: rounded down, with the sign of the divisor.
inline i64 floor_div(i64 a, i64 b) {
    i64 quotient = a / b;
    return a % b != 0 && (a % b < 0) != (b < 0) ? quotient - 1 : quotient;
}
inline i64 modulo(i64 a, i64 b) { return a - floor_div(a, b) * b; }

template <class T, int D>
void copy(const Array<const T, D>& source, const Array<T, D>& target) {
    std::copy(source.begin(), source.end(), target.begin());
}
template <class T, int D>
void copy(const Array<T, D>& source, const Array<T, D>& target) {
    copy(Array<const T, D>(source), target);
}

}  // namespace edrp
