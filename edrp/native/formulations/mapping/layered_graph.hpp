// Path mapping as a graph of layers, one per number of components mapped (formulations/mapping/layered_graph.py).
#pragma once
#include "edrp/native/arrays.hpp"

namespace edrp {

struct LayeredGraph {
    Ints32 first, target;
    Floats needs, rates, limit;
    i64 source, delivery, empty, budgets;
    FIELDS(first, target, needs, rates, limit, source, delivery, empty, budgets)

    i64 servers() const { return first.size() - 1; }
    i64 arcs() const { return target.size(); }
    i64 components() const { return needs.size(); }
    // Where a label or map with some empty hops left stands among the budgets of `ToGo::leaving`.
    i64 budget(i64 left) const { return budgets > 1 ? left : 0; }
};

struct UsePrices {
    Floats2 arc, host, up, down;
    FIELDS(arc, host, up, down)
};

// Three dimensions; where a last one tells resources apart, four.
template <class T, int D>
struct ToGoArrays {
    Array<T, D> arrived, leaving;
    FIELDS(arrived, leaving)
};
using ToGo = ToGoArrays<const double, 3>;

constexpr i64 HOST = -1;

}  // namespace edrp
