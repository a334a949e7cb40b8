// All partitions of a class as the graph whose paths they are (mdp/trie.py).
#pragma once
#include "edrp/native/arrays.hpp"

namespace edrp {

struct Trie {
    i64 nodes, count;
    Ints boundary, level, arc_start, arc_target, arc_span, arc_leaves, arc_prefixes, leaves, prefixes, span_start, span_end;
    FIELDS(nodes, count, boundary, level, arc_start, arc_target, arc_span, arc_leaves, arc_prefixes, leaves, prefixes, span_start,
           span_end)
};

// The arc out of a place that leads to the leaf with a number relative to the place.
inline i64 arc_below(const Trie& trie, i64 place, i64 leaf) {
    i64 low = trie.arc_start[place], high = trie.arc_start[place + 1] - 1;
    while (low < high) {
        const i64 middle = (low + high + 1) / 2;
        const bool left = trie.arc_leaves[middle] > leaf;
        low = left ? low : middle;
        high = left ? middle - 1 : high;
    }
    return low;
}

}  // namespace edrp
