// Annealing over classes of equal nodes (heuristics/placement/quotient_annealing.py).
#include "edrp/native/python.hpp"
#include "edrp/native/random.hpp"
#include "edrp/native/tolerances.hpp"

namespace edrp {
namespace {

// Penalty for exceeding a limit or a capacity by 100 %, in units of the objective.
constexpr double CLASS_EXCESS_PENALTY = 10.0;

struct ClassArrays {
    Floats2 latency;
    Floats slowness;
    Floats2 delay;
    Bools2 allowed;
    Floats2 demand, capacity, room;
    Floats price;
    Ints source, target;
    Floats scalars;
    FIELDS(latency, slowness, delay, allowed, demand, capacity, room, price, source, target, scalars)
};

struct ClassState {
    IntsOut replicas, classes, block;
    FIELDS(replicas, classes, block)
};

// Memory for the evaluation of a placement.
struct ClassWork {
    Own<double, 1> finish;  // seconds at which each operator is done
    Own<double, 2> load;    // of the node of each block, (operators, resources)
    Own<double, 2> used;    // what surely runs on each set, (sets, resources)

    explicit ClassWork(const ClassArrays& t)
        : finish(t.price.size()), load(t.price.size(), t.demand.shape[1]), used(t.room.shape[0], t.demand.shape[1]) {}
};

i64 bits(i64 mask) { return (mask & 1) + (mask >> 1 & 1) + (mask >> 2 & 1); }

i64 class_number(i64 mask) { return mask == 4 ? 2 : mask >> 1; }

// Relative excess over the capacities of classes and of the nodes of blocks.
double class_excess(const ClassArrays& t, const ClassState& s, const ClassWork& work) {
    work.load.fill(0.0);
    work.used.fill(0.0);
    for (i64 i = 0; i < s.replicas.size(); ++i) {
        for (i64 m = 0; m < t.demand.shape[1]; ++m) {
            if (s.block[i] >= 0) work.load(s.block[i], m) += double(s.replicas[i]) * t.demand(i, m);
            for (i64 subset = 1; subset < t.room.shape[0]; ++subset) {
                const i64 inside = (s.classes[i] & ~subset) == 0 ? s.replicas[i] : bits(s.classes[i] & subset);
                work.used(subset, m) += double(inside) * t.demand(i, m);
            }
        }
    }
    double total = 0.0;
    for (i64 m = 0; m < t.demand.shape[1]; ++m) {
        for (i64 subset = 1; subset < t.room.shape[0]; ++subset) {
            if (work.used(subset, m) > t.room(subset, m) * (1 + LIMIT_SLACK))
                total += work.used(subset, m) / t.room(subset, m) - 1.0;
        }
        for (i64 i = 0; i < s.replicas.size(); ++i) {
            if (s.block[i] < 0) continue;
            const double load = work.load(s.block[i], m), capacity = t.capacity(class_number(s.classes[i]), m);
            if (load > capacity * (1 + LIMIT_SLACK)) total += load / capacity - 1.0;
        }
    }
    return total;
}

struct ClassEnergy {
    double value, excess;
};

// The objective with penalties, and the excess over limits and capacities.
ClassEnergy class_energy(const ClassArrays& t, const ClassState& s, const ClassWork& work) {
    double excess = class_excess(t, s, work), cost = 0.0, response = 0.0;
    for (i64 i = 0; i < s.replicas.size(); ++i) {
        work.finish[i] = 0.0;
        cost += double(s.replicas[i]) * t.price[i];
    }
    i64 stream = 0;
    for (i64 j = 0; j < s.replicas.size(); ++j) {
        for (; stream < t.target.size() && t.target[stream] == j; ++stream) {
            const i64 i = t.source[stream];
            const bool together = s.block[i] >= 0 && s.block[i] == s.block[j];
            work.finish[j] = most(work.finish[j], work.finish[i] + (together ? 0.0 : t.delay(s.classes[i], s.classes[j])));
        }
        work.finish[j] += t.latency(j, s.replicas[j]) * t.slowness[s.classes[j]];
        response = most(response, work.finish[j]);
    }
    excess += most(0.0, response / t.scalars[2] - 1.0 - LIMIT_SLACK) + most(0.0, cost / t.scalars[3] - 1.0 - LIMIT_SLACK);
    return {t.scalars[0] * response + t.scalars[1] * cost + CLASS_EXCESS_PENALTY * excess, excess};
}

// Adds or removes replicas, as far as that leaves the operator stable and at least one replica for each class.
void change_count(const ClassArrays& t, const ClassState& s, i64 i, i64 by) {
    const i64 count = s.replicas[i] + by;
    if (0 < count && count < t.latency.shape[1] && std::isfinite(t.latency(i, count)) && count >= bits(s.classes[i]))
        s.replicas[i] = count;
}

// A block number that no other operator uses.
i64 own_block(const ClassState& s, i64 i) {
    for (i64 number = 0; number < s.block.size(); ++number) {
        bool in_use = false;
        for (i64 j = 0; j < s.block.size(); ++j) in_use = in_use || (j != i && s.block[j] == number);
        if (!in_use) return number;
    }
    return -1;
}

// Gives operator i another set of classes, outside of blocks.
void change_place(const ClassArrays& t, const ClassState& s, const Random& random, i64 i) {
    const i64 classes = 1 + below(random, t.room.shape[0] - 1);
    if (t.allowed(i, classes) && s.replicas[i] >= bits(classes)) {
        s.classes[i] = classes;
        s.block[i] = -1;
    }
}

// Lets operator i join the block of j, which is created if there is none.
void join(const ClassArrays& t, const ClassState& s, i64 i, i64 j) {
    if (bits(s.classes[j]) != 1 || !t.allowed(i, s.classes[j])) return;
    if (s.block[j] < 0) s.block[j] = own_block(s, j);
    s.block[i] = s.block[j];
    s.classes[i] = s.classes[j];
}

// Applies a random change in place.
void change_classes(const ClassArrays& t, const ClassState& s, const Random& random) {
    const i64 i = below(random, s.replicas.size());
    const double kind = uniform(random);
    if (kind < 0.4) {
        change_count(t, s, i, 1 - 2 * below(random, 2));
    } else if (kind < 0.65) {
        change_count(t, s, i, 1);
        change_count(t, s, below(random, s.replicas.size()), -1);
    } else if (kind < 0.75 || t.source.size() == 0) {
        change_place(t, s, random, i);
    } else {
        const i64 stream = below(random, t.source.size());
        const bool forward = uniform(random) >= 0.5;
        const i64 one = forward ? t.source[stream] : t.target[stream], other = forward ? t.target[stream] : t.source[stream];
        if (s.block[one] >= 0 && s.block[one] == s.block[other]) {
            s.block[one] = -1;
        } else {
            join(t, s, one, other);
            if (uniform(random) < 0.3) change_count(t, s, one, -1 - below(random, 2));
        }
    }
}

void copy_placement(const ClassState& source, const ClassState& target) {
    copy(source.replicas, target.replicas);
    copy(source.classes, target.classes);
    copy(source.block, target.block);
}

// `values` are the temperature, the cooling per step, and the objective of the best placement.
void anneal_classes(const ClassArrays& t, const ClassState& state, const ClassState& accepted, const ClassState& best,
                    const Random& random, const FloatsOut& values, i64 steps) {
    const ClassWork work(t);
    double energy = inf;
    for (i64 step = 0; step <= steps; ++step) {  // the first one only evaluates
        if (step > 0) {
            values[0] *= values[1];
            change_classes(t, state, random);
        }
        const ClassEnergy next = class_energy(t, state, work);
        if (next.value <= energy || uniform(random) < std::exp((energy - next.value) / values[0])) {
            energy = next.value;
            copy_placement(state, accepted);
            if (next.excess <= 0.0 && next.value < values[2]) {
                values[2] = next.value;
                copy_placement(state, best);
            }
        } else {
            copy_placement(accepted, state);
        }
    }
}

const Kernels here{
    kernel<anneal_classes>("anneal_classes", "Anneals a placement over classes of equal nodes for a number of steps."),
};

}  // namespace
}  // namespace edrp
