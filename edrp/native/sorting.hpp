// Orders of arrays without memory of their own, beyond what the caller hands over.
#pragma once
#include "edrp/native/arrays.hpp"

namespace edrp {

// The value that the first `count` would have at a place if they were sorted; they are put into another order.
inline double value_in_place(const FloatsOut& values, i64 count, i64 place) {
    i64 low = 0, high = count - 1;
    while (low < high) {
        double pivot = values[(low + high) / 2];
        i64 i = low, k = high;
        while (i <= k) {
            while (values[i] < pivot) ++i;
            while (values[k] > pivot) --k;
            if (i <= k) {
                double value = values[i];
                values[i++] = values[k];
                values[k--] = value;
            }
        }
        if (k < place && place < i) break;
        if (place <= k)
            high = k;
        else
            low = i;
    }
    return values[place];
}

// Sorts places by the values there; of equal values, those that came first go on doing so. `spare` holds as many places.
template <class Values>
void sort_by(const Values& values, const IntsOut& order, const IntsOut& spare) {
    const i64 size = order.size();
    for (i64 width = 1; width < size; width *= 2) {
        for (i64 begin = 0; begin < size; begin += 2 * width) {
            const i64 middle = least(begin + width, size), end = least(begin + 2 * width, size);
            i64 a = begin, b = middle;
            for (i64 k = begin; k < end; ++k)
                spare[k] = b == end || (a < middle && values[order[a]] <= values[order[b]]) ? order[a++] : order[b++];
        }
        for (i64 k = 0; k < size; ++k) order[k] = spare[k];
    }
}

}  // namespace edrp
