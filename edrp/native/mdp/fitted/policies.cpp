// Policies of fitted projected costs: best responses where values are sums of arc prices, and what stays between sets of
// partitions.
#include "edrp/native/mdp/best_response.hpp"
#include "edrp/native/mdp/partitions.hpp"
#include "edrp/native/python.hpp"

namespace edrp {
namespace {

// The bytes that stay in a migration from each of some partitions to each of others.
void all_gains(const Floats& state_before, const Ints2& before, const Ints2& after, const FloatsOut2& gains) {
    for (i64 row = 0; row < before.shape[0]; ++row)
        for (i64 k = 0; k < after.shape[0]; ++k) gains(row, k) = gain_between(state_before, before.row(row), after.row(k));
}

// For each partition, the best response of a class where values are sums of arc prices: its cost and price, and its boundaries.
template <class Boundary>
void best_responses(const Trie& graph, const Floats& price, const Floats& state_before, const Array<Boundary, 2>& partitions,
                    const FloatsOut& values, const IntsOut2& chosen) {
    const SearchWorkspace space(graph);
    const i64 everything = state_before.size();
    const double total = state_before[everything - 1];
    const SpanGains& gains = space.gains;
    const FloatsOut &free = space.free_after, &whatever = space.any_after;
    for (i64 row = 0; row < partitions.shape[0]; ++row) {
        span_gains(graph, state_before, partitions.row(row), everything, gains);
        bound_from_the_right(graph, price, everything, space);
        values[row] = total - free[0];
        i64 v = 0;
        bool owner_free = true;
        chosen(row, 0) = 0;
        for (i64 k = 0; k < graph.nodes; ++k) {
            const Floats to_free_gain = owner_free ? gains.free_free : gains.any_free;
            const Floats to_any_gain = owner_free ? gains.free_any : gains.any_any;
            double best = -inf;
            i64 next = graph.arc_start[v];
            bool next_free = false;
            for (i64 e = graph.arc_start[v]; e < graph.arc_start[v + 1]; ++e) {
                const i64 s = graph.arc_span[e], w = graph.arc_target[e];
                const double to_free = to_free_gain[s] + free[w] - price[e], to_any = to_any_gain[s] + whatever[w] - price[e];
                if (to_free > best) {
                    best = to_free;
                    next = e;
                    next_free = true;
                }
                if (to_any > best) {
                    best = to_any;
                    next = e;
                    next_free = false;
                }
            }
            v = graph.arc_target[next];
            owner_free = next_free;
            chosen(row, k + 1) = graph.boundary[v];
        }
    }
}

const Kernels here{
    kernel<best_responses<const i64>, best_responses<const std::int16_t>, best_responses<const std::int32_t>>(
        "best_priced_responses", "The best response to each partition where values are sums of arc prices."),
    kernel<all_gains>("gains_between_all", "Bytes that stay in migrations from each of some partitions to each of others."),
};

}  // namespace
}  // namespace edrp
