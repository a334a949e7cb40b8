// A search that exchanges tasks between nodes until no node exceeds given loads: simulated annealing on what exceeds them
// (formulations/placement/fixed_tasks/method.py).
#include "edrp/native/placement/fixed_tasks.hpp"
#include "edrp/native/python.hpp"
#include "edrp/native/random.hpp"

namespace edrp {
namespace {

constexpr double LAST_TEMPERATURE = 1e-5;

// Counts of tasks (nodes, operators) under search, and the room that each node has left.
struct Exchanges {
    IntsOut2 counts;
    FloatsOut2 left;
    Floats2 demand;

    // Whether node u has room for a task of operator i after one of operator j (-1 for none) has gone.
    bool has_room(i64 u, i64 i, i64 j) const {
        for (i64 m = 0; m < left.shape[1]; ++m)
            if (left(u, m) + (j >= 0 ? demand(j, m) : 0.0) < demand(i, m)) return false;
        return true;
    }
    void shift(i64 u, i64 i, i64 change) const {
        counts(u, i) += change;
        for (i64 m = 0; m < left.shape[1]; ++m) left(u, m) -= double(change) * demand(i, m);
    }
    // Moves a task of operator i from u to v, and one of operator j back (-1 for none).
    void exchange(i64 u, i64 v, i64 i, i64 j) const {
        shift(u, i, -1);
        shift(v, i, 1);
        if (j >= 0) {
            shift(v, j, -1);
            shift(u, j, 1);
        }
    }
};

double excess_of(const Floats& loads, const Floats& goal, const Floats& weight) {
    double total = 0.0;
    for (i64 k = 0; k < loads.size(); ++k)
        if (loads[k] > goal[k]) total += (loads[k] - goal[k]) * weight[k];
    return total;
}

double sum(const Floats& values) {
    double total = 0.0;
    for (double value : values) total += value;
    return total;
}

// Draws an operator that has tasks here, or -1.
i64 pick(const Ints& pattern, const Random& random) {
    const i64 first = below(random, pattern.size());
    for (i64 i = first; i < pattern.size(); ++i)
        if (pattern[i] > 0) return i;
    for (i64 i = 0; i < first; ++i)
        if (pattern[i] > 0) return i;
    return -1;
}

struct Exchange {
    i64 u, v, i = -1, j = -1;
};

// Draws nodes u and v, an operator of u and one of v (-1 for a move) that can be exchanged; the first is -1 if they cannot.
Exchange draw(const Exchanges& state, const Floats& excess, const Random& random) {
    const i64 u = below(random, excess.size());
    if (excess[u] <= 0 && uniform(random) < 0.7) return {u, u};
    const i64 v = below(random, excess.size()), i = pick(state.counts.row(u), random);
    if (u == v || i < 0) return {u, v};
    i64 j = -1;
    if (uniform(random) < 0.7) {
        j = pick(state.counts.row(v), random);
        if (j == i) return {u, v};
    }
    if (!state.has_room(v, i, j) || (j >= 0 && !state.has_room(u, j, i))) return {u, v};
    return {u, v, i, j};
}

double lower_excess(const LoadArrays& arrays, const Floats& room, const Floats& goal, const Floats& weight,
                    const IntsOut2& counts, double temperature, i64 steps, const Random& random) {
    const i64 nodes = counts.shape[0], shared = goal.size();
    Matrix<double> rooms(nodes, room.size()), loads(2, shared);
    std::vector<double> excesses(std::size_t(nodes), 0.0);
    const FloatsOut excess{excesses.data(), {nodes}}, one_loads = loads.view().row(0), two_loads = loads.view().row(1);
    const Exchanges state{counts, rooms.view(), arrays.demand};
    for (i64 w = 0; w < nodes; ++w) {
        for (i64 m = 0; m < room.size(); ++m) {
            double left = room[m];
            for (i64 i = 0; i < counts.shape[1]; ++i) left -= double(counts(w, i)) * arrays.demand(i, m);
            state.left(w, m) = left;
        }
        fill_loads(counts.row(w), arrays, one_loads);
        excess[w] = excess_of(one_loads, goal, weight);
    }
    double total = sum(excess), least_peak = total;
    std::vector<i64> best(counts.begin(), counts.end());
    const IntsOut2 best_counts{best.data(), {nodes, counts.shape[1]}};
    const double cooling = std::pow(LAST_TEMPERATURE / temperature, 1.0 / double(most<i64>(1, steps)));
    for (i64 step = 0; step < steps && total > 1e-14; ++step) {
        temperature *= cooling;
        const auto [u, v, i, j] = draw(state, excess, random);
        if (i < 0) continue;
        state.exchange(u, v, i, j);
        fill_loads(counts.row(u), arrays, one_loads);
        fill_loads(counts.row(v), arrays, two_loads);
        const double after_u = excess_of(one_loads, goal, weight), after_v = excess_of(two_loads, goal, weight);
        const double change = after_u + after_v - excess[u] - excess[v];
        if (change <= 0 || uniform(random) < std::exp(-change / temperature)) {
            excess[u] = after_u;
            excess[v] = after_v;
            total = most(0.0, total + change);
            if (total < least_peak - 1e-15) {
                total = least_peak = sum(excess);
                copy(counts, best_counts);
            }
        } else {
            state.exchange(v, u, i, j);
        }
    }
    copy(best_counts, counts);
    return least_peak > 1e-14 ? least_peak : 0.0;
}

const Kernels here{
    kernel<lower_excess>("lower_excess", "Lower what exceeds given loads by moves and swaps of tasks (simulated annealing)."),
};

}  // namespace
}  // namespace edrp
