// Policies of fitted projected costs: best responses where values are sums of arc prices, and what stays between sets of partitions.
#include "edrp/native/mdp/partitions.hpp"
#include "edrp/native/python.hpp"

namespace edrp {
namespace {

// The bytes that stay in a migration from each of some partitions to each of others.
Matrix<double> all_gains(const Floats& state_before, const Ints2& before, const Ints2& after) {
    Matrix<double> gains(before.shape[0], after.shape[0]);
    const FloatsOut2 cells = gains.view();
    for (i64 row = 0; row < before.shape[0]; ++row)
        for (i64 k = 0; k < after.shape[0]; ++k) cells(row, k) = gain_between(state_before, before.row(row), after.row(k));
    return gains;
}

const Kernels here{
    kernel<all_gains>("gains_between_all", "Bytes that stay in migrations from each of some partitions to each of others."),
};

}  // namespace
}  // namespace edrp
