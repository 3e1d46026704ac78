"""Summary of a run: means with bootstrap intervals, failures by cause, comparison of two systems, means by size;
as JSON, as Markdown, and as tables for the report.

A run with `scaling` offers each question only its gold tables, and measures prompts, encoded texts and times by
the size of these tables (TableRAG, sections 3.3 and 4.6).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean, median
from typing import Any

import numpy as np
import numpy.typing as npt

from kgtable.errors import UsageError
from kgtable.evaluation.records import Record, spent
from kgtable.evaluation.run import Run
from kgtable.evaluation.run_plan import System

Numbers = npt.NDArray[np.float64]

SEED = 20_240_229
RESAMPLES = 2_000
LEVEL = 0.95
DRAWS_AT_ONCE = 1_000_000


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with its confidence interval and number of questions."""

    mean: float
    low: float
    high: float
    n: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """Mean difference of two runs on the same questions, with a paired bootstrap test.

    `p` is the two-sided bootstrap p-value; `wins`, `losses` and `ties` count questions.
    """

    difference: Interval
    p: float
    wins: int
    losses: int
    ties: int


def mean_interval(scores: Sequence[float]) -> Interval:
    """Mean with its percentile bootstrap interval (fixed seed).

    >>> mean_interval([1.0, 1.0])
    Interval(mean=1.0, low=1.0, high=1.0, n=2)
    """
    if not scores:
        return Interval(0.0, 0.0, 0.0, 0)
    means = _resampled_means(np.asarray(scores, dtype=np.float64))
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(float(np.mean(scores)), float(low), float(high), len(scores))


def compare(first: Sequence[float], second: Sequence[float]) -> Comparison:
    """Compare two systems question by question (paired bootstrap).

    Raises `ValueError` if the runs do not have the same number of questions.
    """
    if len(first) != len(second):
        raise ValueError("the two runs have different numbers of questions")
    differences = np.asarray(second, dtype=np.float64) - np.asarray(first, dtype=np.float64)
    interval = mean_interval([float(value) for value in differences])
    if not differences.size or not differences.any():
        return Comparison(interval, 1.0, 0, 0, len(differences))
    means = _resampled_means(differences)
    tail = min(float(np.mean(means <= 0)), float(np.mean(means >= 0)))
    return Comparison(
        interval,
        min(1.0, 2 * max(tail, 1 / RESAMPLES)),
        int((differences > 0).sum()),
        int((differences < 0).sum()),
        int((differences == 0).sum()),
    )


