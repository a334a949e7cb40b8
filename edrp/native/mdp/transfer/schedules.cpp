// Preemptive open shop in whole ticks: phases in which every node sends to one and receives from one other at most
// (mdp/transfer/schedules.py). Vertices are the n senders, then the n receivers; an edge is one pair with something to send.
//
// The rule of Gonzalez and Sahni (1976): as long as every *tight* vertex, whose remaining time equals the time that remains for
// the whole schedule, is busy, the schedule ends on time. A matching that covers all tight vertices always exists (otherwise some
// tight vertices would have more time left than all their partners), and is repaired by alternating paths from phase to phase. A
// phase lasts until an edge is done or an idle vertex becomes tight. Tight vertices stay tight, so there are at most
// (edges + 2n) phases, each found in O(n · edges) and mostly far less.
#include "edrp/native/python.hpp"

namespace edrp {
namespace {

using Counts = std::vector<i64>;

struct OpenShop {
    const Ints &source, &target;  // sender and receiver of each transfer
    i64 nodes;
    Counts remaining;     // ticks that are left of each transfer
    Counts vertex_ticks;  // ticks that are left of each vertex
    Counts first_edge, incident;
    Counts match;       // edge that each vertex is matched by, or -1
    Counts reached_by;  // edge by which a search has reached each vertex
    Counts queue;       // vertices to search from

    OpenShop(const Ints& source_, const Ints& target_, const Ints& ticks, i64 nodes_)
        : source(source_),
          target(target_),
          nodes(nodes_),
          remaining(ticks.begin(), ticks.end()),
          vertex_ticks(2 * nodes_),
          first_edge(2 * nodes_ + 1),
          incident(2 * ticks.size()),
          match(2 * nodes_, -1),
          reached_by(2 * nodes_),
          queue(nodes_) {
        for (i64 e = 0; e < ticks.size(); ++e) {
            for (const i64 vertex : {source[e], nodes + target[e]}) {
                vertex_ticks[vertex] += ticks[e];
                first_edge[vertex + 1] += 1;
            }
        }
        for (i64 vertex = 0; vertex < 2 * nodes; ++vertex) first_edge[vertex + 1] += first_edge[vertex];
        Counts at = first_edge;
        for (i64 e = 0; e < ticks.size(); ++e) {
            for (const i64 vertex : {source[e], nodes + target[e]}) incident[at[vertex]++] = e;
        }
    }

    i64 other_end(i64 e, i64 vertex) const { return source[e] + nodes + target[e] - vertex; }

    // Matches a tight vertex without uncovering another tight one. Breadth first along alternating paths: to a free vertex of the
    // other side, or to a vertex of the same side that is not tight and gives up its partner. All vertices of the other side stay
    // as covered as they were.
    void cover(i64 start, i64 total) {
        reached_by.assign(reached_by.size(), -1);
        queue[0] = start;
        for (i64 head = 0, tail = 1; head < tail; ++head) {
            const i64 vertex = queue[head];
            for (i64 position = first_edge[vertex]; position < first_edge[vertex + 1]; ++position) {
                const i64 e = incident[position];
                i64 other = other_end(e, vertex);
                if (remaining[e] == 0 || reached_by[other] >= 0) continue;
                reached_by[other] = e;
                if (match[other] >= 0) {
                    const i64 partner = other_end(match[other], other);
                    if (vertex_ticks[partner] == total) {
                        queue[tail++] = partner;
                        continue;
                    }
                    match[partner] = -1;
                }
                while (true) {
                    const i64 step = reached_by[other], near = other_end(step, other), dropped = match[near];
                    match[near] = match[other] = step;
                    if (near == start) return;
                    other = other_end(dropped, near);
                }
            }
        }
    }

    // Lets idle senders send the most that they have left for an idle receiver: not needed to end on time, but ends sooner.
    void fill() {
        for (i64 sender = 0; sender < nodes; ++sender) {
            if (match[sender] >= 0) continue;
            i64 best = -1;
            for (i64 position = first_edge[sender]; position < first_edge[sender + 1]; ++position) {
                const i64 e = incident[position];
                if (remaining[e] > 0 && match[nodes + target[e]] < 0 && (best < 0 || remaining[e] > remaining[best])) best = e;
            }
            if (best >= 0) match[sender] = match[nodes + target[best]] = best;
        }
    }
};

std::tuple<Counts, Counts, Counts> open_shop_phases(const Ints& source, const Ints& target, const Ints& ticks, i64 nodes) {
    OpenShop shop(source, target, ticks, nodes);
    i64 *const remaining = shop.remaining.data(), *const match = shop.match.data();
    i64* const vertex_ticks = shop.vertex_ticks.data();
    Counts durations, first{0}, active(4 * ticks.size() + 2 * nodes);
    i64 total = 0, used = 0;
    for (const i64 left : shop.vertex_ticks) total = most(total, left);
    while (total > 0) {
        for (i64 vertex = 0; vertex < 2 * nodes; ++vertex)
            if (vertex_ticks[vertex] == total && match[vertex] < 0) shop.cover(vertex, total);
        shop.fill();
        i64 length = total;
        for (i64 vertex = 0; vertex < 2 * nodes; ++vertex)
            length = least(length, match[vertex] < 0 ? total - vertex_ticks[vertex] : remaining[match[vertex]]);
        if (used + nodes > i64(active.size())) active.resize(2 * active.size() + nodes);
        i64* const edges = active.data();
        for (i64 sender = 0; sender < nodes; ++sender) {
            const i64 e = match[sender];
            if (e < 0) continue;
            const i64 receiver = nodes + target[e];
            edges[used++] = e;
            remaining[e] -= length;
            vertex_ticks[sender] -= length;
            vertex_ticks[receiver] -= length;
            if (remaining[e] == 0) match[sender] = match[receiver] = -1;
        }
        total -= length;
        durations.push_back(length);
        first.push_back(used);
    }
    active.resize(used);
    return {std::move(durations), std::move(first), std::move(active)};
}

const Kernels here{
    kernel<open_shop_phases>("open_shop_phases",
                             "Compute the phases of a shortest schedule: durations, where each begins, and edges in use."),
};

}  // namespace
}  // namespace edrp
