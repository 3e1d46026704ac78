from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtable.answering.context import ContextUnit, Kind, by_row, make_context
from kgtable.answering.evidence import Evidence
from kgtable.errors import AnswerError
from tests.answering.sample import evidence, retrieval, triple


class Words:
    """Shows each unit as as many words as its row number."""

    name, reading = "words", "Read."
    kind: Kind = "triples"

    def __init__(self, *sizes: tuple[int, float]) -> None:
        self._units = [ContextUnit("accounts", size, (), score) for size, score in sizes]

    def units(self, evidence: Evidence) -> Sequence[ContextUnit]:
        return self._units

    def render(self, units: Sequence[ContextUnit], evidence: Evidence) -> str:
        return " ".join("x" for unit in units for _ in range(unit.row or 0))


def words(text: str) -> int:
    return len(text.split())


@given(st.lists(st.tuples(st.integers(1, 9), st.floats(0, 1)), min_size=1, max_size=12), st.integers(0, 60))
def test_the_best_units_that_fit_and_not_one_more(sizes: list[tuple[int, float]], budget: int) -> None:
    ranked = [size for size, _ in sorted(sizes, key=lambda pair: -pair[1])]
    fitting = [count for count in range(1, len(ranked) + 1) if sum(ranked[:count]) <= budget]
    if not fitting:
        with pytest.raises(AnswerError, match="KGTABLE_CONTEXT_TOKENS"):
            make_context(evidence(), Words(*sizes), budget, words)
        return
    context = make_context(evidence(), Words(*sizes), budget, words)
    assert [unit.row for unit in context.shown] == ranked[: fitting[-1]]
    assert [unit.row for unit in context.cut] == ranked[fitting[-1] :]
    assert context.tokens == words(context.text) <= budget


def test_nothing_retrieved_is_an_empty_context() -> None:
    context = make_context(evidence(), Words(), 0, words)
    assert (context.text, context.tokens, context.shown, context.cut) == ("", 0, (), ())
    assert context.report()["shown_tables"] == 0


def test_rows_are_units_with_their_triples_in_order_of_the_columns() -> None:
    found = by_row([triple("accounts", 1, 2, 0.5), triple("ports", 1, 1, 0.7), triple("accounts", 1, 1, 0.9)])
    assert [(unit.table, unit.row, unit.score) for unit in found] == [("accounts", 1, 0.9), ("ports", 1, 0.7)]
    assert [one.column for one in found[0].triples] == [1, 2]
    assert by_row([]) == []


def test_what_was_cut_is_told() -> None:
    units = by_row(retrieval("?").triples)

    class Rows(Words):
        def units(self, evidence: Evidence) -> Sequence[ContextUnit]:
            return units

        def render(self, units: Sequence[ContextUnit], evidence: Evidence) -> str:
            return " ".join("x" for _ in units)

    report = make_context(evidence(), Rows(), 2, words).report()
    assert report["shown_rows"] == 2
    assert report["shown_rows"] + report["cut_rows"] == len(units)
    assert report["shown_triples"] + report["cut_triples"] == len(retrieval("?").triples)
    assert (report["presentation"], report["tokens"]) == ("words", 2)
