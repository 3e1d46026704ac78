"""The report of a validation: what is wrong, in which file, row and column."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, TypeAlias

from pyoxigraph import BlankNode, DefaultGraph, Literal, NamedNode, Store

from kgtable.graph.shacl import Finding
from kgtable.graph.terms import DCTERMS, FIXED_PREFIXES, KGT, decode
from kgtable.tables.model import spreadsheet_reference

GraphName: TypeAlias = NamedNode | BlankNode | DefaultGraph

_PLACE = re.compile(
    r"(?P<table>.*/table/(?P<id>[^/#?]+))(?:/(?P<kind>row|column|cell)/(?P<one>[0-9]{1,9})(?:/(?P<two>[0-9]{1,9}))?)?"
)


@dataclass(frozen=True, slots=True)
class Violation:
    """A node that does not meet a shape; what is not known is None.

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
        place = self.file or self.table or self.node
        if self.file and self.sheet:
            place += f" [{self.sheet}]"
        if self.file and self.table:
            place += f", table {self.table}"
        if self.row is not None:
            place += f", row {self.row}"
        if self.column is not None:
            place += f", column {self.column}"
        if self.row is not None and self.column is not None:
            place += f" ({spreadsheet_reference(self.row, self.column)})"
        found = f" Found: {', '.join(self.values)}." if self.values else ""
        at = f" ({_short(self.property)})" if self.property else ""
        return f"{place}: {self.message}{at}{found}"


@dataclass(frozen=True, slots=True)
class ValidationReport:
    """The outcome of a validation: `count` violations, of which the first are listed.

    `nodes` are the nodes that were looked at, `forms` the different forms among them.
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
                {name: getattr(violation, name) for name in Violation.__slots__}
                for violation in self.violations
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
    for quad in store.quads_for_pattern(table, NamedNode(property_), None, graph):
        if isinstance(quad.object, Literal):
            return quad.object.value
    return None


def _counted(number: int, thing: str) -> str:
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def _short(iri: str) -> str:
    for prefix, namespace in FIXED_PREFIXES.items():
        if iri.startswith(namespace):
            return f"{prefix}:{iri.removeprefix(namespace)}"
    return iri
