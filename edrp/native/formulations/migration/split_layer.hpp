// Bounds on the splits of an operator's tasks among replicas (formulations/migration/rescale/decomposition/model.py).
#pragma once
#include "edrp/native/python.hpp"

namespace edrp {

struct SplitLayer {
    Floats share;
    Floats2 caps;
    Floats seconds;
    Floats2 range_seconds;
    Floats speedup;
    i64 exact, longest;
    FIELDS(share, caps, seconds, range_seconds, speedup, exact, longest)
};

// For each node a deque of places, of which those with the least costs are in front.
class PlaceDeques {
 public:
    PlaceDeques(i64 nodes, i64 places) : queue(nodes, places), ends(2, nodes) {}
    void clear() { ends.view().fill(0); }
    // The deque of a node: its places, and where they begin and end.
    i64* places(i64 u) { return queue.view().row(u).data; }
    i64& front(i64 u) { return ends.view()(0, u); }
    i64& back(i64 u) { return ends.view()(1, u); }

 private:
    Matrix<i64> queue, ends;
};

}  // namespace edrp
