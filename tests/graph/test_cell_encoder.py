from __future__ import annotations

import io
from collections import Counter
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtable.building.assembly import convert_tables
from kgtable.building.convert import ConversionOptions
from kgtable.graph.cell_encoder import CellShaper, QuantityForms
from kgtable.graph.terms import KGT, QUDT, UNIT, XSD, Block, decimal_term, decimal_text, text_literal
from kgtable.ontology.annotate import annotate
from kgtable.ontology.quantities import Quantity
from kgtable.tables.layout.detect import make_table
from kgtable.tables.model import Grid
from kgtable.values.numbers import parse_number
from tests.graph.support import NAMES, grid

MIXED = grid(
    ("Item", "Amount", "Paid on", "Share"),
    ("Rent", "1,200", "31 Dec. 2024", "12.5%"),
    ("Food", "(3)", "2024-12-30", "-"),
    ("Fuel", "$ 12 million", "unknown", "1–2 %"),
    ("Tax", "0", "", "n/a"),
    ('"quoted"\n<b>', "abc", "2024-01-01", "7"),
)


def shaped(table: Grid) -> tuple[CellShaper, list[Block], list[tuple[str, str]]]:
    """The shaper after all body rows, the blocks it gave, and the pairs of the rows."""
    made = make_table(table)
    shaper = CellShaper(annotate(made), NAMES)
    blocks: list[Block] = []
    pairs: list[tuple[str, str]] = []
    for index, row in made.body():
        blocks += shaper.add(index, row, row[0], pairs)
    return shaper, blocks, pairs


def statements(blocks: list[Block]) -> Counter[str]:
    return Counter(predicate[1:-1] for _, pairs in blocks for predicate, _ in pairs)


def test_every_cell_with_text_becomes_one_statement_of_its_row() -> None:
    _, blocks, pairs = shaped(MIXED)
    said = [predicate for predicate, _ in pairs if predicate != f"<{KGT}printed>"]
    assert len(said) == sum(1 for row in MIXED.head[1:] for text in row if text)
    subjects = [subject for subject, _ in blocks]
    assert len(subjects) == len(set(subjects))
    linked = {value for _, value in pairs if "/cell/" in value}
    assert linked == set(subjects)


def test_the_counts_are_those_of_the_statements() -> None:
    shaper, blocks, _ = shaped(MIXED)
    tally = shaper.tally()
    quantities = [block for block in blocks if dict(block[1]).get(f"<{QUDT}hasUnit>")]
    assert tally.predicates == statements(quantities)
    assert tally.classes[f"{QUDT}QuantityValue"] == len(quantities) == tally.kinds["number"]
    assert tally.cells == 19
    assert sum(tally.units.values()) == len(quantities)


def test_hostile_text_stays_within_its_literal() -> None:
    _, _, pairs = shaped(MIXED)
    assert (NAMES.predicate_iri("hasItem"), '"\\"quoted\\"\\n<b>"') in [(p[1:-1], v) for p, v in pairs]


EURO = Quantity(Decimal("12.50"), "CCY_EUR", 6, "column", "caption", "share")


def said(text: str, quantity: Quantity, period: str | None = None) -> dict[str, list[str]]:
    """What is said of the number printed as `text`, by the local name of the predicate."""
    number = parse_number(text)
    assert number is not None
    found: dict[str, list[str]] = {}
    for predicate, value in QuantityForms().filled(number, quantity, text, 0, period):
        found.setdefault(predicate[1:-1].rpartition("#")[2].rpartition("/")[2], []).append(value)
    return found


def test_all_that_is_known_of_a_quantity_is_said() -> None:
    found = said("~12.50", EURO, "Q3 2020")
    assert found["numericValue"] == [f'"12.5"^^<{XSD}decimal>']
    assert found["hasUnit"] == [f"<{UNIT}CCY_EUR>"]
    assert found["type"] == [f"<{QUDT}QuantityValue>"]
    assert (found["note"], found["scale"], found["denominator"]) == (['"POSITIVE"'], ['"M"'], ['"share"'])
    assert (found["period"], found["text"]) == (['"Q3 2020"'], ['"~12.50"'])
    assert found["approximate"] == [f'"true"^^<{XSD}boolean>']


def test_what_is_not_known_is_not_said() -> None:
    found = said("0", Quantity(Decimal(0), "UNITLESS"))
    assert found["note"] == ['"ZERO"']
    assert not {"scale", "denominator", "period", "approximate", "mark", "lowerBound"} & set(found)


def test_ranges_have_bounds_instead_of_a_value() -> None:
    found = said("1–2", Quantity(Decimal(1), "KiloGM", upper=Decimal(2)))
    assert "numericValue" not in found
    assert (found["lowerBound"], found["upperBound"]) == ([f'"1.0"^^<{XSD}decimal>'], [f'"2.0"^^<{XSD}decimal>'])


@given(st.decimals(-(10**30), 10**30), st.text(min_size=1, max_size=9))
def test_values_are_never_written_with_an_exponent(value: Decimal, text: str) -> None:
    number = parse_number("-5")
    assert number is not None
    terms = QuantityForms().filled(number, Quantity(value, "NUM"), text, 0, None).terms
    assert terms == (decimal_term(decimal_text(format(value, "f"))), '"-5"', text_literal(text))
    assert "e" not in terms[0].partition("^^")[0].lower()


def test_what_is_remembered_of_a_column_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = "".join(f"Item {n},{n % 3},{n / 7:.2f},{n}.50,x{n % 40}\n" for n in range(200))
    (tmp_path / "items.csv").write_text(f"Item,Kind,Price ($),Weight (kg),Shelf\n{rows}", encoding="utf-8")

    def text() -> bytes:
        out = io.BytesIO()
        convert_tables([tmp_path], out, ConversionOptions())
        return out.getvalue()

    whole = text()
    monkeypatch.setattr("kgtable.graph.cell_encoder._MOST_REMEMBERED", 20)
    monkeypatch.setattr("kgtable.graph.cell_encoder._FEWEST_REMEMBERED", 1)
    assert text() == whole
