// The least seconds that moves of an operator take, and the replicas that stay in all that are made in time (EDRP, eqs. 28-32).
#include "edrp/native/python.hpp"
#include "edrp/native/sorting.hpp"

namespace edrp {
namespace {

// Seconds that the second slowest sender takes at least; minus infinity where there is no other.
double second_slowest(const Ints& before, const Floats2& upload, const Ints& room, i64 slowest) {
    double second = -inf;
    for (i64 u = 0; u < before.size(); ++u)
        if (u != slowest && before[u] > 0) second = most(second, upload(u, room[u]));
    return second;
}

// Least seconds of moving an operator to a number of replicas, at most `room` on each node; infinite where they find none.
//
// Every node that sends is tried as the one that takes longest, with every number of replicas that may stay on it. The others
// then keep as many as they must to take no longer, and further replicas go where they take least. Data that the slowest sender
// itself fetches waits for the second slowest, which is taken to be as fast as can be, so that this is a lower bound.
double least_move_time(const Ints& before, const Floats& code, const Floats2& upload, const Floats2& download, const Ints& room,
                       i64 replicas) {
    const i64 nodes = before.size();
    double best = inf;
    const Own<double, 1> values(nodes * (replicas + 1));
    for (i64 slowest = 0; slowest < nodes; ++slowest) {
        if (before[slowest] == 0) continue;
        const double second = second_slowest(before, upload, room, slowest);
        for (i64 stay = 0; stay <= room[slowest]; ++stay) {
            const double longest = upload(slowest, stay);
            double time = stay > 0 && second > -inf ? second + download(slowest, stay) : 0.0;
            i64 left = replicas - stay, count = 0;
            bool possible = second <= longest;
            for (i64 v = 0; v < nodes; ++v) {
                if (v == slowest) continue;
                i64 fewest = 0;
                while (before[v] > 0 && fewest <= room[v] && upload(v, fewest) > longest) ++fewest;
                if (fewest > room[v]) {
                    possible = false;
                    break;
                }
                const double start = most(code[v], longest);
                if (fewest > 0) {
                    time = most(time, start + download(v, fewest));
                    left -= fewest;
                }
                for (i64 number = fewest + 1; number <= room[v]; ++number) values[count++] = start + download(v, number);
            }
            if (!possible || left < 0 || left > count) continue;
            if (left > 0) time = most(time, value_in_place(values, count, left - 1));
            best = least(best, time);
        }
    }
    return best;
}

// Least replicas on each node over all configurations that take no longer than `allowed`; whether there are any, too.
//
// As before, every node that sends is tried as the one that takes longest. The others then have to keep some replicas, and what a
// node can fetch in time bounds its replicas from above; what finds no room elsewhere has to stay as well.
std::tuple<bool, std::vector<i64>> least_kept_replicas(const Ints& before, const Floats& code, const Floats2& upload,
                                                       const Floats2& download, const Ints& room, i64 replicas, double allowed) {
    const i64 nodes = before.size();
    std::vector<i64> kept(std::size_t(nodes), replicas), lower(kept), upper(kept);
    bool found = false;
    for (i64 slowest = 0; slowest < nodes; ++slowest) {
        if (before[slowest] == 0) continue;
        const double second = second_slowest(before, upload, room, slowest);
        for (i64 stay = 0; stay <= least(room[slowest], before[slowest]); ++stay) {
            const double longest = upload(slowest, stay);
            bool possible = second <= longest && !(stay > 0 && second > -inf && second + download(slowest, stay) > allowed);
            i64 all = 0, fewest = 0;  // replicas at most and at least
            for (i64 v = 0; v < (possible ? nodes : 0); ++v) {
                i64& low = lower[std::size_t(v)] = 0;
                i64& high = upper[std::size_t(v)] = 0;
                if (v == slowest) {
                    low = high = stay;
                    for (i64 number = stay + 1; stay == before[v] && number <= room[v]; ++number)
                        if (second == -inf || second + download(v, number) <= allowed) high = number;
                } else {
                    while (before[v] > 0 && low <= room[v] && upload(v, low) > longest) ++low;
                    const double start = most(code[v], longest);
                    for (i64 number = 1; number <= room[v]; ++number)
                        if (start + download(v, number) <= allowed) high = number;
                }
                if (low > high) {
                    possible = false;
                    break;
                }
                fewest += low;
                all += high;
            }
            if (!possible || fewest > replicas || replicas > all) continue;
            found = true;
            for (std::size_t v = 0; v < kept.size(); ++v) kept[v] = least(kept[v], most(lower[v], replicas - (all - upper[v])));
        }
    }
    return {found, kept};
}

const Kernels here{
    kernel<least_move_time>("least_move_time", "Least seconds of moving an operator to a number of replicas."),
    kernel<least_kept_replicas>("least_kept_replicas", "Least replicas that each node keeps over all moves within a time.")};

}  // namespace
}  // namespace edrp
