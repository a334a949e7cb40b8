"""Trees of certificates as VIPR, read by a judge that shares nothing with their writer."""

import json
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

import edrp
from edrp.backends.proof_tree import ProofTree
from edrp.certificates import checker
from edrp.certificates.programs import program_lines
from edrp.certificates.vipr import to_vipr
from edrp.core.certificates import CertificateRequest, with_certificate
from edrp.core.program import Arrays
from edrp.datasets.families.registry import all_families
from edrp.validation.oracles.vipr_judge import Vipr


def test_the_judge_accepts_an_allocation_of_links(link_case):
    solution = edrp.solve(link_case, "highs", certify=True)
    judged = Vipr(to_vipr(solution.certificate, checker.parse(link_case.model_dump_json())))
    assert judged.goal == Fraction(solution.objective) - checker.TOLERANCE - link_case_constant(link_case)


@pytest.mark.parametrize(
    "family",
    [
        "sequential-zones",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("continuum", "fat-geometric", "replicated-barabasi")),
    ],
)
def test_the_judge_accepts_latencies_that_have_no_upper_bound(family):
    """Rounded multipliers leave reduced costs just below 0 on times without an upper bound; rows take them over."""
    problem = all_families()["latency-aware"][family].make(4, np.random.default_rng(5))
    solution = with_certificate(problem, edrp.solve(problem, "highs"), CertificateRequest(program=True))
    Vipr(to_vipr(solution.certificate, checker.parse(problem.model_dump_json())))


def link_case_constant(problem):
    return checker.link_allocation_program(checker.parse(problem.model_dump_json())).constant


@pytest.fixture
def link_case():
    return edrp.LinkAllocationProblem(
        network={
            "nodes": [{"name": name, "capacity": 0, "uplink": 3.0} for name in "abc"],
            "links": [{"source": "a", "target": "b", "bandwidth": 4.0}, {"source": "b", "target": "c", "bandwidth": 4.0}],
        },
        flows=[
            {"name": f"f{index}", "source": "a", "target": "c", "rate": 1.5 + index / 4, "price": 1.0 + index}
            for index in range(4)
        ],
    )


def packing(random: np.random.Generator) -> Arrays:
    """Items of random sizes into bins of one size, each into one: branching by columns and by groups."""
    items, bins = 7, 4
    size = random.integers(20, 60, items) / 100
    rows, columns, values = [], [], []
    for item in range(items):
        for bin_ in range(bins):
            rows += [item, items + bin_]
            columns += [item * bins + bin_] * 2
            values += [1.0, size[item]]
    matrix = sparse.csr_array((values, (rows, columns)), shape=(items + bins, items * bins))
    cost = random.integers(1, 20, items * bins).astype(float)
    low, high = np.r_[np.ones(items), np.full(bins, -np.inf)], np.r_[np.ones(items), np.ones(bins)]
    ones = np.ones(items * bins)
    return Arrays(cost, 0.0, 0 * ones, ones, ones.astype(bool), matrix, low, high)


@pytest.mark.parametrize("seed", range(6))
def test_trees_with_groups_and_empty_boxes(seed):
    arrays = packing(np.random.default_rng(seed))
    from scipy.optimize import Bounds, LinearConstraint, milp

    rows = LinearConstraint(arrays.matrix, arrays.row_lower, arrays.row_upper)
    best = milp(arrays.objective, integrality=arrays.integer, bounds=Bounds(0, 1), constraints=rows, options={"mip_rel_gap": 0})
    target = None if best.status == 2 else float(best.fun)
    tree = ProofTree(arrays, target).run()
    lines = [*program_lines(arrays), *tree]
    header = {"format": "program", "claim": "infeasible" if target is None else "optimal", "program": "stated"}
    text = "\n".join(map(json.dumps, [{**header, "bound": str(Fraction(target or 0))}, *lines]))
    parsed = iter([checker.parse(json.dumps(line)) for line in lines])
    program, _ = checker.stated_program(parsed)
    assert checker.check_tree(program, parsed, None if target is None else Fraction(target)).endswith(("leaf", "leaves"))
    Vipr(to_vipr(text, {}))
