"""Candidates of amounts that no column holds and two columns give: what is free, what is full, pieces times price."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kgtable.programs.algebra import (
    Aggregate,
    AggregateFunction,
    Arithmetic,
    Compare,
    Expression,
    Filter,
    Limit,
    Named,
    Operator,
    Project,
    Relator,
    Rows,
    Sort,
    SortKey,
)
from kgtable.semantic_parsing.candidates import Candidate
from kgtable.semantic_parsing.english import english, words_of_type
from kgtable.semantic_parsing.grammar import Grammar
from kgtable.semantic_parsing.reading import Question
from kgtable.semantic_parsing.relation_index import ColumnView
from kgtable.semantic_parsing.sources import ConditionSet


class DerivedAmounts(Grammar):
    """Operators over two columns whose difference or product is asked for by a name of its own."""

    def _places(self) -> Iterator[Candidate]:
        """What is left of a capacity, and the rows of which nothing is left: *free seats*, *fully booked*."""
        free, full = (self._said(name) for name in ("free", "full"))
        pair = self._capacity_and_taken() if free or full else None
        if pair is None:
            return
        capacity, taken = pair
        both = self.source.link(capacity).mask | self.source.link(taken).mask
        for conditions in self.sets[:4]:
            rows = conditions.over(self.source.rows(conditions.choice))
            if free:
                sums = [Aggregate(AggregateFunction.SUM, view.ref, rows) for view in pair]
                yield self.make(
                    "difference/free", Arithmetic(Operator.SUBTRACT, *sums), conditions, measure=capacity,
                    mask=free | both, others=(taken,),
                )  # fmt: skip
                left = Arithmetic(Operator.SUBTRACT, capacity.ref, taken.ref)
                for down, token, _, _ in self._directions()[:1]:
                    best = Limit(Sort(rows, (SortKey(left, down),)), 1, ties=True)
                    yield from self._labels("extreme/free", best, conditions, free | both | token, pair)
            relator, said = (Relator.EQUAL, full) if full else (Relator.GREATER, free)
            chosen = Filter(rows, Compare(relator, capacity.ref, taken.ref))
            yield from self._labels(
                "select/full" if full else "select/free", chosen, conditions, said | both, pair
            )
            counted = Aggregate(AggregateFunction.COUNT, None, chosen)
            yield self.make("count/full" if full else "count/free", counted, conditions, mask=said | both)

    def _labels(
        self, op: str, rows: Rows, conditions: ConditionSet, mask: int, pair: tuple[ColumnView, ColumnView]
    ) -> Iterator[Candidate]:
        """The labels of rows that are chosen by two columns."""
        for label in self.source.labels[:1]:
            yield self.make(
                op, Project(rows, (Named(label.ref),)), conditions, target=label, measure=pair[0], mask=mask,
                others=pair[1:],
            )  # fmt: skip

    def _capacity_and_taken(self) -> tuple[ColumnView, ColumnView] | None:
        """The column of what there is and the one of what is taken of it; None where there is no such pair."""
        capacity, taken = words_of_type("capacity"), words_of_type("taken")
        columns = [view for view in self.source.columns if view.measure]
        used = [view for view in columns if taken & set(view.stems)]
        whole = [view for view in columns if capacity & set(view.stems) and view not in used]
        if len(used) != 1 or not whole or self.source.join is not None:
            return None
        whole.sort(key=lambda view: (-self.source.link(view).score, view.place))
        return whole[0], used[0]

    def _revenue(self) -> Iterator[Candidate]:
        """Pieces times price, added up, where the question asks for revenue and no column is called so."""
        revenue = words_of_type("revenue")
        said = Question._all(1 << token.index for token in self.question.tokens if token.stem in revenue)
        if not said or any(link.mask & said for link in self.source.column_links):
            return
        prices = [view for view in self.source.columns if view.measure and "price" in view.aspects]
        pieces = [view for view in self.source.columns if view.quantity and view not in prices]
        if len(prices) != 1 or len(pieces) != 1:
            return
        amount: Expression = Arithmetic(Operator.MULTIPLY, pieces[0].ref, prices[0].ref)
        for conditions in self.sets[:4]:
            rows = conditions.over(self.source.rows(conditions.choice))
            yield self.make(
                "sum/product", Aggregate(AggregateFunction.SUM, amount, rows), conditions, measure=prices[0],
                mask=said, others=pieces,
            )  # fmt: skip

    def _said(self, name: str) -> int:
        """The tokens by which the question says that something is free or full."""
        return Question._all(
            self.question.mask(*match.span())
            for match in re.finditer(rf"(?<!\w)(?:{english()['places'][name]})(?!\w)", self.question.lower)
        )
