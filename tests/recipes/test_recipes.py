"""Each "How to add …" of CONTRIBUTING is done to a copy of the checkout, and held against the contract.

A recipe is a file that is added, the lines that enter it where CONTRIBUTING says, and what is then run. Packages of their own
take the same files by entry points (`tests/edrp/test_template.py`, `tests/edrp/test_plugins.py`).
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
TEMPLATE = "examples/template/src/edrp_template"
PYTEST = ("pytest", "-q", "-x", "-p", "no:cacheprovider", "-m", "not slow")
CONTRACT = "tests/edrp/test_methods_contract.py"
METHODS_TABLE = "tests/edrp/test_docs.py::test_method_table_lists_every_method"

pytestmark = pytest.mark.slow


class Recipe(NamedTuple):
    """What CONTRIBUTING asks for: files to add, by their place, and lines, each after one that is there; then commands to run."""

    files: dict[str, str]
    lines: list[tuple[str, str, str]]
    commands: list[tuple[str, ...]]


def method(file: str, module: str, name: str, summary: str, how: str = "searches") -> Recipe:
    """A method: a file, its name in the list of modules, a row in the table of methods."""
    return Recipe(
        {file: module.replace(".", "/") + ".py"},
        [
            ("edrp/method_modules.py", "METHOD_MODULES = {", f'    "edrp.{module}": ("{name}",),'),
            ("docs/reference/methods.md", "|---|---|---|", f"| `{name}` | {how} | {summary} |"),
        ],
        [(*PYTEST, CONTRACT, METHODS_TABLE, "-k", f"{name} or method_table")],
    )


RULE_FACES = "tests/edrp/test_rules_contract.py"
FACES = '    "at_most": st.fixed_dictionaries({"operators": some, "most": st.integers(0, 3)}),'
BROKERS = """    _kind(
        "brokers",
        problem="edrp.brokers.documents:BrokerProblem",
        formulations={"assignment": "edrp.brokers.program:formulate"},
        choose=FirstOf(("highs",)),
        display="edrp.brokers.kind:display",
        explain="edrp.brokers.kind:explain",
        explain_infeasibility="edrp.brokers.kind:explain_infeasibility",
        families="edrp.brokers.kind:FAMILIES",
        check_problems="edrp.brokers.check_problems:BrokerCheckProblems",
    ),"""
BROKERS_LACK = """LACKING["view"].add("brokers")
for part in ("explain", "explain_infeasibility"):
    LACKING[part].discard("brokers")"""
PARTS_OF_BROKERS = ("documents", "program", "check_problems", "kind", "broker_method")
CHECKED = """    "at_most": lambda problem, rule: [
        [([Amount(1, rule["operators"], [node["name"] for node in problem["network"]["nodes"]])], rule["most"])]
    ],"""
READ = '    "rules.at_most": f"rule:=at_most! {_RULE} operators:text*! most:#0..1000000!",'
SOLVE_BROKERS = """
import edrp
problem = edrp.load("examples/template/brokers.json")
assert len({edrp.solve(problem, method).objective for method in ("auto", "highs", "scipy", "scip")}) == 1
"""
SOLVE_RULED = """
import edrp
from edrp.check_problems.placement.enumeration import feasible_deployments
from edrp.core.kinds import get_kind
from edrp.testing import check_rule
statuses = set()
for problem in list(get_kind("edrp").check_problems().feasible().values())[:6]:
    operators = list(problem.application.by_name)
    rule = {"rule": "at_most", "name": "few", "operators": operators, "most": len(operators)}
    check_rule(rule, problem)
    ruled = problem.replace(rules=[rule])
    best = min((found.evaluation.objective for found in feasible_deployments(ruled)), default=None)
    proving = {"auto", "highs", "eliminate", "equal-nodes"}
    for name in [name for name in proving if edrp.methods()[name].refusal(ruled) is None]:
        solution = edrp.solve(ruled, name)
        assert solution.status == ("infeasible" if best is None else "optimal"), solution
        assert best is None or abs(solution.objective - best) <= 1e-9
    statuses.add(solution.status)
