"""The library: what it ships holds, wrong records and wrong submissions are refused with their reason, and nothing is lost."""

import gzip
import hashlib
import json
import multiprocessing
import os
import random
import shutil
import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest

import edrp
from edrp.certificates import checker
from edrp.certified.checks import packed
from edrp.certified.library import FOLDER, RECORDS, SCHEMA, Library
from edrp.certified.records import BestKnown, Row, records_schema
from edrp.certified.submissions import Submission, read_submission, submit
from edrp.core.errors import EdrpError, InvalidInstanceError, UnwritableError

PLACEMENTS = ("edrp", "latency-aware")


def smallest(closed, count, kinds=None):
    """Ids of rows with the shortest certificates, of each kind in turn."""
    by_kind = {}
    for name, row in edrp.library.items():
        if row.record.closed is closed and (kinds is None or name.partition("/")[0] in kinds):
            size = sum((FOLDER / file.path).stat().st_size for file in row.record.files)
            by_kind.setdefault(name.partition("/")[0], []).append((size, name))
    queues = [[name for _, name in sorted(rows)] for rows in by_kind.values()]
    turns = (queue[turn] for turn in range(max(map(len, queues))) for queue in queues if turn < len(queue))
    return list(islice(turns, count))


@pytest.fixture
def small(tmp_path):
    """A library of twelve closed rows and two open ones, in a folder that may be written to."""
    names = [*smallest(True, 12), *smallest(False, 2)]
    rows = {name: edrp.library[name].record for name in names}
    for row in rows.values():
        for file in row.files:
            (tmp_path / file.path).parent.mkdir(exist_ok=True)
            shutil.copy(FOLDER / file.path, tmp_path / file.path)
    return with_rows(tmp_path, rows)


def with_rows(folder, rows):
    (folder / RECORDS).write_text(BestKnown(rows=rows).model_dump_json())
    return Library(folder)


def one_of(library, closed=True, kinds=PLACEMENTS):
    return next(row for row in library.values() if row.record.closed is closed and row.name.partition("/")[0] in kinds)


def stored(library, path, text):
    """A file of the library with this text, as its record names it."""
    file, data = packed(path, text)
    (library.folder / path).write_bytes(data)
    return json.loads(file.model_dump_json())


def changed(library, name, change):
    """The library with a changed record; `change` gets it as a dict."""
    rows = {key: json.loads(row.record.model_dump_json()) for key, row in library.items()}
    change(rows[name])
    return with_rows(library.folder, {key: Row.model_validate_json(json.dumps(row)) for key, row in rows.items()})


def test_a_sample_of_the_library_holds():
    judgements = edrp.library.verify([*smallest(True, 24), *smallest(False, 6)])
    assert [judgement for judgement in judgements if judgement.fault] == []
    assert edrp.library.strangers() == []


@pytest.mark.slow
def test_all_of_the_library_holds():
    assert [judgement for judgement in edrp.library.verify(n_jobs=2) if judgement.fault] == []


def test_the_shipped_schema_is_that_of_the_records():
    assert json.loads((FOLDER / SCHEMA).read_text()) == records_schema()
    assert sum(path.stat().st_size for path in FOLDER.rglob("*.*")) < 25e6


def test_suites_are_made_of_sizes():
    problems = edrp.library.suite("migration", "second")
    assert problems
    assert all(problem.kind == "migration" for problem in problems.values())
    assert not set(problems) & set(edrp.library.suite("migration", "open"))
    with pytest.raises(EdrpError, match="did you mean 'migration'"):
        edrp.library.suite("migrations")


def test_a_checker_without_the_package_accepts_certified_rows(tmp_path, run):
    names = smallest(True, 6)
    for number, name in enumerate(names):
        run("library", "get", name, "--out", str(tmp_path / str(number))).ended(0)
        files = [str(tmp_path / str(number) / file) for file in ("instance.json", "solution.json", "certificate.jsonl")]
        words = [sys.executable, "-I", str(Path(checker.__file__).parent), *files]
        proven = subprocess.run(words, capture_output=True, text=True, check=False, timeout=100)
        assert proven.returncode == (0 if edrp.library[name].record.status == "full proof" else 4), proven.stdout


