"""Validation by SHACL: QUDT's own shapes of quantity values and kgtable's shapes, through pySHACL.

Each graph of a store is validated separately. pySHACL judges one node of each form (see
`kgtable.graph.shacl`): a folder of thousands of tables comes down to some hundred nodes. What it finds
is then reported for every node of that form, with file, row and column.
"""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby, islice
from pathlib import Path
from typing import Any, Final, TypeAlias

import rdflib
from pyoxigraph import BlankNode, DefaultGraph, Literal, NamedNode, RdfFormat, Store

from kgtable.config import MOST_LISTED
from kgtable.errors import GraphError, place_text
from kgtable.graph.shacl import (
    RDF_TYPE,
    ClassesOf,
    Finding,
    NodeExample,
    NodeValue,
    ShapeTerm,
    ShapeVision,
    judge,
    load_shapes,
)
from kgtable.graph.store import bounded_rdf
from kgtable.graph.terms import DCTERMS, FIXED_PREFIXES, KGT, QUDT, UNIT, decode
from kgtable.ontology.naming import prefixed
from kgtable.values.units import units

GraphName: TypeAlias = NamedNode | BlankNode | DefaultGraph

_PLACE = re.compile(
    r"(?P<table>.*/table/(?P<id>[^/#?]+))(?:/(?P<kind>row|column|cell)/(?P<one>[0-9]{1,9})(?:/(?P<two>[0-9]{1,9}))?)?"
)


@dataclass(frozen=True, slots=True)
class Violation:
    """A node that violates a shape; unknown fields are None.

    `node` is its IRI, `property` the IRI of the property at fault or empty, `values` its values.
    `row` and `column` are 0-based grid positions.
    """

    message: str
    node: str
    property: str = ""
    values: tuple[str, ...] = ()
    severity: str = "Violation"
    table: str | None = None
    file: str | None = None
    sheet: str | None = None
    row: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        source = self.file or self.table or self.node
        if self.file and self.table:
            source += f", table {self.table}"
        place = place_text(source, self.sheet or None, self.row, self.column)
        found = f" Found: {', '.join(self.values)}." if self.values else ""
        at = f" ({prefixed(self.property, FIXED_PREFIXES)})" if self.property else ""
        return f"{place}: {self.message}{at}{found}"


@dataclass(frozen=True, slots=True)
class ValidationReport:
    """The outcome of a validation: `count` violations, the first of which are listed.

    `nodes` are the nodes that were checked, `forms` the distinct forms among them.
    """

    violations: tuple[Violation, ...]
    count: int
    nodes: int
    forms: int

    @property
    def conforms(self) -> bool:
        """Whether nothing was found."""
        return self.count == 0

    def __str__(self) -> str:
        if self.conforms:
            return f"Valid: QUDT's shapes and kgtable's hold for {_counted(self.nodes, 'node')}."
        lines = [f"Not valid: {_counted(self.count, 'violation')} in {_counted(self.nodes, 'node')}."]
        lines.extend(map(str, self.violations))
        if len(self.violations) < self.count:
            lines.append(f"… and {self.count - len(self.violations):,} more.")
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """The report as JSON."""
        return {
            "conforms": self.conforms,
            "violations": self.count,
            "nodes": self.nodes,
            "listed": [
                {name: getattr(violation, name) for name in Violation.__slots__} for violation in self.violations
            ],
        }


def violation_of(
    store: Store, graph: GraphName, subject: NamedNode | BlankNode, finding: Finding, values: list[str]
) -> Violation:
    """A finding about one node, with its place in the tables."""
    match = _PLACE.fullmatch(subject.value) if isinstance(subject, NamedNode) else None
    places: dict[str, Any] = {}
    if match is not None:
        table = NamedNode(match["table"])
        one, two = (int(match[name]) if match[name] else None for name in ("one", "two"))
        places = {
            "table": _text(store, graph, table, f"{DCTERMS}identifier") or decode(match["id"]),
            "file": _text(store, graph, table, f"{KGT}source"),
            "sheet": _text(store, graph, table, f"{KGT}sheet"),
            "row": one if match["kind"] in ("row", "cell") else None,
            "column": one if match["kind"] == "column" else two,
        }
    return Violation(
        finding.message,
        subject.value if isinstance(subject, NamedNode) else str(subject),
        finding.property,
        tuple(values),
        finding.severity,
        **places,
    )


def _text(store: Store, graph: GraphName, table: NamedNode, property_: str) -> str | None:
    stated = (quad.object for quad in store.quads_for_pattern(table, NamedNode(property_), None, graph))
    return next((term.value for term in stated if isinstance(term, Literal)), None)


def _counted(number: int, thing: str) -> str:
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


