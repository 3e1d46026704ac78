"""W3C's SPARQL 1.1 protocol tests, all of them, over real HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from kgtable.server.options import DefaultGraph, ServerSettings
from tests.conformance.manifests import Manifest, ProtocolTest, Request, find_suite
from tests.conformance.record import Record
from tests.server.serving import TOKEN, WRITER, Running, running, store_with

SUITE = find_suite()
pytestmark = pytest.mark.skipif(SUITE is None, reason="no W3C test suite: set KGTABLE_CONFORMANCE")

TABULAR = {"application/sparql-results+json", "application/sparql-results+xml", "text/csv", "text/tab-separated-values"}
RDF = {"text/turtle", "application/rdf+xml", "application/n-triples", "application/ld+json"}
FORMATS = {"tabular": TABULAR, "boolean": TABULAR - {"text/csv", "text/tab-separated-values"}, "RDF": RDF}


def protocol_tests() -> list[ProtocolTest]:
    if SUITE is None:
        return []
    manifest = Manifest(SUITE / "protocol" / "manifest.ttl")
    return [manifest.protocol_test(entry) for entry in manifest.entries()]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    source = store_with(tmp_path_factory.mktemp("protocol") / "store")
    settings = ServerSettings(port=0, writable=True, token=TOKEN, default_graph=DefaultGraph.OWN)
    with running(settings, source) as handle:
        yield handle


def load(server: Running, name: str, path: Path) -> None:
    headers = {**WRITER, "content-type": "application/n-triples"}
    answer = server.client.put("/store", params={"graph": name}, content=path.read_bytes(), headers=headers)
    assert answer.status_code in (201, 204)


def check(server: Running, request: Request) -> None:
    answer = server.client.request(
        request.method, request.path, content=request.body or None, headers=[*request.headers, *WRITER.items()]
    )
    families = {f"{answer.status_code // 100}xx"}
    assert families & set(request.statuses), f"{answer.status_code}: {answer.text}"
    if request.form is not None:
        assert answer.headers["content-type"].partition(";")[0] in FORMATS[request.form]
    if request.boolean is not None:
        assert json.loads(answer.content)["boolean"] is request.boolean


@pytest.mark.parametrize("test", protocol_tests(), ids=lambda test: test.name)
def test_protocol(server: Running, test: ProtocolTest, conformance: Record) -> None:
    with conformance.result("SPARQL 1.1 Protocol", test.name, test.title):
        assert server.update("DROP ALL").status_code == 204
        for name, path in test.graphs:
            load(server, name, path)
        for request in test.requests:
            check(server, request)
