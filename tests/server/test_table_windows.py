from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest

import kgtable
from kgtable.errors import GraphError, GraphNotFoundError
from kgtable.graph.table_decoder import TableStatements
from kgtable.graph.terms import KGT, XSD
from kgtable.knowledge_graph import KnowledgeGraph
from kgtable.server.views import table_list, table_windows
from kgtable.server.views.table_columns import IndexedColumns, StoredColumns
from kgtable.server.views.table_facets import facets
from kgtable.server.views.table_windows import AROUND, LONGEST_TEXT, cell, file, table
from kgtable.tables.discovery import FORMATS
from kgtable.tables.model import MeasureKind, Role
from kgtable.values.lexicon import VARIANTS
from tests.graph.support import NAMES
from tests.server.open_graph import silent, texts, window


def found(graph: KnowledgeGraph, id: str, row: int, column: int) -> dict[str, Any]:
    return cell(graph, {"id": id, "row": row, "column": column}, silent)


def test_every_cell_has_its_text_and_its_place(opened: KnowledgeGraph, hostile_graph: KnowledgeGraph) -> None:
    for graph, id in ((opened, "halden-segments"), (hostile_graph, next(iter(hostile_graph.tables)))):
        for row, line in enumerate(texts(graph, id)[:6]):
            for column, text in enumerate(line):
                one = found(graph, id, row, column)
                assert (one["text"], one["row"], one["column"], one["table"]) == (text, row, column, id)
                assert graph.names.parse_cell_iri(one["iri"]) == (id, row, column)
                json.dumps(one)


def test_numbers_say_value_unit_and_where_both_are_from(opened: KnowledgeGraph) -> None:
    numbers = [
        one
        for row in range(1, 4)
        for column in range(opened.catalogue.tables["halden-segments"].width)
        if (one := found(opened, "halden-segments", row, column))["unit"]
    ]
    assert numbers
    for one in numbers:
        assert one["unit_iri"].endswith(one["unit"])
        assert one["unit_label"]
        assert math.isfinite(float(one["value"]))
        assert {"predicate", "object"} == set(one["triples"][0])


def test_markup_is_text(hostile_graph: KnowledgeGraph) -> None:
    id = next(iter(hostile_graph.tables))
    one = found(hostile_graph, id, 1, 0)
    assert one["text"] == one["label"] == "<script>alert(1)</script>"
    assert found(hostile_graph, id, 1, 1)["header"] == '<b>"x"\u202e'


@pytest.mark.parametrize("place", [("nowhere", 0, 0), ("planets", 10**6, 0), ("planets", 0, 10**6), ("", 0, 0)])
def test_cells_that_are_not_there(place: tuple[str, int, int], opened: KnowledgeGraph) -> None:
    with pytest.raises(GraphNotFoundError, match="no cell"):
        found(opened, *place)


@pytest.mark.parametrize("value", ["x", "7"])
def test_damaged_statements_name_the_table(value: str) -> None:
    integer = ox.NamedNode(f"{XSD}integer")
    width = ox.Literal(value, datatype=integer)
    damaged = ox.Triple(ox.NamedNode(NAMES.table_iri("t")), ox.NamedNode(f"{KGT}width"), width)
    with pytest.raises(GraphError, match="'t' are incomplete or damaged"):
        TableStatements("t", NAMES, [damaged]).frame()
    with pytest.raises(GraphNotFoundError, match="'t'"):
        TableStatements("t", NAMES, [])


def test_a_window_over_all_holds_every_cell(opened: KnowledgeGraph, hostile_graph: KnowledgeGraph) -> None:
    for graph in (opened, hostile_graph):
        for id in graph.tables:
            found = table(graph, window(id), silent)
            expected = [[cell[:LONGEST_TEXT] for cell in row] for row in texts(graph, id)]
            assert [row["cells"] for row in found["rows"]] == expected
            assert [row["index"] for row in found["rows"]] == list(range(found["rows_total"]))
            assert [column["index"] for column in found["columns"]] == list(range(found["width"]))


