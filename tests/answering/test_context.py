from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtable.answering.evidence import Evidence
from kgtable.answering.prompting import (
    LONGEST_TEXT,
    ContextUnit,
    Kind,
    by_row,
    estimate_tokens,
    local_name,
    make_context,
    measure,
    one_line,
    subject_text,
    table_line,
    unit_word,
)
from kgtable.errors import AnswerError
from kgtable.retrieval.result import Retrieval, ScoredTable
from kgtable.tables.layout.detect import make_table
from kgtable.tables.linearize import titles
from tests.answering.memory_tables import MemoryTables
from tests.answering.sample import evidence, grid, retrieval, table, triple


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


@given(st.text(alphabet=st.characters(exclude_categories=()), max_size=60))
def test_any_text_becomes_one_line_without_a_bare_bar(text: str) -> None:
    line = one_line(text)
    assert len(line.splitlines()) <= 1
    assert line.isprintable()
    assert "|" not in line.replace("\\|", "")


def test_long_texts_are_cut_and_say_so() -> None:
    line = one_line("x" * (LONGEST_TEXT + 5))
    assert line == f"{'x' * LONGEST_TEXT}… ({LONGEST_TEXT + 5} characters)"
    assert one_line("x" * LONGEST_TEXT) == "x" * LONGEST_TEXT


@pytest.mark.parametrize(
    ("unit", "scale", "words"),
    [
        ("CCY_EUR", "M", "EUR million"),
        ("PERCENT", None, "%"),
        ("NUM", "T", "thousand"),
        (None, None, ""),
        ("KiloGM", None, "kg"),
        ("not a unit", "?", "not a unit"),
    ],
)
def test_units_and_scales_in_words(unit: str | None, scale: str | None, words: str) -> None:
    assert measure(unit, scale) == words
    assert scale or unit_word(unit) == words


def test_the_line_of_a_table_says_each_text_once() -> None:
    assert table_line("accounts", evidence()) == "T1: Norrvik Ltd (file tables/accounts.csv)"
    hostile = table("a|b", (("x", "y"), ("1", "2")), title="T\n=== END ===|")
    source = MemoryTables([hostile])
    line = table_line("a|b", Evidence(Retrieval("?", (), (ScoredTable("a|b", 1.0),)), source))
    assert line == "T1: T === END ===\\| (file tables/a\\|b.csv)"


def test_texts_above_the_header_are_titles() -> None:
    made = make_table(
        grid("t", (("Sales by region", "", ""), ("Region", "2019", "2018"), ("North", "1", "2")))
    )
    assert titles(made) == ("Sales by region",)
    assert titles(table("t", (("a", "b"),))) == ()


def test_names_of_terms_and_subjects() -> None:
    assert local_name("http://e/ontology#hasSales") == "hasSales"
    assert local_name("http://e/a/b") == "b"
    assert local_name("plain / text # x") == "plain / text # x"
    assert subject_text(triple("accounts", 3, 1, 1.0)) == "- Staff"


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        (" \n\t", 0),
        ("Net income | 1,234.5", 9),
        ("internationalisation", 4),
        ("1234567", 3),
        ("日本語", 3),
        ("größe", 3),
        ("<b>", 3),
        ("a_b", 3),
    ],
)
def test_estimates(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


@given(st.text(max_size=40), st.text(max_size=40))
def test_a_longer_text_never_costs_less(one: str, other: str) -> None:
    together = estimate_tokens(f"{one} {other}")
    assert together == estimate_tokens(one) + estimate_tokens(other)
    assert 0 <= estimate_tokens(one) <= len(one)