assert "optimal" in statuses
"""
METRIC_FACES = (
    "tests/formulations/placement/test_formulations.py",
    "tests/heuristics/placement/test_deployment_engine.py",
    "tests/edrp/certificates/test_instances_read.py",
)
SOLVE_MEASURED = """
import json
from collections import Counter
import edrp
from edrp.certificates import checker
from edrp.check_problems.placement.enumeration import feasible_deployments
from edrp.core.errors import UnsupportedProblemError
from edrp.datasets.families.placement.random_edrp import random_problem
from edrp.placement.metrics.busy_nodes import BusyNodes
from edrp.testing import check_metric
check_metric(BusyNodes)
answers = Counter()
for seed in (0, 1, 3, 4):
    free = random_problem(seed, operators=(2, 3), nodes=(2, 4), combinations_limit=1000)
    kept = {name: weight / 2 for name, weight in free.weights if name not in ("peak_loads", "busy_nodes") and weight}
    weighted = free.replace(weights={**kept, "busy_nodes": 0.5})
    for problem in (weighted, *(weighted.replace(limits=free.limits.replace(busy_nodes=limit)) for limit in (0.3, 0.6))):
        best = min((found.evaluation.objective for found in feasible_deployments(problem)), default=None)
        for name in edrp.methods("edrp"):
            try:
                solution = edrp.solve(problem, name, work_limit=0.1)
            except UnsupportedProblemError:
                answers[name, "refused"] += 1
                continue
            answers[name, solution.status] += 1
            near = 1e-9 * max(1.0, best or 0.0)
            assert solution.status != "infeasible" or best is None, solution
            assert solution.status != "optimal" or abs(solution.objective - best) <= near, (name, best, solution)
            assert solution.objective is None or solution.objective >= best - near, (name, best, solution)
            assert solution.bound is None or best is None or solution.bound <= best + near, (name, best, solution)
    first = edrp.solve(weighted.replace(priorities=[{"metric": "busy_nodes"}, {"metric": "cost"}]), "highs")
    listed = feasible_deployments(weighted)
    assert first.metrics.get("busy_nodes") == min((found.evaluation.metrics["busy_nodes"] for found in listed), default=None)
others = edrp.load("examples/word_count.json")
for problem, judged in ((others, str), (others.replace(weights={"busy_nodes": 1.0}), checker.Stated)):
    solution = edrp.solve(problem, certify=True)
    texts = checker.parse(problem.model_dump_json()), checker.parse(json.dumps(solution.to_document()))
    assert type(checker.check(*texts, solution.certificate.splitlines())) is judged
for name in ("highs", "auto", "eliminate"):
    assert answers[name, "optimal"] and answers[name, "infeasible"], answers
for name in ("annealing", "iterated-local-search", "greedy"):
    assert answers[name, "feasible"], answers
"""
SOLVE_CHAINS = """
import edrp
for _, problem in edrp.datasets.generate("edrp", 2, families=["chain"]):
    assert edrp.solve(problem).status == "optimal"
"""
CALL_KERNEL = """
from typing import NamedTuple
import numpy as np
from edrp import _native
class Busy(NamedTuple):
    replicas: np.ndarray
    least_replicas: int
nodes, on = _native.busy_nodes(Busy(np.array([[1, 0, 2], [0, 0, 1]]), 2))
assert (nodes, on.tolist()) == (1, [1, 0, 3])
try:
    _native.busy_nodes(Busy(np.zeros((1, 2)), 2))
except TypeError as error:
    assert "replicas: an array of int64" in str(error)
else:
    raise AssertionError
