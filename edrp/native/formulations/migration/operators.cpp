// The cheapest numbers of replicas on nodes for an operator without tasks, in every state.
#include "edrp/native/python.hpp"

namespace edrp {
namespace {

// Least sums of prices over nodes and replicas dealt so far.
class ReplicaTable {
 public:
    ReplicaTable(i64 nodes_, i64 most_replicas)
        : nodes(nodes_), costs(nodes + 1, most_replicas + 1), numbers(nodes, most_replicas + 1) {}

    // Least sum of prices(u, c) over nodes that are `on`, with `replicas` in all.
    template <class On>
    double fill(const Floats2& prices, const On& on, i64 replicas) {
        const FloatsOut2 cost = costs.view();
        for (i64 c = 0; c <= replicas; ++c) cost(0, c) = c == 0 ? 0.0 : inf;
        for (i64 u = 0; u < nodes; ++u) {
            const Floats own = prices.row(u);
            const FloatsOut before = cost.row(u), after = cost.row(u + 1);
            const IntsOut chosen = numbers.view().row(u);
            const bool used = on(u);
            for (i64 c = 0; c <= replicas; ++c) {
                double best = before[c];
                i64 number = 0;
                for (i64 k = 1; used && k <= c; ++k) {
                    const double value = before[c - k] + own[k];
                    if (value < best) {
                        best = value;
                        number = k;
                    }
                }
                after[c] = best;
                chosen[c] = number;
            }
        }
        return cost(nodes, replicas);
    }

    // Replicas on each node in the cheapest way.
    std::vector<i64> trace(i64 replicas) {
        std::vector<i64> counts(std::size_t(nodes), 0);
        for (i64 u = nodes - 1; u >= 0; --u) replicas -= counts[std::size_t(u)] = numbers.view()(u, replicas);
        return counts;
    }

 private:
    const i64 nodes;
    Matrix<double> costs;
    Matrix<i64> numbers;
};

// The least cost in every state, with the place of the number of replicas and of the least speed that has it.
//
// `prices` has a table for each number of replicas, `latency` the price of the latency at speed 1; only nodes at least as fast as
// one of `speeds` are used, and the latency is that at this speed.
std::tuple<std::vector<double>, std::vector<i64>, std::vector<i64>> plain_values(const Floats3& prices, const Ints& numbers,
                                                                                 const Floats& speeds, const Floats& speedup,
                                                                                 const Floats& latency, const Bools2& inside) {
    const std::size_t states = std::size_t(inside.shape[0]);
    std::vector<double> values(states, inf);
    std::vector<i64> best_number(states, 0), best_speed(states, 0);
    ReplicaTable table(prices.shape[1], prices.shape[2] - 1);
    for (std::size_t s = 0; s < states; ++s) {
        for (i64 p = 0; p < speeds.size(); ++p) {
            const auto on = [&](i64 u) { return inside(i64(s), u) && speedup[u] >= speeds[p]; };
            for (i64 n = 0; n < numbers.size(); ++n) {
                const double value = table.fill(prices.row(n), on, numbers[n]) + latency[n] / speeds[p];
                if (value < values[s]) {
                    values[s] = value;
                    best_number[s] = n;
                    best_speed[s] = p;
                }
            }
        }
    }
    return {std::move(values), std::move(best_number), std::move(best_speed)};
}

// Replicas on each node in the cheapest way.
std::vector<i64> trace_plain(const Floats2& prices, i64 replicas, const Bools& on) {
    ReplicaTable table(prices.shape[0], prices.shape[1] - 1);
    table.fill(prices, [&](i64 u) { return on[u]; }, replicas);
    return table.trace(replicas);
}

const Kernels here{kernel<plain_values>("plain_values", "Find the least cost in every state, of an operator without tasks."),
                   kernel<trace_plain>("trace_plain", "Count replicas on each node, of an operator without tasks.")};

}  // namespace
}  // namespace edrp
