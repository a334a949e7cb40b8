// Running tasks from one event to the next, flow interval by flow interval.
// Progress is counted in seconds of a task's nominal rate. A task that sheds data on the way has another rate on each hop, but
// what a hop passes is a fraction of its own rate, so that one number tells how far all hops are.
#include "edrp/native/python.hpp"
#include "edrp/native/tolerances.hpp"
#include "edrp/native/validation/simulation/mapping/public_network.hpp"

namespace edrp {
namespace {

constexpr i64 START = 0, TOTAL = 1, SENT = 2, DONE = 3, GOT = 4, WINDOWS = 5, SHORTFALL = 6;  // columns of Streams::progress

struct Streams {
    IntsOut hops;
    IntsOut2 places;
    Array<u64, 2> keys;
    FloatsOut2 levels;
    FloatsOut mean;
    FloatsOut2 waiting, progress;
    FIELDS(hops, places, keys, levels, mean, waiting, progress)
};

struct Physics {
    double interval, scale, buffer, window;
    FIELDS(interval, scale, buffer, window)
};

// Nominal seconds that the source has not sent.
double left_to_send(const FloatsOut& progress) { return progress[TOTAL] - progress[SENT]; }

void copy_row(const Streams& s, i64 row, i64 other) {
    s.hops[other] = s.hops[row];
    s.mean[other] = s.mean[row];
    for (i64 hop = 0; hop < s.hops[row]; ++hop) {
        s.places(other, hop) = s.places(row, hop);
        s.keys(other, hop) = s.keys(row, hop);
        s.levels(other, hop) = s.levels(row, hop);
    }
    copy(s.waiting.row(row), s.waiting.row(other));
    copy(s.progress.row(row), s.progress.row(other));
}

// Adds the shortfall of the window, or of the last part of one, that is over.
void close_window(const FloatsOut& progress, double time, double window) {
    const double length = time - progress[START] - progress[WINDOWS] * window;
    if (length > 0) {
        const double missing = 1 - progress[GOT] / length;
        if (missing > TASK_REMAINDER) progress[SHORTFALL] += missing;
        progress[WINDOWS] += 1;
    }
    progress[GOT] = 0.0;
}

// Delivers within a step; returns when the step, or the task within it, is over.
[[gnu::always_inline]] inline double deliver(const FloatsOut& progress, double time, double step, double amount) {
    const double left = progress[TOTAL] - progress[DONE];
    if (amount >= left - TASK_REMAINDER * progress[TOTAL]) {
        progress[SENT] = progress[DONE] = progress[TOTAL];
        progress[GOT] += left;
        return amount > 0 ? time + step * least(1.0, left / amount) : time;
    }
    progress[DONE] += amount;
    progress[GOT] += amount;
    return time + step;
}

// Flows at a constant fraction of the rate, or with all of it on dedicated links.
double flow_steadily(const Streams& s, i64 row, double time, double end) {
    const FloatsOut progress = s.progress.row(row);
    const double amount = (s.hops[row] ? s.mean[row] : 1.0) * (end - time);
    progress[SENT] += amount;
    return deliver(progress, time, end - time, amount);
}

// The number of the flow interval that contains or begins at a time.
i64 interval_number(double time, double interval) {
    const i64 number = i64(time / interval);
    return double(number + 1) * interval <= time ? number + 1 : number;
}

// Flows interval by interval at the pace of the slowest hop: nothing waits on the way.
double flow_unbuffered(const Streams& s, i64 row, double time, double end, const Physics& physics) {
    const FloatsOut progress = s.progress.row(row);
    const i64 hops = s.hops[row];
    i64 number = interval_number(time, physics.interval);
    const double left = progress[TOTAL] - progress[DONE];
    double amount = 0.0, fraction = 1.0;
    while (time < end && amount < left) {
        double lowest = 0.0;
        for (i64 hop = 0; hop < hops; ++hop)
            lowest = least(lowest, s.levels(row, hop) + physics.scale * normal(s.keys(row, hop), number));
        number += 1;
        const double following = least(double(number) * physics.interval, end);
        fraction = std::exp(lowest);
        amount += fraction * (following - time);
        time = following;
    }
    if (amount >= left) {
        time -= (amount - left) / fraction;
        amount = left;
        progress[DONE] = progress[TOTAL];
    } else {
        progress[DONE] += amount;
    }
    progress[SENT] = progress[DONE];
    progress[GOT] += amount;
    return time;
}

// Flows interval by interval with buffers: a hop passes the data that it can; a full buffer holds others back.
double flow_buffered(const Streams& s, i64 row, double time, double end, const Physics& physics) {
    const FloatsOut progress = s.progress.row(row);
    const FloatsOut waiting = s.waiting.row(row), levels = s.levels.row(row);
    const IntsOut places = s.places.row(row);
    const Array<u64, 1> keys = s.keys.row(row);
    const double interval = physics.interval, scale = physics.scale, buffer = physics.buffer;
    const i64 hops = s.hops[row];
    i64 number = interval_number(time, interval);
    while (time < end && progress[DONE] < progress[TOTAL]) {
        const double step = least(double(number + 1) * interval, end) - time;
        const double sent = least(step, left_to_send(progress));
        double moved = sent, excess = 0.0;
        for (i64 hop = 0; hop < hops; ++hop) {
            double& before = waiting[places[hop]];
            const double most_passed = step * std::exp(levels[hop] + scale * normal(keys[hop], number));
            const double passed = least(most_passed, before + moved);
            before += moved - passed;
            moved = passed;
        }
        for (i64 hop = hops - 1; hop >= 0; --hop) {
            double& before = waiting[places[hop]];
            before += excess;
            excess = most(0.0, before - buffer);
            before -= excess;
        }
        progress[SENT] += sent - excess;
        time = deliver(progress, time, step, moved);
        number += 1;
    }
    return time;
}

// Lets one task flow, window by window; returns when it ends, infinity if not by `until`.
double flow(const Streams& s, i64 row, double now, double until, const Physics& physics) {
    const FloatsOut progress = s.progress.row(row);
    double time = now;
    if (progress[DONE] >= progress[TOTAL]) return time;  // by rounding it ended when another event was due
    while (time < until) {
        const double edge = progress[START] + (progress[WINDOWS] + 1) * physics.window, end = least(until, edge);
        if (!s.hops[row] || s.mean[row] >= 0)
            time = flow_steadily(s, row, time, end);
        else if (physics.buffer > 0)
            time = flow_buffered(s, row, time, end, physics);
        else
            time = flow_unbuffered(s, row, time, end, physics);
        const bool done = progress[DONE] >= progress[TOTAL];
        if (done || time >= edge) close_window(progress, time, physics.window);
        if (done) return time;
    }
    return inf;
}

// When the first of `count` tasks ends, and its row; (infinity, -1) if not by `until`. Each task that may be the first is tried
// on the last row; the one that has least left comes first, so that the trials of others are cut short.
std::tuple<double, i64> first_end(const Streams& s, i64 count, double now, double until, const Physics& physics) {
    double first = inf;
    i64 which = -1, shortest = 0;
    const i64 trial = s.hops.size() - 1;
    for (i64 row = 1; row < count; ++row)
        if (left_to_send(s.progress.row(row)) < left_to_send(s.progress.row(shortest))) shortest = row;
    for (i64 position = 0; position < count; ++position) {
        const i64 row = position == 0 ? shortest : position <= shortest ? position - 1 : position;
        const double limit = least(first, until);
        if (now + left_to_send(s.progress.row(row)) > limit) continue;  // no source sends faster than its rate
        copy_row(s, row, trial);
        const double end = flow(s, trial, now, limit, physics);
        if (end < first) {
            first = end;
            which = row;
        }
    }
    return {first, which};
}

// Lets the first `count` tasks flow from one time to another.
void advance_tasks(const Streams& s, i64 count, double now, double until, const Physics& physics) {
    for (i64 row = 0; row < count; ++row) flow(s, row, now, until, physics);
}

// Ends a task: delivers the rest that rounding has left, and closes its last window.
void conclude_task(const Streams& s, i64 row, double time, const Physics& physics) {
    const FloatsOut progress = s.progress.row(row);
    if (progress[DONE] < progress[TOTAL]) {
        progress[GOT] += progress[TOTAL] - progress[DONE];
        progress[DONE] = progress[TOTAL];
        close_window(progress, time, physics.window);
    }
}

void write_stream_keys(const Array<const u64, 1>& seed, i64 task, const Array<u64, 1>& keys) {
    for (i64 hop = 0; hop < keys.size(); ++hop) keys[hop] = stream_key(seed[0], u64(task), u64(hop));
}

const Kernels here{
    kernel<first_end>("first_task_end", "Finds when the first of the running tasks ends, and which."),
    kernel<advance_tasks>("advance_tasks", "Lets running tasks flow from one time to another."),
    kernel<conclude_task>("conclude_task", "Ends a task, with the rest that rounding has left and its last window."),
    kernel<write_stream_keys>("write_stream_keys", "Writes the streams of draws of a task's hops, by the seed."),
};

}  // namespace
}  // namespace edrp
