"""SHACL validation with pySHACL, one node for each group of nodes that the shapes cannot distinguish.

The rows of a table of ten thousand rows are of a few forms: one table, one position, a label or none.
Plain shapes judge a node by its own values: how many a property has, of which kind, datatype or class,
and for some properties which. `ShapeVision` reads from the shapes what they look at; nodes that agree
in all of that have the same form, and what the shapes say of one of them holds for all.
"""

from __future__ import annotations

import logging
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final, TypeAlias

import pyoxigraph
import rdflib
from pyoxigraph import BlankNode, Literal, NamedNode
from rdflib.collection import Collection
from rdflib.namespace import RDF, RDFS, SH, XSD
from rdflib.term import Node

from kgtable.errors import GraphError, MissingExtraError
from kgtable.resources import read_shipped

ShapeTerm: TypeAlias = NamedNode | BlankNode | Literal | pyoxigraph.Triple
NodeValue: TypeAlias = tuple[str, ShapeTerm]
ClassesOf: TypeAlias = Callable[[ShapeTerm], Sequence[str]]

RDF_TYPE: Final = str(RDF.type)

_BY_KIND: Final = {SH.minCount, SH.maxCount, SH.nodeKind}
_BY_VALUE: Final = {
    SH["in"], SH.hasValue, SH.pattern, SH.flags, SH.minLength, SH.maxLength, SH.languageIn, SH.uniqueLang,
}  # fmt: skip
_BY_BOUND: Final = {SH.minInclusive, SH.maxInclusive, SH.minExclusive, SH.maxExclusive}
_LOGICAL: Final = {SH["or"], SH["and"], SH.xone}
_WITHOUT_EFFECT: Final = {SH.path, SH.message, SH.name, SH.description, SH.severity, SH.order, SH.group}
_WELL_FORMED: Final = {
    str(XSD.integer): re.compile(r"[+-]?[0-9]+"),
    str(XSD.decimal): re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"),
    str(XSD.string): re.compile(r"(?s:.*)"),
}


@dataclass(slots=True)
class _Sight:
    """What shapes look at in the values of one property."""

    classes: bool = False
    datatype: bool = False
    value: bool = False
    bounds: list[Decimal] = field(default_factory=list)


class ShapeVision:
    """The parts of a node that the given shapes depend on, property by property.

    Raises `GraphError` for shapes that look further than at a node's own values (property paths,
    SPARQL, closed shapes, comparisons between properties), which are not supported.
    """

    def __init__(self, shapes: rdflib.Graph) -> None:
        self._shapes = shapes
        self._sights: dict[str, _Sight] = {RDF_TYPE: _Sight(value=True)}
        for shape in [*shapes.subjects(RDF.type, SH.NodeShape), *shapes.subjects(SH.targetClass)]:
            self._look(shape, None)

    @property
    def properties(self) -> frozenset[str]:
        """The IRIs of the properties that matter to the shapes, ``rdf:type`` among them."""
        return frozenset(self._sights)

    def form(self, subject: ShapeTerm, values: Iterable[NodeValue], classes_of: ClassesOf) -> str:
        """The form of a node from its values of the `properties`; equal for nodes judged alike.

        `classes_of` returns the classes that the data states for a value.
        """
        seen = [f"{iri}\x1f{self._seen(self._sights[iri], value, classes_of)}" for iri, value in values]
        seen.sort()
        return "\x1e".join((type(subject).__name__, *seen))

    def looks_at_classes(self, iri: str) -> bool:
        """Whether the classes of a property's values matter, and not which values they are."""
        return self._sights[iri].classes and not self._sights[iri].value

    def _seen(self, sight: _Sight, value: ShapeTerm, classes_of: ClassesOf) -> str:
        if sight.value:
            return str(value)
        if not isinstance(value, Literal):
            kind = type(value).__name__
            return f"{kind} {' '.join(classes_of(value))}" if sight.classes else kind
        if not (sight.datatype or sight.bounds):
            return "Literal"
        datatype = value.datatype.value
        pattern = _WELL_FORMED.get(datatype)
        if pattern is None:
            return str(value)
        seen = f"{datatype} {pattern.fullmatch(value.value) is not None}"
        if sight.bounds:
            seen += _compared(value.value, sight.bounds)
        return seen

    def _look(self, shape: Node, path: str | None) -> None:
        own = self._shapes.value(shape, SH.path)
        if own is not None:
            if path is not None or not isinstance(own, rdflib.URIRef):
                raise _unforeseen(shape, SH.path)
            path = str(own)
            self._sights.setdefault(path, _Sight())
        for constraint, operand in self._shapes.predicate_objects(shape):
            if not str(constraint).startswith(str(SH)) or constraint in _WITHOUT_EFFECT:
                continue
            if constraint in _LOGICAL:
                for member in Collection(self._shapes, operand):
                    self._look(member, path)
            elif constraint in (SH.node, SH["not"]) or (constraint == SH.property and path is None):
                self._look(operand, path)
            elif path is not None:
                self._note(self._sights[path], shape, constraint, operand)
            elif constraint not in (SH.targetClass, SH.nodeKind):
                raise _unforeseen(shape, constraint)

    def _note(self, sight: _Sight, shape: Node, constraint: Node, operand: Node) -> None:
        if constraint == SH["class"]:
            sight.classes = True
        elif constraint == SH.datatype:
            sight.datatype = True
        elif constraint in _BY_BOUND:
            sight.bounds.append(Decimal(str(operand)))
        elif constraint in _BY_VALUE:
            sight.value = True
        elif constraint not in _BY_KIND:
            raise _unforeseen(shape, constraint)


