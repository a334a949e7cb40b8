"""Names that hold control characters are shown with escapes, wherever they are printed."""

import json
from datetime import UTC, datetime

import pytest

import edrp
from edrp.core.errors import visible
from edrp.explorer.page import explorer_page
from edrp.report.page import Page, Section, render
from edrp.report.tables import Table

EVIL = "\x1b[31m\x07\x9b2J\r\u202e\u2066\u2028\x7f\n"
HIDDEN = [*EVIL.replace("\n", "").replace("[31m", "").replace("2J", "")]


def assert_harmless(text: str) -> None:
    assert [sign for sign in HIDDEN if sign in text] == []
    assert "\\x1b" in text or "\\u001b" in text


@pytest.mark.parametrize("words", [["solve", "-m", "greedy"], ["explain", "-m", "greedy"]])
def test_names_of_nodes_and_operators(run, write, document, words):
    text = json.dumps(document)
    for part in (document["network"]["nodes"][0], document["application"]["operators"][0]):
        text = text.replace(f'"{part["name"]}"', json.dumps(part["name"] + EVIL))
    done = run(words[0], write(text), *words[1:]).ended(0)
    assert_harmless(done.out + done.err)
    names = [line for line in done.out.splitlines() if "\\x1b[31m\\x07\\x9b2J\\r\\u202e\\u2066\\u2028\\x7f\\n" in line]
    assert names


def test_names_in_errors(run, write, document, tmp_path):
    document[f"colour{EVIL}"] = EVIL
    broken = run("solve", write(document)).ended(2)
    assert_harmless(broken.err)
    assert_harmless(run("solve", tmp_path / f"none{EVIL}.json").err)
    assert_harmless(run("generate", f"edrp{EVIL}", "--out", tmp_path / "x.jsonl").err)
    assert_harmless(run("solve", write(json.dumps({"kind": EVIL}))).err)


def test_names_of_a_batch(run, tmp_path):
    path = tmp_path / "evil.jsonl"
    path.write_text(json.dumps({"id": f"a{EVIL}", "instance": {"kind": EVIL}}) + "\n")
    done = run("batch", path, "-m", "greedy", "-j", 1, "-o", tmp_path / f"out{EVIL}")
    assert_harmless(done.out)
    assert_harmless(done.out + done.err)


def test_names_on_a_page_of_a_problem(word_count):
    solution = edrp.solve(word_count, "greedy").model_copy(update={"notes": (f"note{EVIL}",), "clashes": (EVIL,)})
    assert_harmless(explorer_page(word_count, solution, f"title{EVIL}"))
    shown = json.loads(explorer_page(word_count, solution, EVIL).split('id="view">')[1].split("</script>")[0])
    for text in (shown["title"], *shown["notes"], *shown["clashes"]):
        assert_harmless(text)


def test_names_on_a_page_of_a_report():
    table = Table(f"caption{EVIL}", ("column",), ((f"cell{EVIL}", "x"),))
    section = Section(EVIL, (EVIL, f"`{EVIL}`"), code=EVIL, tables=(table,), terms={EVIL: EVIL})
    assert_harmless(render(Page(EVIL, EVIL, (EVIL,), (section,), datetime.now(UTC))))


def test_ordinary_text_stays_as_it_is():
    for text in ("naïve Ω τ′ → 日本語 🙂", "עברית", "نمی‌خواهم"):
        assert visible(text) == text
