from __future__ import annotations

import json

import pyoxigraph as ox
import pytest

from kgtable.graph.shacl import Finding
from kgtable.graph.terms import DCTERMS, KGT, QUDT
from kgtable.graph.validation_report import ValidationReport, Violation, violation_of
from tests.graph.support import NAMES

FINDING = Finding("Has no unit.", f"{QUDT}hasUnit")
TABLE = NAMES.table_iri("a/b")


@pytest.fixture
def store() -> ox.Store:
    store = ox.Store()
    said = {f"{DCTERMS}identifier": "a/b", f"{KGT}source": "book.xlsx", f"{KGT}sheet": "Costs"}
    for predicate, text in said.items():
        store.add(
            ox.Quad(ox.NamedNode(TABLE), ox.NamedNode(predicate), ox.Literal(text), ox.NamedNode(TABLE))
        )
    return store


def violation(store: ox.Store, iri: str, graph: ox.NamedNode | ox.DefaultGraph | None = None) -> Violation:
    return violation_of(store, graph or ox.NamedNode(TABLE), ox.NamedNode(iri), FINDING, ["5"])


@pytest.mark.parametrize(
    ("part", "row", "column", "place"),
    [
        ("/cell/3/1", 3, 1, "book.xlsx [Costs], table a/b, row 3, column 1 (B4)"),
        ("/row/0", 0, None, "book.xlsx [Costs], table a/b, row 0"),
        ("/column/2", None, 2, "book.xlsx [Costs], table a/b, column 2"),
        ("", None, None, "book.xlsx [Costs], table a/b"),
    ],
)
def test_a_violation_has_its_place(
    part: str, row: int | None, column: int | None, place: str, store: ox.Store
) -> None:
    found = violation(store, TABLE + part)
    assert (found.table, found.file, found.sheet, found.row, found.column) == (
        "a/b", "book.xlsx", "Costs", row, column,
    )  # fmt: skip
    assert str(found) == f"{place}: Has no unit. (qudt:hasUnit) Found: 5."


@pytest.mark.parametrize(
    "iri", ["http://x/", f"{TABLE}/cell/{'9' * 5000}/1", f"{TABLE}/cell/٣/1", f"{TABLE}/cell/"]
)
def test_other_nodes_are_named_by_their_iri(iri: str, store: ox.Store) -> None:
    found = violation(store, iri)
    assert found.table is None
    assert str(found).startswith(f"{iri}: ")


def test_nodes_without_an_iri(store: ox.Store) -> None:
    found = violation_of(store, ox.DefaultGraph(), ox.BlankNode("b"), Finding("Wrong."), [])
    assert str(found) == "_:b: Wrong."


def test_a_table_that_says_nothing_of_itself(store: ox.Store) -> None:
    found = violation(store, f"{TABLE}/row/1", ox.DefaultGraph())
    assert (found.table, found.file) == ("a/b", None)
    assert str(found).startswith("a/b, row 1: ")


def test_reports_as_text_and_json() -> None:
    one = Violation("Has no <unit>.", "http://x/1", values=("\u202e1", '"'))
    report = ValidationReport((one,), 2_001, 12_345, 7)
    assert not report.conforms
    assert str(report).splitlines() == [
        "Not valid: 2,001 violations in 12,345 nodes.", str(one), "… and 2,000 more.",
    ]  # fmt: skip
    told = json.loads(json.dumps(report.to_json()))
    assert (told["conforms"], told["violations"], told["nodes"]) == (False, 2_001, 12_345)
    assert told["listed"][0]["values"] == ["\u202e1", '"']
    assert Violation(**{**told["listed"][0], "values": tuple(told["listed"][0]["values"])}) == one
    assert str(ValidationReport((), 0, 1, 1)) == "Valid: QUDT's shapes and kgtable's hold for 1 node."
