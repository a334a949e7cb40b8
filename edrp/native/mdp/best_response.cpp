// Best responses to partitions: the search of a class, depth first, with bounds on gains (mdp/best_response.py).
#include "edrp/native/mdp/best_response.hpp"

#include "edrp/native/python.hpp"
#include "edrp/native/tolerances.hpp"

namespace edrp {
namespace {

struct PreparedValues {
    Floats values, price, least;
    double slack;
    FIELDS(values, price, least, slack)
};

// The two best gains of a prefix: with a free owner, and with whatever owner.
struct Gains {
    double free = 0.0, best = 0.0;
};

inline Gains further(const SpanGains& gains, i64 s, const Gains& before) {
    const double freed = most(before.free + gains.free_free[s], before.best + gains.any_free[s]);
    return {freed, most(freed, most(before.free + gains.free_any[s], before.best + gains.any_any[s]))};
}

// The exact gain of one partition of the class, by its number.
double gain(const Trie& trie, const SpanGains& gains, i64 leaf) {
    i64 v = 0;
    Gains reached;
    for (i64 k = 0; k < trie.nodes; ++k) {
        const i64 e = arc_below(trie, v, leaf);
        reached = further(gains, trie.arc_span[e], reached);
        leaf -= trie.arc_leaves[e];
        v = trie.arc_target[e];
    }
    return reached.best;
}

// The number of the best response, given the value and number of a known response.
i64 search(const Trie& trie, const PreparedValues& prepared, double total, double slack, double best, i64 response,
           const SearchWorkspace& space) {
    const IntsOut place = space.path.row(0), arc = space.path.row(1), prefix = space.path.row(2), leaf = space.path.row(3);
    place[0] = prefix[0] = leaf[0] = 0;
    arc[0] = trie.arc_start[0];
    space.free[0] = space.best[0] = 0.0;
    if (trie.leaves[0] == 1) return 0;
    i64 k = 0;
    while (k >= 0) {
        const i64 e = arc[k];
        if (e == trie.arc_start[place[k] + 1]) {
            --k;
            continue;
        }
        arc[k] = e + 1;
        const i64 w = trie.arc_target[e], below = prefix[k] + trie.arc_prefixes[e], first = leaf[k] + trie.arc_leaves[e];
        Gains gained = further(space.gains, trie.arc_span[e], {space.free[k], space.best[k]});
        gained = {gained.free - prepared.price[e], gained.best - prepared.price[e]};
        const double further_gain = most(gained.free + space.free_after[w], gained.best + space.any_after[w]);
        const double bound = total - further_gain + prepared.least[below];
        if (bound >= best + slack || (bound >= best - slack && first >= response)) continue;
        if (trie.leaves[w] == 1) {  // the bound is its value
            best = bound;
            response = first;
            continue;
        }
        ++k;
        place[k] = w;
        arc[k] = trie.arc_start[w];
        prefix[k] = below;
        leaf[k] = first;
        space.free[k] = gained.free;
        space.best[k] = gained.best;
    }
    return response;
}

// Fills `values` and `responses` at `rows`; `incumbents` holds numbers of good responses, or -1, and may be `responses`.
template <class Boundary>
void best_responses(const Trie& trie, const PreparedValues& prepared, const Floats& state_before,
                    const Array<const Boundary, 2>& partitions, const Ints& rows, const Ints& incumbents, const FloatsOut& values,
                    const IntsOut& responses) {
    const SearchWorkspace space(trie);
    const double total = state_before[state_before.size() - 1], slack = prepared.slack + EQUAL_GAINS * total;
    const i64 last = partitions.shape[1] - 1;
    const auto value_of = [&](i64 response) { return total - gain(trie, space.gains, response) + prepared.values[response]; };
    for (i64 index = 0; index < rows.size(); ++index) {
        const i64 row = rows[index];
        i64 changed = partitions(row, last) + i64(1);
        if (index > 0) {
            for (i64 j = last; j >= 0 && partitions(row, j) == partitions(rows[index - 1], j); --j) changed = partitions(row, j);
        }
        span_gains(trie, state_before, partitions.row(row), changed, space.gains);
        bound_from_the_right(trie, prepared.price, changed, space);
        double best = inf;
        i64 response = trie.count;
        if (incumbents[row] >= 0) {
            response = incumbents[row];
            best = value_of(response);
        }
        const i64 other = index > 0 ? responses[rows[index - 1]] : -1;
        if (other >= 0 && other != response) {
            const double value = value_of(other);
            if (value < best - slack || (value <= best + slack && other < response)) {
                best = value;
                response = other;
            }
        }
        response = search(trie, prepared, total, slack, best, response, space);
        const bool none = response == trie.count || prepared.values[response] == inf;
        values[row] = none ? inf : value_of(response);
        responses[row] = none ? -1 : response;
    }
}

const Kernels here{
    kernel<best_responses<std::int16_t>, best_responses<std::int32_t>, best_responses<i64>>(
        "best_responses", "Find the best response to each of some partitions, and its cost."),
};

}  // namespace
}  // namespace edrp
