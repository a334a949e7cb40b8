// Frontier dynamic program with memory: tables of the relaxation (edrp/formulations/placement/elimination/frontier.py).
#include "edrp/native/python.hpp"
#include "edrp/native/tolerances.hpp"

namespace edrp {
namespace {

struct FrontierStep {
    Ints sizes, stride, nodes, nodes_start;
    Floats2 demand;
    Ints own_nodes;
    i64 own_stride;
    Floats2 own_demand;
    Ints tail_place, tail_start;
    Floats2 capacity;
    FIELDS(sizes, stride, nodes, nodes_start, demand, own_nodes, own_stride, own_demand, tail_place, tail_start, capacity)
};

inline i64 state_after(const FrontierStep& step, const Ints& digits) {
    i64 index = 0;
    for (i64 k = 0; k < step.sizes.size(); ++k) index += digits[k] * step.stride[k];
    return index;
}

inline double pair_sum(const FrontierStep& step, const Floats& pair, const Ints& digits, i64 c) {
    double total = 0.0;
    for (i64 k = 0; k < step.tail_place.size(); ++k)
        total += pair[step.tail_start[k] + digits[step.tail_place[k]] * step.own_nodes.size() + c];
    return total;
}

// Whether the operator's candidate c has room next to the remembered operators.
inline bool has_room(const FrontierStep& step, const Ints& digits, i64 c) {
    const i64 u = step.own_nodes[c];
    for (i64 m = 0; m < step.own_demand.shape[1]; ++m) {
        double used = step.own_demand(c, m);
        for (i64 k = 0; k < step.sizes.size(); ++k) {
            const i64 candidate = step.nodes_start[k] + digits[k];
            if (step.nodes[candidate] == u) used += step.demand(candidate, m);
        }
        if (used > step.capacity(u, m) * (1 + LIMIT_SLACK)) return false;
    }
    return true;
}

// Next state in mixed radix, last place fastest.
inline void advance(const FrontierStep& step, const IntsOut& digits) {
    for (i64 k = step.sizes.size() - 1; k >= 0; --k) {
        if (++digits[k] < step.sizes[k]) return;
        digits[k] = 0;
    }
}

// Fills the table of a step from that after it: the least cost of placing its operator and all behind.
void fill_backward(const FrontierStep& step, const Floats& unary, const Floats& pair, const Floats& after,
                   const FloatsOut& table) {
    const Own<i64, 1> digits(step.sizes.size());
    const i64 size = table.size(), candidates = unary.size(), stride = step.own_stride;
    for (i64 s = 0; s < size; ++s) {
        const i64 base = state_after(step, digits);
        double best = inf;
        for (i64 c = 0; c < candidates; ++c) {
            double cost = unary[c] + after[base + c * stride];
            if (cost < best) {
                cost += pair_sum(step, pair, digits, c);
                if (cost < best && has_room(step, digits, c)) best = cost;
            }
        }
        table[s] = best;
        advance(step, digits);
    }
}

// Fills the table after a step from that before it, and the least cost with each candidate.
void fill_forward(const FrontierStep& step, const Floats& unary, const Floats& pair, const Floats& before, const Floats& after,
                  const FloatsOut& forward, const FloatsOut& marginal) {
    const Own<i64, 1> digits(step.sizes.size());
    for (i64 s = 0; s < before.size(); ++s) {
        if (before[s] < inf) {
            const i64 base = state_after(step, digits);
            for (i64 c = 0; c < unary.size(); ++c) {
                const i64 target = base + c * step.own_stride;
                const double cost = before[s] + unary[c] + pair_sum(step, pair, digits, c);
                if ((cost < forward[target] || cost + after[target] < marginal[c]) && has_room(step, digits, c)) {
                    forward[target] = least(forward[target], cost);
                    marginal[c] = least(marginal[c], cost + after[target]);
                }
            }
        }
        advance(step, digits);
    }
}

i64 best_choice(const FrontierStep& step, const Floats& unary, const Floats& pair, const Floats& after, const Ints& digits) {
    const i64 base = state_after(step, digits);
    double best = inf;
    i64 choice = 0;
    for (i64 c = 0; c < unary.size(); ++c) {
        const double cost = unary[c] + after[base + c * step.own_stride] + pair_sum(step, pair, digits, c);
        if (cost < best && has_room(step, digits, c)) {
            best = cost;
            choice = c;
        }
    }
    return choice;
}

const Kernels here{
    kernel<fill_backward>("fill_table_before", "Least cost of an operator and all behind it, by remembered state."),
    kernel<fill_forward>("fill_table_after",
                         "Least cost up to an operator, by remembered state, and min-marginals of candidates."),
    kernel<best_choice>("best_candidate", "The candidate of an operator that a cheapest relaxed solution takes."),
};

}  // namespace
}  // namespace edrp
