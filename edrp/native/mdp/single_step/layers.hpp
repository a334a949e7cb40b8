// The dynamic program of SSM, one layer at a time (state migration, sections 3.2 and 3.3): layer k knows the best ways to cover
// the last tasks with k intervals.
//
// A target interval [a, b) is kept by the old node that holds task a, by the one that holds task b - 1, by one that lies inside,
// or by none. So a cell needs two values only: the best that the tasks from boundary a on can give, once where the old node that
// holds task a may still be used (OPEN), and once where an interval before a uses it (TAKEN; the same where that node begins at
// a). All transitions into a cell read windows of the layer before that slide monotonically:
// - near, b within the old node of task a: three windows, each a queue that holds candidates in falling order;
// - far, b beyond it: the best cell, and the best pair of a cell and an old node that lies before it. The window ends at the old
//   node's end, so pairs are aggregated in two stacks.
//
// A layer therefore costs O(m), all of them O(m n'). Values are pairs: gain, then moves (pieces that change their node); gains
// that differ by no more than `slack` are equal.
//
// Bands say which boundaries a layer has to know at all. Layer k holds boundaries which are followed by k intervals. The loads
// leave those from which k intervals reach the last task and to which n' - k intervals reach from the first: neighbours, from
// low[k] to high[k]. Once the least cost is known, those at both ends of a layer drop out behind which more state is lost.
#pragma once
#include <vector>

#include "edrp/native/arrays.hpp"

namespace edrp::single_step {

constexpr i64 OPEN = 0, TAKEN = 1;

struct Bands {
    std::vector<i64> reach;      // greatest end of an interval that begins at a boundary
    std::vector<i64> low, high;  // least and greatest boundary in layer k

    Bands(i64 tasks, i64 nodes) : reach(tasks + 1), low(nodes + 1), high(nodes + 1) {}
    i64 nodes() const { return i64(low.size()) - 1; }
};

// Fills the bands for a load limit, in O(m + n'); returns false where no partition keeps it.
inline bool set_bands(Bands& bands, const Floats& work_before, double limit, bool allow_empty) {
    auto& [reach, low, high] = bands;
    const i64 tasks = work_before.size() - 1, nodes = bands.nodes();
    i64 end = 0;
    for (i64 first = 0; first <= tasks; ++first) {
        while (end < tasks && work_before[end + 1] - work_before[first] <= limit) end += 1;
        if (end <= first && first < tasks) return false;
        reach[first] = end;
    }
    high[nodes] = 0;
    for (i64 k = nodes - 1; k >= 0; --k) high[k] = reach[high[k + 1]];
    low[0] = tasks;
    for (i64 k = 0; k < nodes; ++k) {
        i64 first = low[k];
        while (first > 0 && reach[first - 1] >= low[k]) first -= 1;
        low[k + 1] = first;
    }
    for (i64 k = 0; k <= nodes; ++k) {
        if (!allow_empty) {
            low[k] = most(low[k], nodes - k);
            high[k] = least(high[k], tasks - k);
        }
        if (low[k] > high[k]) return false;
    }
    return true;
}

// Intersects the bands with others; returns false where a layer becomes empty.
inline bool narrow(Bands& bands, const std::vector<i64>& low, const std::vector<i64>& high) {
    bool feasible = true;
    for (std::size_t k = 0; k < low.size(); ++k) {
        bands.low[k] = most(bands.low[k], low[k]);
        bands.high[k] = least(bands.high[k], high[k]);
        feasible = feasible && bands.low[k] <= bands.high[k];
    }
    return feasible;
}

// Drops boundaries that no longer reach the previous layer; returns false where none is left.
inline bool tighten(Bands& bands, i64 k) {
    auto& [reach, low, high] = bands;
    const i64 behind = high[k - 1];
    high[k] = least(high[k], behind == i64(reach.size()) - 1 ? behind : behind - 1);
    while (low[k] <= high[k] && reach[low[k]] < low[k - 1]) low[k] += 1;
    return low[k] <= high[k];
}

// Drops boundaries at both ends that lose more than `max_lost`; `gain` is the layer's best. Returns false where none is left.
inline bool trim(Bands& bands, i64 k, const Floats& state_before, const Floats& gain, double max_lost) {
    i64 &low = bands.low[k], &high = bands.high[k];
    const double total = state_before[state_before.size() - 1];
    while (low <= high && total - state_before[low] - gain[low] > max_lost) low += 1;
    while (low <= high && total - state_before[high] - gain[high] > max_lost) high -= 1;
    return low <= high;
}

// The tasks in order, with the old intervals that hold some of them, and which of these holds each task.
struct OrderedTasks {
    Floats work_before, state_before;
    std::vector<i64> old_boundaries{0}, old_node;

