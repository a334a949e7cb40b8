// Dynamic programs over the layered graph: least prices of the rest of a map, and the cheapest map (Lagrangian relaxation of
// limits).
#include "edrp/native/formulations/mapping/layered_graph.hpp"
#include "edrp/native/python.hpp"

namespace edrp {
namespace {

// The least price from each server that takes some components now; without components left, 0 at the delivery.
void fill_hosted(const LayeredGraph& graph, const Floats2& host, const Floats3& leaving, const Floats3& free, i64 resource, i64 j,
                 const FloatsOut2& hosted) {
    const i64 components = graph.components();
    hosted.fill(inf);
    if (j == components && resource < 0)
        for (i64 t = 0; t < hosted.shape[0]; ++t) hosted(t, graph.delivery) = 0.0;
    for (i64 v = 0; v < hosted.shape[1]; ++v) {
        const Floats3& behind = v == resource ? free : leaving;
        double need = 0.0, price = 0.0;
        for (i64 i = j; i < components; ++i) {
            need += graph.needs[i];
            price += host(i, v);
            if (need > graph.limit[v] || price == inf) break;
            for (i64 t = 0; t < hosted.shape[0]; ++t) hosted(t, v) = least(hosted(t, v), price + behind(i + 1, t, v));
        }
    }
}

// The least price of what follows a public hop, the server that has it, and the least price of the others.
struct LeastTwo {
    double best = inf;
    i64 server = -1;
    double second = inf;

