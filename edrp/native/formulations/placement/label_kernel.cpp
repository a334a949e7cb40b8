// Labels are extended by all choices of one operator, and those that others dominate are dropped. A label is a partial placement
// with its exact finish times, cost, use of what is shared, and use of the nodes of open blocks
// (docs/explanation/equal_nodes.md).
#include "edrp/native/formulations/placement/code_tables.hpp"
#include "edrp/native/formulations/placement/codes.hpp"
#include "edrp/native/python.hpp"
#include "edrp/native/tolerances.hpp"

namespace edrp {
namespace {

// Columns of labels (formulations/placement/equal_nodes/labels.py).
constexpr i64 BOUND = 0, DONE = 1, COST = 2, DOWN = 3, SHARED = 4;
constexpr double FREE = -1.0;  // node of a block that may be on any
constexpr i64 COMPARED = 60;   // labels of a state that each further one is compared with

struct ChoiceRows {
    Ints number, classes, single, level;
    Floats latency, cost;
    Floats2 usage, load;
    Floats downtime;
    Ints anchor;
    FIELDS(number, classes, single, level, latency, cost, usage, load, downtime, anchor)
};

struct LabelLimits {
    Floats2 delay, room;
    Floats shared, scalars;
    Array<const double, 4> streams;
    FIELDS(delay, room, shared, scalars, streams)
};

struct Ahead {
    Ints codes;
    CodeTable table;
    Floats2 value, cut;
    Floats done, money;
    Floats2 shared;
    Floats constant, moved, tail, own_tail, rest;
    FIELDS(codes, table, value, cut, done, money, shared, constant, moved, tail, own_tail, rest)
};

struct LayerLabels {
    FloatsOut2 values;
    IntsOut code;
    Array<std::int32_t, 1> parent, row, local;
    FIELDS(values, code, parent, row, local)
};

// The turn of one operator, and the label that is extended, its code taken apart.
struct Extension {
    const OperatorTurn& turn;
    const ChoiceRows& rows;
    const LabelLimits& limits;
    const Ahead& ahead;
    const i64 width = turn.width[0], after = turn.kept.size() + turn.opens[0];
    const i64 resources = rows.load.shape[1], shared = limits.shared.size();
    const i64 times = SHARED + shared, loads = times + width, anchors = loads + width * resources;
    OpenOperators open = {};
    Floats values = {};

    // Whether a choice leaves enough of the cost and of what is shared for the operators to come.
    bool affordable(i64 row) const {
        if (values[COST] + rows.cost[row] + ahead.rest[0] > limits.scalars[5]) return false;
        for (i64 n = 0; n < shared; ++n)
            if (values[SHARED + n] + rows.usage(row, n) + ahead.rest[1 + n] > limits.shared[n] + QUOTIENT_USE_SLACK) return false;
        return true;
    }

    // Adds what the streams into the operator use; whether that leaves enough for the operators to come.
    bool add_streams(const FloatsOut& label, i64 classes) const {
        for (i64 number = 0; number < turn.parents.size(); ++number) {
            const i64 position = turn.parents[number], stream = turn.streams[number];
            if (open.is_joined(position)) continue;
            label[COST] += limits.streams(0, stream, open.classes[position], classes);
            for (i64 n = 0; n < shared; ++n) label[SHARED + n] += limits.streams(1 + n, stream, open.classes[position], classes);
        }
        for (i64 n = 0; n < shared; ++n)
            if (!(label[SHARED + n] + ahead.rest[1 + n] <= limits.shared[n] + QUOTIENT_USE_SLACK)) return false;
        return true;
    }

    // Load of the node that the operator joins with all of its replicas, which are counted in.
    double joined_load(i64 row, i64 m) const {
        double load = rows.load(row, m);
        for (i64 position = 0; position < width; ++position)
            if (open.joined[position]) load += values[loads + position * resources + m];
        return load;
    }

    // The node that the joined block has to be on: `FREE` for any, less where there are several.
    double anchor(i64 row) const {
        double node = double(rows.anchor[row]);
        for (i64 position = 0; position < width; ++position) {
            if (!open.joined[position] || values[anchors + position] == FREE) continue;
            if (node != FREE && node != values[anchors + position]) return FREE - 1.0;
            node = values[anchors + position];
        }
        return node;
    }

