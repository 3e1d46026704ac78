"""Execution of queries; the scanner never overlooks a keyword that the engine would see."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from kgtable.graph.sparql_text import AmbiguousTextError
from kgtable.server.workers.execution import (
    Evaluator,
    file_iris,
    is_volatile,
    names_dataset,
    refuse_remote,
    remote_iris,
    results_page,
)
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


def test_addresses_that_are_allowed_may_be_reached() -> None:
    refuse_remote("SELECT * { SERVICE <http://x/> {} }", ("http://x/",))
    for text in (
        "SELECT * { SERVICE ?x {} }",
        "LOAD <http://y/>",
        "SELECT * { SERVICE <http://x/> { SERVICE <http://z/> {} } }",
    ):
        with refused("remote-access"):
            refuse_remote(text, ("http://x/",))


HIDDEN = [
    "SELECT * { SERVICE <http://x/> { ?s ?p ?o } }", "SELECT * { ?s ?p 1SERVICE <http://x/> {} }",
    "SELECT * { ?s ?p 1.5e3SERVICE <http://x/> {} }", "SELECT * { ?s ?p trueSERVICE <http://x/> {} }",
    "SELECT * { SERVICESILENT<http://x/> {} }", "PREFIX ex: <http://x/> SELECT * { SERVICEex:foo {} }",
    "SELECT * { ?s ?p 'a\\'' . SERVICE ?x { ?s ?p ?o } }", 'SELECT * { ?s ?p """ " """ . service <http://x/> {} }',
    "SELECT * { # comment ' \n SERVICE <http://x/> {} }",
    "SELECT * { <http://x/#frag> ?p ?o . SERVICE <http://x/> {} }",
    "PREFIX e: <http://e/> SELECT * { e:a\\'b ?p ?o . SERVICE <http://x/> {} }",
    "SELECT * { FILTER(?a<?b#>\n) SERVICE <http://x/> {} }",
]  # fmt: skip


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
    assert is_volatile("SELECT (now#c\n() AS ?t) {}")
    assert is_volatile("SELECT (1+StrUUID # (\r\n () AS ?t) {}")
    assert not is_volatile("SELECT ?now {}")
    assert not is_volatile("ASK { ?s ?p 'now()' } # rand()")
    assert file_iris("SELECT * FROM < file:///etc/passwd> {}")


HOSTILE = '"><script>alert(1)</script>{query}\u202e'


def page(bindings: list[dict[str, Any]], query: str = "SELECT * {}", variables: tuple[str, ...] = ("x",)) -> str:
    results = {"head": {"vars": list(variables)}, "results": {"bindings": bindings}}
    return results_page(query, json.dumps(results).encode(), graph=False).decode()


def test_markup_is_never_of_the_page() -> None:
    for shown in (
        page([{HOSTILE: {"type": "literal", "value": HOSTILE, "xml:lang": HOSTILE}}], HOSTILE, (HOSTILE,)),
        page([{"x": {"type": "uri", "value": f"javascript:{HOSTILE}"}}, {"x": {"type": "bnode", "value": HOSTILE}}]),
        results_page(HOSTILE, HOSTILE.encode(), graph=True).decode(),
    ):
        assert "<script>" not in shown
        assert not re.search(r'href="javascript', shown)
        assert "&lt;script&gt;" in shown
