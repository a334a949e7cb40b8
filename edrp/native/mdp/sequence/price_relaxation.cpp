// Two consecutive partitions at once: the pair (P, Q) with the least cost between them plus prices of their intervals
// (mdp/sequence/price_relaxation.py).
//
// Both partitions are chosen together, from left to right, by the order of all their boundaries. A state is the interval that is
// open in each of them, begun at some place of its class, and whether the older of the two is already matched (the newer cannot
// be). The next boundary closes one of the two intervals; what the two have shared since the newer began may then be kept.
// Boundaries at the same task close P first, so that each pair is met once.
#include "edrp/native/python.hpp"

namespace edrp {
namespace {

struct PairSide {
    Ints boundary, arc_start, arc_target, level, reach;
    FIELDS(boundary, arc_start, arc_target, level, reach)
};

struct PlacePairs {
    PairSide left, right;
    Ints2 low, high, offset;
    i64 count;
    FIELDS(left, right, low, high, offset, count)
};

struct PairChoices {
    FloatsOut2 value;
    Array<std::int32_t, 2> choice;
    FIELDS(value, choice)
};

// The last boundary of Q at which an interval may begin that is open together with the one of P that begins at place u.
i64 last_begin(const PairSide& left, i64 u) {
    const i64 last = left.boundary.size() - 1;
    return u == last ? left.boundary[last] : left.reach[u] - 1;
}

// Fills the ranges of right places at each position, sorted by boundary; returns the number of states.
i64 lay_out(const PairSide& left, const PairSide& right, const IntsOut2& low, const IntsOut2& high, const IntsOut2& offset) {
    i64 count = 0;
    for (i64 u = 0; u < left.boundary.size(); ++u) {
        const i64 a = left.boundary[u], furthest = last_begin(left, u);
        i64 k = 0, reached = 0;
        for (i64 v = 0; v < right.boundary.size(); ++v) {
            if (v == 0 || right.level[v] != k) {
                k = right.level[v];
                reached = 0;
                low(u, k) = high(u, k) = v;
            }
            reached = most(most(reached, right.reach[v]), right.boundary[v]);
            if (reached < a)
                low(u, k) = high(u, k) = v + 1;
            else if (right.boundary[v] <= furthest)
                high(u, k) = v + 1;
        }
        for (k = 0; k < low.shape[1]; ++k) {
            offset(u, k) = count - low(u, k);
            count += high(u, k) - low(u, k);
        }
    }
    return count;
}

// The least cost from a state on if its older interval is free, or matched, and how.
struct Continuation {
    double free = inf, matched = inf;
    i64 how_free = 0, how_matched = 0;