def off_by_a_millionth(library, name, row):
    def change(fields):
        fields["decisions"][0]["value"] += 1e-6 * max(1.0, abs(fields["decisions"][0]["value"]))

    return changed(library, name, change), "must be|the decision is worth"


def bound_above(library, name, row):
    def change(fields):
        fields["bounds"][0]["value"] += 1e-3 * max(1.0, abs(fields["bounds"][0]["value"]))

    return changed(library, name, change), "the sides cross"


def of_another_row(side):
    def plant(library, name, row):
        others = [other for other in library.values() if other.name != name and other.record.closed]
        other = next((other for other in others if other.problem.kind == row.problem.kind), others[0])

        def change(fields):
            fields[side][0]["file"] = json.loads(getattr(other.record, side)[0].file.model_dump_json())

        return changed(library, name, change), "must be|is no|worth|another instance|breaks|missing|the certificate is|claims"

    return plant


def flipped_bit(library, name, row):
    file = random.Random(name).choice(row.record.files)
    data = bytearray((library.folder / file.path).read_bytes())
    data[random.Random(name).randrange(len(data))] ^= 1
    (library.folder / file.path).write_bytes(data)
    return library, "its SHA-256 is another"


def wrong_hash(library, name, row):
    return changed(library, name, lambda fields: fields["instance"].update(hash="0" * 64)), "the instance has the hash"


def weaker_evidence(library, name, row):
    """A certificate of a stated program that is called a full proof, or the other way round."""
    other = {"full proof": "stated program", "stated program": "full proof"}[row.record.status]
    return changed(library, name, lambda fields: fields["bounds"][0].update(evidence=other)), "the certificate is a"


def without_certificate(library, name, row):
    return changed(library, name, lambda fields: fields["bounds"][0].update(file=None)), "needs a certificate"


def raised_in_all_files(library, name, row):
    """An objective that record and solution document agree on, and that the decision does not have."""
    document = row.solution.to_document()
    document["objective"] += 1e-6 * max(1.0, abs(document["objective"]))

    def change(fields):
        fields["decisions"][0].update(
            file=stored(library, f"{name}.planted.gz", json.dumps(document)), value=document["objective"]
        )

    return changed(library, name, change), "the decision is worth|must be best first"


PLANTS = [
    off_by_a_millionth,
    bound_above,
    of_another_row("decisions"),
    of_another_row("bounds"),
    flipped_bit,
    wrong_hash,
    weaker_evidence,
    without_certificate,
    raised_in_all_files,
]


@pytest.mark.parametrize("plant", PLANTS)
def test_planted_records_are_refused(small, plant):
    rows = [row for row in small.values() if row.record.closed][:8]
    before = (small.folder / RECORDS).read_text()
    for row in rows:
        kept = {file.path: (small.folder / file.path).read_bytes() for file in row.record.files}
        library, why = plant(Library(small.folder), row.name, row)
        judgement = library.verify([row.name])[0]
        assert any(part in judgement.fault for part in why.split("|")), (row.name, judgement.fault)
        (small.folder / RECORDS).write_text(before)
        for path, data in kept.items():
            (small.folder / path).write_bytes(data)


def crowded(problem):
    """All replicas on one node, more than there may be: it breaks limits of every placement."""
    node = problem.network.nodes[0].name
    return {operator.name: [node] * 40 for operator in problem.application.operators}


def test_a_decision_that_breaks_a_limit_is_refused_with_the_limit(small):
    row = one_of(small)
    document = {**row.solution.to_document(), "deployment": crowded(row.problem)}
    file = stored(small, f"{row.name}.planted.gz", json.dumps(document))
    library = changed(small, row.name, lambda fields: fields["decisions"][0].update(file=file))
    assert "breaks a limit" in library.verify([row.name])[0].fault
    with pytest.raises(InvalidInstanceError, match=r"breaks a limit: .*replica"):
        submit(small, Submission({"kind": f"{row.problem.kind}-solution", "deployment": crowded(row.problem)}, None, row.name))


def opened(library, name, decisions=False):
    """The library without the bounds of a row, and without its decision if asked."""
    return changed(library, name, lambda fields: fields.update({"bounds": []} | ({"decisions": []} if decisions else {})))


