"""Every number in a table of the command line has a unit, in its row or in the head of its column."""

import json
import re

import pytest

from edrp.core.instances import schema
from edrp.core.kinds import get_kind

SHOWN = [
    ("solve word_count.json", ["response_time 0.0241111 s", "cost 5.27 money/h"]),
    ("solve migration.json", ["objective 600000000 B;", "sends (B) receives (B)", "moved_state 6e+08 B", "moved_share 0.12 1"]),
    ("solve migration_policy.json", ["projected_cost 2.11892e+09 B"]),
    ("solve migration_sequence.json", ["objective 6 B;", "moved (B)"]),
    ("solve enactment.json", ["queued (items) late (items)", "host_cost 4 money", "violations 0 items", "free_cpu 0.468628 1"]),
    ("solve leasing.json", ["objective 24 money;", "paid (s) units (BTU) price (money)", "lease_cost 24 money", "units 8 BTU"]),
    ("solve link_allocation.json", ["objective 0.095 money/s;", "rate (bytes/s)", "forwarding 0.095 money/s"]),
    ("solve mapping.json", ["rate (bytes/s)", "cost 4 money", "links 4 1"]),
    ("explain reconfigure.json", ["seconds share", "money/h share", "limits.cost 7.39 20 money/h", "node cloud 6 8 as given"]),
    ("plan migration.json", ["start (s) lasts (s) from → to (B)"]),
    (
        "solve enactment_scenario.json --method threshold-policy",
        ["total cost (money)", "Items by operator", "paid_units 19 BTU", "time_to_adapt 211.969 s"],
    ),
]


@pytest.mark.parametrize(("words", "shown"), SHOWN)
def test_tables_name_their_units(run, examples, words, shown):
    result = run(*(examples / word if word.endswith(".json") else word for word in words.split())).ended(0)
    text = " ".join(result.out.split())
    for part in shown:
        assert part in text
    assert not re.search(r"metric +value *$", result.out, re.MULTILINE)


@pytest.mark.parametrize("file", ["enactment", "leasing", "link_allocation", "mapping", "migration", "migration_policy"])
def test_units_of_metrics_are_those_of_the_schema(run, examples, tmp_path, file):
    result = run("solve", examples / f"{file}.json", "-o", tmp_path / "solution.json")
    solution = json.loads((tmp_path / "solution.json").read_text())
    rows = dict(re.findall(r"^(\w[\w ]*?)  +[\d.e+-]+  (\S+) *$", result.out.partition("metric ")[2], re.MULTILINE))
    described = schema(solution["kind"])["properties"]["metrics"]["unit"]
    for name in solution["metrics"]:
        unit = rows.get(name) or rows[name.replace("_", " ")]
        assert unit == "1" if name not in described else re.search(rf"{name}((,| and) \w+)* {unit},", described)


def test_a_kind_without_a_display_of_its_own_shows_its_metrics_with_units(run, examples, monkeypatch):
    monkeypatch.setitem(vars(get_kind("migration")), "display", None)
    assert "moved_state 6e+08 B" in " ".join(run("solve", examples / "migration.json").out.split())


def test_families_are_listed_with_what_their_sizes_count(run):
    assert re.search(r"^migration +uniform +64 tasks +2 tasks ", run("generate", "migration", "--list").out, re.MULTILINE)
