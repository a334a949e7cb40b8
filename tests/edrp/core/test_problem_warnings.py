"""Problems say what they state without effect, and numbers in unlikely units; what has an effect is never doubted."""

import json
import random
import warnings

import pytest

import edrp
from edrp.batch.journal import RollingJournal
from edrp.batch.rows import solve_task
from edrp.core.kinds import kinds
from edrp.datasets import generate
from edrp.datasets.families.placement.random_edrp import random_problem
from edrp.errors import ProblemWarning
from edrp.placement.deployment import Deployment
from edrp.placement.edrp import EdrpProblem
from edrp.placement.metrics import EDRP_METRICS

QUEUE = {"model": "mm1", "service_rate": 200}
MOVING = {
    "kind": "edrp",
    "application": {
        "operators": [{"name": "a", "external_rate": 100, "state_size": 5e11, "latency": QUEUE, "max_replicas": 2}],
    },
    "network": {"nodes": [{"name": "n1", "resources": 2}, {"name": "n2", "resources": 4, "speedup": 2}]},
    "current": {"a": ["n1"]},
    "weights": {"response_time": 0.5, "cost": 0.3, "downtime": 0.2},
    "limits": {"response_time": 0.1, "cost": 1, "downtime": 10},
}
"""500 GB move for nothing: no prices, and no bandwidth to the store."""

NO_COST = "weights.cost has no effect: no operator and no link has a cost; neither has limits.cost"
NO_BANDWIDTH = "weights.downtime has no effect: network.store.bandwidth is not given"
COSTS = {"response_time": 0.5, "cost": 0.5}
RATES = {"nodes": [{"name": "n1"}, {"name": "n2"}]}


def changed(document, **parts):
    """The document with some fields, or fields of these, of other values; None takes one away."""
    document = json.loads(json.dumps(document))
    for place, value in parts.items():
        *path, last = place.split("__")
        owner = document
        for step in path:
            owner = owner[int(step) if step.isdigit() else step]
        if value is None:
            owner.pop(last)
        else:
            owner[last] = value
    return document


def doubts(document):
    return [fault.sentence for fault in edrp.loads(json.dumps(document)).warnings()]


PRICED = changed(MOVING, application__operators__0__cost=1, network__store={"bandwidth": 1e8})
PAIR = changed(
    PRICED,
    application__operators=[{"name": "a", "external_rate": 9, "cost": 1, "state_size": 5e8}, {"name": "b"}],
    application__streams=[{"source": "a", "target": "b"}],
    network__links=[{"source": "n1", "target": "n2", "delay": 0.02}],
    current={"a": ["n1"], "b": ["n1"]},
)
KEYED = changed(
    PRICED,
    kind="rescale",
    current={"a": ["n1"]},
    weights={"response_time": 1.0},
    limits={"response_time": 1.0},
)
SUPERVISED = {
    "kind": "latency-aware",
    "application": {
        "operators": [{"name": "a", "resources": {"cpu": 1}}, {"name": "b", "resources": {"cpu": 1}}],
        "streams": [{"source": "a", "target": "b", "rate": 5}],
    },
    "network": {
        "nodes": [{"name": "n1", "resources": {"cpu": 2}}, {"name": "n2", "resources": {"cpu": 2}}],
        "links": [{"source": "n1", "target": "n2", "delay": 0.01}],
    },
}
TASKS = {"kind": "migration", "work": [1, 1], "state_size": [1, 1], "intervals": [[0, 2]], "nodes": 2, "tolerance": 0.4}
HOSTS = {
    "application": {"operators": [{"name": "f", "processing_duration": 1.0, "external_rate": 1.0, "resources": {"cpu": 1}}]},
    "host_types": [{"name": "small", "resources": {"cpu": 2}, "price": 1.0, "billing_time": 600.0}],
}
SNAPSHOT, LEASES = {"kind": "enactment", **HOSTS}, {"kind": "leasing", **HOSTS, "period": 300.0, "forecast": [1, 2]}
PATH = {
    "kind": "mapping",
    "network": {
        "nodes": [{"name": "a", "capacity": 9}, {"name": "b", "capacity": 9}],
        "links": [{"source": "a", "target": "b", "bandwidth": 9, "cost": 1}],
    },
    "task": {"source": "a", "delivery": "b", "bandwidths": [1, 1], "components": [{"name": "f", "capacity": 1}]},
}
FLOWS = {
    "kind": "link-allocation",
    "network": changed(PATH, network__nodes__0__uplink=3)["network"],
    "flows": [{"name": "x", "source": "a", "target": "b", "rate": 1, "price": 1}],
}
CLEAN = (PRICED, PAIR, KEYED, SUPERVISED, TASKS, SNAPSHOT, LEASES, PATH, FLOWS)


