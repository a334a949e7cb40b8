// Numbers, lists and prepares the partitions of a class, which are the paths of a graph (mdp/trie.py).
#include "edrp/native/mdp/trie.hpp"

#include "edrp/native/python.hpp"

namespace edrp {
namespace {

void number_leaves(const Trie& trie, const IntsOut& arc_leaves, const IntsOut& arc_prefixes, const IntsOut& prefixes) {
    for (i64 v = trie.boundary.size() - 1; v >= 0; --v) {
        i64 leaf = 0, prefix = 1;
        for (i64 e = trie.arc_start[v]; e < trie.arc_start[v + 1]; ++e) {
            arc_leaves[e] = leaf;
            arc_prefixes[e] = prefix;
            leaf += trie.leaves[trie.arc_target[e]];
            prefix += prefixes[trie.arc_target[e]];
        }
        if (trie.leaves[v] > 1) prefixes[v] = prefix;
    }
}

Matrix<i64> path_arcs(const Trie& trie, const Ints& leaves) {
    Matrix<i64> rows(leaves.size(), trie.nodes);
    const IntsOut2 arcs = rows.view();
    for (i64 row = 0; row < leaves.size(); ++row) {
        i64 place = 0, leaf = leaves[row];
        for (i64 k = 0; k < trie.nodes; ++k) {
            const i64 e = arc_below(trie, place, leaf);
            arcs(row, k) = e;
            leaf -= trie.arc_leaves[e];
            place = trie.arc_target[e];
        }
    }
    return rows;
}

// Where a walk over prefixes stands: place, its number, its first leaf, the next arc, all along the current prefix.
struct Step {
    i64 place = 0, prefix = 0, leaf = 0, arc = 0;
};

// A residue is a value less the prices of the partition's arcs.
void least_residues(const Trie& trie, const Floats& values, const Floats& price, const FloatsOut& residue) {
    if (trie.count == 0) return;
    std::vector<Step> path(trie.nodes + 1);
    double paid = 0.0;
    i64 k = 0;
    path[0].arc = trie.arc_start[0];
    residue[0] = inf;
    while (k >= 0) {
        Step* const step = &path[k];
        if (trie.leaves[step->place] == 1) {
            double rest = paid;
            for (i64 w = step->place; trie.arc_start[w] < trie.arc_start[w + 1]; w = trie.arc_target[trie.arc_start[w]])
                rest += price[trie.arc_start[w]];
            residue[step->prefix] = values[step->leaf] - rest;
        } else if (step->arc < trie.arc_start[step->place + 1]) {
            const i64 e = step->arc, w = trie.arc_target[e];
            paid += price[e];
            step[1] = {w, step->prefix + trie.arc_prefixes[e], step->leaf + trie.arc_leaves[e], trie.arc_start[w]};
            residue[step[1].prefix] = inf;
            ++k;
            continue;
        }
        if (k > 0) {
            residue[step[-1].prefix] = least(residue[step[-1].prefix], residue[step->prefix]);
            paid -= price[step[-1].arc++];
        }
        --k;
    }
}

void mark_connected(const Trie& graph, const Bools& allowed, const BoolsOut2& alive) {
    const i64 places = graph.boundary.size();
    alive(0, 0) = alive(1, places - 1) = true;
    for (i64 v = 0; v < places; ++v) {
        for (i64 e = graph.arc_start[v]; e < graph.arc_start[v + 1]; ++e)
            if (allowed[e] && alive(0, v)) alive(0, graph.arc_target[e]) = true;
    }
    for (i64 v = places - 1; v >= 0; --v) {
        for (i64 e = graph.arc_start[v]; e < graph.arc_start[v + 1]; ++e)
            if (allowed[e] && alive(1, graph.arc_target[e])) alive(1, v) = true;
    }
}

void count_leaves(const Trie& graph, const IntsOut& leaves) {
    for (i64 v = leaves.size() - 2; v >= 0; --v) {
        leaves[v] = 0;
        for (i64 e = graph.arc_start[v]; e < graph.arc_start[v + 1]; ++e) leaves[v] += leaves[graph.arc_target[e]];
    }
}

template <class Boundary>
void list_paths(const Trie& trie, const Array<Boundary, 2>& rows) {
    std::vector<Step> path(trie.nodes + 1);
    path[0].arc = trie.arc_start[0];
    i64 k = 0, row = 0;
    while (k >= 0) {
        Step* const step = &path[k];
        if (k == trie.nodes) {
            for (i64 j = 0; j <= k; ++j) rows(row, j) = Boundary(trie.boundary[path[j].place]);
            ++row;
            --k;
        } else if (step->arc == trie.arc_start[step->place + 1]) {
            --k;
        } else {
            step[1].place = trie.arc_target[step->arc++];
            step[1].arc = trie.arc_start[step[1].place];
            ++k;
        }
    }
}

const Kernels here{
    kernel<number_leaves>("number_leaves", "Number leaves and prefixes: the offsets of arcs, and prefixes below each place."),
    kernel<path_arcs>("path_arcs", "List the arcs of partitions given by number, shape (leaves, nodes)."),
    kernel<least_residues>("least_residues", "Fill in the least value without prices of arcs below each prefix, in preorder."),
    kernel<mark_connected>("mark_connected", "Mark places that allowed arcs connect to the root (row 0) and to the end (row 1)."),
    kernel<count_leaves>("count_leaves", "Count the partitions below each place; that of the end is given."),
    kernel<list_paths<std::int16_t>, list_paths<std::int32_t>>("list_paths", "List the boundaries of all partitions in order."),
};

}  // namespace
}  // namespace edrp
