// The relaxation over operators: each operator's own course under a price of its changes (mdp/placement/vector_relaxation.py).
#include "edrp/native/mdp/placement/vector_relaxation.hpp"

#include "edrp/native/python.hpp"

namespace edrp {
namespace {

// Fills in `values`, the least costs of the courses that end in each period, and `course`, columns by period and operator. A
// price is infinite where no change is allowed.
double operator_courses(const OperatorTables& tables, const Floats2& costs, const Floats2& prices, const FloatsOut2& values,
                        const Array<std::int32_t, 2>& course) {
    const i64 periods = costs.shape[0];
    const Own<std::int32_t, 2> sources(periods, costs.shape[1]);  // the columns before
    const Own<double, 1> best(costs.shape[1]);
    double total = 0.0;
    for (i64 i = 0; i < tables.started.size(); ++i) {
        const i64 low = tables.first[i], high = tables.first[i + 1];
        for (i64 k = low; k < high; ++k)
            values(0, k) = costs(0, k) + tables.entry[k] + (tables.enters[k] > 0 ? prices(0, i) : 0.0);
        for (i64 t = 1; t < periods; ++t) {
            reached(tables, i, values.row(t - 1), best, sources.row(t));
            for (i64 k = low; k < high; ++k) {
                const double changed = best[k] + prices(t, i), kept = values(t - 1, k);
                if (!(changed < kept)) sources(t, k) = std::int32_t(k);
                values(t, k) = (changed < kept ? changed : kept) + costs(t, k);
            }
        }
        i64 end = low;
        for (i64 k = low + 1; k < high; ++k) {
            if (values(periods - 1, k) < values(periods - 1, end)) end = k;
        }
        total += values(periods - 1, end);
        for (i64 t = periods - 1; t >= 0; --t) {
            course(t, i) = std::int32_t(end);
            if (t > 0) end = sources(t, end);
        }
    }
    return total;
}

// Prices of a period that sum up to more than `change` are moved onto the nearest that do not.
void raise_prices(const FloatsOut2& prices, const Floats& change, const Floats2& slope, double step) {
    const i64 operators = prices.shape[1];
    const Own<double, 1> order(operators);
    for (i64 t = 0; t < prices.shape[0]; ++t) {
        double total = 0.0;
        for (i64 i = 0; i < operators; ++i) {
            const double price = most(0.0, prices(t, i) + step * slope(t, i));
            total += price;
            prices(t, i) = order[i] = price;
        }
        if (total <= change[t]) continue;
        for (i64 i = 1; i < operators; ++i) {  // descending, by insertion
            const double value = order[i];
            i64 k = i;
            for (; k > 0 && order[k - 1] < value; --k) order[k] = order[k - 1];
            order[k] = value;
        }
        double running = 0.0, level = 0.0;
        for (i64 i = 0; i < operators; ++i) {
            running += order[i];
            const double candidate = (running - change[t]) / double(i + 1);
            if (candidate < order[i]) level = candidate;
        }
        for (i64 i = 0; i < operators; ++i) prices(t, i) = most(0.0, prices(t, i) - level);
    }
}

const Kernels here{
    kernel<operator_courses>("operator_courses", "Find each operator's cheapest course under prices of its changes."),
    kernel<following_costs>("following_costs", "Compute the least cost of each operator after each period."),
    kernel<raise_prices>("raise_prices", "Move prices of each period along a slope, and back onto those of at most a given sum."),
};

}  // namespace
}  // namespace edrp