def test_a_weight_without_effect_names_the_field_that_is_missing():
    first, second = doubts(MOVING)
    assert first == NO_COST
    assert second == f"{NO_BANDWIDTH}, so that what moves takes no time; neither has limits.downtime"


@pytest.mark.parametrize("document", CLEAN, ids=lambda document: document["kind"])
def test_what_has_an_effect_is_not_doubted(document):
    assert doubts(document) == []


@pytest.mark.parametrize(
    ("document", "place", "why"),
    [
        (changed(PRICED, weights=COSTS, limits__downtime=None, network__store={}, synchronisation_time=5),
         "application.operators[0].state_size", "network.store.bandwidth is not given"),
        (changed(PRICED, network__store={}, synchronisation_time=5), "application.operators[0].state_size", "moves in no time"),
        (changed(PRICED, current=None), "weights.downtime", "`current` is not given"),
        (changed(PRICED, application__operators__0__state_size=0), "weights.downtime", "no operator has a state_size"),
        (changed(PRICED, weights=COSTS, limits__availability=0.9), "limits.availability", "no node and no link has an avail"),
        (changed(PRICED, weights=COSTS, limits__network_usage=9), "limits.network_usage", "there are no streams"),
        (changed(PRICED, priorities=[{"metric": "downtime"}], network__store={}), "priorities[0]", "network.store.bandwidth"),
        (changed(PRICED, application__operators__0__latency=None), "weights.response_time", "no operator has a latency"),
        (changed(PAIR, application__operators__0__external_rate=0), "application", "no operator has an external_rate"),
        (changed(PAIR, application__streams__0__source="b", application__streams__0__target="a"),
         "application.operators[1]", "no stream leaves a: are the streams the wrong way round?"),
        (changed(KEYED, tolerance=0.2), "tolerance", "no operator has tasks"),
        (changed(KEYED, transfer="direct", limits__downtime=9), "limits.downtime", "up_rate or down_rate of network.nodes"),
        (changed(KEYED, utilisation=0.8, application__operators__0__latency=None, network__links=[]), "utilisation", "a latency"),
        (changed(KEYED, weights={"moved_state": 1}, limits={"moved_state": 1}, current=None), "weights.moved_state", "`current`"),
        (changed(SUPERVISED, utilisation={"memory": 0.5}), "utilisation.memory", "no operator needs any memory"),
        (changed(SUPERVISED, weights={"events": 1}, application__streams=[]), "weights.events", "no stream carries tuples"),
        (changed(SUPERVISED, weights={"latency": 1}, network__links__0__delay=0), "weights.latency", "no link has a delay"),
        (changed(TASKS, state_size=[0, 0]), "state_size", "every assignment moves nothing"),
        (changed(TASKS, work=[0, 0]), "tolerance", "no task has any work"),
        (changed(SNAPSHOT, weights={"violations": 2}), "weights.violations", "no items wait"),
        (changed(SNAPSHOT, weights={"host_cost": 2}, host_types__0__price=0), "weights.host_cost", "no host type has a price"),
        (changed(LEASES, penalty=1.0), "penalty", "no items wait"),
        (changed(LEASES, forecast=[0, 0]), "forecast", "there is no load"),
        (changed(LEASES, host_types__0__price=0), "host_types", "every plan costs nothing"),
        (changed(PATH, network__links__0__cost=0), "network.links", "every map costs nothing"),
        (changed(PATH, public_cost=1), "public_cost", "no server has an uplink"),
        (changed(FLOWS, flows__0__price=0), "flows", "every allocation loses nothing"),
        (changed(FLOWS, forwarding_price=1, max_links=1), "forwarding_price", "max_links is 1"),
        (changed(PAIR, network__links__0__bandwidth=1e6), "network.links[0].bandwidth", "what limits streams is their `usage`"),
        (changed(FLOWS, public_share=0.5, network__nodes__0__uplink=0), "public_share", "no server that sends has an uplink"),
    ],
)  # fmt: skip
def test_what_has_no_effect_is_named(document, place, why):
    told = [sentence for sentence in doubts(document) if sentence.startswith(f"{place} ")]
    assert len(told) == 1, doubts(document)
    assert why in told[0]


