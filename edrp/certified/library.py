"""The library of instances: `edrp.library["kind/name"]`, suites of it, and its verification."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed
from pydantic import ValidationError

from edrp.certified.checks import Instance, Judgement, check_row, read_row_instance, read_stored, wrong
from edrp.certified.records import BestKnown, Row, Size
from edrp.core.errors import InvalidInstanceError
from edrp.core.files import read_whole
from edrp.core.instances import loads_solution
from edrp.core.kinds import get_kind
from edrp.core.problem import Problem
from edrp.core.wording import invalid, nearest

RECORDS, SCHEMA = "bks.json", "bks.schema.json"
"""Files of a library: the records, and their JSON Schema."""

FOLDER = Path(__file__).parents[1] / "datasets" / "library"
"""The library of this package."""


@dataclass(frozen=True)
class CertifiedInstance:
    """An instance of the library: its id, what is known of it, and its files, which are read when they are first asked for.

    Examples
    --------
    >>> import edrp
    >>> row = edrp.library["migration/uniform-64-0"]
    >>> row.record.status, row.problem.kind, row.solution.objective == row.record.best.value
    ('full proof', 'migration', True)
    """

    name: str
    record: Row
    folder: Path

    @cached_property
    def instance(self) -> Instance:
        """The instance as its file states it."""
        return read_row_instance(self.folder, self.name, self.record)

    @property
    def problem(self) -> Problem:
        """The problem."""
        return self.instance.problem

    @cached_property
    def solution(self) -> Any:
        """The best solution that is known, or None."""
        best = self.record.best
        file = None if best is None else best.file
        return None if file is None else loads_solution(read_stored(self.folder, file), file.path)

    @cached_property
    def certificate(self) -> str | None:
        """The certificate of the solution, or None."""
        bound = self.record.bound
        file = None if bound is None else bound.file
        return None if file is None else read_stored(self.folder, file)


class Library(Mapping[str, CertifiedInstance]):
    """Instances with the best decisions and bounds that are known, by id.

    Parameters
    ----------
    folder
        Folder that holds `bks.json` and the files that it names; default: the library of this package.

    Examples
    --------
    >>> import edrp
    >>> edrp.library["migrations/uniform-64-0"]
    Traceback (most recent call last):
    edrp.core.errors.InvalidInstanceError: 1 fault in the input
      row: is no row of the library; did you mean 'migration/uniform-64-0'? (got migrations/uniform-64-0)
    """

    def __init__(self, folder: str | Path = FOLDER) -> None:
        self.folder = Path(folder)

    @cached_property
    def records(self) -> BestKnown:
        """All records; `refresh` reads them again.

        Raises
        ------
        InvalidInstanceError
            When there is no library in the folder, or `bks.json` is not as its schema says; every fault with its place.
        """
        path = self.folder / RECORDS
        text = read_whole(path)
        try:
            records: BestKnown = BestKnown.__pydantic_validator__.validate_json(text, strict=True)
        except ValidationError as error:
            raise invalid(error, BestKnown, str(path)) from None
        return records

    def refresh(self) -> None:
        """Forget the records, which are read again when they are next needed."""
        self.__dict__.pop("records", None)

    def __getitem__(self, name: str) -> CertifiedInstance:
        if name not in self.records.rows:
            raise unknown_row(name, self.records)
        return CertifiedInstance(name, self.records.rows[name], self.folder)

    def __contains__(self, name: object) -> bool:
        return name in self.records.rows  # a mapping would wait for a KeyError

    def __iter__(self) -> Iterator[str]:
        return iter(self.records.rows)

    def __len__(self) -> int:
        return len(self.records.rows)

    @property
    def kinds(self) -> list[str]:
        """Kinds of the rows, each once."""
        return list(dict.fromkeys(name.partition("/")[0] for name in self))

    def select(self, kind: str | None = None, size: Size | None = None) -> list[CertifiedInstance]:
        """Rows of a kind and size, as `suite` chooses them."""
        if kind is not None:
            get_kind(kind)  # refuses an unknown one
        rows = (row for name, row in self.items() if kind in (None, name.partition("/")[0]))
        return [row for row in rows if size in (None, row.record.size)]

    def suite(self, kind: str | None = None, size: Size | None = None) -> dict[str, Problem]:
        """Problems of a kind and size by id, as `edrp.solve_batch` takes them.

        Parameters
        ----------
        kind
            Kind of the problems; None for all.
        size
            "second", "minute" or "hour": closed within 1, 60 or more units of work; "open": not closed. None for all.

        Raises
        ------
        EdrpError
            For an unknown kind, and where a file is damaged.

        Examples
        --------
        >>> import edrp
        >>> problems = edrp.library.suite("migration-policy", size="second")
        >>> {problem.kind for problem in problems.values()}
        {'migration-policy'}
        """
        return {row.name: row.problem for row in self.select(kind, size)}

    def verify(
        self, names: Iterable[str] | None = None, *, n_jobs: int = 1, progress: Callable[[int, int], None] | None = None
    ) -> list[Judgement]:
        """Check rows, by default all: hashes, decisions by two evaluators, certificates, and that sides do not cross.

        `n_jobs` is the number of processes, as joblib counts them; `progress` is called with the number of rows that are done,
        and of all.

        Raises
        ------
        InvalidInstanceError
            For an unknown row, and where `bks.json` itself cannot be read.
        """
        rows = [self[name] for name in (self if names is None else names)]
        calls = (delayed(check_row)(row.folder, row.name, row.record) for row in rows)
        judgements: list[Judgement] = []
        for judgement in Parallel(n_jobs=n_jobs, return_as="generator")(calls):
            judgements.append(judgement)
            if progress is not None:
                progress(len(judgements), len(rows))
        return judgements

    def strangers(self) -> list[str]:
        """Files of the folder that no record names, such as those of a submission that was stopped."""
        known = {RECORDS, SCHEMA, *(file.path for row in self.records.rows.values() for file in row.files)}
        files = (path.relative_to(self.folder).as_posix() for path in self.folder.rglob("*") if path.is_file())
        return sorted(file for file in files if file not in known)


def unknown_row(name: Any, records: BestKnown) -> InvalidInstanceError:
    """The error for an id that no row has, with the one that was probably meant."""
    meant = nearest(str(name), records.rows)
    advice = f"did you mean {meant!r}?" if meant else "`edrp library list` names them"
    return wrong("row", name, f"is no row of the library; {advice}")


library = Library()
"""The library of this package."""
