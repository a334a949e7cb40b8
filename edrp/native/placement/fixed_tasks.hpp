// Tasks that are fixed, on equal nodes (edrp/placement/fixed_tasks.py).
#pragma once
#include "edrp/native/arrays.hpp"

namespace edrp {

struct LoadArrays {
    Ints totals;
    Floats2 demand, use;
    Ints source, target;
    Bools one_to_one;
    Floats2 sent;
    FIELDS(totals, demand, use, source, target, one_to_one, sent)
};

// The share of a stream that the senders on a node send to other nodes.
inline double leaving(i64 sending, i64 receiving, i64 senders, i64 receivers, bool one_to_one) {
    if (one_to_one) return double(most<i64>(0, sending - receiving)) / double(senders);
    return double(sending) / double(senders) * (1.0 - double(receiving) / double(receivers));
}

// The share of stream e that leaves a node with this pattern.
inline double leaving(const LoadArrays& arrays, const Ints& pattern, i64 e) {
    const i64 i = arrays.source[e], j = arrays.target[e];
    return leaving(pattern[i], pattern[j], arrays.totals[i], arrays.totals[j], arrays.one_to_one[e]);
}

// Writes the share of its capacity that a node with this pattern is asked for, by shared resource.
inline void fill_loads(const Ints& pattern, const LoadArrays& arrays, const FloatsOut& loads) {
    const i64 shared = loads.size();
    loads.fill(0.0);
    for (i64 i = 0; i < pattern.size(); ++i)
        if (pattern[i] > 0)
            for (i64 k = 0; k < shared; ++k) loads[k] += double(pattern[i]) * arrays.use(i, k);
    for (i64 e = 0; e < arrays.source.size(); ++e) {
        if (pattern[arrays.source[e]] > 0) {
            const double share = leaving(arrays, pattern, e);
            for (i64 k = 0; k < shared; ++k) loads[k] += share * arrays.sent(e, k);
        }
    }
}

}  // namespace edrp
