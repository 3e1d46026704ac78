from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtable.answering.context import (
    LONGEST_TEXT,
    local_name,
    measure,
    one_line,
    subject_text,
    table_line,
    titles,
    unit_word,
)
from kgtable.answering.evidence import Evidence
from kgtable.answering.table_sources import MemoryTables
from kgtable.retrieval.result import Retrieval, ScoredTable
from kgtable.tables.layout.detect import make_table
from tests.answering.sample import evidence, grid, table, triple


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