@pytest.mark.parametrize(
    "document",
    [
        changed(MOVING, weights=None, limits=COSTS, application__operators__0__cost=1, current=None),  # weights by default
        changed(PRICED, weights=COSTS, current=None),  # a limit for the changes that follow an initial placement
        changed(MOVING, weights={"response_time": 1}, limits={"response_time": 1}, application__operators__0__state_size=0),
        changed(PRICED, network__store={}, network__nodes__0__store_bandwidth=1e8),  # some state takes time
        changed(PRICED, network__store={}, weights={"moves": 1}, limits={}),
        changed(PRICED, application__operators__0__state_size=0, network__nodes__1__spawn_time=5),  # any change takes time
        changed(PRICED, application__operators__0__state_size=0, network__nodes__1__store_delay=0.1),
        changed(PRICED, application__operators__0__state_size=0, network__store={"delay": 0.1}),
        changed(PRICED, application__operators__0__state_size=0, synchronisation_time=5),
        changed(PRICED, application__operators__0__state_size=0, application__operators__0__code_size=1e6),
        changed(PRICED, reconfiguration="storm", network__store={"local_bandwidth": 1e8}),
        changed(KEYED, transfer="direct", limits__downtime=9, network__nodes__1__down_rate=1e8),
        changed(PAIR, weights={"cost": 1}, application__operators__0__cost=0, network__links__0__cost=0.1),
        changed(PAIR, application__operators__0__external_rate=0, application__streams__0__rate=9),  # the stream has a rate
        changed(PAIR, application__operators__0__selectivity=0),  # stated: nothing is passed on
        changed(SNAPSHOT, weights={"violations": 2}, queues={"f": 9}),
        changed(SNAPSHOT, weights={"violations": 2}, utilisation=0.5, penalty=0.1, queues={"f": 1}),
    ],
)
def test_no_false_alarm(document):
    assert doubts(document) == []


def deployments(problem, seed):
    """Eight of an ordinary problem, drawn at random."""
    draw, everywhere = random.Random(seed), list(problem.network.by_name)
    for _ in range(8):
        numbers = {o.name: draw.randint(o.min_replicas, o.max_replicas) for o in problem.application.operators}
        yield Deployment({name: draw.choices(everywhere, k=number) for name, number in numbers.items()})


@pytest.mark.parametrize("seed", range(6))
def test_a_metric_that_is_said_to_be_0_is_0_for_every_deployment(seed):
    """Whatever is taken away from a problem; where nothing is, or it is given, nothing is said."""
    problem = random_problem(seed)
    free = problem.application.replace(operators=tuple(o.replace(cost=0.0) for o in problem.application.operators))
    links = tuple(link.replace(cost=0.0, delay=0.0, availability=1.0) for link in problem.network.links)
    nodes = tuple(node.replace(availability=1.0, spawn_time=0.0, store_delay=0.0) for node in problem.network.nodes)
    bare = problem.network.replace(nodes=nodes, links=links, store={})
    for variant in (problem, problem.replace(application=free), problem.replace(network=bare, synchronisation_time=0.0),
                    problem.replace(application=free, network=bare, synchronisation_time=0.0)):  # fmt: skip
        for name, metric in EDRP_METRICS.items():
            values = [metric.scaled(metric.evaluate(variant, deployment)) for deployment in deployments(problem, seed)]
            assert not metric.zero_because(variant) or not any(values), (name, values)
            if any(values):
                assert metric.zero_because(variant) == ""


@pytest.mark.parametrize(
    ("document", "question"),
    [
        (changed(PAIR, network__links__0__delay=20), "network.links[0].delay is 20 s; delays are in seconds: is 0.02 meant?"),
        (changed(PRICED, limits__response_time=100), "limits.response_time is 100 s; times are in seconds: is 0.1 meant?"),
        (changed(PRICED, limits__downtime=60000), "limits.downtime is 60000 s; times are in seconds: is 60 meant?"),
        (changed(PRICED, synchronisation_time=1500), "synchronisation_time is 1500 s; times are in seconds: is 1.5 meant?"),
        (changed(PRICED, application__operators__0__state_size=500), "application.operators[0].state_size is 500 bytes"),
        (changed(PRICED, network__store__bandwidth=100), "network.store.bandwidth is 100 bytes/s"),
    ],
)
def test_a_number_far_outside_what_its_unit_has_is_asked_for(document, question):
    (told,) = doubts(document)
    assert told.startswith(question)


