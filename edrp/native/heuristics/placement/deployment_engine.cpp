// Iterated local search over deployments with replicas: one operator after the other takes the best of its changes
// (heuristics/placement/search/deployment_engine.py). Streams of operators that change are summed up from scratch, so that
// nothing drifts.
#include "edrp/native/heuristics/placement/change_lists.hpp"
#include "edrp/native/python.hpp"

namespace edrp {
namespace {

// Number of kicks in which the tolerance falls to 0, repeatedly. Measured on applications of 20 operators, one second each:
// against a constant tolerance, a third of the mean gap goes, because some local optima are left only by a long way round.
constexpr i64 TOLERANCE_PERIOD = 250;

// The tolerance at the beginning of a period, in units of the parameter; on average it is half of that.
constexpr double INITIAL_TOLERANCE = 3.0;

// Number of draws of a node that has room.
constexpr int NODE_TRIES = 6;

// Number of pairs of replicas that are drawn to trade places.
constexpr int TRADES = 3;

// Maximum number of operators along streams that one kick changes.
constexpr i64 MAX_KICKED_OPERATORS = 4;

// Lists the operators of the planned change, sorted by part; returns their number.
i64 list_changed(const DeploymentState& d, const DeploymentMemory& m, i64 parts) {
    i64 count = 0;
    for (i64 k = 0; k < parts; ++k) {
        if (count == 0 || m.changed[count - 1] != d.plan(k, 0)) m.changed[count++] = d.plan(k, 0);
    }
    return count;
}

// Takes the first operator from the queue and lists its changes.
void open_next(const DeploymentSearch& search) {
    const DeploymentMemory& m = search.memory;
    const IntsOut& c = m.counters;
    const i64 i = m.queue[0];
    c[WAITING] -= 1;
    for (i64 k = 0; k < c[WAITING]; ++k) m.queue[k] = m.queue[k + 1];
    m.queued[i] = false;
    c[LISTED] = list_changes(search.arrays, search.now, m, i);
    c[POSITION] = 0;
    c[CHOSEN] = -1;
    copy(m.value, m.chosen);
}

// Accepts the change that was tried: enqueues the operators that it touches, and their neighbours.
void go_on(const DeploymentSearch& search, i64 count) {
    const DeploymentMemory& m = search.memory;
    copy(m.trial, m.value);
    if (m.counters[OVERLOADED] > 0) m.counters[OVERLOADED] = is_overloaded(search.arrays, search.now);
    for (i64 x = 0; x < count; ++x) {
        note_stray(m, m.changed[x]);
        enqueue_neighbours(search.arrays, m, m.changed[x]);
    }
}

// Lets each operator in the queue make the best of its changes, if that improves the deployment; returns whether the queue is
// empty.
//
// Then it and those that share streams with it are queued again. Each trial is a change of the list, at last the best one of the
// list
// (`stays`), or a kick.
bool climb(const DeploymentSearch& search, const LocalSearchRun& run) {
    const PlacementArrays& t = search.arrays;
    const DeploymentState& state = search.now;
    const DeploymentMemory& m = search.memory;
    const IntsOut& c = m.counters;
    while (search.progress[WORK] < run.work) {
        i64 touched = c[KICKED], parts = 0;
        if (touched < 0 && c[POSITION] > c[LISTED]) {
            if (c[WAITING] == 0) return true;
            open_next(search);
        }
        search.progress[WORK] += 1;
        const bool stays = touched >= 0 || c[POSITION] == c[LISTED];
        const i64 k = stays ? c[CHOSEN] : c[POSITION];
        if (touched < 0) {
            c[POSITION] += 1;
            if (k < 0) continue;
            parts = plan_change(t, state, m, k);
            touched = list_changed(state, m, parts);
            transfer(t, state, parts, false);
        }
        c[KICKED] = -1;
        for (i64 x = 0; x < touched; ++x) refresh(t, state, m.changed[x]);
        evaluate(t, state, c[OVERLOADED] > 0, run.overload_rule, m.trial);
        if (!stays) {
            if (better(m.trial, m.chosen)) {
                copy(m.trial, m.chosen);
                c[CHOSEN] = k;
            }
            transfer(t, state, parts, true);
        }
        for (i64 x = 0; x < touched; ++x) settle(t, state, m.changed[x], stays);
        if (stays) go_on(search, touched);
    }
    return false;
}

// Returns to the deployment before the kick, or with `stay` makes the present one the home of later kicks.
void return_home(const PlacementArrays& t, const ReplicaCounts& c, const DeploymentMemory& m, bool stay) {
    for (i64 x = 0; x < m.counters[STRAYS]; ++x) {
        const i64 i = m.strays[x];
        m.stray[i] = false;
        m.touched[i] |= !stay;
        for (i64 u = 0; u < m.home.shape[1]; ++u) {
            if (stay)
                m.home(i, u) = c.replicas(i, u);
            else if (m.home(i, u) != c.replicas(i, u))
                shift(t, c, i, -1, u, m.home(i, u) - c.replicas(i, u));
        }
    }
    m.counters[STRAYS] = 0;
}

// Continues from here if it is within a tolerance of the best, which falls to 0 within a period; else goes back.
void accept(const DeploymentSearch& search, const LocalSearchRun& run) {
    const i64 kicks_left = run.kicks - search.progress[KICKS] - 1;
    const double tolerance =
        run.tolerance * INITIAL_TOLERANCE * double(modulo(kicks_left, TOLERANCE_PERIOD)) / double(TOLERANCE_PERIOD);
    const DeploymentMemory& m = search.memory;
    return_home(search.arrays, search.now.counts, m, near(m.value, m.best_value, tolerance));
}

// Kicks of a deployment with replicas; the sums of streams are stale until the operators touched are refreshed.

// Moves the operators that are marked as touched to `changed`; returns their number.
i64 collect_touched(const DeploymentMemory& m) {
    i64 count = 0;
    for (i64 i = 0; i < m.touched.size(); ++i) {
        if (!m.touched[i]) continue;
        m.touched[i] = false;
        m.changed[count++] = i;
    }
    return count;
}

// Draws an operator that shares a stream with operator i; i itself if there is none.
i64 neighbour(const PlacementArrays& t, const Random& random, i64 i) {
    const i64 start = t.adjacent_start[i], end = t.adjacent_start[i + 1];
    if (start == end) return i;
    const i64 e = t.adjacent[start + below(random, end - start)];
    return t.source[e] + t.target[e] - i;
}

// Lets some pairs of replicas of different operators trade their nodes, whether there is room or not.
void trade(const PlacementArrays& t, const ReplicaCounts& c, const DeploymentMemory& m, const Random& random) {
    for (int k = 0; k < TRADES; ++k) {
        const i64 i = below(random, c.degree.size()), j = below(random, c.degree.size());
        const i64 u = c.hosts(i, below(random, c.number[i])), v = c.hosts(j, below(random, c.number[j]));
        if (i == j || u == v || !t.candidate(i, v) || !t.candidate(j, u)) continue;
        shift(t, c, i, u, v, 1);
        shift(t, c, j, v, u, 1);
        m.touched[i] = m.touched[j] = true;
    }
}

// Moves each replica of operator i (on a node if `only`, or on all) to another node with room, if one is drawn; returns how many.
i64 scatter(const DeploymentSearch& search, i64 i, i64 node, bool only) {
    const PlacementArrays& t = search.arrays;
    const ReplicaCounts& c = search.now.counts;
    i64 moved = 0;
    for (i64 k = c.number[i] - 1; k >= 0; --k) {  // from the end: a node left is replaced by the last one
        const i64 u = c.hosts(i, k);
        for (i64 left = u == node || !only ? c.replicas(i, u) : 0; left > 0; --left) {
            for (int tries = 0; tries < NODE_TRIES; ++tries) {
                const i64 v = pick_node(t, c, search.mix, search.random, i, u);
                if (v == u || room(t.demand, t.capacity, c.used, i, v, 1, LIMIT_SLACK) == 0) continue;
                shift(t, c, i, u, v, 1);
                moved += 1;
                break;
            }
        }
    }
    return moved;
}

// Adds or removes one replica of operator i; returns 0 where it can do neither.
i64 resize(const DeploymentSearch& search, i64 i) {
    const PlacementArrays& t = search.arrays;
    const ReplicaCounts& c = search.now.counts;
    const i64 u = c.hosts(i, below(search.random, c.number[i]));
    if (uniform(search.random) < 0.5) {
        if (!may_retire(t, c, i)) return 0;
        shift(t, c, i, u, -1, 1);
        return 1;
    }
    for (int tries = 0; tries < NODE_TRIES; ++tries) {
        const i64 v = pick_node(t, c, search.mix, search.random, i, u);
        if (may_replicate(t, c, i) && room(t.demand, t.capacity, c.used, i, v, 1, LIMIT_SLACK) > 0) {
            shift(t, c, i, -1, v, 1);
            return 1;
        }
    }
    return 0;
}

// Moves all replicas of operator i to node v, or near it where that is full; returns how many.
i64 gather(const PlacementArrays& t, const ReplicaCounts& c, i64 i, i64 v) {
    i64 moved = 0;
    for (i64 k = 0; k < t.near.shape[1]; ++k) {
        const i64 w = t.near(v, k);
        for (i64 a = t.candidate(i, w) ? c.number[i] - 1 : -1; a >= 0; --a) {
            const i64 u = c.hosts(i, a);
            bool nearer = false;
            for (i64 x = 0; x <= k; ++x) nearer |= t.near(v, x) == u;
            const i64 free = nearer ? 0 : room(t.demand, t.capacity, c.used, i, w, c.replicas(i, u), LIMIT_SLACK);
            if (free == 0) continue;
            shift(t, c, i, u, w, free);
            moved += free;
        }
    }
    return moved;
}

// Applies one of four kicks: empties a node, or scatters, resizes or gathers operators along a walk over streams.
//
// Where that moves nothing, because nodes are full, replicas trade places. The operators that this or a return home touches go to
// `changed`, their number is returned. Latency-aware placement has given numbers of replicas: more is gathered instead.
i64 disturb(const DeploymentSearch& search) {
    const PlacementArrays& t = search.arrays;
    const ReplicaCounts& c = search.now.counts;
    const DeploymentMemory& m = search.memory;
    const Random& random = search.random;
    const double kind = uniform(random);
    i64 i = below(random, c.degree.size()), moved = 0;
    const i64 u = c.hosts(i, below(random, c.number[i]));
    const i64 v = t.candidate_list[t.candidate_start[i] + below(random, t.candidate_start[i + 1] - t.candidate_start[i])];
    const i64 most_steps = t.instance_paths ? 2 * MAX_KICKED_OPERATORS : MAX_KICKED_OPERATORS;
    const i64 steps = kind < 0.25 ? c.degree.size() : 1 + below(random, most_steps);
    for (i64 step = 0; step < steps; ++step) {
        if (kind < 0.25) {
            i = step;
            if (c.replicas(i, u) == 0) continue;
        }
        if (kind < 0.5)
            moved += scatter(search, i, u, kind < 0.25);
        else if (kind < 0.75 && !t.instance_paths)
            moved += resize(search, i);
        else
            moved += gather(t, c, i, v);
        m.touched[i] = true;
        i = neighbour(t, random, i);
    }
    if (moved == 0) trade(t, c, m, random);
    m.counters[OVERLOADED] = 1;
    return collect_touched(m);
}

// Continues for a bounded amount of work; returns whether the search has ended.
bool iterate(const DeploymentSearch& search, const LocalSearchRun& run) {
    const DeploymentMemory& m = search.memory;
    search.progress[WORK] = 0;
    while (climb(search, run)) {
        keep_best(search.now, m);
        if (search.progress[KICKS] == run.kicks) return true;
        accept(search, run);
        m.counters[KICKED] = disturb(search);  // `climb` evaluates it
        search.progress[KICKS] += 1;
    }
    return false;
}

const Kernels here{
    kernel<iterate>("search_deployments",
                    "Iterated local search over deployments, for a bounded amount of work; whether it has ended."),
    kernel<adopt>("adopt_deployment", "Evaluates a deployment from scratch and makes it the one from which a search goes on."),
};

}  // namespace
}  // namespace edrp
