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

}  // namespace edrp
