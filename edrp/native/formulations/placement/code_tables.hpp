// Hash tables by which the numbers of codes are found; -1 where a place is empty.
#pragma once
#include "edrp/native/arrays.hpp"

namespace edrp {

using CodeTable = Array<const std::int32_t, 1>;
using CodeTableOut = Array<std::int32_t, 1>;

// The place of a code, or the empty one where the search for it ends.
inline i64 place_of_code(i64 code, const Ints& codes, const CodeTable& table) {
    const i64 last = table.size() - 1;
    i64 place = ((code * i64(0x9E3779B97F4A7C15u)) >> 20) & last;
    while (table[place] >= 0 && codes[table[place]] != code) place = (place + 1) & last;
    return place;
}

// The number of a code; -1 where it is unknown.
inline i64 code_number(i64 code, const Ints& codes, const CodeTable& table) { return table[place_of_code(code, codes, table)]; }

// The number of a code, a new one where it is unknown; -1 where there is no room.
inline i64 number_for(i64 code, const IntsOut& codes, i64 count, const CodeTableOut& table) {
    const i64 place = place_of_code(code, codes, table);
    if (table[place] >= 0) return table[place];
    if (count >= codes.size()) return -1;
    codes[count] = code;
    table[place] = std::int32_t(count);
    return count;
}

}  // namespace edrp
