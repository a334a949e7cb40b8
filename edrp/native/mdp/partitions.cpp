// Partitions of tasks: enumeration, and what stays between two of them (mdp/partitions.py).
#include "edrp/native/mdp/partitions.hpp"

#include "edrp/native/python.hpp"

namespace edrp {
namespace {

// Lists all paths through the layers depth first; the ranges of boundaries are those of `Layers`.
template <class T>
void enumerate_partitions(const Ints& first, const Ints& last, const Ints& reach, const Array<T, 2>& rows) {
    const i64 nodes = first.size() - 1, tasks = reach.size() - 1;
    std::vector<i64> row(nodes + 1), end(nodes + 1);  // the current path, and the last boundary to try at each position
    i64 k = 0, index = 0;
    while (k >= 0) {
        while (k < nodes) {  // down along the first boundaries that are left
            const i64 begin = row[k];
            k += 1;
            row[k] = begin == tasks ? tasks : most(begin + 1, first[k]);
            end[k] = begin == tasks ? tasks : least(reach[begin], last[k]);
        }
        for (i64 position = 0; position <= nodes; ++position) rows(index, position) = T(row[position]);
        index += 1;
        while (k >= 0 && row[k] >= end[k]) k -= 1;
        if (k >= 0) row[k] += 1;
    }
}

std::vector<i64> match(const Floats& state_before, const Ints& old_boundaries, const Ints& new_boundaries) {
    std::vector<i64> matched(new_boundaries.size() - 1);
    match_intervals(state_before, old_boundaries, new_boundaries, {matched.data(), {i64(matched.size())}});
    return matched;
}

const Kernels here{
    kernel<enumerate_partitions<std::int16_t>, enumerate_partitions<std::int32_t>>(
        "enumerate_partitions", "List every partition of a class, one row of boundaries each, in lexicographic order."),
    kernel<gain_between>("gain_between", "Bytes that can stay between two partitions (state migration, section 3.2)."),
    kernel<match>("match_intervals", "The old interval that keeps each new one, -1 for none (state migration, section 3.2)."),
};

}  // namespace
}  // namespace edrp
