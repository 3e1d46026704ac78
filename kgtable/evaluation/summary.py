"""Summary of a run: means with bootstrap intervals, failures by cause, comparison of two systems, means by size.

A run with `scaling` gives each question its gold tables alone, and measures prompts, encoded texts and times by
the size of these tables (TableRAG, sections 3.3 and 4.6).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean, median
from typing import Any

import numpy as np
import numpy.typing as npt

from kgtable.errors import UsageError
from kgtable.evaluation.records import Record, spent
from kgtable.evaluation.run import Run

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

    Raises `ValueError` where the runs do not have the same number of questions.
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
    """Median and 95th percentile of each stage, in milliseconds."""
    stages = dict.fromkeys(stage for record in records for stage in record.ms)
    found: dict[str, dict[str, float]] = {}
    for stage in stages:
        times = sorted(record.ms[stage] for record in records if stage in record.ms)
        found[stage] = {"median": times[len(times) // 2], "p95": times[min(len(times) - 1, len(times) * 95 // 100)]}
    return found


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


def records_of(result: Mapping[str, Any], system: str | None = None) -> tuple[str, list[Record]]:
    """Records of one system in a result file (default: the first), and that system's name."""
    try:
        systems = {item["name"]: item["questions"] for item in result["systems"]}
        name: str = system if system is not None and system in systems else next(iter(systems))
        return name, [Record(name, item["id"], scores=item["scores"]) for item in systems[name]]
    except (KeyError, TypeError, StopIteration) as error:
        raise UsageError("This is not a result of kgtable eval.", hint="Give a file written by --json.") from error


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


SHOWN = (
    "recall@1", "recall@5", "recall@10", "recall@30", "all@30", "mrr", "ndcg@10", "no_table", "column_recall",
    "column_precision", "column_f1", "value_recall", "value_precision", "value_f1", "exact", "contained", "f1",
    "numeric", "fact", "match", "named", "verified", "verified_right", "sure", "sure_right",
    "likely", "likely_right", "several", "several_right", "judged", "agreement", "rounds",
)  # fmt: skip


def run_lines(run: Run) -> Iterator[str]:
    """Means of each system with intervals, then failures, time and cost, as text lines."""
    plan = run.plan
    counts = f"{len(plan.questions):,} questions, {plan.tables:,} tables, k = {plan.k:,}"
    yield f"{plan.benchmark}, {plan.split}: {counts}"
    for system in plan.systems:
        records = run.of(system)
        yield f"\n{system.name}"
        for name, found in means(records).items():
            if name in SHOWN or name.startswith(("cells@", "matched_cells@")):
                interval = f"{found.mean:.3f}  [{found.low:.3f}, {found.high:.3f}]"
                yield f"  {metric_name(name):<22} {interval}  of {found.n:,}"
        everything = run.with_preparation(system)
        for cause, ids in causes(everything).items():
            more = "" if len(ids) <= 3 else ", …"
            yield f"  failed, {cause}: {len(ids):,} ({', '.join(ids[:3])}{more})"
        for stage, times in latency(records).items():
            yield f"  {stage}: {times['median']:.1f} ms median, {times['p95']:.1f} ms at the 95th percentile"
        yield from size_lines(records)
        used = spent(everything)
        if used["requests"]:
            yield f"  {_used(used)}"
            if len(used["stages"]) > 1:
                yield from (f"    {stage}: {_used(part)}" for stage, part in used["stages"].items())
    first = plan.systems[0]
    for other in plan.systems[1:]:
        yield f"\n{other.name} against {first.name}"
        yield from _differences(compare_records(run.of(first), run.of(other)))


def _used(used: Mapping[str, Any]) -> str:
    cost = "unknown" if used["cost_usd"] is None else f"${used['cost_usd']:.4f}"
    return f"{used['requests']:,} requests, cost {cost}"


def comparison_lines(earlier: Mapping[str, Any], run: Run) -> Iterator[str]:
    """Comparison of each system with the same one of an earlier result, or with its first."""
    for system in run.plan.systems:
        name, records = records_of(earlier, system.name)
        yield f"\n{system.name} against {name} of {earlier.get('benchmark')}, {earlier.get('split')}, before"
        yield from _differences(compare_records(records, run.of(system)))


def _differences(found: Mapping[str, Comparison]) -> Iterator[str]:
    for name, comparison in found.items():
        if name in SHOWN or name.startswith(("cells@", "matched_cells@")):
            d, turned = comparison.difference, f"better {comparison.wins:,}, worse {comparison.losses:,}"
            yield (
                f"  {metric_name(name):<22} {d.mean:+.3f}  [{d.low:+.3f}, {d.high:+.3f}]  "
                f"p = {comparison.p:.3f}, {turned}, equal {comparison.ties:,}"
            )


def size_lines(records: Sequence[Record]) -> Iterator[str]:
    """Means by the cells of a question's gold tables, in ranges whose bounds are powers of 4, as text lines."""
    ranges: dict[int, list[Record]] = {}
    for record in records:
        if record.size.get("shown", bool(record.size)):
            ranges.setdefault((record.size["cells"].bit_length() - 1) // 2, []).append(record)
    for _, within in sorted(ranges.items()):
        cells = [record.size["cells"] for record in within]
        figures = [f"{min(cells):,} to {max(cells):,} cells" if min(cells) < max(cells) else f"{cells[0]:,} cells"]
        for name, label in (("tokens", "prompt tokens"), ("encoded", "texts encoded")):
            values = [record.size[name] for record in within if name in record.size]
            if values:
                figures.append(f"{label} {fmean(values):,.1f}")
        for name, found in means(within).items():
            if name in ("column_recall", "value_recall", "match"):
                figures.append(f"{metric_name(name)} {found.mean:.3f}")
        times = [record.ms["retrieval"] for record in within if "retrieval" in record.ms]
        if times:
            figures.append(f"retrieval {median(times):.1f} ms median, {max(times):.1f} ms at most")
        yield f"  {', '.join(figures)}"