def test_rows_around_a_citation_come_with_those_above_the_body(opened: KnowledgeGraph) -> None:
    found = table(opened, window("norrvik-income-statement", around=(12,)), silent)
    start = found["body_start"]
    expected = {*range(start), *range(12 - AROUND, 12 + AROUND + 1)}
    assert [row["index"] for row in found["rows"]] == sorted(expected & set(range(found["rows_total"])))
    assert found["rows"][0]["kind"] == "header"


def test_windows_beyond_the_table_are_empty_but_for_its_header(opened: KnowledgeGraph) -> None:
    found = table(opened, window("planets", row=10**9, column=10**6), silent)
    assert [row["index"] for row in found["rows"]] == list(range(found["body_start"]))
    assert found["columns"] == []


def test_a_cited_cell_far_to_the_right_is_shown_with_the_labels(wide: KnowledgeGraph) -> None:
    found = table(wide, window("wide", around=(50,), across=(150,)), silent)
    assert [column["index"] for column in found["columns"]] == [0, 1, 149, 150, 151]
    row = next(row for row in found["rows"] if row["index"] == 50)
    assert row["cells"] == ["Row 50", "50.1", "50.149", "50.150", "50.151"]


def test_rows_come_in_the_order_of_a_column(opened: KnowledgeGraph) -> None:
    graph = opened
    for column in range(opened.catalogue.tables["planets"].width):
        found = table(graph, window("planets", sort=column), silent)
        down = table(graph, window("planets", sort=column, descending=True), silent)
        rows = [row["index"] for row in found["rows"] if row["kind"] == "body"]
        assert sorted(rows) == sorted(row["index"] for row in down["rows"] if row["kind"] == "body")
        read = graph.reader.rows("planets", rows)
        values = [read[row].quantities[column].number for row in rows if column in read[row].quantities]
        assert values == sorted(values)


def test_the_index_and_the_graph_give_the_same_order(opened: KnowledgeGraph, wide: KnowledgeGraph) -> None:
    for graph in (opened, wide):
        for id in graph.tables:
            indexed, stored = IndexedColumns.of(graph, id), StoredColumns(graph, id)
            assert indexed is not None
            start = graph.reader.frame(id).table.structure.body_start
            for column in range(min(graph.catalogue.tables[id].width, 12)):
                found, expected = indexed.keys(column), stored.keys(column)
                below = {row: key for row, key in expected.items() if row >= start}
                assert {row: key for row, key in found.items() if row >= start} == below, (id, column)
            for text in ("total", "1", "LABORATORY"):
                rows = [row for row in stored.holding(text) if row >= start]
                assert set(rows) <= {row for row in indexed.holding(text) if row >= start}, (id, text)


def test_rows_are_found_by_the_text_of_a_cell(opened: KnowledgeGraph) -> None:
    found = table(opened, window("halden-segments", find="LABORATORY"), silent)
    body = [row for row in found["rows"] if row["index"] >= found["head"]]
    assert body
    assert all(any("laboratory" in cell.lower() for cell in row["cells"]) for row in body)
    assert found["rows_shown"] == len(body)
    nothing = table(opened, window("halden-segments", find="nowhere"), silent)
    assert nothing["rows_shown"] == 0


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeGraph:
    """A graph with a table of 160 columns and 60 rows."""
    folder = tmp_path_factory.mktemp("wide")
    lines = [",".join(["Name", *(f"Value {column}" for column in range(1, 160))])]
    lines += [",".join([f"Row {row}", *(f"{row}.{column}" for column in range(1, 160))]) for row in range(1, 60)]
    (folder / "wide.csv").write_text("\n".join(lines), encoding="utf-8")
    return kgtable.build(folder / "wide.csv", folder / "kg", embedding="none")


@pytest.mark.parametrize("id", ["", "nowhere", "../planets", '"<script>', "planets/row/1"])
def test_tables_that_are_not_there(id: str, opened: KnowledgeGraph) -> None:
    for operation in (table, file, facets):
        with pytest.raises(GraphNotFoundError):
            operation(opened, window(id) | {"form": "csv"}, silent)


