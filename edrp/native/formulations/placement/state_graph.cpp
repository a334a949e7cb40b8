// The graph of all states of open operators, layer by layer (formulations/placement/equal_nodes/state_graph.py).
#include "edrp/native/formulations/placement/code_tables.hpp"
#include "edrp/native/formulations/placement/codes.hpp"
#include "edrp/native/python.hpp"

namespace edrp {
namespace {

constexpr i64 MASKS = 8, MAX_CLASSES = 3, LEVELS = MAX_LEVEL + 1, EXACT = MASKS, UP_TO = MASKS + MAX_CLASSES * LEVELS;

constexpr i64 MAX_DELAY_PATTERNS = 1 << 12;

// A table without entries, of at least `places`.
std::vector<std::int32_t> empty_table(i64 places) {
    i64 size = 1;
    while (size < places) size *= 2;
    return std::vector<std::int32_t>(std::size_t(size), -1);
}

CodeTableOut view(std::vector<std::int32_t>& table) { return {table.data(), {i64(table.size())}}; }

// The part that one operator adds to the graph.
struct FoundStates {
    Own<i64, 1> codes, patterns;  // states after its turn, and patterns of delays
    std::vector<std::int32_t> state_numbers, pattern_numbers;
    CodeTableOut table, pattern_table;
    const Array<std::int32_t, 2>& transitions;  // source, target, slot and pattern of each
    Own<i64, 1> counts;                         // of states, transitions and patterns; the first is -1 without room for one

    FoundStates(i64 states, const Array<std::int32_t, 2>& buffer)
        : codes(states),
          patterns(MAX_DELAY_PATTERNS),
          state_numbers(empty_table(4 * states)),
          pattern_numbers(empty_table(2 * MAX_DELAY_PATTERNS)),
          table(view(state_numbers)),
          pattern_table(view(pattern_numbers)),
          transitions(buffer),
          counts(3) {}
};

std::vector<std::int32_t> code_table(const Ints& codes) {
    std::vector<std::int32_t> numbers = empty_table(2 * codes.size() + 2);
    const CodeTableOut table = view(numbers);
    for (i64 number = 0; number < codes.size(); ++number)
        table[place_of_code(codes[number], codes, table)] = std::int32_t(number);
    return numbers;
}

// Appends a transition; false where something is full, which sets the first count to -1.
bool add_transition(i64 origin, i64 code, i64 slot, i64 pattern, const FoundStates& found) {
    const IntsOut counts = found.counts;
    const i64 target = number_for(code, found.codes, counts[0], found.table);
    const i64 kind = number_for(pattern, found.patterns, counts[2], found.pattern_table);
    if (target < 0 || kind < 0 || counts[1] >= found.transitions.shape[1]) {
        counts[0] = -1;
        return false;
    }
    counts[0] += target == counts[0];
    counts[2] += kind == counts[2];
    const i64 entries[] = {origin, target, slot, kind};
    for (i64 k = 0; k < 4; ++k) found.transitions(k, counts[1]) = std::int32_t(entries[k]);
    counts[1] += 1;
    return true;
}

// Adds the transitions on which all replicas run on the node of the joined blocks, which is full to level `base`, of class k.
bool add_single(i64 origin, const OperatorTurn& turn, i64 k, i64 base, i64 levels, i64 top, const Ints2& added,
                const FoundStates& found, OpenOperators& open) {
    const i64 classes = i64{1} << k, pattern = parent_pattern(open, turn, classes);
    if (!stays_open(open, turn)) {
        const i64 code = top | put_together(open, turn, true, classes, 0);
        return add_transition(origin, code, UP_TO + k * LEVELS + levels - base, pattern, found);
    }
    for (i64 more = 0; more <= levels - base; ++more) {
        if (added(k, more) != 1) continue;
        const i64 code = top | put_together(open, turn, true, classes, base + more);
        if (!add_transition(origin, code, EXACT + k * LEVELS + more, pattern, found)) return false;
    }
    return true;
}

// Finds what one operator adds; `full` are the classes that have to be used. False where there was no room for a transition.
bool add_transitions(const Ints& codes, const OperatorTurn& turn, const Ints& spread, const Ints2& added, i64 levels, i64 full,
                     const FoundStates& found) {
    OpenOperators open = {};
    bool any[MAX_CLASSES] = {};
    for (i64 k = 0; k < added.shape[0]; ++k)
        for (i64 more : added.row(k)) any[k] = any[k] || more != 0;
    for (i64 origin = 0; origin < codes.size(); ++origin) {
        const i64 used = codes[origin] >> USED;
        take_apart(codes[origin], turn.width[0], open);
        for (i64 classes : spread) {
            const i64 code = put_together(open, turn, false, classes, 0) | ((used | classes) & full) << USED;
            if (!add_transition(origin, code, classes, parent_pattern(open, turn, classes), found)) return false;
        }
        for (i64 k = 0; k < added.shape[0]; ++k) {
            if (!any[k]) continue;
            const i64 top = ((used | i64{1} << k) & full) << USED;
            for (i64 chosen = 1 - turn.opens[0]; chosen < i64{1} << turn.parents.size(); ++chosen) {
                const i64 base = join(open, turn, chosen, i64{1} << k);
                if (base >= 0 && base <= levels && !add_single(origin, turn, k, base, levels, top, added, found, open))
                    return false;
            }
        }
    }
    return true;
}

// The states after an operator's turn and its patterns, the number of its transitions, which stand in `transitions`, and whether
// there was room for all of them.
std::tuple<std::vector<i64>, std::vector<i64>, i64, bool> grow_state_graph(const Ints& codes, const OperatorTurn& turn,
                                                                           const Ints& spread, const Ints2& added, i64 levels,
                                                                           i64 full, i64 max_states,
                                                                           const Array<std::int32_t, 2>& transitions) {
    const FoundStates found(max_states, transitions);
    if (!add_transitions(codes, turn, spread, added, levels, full, found)) return {{}, {}, found.counts[1], false};
    const i64 *states = found.codes.begin(), *patterns = found.patterns.begin();
    return {{states, states + found.counts[0]}, {patterns, patterns + found.counts[2]}, found.counts[1], true};
}

const Kernels here{kernel<code_table>("code_table", "The table by which the numbers of codes are found."),
                   kernel<grow_state_graph>("grow_state_graph", "Add all transitions of one operator to the graph of states.")};

}  // namespace
}  // namespace edrp
