// What intervals of one partition gain from those of another, and bounds on what is still to be gained (mdp/best_response.py).
#pragma once
#include "edrp/native/mdp/trie.hpp"

namespace edrp {

// Gains that one interval of Q adds, for every span of the class, to the two best gains at its ends.
//
// Named by whether the owner is free at the interval's begin, and at its end: `free_free` leads from the gain with a free owner
// to the gain with a free owner, and so on; -inf where there is no such way.
struct SpanGains {
    Own<double, 1> free_free, free_any, any_free, any_any;

    explicit SpanGains(i64 spans) : free_free(spans), free_any(spans), any_free(spans), any_any(spans) {}
};

// Working arrays of one search of a class.
struct SearchWorkspace {
    SpanGains gains;                       // against the partition that was searched from last
    Own<double, 1> free_after, any_after;  // of places: most that can still be gained, less prices, with a free owner and any
    Own<double, 1> free, best;             // the two best gains of each prefix of the current path, less prices
    Own<i64, 2> path;                      // along it: place, next arc, number of the prefix and of its first leaf

    explicit SearchWorkspace(const Trie& trie)
        : gains(trie.span_end.size()),
          free_after(trie.boundary.size()),
          any_after(trie.boundary.size()),
          free(trie.nodes + 1),
          best(trie.nodes + 1),
          path(4, trie.nodes + 1) {}
};

// The gains of all spans that begin before `changed`, against the partition `old`.
template <class Boundary>
void span_gains(const Trie& trie, const Floats& state_before, const Array<Boundary, 1>& old, i64 changed,
                const SpanGains& gains) {
    const i64 intervals = old.size() - 1, end = least(changed, trie.span_start.size() - 1);
    i64 i = 0;
    for (i64 a = 0; a < end; ++a) {
        while (old[i + 1] <= a) ++i;
        const double before_a = state_before[a], from_a = state_before[old[i + 1]] - before_a;
        i64 j = i;            // the interval that holds the span's end
        double inside = 0.0;  // the largest one between i and j
        for (i64 s = trie.span_start[a]; s < trie.span_start[a + 1]; ++s) {
            const i64 b = trie.span_end[s];
            while (j < intervals && old[j + 1] <= b) {
                if (j > i) inside = most(inside, state_before[old[j + 1]] - state_before[old[j]]);
                ++j;
            }
            if (i == j) {
                gains.free_free[s] = 0.0;
                gains.free_any[s] = state_before[b] - before_a;
                gains.any_free[s] = -inf;
                gains.any_any[s] = 0.0;
            } else {
                gains.free_free[s] = most(from_a, inside);
                gains.any_free[s] = inside;
                gains.free_any[s] = gains.any_any[s] = state_before[b] - state_before[old[j]];
            }
        }
    }
}

// Bounds on the remaining gain from each place whose boundary lies before `changed`, from right to left.
inline void bound_from_the_right(const Trie& trie, const Floats& price, i64 changed, const SearchWorkspace& space) {
    const SpanGains& gains = space.gains;
    const FloatsOut &free = space.free_after, &whatever = space.any_after;
    for (i64 k = trie.nodes - 1; k >= 0; --k) {
        for (i64 v = trie.level[k]; v < trie.level[k + 1] && trie.boundary[v] < changed; ++v) {
            double most_free = -inf, most_any = -inf;
            for (i64 e = trie.arc_start[v]; e < trie.arc_start[v + 1]; ++e) {
                const i64 s = trie.arc_span[e], w = trie.arc_target[e];
                most_free = most(most_free, most(gains.free_free[s] + free[w], gains.free_any[s] + whatever[w]) - price[e]);
                most_any = most(most_any, most(gains.any_free[s] + free[w], gains.any_any[s] + whatever[w]) - price[e]);
            }
            free[v] = most_free;
            whatever[v] = most_any;
        }
    }
}

}  // namespace edrp
