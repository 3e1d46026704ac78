from __future__ import annotations

import json
from datetime import date, datetime, time
from decimal import Decimal

import pyoxigraph as ox
import pytest
import rdflib

from kgtable.graph.results import WIDEST_COLUMN, ResultFormat, python_value, to_frame, to_python, to_text
from kgtable.graph.store import Results

PREFIXES = {"e": "http://e/", "ee": "http://e/deep/"}


def asked(query: str) -> Results:
    store = ox.Store()
    store.load("<http://e/deep/s> <http://e/p> 'a', 1.50 .", ox.RdfFormat.TURTLE)
    return store.query(query, prefixes=PREFIXES)


def table(query: str) -> list[str]:
    return to_text(asked(query), None, PREFIXES).splitlines()


@pytest.mark.parametrize(
    ("lexical", "datatype", "value"),
    [
        ("12345678901234567890", "integer", 12345678901234567890), ("-3", "long", -3),
        ("0.1", "decimal", Decimal("0.1")), ("1e3", "double", Decimal(1000)), ("INF", "float", Decimal("Infinity")),
        ("1", "boolean", True), ("false", "boolean", False), ("2020", "gYear", "2020"),
        ("2020-02-29", "date", date(2020, 2, 29)), ("2020-02-29Z", "date", "2020-02-29Z"),
        ("2020-02-29T06:30:00", "dateTime", datetime(2020, 2, 29, 6, 30)), ("06:30:00", "time", time(6, 30)),
        ("9" * 5000, "integer", "9" * 5000), ("abc", "decimal", "abc"), ("", "integer", ""),
    ],
)  # fmt: skip
def test_literals_as_python_values(lexical: str, datatype: str, value: object) -> None:
    found = python_value(ox.Literal(lexical, datatype=ox.NamedNode(f"http://www.w3.org/2001/XMLSchema#{datatype}")))
    assert found == value
    assert type(found) is type(value)


def test_frames_have_a_column_a_variable() -> None:
    solutions = asked("SELECT ?o ?none { ?s ?p ?o } ORDER BY STR(?o)")
    assert isinstance(solutions, ox.QuerySolutions)
    frame = to_frame(solutions)
    assert list(frame.columns) == ["o", "none"]
    assert frame["o"].tolist() == [Decimal("1.5"), "a"]
    assert frame["none"].tolist() == [None, None]
    empty = to_python(asked("SELECT ?x { ?x e:nothing ?y }"), PREFIXES)
    assert list(empty.columns) == ["x"]  # type: ignore[union-attr]
    assert len(empty) == 0  # type: ignore[arg-type]


def test_each_form_of_query_has_its_kind_of_result() -> None:
    assert to_python(asked("ASK { e:a ?p ?o }"), PREFIXES) is False
    graph = to_python(asked("DESCRIBE ?s { ?s ?p ?o }"), PREFIXES)
    assert isinstance(graph, rdflib.Graph)
    assert len(graph) == 2
    assert dict(graph.namespaces())["ee"] == rdflib.URIRef("http://e/deep/")
    assert len(to_python(asked("CONSTRUCT { ?s e:x ?s } { ?s e:none ?o }"), PREFIXES)) == 0  # type: ignore[arg-type]


def test_control_characters_and_long_values_cannot_spoil_a_table() -> None:
    lines = table(f'SELECT ("a\\u001b[31m\\nb\\u2028c\\u0085d" AS ?x) ("{"w" * 500}" AS ?y) {{}}')
    assert len(lines) == 4
    assert "\x1b" not in "".join(lines)
    assert "a [31m b c d" in lines[2]
    assert lines[2].endswith("w…")
    assert len(lines[2].split()[-1]) == WIDEST_COLUMN


def test_the_standard_formats() -> None:
    query = 'SELECT ("a,\\"b" AS ?x) {}'
    told = json.loads(to_text(asked(query), ResultFormat.JSON, {}))
    assert told["results"]["bindings"][0]["x"]["value"] == 'a,"b'
    assert to_text(asked(query), ResultFormat.CSV, {}) == 'x\r\n"a,""b"\r\n'
    assert to_text(asked(query), ResultFormat.TSV, {}).startswith("?x\n")
    assert "<sparql" in to_text(asked(query), ResultFormat.XML, {})
    assert to_text(asked("ASK {}"), None, {}) == "true\n"
    assert json.loads(to_text(asked("ASK { e:a ?p ?o }"), ResultFormat.JSON, {}))["boolean"] is False
