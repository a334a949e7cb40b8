// The ant system (latency-aware placement, 4.3.2) over deployments with replicas: ants draw how many, then where
// (heuristics/placement/search/deployment_engine.py).
#include "edrp/native/heuristics/placement/deployment_memory.hpp"
#include "edrp/native/python.hpp"

namespace edrp {
namespace {

// Score of one violation (4.3.2) by the printed rule.
constexpr double PAPER_VIOLATION_PENALTY = 10000.0;

// Number of doublings of the prior next to neighbours; on random layered applications 3 or 4 are better than 1 as in eq. 3.
constexpr double NEAR_DOUBLINGS = 3.0;

struct Pheromone {
    FloatsOut2 node, size, new_node, new_size, node_pull, size_pull;
    Floats2 size_prior, distance;
    IntsOut order;
    double power, prior_power, deposit, minimum;
    bool restricted, shared;
    i64 overload_rule;
    FIELDS(node, size, new_node, new_size, node_pull, size_pull, size_prior, distance, order, power, prior_power, deposit,
           minimum, restricted, shared, overload_rule)
};

// The pheromone, and memory for ants.
struct Ants : Pheromone {
    Own<double, 1> chance;    // cumulated weights
    Own<double, 1> nearness;  // how near each node is to neighbours
    Own<i64, 1> total;        // replicas on each node