def test_anybody_submits_a_decision_then_a_certificate(small, tmp_path, run):
    row = one_of(small)
    solution, certificate = row.solution.to_document(), row.certificate
    library = opened(small, row.name, decisions=True)
    decided = {"kind": solution["kind"], "deployment": solution["deployment"]}
    (tmp_path / "mine.json").write_text(json.dumps(decided))
    (tmp_path / "mine.cert").write_text(certificate)
    words = ["library", "submit", "--folder", str(library.folder)]
    said = run(*words, str(tmp_path / "mine.json"), "--row", row.name, "--by", "my solver 1.0").ended(0).out
    assert f"accepted: objective {solution['objective']!r}" in said
    assert Library(library.folder)[row.name].record.status == "open"
    assert "refused" in run(*words, str(tmp_path / "mine.json"), "--row", row.name).ended(4).out
    assert "accepted: full proof" in run(*words, str(tmp_path / "mine.cert")).ended(0).out
    record = Library(library.folder)[row.name].record
    assert (record.status, record.best.method) == ("full proof", "my solver 1.0")
    assert Library(library.folder).verify([row.name])[0].fault == ""


def test_a_decision_that_is_worse_in_what_counts_first_is_refused(tmp_path):
    row = edrp.library["edrp/capsys-q2"]
    shutil.copytree(FOLDER / "edrp", tmp_path / "edrp")
    library = with_rows(tmp_path, {row.name: row.record})
    other = edrp.solve(row.problem, "ds2")
    assert other.objective < row.record.best.value  # the last priority alone
    receipt = submit(library, Submission(other.to_document(), None, row.name))
    assert not receipt.accepted
    assert "peak_loads.compute, which counts first" in receipt.sentence


def test_a_bound_without_certificate_is_a_claim_until_it_is_refuted(small):
    row = one_of(small)
    kind, best = row.solution.kind, row.record.best.value
    library = opened(small, row.name)
    receipt = submit(library, Submission({"kind": kind, "bound": best}, None, row.name, by="a friend"))
    assert receipt.accepted
    assert (library[row.name].record.status, library[row.name].record.closed) == ("claimed", False)
    again = submit(library, Submission({"kind": kind, "bound": best - 1}, None, row.name))
    assert not again.accepted
    assert f"is not better than {best!r}, which is claimed" in again.sentence
    with pytest.raises(InvalidInstanceError, match="the sides cross"):
        submit(library, Submission({"kind": kind, "bound": best + 1}, None, row.name))
    library = changed(library, row.name, lambda fields: fields.update(decisions=[]))
    submit(library, Submission({"kind": kind, "bound": best + 1}, None, row.name))
    submit(library, Submission({"kind": kind, "deployment": row.solution.to_document()["deployment"]}, None, row.name))
    assert [bound.evidence for bound in library[row.name].record.bounds] == ["refuted", "claimed"]
    assert library[row.name].record.bound.value == best


def wrong_submissions(library):
    """Submissions by what is wrong with them, and the reason that is given."""
    row = one_of(library)
    other = next(other for other in library.values() if other.record.closed and other.problem.kind != row.problem.kind)
    solution = row.solution.to_document()
    earlier = "1" * 64
    lines = row.certificate.splitlines()
    header = json.loads(lines[0])
    yield Submission(solution, None, "edrp/nowhere"), "is no row of the library"
    yield Submission(solution, None, None), "name the row"
    yield Submission({**solution, "instance": earlier}, None, row.name), "is an earlier version of the instance"
    yield Submission({**solution, "instance": "2" * 64}, None, row.name), "is of another instance than"
    yield Submission(other.solution.to_document(), None, row.name), f"must be {solution['kind']}"
    yield Submission({**solution, "objective": solution["objective"] + 1e-6}, None, row.name), "the decision is worth"
    yield Submission({**solution, "deployment": {}}, None, row.name), "misses|missing|has no"
    yield Submission({**solution, "bound": "low"}, None, row.name), "must be a number"
    yield Submission(None, other.certificate, row.name), "of another instance"
    yield Submission(None, "\n".join([json.dumps({**header, "bound": "1/7"}), *lines[1:]]), row.name), "certificate"
    yield Submission(None, json.dumps({**header, "claim": "infeasible"}), row.name), "claims infeasible"


