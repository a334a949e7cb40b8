// Search over labels of the layered graph, least bound first: their order, dominance between them, and their use of resources.
#include "edrp/native/formulations/mapping/layered_graph.hpp"
#include "edrp/native/python.hpp"
#include "edrp/native/tolerances.hpp"

namespace edrp {
namespace {

using Floats4 = Array<const double, 4>;
using Ints32Out2 = Array<std::int32_t, 2>;
using Ints32Out3 = Array<std::int32_t, 3>;

constexpr i64 COUNT = 0, HEAP = 1, POPPED = 2, INCUMBENT = 3, CHILDREN = 4, COMPARED = 5;
constexpr i64 CUTOFF = 0, BOUND = 1, BEST = 2, TOLERANCE = 3;
constexpr i64 FINISHED = 0, PAUSED = 1, FULL = 2, WHOLE = 3;

struct MapLabels {
    Ints32Out server, mapped, left, leaving, parent, move, next, alive;
    FloatsOut cost, priced, bound, plenty;
    IntsOut marks;
    FloatsOut2 residual;
    Ints32Out heap;
    Ints32Out3 heads, visits;
    IntsOut counters;
    FloatsOut values;
    Ints32Out2 child;
    FloatsOut2 child_cost;
    FIELDS(server, mapped, left, leaving, parent, move, next, alive, cost, priced, bound, plenty, marks, residual, heap, heads,
           visits, counters, values, child, child_cost)
};

struct Tracked {
    Ints32 slot;
    Array<const std::int32_t, 2> start;
    Floats sums, scale;
    FIELDS(slot, start, sums, scale)
};

struct Guide {
    UsePrices plain;
    ToGo togo;
    UsePrices priced;
    ToGo priced_togo;
    ToGoArrays<const double, 4> through, priced_through;
    FIELDS(plain, togo, priced, priced_togo, through, priced_through)
};

// A label that may follow from the one looked at.
struct Child {
    i64 leaving, server, mapped, left, move;
    double cost, priced, need;
};

// All that stands at three indices.
Floats at(const Floats4& table, i64 j, i64 t, i64 v) {
    const i64 last = table.shape[3];
    return {table.data + ((j * table.shape[1] + t) * table.shape[2] + v) * last, {last}};
}

bool before(const MapLabels& labels, i64 a, i64 b) {
    const FloatsOut& bound = labels.bound;
    return bound[a] < bound[b] || (bound[a] == bound[b] && labels.mapped[a] > labels.mapped[b]);
}

// Puts a label on the heap.
void push(const MapLabels& labels, i64 label) {
    const Ints32Out& heap = labels.heap;
    i64 place = labels.counters[HEAP]++;
    while (place > 0) {
        const i64 above = (place - 1) >> 1;
        if (!before(labels, label, heap[above])) break;
        heap[place] = heap[above];
        place = above;
    }
    heap[place] = std::int32_t(label);
}

// Takes the label of least bound off the heap; of equal labels the one with most components mapped.
i64 pop(const MapLabels& labels) {
    const Ints32Out& heap = labels.heap;
    const i64 size = --labels.counters[HEAP], best = heap[0], label = heap[size];
    i64 place = 0;
    while (2 * place + 1 < size) {
        i64 below = 2 * place + 1;
        if (below + 1 < size && before(labels, heap[below + 1], heap[below])) ++below;
        if (!before(labels, heap[below], label)) break;
        heap[place] = heap[below];
        place = below;
    }
    heap[place] = std::int32_t(label);
    return best;
}

bool leaves_no_less(const MapLabels& labels, i64 a, i64 b) {
    if ((labels.marks[b] & ~labels.marks[a]) || labels.plenty[a] < labels.plenty[b] || labels.left[a] < labels.left[b])
        return false;
    const i64 slots = labels.residual.shape[1];
    const double *first = labels.residual.data + a * slots, *second = labels.residual.data + b * slots;
    i64 slot = 0;
    while (slot < slots && first[slot] >= second[slot]) ++slot;
    return slot == slots;
}

// Adds a label to those of its place unless another dominates it (costs no more, leaves no less); drops dominated ones.
bool admitted(const MapLabels& labels, i64 added) {
    const Ints32Out& after = labels.next;
    std::int32_t& head = labels.heads(labels.leaving[added], labels.mapped[added], labels.server[added]);
    const double cost = labels.cost[added];
    i64 other = head, last = -1;
    while (other >= 0 && labels.cost[other] <= cost) {
        labels.counters[COMPARED] += 1;
        if (leaves_no_less(labels, other, added)) return false;
        last = other;
        other = after[other];
    }
    after[added] = std::int32_t(other);
    (last < 0 ? head : after[last]) = std::int32_t(added);
    last = added;
    for (; other >= 0; other = after[other]) {
        labels.counters[COMPARED] += 1;
        if (leaves_no_less(labels, added, other)) {
            labels.alive[other] = 0;
            after[last] = after[other];
        } else {
            last = other;
        }
    }
    return true;
}

// The amount of a resource that a label's map uses.
double used(const LayeredGraph& graph, const MapLabels& labels, i64 label, i64 resource) {
    const i64 servers = graph.servers(), arcs = graph.arcs();
    double amount = 0.0;
    for (i64 parent; (parent = labels.parent[label]) >= 0; label = parent) {
        const i64 j = labels.mapped[parent], move = labels.move[label];
        if (resource < servers) {
            if (labels.server[label] == resource)
                for (i64 i = j; i < labels.mapped[label]; ++i) amount += graph.needs[i];
        } else if (resource < servers + arcs) {
            if (move == resource - servers) amount += graph.rates[j];
        } else if (move >= arcs) {
            const i64 end = resource - servers - arcs;
            if (end == labels.server[parent] || end - servers == labels.server[label]) amount += graph.rates[j];
        }
    }
    return amount;
}

bool within(const LayeredGraph& graph, const MapLabels& labels, i64 label, i64 resource) {
    const double limit = graph.limit[resource];
    return limit == inf || used(graph, labels, label, resource) <= limit * (1 + MAP_USE_SLACK);
}

// Whether a label's map keeps to every limit.
bool within_limits(const LayeredGraph& graph, const MapLabels& labels, i64 label) {
    const i64 servers = graph.servers(), arcs = graph.arcs();
    i64 step = label;
    for (i64 parent; (parent = labels.parent[step]) >= 0; step = parent) {
        const i64 move = labels.move[step];
        if (labels.mapped[step] > labels.mapped[parent] && !within(graph, labels, label, labels.server[step])) return false;
        if (move >= arcs) {
            if (!within(graph, labels, label, servers + arcs + labels.server[parent])) return false;
            if (!within(graph, labels, label, 2 * servers + arcs + labels.server[step])) return false;
        } else if (move >= 0 && !within(graph, labels, label, servers + move)) {
            return false;
        }
    }
    return true;
}

// The amount of a resource that may still be taken; without `checked`, only tracked resources are limited.
double room(const LayeredGraph& graph, const Tracked& tracked, const MapLabels& labels, i64 label, i64 resource, bool checked) {
    const double limit = graph.limit[resource];
    if (checked) return limit == inf ? limit : limit - used(graph, labels, label, resource);
    const i64 slot = tracked.slot[resource];
    return slot < 0 ? inf : labels.residual(label, slot) + LABEL_USE_SLACK * limit;
}

// Enters the use of a resource in a label's row, if it is tracked.
void take(const Ints32& slots, const FloatsOut& residual, i64 resource, double amount) {
    const i64 slot = slots[resource];
    if (slot >= 0) residual[slot] = most(0.0, residual[slot] - amount);
}

// The maximum that components and hops from j on can take of the remaining amount of a resource.
double rounded(const Tracked& tracked, i64 slot, i64 j, double value) {
    i64 low = tracked.start(slot, j), high = tracked.start(slot, j + 1);
    if (low == high) return value;
    value += LABEL_SUM_SLACK * tracked.sums[high - 1];
    while (high - low > 1) {
        const i64 middle = (low + high) >> 1;
        (tracked.sums[middle] <= value ? low : high) = middle;
    }
    return tracked.sums[low];
}

// Stores the remaining amounts of tracked resources, as far as they can still matter. They are rounded down to amounts that the
// rest of the task can take, and to 0 where a map that takes any of them costs too much: `through` and `priced`, one of each
// resource, are lower bounds on the further cost of such a map.
void remember(const LayeredGraph& graph, const Tracked& tracked, const MapLabels& labels, i64 i, i64 added, double need,
              const Floats& through, const Floats& priced) {
    const i64 servers = graph.servers(), arcs = graph.arcs(), slots = labels.residual.shape[1];
    const i64 move = labels.move[added], j = labels.mapped[added];
    const double rate = graph.rates[labels.mapped[i]];
    const FloatsOut residual = labels.residual.row(added);
    copy(labels.residual.row(i), residual);
    if (move >= arcs) {
        take(tracked.slot, residual, servers + arcs + labels.server[i], rate);
        take(tracked.slot, residual, 2 * servers + move, rate);
    } else if (move >= 0) {
        take(tracked.slot, residual, servers + move, rate);
    }
    if (need > 0) take(tracked.slot, residual, labels.server[added], need);
    const double spare = labels.values[CUTOFF] - labels.cost[added], priced_spare = labels.values[CUTOFF] - labels.priced[added];
    double plenty = 0.0;
    std::uint64_t marks = 0;
    for (i64 slot = 0; slot < slots; ++slot) {
        double value = 0.0;
        if (through[slot] < spare && priced[slot] < priced_spare) value = rounded(tracked, slot, j, residual[slot]);
        residual[slot] = value;
        const double share = value * tracked.scale[slot];
        plenty += share;
        if (share > 0) marks |= std::uint64_t(1) << (slot & 31);
        if (share > 0.5) marks |= std::uint64_t(1) << (32 + (slot & 31));
    }
    labels.plenty[added] = plenty;
    labels.marks[added] = i64(marks);
}

// Enters a label that follows from label i, unless it cannot improve on the best map or another dominates it.
void enter(const LayeredGraph& graph, const Guide& guide, const Tracked& tracked, const MapLabels& labels, i64 i, i64 row,
           i64 width) {
    const std::int32_t* child = &labels.child(row, 0);
    const double* costs = &labels.child_cost(row, 0);
    const i64 leaving = child[0], v = child[1], j = child[2], left = child[3];
    const double cost = costs[0], priced = costs[1];
    const i64 t = leaving == 1 ? graph.budget(left) : left;
    const double plain = (leaving == 1 ? guide.togo.leaving : guide.togo.arrived)(j, t, v);
    const double under = (leaving == 1 ? guide.priced_togo.leaving : guide.priced_togo.arrived)(j, t, v);
    const double bound = most(most(labels.bound[i], cost + plain), priced + under);
    if (bound >= labels.values[CUTOFF] || (width > 0 && labels.visits(leaving, j, v) >= width)) return;
    const i64 added = labels.counters[COUNT];
    labels.server[added] = child[1];
    labels.mapped[added] = child[2];
    labels.left[added] = child[3];
    labels.leaving[added] = child[0];
    labels.parent[added] = std::int32_t(i);
    labels.move[added] = child[4];
    labels.alive[added] = 1;
    labels.cost[added] = cost;
    labels.priced[added] = priced;
    labels.bound[added] = bound;
    if (width == 0) {
        const auto &through = guide.through, &priced_through = guide.priced_through;
        remember(graph, tracked, labels, i, added, costs[2], at(leaving == 1 ? through.leaving : through.arrived, j, t, v),
                 at(leaving == 1 ? priced_through.leaving : priced_through.arrived, j, t, v));
        if (!admitted(labels, added)) return;
    }
    labels.counters[COUNT] += 1;
    if (j == graph.components() && v == graph.delivery && cost < labels.values[BEST] && within_limits(graph, labels, added)) {
        labels.values[BEST] = cost;
        labels.values[CUTOFF] = least(labels.values[CUTOFF], cost - labels.values[TOLERANCE] * cost);
        labels.counters[INCUMBENT] = added;
    }
    push(labels, added);
}

void propose(const MapLabels& labels, const Child& child) {
    const i64 row = labels.counters[CHILDREN]++;
    const i64 place[] = {child.leaving, child.server, child.mapped, child.left, child.move};
    for (i64 k = 0; k < 5; ++k) labels.child(row, k) = std::int32_t(place[k]);
    labels.child_cost(row, 0) = child.cost;
    labels.child_cost(row, 1) = child.priced;
    labels.child_cost(row, 2) = child.need;
}

// Proposes labels with one or more further components on the server, or on those to which a public hop leads. At the end of the
// task a public hop leads to the delivery, without a component.
void host(const LayeredGraph& graph, const Guide& guide, const Tracked& tracked, const MapLabels& labels, i64 i, bool dialled,
          i64 left, bool checked) {
    const i64 u = labels.server[i], j = labels.mapped[i], components = graph.components();
    const i64 servers = graph.servers(), arcs = graph.arcs();
    const double rate = graph.rates[j];
    double cost = labels.cost[i];
    if (dialled) {
        if (guide.plain.up(j, u) == inf || rate > room(graph, tracked, labels, i, servers + arcs + u, checked)) return;
        cost += guide.plain.up(j, u);
    }
    for (i64 v = dialled ? 0 : u; v < (dialled ? servers : u + 1); ++v) {
        const i64 move = dialled ? arcs + v : HOST;
        double priced = labels.priced[i];
        if (dialled) {
            const bool ends = v == u || guide.plain.down(j, v) == inf;
            if (ends || rate > room(graph, tracked, labels, i, 2 * servers + arcs + v, checked)) continue;
            priced += guide.priced.up(j, u) + guide.priced.down(j, v);
            if (j == components && v == graph.delivery) propose(labels, {1, v, j, left, move, cost, priced, 0.0});
        }
        const double limit = least(graph.limit[v], room(graph, tracked, labels, i, v, checked));
        double need = 0.0;
        for (i64 k = j; k < components; ++k) {
            need += graph.needs[k];
            if (need > limit || guide.plain.host(k, v) == inf) break;
            priced += guide.priced.host(k, v);
            propose(labels, {1, v, k + 1, left, move, cost, priced, need});
        }
    }
}

// Proposes labels that a link leads to.
void travel(const LayeredGraph& graph, const Guide& guide, const Tracked& tracked, const MapLabels& labels, i64 i, i64 left,
            bool checked) {
    const i64 u = labels.server[i], j = labels.mapped[i], servers = graph.servers();
    for (i64 a = graph.first[u]; a < graph.first[u + 1]; ++a) {
        const double price = guide.plain.arc(j, a);
        if (price < inf && graph.rates[j] <= room(graph, tracked, labels, i, servers + a, checked))
            propose(labels,
                    {0, graph.target[a], j, left, a, labels.cost[i] + price, labels.priced[i] + guide.priced.arc(j, a), 0.0});
    }
}

// Examines at most `max_labels` labels; returns why it came back, and the label in the case of WHOLE. With width 0, exact as far
// as tracked resources go: labels overlook all limits that are not tracked. Else for good maps: labels keep to every limit, none
// makes another needless, but only `width` of each place are looked at.
std::tuple<i64, i64> search(const LayeredGraph& graph, const Guide& guide, const Tracked& tracked, const MapLabels& labels,
                            i64 width, i64 max_labels) {
    const bool checked = width > 0;
    for (i64 turn = 0; turn < max_labels; ++turn) {
        if (labels.counters[HEAP] == 0) {
            labels.values[BOUND] = labels.values[CUTOFF];
            return {FINISHED, -1};
        }
        if (labels.counters[COUNT] + labels.child.shape[0] > labels.server.size()) return {FULL, -1};
        const i64 i = pop(labels);
        if (!labels.alive[i]) continue;
        if (labels.bound[i] >= labels.values[CUTOFF]) {
            labels.values[BOUND] = labels.values[CUTOFF];
            labels.counters[HEAP] = 0;
            return {FINISHED, -1};
        }
        const i64 u = labels.server[i], j = labels.mapped[i], left = labels.left[i], leaving = labels.leaving[i];
        labels.counters[POPPED] += 1;
        labels.values[BOUND] = labels.bound[i];
        if (checked && ++labels.visits(leaving, j, u) > width) continue;
        if (j == graph.components() && u == graph.delivery) return {WHOLE, i};
        labels.counters[CHILDREN] = 0;
        const i64 fresh = leaving == 1 || graph.budgets > 1 ? left : graph.empty;
        for (const bool dialled : {false, true})
            if (leaving == dialled || labels.parent[i] < 0) host(graph, guide, tracked, labels, i, dialled, fresh, checked);
        const i64 onward = leaving == 1 ? left : left - 1;
        if (onward >= 0) travel(graph, guide, tracked, labels, i, onward, checked);
        for (i64 row = 0; row < labels.counters[CHILDREN]; ++row) enter(graph, guide, tracked, labels, i, row, width);
    }
    return {PAUSED, -1};
}

const Kernels here{
    kernel<search>("search_labels", "Examines labels of beginnings of maps, least bound first, and enters what follows.")};

}  // namespace
}  // namespace edrp
