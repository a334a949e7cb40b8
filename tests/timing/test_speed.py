"""What somebody waits for is quick: files that are read, rules on the largest problems, pages, simulated hours."""

import json
from itertools import combinations
from time import process_time

import numpy as np
import pytest

import edrp
from edrp.datasets.enactment.manufacturing import manufacturing_scenario
from edrp.explorer.page import explorer_page
from edrp.validation.simulation.enactment.simulator import simulate


class Idle:
    """A policy that does nothing."""

    name = "idle"

    def observe(self, state):
        return ()


def test_a_file_of_several_megabytes_is_read(tmp_path):
    nodes = [{"name": f"node-{i}", "resources": 4} for i in range(250)]
    links = [
        {"source": f"node-{j}", "target": f"node-{i}", "delay": 0.01 + i * 1e-6, "bandwidth": 125e6, "cost": 1e-4}
        for i, j in combinations(range(250), 2)
    ]
    operators = {"operators": [{"name": "a", "external_rate": 5}, {"name": "b"}], "streams": [{"source": "a", "target": "b"}]}
    goals = {"weights": {"response_time": 1}, "limits": {"response_time": 1}}
    path = tmp_path / "large.json"
    path.write_text(json.dumps({"kind": "edrp", "application": operators, "network": {"nodes": nodes, "links": links}, **goals}))
    began = process_time()
    assert len(edrp.load(path).network.links) == 250 * 249 / 2
    assert process_time() - began < 10


@pytest.mark.parametrize("name", ["ds2", "even", "first-fit", "largest-node"])
def test_rules_place_nine_thousand_replicas_on_two_thousand_nodes(name):
    """A second or two of computing each; one replica at a time over all nodes would take minutes."""
    random = np.random.default_rng(0)
    loads, cpu = random.uniform(50, 150, 1500).tolist(), random.uniform(5, 30, 1500).tolist()
    operators = [
        {
            "name": f"o{i}",
            "external_rate": load,
            "latency": {"model": "mm1", "service_rate": load / 5.5},
            "max_replicas": 12,
            "resources": {"cpu": share},
        }
        for i, (load, share) in enumerate(zip(loads, cpu, strict=True))
    ]
    sizes = random.choice([100, 200, 400], 2000).tolist()
    nodes = [{"name": f"n{u}", "resources": {"cpu": size}} for u, size in enumerate(sizes)]
    goals = {"weights": {"cost": 1.0}, "limits": {"cost": 1e5}}
    problem = edrp.EdrpProblem(application={"operators": operators}, network={"nodes": nodes}, **goals)
    began = process_time()
    answer = edrp.methods()[name].run(problem, edrp.Options(parameters={"skip_full": True} if name == "even" else {}))
    assert process_time() - began < 15
    assert answer.status == "feasible"
    assert sum(len(nodes) for nodes in answer.decision.values()) >= 9000


@pytest.mark.parametrize("name", ["edge_to_cloud", "mapping", "migration_sequence", "rescale"])
def test_a_page_is_made_in_a_second(examples, name):
    problem = edrp.load(examples / f"{name}.json")
    solution = edrp.solve(problem)
    explorer_page(problem, solution)  # imports
    began = process_time()
    text = explorer_page(problem, solution, name)
    assert process_time() - began < 1
    assert len(text.encode()) <= 400_000


def test_two_hours_are_simulated_in_a_second_of_one_core():
    """1.7 million items; the quicker of two, so that what else runs on the machine counts less."""
    world = manufacturing_scenario("stepwise")
    seconds = []
    for _ in range(2):
        began = process_time()
        run = simulate(world, Idle(), 0)
        seconds.append(process_time() - began)
    assert run.operators[1].arrived == 367_500
    assert min(seconds) < 1.0
