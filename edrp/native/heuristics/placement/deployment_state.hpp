// A deployment under search, of whose evaluation a change updates few parts (heuristics/placement/deployment_state.py).
//
// Moving any number of replicas from one node to another changes the sums of a stream by one pass over the nodes of its other
// end.
#pragma once
#include "edrp/native/heuristics/placement/problem_arrays.hpp"
#include "edrp/native/heuristics/placement/replica_counts.hpp"

namespace edrp {

constexpr i64 BROKEN_VALUE = 5, FIRST_PEAK_VALUE = 6;

struct DeploymentState {
    ReplicaCounts counts;
    FloatsOut2 per_stream, per_operator, old_per_stream, old_per_operator;
    IntsOut2 plan;
    FloatsOut2 finish;
    FloatsOut values;
    FloatsOut2 demand;
    BoolsOut2 seen;
    FIELDS(counts, per_stream, per_operator, old_per_stream, old_per_operator, plan, finish, values, demand, seen)
};

// Replicas of an operator on two nodes and in all, before and after a reconfiguration.
struct PairCounts {
    i64 source_before, source_after, target_before, target_after, before, after;
};

// Time to move operator i's state from node u to node v (EDRP, eqs. 27–32; Storm 35–38), in seconds.
inline double pair_time(const PlacementArrays& t, i64 i, i64 u, i64 v, const PairCounts& n) {
    const Floats trip = t.store.row(0), bandwidth = t.store.row(1), spawn = t.store.row(2);
    const double state = t.state_size[i];
    if (t.storm) {
        double code = 0.0;
        i64 used = 0;
        for (i64 j = 0; j < t.current.shape[0]; ++j) used += t.current(j, v);
        if (used == 0) {
            code = trip[v];
            for (i64 j = 0; j < t.code_size.size(); ++j) code += t.code_size[j] / bandwidth[v];
        }
        const double up = trip[u] + state * double(n.source_before) / double(n.before) / bandwidth[u];
        return code + up + trip[v] + state * double(n.target_after) / double(n.after) / bandwidth[v] +
               double(n.target_after) * spawn[v];
    }
    const double before = double(n.before), after = double(n.after), pairs = double(n.before * n.after);
    double uploaded = state * double(most<i64>(n.source_before - n.source_after, 0)) / before;
    double downloaded = state * double(most<i64>(n.target_after - n.target_before, 0)) / after;
    if (n.after > n.before) uploaded += state * double(n.source_before) * double(n.after - n.before) / pairs;
    if (n.after < n.before)
        downloaded += state * double(least(n.target_before, n.target_after)) * double(n.before - n.after) / pairs;
    double time = trip[u] + uploaded / bandwidth[u];
    if (n.target_before == 0) time = most(time, trip[v] + t.code_size[i] / bandwidth[v]);
    time += trip[v] + downloaded / bandwidth[v];
    return n.target_after > n.target_before ? time + spawn[v] : time;
}

// Computes latency (of the slowest replica), downtime and moved replicas of operator i again.
inline void refresh_own(const PlacementArrays& t, const DeploymentState& d, i64 i) {
    const ReplicaCounts& c = d.counts;
    const double latency = t.latency(i, c.degree[i]);
    double slowest = inf;
    if (latency > 0) {
        for (i64 a = 0; a < c.number[i]; ++a) slowest = least(slowest, t.speedup[c.hosts(i, a)]);
    }
    d.per_operator(i, 0) = latency / slowest;
    if (!t.has_current) return;
    i64 old_replicas = 0, unmoved = 0;
    for (i64 u = 0; u < t.current.shape[1]; ++u) {
        old_replicas += t.current(i, u);
        unmoved += least<i64>(t.current(i, u), c.replicas(i, u));
    }
    const i64 moved = most(c.degree[i], old_replicas) - unmoved;
    double longest = 0.0;
    for (i64 u = 0; u < (moved > 0 ? t.current.shape[1] : 0); ++u) {
        for (i64 b = 0; b < (t.current(i, u) > 0 ? c.number[i] : 0); ++b) {
            const i64 v = c.hosts(i, b);
            if (v == u) continue;
            const PairCounts n{t.current(i, u), c.replicas(i, u), t.current(i, v), c.replicas(i, v), old_replicas, c.degree[i]};
            longest = most(longest, pair_time(t, i, u, v, n));
        }
    }
    d.per_operator(i, 1) = moved > 0 ? t.synchronisation_time + longest : 0.0;
    d.per_operator(i, 2) = double(moved);
}

// Computes the sums of stream e over all pairs of nodes again.
inline void refresh_stream(const PlacementArrays& t, const DeploymentState& d, i64 e) {
    const ReplicaCounts& c = d.counts;
    const i64 i = t.source[e], j = t.target[e];
    double longest = 0.0, price = 0.0, delay = 0.0;
    for (i64 a = 0; a < c.number[i]; ++a) {
        const i64 u = c.hosts(i, a);
        for (i64 b = 0; b < c.number[j]; ++b) {
            const i64 v = c.hosts(j, b);
            const double weight = double(c.replicas(i, u) * c.replicas(j, v));
            longest = most(longest, t.delay(u, v));
            price += weight * t.link_cost(u, v);
            delay += weight * t.delay(u, v);
        }
    }
    d.per_stream(e, 0) = longest;
    d.per_stream(e, 1) = price;
    d.per_stream(e, 2) = delay;
    d.per_stream(e, 3) = t.rate[e] / double(c.degree[i] * c.degree[j]);
}

// Computes the parts again that a change of operator i touches, which removes accumulated rounding.
inline void refresh(const PlacementArrays& t, const DeploymentState& d, i64 i) {
    refresh_own(t, d, i);
    for (i64 k = t.adjacent_start[i]; k < t.adjacent_start[i + 1]; ++k) refresh_stream(t, d, t.adjacent[k]);
}

// Computes sums, their copies, and usage from the counts.
inline void refresh_all(const PlacementArrays& t, const DeploymentState& d) {
    for (i64 u = 0; u < d.counts.used.shape[0]; ++u) recompute_used(d.counts, t.demand, u);
    for (i64 i = 0; i < d.counts.degree.size(); ++i) refresh(t, d, i);
    copy(d.per_stream, d.old_per_stream);
    copy(d.per_operator, d.old_per_operator);
}

// Moves q replicas of operator i from node u to node v (-1 for no node); stream sums are stale until `refresh`.
inline void shift(const PlacementArrays& t, const ReplicaCounts& c, i64 i, i64 u, i64 v, i64 q) {
    if (u >= 0) add(c, t.demand, i, u, -q);
    if (v >= 0) add(c, t.demand, i, v, q);
}

// Updates the sums of operator i's streams for moving q replicas from u to v, before the counts are changed.
inline void add_up(const PlacementArrays& t, const DeploymentState& d, i64 i, i64 u, i64 v, i64 q) {
    const ReplicaCounts& c = d.counts;
    for (i64 k = t.adjacent_start[i]; k < t.adjacent_start[i + 1]; ++k) {
        const i64 e = t.adjacent[k];
        const bool sends = t.source[e] == i;
        const i64 j = sends ? t.target[e] : t.source[e];
        double price = 0.0, delay = 0.0;
        for (i64 b = 0; b < c.number[j]; ++b) {
            const i64 w = c.hosts(j, b);
            const double share = double(q * c.replicas(j, w));
            if (v >= 0) {
                delay += share * (sends ? t.delay(v, w) : t.delay(w, v));
                price += share * (sends ? t.link_cost(v, w) : t.link_cost(w, v));
            }
            if (u >= 0) {
                delay -= share * (sends ? t.delay(u, w) : t.delay(w, u));
                price -= share * (sends ? t.link_cost(u, w) : t.link_cost(w, u));
            }
        }
        d.per_stream(e, 1) += price;
        d.per_stream(e, 2) += delay;
    }
}

// Longest delay between the nodes of stream e's ends; stops early once `bound`, an upper bound, is reached.
inline double longest_delay(const PlacementArrays& t, const ReplicaCounts& c, i64 e, double bound) {
    const i64 i = t.source[e], j = t.target[e];
    double longest = 0.0;
    for (i64 a = 0; a < c.number[i]; ++a) {
        const i64 u = c.hosts(i, a);
        for (i64 b = 0; b < c.number[j]; ++b) longest = most(longest, t.delay(u, c.hosts(j, b)));
        if (longest >= bound) return longest;
    }
    return longest;
}

// Longest delay of stream e from or to operator i's replicas on a node.
inline double reach(const PlacementArrays& t, const ReplicaCounts& c, i64 e, i64 i, i64 node) {
    const bool sends = t.source[e] == i;
    const i64 j = sends ? t.target[e] : t.source[e];
    double longest = 0.0;
    for (i64 b = 0; b < c.number[j]; ++b) {
        const i64 w = c.hosts(j, b);
        longest = most(longest, sends ? t.delay(node, w) : t.delay(w, node));
    }
    return longest;
}

// Writes the k-th part of a change: q replicas of operator i go from node u to node v.
inline void plan(const DeploymentState& d, i64 k, i64 i, i64 u, i64 v, i64 q) {
    d.plan(k, 0) = i;
    d.plan(k, 1) = u;
    d.plan(k, 2) = v;
    d.plan(k, 3) = q;
}

// Applies the planned change or reverts it; sums are stale until `refresh` or `settle` of its operators.
inline void transfer(const PlacementArrays& t, const DeploymentState& d, i64 parts, bool back) {
    for (i64 x = 0; x < parts; ++x) {
        const i64 k = back ? parts - 1 - x : x;
        shift(t, d.counts, d.plan(k, 0), d.plan(k, back ? 2 : 1), d.plan(k, back ? 1 : 2), d.plan(k, 3));
    }
}

inline void copy_row(const FloatsOut2& current, const FloatsOut2& old, i64 row, bool stays) {
    if (stays)
        copy(current.row(row), old.row(row));
    else
        copy(old.row(row), current.row(row));
}

// Copies the sums that a change of operator i has updated to the saved ones, or restores them from there.
inline void settle(const PlacementArrays& t, const DeploymentState& d, i64 i, bool stays) {
    copy_row(d.per_operator, d.old_per_operator, i, stays);
    for (i64 k = t.adjacent_start[i]; k < t.adjacent_start[i + 1]; ++k)
        copy_row(d.per_stream, d.old_per_stream, t.adjacent[k], stays);
}

// Applies the planned changes and updates the sums; `transfer` and `settle` revert them.
inline void perform(const PlacementArrays& t, const DeploymentState& d, i64 changes) {
    const ReplicaCounts& c = d.counts;
    for (i64 k = 0; k < changes; ++k) {
        const i64 i = d.plan(k, 0), u = d.plan(k, 1), v = d.plan(k, 2), q = d.plan(k, 3);
        add_up(t, d, i, u, v, q);
        shift(t, c, i, u, v, q);
    }
    // Nodes taken first: then every longest delay known is an upper bound for those that lose a node.
    for (i64 k = 0; k < changes; ++k) {
        const i64 i = d.plan(k, 0), u = d.plan(k, 1), v = d.plan(k, 2);
        for (i64 a = t.adjacent_start[i]; a < t.adjacent_start[i + 1]; ++a) {
            const i64 e = t.adjacent[a];
            if (v >= 0) d.per_stream(e, 0) = most(d.per_stream(e, 0), reach(t, c, e, i, v));
            if (u < 0 || v < 0) d.per_stream(e, 3) = t.rate[e] / double(c.degree[t.source[e]] * c.degree[t.target[e]]);
        }
    }
    for (i64 k = 0; k < changes; ++k) {
        const i64 i = d.plan(k, 0), u = d.plan(k, 1);
        if (u < 0 || c.replicas(i, u) > 0) continue;
        for (i64 a = t.adjacent_start[i]; a < t.adjacent_start[i + 1]; ++a) {
            const i64 e = t.adjacent[a];
            if (changes > 1 || reach(t, c, e, i, u) >= d.per_stream(e, 0))
                d.per_stream(e, 0) = longest_delay(t, c, e, d.per_stream(e, 0));
        }
    }
    for (i64 k = 0; k < changes; ++k) refresh_own(t, d, d.plan(k, 0));
}

}  // namespace edrp
