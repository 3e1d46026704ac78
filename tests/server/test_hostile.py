"""Tables that mean harm: markup, formulas, bidirectional text, huge cells, very many columns."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest

import kgtable
from kgtable.server.options import ServerSettings
from kgtable.server.state import GraphFolder
from kgtable.server.views.answer_card import LONGEST_TEXT
from tests.server.browser import Chromium
from tests.server.serving import Running, running

MARKUP = [
    "<script>window.harmed=1</script>", '"><img src=x onerror="window.harmed=1">', "javascript:window.harmed=1",
    "</td></tr></table><svg onload=window.harmed=1>", "${window.harmed=1}", "'-window.harmed=1-'",
    '=HYPERLINK("http://evil.example/","x")', "\u202egnp.exe\u202c", "{{7*7}}", "\u2028\u0085\ufeff\u200f",
]  # fmt: skip
WIDE, LONG = 4_000, 400_000
NAME = '<img src=x onerror=harmed=1> & "q".csv'


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("hostile")
    tables = folder / "tables"
    tables.mkdir()
    with (tables / NAME).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["Label", *MARKUP])
        for number, text in enumerate(MARKUP):
            writer.writerow([text, *[f"{number}{place}" for place in range(len(MARKUP) - 1)], text])
    with (tables / "wide.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["Row", *(f"c{number}" for number in range(WIDE - 1))])
        writer.writerow(["a", *(str(number) for number in range(WIDE - 1))])
    (tables / "long.csv").write_text(f"Name,Text\na,{'x' * LONG}\nb,short\n", encoding="utf-8")
    kgtable.build(tables, folder / "graph", embedding="none")
    with running(ServerSettings(port=0), GraphFolder(folder / "graph")) as server:
        yield server


def get(server: Running, path: str) -> Any:
    answer = server.client.get(path)
    assert answer.status_code == 200, answer.text[:500]
    return answer.json()


def ids(server: Running) -> list[str]:
    return [table["id"] for table in get(server, "/api/tables")["tables"]]


def test_wide_and_long_tables_are_shown_a_window_at_a_time(hostile: Running) -> None:
    wide = get(hostile, f"/api/tables/wide?column={WIDE - 10}&columns=60")
    assert wide["width"] == WIDE
    assert [column["index"] for column in wide["columns"]] == [0, *range(WIDE - 10, WIDE)]  # with the labels
    assert wide["rows"][1]["cells"][-1] == str(WIDE - 2)
    answer = hostile.client.get("/api/tables/long")
    assert len(answer.content) < 20_000
    assert len(get(hostile, "/api/cells?table=long&row=1&column=1")["text"]) == LONG


def test_every_answer_stays_json_and_every_page_harmless(hostile: Running) -> None:
    name = next(id for id in ids(hostile) if "img" in id)
    shown = get(hostile, f"/api/tables/{quote(name, safe='')}")
    texts = [cell for row in shown["rows"] for cell in row["cells"]]
    assert set(MARKUP) <= set(texts)
    for text in MARKUP[:3]:
        get(hostile, f"/api/search?q={quote(text)}")
    page = hostile.query("SELECT * { ?s ?p ?o }", "text/html").text
    assert "<script>window" not in page
    assert "<img" not in page
    assert "<svg onload" not in page


def test_nothing_runs_in_a_browser(chromium: Chromium, hostile: Running) -> None:
    name = next(id for id in ids(hostile) if "img" in id)
    table = quote(name, safe="")
    iri = get(hostile, f"/api/tables/{table}")["iri"]
    query = quote("SELECT * { GRAPH ?g { ?s rdfs:label ?o ; ?p ?x } } LIMIT 300")
    visits = [
        ("/tables", "table.list tbody tr"), (f"/tables/{table}?cell=1,0", "#cell dl"),
        (f"/tables/{table}?cell=2,1", "#cell dl"), ("/tables/wide", "table.sheet .cell"),
        ("/tables/long?cell=1,1", "#cell dl"), (f"/graph?iri={quote(iri, safe='')}", "#side ul.triples li"),
        (f"/graph?iri={quote(iri + '/row/1', safe='')}", "#side ul.triples li"),
        (f"/resource?iri={quote(iri, safe='')}", "#resource dl"), ("/ontology", "#predicates details"),
        (f"/query?run=1&query={query}", "table.results tbody tr"), (f"/sparql?query={query}", "table.results tbody tr"),
    ]  # fmt: skip
    browser = chromium.on(hostile.url)
    for path, ready in visits:
        browser.open(path)
        browser.find(ready)
        assert browser.script("window.harmed") is None, path
        assert browser.script("document.querySelectorAll('main img, main svg[onload]').length") == 0, path
    assert browser.hosts() <= {hostile.url.split("/")[2]}


def test_an_answer_repeats_only_the_beginning_of_a_long_cell(hostile: Running) -> None:
    answer = hostile.client.post("/api/ask", json={"question": "What is the text of a?"})
    assert answer.status_code == 200
    assert len(answer.content) < LONG
    texts = [triple["object"] for triple in answer.json()["triples"] if triple["object"].startswith("xxx")]
    assert texts
    assert {len(text) for text in texts} == {LONGEST_TEXT + 1}
