// Replicas counted per operator and node, which annealing and the searches share (heuristics/placement/deployment_state.py).
#pragma once
#include "edrp/native/arrays.hpp"

namespace edrp {

struct ReplicaCounts {
    IntsOut2 replicas;
    IntsOut degree;
    FloatsOut2 used;
    IntsOut2 hosts;
    IntsOut number;
    IntsOut2 slot;
    FIELDS(replicas, degree, used, hosts, number, slot)
};

// Puts q more replicas of operator i on node u; a negative q takes some away.
inline void add(const ReplicaCounts& c, const Floats2& demand, i64 i, i64 u, i64 q) {
    const i64 before = c.replicas(i, u);
    c.replicas(i, u) = before + q;
    c.degree[i] += q;
    for (i64 m = 0; m < demand.shape[1]; ++m) c.used(u, m) += double(q) * demand(i, m);
    if (before == 0 && q > 0) {
        c.slot(i, u) = c.number[i];
        c.hosts(i, c.number[i]) = u;
        c.number[i] += 1;
    } else if (before > 0 && before + q == 0) {
        const i64 last = c.hosts(i, c.number[i] - 1);
        c.hosts(i, c.slot(i, u)) = last;
        c.slot(i, last) = c.slot(i, u);
        c.slot(i, u) = -1;
        c.number[i] -= 1;
    }
}

// Computes the resources used on node u again, which removes accumulated rounding.
inline void recompute_used(const ReplicaCounts& c, const Floats2& demand, i64 u) {
    for (i64 m = 0; m < demand.shape[1]; ++m) {
        double total = 0.0;
        for (i64 i = 0; i < c.degree.size(); ++i) total += double(c.replicas(i, u)) * demand(i, m);
        c.used(u, m) = total;
    }
}

struct Strain {
    i64 violations = 0;
    double overload = 0.0;
};

// How many resources of node u are overloaded beyond a relative `slack`, and their total relative excess.
inline Strain strain(const Floats2& capacity, const Floats2& used, i64 u, double slack) {
    Strain found;
    for (i64 m = 0; m < used.shape[1]; ++m) {
        const double over = used(u, m) - capacity(u, m);
        if (over > slack * capacity(u, m)) {
            found.violations += 1;
            found.overload += over / most(capacity(u, m), 1e-3 * over);
        }
    }
    return found;
}

// How many further replicas of operator i fit on node u, at most `limit`; `slack` is the allowed overload.
inline i64 room(const Floats2& demand, const Floats2& capacity, const Floats2& used, i64 i, i64 u, i64 limit, double slack) {
    for (i64 m = 0; m < demand.shape[1]; ++m) {
        if (demand(i, m) > 0) {
            const double free = (capacity(u, m) * (1 + slack) - used(u, m)) / demand(i, m);
            if (free < double(limit)) limit = i64(most(0.0, free));
        }
    }
    return limit;
}

}  // namespace edrp
