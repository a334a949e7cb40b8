"""`auto` on assignments with many wishes: replicas of partitions that stay where they are, unless servers become too full."""

import random
from math import ceil

import edrp
from edrp.auto.choices import choose


def assignment(partitions: int, servers: int, racks: int) -> edrp.EdrpProblem:
    """A leader and two followers of each partition, in different racks; a wish for each of three servers to keep its replica."""
    draw, operators, rules = random.Random(1), [], []
    for b in range(partitions):
        for name, replicas, resources in ((f"b{b}L", 1, ("leader", "replica")), (f"b{b}F", 2, ("replica",))):
            use = {resource: {"per_replica": 1.0} for resource in resources}
            numbers = {"min_replicas": replicas, "max_replicas": replicas}
            operators.append({"name": name, "external_rate": 1.0, "resources": 0, "usage": use, **numbers})
        rules.append({"rule": "apart", "name": f"rack b{b}", "operators": [f"b{b}L", f"b{b}F"], "per": "zone"})
        held, size = draw.sample(range(2 * servers // 3), 3), float(draw.randint(1, 20))
        for s in held:
            terms = [{"operator": name, "nodes": [f"s{s}"]} for name in (f"b{b}L", f"b{b}F")]
            rules.append({"rule": "linear", "name": f"b{b} on s{s}", "penalty": size, "lower": 1, "terms": terms})
    capacity = {"leader": ceil(partitions / servers), "replica": ceil(3 * partitions / servers)}
    nodes = [{"name": f"s{s}", "resources": 9, "zone": f"r{s % racks}", "capacity": capacity} for s in range(servers)]
    return edrp.EdrpProblem(
        application={"operators": operators},
        network={"nodes": nodes, "within_zone": {"delay": 0.001}, "between_zones": {"delay": 0.002}},
        rules=rules,
        weights={"response_time": 1.0},
        limits={"response_time": 1000.0, "peak_loads": {"leader": 1.0, "replica": 1.0}},
    )


def test_the_program_goes_first_where_wishes_are_most_of_the_objective():
    """Methods that leave rules out would prove no more than what is left without the wishes."""
    problem = assignment(40, 9, 3)
    chosen = choose(problem)
    auto, highs = (edrp.solve(problem, method, work_limit=2.0) for method in ("auto", "highs"))
    assert (chosen.first[0].method.name, chosen.rule_first) == ("highs", False)
    assert (auto.status, auto.objective) == ("optimal", highs.objective)
