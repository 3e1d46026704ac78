"""W3C's test manifests as Python values. The folder is `KGTABLE_CONFORMANCE` or ``../shared/conformance``."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyoxigraph as ox

REPOSITORY = Path(__file__).parents[2]
FOLDER = Path(os.environ.get("KGTABLE_CONFORMANCE", REPOSITORY.parent / "shared" / "conformance"))
SUITE = FOLDER / "sparql" / "sparql11"

MF = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#"
HT = "http://www.w3.org/2011/http#"
CNT = "http://www.w3.org/2011/content#"
UT = "http://www.w3.org/2009/sparql/tests/test-update#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"


def find_suite() -> Path | None:
    """The folder of the suite, beside this checkout or any folder above it."""
    if "KGTABLE_CONFORMANCE" in os.environ or SUITE.exists():
        return SUITE if SUITE.exists() else None
    for parent in REPOSITORY.parents:
        candidate = parent / "shared" / "conformance" / "sparql" / "sparql11"
        if candidate.exists():
            return candidate
    return None


@dataclass(frozen=True)
class Request:
    """One request of a protocol test and what its response must be."""

    method: str
    path: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    statuses: tuple[str, ...]
    boolean: bool | None
    form: str | None


@dataclass(frozen=True)
class ProtocolTest:
    """A test of the protocol manifest: graphs to load first, then requests in order."""

    name: str
    title: str
    graphs: tuple[tuple[str, Path], ...]
    requests: tuple[Request, ...]


class Manifest:
    """A manifest file in memory."""

    def __init__(self, path: Path) -> None:
        self._store = ox.Store()
        self._folder = path.parent
        self._base = "http://manifest.example/"
        self._store.load(path.read_text(), ox.RdfFormat.TURTLE, base_iri=self._base)

    def entries(self) -> list[ox.NamedNode]:
        """The tests in the manifest's order."""
        return self._list(self._one(ox.NamedNode(self._base), MF + "entries"))

    def text(self, subject: Any, predicate: str) -> str:
        """A literal's text, empty where there is none."""
        value = self._one(subject, predicate)
        return "" if value is None else value.value

    def texts(self, subject: Any, predicate: str) -> list[str]:
        """All literals' texts."""
        return sorted(
            quad.object.value for quad in self._store.quads_for_pattern(subject, ox.NamedNode(predicate), None)
        )

    def protocol_test(self, entry: ox.NamedNode) -> ProtocolTest:
        """A test of the protocol manifest."""
        action = self._one(entry, MF + "action")
        graphs = []
        for graph in self._all(entry, UT + "graphData"):
            file = self._one(graph, UT + "graph").value.removeprefix(self._base)
            graphs.append((self.text(graph, RDFS + "label"), self._folder / file))
        requests = tuple(self._request(node) for node in self._list(self._one(action, HT + "requests")))
        name = entry.value.rpartition("#")[2]
        return ProtocolTest(name, self.text(entry, MF + "name"), tuple(sorted(graphs)), requests)

    def _request(self, node: Any) -> Request:
        response = self._one(node, HT + "resp")
        content = self._one(node, HT + "body")
        body = b""
        if content is not None:
            body = self.text(content, CNT + "chars").encode(self.text(content, CNT + "characterEncoding"))
        headers = self._list(self._one(node, HT + "headers"))
        boolean = self.text(response, MF + "expectedBoolean")
        expected = self._all(response, MF + "expectedStatus")
        statuses = (value.value.rpartition("StatusCode")[2] for value in expected)
        fields = ((self.text(entry, HT + "fieldName"), self.text(entry, HT + "fieldValue")) for entry in headers)
        return Request(
            self.text(node, HT + "methodName"),
            self.text(node, HT + "absolutePath"),
            tuple(fields),
            body,
            tuple(sorted(statuses)),
            None if not boolean else boolean == "true",
            self.text(response, MF + "expectedFormat") or None,
        )

    def _all(self, subject: Any, predicate: str) -> list[Any]:
        quads = self._store.quads_for_pattern(subject, ox.NamedNode(predicate), None)
        return [quad.object for quad in quads]

    def _one(self, subject: Any, predicate: str) -> Any:
        quad = next(self._store.quads_for_pattern(subject, ox.NamedNode(predicate), None), None)
        return None if quad is None else quad.object

    def _list(self, node: Any) -> list[Any]:
        items = []
        while node is not None and node != ox.NamedNode(RDF + "nil"):
            items.append(self._one(node, RDF + "first"))
            node = self._one(node, RDF + "rest")
        return items
