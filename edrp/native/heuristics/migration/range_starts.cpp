// Which ranges of tasks replicas on given nodes take so that the most bytes stay
// (edrp/heuristics/migration/rescale/range_starts.py).
#include "edrp/native/python.hpp"
#include "edrp/native/tolerances.hpp"

namespace edrp {
namespace {

constexpr i64 MAX_REORDERED_REPLICAS = 12, TRADE_PASSES = 3;

// Maximum bytes that stay with seats in this order and at most `limits` of work on each node, in O(tasks × seats); sets `ends`;
// -1 where nothing fits. Arrays come by value, so that compilers know that no write changes their shapes.
double most_kept_bytes(Floats work, Floats2 held_bytes, IntsOut seats, Floats limits, IntsOut ends, FloatsOut2 gain,
                       IntsOut2 choice, IntsOut queue) {
    const i64 tasks = work.size() - 1, replicas = seats.size();
    gain.row(0).slice(0, tasks + 1).fill(-1.0);
    gain(0, 0) = 0.0;
    for (i64 k = 1; k <= replicas; ++k) {
        const i64 u = seats[k - 1];
        const FloatsOut before = gain.row((k - 1) % 2), after = gain.row(k % 2);
        i64 head = 0, tail = 0;
        for (i64 b = 0; b <= tasks; ++b) {
            // Ends of the range before that come into question, by falling gain, those too far back at the front.
            const i64 a = b - 1;
            if (a >= 0 && before[a] >= 0) {
                const double value = before[a] - held_bytes(a, u);
                while (tail > head && before[queue[tail - 1]] - held_bytes(queue[tail - 1], u) <= value) --tail;
                queue[tail++] = a;
            }
            while (tail > head && work[b] - work[queue[head]] > limits[u]) ++head;
            after[b] = -1.0;
            if (tail > head) {
                after[b] = most(0.0, before[queue[head]] + held_bytes(b, u) - held_bytes(queue[head], u));
                choice(k, b) = queue[head];
            }
        }
    }
    if (gain(replicas % 2, tasks) < 0) return -1.0;
    ends[replicas] = tasks;
    for (i64 k = replicas; k > 0; --k) ends[k - 1] = choice(k, ends[k]);
    return gain(replicas % 2, tasks);
}

// Orders `seats` (the node of each replica) and sets `ends` so that the most bytes stay; false where no order that is tried fits.
bool order_replicas(const Floats& work, const Floats2& held_bytes, const IntsOut& seats, const Floats& limits,
                    const IntsOut& ends) {
    const Own<double, 2> gain(2, work.size());
    const Own<i64, 2> choice(seats.size() + 1, work.size());
    const Own<i64, 1> queue(work.size());
    double best = most_kept_bytes(work, held_bytes, seats, limits, ends, gain, choice, queue);
    const auto trade = [&](i64 p, i64 q) {
        const i64 u = seats[p];
        seats[p] = seats[q];
        seats[q] = u;
    };
    bool better = true;
    for (i64 pass = 0; pass < TRADE_PASSES && better; ++pass) {
        better = false;
        for (i64 p = 0; p < seats.size(); ++p) {
            const i64 last = seats.size() <= MAX_REORDERED_REPLICAS ? seats.size() : least(seats.size(), p + 2);
            for (i64 q = p + 1; q < last; ++q) {
                if (seats[p] == seats[q]) continue;
                if (best < 0 && limits[seats[p]] == limits[seats[q]]) continue;
                trade(p, q);
                const double kept_bytes = most_kept_bytes(work, held_bytes, seats, limits, ends, gain, choice, queue);
                if (kept_bytes > best + most(best, 0.0) * EQUAL_GAINS) {
                    best = kept_bytes;
                    better = true;
                } else {
                    trade(p, q);
                }
            }
        }
    }
    return most_kept_bytes(work, held_bytes, seats, limits, ends, gain, choice, queue) >= 0;
}

const Kernels here{
    kernel<order_replicas>("order_replicas", "Order the ranges of replicas on given nodes so that the most bytes stay.")};

}  // namespace
}  // namespace edrp
