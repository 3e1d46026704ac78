"""The HTTP API on the sample tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import kgtable
from tests.server.serving import Running

SEGMENTS = "http://example.org/data/table/halden-segments"


def get(server: Running, path: str, **parameters: object) -> Any:
    answer = server.client.get(f"/api/{path}", params={name: str(value) for name, value in parameters.items()})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_every_example_finds_something_whatever_the_folder_is(exploring: Running) -> None:
    examples = get(exploring, "dataset")["examples"]
    assert len(examples) > 5
    for example in examples:
        found = exploring.query(example["query"], "text/csv, application/n-triples;q=0.9")
        assert found.status_code == 200, example["title"]
        assert len(found.text.splitlines()) > 1, example["title"]
        assert "data:" not in example["query"]  # a row of one folder is none of another's


def test_questions_after_an_answer_are_about_its_table(exploring: Running) -> None:
    asked = "What was the revenue of Laboratory in 2024?"
    place = {"table": "halden-segments", "row": 2, "column": 1, "question": asked}
    questions = get(exploring, "suggestions", **place)["questions"]
    assert questions
    assert asked not in questions
    for question in questions:
        answer = exploring.client.post("/api/ask", json={"question": question}).json()
        assert answer["status"] == "sure", question
        assert answer["citations"][0]["table"] == "halden-segments"
    unknown = exploring.client.get("/api/suggestions", params={"table": "nowhere"})
    assert unknown.status_code == 404


def test_groups_of_columns_have_a_headline(exploring: Running) -> None:
    answer = exploring.client.post("/api/ask", json={"question": "total revenue by year"}).json()
    assert answer["headline"] == "Sum by Year, 3 groups"
    assert [row[0]["display"] for row in answer["rows"]] == ["2022", "2023", "2024"]


def test_tables_are_searched_in_titles_files_and_columns(exploring: Running) -> None:
    assert get(exploring, "tables")["total"] == 6
    assert [table["id"] for table in get(exploring, "tables", q="halden revenue")["tables"]] == ["halden-segments"]
    assert [table["id"] for table in get(exploring, "tables", q="Diameter")["tables"]] == ["planets"]
    assert get(exploring, "tables", q="nowhere at all")["total"] == 0
    assert len(get(exploring, "tables", offset=5, limit=1)["tables"]) == 1


def test_tables_are_narrowed_by_facets_and_sorted(exploring: Running) -> None:
    everything = get(exploring, "tables")
    units = {facet["value"]: facet for facet in everything["facets"]["unit"]}
    assert units["CCY_EUR"]["label"] == "euros (€)"
    narrowed = get(exploring, "tables", unit="CCY_EUR")
    assert narrowed["total"] == units["CCY_EUR"]["tables"] == len(narrowed["tables"])
    assert all("€" in table["units"] for table in narrowed["tables"])
    kinds = {facet["value"]: facet["tables"] for facet in everything["facets"]["kind"]}
    assert kinds["Excel"] == get(exploring, "tables", kind="Excel")["total"] == 1
    rows = [table["rows"] for table in get(exploring, "tables", sort="rows", order="descending")["tables"]]
    assert rows == sorted(rows, reverse=True)
    titles = [table["title"].casefold() for table in get(exploring, "tables", sort="title")["tables"]]
    assert titles == sorted(titles)
    assert exploring.client.get("/api/tables", params={"sort": "colour"}).status_code == 400


def test_a_table_comes_as_printed_with_its_structure(exploring: Running) -> None:
    table = get(exploring, "tables/halden-segments")
    assert table["rows"][0]["cells"] == ["€ thousands", "2024", "2023", "Change in %"]
    assert table["rows"][0]["kind"] == "header"
    assert table["rows"][1]["kind"] == "group"
    laboratory = table["rows"][2]
    assert (laboratory["cells"][0], laboratory["depth"]) == ("- Laboratory", 1)
    assert table["heading"][0] == "Halden Marine"


def test_a_window_keeps_the_header_and_shows_rows_around_a_citation(exploring: Running) -> None:
    window = get(exploring, "tables/norrvik-income-statement", row=10, rows=2, column=1, columns=2)
    assert [row["index"] for row in window["rows"]] == [0, 1, 10, 11]
    assert [column["index"] for column in window["columns"]] == [0, 1, 2]  # the labels come with it
    around = get(exploring, "tables/norrvik-income-statement", around="12")
    assert [row["index"] for row in around["rows"]] == [0, 1, 10, 11, 12, 13, 14]


def test_csv_is_the_file_as_it_was(exploring: Running) -> None:
    answer = exploring.client.get("/api/tables/planets", params={"format": "csv"})
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert answer.text.splitlines()[0].startswith("Planet,Diameter (km)")


def test_a_cell_says_value_unit_scale_and_where_from(exploring: Running) -> None:
    cell = get(exploring, "cells", table="halden-segments", row=2, column=1)
    assert cell["text"] == "812,400"
    assert cell["value"] == "812400000"
    assert (cell["unit"], cell["unit_from"]) == ("CCY_EUR", "corner")
    assert (cell["scale"], cell["scale_from"]) == ("T", "corner")
    assert cell["groups"] == ["Instruments"]
    assert cell["iri"] == f"{SEGMENTS}/cell/2/1"
    predicates = {triple["predicate"].rpartition("#")[2].rpartition("/")[2] for triple in cell["triples"]}
    assert {"in2024", "hasUnit", "numericValue"} <= predicates


def test_tables_are_asked_in_sql(exploring: Running) -> None:
    known = get(exploring, "sql/tables", q="planets")
    assert known["tables"] == [{"id": "planets", "name": "planets", "title": "Planets of the solar system"}]
    found = get(
        exploring, "sql", query="SELECT Planet, Rings, Diameter_km / 2 AS r FROM planets WHERE Diameter_km > 130000"
    )
    assert (found["complete"], [column["number"] for column in found["columns"]]) == (True, [False, False, True])
    assert found["rows"][0][0] == "Jupiter"
    cut = get(exploring, "sql", query="SELECT NULL AS a FROM range(10001)")
    assert (cut["complete"], len(cut["rows"]), cut["rows"][0]) == (False, 10_000, [None])
    long = get(exploring, "sql", query="SELECT repeat('x', 1000000) FROM range(40)")
    assert (long["complete"], len(long["rows"])) == (False, 16)
    for query in ("DROP TABLE planets", "SELECT * FROM '/etc/passwd'", "SELECT * FROM nowhere", "COPY planets TO 'x'"):
        refused = exploring.client.get("/api/sql", params={"query": query})
        assert refused.status_code == 400, query
        assert "root:" not in refused.text


def test_sql_leaves_nothing_on_the_disk(
    opened: kgtable.KnowledgeGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(kgtable.errors.QueryError, match="emory"):
        opened.sql("SELECT count(DISTINCT (a.range, b.range)) FROM range(10000) a, range(3000) b")
    assert list(tmp_path.iterdir()) == []


def test_a_query_that_takes_all_memory_leaves_room_for_the_next_request(exploring: Running) -> None:
    for _ in range(2):
        query = "SELECT repeat('x', 50000000) FROM range(5000)"
        refused = exploring.client.get("/api/sql", params={"query": query}, timeout=120)
        assert refused.status_code == 400, refused.text
        assert "emory" in refused.json()["detail"]
        assert get(exploring, "row-chart", table="norrvik-income-statement", row=5, column=2)["chart"]


def test_a_row_over_years_is_drawn_beside_its_cells(exploring: Running) -> None:
    drawn = get(exploring, "row-chart", table="norrvik-income-statement", row=5, column=2)["chart"]
    assert drawn["description"] == "Total revenue: 3 numbers over time"
    assert drawn["svg"].startswith("<svg")
    for table, row, column in (("norrvik-income-statement", 5, 0), ("planets", 2, 1), ("halden-segments", 2, 1)):
        assert get(exploring, "row-chart", table=table, row=row, column=column) == {"chart": None}


def test_a_cell_of_text_and_an_empty_cell(exploring: Running) -> None:
    date = get(exploring, "cells", table="tide-gauge", row=2, column=0)
    assert date["datatype"].endswith("#date")
    empty = get(exploring, "cells", table="halden-segments", row=1, column=2)
    assert (empty["text"], empty["value"], empty["triples"]) == ("", None, [])


def test_resource_neighbours_and_search(exploring: Running) -> None:
    row = get(exploring, "resource", iri=f"{SEGMENTS}/row/2")
    assert (row["label"], row["table"], row["row"]) == ("- Laboratory", "halden-segments", 2)
    around = get(exploring, "neighbours", iri=f"{SEGMENTS}/row/2")
    kinds = {node["id"]: node["kind"] for node in around["nodes"]}
    assert kinds[f"{SEGMENTS}/cell/2/1"] == "cell"
    assert kinds["http://example.org/data/laboratory"] == "entity"
    predicate = get(exploring, "neighbours", iri="http://example.org/ontology#in2024", limit=5)
    assert predicate["more"]
    hits = get(exploring, "search", q="TOTAL instruments")["hits"]
    assert [hit["label"] for hit in hits] == ["Total Instruments"]


def test_ontology_classes_and_dataset(exploring: Running) -> None:
    found = get(exploring, "ontology", q="diameter")["predicates"]
    assert [entry["name"] for entry in found] == ["hasDiameter"]
    assert found[0]["units"][0]["name"] == "KiloM"
    classes = {entry["name"]: entry["entities"] for entry in get(exploring, "classes")["classes"]}
    assert classes["Row"] > 0
    dataset = get(exploring, "dataset")
    assert dataset["prefixes"]["ex"] == "http://example.org/ontology#"
    assert len(dataset["examples"]) >= 5
    assert "http://example.org/ontology#hasDiameter" in dataset["properties"]


def test_entity_tags_of_the_api(exploring: Running) -> None:
    tag = exploring.client.get("/api/tables").headers["etag"]
    assert exploring.client.get("/api/tables", headers={"if-none-match": tag}).status_code == 304


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("tables/nowhere", 404), ("tables?limit=0", 400), ("tables?limit=٣", 400), ("tables?nonsense=1", 400),
        ("tables?q=a&q=b", 400), ("tables/planets?rows=9999", 400), ("tables/planets?around=1,x", 400),
        ("tables/planets?format=exe", 400), ("cells?table=planets&row=0", 400),
        ("cells?table=planets&row=99&column=0", 404), ("resource?iri=nonsense", 400), ("resource", 400),
        ("retrieve", 400), ("nothing", 404),
    ],
)  # fmt: skip
def test_refusals(exploring: Running, path: str, status: int) -> None:
    answer = exploring.client.get(f"/api/{path}")
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    ("content", "headers", "status"),
    [
        (b"{}", {"content-type": "application/json"}, 400),
        (b"[1]", {"content-type": "application/json"}, 400),
        (b"{", {"content-type": "application/json"}, 400),
        (b'{"question": ""}', {"content-type": "application/json"}, 400),
        (b'{"question": "x", "k": 0}', {"content-type": "application/json"}, 400),
        (b'{"question": "x", "k": true}', {"content-type": "application/json"}, 400),
        (b"question=x", {"content-type": "application/x-www-form-urlencoded"}, 415),
        (b"x" * 70_000, {"content-type": "application/json"}, 413),
        (b'{"question": "x"}', {"content-type": "application/json", "sec-fetch-site": "cross-site"}, 403),
    ],
)
def test_questions_that_are_not_taken(exploring: Running, content: bytes, headers: dict[str, str], status: int) -> None:
    assert exploring.client.post("/api/ask", content=content, headers=headers).status_code == status


def test_the_first_rows_of_a_query_are_drawn(exploring: Running) -> None:
    query = "SELECT ?label ?value { ?row rdfs:label ?label ; ex:hasDiameter/qudt:numericValue ?value }"
    drawn = get(exploring, "chart", query=query)["chart"]
    assert drawn["svg"].startswith("<svg")
    assert "Jupiter" in drawn["svg"]
    assert drawn["description"] == "value: 8 numbers as bars"
    assert get(exploring, "chart", query="ASK { ?s ?p ?o }") == {"chart": None}
    assert exploring.client.get("/api/chart", params={"query": "SELECT ?x WHERE { ?x"}).status_code == 400