"""

RECIPES = {
    "method": method(
        "method.py",
        "heuristics.placement.random_candidates",
        "random-candidates",
        "the fewest replicas of every operator on random candidates",
    ),
    "search for placements": method(
        "search.py",
        "heuristics.placement.search.random_restarts",
        "random-restarts",
        "hill climbing, again from random placements while the limit lasts",
    ),
    "metric": Recipe(
        {"metric.py": "edrp/placement/metrics/busy_nodes.py"},
        [
            (
                "edrp/placement/metrics/__init__.py",
                "from edrp.placement.metrics.separation import",
                "from edrp.placement.metrics.busy_nodes import BusyNodes",
            ),
            ("edrp/placement/metrics/__init__.py", "    **NORMALISED,", '    "busy_nodes": OwnMetric(BusyNodes()),'),
        ],
        [
            ("docs/reference/field_tables.py",),
            (*PYTEST, *METRIC_FACES, "-k", "both_faces or kernels or schema"),
            ("-c", SOLVE_MEASURED),
        ],
    ),
    "type of rule": Recipe(
        {"rule.py": "edrp/placement/rules/at_most.py"},
        [
            (
                "edrp/placement/rules/__init__.py",
                "from pydantic import Field",
                "\nfrom edrp.placement.rules.at_most import AtMost",
            ),
            ("edrp/placement/rules/__init__.py", "PlacementRule = Annotated[", "    AtMost |"),
            (RULE_FACES, "RULES = {", FACES),
            ("edrp/certificates/checker/rules.py", "GROUPS = {", CHECKED),
            ("edrp/certificates/checker/fields.py", '    "rules.apart": ', READ),
        ],
        [
            ("docs/reference/field_tables.py",),
            (*PYTEST, RULE_FACES, "tests/edrp/certificates/test_instances_read.py", "-k", "at_most or schema"),
            ("-c", SOLVE_RULED),
        ],
    ),
    "kind of problem": Recipe(
        {f"{TEMPLATE}/{part}.py": f"edrp/brokers/{part}.py" for part in PARTS_OF_BROKERS},
        [
            ("edrp/kinds.py", "KINDS = (", BROKERS),
            ("edrp/brokers/kind.py", "", "FAMILIES = BROKERS.families"),
            ("edrp/brokers/broker_method.py", "", "METHODS = (HEAVIEST_FIRST,)"),
            ("edrp/method_modules.py", "METHOD_MODULES = {", '    "edrp.brokers.broker_method": ("heaviest-first",),'),
            ("tests/edrp/core/test_kinds.py", "PARTS = [", BROKERS_LACK),
        ],
        [(*PYTEST, "tests/edrp/core/test_kinds.py", CONTRACT, "-k", "brokers or heaviest-first"), ("-c", SOLVE_BROKERS)],
    ),
    "backend": Recipe(
        {f"{TEMPLATE}/backend.py": "edrp/backends/branch_and_bound.py"},
        [
            (
                "edrp/backends/names.py",
                "OWN_BACKENDS: Final = {",
                '    "branch-and-bound": "edrp.backends.branch_and_bound:BranchAndBound",',
            ),
            (
                "docs/reference/methods.md",
                "|---|---|---|",
                "| `branch-and-bound` | proves | mixed-integer program solved by branch and bound on SciPy's linear programs |",
            ),
        ],
        [(*PYTEST, "tests/edrp/backends/test_backends.py", METHODS_TABLE, "-k", "keep_the_contract or method_table")],
    ),
    "policy of enactment": Recipe(
        {"policy.py": "heuristics/enactment/eager.py"},
        [
            (
                "heuristics/enactment/__init__.py",
                "from edrp.enactment import Policy",
                "from edrp.heuristics.enactment.eager import EagerParameters, EagerPolicy",
            ),
            ("heuristics/enactment/__init__.py", "POLICIES: dict", '    "eager": (EagerPolicy, EagerParameters),'),
            ("edrp/method_modules.py", '    "edrp.validation.simulation.enactment.simulator": (', '        "eager-policy",'),
        ],
        [(*PYTEST, CONTRACT, "tests/heuristics/enactment/test_policies.py", "-k", "eager")],
    ),
    "kernel": Recipe(
        {"kernel.cpp": "edrp/native/placement/busy_nodes.cpp"}, [], [("edrp/native/building.py",), ("-c", CALL_KERNEL)]
    ),
    "family of instances": Recipe(
        {"family.py": "datasets/families/placement/chains.py"},
        [
            (
                "datasets/families/placement/edrp.py",
                "from edrp.datasets.families.placement.clusters import CLUSTER_FAMILIES",
                "from edrp.datasets.families.placement.chains import FAMILIES as CHAINS",
            ),
            ("datasets/families/placement/edrp.py", "FAMILIES = (*_families(), *CLUSTER_FAMILIES)", "FAMILIES += CHAINS"),
        ],
        [("-c", SOLVE_CHAINS)],
    ),
}
"""By what CONTRIBUTING calls them."""

ELSEWHERE = {
    "program": "the kind of problem has one",
    "page": "tests/edrp/test_docs.py",
    "paper": "the tests of its folder",
    "benchmark": "make test-slow",
    "row of the library": "tests/validation/library",
}
"""Those that other tests run."""


def test_every_recipe_of_contributing_is_run():
    told = re.findall(r"^\*\*An? (.*?)\.\*\*", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(told) == {*RECIPES, *ELSEWHERE}


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A copy of the checkout, as it is now, with its kernels."""
    place = tmp_path_factory.mktemp("recipes") / "checkout"
    command = ["git", "ls-files", "-co", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    for source in [*(ROOT / name for name in listed), *ROOT.glob("edrp/_native*.so")]:
        if not (source.is_file() or source.is_symlink()):  # links to rooms are copied as links
            continue
        copy = place / source.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, copy, follow_symlinks=False)
    return place


@pytest.mark.parametrize("name", RECIPES)
def test_recipes_are_true(name, checkout, tmp_path):
    recipe, copy = RECIPES[name], tmp_path / "copy"
    shutil.copytree(checkout, copy, symlinks=True)
    for source, target in recipe.files.items():
        text = ((ROOT if "/" in source else HERE) / source).read_text(encoding="utf-8")
        (copy / target).parent.mkdir(exist_ok=True)
        (copy / target).write_text(text.replace("edrp_template", "edrp.brokers"), encoding="utf-8")
    for file, before, line in recipe.lines:
        enter(copy / file, before, line)
    environment = {**os.environ, "PYTHONPATH": str(copy)}
    for command in recipe.commands:
        words = [sys.executable, *(["-m"] if command[0] == "pytest" else []), *command]
        done = subprocess.run(words, cwd=copy, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def enter(file: Path, before: str, line: str) -> None:
    """Add a line after the first one that begins with another, at the end where none is named."""
    lines = file.read_text(encoding="utf-8").splitlines()
    at = next(number for number, text in enumerate(lines, 1) if text.startswith(before)) if before else len(lines)
    file.write_text("\n".join([*lines[:at], line, *lines[at:]]) + "\n", encoding="utf-8")
