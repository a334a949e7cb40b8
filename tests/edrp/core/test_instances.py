"""Instance files: nothing is lost, nothing half-written is seen, large files work."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import edrp
from edrp.core.errors import InvalidInstanceError, UnwritableError
from edrp.core.files import write_whole
from edrp.core.instances import load, load_solution, loads, save, schema
from edrp.core.kinds import document_kinds
from edrp.core.problem import Problem

names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
amounts = st.just(0.0) | st.floats(1e-6, 1e12)  # in the ranges of all units


@settings(deadline=None, max_examples=60)
@given(name=names, node=names, rate=amounts, state=amounts, speedup=st.floats(1e-9, 1e15))
def test_any_name_and_any_number_in_range_survives_the_file(tmp_path_factory, name, node, rate, state, speedup):
    problem = edrp.EdrpProblem(
        application={"operators": [{"name": name, "external_rate": rate, "state_size": state, "candidates": [node]}]},
        network={"nodes": [{"name": node, "speedup": speedup}]},
        weights={"cost": 1.0},
        limits={"cost": 1.0},
        current={name: [node]},
    )
    path = tmp_path_factory.mktemp("round") / "problem.json"
    save(problem, path)
    assert load(path) == problem


def test_fields_left_out_get_the_same_values_as_in_python():
    text = '{"kind": "edrp", "application": {"operators": [{"name": "a"}]}, "network": {"nodes": [{"name": "n"}]}, "limits": %s}'
    problem = loads(text % '{"response_time": 1, "cost": 2}')
    application, network = {"operators": [{"name": "a"}]}, {"nodes": [{"name": "n"}]}
    assert problem == edrp.EdrpProblem(application=application, network=network, limits={"response_time": 1, "cost": 2})
    assert problem.weights == edrp.Weights(response_time=0.5, cost=0.5)
    assert problem.current is None


def test_a_byte_order_mark_is_no_fault(tmp_path, word_count):
    path = tmp_path / "marked.json"
    path.write_bytes(b"\xef\xbb\xbf" + word_count.model_dump_json().encode())
    assert load(path) == word_count


def test_an_instance_is_not_taken_for_a_solution(tmp_path, word_count):
    path = tmp_path / "instance.json"
    save(word_count, path)
    with pytest.raises(InvalidInstanceError, match="is an instance; give the solution"):
        load_solution(path)


def test_the_kind_of_a_file_can_be_asked_for(tmp_path, word_count):
    path = tmp_path / "instance.json"
    save(word_count, path)
    for kind in (edrp.EdrpProblem, Problem, "edrp", None):
        assert load(path, kind) == loads(path.read_text(), kind=kind) == word_count
    with pytest.raises(InvalidInstanceError, match=r'another kind of problem; must be "migration" \(got "edrp"\)'):
        load(path, edrp.MigrationProblem)
    with pytest.raises(TypeError, match="is the class Application; give a class of problems"):
        load(path, edrp.Application)
    with pytest.raises(TypeError, match=r"no kind is called 'migrtion'.*did you mean 'migration'"):
        loads("{}", kind="migrtion")


@pytest.mark.parametrize("what", ["problem", "solution"])
def test_a_file_is_replaced_by_force_only(tmp_path, word_count, what):
    path = tmp_path / "mine.json"
    path.write_text("my notes")
    solution = edrp.solve(word_count, "greedy")
    document, read = (word_count, load) if what == "problem" else (solution, load_solution)
    with pytest.raises(UnwritableError, match="exists already and holds something else; choose another name, or replace it"):
        save(document, path)
    assert path.read_text() == "my notes"
    save(document, path, force=True)
    save(document, path)  # the same once more, as when a cell is run again
    assert read(path) == document
    with pytest.raises(UnwritableError, match="is a folder; name a file"):
        save(document, tmp_path, force=True)


def test_a_file_is_written_whole_even_when_the_process_is_interrupted(tmp_path, monkeypatch):
    def interrupted(self: Path, target: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_whole(tmp_path / "new.json", "text")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", document_kinds())
def test_every_number_of_every_document_has_a_unit(kind):
    document = schema(kind)
    described = [document, *document.get("$defs", {}).values()]
    without = [
        f"{part.get('title')}.{name}"
        for part in described
        for name, field in part.get("properties", {}).items()
        if _numeric(field) and "unit" not in field
    ]
    assert without == []


def _numeric(field: dict) -> bool:
    below = [
        *field.get("anyOf", []),
        *[field[key] for key in ("items", "additionalProperties") if isinstance(field.get(key), dict)],
    ]
    return field.get("type") in ("number", "integer") or any(_numeric(path) for path in below)


def test_schema_describes_and_refuses_what_the_reader_does():
    problem = schema("edrp")
    assert problem["additionalProperties"] is False
    assert set(problem["required"]) == {"kind", "application", "network"}
    assert problem["$defs"]["Operator"]["description"].startswith("One processing element")
    assert "Examples" not in json.dumps(problem)


def _large(nodes: int) -> str:
    links = ",".join(
        f'{{"source":"node-{i}","target":"node-{j}","delay":{0.01 + i * 1e-6:.9f},"bandwidth":125000000.0,"cost":0.0001}}'
        for i in range(nodes)
        for j in range(i)
    )
    names = ",".join(f'{{"name":"node-{i}","resources":4}}' for i in range(nodes))
    return (
        '{"kind":"edrp","application":{"operators":[{"name":"a","external_rate":5},{"name":"b"}],"streams":[{"source":"a","target":"b"}]},'
        f'"network":{{"nodes":[{names}],"links":[{links}]}},"weights":{{"response_time":1}},"limits":{{"response_time":1}}}}'
    )


@pytest.mark.slow
def test_a_file_of_a_hundred_megabytes_loads_within_four_gigabytes(tmp_path):
    import resource

    path = tmp_path / "huge.json"
    path.write_text(_large(1450))
    assert path.stat().st_size > 100e6
    problem = load(path)
    assert len(problem.network.links) == 1450 * 1449 / 2
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 4e6  # kilobytes