    LeastTwo(const Floats& down, const Floats& hosted) {
        for (i64 v = 0; v < hosted.size(); ++v) {
            const double price = down[v] + hosted[v];
            if (price < best) {
                second = best;
                best = price;
                server = v;
            } else if (price < second) {
                second = price;
            }
        }
    }
    double after(i64 u) const { return u == server ? second : best; }  // a public hop leads to another server
};

// Backwards over hops and, within a hop, over the empty hops left: (m + 1) (E + 1) steps per arc. With a resource (by its place
// in `limit`; -1 for none), only maps that use it from here on count, and `free` is what was filled without, else `togo` itself.
void cost_to_go(const LayeredGraph& graph, const UsePrices& prices, const ToGoArrays<double, 3>& togo, i64 resource,
                const ToGo& free) {
    const i64 hops = togo.arrived.shape[0], levels = togo.arrived.shape[1], servers = togo.arrived.shape[2];
    const i64 budgets = togo.leaving.shape[1], used = resource - servers, uplink = used - graph.arcs();
    // Least prices over a link, by the empty hops left behind it, and where a map goes on at a server itself.
    Matrix<double> link_rows(levels, servers), hosted_rows(budgets, servers), free_rows(budgets, servers, inf);
    const FloatsOut2 linked = link_rows.view(), hosted = hosted_rows.view(), freely = free_rows.view();
    for (i64 j = hops - 1; j >= 0; --j) {
        const FloatsOut2 arrived = togo.arrived.row(j), leaving = togo.leaving.row(j);
        const Floats price = prices.arc.row(j), up = prices.up.row(j), down = prices.down.row(j);
        fill_hosted(graph, prices.host, togo.leaving, free.leaving, resource, j, hosted);
        for (i64 t = 0; t < levels; ++t) {
            copy(hosted.row(graph.budget(t)), arrived.row(t));
            for (i64 u = 0; t > 0 && u < servers; ++u) arrived(t, u) = least(arrived(t, u), linked(t - 1, u));
            const Floats here = arrived.row(t), there = free.arrived.row(j).row(t);
            for (i64 u = 0; u < servers; ++u) {
                double cheapest = inf;
                for (i64 a = graph.first[u]; a < graph.first[u + 1]; ++a)
                    cheapest = least(cheapest, price[a] + (a == used ? there : here)[graph.target[a]]);
                linked(t, u) = cheapest;
            }
        }
        if (uplink >= 0) fill_hosted(graph, prices.host, free.leaving, free.leaving, -1, j, freely);
        for (i64 t = 0; t < budgets; ++t) {
            if (uplink >= servers) hosted(t, uplink - servers) = freely(t, uplink - servers);
            const LeastTwo behind(down, hosted.row(t));
            const i64 level = budgets > 1 ? t : levels - 1;
            for (i64 u = 0; u < servers; ++u) leaving(t, u) = least(up[u] + behind.after(u), linked(level, u));
            if (0 <= uplink && uplink < servers)
                leaving(t, uplink) = least(leaving(t, uplink), up[uplink] + LeastTwo(down, freely.row(t)).after(uplink));
        }
        if (j == hops - 1 && resource < 0)
            for (i64 t = 0; t < budgets; ++t) leaving(t, graph.delivery) = 0.0;
    }
}

// The least price of a step, and by what: a number of components, an arc, or a server.
struct Step {
    double price = inf;
    i64 by = -1;
};

// From a server that takes some components now; at the end, 0 at the delivery.
Step best_run(const LayeredGraph& graph, const UsePrices& prices, const ToGo& togo, i64 j, i64 left, i64 v) {
    const i64 components = graph.components(), t = graph.budget(left);
    if (j == components) return {v == graph.delivery ? 0.0 : inf, 0};
    Step best{inf, 0};
    double need = 0.0, price = 0.0;
    for (i64 i = j; i < components; ++i) {
        need += graph.needs[i];
        price += prices.host(i, v);
        if (need > graph.limit[v] || price == inf) break;
        const double onward = price + togo.leaving(i + 1, t, v);
        if (onward < best.price) best = {onward, i + 1 - j};
    }
    return best;
}

// Over a link out of a server, with `left` empty hops after it.
Step best_arc(const LayeredGraph& graph, const UsePrices& prices, const ToGo& togo, i64 j, i64 left, i64 u) {
    Step best;
    for (i64 a = graph.first[u]; a < graph.first[u + 1]; ++a) {
        const double price = prices.arc(j, a) + togo.arrived(j, left, graph.target[a]);
        if (price < best.price) best = {price, a};
    }
    return best;
}

// Over the public network.
Step best_public(const LayeredGraph& graph, const UsePrices& prices, const ToGo& togo, i64 j, i64 left, i64 u) {
    Step best;
    for (i64 v = 0; prices.up(j, u) < inf && v < togo.leaving.shape[2]; ++v) {
        if (v == u || prices.down(j, v) == inf) continue;
        const double price = prices.up(j, u) + prices.down(j, v) + best_run(graph, prices, togo, j, left, v).price;
        if (price < best.price) best = {price, v};
    }
    return best;
}

// The least price of a map, infinite for none, and the number of its moves, which are written to `moves`.
std::tuple<double, i64> cheapest_moves(const LayeredGraph& graph, const UsePrices& prices, const ToGo& togo,
                                       const Array<std::int32_t, 1>& moves) {
    i64 u = graph.source, j = 0, left = graph.empty, size = 0;
    double value = togo.leaving(0, graph.budgets - 1, u);
    bool begun = true, passable = false;  // whether the server is to be left, and whether a link led to it
    if (graph.components() > 0) {
        const double hosted = best_run(graph, prices, togo, 0, left, u).price;
        if (hosted < value) value = hosted, begun = false;
    }
    if (value == inf) return {value, 0};
    while (j < graph.components() || u != graph.delivery) {
        if (begun) {
            const Step linked = best_arc(graph, prices, togo, j, left, u), dialled = best_public(graph, prices, togo, j, left, u);
            passable = linked.price <= dialled.price;
            u = passable ? graph.target[linked.by] : dialled.by;
            moves[size++] = std::int32_t(passable ? linked.by : graph.arcs() + dialled.by);
            begun = false;
            continue;
        }
        const Step hosted = best_run(graph, prices, togo, j, left, u);
        const Step linked = passable && left > 0 ? best_arc(graph, prices, togo, j, left - 1, u) : Step{};
        if (hosted.price <= linked.price) {
            for (i64 k = 0; k < hosted.by; ++k) moves[size++] = HOST;
            j += hosted.by;
            begun = true;
            if (graph.budgets == 1) left = graph.empty;
        } else {  // the server is passed
            u = graph.target[linked.by];
            left -= 1;
            moves[size++] = std::int32_t(linked.by);
        }
    }
    return {value, size};
}

const Kernels here{
    kernel<cost_to_go>("cost_to_go",
                       "Fills tables with the least price of what is still to come of a map, backwards over its hops."),
    kernel<cheapest_moves>("cheapest_moves",
                           "Writes the moves of the cheapest map under prices, and returns its price and their number."),
};

}  // namespace
}  // namespace edrp