def test_usual_numbers_are_not_asked_for():
    """Geostationary links, limits of a minute, megabytes at megabytes per second."""
    assert not doubts(changed(PAIR, network__links__0__delay=0.6, limits__response_time=60, limits__downtime=3600))
    assert not doubts(changed(PRICED, application__operators__0__state_size=500, network__store__bandwidth=100))


def test_examples_are_not_doubted(examples):
    for path in sorted(examples.glob("*.json")):
        assert not edrp.load(path).warnings(), path


@pytest.mark.slow
def test_instances_of_families_are_not_doubted():
    for kind in kinds():
        for name, problem in generate(kind, 60):
            assert not problem.warnings(), name


def test_solve_warns_its_caller_once_for_each_and_its_answer_stays_as_it_is():
    problem = edrp.loads(json.dumps(MOVING))
    with pytest.warns(ProblemWarning) as told:
        solution = edrp.solve(problem, "greedy", work_limit=1)
    assert [str(warning.message).partition(",")[0] for warning in told] == [NO_COST, NO_BANDWIDTH]
    assert {warning.filename for warning in told} == {__file__}
    assert "no effect" not in json.dumps(solution.to_document())


def test_variants_that_the_package_solves_itself_are_not_warned_of():
    with warnings.catch_warnings():
        warnings.simplefilter("error", ProblemWarning)
        assert edrp.pareto_front(EdrpProblem(**changed(MOVING)), "response_time", "cost").points


def test_a_warning_may_be_made_an_error():
    problem = edrp.loads(json.dumps(MOVING))
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        with pytest.raises(ProblemWarning, match=r"weights\.cost has no effect"):
            edrp.solve(problem)


@pytest.fixture
def moving(tmp_path):
    path = tmp_path / "moving.json"
    path.write_text(json.dumps(MOVING))
    return path


@pytest.mark.parametrize("command", ["validate", "solve -m greedy", "explain -m greedy", "front response_time cost"])
def test_commands_print_each_warning_once_and_refuse_it_if_they_are_strict(run, moving, command):
    name, *options = command.split()
    words = [name, moving, *options] if name == "front" else [name, *options, moving]
    result = run(*words).ended(0)
    assert result.err.count(f"warning: {NO_COST}\n") == result.err.count(f"warning: {NO_BANDWIDTH}") == 1
    assert "Warning" not in result.err
    strict = run(*words, "--strict").ended(2)
    assert not strict.out
    assert "2 faults in the input" in strict.err
    for place in ("weights.cost ", "weights.downtime "):
        assert place in strict.err


def test_a_batch_gives_each_warning_once_with_its_number_of_instances(run, examples, tmp_path, monkeypatch):
    def here(tasks, count, plan, jobs, place):  # starts no processes
        with RollingJournal(*place) as journal:
            for task in tasks:
                journal.write(solve_task(task))
                yield "solved"

    monkeypatch.setattr("edrp.batch.run.solve_here", here)
    source, out = tmp_path / "instances", tmp_path / "rows"
    source.mkdir()
    texts = {"a": json.dumps(MOVING), "b": json.dumps(MOVING), "c": (examples / "word_count.json").read_text()}
    for name, text in texts.items():
        (source / f"{name}.json").write_text(text)
    with pytest.warns(ProblemWarning) as told:
        rows = edrp.solve_batch(source, ["greedy", "greedy:strict=true"], n_jobs=1, out=out)
    first, second = (str(warning.message) for warning in told)
    assert first == f"{NO_COST} (2 instances)"
    assert second.startswith(NO_BANDWIDTH)
    assert rows["outcome"].to_pylist() == ["solved", "failed", "solved", "failed", "solved", "solved"]
    assert [len(warned) for warned in rows["warnings"].to_pylist()] == [2, 2, 2, 2, 0, 0]
    result = run("batch", source, "-m", "greedy", "-o", out)
    assert result.err.count(f"warning: {NO_COST} (2 instances)\n") == 1
