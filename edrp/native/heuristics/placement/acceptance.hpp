// Which of two placements is better: limits broken, total relative overload, objective
// (heuristics/placement/search/search_engine.py).
#pragma once
#include <cmath>

#include "edrp/native/arrays.hpp"
#include "edrp/native/tolerances.hpp"

namespace edrp {

constexpr i64 VIOLATIONS = 0, OVERLOAD = 1, OBJECTIVE = 2;

// What a search has done, in its `progress`.
constexpr i64 KICKS = 0, WORK = 1;

struct LocalSearchRun {
    i64 kicks;
    double tolerance;
    i64 overload_rule, work;
    FIELDS(kicks, tolerance, overload_rule, work)
};

// 1 if fewer limits are broken than by a value, or as many by less; 0 if equal; -1 if more.
inline int compare_strain(double violations, double overload, const Floats& than) {
    if (violations != than[VIOLATIONS]) return violations < than[VIOLATIONS] ? 1 : -1;
    if (std::fabs(overload - than[OVERLOAD]) > SEARCH_NOISE) return overload < than[OVERLOAD] ? 1 : -1;
    return 0;
}

// Hill climbing's acceptance (latency-aware placement, 4.3.1).
inline bool better(const Floats& value, const Floats& than) {
    const int comparison = compare_strain(value[VIOLATIONS], value[OVERLOAD], than);
    return comparison > 0 || (comparison == 0 && value[OBJECTIVE] < than[OBJECTIVE] - SEARCH_NOISE);
}

// Whether a placement breaks no more limits than another, and its objective is worse by at most `tolerance`.
inline bool near(const Floats& value, const Floats& to, double tolerance) {
    const int comparison = compare_strain(value[VIOLATIONS], value[OVERLOAD], to);
    return comparison > 0 || (comparison == 0 && value[OBJECTIVE] <= to[OBJECTIVE] + tolerance);
}

}  // namespace edrp
