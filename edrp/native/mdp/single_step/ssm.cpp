// SSM: the partition that lets the most state stay, with all ties broken (state migration, sections 3.2 and 3.3; what decides
// between ties stands in mdp/single_step/ssm.py).
#include "edrp/native/mdp/partitions.hpp"
#include "edrp/native/mdp/single_step/layers.hpp"
#include "edrp/native/python.hpp"
#include "edrp/native/tolerances.hpp"

namespace edrp {
namespace {

using namespace single_step;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

void set_first_layer(const Bands& bands, const Layer& layer) {
    const i64 tasks = i64(bands.reach.size()) - 1;
    for (const i64 state : {OPEN, TAKEN}) {
        for (i64 boundary = bands.low[1]; boundary < tasks; ++boundary) layer.gain[state][boundary] = -inf;
        layer.set(state, tasks, {0.0, 0});
    }
}

// The gain of the best partition; minus infinity where each loses more state than `max_lost`. The bands are trimmed to partitions
// that lose no more. `layers` holds two.
double largest_gain(const OrderedTasks& line, Bands& bands, bool allow_empty, double slack, Workspace& room, Layers& layers,
                    double max_lost) {
    const i64 nodes = bands.nodes();
    set_first_layer(bands, layers[0]);
    for (i64 k = 1; k <= nodes; ++k) {
        if (!tighten(bands, k)) return -inf;
        const Layer layer = layers[k % 2];
        set_layer(line, bands, k, layers[1 - k % 2], layer, allow_empty ? 0.0 : -inf, slack, room);
        if (!trim(bands, k, line.state_before, layer.gain[OPEN], max_lost)) return -inf;
    }
    return layers[nodes % 2].gain[OPEN][0];
}

// Which values of a cell are part of an optimum, or are attained.
struct States {
    bool open, taken;
};

bool equal(const Value& value, const Value& other, double slack) {
    return value.moves == other.moves && std::fabs(value.gain - other.gain) <= slack;
}

// Whether an interval attains the value of a cell with the node at its end left open, and with it taken. `last` is the node of
// its last task, `largest` the most state of a node inside it; `target` is the cell's value for a state at `first`, without the
// moves of the interval's pieces.
States attains_value(const OrderedTasks& line, i64 first, i64 end, i64 last, double largest, i64 state, const Value& target,
                     const Layer& after, double slack) {
    const Floats before = line.state_before;
    const i64 far = line.old_boundaries[line.old_node[first] + 1];
    const Value open = after.at(OPEN, end), taken = after.at(TAKEN, end);
    if (end <= far && state == TAKEN) return {false, equal(taken, target, slack)};
    bool opens = equal(open, target, slack);
    if (end > far) {
        opens = opens || equal({open.gain + largest, open.moves - 1}, target, slack);
        if (state == OPEN) opens = opens || equal({open.gain + before[far] - before[first], open.moves - 1}, target, slack);
    }
    const double kept_gain = taken.gain + before[end] - before[end <= far ? first : line.old_boundaries[last]];
    return {opens, equal({kept_gain, taken.moves - 1}, target, slack)};
}

// The smallest end of the interval from `first` in any best partition; `alive` says which states of `layer` are part of an
// optimum, and then which continue from that end. Different matchings of the intervals so far may leave the node at a boundary
// open or taken: as long as both lead to the optimum, both are alive. `after` is the layer of the end.
i64 next_boundary(const OrderedTasks& line, i64 first, i64 furthest, States& alive, const Layer& layer, const Layer& after,
                  double slack) {
    const Ints old = line.old();
    const i64 tasks = line.tasks();
    if (first < tasks) {
        const i64 node = line.old_node[first];
        i64 last = node;
        double largest = -inf;
        for (i64 end = first + 1; end <= furthest; ++end) {
            while (old[last + 1] < end) last += 1;
            if (last > node && old[last + 1] == end)
                largest = most(largest, line.state_before[end] - line.state_before[old[last]]);
            States to{false, false};
            for (const i64 state : {OPEN, TAKEN}) {
                if (!(state == OPEN ? alive.open : alive.taken)) continue;
                const Value cell = layer.at(state, first), target{cell.gain, cell.moves - (last - node + 1)};
                const States attained = attains_value(line, first, end, last, largest, state, target, after, slack);
                to = {to.open || attained.open, to.taken || attained.taken};
            }
            if (to.open || to.taken) {
                const bool begins = end == tasks || old[last + 1] == end;  // nothing before can use a node that begins here
                alive = {to.open || begins, to.taken && !begins};
                return end;
            }
        }
    }
    alive = {true, false};
    return tasks;
}

void copy_layer(const Layer& layer, const Layer& to) {
    for (const i64 state : {OPEN, TAKEN}) {
        copy(layer.gain[state], to.gain[state]);
        copy(layer.moves[state], to.moves[state]);
    }
}

// Fills in the boundaries of the best partition. All layers are kept if they have no more than `stored_cells`; else about the
// root of n' of them, and the layers between two of these are computed again on the way back.
void read_back(const OrderedTasks& line, const Bands& bands, bool allow_empty, double slack, Workspace& room,
               const IntsOut& boundaries, i64 stored_cells) {
    const i64 nodes = bands.nodes(), size = i64(bands.reach.size());
    const i64 step = (nodes + 1) * size <= stored_cells ? nodes : i64(std::ceil(std::sqrt(double(nodes))));
    const i64 blocks = (nodes + step - 1) / step;
    Layers block_layers(blocks, size - 1), layers(step + 1, size - 1);
    set_first_layer(bands, block_layers[0]);
    boundaries[0] = 0;
    States alive{true, false};
    for (i64 turn = 0; turn < 2 * blocks - 1; ++turn) {
        const i64 block = turn < blocks ? turn : 2 * blocks - 2 - turn;
        const i64 base = block * step, top = least((block + 1) * step, nodes);
        copy_layer(block_layers[block], layers[0]);
        for (i64 k = base + 1; k <= top; ++k)
            set_layer(line, bands, k, layers[k - base - 1], layers[k - base], allow_empty ? 0.0 : -inf, slack, room);
        if (turn < blocks - 1) {
            copy_layer(layers[step], block_layers[block + 1]);
            continue;
        }
        for (i64 k = top; k > base; --k) {
            const i64 first = boundaries[nodes - k], furthest = least(bands.reach[first], bands.high[k - 1]);
            const Layer layer = layers[k - base], after = layers[k - base - 1];
            boundaries[nodes - k + 1] = next_boundary(line, first, furthest, alive, layer, after, slack);
        }
    }
}

// An attainable load strictly between two, next to their middle; NaN if there is none. O(m).
double load_between(const Floats& work_before, double above, double below) {
    const double middle = (above + below) / 2;
    double lower = -inf, upper = inf;
    const i64 size = work_before.size();
    i64 last_below = 0;
    for (i64 first = 0; first < size; ++first) {
        while (last_below + 1 < size && work_before[last_below + 1] - work_before[first] <= middle) last_below += 1;
        lower = most(lower, work_before[last_below] - work_before[first]);
        const double upper_here = work_before[least(last_below + 1, size - 1)] - work_before[first];
        if (upper_here > middle) upper = least(upper, upper_here);
    }
    if (above < lower && (middle - lower <= upper - middle || !(upper < below))) return lower;
    return upper < below ? upper : nan;
}

// What is left of `total` after each entry, last one first.
template <class T, class Entries>
std::vector<T> mirrored(const Entries& entries, T total) {
    std::vector<T> image;
    for (i64 k = i64(entries.size()) - 1; k >= 0; --k) image.push_back(total - entries[k]);
    return image;
}

// Narrows the bands to boundaries that lose no more than `max_lost`. A smaller limit loses no less, so these hold for all trials.
// The mirror image knows how much is lost before a boundary.
void narrow_to_needed(const OrderedTasks& line, Bands& bands, double limit, bool allow_empty, double slack, Workspace& room,
                      Layers& layers, double max_lost) {
    const i64 tasks = line.tasks();
    largest_gain(line, bands, allow_empty, slack, room, layers, max_lost);
    const std::vector<double> work = mirrored(line.work_before, line.work_before[tasks]);
    const std::vector<double> state = mirrored(line.state_before, line.state_before[tasks]);
    const std::vector<i64> old = mirrored(line.old_boundaries, tasks);
    const OrderedTasks image({work.data(), {tasks + 1}}, {state.data(), {tasks + 1}}, {old.data(), {i64(old.size())}});
    Bands back(tasks, bands.nodes());
    set_bands(back, image.work_before, limit, allow_empty);
    narrow(back, mirrored(bands.high, tasks), mirrored(bands.low, tasks));
    largest_gain(image, back, allow_empty, slack, room, layers, max_lost);
    narrow(bands, mirrored(back.high, tasks), mirrored(back.low, tasks));
}

// Narrows the bands to the least load limit under which the gain is as large as under `limit`.
void lower_the_limit(const OrderedTasks& line, Bands& bands, double limit, bool allow_empty, double slack, Workspace& room) {
    const i64 tasks = line.tasks();
    const Floats work = line.work_before;
    const double equal = EQUAL_LOADS * work[tasks];
    Layers layers(2, tasks);
    const double best = largest_gain(line, bands, allow_empty, slack, room, layers, inf);
    const double max_lost = line.state_before[tasks] - best + 2 * slack;
    set_bands(bands, work, limit, allow_empty);
    narrow_to_needed(line, bands, limit + equal, allow_empty, slack, room, layers, max_lost);
    const std::vector<i64> low = bands.low, high = bands.high;
    double heaviest = 0.0;
    for (i64 task = 0; task < tasks; ++task) heaviest = most(heaviest, work[task + 1] - work[task]);
    double fails = most(heaviest, work[tasks] / double(bands.nodes())) - 2 * equal, holds = limit;
    while (true) {
        const double trial = load_between(work, fails + equal, holds - equal);
        const double load = std::isnan(trial) ? holds : trial;
        const bool keeps_gain = set_bands(bands, work, least(load + equal, limit), allow_empty) && narrow(bands, low, high) &&
                                largest_gain(line, bands, allow_empty, slack, room, layers, max_lost) >= best - slack;
        if (std::isnan(trial)) return;
        (keeps_gain ? holds : fails) = trial;
    }
}

// What stays (NaN where no partition keeps to the limit), the boundaries of the partition, empty intervals last, and the old
// interval that keeps each new one, or -1. `least_load`: whether the maximal load decides between equal gains, before the moves.
std::tuple<double, std::vector<i64>, std::vector<i64>> best_step(const Floats& work_before, const Floats& state_before,
                                                                 const Ints& old_boundaries, i64 nodes, double limit,
                                                                 bool allow_empty, bool least_load, i64 stored_cells) {
    const i64 tasks = work_before.size() - 1;
    std::vector<i64> boundaries(nodes + 1), matched(nodes);
    Bands bands(tasks, nodes);
    if (!set_bands(bands, work_before, limit, allow_empty)) return {nan, boundaries, matched};
    const OrderedTasks line(work_before, state_before, old_boundaries);
    Workspace room(tasks);
    const double slack = EQUAL_GAINS * state_before[tasks];
    if (least_load) lower_the_limit(line, bands, limit, allow_empty, slack, room);
    const IntsOut chosen(boundaries.data(), {nodes + 1});
    read_back(line, bands, allow_empty, slack, room, chosen, stored_cells);
    match_intervals(state_before, old_boundaries, chosen, {matched.data(), {nodes}});
    double gain = 0.0;
    for (i64 k = 0; k < nodes; ++k) {
        const i64 old = matched[k];
        if (old < 0) continue;
        const i64 first = most(boundaries[k], old_boundaries[old]), end = least(boundaries[k + 1], old_boundaries[old + 1]);
        gain += state_before[end] - state_before[first];
    }
    return {gain, boundaries, matched};
}

const Kernels here{kernel<best_step>(
    "best_single_step", "The partition that lets the most state stay, and its matching (state migration, section 3.3).")};

}  // namespace
}  // namespace edrp
