"""The judge of live jobs: every corruption of a file of results is seen, and what restarts leave behind is not taken for one."""

import random
from dataclasses import asdict

import pytest

from edrp.validation.flink.live.validator import judge

M, MASK = 6364136223846793005, (1 << 64) - 1


def results(numbers: dict[int, list[int]]) -> list[str]:
    """Lines of a job whose states take the numbers of each key in the order given, as Java prints them."""
    lines = []
    for key, order in numbers.items():
        chain = 0
        for number in order:
            chain = (chain * M + number) & MASK
            lines.append(f"5 4 {key} {number} {chain - (1 << 64) if chain >> 63 else chain}")
    return lines


def state(*order: int) -> dict[str, int]:
    facts = asdict(judge(results({1: list(range(1, 9)), 2: list(order)})))
    return {name: count for name, count in facts.items() if name in ("lost", "doubled", "reordered") and count}


def test_a_right_file_is_right_whatever_a_restart_repeats_and_however_owners_mix():
    lines = results({key: list(range(1, 21)) for key in range(5)})
    assert judge(lines, dict.fromkeys(range(5), 20)).exactly_once
    mixed = lines + lines[30:60] + [""]
    random.Random(1).shuffle(mixed)
    verdict = judge(mixed)
    assert verdict.exactly_once
    assert (verdict.lines, verdict.records, verdict.replays) == (130, 100, 30)


@pytest.mark.parametrize(
    ("order", "found"),
    [
        ((1, 2, 3, 5, 6), {"lost": 1}),
        ((1, 2, 3, 3, 4), {"doubled": 1}),
        ((1, 2, 4, 3, 5), {"lost": 2, "reordered": 1}),
        ((3, 4, 5), {"lost": 2}),
    ],
    ids=["lost", "doubled", "swapped", "begun anew"],
)
def test_what_a_state_has_not_seen_once_and_in_order_is_named(order, found):
    # After a swap (2 → 4, 4 → 3, 3 → 5) the state skips 3, and later 4.
    assert state(*order) == found


@pytest.mark.parametrize("place", [0, 7, 39])
def test_a_dropped_line_is_lost(place):
    lines = results({key: list(range(1, 21)) for key in range(2)})
    sent = {0: 20, 1: 20}
    del lines[place]
    assert judge(lines, sent).lost == 1


def test_a_key_of_which_nothing_came_is_lost():
    assert judge(results({0: [1, 2]}), {0: 2, 1: 3}).lost == 3


@pytest.mark.parametrize("place", [0, 7, 39])
def test_a_changed_chain_or_number_is_wrong(place):
    lines = results({key: list(range(1, 21)) for key in range(2)})
    for word in (3, 4):
        words = lines[place].split()
        words[word] = str(int(words[word]) + 1)
        verdict = judge([*lines[:place], " ".join(words), *lines[place + 1 :]])
        assert verdict.wrong >= 1
        assert not verdict.exactly_once


def test_swapped_chains_are_wrong():
    lines = results({0: list(range(1, 9))})
    third, fourth = lines[2].split(), lines[3].split()
    third[4], fourth[4] = fourth[4], third[4]
    assert judge([*lines[:2], " ".join(third), " ".join(fourth), *lines[4:]]).wrong == 2


def test_a_torn_line_is_passed_over_but_what_it_said_must_come_again():
    lines = results({0: list(range(1, 9))})
    torn = [*lines[:4], lines[4][:-3], lines[5][:7]]
    assert judge([*torn, *lines[4:]]).exactly_once
    assert judge([*torn, *lines[4:]]).torn == 2
    assert judge([*torn, *lines[5:]]).lost == 1
