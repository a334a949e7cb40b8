// Links shared again among flows: direct ones first, then the shortest other routes (bi-modal networks, §5, Alg. 4, repaired).
#include "edrp/native/python.hpp"
#include "edrp/native/tolerances.hpp"

namespace edrp {
namespace {

// Arcs out of each of n servers, as in `NetworkArrays`, with their free bandwidth.
struct FreeArcs {
    Ints32 first, source, target;
    FloatsOut free;
};

// Working memory of a breadth-first search among n servers.
struct RouteProbe {
    std::vector<double> out, into;            // at least the most that one arc out of or into each server has free
    std::vector<i64> seen, depth, by, queue;  // last search that came by, at which distance, over which arc, and in which order

    explicit RouteProbe(i64 n) : out(n), into(n), seen(n), depth(n), by(n), queue(n) {}

    // Raises the bounds of an arc's servers by the bandwidth that is free on it.
    void note_free(const FreeArcs& arcs, i64 arc) {
        double &source = out[arcs.source[arc]], &target = into[arcs.target[arc]];
        source = most(source, arcs.free[arc]);
        target = most(target, arcs.free[arc]);
    }

    // The length of the route with fewest arcs that has room; 0 for no such route.
    i64 search(const FreeArcs& arcs, i64 origin, i64 destination, double rate, i64 limit, i64 number) {
        const double needed = rate * (1 - LIMIT_SLACK);
        if (out[origin] < needed || into[destination] < needed) return 0;
        seen[origin] = number;
        depth[origin] = 0;
        queue[0] = origin;
        i64 head = 0, tail = 1;
        while (head < tail) {
            const i64 server = queue[head++], length = depth[server] + 1;
            if (length > limit) break;
            for (i64 arc = arcs.first[server]; arc < arcs.first[server + 1]; ++arc) {
                const i64 following = arcs.target[arc];
                if (!(arcs.free[arc] >= needed) || seen[following] == number) continue;
                seen[following] = number;
                depth[following] = length;
                by[following] = arc;
                if (following == destination) return length;
                queue[tail++] = following;
            }
        }
        return 0;
    }
};

// Reserves the route that was found, and only then releases the one that the flow had.
void take(const FreeArcs& arcs, RouteProbe& probe, i64 destination, double rate, i64 length, std::int32_t& links,
          const Array<std::int32_t, 1>& route) {
    i64 server = destination;
    for (i64 position = 0; position < length; ++position) {
        arcs.free[probe.by[server]] -= rate;
        server = arcs.source[probe.by[server]];
    }
    for (i64 position = 0; position < links; ++position) {
        arcs.free[route[position]] += rate;
        probe.note_free(arcs, route[position]);
    }
    server = destination;
    for (i64 position = length - 1; position >= 0; --position) {
        route[position] = std::int32_t(probe.by[server]);
        server = arcs.source[probe.by[server]];
    }
    links = std::int32_t(length);
}

// Gives flows the direct link or a shorter route where there is room; returns the number of flows that changed. `order` has the
// flows that may change, server by server and by falling priority; the other arrays are those of all flows: `rate` and
// `max_links` links that a route may have; `links` and `route`, what they hold, are changed, as are the free arcs.
i64 improve_routes(const Ints32& first, const Ints32& from, const Ints32& to, const FloatsOut& free, const Ints& order,
                   const Ints32& source, const Ints32& destination, const Floats& rate, const Ints& max_links,
                   const Array<std::int32_t, 1>& links, const Array<std::int32_t, 2>& route) {
    const FreeArcs arcs{first, from, to, free};
    RouteProbe probe(arcs.first.size() - 1);
    for (i64 arc = 0; arc < arcs.free.size(); ++arc) probe.note_free(arcs, arc);
    i64 changed = 0, searches = 0;
    for (i64 begin = 0, end; begin < order.size(); begin = end) {
        end = begin + 1;
        while (end < order.size() && source[order[end]] == source[order[begin]]) ++end;
        for (const bool direct : {true, false}) {
            for (i64 position = begin; position < end; ++position) {
                const i64 flow = order[position], longest = max_links[flow];
                const i64 limit = direct ? 1 : links[flow] == 0 ? longest : least<i64>(longest, links[flow] - 1);
                if (limit == 0) continue;
                const i64 length = probe.search(arcs, source[flow], destination[flow], rate[flow], limit, ++searches);
                if (length == 0) continue;
                take(arcs, probe, destination[flow], rate[flow], length, links[flow], route.row(flow));
                changed += 1;
            }
        }
    }
    return changed;
}

const Kernels here{
    kernel<improve_routes>("improve_routes", "Gives flows direct links or shorter routes where there is room (Alg. 4).")};

}  // namespace
}  // namespace edrp
