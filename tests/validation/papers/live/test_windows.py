"""Fig. 13: its table, figure and verdicts from rows."""

import json

import pytest

from edrp.core.errors import InvalidInstanceError
from edrp.validation.flink.response_times import ResponseSettings, cells
from edrp.validation.flink.task_paths import HASHING, MTM, SINGLE_STEP, STORM
from edrp.validation.papers.live import windows
from edrp.validation.papers.live.rows import read_rows
from edrp.validation.papers.live.windows import draw_windows, response, window_statements, window_table

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
    monkeypatch.setattr(windows, "draw_panels", lambda panels, *_, **__: drawn.extend(panels))
    draw_windows(rows(), tmp_path / "figure.png")
    assert [set(panel.curves) for panel in drawn] == [{SINGLE_STEP, MTM, HASHING}] * 2
    assert [curve.mean for curve in drawn[0].curves[MTM].values()] == [66.0, 126.0, 186.0, 246.0]


def test_one_command_makes_them_a_report_and_runs_of_other_scales_are_not_compared(run, tmp_path):
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows()))
    assert "Of 8 statements" in run("reproduce", "live", file, "-o", tmp_path / "out").ended(0).out
    assert (tmp_path / "out" / "fig13-response-times.svg").exists()
    assert (tmp_path / "out" / "windows.csv").read_text().count("\n") == 57
    file.write_text("".join(json.dumps(row | {"seconds": 5.0 + row["round"]}) + "\n" for row in rows()))
    with pytest.raises(InvalidInstanceError, match="seconds: must be the same"):
        read_rows([file])
