"""Neighbourhood of a node: statements from and to it, a picture of its neighbours, search by label."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import pyoxigraph as ox

from kgtable.errors import GraphNotFoundError, UsageError
from kgtable.graph.table_decoder import ObjectTerm, text_of
from kgtable.graph.terms import KGT, QUDT, RDF, RDFS, decode, is_valid_iri
from kgtable.knowledge_graph import KnowledgeGraph
from kgtable.server.views.overview import column_names, unit_facts
from kgtable.server.views.table_windows import ask, term_json
from kgtable.server.workers.messages import Head, Tell

MOST_OUTGOING, MOST_INCOMING = 300, 100
LONGEST_LABEL = 200
_ROW_NUMBER = re.compile("[0-9]{1,9}")

_LEFT_OUT = {f"{RDF}type", f"{RDFS}label", *(f"{KGT}{name}" for name in ("row", "column", "width", "printed"))}
"""Predicates left out of the picture for clarity."""

_NAMES = (f"{RDFS}label", f"{KGT}text")
"""The predicates of a node's name, the best first; a node has one of them."""

_KIND_OF_TYPE = {f"{KGT}Table": "table", f"{KGT}Row": "row", f"{QUDT}QuantityValue": "cell"}


def resource(graph: KnowledgeGraph, job: Head, tell: Tell) -> dict[str, Any]:
    """The statements that start at an IRI and those that end there, a few hundred of each at most.

    Raises `GraphNotFoundError` if there are none.
    """
    iri = _checked(job["iri"])
    outgoing = sorted(ask(graph, "outgoing", iri=iri), key=_reading_order)
    incoming = list(ask(graph, "incoming", iri=iri))
    if not outgoing and not incoming:
        raise GraphNotFoundError(f"The graph does not contain {iri.value[:200]}.")
    label = next(filter(None, (_first_text(outgoing, name) for name in _NAMES)), "")
    return {
        "iri": iri.value,
        "label": label or _name(iri.value),
        "outgoing": [_statement(row, "object") for row in outgoing[:MOST_OUTGOING]],
        "incoming": [_statement(row, "subject") for row in incoming[:MOST_INCOMING]],
        "more": len(outgoing) > MOST_OUTGOING or len(incoming) > MOST_INCOMING,
        "names": _names_in(graph, (row["predicate"].value for row in (*outgoing, *incoming))),
        "unit": unit_facts(graph, iri.value),
        **place(graph, iri.value),
    }


_FIRST = (f"{RDFS}label", f"{RDF}type", *(f"{KGT}{name}" for name in ("table", "row", "subject", "group")))
_CELL = re.compile("/cell/([0-9]{1,9})/([0-9]{1,9})$")


def _reading_order(row: Any) -> tuple[int, int, str]:
    """The name and the place of a node first, then its texts, then its cells from left to right."""
    predicate = row["predicate"].value
    if predicate in _FIRST:
        return 0, _FIRST.index(predicate), ""
    cell = _CELL.search(row["object"].value) if isinstance(row["object"], ox.NamedNode) else None
    return (1, 0, predicate) if cell is None else (2, int(cell[2]), predicate)


def _statement(row: Any, name: str) -> dict[str, Any]:
    term = term_json(row[name])
    shown = row["text"] if row["text"] is not None else row["label"]
    if shown is not None:
        term["label"] = text_of(shown)[:LONGEST_LABEL]
    return {"predicate": row["predicate"].value, "term": term}


def neighbours(graph: KnowledgeGraph, job: Head, tell: Tell) -> dict[str, Any]:
    """A node and at most `limit` of its neighbours: nodes with label and kind, edges by predicate.

    The neighbourhood of a predicate is the rows that use it and their values.
    """
    iri = _checked(job["iri"])
    picture = _Picture(graph)
    picture.add(iri, None, None)
    more = False
    for rows, outward in ((ask(graph, "outgoing", iri=iri), True), (ask(graph, "incoming", iri=iri), False)):
        for count, row in enumerate(rows):
            if count >= job["limit"]:
                more = True
                break
            if outward and row["predicate"].value in _NAMES and isinstance(row["object"], ox.Literal):
                picture.set_label(iri.value, text_of(row["object"]))
            if outward and row["predicate"].value in _LEFT_OUT:
                continue
            other = row["object" if outward else "subject"]
            source, target = (iri, other) if outward else (other, iri)
            picture.add(other, row["type"], row["text"] if row["text"] is not None else row["label"])
            picture.connect(source, target, row["predicate"].value)
    for count, row in enumerate(ask(graph, "uses", iri=iri)):
        if count >= job["limit"]:
            more = True
            break
        picture.add(row["subject"], ox.NamedNode(f"{KGT}Row"), row["label"])
        picture.add(row["object"], None, row["text"])
        picture.connect(row["subject"], row["object"], iri.value)
        picture.connect(row["subject"], iri, f"{KGT}predicate")
    return {
        "nodes": list(picture.nodes.values()),
        "edges": picture.edges,
        "more": more,
        "names": _names_in(graph, (edge["predicate"] for edge in picture.edges)),
    }


