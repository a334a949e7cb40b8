// Expected costs of holding hosts, over paths that the load may take.
#include "edrp/native/python.hpp"

namespace edrp {
namespace {

struct LoadPaths {
    Floats2 levels;
    Floats weights;
    Ints known_rounds;
    FIELDS(levels, weights, known_rounds)
};

struct HostCosts {
    i64 rounds, lag;
    double late, overload_share, surprise_share, utilisation;
    FIELDS(rounds, lag, late, overload_share, surprise_share, utilisation)
};

// What holding the first n hosts is expected to cost (`expected_costs`), for every n. Load above what the hosts bear waits, and
// in the end costs a host that is leased to serve it.
std::vector<double> expected_host_costs(const LoadPaths& paths, const Floats& support, const Floats& prices, i64 served_by,
                                        double backlog, const HostCosts& costs) {
    const i64 hosts = support.size() - 1, lag = costs.lag, last = least(paths.levels.shape[1] - 1, costs.rounds);
    const double late = costs.late, overload = costs.overload_share, surprise = costs.surprise_share;
    const double utilisation = costs.utilisation;
    std::vector<double> money(std::size_t(hosts + 1), 0.0);
    std::vector<i64> due(std::size_t(last + lag + 1), 0);  // hosts that begin to serve, by round
    // Money for a unit of load in a round.
    const double work = hosts ? prices[hosts - 1] * double(hosts) / most(support[hosts], 1e-9) : 0.0;
    double price = 0.0;  // of a round, for the first hosts
    for (i64 first = 0; first <= hosts; ++first) {
        for (i64 path = 0; path < paths.weights.size(); ++path) {
            const Floats loads = paths.levels.row(path);
            const i64 rounds = least(paths.known_rounds[path], last);
            for (i64& number : due) number = 0;
            i64 serving = least(first, served_by), ordered = first;
            due[lag] += first - serving;
            double waiting = backlog, cost = price * double(rounds);
            for (i64 period = 1; period <= rounds; ++period) {
                const double load = loads[period];
                serving += due[period];
                const double capacity = support[serving];
                const bool waited = waiting > 1e-9;
                waiting = most(0.0, waiting + load - capacity);
                if (waiting > 1e-9 && waited)
                    cost += late * load * overload;
                else if (waiting > 1e-9)
                    cost += late * load * most(overload, surprise * least(1.0, 20.0 * waiting / most(capacity, 1e-9)));
                else if (load > utilisation * capacity)
                    cost += late * load * overload * (load / capacity - utilisation) / (1.0 - utilisation);
                while (ordered < hosts && load > utilisation * support[ordered]) {
                    cost += prices[ordered] * double(rounds - period);
                    ordered += 1;
                    due[period + lag] += 1;
                }
            }
            money[std::size_t(first)] += paths.weights[path] * (cost + waiting * work);
        }
        if (first < hosts) price += prices[first];
    }
    return money;
}

const Kernels here{
    kernel<expected_host_costs>("expected_host_costs", "The expected cost of holding the first n hosts, for every n."),
};

}  // namespace
}  // namespace edrp
