// Which supervisors of each class take which pattern, for the shortest longest path
// (edrp/formulations/placement/column_generation/tree.py).
#include "edrp/native/python.hpp"

namespace edrp {
namespace {

struct ChosenPatterns {
    Ints owner, holders, holders_start, source, target;
    Floats2 delay, from_class, to_class, between;
    FIELDS(owner, holders, holders_start, source, target, delay, from_class, to_class, between)
};

struct ClassMembers {
    Ints member, start, twin;
    FIELDS(member, start, twin)
};

// Seconds from pattern p to pattern q, or where they have no node as near as any member of their class may be.
inline double least_delay(const Ints& node, const ChosenPatterns& chosen, i64 p, i64 q) {
    if (p == q) return 0.0;
    const i64 u = node[p], v = node[q];
    if (u >= 0) return v >= 0 ? chosen.delay(u, v) : chosen.to_class(chosen.owner[q], u);
    return v >= 0 ? chosen.from_class(chosen.owner[p], v) : chosen.between(chosen.owner[p], chosen.owner[q]);
}

// Seconds of the slowest path through instances; those of an operator in one pattern arrive together.
//
// The last column of `arrival` is that at the last instance of each operator; an operator that no pattern holds, as in a part of
// a choice, is passed without delay. Patterns without a node (-1) are as near as any member of their class may be.
double longest_path(const Ints& node, const ChosenPatterns& chosen, const FloatsOut2& arrival) {
    arrival.fill(0.0);
    const i64 last = arrival.shape[1] - 1;
    double longest = 0.0;
    for (i64 e = 0; e < chosen.source.size(); ++e) {
        const i64 a = chosen.source[e], b = chosen.target[e], first = chosen.holders_start[a], end = chosen.holders_start[a + 1];
        arrival(b, last) = most(arrival(b, last), arrival(a, last));
        for (i64 j = chosen.holders_start[b]; j < chosen.holders_start[b + 1]; ++j) {
            const i64 q = chosen.holders[j];
            double seconds = first == end ? arrival(a, last) : 0.0;
            for (i64 i = first; i < end; ++i) {
                const i64 p = chosen.holders[i];
                seconds = most(seconds, arrival(a, p) + least_delay(node, chosen, p, q));
            }
            arrival(b, q) = most(arrival(b, q), seconds);
            arrival(b, last) = most(arrival(b, last), seconds);
        }
        longest = most(longest, arrival(b, last));
    }
    return longest;
}

// Whether node u is free, and the first of the nodes with its delays.
inline bool is_first_free(i64 u, const Ints& twin, const std::vector<bool>& used) {
    return !used[u] && (twin[u] < 0 || used[twin[u]]);
}

// Searches depth-first over the patterns in use, each on the members of its class, nearest bound first.
//
// Equal patterns of a class take members in order, and of members that are equally far from everything the first free one is
// taken: the first placement in lexicographic order survives among all that are alike. `same_as_last` says whether a pattern
// equals the one before, class included. Paths at least as long as the cutoff are not wanted; `best` stays as it is where none is
// shorter. Returns the seconds of the best path (the cutoff where there is none) and nodes searched; beyond `max_nodes` the
// search was given up.
std::tuple<double, i64> search_labels(const ChosenPatterns& chosen, const Bools& same_as_last, const ClassMembers& members,
                                      double cutoff, i64 max_nodes, const IntsOut& best) {
    const i64 size = chosen.owner.size();
    i64 widest = 0;
    for (i64 c = 0; c < members.start.size() - 1; ++c) widest = most(widest, members.start[c + 1] - members.start[c]);
    Matrix<double> bounds(size, widest), arrivals(chosen.holders_start.size() - 1, size + 1);
    std::vector<i64> nodes(size, -1), position(size, -1);
    std::vector<bool> used(members.twin.size(), false);
    const FloatsOut2 bound = bounds.view(), arrival = arrivals.view();
    const IntsOut node{nodes.data(), {size}};
    i64 searched = 0, k = 0;
    bool opened = false;
    while (k >= 0) {
        const i64 first = members.start[chosen.owner[k]], width = members.start[chosen.owner[k] + 1] - first;
        if (!opened) {
            searched += 1;
            if (searched > max_nodes) break;
            for (i64 i = 0; i < width; ++i) {
                node[k] = members.member[first + i];
                const bool passed = same_as_last[k] && i < position[k - 1];
                const bool free = !passed && is_first_free(node[k], members.twin, used);
                bound(k, i) = free ? longest_path(node, chosen, arrival) : inf;
            }
        } else if (node[k] >= 0) {
            used[node[k]] = false;
        }
        node[k] = -1;
        opened = true;
        i64 nearest = 0;  // of equal ones the first
        for (i64 i = 1; i < width; ++i)
            if (bound(k, i) < bound(k, nearest)) nearest = i;
        const double least = bound(k, nearest);
        bound(k, nearest) = inf;
        if (!(least < cutoff)) {
            k -= 1;
        } else if (k + 1 == size) {
            cutoff = least;
            copy(node, best);
            best[k] = members.member[first + nearest];
        } else {
            node[k] = members.member[first + nearest];
            position[k] = nearest;
            used[node[k]] = true;
            k += 1;
            opened = false;
        }
    }
    return {cutoff, searched};
}

const Kernels here{
    kernel<longest_path>("longest_pattern_path",
                         "Seconds of the longest path through instances in patterns, some without a node."),
    kernel<search_labels>("label_supervisors", "The supervisors that take the patterns in use, for the shortest longest path."),
};

}  // namespace
}  // namespace edrp
