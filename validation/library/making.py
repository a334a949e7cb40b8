"""Makes the documents of the library from its plan, and records without answers for those that are new."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from edrp.certified.checks import packed, read_instance
from edrp.certified.library import RECORDS, SCHEMA, Library
from edrp.certified.records import BestKnown, InstanceRecord, Row, records_schema
from edrp.certified.submissions import write_row
from edrp.core.errors import Fault, InvalidInstanceError
from edrp.core.folders import alone
from edrp.core.solution import write_json
from edrp.validation.library.plan import PlannedRow


def make_library(folder: Path, rows: Iterable[PlannedRow], tell: Callable[[str], None], *, renew: bool = False) -> BestKnown:
    """Make all instances of a plan; those that are there stay as they are.

    The folder may be empty. `tell` is called with the id of each row that is made. A document that leaves out what has a default
    states the same problem, and stays. With `renew`, an instance that the plan makes otherwise today becomes a new version,
    without decisions and bounds.

    Raises
    ------
    InvalidInstanceError
        When the plan makes another instance than the library has, and it is not to be renewed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with alone(folder):
        write_json(folder / SCHEMA, dict(records_schema()))
        records = Library(folder).records if (folder / RECORDS).exists() else BestKnown()
        for planned in rows:
            problem = planned.make()
            text = problem.model_dump_json()
            file, data = packed(f"{planned.name}.json.gz", text)
            made = {"file": file, "hash": read_instance(text, planned.name).hash}
            record = InstanceRecord(**made, origin=planned.origin, licence=planned.licence, generator=planned.generator)
            known = records.rows.get(planned.name)
            if known is not None and (known.instance.hash == record.hash or Library(folder)[planned.name].problem == problem):
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