    // Whether the joined blocks and the operator fit on one node, where it is on one.
    bool fits(i64 row, i64 level) const {
        if (rows.single[row] == 0) return true;
        if (double(level + rows.level[row]) > limits.scalars[0]) return false;
        const double node = anchor(row);
        if (node < FREE) return false;
        const i64 place = node == FREE ? rows.classes[row] >> 1 : i64(limits.scalars[8]) + i64(node);
        for (i64 m = 0; m < resources; ++m)
            if (joined_load(row, m) > limits.room(place, m) + QUOTIENT_USE_SLACK) return false;
        return true;
    }

    // Completion time of the operator, in seconds after the source began.
    double finish(i64 row) const {
        double arrival = 0.0;
        for (i64 position : turn.parents) {
            double arrived = values[times + position];
            if (!open.is_joined(position)) arrived += limits.delay(open.classes[position], rows.classes[row]);
            arrival = most(arrival, arrived);
        }
        return arrival + rows.latency[row];
    }

    // Fills in a new label but for its bound; `open.first` says where the blocks begin now.
    void write(const FloatsOut& label, i64 row, double finish) const {
        const i64 new_loads = times + after, new_anchors = new_loads + after * resources;
        const bool opens = turn.opens[0] == 1;
        label[COST] = values[COST] + rows.cost[row];
        label[DOWN] = most(values[DOWN], rows.downtime[row]);
        label[DONE] = opens ? values[DONE] : most(values[DONE], finish);
        for (i64 n = 0; n < shared; ++n) label[SHARED + n] = values[SHARED + n] + rows.usage(row, n);
        for (i64 place = 0; place < turn.kept.size(); ++place) label[times + place] = values[times + turn.kept[place]];
        if (opens) label[new_loads - 1] = finish;
        for (i64 place = new_loads; place < new_anchors; ++place) label[place] = 0.0;
        for (i64 place = new_anchors; place < new_anchors + after; ++place) label[place] = FREE;
        for (i64 block = 0; block <= width; ++block) {
            const i64 place = open.first[block];
            if (place < 0) continue;
            for (i64 m = 0; m < resources; ++m)
                label[new_loads + place * resources + m] =
                    block < width ? values[loads + block * resources + m] : joined_load(row, m);
            label[new_anchors + place] = block < width ? values[anchors + block] : anchor(row);
        }
    }

