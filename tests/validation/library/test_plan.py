"""The plan makes the instances that the library has, and `make` and `solve` go on where they stopped."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

import edrp
from edrp.certified.checks import packed, read_instance
from edrp.certified.library import Library
from edrp.certified.submissions import write_row
from edrp.core.errors import InvalidInstanceError
from edrp.validation.library.leaderboard import run_leaderboard
from edrp.validation.library.making import make_library
from edrp.validation.library.plan import planned_rows
from edrp.validation.library.solving import solve_library

QUICK = (
    "migration/uniform",
    "migration/zipf",
    "migration-policy/zipf",
    "mapping/grid",
    "rescale/zipf",
    "edrp/fat-geometric",
)


@pytest.fixture(autouse=True)
def at_the_root(monkeypatch):
    """The figures of CAPSys are files of a checkout."""
    monkeypatch.chdir(Path(__file__).parents[3])


def other_instances(rows):
    """Ids of rows that the plan makes otherwise than the library has them."""
    return [row.name for row in rows if row.make() != edrp.library[row.name].problem]


def test_generators_make_the_instances_again():
    rows = [row for row in planned_rows() if row.name in edrp.library and row.name.startswith(QUICK)]
    assert len(rows) > 12
    assert other_instances(rows) == []


@pytest.mark.slow
def test_all_generators_make_the_instances_again():
    assert other_instances(row for row in planned_rows() if row.name in edrp.library) == []


def test_every_row_has_an_origin_and_a_licence():
    planned = {row.name for row in planned_rows()}
    kept = [name for name in edrp.library if name not in planned]
    assert [edrp.library[name].record.instance.generator for name in kept] == [""] * len(kept)
    assert len(planned) == len(list(planned_rows()))
    assert {row.record.instance.licence.split(" (")[0] for row in edrp.library.values()} == {"Apache-2.0", "figures as published"}


@pytest.mark.slow
def test_rows_are_made_then_solved_and_nothing_is_done_twice(tmp_path):
    rows = [row for row in planned_rows() if row.name.startswith(("migration/uniform-64", "mapping/grid-6"))]
    made = []
    make_library(tmp_path / "library", rows, made.append)
    make_library(tmp_path / "library", rows, made.append)
    assert sorted(made) == sorted(row.name for row in rows)
    library = Library(tmp_path / "library")
    receipts = list(solve_library(library, 2.0, tmp_path / "out"))
    assert {receipt.row for receipt in receipts} == set(made)
    assert all(row.record.status == "full proof" for row in library.values())
    assert list(solve_library(library, 2.0, tmp_path / "out")) == []
    assert [judgement.fault for judgement in library.verify()] == [""] * len(made)
    page = run_leaderboard(library, tmp_path / "board", (0.5,), kinds=["migration"], n_jobs=1).read_text()
    assert "| `ssm` | 100 / 100 / 100 |" in page
    assert f"| auto: ssm | {len(library.select('migration'))} |" in page


def test_a_document_without_defaults_states_the_same_instance(tmp_path):
    row = next(row for row in planned_rows() if row.name.startswith("migration/uniform-64"))
    records = make_library(tmp_path, [row], lambda name: None)
    short = json.dumps({"kind": "migration", **row.make().model_dump(mode="json", exclude_defaults=True)})
    stored, data = packed(f"{row.name}.json.gz", short)
    instance = records.rows[row.name].instance.replace(file=stored, hash=read_instance(short).hash)
    records = write_row(tmp_path, records, row.name, records.rows[row.name].replace(instance=instance), {stored.path: data})
    assert instance.hash != read_instance(row.make().model_dump_json()).hash
    assert make_library(tmp_path, [row], lambda name: None) == records


def test_an_instance_that_is_made_otherwise_is_refused_or_a_new_version(tmp_path):
    first, second = [row for row in planned_rows() if row.name.startswith("migration/uniform-64")][:2]
    make_library(tmp_path, [first], lambda name: None)
    other = replace(second, name=first.name)
    with pytest.raises(InvalidInstanceError, match="is made otherwise today"):
        make_library(tmp_path, [other], lambda name: None)
    before = Library(tmp_path)[first.name].record.instance.hash
    make_library(tmp_path, [other], lambda name: None, renew=True)
    record = Library(tmp_path)[first.name].record.instance
    assert (record.version, record.earlier) == (2, (before,))
