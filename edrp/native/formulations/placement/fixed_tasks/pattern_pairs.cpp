// The first two to four patterns that add up to all tasks: sums of pairs in a hash table, where each pair looks up what it leaves
// (formulations/placement/fixed_tasks/pattern_pairs.py).
#include <memory>

#include "edrp/native/python.hpp"

namespace edrp {
namespace {

using Key = std::uint64_t;

struct Half {
    std::int32_t one, two;
};

// Index of a key in the hash table, or of the free place where it belongs; keys are stored plus one.
std::size_t slot(const std::vector<Key>& table, Key key) {
    const Key mask = table.size() - 1;
    Key place = ((key * 0x9E3779B97F4A7C15u) >> 20) & mask;
    while (table[place] != 0 && table[place] != key + 1) place = (place + 1) & mask;
    return place;
}

// Whether two patterns together have no more tasks than there are.
bool fit(const Ints& p, const Ints& q, const Ints& totals) {
    for (i64 i = 0; i < totals.size(); ++i)
        if (p[i] + q[i] > totals[i]) return false;
    return true;
}

// Halves that are stored have one pattern, or two for four nodes; those that are looked up two, or one for two nodes. After
// pattern q has been added, all halves of patterns up to q are stored, so that the first hit is the best.
std::vector<i64> meet_patterns(const Ints2& patterns, const Array<const Key, 1>& keys, i64 whole, const Ints& totals, i64 nodes) {
    const i64 count = keys.size(), size = nodes < 4 ? count : count * (count + 1) / 2;
    std::size_t space = 16;
    while (space < 2 * std::size_t(size)) space *= 2;
    std::vector<Key> table(space, 0);
    const std::unique_ptr<Half[]> halves(new Half[space]);  // only those that a key stands for are written
    std::vector<i64> alone(1), fitting;                     // places up to q: q, and those of patterns that leave room for it
    for (i64 q = 0; q < count; ++q) {
        alone[0] = q;
        fitting.clear();
        for (i64 p = 0; p <= q && nodes > 2; ++p)
            if (fit(patterns.row(p), patterns.row(q), totals)) fitting.push_back(p);
        for (const i64 p : nodes < 4 ? alone : fitting) {
            const Key key = nodes < 4 ? keys[q] : keys[p] + keys[q];
            const std::size_t place = slot(table, key);
            if (table[place] == 0) {
                table[place] = key + 1;
                halves[place] = {std::int32_t(p), std::int32_t(q)};
            }
        }
        for (const i64 p : nodes == 2 ? alone : fitting) {
            const std::size_t place = slot(table, Key(whole) - (nodes == 2 ? keys[q] : keys[p] + keys[q]));
            if (table[place] != 0) {
                std::vector<i64> chosen{q, halves[place].one, p, halves[place].two};
                chosen.resize(std::size_t(nodes));
                return chosen;
            }
        }
    }
    return {};
}

const Kernels here{
    kernel<meet_patterns>("meet_patterns", "Places of the first two to four patterns that add up to all tasks, or none."),
};

}  // namespace
}  // namespace edrp
