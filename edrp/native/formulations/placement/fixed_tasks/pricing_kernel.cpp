// Multipliers of the rows by the subgradient method, and patterns of small cost by labels, operator after operator along the tree
// of streams (formulations/placement/fixed_tasks/pricing_kernel.py).
//
// A label is a pattern that is decided up to some operator. Of two with the same tasks of all operators that still matter, one
// that costs and uses no more of anything makes the other superfluous. The tree says what a label costs at least in the end:
// labels that cannot come below a cutoff are left out, and where there are too many those with the least bound go on, and the
// least bound of the others limits what the search proves.
#include "edrp/native/formulations/placement/fixed_tasks/pricing_kernel.hpp"
#include "edrp/native/python.hpp"
#include "edrp/native/sorting.hpp"

namespace edrp {
namespace {

constexpr i64 MULTIPLIER_STEPS = 60;
constexpr i64 MAX_COMPARED_LABELS = 200;  // labels with the same tasks that one is compared with

struct PatternLabels {
    IntsOut2 patterns;
    FloatsOut2 used;
    FloatsOut costs, spent, bounds;
    IntsOut left, keys;
    FIELDS(patterns, used, costs, spent, bounds, left, keys)
};

struct PatternLabelSearch {
    PatternLabels now, then;
    IntsOut done;
    FloatsOut missed;
    FIELDS(now, then, done, missed)
};

// Labels that go on, and the least bound of those that do not.
struct Thinned {
    i64 count;
    double least_left_out;
};

bool fits(const Floats& used, const Floats& upper) {
    for (i64 r = 0; r < upper.size(); ++r)
        if (!(used[r] <= upper[r])) return false;
    return true;
}

// Whether two patterns that are decided up to operator i have the same tasks of all operators that still matter.
bool alike(const PatternRows& rows, const Ints& one, const Ints& two, i64 i) {
    for (i64 a = 0; a <= i; ++a)
        if (rows.tree.open(i, a) && one[a] != two[a]) return false;
    return true;
}

// Appends what becomes of a label with each number of tasks of operator i; returns how many there are then.
i64 extend(const PatternRows& rows, const TaskPrices& prices, const TreeCosts& costs, double cutoff, i64 i,
           const PatternLabels& now, i64 label, const PatternLabels& then, i64 made) {
    const i64 rooms = rows.arrays.demand.shape[1], left = now.left[label];
    const IntsOut pattern = now.patterns.row(label);
    for (i64 v = 0; v <= rows.most[i] && rows.taken(i, v) <= left; ++v) {
        pattern[i] = v;
        const double spent = now.spent[label] + own_cost(rows, costs, pattern, i);
        const double bound = spent + rest_cost(rows, costs, i, v, left);
        if (bound >= cutoff) continue;
        add_use(rows, pattern, i, now.used.row(label), then.used.row(made));
        if (!fits(then.used.row(made), rows.upper)) continue;
        double cost = now.costs[label] + prices.tasks[i] * double(v);
        for (i64 k = 0; k < prices.loads.size(); ++k)
            cost += prices.loads[k] * (then.used(made, rooms + k) - now.used(label, rooms + k));
        for (i64 a = 0; a <= i; ++a) then.patterns(made, a) = pattern[a];
        then.costs[made] = cost;
        then.spent[made] = spent;
        then.bounds[made] = bound;
        then.left[made] = left - rows.taken(i, v);
        made += 1;
    }
    return made;
}

void set_keys(const PatternRows& rows, const PatternLabels& labels, i64 count, i64 i) {
    for (i64 label = 0; label < count; ++label) {
        i64 key = 0;
        for (i64 a = 0; a <= i; ++a)
            if (rows.tree.open(i, a)) key = key * 1000003 + labels.patterns(label, a);
        labels.keys[label] = key;
    }
}

void copy_label(const PatternLabels& source, i64 p, const PatternLabels& target, i64 q) {
    copy(source.patterns.row(p), target.patterns.row(q));
    copy(source.used.row(p), target.used.row(q));
    target.costs[q] = source.costs[p];
    target.spent[q] = source.spent[p];
    target.bounds[q] = source.bounds[p];
    target.left[q] = source.left[p];
    target.keys[q] = source.keys[p];
}

// Whether a label costs and uses no less than one that is kept, and is open to the same.
bool is_no_better(const PatternRows& rows, const PatternLabels& labels, i64 p, const PatternLabels& kept, i64 q, i64 i) {
    if (!(kept.costs[q] <= labels.costs[p])) return false;
    for (i64 r = 0; r < rows.upper.size(); ++r)
        if (rows.counted(i, r) && !(kept.used(q, r) <= labels.used(p, r))) return false;
    return alike(rows, labels.patterns.row(p), kept.patterns.row(q), i);
}

// Keeps, in this order, labels that no other makes superfluous; returns how many.
i64 reduce(const PatternRows& rows, const PatternLabels& labels, const Ints& order, i64 i, const PatternLabels& kept) {
    i64 count = 0, first = 0;
    for (const i64 label : order) {
        if (count > 0 && kept.keys[count - 1] != labels.keys[label]) first = count;
        bool superfluous = false;
        for (i64 q = first; q < least(count, first + MAX_COMPARED_LABELS) && !superfluous; ++q)
            superfluous = is_no_better(rows, labels, label, kept, q, i);
        if (!superfluous) copy_label(labels, label, kept, count++);
    }
    return count;
}

// Keeps labels of the least bounds in their order.
Thinned thin(const PatternLabels& labels, i64 count, i64 width) {
    if (count <= width) return {count, inf};
    std::vector<double> bounds(labels.bounds.begin(), labels.bounds.begin() + count);
    const double cut = value_in_place({bounds.data(), {count}}, count, width);
    i64 ties = width, kept = 0;
    for (const double bound : bounds) ties -= bound < cut;
    for (i64 label = 0; label < count; ++label) {
        const double bound = labels.bounds[label];
        if (bound < cut || (bound == cut && ties > 0)) {
            ties -= bound == cut;
            if (kept < label) copy_label(labels, label, labels, kept);
            kept += 1;
        }
    }
    return {kept, cut};
}

// Keeps, of the labels that operator i makes, those that no other makes superfluous, by key and then by bound.
i64 keep_labels(const PatternRows& rows, const PatternLabels& then, i64 made, i64 i, const PatternLabels& now) {
    set_keys(rows, then, made, i);
    const Own<i64, 1> order(made), spare(made);
    for (i64 k = 0; k < made; ++k) order[k] = k;
    sort_by(then.bounds, order, spare);
    sort_by(then.keys, order, spare);
    return reduce(rows, then, order, i, now);
}

bool extend_labels(const PatternRows& rows, const TaskPrices& prices, const TreeCosts& costs, double constant, i64 width,
                   const PatternLabelSearch& search, i64 max_labels) {
    const i64 operators = rows.most.size();
    const PatternLabels &now = search.now, &then = search.then;
    i64 count = search.done[1], looked = 0;
    double missed = search.missed[0];
    const auto thinned = [&](const PatternLabels& labels, i64 number) {
        const Thinned left = thin(labels, number, width);
        missed = least(missed, constant + left.least_left_out);
        return left.count;
    };
    while (search.done[0] < operators && looked < max_labels) {
        const i64 i = search.done[0];
        i64 made = 0;
        for (i64 label = 0; label < count; ++label) {
            const IntsOut pattern = now.patterns.row(label);
            if (label == 0 || !alike(rows, pattern, now.patterns.row(label - 1), i - 1)) set_tails(rows, costs, pattern, i);
            if (made + rows.most[i] + 1 > then.costs.size()) made = thinned(then, made);
            made = extend(rows, prices, costs, missed - constant, i, now, label, then, made);
        }
        looked += made;
        search.done[0] = i + 1;
        search.done[2] = made;
        if (i == operators - 1) break;
        count = keep_labels(rows, then, made, i, now);
        if (count > width) count = thinned(now, count);
    }
    search.done[1] = count;
    search.missed[0] = missed;
    return search.done[0] == operators;
}

// A step of the subgradient method: raises the multipliers of rows that are exceeded, and lowers the others.
void step(const Floats& upper, const Floats& used, double length, const FloatsOut& multipliers) {
    double norm = 0.0;
    for (i64 r = 0; r < upper.size(); ++r) {
        if (std::isfinite(upper[r]) && upper[r] > 0 && (multipliers[r] > 0 || used[r] > upper[r])) {
            const double excess = used[r] / upper[r] - 1.0;
            norm += excess * excess;
        }
    }
    if (norm < 1e-16) return;
    for (i64 r = 0; r < upper.size(); ++r)
        if (std::isfinite(upper[r]) && upper[r] > 0)
            multipliers[r] = most(0.0, multipliers[r] + length / norm * (used[r] / upper[r] - 1.0) / upper[r]);
}

// `multipliers` are those to begin with, and then the best ones met. Returns the bound, and the cost of the multipliers alone.
std::tuple<double, double> set_multipliers(const PatternRows& rows, const TaskPrices& prices, const FloatsOut& multipliers,
                                           const TreeCosts& costs) {
    const i64 operators = rows.most.size();
    std::vector<double> best(multipliers.begin(), multipliers.end());
    const Own<i64, 1> pattern(operators);
    const Own<double, 2> used(operators + 1, rows.upper.size());
    double root = -inf;
    for (i64 turn = 0; turn < MULTIPLIER_STEPS; ++turn) {
        const double constant = set_costs(rows, prices, multipliers, costs), value = constant + fill_tree(rows, costs);
        if (value > root) {
            root = value;
            best.assign(multipliers.begin(), multipliers.end());
        }
        follow_tree(rows, costs, pattern);
        for (i64 i = 0; i < operators; ++i) add_use(rows, pattern, i, used.row(i), used.row(i + 1));
        step(rows.upper, used.row(operators), 0.3 * most(1e-9, std::fabs(root)) / (1.0 + 0.3 * double(turn)), multipliers);
    }
    copy(FloatsOut{best.data(), {multipliers.size()}}, multipliers);
    const double constant = set_costs(rows, prices, multipliers, costs);
    fill_tree(rows, costs);
    return {root, constant};
}

const Kernels here{
    kernel<extend_labels>("extend_pattern_labels",
                          "Decide operators until a number of labels were made; return whether none is left."),
    kernel<set_multipliers>("set_multipliers", "Set multipliers for a high bound on costs of patterns (subgradient method)."),
};

}  // namespace
}  // namespace edrp