def _resampled_means(values: Numbers) -> Numbers:
    random = np.random.default_rng(SEED)
    at_once = max(1, DRAWS_AT_ONCE // len(values))
    means = [
        values[random.integers(0, len(values), (min(at_once, RESAMPLES - start), len(values)))].mean(axis=1)
        for start in range(0, RESAMPLES, at_once)
    ]
    return np.concatenate(means)


NAMES: Mapping[str, str] = {
    "mrr": "MRR",
    "ndcg@10": "nDCG@10",
    "no_table": "no gold table",
    "no_cell": "no gold cell",
    **{
        f"{kind}_{metric}": f"{name} {shown}"
        for kind, name in (("column", "columns shown"), ("value", "values shown"))
        for metric, shown in (("recall", "recall"), ("precision", "precision"), ("f1", "F1"))
    },
    "exact": "exact match",
    "contained": "containment",
    "f1": "token F1",
    "numeric": "numeric match",
    "fact": "fact accuracy",
    "match": "right (deterministic)",
    "named": "right or an alternative",
    "verified": "share verified",
    "verified_right": "precision of verified",
    "sure": "share sure",
    "sure_right": "precision of sure",
    "likely": "share likely",
    "likely_right": "precision of likely",
    "several": "share of several readings",
    "several_right": "precision of several readings",
    "judged": "weighted accuracy",
    "agreement": "judge agrees",
    "rounds": "rounds",
}


def metric_name(metric: str) -> str:
    """Display name of a metric.

    >>> metric_name("recall@30"), metric_name("matched_cells@100")
    ('Recall@30', 'matched cells@100')
    """
    if metric in NAMES:
        return NAMES[metric]
    name = metric.replace("_", " ")
    return name.capitalize() if metric.startswith(("recall", "precision")) else name


def means(records: Sequence[Record]) -> dict[str, Interval]:
    """Mean of each metric over the questions that have it, in order of first appearance."""
    names = dict.fromkeys(name for record in records for name in record.scores)
    return {
        name: mean_interval([record.scores[name] for record in records if name in record.scores])
        for name in sorted(names, key=_place)
    }


def causes(records: Iterable[Record]) -> dict[str, list[str]]:
    """Ids of failed questions or tables, by stage and kind of error."""
    found: dict[str, list[str]] = {}
    for record in records:
        for failure in record.failures:
            found.setdefault(f"{failure.stage}: {failure.cause}", []).append(failure.table or record.question)
    return dict(sorted(found.items()))


def compare_records(first: Sequence[Record], second: Sequence[Record]) -> dict[str, Comparison]:
    """Compare each metric of two systems over their common questions.

    Raises `UsageError` if they have no question in common.
    """
    known = {record.question: record.scores for record in first}
    pairs = [(known[record.question], record.scores) for record in second if record.question in known]
    if not pairs:
        raise UsageError("The two runs have no question in common.", hint="Compare runs of one split.")
    names = sorted({name for one, other in pairs for name in one.keys() & other.keys()}, key=_place)
    scores = ([(one[name], other[name]) for one, other in pairs if name in one and name in other] for name in names)
    return {name: compare(*zip(*found, strict=True)) for name, found in zip(names, scores, strict=True)}


def result_json(run: Run) -> dict[str, Any]:
    """The result of a run: settings, means, failures and every question; no times, costs or dates.

    Two runs over the same graph give the same object, as far as the model replies the same.
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


def _question_json(record: Record) -> dict[str, Any]:
    item: dict[str, Any] = {"id": record.question, "tables": list(record.tables), "scores": dict(record.scores)}
    if record.answer is not None:
        item["answer"] = record.answer
    if record.verdict is not None:
        item["verdict"] = record.verdict
    if record.size:
        item["size"] = dict(record.size)
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


SHOWN = {"recall@1", "recall@5", "recall@10", "recall@30", "precision@5", "all@30", *NAMES}


@dataclass(frozen=True, slots=True)
class ReportTable:
    """A table of a report, as text; the first row is the head."""

    title: str
    rows: tuple[tuple[str, ...], ...]


def report_title(run: Run) -> str:
    """Benchmark, split, and numbers of questions, tables and triples."""
    plan = run.plan
    counts = f"{len(plan.questions):,} questions, {plan.tables:,} tables, k = {plan.k:,}"
    return f"{plan.benchmark}, {plan.split}: {counts}"


def report_tables(run: Run) -> Iterator[ReportTable]:
    """Means with intervals, differences from the first system, confidence, time, sizes, failures and cost."""
    systems, scores = run.plan.systems, {system.name: means(run.of(system)) for system in run.plan.systems}
    names = sorted({name for found in scores.values() for name in found if _is_shown(name)}, key=_place)
    of_metrics = ((metric_name(name), *(_mean(found.get(name), run) for found in scores.values())) for name in names)
    yield ReportTable("Means", (("", *scores), *of_metrics))
    for other in systems[1:]:
        found = _differences(compare_records(run.of(systems[0]), run.of(other)))
        compared = (("", "difference", "p", "better", "worse", "equal"), *found)
        yield ReportTable(f"{other.name} against {systems[0].name}", compared)
    parts: tuple[tuple[str, tuple[str, ...], Callable[[Run, System], Iterable[tuple[str, ...]]]], ...] = (
        ("Right answers by confidence", ("confidence", "answers", "right"), _by_confidence),
        ("Time", ("stage", "median (ms)", "95th percentile (ms)"), _times),
        ("Size of the gold tables", ("cells", "prompt tokens", "texts encoded", "columns shown recall",
                                     "values shown recall", "right", "retrieval (ms)"), _sizes),
        ("Failures", ("cause", "failures", "first"), _failures),
        ("Cost", ("stage", "requests", "prompt tokens", "completion tokens", "cost"),
         lambda run, system: _used(spent(run.with_preparation(system)))),
    )  # fmt: skip
    for title, head, rows in parts:
        of_systems = ((system.name, *row) for system in systems for row in rows(run, system))
        yield ReportTable(title, (("system", *head), *of_systems))


def as_markdown(run: Run) -> str:
    """The report as Markdown; tables without rows are omitted."""
    parts = [f"# {_plain(report_title(run))}"]
    for table in report_tables(run):
        lines = [f"| {' | '.join(map(_plain, row))} |" for row in table.rows]
        lines.insert(1, "|---" * len(table.rows[0]) + "|")
        if len(table.rows) > 1:
            parts.append(f"## {_plain(table.title)}\n\n" + "\n".join(lines))
    return "\n\n".join(parts) + "\n"


def _plain(text: str) -> str:
    return re.sub(r"([\\|`])", r"\\\1", " ".join(text.split())).replace("<", "&lt;")


def _is_shown(name: str) -> bool:
    return name in SHOWN or name.startswith(("cells@", "matched_cells@"))


def _mean(found: Interval | None, run: Run) -> str:
    if found is None:
        return "–"
    of = "" if found.n == len(run.plan.questions) else f" of {found.n:,}"
    return f"{found.mean:.3f} [{found.low:.3f}, {found.high:.3f}]{of}"


def _differences(found: Mapping[str, Comparison]) -> Iterator[tuple[str, ...]]:
    for name, comparison in found.items():
        if _is_shown(name):
            d, counts = comparison.difference, (comparison.wins, comparison.losses, comparison.ties)
            change = f"{d.mean:+.3f} [{d.low:+.3f}, {d.high:+.3f}]"
            yield metric_name(name), change, f"{comparison.p:.3f}", *(f"{count:,}" for count in counts)


def _by_confidence(run: Run, system: System) -> Iterator[tuple[str, ...]]:
    """The share of right answers by the stated confidence, in ten bins of equal width."""
    bins: dict[int, list[float]] = {}
    for record in run.of(system):
        answer = record.answer or {}
        if answer.get("confidence") is not None and answer.get("text"):
            bins.setdefault(min(int(10 * answer["confidence"]), 9), []).append(record.scores["match"])
    for place, right in sorted(bins.items()):
        yield f"{place / 10:.1f} to {(place + 1) / 10:.1f}", f"{len(right):,}", f"{fmean(right):.3f}"


def _times(run: Run, system: System) -> Iterator[tuple[str, ...]]:
    records = run.of(system)
    for stage in dict.fromkeys(stage for record in records for stage in record.ms):
        times = sorted(record.ms[stage] for record in records if stage in record.ms)
        yield stage, f"{times[len(times) // 2]:,.1f}", f"{times[min(len(times) - 1, len(times) * 95 // 100)]:,.1f}"


def _sizes(run: Run, system: System) -> Iterator[tuple[str, ...]]:
    """Means by the cells of a question's gold tables, in ranges whose bounds are powers of 4."""
    ranges: dict[int, list[Record]] = {}
    for record in run.of(system):
        if record.size.get("shown", bool(record.size)):
            ranges.setdefault((record.size["cells"].bit_length() - 1) // 2, []).append(record)
    for _, within in sorted(ranges.items()):
        cells = [record.size["cells"] for record in within]
        low, high, scores = min(cells), max(cells), means(within)
        sizes = ([record.size[name] for record in within if name in record.size] for name in ("tokens", "encoded"))
        shown = (scores.get(name) for name in ("column_recall", "value_recall", "match"))
        times = [record.ms["retrieval"] for record in within if "retrieval" in record.ms]
        yield (
            f"{low:,}" if low == high else f"{low:,} to {high:,}",
            *(f"{fmean(values):,.1f}" if values else "–" for values in sizes),
            *("–" if found is None else f"{found.mean:.3f}" for found in shown),
            f"{median(times):,.1f}" if times else "–",
        )


def _failures(run: Run, system: System) -> Iterator[tuple[str, ...]]:
    for cause, ids in causes(run.with_preparation(system)).items():
        yield cause, f"{len(ids):,}", ", ".join(ids[:5]) + (", …" if len(ids) > 5 else "")


def _used(used: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for stage, part in {**used["stages"], **({"total": used} if used["requests"] else {})}.items():
        counts = (part[name] for name in ("requests", "prompt_tokens", "completion_tokens"))
        cost = "unknown" if part["cost_usd"] is None else f"${part['cost_usd']:.4f}"
        yield stage, *("unknown" if count is None else f"{count:,}" for count in counts), cost


def used_lines(used: Mapping[str, Any]) -> str:
    """The maximum usage of a run, one line per stage; empty for nothing."""
    return "\n".join(
        f"{stage}: {requests} requests, at most {prompt} prompt tokens and {completion} completion tokens, cost {cost}"
        for stage, requests, prompt, completion, cost in _used(used)
    )
