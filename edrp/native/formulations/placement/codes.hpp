// States of open operators as integers; what their bits mean says formulations/placement/equal_nodes/codes.py.
#pragma once
#include "edrp/native/arrays.hpp"

namespace edrp {

constexpr i64 MAX_OPEN = 7, MAX_LEVEL = 31, FIELD = 8, BLOCK = 0x80, FOLLOWER = 0x40, USED = FIELD * MAX_OPEN;

// What the search needs at the turn of one operator.
struct OperatorTurn {
    Ints width, parents, streams, kept, opens;
    FIELDS(width, parents, streams, kept, opens)
};

// A code taken apart, by position of the open operator; the last place is for the block that is being joined.
struct OpenOperators {
    i64 root[MAX_OPEN + 1];     // position of the first operator of the block; -1 for an operator that is not on one node
    i64 classes[MAX_OPEN + 1];  // set of classes
    i64 level[MAX_OPEN + 1];    // of the block, at its first operator
    bool joined[MAX_OPEN + 1];  // whether the block is joined by the new operator
    i64 first[MAX_OPEN + 1];    // new position of the first operator of each block; -1 for none yet

    bool is_joined(i64 position) const { return root[position] >= 0 && joined[root[position]]; }
};

inline void take_apart(i64 code, i64 width, OpenOperators& open) {
    for (i64 position = 0; position < width; ++position) {
        const i64 field = (code >> (FIELD * position)) & 0xFF;
        open.joined[position] = false;
        if (field & BLOCK) {
            open.root[position] = position;
            open.classes[position] = i64{1} << ((field >> 5) & 3);
            open.level[position] = field & MAX_LEVEL;
        } else if (field & FOLLOWER) {
            open.root[position] = field & 7;
            open.classes[position] = open.classes[field & 7];
        } else {
            open.root[position] = -1;
            open.classes[position] = field;
        }
    }
}

// The code after a new operator that runs on `classes`; on one node, that of the joined blocks, where `single`.
inline i64 put_together(OpenOperators& open, const OperatorTurn& turn, bool single, i64 classes, i64 level) {
    const i64 width = turn.width[0];
    i64 code = 0;
    for (i64 position = 0; position <= width; ++position) open.first[position] = -1;
    for (i64 place = 0; place < turn.kept.size() + turn.opens[0]; ++place) {
        i64 block = single ? width : -1, own = classes, field;
        if (place < turn.kept.size()) {
            const i64 position = turn.kept[place];
            block = open.is_joined(position) ? width : open.root[position];
            own = open.classes[position];
        }
        if (block < 0) {
            field = own;
        } else if (open.first[block] >= 0) {
            field = FOLLOWER | open.first[block];
        } else {
            open.first[block] = place;
            // Sets of one class are 1, 2 and 4; their numbers 0, 1 and 2.
            field = BLOCK | ((own >> 1) << 5) | (block == width ? level : open.level[block]);
        }
        code |= field << (FIELD * place);
    }
    return code;
}

// Marks the blocks of the chosen senders; -1 where one is no block on these classes or repeats one, else their level.
inline i64 join(OpenOperators& open, const OperatorTurn& turn, i64 chosen, i64 classes) {
    i64 level = 0;
    for (i64 position = 0; position < turn.width[0]; ++position) open.joined[position] = false;
    for (i64 number = 0; number < turn.parents.size(); ++number) {
        if ((chosen >> number & 1) == 0) continue;
        const i64 block = open.root[turn.parents[number]];
        if (block < 0 || open.classes[block] != classes || open.joined[block]) return -1;
        open.joined[block] = true;
        level += open.level[block];
    }
    return level;
}

// Whether the joined block has an open operator afterwards.
inline bool stays_open(const OpenOperators& open, const OperatorTurn& turn) {
    if (turn.opens[0] == 1) return true;
    for (i64 position : turn.kept)
        if (open.is_joined(position)) return true;
    return false;
}

// The code of the delays of the streams into a new operator: its set of classes, and per stream the sender's set, 0 for none.
inline i64 parent_pattern(const OpenOperators& open, const OperatorTurn& turn, i64 classes) {
    i64 pattern = classes;
    for (i64 number = 0; number < turn.parents.size(); ++number) {
        const i64 position = turn.parents[number];
        pattern |= (open.is_joined(position) ? 0 : open.classes[position]) << (3 * (number + 1));
    }
    return pattern;
}

}  // namespace edrp
