// Colours edges of bipartite graphs: the steps of a migration (Kőnig, 1916; mdp/transfer/migration_plan.py).
#include <algorithm>

#include "edrp/native/python.hpp"

namespace edrp {
namespace {

// The first colour that no edge of a vertex has; there is one.
i64 free_colour(const Ints& edge_of_colour) {
    return std::find(edge_of_colour.begin(), edge_of_colour.end(), -1) - edge_of_colour.begin();
}

// Edge after edge takes a colour that is free on its left; if that is taken on its right, the path that alternates between it and
// a colour free there is recoloured. O(edges · longest path).
std::vector<i64> edge_colours(const Ints& left, const Ints& right, i64 colours) {
    std::vector<i64> colour(left.size());
    Matrix<i64> on_left(left.size() ? *std::max_element(left.begin(), left.end()) + 1 : 0, colours, -1);
    Matrix<i64> on_right(right.size() ? *std::max_element(right.begin(), right.end()) + 1 : 0, colours, -1);
    const IntsOut2 left_edge = on_left.view(), right_edge = on_right.view();  // the edge of each vertex and colour, or -1
    for (i64 e = 0; e < left.size(); ++e) {
        i64 first = free_colour(left_edge.row(left[e])), second = free_colour(right_edge.row(right[e]));
        i64 along = right_edge(right[e], first);
        right_edge(right[e], first) = left_edge(left[e], first) = e;
        colour[e] = first;
        // `along` had colour `first` and lost its place on one side: it takes `second`, and so on from its far end.
        for (bool at_right = true; along >= 0; at_right = !at_right) {
            const Ints &here = at_right ? right : left, &there = at_right ? left : right;
            const IntsOut2 &here_edge = at_right ? right_edge : left_edge, &there_edge = at_right ? left_edge : right_edge;
            here_edge(here[along], second) = along;
            there_edge(there[along], first) = -1;
            const i64 following = there_edge(there[along], second);
            there_edge(there[along], second) = along;
            colour[along] = second;
            along = following;
            std::swap(first, second);
        }
    }
    return colour;
}

const Kernels here{
    kernel<edge_colours>("edge_colours", "Colour the edges of a bipartite graph properly; degrees are at most `colours`."),
};

}  // namespace
}  // namespace edrp
