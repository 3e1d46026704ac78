"""W3C's service description tests, over real HTTP."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyoxigraph as ox
import pytest

from kgtable.server.options import ServerSettings
from tests.conformance.manifests import RDF, Manifest, find_suite
from tests.conformance.record import Record
from tests.server.serving import Running, running, store_with

SUITE = find_suite()
pytestmark = pytest.mark.skipif(SUITE is None, reason="no W3C test suite: set KGTABLE_CONFORMANCE")

MF = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#"
SD = "http://www.w3.org/ns/sparql-service-description#"

OBJECT_CLASSES = {
    "defaultDataset": "Dataset", "availableGraphs": "GraphCollection", "namedGraph": "NamedGraph",
    "defaultGraph": "Graph", "graph": "Graph",
}  # fmt: skip
RESOURCES = ("endpoint", "feature", "supportedLanguage", "resultFormat", "inputFormat", "defaultDataset", "name")
LANGUAGES = ("SPARQL10Query", "SPARQL11Query", "SPARQL11Update")
FEATURES = ("DereferencesURIs", "UnionDefaultGraph", "RequiresDataset", "EmptyGraphs", "BasicFederatedQuery")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    source = store_with(tmp_path_factory.mktemp("description") / "store")
    with running(ServerSettings(port=0), source) as handle:
        yield handle


def description(server: Running) -> ox.Dataset:
    answer = server.client.get("/sparql")
    assert answer.status_code == 200
    form = ox.RdfFormat.from_media_type(answer.headers["content-type"])
    assert form is not None
    return ox.Dataset(ox.parse(answer.content, form))


def returns_rdf(server: Running) -> None:
    assert len(list(description(server))) > 0


def has_endpoint_triple(server: Running) -> None:
    endpoint = ox.NamedNode(server.sparql)
    assert any(quad.predicate.value == SD + "endpoint" and quad.object == endpoint for quad in description(server))


def conforms_to_schema(server: Running) -> None:
    """Ranges and the closed lists of languages and features of the specification's schema."""
    dataset = description(server)
    types = {(quad.subject, quad.object.value) for quad in dataset if quad.predicate.value == RDF + "type"}
    services = [subject for subject, kind in types if kind == SD + "Service"]
    assert len(services) == 1
    for quad in dataset:
        if not quad.predicate.value.startswith(SD):
            continue
        name = quad.predicate.value.removeprefix(SD)
        if name in RESOURCES:
            assert not isinstance(quad.object, ox.Literal), name
        if name in OBJECT_CLASSES:
            assert (quad.object, SD + OBJECT_CLASSES[name]) in types, name
        if name == "supportedLanguage":
            assert quad.object.value.removeprefix(SD) in LANGUAGES
        if name == "feature":
            assert quad.object.value.removeprefix(SD) in FEATURES


CHECKS: dict[str, Callable[[Running], None]] = {
    "returns-rdf": returns_rdf,
    "has-endpoint-triple": has_endpoint_triple,
    "conforms-to-schema": conforms_to_schema,
}


def entries() -> list[tuple[str, str]]:
    if SUITE is None:
        return []
    manifest = Manifest(SUITE / "service-description" / "manifest.ttl")
    return [(entry.value.rpartition("#")[2], manifest.text(entry, MF + "name")) for entry in manifest.entries()]


@pytest.mark.parametrize(("name", "title"), entries())
def test_service_description(server: Running, name: str, title: str, conformance: Record) -> None:
    with conformance.result("SPARQL 1.1 Service Description", name, title):
        CHECKS[name](server)
