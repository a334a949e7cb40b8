// Simulated annealing over deployments (heuristics/placement/annealing.py); only moves that fit are tried.
#include "edrp/native/heuristics/placement/annealing_moves.hpp"
#include "edrp/native/heuristics/placement/deployment_metrics.hpp"
#include "edrp/native/python.hpp"

namespace edrp {
namespace {

constexpr double INFEASIBLE_ENERGY = 1000.0;

struct BestDeployment {
    IntsOut2 hosts, replicas;
    IntsOut number;
    FloatsOut energy;
    FIELDS(hosts, replicas, number, energy)
};

// Copies a deployment of this energy to `best` if it is better by more than a margin.
void keep_best(const DeploymentState& d, const BestDeployment& best, double max_price, double value, double margin) {
    const ReplicaCounts& c = d.counts;
    const double rank = value + (INFEASIBLE_ENERGY + max_price) * d.values[BROKEN_VALUE];
    if (rank >= best.energy[0] - margin) return;
    best.energy[0] = rank;
    for (i64 i = 0; i < c.degree.size(); ++i) {
        best.number[i] = c.number[i];
        for (i64 k = 0; k < c.number[i]; ++k) {
            best.hosts(i, k) = c.hosts(i, k);
            best.replicas(i, k) = c.replicas(i, c.hosts(i, k));
        }
    }
}

// The excess over capacity on the nodes of the planned change, whose parts share at least one node.
double planned_excess(const PlacementArrays& t, const DeploymentState& d, i64 changes) {
    double total = 0.0;
    for (i64 k = 0; k < changes; ++k) {
        for (i64 side = 1; side < 3; ++side) {
            const i64 u = d.plan(k, side);
            if (u >= 0 && (k == 0 || (u != d.plan(0, 1) && u != d.plan(0, 2))))
                total += strain(t.capacity, d.counts.used, u, LIMIT_SLACK).overload;
        }
    }
    return total;
}

void anneal(const PlacementArrays& t, const DeploymentState& d, const BestDeployment& best, const MoveMix& mix,
            const Random& random, i64 steps, double temperature, double cooling) {
    refresh_all(t, d);
    double overload = 0.0, value = inf, more = 0.0;
    i64 changes = 0;
    for (i64 u = 0; u < d.counts.used.shape[0]; ++u) overload += strain(t.capacity, d.counts.used, u, LIMIT_SLACK).overload;
    for (i64 step = 0; step <= steps; ++step) {  // the first one only evaluates
        if (step > 0) {
            temperature *= cooling;
            changes = propose(t, d, mix, random);
            if (changes == 0) continue;
            const double before = planned_excess(t, d, changes);
            perform(t, d, changes);
            more = planned_excess(t, d, changes) - before;
        }
        const double new_overload = overload > EQUAL_VIOLATIONS ? most(0.0, overload + more) : 0.0;
        const double next = more <= EQUAL_VIOLATIONS ? energy(t, d, new_overload) : inf;
        const bool stays = next <= value || uniform(random) < std::exp((value - next) / temperature);
        if (stays) {
            value = next;
            overload = new_overload;
            keep_best(d, best, t.rules.max_price, value, step > 0 ? 1e-12 : 0.0);
        } else {
            transfer(t, d, changes, true);
        }
        for (i64 k = 0; k < changes; ++k) settle(t, d, d.plan(k, 0), stays);
    }
}

const Kernels here{
    kernel<anneal>("anneal_deployment", "Anneals a deployment for a number of steps; the best one visited is kept."),
};

}  // namespace
}  // namespace edrp
