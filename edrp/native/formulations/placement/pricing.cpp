// The patterns of a class that are worth most at given prices of instances, a quadratic knapsack: bounds on what a pattern can be
// worth, and the search for patterns under them (edrp/formulations/placement/column_generation/pricing.py).
#include <algorithm>

#include "edrp/native/python.hpp"
#include "edrp/native/tolerances.hpp"

namespace edrp {
namespace {

struct Order {
    Ints operators, states, first;
    Floats saving;
    Ints following;
    Floats2 let_go;
    FIELDS(operators, states, first, saving, following, let_go)
};

struct PatternSteps {
    Order order;
    Ints counts, max_instances;
    Floats2 demand;
    Floats capacity;
    Floats3 correction;
    FIELDS(order, counts, max_instances, demand, capacity, correction)
};

struct Grid {
    Ints axis;
    Floats unit;
    Ints cells;
    Ints2 need;
    bool exact;
    FIELDS(axis, unit, cells, need, exact)
};

struct BoundTable {
    Grid grid;
    Ints start;
    FloatsOut values;
    FIELDS(grid, start, values)
};

// Decisions of a search: worth and room before each step, state of the frontier, and the count chosen (-1 for none). The worth
// includes the bounds on the streams let go.
struct Path {
    std::vector<double> total;
    Matrix<double> room;
    std::vector<i64> state, chosen;

