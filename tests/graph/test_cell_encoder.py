from __future__ import annotations

import io
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtable.building.assembly import convert_tables
from kgtable.building.convert import ConversionOptions
from kgtable.graph.cell_encoder import CellShaper, described, quantity_form
from kgtable.graph.row_forms import FormSlot, RowChunk
from kgtable.graph.tally import counted
from kgtable.graph.terms import KGT, QUDT, UNIT, XSD, Block, Pair, decimal_term, decimal_text, text_literal
from kgtable.ontology.annotate import annotate
from kgtable.ontology.cell_units import Quantity
from kgtable.tables.layout.detect import make_table
from kgtable.tables.model import Grid
from kgtable.values.decimals import scaled
from kgtable.values.numbers import Number, parse_number, parse_simple, read_simple
from kgtable.values.plain_numbers import number_texts, shapes_of
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
    indexes, cells = zip(*made.body(), strict=True)
    runs = shaper.add_chunk(indexes, cells, [row[0] for row in cells])
    blocks: list[Block] = []
    pairs: list[tuple[str, str]] = []
    for place, index in enumerate(indexes):
        for run in runs:
            form, texts = run.at(place)
            said, block = form.statements((str(index), *texts))
            pairs += said
            blocks += [block] if block else []
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
    shaper, blocks, pairs = shaped(MIXED)
    indexes, cells = zip(*make_table(MIXED).body(), strict=True)
    tally = CellShaper(annotate(make_table(MIXED)), NAMES).tally()
    assert tally.cells == 0
    runs = shaper.add_chunk(indexes, cells, [row[0] for row in cells])
    list(counted([RowChunk(list(map(str, indexes)), runs, True)], tally))
    shaper, *_ = shaped(MIXED)
    tally.add(shaper.tally())
    quantities = [block for block in blocks if dict(block[1]).get(f"<{QUDT}hasUnit>")]
    others = [block for block in blocks if block not in quantities]
    assert tally.predicates == statements(quantities) + statements(others) + Counter(p[1:-1] for p, _ in pairs)
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
    _, block = filled(number, quantity, text, period)
    for predicate, value in block:
        found.setdefault(predicate[1:-1].rpartition("#")[2].rpartition("/")[2], []).append(value)
    return found


def filled(number: Number, quantity: Quantity, text: str, period: str | None) -> tuple[tuple[str, ...], Sequence[Pair]]:
    """The texts of a quantity, and the pairs of its block."""
    alike, texts = described(number, quantity, text, 0, None, period)
    _, block = quantity_form(alike, "<p>", FormSlot(0, "<cell/", "/0>")).statements(("1", *texts))
    assert block is not None
    return texts, block[1]


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
    terms, pairs = filled(number, Quantity(value, "NUM"), text, None)
    value_term = decimal_term(decimal_text(format(value, "f")))
    assert (terms[0], *terms[2:4]) == (value_term, '"-5"', text_literal(text))
    assert dict(pairs)[f"<{QUDT}numericValue>"] == value_term
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
    monkeypatch.setattr("kgtable.graph.table_encoder.CHUNK_ROWS", 7)
    assert text() == whole


printed = st.from_regex(
    r"\A(\$ ?)?(-|\( ?)?(0|[1-9]\d{0,17}|[1-9]\d{0,2}(,\d{3}){1,4})(\.\d{1,18})?\)?\Z", fullmatch=True
)


@given(st.lists(printed | st.sampled_from(["-0", "0.00", "(0.10)", "1,000.50"]), min_size=1), st.integers(-4, 12))
def test_plain_numbers_are_written_exactly(texts: list[str], power: int) -> None:
    texts = [text for text in texts if read_simple(text) is not None]
    if not texts:
        return
    values, notes, signed, same = number_texts(texts, shapes_of(texts), power)
    numbers = [number for number in map(parse_simple, texts) if number is not None]
    exact = [decimal_text(f"{scaled(number.value, power):f}") for number in numbers]
    assert [value or other for value, other in zip(values, exact, strict=True)] == exact
    assert all(values) or power
    assert all(
        value or len(text.partition(".")[2].rstrip(")% ")) > power for value, text in zip(values, texts, strict=True)
    )
    assert list(signed) == [number.signed for number in numbers]
    assert same == texts
    signs = {"POSITIVE": 1, "NEGATIVE": -1, "ZERO": 0}
    assert [signs[note] for note in notes] == [(number.value > 0) - (number.value < 0) for number in numbers]