    OrderedTasks(const Floats& work, const Floats& state, const Ints& boundaries) : work_before(work), state_before(state) {
        old_node.reserve(work.size());
        for (i64 j = 0; j + 1 < boundaries.size(); ++j)
            if (boundaries[j + 1] > boundaries[j]) {
                old_node.insert(old_node.end(), boundaries[j + 1] - boundaries[j], i64(old_boundaries.size()) - 1);
                old_boundaries.push_back(boundaries[j + 1]);
            }
    }
    i64 tasks() const { return i64(old_node.size()); }
    Ints old() const { return {old_boundaries.data(), {i64(old_boundaries.size())}}; }
};

struct Value {
    double gain;
    i64 moves;
};

// Whether a gain is larger than another, or equal with fewer moves.
inline bool better(const Value& value, const Value& than, double slack) {
    return value.gain > than.gain + slack || (value.gain >= than.gain - slack && value.moves < than.moves);
}
inline Value best_of(const Value& value, const Value& other, double slack) { return better(other, value, slack) ? other : value; }

// The cells of a layer: gain and moves at each boundary, first OPEN, then TAKEN.
struct Layer {
    FloatsOut gain[2];
    Array<std::int32_t, 1> moves[2];

    Value at(i64 state, i64 boundary) const { return {gain[state][boundary], moves[state][boundary]}; }
    void set(i64 state, i64 boundary, const Value& value) const {
        gain[state][boundary] = value.gain;
        moves[state][boundary] = std::int32_t(value.moves);
    }
};

// Memory of several layers.
struct Layers {
    std::vector<double> gain;
    std::vector<std::int32_t> moves;
    i64 size;

    Layers(i64 count, i64 tasks) : gain(2 * count * (tasks + 1)), moves(gain.size()), size(tasks + 1) {}
    Layer operator[](i64 k) {
        double* gains = &gain[2 * k * size];
        std::int32_t* counts = &moves[2 * k * size];
        return {{{gains, {size}}, {gains + size, {size}}}, {{counts, {size}}, {counts + size, {size}}}};
    }
};

struct Candidate {
    i64 boundary;
    Value value;
};

// Candidates of a near window, in falling order.
struct Queue {
    Array<Candidate, 1> candidates;
    i64 head = 0, tail = 0;

    // Adds a candidate behind all that are better and drops those that are not.
    void push(i64 boundary, const Value& value, double slack) {
        while (tail > head && !better(candidates[tail - 1].value, value, slack)) tail -= 1;
        candidates[tail++] = {boundary, value};
    }
    void clear() { head = tail = 0; }
    // The best candidate up to the window's end; those beyond are dropped.
    const Value& best(i64 end) {
        while (head < tail && candidates[head].boundary > end) head += 1;
        return candidates[head].value;
    }
};

// Working memory of one layer: the queues, and best cell and best pair of the far window, up to each boundary in the stack that
// shrinks, and last in the one that grows. Moves are counted from the first old node on.
struct Workspace {
    std::vector<Candidate> candidates;
    std::vector<Value> cell, pair;
    double node_gain = 0.0;  // most state of an old node that lies in the growing stack

