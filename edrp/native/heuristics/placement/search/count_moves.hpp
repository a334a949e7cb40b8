// Hill climbing over counts: any number of instances moves, trades places, or leaves a node all together. Instances go where
// there is room. Only where nodes are overloaded may they overload others, if that is less in all.
#pragma once
#include "edrp/native/heuristics/placement/acceptance.hpp"
#include "edrp/native/heuristics/placement/search/count_state.hpp"

namespace edrp {

constexpr double OVERLOAD_WEIGHT = 1e6;    // of overload relative to the score in the choice among trades that relieve it
constexpr double MIN_LATENCY_GAIN = 1e-5;  // possible gain in latency, relative to the score, up to which a climb ignores it

// Gain in co-location when q instances of operator a move from node s to node d.
inline double colocation_gain(const Floats2& pair, const Ints2& replicas, const Floats2& joined, i64 a, i64 s, i64 d, i64 q) {
    return double(q) * (joined(a, d) - joined(a, s)) + 2.0 * double(q) * double(replicas(a, d) - replicas(a, s) + q) * pair(a, a);
}

inline double gain(const CountArrays& t, const CountState& c, i64 a, i64 s, i64 d, i64 q) {
    return colocation_gain(t.pair, c.counts.replicas, c.joined, a, s, d, q);
}

// Decrease in the cost of nodes in use when q instances move from node s to node d.
inline double price(const CountArrays& t, const CountState& c, i64 s, i64 d, i64 q) {
    const double saved = c.total[s] == q ? t.node_price[s] : 0.0;
    return c.total[d] == 0 ? saved - t.node_price[d] : saved;
}

// Decrease in broken limits and in overload when q of a go from s to d and `back` of b the other way.
inline Strain relief(const CountArrays& t, const CountState& c, i64 a, i64 b, i64 s, i64 d, i64 q, i64 back) {
    const FloatsOut2& used = c.counts.used;
    const auto strain_of = [&](i64 u) { return strain(t.capacity, used, u, COUNTED_LOAD_SLACK); };
    const auto shift = [&](double sign) {
        for (i64 m = 0; m < used.shape[1]; ++m) {
            const double more = double(q) * t.demand(a, m) - double(back) * t.demand(b, m);
            used(s, m) -= sign * more;
            used(d, m) += sign * more;
        }
    };
    const Strain source = strain_of(s), target = strain_of(d);
    shift(1.0);
    const Strain source_after = strain_of(s), target_after = strain_of(d);
    shift(-1.0);
    return {source.violations + target.violations - source_after.violations - target_after.violations,
            source.overload + target.overload - source_after.overload - target_after.overload};
}

// Decrease of the latency term when q instances of an operator, or all on s, go from s to d.
inline double latency_gain(const CountState& c, const PathSearch& p, i64 mover, i64 q, i64 s, i64 d) {
    const double before = path_latency(p, c.counts, NO_OPERATOR, q, s, d);
    return p.price * (before - path_latency(p, c.counts, mover, q, s, d));
}

// Moves q instances of operator a from node s to node d.
inline void transfer(const CountArrays& t, const CountState& c, i64 a, i64 s, i64 d, i64 q) {
    put(t, c, a, d, q);
    put(t, c, a, s, -q);
}

// The k-th target: nodes in use, then the representative of each class of empty nodes; -1 for none.
inline i64 target(const CountArrays& t, const CountState& c, i64 k) {
    if (k < c.counters[OPEN]) return c.opened[k];
    k -= c.counters[OPEN];
    return c.empty_number[k] > 0 ? c.empty[t.class_start[k] + c.empty_number[k] - 1] : -1;
}
inline i64 targets(const CountState& c) { return c.counters[OPEN] + c.empty_number.size(); }

// Bound on the change of the score by latency, 0 where a climb ignores it.
inline double latency_span(const CountArrays& t, const PathSearch& p) {
    return p.span > MIN_LATENCY_GAIN * t.score_apart ? p.span : 0.0;
}

// Lists the targets that have changed since operator a was last compared; returns their number.
inline i64 list_recent(const CountArrays& t, const CountState& c, i64 a) {
    i64 count = 0;
    for (i64 k = 0; k < targets(c); ++k) {
        const i64 d = target(t, c, k);
        if (d >= 0 && c.last_changed[d] > c.last_compared[a]) c.recent[count++] = d;
    }
    return count;
}

// Moves instances of operator a from node s to the target with the largest gain, if positive; returns whether it did. If s has
// not changed since the last comparison, only the `recent` nodes are targets.
inline bool move(const CountArrays& t, const CountState& c, const PathSearch& p, i64& work, i64 a, i64 s, i64 recent, i64 rule) {
    const double span = latency_span(t, p);
    i64 best = -1, number = 0, fewer = 0;
    double less = 0.0, max_value = -span;
    const i64 on_source = c.counts.replicas(a, s);
    const bool everywhere = c.last_changed[s] > c.last_compared[a];
    const bool strained = strain(t.capacity, c.counts.used, s, COUNTED_LOAD_SLACK).violations > 0;
    for (i64 k = 0, count = everywhere ? targets(c) : recent; k < count; ++k) {
        const i64 d = everywhere ? target(t, c, k) : c.recent[k];
        if (d < 0 || d == s) continue;
        work += 1;
        // A convex function of the number of instances: the most or a single one gains most.
        const double hoped = most(gain(t, c, a, s, d, on_source), gain(t, c, a, s, d, 1));
        if (!strained && hoped + t.node_price[s] <= max_value) continue;
        i64 q = fitting(t, c, a, d, on_source);
        if (q == 0 && (!strained || !t.candidate(a, d))) continue;
        q = most<i64>(q, 1);  // where a node is overloaded, one instance may overload another node, if that is less
        const double value = gain(t, c, a, s, d, q) + price(t, c, s, d, q);
        Strain relieved;
        if (strained) {
            relieved = relief(t, c, a, a, s, d, q, 0);
            relieved.overload *= double(rule);
        }
        const double lighter = relieved.overload;
        if (relieved.violations < fewer || (relieved.violations == fewer && lighter < less - MIN_MOVE_GAIN)) continue;
        if (relieved.violations > fewer || lighter > less + MIN_MOVE_GAIN || value > max_value) {
            best = d, number = q, fewer = relieved.violations;
            less = lighter, max_value = value;
        }
    }
    if (best < 0) return false;
    if (fewer == 0 && less <= MIN_MOVE_GAIN) {
        if (span > 0 && max_value <= span) max_value += latency_gain(c, p, a, number, s, best);
        if (max_value <= MIN_MOVE_GAIN * t.score_apart) return false;
    }
    transfer(t, c, a, s, best, number);
    return true;
}

struct Trade {
    i64 q = 0, back = 0;
};

// Numbers of instances of a from s to d, and of b back, such that both nodes have room; 0 if there are none.
inline Trade counterpart(const CountArrays& t, const CountState& c, i64 a, i64 b, i64 s, i64 d) {
    const Floats2 &demand = t.demand, &capacity = t.capacity;
    const FloatsOut2& used = c.counts.used;
    const i64 on_target = c.counts.replicas(b, d);
    i64 q = c.counts.replicas(a, s), back = 0;
    for (i64 m = 0; m < used.shape[1]; ++m) {
        if (demand(a, m) > 0) {
            const double free = capacity(d, m) - used(d, m) + double(on_target) * demand(b, m);
            q = least(q, i64(most(0.0, least(free / demand(a, m) + COUNTED_LOAD_SLACK, 1e15))));
        }
    }
    for (i64 m = 0; m < used.shape[1]; ++m) {
        const double lacking = double(q) * demand(a, m) - (capacity(d, m) - used(d, m));
        if (lacking > COUNTED_LOAD_SLACK * capacity(d, m)) {
            if (demand(b, m) <= 0) return {};
            back = most(back, i64(std::ceil(lacking / demand(b, m) - COUNTED_LOAD_SLACK)));
        }
    }
    if (q == 0 || back == 0 || back > on_target) return {};
    for (i64 m = 0; m < used.shape[1]; ++m) {
        const double after = used(s, m) - double(q) * demand(a, m) + double(back) * demand(b, m);
        if (after > capacity(s, m) * (1 + COUNTED_LOAD_SLACK)) return {};
    }
    return {q, back};
}

// Trades instances of operator a on node s for another operator's, if that gains more than latency can cost. From an overloaded
// node, if the two nodes are then overloaded less: one for one where nothing makes them fit.
inline bool swap(const CountArrays& t, const CountState& c, const PathSearch& p, i64& work, i64 a, i64 s, i64 recent) {
    const bool strained = strain(t.capacity, c.counts.used, s, COUNTED_LOAD_SLACK).violations > 0;
    double max_gain = latency_span(t, p) + MIN_MOVE_GAIN * t.score_apart;
    i64 best = -1, other = -1;
    Trade chosen;
    const bool everywhere = c.last_changed[s] > c.last_compared[a];
    for (i64 k = 0, count = everywhere ? c.counters[OPEN] : recent; k < count; ++k) {
        const i64 d = everywhere ? c.opened[k] : c.recent[k];
        if (d == s || c.total[d] == 0 || !t.candidate(a, d) || (c.joined(a, d) <= c.joined(a, s) && !strained)) continue;
        for (i64 b = 0; b < c.counts.replicas.shape[0]; ++b) {
            work += 1;
            if (b == a || c.counts.replicas(b, d) == 0 || !t.candidate(b, s)) continue;
            Trade trade = counterpart(t, c, a, b, s, d);
            if (trade.q == 0 && !strained) continue;
            if (trade.q == 0) trade = {1, 1};
            double saved = gain(t, c, a, s, d, trade.q) + gain(t, c, b, d, s, trade.back);
            saved -= 2.0 * double(trade.q) * double(trade.back) * t.pair(a, b);  // what passes each other on the way
            if (strained) {
                const auto [relieved, lighter] = relief(t, c, a, b, s, d, trade.q, trade.back);
                const bool eased = relieved > 0 || (relieved == 0 && lighter > MIN_MOVE_GAIN);
                saved += eased ? OVERLOAD_WEIGHT * (double(relieved) + lighter) : -inf;
            }
            if (saved > max_gain) {
                max_gain = saved;
                best = d, other = b, chosen = trade;
            }
        }
    }
    if (best < 0) return false;
    transfer(t, c, a, s, best, chosen.q);
    transfer(t, c, other, best, s, chosen.back);
    return true;
}

// Compares the changes of operator a that may have become better, and makes those that gain; returns whether all were compared.
inline bool compare_moves(const CountArrays& t, const CountState& c, const PathSearch& p, i64& work, i64 a,
                          const LocalSearchRun& run) {
    if (c.counters[TURN] == 0) c.counters[BEGAN] = c.counters[CLOCK];
    const i64 recent = list_recent(t, c, a);
    while (c.counters[TURN] < c.counters[OPEN]) {
        if (work >= run.work) return false;
        const i64 k = c.counters[TURN], s = c.opened[k];
        while (c.counts.replicas(a, s) > 0 &&
               (move(t, c, p, work, a, s, recent, run.overload_rule) || swap(t, c, p, work, a, s, recent))) {
        }
        if (k < c.counters[OPEN] && c.opened[k] == s) c.counters[TURN] += 1;
    }
    c.counters[TURN] = 0;
    c.last_compared[a] = c.counters[BEGAN];
    return true;
}

inline bool takes_all(const CountArrays& t, const CountState& c, i64 s, i64 d) {
    for (i64 m = 0; m < c.counts.used.shape[1]; ++m)
        if (c.counts.used(s, m) + c.counts.used(d, m) > t.capacity(d, m) * (1 + COUNTED_LOAD_SLACK)) return false;
    for (i64 a = 0; a < c.counts.replicas.shape[0]; ++a)
        if (c.counts.replicas(a, s) > 0 && !t.candidate(a, d)) return false;
    return true;
}

// Moves everything on some node to another one, in use or an empty one of another class, if that is better.
inline bool dissolve(const CountArrays& t, const CountState& c, const PathSearch& p, i64& work, i64 max_work) {
    const double span = latency_span(t, p), min_gain = MIN_MOVE_GAIN * t.score_apart;
    const IntsOut2& replicas = c.counts.replicas;
    while (c.counters[SWEEP] < c.counters[OPEN]) {
        const i64 s = c.opened[c.counters[SWEEP]++];
        work += 1 + c.counters[OPEN] / 8;
        for (i64 k = 0, count = targets(c); k < count; ++k) {
            const i64 d = target(t, c, k);
            if (d < 0 || d == s || (c.last_changed[s] <= c.counters[SWEPT] && c.last_changed[d] <= c.counters[SWEPT])) continue;
            if ((c.total[d] == 0 && t.class_of[d] == t.class_of[s]) || !takes_all(t, c, s, d)) continue;
            double value = t.node_price[s] - (c.total[d] == 0 ? t.node_price[d] : 0.0);
            for (i64 a = 0; a < replicas.shape[0]; ++a)
                value += double(replicas(a, s)) * (c.joined(a, d) + 2.0 * double(replicas(a, d)) * t.pair(a, a));
            if (value + span <= min_gain) continue;
            if (span > 0) {
                work += c.counters[OPEN] + p.source.size();
                value += latency_gain(c, p, ALL_OPERATORS, 0, s, d);
            }
            if (value > min_gain) {
                for (i64 a = 0; a < replicas.shape[0]; ++a)
                    if (replicas(a, s) > 0) transfer(t, c, a, s, d, replicas(a, s));
                c.counters[SWEEP] = 0;
                return true;
            }
        }
        if (work >= max_work) return false;
    }
    return false;
}

// Climbs until the work limit, counted in targets compared; returns whether a local optimum is reached.
inline bool climb_batches(const CountArrays& t, const CountState& c, const PathSearch& p, i64& work, const LocalSearchRun& run) {
    const i64 operators = c.last_compared.size();
    i64 idle = 0;
    while (work < run.work) {
        const i64 a = c.counters[CURSOR], before = c.counters[CLOCK];
        if ((c.last_compared[a] < before || c.counters[TURN] > 0) && !compare_moves(t, c, p, work, a, run)) return false;
        idle = c.counters[CLOCK] == before ? idle + 1 : 0;
        c.counters[CURSOR] = (a + 1) % operators;
        if (idle == operators) {
            const bool dissolved = dissolve(t, c, p, work, run.work);
            if (!dissolved && c.counters[SWEEP] >= c.counters[OPEN]) {
                c.counters[SWEEP] = 0;
                c.counters[SWEPT] = c.counters[CLOCK];
                return true;
            }
            idle = dissolved ? 0 : idle - 1;
        }
    }
    return false;
}

}  // namespace edrp
