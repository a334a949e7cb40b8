// The metrics of a deployment under search, and how good it is: objective and penalties for broken limits.
#pragma once
#include <initializer_list>

#include "edrp/native/heuristics/placement/deployment_state.hpp"

namespace edrp {

// Objective per unit of relative excess over a limit or capacity: soft enough for the search to pass through.
constexpr double EXCESS_PENALTY = 2.0;
// Objective per unit of violation of a rule that must be met, in addition to the highest penalty of other rules.
constexpr double RULE_PENALTY = 0.2;
// Penalty for breaking any limit, in units of the objective, so that the search does not settle just beyond one.
constexpr double BREACH_PENALTY = 0.01;

// The response time: every stream takes as long as its slowest pair of replicas (EDRP, eqs. 5–7).
inline double response_time(const PlacementArrays& t, const DeploymentState& d) {
    double response = 0.0;
    for (i64 i = 0; i < d.counts.degree.size(); ++i) {
        double ready = 0.0;
        for (i64 k = t.incoming_start[i]; k < t.incoming_start[i + 1]; ++k) {
            const i64 e = t.incoming[k];
            ready = most(ready, d.finish(t.source[e], 0) + d.per_stream(e, 0));
        }
        d.finish(i, 0) = ready + d.per_operator(i, 0);
        response = most(response, d.finish(i, 0));
    }
    return response;
}

// The response time of the slowest path through replicas.
inline double instance_response(const PlacementArrays& t, const DeploymentState& d) {
    const ReplicaCounts& c = d.counts;
    double response = 0.0;
    for (i64 i = 0; i < c.degree.size(); ++i) {
        for (i64 b = 0; b < c.number[i]; ++b) {
            double ready = 0.0;
            const i64 v = c.hosts(i, b);
            for (i64 k = t.incoming_start[i]; k < t.incoming_start[i + 1]; ++k) {
                const i64 j = t.source[t.incoming[k]];
                for (i64 a = 0; a < c.number[j]; ++a) ready = most(ready, d.finish(j, a) + t.delay(c.hosts(j, a), v));
            }
            d.finish(i, b) = ready + d.per_operator(i, 0);
            response = most(response, d.finish(i, b));
        }
    }
    return response;
}

// The loss of (u, v) the first time it is counted, else 0; with `clear` only the mark is removed.
inline double count_once(const BoolsOut2& counted, i64 u, i64 v, double loss, bool clear) {
    const bool first = !counted(u, v);
    counted(u, v) = !clear;
    return first && !clear ? loss : 0.0;
}

// −ln of the availability of the nodes and links in use.
inline double unavailability(const PlacementArrays& t, const DeploymentState& d) {
    const ReplicaCounts& c = d.counts;
    double total = 0.0;
    for (const bool clear : {false, true}) {
        for (i64 i = 0; i < c.degree.size(); ++i) {
            for (i64 a = 0; a < c.number[i]; ++a) {
                const i64 u = c.hosts(i, a);
                total += count_once(d.seen, u, u, t.node_loss[u], clear);
            }
        }
        for (i64 e = 0; e < (t.has_link_loss ? t.source.size() : 0); ++e) {
            const i64 i = t.source[e], j = t.target[e];
            for (i64 a = 0; a < c.number[i]; ++a) {
                for (i64 b = 0; b < c.number[j]; ++b) {
                    const i64 u = c.hosts(i, a), v = c.hosts(j, b);
                    total += count_once(d.seen, u, v, t.link_loss(u, v), clear);
                }
            }
        }
    }
    return total;
}

// Whether sending stream e to another node uses any resource.
inline bool is_charged(const SharedUse& use, i64 e) {
    for (double needed : use.stream_use.row(e)) {
        if (needed > 0) return true;
    }
    return false;
}

// Adds to `demand` the traffic that stream e sends to other nodes.
inline void add_stream(const PlacementArrays& t, const ReplicaCounts& c, const FloatsOut2& demand, i64 e) {
    const SharedUse& use = t.shared;
    const i64 i = t.source[e], j = t.target[e];
    for (i64 a = 0; a < c.number[i]; ++a) {
        const i64 u = c.hosts(i, a), senders = c.replicas(i, u), receivers = c.replicas(j, u);
        const double away = use.one_to_one[e] ? double(most<i64>(0, senders - receivers))
                                              : double(senders) * (1.0 - double(receivers) / double(c.degree[j]));
        for (i64 k = 0; k < demand.shape[1]; ++k) demand(u, k) += use.stream_use(e, k) * away / double(c.degree[i]);
    }
}

// Writes the largest share of a node's capacity, of any resource and of each, to `values`.
//
// The work is a pass over the nodes of operators, and over those of streams whose traffic uses a resource.
inline void measure_peaks(const PlacementArrays& t, const DeploymentState& d) {
    const SharedUse& use = t.shared;
    const ReplicaCounts& c = d.counts;
    const FloatsOut2& demand = d.demand;
    demand.fill(0.0);
    for (i64 i = 0; i < c.degree.size(); ++i) {
        for (i64 a = 0; a < c.number[i]; ++a) {
            const i64 u = c.hosts(i, a);
            for (i64 k = 0; k < demand.shape[1]; ++k)
                demand(u, k) += double(c.replicas(i, u)) * use.replica_use(i, c.degree[i], k);
        }
    }
    for (i64 e = 0; e < t.source.size(); ++e) {
        if (is_charged(use, e)) add_stream(t, c, demand, e);
    }
    for (i64 k = 0; k < 1 + demand.shape[1]; ++k) d.values[FIRST_PEAK_VALUE + k] = 0.0;
    for (i64 u = 0; u < demand.shape[0]; ++u) {
        for (i64 k = 0; k < demand.shape[1]; ++k) {
            const double share = demand(u, k) / use.capacity(u, k);
            d.values[FIRST_PEAK_VALUE + 1 + k] = most(d.values[FIRST_PEAK_VALUE + 1 + k], share);
            d.values[FIRST_PEAK_VALUE] = most(d.values[FIRST_PEAK_VALUE], share);
        }
    }
}

// Writes the metrics to `values`; returns the terms that break ties.
inline double measure(const PlacementArrays& t, const DeploymentState& d) {
    const ReplicaCounts& c = d.counts;
    const double response = t.instance_paths ? instance_response(t, d) : response_time(t, d);
    double cost = 0.0, usage = 0.0, downtime = 0.0, moved = 0.0;
    for (i64 i = 0; i < c.degree.size(); ++i) {
        cost += t.replica_cost[i] * double(c.degree[i]);
        downtime = most(downtime, d.per_operator(i, 1));
        moved += d.per_operator(i, 2);
    }
    for (i64 e = 0; e < t.source.size(); ++e) {
        cost += d.per_stream(e, 3) * d.per_stream(e, 1);
        usage += d.per_stream(e, 3) * d.per_stream(e, 2);
    }
    if (moved > 0) downtime = most(downtime, t.downtime_floor);
    d.values[0] = response;
    d.values[1] = cost;
    d.values[2] = downtime;
    d.values[3] = usage;
    d.values[4] = t.has_loss ? unavailability(t, d) : 0.0;
    if (t.shared.weights.size() > 0) measure_peaks(t, d);
    return cost * t.tie_cost + moved * TIE_MOVE;
}

// A metric that may weigh and have a limit: the first five, then peak loads.
struct Measured {
    double value, limit, weight;
};

inline Measured measured(const PlacementArrays& t, const DeploymentState& d, i64 k) {
    if (k < 5) return {d.values[k], t.limits[k], t.weights[k]};
    return {d.values[FIRST_PEAK_VALUE + k - 5], t.shared.limits[k - 5], t.shared.weights[k - 5]};
}

// The objective plus penalties for broken limits and rules; the metrics are written to `values`.
inline double energy(const PlacementArrays& t, const DeploymentState& d, double overload) {
    const RuleVerdict rules = judge_rules(t.rules, d.counts.replicas);
    double total = measure(t, d) + EXCESS_PENALTY * overload + rules.price;
    if (rules.broken > 0) total += (RULE_PENALTY + t.rules.max_penalty) * rules.breach + BREACH_PENALTY * double(rules.broken);
    d.values[BROKEN_VALUE] = overload > 0 || rules.broken > 0 ? 1.0 : 0.0;
    for (i64 k = 0; k < 5 + t.shared.weights.size(); ++k) {
        const Measured metric = measured(t, d, k);
        total += metric.weight * metric.value;
        if (metric.value > metric.limit * (1 + LIMIT_SLACK)) {
            total += EXCESS_PENALTY * (metric.value / metric.limit - 1) + BREACH_PENALTY;
            d.values[BROKEN_VALUE] = 1.0;
        }
    }
    return total;
}

}  // namespace edrp
