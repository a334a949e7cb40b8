// Target numbers of instances on the present hosts, where some operators are sacrificed to what the hosts do not bear.
#include "edrp/native/python.hpp"
#include "edrp/native/tolerances.hpp"

namespace edrp {
namespace {

struct OperatorFlow {
    Floats outside;
    Floats2 step;
    Floats draining, occupied;
    Ints order;
    Floats2 need;
    Floats min_instances, max_instances;
    double utilisation;
    FIELDS(outside, step, draining, occupied, order, need, min_instances, max_instances, utilisation)
};

// The flow with its streams by source: where those of each operator begin, (operators + 1,); the operator that each leads to, and
// the items that this gets for every item of the source.
struct StreamFlow : OperatorFlow {
    Ints first, target;
    Floats factor;
};

// Load expected beyond a multiple of it.
double load_beyond(const Floats& levels, const Floats& beyond, double multiple) {
    const double threshold = multiple * (1 + 1e-9);
    i64 low = 0, high = levels.size();
    while (low < high) {
        const i64 middle = (low + high) / 2;
        if (levels[middle] < threshold)
            low = middle + 1;
        else
            high = middle;
    }
    return beyond[low];
}

// The largest relative excess of the needs over the room, over all resources.
double excess(const Floats& counts, const Floats2& need, const Floats& room) {
    double worst = -1.0;
    for (i64 r = 0; r < need.shape[1]; ++r) {
        double needed = 0.0;
        for (i64 x = 0; x < counts.size(); ++x) needed += counts[x] * need(x, r);
        worst = most(worst, needed / most(room[r], 1e-12) - 1.0);
    }
    return worst;
}

// Instances for a multiple of the load; sacrificed operators send on no more than the instances that they keep serve.
void size_operators(const StreamFlow& load, double multiple, const std::vector<char>& sacrificed, const Floats& kept,
                    const FloatsOut& counts, const FloatsOut& inflow) {
    for (i64 x = 0; x < inflow.size(); ++x) inflow[x] = load.outside[x] * multiple;
    for (i64 x : load.order) {
        double sent = inflow[x] + load.draining[x];
        if (sacrificed[x]) {
            counts[x] = kept[x];
            sent = least(sent, kept[x] / load.occupied[x]);
        } else {
            const double needed = std::ceil(sent * load.occupied[x] / load.utilisation - WHOLE_NUMBER_SLACK);
            counts[x] = least(load.max_instances[x], most(load.min_instances[x], needed));
        }
        for (i64 edge = load.first[x]; edge < load.first[x + 1]; ++edge) inflow[load.target[edge]] += sent * load.factor[edge];
    }
}

// Chooses operators to sacrifice until the others bear a multiple of the load; returns their number, -1 where nothing helps.
// Their indices are written to `lost`, the instances that they keep to `kept`, and all instances to `counts`.
i64 sacrifice(const StreamFlow& load, const Floats& room, double multiple, const Floats& rates, std::vector<i64>& lost,
              const FloatsOut& kept, const FloatsOut& counts) {
    const Floats &occupied = load.occupied, &max_instances = load.max_instances;
    const i64 operators = occupied.size();
    std::vector<char> sacrificed(std::size_t(operators), false);
    const Own<double, 1> inflow(operators);
    const auto size_all = [&] { size_operators(load, multiple, sacrificed, kept, counts, inflow); };
    copy(load.min_instances, kept);
    i64 number = 0;
    size_all();
    double over = excess(counts, load.need, room);
    while (over > 1e-9) {
        i64 pick = -1;
        double pick_value = 0.0;
        for (i64 x = 0; x < operators; ++x) {
            if (sacrificed[x]) continue;
            sacrificed[x] = true;
            size_all();
            sacrificed[x] = false;
            const double value = (over - most(excess(counts, load.need, room), 0.0)) / most(rates[x], 1e-12);
            if (value > pick_value + 1e-12) pick = x, pick_value = value;
        }
        if (pick < 0) return -1;
        sacrificed[pick] = true;
        lost[number++] = pick;
        size_all();
        over = excess(counts, load.need, room);
    }
    for (i64 index = number - 1; index >= 0; --index) {
        const i64 x = lost[index];
        while (kept[x] < max_instances[x] && kept[x] * load.utilisation < multiple * rates[x] * occupied[x]) {
            kept[x] += 1.0;
            size_all();
            if (excess(counts, load.need, room) > 1e-9) {
                kept[x] -= 1.0;
                break;
            }
        }
    }
    size_all();
    return number;
}

// For each multiple of `ladder`: `levels` and `beyond` are the multiples that may come, and the load expected from each on.
std::vector<double> instance_targets(const OperatorFlow& flow, const Ints& first, const Ints& target, const Floats& factor,
                                     const Floats& room, const Floats& ladder, const Floats& levels, const Floats& beyond) {
    const StreamFlow load{flow, first, target, factor};
    const std::size_t operators = std::size_t(load.occupied.size());
    std::vector<double> best(load.min_instances.begin(), load.min_instances.end());
    const Own<double, 1> counts(operators), rates(operators), kept(operators);
    std::vector<i64> lost(operators, 0);
    double best_now = inf, best_cost = inf, total = 0.0;
    size_operators(load, 1.0, std::vector<char>(operators, false), load.min_instances, counts, rates);
    for (double rate : rates) total += rate;
    for (double multiple : ladder) {
        const i64 number = sacrifice(load, room, multiple, rates, lost, kept, counts);
        if (number < 0) continue;
        const double after = load_beyond(levels, beyond, multiple);
        double late_now = 0.0, cost = total * after;
        for (i64 index = 0; index < number; ++index) {
            const i64 x = lost[index];
            const double bears = kept[x] * load.utilisation / most(rates[x] * load.occupied[x], 1e-12);
            if (bears < 1.0) late_now += rates[x] * (2.0 - bears);  // late now; the less it serves, the longer
            cost += rates[x] * most(0.0, load_beyond(levels, beyond, least(bears, multiple)) - after);
        }
        if (late_now < best_now - 1e-9 || (late_now < best_now + 1e-9 && cost < best_cost - 1e-6 * total)) {
            best_now = late_now;
            best_cost = cost;
            best.assign(counts.begin(), counts.end());
        }
    }
    return best;
}

const Kernels here{
    kernel<instance_targets>("instance_targets", "Computes the instances of each operator with which the fewest items are late."),
};

}  // namespace
}  // namespace edrp
