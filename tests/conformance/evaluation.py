"""W3C's SPARQL 1.1 query and update tests, from the archive beside this file."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pyoxigraph as ox

from tests.conformance.manifests import MF, RDFS, UT, Manifest

ARCHIVE = Path(__file__).with_name("sparql11.zip")
QT = "http://www.w3.org/2001/sw/DataAccess/tests/test-query#"
TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
QUERY_FOLDERS = (
    *("aggregates", "bind", "bindings", "construct", "csv-tsv-res", "exists", "functions", "grouping"),
    *("json-res", "negation", "project-expression", "property-path", "subquery", "syntax-query"),
)
UPDATE_FOLDERS = (
    *("add", "basic-update", "clear", "copy", "delete", "delete-data", "delete-insert", "delete-where"),
    *("drop", "move", "syntax-update-1", "syntax-update-2"),
)


@dataclass(frozen=True)
class State:
    """What a graph store holds: files by graph, the default graph's under an empty name."""

    files: tuple[tuple[str, Path], ...]

    def dataset(self) -> ox.Dataset:
        """Everything in it."""
        quads = ox.Dataset()
        for name, path in self.files:
            graph = ox.NamedNode(name) if name else ox.DefaultGraph()
            form = ox.RdfFormat.from_extension(path.suffix[1:])
            for quad in ox.parse(path.read_bytes(), form, base_iri=iri_of(path)):
                quads.add(ox.Quad(quad.subject, quad.predicate, quad.object, graph))
        return quads


@dataclass(frozen=True)
class EvaluationTest:
    """A query or update, the store it meets, and the file or store that must come of it.

    `kind` is the last part of the test's class, such as ``QueryEvaluationTest``.
    """

    name: str
    title: str
    kind: str
    text: Path
    before: State
    result: Path | None
    after: State

    @property
    def base(self) -> str:
        """What relative IRIs of the text are relative to."""
        return iri_of(self.text)


def iri_of(path: Path) -> str:
    """The IRI a file of the suite had where it was published."""
    return f"http://www.w3.org/2009/sparql/docs/tests/data-sparql11/{path.parent.name}/{path.name}"


@contextmanager
def unpacked() -> Iterator[Path]:
    """The folder of the suite, until the block ends."""
    with tempfile.TemporaryDirectory() as folder:
        with ZipFile(ARCHIVE) as archive:
            archive.extractall(folder)
        yield Path(folder) / "sparql11"


@contextmanager
def evaluated_in(folders: Iterable[str]) -> Iterator[dict[tuple[str, str], EvaluationTest]]:
    """The tests of these folders by folder and name; their files stand as long as the block lasts."""
    with unpacked() as suite:
        yield {
            (folder, name): test
            for folder in folders
            for name, test in EvaluationManifest(suite / folder / "manifest.ttl").tests().items()
        }


def names(folder: str) -> list[str]:
    """The names of the tests in a folder's manifest, without unpacking the rest."""
    with tempfile.TemporaryDirectory() as place, ZipFile(ARCHIVE) as archive:
        path = archive.extract(f"sparql11/{folder}/manifest.ttl", place)
        return [entry.value.rpartition("#")[2] for entry in Manifest(Path(path)).entries()]


class EvaluationManifest(Manifest):
    """A manifest of query or update tests."""

    def tests(self) -> dict[str, EvaluationTest]:
        """Its tests by name."""
        found = (self._test(entry) for entry in self.entries())
        return {test.name: test for test in found}

    def _test(self, entry: ox.NamedNode) -> EvaluationTest:
        action, result = self._one(entry, MF + "action"), self._one(entry, MF + "result")
        text = self._one(action, QT + "query") or self._one(action, UT + "request") or action
        kinds = [kind.value.rpartition("#")[2] for kind in self._all(entry, TYPE)]
        return EvaluationTest(
            entry.value.rpartition("#")[2],
            self.text(entry, MF + "name"),
            next(kind for kind in kinds if "Test" in kind),
            self._file(text),
            self._state(action),
            self._file(result) if isinstance(result, ox.NamedNode) else None,
            self._state(result),
        )

    def _state(self, node: Any) -> State:
        if node is None or isinstance(node, ox.NamedNode):
            return State(())
        files = [("", self._file(file)) for prefix in (QT, UT) for file in self._all(node, prefix + "data")]
        graphs = [self._file(graph) for graph in self._all(node, QT + "graphData")]
        named = [
            (self.text(graph, RDFS + "label"), self._file(self._one(graph, UT + "graph")))
            for graph in self._all(node, UT + "graphData")
        ]
        files += [*((iri_of(path), path) for path in graphs), *named]
        return State(tuple(sorted(files)))

    def _file(self, node: Any) -> Path:
        return self._folder / node.value.removeprefix(self._base)