@contextmanager
def opened(source: Store | Path | rdflib.Graph) -> Iterator[Store]:
    """A store on disk with the statements of the source, which keeps those of one subject together.

    A store's directory is opened as it is; files, rdflib graphs and stores that may be in memory are
    copied to a temporary one. Raises `GraphError` if a file or directory is missing, of unknown
    kind, or cannot be parsed.
    """
    if isinstance(source, Path) and source.is_dir():
        try:
            yield Store.read_only(str(source))
        except (OSError, RuntimeError) as error:  # a RuntimeError tells of damaged files
            raise GraphError(
                f"{source} cannot be opened as a store: {error}.", hint="Give an RDF file, or build the graph again."
            ) from error
        return
    with tempfile.TemporaryDirectory(prefix="kgtable-") as folder:
        store = Store(folder)
        if isinstance(source, Path):
            _load(store, source)
        else:
            if isinstance(source, Store):
                text = source.dump(format=RdfFormat.N_QUADS) or b""
            else:
                format_ = "nquads" if isinstance(source, rdflib.Dataset) else "nt"
                text = source.serialize(format=format_, encoding="utf-8")
            store.bulk_load(text, format=RdfFormat.N_QUADS)
        yield store
        del store


def _load(store: Store, path: Path) -> None:
    format_ = RdfFormat.from_extension(path.suffix.lstrip(".").lower())
    if format_ is None:
        raise GraphError(f"{path}: the suffix names no RDF format.", hint="Use .ttl, .trig, .nt, .nq, .jsonld or .rdf.")
    try:
        if format_ == RdfFormat.RDF_XML:
            with path.open("rb") as file:
                store.bulk_load(bounded_rdf(file, format_), format=format_)
        else:
            store.bulk_load(path=str(path), format=format_)  # by several threads
    except SyntaxError as error:
        raise GraphError(f"{path}, line {error.lineno}: {error.msg}.") from error
    except OSError as error:
        raise GraphError(f"{path} cannot be read: {error.strerror or error}.") from error


_MOST_REMEMBERED: Final = 100_000
_TYPE = NamedNode(RDF_TYPE)


@dataclass(frozen=True, slots=True)
class _Seen:
    graph: GraphName
    subject: NamedNode | BlankNode
    values: list[NodeValue]
    classes_of: ClassesOf


def validate(source: Store | Path | rdflib.Graph, *, most: int = MOST_LISTED) -> ValidationReport:
    """Checks a store, a store's directory, an RDF file or an rdflib graph; lists at most `most` violations.

    Raises `MissingExtraError` without pySHACL, `GraphError` if the source cannot be read.
    """
    shapes = load_shapes()
    vision = ShapeVision(shapes)
    with opened(source) as store:
        examples: dict[str, NodeExample] = {}
        counts: Counter[str] = Counter()
        for node in _typed_nodes(store, vision):
            form = vision.form(node.subject, node.values, node.classes_of)
            counts[form] += 1
            if form not in examples:
                classes = {value: node.classes_of(value) for iri, value in node.values if vision.looks_at_classes(iri)}
                examples[form] = NodeExample(node.subject, node.values, classes)
        findings = judge(examples, shapes)
        return ValidationReport(
            violations=tuple(islice(_violations(store, vision, findings), most)) if findings else (),
            count=sum(counts[form] * len(found) for form, found in findings.items()),
            nodes=counts.total(),
            forms=len(counts),
        )


def _typed_nodes(store: Store, vision: ShapeVision) -> Iterator[_Seen]:
    """Every node with a class, graph by graph, with the values that matter to the shapes."""
    properties = vision.properties
    for graph in (DefaultGraph(), *sorted(store.named_graphs(), key=str)):
        classes_of = _classes_in(store, graph)
        for subject, quads in groupby(store.quads_for_pattern(None, None, None, graph), lambda quad: quad.subject):
            values = [(iri, quad.object) for quad in quads if (iri := quad.predicate.value) in properties]
            if any(iri == RDF_TYPE for iri, _ in values):
                yield _Seen(graph, subject, values, classes_of)


def _classes_in(store: Store, graph: GraphName) -> Callable[[ShapeTerm], tuple[str, ...]]:
    """A function that returns the classes a graph states for a node; units of QUDT are qudt:Unit anywhere."""

    @lru_cache(_MOST_REMEMBERED)
    def classes_of(node: ShapeTerm) -> tuple[str, ...]:
        if isinstance(node, Literal):
            return ()
        stated = {str(quad.object)[1:-1] for quad in store.quads_for_pattern(node, _TYPE, None, graph)}
        if isinstance(node, NamedNode) and node.value.startswith(UNIT) and node.value[len(UNIT) :] in units():
            stated.add(f"{QUDT}Unit")
        return tuple(sorted(stated))

    return classes_of


def _violations(store: Store, vision: ShapeVision, findings: dict[str, list[Finding]]) -> Iterator[Violation]:
    for node in _typed_nodes(store, vision):
        for finding in findings.get(vision.form(node.subject, node.values, node.classes_of), ()):
            values = [str(value) for iri, value in node.values if iri == finding.property]
            yield violation_of(store, node.graph, node.subject, finding, values)
