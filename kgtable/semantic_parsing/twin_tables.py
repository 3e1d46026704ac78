"""Candidates over two tables of one form: what a row has in one of them beside what it has in the other.

Tables of two years or two places have the same headers, and a question names both: "how many more points did Kiel get
in 2024 than in 2023".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations

from kgtable.programs.algebra import (
    Aggregate,
    Arithmetic,
    ColumnRef,
    Compare,
    Constant,
    Expression,
    Filter,
    GroupBy,
    Limit,
    Lookup,
    Named,
    Operator,
    Project,
    Relator,
    RowChoice,
    Rows,
    SetOperation,
    SetOperator,
    Sort,
    SortKey,
    TableRows,
)
from kgtable.programs.relation import ColumnRole
from kgtable.semantic_parsing.candidates import Candidate
from kgtable.semantic_parsing.comparisons import Comparisons
from kgtable.semantic_parsing.conditions import Condition
from kgtable.semantic_parsing.english import unit_named
from kgtable.semantic_parsing.grammar import AGGREGATES, MOST_MEASURES
from kgtable.semantic_parsing.relation_index import ColumnView
from kgtable.semantic_parsing.sources import ProgramSource, condition_set

MOST_TABLES = 6
"""The first tables of which pairs are looked at."""

_YEAR = re.compile(r"(?:19|20)\d\d")
_CHOOSING = ("exact", "partial")


def twins_of(sources: Sequence[ProgramSource]) -> Iterator[ProgramSource]:
    """Pairs of tables with the same headers where the question names each by words of its own title.

    Args:
        sources: single tables, the best first.

    Yields:
        A source of two tables each, the one that is named first in front.
    """
    for one, other in combinations(sources[:MOST_TABLES], 2):
        first, second = one.links[0], other.links[0]
        if [v.stems for v in first.index.columns] != [v.stems for v in second.index.columns]:
            continue
        own, others = first.titled & ~second.titled, second.titled & ~first.titled
        if not own or not others:
            continue
        if others & -others < own & -own:
            first, second = second, first
        yield ProgramSource(
            (first, second), max(one.score, other.score), min(one.rank, other.rank), twins=True
        )


class TwinTables(Comparisons):
    """Operators over one measure of two tables of one form."""

    def _of_twins(self) -> Iterator[Candidate]:
        """Differences, changes, sums and comparisons of a row, or of all rows, of two tables."""
        source, cues = self.source, self.cues
        size = len(source.links[0].index.columns)
        pairs = [
            (one, other)
            for one in source.conditions
            for other in source.conditions
            if one.kind in _CHOOSING
            and 0 <= one.column < size
            and other.column == one.column + size
            and (other.kind, other.mask) == (one.kind, one.mask)
        ][:3]
        meant = {stem for adjective, _ in self.question.adjectives for stem in adjective.headers}
        measures = [
            view
            for view in self.sortables
            if view.place < size and (source.link(view).score >= 0.4 or meant & self._told_by(view))
        ]
        if not measures and "how_much" in cues:  # "how much milk", of a column "Litres"
            amounts = [v for v in self.measures if v.place < size and unit_named(v.name) is not None]
            measures = amounts if len(amounts) == 1 else []
        yield from self._only_in_one(size)
        for view in measures[:MOST_MEASURES]:
            twin = source.columns[view.place + size]
            for one, other in pairs:
                ends = (Lookup(self._rows(0, one), view.ref), Lookup(self._rows(1, other), twin.ref))
                # "In June 2023 than in June 2022" says the month twice.
                again = self.question._all(
                    c.mask
                    for c in source.conditions
                    if (c.column, c.kind, c.text) == (one.column, one.kind, one.text)
                )
                yield from self._compared(ends, view, twin, (one,), again)
                named = (Named(view.ref, "value"), Named(twin.ref, "value"))
                lines = (Project(self._rows(0, one), named[:1]), Project(self._rows(1, other), named[1:]))
                yield from self._which_table(lines, view, twin, (one,))
            if pairs or not view.measure:
                continue
            for name, cue in (
                ("mean", "average"),
                ("sum", "total"),
                ("sum", "how_many"),
                ("sum", "how_much"),
            ):
                if cue in cues:
                    sides = (
                        Aggregate(AGGREGATES[name], view.ref, self._rows(0)),
                        Aggregate(AGGREGATES[name], twin.ref, self._rows(1)),
                    )
                    yield from self._compared(sides, view, twin, (), cues[cue])
                    break
            sums = (Aggregate(AGGREGATES["sum"], v.ref) for v in (view, twin))
            whole = [
                GroupBy(self._rows(part), (), (Named(total, "value"),)) for part, total in enumerate(sums)
            ]
            yield from self._which_table(whole, view, twin, (), cues.get("total", 0))

    def _only_in_one(self, size: int) -> Iterator[Candidate]:
        """The names of one table that are none of the other's: *in 2023 but not in 2022*, *new in 2023*."""
        negation = self.cues.get("negation", 0)
        if not negation or "or" in self.cues:
            return
        parts = self.source.links
        own = [part.titled & ~other.titled for part, other in zip(parts, reversed(parts), strict=True)]
        # What is denied stands behind the negation.
        without = next((n for n, mask in enumerate(own) if mask > negation), -1)
        if without < 0 or own[1 - without] > negation:
            return
        keys = [v for v in self.targets if v.place < size and not v.measure and not v.temporal][:2]
        for view in keys:
            twin = self.source.columns[view.place + size]
            names = [
                Project(self._rows(0), (Named(view.ref, "name"),), True),
                Project(self._rows(1), (Named(twin.ref, "name"),), True),
            ]
            only = SetOperation(SetOperator.EXCEPT, names[1 - without], names[without])
            yield self.make(
                "except/twins", only, condition_set([]), target=view, mask=negation, others=(twin,),
                also=("twins",),
            )  # fmt: skip

    def _rows(self, part: int, condition: Condition | None = None) -> Rows:
        """The rows of one of the two tables of which a condition holds."""
        tables = tuple(table.id for table in self.source.links[part].index.relation.tables)
        choice = RowChoice.MEMBERS if condition is None else condition.choice
        rows = TableRows(tables, choice=choice)
        return rows if condition is None else Filter(rows, condition.expression)

    def _compared(
        self, ends: tuple[Expression, Expression], view: ColumnView, twin: ColumnView,
        chosen: Sequence[Condition], mask: int = 0,
    ) -> Iterator[Candidate]:  # fmt: skip
        """What is told of two values, that of the table named first in front."""
        cues = self.cues
        conditions = condition_set(chosen)
        signs = self._pair_signs(view)
        adjectives = self._comparatives
        said_first, said_last = ends
        early, late = ends if self._first_is_earlier else ends[::-1]

        def made(op: str, root: Expression, also: int = 0) -> Candidate:
            return self.make(
                f"{op}/twins",
                root,
                conditions,
                measure=view,
                mask=mask | also,
                others=(twin,),
                also=("twins",),
            )

        moving = cues.keys() & {"difference", "change", "up", "down", "more_than", "less_than"}
        if moving and "or" not in cues and view.role is not ColumnRole.ORDINAL:
            compared = "than" in cues and adjectives
            falls = "down" in cues and "up" not in cues
            larger = signs[0][0] if compared else not falls
            first, last = (said_last, said_first) if compared else (early, late)
            parts = (last, first) if larger else (first, last)
            yield made("difference", Arithmetic(Operator.SUBTRACT, *parts), adjectives)
        if view.measure and cues.keys() & {"percent", "rate"}:
            yield made("percent_change", Arithmetic(Operator.PERCENT_CHANGE, early, late))
        spanned = cues.keys() >= {"total", "until"}  # "from May to July" adds up June, too
        if view.measure and cues.keys() & {"total", "together", "both"} and not spanned:
            yield made("sum", Arithmetic(Operator.ADD, said_first, said_last))
        if self.question.wh == "yes_no":
            for down, token in signs:
                relator = Relator.GREATER if down else Relator.LESS
                yield made("compare_yes", Compare(relator, said_first, said_last), token | adjectives)
            if cues.keys() & {"up", "down"} and "than" not in cues:
                relator = Relator.LESS if "down" in cues else Relator.GREATER
                yield made("compare_yes", Compare(relator, late, early))

    def _which_table(
        self, sides: Sequence[Rows], view: ColumnView, twin: ColumnView, chosen: Sequence[Condition], mask: int = 0
    ) -> Iterator[Candidate]:  # fmt: skip
        """Which of two tables has more, by the words that name it: *in March or in April*.

        `sides` are rows of one column called ``value``, of each table.
        """
        either = self.cues.get("or", 0)
        if not either:
            return
        first, second = (part.titled for part in self.source.links)
        names = [self.question.words_of(own) for own in (first & ~second, second & ~first)]
        told = [
            Project(rows, (Named(Constant(name), "table"), Named(ColumnRef("value"), "value")))
            for rows, name in zip(sides, names, strict=True)
        ]
        both = SetOperation(SetOperator.UNION_ALL, told[0], told[1])
        for down, token in self._pair_signs(view):
            best = Limit(Sort(both, (SortKey(ColumnRef("value"), down),)), 1, ties=True)
            yield self.make(
                "compare/twins",
                Project(best, (Named(ColumnRef("table")),)),
                condition_set(chosen),
                measure=view,
                mask=mask | token | either | self._comparatives,
                others=(twin,),
                also=("twins",),
            )

    @property
    def _first_is_earlier(self) -> bool:
        """Whether the table that is named first is that of the earlier year, as far as their names tell years."""
        years = []
        for part, other in zip(self.source.links, reversed(self.source.links), strict=True):
            words = self.question.words_of(part.titled & ~other.titled)
            match = _YEAR.search(words)
            years.append(match[0] if match else "")
        return years[0] <= years[1]