def test_where_a_unit_is_from_is_said_of_a_large_table_without_reading_it_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [f"Station {row},{row * 37 % 1_000},{row} kg,{row}" for row in range(2_500)]
    rows[1_200] = "Rates in %,,,"
    content = "\n".join(["In thousand EUR", "Station,Distance (km),Load,Rent (EUR)", *rows])
    (tmp_path / "long.csv").write_text(content, encoding="utf-8")
    with kgtable.build(tmp_path / "long.csv", tmp_path / "graph", embedding="none") as graph:
        whole = {place: found(graph, "long", *place) for place in ((2_400, 1), (2_400, 2), (900, 3), (20, 3))}
    with kgtable.open(tmp_path / "graph") as graph:
        monkeypatch.setattr(graph.reader, "read", None)
        monkeypatch.setattr(graph.reader, "decoded", None)
        far, cells, rent = (found(graph, "long", *place) for place in ((2_400, 1), (2_400, 2), (900, 3)))
        assert (far["unit"], far["unit_from"]) == ("PERCENT", "group")
        assert (cells["unit"], cells["unit_from"]) == ("KiloGM", "cell")
        assert (rent["unit"], rent["unit_from"]) == ("CCY_EUR", "column")
    monkeypatch.setattr(table_windows, "READ_WHOLE", 10**9)
    with kgtable.open(tmp_path / "graph") as graph:
        for place, one in whole.items():
            assert found(graph, "long", *place) == one


def test_heads_say_what_was_decided_and_rows_of_statistics_and_changes_are_marked(tmp_path: Path) -> None:
    lines = [
        "Port,Fee (EUR),Load (%)", "Fjell,10,55.5", "Skarv,30,61.2", "Holm,20,48.1", "Total,60,", "Average,20,54.9",
    ]  # fmt: skip
    (tmp_path / "ports.csv").write_text("\n".join(lines), encoding="utf-8")
    kgtable.build(tmp_path / "ports.csv", tmp_path / "kg", embedding="none")
    with kgtable.open(tmp_path / "kg") as graph:
        shown = table(graph, window("ports"), silent)
        heads = {column["title"]: (column["meaning"], column["evidence"]) for column in shown["columns"]}
        kinds = {row["cells"][0]: row["kind"] for row in shown["rows"]}
        sorted_rows = table(graph, window("ports", sort=1), silent)["rows"]
    assert heads["Load (%)"][0] == "rate"
    assert "unit" in heads["Load (%)"][1]
    assert "confidence 0.9" in heads["Load (%)"][1]
    assert (kinds["Total"], kinds["Average"], kinds["Fjell"]) == ("total", "statistic", "body")
    assert [row["cells"][0] for row in sorted_rows[1:]] == ["Fjell", "Holm", "Skarv", "Total", "Average"]


def test_the_mapping_editor_offers_every_role_kind_and_variant() -> None:
    script = (Path(kgtable.__file__).parent / "server/static/mapping-editor.js").read_text(encoding="utf-8")
    for name, values in (("role", Role), ("measure kind", MeasureKind), ("variant", sorted(VARIANTS))):
        offered = re.search(rf'\["{name}", "[^"]+", named\("([^"]+)"\)\]', script)
        assert offered is not None
        assert offered[1].split() == [*map(str, values)]


@pytest.mark.parametrize(
    ("suffix", "label"),
    [(".docx", "Word"), (".pptx", "PowerPoint"), (".xls", "Excel"), (".xlsm", "Excel"), (".arrow", "Arrow")],
)
def test_the_facet_of_kinds_names_every_format(opened: KnowledgeGraph, suffix: str, label: str) -> None:
    (record, *_) = opened.catalogue.tables.values()
    record = replace(record, media_type=FORMATS[suffix].media_type)
    assert table_list._kinds(record)[0] == label
