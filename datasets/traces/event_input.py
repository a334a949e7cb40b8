"""Raw keyed events as Spark reads them, converted into the columns `time`, `key` and `bytes`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from edrp.core.errors import Fault, InvalidInstanceError, NoSuchFileError
from edrp.core.spark import failure_reason
from edrp.core.wording import suggestion

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

ZONE = r"(Z|UTC|GMT|[+-]\d{1,2}:?\d{2})$"
DATE = r"^\d{4}-\d{1,2}-\d{1,2}$"
TO_THE_MINUTE = r"^\d{4}-\d{1,2}-\d{1,2}[ T]\d{1,2}:\d{2}$"
NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double")


@dataclass(frozen=True, slots=True)
class EventColumns:
    """Names of the columns of an event log.

    Attributes
    ----------
    time
        Seconds as numbers, or ISO 8601 timestamps; those without a zone are taken as UTC.
    key
        Keys that the operator partitions by.
    bytes
        Size of each event, or None when every event counts the same.
    """

    time: str = "time"
    key: str = "key"
    bytes: str | None = None


def read_events(spark: SparkSession, path: str | Path) -> DataFrame:
    """Read an event log from a Parquet or CSV file (with a header), or from a folder of such files.

    Columns of a CSV stay text: guessing their types would read everything twice.

    Raises
    ------
    InvalidInstanceError
        When there is no such file or Spark cannot read it.
    """
    source = str(path)
    try:
        frame = spark.read.option("header", True).csv(source) if _is_csv(source) else spark.read.parquet(source)
        _ = frame.columns  # over Spark Connect nothing is looked at before somebody asks
    except Exception as error:  # what Java throws reaches us as PySpark's, py4j's or gRPC's error
        raise unreadable(error, source) from None
    return frame


def unreadable(error: Exception, source: str) -> InvalidInstanceError:
    """Build the error for a file that Spark cannot read, with its reason in one sentence."""
    lines = str(error).splitlines()
    if "[PATH_NOT_FOUND]" in lines[0]:
        return NoSuchFileError(source)
    return InvalidInstanceError([Fault("events", source, f"cannot be read: {failure_reason(error)}")])


def keyed_events(frame: DataFrame, columns: EventColumns | None = None) -> DataFrame:
    """Convert events into the columns `time` (s, null where it cannot be read), `key` and, if present, `bytes`.

    Nothing is dropped: rows that cannot be read are counted where they are aggregated.

    Raises
    ------
    InvalidInstanceError
        When a column is missing or its type is no time, key or size.
    """
    columns = EventColumns() if columns is None else columns
    types = dict(frame.dtypes)
    names_by_role = {"time": columns.time, "key": columns.key, **({"bytes": columns.bytes} if columns.bytes else {})}
    present = ", ".join(frame.columns)
    missing = [
        Fault(f"{role} column", name, f"there is no such column among {present}{suggestion(name, frame.columns)}")
        for role, name in names_by_role.items()
        if name not in types
    ]
    if missing:
        raise InvalidInstanceError(missing)
    chosen = [_seconds(frame, columns.time, types).alias("time"), _key(frame, columns.key, types).alias("key")]
    if columns.bytes:
        chosen.append(frame[_quoted(columns.bytes)].try_cast("double").alias("bytes"))
    return frame.select(*chosen)


def _seconds(frame: DataFrame, name: str, types: dict[str, str]) -> Column:
    """Convert times into seconds: numbers as given, timestamps since 1970; null where there is no time."""
    import pyspark.sql.functions as sf

    column, kind = frame[_quoted(name)], types[name]
    if kind in NUMBERS or kind.startswith("decimal"):
        seconds = column.cast("double")
    elif kind == "timestamp":
        seconds = sf.unix_micros(column) / 1e6
    elif kind == "timestamp_ntz":
        seconds = sf.timestamp_diff("MICROSECOND", sf.lit("1970-01-01 00:00:00").cast("timestamp_ntz"), column) / 1e6
    elif kind == "date":
        seconds = sf.unix_date(column) * 86_400.0
    elif kind == "string":
        seconds = sf.coalesce(column.try_cast("double"), _seconds_of_text(sf.trim(column)))
    else:
        raise InvalidInstanceError([Fault("time column", name, f"holds {kind}; give seconds or timestamps")])
    return sf.when(sf.abs(seconds) < 1e15, seconds)  # neither NaN nor infinite


def _seconds_of_text(text: Column) -> Column:
    """Convert an ISO timestamp into seconds since 1970; the time zone of the session plays no part."""
    import pyspark.sql.functions as sf

    zoned = (
        sf.when(text.rlike(DATE), sf.concat(text, sf.lit("T00:00:00Z")))
        .when(text.rlike(TO_THE_MINUTE), sf.concat(text, sf.lit(":00Z")))
        .when(text.rlike(ZONE), text)
        .otherwise(sf.concat(text, sf.lit("Z")))
    )
    return sf.unix_micros(zoned.try_cast("timestamp")) / 1e6


def _key(frame: DataFrame, name: str, types: dict[str, str]) -> Column:
    """Convert keys: whole numbers to 64 bits, everything else to text; an empty text is no key."""
    import pyspark.sql.functions as sf

    column = frame[_quoted(name)]
    if types[name] in ("tinyint", "smallint", "int", "bigint"):
        return column.cast("bigint")
    if types[name].startswith(("array", "map", "struct")):
        raise InvalidInstanceError([Fault("key column", name, f"holds {types[name]}; a key is a text or a number")])
    return sf.nullif(column.cast("string"), sf.lit(""))


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _is_csv(source: str) -> bool:
    folder = Path(source)
    names = [path.name for path in folder.iterdir()] if folder.is_dir() else [source.rstrip("/")]
    return any(name.endswith((".csv", ".csv.gz", ".csv.bz2", ".csv.zst")) for name in names)
