// All choices among few patterns: multisets that cover every instance (edrp/formulations/placement/column_generation/choices.py).
#include "edrp/native/python.hpp"

namespace edrp {
namespace {

constexpr i64 PATH_STEPS = 20;  // patterns that could be tried while the longest path is computed once

struct Patterns {
    Ints2 pattern;
    Ints owner;
    Floats excess;
    Ints holder, start;
    FIELDS(pattern, owner, excess, holder, start)
};

struct Cover {
    Ints order, instances, class_min, class_max;
    i64 min_supervisors, max_supervisors;
    double room;
    i64 max_steps;
    FIELDS(order, instances, class_min, class_max, min_supervisors, max_supervisors, room, max_steps)
};

struct Streams {
    Ints source, target;
    Floats2 between;
    double second;
    FIELDS(source, target, between, second)
};

// Part of a choice by depth: the pattern chosen, the operator that is covered, and the sum of excesses before. `position` is the
// place of what is tried next in the list of patterns that hold the operator, `left` are the instances that are not covered,
// `used` the supervisors in use of each class.
struct PartialChoice {
    std::vector<i64> chosen, covers, position, left, used;
    std::vector<double> total;

    PartialChoice(const Cover& cover)
        : chosen(cover.max_supervisors, -1),
          covers(chosen.size() + 1),
          position(chosen.size() + 1),
          left(cover.instances.begin(), cover.instances.end()),
          used(cover.class_max.size()),
          total(chosen.size() + 1) {}
};

// Latest time at which tuples of operator a reach the j-th chosen pattern, in seconds.
inline double latest(const i64* chosen, i64 depth, const Patterns& patterns, const Streams& streams, const FloatsOut2& arrival,
                     i64 a, i64 j) {
    double seconds = 0.0;
    bool none = true;
    for (i64 i = 0; i < depth; ++i) {
        if (patterns.pattern(chosen[i], a) > 0) {
            none = false;
            const double hop = i == j ? 0.0 : streams.between(patterns.owner[chosen[i]], patterns.owner[chosen[j]]);
            seconds = most(seconds, arrival(a, i) + hop);
        }
    }
    return none ? arrival(a, arrival.shape[1] - 1) : seconds;
}

// Seconds of the slowest path through instances of the first `depth` patterns chosen, with classes as near as they can be.
//
// The last column of `arrival` is that at the last instance of each operator; one that none of these patterns holds is passed
// without delay.
inline double longest(const i64* chosen, i64 depth, const Patterns& patterns, const Streams& streams, const FloatsOut2& arrival) {
    const i64 last = arrival.shape[1] - 1;
    for (i64 a = 0; a < arrival.shape[0]; ++a) {
        arrival(a, last) = 0.0;
        for (i64 i = 0; i < depth; ++i) arrival(a, i) = 0.0;
    }
    double slowest = 0.0;
    for (i64 e = 0; e < streams.source.size(); ++e) {
        const i64 a = streams.source[e], b = streams.target[e];
        arrival(b, last) = most(arrival(b, last), arrival(a, last));
        for (i64 j = 0; j < depth; ++j) {
            if (patterns.pattern(chosen[j], b) > 0) {
                const double seconds = latest(chosen, depth, patterns, streams, arrival, a, j);
                arrival(b, j) = most(arrival(b, j), seconds);
                arrival(b, last) = most(arrival(b, last), seconds);
            }
        }
        slowest = most(slowest, arrival(b, last));
    }
    return slowest;
}

inline bool fits(const Ints& pattern, const std::vector<i64>& left) {
    for (i64 a = 0; a < pattern.size(); ++a)
        if (pattern[a] > left[a]) return false;
    return true;
}

// The next pattern that fits at this depth, or -1, and how many were tried.
inline std::tuple<i64, i64> next_pattern(i64 depth, const Patterns& patterns, const Cover& cover, PartialChoice& partial) {
    i64 tried = 0;
    const i64 end = patterns.start[partial.covers[depth] + 1];
    while (depth < cover.max_supervisors && partial.position[depth] < end) {
        const i64 p = patterns.holder[partial.position[depth]], c = patterns.owner[p];
        tried += 1;
        if (partial.total[depth] + patterns.excess[p] > cover.room) break;
        partial.position[depth] += 1;
        if (partial.used[c] < cover.class_max[c] && fits(patterns.pattern.row(p), partial.left)) return {p, tried};
    }
    return {-1, tried};
}

// The first operator of which instances are left, or -1.
inline i64 next_operator(const Ints& order, const std::vector<i64>& left) {
    for (i64 a : order)
        if (left[a] > 0) return a;
    return -1;
}

// Adds a pattern to those chosen, or takes it out of them.
inline void use(const Patterns& patterns, i64 p, i64 times, PartialChoice& partial) {
    for (i64 a = 0; a < patterns.pattern.shape[1]; ++a) partial.left[a] -= times * patterns.pattern(p, a);
    partial.used[patterns.owner[p]] += times;
}

inline bool enough_of_each(const Ints& class_min, const std::vector<i64>& used) {
    for (i64 c = 0; c < class_min.size(); ++c)
        if (used[c] < class_min[c]) return false;
    return true;
}

// Covers one operator after the other, each by patterns in ascending order, and writes a choice per row.
//
// Returns choices met and patterns tried; more than there is room for, or beyond `cover.max_steps`, where the list is incomplete.
std::tuple<i64, i64> search_choices(const Patterns& patterns, const Cover& cover, const Streams& streams,
                                    const IntsOut2& listed) {
    PartialChoice partial(cover);
    auto& [chosen, covers, position, left, used, total] = partial;
    Matrix<double> arrivals(i64(left.size()), cover.max_supervisors + 1);
    const bool latency = streams.second > 0.0 && streams.source.size() > 0;
    i64 met = 0, steps = 0;
    i64 depth = 0;
    covers[0] = cover.order[0];
    position[0] = patterns.start[covers[0]];
    while (true) {
        const auto [p, tried] = next_pattern(depth, patterns, cover, partial);
        steps += tried;
        if (steps > cover.max_steps) break;
        if (p >= 0) {
            use(patterns, p, 1, partial);
            chosen[depth] = p;
            total[depth + 1] = total[depth] + patterns.excess[p];
            depth += 1;
            const double spare = cover.room - total[depth];
            steps += latency ? PATH_STEPS : 0;
            const bool fit =
                !latency || streams.second * longest(chosen.data(), depth, patterns, streams, arrivals.view()) <= spare;
            const i64 following = next_operator(cover.order, left);
            if (fit && following >= 0) {
                covers[depth] = following;
                position[depth] = following == covers[depth - 1] ? position[depth - 1] - 1 : patterns.start[following];
                continue;
            }
            if (fit && depth >= cover.min_supervisors && enough_of_each(cover.class_min, used)) {
                if (met < listed.shape[0])
                    for (i64 i = 0; i < depth; ++i) listed(met, i) = chosen[i];
                met += 1;
                if (met > listed.shape[0]) break;
            }
        }
        if (depth == 0) break;
        depth -= 1;
        use(patterns, chosen[depth], -1, partial);
    }
    return {met, steps};
}

const Kernels here{kernel<search_choices>("search_choices", "List all choices of patterns that cover every instance.")};

}  // namespace
}  // namespace edrp
