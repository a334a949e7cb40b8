// ProcessMap of all map managers (bi-modal networks, Algs. 1 and 3): the messages of a mapping, one by one.
#include <cmath>

#include "edrp/native/python.hpp"
#include "edrp/native/random.hpp"
#include "edrp/native/tolerances.hpp"

namespace edrp {
namespace {

constexpr i64 START = -1, PUBLIC = -2;
constexpr i64 SENT = 0, HANDLED = 1, MAPS = 2, COMPLETE = 3, SPECIFICATIONS = 4, REQUESTED = 5, CAPPED = 6, WAITING = 7;
// places in COSTS of edrp/mapping/mapping_arrays.py.
constexpr i64 ADDITIVE = 0, LOAD_BALANCE = 1, PUBLIC_HOPS = 2;
// places in PRUNINGS of heuristics/mapping/methods.py.
constexpr i64 NO_PRUNING = 0, COST_PRUNING = 1, RANDOM = 3;  // 2 is the annealed one
// limits are kept up to rounding, as the problem evaluates them.
constexpr double LIMIT_FACTOR = 1.0 + LIMIT_SLACK;

// A partial map, stored as its last step from the map that it extends: a cell of the structured array `FloodMemory.maps`, which
// Python packs, as there may be millions.
#pragma pack(push, 4)
struct PartialMap {
    std::int32_t parent, node, arc;
    std::int16_t prefix, placed;
    std::int32_t empty, links, public_hops, dedicated_hops, servers;
    double cost, load;
    FIELDS(parent, node, arc, prefix, placed, empty, links, public_hops, dedicated_hops, servers, cost, load)

    bool begins() const { return placed > 0 || arc == START; }  // whether a hop begins where it is
};
#pragma pack(pop)

struct Message {
    std::int32_t map, arc, target;
    bool informs;
    FIELDS(map, arc, target, informs)
};

// A message in the heap.
struct Waiter {
    double time;
    i64 number;
    FIELDS(time, number)

    bool operator<(const Waiter& other) const { return time < other.time || (time == other.time && number < other.number); }
};

struct FloodNetwork {
    Ints32 first, source, target;
    Floats bandwidth, cost, delay, capacity, total, uplink, downlink, access_delay;
    FIELDS(first, source, target, bandwidth, cost, delay, capacity, total, uplink, downlink, access_delay)
};

struct TaskArrays {
    i64 source, delivery;
    Floats needs, bandwidths;
    Bools2 hosts;
    FIELDS(source, delivery, needs, bandwidths, hosts)
};

struct FloodRules {
    i64 max_empty_hops;
    bool total_hops, cumulative, public_network;
    double public_cost;
    i64 cost, max_links, pruning;
    bool split_by_hops;
    double cooling;
    i64 neighbours, max_messages;
    double jitter;
    bool timed;
    i64 seed;
    FIELDS(max_empty_hops, total_hops, cumulative, public_network, public_cost, cost, max_links, pruning, split_by_hops, cooling,
           neighbours, max_messages, jitter, timed, seed)
};

struct FloodMemory {
    IntsOut counts;
    Array<PartialMap, 1> maps;
    Array<Message, 1> messages;
    Ints32Out complete;
    Array<Waiter, 1> heap;
    Array<double, 4> table;
    BoolsOut2 specified;
    FloatsOut used_rates;
    Ints32Out ways;
    FIELDS(counts, maps, messages, complete, heap, table, specified, used_rates, ways)
};

// A number in [0, 1) that depends on seed and counter alone (SplitMix64): messages that overtake one another, and agents that
// walk through them in another order, meet the same draws.
double draw(i64 seed, i64 counter) {
    return unit_share(std::uint64_t(seed) * 0xD1342543DE82EF95u + (std::uint64_t(counter) + 1) * 0x9E3779B97F4A7C15u);
}

// The mapping of one task: the arrays that all steps share.
struct Flood {
    const FloodNetwork& network;
    const TaskArrays& task;
    const FloodRules& rules;
    const FloodMemory& memory;
    const IntsOut& counts = memory.counts;
    const i64 components = task.needs.size();

