"""What a newcomer solves first."""

import pytest

import edrp


def queue(name, rate, cost, most, candidates=None):
    latency = {"model": "mm1", "service_rate": rate}
    return {"name": name, "latency": latency, "cost": cost, "max_replicas": most, "candidates": candidates}


def sensors_and_cameras():
    """Eight operators on six nodes with four rules, as a newcomer wrote them."""
    operators = [
        {"name": "sensors", "candidates": ["gw1"], "external_rate": 400.0},
        {"name": "cameras", "candidates": ["gw2"], "external_rate": 60.0},
        queue("decode", 500.0, 1.0, 3),
        queue("frames", 80.0, 2.0, 3, ["fogA", "dcA", "fogB", "dcB"]),
        queue("enrich", 420.0, 1.0, 3),
        queue("anomaly", 300.0, 2.5, 4),
        queue("alert", 900.0, 0.5, 2),
        {"name": "store", "candidates": ["dcA", "dcB"], "cost": 0.5},
    ]
    pairs = "sensors decode, decode enrich, cameras frames, frames enrich, enrich anomaly, anomaly alert, enrich store"
    streams = [dict(zip(("source", "target"), pair.split(), strict=True)) for pair in pairs.split(", ")]
    nodes = [
        {"name": f"{site}{zone}", "zone": zone, "resources": room} for site, room in (("fog", 4), ("dc", 12)) for zone in "AB"
    ]
    nodes += [{"name": "gw1", "zone": "A", "resources": 2}, {"name": "gw2", "zone": "B", "resources": 2}]
    wires = {"gw1 fogA": 0.004, "gw2 fogB": 0.005, "fogA dcA": 0.012, "fogB dcB": 0.014, "dcA dcB": 0.003, "fogA fogB": 0.009}
    links = [dict(zip(("source", "target"), ends.split(), strict=True)) | {"delay": delay} for ends, delay in wires.items()]
    counted = [{"operator": name} for name in ("anomaly", "frames")]
    return edrp.EdrpProblem(
        application={"operators": operators, "streams": streams},
        network={"nodes": nodes, "links": links, "routed": True},
        rules=[
            {"rule": "at_least_zones", "name": "survive", "operators": ["anomaly"], "zones": 2},
            {"rule": "linear", "name": "licences", "terms": counted, "upper": 4},
            {"rule": "spread", "name": "even", "operators": ["enrich"], "per": "zone", "max_skew": 1},
            {
                "rule": "apart",
                "name": "alert-from-anomaly",
                "operators": ["anomaly", "alert"],
                "penalty": 0.02,
                "between": "operators",
            },
        ],
        weights={"response_time": 0.6, "cost": 0.4},
        limits={"response_time": 0.15, "cost": 40.0},
    )


def test_the_first_problem_of_a_newcomer_is_proven():
    solution = edrp.solve(sensors_and_cameras(), work_limit=60.0)
    assert (solution.status, round(solution.objective, 9)) == ("optimal", 0.429286398)


@pytest.mark.parametrize(("name", "objective"), [("two_zones", 0.47871), ("link_allocation", 0.095)])
def test_small_problems_are_proven_at_once(name, objective, examples):
    solution = edrp.solve(edrp.load(examples / f"{name}.json"), work_limit=60.0)
    assert (solution.status, round(solution.objective, 6)) == ("optimal", objective)
