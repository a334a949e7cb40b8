"""How far a job is: bars for terminals, plain lines for logs."""

import io
from threading import Event

import pytest
from rich.console import Console

import edrp.report.progress as progress_module
from edrp.report.progress import Count, ProgressLines, Step, counting, working


class Clock:
    """A clock that stands until it is set."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def lines():
    """Lines of a job, with the clock and what was printed."""
    clock, text = Clock(), io.StringIO()
    return ProgressLines(Console(file=text, width=1000), "solving", clock), clock, text


@pytest.fixture
def impatient(monkeypatch):
    """Every change is worth a line."""
    monkeypatch.setattr(progress_module, "PAUSE", 0.0)
    monkeypatch.setattr(progress_module, "SHARE", 0.0)


def test_a_line_every_few_seconds_and_the_last_one(lines):
    told, clock, text = lines
    for second in range(13):
        clock.now = float(second)
        told.update(Count(10 * second, 400, "2 failed"))
    told.finish()
    told.finish()
    assert text.getvalue().splitlines() == [
        "solving: 50 of 400 done, 2 failed, 5 s, about 35 s left",
        "solving: 100 of 400 done, 2 failed, 10 s, about 30 s left",
        "solving: 120 of 400 done, 2 failed, 12 s, about 28 s left",
    ]


def test_no_time_left_is_estimated_while_nothing_finishes(lines):
    told, clock, text = lines
    for second in (10.0, 20.0, 80.0):
        clock.now = second
        told.update(Count(35, 50))
    clock.now = 90.0
    told.update(Count(36, 50))
    assert text.getvalue().splitlines() == [
        "solving: 35 of 50 done, 10 s, about 4 s left",
        "solving: 35 of 50 done, 20 s, about 9 s left",
        "solving: 35 of 50 done, 80 s, none finished for 70 s",
        "solving: 36 of 50 done, 90 s, about 35 s left",
    ]


def test_a_short_job_has_no_lines(lines):
    told, clock, text = lines
    told.update(Count(1, 2))
    clock.now = 4.0
    told.update(Count(2, 2))
    told.finish()
    assert text.getvalue() == ""


def test_a_job_that_says_nothing_is_still_said_to_run(lines):
    told, clock, text = lines
    clock.now = 6.0
    told.tick()
    told.update(Step("work by task"))
    clock.now = 7200.0
    told.tick()
    assert text.getvalue().splitlines() == ["solving: starting, 6 s", "solving: work by task, 2.0 h"]


def test_lines_of_a_long_job_are_rare(lines):
    told, clock, text = lines
    for minute in range(0, 600):
        clock.now = 60.0 * minute
        told.update(Count(minute, 600))
    assert len(text.getvalue().splitlines()) < 100


def test_markup_in_a_name_is_printed_as_it_is(capsys, impatient):
    with working(Console(file=io.StringIO()), "preparing [red]log[/red].csv") as tell:
        tell("[bold]")
    assert "preparing [red]log[/red].csv: [bold], 0 s" in capsys.readouterr().err


def test_a_terminal_gets_a_bar_and_a_log_plain_lines(capsys, impatient):
    shown = io.StringIO()
    with counting(Console(file=shown, width=160, force_terminal=True), "solving") as tell:
        tell(Count(3, 4, "1 failed"))
    assert "3/4" in shown.getvalue()
    assert "1 failed" in shown.getvalue()
    assert capsys.readouterr().err == ""
    with counting(Console(file=io.StringIO()), "solving") as tell:
        tell(Count(3, 4, "1 failed"))
    err = capsys.readouterr().err
    assert "solving: 3 of 4 done, 1 failed, 0 s" in err
    assert "\x1b" not in err


def test_lines_come_also_while_the_job_is_silent(impatient, monkeypatch):
    said = Event()
    monkeypatch.setattr(ProgressLines, "_print", lambda *_: said.set())
    with counting(Console(file=io.StringIO()), "solving"):
        assert said.wait(60)


def test_a_batch_says_in_a_log_how_far_it_is(run, examples, tmp_path, impatient):
    for name in ("word_count", "reconfigure"):
        (tmp_path / f"{name}.json").write_text((examples / f"{name}.json").read_text())
    result = run("batch", tmp_path, "-m", "greedy", "-j", "1", "-o", tmp_path / "out").ended(0)
    assert "solving: 2 of 2 done, 0 failed, 0 running" in result.err
