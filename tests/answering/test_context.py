from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtable.answering.evidence import Evidence
from kgtable.answering.prompting import ContextUnit, Kind, by_row, estimate_tokens, make_context, one_line
from kgtable.errors import AnswerError
from tests.answering.sample import evidence, retrieval


class Words:
    """Shows each unit as as many words as its row number."""

    name, reading = "words", "Read."
    kind: Kind = "triples"
    narrower = None

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


@given(st.text(alphabet=st.characters(exclude_categories=()), max_size=60))
def test_any_text_becomes_one_line_without_a_bare_bar(text: str) -> None:
    line = one_line(text)
    assert len(line.splitlines()) <= 1
    assert line.isprintable()
    assert "|" not in line.replace("\\|", "")


@given(st.text(max_size=40), st.text(max_size=40))
def test_a_longer_text_never_costs_less(one: str, other: str) -> None:
    together = estimate_tokens(f"{one} {other}")
    assert together == estimate_tokens(one) + estimate_tokens(other)
    assert 0 <= estimate_tokens(one) <= len(one)
