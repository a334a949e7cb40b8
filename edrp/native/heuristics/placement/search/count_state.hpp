// A placement under search: counts, and sums that every change updates (heuristics/placement/search/count_engine.py).
#pragma once
#include "edrp/native/heuristics/placement/search/count_arrays.hpp"
#include "edrp/native/tolerances.hpp"

namespace edrp {

constexpr i64 OPEN = 0, CLOCK = 1, CURSOR = 2, TURN = 3, BEGAN = 4, SWEEP = 5, SWEPT = 6;

struct CountState {
    ReplicaCounts counts;
    FloatsOut2 joined;
    IntsOut total, opened, opened_index, empty, empty_number, empty_index, last_changed, last_compared, recent, counters;
    FIELDS(counts, joined, total, opened, opened_index, empty, empty_number, empty_index, last_changed, last_compared, recent,
           counters)
};

// Moves node s from the empty nodes of its class to those in use.
inline void open(const CountArrays& t, const CountState& c, i64 s) {
    const i64 k = t.class_of[s];
    c.empty_number[k] -= 1;
    const i64 last = c.empty[t.class_start[k] + c.empty_number[k]];
    c.empty[c.empty_index[s]] = last;
    c.empty_index[last] = c.empty_index[s];
    c.opened_index[s] = c.counters[OPEN];
    c.opened[c.counters[OPEN]] = s;
    c.counters[OPEN] += 1;
}

// Moves node s from the nodes in use to the empty ones of its class, and resets its sums.
inline void close(const CountArrays& t, const CountState& c, i64 s) {
    const i64 k = t.class_of[s];
    c.empty_index[s] = t.class_start[k] + c.empty_number[k];
    c.empty[c.empty_index[s]] = s;
    c.empty_number[k] += 1;
    c.counters[OPEN] -= 1;
    const i64 last = c.opened[c.counters[OPEN]];
    c.opened[c.opened_index[s]] = last;
    c.opened_index[last] = c.opened_index[s];
    c.opened_index[s] = -1;
    for (i64 b = 0; b < c.joined.shape[0]; ++b) c.joined(b, s) = 0.0;
    c.counts.used.row(s).fill(0.0);
}

// Adds q instances of operator a to node s; a negative q removes some.
inline void put(const CountArrays& t, const CountState& c, i64 a, i64 s, i64 q) {
    if (c.total[s] == 0) open(t, c, s);
    add(c.counts, t.demand, a, s, q);
    c.total[s] += q;
    c.last_changed[s] = c.counters[CLOCK] += 1;
    for (i64 j = t.start[a]; j < t.start[a + 1]; ++j) {
        const i64 b = t.neighbours[j];
        c.joined(b, s) += double(q) * t.pair(a, b);
    }
    if (c.total[s] == 0) close(t, c, s);
}

// Number of instances of operator a that are not placed yet.
inline i64 waiting(const CountArrays& t, const CountState& c, i64 a) { return t.instances[a] - c.counts.degree[a]; }

// Number of further instances of operator a that are allowed on node s and fit there, at most `limit`.
inline i64 fitting(const CountArrays& t, const CountState& c, i64 a, i64 s, i64 limit) {
    return t.candidate(a, s) ? room(t.demand, t.capacity, c.counts.used, a, s, limit, COUNTED_LOAD_SLACK) : 0;
}

// Recomputes sums from the counts, which removes accumulated rounding.
inline void refresh(const CountArrays& t, const CountState& c) {
    for (i64 k = 0; k < c.counters[OPEN]; ++k) {
        const i64 s = c.opened[k];
        recompute_used(c.counts, t.demand, s);
        for (i64 a = 0; a < c.joined.shape[0]; ++a) {
            double joined = 0.0;
            for (i64 j = t.start[a]; j < t.start[a + 1]; ++j)
                joined += double(c.counts.replicas(t.neighbours[j], s)) * t.pair(a, t.neighbours[j]);
            c.joined(a, s) = joined;
        }
    }
}

// The score without the term of latency.
inline double score(const CountArrays& t, const CountState& c) {
    double apart = t.score_apart;
    for (i64 k = 0; k < c.counters[OPEN]; ++k) {
        const i64 s = c.opened[k];
        apart += t.node_price[s];
        for (i64 a = 0; a < c.joined.shape[0]; ++a) {
            const double replicas = double(c.counts.replicas(a, s));
            if (replicas > 0) apart -= replicas * (0.5 * c.joined(a, s) + replicas * t.pair(a, a));
        }
    }
    return apart;
}

}  // namespace edrp
