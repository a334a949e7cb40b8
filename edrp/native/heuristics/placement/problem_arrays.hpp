// A compiled problem as arrays (heuristics/placement/problem_arrays.py).
#pragma once
#include "edrp/native/heuristics/placement/rule_rows.hpp"

namespace edrp {

struct SharedUse {
    Floats2 capacity;
    Floats3 replica_use;
    Floats2 stream_use;
    Bools one_to_one;
    Floats weights, limits;
    FIELDS(capacity, replica_use, stream_use, one_to_one, weights, limits)
};

struct PlacementArrays {
    Ints source, target;
    Floats rate;
    Ints incoming, incoming_start, adjacent, adjacent_start;
    Floats2 latency;
    Ints max_replicas;
    Bools2 candidate;
    Ints candidate_list, candidate_start;
    Ints2 near;
    Floats speedup, replica_cost;
    Floats2 demand, capacity, delay, link_cost;
    Floats node_loss;
    Floats2 link_loss;
    bool has_loss, has_link_loss, has_current;
    Ints2 current;
    double synchronisation_time, downtime_floor;
    Floats state_size, code_size;
    Floats2 store;
    bool storm;
    Floats weights, limits;
    SharedUse shared;
    RuleRows rules;
    double tie_cost, scale;
    bool instance_paths;
    FIELDS(source, target, rate, incoming, incoming_start, adjacent, adjacent_start, latency, max_replicas, candidate,
           candidate_list, candidate_start, near, speedup, replica_cost, demand, capacity, delay, link_cost, node_loss, link_loss,
           has_loss, has_link_loss, has_current, current, synchronisation_time, downtime_floor, state_size, code_size, store,
           storm, weights, limits, shared, rules, tie_cost, scale, instance_paths)
};

}  // namespace edrp
