// The dynamic program over vectors of replicas: periods forward, and the way back (mdp/placement/vector_course.py).
//
// What a change costs is a sum over operators, so that the best predecessors of all vectors are found by one pass down and one
// pass up along each axis (Felzenszwalb & Huttenlocher, 2012, section 2), and no pair of vectors is looked at.
#include <algorithm>

#include "edrp/native/python.hpp"

namespace edrp {
namespace {

struct Axes {
    Ints size, stride, first, replicas;
    Floats rise, started, price;
    FIELDS(size, stride, first, replicas, rise, started, price)
};

using Bytes2 = Array<const std::uint8_t, 2>;

// Replaces each entry by the least of its line along an axis, plus the replicas that must be started from there.
void transform(const Axes& axes, i64 i, const FloatsOut& moved) {
    const i64 n = axes.size[i], stride = axes.stride[i];
    for (i64 line = 0; line < moved.size(); line += n * stride) {
        for (i64 k = n - 2; k >= 0; --k) {  // stopping replicas is free
            double* const low = moved.data + line + k * stride;
            for (i64 p = 0; p < stride; ++p) low[p] = least(low[p], low[p + stride]);
        }
        for (i64 k = 1; k < n; ++k) {
            const double rise = axes.rise[axes.first[i] + k];
            double* const low = moved.data + line + k * stride;
            for (i64 p = 0; p < stride; ++p) low[p] = least(low[p], low[p - stride] + rise);
        }
    }
}

// `values` holds the least costs of the courses that end in the period before, `stages` the costs of each period, which become
// the results, `change` the price of any change into each. In `changed` a bit is set for each vector into which the best course
// changes.
void advance_courses(const Axes& axes, const Floats& values, const FloatsOut2& stages, const Floats& change,
                     const FloatsOut2& work, const Array<std::uint8_t, 2>& changed) {
    const FloatsOut moved = work.row(0), kept = work.row(1);
    const i64 vectors = values.size();
    for (i64 t = 0; t < stages.shape[0]; ++t) {
        const Floats before = t > 0 ? Floats(stages.row(t - 1)) : values;
        const FloatsOut after = stages.row(t);
        std::copy(before.begin(), before.end(), moved.begin());
        for (i64 i = 0; i < axes.size.size(); ++i) {
            const double price = axes.price[i];
            if (price > 0) std::copy(moved.begin(), moved.end(), kept.begin());
            transform(axes, i, moved);
            if (price > 0) {
                for (i64 p = 0; p < vectors; ++p) moved[p] = least(kept[p], moved[p] + price);
            }
        }
        const double price = change[t];
        for (i64 byte = 0; byte < changed.shape[1]; ++byte) {
            int bits = 0;
            for (i64 p = 8 * byte; p < least(8 * byte + 8, vectors); ++p) {
                const double through = moved[p] + price;
                after[p] += least(through, before[p]);
                bits |= int(through < before[p]) << (p & 7);
            }
            changed(t, byte) = std::uint8_t(bits);
        }
    }
}

bool changes_into(const Bytes2& changed, i64 t, i64 vector) { return changed(t, vector >> 3) >> (vector & 7) & 1; }

i64 last_vector_change(const Bytes2& changed, i64 first, i64 last, i64 vector) {
    i64 t = last;
    while (t >= first && !changes_into(changed, t, vector)) --t;
    return t;
}

// The vector from which a change to a vector is best, the first of several; `prices` is overwritten.
i64 predecessor(const Axes& axes, const Floats& values, i64 vector, const FloatsOut& prices) {
    prices[0] = 0.0;
    i64 length = 1;
    for (i64 i = 0; i < axes.size.size(); ++i) {
        const i64 n = axes.size[i], first = axes.first[i], own = axes.replicas[first + vector / axes.stride[i] % n];
        for (i64 p = length - 1; p >= 0; --p) {  // from behind, because each sum is spread over the places after it
            const double base = prices[p];
            for (i64 k = 0; k < n; ++k) {
                const i64 difference = own - axes.replicas[first + k];
                const double price = difference > 0 ? axes.started[i] * double(difference) : 0.0;
                prices[p * n + k] = base + (difference != 0 ? price + axes.price[i] : 0.0);
            }
        }
        length *= n;
    }
    i64 best = vector;
    double lowest = inf;
    for (i64 p = 0; p < values.size(); ++p) {
        const double total = values[p] + prices[p];
        if (total < lowest) {
            best = p;
            lowest = total;
        }
    }
    return best;
}

// `values`, `stages` and `changed` are those of `advance_courses`, after it. `course` begins with the period of `values`; its
// last entry is given. `prices` is overwritten.
void walk_back_courses(const Axes& axes, const Floats& values, const Floats2& stages, const Bytes2& changed,
                       const FloatsOut& prices, const IntsOut& course) {
    for (i64 t = course.size() - 2; t >= 0; --t) {
        const i64 vector = course[t + 1];
        course[t] = vector;
        if (changes_into(changed, t, vector)) course[t] = predecessor(axes, t > 0 ? stages.row(t - 1) : values, vector, prices);
    }
}

const Kernels here{
    kernel<advance_courses>("advance_courses", "Turn costs of periods into the least costs of all courses that end there."),
    kernel<last_vector_change>("last_vector_change",
                               "Find the last period into which the course that ends in a vector changes, or `first` - 1."),
    kernel<walk_back_courses>("walk_back_courses", "Follow the best course of vectors back from its last one."),
};

}  // namespace
}  // namespace edrp
