"""Execution of queries; the scanner never overlooks a keyword that the engine would see."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest

from kgtable.graph.sparql_text import AmbiguousTextError, tokens
from kgtable.server.workers.execution import (
    Evaluator,
    file_iris,
    is_volatile,
    names_dataset,
    refuse_remote,
    remote_iris,
    results_page,
    syntax_problem,
    without_unused_prefixes,
)
from kgtable.server.workers.messages import Problem
from tests.server.conftest import DATA
from tests.server.refusals import refused
from tests.server.serving import store_with

PREFIXES = {"e": "http://example.org/", "data": "http://example.org/data/"}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("evaluation") / "store"
    store_with(folder, DATA)
    return folder


@pytest.fixture
def evaluator(path: Path) -> Evaluator:
    return Evaluator(str(path), PREFIXES)


def query(text: str, **more: Any) -> dict[str, Any]:
    return {"op": "query", "query": text, "union": True, "accept": "", "result_limit": 100_000} | more


def graph(name: str | None, **more: Any) -> dict[str, Any]:
    return {"op": "graph", "graph": name, "default": False, "accept": "", "result_limit": 100_000} | more


def values(evaluator: Evaluator, text: str, **more: Any) -> list[str]:
    _, body = evaluator.answer(query(text, **more))
    return sorted(row["o"]["value"] for row in json.loads(body)["results"]["bindings"])


def test_what_a_query_sees(evaluator: Evaluator) -> None:
    asked = "SELECT ?o { ?s e:p ?o }"
    assert values(evaluator, asked) == ["1", "2", "3"]
    assert values(evaluator, asked, union=False) == ["1"]
    assert values(evaluator, asked, default_graphs=["http://example.org/g1"]) == ["2"]
    assert values(evaluator, "SELECT ?o FROM e:g2 { ?s e:p ?o }") == ["3"]
    assert values(
        evaluator, "SELECT ?o { GRAPH ?g { ?s ?p ?o } }", named_graphs=["http://example.org/g2"]
    ) == ["3"]


def test_formats_are_what_was_asked_for(evaluator: Evaluator) -> None:
    head, body = evaluator.answer(query("ASK {}", accept="text/csv, application/xml;q=0.5"))
    assert (head["type"], body.strip()) == ("text/csv; charset=utf-8", b"true")
    head, body = evaluator.answer(query("CONSTRUCT WHERE { ?s e:p ?o }", accept="application/n-triples"))
    assert head == {"status": 200, "type": "application/n-triples"}
    assert len(body.splitlines()) == 3
    head, body = evaluator.answer(query("SELECT ('<b>' AS ?x) {}", accept="text/html"))
    assert b"&lt;b&gt;" in body
    with refused("not-acceptable"):
        evaluator.answer(query("ASK {}", accept="image/png"))


def test_turtle_has_the_prefixes_it_needs(evaluator: Evaluator) -> None:
    _, body = evaluator.answer(query("CONSTRUCT WHERE { ?s e:p ?o }"))
    assert body.startswith(b"@prefix e: <http://example.org/> .\n")
    assert b"data:" not in body


def test_long_answers_are_packed_where_that_is_understood(evaluator: Evaluator) -> None:
    many = "SELECT ?x { VALUES ?x { " + "1 " * 500 + "} }"
    head, body = evaluator.answer(query(many, gzip=True))
    assert head["encoding"] == "gzip"
    assert evaluator.answer(query(many, gzip=True))[1] == body
    assert gzip.decompress(body) == evaluator.answer(query(many))[1]
    assert "encoding" not in evaluator.answer(query("ASK {}", gzip=True))[0]


def test_volatile_queries_say_so(evaluator: Evaluator) -> None:
    assert evaluator.answer(query("SELECT (NOW() AS ?t) {}"))[0]["volatile"]
    assert "volatile" not in evaluator.answer(query("SELECT ?now { BIND('now' AS ?now) }"))[0]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("SELEKT", "syntax-error"),
        ("SELECT * { ?s", "syntax-error"),
        ("SELECT * { SERVICE <http://x/> {} }", "remote-access"),
        ("SELECT * FROM <file:///etc/passwd> {}", "remote-access"),
        ("SELECT * { FILTER(?a<'x>') SERVICE <http://x/> {} }", "bad-request"),
    ],
)
def test_queries_that_are_refused(text: str, kind: str, evaluator: Evaluator) -> None:
    with refused(kind):
        evaluator.answer(query(text))


def test_results_beyond_the_limit_are_refused_in_every_form(evaluator: Evaluator) -> None:
    many = "{ VALUES ?x { " + "1 " * 500 + "} }"
    for text, accept in (
        (f"SELECT * {many}", ""),
        (f"SELECT * {many}", "text/html"),
        ("CONSTRUCT WHERE { ?s ?p ?o }", ""),
    ):
        with refused("result-too-large"):
            evaluator.answer(query(text, accept=accept, result_limit=30))


def test_single_graphs_and_the_whole_store(evaluator: Evaluator) -> None:
    _, body = evaluator.answer(graph("http://example.org/g1"))
    assert [quad.object.value for quad in ox.parse(body, ox.RdfFormat.TURTLE)] == ["2"]  # type: ignore[union-attr]
    _, body = evaluator.answer(graph(None, default=True, accept="application/n-triples"))
    assert [quad.object.value for quad in ox.parse(body, ox.RdfFormat.N_TRIPLES)] == ["1"]  # type: ignore[union-attr]
    head, body = evaluator.answer(graph(None))
    assert head["type"] == "application/trig"
    assert len(list(ox.parse(body, ox.RdfFormat.TRIG))) == 3
    with refused("not-found"):
        evaluator.answer(graph("http://example.org/none"))


def test_a_store_that_cannot_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgtable.server.workers.execution.OPENING_PAUSES", (0.0,))
    with refused("unavailable"):
        Evaluator(str(tmp_path), {})


def test_addresses_that_are_allowed_may_be_reached() -> None:
    refuse_remote("SELECT * { SERVICE <http://x/> {} }", ("http://x/",))
    for text in (
        "SELECT * { SERVICE ?x {} }",
        "LOAD <http://y/>",
        "SELECT * { SERVICE <http://x/> { SERVICE <http://z/> {} } }",
    ):
        with refused("remote-access"):
            refuse_remote(text, ("http://x/",))


@pytest.mark.parametrize("turtle", [b"", b"a:x a:y a:z .\n", b"@prefix a: <http://a/> .\n"])
def test_prefixes_that_nothing_uses_are_left_out(turtle: bytes) -> None:
    assert b"@prefix" not in without_unused_prefixes(turtle)
    assert without_unused_prefixes(without_unused_prefixes(turtle)) == without_unused_prefixes(turtle)


def test_errors_of_syntax_have_their_place() -> None:
    with pytest.raises(SyntaxError) as caught:
        ox.Store().query("SELECT *\n{ ?s ?p }")
    problem = syntax_problem(caught.value)
    assert isinstance(problem, Problem)
    assert problem.extra["line"] == 2
    assert problem.detail.startswith("Line 2, column ")
    assert syntax_problem(SyntaxError("something else")).detail == "something else"


HIDDEN = [
    "SELECT * { SERVICE <http://x/> { ?s ?p ?o } }",
    "SELECT * { ?s ?p 1SERVICE <http://x/> {} }",
    "SELECT * { ?s ?p 1.5e3SERVICE <http://x/> {} }",
    "SELECT * { ?s ?p trueSERVICE <http://x/> {} }",
    "SELECT * { SERVICESILENT<http://x/> {} }",
    "PREFIX ex: <http://x/> SELECT * { SERVICEex:foo {} }",
    "SELECT * { ?s ?p 'a\\'' . SERVICE ?x { ?s ?p ?o } }",
    'SELECT * { ?s ?p """ " """ . service <http://x/> {} }',
    "SELECT * { # comment ' \n SERVICE <http://x/> {} }",
    "SELECT * { <http://x/#frag> ?p ?o . SERVICE <http://x/> {} }",
    "PREFIX e: <http://e/> SELECT * { e:a\\'b ?p ?o . SERVICE <http://x/> {} }",
    "SELECT * { FILTER(?a<?b#>\n) SERVICE <http://x/> {} }",
]


