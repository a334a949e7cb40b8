"""Certificates of programs: written by branch and bound, checked by a folder that needs nothing of the package."""

import ast
import json
import re
import shutil
import subprocess
import sys
import zipapp
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from contention import random_contention

import edrp
from edrp.certificates import checker
from edrp.certificates.programs import write_program_certificate
from edrp.core.budget import running
from edrp.core.certificates import CertificateRequest, with_certificate
from edrp.core.kinds import get_kind
from edrp.errors import VerificationError


def instance(kind, family, size, seed=0):
    found = {f.name: f for f in get_kind(kind).families if f.kind == kind}[family]
    return found.make(size, np.random.default_rng(seed))


def check(problem, solution, certificate):
    document = json.loads(json.dumps(solution.to_document()))
    return checker.check(checker.parse(problem.model_dump_json()), checker.parse(json.dumps(document)), certificate.splitlines())


BUILT = [
    ("link-allocation", "mesh", 6, 5),
    ("link-allocation", "platform", 4, 0),
    ("migration", "zipf", 12, 3),
    ("edrp", "series-parallel-barabasi", 4, 3),
    ("edrp", "fat-geometric", 4, 4),
]


@pytest.mark.parametrize(("kind", "family", "size", "seed"), BUILT)
def test_an_optimum_is_certified_for_the_problem_itself(kind, family, size, seed):
    problem = instance(kind, family, size, seed)
    solution = edrp.solve(problem, "highs", certify=True)
    assert (solution.status, solution.proof) == ("optimal", "checked certificate")
    assert ": no decision is below " in check(problem, solution, solution.certificate)


@pytest.mark.parametrize("seed", range(5))
def test_the_checker_evaluates_deployments_as_the_package_does(seed):
    problem = instance("edrp", "replicated-geometric", 5, seed)
    solution = edrp.solve(problem, "random", seed=seed)
    assert solution.status == "feasible"
    document = checker.parse(json.dumps(solution.to_document()))
    value = checker.evaluate_deployment(checker.parse(problem.model_dump_json()), document["deployment"])
    assert float(value) == pytest.approx(solution.objective, rel=1e-12)


@pytest.mark.parametrize("seed", [*range(4), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(4, 24))])
def test_peak_loads_are_those_of_the_package_in_values_and_in_proofs(seed):
    drawn = random_contention(seed, operators=(2, 2), nodes=(2, 2))
    single = next(name for name in drawn.metrics if name.startswith("peak_loads.")).partition(".")[2]
    weights = {"cost": 0.3, "peak_load": 0.4, "peak_loads": {single: 0.3}}
    problem = drawn.replace(weights=weights, limits={"cost": 60, "peak_load": 3})
    best = edrp.solve(problem, "highs", certify=True)
    assert (best.status, best.proof) == ("optimal", "checked certificate")
    for solution in (best, edrp.solve(problem, "random", seed=seed)):
        document = checker.parse(json.dumps(solution.to_document()))
        value = checker.evaluate_deployment(checker.parse(problem.model_dump_json()), document["deployment"])
        assert float(value) == pytest.approx(solution.objective, rel=1e-12)
    least = edrp.solve(drawn.replace(weights={"peak_load": 1.0}), "highs")
    below = drawn.replace(limits={**drawn.limits.model_dump(exclude_none=True), "peak_load": 0.999 * least.objective})
    assert edrp.solve(below, "highs", certify=True).proof == "checked certificate"


@pytest.mark.parametrize(
    ("kind", "family"), [("latency-aware", "continuum-cyclic"), ("enactment", "containers-diamond"), ("leasing", "containers")]
)
def test_other_kinds_are_certified_for_the_program_that_the_certificate_states(kind, family):
    problem = instance(kind, family, 4)
    solution = edrp.solve(problem, "highs", certify=True)
    assert (solution.status, solution.proof) == ("optimal", "checked certificate")
    assert solution.notes[-1].startswith("the certificate proves a program that it states")
    said = check(problem, solution, solution.certificate)
    assert isinstance(said, checker.Stated)
    assert said.startswith("if it is that of the instance, the answer is optimal")
    assert said.endswith(checker.UNCHECKED) == (kind not in ("enactment", "leasing"))