def test_wrong_submissions_are_refused_with_their_reason(small):
    name = one_of(small).name
    library = changed(small, name, lambda fields: fields["instance"].update(earlier=["1" * 64], version=2))
    before = (library.folder / RECORDS).read_text()
    for submission, why in wrong_submissions(library):
        with pytest.raises(InvalidInstanceError, match=why):
            submit(library, submission)
    assert (library.folder / RECORDS).read_text() == before


def test_files_that_are_no_submission_are_named(tmp_path):
    (tmp_path / "a.json").write_text('{"kind": "edrp"}')
    (tmp_path / "b.json").write_text("[1, 2]")
    for name in ("a.json", "b.json"):
        with pytest.raises(InvalidInstanceError, match=f"{name}: must be one solution document"):
            read_submission([tmp_path / name])


def _submit_slowly(folder, submissions, start):
    start.wait()
    for submission in submissions:
        submit(Library(folder), submission)


def test_two_submissions_at_once_lose_nothing(small):
    rows = [row for row in small.values() if row.record.closed][:6]
    given = [Submission(row.solution.to_document(), row.certificate, row.name) for row in rows]
    library = small
    for row in rows:
        library = opened(library, row.name, decisions=True)
    context = multiprocessing.get_context("spawn")
    start = context.Barrier(2)
    both = [context.Process(target=_submit_slowly, args=(library.folder, part, start)) for part in (given[::2], given[1::2])]
    for process in both:
        process.start()
    for process in both:
        process.join()
    assert [process.exitcode for process in both] == [0, 0]
    assert all(Library(library.folder)[row.name].record.closed for row in rows)


def test_a_library_that_cannot_be_written_or_is_half_there_is_named(small, tmp_path):
    row = one_of(small)
    (small.folder / row.record.best.file.path).unlink()
    assert "there is no such file" in small.verify([row.name])[0].fault
    (small.folder / "edrp" / ".rest.partial").write_text("half")
    assert small.strangers() == ["edrp/.rest.partial"]
    (small.folder / RECORDS).write_text('{"kind": "edrp-library", "rows": {"edrp/a": {"instance": {"version": 0}}}}')
    with pytest.raises(InvalidInstanceError, match=r"instance\.version: must be at least 1"):
        len(Library(small.folder))
    with pytest.raises(InvalidInstanceError, match="there is no such file"):
        len(Library(tmp_path / "nowhere"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_library_refuses_submissions(small):
    row = one_of(small)
    small.folder.chmod(0o500)
    try:
        with pytest.raises(UnwritableError, match="no permission"):
            submit(small, Submission(row.solution.to_document(), None, row.name))
    finally:
        small.folder.chmod(0o700)


def test_files_out_of_the_folder_and_bombs_are_refused(small, monkeypatch):
    row = one_of(small)
    library = changed(small, row.name, lambda fields: fields["instance"]["file"].update(path="../secret.gz"))
    assert "leads out of the library" in library.verify([row.name])[0].fault
    monkeypatch.setattr("edrp.certified.checks.MAX_TEXT", 1000)
    data = gzip.compress(b" " * 10_000)
    (small.folder / "edrp" / "bomb.gz").write_bytes(data)
    bomb = {"path": "edrp/bomb.gz", "sha256": hashlib.sha256(data).hexdigest()}
    library = changed(small, row.name, lambda fields: fields["instance"].update(file=bomb))
    assert "more than 1000 bytes" in library.verify([row.name])[0].fault


def test_the_command_line_lists_shows_and_verifies(small, run):
    row = one_of(small)
    where = ("--folder", str(small.folder))
    assert row.name in run("library", "list", row.problem.kind, *where).ended(0).out
    assert json.loads(run("library", "show", row.name, *where).ended(0).out)["instance"]["hash"] == row.record.instance.hash
    assert "1 row of 1 hold, 1 with a certificate" in run("library", "verify", row.name, *where).ended(0).out
    assert "full proof" in run("library", "table", *where).ended(0).out
    library = changed(small, row.name, lambda fields: fields["instance"].update(hash="0" * 64))
    assert "the instance has the hash" in run("library", "verify", row.name, "--folder", str(library.folder)).ended(2).out
