// Costs of operators by themselves, side by side: those of operator i in the columns first[i] to first[i + 1]
// (mdp/placement/vector_relaxation.py).
#pragma once
#include "edrp/native/arrays.hpp"

namespace edrp {

struct OperatorTables {
    Ints first, replicas;
    Floats started, entry, enters;
    FIELDS(first, replicas, started, entry, enters)
};

// The price of going from the number of replicas in a column to that in the next.
inline double rise(const OperatorTables& tables, i64 i, i64 k) {
    return tables.started[i] * double(tables.replicas[k + 1] - tables.replicas[k]);
}

// For each number of replicas the least value from which a change leads there, with what is started, and its column.
inline void reached(const OperatorTables& tables, i64 i, const Floats& values, const FloatsOut& best, const Ints32Out& source) {
    const i64 low = tables.first[i], high = tables.first[i + 1];
    for (i64 k = low; k < high; ++k) {
        best[k] = values[k];
        source[k] = std::int32_t(k);
    }
    for (i64 k = high - 2; k >= low; --k) {
        if (best[k + 1] < best[k]) {
            best[k] = best[k + 1];
            source[k] = source[k + 1];
        }
    }
    for (i64 k = low + 1; k < high; ++k) {
        const double value = best[k - 1] + rise(tables, i, k - 1);
        if (value < best[k]) {
            best[k] = value;
            source[k] = source[k - 1];
        }
    }
}

// Fills in the least cost of each operator after the period before t, from each number of replicas; overwrites `best`.
inline void cost_before(const OperatorTables& tables, i64 t, const Floats2& costs, const Floats2& prices, const FloatsOut2& after,
                        const FloatsOut& best) {
    for (i64 i = 0; i < tables.started.size(); ++i) {
        const i64 low = tables.first[i], high = tables.first[i + 1];
        for (i64 k = low; k < high; ++k) best[k] = costs(t, k) + after(t, k);
        for (i64 k = low + 1; k < high; ++k) best[k] = least(best[k], best[k - 1]);  // to fewer replicas, for nothing
        for (i64 k = high - 2; k >= low; --k) best[k] = least(best[k], best[k + 1] + rise(tables, i, k));
        for (i64 k = low; k < high; ++k) after(t - 1, k) = least(costs(t, k) + after(t, k), best[k] + prices(t, i));
    }
}

// Fills in the least cost of each operator after each period, from each number of replicas in it.
inline void following_costs(const OperatorTables& tables, const Floats2& costs, const Floats2& prices, const FloatsOut2& after) {
    const i64 periods = costs.shape[0];
    const Own<double, 1> best(costs.shape[1]);
    after.row(periods - 1).fill(0.0);
    for (i64 t = periods - 1; t > 0; --t) cost_before(tables, t, costs, prices, after, best);
}

}  // namespace edrp
