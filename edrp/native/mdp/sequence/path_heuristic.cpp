// Good migration sequences: the best partition between two others, and the recombination of pools
// (mdp/sequence/path_heuristic.py).
#include "edrp/native/mdp/partitions.hpp"
#include "edrp/native/mdp/single_step/layers.hpp"
#include "edrp/native/python.hpp"

namespace edrp {
namespace {

using namespace single_step;

// The migration to a partition P from the one before it, or from the one after it, which is the same.
struct NeighbourMigration {
    OrderedTasks line;  // with the nodes of the neighbour
    std::vector<double> stays;
    FloatsOut3 stay;  // what stays of an interval [first, end): (end, state at first, state at end)

    NeighbourMigration(const Floats& work_before, const Floats& state_before, const Ints& boundaries)
        : line(work_before, state_before, boundaries),
          stays(4 * work_before.size()),
          stay(stays.data(), {work_before.size(), 2, 2}) {}
    NeighbourMigration(const NeighbourMigration&) = delete;
};

// Computes what stays of the intervals from `first` up to `furthest`.
void list_gains(const NeighbourMigration& side, i64 first, i64 furthest) {
    const FloatsOut3 gains = side.stay;
    const Floats state = side.line.state_before;
    const Ints old = side.line.old();
    const i64 node = side.line.old_node[first], far = old[node + 1];
    const bool begins = first == old[node];  // no interval before takes the node that begins here
    i64 last = node;
    double largest = 0.0;
    for (i64 end = first + 1; end <= furthest; ++end) {
        while (old[last + 1] < end) last += 1;
        double open_open, open_taken, taken_open, taken_taken;
        if (end <= far) {
            open_open = 0.0, open_taken = state[end] - state[first];
            taken_open = -inf, taken_taken = 0.0;
        } else {
            if (old[last + 1] == end) largest = most(largest, state[end] - state[old[last]]);
            open_open = most(largest, state[far] - state[first]), taken_open = largest;
            open_taken = taken_taken = state[end] - state[old[last]];
        }
        gains(end, OPEN, OPEN) = open_open, gains(end, OPEN, TAKEN) = open_taken;
        gains(end, TAKEN, OPEN) = begins ? open_open : taken_open, gains(end, TAKEN, TAKEN) = begins ? open_taken : taken_taken;
    }
}

void improve_cell(const FloatsOut& cell, const Floats& after, const Floats2& stay_left, const Floats2& stay_right) {
    const double after_0 = after[0], after_1 = after[1], after_2 = after[2], after_3 = after[3];
    for (i64 left = 0; left < 2; ++left)
        for (i64 right = 0; right < 2; ++right) {
            const double through_open = most(after_0 + stay_right(right, 0), after_1 + stay_right(right, 1));
            const double through_taken = most(after_2 + stay_right(right, 0), after_3 + stay_right(right, 1));
            const double through = most(stay_left(left, 0) + through_open, stay_left(left, 1) + through_taken);
            cell[2 * left + right] = most(cell[2 * left + right], through);
        }
}

// Reads the boundaries back, each as small as the optimum allows.
void read_back(const NeighbourMigration& before, const NeighbourMigration& after, const Bands& bands, const Floats3& best,
               double slack, const IntsOut& boundaries) {
    const i64 nodes = boundaries.size() - 1, tasks = before.line.tasks();
    const double target = best(nodes, 0, 0) - slack;
    boundaries.fill(tasks);
    boundaries[0] = 0;
    double reached[4] = {0.0, -inf, -inf, -inf};
    for (i64 k = nodes; k > 0; --k) {
        const i64 first = boundaries[nodes - k];
        if (first == tasks) return;
        const i64 furthest = least(bands.reach[first], bands.high[k - 1]);
        list_gains(before, first, furthest);
        list_gains(after, first, furthest);
        for (i64 end = most(first + 1, bands.low[k - 1]); end <= furthest; ++end) {
            double total = -inf, next[4];
            for (i64 end_state = 0; end_state < 4; ++end_state) {
                double gain = -inf;
                for (i64 begin_state = 0; begin_state < 4; ++begin_state) {
                    const double left = before.stay(end, begin_state / 2, end_state / 2);
                    gain = most(gain, reached[begin_state] + (left + after.stay(end, begin_state % 2, end_state % 2)));
                }
                next[end_state] = gain;
                total = most(total, gain + best(k - 1, end, end_state));
            }
            if (total >= target) {
                boundaries[nodes - k + 1] = end;
                for (i64 state = 0; state < 4; ++state) reached[state] = next[state];
                break;
            }
        }
    }
}

// What stays in both migrations, NaN where no partition keeps to the limit, and the boundaries of P. A cell (k, a) holds the best
// that k intervals from boundary a on can give, for both neighbours open or taken as in layers.hpp: index 2 (left taken) + (right
// taken).
std::tuple<double, std::vector<i64>> partition_between(const Floats& work_before, const Floats& left_state, const Ints& left,
                                                       const Floats& right_state, const Ints& right, i64 nodes, double limit,
                                                       bool allow_empty) {
    const i64 tasks = work_before.size() - 1;
    Bands bands(tasks, nodes);
    std::vector<i64> boundaries(nodes + 1);
    if (!set_bands(bands, work_before, limit, allow_empty)) return {std::numeric_limits<double>::quiet_NaN(), boundaries};
    const NeighbourMigration before(work_before, left_state, left), after(work_before, right_state, right);
    std::vector<double> cells(4 * (nodes + 1) * (tasks + 1), -inf);
    const FloatsOut3 best(cells.data(), {nodes + 1, tasks + 1, 4});
    for (i64 k = 0; k < (allow_empty ? nodes + 1 : 1); ++k) best.row(k).row(tasks).fill(0.0);
    for (i64 first = tasks - 1; first >= 0; --first) {
        list_gains(before, first, bands.reach[first]);
        list_gains(after, first, bands.reach[first]);
        for (i64 k = 1; k <= nodes; ++k) {
            if (first < bands.low[k] || first > bands.high[k]) continue;
            const i64 furthest = least(bands.reach[first], bands.high[k - 1]);
            for (i64 end = most(first + 1, bands.low[k - 1]); end <= furthest; ++end)
                improve_cell(best.row(k).row(first), best.row(k - 1).row(end), before.stay.row(end), after.stay.row(end));
        }
    }
    const double all = left_state[tasks] + right_state[tasks];
    read_back(before, after, bands, best, EQUAL_GAINS * all, {boundaries.data(), {nodes + 1}});
    return {best(nodes, 0, 0), boundaries};
}

// The least cost up to each partition of `after`, and its predecessor in `before`, up to which `values` has been paid.
std::tuple<std::vector<double>, std::vector<i64>> cheapest_predecessors(const Floats& state_before, const Ints2& before,
                                                                        const Ints2& after, const Floats& values) {
    std::vector<double> totals(after.shape[0], inf);
    std::vector<i64> origins(after.shape[0]);
    const double all = state_before[state_before.size() - 1];
    for (i64 j = 0; j < after.shape[0]; ++j)
        for (i64 i = 0; i < before.shape[0]; ++i)
            if (values[i] < totals[j]) {
                const double value = values[i] + all - gain_between(state_before, before.row(i), after.row(j));
                if (value < totals[j]) totals[j] = value, origins[j] = i;
            }
    return {totals, origins};
}

const Kernels here{
    kernel<partition_between>("partition_between", "The partition with the least cost from one to it and from it to another."),
    kernel<cheapest_predecessors>("cheapest_predecessors", "The least cost up to each partition of a pool, and its predecessor."),
};

}  // namespace
}  // namespace edrp
