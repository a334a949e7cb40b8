// What can stay in a migration from one partition of tasks to another, and the matching of intervals that keeps it (state
// migration, section 3.2). A partition is its boundaries; intervals may be empty.
//
// Overlaps of two partitions never cross: ordered along the tasks, each shares its new or its old interval with the next one at
// most. The best one-to-one matching is therefore one walk along both, which remembers what is still free.
#pragma once
#include <vector>

#include "edrp/native/arrays.hpp"
#include "edrp/native/tolerances.hpp"

namespace edrp {

// The bytes that can stay, in O(n + n'); `state_before` is the state before each boundary. It is symmetric in both partitions,
// and all state minus it, the cost, is a metric on partitions.
inline double gain_between(const Floats& state_before, const Ints& old_boundaries, const Ints& new_boundaries) {
    const Floats state = state_before;
    const i64 *old_end = old_boundaries.begin() + 1, *new_end = new_boundaries.begin() + 1;
    const i64 *const old_last = old_boundaries.end(), *const new_last = new_boundaries.end();
    if (old_end == old_last || new_end == new_last) return 0.0;
    double state_first = state[old_boundaries[0]];
    // Best so far: with anything used, with the new interval at hand unused, with the old one unused, with both unused.
    double best = 0.0, new_free = 0.0, old_free = 0.0, both_free = 0.0;
    i64 next_new = *new_end, next_old = *old_end;
    while (true) {
        const double state_end = state[least(next_new, next_old)];
        best = most(best, both_free + state_end - state_first);
        state_first = state_end;
        if (next_new < next_old) {  // one branch, since no processor can foresee which interval ends first
            new_free = best;
            both_free = old_free;
            if (++new_end == new_last) break;
            next_new = *new_end;
        } else {
            old_free = best;
            both_free = new_free;
            if (next_new == next_old) {
                new_free = both_free = best;
                if (++new_end == new_last) break;
                next_new = *new_end;
            }
            if (++old_end == old_last) break;
            next_old = *old_end;
        }
    }
    return best;
}

// The overlap of a new and an old interval. `gain[used]` is the most state that it and the pieces after it can keep, `stay[used]`
// the number of pieces; `used` is 1 if its new interval is taken by an earlier piece, plus 2 if its old one is.
struct MatchedPiece {
    i64 new_interval, old_interval;
    double size, gain[4];
    i64 stay[4], shared;  // which interval the next piece shares with this one: 1 for the new, 2 for the old, 0 for neither
};

// The overlaps that hold a task, in the order of the tasks, and one more for the end.
inline std::vector<MatchedPiece> list_pieces(const Floats& state_before, const Ints& old_boundaries, const Ints& new_boundaries) {
    std::vector<MatchedPiece> pieces;
    pieces.reserve(std::size_t(old_boundaries.size() + new_boundaries.size()));
    i64 old_interval = 0, new_interval = 0, first = old_boundaries[0];
    while (new_interval < new_boundaries.size() - 1 && old_interval < old_boundaries.size() - 1) {
        const i64 new_end = new_boundaries[new_interval + 1], old_end = old_boundaries[old_interval + 1];
        const i64 end = least(new_end, old_end);
        if (end > first) {
            pieces.push_back({new_interval, old_interval, state_before[end] - state_before[first], {}, {}, 0});
            first = end;
        }
        new_interval += new_end == end;
        old_interval += old_end == end;
    }
    for (std::size_t p = 0; p + 1 < pieces.size(); ++p) {
        const MatchedPiece& next = pieces[p + 1];
        pieces[p].shared = (next.new_interval == pieces[p].new_interval) + 2 * (next.old_interval == pieces[p].old_interval);
    }
    pieces.push_back({});
    return pieces;
}

// Fills in the old interval whose node keeps each new one, -1 for none. Among matchings that keep the most state, those in which
// the most pieces stay, and among these the one that, from the first task on, lets a piece stay as soon as possible.
inline void match_intervals(const Floats& state_before, const Ints& old_boundaries, const Ints& new_boundaries,
                            const IntsOut& matched) {
    const double slack = EQUAL_GAINS * state_before[state_before.size() - 1];
    std::vector<MatchedPiece> pieces = list_pieces(state_before, old_boundaries, new_boundaries);
    const i64 count = i64(pieces.size()) - 1;
    for (i64 p = count - 1; p >= 0; --p) {
        MatchedPiece& piece = pieces[p];
        const MatchedPiece& next = pieces[p + 1];
        for (i64 used = 0; used < 4; ++used) {
            piece.gain[used] = next.gain[used & piece.shared];
            piece.stay[used] = next.stay[used & piece.shared];
        }
        const double gain = piece.size + next.gain[piece.shared];
        const i64 staying = 1 + next.stay[piece.shared];
        if (gain > piece.gain[0] + slack || (gain >= piece.gain[0] - slack && staying > piece.stay[0])) {
            piece.gain[0] = gain;
            piece.stay[0] = staying;
        }
    }
    matched.fill(-1);
    i64 used = 0;
    for (i64 p = 0; p < count; ++p) {
        const MatchedPiece &piece = pieces[p], &next = pieces[p + 1];
        const bool keeps_most = piece.size + next.gain[piece.shared] >= piece.gain[0] - slack;
        if (used == 0 && keeps_most && 1 + next.stay[piece.shared] == piece.stay[0]) {
            matched[piece.new_interval] = piece.old_interval;
            used = 3;
        }
        used &= piece.shared;
    }
}

}  // namespace edrp