    // Closes an interval at the price of its arc; `how` says which, `to` are the two values of the state that follows.
    void close(double price, const double* to, double shared, bool newer_closes, i64 how) {
        const double apart = price + to[0], together = price + to[1], onwards = newer_closes ? together : apart;
        if (apart < free) {
            free = apart;
            how_free = how;
        }
        if (together - shared < free) {
            free = together - shared;
            how_free = how + 1;
        }
        if (onwards < matched) {
            matched = onwards;
            how_matched = how;
        }
    }
};

// The least c(P, Q) plus prices of both partitions, shape (arcs,) each; fills `choices`.
double least_pair(const PlacePairs& pairs, const Floats& left_price, const Floats& right_price, const Floats& state_before,
                  const PairChoices& choices) {
    const PairSide left = pairs.left, right = pairs.right;
    const FloatsOut2 value = choices.value;
    const i64 last = left.boundary.size() - 1;
    for (i64 u = last; u >= 0; --u) {
        const i64 a = left.boundary[u], right_most = last_begin(left, u);
        for (i64 k = pairs.low.shape[1] - 1; k >= 0; --k)
            for (i64 v = pairs.high(u, k) - 1; v >= pairs.low(u, k); --v) {
                const i64 state = pairs.offset(u, k) + v, c = right.boundary[v];
                if (u == last && v == right.boundary.size() - 1) {
                    value(state, 0) = value(state, 1) = 0.0;
                    continue;
                }
                const double since = state_before[most(a, c)];
                const bool left_is_newer = a > c;
                Continuation best;
                for (i64 e = left.arc_start[u]; e < left.arc_start[u + 1]; ++e) {
                    const i64 w = left.arc_target[e], b = left.boundary[w];
                    if (b <= c) continue;
                    if (b > right.reach[v]) break;
                    const i64 to = pairs.offset(w, k) + v;
                    best.close(left_price[e], &value(to, 0), state_before[b] - since, left_is_newer, 4 * e);
                }
                for (i64 e = right.arc_start[v]; e < right.arc_start[v + 1]; ++e) {
                    const i64 w = right.arc_target[e], b = right.boundary[w];
                    if (b < a) continue;
                    if (b > right_most) break;
                    const i64 to = pairs.offset(u, k + 1) + w;
                    best.close(right_price[e], &value(to, 0), state_before[b] - since, !left_is_newer, 4 * e + 2);
                }
                value(state, 0) = best.free;
                value(state, 1) = best.matched;
                choices.choice(state, 0) = std::int32_t(best.how_free);
                choices.choice(state, 1) = std::int32_t(best.how_matched);
            }
    }
    return state_before[state_before.size() - 1] + value(pairs.offset(0, 0), 0);
}

// Writes the arcs of the pair that `least_pair` found, in order, to arrays of shape (nodes,) of each class.
void trace_pair(const PlacePairs& pairs, const PairChoices& choices, const IntsOut& left_arcs, const IntsOut& right_arcs) {
    const PairSide &left = pairs.left, &right = pairs.right;
    i64 u = 0, v = 0, matched = 0, i = 0, j = 0;
    while (i < left_arcs.size() || j < right_arcs.size()) {
        const bool left_is_newer = left.boundary[u] > right.boundary[v];
        const i64 how = choices.choice(pairs.offset(u, right.level[v]) + v, matched);
        const bool closes_left = (how & 2) == 0;
        if (how & 1)
            matched = 1;
        else if (closes_left != left_is_newer)  // the older closes, and what was the newer has not been matched
            matched = 0;
        if (closes_left) {
            left_arcs[i++] = how >> 2;
            u = left.arc_target[how >> 2];
        } else {
            right_arcs[j++] = how >> 2;
            v = right.arc_target[how >> 2];
        }
    }
}

// Hands the least costs up to a state on to the one that follows when an interval closes; lowers the arc's least cost to that
// through it.
void pass_on(double free, double matched, double price, double shared, bool newer_closes, double* reached, const double* value,
             double& arc_least) {
    reached[0] = least(reached[0], price + (newer_closes ? free : least(free, matched)));
    reached[1] = least(reached[1], price + (newer_closes ? least(free - shared, matched) : free - shared));
    const double apart = price + value[0], together = price + value[1];
    const double best = free + least(apart, together - shared);
    arc_least = least(arc_least, least(best, matched + (newer_closes ? together : apart)));
}

// For each arc, the least c(P, Q) plus prices of the pairs that contain it; infinite where none does. `least_pair` has filled
// `choices`, `reached` is memory of shape (states, 2).
void arc_minima(const PlacePairs& pairs, const Floats& left_price, const Floats& right_price, const Floats& state_before,
                const PairChoices& choices, const FloatsOut2& reached, const FloatsOut& left_least,
                const FloatsOut& right_least) {
    const PairSide left = pairs.left, right = pairs.right;
    const FloatsOut2 value = choices.value;
    left_least.fill(inf);
    right_least.fill(inf);
    for (i64 state = 0; state < pairs.count; ++state) reached(state, 0) = reached(state, 1) = inf;
    reached(pairs.offset(0, 0), 0) = state_before[state_before.size() - 1];
    for (i64 u = 0; u < left.boundary.size(); ++u) {
        const i64 a = left.boundary[u], right_most = last_begin(left, u);
        for (i64 k = 0; k < pairs.low.shape[1]; ++k)
            for (i64 v = pairs.low(u, k); v < pairs.high(u, k); ++v) {
                const i64 state = pairs.offset(u, k) + v, c = right.boundary[v];
                const double free = reached(state, 0), matched = reached(state, 1);
                if (least(free, matched) == inf) continue;
                const double since = state_before[most(a, c)];
                const bool left_is_newer = a > c;
                for (i64 e = left.arc_start[u]; e < left.arc_start[u + 1]; ++e) {
                    const i64 w = left.arc_target[e], b = left.boundary[w];
                    if (b <= c) continue;
                    if (b > right.reach[v]) break;
                    const i64 to = pairs.offset(w, k) + v;
                    const double price = left_price[e], shared = state_before[b] - since;
                    pass_on(free, matched, price, shared, left_is_newer, &reached(to, 0), &value(to, 0), left_least[e]);
                }
                for (i64 e = right.arc_start[v]; e < right.arc_start[v + 1]; ++e) {
                    const i64 w = right.arc_target[e], b = right.boundary[w];
                    if (b < a) continue;
                    if (b > right_most) break;
                    const i64 to = pairs.offset(u, k + 1) + w;
                    const double price = right_price[e], shared = state_before[b] - since;
                    pass_on(free, matched, price, shared, !left_is_newer, &reached(to, 0), &value(to, 0), right_least[e]);
                }
            }
    }
}

const Kernels here{
    kernel<lay_out>("lay_out_place_pairs", "Number the pairs of places of two classes of partitions that can be open together."),
    kernel<least_pair>("least_pair", "The least cost of a migration plus prices of both partitions."),
    kernel<trace_pair>("trace_pair", "The arcs of the pair of partitions that least_pair found."),
    kernel<arc_minima>("arc_minima", "For each arc, the least cost plus prices of the pairs of partitions that contain it."),
};

}  // namespace
}  // namespace edrp