    // What a map uses at a server, and whether it has a component there.
    struct Use {
        double capacity = 0.0, uplink = 0.0, downlink = 0.0;
        bool hosting = false;
    };

    // Sends a map over an arc or the public network; false when the cap keeps the message back.
    bool send(i64 position, i64 source, i64 arc, i64 target, double time) const {
        const i64 number = counts[SENT];
        if (number >= rules.max_messages) {
            counts[CAPPED] = 1;
            return false;
        }
        const bool informs = !memory.specified(source, target);
        memory.specified(source, target) = true;
        memory.messages[number] = {std::int32_t(position), std::int32_t(arc), std::int32_t(target), informs};
        counts[SENT] += 1;
        counts[SPECIFICATIONS] += informs;
        if (rules.timed) rise(counts[WAITING]++, {time + transfer(number, source, arc, target), number});
        return true;
    }

    // The seconds that a message takes: the delay of its way, or with jitter a random time around it.
    double transfer(i64 number, i64 source, i64 arc, i64 target) const {
        const double delay = arc == PUBLIC ? network.access_delay[source] + network.access_delay[target] : network.delay[arc];
        if (rules.jitter == 0.0) return delay;
        const double scale = delay > 0.0 ? delay : 1.0;
        return delay * (1.0 - rules.jitter) + rules.jitter * scale * draw(rules.seed, 2 * number);
    }

    // The message that arrives next.
    Waiter next_message() const {
        const i64 number = counts[HANDLED]++;
        return rules.timed ? pop() : Waiter{0.0, number};
    }

    // Inserts a message at a free position of the heap and sifts it up.
    void rise(i64 position, const Waiter waiter) const {
        const auto& heap = memory.heap;
        while (position > 0 && !(heap[(position - 1) >> 1] < waiter)) {
            heap[position] = heap[(position - 1) >> 1];
            position = (position - 1) >> 1;
        }
        heap[position] = waiter;
    }

    // Takes the message that arrives first out of the heap; of those that arrive together, the one sent first.
    Waiter pop() const {
        const auto& heap = memory.heap;
        const Waiter arrival = heap[0];
        const i64 size = --counts[WAITING];
        i64 position = 0, child = 1;
        for (; child + 1 < size; child = 2 * child + 1) {
            const Waiter &first = heap[child], &second = heap[child + 1];
            child += (second.time < first.time) | ((second.time == first.time) & (second.number < first.number));
            heap[position] = heap[child];
            position = child;
        }
        if (child < size) {
            heap[position] = heap[child];
            position = child;
        }
        rise(position, heap[size]);
        return arrival;
    }

    // Collects what a map uses at a server; the rates on arcs out of it are written to `used_rates`.
    Use look_back(i64 parent, i64 v) const {
        const auto& maps = memory.maps;
        for (i64 arc = network.first[v]; arc < network.first[v + 1]; ++arc) memory.used_rates[arc] = 0.0;
        Use use;
        for (i64 position = parent, leaving = -1; position >= 0;) {  // `leaving`: the map by which the chain went on
            const PartialMap& step = maps[position];
            if (step.node == v) {
                const i64 arrived = step.prefix - step.placed;
                for (i64 component = arrived; component < step.prefix; ++component) {
                    use.capacity += task.needs[component];
                    use.hosting = true;
                }
                if (rules.cumulative && step.arc == PUBLIC) use.downlink += task.bandwidths[arrived];
                if (rules.cumulative && leaving >= 0) {
                    const double rate = task.bandwidths[step.prefix];
                    const i64 arc = maps[leaving].arc;
                    (arc == PUBLIC ? use.uplink : memory.used_rates[arc]) += rate;
                }
            }
            leaving = position;
            position = step.parent;
        }
        return use;
    }

