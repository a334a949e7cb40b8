// The pattern of instances on a host that is worth most: pricing of the program over patterns (Gilmore and Gomory, 1961).
#include "edrp/native/python.hpp"

namespace edrp {
namespace {

// Depth-first search, with as many instances of one operator first as fit. The rest of a host is worth no more than the next
// operator, which is worth most for its weight, could make of it. Operators come by value over weight, descending; `weights`
// are needs weighted by multipliers of the resources, above 0; `most` bounds the instances on a host. `free` is what the host
// offers, and in the end the weighted sum of it; overwritten. A pattern may be worth more than that found by `tolerance`.
// `counts` are zeros to work with; the pattern is written to `best`. Returns its worth, the nodes, and whether the search ended.
std::tuple<double, i64, bool> best_host_pattern(const Floats& values, const Floats2& needs, const Floats& weights,
                                                const Ints& most, const FloatsOut& free, double tolerance, i64 max_nodes,
                                                const IntsOut& counts, const IntsOut& best) {
    const i64 operators = needs.shape[0], resources = needs.shape[1];
    double found = 0.0, value = 0.0;
    i64 nodes = 0, i = 0;
    while (nodes < max_nodes) {
        nodes += 1;
        i64 change = -1;
        if (i < operators && value + free[resources] * values[i] / weights[i] > found + tolerance) {
            change = most[i];
            for (i64 r = 0; r < resources; ++r)
                if (needs(i, r) > 0) change = least(change, i64(free[r] / needs(i, r)));
        } else {
            if (i == operators && value > found) {
                found = value;
                copy(counts, best);
            }
            i -= 1;
            while (i >= 0 && counts[i] == 0) i -= 1;
            if (i < 0) return {found, nodes, true};
        }
        counts[i] += change;
        value += double(change) * values[i];
        free[resources] -= double(change) * weights[i];
        for (i64 r = 0; r < resources; ++r) free[r] -= double(change) * needs(i, r);
        i += 1;
    }
    return {found, nodes, false};
}

const Kernels here{
    kernel<best_host_pattern>("best_host_pattern", "Finds the pattern of instances on a host that is worth most, depth first."),
};

}  // namespace
}  // namespace edrp
