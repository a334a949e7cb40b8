// Least costs through the graph of states under prices (formulations/placement/equal_nodes/values.py).
#include "edrp/native/python.hpp"

namespace edrp {
namespace {

struct StateArcs {
    Ints first_state, first_transition, first_pattern;
    Array<const std::int32_t, 1> source, target, slot, pattern;
    FIELDS(first_state, first_transition, first_pattern, source, target, slot, pattern)
};

// Least cost from every state to the end, and the transition that begins the way there.
std::tuple<std::vector<double>, std::vector<i64>> costs_to_end(const StateArcs& graph, const Floats2& unary,
                                                               const Floats& patterns, const Floats& end) {
    const StateArcs arcs = graph;
    const i64 layers = arcs.first_state.size() - 1, states = arcs.first_state[layers];
    std::vector<double> value(std::size_t(states), inf);
    std::vector<i64> best(value.size(), 0);
    const FloatsOut values{value.data(), {states}};
    for (i64 k = 0; k < end.size(); ++k) values[arcs.first_state[layers - 1] + k] = end[k];
    for (i64 j = layers - 2; j >= 0; --j) {
        const FloatsOut costs = values.slice(arcs.first_state[j], arcs.first_state[j + 1]);
        const Floats there = values.slice(arcs.first_state[j + 1], arcs.first_state[j + 2]), own = unary.row(j);
        const Floats delay = patterns.slice(arcs.first_pattern[j], arcs.first_pattern[j + 1]);
        const i64 first = arcs.first_transition[j], last = arcs.first_transition[j + 1];
        i64* const chosen = best.data() + arcs.first_state[j];
        for (i64 t = first; t < last; ++t) {
            const double cost = own[arcs.slot[t]] + delay[arcs.pattern[t]] + there[arcs.target[t]];
            if (cost < costs[arcs.source[t]]) {
                costs[arcs.source[t]] = cost;
                chosen[arcs.source[t]] = t - first;
            }
        }
    }
    return {std::move(value), std::move(best)};
}

// Least cost of a path that takes each kind of choice; a row for each operator.
Matrix<double> costs_through(const StateArcs& graph, const Floats2& unary, const Floats& patterns, const Floats& value) {
    const StateArcs arcs = graph;
    const i64 layers = arcs.first_state.size() - 1;
    Matrix<double> found(unary.shape[0], unary.shape[1], inf);
    std::vector<double> memory(std::size_t(value.size()), inf);
    const FloatsOut reached{memory.data(), {value.size()}};
    reached[0] = 0.0;
    for (i64 j = 0; j < layers - 1; ++j) {
        const FloatsOut least = found.view().row(j), after = reached.slice(arcs.first_state[j + 1], arcs.first_state[j + 2]);
        const Floats before = reached.slice(arcs.first_state[j], arcs.first_state[j + 1]), own = unary.row(j);
        const Floats delay = patterns.slice(arcs.first_pattern[j], arcs.first_pattern[j + 1]);
        const Floats rest = value.slice(arcs.first_state[j + 1], arcs.first_state[j + 2]);
        for (i64 t = arcs.first_transition[j]; t < arcs.first_transition[j + 1]; ++t) {
            const double cost = before[arcs.source[t]] + own[arcs.slot[t]] + delay[arcs.pattern[t]];
            if (cost < after[arcs.target[t]]) after[arcs.target[t]] = cost;
            const double whole = cost + rest[arcs.target[t]];
            if (whole < least[arcs.slot[t]]) least[arcs.slot[t]] = whole;
        }
    }
    return found;
}

const Kernels here{kernel<costs_to_end>("costs_to_end", "Compute the least cost from every state to the end."),
                   kernel<costs_through>("costs_through", "Compute the least cost of a path with each kind of choice.")};

}  // namespace
}  // namespace edrp
