"""Service rates that fall with the number of replicas: every method takes them, and exact ones agree with brute force."""

import json

import pytest
from capacity_curves import with_capacity_curves

import edrp
from edrp.certificates.checker import fraction, latency_at
from edrp.check_problems.placement.enumeration import brute_force
from edrp.core.errors import InvalidInstanceError
from edrp.datasets.families.placement.random_clusters import random_cluster
from edrp.placement.compilation import compile_problem

MAPPER = {"model": "capacity-curve", "replicas": [1, 8, 25], "capacities": [0.53e6, 3.1e6, 7.1e6]}
"""A mapper as ContTune measured it on Flink."""

LEVEL = {"model": "capacity-curve", "replicas": [1, 4], "capacities": [10.0, 10.0]}
"""More replicas serve nothing more."""


def alone(latency, load, *, replicas=30, **fields):
    """One operator on one node, response time alone counts unless `fields` say otherwise."""
    objective = {"weights": {"response_time": 1.0}, "limits": {"response_time": 1.0, "cost": 100.0}, **fields}
    work = {"name": "work", "latency": latency, "external_rate": load, "max_replicas": replicas, "cost": 1.0}
    return edrp.EdrpProblem(application={"operators": [work]}, network={"nodes": [{"name": "a"}]}, **objective)


class TestCurve:
    def test_it_passes_through_what_was_measured_and_goes_on_along_its_last_line(self):
        mapper = edrp.CapacityCurveLatency(**MAPPER)
        assert [mapper.capacity(n) for n in (1, 8, 25)] == pytest.approx([0.53e6, 3.1e6, 7.1e6])
        assert mapper.capacity(2) == pytest.approx(0.53e6 + 2.57e6 / 7)
        assert mapper.capacity(30) == pytest.approx(7.1e6 + 5 * 4e6 / 17)

    def test_below_its_first_point_a_replica_serves_as_much_as_there(self):
        mapper = edrp.CapacityCurveLatency(replicas=[4], capacities=[100.0])
        assert [mapper.true_rate(n) for n in (1, 3, 4, 9)] == pytest.approx([25.0] * 4)

    @pytest.mark.parametrize("rate", [1e3, 3e5, 5.3e5, 5.31e5, 3.1e6, 5e6, 7.1e6, 9e6])
    def test_fewest_replicas_are_those_and_no_fewer(self, rate):
        mapper = edrp.CapacityCurveLatency(**MAPPER)
        fewest = mapper.fewest_replicas(rate)
        assert mapper.capacity(fewest) >= rate * (1 - 1e-12)
        assert fewest == 1 or mapper.capacity(fewest - 1) < rate

    @pytest.mark.parametrize("seed", range(20))
    def test_arrays_evaluator_and_checker_read_the_same(self, seed):
        problem = with_capacity_curves(random_cluster(seed), seed)
        compiled = compile_problem(problem)
        for i, name in enumerate(compiled.operators):
            operator = problem.application.by_name[name]
            fewest = min(compiled.fewest_replicas[i, compiled.candidates(i)])
            load = problem.application.load(name)
            described = json.loads(operator.latency.model_dump_json())
            exact = {
                **described,
                "capacities": [fraction(str(c)) if isinstance(c, int) else _exactly(c) for c in described["capacities"]],
            }
            for n in range(1, operator.max_replicas + 1):
                read = operator.latency.at(load / n, n)
                assert compiled.latency[i, n] == (pytest.approx(read, rel=1e-9) if n >= fewest else float("inf"))
                checked = latency_at(exact, _exactly(load / n), n)
                assert (float("inf") if checked is None else float(checked)) == pytest.approx(read, rel=1e-9)


def _exactly(number):
    """A binary number as the fraction that it is."""
    top, bottom = float(number).as_integer_ratio()
    return fraction(f"{top}/{bottom}")