    // The map that has arrived at a server, before any component is placed there.
    PartialMap arrive(i64 parent, i64 arc, i64 v) const {
        PartialMap map{std::int32_t(parent), std::int32_t(v), std::int32_t(arc), 0, 0, 0, 0, 0, 0, 0, 0.0, 0.0};
        if (arc == START) return map;
        const PartialMap& before = memory.maps[parent];
        const bool by_link = arc != PUBLIC;
        map.prefix = before.prefix;
        map.servers = before.servers;
        map.load = before.load;
        map.empty = before.empty + 1;
        map.cost = before.cost + (by_link ? network.cost[arc] : rules.public_cost);
        map.links = before.links + by_link;
        map.public_hops = before.public_hops + !by_link;
        map.dedicated_hops = before.dedicated_hops + (by_link && before.begins());
        return map;
    }

    // Places the next component of a map on the server that it has reached.
    void place(PartialMap& map, bool hosting) const {
        const double need = task.needs[map.prefix], total = network.total[map.node];
        map.prefix += 1;
        map.placed += 1;
        map.empty = rules.total_hops && map.parent >= 0 ? memory.maps[map.parent].empty : 0;
        const double used_capacity = hosting ? need : total - network.capacity[map.node] + need;
        if (total > 0.0) map.load += used_capacity / total;
        map.servers += !hosting;
    }

    // Whether pruning lets a map be sent on; the table of the server keeps the least key.
    bool passes(const PartialMap& map, i64 number, i64 x) const {
        if (rules.pruning == NO_PRUNING || rules.pruning == RANDOM) return true;
        const double load = map.servers ? map.load / map.servers : 0.0;
        double first, second = 0.0;
        if (rules.cost == ADDITIVE) {
            first = map.cost;
        } else if (rules.cost == LOAD_BALANCE) {
            first = load;
            second = map.public_hops - (double(components) + 2.0) * map.dedicated_hops;
        } else if (rules.cost == PUBLIC_HOPS) {
            first = map.public_hops + load / 2;
        } else {
            first = double(map.public_hops * (rules.max_links + 1) + map.links) + load / 2;
        }
        double* best = &memory.table(map.node, map.prefix, rules.split_by_hops ? map.empty : 0, 0);
        if (first < best[0] || (first == best[0] && second < best[1])) {
            best[0] = first;
            best[1] = second;
            return true;
        }
        if (rules.pruning == COST_PRUNING) return false;
        return draw(rules.seed + 1, 64 * number + x) < std::exp(-rules.cooling * double(map.prefix + 1));
    }

    // Sends a map to the neighbours that may extend it, or to some of them; returns false when it goes nowhere.
    bool send_on(i64 position, double uplink, i64 number, double time) const {
        const PartialMap& map = memory.maps[position];
        const i64 v = map.node, x = map.placed;
        const double rate = task.bandwidths[map.prefix];
        const bool connected = uplink + rate <= network.uplink[v] * LIMIT_FACTOR;
        const i64 count = neighbours(map, connected), chosen = rules.pruning == RANDOM ? least(count, rules.neighbours) : count;
        bool sent = false;
        for (i64 i = 0; i < chosen; ++i) {
            if (rules.pruning == RANDOM) {
                const i64 other = i + i64(draw(rules.seed + 2, 4096 * number + 64 * x + i) * double(count - i));
                std::swap(memory.ways[i], memory.ways[other]);
            }
            const i64 way = memory.ways[i];
            if (way < 0)
                sent |= connected && send(position, v, PUBLIC, ~way, time);
            else if (memory.used_rates[way] + rate <= network.bandwidth[way] * LIMIT_FACTOR)
                sent |= send(position, v, way, network.target[way], time);
        }
        return sent;
    }

