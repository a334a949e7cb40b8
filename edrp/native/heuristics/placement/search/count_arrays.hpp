// A problem as arrays of a search over counts, and the latency of its slowest path (heuristics/placement/search/count_arrays.py).
#pragma once
#include "edrp/native/heuristics/placement/replica_counts.hpp"

namespace edrp {

constexpr i64 NO_OPERATOR = -1, ALL_OPERATORS = -2;

struct CountPaths {
    double price, span;
    Ints zone;
    Floats2 zone_delay;
    Ints source, target;
    FIELDS(price, span, zone, zone_delay, source, target)
};

// The paths, and memory for the search of the slowest one.
struct PathSearch : CountPaths {
    Own<i64, 2> hosts;  // hosts[a, :number[a]] are the nodes of an operator
    Own<i64, 1> number;
    Own<double, 2> arrival;  // in the same order, when the last tuples arrive there
    Own<double, 2> latest;   // (zones, 2), the last two arrivals at nodes of a zone
    Own<i64, 1> last;        // (zones,), the node of the first of these
    Own<i64, 1> used;        // zones in use
    Own<double, 1> reach;    // (zones,), when the last from other zones arrive

    PathSearch(const CountPaths& paths, i64 operators)
        : CountPaths(paths),
          hosts(operators, paths.zone.size()),
          number(operators),
          arrival(operators, paths.zone.size()),
          latest(paths.zone_delay.shape[0], 2),
          last(paths.zone_delay.shape[0]),
          used(paths.zone_delay.shape[0]),
          reach(paths.zone_delay.shape[0]) {}
};

struct CountArrays {
    Ints instances;
    Floats2 pair;
    Ints neighbours, start;
    double score_apart;
    Floats2 demand, capacity;
    Bools2 candidate;
    Floats node_price;
    Ints zone, class_of, members, class_start;
    FIELDS(instances, pair, neighbours, start, score_apart, demand, capacity, candidate, node_price, zone, class_of, members,
           class_start)
};

// Lists the nodes of all operators after a change (see `path_latency`), and resets the arrivals there.
inline void list_hosts(const PathSearch& p, const ReplicaCounts& c, i64 mover, i64 q, i64 s, i64 d) {
    for (i64 a = 0; a < c.degree.size(); ++a) {
        const bool moves = mover == a || mover == ALL_OPERATORS;
        i64 count = 0;
        for (i64 k = 0; k < c.number[a]; ++k) {
            const i64 u = c.hosts(a, k);
            if (!moves || u != s || (mover != ALL_OPERATORS && c.replicas(a, u) > q)) p.hosts(a, count++) = u;
        }
        if (moves && c.replicas(a, d) == 0 && c.replicas(a, s) > 0) p.hosts(a, count++) = d;
        for (i64 k = 0; k < count; ++k) p.arrival(a, k) = 0.0;
        p.number[a] = count;
    }
}

// Finds the last two arrivals of operator i in each zone that it uses; returns the number of these zones.
inline i64 summarise(const PathSearch& p, i64 i) {
    for (i64 k = 0; k < p.number[i]; ++k) {
        const i64 z = p.zone[p.hosts(i, k)];
        p.latest(z, 0) = p.latest(z, 1) = -1.0;
    }
    i64 zones = 0;
    for (i64 k = 0; k < p.number[i]; ++k) {
        const i64 u = p.hosts(i, k), z = p.zone[u];
        const double seconds = p.arrival(i, k);
        if (p.latest(z, 0) < 0) p.used[zones++] = z;
        if (seconds > p.latest(z, 0)) {
            p.latest(z, 1) = p.latest(z, 0);
            p.latest(z, 0) = seconds;
            p.last[z] = u;
        } else if (seconds > p.latest(z, 1)) {
            p.latest(z, 1) = seconds;
        }
    }
    return zones;
}

// Propagates the arrivals of operator i to every node of operator j; returns the last arrival there.
inline double pass_on(const PathSearch& p, i64 i, i64 j) {
    double last = 0.0;
    for (i64 k = 0; k < p.number[j]; ++k) {
        const i64 h = p.zone[p.hosts(j, k)];
        p.reach[h] = p.latest(h, 0) = -1.0;
    }
    const i64 zones = summarise(p, i);
    for (i64 k = 0; k < p.number[j]; ++k) {
        const i64 v = p.hosts(j, k), h = p.zone[v];
        if (p.reach[h] < 0) {
            double reach = 0.0;
            for (i64 n = 0; n < zones; ++n) {
                const i64 g = p.used[n];
                if (g != h) reach = most(reach, p.latest(g, 0) + p.zone_delay(g, h));
            }
            p.reach[h] = reach;
        }
        double seconds = most(p.arrival(j, k), p.reach[h]);
        if (p.latest(h, 0) >= 0) {
            // What arrived last in the zone is delayed, unless it is here already: then the one before may come later.
            const bool on_same_node = p.last[h] == v;
            seconds = most(seconds, p.latest(h, 0) + (on_same_node ? 0.0 : p.zone_delay(h, h)));
            if (on_same_node && p.latest(h, 1) >= 0) seconds = most(seconds, p.latest(h, 1) + p.zone_delay(h, h));
        }
        p.arrival(j, k) = seconds;
        last = most(last, seconds);
    }
    return last;
}

// Latency in seconds of the slowest path through instances: where q instances of operator `mover` are taken to be on node d
// instead of s, all that s holds for `ALL_OPERATORS`, or now for `NO_OPERATOR`.
inline double path_latency(const PathSearch& p, const ReplicaCounts& c, i64 mover, i64 q, i64 s, i64 d) {
    list_hosts(p, c, mover, q, s, d);
    double longest = 0.0;
    for (i64 e = 0; e < p.source.size(); ++e) longest = most(longest, pass_on(p, p.source[e], p.target[e]));
    return longest;
}

}  // namespace edrp
