// Pairs of replicas that share nodes (formulations/placement/equal_nodes/traffic.py).
#include "edrp/native/python.hpp"

namespace edrp {
namespace {

// Largest number of pairs of replicas on common nodes by numbers of both, on any number of nodes that hold what `fits`; not all
// replicas of both may be on one node.
Matrix<double> most_together(const Bools2& fits) {
    const i64 senders = fits.shape[0], receivers = fits.shape[1];
    Matrix<double> everywhere(senders, receivers), several(senders, receivers);
    const FloatsOut2 free = everywhere.view(), apart = several.view();
    for (i64 a = 1; a < senders; ++a) {
        for (i64 b = 1; b < receivers; ++b) {
            for (i64 x = 1; x <= a; ++x) {
                for (i64 y = 1; y <= b; ++y) {
                    if (!fits(x, y)) continue;
                    const double pairs = double(x * y) + free(a - x, b - y);
                    free(a, b) = most(free(a, b), pairs);
                    if (x < a || y < b) apart(a, b) = most(apart(a, b), pairs);
                }
            }
        }
    }
    return several;
}

const Kernels here{
    kernel<most_together>("most_together", "Count the pairs of replicas on common nodes at most, by numbers of both.")};

}  // namespace
}  // namespace edrp
