"""What the writer has seen becomes latencies, silences and missing tuples; turns of experiments are complete."""

import math
from collections import Counter

import numpy as np
import pytest

from edrp.datasets.traces.flights import KeyedStream
from edrp.validation.flink.live import order_runs
from edrp.validation.flink.live.against_flink import METHODS, turns
from edrp.validation.flink.live.orders import ORDERS
from edrp.validation.flink.live.results import Results, mean_by_minute, read_results, tail, throughput
from edrp.validation.flink.live.running import STEP_TASKS, LiveSettings, move_ins
from edrp.validation.flink.live.throughput import bursts


def lines(*rows: tuple[int, int, int, int]) -> list[str]:
    """Lines of the writer: arrived, due, key, number."""
    return [f"{arrived} {due} {key} {number} 0\n" for arrived, due, key, number in rows]


def steady(until: int, *late: tuple[int, int]) -> Results:
    """A tuple each 10 ms that takes 5 ms, but for those that are due at a time and take so long."""
    delays = dict(late)
    return read_results(lines(*((due + delays.get(due, 5), due, 0, due) for due in range(0, until, 10))))


def test_a_tuple_that_is_replayed_counts_when_it_first_came():
    results = read_results(lines((10, 0, 1, 1), (500, 0, 1, 1), (20, 15, 1, 2)))
    assert results.latencies(0, 100).max == 0.01
    assert results.latencies(0, 100).tuples == 2
    assert results.latencies(0, 15).tuples == 1


def test_lines_that_are_cut_off_and_empty_ones_are_passed_over():
    results = read_results([*lines((10, 0, 1, 1)), "\n", "12 3 1 2 77"])
    assert results.arrived.tolist() == [10]
    assert read_results([]).latencies(0, 10).tuples == 0
    assert read_results([]).silence(0, 10) == 0.0


def test_missing_are_numbers_of_a_key_before_its_last():
    assert read_results(lines((1, 0, 7, 4), (2, 0, 7, 6), (3, 0, 7, 9), (4, 0, 8, 1))).missing == 3
    assert read_results(lines((1, 0, 7, 2), (2, 0, 7, 1))).missing == 0


def test_a_silence_counts_where_it_overlaps():
    results = read_results(lines(*((at, 0, 0, at) for at in (100, 200, 900, 1000))))
    assert results.silence(300, 400) == 0.7
    assert results.silence(0, 150) == 0.1
    assert results.silence(900, 950) == 0.1


def test_a_job_is_stable_once_latencies_stay_below_the_peak_before():
    assert steady(5000).stable(1000, 5000, 0.01) == 0.0
    late = steady(5000, (1200, 300), (1800, 50))
    assert late.stable(1000, 4000, 0.01) == pytest.approx(0.85)  # the last late one arrives at 1850
    assert late.stable(1000, 4000, 0.1) == pytest.approx(0.5)
    assert late.stable(1000, 2500, 0.01) is None


def test_throughput_is_that_of_the_middle_of_a_burst():
    slow_ends = [0, 5000, *range(10_000, 11_000), 20_000, 30_000]
    assert throughput(slow_ends) == pytest.approx(1000.0, rel=0.01)
    assert math.isnan(throughput([1]))


def test_minutes_are_those_in_which_tuples_were_due():
    by_minute = mean_by_minute(steady(4000, (1500, 1000)), 0, 1.0, 4)
    assert [figures.tuples for figures in by_minute.values()] == [100] * 4
    assert by_minute[2].mean == pytest.approx((99 * 0.005 + 1.0) / 100)
    assert by_minute[3].max == 0.005


def test_a_file_is_read_from_a_byte_on(tmp_path):
    path = tmp_path / "results.txt"
    assert tail(path, 0) == []
    path.write_text("1 1 1 1 1\n2 2 2")
    assert tail(path, 10) == ["2 2 2"]


def test_in_a_round_all_ways_to_change_take_their_turn_and_three_each_way_have_either_service():
    listed = turns(100, 12)
    assert Counter(turn.method for turn in listed) == dict.fromkeys(METHODS, 12)
    assert Counter((turn.service, turn.method) for turn in listed) == {(s, m): 6 for s in ("compute", "sleep") for m in METHODS}
    assert len({turn.method for turn in listed[::3]}) == 3  # each is the first at some time
    assert len(set(listed)) == len(listed)


def test_an_order_moves_out_in_one_round_and_back_in_the_next():
    listed = order_runs.order_turns("flights", 2)
    places = {(turn.round, turn.order): number for number, turn in enumerate(listed)}
    assert all((places[0, order] - places[1, order]) % 2 for order in ORDERS)


def test_either_mode_is_first_in_a_round():
    firsts = [(burst.round, burst.mode) for burst in bursts(2)][::2]
    assert set(firsts) == {(0, "live"), (1, "plain")}


def test_routes_of_flights_keep_their_proportions(monkeypatch):
    keys = np.repeat([0, 1, 2], [4000, 1000, 3])
    monkeypatch.setattr(order_runs, "flights", lambda key: KeyedStream(np.zeros(keys.size), keys, ("a", "b", "c")))
    chosen = order_runs.setting("flights")
    assert chosen.weights == (200, 50, 1)
    assert chosen.cycle == 251
    assert order_runs.setting("zipf").cycle > 2560


def test_a_step_brings_about_two_megabytes_to_a_worker_and_few_tasks():
    assert move_ins([417_000.0] * 240) == 5
    assert move_ins([1_700_000.0] * 240) == 1
    assert move_ins([42_000.0] * 240) == STEP_TASKS


def test_settings_become_arguments_of_the_program(tmp_path):
    words = LiveSettings("plain", 3, 3, 150.0, weights=(1, 2)).arguments(tmp_path)
    options = dict(zip(words[::2], words[1::2], strict=True))
    assert options["--mode"] == "plain"
    assert options["--weights"] == str(tmp_path / "weights.txt")
    assert options["--control"].startswith("file:///")