def _compared(text: str, bounds: Iterable[Decimal]) -> str:
    try:
        number = Decimal(text)
    except ArithmeticError:
        return f" {text}"
    return "".join("<" if number < bound else ">" if number > bound else "=" for bound in bounds)


def _unforeseen(shape: Node, constraint: Node) -> GraphError:
    return GraphError(
        f"The shape {shape} uses {constraint}, which looks further than at a node's own values.",
        hint="Use plain SHACL Core constraints on single properties.",
    )


SHAPE_FILES = ("ontologies/shapes.ttl", "ontologies/qudt-shapes.ttl")
_STRING = NamedNode(str(XSD.string))


@dataclass(frozen=True, slots=True)
class NodeExample:
    """A node that stands for its form: its values that matter, and the classes of some of these."""

    subject: NamedNode | BlankNode
    values: Sequence[NodeValue]
    classes: Mapping[ShapeTerm, Sequence[str]]


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """Violation by the nodes of a form. `property` is empty if it is the node as a whole."""

    message: str
    property: str = ""
    severity: str = "Violation"


def load_shapes() -> rdflib.Graph:
    """kgtable's shapes and QUDT's."""
    shapes = rdflib.Graph()
    for name in SHAPE_FILES:
        shapes.parse(data=read_shipped(name), format="turtle")
    return shapes


def judge(examples: Mapping[str, NodeExample], shapes: rdflib.Graph) -> dict[str, list[Finding]]:
    """The violations that pySHACL finds in the examples, by form, sorted. Raises `MissingExtraError` without it."""
    try:
        import pyshacl
    except ImportError as error:
        raise MissingExtraError("Validation", "shacl") from error
    core = rdflib.Graph().parse(data=read_shipped("ontologies/kgtable.ttl"), format="turtle")
    data = rdflib.Graph()
    for graph in (shapes, core):
        data += graph.triples((None, RDFS.subClassOf, None))
    names: dict[rdflib.term.Node, str] = {}
    with _silenced("rdflib.term"):
        for number, (form, example) in enumerate(examples.items()):
            names[_add(data, number, example)] = form
        _, results, _ = pyshacl.validate(data, shacl_graph=shapes, inplace=True)
    if not isinstance(results, rdflib.Graph):
        raise GraphError(f"The shapes cannot be applied: {results}.")
    return _findings(results, names)


def _add(data: rdflib.Graph, number: int, example: NodeExample) -> rdflib.term.Node:
    """Adds an example under a name of its own; values of which only the class matters are renamed too."""
    name = f"urn:kgtable:form:{number}"
    subject = rdflib.URIRef(name) if isinstance(example.subject, NamedNode) else rdflib.BNode()
    for place, (iri, value) in enumerate(example.values):
        node = _node(value)
        if value in example.classes and not isinstance(value, Literal):
            if isinstance(value, NamedNode):
                node = rdflib.URIRef(f"{name}:{place}")
            for class_ in example.classes[value]:
                data.add((node, RDF.type, rdflib.URIRef(class_)))
        data.add((subject, rdflib.URIRef(iri), node))
    return subject


def _node(term: ShapeTerm) -> rdflib.term.Node:
    if isinstance(term, NamedNode):
        return rdflib.URIRef(term.value)
    if isinstance(term, Literal):
        if term.language or term.datatype == _STRING:
            return rdflib.Literal(term.value, lang=term.language)
        return rdflib.Literal(term.value, datatype=rdflib.URIRef(term.datatype.value), normalize=False)
    return rdflib.BNode()


def _findings(results: rdflib.Graph, names: Mapping[rdflib.term.Node, str]) -> dict[str, list[Finding]]:
    found: dict[str, set[Finding]] = defaultdict(set)
    for result in results.subjects(RDF.type, SH.ValidationResult):
        focus = results.value(result, SH.focusNode)
        if focus is None or focus not in names:
            continue
        message = " ".join(sorted(map(str, results.objects(result, SH.resultMessage))))
        # Examples have names of their own here; the place of a node is reported with each violation.
        message = _NAME.sub(lambda found: "its value" if found["value"] else "the node", message)
        path, severity = results.value(result, SH.resultPath), results.value(result, SH.resultSeverity)
        finding = Finding(message, "" if path is None else str(path), str(severity).removeprefix(str(SH)))
        found[names[focus]].add(finding)
    return {form: sorted(findings) for form, findings in found.items()}


_NAME = re.compile(r"<urn:kgtable:form:\d+(?P<value>:\d+)?>")


@contextmanager
def _silenced(logger: str) -> Iterator[None]:
    """rdflib logs a traceback for each literal that is not well-formed; they are in the report anyway."""
    log = logging.getLogger(logger)
    before, log.disabled = log.disabled, True
    try:
        yield
    finally:
        log.disabled = before