    explicit Ants(const Pheromone& given)
        : Pheromone(given), chance(most(node.shape[1], size.shape[1])), nearness(node.shape[1]), total(node.shape[1]) {}
};

// The nearness of each node to the placed neighbours of operator i: 1 on their node, 0 at the mean delay.
void average_nearness(const PlacementArrays& t, const ReplicaCounts& c, const Ants& f, i64 i) {
    f.nearness.fill(0.0);
    i64 count = 0;
    for (i64 k = t.adjacent_start[i]; k < t.adjacent_start[i + 1]; ++k) {
        const bool sends = t.source[t.adjacent[k]] == i;
        const i64 j = sends ? t.target[t.adjacent[k]] : t.source[t.adjacent[k]];
        for (i64 b = 0; b < c.number[j]; ++b) {
            const i64 v = c.hosts(j, b);
            count += c.replicas(j, v);
            for (i64 u = 0; u < f.nearness.size(); ++u)
                f.nearness[u] += double(c.replicas(j, v)) * (1.0 - (sends ? f.distance(u, v) : f.distance(v, u)));
        }
    }
    if (count == 0) return;
    for (double& nearness : f.nearness) nearness /= double(count);
}

// Writes the cumulated numerators of eq. 2 for a replica of operator i to `chance`; returns their sum.
double weigh(const PlacementArrays& t, const ReplicaCounts& c, const Ants& f, i64 i, bool only_fitting) {
    double total = 0.0;
    const i64 start = t.candidate_start[i];
    for (i64 k = start; k < t.candidate_start[i + 1]; ++k) {
        const i64 u = t.candidate_list[k];
        if (!only_fitting || room(t.demand, t.capacity, c.used, i, u, 1, LIMIT_SLACK) > 0) {
            double doublings = NEAR_DOUBLINGS * f.nearness[u] + (f.shared && f.total[u] > 0 ? 1.0 : 0.0);
            for (i64 m = 0; m < t.demand.shape[1]; ++m)
                doublings -= c.used(u, m) + t.demand(i, m) > t.capacity(u, m) * (1 + LIMIT_SLACK) ? 1.0 : 0.0;
            total += f.node_pull(i, u) * std::exp2(f.prior_power * doublings);
        }
        f.chance[k - start] = total;
    }
    return total;
}

// Draws an index of `chance` by its weight.
i64 draw(const Ants& f, const Random& random, double total, i64 count) {
    const double drawn = uniform(random) * total;
    i64 k = 0;
    while (k < count - 1 && f.chance[k] <= drawn) ++k;
    return k;
}

i64 draw_size(const PlacementArrays& t, const Ants& f, const Random& random, i64 i) {
    double total = 0.0;
    for (i64 r = 0; r < t.latency.shape[1]; ++r) f.chance[r] = total += f.size_pull(i, r);
    return draw(f, random, total, t.latency.shape[1]);
}

// One ant constructs a deployment: operators in random order, a number of replicas and their nodes drawn by eq. 2.
void construct(const PlacementArrays& t, const ReplicaCounts& c, const Ants& f, const Random& random) {
    for (i64 i = 0; i < c.degree.size(); ++i) {
        for (i64 a = c.number[i] - 1; a >= 0; --a) {
            const i64 u = c.hosts(i, a);
            shift(t, c, i, u, -1, c.replicas(i, u));
        }
    }
    f.total.fill(0);
    c.used.fill(0.0);
    for (i64 k = 0; k < f.order.size(); ++k) {
        const i64 other = k + below(random, f.order.size() - k), i = f.order[other];
        f.order[other] = f.order[k];
        f.order[k] = i;
        const i64 replicas = draw_size(t, f, random, i), start = t.candidate_start[i];
        average_nearness(t, c, f, i);
        for (i64 replica = 0; replica < replicas; ++replica) {
            double total = f.restricted ? weigh(t, c, f, i, true) : 0.0;  // among nodes that still fit, then among all
            if (total == 0) total = weigh(t, c, f, i, false);
            const i64 u = t.candidate_list[start + draw(f, random, total, t.candidate_start[i + 1] - start)];
            shift(t, c, i, -1, u, 1);
            f.total[u] += 1;
        }
    }
}

// The pheromone of one deployment (eq. 5), `times` times.
void deposit(const Pheromone& f, const Ints2& counts, const Floats& value, double times) {
    const double penalty = f.overload_rule > 0 ? BREACH_PENALTY : PAPER_VIOLATION_PENALTY;
    const double score = value[OBJECTIVE] + penalty * value[VIOLATIONS] + EXCESS_PENALTY * value[OVERLOAD];
    const double amount = times * f.deposit / most(score, MIN_ANT_SCORE);
    for (i64 i = 0; i < counts.shape[0]; ++i) {
        i64 replicas = 0;
        for (i64 u = 0; u < counts.shape[1]; ++u) {
            replicas += counts(i, u);
            f.new_node(i, u) += amount * double(counts(i, u));
        }
        f.new_size(i, replicas) += amount;
    }
}

// Lets pheromone evaporate, and adds the deposits (eq. 4).
void evaporate(const FloatsOut2& trail, const FloatsOut2& fresh, double persistence, double minimum) {
    for (i64 k = 0; k < trail.size(); ++k) trail.data[k] = most(persistence * trail.data[k] + fresh.data[k], minimum);
    fresh.fill(0.0);
}

// Ends an iteration: evaporates, adds the deposits, and computes the products that the next ants use.
void update(const Pheromone& f, double persistence) {
    evaporate(f.node, f.new_node, persistence, f.minimum);
    evaporate(f.size, f.new_size, persistence, f.minimum);
    for (i64 k = 0; k < f.node.size(); ++k) f.node_pull.data[k] = std::pow(f.node.data[k], f.power);
    for (i64 k = 0; k < f.size.size(); ++k) f.size_pull.data[k] = f.size_prior.data[k] * std::pow(f.size.data[k], f.power);
}

void run_ants(const DeploymentSearch& search, const Pheromone& pheromone, i64 ants) {
    const Ants f(pheromone);
    for (i64 ant = 0; ant < ants; ++ant) {
        construct(search.arrays, search.now.counts, f, search.random);
        adopt(search.arrays, search.now, search.memory, f.overload_rule);
        deposit(f, search.now.counts.replicas, search.memory.value, 1.0);
    }
}

const Kernels here{
    kernel<run_ants>("run_deployment_ants", "Ants construct deployments and deposit pheromone (latency-aware placement, 4.3.2)."),
    kernel<deposit>("deposit_deployment", "Deposits the pheromone of one deployment (latency-aware placement, eq. 5)."),
    kernel<update>("update_deployment_pheromone", "Ends an iteration of ants (latency-aware placement, eqs. 2 and 4)."),
};

}  // namespace
}  // namespace edrp
