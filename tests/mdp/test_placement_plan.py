"""Plans of moves of replicas, replayed by code of their own: nothing is lost, overfull or beyond a limit, and all arrives."""

import itertools
import json
import math
import runpy
from collections import Counter

import numpy as np
import pytest
from assignments import assignment_document, random_assignment, spread_choices

import edrp
from edrp.core.errors import InvalidInstanceError
from edrp.mdp.transfer.placement_plan import PhaseLimits, plan_placement


def random_move(seed: int, room: float = 1.3):
    """A small cluster with racks, and another assignment of it; disks with room for the fuller of both, times a factor."""
    random, case = np.random.default_rng([seed, 7]), random_assignment(seed)
    document = assignment_document(case, "deviation", ["moves"])
    choices, target = list(spread_choices(case["rack"], case["copies"])), {}
    for p in range(len(case["partitions"])):
        servers = [f"s{s}" for s in random.permutation(choices[random.integers(len(choices))])]
        target[f"p{p}"] = servers[:1] if case["leaders"] else servers
        if case["leaders"]:
            target[f"p{p} followers"] = servers[1:]
    disk = {o["name"]: o["state_size"] / o["min_replicas"] for o in document["application"]["operators"]}
    for operator in document["application"]["operators"]:
        operator["resources"] = {"disk": disk[operator["name"]]}
    for node in document["network"]["nodes"]:
        held = [sum(disk[o] * d[o].count(node["name"]) for o in d) for d in (document["current"], target)]
        node["resources"] = {"disk": room * max(held)}
    return edrp.EdrpProblem(**document), target


def replay(problem, target, plan, node: PhaseLimits, zone: PhaseLimits, in_sync: int | None) -> None:
    """Carry a plan out, replica by replica, and check what it promises."""
    owner = {o.name: o.state_of or o.name for o in problem.application.operators}
    disk = {o.name: o.resources["disk"] for o in problem.application.operators}
    rack = {n.name: n.zone for n in problem.network.nodes}
    running = {name: Counter(nodes) for name, nodes in problem.current.items()}
    for phase in plan.phases:
        for name in phase.stopped_first:
            running[name] &= Counter(target[name])
            assert running[name]
        holders = {state: {n for o in owner if owner[o] == state for n in running[o]} for state in owner.values()}
        assert all(len(holders[owner[name]]) >= in_sync for name in phase.stopped_first)
        bytes_, moving = Counter(), {}
        for copy in phase.copies:
            assert copy.source in holders[copy.operator], "copied from where it is"
            assert copy.target not in holders[copy.operator]
            crosses = rack[copy.source] != rack[copy.target]
            racks = [(rack[copy.source], "out"), (rack[copy.target], "in")]
            for place in ((copy.source, "out"), (copy.target, "in"), *racks * crosses):
                bytes_[place] += copy.size
                moving.setdefault(place, set()).add(copy.operator)
        for counted, what in ((bytes_, "bytes"), ({place: len(states) for place, states in moving.items()}, "moves")):
            for (place, way), value in counted.items():
                limit = getattr(node if place in rack else zone, f"{what}_{way}")
                assert limit is None or value <= limit * (1 + 1e-9)
        after = {name: Counter(phase.deployment[name]) for name in running}
        taken = Counter()
        for group in set(owner.values()):
            mine = [name for name in owner if owner[name] == group]
            for u in rack:  # both exist during the phase
                taken[u] += max(sum(disk[o] * d[o][u] for o in mine) for d in (running, after))
        full = {u for u in rack if taken[u] > problem.network.by_name[u].resources["disk"] * (1 + 1e-9)}
        assert full == {why.split()[3] for why in phase.broken if "during the phase" in why}
        for name in running:
            new = {n for n in after[name] if n not in holders[owner[name]]}
            assert new <= {copy.target for copy in phase.copies if copy.operator == owner[name]}, "what starts has its state"
        sent = sum(t.size for part in phase.schedule.phases for t in part.transfers)
        assert sent == pytest.approx(sum(copy.size for copy in phase.copies))
        assert not any("rule" in why for why in phase.broken)
        running = after
    assert running == {name: Counter(nodes) for name, nodes in target.items()}
    moved = sum(copy.size for phase in plan.phases for copy in phase.copies)
    assert moved == pytest.approx(problem.evaluate(target).metrics["moved_state"])
    assert len(plan.phases) >= plan.min_phases - (not plan.phases)
    assert plan.total_seconds >= plan.min_seconds * (1 - 1e-9)


