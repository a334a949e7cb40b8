// An exact search for nodes of blocks and boxes of other operators, whose replicas all need equally much. With nodes and boxes
// chosen, the replicas are a flow from operators to nodes (formulations/placement/equal_nodes/realisation.py).
#include "edrp/native/python.hpp"
#include "edrp/native/tolerances.hpp"

namespace edrp {
namespace {

constexpr i64 GAVE_UP = -1, NONE = 0, PLACED = 1;

struct ItemsToPlace {
    Floats2 free;
    Floats unit;
    Ints kind;
    Floats2 load;
    Bools2 allowed;
    Ints total, first;
    Ints2 fewest, most;
    FIELDS(free, unit, kind, load, allowed, total, first, fewest, most)
};

// Replicas of operators on nodes at least, at most and as they flow, the free places of nodes, and memory for augmenting paths:
// the operator and node from which each node is reached, and the nodes in line.
struct ReplicaFlow {
    IntsOut2 fewest, most, counts;
    IntsOut slots;
    IntsOut2 came;
    IntsOut line;
};

// Fills in the bounds of each operator by node: those of its box, or the hull of all where none is chosen (-1).
void fill_bounds(const ItemsToPlace& items, const IntsOut& box, const ReplicaFlow& flow) {
    for (i64 i = 0; i < items.total.size(); ++i) {
        for (i64 v = 0; v < items.kind.size(); ++v) {
            if (box[i] >= 0) {
                flow.fewest(i, v) = items.fewest(box[i], v);
                flow.most(i, v) = items.most(box[i], v);
                continue;
            }
            i64 lower = items.total[i] + 1, upper = -1;
            for (i64 b = items.first[i]; b < items.first[i + 1]; ++b) {
                lower = least(lower, items.fewest(b, v));
                upper = most(upper, items.most(b, v));
            }
            flow.fewest(i, v) = lower;
            flow.most(i, v) = upper;
        }
    }
}

// Places one more replica of an operator along a shortest path.
bool augment(i64 i, const ReplicaFlow& flow) {
    const i64 operators = flow.counts.shape[0], nodes = flow.counts.shape[1];
    i64 head = 0, tail = 0;
    for (i64 v = 0; v < nodes; ++v) {
        flow.came(0, v) = -1;
        if (flow.counts(i, v) < flow.most(i, v)) {
            flow.came(0, v) = i;
            flow.came(1, v) = -1;
            flow.line[tail++] = v;
        }
    }
    while (head < tail) {
        i64 u = flow.line[head++];
        if (flow.slots[u] > 0) {
            flow.slots[u] -= 1;
            while (u >= 0) {
                const i64 k = flow.came(0, u), before = flow.came(1, u);
                flow.counts(k, u) += 1;
                if (before >= 0) flow.counts(k, before) -= 1;
                u = before;
            }
            return true;
        }
        for (i64 k = 0; k < operators; ++k) {
            if (flow.counts(k, u) <= flow.fewest(k, u)) continue;
            for (i64 v = 0; v < nodes; ++v) {
                if (flow.came(0, v) >= 0 || flow.counts(k, v) >= flow.most(k, v)) continue;
                flow.came(0, v) = k;
                flow.came(1, v) = u;
                flow.line[tail++] = v;
            }
        }
    }
    return false;
}

// Whether all replicas find room; operators give up nodes for others along augmenting paths.
bool find_flow(const ItemsToPlace& items, const FloatsOut2& free, const ReplicaFlow& flow) {
    const i64 nodes = items.kind.size(), operators = items.total.size();
    i64 all = 0;
    for (i64 replicas : items.total) all += replicas;
    copy(flow.fewest, flow.counts);
    for (i64 v = 0; v < nodes; ++v) {
        double slots = double(all);  // compared before it is made whole: a quotient may be beyond all whole numbers
        for (i64 m = 0; m < items.unit.size(); ++m)
            if (items.unit[m] > 0 && std::isfinite(free(v, m)))
                slots = least(slots, std::floor((free(v, m) + QUOTIENT_USE_SLACK) / items.unit[m]));
        flow.slots[v] = i64(slots);
    }
    for (i64 v = 0; v < nodes; ++v) {
        for (i64 i = 0; i < operators; ++i) flow.slots[v] -= flow.counts(i, v);
        if (flow.slots[v] < 0) return false;
    }
    for (i64 i = 0; i < operators; ++i) {
        i64 left = items.total[i];
        for (i64 v = 0; v < nodes; ++v) left -= flow.counts(i, v);
        if (left < 0) return false;
        for (i64 v = 0; v < nodes; ++v) {
            const i64 more = most<i64>(0, least(least(left, flow.slots[v]), flow.most(i, v) - flow.counts(i, v)));
            flow.counts(i, v) += more;
            flow.slots[v] -= more;
            left -= more;
        }
        for (; left > 0; --left)
            if (!augment(i, flow)) return false;
    }
    return true;
}

// The next node after one on which a block fits, unlike those before it; the number of nodes where there is none.
i64 next_node(const ItemsToPlace& items, i64 block, i64 node, const FloatsOut2& free) {
    const i64 resources = items.unit.size();
    for (i64 v = node + 1; v < items.kind.size(); ++v) {
        bool possible = items.allowed(block, v);
        for (i64 m = 0; possible && m < resources; ++m) possible = items.load(block, m) <= free(v, m) + QUOTIENT_USE_SLACK;
        for (i64 u = 0; possible && u < v; ++u) {
            bool alike = items.kind[u] == items.kind[v];
            for (i64 m = 0; alike && m < resources; ++m) alike = free(u, m) == free(v, m);
            possible = !alike;
        }
        if (possible) return v;
    }
    return items.kind.size();
}

// Takes the next choice of the last level that has one, and gives back those after it; returns the level, 0 for none.
i64 next_choice(const ItemsToPlace& items, i64 level, const FloatsOut2& free, const IntsOut& node, const IntsOut& box) {
    const i64 blocks = items.load.shape[0], resources = items.unit.size();
    for (; level > 0; --level) {
        i64 i = level - 1;
        if (i < blocks) {
            for (i64 m = 0; m < (node[i] >= 0 ? resources : 0); ++m) free(node[i], m) += items.load(i, m);
            node[i] = next_node(items, i, node[i], free);
            if (node[i] < items.kind.size()) {
                for (i64 m = 0; m < resources; ++m) free(node[i], m) -= items.load(i, m);
                return level;
            }
            node[i] = -1;
        } else {
            i -= blocks;
            box[i] = box[i] < 0 ? items.first[i] : box[i] + 1;
            if (box[i] < items.first[i + 1]) return level;
            box[i] = -1;
        }
    }
    return 0;
}

// Fills in the node of each block and the replicas of each operator and node; returns the outcome.
i64 place_items(const ItemsToPlace& items, i64 most_flows, const IntsOut& node, const IntsOut2& counts) {
    const i64 blocks = items.load.shape[0], operators = items.total.size(), nodes = items.kind.size();
    Matrix<double> free(items.free.shape[0], items.free.shape[1]);
    copy(items.free, free.view());
    Matrix<i64> fewest(operators, nodes), most(operators, nodes), came(2, nodes);
    std::vector<i64> slots(std::size_t(nodes), 0), line(slots), boxes(std::size_t(operators), -1);
    const IntsOut box{boxes.data(), {operators}};
    const ReplicaFlow flow{fewest.view(), most.view(), counts, {slots.data(), {nodes}}, came.view(), {line.data(), {nodes}}};
    for (i64 i = 0; i < blocks; ++i) node[i] = -1;
    i64 level = 0;
    for (i64 flows = 0; flows < most_flows; ++flows) {
        fill_bounds(items, box, flow);
        if (find_flow(items, free.view(), flow)) {
            if (level == blocks + operators) return PLACED;
            level += 1;
        }
        level = next_choice(items, level, free.view(), node, box);
        if (level == 0) return NONE;
    }
    return GAVE_UP;
}

const Kernels here{
    kernel<place_items>("place_items", "Find nodes of blocks and boxes of operators so that all replicas have room.")};

}  // namespace
}  // namespace edrp
