// Random numbers: the stream splitmix64 of Steele, Lea and Flood (OOPSLA 2014), whose state is one cell of an array.
#pragma once
#include "edrp/native/arrays.hpp"

namespace edrp {

using Random = Array<std::uint64_t, 1>;

// 64 bits, each of which depends on all bits of a state.
inline std::uint64_t mixed(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

// A number in [0, 1) that depends on all bits of a state.
inline double unit_share(std::uint64_t state) { return double(mixed(state) >> 11) * (1.0 / 9007199254740992.0); }

// The next number in [0, 1).
inline double uniform(const Random& random) { return unit_share(random[0] += 0x9E3779B97F4A7C15u); }

// The next whole number in [0, count).
inline i64 below(const Random& random, i64 count) { return i64(uniform(random) * double(count)); }

}  // namespace edrp