def test_plans_keep_their_promises_on_random_clusters() -> None:
    """With and without limits, with much room on the disks and with none to spare."""
    stopped = broken = 0
    for seed in range(150):
        problem, target = random_move(seed, room=(1.0, 1.3, 3.0)[seed % 3])
        problem = problem.replace(weights={"moved_state": 1}, priorities=())
        in_sync = (None, 1, 2)[seed // 3 % 3]
        largest = max(o.state_size for o in problem.application.operators)
        node = PhaseLimits() if seed % 2 else PhaseLimits(moves_in=1, moves_out=1, bytes_out=3 * largest)
        zone = PhaseLimits() if seed % 4 else PhaseLimits(moves_in=1, moves_out=2)
        plan = plan_placement(problem, target, uplink=1e6, downlink=5e5, limits={"node": node, "zone": zone}, in_sync=in_sync)
        replay(problem, target, plan, node, zone, in_sync)
        free = plan_placement(problem, target, uplink=1e6, downlink=5e5, in_sync=in_sync)
        short = [any("during the phase" in why for phase in each.phases for why in phase.broken) for each in (plan, free)]
        assert short[1] or not short[0], "limits take no room away"
        stopped += any(phase.stopped_first for phase in plan.phases)
        broken += any(phase.broken for phase in plan.phases)
    assert stopped >= 3
    assert broken > 5


def test_the_bound_on_phases_holds_and_few_plans_need_one_more_than_enumeration() -> None:
    more = 0
    for seed in range(40):
        random = np.random.default_rng(seed)
        moves = [random.permutation(["n0", "n1", "n2", "n3"])[:2].tolist() for _ in range(6)]
        operators = [{"name": f"p{p}", "state_size": 10.0, "resources": 0} for p in range(6)]
        problem = edrp.EdrpProblem(
            application={"operators": operators},
            network={"nodes": [{"name": f"n{u}"} for u in range(4)]},
            weights={"moves": 1},
            current={f"p{p}": [source] for p, (source, _) in enumerate(moves)},
        )
        target = {f"p{p}": [to] for p, (_, to) in enumerate(moves)}
        plan = plan_placement(problem, target, uplink=1.0, limits={"node": PhaseLimits(moves_in=1, moves_out=1)})
        least = next(  # of phases in which no server sends or receives two copies
            number
            for number in itertools.count(1)
            for chosen in itertools.product(range(number), repeat=len(moves))
            if all(len({*zip(chosen, ends, strict=True)}) == len(moves) for ends in zip(*moves, strict=True))
        )
        assert plan.min_phases <= least <= len(plan.phases) <= least + 1
        assert plan.min_seconds == 10.0 * max(Counter((w, u) for pair in moves for w, u in enumerate(pair)).values())
        more += len(plan.phases) > least
        assert len(plan_placement(problem, target, uplink=1.0).phases) == 1
    assert more <= 8


def test_limits_hold_for_the_racks_of_labels_and_the_bound_on_phases_for_all_sources() -> None:
    """Two replicas leave rack a and one comes to it; each state could also be copied from rack c."""
    racks = {"n0": "a", "n1": "a", "n2": "b", "n3": "b", "n4": "c"}
    sizes = {"min_replicas": 2, "max_replicas": 2, "state_size": 12.0, "resources": 0}
    problem = edrp.EdrpProblem(
        application={"operators": [{"name": p, **sizes} for p in "pqr"]},
        network={"nodes": [{"name": name, "labels": {"rack": rack}} for name, rack in racks.items()]},
        weights={"moves": 1},
        current={"p": ["n0", "n4"], "q": ["n1", "n4"], "r": ["n2", "n4"]},
    )
    target = {"p": ["n2", "n4"], "q": ["n3", "n4"], "r": ["n0", "n4"]}
    plan = plan_placement(problem, target, uplink=1.0, limits={"rack": PhaseLimits(moves_in=1)})
    assert [sorted(copy.target for copy in phase.copies) for phase in plan.phases] == [["n0", "n2"], ["n3"]]
    assert plan.min_phases == 2
    plan = plan_placement(problem, target, uplink=1.0, limits={"rack": PhaseLimits(moves_out=1, bytes_in=11.0)})
    assert (plan.min_phases, len(plan.phases)) == (2, 2), "two of 6 bytes do not fit into one phase of 11"
    plan = plan_placement(problem, target, uplink=1.0, limits={"rack": PhaseLimits(moves_out=1)})
    assert plan.min_phases == 1, "copies may come from other racks"
    with pytest.raises(InvalidInstanceError, match=r"limits\.rak: is a zone or label that no node has; did you mean 'rack'"):
        plan_placement(problem, target, uplink=1.0, limits={"rak": PhaseLimits(moves_in=1)})


def swap():
    """Two partitions of 6 GB on two full disks of 6 GB and a third server which holds a replica of each."""
    operators = [{"name": p, "state_size": 12e9, "min_replicas": 2, "max_replicas": 2, "resources": {"disk": 6e9}} for p in "pq"]
    nodes = [{"name": name, "resources": {"disk": disk}} for name, disk in (("a", 6e9), ("b", 6e9), ("c", 1e11))]
    now = {"p": ["a", "c"], "q": ["b", "c"]}
    problem = edrp.EdrpProblem(application={"operators": operators}, network={"nodes": nodes}, weights={"moves": 1}, current=now)
    return problem, {"p": ["b", "c"], "q": ["a", "c"]}


def test_replicas_stop_first_only_where_disks_are_full_and_enough_stay_in_sync() -> None:
    problem, target = swap()
    plan = plan_placement(problem, target, uplink=1e8, in_sync=1)
    assert [phase.stopped_first for phase in plan.phases] == [("p",), ()]
    assert plan.phases[0].broken == ("min_replicas of p: 1 against 2",)
    assert [copy.source for phase in plan.phases for copy in phase.copies] == ["c", "c"]
    assert plan.phases[1].broken == ()
    for in_sync in (None, 2):
        broken = [why for phase in plan_placement(problem, target, uplink=1e8, in_sync=in_sync).phases for why in phase.broken]
        assert "disk of node a during the phase: 1.2e+10 against 6e+09" in broken


def test_leader_and_follower_change_places_without_a_copy() -> None:
    operators = [{"name": "leader", "state_size": 5.0}, {"name": "follower", "state_of": "leader", "state_size": 5.0}]
    apart = {"rule": "apart", "name": "two", "operators": ["leader", "follower"], "per": "node"}
    network, now = {"nodes": [{"name": n} for n in "abc"]}, {"leader": ["a"], "follower": ["b"]}
    problem = edrp.EdrpProblem(
        application={"operators": operators}, network=network, current=now, rules=[apart], weights={"moves": 1}
    )
    plan = plan_placement(problem, {"leader": ["b"], "follower": ["a"]}, uplink=1.0)
    assert [(phase.copies, phase.broken) for phase in plan.phases] == [((), ())]
    plan = plan_placement(problem, {"leader": ["b"], "follower": ["c"]}, uplink=1.0)
    assert [(copy.source, copy.target, copy.size) for copy in plan.phases[0].copies] == [("a", "c", 5.0)]
    assert plan_placement(problem, now, uplink=1.0).phases == ()


def test_what_cannot_be_planned_is_refused_by_place(examples) -> None:
    problem, target = swap()
    state = "must be at least 6e+09, which the state of p takes in its phase"
    for place, said, given, fields in (
        ("current", "", problem.replace(current=None), {}),
        ("application.streams", "", edrp.load(examples / "word_count.json"), {}),
        ("in_sync", "", problem, {"in_sync": 0}),
        ("uplink", "", problem, {"uplink": 0.0}),
        ("limits.node.moves_out", "", problem, {"limits": {"node": PhaseLimits(moves_out=math.nan)}}),
        ("limits.node.bytes_in", state, problem, {"limits": {"node": PhaseLimits(bytes_in=5e9)}}),
    ):
        with pytest.raises(InvalidInstanceError) as caught:
            plan_placement(given, target, **{"uplink": 1.0} | fields)
        assert place in [fault.place for fault in caught.value.faults]
        assert said in str(caught.value)


def test_command_writes_the_phases(run, write, tmp_path) -> None:
    case = random_assignment(3)
    path, out = write(assignment_document(case, "deviation", ["evenness.load", "moved_state", "moves"])), tmp_path / "plan.json"
    solved = run("solve", path, "-o", tmp_path / "solution.json").ended(0)
    result = run("plan", path, tmp_path / "solution.json", "--phase-moves", "node=3", "-o", out).ended(0)
    plan, solution = json.loads(out.read_text()), edrp.load_solution(tmp_path / "solution.json")
    assert plan["kind"] == "placement-plan"
    assert sum(copy["size"] for phase in plan["phases"] for copy in phase["copies"]) == solution.metrics["moved_state"]
    known = "no plan within the limits has fewer" if len(plan["phases"]) == plan["min_phases"] else "the fewest within the limits"
    few = "phase" if len(plan["phases"]) == 1 else "phases"
    assert f"{plan['total_seconds']:.6g} s in {len(plan['phases'])} {few}; {known}" in result.out, solved.out
    for word in ("node", "node=x", "node=0", "node=inf"):
        assert "must be PLACE=NUMBER, such as node=2" in run("plan", path, "--phase-bytes", word).ended(2).err
    assert "goes with moves of replicas" in run("plan", "examples/migration.json", "--in-sync", "2").ended(2).err
    assert "--phase-moves" in run("plan", path, "--max-move-ins", "2").ended(2).err


def test_the_example_writes_reassignments_that_lead_to_an_even_one(examples, capsys) -> None:
    runpy.run_path(str(examples / "partitions.py"), run_name="__main__")
    cluster = json.loads((examples / "partitions" / "cluster.json").read_text())
    *phases, final = [json.loads(line)["partitions"] for line in capsys.readouterr().out.splitlines() if line.startswith("{")]
    running = {(part["topic"], part["partition"]): part["replicas"] for part in cluster["partitions"]}
    sizes = {key: len(set(value)) for key, value in running.items()}
    for part in itertools.chain(*phases):
        assert running[part["topic"], part["partition"]] != part["replicas"]
        running[part["topic"], part["partition"]] = part["replicas"]
    assert running == {(part["topic"], part["partition"]): part["replicas"] for part in final}
    assert {key: len({cluster["brokers"][str(b)] for b in value}) for key, value in running.items()} == sizes, "racks differ"
    for numbers in (Counter(itertools.chain(*running.values())), Counter(value[0] for value in running.values())):
        assert len(set(numbers.values())) == 1
