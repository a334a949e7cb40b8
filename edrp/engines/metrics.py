"""Samples of metrics by name and labels: Prometheus's text format, answers of its HTTP API, and MBeans as Jolokia tells them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from edrp.core.errors import BackendUnavailableError
from edrp.engines.errors import EngineError

SIGNS = re.compile(r"[^a-zA-Z0-9_]")
"""Signs that are no part of a metric's name or of a label in Prometheus; the exporter of MBeans writes underscores instead."""

Labels = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Scrape:
    """Values of metrics at one time.

    Attributes
    ----------
    at : seconds since 1970; None where the document does not tell.
    values : by name and labels, the labels by their names.
    """

    at: float | None
    values: Mapping[tuple[str, Labels], float]

    def named(self, name: str) -> Iterator[tuple[dict[str, str], float]]:
        """Labels and value of every sample of that name whose value is a finite number."""
        for (other, labels), value in self.values.items():
            if other == name and math.isfinite(value):
                yield dict(labels), value

    def has_prefix(self, prefix: str) -> bool:
        """Whether any metric's name begins like that."""
        return any(name.startswith(prefix) for name, _ in self.values)


def read_text(text: str, source: str) -> Scrape:
    """The samples of Prometheus's text format.

    Raises
    ------
    EngineError
        It is something else.
    BackendUnavailableError
        The package that reads the format is missing.
    """
    try:
        from prometheus_client.parser import text_string_to_metric_families
    except ModuleNotFoundError:
        why = 'Prometheus\'s text format needs the package prometheus-client: pip install "edrp[metrics]"'
        raise BackendUnavailableError(why) from None
    try:
        samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    except (ValueError, IndexError) as error:
        why = f"is neither JSON nor Prometheus's text format ({error}); name an export of metrics"
        raise EngineError(source, why) from None
    times = [float(sample.timestamp) for sample in samples if sample.timestamp is not None]
    return Scrape(max(times, default=None), {(s.name, _labels(s.labels)): float(s.value) for s in samples})


def is_answer(content: Any) -> bool:
    """Whether a JSON document is an answer of Prometheus's HTTP API."""
    return isinstance(content, dict) and "status" in content and ("data" in content or "error" in content)


def read_answer(content: Any, source: str) -> list[Scrape]:
    """The samples of an answer of Prometheus's HTTP API to a query, by their times.

    Raises
    ------
    EngineError
        Prometheus refused the query, or the answer is of another kind.
    """
    if content["status"] != "success":
        raise EngineError(source, f"is a refusal of Prometheus: {content.get('error', content['status'])}; correct the query")
    by_time: dict[float, dict[tuple[str, Labels], float]] = {}
    try:
        if content["data"]["resultType"] not in ("vector", "matrix"):
            why = f"holds a {content['data']['resultType']}; ask for series by /api/v1/query or /api/v1/query_range"
            raise EngineError(source, why)
        for row in content["data"]["result"]:
            labels = dict(row["metric"])
            if "__name__" not in labels:
                why = "holds series without names, as functions such as rate() leave them; ask for the counters themselves"
                raise EngineError(source, why)
            key = (str(labels.pop("__name__")), _labels(labels))
            for at, value in row["values"] if "values" in row else [row["value"]]:
                by_time.setdefault(float(at), {})[key] = float(value)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise EngineError(source, f"is no answer of Prometheus's HTTP API ({error!r}); ask again") from None
    return [Scrape(at, by_time[at]) for at in sorted(by_time)]


def is_mbeans(content: Any) -> bool:
    """Whether a JSON document is what Jolokia answers, once or in bulk."""
    rows = content if isinstance(content, list) else [content]
    return bool(rows) and all(isinstance(row, dict) and "request" in row and "status" in row for row in rows)


def read_mbeans(content: Any, source: str) -> Scrape:
    """The numbers of MBeans, named as the exporter of MBeans to Prometheus names them.

    Raises
    ------
    EngineError
        Jolokia refused the request, or the answer is of another kind.
    """
    values: dict[tuple[str, Labels], float] = {}
    times: list[float] = []
    for row in content if isinstance(content, list) else [content]:
        try:
            if row["status"] != 200:
                raise EngineError(source, f"is a refusal of Jolokia: {row.get('error', row['status'])}; correct the request")
            beans = row["value"] if "*" in row["request"]["mbean"] else {row["request"]["mbean"]: row["value"]}
            times.append(float(row["timestamp"]))
            for bean, attributes in beans.items():
                values.update(_bean_values(bean, attributes))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise EngineError(source, f"is no answer of Jolokia to a read ({error!r}); ask again") from None
    return Scrape(max(times), values)


def _bean_values(bean: str, attributes: Mapping[str, Any]) -> Iterator[tuple[tuple[str, Labels], float]]:
    """The numbers of one MBean: its domain, type and attribute are the name, its other properties are the labels."""
    domain, _, rest = bean.partition(":")
    properties = dict(pair.split("=", 1) for pair in rest.split(","))
    kind = properties.pop("type")
    labels = _labels({SIGNS.sub("_", name): value for name, value in properties.items()})
    for attribute, value in attributes.items():
        if isinstance(value, int | float):
            yield (SIGNS.sub("_", f"{domain}_{kind}_{attribute}"), labels), float(value)


def merge_scrapes(scrapes: Iterable[Scrape]) -> list[Scrape]:
    """One scrape per round: those of one time, and of untimed ones all up to the next in which a sample comes again.

    Processes that are scraped one by one give a document each, which belong together.
    """
    merged: list[Scrape] = []
    for scrape in scrapes:
        last = merged[-1] if merged else None
        if last is not None and last.at == scrape.at and (scrape.at is not None or not last.values.keys() & scrape.values.keys()):
            merged[-1] = Scrape(last.at, {**last.values, **scrape.values})
        else:
            merged.append(scrape)
    return sorted(merged, key=lambda scrape: scrape.at or 0.0)


def choose_job(jobs: Sequence[str], wanted: str | None, source: str) -> str:
    """The job that is wanted, or the only one.

    Raises
    ------
    EngineError
        There is none, or several of which none is wanted.
    """
    names = sorted(set(jobs))
    if wanted is not None and wanted in names:
        return wanted
    if wanted is not None or len(names) != 1:
        held = f"holds {', '.join(names[:10])}" if names else "holds no job"
        raise EngineError(source, f"{held}; name one of them by --job" if names else f"{held}; export metrics of a running one")
    return names[0]


def _labels(labels: Mapping[str, Any]) -> Labels:
    return tuple(sorted((str(name), str(value)) for name, value in labels.items()))
