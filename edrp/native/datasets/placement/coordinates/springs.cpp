// Springs between one supervisor and its peers (latency-aware placement, Algs. 1 and 2).
#include "edrp/native/python.hpp"
#include "edrp/native/tolerances.hpp"

namespace edrp {
namespace {

// distance over latency at which a spring between coincident positions starts to push.
constexpr double FIRST_STEP = 1e-3;

// Springs of rest length `latency` move a supervisor (`position`, changed) while its peers stand still (Alg. 1, lines 4-15).
// The force of Alg. 2 in its scale-free form: peer p, at distance d in the direction e, pulls with
// `force` / peers * l_p * log(d / l_p) * e. The printed form k * log(d / l_p) * e has a constant in units of latency and
// diverges where k * sum 1 / l_p exceeds 2: what is stable in milliseconds is not in seconds. Where l_p is 0 the spring pulls
// with d, its limit for small elongations. A spring that joins coincident positions pushes in its unit vector of `directions`.
// A move shorter than `min_move` times the mean latency is the last one. Returns the moves made.
i64 relax_springs(const FloatsOut& position, const Floats2& peers, const Floats& latency, const Floats2& directions, double force,
                  double min_move, i64 moves) {
    const i64 count = peers.shape[0], dimension = peers.shape[1];
    double sum = 0.0;
    for (double seconds : latency) sum += seconds;
    const double shortest = min_move * (sum / double(latency.size()));
    std::vector<double> move(std::size_t(dimension), 0.0), towards(std::size_t(dimension), 0.0);
    for (i64 made = 0; made < moves; ++made) {
        for (double& part : move) part = 0.0;
        for (i64 p = 0; p < count; ++p) {
            double square = 0.0;
            for (i64 c = 0; c < dimension; ++c) {
                towards[c] = peers(p, c) - position[c];
                square += towards[c] * towards[c];
            }
            double distance = std::sqrt(square);
            if (distance <= COINCIDENT_POSITIONS * latency[p]) {
                distance = FIRST_STEP * latency[p];
                for (i64 c = 0; c < dimension; ++c) towards[c] = directions(p, c) * distance;
            }
            if (distance == 0.0) continue;
            const double pull = latency[p] > 0.0 ? latency[p] * std::log(distance / latency[p]) : distance;
            for (i64 c = 0; c < dimension; ++c) move[c] += towards[c] / distance * pull;
        }
        double square = 0.0;
        for (i64 c = 0; c < dimension; ++c) {
            move[c] *= force / double(count);
            position[c] += move[c];
            square += move[c] * move[c];
        }
        if (square <= shortest * shortest) return made + 1;
    }
    return moves;
}

const Kernels here{
    kernel<relax_springs>("relax_springs", "Moves a supervisor by the springs to its peers (latency-aware placement, Alg. 1)."),
};

}  // namespace
}  // namespace edrp
