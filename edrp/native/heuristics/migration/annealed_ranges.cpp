// Simulated annealing over replicas, ranges and nodes of all operators (edrp/heuristics/migration/rescale/annealed_ranges.py).
#include "edrp/native/heuristics/migration/range_arrays.hpp"
#include "edrp/native/python.hpp"
#include "edrp/native/random.hpp"

namespace edrp {
namespace {

constexpr i64 NO_OPERATOR = -1;            // stands for an operator where none was changed
constexpr double VIOLATION_PENALTY = 3.0;  // objective per unit of violation, on the scale on which temperatures are given

inline i64 first_task(const RangeState& s, i64 i, i64 k) { return k > 0 ? s.end(i, k - 1) : 0; }

// The boundary inside [first, end) that best halves its work from below, with at least one task on either side.
inline i64 split_point(const RangeArrays& t, i64 i, i64 first, i64 end) {
    const i64 at = t.offset[i];
    const double half = (t.work[at + first] + t.work[at + end]) / 2;
    i64 low = first + 1, high = end - 1;
    while (low < high) {
        const i64 middle = (low + high + 1) / 2;
        if (t.work[at + middle] <= half)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

// Sets the boundaries of operator i to ⌈k·m/r⌉: equal numbers of tasks.
inline void make_even(const RangeArrays& t, const RangeState& s, i64 i) {
    for (i64 k = 0; k < s.number[i]; ++k) s.end(i, k) = -floor_div(-(k + 1) * t.tasks[i], s.number[i]);
}

// Sets the boundaries of operator i so that all replicas have about equal work.
void make_balanced(const RangeArrays& t, const RangeState& s, i64 i) {
    const i64 m = t.tasks[i], at = t.offset[i], n = s.number[i];
    i64 before = 0;
    for (i64 k = 0; k < n; ++k) {
        const double target = t.work[at + m] * double(k + 1) / double(n);
        i64 low = before + 1, high = m - (n - 1 - k);
        while (low < high) {
            const i64 middle = (low + high) / 2;
            if (t.work[at + middle] < target)
                low = middle + 1;
            else
                high = middle;
        }
        if (low > before + 1 && t.work[at + low] - target > target - t.work[at + low - 1]) low -= 1;
        s.end(i, k) = before = k < n - 1 ? low : m;
    }
}

// Draws a node for a replica: a neighbour operator's, one that holds a task of its range now, or any.
inline i64 random_node(const RangeArrays& t, const RangeState& s, const Random& random, i64 i, i64 k) {
    const double draw = uniform(random);
    const i64 streams = t.adjacent_start[i + 1] - t.adjacent_start[i];
    if (draw < 0.35 && streams > 0) {
        const i64 e = t.adjacent[t.adjacent_start[i] + below(random, streams)], j = t.source[e] + t.target[e] - i;
        const i64 u = s.node(j, below(random, s.number[j]));
        if (t.candidate(i, u)) return u;
    }
    if (draw < 0.6 && t.current_number[i] > 0) {
        i64 q = below(random, t.current_number[i]);
        if (t.tasks[i] > 0) {
            const i64 first = first_task(s, i, k), task = first + below(random, s.end(i, k) - first);
            q = 0;
            while (t.current_end(i, q) <= task) ++q;
        }
        if (t.candidate(i, t.current_node(i, q))) return t.current_node(i, q);
    }
    const i64 first = t.candidate_start[i];
    return t.candidate_list[first + below(random, t.candidate_start[i + 1] - first)];
}

// Shifts a boundary, sets it to a current one, or balances the two replicas on either side of it.
inline bool move_boundary(const RangeArrays& t, const RangeState& s, const Random& random, i64 i) {
    if (t.tasks[i] == 0 || t.even_ranges || s.number[i] < 2) return false;
    const i64 k = below(random, s.number[i] - 1), first = first_task(s, i, k), end = s.end(i, k + 1);
    i64 boundary = s.end(i, k);
    const double draw = uniform(random);
    if (draw < 0.6 || (draw < 0.8 && t.current_number[i] < 2)) {
        const double length = uniform(random), squared = length * length;
        const i64 step = 1 + i64(double(end - first) * 0.5 * (squared * squared));
        boundary += uniform(random) < 0.5 ? step : -step;
    } else if (draw < 0.8) {
        boundary = t.current_end(i, below(random, t.current_number[i] - 1));
    } else if (end - first > 1) {
        boundary = split_point(t, i, first, end);
    }
    if (boundary <= first || boundary >= end || boundary == s.end(i, k)) return false;
    s.end(i, k) = boundary;
    return true;
}

// Splits a replica: a new one takes half of its range, on the same or another node.
bool split(const RangeArrays& t, const RangeState& s, const Random& random, i64 i) {
    const i64 n = s.number[i], k = below(random, n), m = t.tasks[i];
    if (n >= t.max_replicas[i] || n >= s.node.shape[1]) return false;
    i64 cut = 0;
    if (m > 0 && !t.even_ranges) {
        const i64 first = first_task(s, i, k), end = s.end(i, k);
        if (end - first < 2) return false;
        cut = uniform(random) < 0.7 ? split_point(t, i, first, end) : first + 1 + below(random, end - first - 1);
    }
    const i64 u = random_node(t, s, random, i, k);
    for (i64 p = n; p > k; --p) {
        s.node(i, p) = s.node(i, p - 1);
        s.end(i, p) = s.end(i, p - 1);
    }
    s.number[i] = n + 1;
    s.end(i, k) = cut;
    s.node(i, k + below(random, 2)) = u;
    if (m > 0 && t.even_ranges)
        make_even(t, s, i);
    else if (m > 0 && uniform(random) < 0.25)
        make_balanced(t, s, i);
    return true;
}

// Merges a replica into the one before it, which may take over its node.
bool merge(const RangeArrays& t, const RangeState& s, const Random& random, i64 i) {
    const i64 n = s.number[i];
    if (n <= t.min_replicas[i] || n < 2) return false;
    const i64 k = below(random, n - 1);
    if (uniform(random) < 0.5) s.node(i, k) = s.node(i, k + 1);
    for (i64 p = k; p < n - 1; ++p) {
        s.end(i, p) = s.end(i, p + 1);
        if (p > k) s.node(i, p) = s.node(i, p + 1);
    }
    s.number[i] = n - 1;
    if (t.tasks[i] > 0 && t.even_ranges)
        make_even(t, s, i);
    else if (t.tasks[i] > 0 && uniform(random) < 0.25)
        make_balanced(t, s, i);
    return true;
}

// Rotates the nodes of some neighbouring replicas by one position.
inline bool rotate(const RangeState& s, const Random& random, i64 i) {
    const i64 n = s.number[i];
    if (n < 2) return false;
    const i64 k = below(random, n - 1), last = k + 1 + below(random, n - 1 - k), u = s.node(i, last);
    for (i64 p = last; p > k; --p) s.node(i, p) = s.node(i, p - 1);
    s.node(i, k) = u;
    return true;
}

// Restores the current replicas of an operator, as far as they are allowed.
bool restore_current(const RangeArrays& t, const RangeState& s, i64 i) {
    const i64 n = t.current_number[i];
    if (n < most<i64>(1, t.min_replicas[i]) || n > t.max_replicas[i]) return false;
    for (i64 k = 0; k < n; ++k)
        if (!t.candidate(i, t.current_node(i, k))) return false;
    s.number[i] = n;
    for (i64 k = 0; k < n; ++k) {
        s.node(i, k) = t.current_node(i, k);
        s.end(i, k) = t.current_end(i, k);
    }
    if (t.tasks[i] > 0 && t.even_ranges) make_even(t, s, i);
    return true;
}

// Exchanges the nodes of two replicas, of two operators or of one.
inline bool swap(const RangeArrays& t, const RangeState& s, const Random& random, i64 i, i64 j) {
    const i64 k = below(random, s.number[i]), p = below(random, s.number[j]), u = s.node(i, k), v = s.node(j, p);
    if (u == v || !t.candidate(i, v) || !t.candidate(j, u)) return false;
    s.node(i, k) = v;
    s.node(j, p) = u;
    return true;
}

struct Changed {  // one or two operators
    i64 i, j;
};

// Changes replicas in place.
inline Changed propose(const RangeArrays& t, const RangeState& s, const Random& random) {
    const i64 i = below(random, t.load.size());
    const double draw = uniform(random);
    const Changed none{NO_OPERATOR, NO_OPERATOR}, one{i, NO_OPERATOR};
    if (draw < 0.4 && move_boundary(t, s, random, i)) return one;
    if (draw < 0.65) {
        const i64 k = below(random, s.number[i]), u = random_node(t, s, random, i, k);
        if (u == s.node(i, k)) return none;
        s.node(i, k) = u;
        return one;
    }
    if (draw < 0.75) {
        const i64 j = below(random, t.load.size());
        return swap(t, s, random, i, j) ? Changed{i, j != i ? j : NO_OPERATOR} : none;
    }
    if (draw < 0.84) return split(t, s, random, i) ? one : none;
    if (draw < 0.92) return merge(t, s, random, i) ? one : none;
    if (draw < 0.96) return rotate(s, random, i) ? one : none;
    if (draw < 0.98) return restore_current(t, s, i) ? one : none;
    if (t.tasks[i] == 0 || t.even_ranges) return none;
    make_balanced(t, s, i);
    return one;
}

inline double energy_of(const RangeState& s, double scale) {
    return s.values[OBJECTIVE_VALUE] * scale + VIOLATION_PENALTY * s.values[VIOLATION_VALUE];
}

// Copies the state to `best` if it is better: less violation, then a lower objective.
inline void keep_best(const RangeArrays& t, const RangeState& s, const RangeState& best) {
    const double violation = s.values[VIOLATION_VALUE], objective = s.values[OBJECTIVE_VALUE];
    const bool less = violation < best.values[VIOLATION_VALUE] - EQUAL_VIOLATIONS;
    const bool same = violation <= best.values[VIOLATION_VALUE] + EQUAL_VIOLATIONS;
    if (less || (same && objective < best.values[OBJECTIVE_VALUE])) {
        for (i64 i = 0; i < t.load.size(); ++i) copy_replicas(s, best, i);
        best.values[OBJECTIVE_VALUE] = objective;
        best.values[VIOLATION_VALUE] = violation;
    }
}

// Anneals from `state`; the best state visited is copied to `best`. The temperature falls by a factor per move; objectives are
// scaled.
void anneal_ranges(const RangeArrays& t, const RangeState& state, const RangeState& accepted, const RangeState& best,
                   const Random& random, i64 steps, double temperature, double cooling, double scale) {
    refresh_all(t, state);
    for (i64 i = 0; i < t.load.size(); ++i) copy_operator(t, state, accepted, i);
    keep_best(t, state, best);
    double energy = energy_of(state, scale);
    for (i64 step = 0; step < steps; ++step) {
        temperature *= cooling;
        const auto [i, j] = propose(t, state, random);
        if (i == NO_OPERATOR) continue;
        refresh_operator(t, state, i);
        if (j != NO_OPERATOR) {
            refresh_operator(t, state, j);
            refresh_streams(t, state, j);
        }
        refresh_streams(t, state, i);
        add_up(t, state);
        const double changed = energy_of(state, scale);
        const bool stays = changed <= energy || uniform(random) < std::exp((energy - changed) / temperature);
        if (stays) {
            energy = changed;
            keep_best(t, state, best);
        }
        const RangeState &from = stays ? state : accepted, &to = stays ? accepted : state;
        copy_operator(t, from, to, i);
        if (j != NO_OPERATOR) copy_operator(t, from, to, j);
    }
}

const Kernels here{kernel<anneal_ranges>("anneal_ranges", "Anneal replicas, ranges and nodes of a rescaling.")};

}  // namespace
}  // namespace edrp
