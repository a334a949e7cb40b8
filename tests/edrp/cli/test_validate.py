"""`edrp validate FILE …` checks documents of every kind."""

from __future__ import annotations

import edrp


def test_every_example_is_valid(run, examples):
    files = sorted(examples.glob("*.json"))
    result = run("validate", *files)
    assert result.code == 0
    assert result.out.splitlines() == [f"{file}: valid ({edrp.load(file).kind})" for file in files]
    assert result.err == ""


def test_solutions_are_documents_too(run, examples, tmp_path):
    edrp.solve(edrp.load(examples / "migration.json"), "ssm").save(tmp_path / "solution.json")
    result = run("validate", tmp_path / "solution.json")
    assert (result.code, result.out) == (0, f"{tmp_path / 'solution.json'}: valid (migration-solution)\n")


def test_all_faults_of_invalid_files_are_listed_and_the_others_still_checked(run, examples, write, document):
    bad = write({**document, "colour": "red", "synchronisation_time": -1})
    result = run(
        "validate", bad, write("{", "broken.json"), write({"kind": "puzzle"}, "puzzle.json"), examples / "word_count.json"
    )
    assert result.code == 2
    assert result.out == f"{examples / 'word_count.json'}: valid (edrp)\n"
    for text in ("2 faults", "colour", "synchronisation_time", "broken.json", "is not JSON", "is no kind of document"):
        assert text in result.err


def test_a_missing_file_is_bad_input(run, tmp_path):
    assert run("validate", tmp_path / "none.json").code == 2
