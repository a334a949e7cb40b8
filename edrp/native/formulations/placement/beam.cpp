// Label search: labels are extended by configurations, gathered, and those that others dominate are marked
// (edrp/formulations/placement/elimination/beam.py).
//
// A label is a choice of configurations for the first operators, with its exact arrival times and costs. What it takes of the
// nodes follows from its configurations; it is counted where a label is looked at, not kept with it.
#include <algorithm>

#include "edrp/native/python.hpp"
#include "edrp/native/tolerances.hpp"

namespace edrp {
namespace {

using Ints32Rows = Array<const std::int32_t, 2>;
using Keys = Array<const std::uint64_t, 1>;
using KeysOut = Array<std::uint64_t, 1>;

constexpr i64 FIXED = 0, MONEY = 1, USAGE = 2, RENT = 3, DOWNTIME = 4, SINK = 5, SINK_FLOW = 6;

struct BeamLabels {
    Array<std::int32_t, 2> chosen;
    FloatsOut3 finish;
    FloatsOut2 rules, sums;
    FIELDS(chosen, finish, rules, sums)
};

struct Configurations {
    Ints start;
    Ints32Rows members;
    Ints degree;
    Floats latency, fixed, cost, rent, downtime;
    Floats2 tail;
    Ints32Rows places;
    Ints anchor, anchor_member;
    FIELDS(start, members, degree, latency, fixed, cost, rent, downtime, tail, places, anchor, anchor_member)
};

struct RuleStage {
    Floats2 added;
    Ints row, group;
    Floats lower, upper, penalty;
    Ints first, join;
    Floats coefficient;
    FIELDS(added, row, group, lower, upper, penalty, first, join, coefficient)
};

struct OperatorStage {
    i64 placed;
    Configurations own;
    Ints tail_source;
    Floats tail_rate;
    Ints open_operator;
    Floats2 open_flow;
    Floats own_flow;
    bool is_sink;
    Ints remembered, stride;
    i64 own_stride;
    Floats2 tables;
    double rest_fixed, rest_cost;
    Floats demand;
    Floats2 capacity;
    Ints nodes;
    Floats limits;
    double alpha, money_price, response, weight_downtime, least_downtime;
    Ints early_operator, early_start;
    Floats2 early, own_early;
    bool goes_on;
    Floats constants;
    double price_cost, price_usage;
    RuleStage rules;
    FIELDS(placed, own, tail_source, tail_rate, open_operator, open_flow, own_flow, is_sink, remembered, stride, own_stride,
           tables, rest_fixed, rest_cost, demand, capacity, nodes, limits, alpha, money_price, response, weight_downtime,
           least_downtime, early_operator, early_start, early, own_early, goes_on, constants, price_cost, price_usage, rules)
};

struct AllConfigurations {
    Configurations choices;
    Floats2 delay, price, demand;
    FIELDS(choices, delay, price, demand)

    // Configuration that a label has chosen for operator i.
    i64 of(const BeamLabels& labels, i64 row, i64 i) const { return choices.start[i] + labels.chosen(row, i); }
};

struct Extensions {
    IntsOut parent, choice;
    FloatsOut bounds;
    FIELDS(parent, choice, bounds)
};

// Memory of the search.
struct Scratch {
    Own<double, 1> ready, pay, use;  // per node: when all streams have arrived, and what they cost and occupy
    Own<double, 2> taken;            // what a label takes, (nodes, resources)
    Own<double, 1> flowing;          // cost that open streams bring with them, by flow
    Own<double, 1> added;            // of an extension: last finish, money and usage
    Own<double, 1> late;             // when tuples have passed the replicas of a configuration, as in `BeamLabels.finish`

