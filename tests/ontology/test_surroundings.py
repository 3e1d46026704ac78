from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtable.ontology.unit_evidence import LONGEST_TEXT, currency_of_texts, table_statements
from kgtable.tables.model import Context
from kgtable.values.units import units

any_text = st.text(max_size=60) | st.text("$€in milosthundper,ct(%)0 ", max_size=80)


def of_prose(text: str) -> list[tuple[str | None, int | None]]:
    found = table_statements(Context(paragraphs=(text,)), "", ())
    return list(dict.fromkeys((s.phrase.unit, s.phrase.scale) for s in found))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The table (in thousands) shows sales.", [(None, 3)]),
        ("Amounts are expressed in millions of U.S. dollars.", [("CCY_USD", 6)]),
        ("Figures rounded to the nearest thousand", [(None, 3)]),
        ("In thousands, except per share data", [(None, 3)]),
        ("Sales rose by $5 million.", []),
        ("There were millions of them.", []),
        ("", []),
        ("<script>in millions</script>" * 2, [(None, 6)]),
    ],
)
def test_phrases_inside_sentences(text: str, found: list[tuple[str | None, int | None]]) -> None:
    assert of_prose(text) == found


def test_the_most_specific_comes_first() -> None:
    context = Context(
        "T ($ thousands)", ("far (€m)", "near (£m)"), "C (in billions)",
        ("(in thousands)", "(in millions)"), ("(in billions)",), ("(in crore)",),
    )  # fmt: skip
    found = table_statements(context, "(in lakhs)", ["(in hundreds)", "¥m"])
    assert [statement.source for statement in found if statement.source != "corner"] == [
        "caption", "title", "heading", "heading", "text before", "text before", "text after", "paragraph",
    ]  # fmt: skip
    assert [s.phrase.unit for s in found if s.source == "heading"] == ["CCY_GBP", "CCY_EUR"]
    assert [s.phrase.scale for s in found if s.source == "text before"] == [6, 3]


@pytest.mark.parametrize(
    "caption", ["As a percentage of revenue", "Share of sales (%)", "expressed as percent"]
)
def test_a_whole_table_in_percent(caption: str) -> None:
    (statement,) = table_statements(Context(caption=caption), "", ())
    assert statement.is_percent
    assert statement.phrase.unit == "PERCENT"


def test_what_stands_beyond_the_limit_is_not_looked_at() -> None:
    assert of_prose("x" * LONGEST_TEXT + " (in millions)") == []
    assert currency_of_texts(Context(before=("x" * LONGEST_TEXT + "$ 5",))) is None


@pytest.mark.parametrize(
    ("texts", "unit"),
    [
        (("It cost $ 5.", "And $6 more"), "CCY_USD"),
        (("It cost C$5.",), "CCY_CAD"),
        (("It cost £5 or €6.",), None),
        (("A dollar sign $ alone",), None),
        (("RMB 5",), "CCY_CNY"),
        ((), None),
    ],
)
def test_the_one_currency_of_the_texts(texts: tuple[str, ...], unit: str | None) -> None:
    assert currency_of_texts(Context(paragraphs=texts)) == unit


@given(st.lists(any_text, min_size=8, max_size=8))
def test_any_surroundings_are_read_and_units_are_qudts(texts: list[str]) -> None:
    context = Context(texts[0], (texts[1],), texts[2], (texts[3],), (texts[4],), (texts[5],))
    for statement in table_statements(context, texts[6], (texts[7],)):
        assert statement.phrase.unit is None or statement.phrase.unit in units()
        assert statement.phrase.unit or statement.phrase.scale is not None or statement.phrase.share_scale
