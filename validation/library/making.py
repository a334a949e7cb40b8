"""Makes the documents of the library from its plan, and records without answers for those that are new."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from pathlib import Path

from edrp.certified.checks import Instance, packed, read_instance
from edrp.certified.library import RECORDS, SCHEMA, read_records
from edrp.certified.records import BestKnown, InstanceRecord, Row, StoredFile, records_schema
from edrp.certified.submissions import write_row
from edrp.core.errors import Fault, InvalidInstanceError
from edrp.core.folders import alone
from edrp.core.problem import Problem
from edrp.core.solution import write_json
from edrp.validation.library.plan import PlannedRow


def made_text(problem: Problem) -> str:
    """The text of an instance file of the library."""
    return problem.model_dump_json()


def instance_record(name: str, text: str, *, origin: str, licence: str, generator: str = "") -> tuple[InstanceRecord, bytes]:
    """The record of an instance, and its file."""
    data = packed(text)
    file = StoredFile(path=f"{name}.json.gz", sha256=hashlib.sha256(data).hexdigest())
    hash_ = read_instance(text, name).hash
    return InstanceRecord(file=file, hash=hash_, origin=origin, licence=licence, generator=generator), data


def make_library(folder: Path, rows: Iterable[PlannedRow], tell: Callable[[str], None], *, renew: bool = False) -> BestKnown:
    """Make all instances of a plan; those that are there stay as they are.

    Parameters
    ----------
    folder
        Folder of the library; it may be empty.
    tell
        Called with the id of each row that is made.
    renew
        Whether an instance that the plan makes otherwise today becomes a new version, without decisions and bounds.

    Raises
    ------
    InvalidInstanceError
        When the plan makes another instance than the library has, and it is not to be renewed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with alone(folder):
        write_json(folder / SCHEMA, dict(records_schema()))
        records = read_records(folder) if (folder / RECORDS).exists() else BestKnown()
        for planned in rows:
            text = made_text(planned.make())
            record, data = instance_record(
                planned.name, text, origin=planned.origin, licence=planned.licence, generator=planned.generator
            )
            known = records.rows.get(planned.name)
            if known is not None and known.instance.hash == record.hash:
                stated = known.instance.replace(origin=record.origin, licence=record.licence, generator=record.generator)
                if stated != known.instance:
                    records = write_row(folder, records, planned.name, known.replace(instance=stated), {})
                continue
            if known is not None and not renew:
                why = f"is made otherwise today: its hash is {record.hash}, that of the library {known.instance.hash}"
                raise InvalidInstanceError([Fault(planned.name, "", why)], str(folder))
            if known is not None:
                earlier = (*known.instance.earlier, known.instance.hash)
                record = record.replace(version=known.instance.version + 1, earlier=earlier)
            records = write_row(folder, records, planned.name, Row(instance=record), {record.file.path: data})
            tell(planned.name)
    return records


def regenerated(planned: PlannedRow) -> Instance:
    """The instance that the plan makes today."""
    return read_instance(made_text(planned.make()), planned.name)