@pytest.mark.parametrize("query", HIDDEN)
def test_every_service_is_found(query: str) -> None:
    assert remote_iris(query)


def test_a_string_that_could_hide_a_service_is_refused() -> None:
    with pytest.raises(AmbiguousTextError):
        remote_iris("SELECT * { FILTER(?a<'x>') SERVICE <http://x/> {} FILTER(?z = '') }")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT ?service { ?service ?p 'SERVICE <http://x/>' } # SERVICE <http://x/>",
        'SELECT * { <http://service/> <http://x#service> "load" }',
        "PREFIX ex: <http://e/> SELECT * { ?s ex:serviceCharge ?o . ?s ex:load ?l }",
        "SELECT * { ?s ?p 'x'@en-service }",
    ],
)
def test_harmless_mentions_are_left_alone(query: str) -> None:
    assert remote_iris(query) == ()


def test_loads_are_found_with_their_source() -> None:
    assert remote_iris("LOAD SILENT <http://x/d.ttl> INTO GRAPH <http://g>;LOAD<file:///etc/passwd>") == (
        "http://x/d.ttl",
        "file:///etc/passwd",
    )


def test_dataset_clauses() -> None:
    assert names_dataset("ASK FROM NAMED <http://g> {}")
    assert not names_dataset("ASK { ?s ?p 'from' } # FROM")


