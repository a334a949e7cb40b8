// Rules of problems as searches evaluate them (heuristics/placement/rule_rows.py).
#pragma once
#include "edrp/native/arrays.hpp"
#include "edrp/native/tolerances.hpp"

namespace edrp {

struct RuleRows {
    Ints row_start, term_start;
    Floats coefficient;
    Bools joined;
    Ints operators, node;
    Floats lower, upper;
    Bools last;
    Floats penalty, scale;
    double max_penalty, max_price;
    FIELDS(row_start, term_start, coefficient, joined, operators, node, lower, upper, last, penalty, scale, max_penalty,
           max_price)
};

// How many rules that must be met are broken, by how much in all, and what the violation of others costs.
struct RuleVerdict {
    i64 broken = 0;
    double breach = 0.0, price = 0.0;
};

// `counts` holds the replicas of operators on nodes.
inline RuleVerdict judge_rules(const RuleRows& r, const Ints2& counts) {
    RuleVerdict verdict;
    double worst = 0.0;
    for (i64 k = 0; k < r.lower.size(); ++k) {
        double value = 0.0;
        for (i64 x = r.row_start[k]; x < r.row_start[k + 1]; ++x) {
            i64 replicas = 0;
            for (i64 y = r.term_start[x]; y < r.term_start[x + 1]; ++y) replicas += counts(r.operators[y], r.node[y]);
            value += r.coefficient[x] * double(r.joined[x] ? least<i64>(replicas, 1) : replicas);
        }
        worst = most(most(worst, r.lower[k] - value), value - r.upper[k]);
        if (r.last[k]) {
            if (r.penalty[k] < inf)
                verdict.price += r.penalty[k] * worst;
            else if (worst > LIMIT_SLACK * r.scale[k]) {
                verdict.broken += 1;
                verdict.breach += worst / r.scale[k];
            }
            worst = 0.0;
        }
    }
    return verdict;
}

}  // namespace edrp
