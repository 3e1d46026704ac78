"""Small tables for programs, made of CSV-like texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import pytest

from kgtable.programs import ProgramResult, Relation, parse_program, relation_of, run
from kgtable.tables.layout.detect import make_table
from kgtable.tables.model import Grid, Source, Table
from tests.graph.decoding import decode_in_memory

MakeRelation: TypeAlias = Callable[[str, str], Relation]

ORDERS = """Order No|Customer|Ordered on|Amount (EUR)|Status
4101|Hansen|2024-01-09|54.00|paid
4102|Okafor|2024-01-22|42.00|paid
4103|Hansen|2024-02-05|38.50|open
4104|Lind|2024-03-14|70.00|
4106|Okafor|2024-03-04|36.00|open
4106|Okafor|2024-03-04|51.00|paid"""

PARTS = """Part|Length|Mass|Price
Bolt|12 in|300 g|€40
Beam|2.5 m|0.35 t|£65
Rod|90 cm|2.1 kg|$8"""

RACE = """Rank|Boat|Time|Year|Crew
1|Heron|57:45|2019|8
2|Teal|59:10|2020|2
3|Kestrel|1:04:20|2019|4"""

CUSTOMERS = """Name|Town
Hansen|Bergen
Okafor|Lagos
Ekman|Malmö"""

BUDGET = """Budget of the village (EUR thousand)||
Item|2021|2022
School|420|455
Roads|310|265
Culture|95|110
Total|825|830
of which wages|515|540"""


def table(id: str, text: str) -> Table:
    """A table from lines of cells."""
    rows = tuple(tuple(line.split("|")) for line in text.splitlines())
    return make_table(Grid(id, Source(f"{id}.csv"), rows, max(map(len, rows))))


@pytest.fixture
def relation() -> MakeRelation:
    """Makes a relation from an id and lines of cells, numbers with the units their texts give."""

    def make(id: str, text: str) -> Relation:
        found = table(id, text)
        return relation_of(decode_in_memory(found))

    return make


@pytest.fixture
def relations(relation: MakeRelation) -> dict[str, Relation]:
    """The sample tables."""
    texts = {"orders": ORDERS, "parts": PARTS, "race": RACE, "customers": CUSTOMERS, "budget": BUDGET}
    return {id: relation(id, text) for id, text in texts.items()}


@pytest.fixture
def execute(relations: Mapping[str, Relation]) -> Callable[[object], ProgramResult]:
    """Runs a program given as JSON data over the sample tables."""
    return lambda data: run(parse_program(data), relations)  # type: ignore[arg-type]
