"""Every name that a user can mistype: what was meant is offered."""

import pytest

import edrp
from edrp.backends.registry import get_backend
from edrp.core.errors import EdrpError, InvalidInstanceError
from edrp.core.wording import MAX_LISTED, suggestion

MISTYPED = [
    ("solv mine.json", "solve"),
    ("solve EXAMPLE -m grredy", "greedy"),
    ("solve EXAMPLE --program litral", "literal"),
    ("schema edpr", "edrp"),
    ("methods latency-awar", "latency-aware"),
    ("generate edpr -o x.jsonl", "edrp"),
    ("generate edrp -o x.jsonl --family diamon-zoo", "diamond-zoo"),
    ("batch FOLDER -o out -m anealing", "annealing"),
    ("batch FOLDER -o out -m highs:program=litral", "literal"),
    ("benchmark --suite smok -o out", "smoke"),
    ("simulate SCENARIO -m predictive-polic", "predictive-policy"),
    ("simulate SCENARIO -m threshold-policy:uper=3", "upper"),
    ("reproduce scenaro", "scenario"),
    ("trace prepare flihgts", "flights"),
    ("trace prepare flights:aircaft", "aircraft"),
    ("policy precompute EXAMPLE --out out --engine sparc", "spark"),
    ("reproduce bimodal --flow expekted", "expected"),
]


@pytest.mark.parametrize(("words", "meant"), MISTYPED)
def test_what_was_meant_is_offered(run, examples, tmp_path, monkeypatch, words, meant):
    monkeypatch.chdir(tmp_path)
    places = {"EXAMPLE": examples / "word_count.json", "SCENARIO": examples / "enactment_scenario.json", "FOLDER": examples}
    result = run(*(places.get(word, word) for word in words.split())).ended(2)
    assert f"did you mean '{meant}'" in " ".join(result.err.replace("│", "").split()).lower()
    assert list(tmp_path.iterdir()) == []


def test_a_program_of_another_kind_is_refused_with_those_of_this_one(run, examples):
    result = run("solve", examples / "word_count.json", "--program", "walks")
    assert (result.code, "no program 'walks' for problems of kind 'edrp'; there are compact" in result.err) == (2, True)


def test_names_are_offered_in_python_too(word_count):
    with pytest.raises(EdrpError, match="did you mean 'highs'"):
        get_backend("higs")
    with pytest.raises(InvalidInstanceError, match="did you mean 'time_limit'"):
        edrp.solve(word_count, "highs", timelimit=3)
    with pytest.raises(InvalidInstanceError, match="did you mean 'steps'"):
        edrp.solve(word_count, "annealing", step=3)


def test_as_many_names_are_listed_as_a_reader_can_take_in():
    many = [f"name-{number}" for number in range(MAX_LISTED + 3)]
    assert suggestion("x", many[:MAX_LISTED]).endswith(f"name-{MAX_LISTED - 1}")
    assert suggestion("x", many).endswith(f"name-{MAX_LISTED - 1} and 3 more")
