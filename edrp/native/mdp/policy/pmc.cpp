// Projected migration costs by modified policy iteration (state migration, Fig. 6): evaluation of a policy.
#include "edrp/native/python.hpp"

namespace edrp {
namespace {

// Adds, for each state, what its action with the node count of a column leads to, weighted with that count's probability.
void add_backup(const FloatsOut& updated, double chance, double discount, const Floats2& costs, const Ints2& actions, i64 column,
                const Floats& values) {
    const i64 states = updated.size();
    for (i64 state = 0; state < states; ++state)
        updated[state] += chance * (costs(state, column) + discount * values[actions(state, column)]);
}

const Kernels here{kernel<add_backup>("add_policy_backup", "Add the costs of actions and the discounted values they lead to.")};

}  // namespace
}  // namespace edrp
