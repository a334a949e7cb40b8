// Replicas of all operators on each node.
#include "edrp/native/python.hpp"

namespace edrp {
namespace {

struct Busy {
    Ints2 replicas;
    i64 least_replicas;
    FIELDS(replicas, least_replicas)
};

// Nodes with at least `least_replicas`, of `replicas` (operators, nodes), and the replicas on each node.
std::tuple<i64, std::vector<i64>> busy_nodes(const Busy& busy) {
    std::vector<i64> on(std::size_t(busy.replicas.shape[1]));
    i64 nodes = 0;
    for (i64 v = 0; v < busy.replicas.shape[1]; ++v) {
        for (i64 i = 0; i < busy.replicas.shape[0]; ++i) on[std::size_t(v)] += busy.replicas(i, v);
        nodes += on[std::size_t(v)] >= busy.least_replicas;
    }
    return {nodes, on};
}

const Kernels here{kernel<busy_nodes>("busy_nodes", "Count nodes with a number of replicas, and the replicas on each.")};

}  // namespace
}  // namespace edrp
