"""A limit means what is written: the evaluator, programs, exact methods, searches and certificates draw one line."""

import json

import pytest

import edrp
from edrp.core.instances import loads
from edrp.core.limits import compared, exceeds
from edrp.core.methods import get_method, methods

GIB = 2**30


def placed(excess):
    """Three operators that need `excess` bytes more than the host of 16 GiB has; the other node is 0.05 s away."""
    needs = {"a": 6 * GIB, "b": 5 * GIB + excess, "c": 5 * GIB}
    operators = [{"name": name, "resources": need} for name, need in needs.items()]
    operators[0] |= {"external_rate": 10.0, "candidates": ["host"]}
    nodes = [{"name": "host", "resources": 16 * GIB}, {"name": "cloud", "resources": 160 * GIB}]
    return {
        "kind": "edrp",
        "application": {"operators": operators, "streams": [{"source": s, "target": t} for s, t in ("ab", "bc")]},
        "network": {"nodes": nodes, "links": [{"source": "host", "target": "cloud", "delay": 0.05}]},
        "weights": {"response_time": 1.0},
        "limits": {"response_time": 1.0},
    }


def linked(excess):
    """Three flows on one link of 16 GiB/s."""
    rates = {"f1": (6 * GIB, 3e-9), "f2": (5 * GIB + excess, 2e-9), "f3": (5 * GIB, 2e-9)}
    return {
        "kind": "link-allocation",
        "network": {
            "nodes": [{"name": name, "capacity": 0} for name in "ab"],
            "links": [{"source": "a", "target": "b", "bandwidth": 16 * GIB}],
        },
        "flows": [{"name": n, "source": "a", "target": "b", "rate": r, "price": p} for n, (r, p) in rates.items()],
        "forwarding_price": 1e-10,
    }


def mapped(excess):
    """Three components, of which the near server of 16 GiB may take all."""
    needs = {"x": 6 * GIB, "y": 5 * GIB + excess, "z": 5 * GIB}
    return {
        "kind": "mapping",
        "network": {
            "nodes": [{"name": n, "capacity": c} for n, c in (("s", 0), ("a", 16 * GIB), ("b", 64 * GIB))],
            "links": [{"source": s, "target": t, "bandwidth": 1e6, "cost": 1} for s, t in ("sa", "ab")],
        },
        "task": {
            "source": "s",
            "delivery": "a",
            "rate": 1000,
            "price": 1e-6,
            "components": [{"name": name, "capacity": need} for name, need in needs.items()],
        },
    }


def hosted(excess, **fields):
    """Three operators with an instance each, on leased hosts of 16 GiB."""
    shared = {"code_size": 0.0, "processing_duration": 1.0, "occupancy": 1.0}
    needs = {"o0": 6 * GIB, "o1": 5 * GIB + excess, "o2": 5 * GIB}
    operators = [{"name": name, "resources": {"memory": need}, **shared} for name, need in needs.items()]
    operators[0]["external_rate"] = 0.9
    return {
        "application": {"operators": operators, "streams": [{"source": s, "target": t} for s, t in (("o0", "o1"), ("o1", "o2"))]},
        "host_types": [{"name": "h", "resources": {"memory": 16 * GIB}, "price": 3.0, "billing_time": 1800.0}],
        **fields,
    }


def snapshot(excess):
    return hosted(excess, kind="enactment")


def leased(excess):
    return hosted(excess, kind="leasing", period=300.0, forecast=[1.0, 1.0])


CASES = [(placed, 0.0, 0.05), (linked, 0.0, 10.73741824), (mapped, 1.0, 3.0), (snapshot, None, None), (leased, 3.0, 6.0)]
"""A document by its excess in bytes, and the optimum without and with any."""


@pytest.mark.parametrize("excess", [0, 1, 17, 100])
@pytest.mark.parametrize(("make", "fitting_optimum", "other"), CASES, ids=[case[0].__name__ for case in CASES])
def test_all_exact_methods_draw_the_line_where_it_is_written(make, fitting_optimum, other, excess):
    problem = loads(json.dumps(make(excess)))
    hosts = 2 if excess else 1
    for name in methods(problem.kind):
        method = get_method(name)
        if method.exact and method.refusal(problem) is None and name not in ("cvxpy", "pyomo"):
            solution = edrp.solve(problem, name)
            assert solution.status == "optimal", name
            if fitting_optimum is None:
                assert len(solution.hosts) == hosts, name
            else:
                assert solution.objective == pytest.approx(other if excess else fitting_optimum), name


@pytest.mark.parametrize("make", [placed, linked, mapped])
def test_a_narrow_excess_does_not_stand_in_the_way_of_a_certificate(make):
    solution = edrp.solve(loads(json.dumps(make(10))), certify=True)
    assert solution.proof == "checked certificate"


def test_a_broken_limit_is_told_with_as_many_digits_as_differ():
    problem = loads(json.dumps(placed(10)))
    (broken,) = problem.evaluate({name: ["host"] for name in "abc"}).broken
    assert broken == "resources of node host: 17179869194 against 17179869184"


def test_rounding_of_sums_is_no_excess_and_a_byte_of_a_terabyte_is():
    assert not exceeds(sum([0.1] * 1000), 100.0)
    assert exceeds(1e12 + 1, 1e12)
    assert compared(1e12 + 1, 1e12) == "1000000000001 against 1000000000000"
    assert compared(1.0 + 1e-12, 1.0) == "1.000000000001 against 1"
