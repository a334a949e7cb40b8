// Replicas with ranges of tasks and their incremental evaluation (edrp/heuristics/migration/rescale/range_arrays.py).
#pragma once
#include <initializer_list>

#include "edrp/native/heuristics/placement/rule_rows.hpp"

namespace edrp {

constexpr i64 NO_LATENCY = 0, QUEUE = 1, POLYNOMIAL = 2;
constexpr double MAX_LATENCY = 1e9;
constexpr i64 OBJECTIVE_VALUE = 5, VIOLATION_VALUE = 6;

struct RangeArrays {
    Ints tasks, offset;
    Floats work;
    Floats2 held_bytes, missing_bytes;
    Floats load, factor, probability;
    Ints model;
    Floats2 service;
    Ints points;
    Floats curve_rates, curve_latencies;
    Ints min_replicas, max_replicas;
    Bools2 candidate;
    Ints candidate_list, candidate_start;
    Floats replica_cost;
    Floats2 demand, capacity;
    Floats speedup;
    Ints source, target;
    Floats rate;
    Ints incoming, incoming_start, adjacent, adjacent_start;
    Floats2 delay, price;
    bool has_current;
    Ints current_number;
    Ints2 current_node, current_end, current_count;
    Floats state_size, round_trip, store_slowness, spawn_time;
    Floats2 code_time;
    Floats upload_slowness, download_slowness;
    double synchronisation_time;
    bool direct_transfer, mean_latency, even_ranges;
    double tolerance, utilisation;
    Floats2 replica_use, tuple_use, stream_use, shared;
    Floats weights, limits;
    RuleRows rules;
    FIELDS(tasks, offset, work, held_bytes, missing_bytes, load, factor, probability, model, service, points, curve_rates,
           curve_latencies, min_replicas, max_replicas, candidate, candidate_list, candidate_start, replica_cost, demand,
           capacity, speedup, source, target, rate, incoming, incoming_start, adjacent, adjacent_start, delay, price, has_current,
           current_number, current_node, current_end, current_count, state_size, round_trip, store_slowness, spawn_time,
           code_time, upload_slowness, download_slowness, synchronisation_time, direct_transfer, mean_latency, even_ranges,
           tolerance, utilisation, replica_use, tuple_use, stream_use, shared, weights, limits, rules)
};

struct RangeState {
    IntsOut number;
    IntsOut2 node, end;
    FloatsOut2 share;
    IntsOut2 counts;
    FloatsOut2 leaving, arriving, latency, operator_parts, stream_costs;
    FloatsOut finish, values;
    FIELDS(number, node, end, share, counts, leaving, arriving, latency, operator_parts, stream_costs, finish, values)
};

// Latency in seconds of one of `replicas` replicas on the reference node; infinite where it is overloaded.
inline double latency_at(const RangeArrays& t, i64 i, double rate, i64 replicas) {
    if (t.model[i] == NO_LATENCY) return 0.0;
    if (t.model[i] == QUEUE) {
        const double spare_rate = t.service(i, replicas) - rate;
        return spare_rate * MAX_LATENCY >= 1.0 ? 1.0 / spare_rate : inf;
    }
    const i64 first = t.points[i], last = t.points[i + 1] - 1;
    if (t.model[i] == POLYNOMIAL) {
        double value = 0.0;
        for (i64 p = last; p >= first; --p) value = value * rate + t.curve_latencies[p];
        return std::fabs(value) <= MAX_LATENCY ? value : inf;
    }
    if (rate > t.curve_rates[last]) return inf;
    i64 p = first;
    while (p < last && t.curve_rates[p + 1] < rate) ++p;
    if (p == last || rate <= t.curve_rates[first]) return p == last ? t.curve_latencies[p] : t.curve_latencies[first];
    return t.curve_latencies[p] + (t.curve_latencies[p + 1] - t.curve_latencies[p]) * (rate - t.curve_rates[p]) /
                                      (t.curve_rates[p + 1] - t.curve_rates[p]);
}

// Recomputes the downtime of one operator: by way of the store, or by download of code and start of replicas.
inline void refresh_change(const RangeArrays& t, const RangeState& s, i64 i, bool same) {
    double store = 0.0, code = 0.0, spawn = 0.0;
    if (t.has_current && !same) {
        const i64 n = s.number[i], n0 = t.current_number[i];
        for (i64 v = 0; v < t.speedup.size(); ++v) {
            if (s.counts(i, v) == 0) continue;
            const double start = s.counts(i, v) > t.current_count(i, v) ? t.spawn_time[v] : 0.0;
            code = most(code, t.code_time(i, v));
            spawn = most(spawn, start);
            if (t.direct_transfer) continue;
            double down = s.arriving(i, v);
            if (t.tasks[i] == 0) {
                down = t.state_size[i] * double(most<i64>(0, s.counts(i, v) - t.current_count(i, v))) / double(n);
                down += t.state_size[i] * double(least<i64>(s.counts(i, v), t.current_count(i, v))) *
                        double(most<i64>(0, n0 - n)) / double(n0 * n);
            }
            for (i64 u = 0; u < t.speedup.size(); ++u) {
                if (u == v || t.current_count(i, u) == 0) continue;
                double up = s.leaving(i, u);
                if (t.tasks[i] == 0) {
                    up = t.state_size[i] * double(most<i64>(0, t.current_count(i, u) - s.counts(i, u))) / double(n0);
                    up += t.state_size[i] * double(t.current_count(i, u)) * double(most<i64>(0, n - n0)) / double(n0 * n);
                }
                const double trip = most(t.code_time(i, v), t.round_trip[u] + up * t.store_slowness[u]) + t.round_trip[v] +
                                    down * t.store_slowness[v] + start;
                store = most(store, trip);
            }
        }
        store += t.synchronisation_time;
    }
    const double parts[] = {store, code, spawn, same || !t.has_current ? 0.0 : 1.0};
    for (i64 p = 0; p < 4; ++p) s.operator_parts(i, p + 1) = parts[p];
}

// Recomputes the parts of the evaluation that depend on the replicas of one operator alone.
inline void refresh_operator(const RangeArrays& t, const RangeState& s, i64 i) {
    const i64 n = s.number[i], m = t.tasks[i], at = t.offset[i], nodes = t.speedup.size();
    s.share.row(i).fill(0.0);
    s.counts.row(i).fill(0);
    s.arriving.row(i).fill(0.0);
    for (i64 u = 0; u < nodes; ++u) s.leaving(i, u) = m > 0 ? t.held_bytes(at + m, u) : 0.0;
    s.latency.row(i).fill(0.0);
    double excess = 0.0;
    i64 first = 0;
    bool same = t.has_current && n == t.current_number[i];
    const double max_share = (1 + t.tolerance) / double(n) * (1 + LIMIT_SLACK);
    for (i64 k = 0; k < n; ++k) {
        const i64 u = s.node(i, k), end = s.end(i, k);
        double share = 1.0 / double(n), rate = t.load[i] / double(n);
        if (m > 0) {
            share = (t.work[at + end] - t.work[at + first]) / t.work[at + m];
            rate = t.load[i] * share;
            if (t.has_current) {
                s.arriving(i, u) += t.missing_bytes(at + end, u) - t.missing_bytes(at + first, u);
                s.leaving(i, u) -= t.held_bytes(at + end, u) - t.held_bytes(at + first, u);
                same = same && u == t.current_node(i, k) && end == t.current_end(i, k);
            }
            if (share > max_share) excess += share / max_share - 1;
        }
        // Slow nodes serve less (edrp/placement/latency.py, served_share).
        const double served = t.utilisation * (t.model[i] == POLYNOMIAL ? 1.0 : least(1.0, t.speedup[u]));
        for (i64 c = 0; c < t.factor.size(); ++c) {
            double seconds = latency_at(t, i, rate * t.factor[c], n);
            if (!std::isfinite(seconds) || !std::isfinite(latency_at(t, i, rate * t.factor[c] / served, n)))
                excess += 0.1 + share;
            if (std::isfinite(seconds)) {
                seconds /= t.speedup[u];
                s.latency(i, c) = t.mean_latency ? s.latency(i, c) + share * seconds : most(s.latency(i, c), seconds);
            }
        }
        s.share(i, u) += share;
        s.counts(i, u) += 1;
        first = end;
    }
    s.operator_parts(i, 0) = excess;
    if (m == 0 && t.has_current) {
        for (i64 u = 0; u < nodes; ++u) {
            same = same && s.counts(i, u) == t.current_count(i, u);
            const double current_share = double(t.current_count(i, u)) / double(t.current_number[i]);
            s.leaving(i, u) = t.state_size[i] * most(0.0, current_share - s.share(i, u));
            s.arriving(i, u) = t.state_size[i] * most(0.0, s.share(i, u) - current_share);
        }
    }
    refresh_change(t, s, i, same);
}

// Recomputes delay and price of the streams at an operator.
inline void refresh_streams(const RangeArrays& t, const RangeState& s, i64 i) {
    const i64 nodes = t.speedup.size();
    for (i64 p = t.adjacent_start[i]; p < t.adjacent_start[i + 1]; ++p) {
        const i64 e = t.adjacent[p], a = t.source[e], b = t.target[e];
        const Ints from = s.counts.row(a), to = s.counts.row(b);
        const Floats shares = s.share.row(b);
        double slowest = 0.0, price = 0.0;
        for (i64 u = 0; u < nodes; ++u) {
            if (from[u] == 0) continue;
            const Floats delays = t.delay.row(u), prices = t.price.row(u);
            const double share = s.share(a, u);
            for (i64 v = 0; v < nodes; ++v) {
                if (to[v] > 0 && v != u) {
                    slowest = most(slowest, delays[v]);
                    price += share * shares[v] * prices[v];
                }
            }
        }
        s.stream_costs(e, 0) = slowest;
        s.stream_costs(e, 1) = price * t.rate[e];
    }
}

// The longest path, averaged over the scenarios.
inline double response_time(const RangeArrays& t, const RangeState& s) {
    double expected = 0.0;
    for (i64 c = 0; c < t.factor.size(); ++c) {
        double slowest = 0.0;
        for (i64 i = 0; i < t.load.size(); ++i) {
            double ready = 0.0;
            for (i64 p = t.incoming_start[i]; p < t.incoming_start[i + 1]; ++p) {
                const i64 e = t.incoming[p];
                ready = most(ready, s.finish[t.source[e]] + s.stream_costs(e, 0));
            }
            s.finish[i] = ready + s.latency(i, c);
            slowest = most(slowest, s.finish[i]);
        }
        expected += t.probability[c] * slowest;
    }
    return expected;
}

// Excess of the demand of the replicas on a node over its capacity, relative to the capacity.
inline double overload(const RangeArrays& t, const RangeState& s, i64 u) {
    double total = 0.0;
    for (i64 r = 0; r < t.capacity.shape[1]; ++r) {
        double used = 0.0;
        for (i64 i = 0; i < t.load.size(); ++i) used += double(s.counts(i, u)) * t.demand(i, r);
        const double room = t.capacity(u, r);
        if (used > room * (1 + LIMIT_SLACK)) total += room > 0 ? used / room - 1 : 1.0 + used;
    }
    return total;
}

// Demand for a shared resource on a node, in units per second.
inline double shared_demand(const RangeArrays& t, const RangeState& s, i64 u, i64 q) {
    double amount = 0.0;
    for (i64 i = 0; i < t.load.size(); ++i)
        if (s.counts(i, u) > 0) amount += double(s.counts(i, u)) * t.replica_use(i, q) + s.share(i, u) * t.tuple_use(i, q);
    for (i64 e = 0; e < t.rate.size(); ++e)
        amount += t.stream_use(e, q) * s.share(t.source[e], u) * most(0.0, 1.0 - s.share(t.target[e], u));
    return amount;
}

// Computes metrics, objective and violation from parts that are up to date.
inline void add_up(const RangeArrays& t, const RangeState& s) {
    const i64 size = t.candidate.shape[0], nodes = t.candidate.shape[1];
    double cost = 0.0, moved = 0.0, violation = 0.0, store = 0.0, code = 0.0, spawn = 0.0, changed = 0.0;
    for (i64 i = 0; i < size; ++i) {
        cost += double(s.number[i]) * t.replica_cost[i];
        violation += s.operator_parts(i, 0);
        store = most(store, s.operator_parts(i, 1));
        code = most(code, s.operator_parts(i, 2));
        spawn = most(spawn, s.operator_parts(i, 3));
        changed = most(changed, s.operator_parts(i, 4));
    }
    for (i64 e = 0; e < t.rate.size(); ++e) cost += s.stream_costs(e, 1);
    double transfer = 0.0, peak = 0.0;
    for (i64 u = 0; u < nodes; ++u) {
        double out = 0.0, into = 0.0;
        const double *leaving = s.leaving.data + u, *arriving = s.arriving.data + u;
        for (i64 i = 0; i < size; ++i, leaving += nodes, arriving += nodes) {
            out += *leaving;
            into += *arriving;
        }
        moved += into;
        transfer = most(most(transfer, out * t.upload_slowness[u]), into * t.download_slowness[u]);
        violation += overload(t, s, u);
        for (i64 q = 0; q < t.shared.shape[1]; ++q) peak = most(peak, shared_demand(t, s, u, q) / t.shared(u, q));
    }
    if (t.direct_transfer) store = changed > 0 ? t.synchronisation_time + most(transfer, code) + spawn : 0.0;
    const double metrics[] = {response_time(t, s), cost, store, moved, peak};
    double objective = 0.0;
    for (i64 p = 0; p < 5; ++p) {
        s.values[p] = metrics[p];
        if (t.weights[p] > 0) objective += t.weights[p] * metrics[p];
        if (metrics[p] > t.limits[p] * (1 + LIMIT_SLACK)) violation += 0.01 + metrics[p] / t.limits[p] - 1;
    }
    const RuleVerdict verdict = judge_rules(t.rules, s.counts);
    s.values[OBJECTIVE_VALUE] = objective + verdict.price;
    s.values[VIOLATION_VALUE] = violation + verdict.breach;
}

// Recomputes the whole evaluation from the replicas.
inline void refresh_all(const RangeArrays& t, const RangeState& s) {
    for (i64 i = 0; i < t.load.size(); ++i) refresh_operator(t, s, i);
    for (i64 i = 0; i < t.load.size(); ++i) refresh_streams(t, s, i);
    add_up(t, s);
}

// Copies number, nodes and ranges of an operator.
inline void copy_replicas(const RangeState& source, const RangeState& target, i64 i) {
    target.number[i] = source.number[i];
    for (i64 k = 0; k < source.number[i]; ++k) {
        target.node(i, k) = source.node(i, k);
        target.end(i, k) = source.end(i, k);
    }
}

// Copies replicas and evaluation of an operator, its streams included.
inline void copy_operator(const RangeArrays& t, const RangeState& source, const RangeState& target, i64 i) {
    copy_replicas(source, target, i);
    copy(source.counts.row(i), target.counts.row(i));
    for (auto part :
         {&RangeState::share, &RangeState::leaving, &RangeState::arriving, &RangeState::latency, &RangeState::operator_parts})
        copy((source.*part).row(i), (target.*part).row(i));
    for (i64 p = t.adjacent_start[i]; p < t.adjacent_start[i + 1]; ++p)
        copy(source.stream_costs.row(t.adjacent[p]), target.stream_costs.row(t.adjacent[p]));
}

}  // namespace edrp
