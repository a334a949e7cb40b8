"""A topology and a cluster of Storm as one problem."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from edrp.core.errors import Fault, InvalidInstanceError
from edrp.datasets.placement.storm_documents.inventory import read_inventory
from edrp.datasets.placement.storm_documents.load_capture import read_load_capture
from edrp.datasets.placement.storm_documents.serialized import read_serialized
from edrp.placement.latency_aware import LatencyAwareProblem

SERIALIZED = ".ser"


def storm_problem(
    topology: str | Path, cluster: str | Path, conf: str | Path | None = None, **fields: Any
) -> LatencyAwareProblem:
    """Read where a topology of Storm could run on a cluster.

    Parameters
    ----------
    topology
        `stormcode.ser` (anything that ends in `.ser`; see `read_serialized`), or else the YAML file of a captured load
        (`read_load_capture`).
    cluster
        Hosts by rack (`read_inventory`).
    conf
        `stormconf.ser` of a serialized topology.
    **fields
        Further fields of the problem, such as `weights`, `utilisation` and `current`.

    Raises
    ------
    InvalidInstanceError
        All faults of the first file that has some, or of the problem.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     load, cluster = Path(folder, "load.yaml"), Path(folder, "cluster.yaml")
    ...     _ = load.write_text("spouts: [{id: read, parallelism: 3}]")
    ...     _ = cluster.write_text("[[4, r001, 12, 8192, 400]]")
    ...     problem = storm_problem(load, cluster)
    >>> problem.application.operators[0].instances, len(problem.network.nodes)
    (3, 4)
    """
    serialized = Path(topology).suffix == SERIALIZED
    if conf is not None and not serialized:
        why = f"goes with a serialized topology (a file that ends in {SERIALIZED}); a captured load has its configuration inside"
        raise InvalidInstanceError([Fault("conf", str(conf), why)])
    application = read_serialized(topology, conf) if serialized else read_load_capture(topology)
    return LatencyAwareProblem(application=application, network=read_inventory(cluster), **fields)
