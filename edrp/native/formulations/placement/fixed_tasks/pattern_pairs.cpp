// The first two to four patterns that add up to all tasks: sums of pairs in a hash table, where each pair looks up what it leaves
// (formulations/placement/fixed_tasks/pattern_pairs.py).
#include "edrp/native/python.hpp"

namespace edrp {
namespace {

using Key = std::uint64_t;

// Sums of one or two patterns by their key, which is stored plus one; the places of the patterns stand at the same index.
struct PairTable {
    std::vector<Key> table;
    std::vector<std::int32_t> one, two;

    explicit PairTable(std::size_t space) : table(space, 0), one(space, 0), two(space, 0) {}

    // Index of a key in the table, or of the free place where it belongs.
    std::size_t slot(Key key) const {
        const Key mask = table.size() - 1;
        Key place = ((key * 0x9E3779B97F4A7C15u) >> 20) & mask;
        while (table[place] != 0 && table[place] != key + 1) place = (place + 1) & mask;
        return place;
    }
};

// Whether two patterns together have no more tasks than there are.
bool fit(const Ints& p, const Ints& q, const Ints& totals) {
    bool fits = true;
    for (i64 i = 0; i < totals.size(); ++i)
        if (p[i] + q[i] > totals[i]) fits = false;
    return fits;
}

// Halves that are stored have one pattern, or two for four nodes; those that are looked up two, or one for two nodes. After
// pattern q has been added, all halves of patterns up to q are stored, so that the first hit is the best.
std::vector<i64> meet_patterns(const Ints2& patterns, const Array<const Key, 1>& keys, i64 whole, const Ints& totals, i64 nodes) {
    const i64 count = keys.size(), size = nodes < 4 ? count : count * (count + 1) / 2;
    std::size_t space = 16;
    while (space < 2 * std::size_t(size)) space *= 2;
    PairTable stored(space);
    for (i64 q = 0; q < count; ++q) {
        for (i64 p = nodes < 4 ? q : 0; p <= q; ++p) {
            if (nodes < 4 || fit(patterns.row(p), patterns.row(q), totals)) {
                const Key key = nodes < 4 ? keys[q] : keys[p] + keys[q];
                const std::size_t place = stored.slot(key);
                if (stored.table[place] == 0) {
                    stored.table[place] = key + 1;
                    stored.one[place] = std::int32_t(p);
                    stored.two[place] = std::int32_t(q);
                }
            }
        }
        for (i64 p = nodes == 2 ? q : 0; p <= q; ++p) {
            if (nodes == 2 || fit(patterns.row(p), patterns.row(q), totals)) {
                const std::size_t place = stored.slot(Key(whole) - (nodes == 2 ? keys[q] : keys[p] + keys[q]));
                if (stored.table[place] != 0) {
                    std::vector<i64> chosen{q, stored.one[place], p, stored.two[place]};
                    chosen.resize(std::size_t(nodes));
                    return chosen;
                }
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