    Scratch(const OperatorStage& stage, const BeamLabels& labels)
        : ready(stage.capacity.shape[0]),
          pay(stage.capacity.shape[0]),
          use(stage.capacity.shape[0]),
          taken(stage.capacity.shape[0], stage.capacity.shape[1]),
          flowing(stage.constants.size()),
          added(3),
          late(labels.finish.shape[2]) {}
};

struct Comparison {
    i64 operators;
    Ints frontier, pending, nodes;
    Floats2 free;
    FIELDS(operators, frontier, pending, nodes, free)
};

// Labels that each label is compared with: marking fewer is slower later, never wrong.
constexpr i64 MAX_COMPARED = 100;

// Arrivals of a configuration of `degree` replicas: one for each, or one for all.
inline i64 arrival_count(const BeamLabels& labels, i64 degree) { return labels.finish.shape[2] > 1 ? degree : 1; }

// Arrival time of all streams, traffic cost and traffic load of each node.
inline void fill_arrivals(const OperatorStage& stage, const AllConfigurations& all, const BeamLabels& labels, i64 row,
                          const Scratch& scratch) {
    const i64 each = labels.finish.shape[2] > 1 ? 1 : 0;  // whether each member has an arrival of its own
    for (const i64 v : stage.nodes) {
        double latest = 0.0, money = 0.0, usage = 0.0;
        for (i64 k = 0; k < stage.tail_source.size(); ++k) {
            const i64 i = stage.tail_source[k], c = all.of(labels, row, i), degree = all.choices.degree[c];
            double price = 0.0, delay = 0.0;
            for (i64 p = 0; p < degree; ++p) {
                const i64 u = all.choices.members(c, p);
                latest = most(latest, labels.finish(row, i, p * each) + all.delay(u, v));
                price += all.price(u, v);
                delay += all.delay(u, v);
            }
            const double share = stage.tail_rate[k] / double(degree);
            money += share * price;
            usage += share * delay;
        }
        scratch.ready[v] = latest;
        scratch.pay[v] = money;
        scratch.use[v] = usage;
    }
}

// What the first `operators` of a label take of each node, shape (nodes, resources), into `taken`.
inline void count_taken(const AllConfigurations& all, const BeamLabels& labels, i64 row, i64 operators, const FloatsOut2& taken) {
    taken.fill(0.0);
    for (i64 i = 0; i < operators; ++i) {
        const i64 c = all.of(labels, row, i), degree = all.choices.degree[c];
        for (i64 p = 0; p < degree; ++p) {
            const i64 u = all.choices.members(c, p);
            for (i64 m = 0; m < taken.shape[1]; ++m) taken(u, m) += all.demand(i, m);
        }
    }
}

inline bool has_room(const OperatorStage& stage, const Floats2& taken, i64 c) {
    i64 run = 0;
    const Ints32 members = stage.own.members.row(c);
    const i64 degree = stage.own.degree[c];
    for (i64 p = 0; p < degree; ++p) {
        const i64 u = members[p];
        run = p > 0 && members[p - 1] == u ? run + 1 : 1;
        for (i64 m = 0; m < stage.demand.size(); ++m)
            if (taken(u, m) + double(run) * stage.demand[m] > stage.capacity(u, m) * (1 + LIMIT_SLACK)) return false;
    }
    return true;
}

// Penalty of rules whose last operator this is; infinite where a rule that must be met no longer can be.
inline double rule_price(const RuleStage& rules, const BeamLabels& labels, i64 row, i64 c) {
    double total = 0.0, worst = 0.0;
    i64 group = -1;
    for (i64 k = 0; k < rules.row.size(); ++k) {
        double value = labels.rules(row, rules.row[k]) + rules.added(c, rules.row[k]);
        for (i64 a = rules.first[k]; a < rules.first[k + 1]; ++a)
            if (labels.rules(row, rules.join[a]) + rules.added(c, rules.join[a]) > 0.0) value += rules.coefficient[a];
        const double outside = most(rules.lower[k] - value, value - rules.upper[k]);
        if (rules.group[k] != group) {
            worst = 0.0;
            group = rules.group[k];
        }
        if (outside > worst) {
            total += rules.penalty[k] * (outside - worst);
            worst = outside;
        }
    }
    return total;
}

// The largest over the flows of the cost of what has passed the operator and of what is still to come, `common` to all costs
// included, or the first that is above `cutoff`; at least `best`.
//
// Under a flow it is the largest over the configuration's replicas, each of which is a valid representative; what ends here, or
// goes on at no cost in the bound, ends at the last.
inline double flow_bound(const OperatorStage& stage, i64 base, i64 c, const Scratch& scratch, double common, double best,
                         double cutoff) {
    const i64 flows = scratch.flowing.size(), states = stage.tables.shape[1], candidates = stage.own_early.shape[1];
    const i64 degree = stage.own.degree[c], stride = stage.own_stride;
    const FloatsOut flowing = scratch.flowing, late = scratch.late;
    const bool goes_on = stage.goes_on, at_once = stage.is_sink || late.size() == 1;
    const double alpha = stage.alpha, last = scratch.added[0];
    const Ints32 places = stage.own.places.row(c);
    const double *table = stage.tables.data + base, *early = stage.own_early.data;
    for (i64 k = 0; k < flows; ++k, table += states, early += candidates) {
        const double pace = alpha * stage.own_flow[k];
        double onward = goes_on ? -inf : pace * last + table[0];
        for (i64 p = 0; goes_on && p < degree; ++p) {
            const i64 candidate = places[p];
            if (candidate >= 0)
                onward = most(onward, pace * (at_once ? last : late[p]) + (table[candidate * stride] + early[candidate]));
        }
        best = most(best, common + stage.constants[k] + flowing[k] + onward);
        if (best > cutoff) break;
    }
    return best;
}

// Last finish, money and usage that configuration c adds, into `scratch.added`, and finish times into `scratch.late`.
inline void extend(const OperatorStage& stage, i64 c, const Scratch& scratch) {
    double latest = 0.0, money = 0.0, usage = 0.0;
    const i64 degree = stage.own.degree[c], arrivals = scratch.late.size();
    const double latency = stage.own.latency[c];
    const Ints32 members = stage.own.members.row(c);
    const FloatsOut ready = scratch.ready, pay = scratch.pay, use = scratch.use, late = scratch.late, added = scratch.added;
    for (i64 p = 0; p < degree; ++p) {
        const i64 v = members[p];
        latest = most(latest, ready[v]);
        money += pay[v];
        usage += use[v];
        if (p < arrivals) late[p] = ready[v] + latency;
    }
    added[0] = latest + latency;
    if (arrivals == 1) late[0] = added[0];
    added[1] = money / double(degree);
    added[2] = usage / double(degree);
}

// Lower bound on every completion: averaged over each flow, and by the slowest path; infinite if a limit breaks.
inline double lower_bound(const OperatorStage& stage, const BeamLabels& labels, i64 row, i64 c, const Scratch& scratch, i64 base,
                          double latest, double cutoff) {
    const FloatsOut sums = labels.sums.row(row), added = scratch.added;
    const double money = sums[MONEY] + added[1] + stage.own.cost[c], usage = sums[USAGE] + added[2];
    double slowest = latest;
    for (i64 p = 0; p < arrival_count(labels, stage.own.degree[c]); ++p)
        slowest = most(slowest, scratch.late[p] + stage.own.tail(c, p));
    if (slowest > stage.limits[0] * (1 + LIMIT_SLACK) || money + stage.rest_cost > stage.limits[1] * (1 + LIMIT_SLACK) ||
        usage > stage.limits[2] * (1 + LIMIT_SLACK))
        return inf;
    double fixed = sums[FIXED] + stage.own.fixed[c] + stage.price_cost * added[1] + stage.price_usage * added[2];
    fixed += rule_price(stage.rules, labels, row, c);
    const double late = most(most(sums[DOWNTIME], stage.own.downtime[c]), stage.least_downtime);
    const double simple = fixed + stage.rest_fixed + stage.response * slowest + stage.weight_downtime * late;
    if (simple > cutoff) return simple;
    double common = fixed + (stage.money_price - stage.price_cost) * money + sums[RENT] + stage.own.rent[c];
    common += stage.weight_downtime * (late - stage.least_downtime);
    return flow_bound(stage, base, c, scratch, common, simple, cutoff);
}

// Extends the labels from `row` up to `last` by every configuration whose bound is at most `cutoff`.
//
// Writes to `extensions` from `filled` on; returns how far they are filled and the next label, which is below `last` when there
// was no room for another label's extensions.
std::tuple<i64, i64> expand_labels(const OperatorStage& stage, const AllConfigurations& all, const BeamLabels& labels, i64 row,
                                   i64 last, double cutoff, const Extensions& extensions, i64 filled) {
    const Scratch scratch(stage, labels);
    const FloatsOut flowing = scratch.flowing;
    const i64 choices = stage.own.degree.size();
    for (; row < last && filled + choices <= extensions.parent.size(); ++row) {
        fill_arrivals(stage, all, labels, row, scratch);
        count_taken(all, labels, row, stage.placed, scratch.taken);
        i64 base = 0;
        for (i64 k = 0; k < stage.remembered.size(); ++k)
            base += all.choices.anchor[all.of(labels, row, stage.remembered[k])] * stage.stride[k];
        double latest = labels.sums(row, SINK);
        for (i64 f = 0; f < flowing.size(); ++f) flowing[f] = labels.sums(row, SINK_FLOW + f);
        for (i64 k = 0; k < stage.open_operator.size(); ++k) {
            const i64 i = stage.open_operator[k], chosen = all.of(labels, row, i);
            for (i64 p = 0; p < arrival_count(labels, all.choices.degree[chosen]); ++p)
                latest = most(latest, labels.finish(row, i, p) + all.choices.tail(chosen, p));
            for (i64 f = 0; f < flowing.size(); ++f)
                flowing[f] += stage.open_flow(f, k) * labels.finish(row, i, all.choices.anchor_member[chosen]);
        }
        for (i64 f = 0; f < flowing.size(); ++f) {
            flowing[f] *= stage.alpha;
            for (i64 k = 0; k < stage.early_operator.size(); ++k) {
                const i64 candidate = all.choices.anchor[all.of(labels, row, stage.early_operator[k])];
                flowing[f] += stage.early(f, stage.early_start[k] + candidate);
            }
        }
        for (i64 c = 0; c < choices; ++c) {
            extend(stage, c, scratch);
            const double bound = lower_bound(stage, labels, row, c, scratch, base, latest, cutoff);
            if (bound <= cutoff && has_room(stage, scratch.taken, c)) {
                extensions.parent[filled] = row;
                extensions.choice[filled] = c;
                extensions.bounds[filled] = bound;
                filled += 1;
            }
        }
    }
    return {filled, row};
}

// Writes the extended labels (sorted by parent) to `target`.
void gather_labels(const OperatorStage& stage, const AllConfigurations& all, const BeamLabels& labels,
                   const Extensions& extensions, const BeamLabels& target) {
    const Scratch scratch(stage, labels);
    const FloatsOut added = scratch.added;
    for (i64 k = 0; k < extensions.parent.size(); ++k) {
        const i64 row = extensions.parent[k], c = extensions.choice[k];
        if (k == 0 || extensions.parent[k - 1] != row) fill_arrivals(stage, all, labels, row, scratch);
        std::copy_n(labels.chosen.row(row).data, stage.placed, target.chosen.row(k).data);
        std::copy_n(labels.finish.row(row).data, stage.placed * labels.finish.shape[2], target.finish.row(k).data);
        for (i64 a = 0; a < stage.rules.added.shape[1]; ++a) target.rules(k, a) = labels.rules(row, a) + stage.rules.added(c, a);
        const FloatsOut sums = target.sums.row(k);
        copy(labels.sums.row(row), sums);
        extend(stage, c, scratch);
        target.chosen(k, stage.placed) = std::int32_t(c);
        for (i64 p = 0; p < arrival_count(labels, stage.own.degree[c]); ++p) target.finish(k, stage.placed, p) = scratch.late[p];
        sums[FIXED] += stage.own.fixed[c] + stage.price_cost * added[1] + stage.price_usage * added[2];
        sums[FIXED] += rule_price(stage.rules, labels, row, c);
        sums[MONEY] += stage.own.cost[c] + added[1];
        sums[USAGE] += added[2];
        sums[RENT] += stage.own.rent[c];
        sums[DOWNTIME] = most(sums[DOWNTIME], stage.own.downtime[c]);
        if (stage.is_sink) {
            sums[SINK] = most(sums[SINK], added[0]);
            for (i64 f = 0; f < stage.own_flow.size(); ++f) sums[SINK_FLOW + f] += stage.own_flow[f] * added[0];
        }
    }
}

// One number per label from its frontier configurations and its sums of rules that still matter (FNV-1a).
void hash_labels(const BeamLabels& labels, const Comparison& comparison, const KeysOut& keys) {
    for (i64 row = 0; row < keys.size(); ++row) {
        std::uint64_t key = 1469598103934665603u;
        for (const i64 i : comparison.frontier) key = (key ^ std::uint64_t(i64(labels.chosen(row, i)) + 1)) * 1099511628211u;
        for (const i64 a : comparison.pending)
            key = (key ^ std::uint64_t(i64(labels.rules(row, a) * 1e6 + 0.5))) * 1099511628211u;
        keys[row] = key;
    }
}

// Whether label a, whose use stands at `slot`, is nowhere worse than label b, whose use stands at `own`.
inline bool dominates(const BeamLabels& labels, const Comparison& comparison, const FloatsOut3& uses, i64 a, i64 b, i64 slot,
                      i64 own) {
    const FloatsOut sums = labels.sums.row(a), others = labels.sums.row(b);
    for (const i64 k : {FIXED, MONEY, USAGE, DOWNTIME, SINK})
        if (sums[k] > others[k]) return false;
    for (const i64 i : comparison.frontier) {
        if (labels.chosen(a, i) != labels.chosen(b, i)) return false;
        for (i64 p = 0; p < labels.finish.shape[2]; ++p)
            if (labels.finish(a, i, p) > labels.finish(b, i, p)) return false;
    }
    const double *mine = uses.row(slot).data, *other = uses.row(own).data, *free = comparison.free.data;
    for (i64 k = 0, cells = comparison.free.size(); k < cells; ++k)
        if (mine[k] > other[k] * (1 + EQUAL_AMOUNTS) && mine[k] > free[k]) return false;
    for (const i64 k : comparison.pending) {
        const double sum = labels.rules(a, k), than = labels.rules(b, k);
        if (std::fabs(sum - than) > EQUAL_AMOUNTS * std::fabs(than)) return false;
    }
    return true;
}

// Marks labels that another of equal key is nowhere worse than; `order` sorts by key, then objective.
//
// Each is compared with the last that were not dominated, where the operators with open streams have the same configurations. The
// better one must leave later operators as much room: it takes no more of a node, or so little that whatever they may need still
// fits.
void mark_dominated(const AllConfigurations& all, const BeamLabels& labels, const Ints& order, const Keys& keys,
                    const Comparison& comparison, const BoolsOut& dominated) {
    const Own<double, 2> taken(all.delay.shape[0], all.demand.shape[1]);
    const Own<i64, 1> recent(MAX_COMPARED);  // labels that others are compared with, and what they take of `comparison.nodes`
    const Own<double, 3> recent_taken(MAX_COMPARED, comparison.free.shape[0], comparison.free.shape[1]);
    i64 begin = 0, count = 0;
    for (i64 k = 0; k < order.size(); ++k) {
        const i64 row = order[k];
        if (keys[row] != keys[order[begin]]) {
            begin = k;
            count = 0;
        }
        count_taken(all, labels, row, comparison.operators, taken);
        const i64 own = count % MAX_COMPARED;
        for (i64 a = 0; a < comparison.nodes.size(); ++a)
            for (i64 m = 0; m < comparison.free.shape[1]; ++m) recent_taken(own, a, m) = taken(comparison.nodes[a], m);
        for (i64 slot = 0; slot < least(count, MAX_COMPARED) && !dominated[row]; ++slot)
            dominated[row] = slot != own && dominates(labels, comparison, recent_taken, recent[slot], row, slot, own);
        if (!dominated[row]) {
            recent[own] = row;
            count += 1;
        }
    }
}

const Kernels here{
    kernel<expand_labels>("expand_labels", "Extend labels by every configuration whose bound is within a cutoff."),
    kernel<gather_labels>("gather_labels", "Write extended labels."),
    kernel<hash_labels>("hash_labels", "One number per label, equal where labels can dominate one another."),
    kernel<mark_dominated>("mark_dominated_labels", "Mark labels that another one is nowhere worse than."),
};

}  // namespace
}  // namespace edrp
