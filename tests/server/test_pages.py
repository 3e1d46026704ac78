"""The pages and the IRIs of the data, as bytes; what they do in a browser is in `test_browser`."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pyoxigraph as ox
import pytest
import rdflib

from kgtable.server import pages
from tests.server.serving import Running

PAGES = [
    "/", "/tables", "/tables/planets", "/graph", "/query", "/ontology",
    "/resource?iri=http://example.org/data/table/planets",
]  # fmt: skip
STATIC = Path(pages.__file__).parent / "static"


@pytest.mark.parametrize("path", PAGES)
def test_pages_are_whole_and_strict(exploring: Running, path: str) -> None:
    answer = exploring.client.get(path, headers={"accept": "text/html"})
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "$" not in answer.text
    assert not re.search(r"<script>|\son\w+=|\sstyle=", answer.text)
    for address in re.findall(r'(?:src|href)="([^"#?]+)"', answer.text):
        assert address.startswith("/"), address
        assert exploring.client.get(address).status_code == 200, address


def test_an_iri_is_described_or_not_found(exploring: Running) -> None:
    turtle = {"accept": "text/turtle"}
    for path in ("/data/table/planets/cell/1/0", "/data/table/planets/cell/99/0", "/resource?iri=http://x.example/"):
        for accept in (turtle, {"accept": "text/html"}):
            answer = exploring.client.get(path, headers=accept)
            assert answer.status_code == 404
    shared = exploring.client.get("/data/saturn", headers=turtle)
    graph = rdflib.Graph().parse(data=shared.text, format="turtle")
    entity = rdflib.URIRef("http://example.org/data/saturn")
    assert (rdflib.URIRef("http://example.org/data/table/planets/row/6"), None, entity) in graph


def test_pages_show_their_content_without_javascript(exploring: Running) -> None:
    def shown(address: str) -> str:
        return exploring.client.get(address, headers={"accept": "text/html"}).text.partition("<main")[2]

    assert '<a href="/tables/planets">' in shown("/tables")
    assert '<td dir="auto">Saturn</td>' in shown("/tables/planets")
    assert '<td dir="auto">Saturn</td>' not in shown("/tables/planets?first=7")
    assert "/resource?iri=http%3A%2F%2Fexample.org%2Fdata%2Fsaturn" in shown("/data/table/planets/row/6")
    question = "/?q=What+is+the+diameter+of+Saturn%3F"
    link = re.search(r'href="(/[?]plain=1[^"]*)"', shown(question))
    assert link is not None
    answer = shown(html.unescape(link[1])).partition('class="big"')[2]
    assert '<a href="/tables/planets?cell=6,' in answer
    assert "$" not in answer


def test_forms_and_lists_work_without_javascript(exploring: Running) -> None:
    def shown(address: str) -> str:
        answer = exploring.client.get(address, headers={"accept": "text/html"})
        assert answer.status_code == 200
        return html.unescape(answer.text.partition("<main")[2])

    def linked(address: str, start: str) -> str:
        return next(link for link in re.findall(r'href="([^"]*)"', shown(address)) if link.startswith(start))

    assert '<textarea name="query" rows="8" aria-label="SPARQL query">ASK {}</textarea>' in shown("/query?query=ASK+{}")
    assert "<table" in shown(linked("/query", "/sparql?query="))
    assert '<td dir="auto">Saturn</td>' in shown(linked("/sql", "/sql?plain=1&query=SELECT+%2A+FROM+planets"))
    assert "<td class=number" in shown("/sql?plain=1&query=SELECT+42")
    refused = exploring.client.get("/sql?plain=1&query=DROP+TABLE+planets", headers={"accept": "text/html"})
    assert refused.status_code == 400
    foreign = {"sec-fetch-site": "cross-site", "accept": "text/html"}
    assert exploring.client.get("/sql?plain=1&query=SELECT+1", headers=foreign).status_code == 403
    assert "/resource?iri=" in shown("/ontology")
    assert "hasDiameter" in shown("/ontology?q=diameter")
    assert "<h2>Subjects of several tables</h2>" in shown("/graph") or "share no values" in shown("/graph")
    form = shown(linked("/explore", "/explore?plain=1&table=planets"))
    assert '<select name="measure">' in form
    measure = next(value for value in re.findall(r'value="("[^"]*Diameter[^"]*")"', form))
    assert "142,984" in shown(f"/explore?plain=1&table=planets&how=max&measure={measure}&by=")


def test_headers_are_shown_once_without_javascript(exploring: Running) -> None:
    text = exploring.client.get("/tables/planets", headers={"accept": "text/html"}).text
    plain = text.partition("<noscript>")[2]
    assert len(re.findall(r">Planet<", plain)) == 1
    assert re.search(r"<td class=number dir=\"auto\">142,984", plain)


def test_no_file_of_ours_names_another_host() -> None:
    for path in [*STATIC.glob("*.js"), *STATIC.glob("*.css"), *(STATIC.parent / "templates").glob("*")]:
        addresses = set(re.findall(r"https?://[\w.]+", path.read_text(encoding="utf-8")))
        assert addresses <= {"http://www.w3.org"}, path


@pytest.mark.parametrize(
    ("accept", "form"), [("text/turtle", ox.RdfFormat.TURTLE), ("application/ld+json", ox.RdfFormat.JSON_LD)]
)
def test_iris_dereference_for_programs(exploring: Running, accept: str, form: ox.RdfFormat) -> None:
    for path in ("/data/table/halden-segments/row/2", "/data/table/halden-segments/cell/2/1", "/dataset"):
        answer = exploring.client.get(path, headers={"accept": accept})
        assert answer.status_code == 200
        subjects = {quad.subject for quad in ox.parse(answer.content, form)}
        assert ox.NamedNode(f"http://example.org{path}") in subjects


def test_iris_dereference_for_people(exploring: Running) -> None:
    answer = exploring.client.get("/data/table/halden-segments/row/2", headers={"accept": "text/html"})
    assert 'data-iri="http://example.org/data/table/halden-segments/row/2"' in answer.text
    hostile = exploring.client.get("/resource", params={"iri": "http://x/?\"&a='b"}, headers={"accept": "text/html"})
    assert hostile.status_code == 400


def test_ontology_dereferences(exploring: Running) -> None:
    answer = exploring.client.get("/ontology", headers={"accept": "text/turtle"})
    assert "ex:hasDiameter" in answer.text


def test_files_outside_the_folder_stay_there(exploring: Running) -> None:
    for path in ("/static/../app.py", "/static/%2e%2e/app.py", "/static//etc/passwd"):
        assert exploring.client.get(path).status_code == 404


def test_the_dataset_describes_itself_to_editors(exploring: Running) -> None:
    prefixes = exploring.query("SELECT ?p ?n { [] sh:prefix ?p ; sh:namespace ?n }").json()
    assert len(prefixes["results"]["bindings"]) >= 10
    examples = exploring.query("SELECT ?c ?q { ?x a sh:SPARQLExecutable ; rdfs:comment ?c ; sh:select ?q }").json()
    assert len(examples["results"]["bindings"]) >= 5
    classes = exploring.query("SELECT ?c ?n { ?p void:class ?c ; void:entities ?n }").json()
    assert classes["results"]["bindings"]


def test_a_browser_is_told_of_a_problem_on_a_page(exploring: Running) -> None:
    for path in ("/nothing-here", "/sparql?query=SELECT"):
        page = exploring.client.get(path, headers={"accept": "text/html,application/xhtml+xml,*/*;q=0.8"})
        assert page.status_code in (400, 404)
        assert page.headers["content-type"].startswith("text/html")
        assert page.text.count("<h1>") == 1
        assert "<nav" in page.text
        plain = exploring.client.get(path)
        assert plain.status_code == page.status_code
        assert plain.headers["content-type"] == "application/problem+json"
    hostile = exploring.client.get("/<script>x", headers={"accept": "text/html"})
    assert "<script>x" not in hostile.text
