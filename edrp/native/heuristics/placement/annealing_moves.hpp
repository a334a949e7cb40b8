// Changes that annealing draws: replicas move, trade places, come or go, and nodes exchange all that they run.
#pragma once
#include "edrp/native/heuristics/placement/deployment_state.hpp"
#include "edrp/native/random.hpp"

namespace edrp {

// Number of draws of a partner operator for a trade, and of a near node.
constexpr int PARTNER_TRIES = 4;

struct MoveMix {
    double exchange, replicate, retire, move, gather, neighbour_nodes, own_nodes, near_nodes, nearest_nodes;
    FIELDS(exchange, replicate, retire, move, gather, neighbour_nodes, own_nodes, near_nodes, nearest_nodes)
};

// Draws a node for operator i, now on u, by the shares of the mix; u itself where the drawn node is no candidate.
inline i64 pick_node(const PlacementArrays& t, const ReplicaCounts& c, const MoveMix& mix, const Random& random, i64 i, i64 u) {
    const i64 start = t.candidate_start[i], end = t.candidate_start[i + 1];
    const double choice = uniform(random);
    i64 v = t.candidate_list[start + below(random, end - start)];
    if (choice < mix.neighbour_nodes) {
        const i64 streams = t.adjacent_start[i + 1] - t.adjacent_start[i];
        if (streams > 0) {
            const i64 e = t.adjacent[t.adjacent_start[i] + below(random, streams)], j = t.source[e] + t.target[e] - i;
            v = c.hosts(j, below(random, c.number[j]));
        }
    } else if (choice < mix.own_nodes) {
        v = c.hosts(i, below(random, c.number[i]));
    } else if (choice < mix.near_nodes) {
        if (t.near.shape[1] > 1) v = t.near(u, 1 + below(random, t.near.shape[1] - 1));
    } else if (choice < mix.nearest_nodes) {
        for (int k = 0; k < PARTNER_TRIES; ++k) {
            const i64 w = t.candidate_list[start + below(random, end - start)];
            if (t.delay(u, w) < t.delay(u, v) || v == u) v = w;
        }
    }
    return t.candidate(i, v) ? v : u;
}

// Whether operator i may have one more replica.
inline bool may_replicate(const PlacementArrays& t, const ReplicaCounts& c, i64 i) {
    return c.degree[i] < t.max_replicas[i] && std::isfinite(t.latency(i, c.degree[i] + 1));
}

// Whether operator i can do with one replica less.
inline bool may_retire(const PlacementArrays& t, const ReplicaCounts& c, i64 i) {
    return c.degree[i] > 1 && std::isfinite(t.latency(i, c.degree[i] - 1));
}

// Plans one more replica of operator i, on node v or u, or one less on node u; returns how many parts that has, as all that plan
// do.
inline i64 replicate_or_retire(const PlacementArrays& t, const DeploymentState& d, const Random& random, i64 i, i64 u, i64 v,
                               bool more) {
    const ReplicaCounts& c = d.counts;
    if (more) {
        const i64 w = uniform(random) < 0.5 ? u : v;
        if (!may_replicate(t, c, i) || room(t.demand, t.capacity, c.used, i, w, 1, LIMIT_SLACK) == 0) return 0;
        plan(d, 0, i, -1, w, 1);
    } else {
        if (!may_retire(t, c, i)) return 0;
        plan(d, 0, i, u, -1, 1);
    }
    return 1;
}

// Plans to move all replicas of operator i to node v.
inline i64 plan_gathering(const DeploymentState& d, i64 i, i64 v) {
    i64 parts = 0;
    for (i64 k = 0; k < d.counts.number[i]; ++k) {
        const i64 u = d.counts.hosts(i, k);
        if (u != v) plan(d, parts++, i, u, v, d.counts.replicas(i, u));
    }
    return parts;
}

// Whether both nodes have room when q replicas of operator i go from u to v, and `back` of j from v to u.
inline bool trade_fits(const PlacementArrays& t, const ReplicaCounts& c, i64 i, i64 u, i64 q, i64 j, i64 v, i64 back) {
    for (i64 m = 0; m < t.demand.shape[1]; ++m) {
        const double more = double(q) * t.demand(i, m) - double(back) * t.demand(j, m);
        if ((more > 0 && c.used(v, m) + more > t.capacity(v, m) * (1 + LIMIT_SLACK)) ||
            (more < 0 && c.used(u, m) - more > t.capacity(u, m) * (1 + LIMIT_SLACK)))
            return false;
    }
    return true;
}

// Plans a trade: q replicas of operator i go from u to v, about as much of another comes back, if both fit.
inline i64 plan_swap(const PlacementArrays& t, const DeploymentState& d, const Random& random, i64 i, i64 u, i64 v, i64 q) {
    const ReplicaCounts& c = d.counts;
    for (int tries = 0; tries < PARTNER_TRIES; ++tries) {
        const i64 j = below(random, c.degree.size());
        if (j == i || c.replicas(j, v) == 0 || !t.candidate(j, u)) continue;
        double back = 1.0;
        for (i64 m = 0; m < t.demand.shape[1]; ++m) {
            if (t.demand(j, m) > 0)
                back = most(back, std::ceil(double(q) * t.demand(i, m) / t.demand(j, m) - WHOLE_NUMBER_SLACK));
        }
        const i64 returning = least(c.replicas(j, v), i64(least(back, 1e9)));
        if (!trade_fits(t, c, i, u, q, j, v, returning)) return 0;
        plan(d, 0, i, u, v, q);
        plan(d, 1, j, v, u, returning);
        return 2;
    }
    return 0;
}

// Whether everything on nodes u and v may run on the other one, and has room there.
inline bool may_exchange(const PlacementArrays& t, const ReplicaCounts& c, i64 u, i64 v) {
    for (i64 m = 0; m < c.used.shape[1]; ++m) {
        if (c.used(u, m) > t.capacity(v, m) * (1 + LIMIT_SLACK) || c.used(v, m) > t.capacity(u, m) * (1 + LIMIT_SLACK))
            return false;
    }
    for (i64 i = 0; i < c.degree.size(); ++i) {
        if ((c.replicas(i, u) > 0 && !t.candidate(i, v)) || (c.replicas(i, v) > 0 && !t.candidate(i, u))) return false;
    }
    return true;
}

// Plans to move everything allowed from node u to node v, and with `back` from v to u.
inline i64 plan_node(const PlacementArrays& t, const DeploymentState& d, i64 u, i64 v, bool back) {
    i64 parts = 0;
    for (i64 i = 0; i < d.counts.degree.size(); ++i) {
        const i64 on_u = d.counts.replicas(i, u), on_v = back ? d.counts.replicas(i, v) : 0;
        if (on_u > on_v && t.candidate(i, v))
            plan(d, parts++, i, u, v, on_u - on_v);
        else if (on_v > on_u && t.candidate(i, u))
            plan(d, parts++, i, v, u, on_v - on_u);
    }
    return parts;
}

// Draws and plans a change; none fits where it has no parts.
inline i64 propose(const PlacementArrays& t, const DeploymentState& d, const MoveMix& mix, const Random& random) {
    const ReplicaCounts& c = d.counts;
    const i64 i = below(random, c.degree.size()), u = c.hosts(i, below(random, c.number[i]));
    i64 v = pick_node(t, c, mix, random, i, u);
    const double kind = uniform(random);
    if (mix.exchange <= kind && kind < mix.retire) return replicate_or_retire(t, d, random, i, u, v, kind < mix.replicate);
    if (kind < mix.exchange) {
        if (t.near.shape[1] > 1 && uniform(random) < 0.5) v = t.near(u, 1 + below(random, t.near.shape[1] - 1));
        return v != u && may_exchange(t, c, u, v) ? plan_node(t, d, u, v, true) : 0;
    }
    if (kind >= mix.move && uniform(random) < 0.5) {
        const i64 j = below(random, c.degree.size());
        v = c.hosts(j, below(random, c.number[j]));
    }
    if (v == u || !t.candidate(i, v)) return 0;
    if (kind < mix.move && c.degree[i] > 1 && uniform(random) < mix.gather) {
        const i64 others = c.degree[i] - c.replicas(i, v);
        const bool fit = others > 0 && room(t.demand, t.capacity, c.used, i, v, others, LIMIT_SLACK) == others;
        return fit ? plan_gathering(d, i, v) : 0;
    }
    i64 q = c.replicas(i, u);
    if (q > 1 && uniform(random) < 0.5) q = 1 + below(random, q);
    if (kind < mix.move) {
        const i64 free = room(t.demand, t.capacity, c.used, i, v, q, LIMIT_SLACK);
        if (free > 0) {
            plan(d, 0, i, u, v, free);
            return 1;
        }
    }
    return plan_swap(t, d, random, i, u, v, q);
}

}  // namespace edrp