    explicit Workspace(i64 tasks) : candidates(3 * (tasks + 2)), cell(tasks + 2), pair(tasks + 2) {}
    Queue queue(i64 k) {
        const i64 size = i64(cell.size());
        return {{&candidates[k * size], {size}}};
    }
};

// Puts the far window, from the end of `node` to `end`, into the stack that shrinks, and empties the other.
inline void turn_over(const OrderedTasks& line, const Layer& before, i64 node, i64 end, Workspace& room, double slack) {
    const Floats state = line.state_before;
    const Ints old = line.old();
    Value cell{-inf, 0}, pair{-inf, 0};
    double largest = -inf;
    for (i64 b = old[node + 1] + 1; b <= end; ++b) {
        while (old[node + 1] < b) node += 1;
        const Value open = before.at(OPEN, b), taken = before.at(TAKEN, b);
        cell = best_of(cell, {open.gain, open.moves + node}, slack);
        pair = best_of(pair, {taken.gain + state[b] - state[old[node]], taken.moves + node - 1}, slack);
        pair = best_of(pair, {largest + open.gain, open.moves + node - 1}, slack);
        if (old[node + 1] == b) largest = most(largest, state[b] - state[old[node]]);
        room.cell[b] = cell;
        room.pair[b] = pair;
    }
    room.cell.back() = room.pair.back() = {-inf, 0};
    room.node_gain = -inf;
}

// Adds the boundaries of `node`, which lies before all that it holds, to the stack that grows.
inline void grow(const OrderedTasks& line, const Layer& before, i64 node, Workspace& room, double slack) {
    const Floats state = line.state_before;
    const i64 begin = line.old_boundaries[node], end = line.old_boundaries[node + 1];
    Value cell = room.cell.back(), pair = room.pair.back();
    const double size = state[end] - state[begin];
    for (i64 b = end; b > begin; --b) {
        const Value open = before.at(OPEN, b), taken = before.at(TAKEN, b);
        cell = best_of(cell, {open.gain, open.moves + node}, slack);
        pair = best_of(pair, {taken.gain + state[b] - state[begin], taken.moves + node - 1}, slack);
        if (b == end) pair = best_of(pair, {size + cell.gain, cell.moves - 1}, slack);
    }
    room.cell.back() = cell;
    room.pair.back() = pair;
    room.node_gain = most(room.node_gain, size);
}

// Fills layer k from layer k - 1, `before`; `nothing_left` is the gain of k intervals for no task: 0 where intervals may be
// empty, else minus infinity.
inline void set_layer(const OrderedTasks& line, const Bands& bands, i64 k, const Layer before, const Layer layer,
                      double nothing_left, double slack, Workspace& room) {
    const Floats state = line.state_before;
    const Ints old = line.old();
    const i64 low = bands.low[k], furthest = bands.high[k - 1], tasks = line.tasks();
    for (i64 b = bands.low[least(k + 1, bands.nodes())]; b < low; ++b)  // the next layer looks here too
        layer.gain[OPEN][b] = layer.gain[TAKEN][b] = -inf;
    if (bands.high[k] == tasks)
        for (const i64 use : {OPEN, TAKEN}) layer.set(use, tasks, {nothing_left, 0});
    const i64 high = least(bands.high[k], tasks - 1);
    i64 node = line.old_node[high];
    i64 near = least(least(bands.reach[high], furthest), old[node + 1]);  // last boundary that is not yet in the queues
    i64 turned = tasks + 1;                                               // far boundaries beyond are in the stack that shrinks
    Queue leaves = room.queue(0), keeps = room.queue(1), after_taken = room.queue(2);
    for (i64 first = high; first >= low; --first) {
        const i64 end = least(bands.reach[first], furthest);
        if (first < old[node]) {
            if (end > turned) grow(line, before, node, room, slack);
            node -= 1;
            near = old[node + 1];
            leaves.clear();
            keeps.clear();
            after_taken.clear();
        }
        for (i64 b = near; b > first; --b) {
            const Value open_end = before.at(OPEN, b), taken_end = before.at(TAKEN, b);
            leaves.push(b, {open_end.gain, open_end.moves + 1}, slack);
            keeps.push(b, {taken_end.gain + state[b], taken_end.moves}, slack);
            after_taken.push(b, {taken_end.gain, taken_end.moves + 1}, slack);
        }
        near = first;
        Value open = leaves.best(end), taken = after_taken.best(end);
        const Value kept = keeps.best(end);
        open = best_of(open, {kept.gain - state[first], kept.moves}, slack);
        if (end > old[node + 1]) {
            if (end <= turned) {
                turn_over(line, before, node, end, room, slack);
                turned = old[node + 1];
            }
            // Best cell of the far window up to `end`, and best pair of a cell with an old node before it or none.
            Value cell = room.cell[end], pair = room.pair[end];
            pair = best_of(pair, {room.node_gain + cell.gain, cell.moves - 1}, slack);
            cell = best_of(cell, room.cell.back(), slack);
            pair = best_of(pair, room.pair.back(), slack);
            pair = best_of(pair, cell, slack);
            cell.moves = cell.moves - node + 1;
            pair.moves = pair.moves - node + 1;
            taken = best_of(taken, pair, slack);
            open = best_of(open, pair, slack);
            open = best_of(open, {cell.gain + state[old[node + 1]] - state[first], cell.moves - 1}, slack);
        }
        layer.set(OPEN, first, open);
        layer.set(TAKEN, first, first == old[node] ? open : taken);
    }
}

}  // namespace edrp::single_step