    explicit Path(const PatternSteps& steps)
        : total(steps.counts.size() + 1),
          room(steps.counts.size() + 1, steps.capacity.size()),
          state(total.size()),
          chosen(steps.counts.size(), -1) {
        copy(steps.capacity, room.view().row(0));
    }
};

// Fills a table with upper bounds on what the operators from each step on can be worth, at the worth of an instance by step.
void fill_bounds(const PatternSteps& steps, const BoundTable& table, const Floats& worth) {
    const i64 rows = table.grid.cells[0], columns = table.grid.cells[1], cells = rows * columns, last = steps.counts.size();
    table.values.slice(table.start[last], table.start[last] + cells).fill(0.0);
    for (i64 k = last - 1; k >= 0; --k) {
        for (i64 s = 0; s < steps.order.states[k]; ++s) {
            double* own = &table.values[table.start[k] + s * cells];
            for (i64 n = 0; n <= steps.max_instances[k]; ++n) {
                const i64 row = steps.order.first[k] + s * steps.counts[k] + n;
                const double* behind = &table.values[table.start[k + 1] + steps.order.following[row] * cells];
                const double gain = steps.order.saving[row] + worth[k] * double(n);
                const i64 down = n * table.grid.need(k, 0), right = n * table.grid.need(k, 1);
                if (n == 0) {
                    for (i64 c = 0; c < cells; ++c) own[c] = behind[c] + gain;
                    continue;
                }
                if (down >= rows || right >= columns) break;
                for (i64 r = down; r < rows; ++r)
                    for (i64 c = right; c < columns; ++c) {
                        double& cell = own[r * columns + c];
                        cell = most(cell, behind[(r - down) * columns + c - right] + gain);
                    }
            }
        }
    }
}

// Worth of the streams let go between step k and those before, less what the bounds held for them.
inline double corrected(i64 k, i64 n, const Floats3& correction, const std::vector<i64>& chosen) {
    double value = 0.0;
    for (i64 j = 0; j < least(k, correction.shape[0]); ++j) {
        if (correction(k, j, 0) != 0.0) {
            const double a = double(n), b = double(chosen[j]);
            value += correction(k, j, 0) * a * b - correction(k, j, 1) * a * a - correction(k, j, 2) * b * b;
        }
    }
    return value;
}

// Chooses n instances at step k.
inline void decide(i64 k, i64 n, const PatternSteps& steps, const Floats& worth, Path& path) {
    const i64 row = steps.order.first[k] + path.state[k] * steps.counts[k] + n;
    const double correction = corrected(k, n, steps.correction, path.chosen);
    path.total[k + 1] = path.total[k] + steps.order.saving[row] + worth[k] * double(n) + correction;
    path.state[k + 1] = steps.order.following[row];
    const FloatsOut2 room = path.room.view();
    for (i64 m = 0; m < steps.demand.shape[1]; ++m) room(k + 1, m) = room(k, m) - double(n) * steps.demand(k, m);
    path.chosen[k] = n;
}

// Upper bound on any pattern that continues with n instances at step k; minus infinity where they do not fit.
inline double bound_after(i64 k, i64 n, const PatternSteps& steps, const BoundTable& table, const Floats& worth, Path& path) {
    if (n > steps.max_instances[k]) return -inf;
    const Grid& grid = table.grid;
    i64 cell = 0;
    for (i64 m = 0; m < steps.demand.shape[1]; ++m) {
        const double left = path.room.view()(k, m) - double(n) * steps.demand(k, m);
        if (left < 0.0) return -inf;
        for (i64 side = 0; side < 2; ++side) {
            if (grid.axis[side] == m) {
                const i64 position = least(grid.cells[side] - 1, i64(left / grid.unit[side] + GRID_CELL_SLACK));
                cell += side == 0 ? position * grid.cells[1] : position;
            }
        }
    }
    const i64 row = steps.order.first[k] + path.state[k] * steps.counts[k] + n;
    const double value =
        path.total[k] + steps.order.saving[row] + worth[k] * double(n) + corrected(k, n, steps.correction, path.chosen);
    return value + table.values[table.start[k + 1] + steps.order.following[row] * grid.cells[0] * grid.cells[1] + cell];
}

// Searches depth-first over the counts of each operator, best bound first, with exact resources.
//
// Patterns worth no more than the threshold are not wanted; to improve is to raise it to each pattern met: the last one is the
// best. Otherwise all are listed. Returns patterns met (more than there is room for: the list is not complete), nodes searched
// (more for those with many counts), and the final threshold; nodes beyond `max_nodes` say that the search was given up.
std::tuple<i64, i64, double> search_patterns(const PatternSteps& steps, const BoundTable& table, const Floats& worth,
                                             double threshold, bool improve, i64 max_nodes, const IntsOut2& patterns,
                                             const FloatsOut& values) {
    const Ints counts = steps.counts;
    const i64 size = counts.size(), room = values.size();
    const Own<double, 2> bound(size, *std::max_element(counts.begin(), counts.end()));
    Path path(steps);
    i64 met = 0, nodes = 0, k = 0;
    bool opened = false;
    while (k >= 0) {
        if (!opened) {
            nodes += 1 + counts[k] / 8;
            if (nodes > max_nodes) break;
            for (i64 n = 0; n < counts[k]; ++n) bound(k, n) = bound_after(k, n, steps, table, worth, path);
        }
        opened = true;
        i64 n = 0;  // of equal bounds the first
        for (i64 i = 1; i < counts[k]; ++i)
            if (bound(k, i) > bound(k, n)) n = i;
        if (!(bound(k, n) > threshold)) {
            path.chosen[k] = -1;
            k -= 1;
            continue;
        }
        bound(k, n) = -inf;
        decide(k, n, steps, worth, path);
        if (k + 1 < size) {
            k += 1;
            opened = false;
        } else if (path.total[size] > threshold &&
                   std::any_of(path.chosen.begin(), path.chosen.end(), [](i64 c) { return c > 0; })) {
            if (improve || met < room) {
                const i64 last = least(met, room - 1);
                for (i64 i = 0; i < size; ++i) patterns(last, i) = path.chosen[i];
                values[last] = path.total[size];
            }
            met += 1;
            if (improve)
                threshold = path.total[size];
            else if (met > room)
                break;
        }
    }
    return {met, nodes, threshold};
}

const Kernels here{
    kernel<fill_bounds>("fill_pattern_bounds", "Upper bounds on what patterns can be worth, by step, state and room."),
    kernel<search_patterns>("search_patterns", "Patterns of a class worth more than a threshold, by depth-first search."),
};

}  // namespace
}  // namespace edrp