    // Lists the ways by which a map may go on, arcs before servers reached over the public network; returns their number. Those
    // over the public network are left out where the uplink has not the rate, unless neighbours are drawn.
    i64 neighbours(const PartialMap& map, bool connected) const {
        const i64 v = map.node, prefix = map.prefix;
        i64 count = 0;
        if (map.begins() || map.empty <= rules.max_empty_hops)
            for (i64 arc = network.first[v]; arc < network.first[v + 1]; ++arc) memory.ways[count++] = std::int32_t(arc);
        if (map.begins() && rules.public_network && network.uplink[v] > 0.0 && (connected || rules.pruning == RANDOM)) {
            if (prefix == components) {
                memory.ways[count++] = std::int32_t(~task.delivery);
                return count;
            }
            for (i64 target = 0; target < network.capacity.size(); ++target)
                if (target != v && task.hosts(prefix, target)) memory.ways[count++] = std::int32_t(~target);
        }
        return count;
    }

    // Extends the map of a message by none, one, two … components on the server that it reaches, and sends each on.
    void process_map(i64 number, double time) const {
        const Message message = memory.messages[number];
        const i64 arc = message.arc, v = message.target;
        if (!memory.specified(v, v)) {
            counts[REQUESTED] += !message.informs;
            memory.specified(v, v) = true;
        }
        Use use = look_back(message.map, v);
        PartialMap* map = &memory.maps[counts[MAPS]];
        *map = arrive(message.map, arc, v);
        const i64 mapped = map->prefix;
        if (arc == PUBLIC && use.downlink + task.bandwidths[mapped] > network.downlink[v] * LIMIT_FACTOR) return;
        for (i64 x = 0; x <= components - mapped; ++x) {
            if (x > 0) {
                const i64 component = mapped + x - 1;
                use.capacity += task.needs[component];
                if (!task.hosts(component, v) || use.capacity > network.capacity[v] * LIMIT_FACTOR) return;
                place(*map, use.hosting);
                use.hosting = true;
            }
            bool keep = false;
            if (v == task.delivery && mapped + x == components) {
                memory.complete[counts[COMPLETE]++] = std::int32_t(counts[MAPS]);
                keep = true;
            } else if ((x > 0 || arc != PUBLIC) && passes(*map, number, x)) {
                keep = send_on(counts[MAPS], use.uplink, number, time);
            }
            if (keep) {
                counts[MAPS] += 1;
                memory.maps[counts[MAPS]] = *map;
                map = &memory.maps[counts[MAPS]];
            }
        }
    }
};

// Handles messages until none is left, `budget` of them are handled, or the arrays might overflow.
void advance(const FloodNetwork& network, const TaskArrays& task, const FloodRules& rules, const FloodMemory& memory,
             i64 budget) {
    const Flood flood{network, task, rules, memory};
    const IntsOut& counts = memory.counts;
    const i64 m = task.needs.size(), most_sent = memory.ways.size() * (m + 1);
    for (i64 turn = 0; turn < budget; ++turn) {
        if (counts[HANDLED] == counts[SENT] || counts[SENT] + most_sent > memory.messages.size() ||
            counts[MAPS] + m + 2 > memory.maps.size() || counts[COMPLETE] == memory.complete.size())
            return;
        const Waiter arrival = flood.next_message();
        flood.process_map(arrival.number, arrival.time);
    }
}

// Marks complete maps, and those that they were extended from.
void mark_ancestors(const Array<const PartialMap, 1>& maps, const Ints32& complete, const BoolsOut& marked) {
    for (const i64 last : complete)
        for (i64 position = last; position >= 0 && !marked[position]; position = maps[position].parent) marked[position] = true;
}

const Kernels here{
    kernel<advance>("advance_flood",
                    "Handles messages of a mapping: extends, prunes and sends on maps (bi-modal networks, Algs. 1, 3)."),
    kernel<mark_ancestors>("mark_map_ancestors", "Marks complete maps, and those that they were extended from."),
    kernel<draw>("draw_by_counter", "Returns a number in [0, 1) that depends on a seed and a counter alone (SplitMix64)."),
};

}  // namespace
}  // namespace edrp