def stated_instead(solution, problem):
    """A certificate that brings a program of one row which no point keeps to, whatever the problem is."""
    lines = [[1, 1, "0"], [0, 0, 1, 0], [2, None, 0, 1], ["F", [0, 1]]]
    header = {"format": "program", "version": 1, "instance": [checker.instance_hash(problem)], "claim": "infeasible"}
    header["program"] = checker.stated_program(iter(lines))[1]
    return [json.dumps(line) for line in (header, *lines)]


@pytest.mark.parametrize("name", ["word_count", "migration", "link_allocation", "enactment", "edge_to_cloud"])
def test_a_program_that_is_stated_proves_nothing_where_the_checker_builds_it(name, examples, tmp_path):
    problem = checker.parse((examples / f"{name}.json").read_text())
    solution = {"kind": f"{problem['kind']}-solution", "status": "infeasible"}
    certificate = stated_instead(solution, problem)
    (tmp_path / "certificate").write_text("\n".join(certificate))
    (tmp_path / "solution.json").write_text(json.dumps(solution))
    words = [sys.executable, "-I", "-S", FOLDER, examples / f"{name}.json", "solution.json", "certificate"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300)
    if problem["kind"] in checker.PROGRAMS:
        said = "not proven: the checker builds the program of this instance by itself, and takes none that is stated\n"
        assert (done.returncode, done.stdout) == (2, said)
    else:
        assert done.returncode == 4
        assert done.stdout.startswith("proven about a stated program only: if it is that of the instance, the ")


def test_where_the_program_is_too_large_to_be_built_no_other_is_certified(monkeypatch):
    monkeypatch.setattr("edrp.certificates.programs.MAX_BUILT_COLUMNS", 3)
    solution = edrp.solve(instance("link-allocation", "mesh", 4), "highs", certify=True)
    assert (solution.status, solution.proof, solution.certificate) == ("optimal", "solver's word", None)
    assert re.fullmatch(r"not certified: the program of the problem has \d+ columns, more than 3", solution.notes[-1])


@pytest.mark.parametrize("method", ["auto", "equal-nodes"])
def test_the_checker_is_given_no_more_time_than_there_is(method):
    """Its program of this cluster has millions of columns, and counting them would take minutes."""
    problem = instance("edrp", "layered-cluster-2-zones", 4, 1)
    solution = edrp.solve(problem, method)
    with running() as run:
        certified = with_certificate(problem, solution, CertificateRequest(), 0.05)
    assert certified.certificate is None
    assert "the limit passed during the preparation of" in certified.notes[-1]
    assert run.work < 0.5


def test_why_a_kind_without_programs_has_no_vipr_file(examples):
    problem = edrp.load(examples / "migration_policy.json")
    certified = with_certificate(problem, edrp.solve(problem), CertificateRequest(program=True))
    assert certified.notes[-1].startswith("not certified: VIPR states programs, and kind migration-policy has none")


def test_without_asking_the_word_of_the_solver_is_what_there_is():
    solution = edrp.solve(instance("link-allocation", "mesh", 4), "highs")
    assert (solution.proof, solution.certificate) == ("solver's word", None)


def test_a_worse_decision_that_is_called_optimal_is_refused():
    problem = instance("link-allocation", "mesh", 6, 5)
    solution = edrp.solve(problem, "highs", certify=True)
    current = problem.evaluate(problem.current)
    assert current.feasible
    assert current.objective > solution.objective + 0.1
    worse = {**json.loads(json.dumps(solution.to_document())), "objective": current.objective}
    worse["allocations"] = [allocation.model_dump(mode="json") for allocation in problem.current]
    header, *tree = solution.certificate.splitlines()
    claimed = json.dumps({**json.loads(header), "bound": str(Fraction(current.objective))})
    with pytest.raises(checker.Refused, match="leaf 1 does not reach the bound"):
        checker.check(checker.parse(problem.model_dump_json()), checker.parse(json.dumps(worse)), [claimed, *tree])


