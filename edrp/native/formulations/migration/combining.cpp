// Combinations of alternatives of all operators, of which the objective is computed, as of routes within the gap by Baldacci,
// Christofides and Mingozzi (Mathematical Programming 115, 2008); formulations/migration/rescale/decomposition/combining.py.
#include "edrp/native/python.hpp"

namespace edrp {
namespace {

struct CombinationTables {
    Ints first, end, state, used;
    Floats cost, seconds, money, moved, alone;
    Floats2 share, load;
    Floats room;
    Ints kinds, states;
    Floats togo, reached;
    Ints begin, earlier, later, turned;
    Floats flow;
    Ints on_path;
    Floats3 traffic, price, delay;
    Ints order;
    Floats weights, limits;
    double floor;
    FIELDS(first, end, state, used, cost, seconds, money, moved, alone, share, load, room, kinds, states, togo, reached, begin,
           earlier, later, turned, flow, on_path, traffic, price, delay, order, weights, limits, floor)
};

struct CombinationWork {
    IntsOut at;
    FloatsOut value;
    IntsOut cell;
    FloatsOut2 total;
    FloatsOut delay, money, finish;
    IntsOut depth;
    IntsOut2 found;
    FloatsOut objective;
    FIELDS(at, value, cell, total, delay, money, finish, depth, found, objective)
};

// Price of the streams between an alternative and those chosen before it; notes their delays and money.
double pair_price(const CombinationTables& t, const CombinationWork& w, i64 place, i64 x) {
    const i64 nodes = t.share.shape[1], used = t.used[x];
    const Floats share = t.share.row(x);
    double total = 0.0;
    for (i64 e = 0; e < t.flow.size(); ++e) {
        if (t.later[e] != place) continue;
        const i64 y = w.at[t.earlier[e]], others = t.used[y];
        const Floats2 delays = t.delay.row(t.turned[e]), traffic = t.traffic.row(e), prices = t.price.row(e);
        double delay = 0.0, price = 0.0, money = 0.0;
        for (i64 u = 0; u < nodes; ++u) {
            if ((others >> u & 1) == 0) continue;
            for (i64 v = 0; v < nodes; ++v) {
                if ((used >> v & 1) == 0) continue;
                delay = most(delay, delays(u, v));
                const double product = t.share(y, u) * share[v];
                price += product * traffic(u, v);
                money += product * prices(u, v);
            }
        }
        w.delay[e] = delay;
        w.money[e] = money;
        total += t.flow[e] * delay + price;
    }
    return total;
}

// A floor of the objective of a whole combination, infinite where it breaks a limit.
double combination_objective(const CombinationTables& t, const CombinationWork& w) {
    const i64 size = t.states.size();
    double response = 0.0, money = 0.0, moved = 0.0, transfer = 0.0, peak = 0.0;
    for (i64 place : t.order) {
        const i64 x = w.at[place];
        double before = 0.0;
        for (i64 e = 0; e < t.flow.size(); ++e) {
            const i64 target = t.turned[e] == 0 ? t.later[e] : t.earlier[e];
            if (target != place || t.on_path[e] == 0) continue;
            const i64 source = t.turned[e] == 0 ? t.earlier[e] : t.later[e];
            before = most(before, w.finish[source] + w.delay[e]);
        }
        w.finish[place] = before + t.seconds[x];
        response = most(response, w.finish[place]);
        money += t.money[x];
        moved += t.moved[x];
        transfer = most(transfer, t.alone[x]);
    }
    for (i64 e = 0; e < t.flow.size(); ++e) money += w.money[e];
    for (i64 c = t.kinds[0]; c < t.kinds[1]; ++c) transfer = most(transfer, w.total(size, c));
    for (i64 c = t.kinds[1]; c < t.kinds[2]; ++c) peak = most(peak, w.total(size, c));
    transfer += t.floor;
    if (response > t.limits[0] || money > t.limits[1] || transfer > t.limits[2]) return inf;
    if (moved > t.limits[3] || peak > t.limits[4]) return inf;
    const double paid = t.weights[0] * response + t.weights[1] * money + t.weights[2] * transfer;
    return paid + t.weights[3] * moved + t.weights[4] * peak;
}

// Goes on with the search for combinations whose objective may be below `limit`, from where it is.
//
// Returns how many are in `found`, which may be full, and how many steps are left; `depth` is -1 once there are no more.
std::tuple<i64, i64> combine_alternatives(const CombinationTables& t, double limit, i64 steps, const CombinationWork& w) {
    const i64 size = t.states.size(), loads = t.room.size();
    i64 depth = w.depth[0], count = 0;
    while (depth >= 0 && steps > 0 && count < w.objective.size()) {
        steps -= 1;
        const i64 x = w.at[depth];
        if (x >= t.first[depth + 1]) {
            depth -= 1;
            if (depth >= 0) w.at[depth] += 1;
            continue;
        }
        const i64 index = w.cell[depth] * t.states[depth] + t.state[x], cell = t.begin[depth + 1] + index;
        double value = w.value[depth] + t.cost[x];
        if (value + t.reached[cell] > limit) {
            w.at[depth] = t.end[x];
            continue;
        }
        value += pair_price(t, w, depth, x);
        bool fits = value + t.togo[cell] <= limit;
        for (i64 c = 0; c < loads; ++c) {
            w.total(depth + 1, c) = w.total(depth, c) + t.load(x, c);
            if (c < t.kinds[0] && w.total(depth + 1, c) > t.room[c]) fits = false;
        }
        if (fits && depth + 1 < size) {
            depth += 1;
            w.value[depth] = value;
            w.cell[depth] = index;
            w.at[depth] = t.first[depth];
            continue;
        }
        const double objective = fits ? combination_objective(t, w) : inf;
        if (objective < limit) {
            for (i64 place = 0; place < size; ++place) w.found(count, place) = w.at[place];
            w.objective[count++] = objective;
        }
        w.at[depth] += 1;
    }
    w.depth[0] = depth;
    return {count, steps};
}

const Kernels here{
    kernel<combine_alternatives>("combine_alternatives", "Search for combinations whose objective may be low enough.")};

}  // namespace
}  // namespace edrp
