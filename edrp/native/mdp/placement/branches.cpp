// The bound over branches: operators' courses and the longest path of each period agree on prices, period by period, by sharing
// out min-marginals (Kolmogorov, 2006; mdp/placement/vector_relaxation.py).
//
// A tree stands for the branches: each of its nodes is an operator on the way of some paths, and an operator may have several
// nodes. Latencies are rounded down to ticks. The last level stands for all longer times, and there each latency has a price.
#include "edrp/native/mdp/placement/vector_relaxation.hpp"
#include "edrp/native/python.hpp"

namespace edrp {
namespace {

struct Branches {
    Ints parent, owner, copies, first, begin;
    Array<const std::int32_t, 2> ticks;
    Floats2 price, tail, last;
    Ints2 allowed;
    FIELDS(parent, owner, copies, first, begin, ticks, price, tail, last, allowed)
};

constexpr i64 LEVELS = 2048;

// Costs of subtrees, of what follows a node, of the rest, and by node, operator and column.
struct Work {
    Own<double, 2> inner, below, outer;
    Own<double, 1> own, least, through, best;
    Own<std::int32_t, 1> source;
    Own<double, 1> need;

    Work(const Branches& branches, i64 columns)
        : inner(branches.parent.size(), LEVELS + 1),
          below(branches.parent.size() + branches.begin.size() - 1, LEVELS + 1),
          outer(branches.parent.size(), LEVELS + 1),
          own(branches.tail.shape[1]),
          least(branches.tail.shape[1]),
          through(branches.tail.shape[1]),
          best(columns),
          source(columns),
          need(branches.copies.size()) {}
};

struct Sweep {
    const Branches& branches;
    const OperatorTables& tables;
    const Floats& change;
    const FloatsOut2 &costs, &prices, &shared, &values, &after;
    const Work& work;
    i64 levels;

    // Least costs of a node and the rest by ticks: of what is left after the node, or of what it and those after it take.
    void add_node(i64 c, i64 t, const Floats& rest, bool after, const FloatsOut& result) const {
        const i64 first = branches.first[c], low = tables.first[branches.owner[c]];
        result.fill(inf);
        for (i64 k = 0; k < branches.first[c + 1] - first; ++k) {
            const double cost = work.own[first + k];
            if (cost == inf) continue;
            const i64 ticks = branches.ticks(t, low + k), from = after ? ticks : 0, to = ticks - from;
            for (i64 r = 0; r < levels - 1 - ticks; ++r) result[to + r] = least(result[to + r], cost + rest[from + r]);
            result[levels - 1] = least(result[levels - 1], cost + branches.tail(t, first + k) + rest[levels - 1]);
        }
    }

    // Least cost of each subtree whose paths take at most a number of ticks.
    void inside(i64 tree, i64 t) const {
        const i64 begin = branches.begin[tree], end = branches.begin[tree + 1];
        for (i64 c = begin; c <= end; ++c) work.below.row(c).fill(0.0);
        for (i64 c = end - 1; c >= begin; --c) {
            const FloatsOut inner = work.inner.row(c);
            add_node(c, t, work.below.row(c), false, inner);
            const FloatsOut sum = work.below.row(branches.parent[c] >= 0 ? branches.parent[c] : end);
            for (i64 r = 0; r < levels; ++r) sum[r] += inner[r];
        }
    }

    // Cost of a longest path of r ticks, infinite where it is not allowed.
    double level_cost(i64 tree, i64 t, i64 r) const {
        if (r > branches.allowed(t, tree)) return inf;
        return r == levels - 1 ? branches.last(t, tree) : branches.price(t, tree) * double(r);
    }

    // Least cost of a tree with the costs of its nodes in `work.own`.
    double tree_cost(i64 tree, i64 t) const {
        inside(tree, t);
        const Floats below = work.below.row(branches.begin[tree + 1]);
        double lowest = inf;
        for (i64 r = 0; r < levels; ++r) lowest = least(lowest, level_cost(tree, t, r) + below[r]);
        return lowest;
    }

    // Fills in `work.least`: for each node and number of replicas, the least cost of the tree with it.
    void outside(i64 tree, i64 t) const {
        const i64 begin = branches.begin[tree], end = branches.begin[tree + 1];
        for (i64 c = begin; c < end; ++c) {
            const i64 parent = branches.parent[c];
            const FloatsOut outer = work.outer.row(c);
            const Floats inner = work.inner.row(c), below = work.below.row(c), rest = work.below.row(parent < 0 ? end : parent);
            if (parent < 0) {
                for (i64 r = 0; r < levels; ++r) outer[r] = rest[r] < inf ? level_cost(tree, t, r) + rest[r] - inner[r] : inf;
            } else {
                add_node(parent, t, work.outer.row(parent), true, outer);
                for (i64 r = 0; r < levels; ++r) outer[r] += rest[r] < inf ? rest[r] - inner[r] : inf;
            }
            for (i64 r = levels - 3; r >= 0; --r) outer[r] = least(outer[r], outer[r + 1]);  // more time than needed is allowed
            const i64 first = branches.first[c], low = tables.first[branches.owner[c]];
            for (i64 k = 0; k < branches.first[c + 1] - first; ++k) {
                const i64 ticks = branches.ticks(t, low + k);
                double lowest = outer[levels - 1] + branches.tail(t, first + k) + below[levels - 1];
                for (i64 r = ticks; r < levels - 1; ++r) lowest = least(lowest, outer[r] + below[r - ticks]);
                work.least[first + k] = lowest + work.own[first + k];
            }
        }
    }

