"""A run's results as lines of text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kgtable.evaluation.run import Run
from kgtable.evaluation.spending import spent
from kgtable.evaluation.statistics import Comparison
from kgtable.evaluation.summary import (
    causes,
    compare_records,
    latency,
    means,
    metric_name,
    records_of,
)

SHOWN = (
    "recall@1",
    "recall@5",
    "recall@10",
    "recall@30",
    "all@30",
    "mrr",
    "ndcg@10",
    "no_table",
    "exact",
    "contained",
    "f1",
    "numeric",
    "fact",
    "match",
    "verified",
    "judged",
    "agreement",
)


def run_lines(run: Run) -> Iterator[str]:
    """The means of each system with their intervals, then failures, time and cost."""
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
    """Each system of a run against the same one of an earlier result, or against its first."""
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
