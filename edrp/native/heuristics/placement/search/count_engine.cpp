// The engine for latency-aware placement over counts: iterated local search whose kicks empty nodes or operators and fill them
// again, and ants that fill node by node (heuristics/placement/search/count_engine.py).
#include "edrp/native/heuristics/placement/search/count_moves.hpp"
#include "edrp/native/python.hpp"
#include "edrp/native/random.hpp"

namespace edrp {
namespace {

constexpr i64 MIN_PARTS = 64;
constexpr double PAPER_VIOLATION_PENALTY = 10000.0;

constexpr i64 BEST_CLOCK = 0, HOME_CLOCK = 1;  // indices into `CountMemory.clocks`, the times at which each copy was made
constexpr i64 MAX_EMPTIED = 3;                 // maximum number of nodes that a kick empties
// Cumulated shares of the kicks that exchange what two unequal nodes run, and of those that empty nodes; the share of the kicks
// that fill an empty node first, and the maximum noise of the filling after a kick.
constexpr double EXCHANGE_KICKS = 0.25, NODE_KICKS = 0.7, EMPTY_NODE_SHARE = 0.3, MAX_NOISE = 0.3;
// Weight of the potential gain by instances that still wait, relative to the gain by placed ones.
constexpr double WAITING_WEIGHT = 1e-3;

struct CountMemory {
    IntsOut2 best;
    FloatsOut best_value;
    IntsOut2 home;
    FloatsOut value;
    IntsOut clocks;
    FIELDS(best, best_value, home, value, clocks)
};

struct FillingRule {
    double power, trail_power;
    FloatsOut noise;
    IntsOut first;
    Floats2 trail;
    Random random;
    FIELDS(power, trail_power, noise, first, trail, random)
};

struct CountSearch {
    CountArrays arrays;
    CountState now;
    CountPaths paths;
    CountMemory memory;
    FillingRule rule;
    IntsOut progress;
    FIELDS(arrays, now, paths, memory, rule, progress)
};

// Placements built node by node: the operator that joins most of what a node already runs comes next.

// Logarithm of the weight of operator a for node d, with the noise that makes the largest one a draw.
double log_weight(const CountArrays& t, const CountState& c, const FillingRule& rule, const Floats& trail_sum, i64 a, i64 d) {
    double share = 1e-9;
    for (i64 m = 0; m < t.demand.shape[1]; ++m)
        if (t.demand(a, m) > 0 && t.capacity(d, m) < inf) share = most(share, t.demand(a, m) / t.capacity(d, m));
    double future = t.pair(a, a) * double(waiting(t, c, a));
    for (i64 j = t.start[a]; j < t.start[a + 1]; ++j)
        future += t.pair(a, t.neighbours[j]) * double(waiting(t, c, t.neighbours[j]));
    const double worth = c.joined(a, d) + 2.0 * t.pair(a, a) * double(c.counts.replicas(a, d)) + WAITING_WEIGHT * future;
    double weight = rule.power * std::log((worth + 1e-12 * t.score_apart) / share);
    if (rule.trail_power > 0 && c.total[d] > 0) weight += rule.trail_power * std::log(trail_sum[a] / double(c.total[d]));
    if (rule.noise[0] > 0) weight -= rule.noise[0] * std::log(-std::log(uniform(rule.random) + 1e-300) + 1e-300);
    return weight;
}

// Places waiting instances on node d as long as some fit; returns whether any did.
bool fill_node(const CountArrays& t, const CountState& c, const FillingRule& rule, i64 d) {
    bool placed = false;
    const i64 operators = rule.trail_power > 0 ? rule.trail.shape[0] : 0;
    const Own<double, 1> trail_sum(operators);  // pheromone between each operator and the instances on the node
    for (i64 a = 0; a < operators; ++a) {
        for (i64 b = 0; b < operators; ++b) trail_sum[a] += double(c.counts.replicas(b, d)) * rule.trail(a, b);
    }
    while (true) {
        i64 best = -1;
        double max_weight = -inf;
        for (i64 a = 0; a < c.counts.degree.size(); ++a) {
            if (waiting(t, c, a) == 0 || fitting(t, c, a, d, 1) == 0) continue;
            const double weight = log_weight(t, c, rule, trail_sum, a, d);
            if (best < 0 || weight > max_weight) best = a, max_weight = weight;
        }
        if (best < 0) return placed;
        const i64 part = least(most<i64>(1, t.instances[best] / MIN_PARTS), waiting(t, c, best));
        const i64 q = fitting(t, c, best, d, part);
        put(t, c, best, d, q);
        placed = placed || q > 0;
        for (i64 a = 0; a < operators; ++a) trail_sum[a] += double(q) * rule.trail(a, best);
    }
}

// Chooses the empty node that can take most waiting instances, preferably in the zone of the previous one; -1: none.
i64 next_node(const CountArrays& t, const CountState& c, const FillingRule& rule, const Bools& useless, i64 previous) {
    i64 best = -1;
    double max_value = 0.0;
    for (i64 k = 0; k < c.empty_number.size(); ++k) {
        if (c.empty_number[k] == 0 || useless[k]) continue;
        const i64 d = c.empty[t.class_start[k] + c.empty_number[k] - 1];
        double share = 1.0, count = 0.0;
        for (i64 a = 0; a < c.counts.degree.size(); ++a) count += t.candidate(a, d) ? double(waiting(t, c, a)) : 0.0;
        for (i64 m = 0; m < t.demand.shape[1]; ++m) {
            double need = 0.0;
            for (i64 a = 0; a < c.counts.degree.size(); ++a)
                need += double(t.candidate(a, d) ? waiting(t, c, a) : 0) * t.demand(a, m);
            if (need > 0) share = least(share, t.capacity(d, m) / need);
        }
        double value = share * count * (1.0 + (previous >= 0 && t.zone[d] == t.zone[previous] ? 1e-6 : 0.0));
        if (rule.noise[0] > 0) value *= 1.0 + rule.noise[0] * uniform(rule.random);
        if (value > max_value) best = d, max_value = value;
    }
    return best;
}

// Places the instances that find no room where they cause the least overload.
void squeeze(const CountArrays& t, const CountState& c) {
    const FloatsOut2& used = c.counts.used;
    for (i64 a = 0; a < c.counts.degree.size(); ++a) {
        while (waiting(t, c, a) > 0) {
            const i64 q = most<i64>(1, waiting(t, c, a) / MIN_PARTS);
            i64 best = -1;
            Strain min{0, inf};
            for (i64 d = 0; d < c.total.size(); ++d) {
                if (!t.candidate(a, d)) continue;
                for (i64 m = 0; m < used.shape[1]; ++m) used(d, m) += double(q) * t.demand(a, m);
                const Strain after = strain(t.capacity, used, d, COUNTED_LOAD_SLACK);
                for (i64 m = 0; m < used.shape[1]; ++m) used(d, m) -= double(q) * t.demand(a, m);
                if (best < 0 || after.violations < min.violations ||
                    (after.violations == min.violations && after.overload < min.overload))
                    best = d, min = after;
            }
            put(t, c, a, best, q);
        }
    }
}

// Places all waiting instances: on node `first` (-1 for none), on nodes in use, on empty ones, and finally anywhere.
void fill(const CountArrays& t, const CountState& c, const FillingRule& rule, i64 first) {
    i64 before = c.counters[OPEN], turn = first >= 0 ? -1 : 0, previous = -1;
    const Own<bool, 1> useless(c.empty_number.size());  // classes of which no empty node took an instance
    for (;; ++turn) {
        i64 unplaced = 0;
        for (i64 a = 0; a < c.counts.degree.size(); ++a) unplaced += waiting(t, c, a);
        if (unplaced == 0) return;
        i64 d = first;
        if (turn >= 0) d = turn < before ? c.opened[(rule.first[0] + turn) % before] : next_node(t, c, rule, useless, previous);
        if (d < 0) return squeeze(t, c);
        const bool filled = fill_node(t, c, rule, d);
        if (turn < 0)
            before = c.counters[OPEN];
        else if (filled)
            previous = d;
        else if (turn >= before)
            useless[t.class_of[d]] = true;
    }
}

// Takes every instance away from node s.
void empty_node(const CountArrays& t, const CountState& c, i64 s) {
    for (i64 a = 0; a < c.counts.degree.size(); ++a)
        if (c.counts.replicas(a, s) > 0) put(t, c, a, s, -c.counts.replicas(a, s));
}

// Removes all instances of operator a.
void remove(const CountArrays& t, const CountState& c, i64 a) {
    for (i64 k = c.counters[OPEN] - 1; k >= 0; --k) {  // from the end: an emptied node is replaced by the last one
        const i64 s = c.opened[k];
        if (c.counts.replicas(a, s) > 0) put(t, c, a, s, -c.counts.replicas(a, s));
    }
}

// Brings a copy of the counts up to date.
void update_copy(const CountState& c, const IntsOut2& copy, i64 since) {
    for (i64 s = 0; s < c.total.size(); ++s)
        for (i64 a = 0; a < (c.last_changed[s] > since ? copy.shape[0] : 0); ++a) copy(a, s) = c.counts.replicas(a, s);
}

void evaluate(const CountArrays& t, const CountState& c, const PathSearch& p, const CountMemory& memory) {
    refresh(t, c);
    const FloatsOut& value = memory.value;
    value[VIOLATIONS] = value[OVERLOAD] = 0.0;
    value[OBJECTIVE] = score(t, c);
    for (i64 k = 0; k < c.counters[OPEN]; ++k) {
        const auto [violations, overload] = strain(t.capacity, c.counts.used, c.opened[k], COUNTED_LOAD_SLACK);
        value[VIOLATIONS] += double(violations);
        value[OVERLOAD] += overload;
    }
    if (p.price > 0) value[OBJECTIVE] += p.price * path_latency(p, c.counts, NO_OPERATOR, 0, 0, 0);
    if (better(value, memory.best_value)) {
        update_copy(c, memory.best, memory.clocks[BEST_CLOCK]);
        memory.clocks[BEST_CLOCK] = c.counters[CLOCK];
        copy(value, memory.best_value);
    }
}

void evaluate_counts(const CountArrays& t, const CountState& c, const CountPaths& paths, const CountMemory& memory) {
    evaluate(t, c, PathSearch(paths, c.counts.degree.size()), memory);
}

double longest_path(const CountPaths& paths, const ReplicaCounts& c, i64 mover, i64 q, i64 s, i64 d) {
    return path_latency(PathSearch(paths, c.degree.size()), c, mover, q, s, d);
}

// Each placement deposits `amount` over its score on `fresh` (operators, operators): that times the share of two operators' pairs
// of instances that it co-locates (latency-aware placement, eq. 5).
void build_counts(const CountSearch& search, i64 ants, double amount, const FloatsOut2& fresh) {
    const CountArrays& t = search.arrays;
    const CountState& c = search.now;
    const PathSearch paths(search.paths, c.counts.degree.size());
    for (; ants > 0; --ants) {
        while (c.counters[OPEN] > 0) empty_node(t, c, c.opened[c.counters[OPEN] - 1]);
        fill(t, c, search.rule, -1);
        evaluate(t, c, paths, search.memory);
        const double total = search.memory.value[OBJECTIVE] + PAPER_VIOLATION_PENALTY * search.memory.value[VIOLATIONS];
        const double deposit = amount / most(total, MIN_ANT_SCORE);
        for (i64 k = 0; k < (amount > 0 ? c.counters[OPEN] : 0); ++k) {
            const i64 s = c.opened[k];
            for (i64 a = 0; a < c.counts.degree.size(); ++a) {
                const double share = deposit * double(c.counts.replicas(a, s)) / double(t.instances[a]);
                for (i64 b = 0; b < (share > 0 ? c.counts.degree.size() : 0); ++b)
                    fresh(a, b) += share * double(c.counts.replicas(b, s)) / double(t.instances[b]);
            }
        }
    }
}

// Climbs to a local optimum or until the work limit, and evaluates; returns whether it is an optimum.
bool climb(const CountSearch& search, const PathSearch& paths, const LocalSearchRun& run) {
    const bool ended = climb_batches(search.arrays, search.now, paths, search.progress[WORK], run);
    evaluate(search.arrays, search.now, paths, search.memory);
    return ended;
}

// Continues from here if it is nearly as good as the best, else returns to the placement before the kick.
void accept(const CountSearch& search, const LocalSearchRun& run) {
    const CountArrays& t = search.arrays;
    const CountState& c = search.now;
    const CountMemory& memory = search.memory;
    const i64 since = memory.clocks[HOME_CLOCK];
    if (near(memory.value, memory.best_value, run.tolerance)) {
        update_copy(c, memory.home, since);
    } else {
        for (i64 s = 0; s < c.total.size(); ++s) {
            for (i64 a = 0, count = c.last_changed[s] > since ? c.counts.replicas.shape[0] : 0; a < count; ++a) {
                const i64 more = memory.home(a, s) - c.counts.replicas(a, s);
                if (more != 0) put(t, c, a, s, more);
            }
        }
    }
    memory.clocks[HOME_CLOCK] = c.counters[CLOCK];
}

// Exchanges everything allowed between nodes u and v, whether there is room or not.
void exchange(const CountArrays& t, const CountState& c, i64 u, i64 v) {
    for (i64 a = 0; a < c.counts.degree.size(); ++a) {
        const i64 more = c.counts.replicas(a, u) - c.counts.replicas(a, v);
        if (more != 0 && t.candidate(a, more > 0 ? v : u)) transfer(t, c, a, u, v, more);
    }
}

// Exchanges two nodes, or empties some nodes or removes two communicating operators and places the instances again: on the nodes
// in use, or on an empty one first.
void kick(const CountSearch& search) {
    const CountArrays& t = search.arrays;
    const CountState& c = search.now;
    const FillingRule& rule = search.rule;
    search.progress[WORK] += c.counts.degree.size() * c.counters[OPEN];
    const double kind = uniform(rule.random);
    if (kind < EXCHANGE_KICKS && c.counters[OPEN] > 0) {
        const i64 u = c.opened[below(rule.random, c.counters[OPEN])], v = below(rule.random, c.total.size());
        if (t.class_of[u] != t.class_of[v]) return exchange(t, c, u, v);
    }
    if (kind < NODE_KICKS) {
        for (i64 nodes = 1 + below(rule.random, MAX_EMPTIED); nodes > 0; --nodes)
            if (c.counters[OPEN] > 0) empty_node(t, c, c.opened[below(rule.random, c.counters[OPEN])]);
    } else {
        i64 a = below(rule.random, c.counts.degree.size());
        remove(t, c, a);
        const i64 first = t.start[a], count = t.start[a + 1] - first;
        if (count > 0) a = t.neighbours[first + below(rule.random, count)];
        remove(t, c, a);
    }
    const i64 k = below(rule.random, c.empty_number.size());
    const bool fresh = uniform(rule.random) < EMPTY_NODE_SHARE && c.empty_number[k] > 0;
    rule.noise[0] = MAX_NOISE * uniform(rule.random);
    rule.first[0] = below(rule.random, c.counters[OPEN]);
    fill(t, c, rule, fresh ? c.empty[t.class_start[k] + c.empty_number[k] - 1] : -1);
}

bool iterate_counts(const CountSearch& search, const LocalSearchRun& run) {
    const PathSearch paths(search.paths, search.now.counts.degree.size());
    search.progress[WORK] = 0;
    while (climb(search, paths, run)) {
        if (search.progress[KICKS] == run.kicks) return true;
        accept(search, run);
        kick(search);
        search.progress[KICKS] += 1;
    }
    return false;
}

const Kernels here{
    kernel<put>("put_instances", "Add instances of an operator to a node, or remove some where their number is negative."),
    kernel<colocation_gain>("colocation_gain", "Gain in co-location when instances move between two nodes."),
    kernel<longest_path>("path_latency", "Latency of the slowest path through instances, now or after a change."),
    kernel<evaluate_counts>("evaluate_counts", "Evaluate the present placement, and copy it to `best` if it is the best so far."),
    kernel<build_counts>("build_counts", "Build placements from scratch, one per ant (latency-aware placement, 4.3.2)."),
    kernel<iterate_counts>("iterate_counts", "Continue iterated local search for some work; return whether it has ended."),
};

}  // namespace
}  // namespace edrp
