from __future__ import annotations

import pytest

from kgtable.errors import UnknownColumnError
from kgtable.programs import Relation, relation_of
from kgtable.programs.algebra import ValueKind
from kgtable.programs.relation import MemberKind, Role
from tests.graph.decoding import decode_in_memory
from tests.programs.conftest import MakeRelation, table


def kinds(relation: Relation) -> list[str]:
    return [MemberKind(kind).name for kind in relation.kinds]


def test_kinds_of_rows(relations: dict[str, Relation]) -> None:
    assert kinds(relations["budget"]) == ["MEMBER", "MEMBER", "MEMBER", "TOTAL", "PART"]


def test_sums_among_members_are_totals(relation: MakeRelation) -> None:
    text = "Country|1990|2005\nChad|5921|10067\nPeru|22071|27866\nFiji|728|822\nWorld|28720|38755\nMali|0|0"
    assert kinds(relation("w", text))[3] == "TOTAL"
    career = "Season|Games|Points|Assists|Longest\n2001|82|1201|310|9\n2002|79|1411|287|12\n2003|81|1020|402|7"
    assert kinds(relation("c", f"{career}\nCareer|242|3632|999|12"))[3] == "TOTAL"
    assert "TOTAL" not in kinds(relation("c", f"{career}\nBoth|242|3631|998|12"))
    games = "Team|Won|Lost\nA|1|2\nB|2|1\nC|3|3"
    assert set(kinds(relation("g", games))) == {"MEMBER"}


@pytest.mark.parametrize(
    ("header", "cells", "kind", "role"),
    [
        ("Order No", "4101 4102 4106", ValueKind.ENTITY, Role.IDENTIFIER),
        ("member_id", "7 3 9", ValueKind.ENTITY, Role.IDENTIFIER),
        ("Postcode", "01234 99999 04000", ValueKind.ENTITY, Role.IDENTIFIER),
        ("Phone", "555-1234 555-9999 555-0000", ValueKind.ENTITY, Role.IDENTIFIER),
        ("Rank", "1 2 T3", ValueKind.ENTITY, Role.ORDINAL), ("Year", "1999 2003 2010", ValueKind.PERIOD, Role.TIME),
        ("Paid", "12 30 7", ValueKind.QUANTITY, Role.MEASURE), ("Goals", "3 1 2", ValueKind.QUANTITY, Role.MEASURE),
        ("Lap time", "1:02.5 1:01.9 0:59.0", ValueKind.DURATION, Role.MEASURE),
        ("Opened", "2015-03-01 2018-12-15 2020-01-31", ValueKind.DATE, Role.TIME),
        ("Town", "Oslo Rome Bonn", ValueKind.TEXT, Role.CATEGORY),
    ],
)  # fmt: skip
def test_types_and_roles_of_columns(
    relation: MakeRelation, header: str, cells: str, kind: ValueKind, role: Role
) -> None:
    rows = [f"name {chr(97 + i)}|{cell}" for i, cell in enumerate(cells.split())]
    column = relation("t", "\n".join([f"Thing|{header}", *rows])).columns[1]
    assert (column.kind, column.role) == (kind, role)


def test_running_numbers_are_no_measures(relation: MakeRelation) -> None:
    sales = relation("s", "Sale|Pieces\n" + "\n".join(f"{880 + i}|{i % 3 + 1}" for i in range(8)))
    assert sales.columns[0].role is Role.IDENTIFIER
    assert sales.columns[1].role is Role.MEASURE


def test_columns_by_header_and_near_names(relations: dict[str, Relation]) -> None:
    orders = relations["orders"]
    assert orders.resolve("amount (eur)") == orders.resolve("Amount EUR") == orders.resolve(3) == 3
    with pytest.raises(UnknownColumnError, match="Columns: 'Customer'"):
        orders.resolve("Custmer")
    with pytest.raises(UnknownColumnError, match="no column 9"):
        orders.resolve(9)


def test_same_headers_need_an_index(relation: MakeRelation) -> None:
    twice = relation("t", "Name|Goals|Goals\nAnn|1|2\nBob|3|4")
    with pytest.raises(UnknownColumnError, match="by its index: 1, 2"):
        twice.resolve("Goals")


def test_some_columns_of_a_relation_keep_their_names_and_places() -> None:
    whole = relation_of(decode_in_memory(table("t", "Name|A|B|B\nx|1|2|3\ny|4|5|6")))
    narrow = whole.narrowed([3])
    assert [column.header for column in narrow.columns] == ["Name", "B"]
    assert narrow.resolve(3) == 1
    assert narrow.position(0, 1) == ("t", 1, 3)
    assert narrow.text(1, 1) == "6"
    assert narrow.label_column() == 0
    for name in ("B", 2, "A"):  # which names two columns of the whole, or none that is left
        with pytest.raises(UnknownColumnError):
            narrow.resolve(name)


def test_a_column_is_found_without_the_unit_of_its_header() -> None:
    found = relation_of(decode_in_memory(table("t", "Name|Amount (EUR)|Price (CHF)|Price (EUR)\nx|1|2|3\ny|4|5|6")))
    assert found.resolve("amount") == 1
    with pytest.raises(UnknownColumnError, match="2 columns 'Price'"):
        found.resolve("Price")
