"""Growth of prompts, encoded texts and times with the size of the tables (TableRAG, sections 3.3 and 4.6).

The sizes are measured by a run with `scaling`, which gives each question its gold tables alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from kgtable.evaluation.records import Record
from kgtable.evaluation.run import Run

LEAD = (
    "Figures by the number of cells of a question's gold tables, which alone are looked at. A method has no point "
    "where it refuses a table. The slowest question of a size is the one for which the tables were read and encoded."
)

MOST_SIZES = 12
"""Different sizes that are shown one by one; where there are more, each range of sizes has one point."""

RANGE = 4
"""How many times larger the largest size of a range may be than its smallest."""


@dataclass(frozen=True)
class Growth:
    """A figure by the number of cells: for each system points of cells and value, rising.

    `share`: the values lie between 0 and 1.
    """

    name: str
    label: str
    share: bool
    series: Mapping[str, tuple[tuple[int, float], ...]]

    def text(self, value: float) -> str:
        """A value as it is told."""
        return f"{value:.3f}" if self.share else f"{value:,.0f}" if value >= 100 else f"{value:,.3g}"


_Measure = Callable[[Sequence[Record]], float | None]


def _mean_of(read: Callable[[Record], float | None]) -> _Measure:
    def measure(records: Sequence[Record]) -> float | None:
        values = [value for value in map(read, records) if value is not None]
        return fmean(values) if values else None

    return measure


def _score(name: str) -> _Measure:
    return _mean_of(lambda record: record.scores.get(name))


def _times(pick: Callable[[Sequence[float]], float]) -> _Measure:
    def measure(records: Sequence[Record]) -> float | None:
        times = [record.ms["retrieval"] for record in records if "retrieval" in record.ms]
        return pick(times) if times else None

    return measure


def _encoded(records: Sequence[Record]) -> float | None:
    counts = [record.size["encoded"] for record in records if "encoded" in record.size]
    return sum(counts) if counts else None


_FIGURES: tuple[tuple[str, str, bool, _Measure], ...] = (
    ("tokens", "Tokens of the first prompt", False, _mean_of(lambda record: record.size.get("tokens"))),
    ("encoded", "Texts encoded, for all questions together", False, _encoded),
    ("column_recall", "Recall of gold columns", True, _score("column_recall")),
    ("value_recall", "Recall of gold values", True, _score("value_recall")),
    ("match", "Right answers (deterministic)", True, _score("match")),
    ("slowest", "Time of retrieval, slowest question (ms)", False, _times(max)),
    ("median", "Time of retrieval, median (ms)", False, _times(median)),
)


def growth(run: Run) -> list[Growth]:
    """The figures of a run by the size of tables; none where sizes were not measured."""
    cells = sorted({int(record.size["cells"]) for record in run.records if record.size})
    if not cells:
        return []
    groups = ranges(cells)
    found = []
    for name, label, share, measure in _FIGURES:
        series = {}
        for system in run.plan.systems:
            records = [record for record in run.of(system) if record.size]
            points = []
            for group in groups:
                within = [record for record in records if int(record.size["cells"]) in group]
                shown = [record for record in within if record.size.get("shown", 1)]
                value = measure(shown) if shown else None
                if value is not None:
                    points.append((round(median(record.size["cells"] for record in within)), value))
            if points:
                series[system.name] = tuple(points)
        if series:
            found.append(Growth(name, label, share, series))
    return found


def ranges(sizes: Sequence[int]) -> list[frozenset[int]]:
    """Rising sizes in groups: each its own, or where they are many, those of a range.

    >>> ranges([10, 20]), len(ranges(range(1, 65)))
    ([frozenset({10}), frozenset({20})], 4)
    """
    if len(sizes) <= MOST_SIZES:
        return [frozenset((size,)) for size in sizes]
    groups: list[list[int]] = []
    for size in sizes:
        if groups and size < RANGE * max(groups[-1][0], 1):
            groups[-1].append(size)
        else:
            groups.append([size])
    return [frozenset(group) for group in groups]


def growth_lines(run: Run) -> Iterator[str]:
    """The figures as text lines, one for each system under each figure."""
    for figure in growth(run):
        yield f"\n{figure.label}, by cells"
        for name, points in figure.series.items():
            told = ", ".join(f"{cells:,}: {figure.text(value)}" for cells, value in points)
            yield f"  {name:<28} {told}"
