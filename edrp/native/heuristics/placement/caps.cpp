// The search of CAPS (CAPSys, Wang et al., EuroSys 2025): placements of given tasks on equal nodes of which no node exceeds
// thresholds, operator by operator (heuristics/placement/caps.py).
//
// Node after node takes as few tasks of an operator as it may, so that the first placement found is not one that was looked for.
// Nodes that hold the same so far get tasks in non-decreasing numbers: exchanged nodes are the same placement.
#include <memory>

#include "edrp/native/placement/fixed_tasks.hpp"
#include "edrp/native/python.hpp"

namespace edrp {
namespace {

// Number of tasks of an operator that fit on a node, at most `limit`.
i64 count_fitting(const Floats& free, const Floats& demand, i64 limit) {
    i64 count = limit;
    for (i64 m = 0; m < free.size(); ++m) {
        if (demand[m] > 0 && free[m] < double(count) * demand[m]) count = most<i64>(0, i64(free[m] / demand[m]));
    }
    return count;
}

// Whether the load of a node exceeds a threshold; streams count once both of their ends are placed.
bool exceeds(const Ints& pattern, const Bools& placed, const LoadArrays& arrays, const Floats& upper) {
    for (i64 k = 0; k < upper.size(); ++k) {
        double load = 0.0;
        for (i64 i = 0; i < pattern.size(); ++i) load += double(pattern[i]) * arrays.use(i, k);
        for (i64 e = 0; e < arrays.source.size(); ++e) {
            const i64 i = arrays.source[e], j = arrays.target[e];
            if (pattern[i] > 0 && placed[i] && placed[j])
                load +=
                    leaving(pattern[i], pattern[j], arrays.totals[i], arrays.totals[j], arrays.one_to_one[e]) * arrays.sent(e, k);
        }
        if (load > upper[k]) return true;
    }
    return false;
}

// Whether a node and the one before it hold the same tasks, except for operator i.
bool are_alike(const Ints2& counts, i64 w, i64 i, const Bools& placed) {
    for (i64 j = 0; j < placed.size(); ++j) {
        if (placed[j] && j != i && counts(w, j) != counts(w - 1, j)) return false;
    }
    return true;
}

// Depth first over operators, and for each over nodes; returns the number of placements found, and of steps left.
std::tuple<i64, i64> search(const LoadArrays& arrays, const Ints& order, const Floats& room, const Floats& upper, i64 steps,
                            const IntsOut3& placements) {
    const i64 plans = placements.shape[0], nodes = placements.shape[1], operators = placements.shape[2],
              depth = nodes * operators;
    Matrix<i64> count_cells(nodes, operators);
    Matrix<double> free_cells(nodes, room.size());
    const auto placed_cells = std::make_unique<bool[]>(std::size_t(operators));
    std::vector<i64> highest(std::size_t(depth), 0);
    const IntsOut2 counts = count_cells.view();
    const FloatsOut2 free = free_cells.view();
    const BoolsOut placed{placed_cells.get(), {operators}};
    for (i64 w = 0; w < nodes; ++w) copy(room, free.row(w));
    i64 number = 0, level = 0;
    bool entering = true;
    while (level >= 0) {
        if (level == depth) {
            copy(counts, placements.row(number++));
            if (number == plans) return {number, steps};
            --level;
            entering = false;
            continue;
        }
        const i64 i = order[level / nodes], w = level % nodes;
        i64 change = 1;
        if (entering) {
            placed[i] = true;
            i64 missing = arrays.totals[i], later = 0;
            for (i64 v = 0; v < nodes; ++v) {
                if (v < w)
                    missing -= counts(v, i);
                else if (v > w)
                    later += count_fitting(free.row(v), arrays.demand.row(i), arrays.totals[i]);
            }
            change = most<i64>(0, missing - later);
            if (w > 0 && are_alike(counts, w, i, placed)) change = most(change, counts(w - 1, i));
            highest[std::size_t(level)] = least(missing, count_fitting(free.row(w), arrays.demand.row(i), missing));
        }
        counts(w, i) += change;
        for (i64 m = 0; m < room.size(); ++m) free(w, m) -= double(change) * arrays.demand(i, m);
        if (counts(w, i) > highest[std::size_t(level)]) {
            for (i64 m = 0; m < room.size(); ++m) free(w, m) += double(counts(w, i)) * arrays.demand(i, m);
            counts(w, i) = 0;
            if (w == 0) placed[i] = false;
            --level;
            entering = false;
            continue;
        }
        if (steps == 0) return {number, steps};
        --steps;
        entering = !exceeds(counts.row(w), placed, arrays, upper);
        if (entering) ++level;
    }
    return {number, steps};
}

const Kernels here{
    kernel<search>("search_caps",
                   "Placements of given tasks of which no node exceeds thresholds: how many, and the steps left (CAPSys)."),
};

}  // namespace
}  // namespace edrp
