"""What `topohub` does not say of its data: minutes taken for decimals, drawings, and nodes that are left out."""

import warnings
from importlib.resources import files

import pytest
import topohub
from topohub.graph import haversine

from edrp import datasets
from edrp.core.errors import InvalidInstanceError, ProblemWarning
from edrp.datasets.families.placement.networks import SNDLIB
from edrp.datasets.placement.topologies import DRAWINGS, MINUTES, decimal_degrees, lengths, nodes_left_out


def described(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        return topohub.get(name)


def names(group):
    return sorted(f"{group}/{file.name.removesuffix('.json')}" for file in files(topohub).joinpath("data", group).iterdir())


def positions(network, convert=float):
    return {node["name"]: tuple(map(convert, node["pos"])) for node in described(f"sndlib/{network}")["nodes"]}


def test_networks_in_minutes_are_those_without_decimals_above_59():
    decimals = {name: [round(100 * abs(x)) % 100 for place in positions(name).values() for x in place] for name in SNDLIB}
    in_minutes = [name for name, found in decimals.items() if max(found) < 60]
    assert [f"sndlib/{name}" for name in in_minutes] == list(MINUTES)
    assert sum(len(decimals[name]) for name in in_minutes) == 126
    pdh = described("sndlib/pdh")
    changes = [new / edge["dist"] for new, edge in zip(lengths("sndlib/pdh", pdh), pdh["edges"], strict=True)]
    assert min(changes) == pytest.approx(1 / 1.9, abs=0.01)
    network = datasets.topology("sndlib/dfn-bwin", round_trip=False)
    assert network.delay("Karlsruhe", "Stuttgart") == pytest.approx(0.000314, abs=5e-7)


MAPPED_TWICE = [("dfn-bwin", "germany50", 10), ("nobel-eu", "cost266", 28), ("nobel-us", "janos-us", 4)]


@pytest.mark.parametrize(("name", "known", "common"), MAPPED_TWICE)
def test_cities_lie_where_other_networks_have_them_if_minutes_are_read(name, known, common):
    there, off = positions(known), []
    for read in (decimal_degrees, float):
        here = {city.replace("-", ""): place for city, place in positions(name, read).items()}
        off.append([haversine(here[city], there[city]) for city in here.keys() & there.keys()])
    assert len(off[0]) == common
    assert max(off[0]) < 25, "kilometres"
    assert sum(off[0]) < sum(off[1]) / 2


def test_every_network_of_sndlib_is_on_a_map_or_refused_with_a_reason_that_its_positions_show():
    assert names("sndlib") == sorted([*(f"sndlib/{name}" for name in SNDLIB), *DRAWINGS])
    for name, reason in DRAWINGS.items():
        with pytest.raises(InvalidInstanceError, match=rf"has no lengths: {reason}; take another.*'{name}'"):
            datasets.topology(name)
        off_the_earth = max(y for _, y in positions(name.removeprefix("sndlib/")).values()) > 90
        assert off_the_earth == ("latitudes beyond 90°" in reason)
    assert all(x == int(x) <= 49 and y == int(y) <= 49 for x, y in positions("india35").values())
    berlin = positions("brain")
    assert haversine(berlin["HU"], berlin["TU"]) > 100, "two universities in one city"


def test_networks_of_the_zoo_say_how_many_nodes_they_lack():
    lacking = [nodes_left_out(name, described(name)) for name in names("topozoo")]
    assert (len(lacking), sum(map(bool, lacking))) == (203, 129)
    with pytest.warns(ProblemWarning, match="BeyondTheNetwork lacks 24 of 53 nodes of the Topology Zoo"):
        datasets.topology("topozoo/BeyondTheNetwork")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        datasets.topology("topozoo/Ans")
