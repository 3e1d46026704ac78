from __future__ import annotations

from collections import Counter

import pytest

from kgtable.graph.cell_encoder import CellShaper
from kgtable.graph.terms import KGT, QUDT, XSD, Block
from kgtable.ontology.annotate import annotate
from kgtable.ontology.column_stats import MISSING, QUANTITY
from kgtable.tables.layout.detect import make_table
from kgtable.tables.model import Grid
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


def test_counts_stay_true_when_forms_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgtable.graph.cell_encoder._MOST_FORMS", 3)
    rows = [(f"r{n}", str(5 - n), f"{n + 1}%", f"{n + 1} kg") for n in range(9)]
    shaper, blocks, _ = shaped(grid(("Item", "A", "B", "C"), *rows))
    assert shaper.tally().predicates == statements(blocks)
    assert shaper.facts()[3].units == {"KiloGM": 9}


def test_facts_of_the_columns() -> None:
    facts = shaped(MIXED)[0].facts()
    assert [fact.name for fact in facts] == ["Item", "Amount", "Paid on", "Share"]
    assert facts[1].ranges == {QUANTITY: 4, f"{XSD}string": 1}
    assert facts[1].units == {"CCY_USD": 4}
    assert facts[1].scales == {6: 1}
    assert facts[2].ranges[f"{XSD}date"] == 3
    assert facts[3].ranges[MISSING] >= 1


def test_hostile_text_stays_within_its_literal() -> None:
    _, _, pairs = shaped(MIXED)
    assert (NAMES.predicate_iri("hasItem"), '"\\"quoted\\"\\n<b>"') in [(p[1:-1], v) for p, v in pairs]


def test_a_table_without_body_has_facts_and_no_counts() -> None:
    shaper = CellShaper(annotate(make_table(grid(("Item", "Amount")))), NAMES)
    assert shaper.tally().cells == 0
    assert [dict(fact.ranges) for fact in shaper.facts()] == [{}, {}]
