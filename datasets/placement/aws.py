"""Latencies between the regions of a public cloud, as measured in 2020."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError

import networkx as nx
import numpy as np

from edrp.core.arrays import Floats
from edrp.core.errors import Fault, InvalidInstanceError
from edrp.datasets.traces.data_folder import data_file
from edrp.placement.routes import read_delay

AWS_FILE = "aws_regions_latency_2020.graphml"
"""Directed graph of regions; each edge has the `latency` of a ping from one to the other, in milliseconds."""


def aws_delays(data: str | Path | None = None) -> tuple[tuple[str, ...], Floats]:
    """Read regions and one-way delays between them: half of the round trip, the mean of both directions.

    A ping cannot tell its two ways apart; the directions differ by 2 % in the median because they were measured
    at different times.

    Parameters
    ----------
    data
        Folder that holds `aws_regions_latency_2020.graphml`; default: the environment variable `EDRP_DATA`.

    Returns
    -------
    names : tuple of str
        The 20 regions.
    delay : numpy.ndarray
        Seconds, shape (regions, regions), symmetric.

    Raises
    ------
    InvalidInstanceError
        No folder given, no such file in it, or pairs of regions without a latency.
    """
    path = data_file(AWS_FILE, data)
    try:
        graph = nx.read_graphml(path)
    except (ParseError, nx.NetworkXError, ValueError, KeyError) as error:
        raise InvalidInstanceError([Fault("file", "", f"is no graph in GraphML: {error}")], str(path)) from None
    names = tuple(str(name) for name in graph)
    index = {name: position for position, name in enumerate(graph)}
    milliseconds = np.full((len(names), len(names)), np.nan)
    edges: Any = graph.to_directed().edges(data="latency")
    for u, v, value in edges:
        milliseconds[index[u], index[v]] = read_delay(value)
    np.fill_diagonal(milliseconds, 0.0)
    missing = np.argwhere(~(milliseconds >= 0))
    if missing.size or not names:
        why = "must have a latency in milliseconds, at least 0"
        faults = [Fault("edge", f"{names[u]} → {names[v]}", why) for u, v in missing]
        raise InvalidInstanceError(faults or [Fault("graph", "", "has no regions")], str(path))
    return names, (milliseconds + milliseconds.T) / 4e3
