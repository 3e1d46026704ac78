"""Means with intervals out of a run's records, failures by cause, and two systems compared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from kgtable.errors import UsageError
from kgtable.evaluation.records import Record
from kgtable.evaluation.run import Run
from kgtable.evaluation.statistics import Comparison, Interval, compare, mean_interval

NAMES: Mapping[str, str] = {
    "mrr": "MRR",
    "ndcg@10": "nDCG@10",
    "no_table": "no gold table",
    "no_cell": "no gold cell",
    "exact": "exact match",
    "contained": "containment",
    "f1": "token F1",
    "numeric": "numeric match",
    "fact": "fact accuracy",
    "match": "right (deterministic)",
    "verified": "verified",
    "judged": "weighted accuracy",
    "agreement": "judge agrees",
}


def metric_name(metric: str) -> str:
    """A metric's name for people.

    >>> metric_name("recall@30"), metric_name("matched_cells@100")
    ('Recall@30', 'matched cells@100')
    """
    if metric in NAMES:
        return NAMES[metric]
    name = metric.replace("_", " ")
    return name.capitalize() if metric.startswith(("recall", "precision")) else name


def means(records: Sequence[Record]) -> dict[str, Interval]:
    """Each metric's mean over the questions that have it, in the order in which metrics appear."""
    names = dict.fromkeys(name for record in records for name in record.scores)
    return {
        name: mean_interval([record.scores[name] for record in records if name in record.scores])
        for name in sorted(names, key=_place)
    }


def causes(records: Iterable[Record]) -> dict[str, list[str]]:
    """The ids of the questions that failed, or of the tables, by stage and kind of error."""
    found: dict[str, list[str]] = {}
    for record in records:
        for failure in record.failures:
            found.setdefault(f"{failure.stage}: {failure.cause}", []).append(failure.table or record.question)
    return dict(sorted(found.items()))


def compare_records(first: Sequence[Record], second: Sequence[Record]) -> dict[str, Comparison]:
    """How `second` differs from `first` in each metric, over the questions that both have.

    Raises `UsageError` where they have no question in common.
    """
    known = {record.question: record.scores for record in first}
    pairs = [(known[record.question], record.scores) for record in second if record.question in known]
    if not pairs:
        raise UsageError("The two runs have no question in common.", hint="Compare runs of one split.")
    names = sorted({name for one, other in pairs for name in one.keys() & other.keys()}, key=_place)
    return {
        name: compare(
            [one[name] for one, other in pairs if name in one and name in other],
            [other[name] for one, other in pairs if name in one and name in other],
        )
        for name in names
    }


def latency(records: Sequence[Record]) -> dict[str, dict[str, float]]:
    """Median and 95th percentile of each stage in milliseconds."""
    stages = dict.fromkeys(stage for record in records for stage in record.ms)
    found: dict[str, dict[str, float]] = {}
    for stage in stages:
        times = sorted(record.ms[stage] for record in records if stage in record.ms)
        found[stage] = {
            "median": times[len(times) // 2],
            "p95": times[min(len(times) - 1, len(times) * 95 // 100)],
        }
    return found


def result_json(run: Run) -> dict[str, Any]:
    """The result of a run: settings, means, failures and every question. No time, no cost, no date.

    Two runs over the same graph give the same object, as far as the model says the same.
    """
    found = []
    for system in run.plan.systems:
        records = run.of(system)
        found.append(
            {
                **system.to_json(),
                "scores": {name: asdict(interval) for name, interval in means(records).items()},
                "failures": causes(run.with_preparation(system)),
                "questions": [_question_json(record) for record in records],
            }
        )
    settings = run.plan.settings()
    del settings["systems"]
    return {**settings, "systems": found}


def records_of(result: Mapping[str, Any], system: str | None = None) -> tuple[str, list[Record]]:
    """The records in a result file, of the named system or else its first one, and its name."""
    try:
        systems = {item["name"]: item["questions"] for item in result["systems"]}
        name: str = system if system is not None and system in systems else next(iter(systems))
        return name, [Record(name, item["id"], scores=item["scores"]) for item in systems[name]]
    except (KeyError, TypeError, StopIteration) as error:
        raise UsageError(
            "This is no result of kgtable eval.", hint="Give a file written by --json."
        ) from error


def _question_json(record: Record) -> dict[str, Any]:
    item: dict[str, Any] = {
        "id": record.question,
        "tables": list(record.tables),
        "scores": dict(record.scores),
    }
    if record.answer is not None:
        item["answer"] = record.answer
    if record.verdict is not None:
        item["verdict"] = record.verdict
    if record.failures:
        # messages hold what differs from run to run, such as ports and request ids
        item["failures"] = [{"stage": found.stage, "cause": found.cause} for found in record.failures]
    return item


_ORDER = ("recall", "precision", "any", "all", "mrr", "ndcg", "no_table", "cells", "matched_cells", "no_cell")


def _place(metric: str) -> tuple[int, int, str]:
    kind, _, number = metric.partition("@")
    if kind in _ORDER:
        return _ORDER.index(kind), int(number or 0), metric
    named = list(NAMES)
    return len(_ORDER) + (named.index(metric) if metric in named else len(named)), 0, metric
