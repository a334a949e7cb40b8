// All splits of an operator's tasks whose price is so low that the optimum may have them.
#include "edrp/native/formulations/migration/split_layer.hpp"

namespace edrp {
namespace {

// Least costs of the tasks from each place on, latency included, where no level below a given one is left to choose.
//
// The result has a row for each level. It is filled from the last place to the first. The deque of each node keeps the places
// where a replica that begins here may end: the lower of two is left behind later, so that a higher one stays only where it is
// cheaper, and the cheapest of all is in front.
Matrix<double> costs_to_go(const SplitLayer& layer, const Floats& unit, const Floats2& q, const Bools& on, double price) {
    const Floats share = layer.share;
    const i64 last = share.size() - 1, levels = layer.seconds.size(), longest = layer.longest;
    const bool mean = layer.range_seconds.shape[0] > 0;
    Matrix<double> costs(levels, last + 1);
    PlaceDeques deques(unit.size(), last + 1);
    for (i64 level = 0; level < levels; ++level) {
        const FloatsOut togo = costs.view().row(level);
        const Floats caps = layer.caps.row(level);
        togo[last] = 0.0;
        deques.clear();
        for (i64 a = last - 1; a >= 0; --a) {
            double best = inf;
            for (i64 u = 0; u < unit.size(); ++u) {
                if (!on[u]) continue;
                const Floats own = q.row(u);
                i64* const queue = deques.places(u);
                i64 front = deques.front(u), back = deques.back(u);
                if (std::isfinite(togo[a + 1])) {
                    const double key = own[a + 1] + togo[a + 1];
                    // Where latency is no part of the price, a dearer place that is left behind sooner is of no use.
                    while (!mean && back > front && !(own[queue[back - 1]] + togo[queue[back - 1]] < key)) --back;
                    queue[back++] = a + 1;
                }
                while (front < back && !(share[queue[front]] - share[a] <= caps[u] && queue[front] - a <= longest)) ++front;
                const i64 end = mean ? back : least(back, front + 1);
                for (i64 k = front; k < end; ++k) {
                    const i64 b = queue[k];
                    double value = unit[u] + own[b] - own[a] + togo[b];
                    if (mean) value += price * layer.range_seconds(a, b) / layer.speedup[u];
                    best = least(best, value);
                }
                deques.front(u) = front;
                deques.back(u) = back;
            }
            togo[a] = best;
        }
    }
    const FloatsOut2 togo = costs.view();
    for (i64 level = levels - 1; level >= 0; --level) {
        for (i64 a = 0; a <= last; ++a) {
            togo(level, a) += price * layer.seconds[level];
            if (level + 1 < levels) togo(level, a) = least(togo(level, a), togo(level + 1, a));
        }
    }
    return costs;
}

// On the way to a split: its last replica's node and where it ends, the level and the cost so far, and what is tried next.
struct PartialSplit {
    i64 node, place, level;
    double spent;
    i64 next_place, next_node;
};

// The largest share that a replica may have on any of the nodes, on the level that permits most.
double widest_share(const SplitLayer& layer, const Bools& on) {
    double widest = 0.0;
    for (i64 u = 0; u < on.size(); ++u)
        if (on[u]) widest = most(widest, layer.caps(layer.seconds.size() - 1, u));
    return widest;
}

// Whether the nodes of a split are all in one of the sets (bits).
bool inside_one(const PartialSplit* path, i64 replicas, const Ints& sets) {
    i64 used = 0;
    for (i64 k = 1; k <= replicas; ++k) used |= i64{1} << path[k].node;
    for (i64 set : sets)
        if ((used & ~set) == 0) return true;
    return false;
}

// Fills in number of replicas, and node and last place of each, of all splits into `fewest` to `most_replicas` replicas that cost
// at most `limit`; returns how many.
//
// Those whose nodes are all in one of the sets `smaller` (bits) are left out. Returns -1 where there are more than fit, or the
// search takes more steps.
i64 list_splits(const SplitLayer& layer, const Floats& unit, const Floats2& q, const Bools& on, double price, const Floats2& togo,
                double limit, i64 fewest, i64 most_replicas, const Ints& smaller, i64 steps, const IntsOut2& host,
                const IntsOut2& end, const IntsOut& number) {
    const i64 last = layer.share.size() - 1, levels = layer.seconds.size(), nodes = unit.size();
    const bool mean = layer.range_seconds.shape[0] > 0;
    const double widest = widest_share(layer, on);
    std::vector<PartialSplit> memory(std::size_t(most_replicas + 1));
    PartialSplit* const path = memory.data();
    PartialSplit split = {0, 0, 0, 0.0, 1, 0};  // of `depth` replicas; those before it are on the path
    i64 depth = 0, splits = 0;
    while (true) {
        const i64 a = split.place, b = split.next_place, u = split.next_node;
        if (b > least(last, a + layer.longest) || layer.share[b] - layer.share[a] > widest) {
            if (--depth < 0) return splits;
            split = path[depth];
            continue;
        }
        split.next_node = u + 1;
        if (u + 1 == nodes) {
            split.next_place = b + 1;
            split.next_node = 0;
        }
        if (--steps < 0) return -1;
        if (!on[u]) continue;
        const double share = layer.share[b] - layer.share[a];
        i64 level = split.level;  // the lowest one that permits the share
        while (level < levels && share > layer.caps(level, u)) ++level;
        if (level == levels) continue;
        double spent = split.spent + unit[u] + q(u, b) - q(u, a);
        if (mean) spent += price * layer.range_seconds(a, b) / layer.speedup[u];
        if (!(spent + togo(level, b) <= limit)) continue;
        if (b < last) {
            if (depth + 1 == most_replicas) continue;
            path[depth++] = split;
            split = {u, b, level, spent, b + 1, 0};
            continue;
        }
        path[depth] = split;
        path[depth + 1].node = u;
        if (depth + 1 < fewest || inside_one(path, depth + 1, smaller)) continue;
        if (splits == number.size()) return -1;
        number[splits] = depth + 1;
        path[depth + 1].place = b;
        for (i64 k = 0; k <= depth; ++k) {
            host(splits, k) = path[k + 1].node;
            end(splits, k) = path[k + 1].place;
        }
        splits += 1;
    }
}

const Kernels here{kernel<costs_to_go>("costs_to_go", "Least costs of the tasks from each place on, by least level."),
                   kernel<list_splits>("list_splits", "List all splits of an operator's tasks up to a cost.")};

}  // namespace
}  // namespace edrp
