"""The range of numbers that documents take: stated for each unit, and checked at reading, with place and value."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import edrp
from edrp.core.document import MAX_COUNT, RANGES
from edrp.core.instances import loads, schema
from edrp.core.kinds import kinds
from edrp.errors import InvalidInstanceError, ProblemTooLargeError
from edrp.placement.latency import MAX_LATENCY, Mm1Latency, PolynomialLatency

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"

PLACES = {
    "s": ("edge_to_cloud.json", "network.nodes[0].spawn_time"),
    "h": ("consolidate.json", "changes.hours"),
    "bytes": ("word_count.json", "application.operators[0].state_size"),
    "B": ("migration.json", "state_size[0]"),
    "bytes/s": ("mapping.json", "network.links[0].bandwidth"),
    "tuples": ("word_count.json", "limits.network_usage"),
    "tuples/s": ("word_count.json", "application.operators[0].external_rate"),
    "money": ("enactment.json", "host_types[0].price"),
    "money/h": ("word_count.json", "limits.cost"),
    "money/h per tuple/s": ("word_count.json", "network.links[0].cost"),
    "money/bytes": ("link_allocation.json", "flows[0].price"),
    "1": ("word_count.json", "application.operators[0].resources"),
    "units/s": ("contention.json", "network.nodes[0].capacity.cpu"),
    "units/tuple": ("contention.json", "application.operators[0].usage.cpu.per_tuple"),
    "as the operators' needs": ("enactment.json", "host_types[0].resources"),
    "1/money": ("enactment.json", "weights.host_cost"),
    "1/ms": ("edge_to_cloud.json", "weights.latency"),
    "s/bytes": ("mapping.json", "task.components[0].cpu_factor"),
    "s per (tuples/s)^power": ("word_count.json", "application.operators[0].latency"),
}
"""A field of each unit in an example, and the place that is named."""


def with_number(file: str, place: str, number: Any) -> str:
    document = json.loads((EXAMPLES / file).read_text())
    parts = place.replace("[", ".").replace("]", "").split(".")
    holder = document
    for part in parts[:-1]:
        holder = holder[int(part)] if part.isdigit() else holder.setdefault(part, {})
    key: Any = int(parts[-1]) if parts[-1].isdigit() else parts[-1]
    if key == "latency" and "operators" in parts:
        number = {"model": "polynomial", "coefficients": [0.0, number]}
    holder[key] = number
    return json.dumps(document)


def faults(text: str) -> dict[str, str]:
    try:
        loads(text)
    except InvalidInstanceError as error:
        return {fault.place: f"{fault.why} (got {fault.value})" for fault in error.faults}
    return {}


def numbers(described: Any, place: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    if isinstance(described, dict):
        if described.get("type") in ("number", "integer"):
            yield place, described
        for name, below in described.items():
            yield from numbers(below, (*place, name))
    elif isinstance(described, list):
        for index, below in enumerate(described):
            yield from numbers(below, (*place, str(index)))


@pytest.mark.parametrize("kind", kinds())
def test_every_number_of_every_kind_has_a_stated_range(kind):
    unbounded = [
        ".".join(place)
        for place, number in numbers(schema(kind))
        if not ({"maximum", "exclusiveMaximum"} & number.keys())
        or (number["type"] == "number" and not {"minimum", "exclusiveMinimum"} & number.keys())
    ]
    assert not unbounded


@pytest.mark.parametrize("unit", RANGES)
def test_the_range_of_each_unit_ends_where_it_says(unit):
    file, place = PLACES[unit]
    smallest, largest = RANGES[unit]
    for number in (smallest, largest):
        assert not any(name.startswith(place) for name in faults(with_number(file, place, number))), number
    beyond = faults(with_number(file, place, largest * 1.01))
    (why,) = [why for name, why in beyond.items() if name.startswith(place)]
    assert "must be at most" in why
    assert f"(got {largest * 1.01!r})" in why
    if smallest:
        (why,) = [why for name, why in faults(with_number(file, place, smallest * 0.99)).items() if name.startswith(place)]
        assert f"at least {smallest:g}" in why


def test_the_page_of_units_lists_every_range():
    page = (EXAMPLES.parent / "docs" / "reference" / "units.md").read_text()
    for unit, (smallest, largest) in RANGES.items():
        assert (float(f"{smallest:g}"), float(f"{largest:g}")) == (smallest, largest), "the page says it exactly"
        if unit != "as the operators' needs":
            assert f"| {unit} | {smallest:g} | {largest:g} |" in page
    assert f"at most {MAX_COUNT:,}" in page


def test_numbers_of_thousands_of_digits_are_refused():
    long = with_number("migration.json", "nodes", 0).replace('"nodes": 0', '"nodes": ' + "7" * 10_000)
    assert "number out of range" in faults(long)["document"]
    shorter = long.replace("7" * 10_000, "7" * 1_000)
    assert faults(shorter)["nodes"] == "must be at most 10000 (got a whole number of about 1000 digits)"


def test_loads_that_multiply_beyond_all_rates_are_refused_where_they_arise():
    chain = {
        "kind": "enactment",
        "application": {
            "operators": [
                {"name": f"o{i}", "processing_duration": 1e-6, "external_rate": float(i == 0), "selectivity": 1e9}
                for i in range(4)
            ],
            "streams": [{"source": f"o{i}", "target": f"o{i + 1}"} for i in range(3)],
        },
        "host_types": [{"name": "h", "resources": 1, "price": 1, "billing_time": 600}],
    }
    assert list(faults(json.dumps(chain))) == ["application.operators[2]", "application.operators[3]"]


@pytest.mark.parametrize(
    ("file", "place", "number", "said"),
    [
        ("enactment", "application.operators[0].external_rate", 1e9, "at most 100,000 instances are taken"),
        ("enactment_scenario", "emission_interval", 1e-9, "emissions in the run; at most 10,000,000 are simulated"),
        ("enactment_scenario", "monitoring_interval", 1.5e-5, "samples in a round; at most 100,000 are simulated"),
    ],
)
def test_what_would_take_for_ever_is_refused(file, place, number, said):
    found = faults(with_number(f"{file}.json", place, number))
    assert said in found[place.removesuffix(".external_rate")]


def test_latencies_beyond_all_times_count_as_overload():
    assert Mm1Latency(service_rate=10.0).at(10.0 - 1e-15) == float("inf")
    assert Mm1Latency(service_rate=10.0).at(9.0) == 1.0
    assert PolynomialLatency(coefficients=[0.0, 1.0]).at(2 * MAX_LATENCY) == float("inf")


def test_what_is_reported_may_be_of_any_magnitude():
    """A solution holds sums and differences of what a problem holds; reading it must not fail for that."""
    solution = edrp.solve(edrp.load(EXAMPLES / "migration.json"))
    document = copy.deepcopy(solution.to_document())
    document["objective"], document["bound"], document["metrics"]["moved_state"] = 3e15, 1e-17, 1e-17
    assert type(solution).model_validate_json(json.dumps(document)).objective == 3e15


def test_a_program_beyond_memory_is_refused_before_it_is_built():
    from edrp.core.program import Program

    program = Program()
    with pytest.raises(ProblemTooLargeError, match=r"1,000,000,000 columns.*'many' included, need"):
        program.add_columns("many", (100_000, 10_000))
    with pytest.raises(ProblemTooLargeError, match=r"100,000,000 rows.*'empty' included, need"):
        program.add_rows("empty", 100_000_000, [([0, 1], [0, 1], 1.0)])
    columns = program.add_columns("some", 20_000)
    with pytest.raises(ProblemTooLargeError, match=r"400,000,000 nonzeros, block 'dense' included, need"):
        program.add_rows("dense", 20_000, [(range(20_000), columns[:, None], 1.0)])
