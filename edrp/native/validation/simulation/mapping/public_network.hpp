// Random rates on the public network: standard normal numbers by stream and counter.
// A number depends on its stream and its place in it alone. So the flows of a task meet the same network whatever becomes of
// other tasks, and two runs that differ in one decision only are compared on the same draws.
// Numbers come from a ziggurat of 256 layers of equal area (Marsaglia and Tsang, 2000), which is exact: the layer and the place
// within it are drawn at once, and only what falls outside of the next layer, one in seventy, needs a logarithm or exponential.
#pragma once
#include "edrp/native/random.hpp"

namespace edrp {

using u64 = std::uint64_t;
constexpr int LAYERS = 256;
constexpr double TAIL = 3.6541528853610088;        // the right edge of the lowest layer but for its tail
constexpr double UNIT = 1.0 / 9007199254740992.0;  // 2^-53
// odd constants that take consecutive numbers far from one another.
constexpr u64 GOLDEN = 0x9E3779B97F4A7C15u, SPREAD = 0xD1342543DE82EF95u;

struct Ziggurat {
    double edge[LAYERS + 1];    // right edge of each layer, from the lowest, whose tail is cut to a rectangle of the same area
    double height[LAYERS + 1];  // of the curve there
    double width[LAYERS];       // of the steps in which places are drawn
    u64 inside[LAYERS];         // places below these, of 2^53, are within the next layer too, and so below the curve

    Ziggurat() {
        const double corner = curve(TAIL);
        const double area = TAIL * corner + std::sqrt(1.5707963267948966) * std::erfc(TAIL / std::sqrt(2.0));
        edge[0] = area / corner;
        edge[1] = TAIL;
        for (int k = 2; k < LAYERS; ++k) edge[k] = std::sqrt(-2.0 * std::log(area / edge[k - 1] + curve(edge[k - 1])));
        edge[LAYERS] = 0.0;
        for (int k = 0; k <= LAYERS; ++k) height[k] = curve(edge[k]);
        for (int k = 0; k < LAYERS; ++k) {
            width[k] = edge[k] * UNIT;
            inside[k] = u64(edge[k + 1] / edge[k] / UNIT);
        }
    }
    static double curve(double x) { return std::exp(-0.5 * x * x); }
};

inline const Ziggurat ziggurat;

// The stream of a hop of a task.
inline u64 stream_key(u64 seed, u64 task, u64 hop) {
    const u64 key = mixed(mixed(seed + GOLDEN) + (task + 1) * GOLDEN);
    return mixed(key + (hop + 1) * SPREAD);
}

// The size of a number with its sign, without a branch that no processor could predict.
inline double with_sign(double size, u64 bits) { return size * (1.0 - double(i64(bits & LAYERS)) * (2.0 / LAYERS)); }

// A number within (0, 1).
inline double open_uniform(u64 state) { return (double(i64(mixed(state) >> 11)) + 0.5) * UNIT; }

// A number beyond the corner of the lowest layer (Marsaglia).
inline double tail_normal(u64 state) {
    while (true) {
        state += SPREAD;
        const double beyond = -std::log(open_uniform(state)) / TAIL;
        state += SPREAD;
        if (-2.0 * std::log(open_uniform(state)) > beyond * beyond) return TAIL + beyond;
    }
}

// The number of a draw that fell outside of the next layer: accepted, from the tail, or drawn again.
inline double outer_normal(u64 bits) {
    u64 state = bits;
    double size = 0.0;
    while (true) {
        const u64 layer = bits & (LAYERS - 1), place = bits >> 11;
        size = double(i64(place)) * ziggurat.width[layer];
        if (place < ziggurat.inside[layer]) break;
        if (layer == 0) {
            size = tail_normal(state);
            break;
        }
        state += SPREAD;
        const double low = ziggurat.height[layer], height = low + open_uniform(state) * (ziggurat.height[layer + 1] - low);
        if (height < Ziggurat::curve(size)) break;
        state += SPREAD;
        bits = mixed(state);
    }
    return with_sign(size, bits);
}

// The standard normal number at a position of a stream.
inline double normal(u64 key, i64 counter) {
    const u64 bits = mixed(key + u64(counter) * GOLDEN), layer = bits & (LAYERS - 1), place = bits >> 11;
    if (place >= ziggurat.inside[layer]) return outer_normal(bits);
    return with_sign(double(i64(place)) * ziggurat.width[layer], bits);
}

}  // namespace edrp
