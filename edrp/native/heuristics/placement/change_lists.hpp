// Lists of the changes of an operator in a deployment with replicas, and the parts of each change.
#pragma once
#include "edrp/native/heuristics/placement/deployment_memory.hpp"

namespace edrp {

// Kinds of changes: each has a node left and a node taken, MOVE also a number of replicas and SWAP the other operator.
constexpr i64 MOVE = 0, MOVE_ALL = 1, REPLICATE = 2, RETIRE = 3, SWAP = 4, MERGE = 5, EXCHANGE = 6;

// Number of candidates up to which all are considered; above it, those near the replicas of the operator and its neighbours.
constexpr i64 MAX_LISTED_CANDIDATES = 32;

inline void list_change(const DeploymentMemory& m, i64& listed, i64 i, i64 kind, i64 u, i64 v, i64 x) {
    if (listed == m.changes.shape[0]) return;
    const IntsOut change = m.changes.row(listed++);
    change[0] = kind;
    change[1] = i;
    change[2] = u;
    change[3] = v;
    change[4] = x;
}

inline void add_target(const PlacementArrays& t, const DeploymentMemory& m, i64& count, i64 i, i64 v) {
    if (m.stamped[v] == m.counters[STAMP] || !t.candidate(i, v)) return;
    m.stamped[v] = m.counters[STAMP];
    m.targets[count++] = v;
}

// Lists target nodes of operator i and marks them with the latest stamp; returns their number.
inline i64 list_targets(const PlacementArrays& t, const ReplicaCounts& c, const DeploymentMemory& m, i64 i) {
    m.counters[STAMP] += 1;
    const i64 start = t.candidate_start[i], end = t.candidate_start[i + 1];
    i64 count = 0;
    if (end - start <= MAX_LISTED_CANDIDATES || m.counters[OVERLOADED] > 0) {
        for (i64 k = start; k < end; ++k) add_target(t, m, count, i, t.candidate_list[k]);
        return count;
    }
    // Neighbours last, and the operator itself first.
    for (i64 k = t.adjacent_start[i] - 1; k < t.adjacent_start[i + 1]; ++k) {
        const i64 j = k < t.adjacent_start[i] ? i : t.source[t.adjacent[k]] + t.target[t.adjacent[k]] - i;
        for (i64 b = 0; b < c.number[j]; ++b) {
            for (i64 v : t.near.row(c.hosts(j, b))) add_target(t, m, count, i, v);
        }
    }
    for (i64 k = start; k < (t.has_current ? end : start); ++k) {
        if (t.current(i, t.candidate_list[k]) > 0) add_target(t, m, count, i, t.candidate_list[k]);
    }
    return count;
}

// Lists changes that move everything on node u to a near node or, where it does not fit, exchange both nodes.
inline void list_whole_node(const PlacementArrays& t, const ReplicaCounts& c, const DeploymentMemory& m, i64& listed, i64 i,
                            i64 u) {
    for (i64 k = 1; k < t.near.shape[1]; ++k) {
        const i64 v = t.near(u, k);
        bool merge = true;
        for (i64 r = 0; r < c.used.shape[1]; ++r) merge &= c.used(u, r) + c.used(v, r) <= t.capacity(v, r) * (1 + LIMIT_SLACK);
        if (t.candidate(i, v) && (merge || may_exchange(t, c, u, v)))
            list_change(m, listed, i, merge ? MERGE : EXCHANGE, u, v, 0);
    }
}

// Lists trades of a replica of operator i on node u with one of another operator on a listed node.
inline void list_swaps(const PlacementArrays& t, const ReplicaCounts& c, const DeploymentMemory& m, i64& listed, i64 i, i64 u) {
    for (i64 j = 0; j < c.degree.size(); ++j) {
        if (j == i || !t.candidate(j, u)) continue;
        for (i64 b = 0; b < c.number[j]; ++b) {
            const i64 v = c.hosts(j, b);
            if (v == u || m.stamped[v] != m.counters[STAMP]) continue;
            if (m.counters[OVERLOADED] > 0 || trade_fits(t, c, i, u, 1, j, v, 1)) list_change(m, listed, i, SWAP, u, v, j);
        }
    }
}

// Lists the changes of operator i that fit (any move or swap while a node is overloaded); returns their number.
inline i64 list_changes(const PlacementArrays& t, const DeploymentState& d, const DeploymentMemory& m, i64 i) {
    const ReplicaCounts& c = d.counts;
    const bool overloaded = m.counters[OVERLOADED] > 0;
    const i64 count = list_targets(t, c, m, i);
    i64 listed = 0;
    if (may_retire(t, c, i)) {
        for (i64 a = 0; a < c.number[i]; ++a) list_change(m, listed, i, RETIRE, c.hosts(i, a), 0, 1);
    }
    for (i64 k = 0; k < count; ++k) {
        const i64 v = m.targets[k], free = room(t.demand, t.capacity, c.used, i, v, c.degree[i], LIMIT_SLACK);
        if (free > 0 && may_replicate(t, c, i)) list_change(m, listed, i, REPLICATE, 0, v, 1);
        for (i64 a = 0; a < (free > 0 || overloaded ? c.number[i] : 0); ++a) {
            const i64 u = c.hosts(i, a), all = c.replicas(i, u);
            if (u == v) continue;
            for (i64 q = 1;; q = all) {
                if (free >= q || overloaded) list_change(m, listed, i, MOVE, u, v, q);
                if (q == all) break;
            }
        }
        if (c.number[i] > 1 && (free >= c.degree[i] - c.replicas(i, v) || overloaded))
            list_change(m, listed, i, MOVE_ALL, 0, v, 0);
    }
    for (i64 a = 0; a < c.number[i]; ++a) {
        list_whole_node(t, c, m, listed, i, c.hosts(i, a));
        list_swaps(t, c, m, listed, i, c.hosts(i, a));
    }
    return listed;
}

// Plans the k-th change of the list; returns the number of its parts.
inline i64 plan_change(const PlacementArrays& t, const DeploymentState& d, const DeploymentMemory& m, i64 k) {
    const i64 kind = m.changes(k, 0), i = m.changes(k, 1), u = m.changes(k, 2), v = m.changes(k, 3), x = m.changes(k, 4);
    if (kind >= MERGE) return plan_node(t, d, u, v, kind == EXCHANGE);
    if (kind == MOVE_ALL) return plan_gathering(d, i, v);
    plan(d, 0, i, kind == REPLICATE ? -1 : u, kind == RETIRE ? -1 : v, kind == MOVE ? x : 1);
    if (kind != SWAP) return 1;
    plan(d, 1, x, v, u, 1);
    return 2;
}

}  // namespace edrp
