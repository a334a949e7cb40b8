"""Figs. 13 and 15: their tables, figures and verdicts from rows."""

import json

import pytest

from edrp.core.errors import InvalidInstanceError
from edrp.validation.flink.response_times import HASHING, MTM, SINGLE_STEP, STORM, ResponseSettings, cells
from edrp.validation.papers.live import report as live_report
from edrp.validation.papers.live.report import (
    draw_windows,
    minute_statements,
    minutes,
    read_rows,
    report,
    response,
    window_statements,
    window_table,
)

MEANS = {SINGLE_STEP: 3.0, MTM: 2.0, HASHING: 5.0, STORM: 100.0}
SHARES = {SINGLE_STEP: 0.15, MTM: 0.13, HASHING: 0.2, STORM: 0.5}


def rows(rounds=2, **changed):
    """Rows that bear the paper out; other means by method."""
    return [
        {
            **{"experiment": "windows", **cell._asdict(), "seconds": 5.0, "quiet": 10.0, "load": 1.0 + cell.round},
            **{"mean": 5 + (MEANS | changed)[cell.method] * (cell.window + cell.round), "moved_share": SHARES[cell.method]},
        }
        for cell in cells(ResponseSettings(), rounds)
    ]


def verdicts(found):
    """Verdicts by the first words of the sentences, without the mode where both modes agree."""
    return [(statement.sentence, statement.verdict) for statement in window_statements(found)]


def test_rows_like_the_papers_bear_out_its_sentences_but_for_storms_scaled_delay():
    found = verdicts(rows())
    assert len(found) == 8
    assert [sentence for sentence, verdict in found if verdict != "holds"] == ["the response time of Storm is at least 5000 ms"]


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({HASHING: 3.1}, "outperform consistent hashing by large margins"),
        ({MTM: 2.9}, "more pronounced in response time than in cost"),
        ({STORM: 2.0}, "Storm is above that of the proposed methods"),
    ],
)
def test_rows_that_contradict_a_sentence_are_seen(changed, sentence):
    found = [verdict for text, verdict in verdicts(rows(**changed)) if sentence in text]
    assert set(found) == {"does not hold"}


def test_response_times_that_fall_with_the_window_are_seen():
    falling = [row | {"mean": 1000 / row["window"]} for row in rows()]
    assert {v for text, v in verdicts(falling) if "grows with the window" in text} == {"does not hold"}


def test_storm_at_five_seconds_holds():
    slow = [row | {"mean": 5000.0 if row["method"] == STORM else row["mean"]} for row in rows()]
    assert ("the response time of Storm is at least 5000 ms", "holds") in verdicts(slow)


def test_margins_from_few_pairs_are_undecided():
    few = [row for row in rows(1) if row["window"] < 60]
    assert {v for text, v in verdicts(few) if "margins" in text} == {"undecided"}


def test_a_part_of_the_rows_gives_what_it_can():
    assert verdicts([]) == []
    assert window_table([]).rows == ()
    only = [row for row in rows(1) if row["method"] == STORM]
    assert [sentence for sentence, _ in verdicts(only)] == ["the response time of Storm is at least 5000 ms"]
    assert response(only, MTM, "live", 30.0) is None


def test_the_table_has_means_over_rounds_and_names_scale_and_load():
    made = window_table(rows())
    assert made.columns[2:6] == ("30 s", "60 s", "90 s", "120 s")
    cells_of = {(row[0], row[1]): row[2:] for row in made.rows}
    assert cells_of[MTM, "live (section 5.2)"][:2] == ("66", "126")
    assert cells_of[STORM, "savepoint and restart"][-1] == "50.0"
    assert "24 times as fast" in made.note
    assert "load of the machine 1.0 to 2.0" in made.note


def test_the_figure_has_curves_of_all_methods_but_storm(tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(live_report, "draw_panels", lambda panels, *_, **__: drawn.extend(panels))
    draw_windows(rows(), tmp_path / "figure.png")
    assert [set(panel.curves) for panel in drawn] == [{SINGLE_STEP, MTM, HASHING}] * 2
    assert [curve.mean for curve in drawn[0].curves[MTM].values()] == [66.0, 126.0, 186.0, 246.0]


def by_minute(method, slow, **other):
    """A row of Fig. 15: a mean of 10 ms in all minutes but the seventh; no tuple in the eighth."""
    latencies = {str(number): {"tuples": 500 * (number != 8), "mean": slow if number == 7 else 0.01} for number in range(1, 13)}
    row = {"experiment": "response", "round": 0, "method": method, "load": 1.0, "minute": 8.0, "workers": [10, 8]}
    return row | {"missing": 0, "minutes": latencies} | other


MINUTES = [by_minute(method, slow) for method, slow in (("live", 0.01), ("rescale", 0.2), ("savepoint", 2.0))]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in (*rows(), *MINUTES)))
    return path


def test_orders_of_magnitude_are_judged_in_the_minute_of_the_change():
    verdicts = {statement.sentence.rpartition("against ")[2]: statement.verdict for statement in minute_statements(MINUTES)}
    assert verdicts == {"restart from a savepoint (the paper's baseline)": "holds", "Flink's rescale": "does not hold"}
    assert 8.0 not in minutes(MINUTES, "live")


def test_one_command_makes_them_a_report(run, file, tmp_path):
    assert "Of 10 statements" in run("reproduce", "live", file, "-o", tmp_path / "out").ended(0).out
    page = (tmp_path / "out" / "report.html").read_text()
    assert all(heading in page for heading in ("Fig. 13: response time by window", "Fig. 15: response time by minute"))
    assert {path.name for path in (tmp_path / "out").glob("*.svg")} == {"fig13-response-times.svg", "fig15-live-migration.svg"}
    assert (tmp_path / "out" / "windows.csv").read_text().count("\n") == 57
    assert "minute_7" in (tmp_path / "out" / "response.csv").read_text().splitlines()[0]


def test_experiments_without_rows_are_left_out():
    found = report({"response": MINUTES, "windows": []})
    assert [table.caption for table in found.shown] == ["Fig. 15: mean response time by minute"]
    assert len(found.statements) == 2


def test_lines_that_are_no_rows_are_named(file):
    lines = (json.dumps(MINUTES[0]), '{"experiment": "resp', '{"experiment": "control"}', '{"experiment": "windows", "round": 1}')
    file.write_text("\n".join(lines))
    with pytest.raises(InvalidInstanceError) as raised:
        read_rows([file])
    assert [fault.place for fault in raised.value.faults] == ["line 2", "line 3", "line 4"]
    assert "has no window, method" in raised.value.faults[2].why


def test_rows_that_stand_there_twice_or_have_other_scales_are_not_compared(file, tmp_path):
    with pytest.raises(InvalidInstanceError, match="stands there twice"):
        read_rows([file, file])
    other = tmp_path / "other.jsonl"
    for row, field in ((by_minute("live", 0.01, round=1, minute=20.0), "minute"), (rows(3)[-1] | {"seconds": 7.0}, "seconds")):
        other.write_text(json.dumps(row))
        with pytest.raises(InvalidInstanceError, match=f"{field}: must be the same"):
            read_rows([file, other])
    with pytest.raises(InvalidInstanceError, match="there are none"):
        read_rows([])
