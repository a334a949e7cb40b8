// The memory of a search over deployments: best one, queue of operators, list of changes
// (heuristics/placement/search/deployment_engine.py).
#pragma once
#include <initializer_list>

#include "edrp/native/heuristics/placement/acceptance.hpp"
#include "edrp/native/heuristics/placement/annealing_moves.hpp"
#include "edrp/native/heuristics/placement/deployment_metrics.hpp"

namespace edrp {

// Indices of `counters`: next change to evaluate, changes listed, best of them so far (-1 for none), operators in the queue,
// latest stamp on nodes, whether any node is overloaded, operators that differ from home, and operators that a kick has touched
// while it is not evaluated (else -1).
constexpr i64 POSITION = 0, LISTED = 1, CHOSEN = 2, WAITING = 3, STAMP = 4, OVERLOADED = 5, STRAYS = 6, KICKED = 7;

struct DeploymentMemory {
    FloatsOut value, best_value, trial, chosen;
    IntsOut2 best, home;
    IntsOut counters;
    IntsOut2 changes;
    IntsOut changed;
    BoolsOut touched;
    IntsOut queue;
    BoolsOut queued;
    IntsOut targets, stamped, strays;
    BoolsOut stray;
    FIELDS(value, best_value, trial, chosen, best, home, counters, changes, changed, touched, queue, queued, targets, stamped,
           strays, stray)
};

struct DeploymentSearch {
    PlacementArrays arrays;
    DeploymentState now;
    DeploymentMemory memory;
    MoveMix mix;
    Random random;
    IntsOut progress;
    FIELDS(arrays, now, memory, mix, random, progress)
};

// Writes the value of the present deployment; nodes are checked only if some may be `overloaded`.
inline void evaluate(const PlacementArrays& t, const DeploymentState& d, bool overloaded, i64 overload_rule,
                     const FloatsOut& value) {
    const RuleVerdict rules = judge_rules(t.rules, d.counts.replicas);
    double objective = measure(t, d) + rules.price, violations = double(rules.broken), overload = rules.breach;
    for (i64 u = 0; u < (overloaded ? d.counts.used.shape[0] : 0); ++u) {
        const Strain node = strain(t.capacity, d.counts.used, u, LIMIT_SLACK);
        violations += double(node.violations);
        overload += node.overload;
    }
    for (i64 k = 0; k < 5 + t.shared.weights.size(); ++k) {
        const Measured metric = measured(t, d, k);
        objective += metric.weight * metric.value;
        const double excess = metric.value - metric.limit;
        if (excess > LIMIT_SLACK * metric.limit) {
            violations += 1;
            overload += excess / most(metric.limit, 1e-3 * excess);
        }
    }
    value[VIOLATIONS] = violations;
    value[OVERLOAD] = double(overload_rule) * overload;
    value[OBJECTIVE] = objective;
}

// Whether any node is overloaded, or a rule that must be met is broken: then changes need not fit.
inline bool is_overloaded(const PlacementArrays& t, const DeploymentState& d) {
    if (judge_rules(t.rules, d.counts.replicas).broken > 0) return true;
    for (i64 u = 0; u < d.counts.used.shape[0]; ++u) {
        if (strain(t.capacity, d.counts.used, u, LIMIT_SLACK).violations > 0) return true;
    }
    return false;
}

// Copies the present deployment to `best` if it is the best one visited.
inline void keep_best(const DeploymentState& d, const DeploymentMemory& m) {
    if (!better(m.value, m.best_value)) return;
    copy(m.value, m.best_value);
    copy(d.counts.replicas, m.best);
}

// Puts operator i at the end of the queue, once.
inline void enqueue(const DeploymentMemory& m, i64 i) {
    if (m.queued[i]) return;
    m.queued[i] = true;
    m.queue[m.counters[WAITING]++] = i;
}

// Puts operator i and those that it shares streams with at the end of the queue.
inline void enqueue_neighbours(const PlacementArrays& t, const DeploymentMemory& m, i64 i) {
    enqueue(m, i);
    for (i64 k = t.adjacent_start[i]; k < t.adjacent_start[i + 1]; ++k)
        enqueue(m, t.source[t.adjacent[k]] + t.target[t.adjacent[k]] - i);
}

// Records that operator i may differ from the home deployment.
inline void note_stray(const DeploymentMemory& m, i64 i) {
    if (m.stray[i]) return;
    m.stray[i] = true;
    m.strays[m.counters[STRAYS]++] = i;
}

// Evaluates the deployment under search from scratch, makes it the one to return to, and empties all lists.
inline void adopt(const PlacementArrays& t, const DeploymentState& d, const DeploymentMemory& m, i64 overload_rule) {
    refresh_all(t, d);
    copy(d.counts.replicas, m.home);
    m.queued.fill(false);
    m.stray.fill(false);
    for (i64 k : {POSITION, WAITING, STRAYS}) m.counters[k] = 0;
    for (i64 k : {LISTED, KICKED}) m.counters[k] = -1;
    m.counters[OVERLOADED] = is_overloaded(t, d);
    evaluate(t, d, true, overload_rule, m.value);
    keep_best(d, m);
}

}  // namespace edrp