    // The largest of all lower bounds on the objective of what becomes of a label, or one that reaches the cutoff.
    double bound(const FloatsOut& label, i64 target, double cutoff) const {
        double latest = label[DONE];
        for (i64 place = 0; place < after; ++place) latest = most(latest, label[times + place] + ahead.tail[place]);
        const double down = most(label[DOWN], limits.scalars[7]);
        double bound = limits.scalars[2] * latest + limits.scalars[3] * (label[COST] + ahead.rest[0]) + limits.scalars[6] * down;
        for (i64 view = 0; view < ahead.money.size() && !(bound >= cutoff); ++view) {
            double least = ahead.constant[view] + ahead.money[view] * label[COST] + ahead.done[view] * label[DONE] +
                           ahead.value(view, target);
            least += ahead.moved[view] * down;
            for (i64 n = 0; n < shared; ++n) least += ahead.shared(view, n) * label[SHARED + n];
            for (i64 place = 0; place < after; ++place) least += ahead.cut(view, place) * label[times + place];
            bound = most(bound, least);
        }
        return bound;
    }
};

// Extends labels from `first` on; returns the label it came to and how many were found.
std::tuple<i64, i64> extend_labels(const LayerLabels& labels, i64 first, const OperatorTurn& turn, const ChoiceRows& rows,
                                   const LabelLimits& limits, const Ahead& ahead, double cutoff, const LayerLabels& found) {
    Extension extension{turn, rows, limits, ahead};
    OpenOperators& open = extension.open;
    const i64 opens = turn.opens[0], full = i64(limits.scalars[1]), senders = i64{1} << turn.parents.size();
    i64 count = 0;
    for (i64 label = first; label < labels.code.size(); ++label) {
        if (count + rows.number.size() * senders > found.code.size()) return {label, count};
        extension.values = labels.values.row(label);
        const i64 used = labels.code[label] >> USED;
        take_apart(labels.code[label], extension.width, open);
        for (i64 row = 0; row < rows.number.size(); ++row) {
            if (!extension.affordable(row)) continue;
            const bool single = rows.single[row] == 1;
            const i64 classes = rows.classes[row];
            for (i64 chosen = single ? 1 - opens : 0; chosen < (single ? senders : 1); ++chosen) {
                const i64 joined = join(open, turn, chosen, classes);
                if (joined < 0 || !extension.fits(row, joined)) continue;
                const double finish = extension.finish(row);
                if (finish + ahead.own_tail[0] > limits.scalars[4]) continue;
                const i64 level = single && stays_open(open, turn) ? joined + rows.level[row] : 0;
                const i64 state = put_together(open, turn, single, classes, level) | ((used | classes) & full) << USED;
                const i64 target = code_number(state, ahead.codes, ahead.table);
                if (target < 0) continue;
                const FloatsOut made = found.values.row(count);
                extension.write(made, row, finish);
                if (limits.streams.shape[1] > 0 && !extension.add_streams(made, classes)) continue;
                made[BOUND] = extension.bound(made, target, cutoff);
                if (made[BOUND] < cutoff) {
                    found.code[count] = state;
                    found.parent[count] = std::int32_t(label);
                    found.row[count] = std::int32_t(rows.number[row]);
                    found.local[count] = std::int32_t(chosen);
                    count += 1;
                }
            }
        }
    }
    return {labels.code.size(), count};
}

// Whether this label dominates the other one: each completion of the other is one of this label at no higher objective.
//
// It may be later where the limit on response time cannot bind, if it is cheaper by as much. To be sooner is worth nothing for
// certain while sources are to come, from which the slowest path may begin.
bool dominates(const Floats& one, const Floats& other, const Ints& shape, const Floats& weights, const Ints& binding) {
    const i64 shared = shape[0], opened = shape[1], loads = SHARED + shared + opened, anchors = loads + shape[2];
    const i64 times = SHARED + shared;
    if (binding[shared + 1] == 1 && one[COST] > other[COST]) return false;
    for (i64 n = 0; n < shared; ++n)
        if (binding[n] == 1 && one[SHARED + n] > other[SHARED + n] + QUOTIENT_USE_SLACK) return false;
    for (i64 n = loads; n < anchors; ++n)
        if (one[n] > other[n] + QUOTIENT_USE_SLACK) return false;
    for (i64 n = anchors; n < anchors + opened; ++n)
        if (one[n] != other[n]) return false;
    double latest = 0.0, later = shape[3] ? 0.0 : -inf;
    for (i64 n = times; n < loads; ++n) {
        later = most(later, one[n] - other[n]);
        latest = most(latest, one[n]);
    }
    if (one[DONE] > latest || opened == 0) later = most(later, one[DONE] - other[DONE]);
    if (later > 0.0 && binding[shared] == 1) return false;
    const double longer = most(0.0, one[DOWN] - most(other[DOWN], weights[3]));
    return weights[0] * later + weights[1] * (one[COST] - other[COST]) + weights[2] * longer <= 0.0;
}

// The labels that no earlier one in `order` dominates; labels of a group stand together.
//
// `shape` are the number of shared things, of open operators, of loads and of sources to come; `weights` are objective per second
// of response time, per money/h and per second of downtime, and the least downtime; `binding` are 1 where a shared thing, the
// limit on response time (last but one) or that on cost (last) can bind.
std::vector<i64> undominated_labels(const Floats2& values, const Ints& order, const Ints& group, const Ints& shape,
                                    const Floats& weights, const Ints& binding) {
    std::vector<i64> undominated;
    i64 compared[COMPARED], count = 0;
    for (i64 position = 0; position < order.size(); ++position) {
        const Floats label = values.row(order[position]);
        if (position > 0 && group[position] != group[position - 1]) count = 0;
        bool keep = true;
        for (i64 number = 0; keep && number < count; ++number)
            keep = !dominates(values.row(compared[number]), label, shape, weights, binding);
        if (!keep) continue;
        undominated.push_back(order[position]);
        if (count < COMPARED) compared[count++] = order[position];
    }
    return undominated;
}

const Kernels here{kernel<extend_labels>("extend_labels", "Extend labels by all choices of one operator, in chunks."),
                   kernel<undominated_labels>("undominated_labels", "List the labels that no earlier one dominates.")};

}  // namespace
}  // namespace edrp