def test_an_infeasible_problem_is_certified():
    problem = edrp.loads(
        """{"kind": "link-allocation", "max_links": 1, "flows": [
            {"name": "f", "source": "a", "target": "c", "rate": 2, "price": 1, "route": ["a", "b", "c"]}],
            "network": {"nodes": [{"name": "a", "capacity": 0}, {"name": "b", "capacity": 0}, {"name": "c", "capacity": 0}],
            "links": [{"source": "a", "target": "b", "bandwidth": 3}, {"source": "b", "target": "c", "bandwidth": 3}]}}"""
    )
    solution = edrp.solve(problem, "highs", certify=True)
    assert (solution.status, solution.proof) == ("infeasible", "checked certificate")
    assert check(problem, solution, solution.certificate).startswith("the problem is infeasible: no decision is feasible")


@pytest.mark.parametrize("name", ["reconfigure", "edge_to_cloud", "migration", "leasing", "enactment", "mapping"])
def test_a_certificate_fits_the_file_as_written_and_with_all_defaults(name, examples):
    text = (examples / f"{name}.json").read_text()
    problem = edrp.loads(text)
    solution = edrp.solve(problem, certify=True)
    answer = checker.parse(json.dumps(solution.to_document()))
    for document in (text, problem.model_dump_json()):
        assert checker.check(checker.parse(document), answer, solution.certificate.splitlines())
    other = {**checker.parse(text), "more": 1}
    with pytest.raises(checker.Refused, match="of another instance"):
        checker.check(other, answer, solution.certificate.splitlines())


FOLDER = Path(checker.__file__).parent


@pytest.mark.parametrize("form", ["folder", "main", "zip"])
def test_the_checker_is_a_program_of_its_own(tmp_path, form):
    """A copy of its folder, started by the folder's path or that of `__main__.py`, and one zip; without site packages."""
    problem = instance("migration", "zipf", 12, 3)
    solution = edrp.solve(problem, "highs", certify=True)
    edrp.save(problem, tmp_path / "instance.json")
    solution.save(tmp_path / "solution.json")
    (tmp_path / "certificate").write_text(solution.certificate)
    program = tmp_path / "anywhere"
    shutil.copytree(FOLDER, program, ignore=shutil.ignore_patterns("__pycache__"))
    if form == "zip":
        zipapp.create_archive(program, tmp_path / "checker.pyz")
        shutil.rmtree(program)
        program = tmp_path / "checker.pyz"
    words = [sys.executable, "-I", "-S", program / "__main__.py" if form == "main" else program]
    words += ["instance.json", "solution.json", "certificate"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stdout.startswith("proven: the answer is optimal")) == (0, True), done.stdout + done.stderr
    (tmp_path / "certificate").write_text(solution.certificate.splitlines()[0] + "\n")
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stdout) == (2, "not proven: the tree ends before all of it is closed\n")
    done = subprocess.run(words[:-1], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stdout) == (2, "usage: python checker INSTANCE SOLUTION CERTIFICATE\n")


def test_the_checker_imports_the_standard_library_and_itself_only():
    for path in FOLDER.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [str(node.module)] if isinstance(node, ast.ImportFrom) and not node.level else []
            assert not isinstance(node, ast.ImportFrom) or node.level <= 1, path
            assert {name.partition(".")[0] for name in names} <= sys.stdlib_module_names, path


def test_a_batch_stores_certificates_with_its_rows():
    problem = instance("link-allocation", "mesh", 4)
    rows = edrp.solve_batch({"a": problem}, ["highs", "greedy-reallocation"], certify=True, n_jobs=1).to_pylist()
    certified, claimed_nothing = (next(row for row in rows if row["method"] == name) for name in ("highs", "greedy-reallocation"))
    assert (certified["proof"], claimed_nothing["certificate"]) == ("checked certificate", None)
    solution = checker.parse(certified["solution"])
    document = checker.parse(problem.model_dump_json())
    assert "no decision is below" in checker.check(document, solution, certified["certificate"].splitlines())


@pytest.mark.parametrize("claim", ["optimal", "infeasible"])
@pytest.mark.parametrize(("kind", "family"), [("leasing", "containers"), ("link-allocation", "mesh")])
def test_a_wrong_claim_is_loud_when_the_search_for_a_certificate_refutes_it(claim, kind, family):
    problem = instance(kind, family, 4)
    solution = edrp.solve(problem, "highs")
    false = {"optimal": {"objective": solution.objective + 1.0, "bound": solution.objective + 1.0}, "infeasible": {}}[claim]
    with pytest.raises(VerificationError, match="a decision of value"):
        write_program_certificate(problem, solution.model_copy(update={"status": claim, **false}))