class TestMethods:
    def test_the_number_of_replicas_follows_the_curve(self):
        """Time in a replica is n / (capacity(n) − load): it falls up to 8 replicas and rises from there."""
        assert len(edrp.solve(alone(MAPPER, 5e5)).deployment["work"]) == 8
        assert len(edrp.solve(alone({"model": "mm1", "service_rate": 0.53e6}, 5e5)).deployment["work"]) == 30
        assert len(edrp.solve(alone(LEVEL, 5.0)).deployment["work"]) == 1

    @pytest.mark.parametrize(
        ("method", "few"),
        [("iterated-local-search", {"kicks": 20}), ("annealing", {"anneals": 1, "steps": 2000}), ("greedy", {}), ("ds2", {})],
    )
    def test_searches_and_rules_answer_within_all_limits(self, method, few):
        for seed in range(8):
            problem = with_capacity_curves(random_cluster(seed), seed)
            best, _ = brute_force(problem)
            solution = edrp.solve(problem, method, **few)
            if solution.deployment is not None:
                assert solution.objective >= best - 1e-9
                assert problem.evaluate(solution.deployment).feasible

    def test_a_load_beyond_the_curve_is_infeasible_in_words(self):
        solution = edrp.solve(alone(LEVEL, 12.0, replicas=9))
        assert solution.status == "infeasible"
        assert solution.clashes == ("work: with 9 replicas at most it cannot serve its load of 12 tuples/s",)

    def test_an_optimum_has_a_certificate(self):
        solution = edrp.solve(alone(MAPPER, 2e6, replicas=5), certify=True)
        assert solution.proof == "checked certificate"

    def test_explanations_say_what_replicas_serve(self):
        problem = alone(MAPPER, 2e6)
        found = edrp.explain(problem, {"work": ["a"] * 8}, runner_up=False)
        assert [(scaling.replicas, scaling.rate) for scaling in found.scalings] == [(8, pytest.approx(387_500))]
        assert found.scalings[0].share == pytest.approx(3.1 / 8 / 0.53)
        margin = next(margin for margin in found.margins if margin.name == "load of work")
        assert (margin.limit, margin.used) == (pytest.approx(3.1e6), pytest.approx(2 / 3.1))


class TestDs2:
    def test_it_takes_the_fewest_replicas_that_serve_the_load_at_its_utilisation(self):
        problem = alone(MAPPER, 2e6, weights={"cost": 1.0})
        replicas = len(edrp.solve(problem, "ds2").deployment["work"])
        mapper = edrp.CapacityCurveLatency(**MAPPER)
        assert replicas == 8  # 2e6 / 0.7 = 2.86e6, 7 serve 2.73e6
        assert mapper.capacity(replicas - 1) * 0.7 < 2e6 <= mapper.capacity(replicas) * 0.7

    def test_a_curve_that_never_gets_there_is_noted(self):
        solution = edrp.solve(alone(LEVEL, 8.0, replicas=5, limits={"response_time": 10.0}), "ds2")
        assert len(solution.deployment["work"]) == 5
        assert solution.notes == ("work would need more than its curve ever reaches, may have 5",)


class TestBadInput:
    @pytest.mark.parametrize(
        ("fields", "words"),
        [
            ({"capacities": [10.0, 30.0, 20.0]}, r"capacities\[2\]: falls below 30 tuples/s.*must not serve less"),
            ({"replicas": [1, 4, 4]}, r"replicas\[2\]: must be above the number before it, 4"),
            ({"replicas": [1, 2]}, r"capacities: must hold one capacity per number of replicas, that is 2"),
            ({"replicas": [0, 2, 4]}, r"replicas\[0\]: must be at least 1"),
            ({"capacities": [0.0, 1.0, 2.0]}, r"capacities\[0\]: must be above 0 tuples/s"),
            ({"replicas": [], "capacities": []}, r"replicas: must hold at least 1"),
        ],
    )
    def test_it_is_refused_with_its_place(self, fields, words):
        described = {"replicas": [1, 2, 4], "capacities": [10.0, 20.0, 30.0], **fields}
        with pytest.raises(InvalidInstanceError, match=words):
            edrp.CapacityCurveLatency(**described)
