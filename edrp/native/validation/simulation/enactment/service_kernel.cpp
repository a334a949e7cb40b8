// One operator through one round of the simulation, item by item: first in, first out, from a heap of free instances.
#include "edrp/native/python.hpp"
#include "edrp/native/tolerances.hpp"

namespace edrp {
namespace {

constexpr i64 START = 0, STOP = 1, HOLD = 2, RESUME = 3;                 // codes of events; others are samples
constexpr i64 SIZE = 0, SEQUENCE = 1, HOLDS = 2, BEGUN = 3, WITHIN = 4;  // places in Crew::counts
constexpr i64 OPEN_SINCE = 0, RECORDED = 1;                              // places in Crew::sums

struct Crew {
    FloatsOut free;
    IntsOut order, instance, counts;
    FloatsOut sums;
    FIELDS(free, order, instance, counts, sums)
};

struct Work {
    Floats arrivals, processing;
    FloatsOut begins, ends;
    IntsOut instances;
    FIELDS(arrivals, processing, begins, ends, instances)
};

struct Happenings {
    Floats times;
    Ints codes, subjects;
    FIELDS(times, codes, subjects)
};

struct Samples {
    IntsOut waiting, begun;
    FloatsOut recorded;
    FIELDS(waiting, begun, recorded)
};

// Orders are references because they are read in ties alone, which are rare.
bool sooner(double free, const i64& order, double other_free, const i64& other_order) {
    return free < other_free || (free == other_free && order < other_order);
}

void put(const Crew& crew, i64 place, double free, i64 order, i64 instance) {
    crew.free[place] = free;
    crew.order[place] = order;
    crew.instance[place] = instance;
}

void move(const Crew& crew, i64 from, i64 to) { put(crew, to, crew.free[from], crew.order[from], crew.instance[from]); }

// Puts an instance where `place` is empty, or below, so that parents are never later than children.
[[gnu::always_inline]] inline void sift_down(const Crew& crew, i64 place, i64 size, double free, i64 order, i64 instance) {
    while (true) {
        i64 child = 2 * place + 1;
        if (child >= size) break;
        if (child + 1 < size && sooner(crew.free[child + 1], crew.order[child + 1], crew.free[child], crew.order[child])) ++child;
        if (!sooner(crew.free[child], crew.order[child], free, order)) break;
        move(crew, child, place);
        place = child;
    }
    put(crew, place, free, order, instance);
}

// Begins items before `stop` with the present instances; returns how many are begun by then.
i64 take(const Work& work, const Crew& crew, double occupancy, const Floats& levels, double last, i64 begun, double stop) {
    const i64 size = crew.counts[SIZE], first = begun;
    const double open_since = crew.sums[OPEN_SINCE];
    i64 sequence = crew.counts[SEQUENCE], real = 0, near = 0, relaxed = 0;
    double recorded_sum = crew.sums[RECORDED];
    while (begun < work.arrivals.size() && size > 0) {
        const double arrival = work.arrivals[begun];
        const double begin = most(most(arrival, crew.free[0]), open_since);
        if (begin >= stop) break;
        const double processing = work.processing[begun], end = begin + processing;
        const double recorded = begin - arrival + processing;
        recorded_sum += recorded;
        if (end < last) {
            real += recorded <= levels[0];
            near += recorded <= levels[1];
            relaxed += recorded <= levels[2];
        }
        work.begins[begun] = begin;
        work.ends[begun] = end;
        work.instances[begun] = crew.instance[0];
        sift_down(crew, 0, size, begin + occupancy * processing, sequence, crew.instance[0]);
        sequence += 1;
        begun += 1;
    }
    crew.counts[SEQUENCE] = sequence;
    crew.counts[BEGUN] += begun - first;
    crew.counts[WITHIN] += real;
    crew.counts[WITHIN + 1] += near;
    crew.counts[WITHIN + 2] += relaxed;
    crew.sums[RECORDED] = recorded_sum;
    return begun;
}

// Adds an instance that is free from now on.
void start(const Crew& crew, double time, i64 instance) {
    i64 place = crew.counts[SIZE]++;
    const i64 order = crew.counts[SEQUENCE]++;
    while (place > 0) {
        const i64 above = (place - 1) / 2;
        if (!sooner(time, order, crew.free[above], crew.order[above])) break;
        move(crew, above, place);
        place = above;
    }
    put(crew, place, time, order, instance);
}

// Removes an instance; the item that it works on is not affected.
void stop_instance(const Crew& crew, i64 instance) {
    const i64 size = --crew.counts[SIZE];
    i64 place = 0;
    while (crew.instance[place] != instance) ++place;
    // The last one takes its place, and the heap is built again from the bottom: stops are rare.
    move(crew, size, place);
    for (i64 parent = size / 2 - 1; parent >= 0; --parent)
        sift_down(crew, parent, size, crew.free[parent], crew.order[parent], crew.instance[parent]);
}

// Serves the items of `work`, those that wait and then those that will arrive, while instances come and go; returns how many
// are begun before `until`. An item occupies its instance for the share `occupancy` of its processing. It counts as in time
// within each of the three `levels` (seconds) if it leaves before `last`, the end of the run. Samples of the queue are written.
i64 serve_items(const Work& work, const Crew& crew, double occupancy, const Floats& levels, double last,
                const Happenings& happenings, double until, const Samples& samples) {
    const i64 events = happenings.times.size();
    i64 begun = 0, arrived = 0, sampled = 0;
    for (i64 event = 0; event <= events; ++event) {
        const double stop = event < events ? happenings.times[event] : until;
        if (crew.counts[HOLDS] == 0) begun = take(work, crew, occupancy, levels, last, begun, stop);
        if (event == events) break;
        const i64 code = happenings.codes[event];
        if (code == START) {
            start(crew, stop, happenings.subjects[event]);
        } else if (code == STOP) {
            stop_instance(crew, happenings.subjects[event]);
        } else if (code == HOLD) {
            crew.counts[HOLDS] += 1;
        } else if (code == RESUME) {
            crew.counts[HOLDS] -= 1;
            crew.sums[OPEN_SINCE] = stop;
        } else {
            while (arrived < work.arrivals.size() && work.arrivals[arrived] < stop) ++arrived;
            samples.waiting[sampled] = arrived - begun;
            samples.begun[sampled] = crew.counts[BEGUN];
            samples.recorded[sampled] = crew.sums[RECORDED];
            crew.counts[BEGUN] = 0;
            crew.sums[RECORDED] = 0.0;
            sampled += 1;
        }
    }
    return begun;
}

// Items that an operator sends on each outgoing stream, one time (s) per item, to `out`, which has the right size: the k-th
// departure brings the items sent so far to k times the selectivity, rounded down; `before` departures were earlier.
void send_items(const Floats& departures, i64 before, double selectivity, const FloatsOut& out) {
    i64 written = 0;
    double sent = std::floor(double(before) * selectivity + WHOLE_NUMBER_SLACK);
    for (i64 k = 0; k < departures.size(); ++k) {
        const double due = std::floor(double(before + k + 1) * selectivity + WHOLE_NUMBER_SLACK);
        for (; sent < due; sent += 1.0) out[written++] = departures[k];
    }
}

const Kernels here{
    kernel<serve_items>("serve_items", "Serves the items of an operator through a round of the simulation, first in, first out."),
    kernel<send_items>("send_items", "Writes the times of the items that departures send on, by the operator's selectivity."),
};

}  // namespace
}  // namespace edrp