def _names_in(graph: KnowledgeGraph, predicates: Iterable[str]) -> dict[str, str]:
    """The column names of the predicates, for those that belong to a column."""
    names = column_names(graph)
    return {iri: names[iri] for iri in sorted(set(predicates)) if iri in names}


class _Picture:
    """Nodes and edges collected without duplicates."""

    def __init__(self, graph: KnowledgeGraph) -> None:
        self._graph = graph
        self.nodes: dict[str, dict[str, Any]] = {}
        self.edges: list[dict[str, str]] = []
        self._known: set[tuple[str, str, str]] = set()

    def add(self, node: ObjectTerm, type: ObjectTerm | None, label: ObjectTerm | None) -> None:
        """Add a node, its class or its label."""
        id = _id(node)
        known = self.nodes.get(id)
        if known is None:
            known = self.nodes[id] = {"id": id, "label": self._label(node), "kind": self._kind(node)}
            if isinstance(node, ox.NamedNode):
                known.update(place(self._graph, node.value))
        if isinstance(label, ox.Literal):
            known["label"] = text_of(label)[:LONGEST_LABEL]
        if isinstance(type, ox.NamedNode) and type.value in _KIND_OF_TYPE:
            known["kind"] = _KIND_OF_TYPE[type.value]

    def set_label(self, id: str, label: str) -> None:
        """Set the label of a node."""
        self.nodes[id]["label"] = label[:LONGEST_LABEL]

    def connect(self, source: ObjectTerm, target: ObjectTerm, predicate: str) -> None:
        """Add an edge."""
        edge = _id(source), predicate, _id(target)
        if edge not in self._known:
            self._known.add(edge)
            self.edges.append({"source": edge[0], "predicate": predicate, "target": edge[2]})

    def _label(self, node: ObjectTerm) -> str:
        return text_of(node)[:LONGEST_LABEL] if isinstance(node, ox.Literal) else _name(_id(node))

    def _kind(self, node: ObjectTerm) -> str:
        if isinstance(node, ox.Literal):
            return "literal"
        iri = _id(node)
        names = self._graph.names
        if names.parse_table_iri(iri) is not None:
            return "table"
        if names.parse_cell_iri(iri) is not None:
            return "cell"
        if iri.startswith(f"{names.data}table/"):
            return "row" if "/row/" in iri else "other"
        return "entity" if iri.startswith(names.data) else "other"


def search(graph: KnowledgeGraph, job: Head, tell: Tell) -> dict[str, Any]:
    """Nodes whose label contains the words: shared subjects first, then tables and rows."""
    words = " ".join(job["q"].lower().split())
    hits: dict[str, dict[str, str]] = {}
    for row in ask(graph, "labels", words=ox.Literal(words)) if words else ():
        label = text_of(row["label"])[:LONGEST_LABEL]
        if row["subject"] is not None:
            hits.setdefault(row["subject"].value, {"iri": row["subject"].value, "label": label, "kind": "subject"})
        elif isinstance(row["node"], ox.NamedNode):
            iri = row["node"].value
            kind = "table" if graph.names.parse_table_iri(iri) else "predicate"
            hits.setdefault(
                iri, {"iri": iri, "label": label, "kind": kind if kind == "table" else _kind_of(graph, iri)}
            )
    return {"hits": list(hits.values())[: job["limit"]]}


def _kind_of(graph: KnowledgeGraph, iri: str) -> str:
    return "predicate" if iri.startswith(graph.names.ex) else "node"


def place(graph: KnowledgeGraph, iri: str) -> dict[str, Any]:
    """Table id, row and column of a data IRI, or None for another IRI."""
    address = graph.names.parse_cell_iri(iri)
    if address is not None:
        return {"table": address.table, "row": address.row, "column": address.column}
    head, _, tail = iri.rpartition("/row/")
    if head and _ROW_NUMBER.fullmatch(tail):
        id = graph.names.parse_table_iri(head)
        if id is not None:
            return {"table": id, "row": int(tail), "column": None}
    return {"table": graph.names.parse_table_iri(iri), "row": None, "column": None}


def _checked(iri: str) -> ox.NamedNode:
    try:
        node = ox.NamedNode(iri)
    except ValueError as error:
        raise UsageError(f"{iri[:200]!r} is not an absolute IRI ({error}).") from None
    if not is_valid_iri(iri):
        raise UsageError(f"{iri[:200]!r} is not an absolute IRI.")
    return node


def _first_text(statements: Iterable[Any], predicate: str) -> str:
    """The first text value of the predicate among the statements, or an empty string."""
    for row in statements:
        if row["predicate"].value == predicate and isinstance(row["object"], ox.Literal):
            return text_of(row["object"])[:LONGEST_LABEL]
    return ""


def _id(node: ObjectTerm) -> str:
    if isinstance(node, ox.NamedNode):
        return node.value
    return f"_:{node.value}" if isinstance(node, ox.BlankNode) else str(node)


def _name(iri: str) -> str:
    local = iri.rstrip("/#").rpartition("#")[2].rpartition("/")[2]
    return decode(local).replace("_", " ") if local else iri