    // Takes what courses cost through each number of replicas as the cost of nodes; false where no course is left.
    bool charge(i64 tree, i64 t) const {
        for (i64 c = branches.begin[tree]; c < branches.begin[tree + 1]; ++c) {
            const i64 i = branches.owner[c], low = tables.first[i];
            const i64 first = branches.first[c], count = branches.first[c + 1] - first;
            double lowest = inf;
            for (i64 k = low; k < low + count; ++k) lowest = least(lowest, values(t, k) + after(t, k));
            if (lowest == inf) return false;
            for (i64 k = 0; k < count; ++k) {
                const double through = (values(t, low + k) + after(t, low + k) - lowest) / double(branches.copies[i]);
                work.through[first + k] = through;
                work.own[first + k] = through < inf ? through - shared(t, first + k) : inf;
            }
        }
        return true;
    }

    // Shares out what the branches and the operators' courses cost together in a period; raises the bound or keeps it.
    void agree(i64 t) const {
        for (i64 tree = 0; tree < branches.begin.size() - 1; ++tree) {
            if (!charge(tree, t)) return;
            const double total = tree_cost(tree, t);
            if (total == inf) continue;
            outside(tree, t);
            const i64 begin = branches.begin[tree], end = branches.begin[tree + 1];
            for (i64 c = begin; c < end; ++c) {
                const i64 low = tables.first[branches.owner[c]], first = branches.first[c];
                for (i64 k = 0; k < branches.first[c + 1] - first; ++k) {
                    if (work.least[first + k] == inf) continue;
                    const double moved = (work.least[first + k] - total) / double(end - begin) - work.through[first + k];
                    shared(t, first + k) += moved;
                    costs(t, low + k) += moved;
                    values(t, low + k) += moved;
                }
            }
        }
    }

    // Shares out the price of any change into a period by what each operator would pay.
    void share_change(i64 t) const {
        const i64 operators = tables.started.size();
        const double price = change[t];
        double total = 0.0;
        for (i64 i = 0; i < operators; ++i) {
            double stays = inf, moves = inf;
            for (i64 k = tables.first[i]; k < tables.first[i + 1]; ++k) {
                const double rest = costs(t, k) + after(t, k);
                stays = least(stays, values(t - 1, k) + rest);
                moves = least(moves, work.best[k] + rest);
            }
            work.need[i] = moves < inf ? least(stays - moves, price) : 0.0;
            total += work.need[i];
        }
        for (i64 i = 0; i < operators; ++i)
            prices(t, i) = total > price ? work.need[i] * (price / total) : work.need[i] + (price - total) / double(operators);
    }

    // Least costs of the courses that end in a period.
    void forward(i64 t) const {
        const i64 operators = tables.started.size();
        if (t > 0) {
            for (i64 i = 0; i < operators; ++i) reached(tables, i, values.row(t - 1), work.best, work.source);
            if (change[t] < inf) share_change(t);
        }
        for (i64 i = 0; i < operators; ++i) {
            for (i64 k = tables.first[i]; k < tables.first[i + 1]; ++k)
                values(t, k) = t == 0 ? costs(0, k) + tables.entry[k] + (tables.enters[k] > 0 ? prices(0, i) : 0.0)
                                      : least(values(t - 1, k), work.best[k] + prices(t, i)) + costs(t, k);
        }
    }
};

double sweep_branches(const Branches& branches, const OperatorTables& tables, const Floats& change, const FloatsOut2& costs,
                      const FloatsOut2& prices, const FloatsOut2& shared, const FloatsOut2& values, const FloatsOut2& after) {
    const Work work(branches, costs.shape[1]);
    const Sweep sweep{branches, tables, change, costs, prices, shared, values, after, work, work.inner.shape[1]};
    const i64 periods = costs.shape[0];
    following_costs(tables, costs, prices, after);
    for (i64 t = 0; t < periods; ++t) {
        sweep.forward(t);
        sweep.agree(t);
    }
    for (i64 t = periods - 1; t >= 0; --t) {
        sweep.agree(t);
        if (t > 0) cost_before(tables, t, costs, prices, after, work.best);
    }
    double total = 0.0;
    for (i64 i = 0; i < tables.started.size(); ++i) {
        double lowest = inf;
        for (i64 k = tables.first[i]; k < tables.first[i + 1]; ++k)
            lowest = least(lowest, costs(0, k) + after(0, k) + (tables.entry[k] + (tables.enters[k] > 0 ? prices(0, i) : 0.0)));
        total += lowest;
    }
    for (i64 t = 0; t < periods; ++t) {
        for (i64 tree = 0; tree < branches.begin.size() - 1; ++tree) {
            for (i64 c = branches.first[branches.begin[tree]]; c < branches.first[branches.begin[tree + 1]]; ++c)
                work.own[c] = -shared(t, c);
            total += sweep.tree_cost(tree, t);
        }
    }
    return total;
}

const Kernels here{
    kernel<sweep_branches>("sweep_branches", "Go forward and back over the periods, and raise the bound over branches in each."),
};

}  // namespace
}  // namespace edrp
