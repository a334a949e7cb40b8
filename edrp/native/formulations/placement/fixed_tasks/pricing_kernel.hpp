// What patterns cost at least, by dynamic programming along the tree of streams: one row, that of slots or another that is
// scarce, is counted in whole units; all others have multipliers (formulations/placement/fixed_tasks/pricing_kernel.py).
#pragma once
#include "edrp/native/placement/fixed_tasks.hpp"

namespace edrp {

struct OperatorTree {
    Ints parent, link, end;
    Ints2 closing;
    Bools2 open;
    FIELDS(parent, link, end, closing, open)
};

struct PatternRows {
    LoadArrays arrays;
    OperatorTree tree;
    Ints most;
    Floats upper;
    Bools2 counted;
    Ints2 taken;
    i64 units;
    FIELDS(arrays, tree, most, upper, counted, taken, units)
};

struct TaskPrices {
    Floats tasks, loads;
    FIELDS(tasks, loads)
};

struct TreeCosts {
    FloatsOut single, joint;
    FloatsOut3 under, after;
    FloatsOut2 tails;
    FIELDS(single, joint, under, after, tails)
};

// Sets the cost of a task of each operator and of each stream with multipliers; returns the cost of the multipliers alone.
inline double set_costs(const PatternRows& rows, const TaskPrices& prices, const Floats& multipliers, const TreeCosts& costs) {
    const LoadArrays& arrays = rows.arrays;
    const i64 rooms = arrays.demand.shape[1], shared = prices.loads.size();
    for (i64 i = 0; i < costs.single.size(); ++i) {
        double cost = prices.tasks[i];
        for (i64 m = 0; m < rooms; ++m) cost += multipliers[m] * arrays.demand(i, m);
        for (i64 k = 0; k < shared; ++k) cost += (prices.loads[k] + multipliers[rooms + k]) * arrays.use(i, k);
        costs.single[i] = cost;
    }
    for (i64 e = 0; e < costs.joint.size(); ++e) {
        double cost = 0.0;
        for (i64 k = 0; k < shared; ++k) cost += (prices.loads[k] + multipliers[rooms + k]) * arrays.sent(e, k);
        costs.joint[e] = cost;
    }
    double constant = 0.0;
    for (i64 r = 0; r < multipliers.size(); ++r)
        if (multipliers[r] > 0) constant -= multipliers[r] * rows.upper[r];
    return constant;
}

// Cost of the stream between operator i with v tasks and its parent with x; 0 for roots.
inline double parent_cost(const PatternRows& rows, const TreeCosts& costs, i64 x, i64 i, i64 v) {
    const LoadArrays& arrays = rows.arrays;
    const i64 e = rows.tree.link[i];
    if (e < 0) return 0.0;
    const i64 a = arrays.source[e], b = arrays.target[e];
    return costs.joint[e] * leaving(a == i ? v : x, a == i ? x : v, arrays.totals[a], arrays.totals[b], arrays.one_to_one[e]);
}

// Tasks of the parent of operator i, 0 for roots.
inline i64 tasks_above(const PatternRows& rows, const Ints& pattern, i64 i) {
    const i64 above = rows.tree.parent[i];
    return above >= 0 ? pattern[above] : 0;
}

// Cost of operator i, of the stream to its parent and of those out of the tree that end at it.
inline double own_cost(const PatternRows& rows, const TreeCosts& costs, const Ints& pattern, i64 i) {
    double cost = costs.single[i] * double(pattern[i]) + parent_cost(rows, costs, tasks_above(rows, pattern, i), i, pattern[i]);
    for (i64 c = 0; c < rows.tree.closing.shape[1]; ++c) {
        const i64 e = rows.tree.closing(i, c);
        if (e >= 0) cost += costs.joint[e] * leaving(rows.arrays, pattern, e);
    }
    return cost;
}

// Least sums of two costs that share units, by units: unit by unit of the first one, so that no minimum waits for another.
inline void add_up(const Floats& one, const Floats& two, const FloatsOut& both) {
    const i64 size = both.size();
    both.fill(inf);
    for (i64 t = 0; t < size; ++t) {
        const double cost = one[t], *const other = two.data;
        double* const sums = both.data + t;
        for (i64 s = 0; s < size - t; ++s) sums[s] = least(sums[s], cost + other[s]);
    }
}

// Least cost of all operators within the units of a node, without streams out of the tree; fills `under` and `after`.
inline double fill_tree(const PatternRows& rows, const TreeCosts& costs) {
    const i64 units = rows.units;
    const Own<double, 1> roots(units + 1), whole(units + 1);
    costs.under.fill(0.0);
    for (i64 i = rows.most.size() - 1; i >= 0; --i) {
        const i64 above = rows.tree.parent[i];
        for (i64 x = 0; x < (above < 0 ? 1 : rows.most[above] + 1); ++x) {
            whole.fill(inf);
            for (i64 v = 0; v <= rows.most[i]; ++v) {
                const double cost = costs.single[i] * double(v) + parent_cost(rows, costs, x, i, v);
                const i64 taken = rows.taken(i, v);
                const FloatsOut under = costs.under.row(i).row(v);
                for (i64 s = taken; s <= units; ++s) whole[s] = least(whole[s], cost + under[s - taken]);
            }
            const FloatsOut joined = above < 0 ? FloatsOut(roots) : costs.under.row(above).row(x),
                            after = costs.after.row(i).row(x);
            copy(joined, after);
            add_up(after, whole, joined);
        }
    }
    return roots[units];
}

// Sets the tail of operator i where its parent's tail and tasks are known.
inline void set_tail(const PatternRows& rows, const TreeCosts& costs, const Ints& pattern, i64 i) {
    const i64 above = rows.tree.parent[i];
    const FloatsOut tail = costs.tails.row(i);
    if (above < 0)
        copy(costs.after.row(i).row(0), tail);
    else if (rows.tree.end[i] < rows.tree.end[above])
        add_up(costs.after.row(i).row(pattern[above]), costs.tails.row(above), tail);
    else  // nothing else is under the parent
        copy(costs.tails.row(above), tail);
}

// Sets the tails of operator i and of all above it, whose tasks are known.
inline void set_tails(const PatternRows& rows, const TreeCosts& costs, const Ints& pattern, i64 i) {
    for (i64 j = 0; j <= i; ++j)
        if (rows.tree.end[j] > i) set_tail(rows, costs, pattern, j);
}

// Least cost of all that is not decided where operator i takes v tasks, of `left` units; infinite if they are too few.
inline double rest_cost(const PatternRows& rows, const TreeCosts& costs, i64 i, i64 v, i64 left) {
    left -= rows.taken(i, v);
    const Floats under = costs.under.row(i).row(v), tail = costs.tails.row(i);
    double rest = inf;
    for (i64 s = 0; s <= left; ++s) rest = least(rest, under[s] + tail[left - s]);
    return rest;
}

// Writes the pattern of least cost within the units, without streams out of the tree.
inline void follow_tree(const PatternRows& rows, const TreeCosts& costs, const IntsOut& pattern) {
    i64 left = rows.units;
    for (i64 i = 0; i < rows.most.size(); ++i) {
        set_tail(rows, costs, pattern, i);
        const i64 x = tasks_above(rows, pattern, i);
        double best = inf;
        pattern[i] = 0;
        for (i64 v = 0; v <= rows.most[i]; ++v) {
            const double own = costs.single[i] * double(v) + parent_cost(rows, costs, x, i, v);
            const double cost = own + rest_cost(rows, costs, i, v, left);
            if (cost < best) {
                best = cost;
                pattern[i] = v;
            }
        }
        left -= rows.taken(i, pattern[i]);
    }
}

// Use of rows by the operators up to i, from that of the operators before it.
inline void add_use(const PatternRows& rows, const Ints& pattern, i64 i, const Floats& before, const FloatsOut& after) {
    const LoadArrays& arrays = rows.arrays;
    const i64 rooms = arrays.demand.shape[1], shared = arrays.use.shape[1];
    const double tasks = double(pattern[i]);
    for (i64 m = 0; m < rooms; ++m) after[m] = before[m] + tasks * arrays.demand(i, m);
    for (i64 k = 0; k < shared; ++k) after[rooms + k] = before[rooms + k] + tasks * arrays.use(i, k);
    for (i64 c = -1; c < rows.tree.closing.shape[1]; ++c) {
        const i64 e = c < 0 ? rows.tree.link[i] : rows.tree.closing(i, c);
        if (e >= 0) {
            const double share = leaving(arrays, pattern, e);
            for (i64 k = 0; k < shared; ++k) after[rooms + k] += share * arrays.sent(e, k);
        }
    }
}

}  // namespace edrp
