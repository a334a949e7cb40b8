// The cheapest split of an operator among the nodes of every state, over all levels of latency.
//
// A replica on node u that holds the tasks [a, b) costs unit[u] + q[u,b] - q[u,a]; its share of the work is limited by node and
// level. Along the tasks a deque for each node keeps the places where the last replica may begin, the cheapest in front.
#include "edrp/native/formulations/migration/split_layer.hpp"

namespace edrp {
namespace {

constexpr i64 MAX_WAITING_RANGES = 64;  // halving leaves one for each time that the number of levels can be halved

class SplitSearch {
 public:
    SplitSearch(const SplitLayer& layer_, const Floats& unit_, const Floats2& q_, double price_)
        : layer(layer_),
          unit(unit_),
          q(q_),
          price(price_),
          costs(layer.exact + 1, layer.share.size()),
          firsts(layer.exact + 1, layer.share.size()),
          hosts(layer.exact + 1, layer.share.size()),
          deques(unit.size(), layer.share.size()) {}

    // Least cost of all tasks, latency by level left out.
    double split(const Bools& on, i64 level) {
        const i64 last = layer.share.size() - 1;
        const FloatsOut2 cost = costs.view();
        if (layer.exact == 0) {
            sweep(on, level, 0, 0);
            return cost(0, last);
        }
        for (i64 b = 0; b <= last; ++b) cost(0, b) = b > 0 ? inf : 0.0;
        for (i64 k = 0; k < layer.exact; ++k) sweep(on, level, k, k + 1);
        return cost(layer.exact, last);
    }

    // Fills `held` with the replicas (node, first task, end) of the split that was found, last one first; returns how many.
    i64 trace(const IntsOut2& held) {
        i64 b = layer.share.size() - 1, row = layer.exact, number = 0;
        while (b > 0) {
            const i64 a = firsts.view()(row, b);
            held(number, 0) = hosts.view()(row, b);
            held(number, 1) = a;
            held(number++, 2) = b;
            b = a;
            if (layer.exact > 0) row -= 1;
        }
        return number;
    }

 private:
    // Least cost of the tasks before each place, the last replica added to row `before`, in row `after` (which may be the same).
    void sweep(const Bools& on, i64 level, i64 before, i64 after) {
        const Floats share = layer.share, caps = layer.caps.row(level), speedup = layer.speedup, units = unit;
        const Floats2 prices = q, range_seconds = layer.range_seconds;
        const FloatsOut from = costs.view().row(before), to = costs.view().row(after);
        const IntsOut first = firsts.view().row(after), host = hosts.view().row(after);
        const i64 longest = layer.longest;
        const bool mean = range_seconds.shape[0] > 0;
        to[0] = before == after ? 0.0 : inf;
        deques.clear();
        for (i64 b = 1; b < share.size(); ++b) {
            double best = inf;
            i64 best_first = -1, best_host = -1;
            for (i64 u = 0; u < units.size(); ++u) {
                if (!on[u]) continue;
                const Floats own = prices.row(u);
                i64* const queue = deques.places(u);
                i64 front = deques.front(u), back = deques.back(u);
                if (std::isfinite(from[b - 1])) {
                    const double key = from[b - 1] - own[b - 1];
                    // Where latency is no part of the price, a dearer place that is left behind sooner is of no use.
                    while (!mean && back > front && !(from[queue[back - 1]] - own[queue[back - 1]] < key)) --back;
                    queue[back++] = b - 1;
                }
                while (front < back && !(share[b] - share[queue[front]] <= caps[u] && b - queue[front] <= longest)) ++front;
                const i64 end = mean ? back : least(back, front + 1);
                for (i64 k = front; k < end; ++k) {
                    const i64 a = queue[k];
                    double value = from[a] - own[a] + own[b] + units[u];
                    if (mean) value += price * range_seconds(a, b) / speedup[u];
                    if (value < best) {
                        best = value;
                        best_first = a;
                        best_host = u;
                    }
                }
                deques.front(u) = front;
                deques.back(u) = back;
            }
            to[b] = best;
            first[b] = best_first;
            host[b] = best_host;
        }
    }

    const SplitLayer& layer;
    const Floats& unit;
    const Floats2& q;
    const double price;
    Matrix<double> costs;       // least costs by replicas counted and place
    Matrix<i64> firsts, hosts;  // where and on which node the last replica begins
    PlaceDeques deques;
};

// Fills in the least cost in every state, infinite where there is none, and the level that has it.
//
// Higher levels permit more and charge more. Between two of them nothing costs less than what is permitted by the upper and
// charged by the lower one: ranges where that is too much are left out, others halved.
void split_values(const SplitLayer& layer, const Floats& unit, const Floats2& q, const Bools2& inside, double price,
                  const FloatsOut& values, const IntsOut& levels) {
    struct {
        i64 low, high;
        double floor;  // cost without latency on the level above
    } ranges[MAX_WAITING_RANGES];
    const i64 top = layer.seconds.size() - 1;
    SplitSearch search(layer, unit, q, price);
    for (i64 s = 0; s < inside.shape[0]; ++s) {
        values[s] = inf;
        levels[s] = top;
        const double floor = search.split(inside.row(s), top);
        if (!std::isfinite(floor)) continue;
        values[s] = floor + price * layer.seconds[top];
        ranges[0] = {0, top, floor};
        i64 waiting = 1;
        while (waiting > 0) {
            const auto range = ranges[--waiting];
            if (range.low >= range.high || range.floor + price * layer.seconds[range.low] >= values[s]) continue;
            const i64 level = (range.low + range.high) / 2;
            const double cost = search.split(inside.row(s), level), value = cost + price * layer.seconds[level];
            if (value < values[s]) {
                values[s] = value;
                levels[s] = level;
            }
            ranges[waiting++] = {level + 1, range.high, range.floor};
            if (std::isfinite(cost)) ranges[waiting++] = {range.low, level, cost};
        }
    }
}

// Fills `held` with the replicas (node, first task, end) of the cheapest split, last one first; returns how many.
i64 trace_split(const SplitLayer& layer, const Floats& unit, const Floats2& q, const Bools& on, i64 level, double price,
                const IntsOut2& held) {
    SplitSearch search(layer, unit, q, price);
    search.split(on, level);
    return search.trace(held);
}

const Kernels here{kernel<split_values>("split_values", "Find the least cost of a split of the tasks in every state."),
                   kernel<trace_split>("trace_split", "List the replicas of the cheapest split of the tasks on a level.")};

}  // namespace
}  // namespace edrp