def test_volatile_functions_and_file_iris() -> None:
    assert is_volatile("SELECT (NOW () AS ?t) {}")
    assert not is_volatile("SELECT ?now {}")
    assert file_iris("SELECT * FROM < file:///etc/passwd> {}")


def test_tokens_cover_the_text_and_end() -> None:
    text = "SELECT ?a { ?a <http://p> 'unclosed"
    assert "".join(token.text for token in tokens(text)) == text.replace(" ", "")


HOSTILE = '"><script>alert(1)</script>{query}\u202e'


def page(
    bindings: list[dict[str, Any]], query: str = "SELECT * {}", variables: tuple[str, ...] = ("x",)
) -> str:
    results = {"head": {"vars": list(variables)}, "results": {"bindings": bindings}}
    return results_page(query, json.dumps(results).encode(), graph=False).decode()


def test_terms_are_shown_as_what_they_are() -> None:
    shown = page(
        [
            {"x": {"type": "uri", "value": "http://e/a b?c&d"}},
            {"x": {"type": "bnode", "value": "b0"}},
            {"x": {"type": "literal", "value": "Wert", "xml:lang": "de"}},
            {},
        ]
    )
    assert '<a href="/resource?iri=http%3A%2F%2Fe%2Fa%20b%3Fc%26d">http://e/a b?c&amp;d</a>' in shown
    assert "_:b0" in shown
    assert '<bdi dir="auto">Wert</bdi> <small>@de</small>' in shown
    assert "4 results" in shown
    assert "<td></td>" in shown


def test_triples_in_terms_are_shown() -> None:
    node = {"type": "uri", "value": "http://e/s"}
    triple = {
        "type": "triple",
        "value": {"subject": node, "predicate": node, "object": {"type": "literal", "value": "<o>"}},
    }
    assert "&lt;o&gt;" in page([{"x": triple}])


def test_markup_is_never_of_the_page() -> None:
    for shown in (
        page([{HOSTILE: {"type": "literal", "value": HOSTILE, "xml:lang": HOSTILE}}], HOSTILE, (HOSTILE,)),
        page(
            [
                {"x": {"type": "uri", "value": f"javascript:{HOSTILE}"}},
                {"x": {"type": "bnode", "value": HOSTILE}},
            ]
        ),
        results_page(HOSTILE, HOSTILE.encode(), graph=True).decode(),
    ):
        assert "<script>" not in shown
        assert not re.search(r'href="javascript', shown)
        assert "&lt;script&gt;" in shown


def test_answers_without_rows() -> None:
    assert "matches nothing" in page([])
    assert "1 result<" in page([{}])
    for value, word in ((True, "Yes"), (False, "No")):
        shown = results_page("ASK {}", json.dumps({"head": {}, "boolean": value}).encode(), graph=False)
        assert f"<strong>{word}</strong>" in shown.decode()
