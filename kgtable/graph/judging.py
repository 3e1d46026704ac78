"""pySHACL's judgement of one node of each form."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import rdflib
from pyoxigraph import BlankNode, Literal, NamedNode
from rdflib.namespace import RDF, RDFS, SH, XSD

from kgtable.errors import GraphError, MissingExtraError
from kgtable.graph.forms import Term, Value
from kgtable.resources import read_shipped

SHAPE_FILES = ("ontologies/shapes.ttl", "ontologies/qudt-shapes.ttl")
_STRING = NamedNode(str(XSD.string))


@dataclass(frozen=True, slots=True)
class Example:
    """A node that stands for its form: its values that matter, and the classes of some of these."""

    subject: NamedNode | BlankNode
    values: Sequence[Value]
    classes: Mapping[Term, Sequence[str]]


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """What is wrong with the nodes of a form. `property` is empty where it is the node as a whole."""

    message: str
    property: str = ""
    severity: str = "Violation"


def load_shapes() -> rdflib.Graph:
    """kgtable's shapes and QUDT's."""
    shapes = rdflib.Graph()
    for name in SHAPE_FILES:
        shapes.parse(data=read_shipped(name), format="turtle")
    return shapes


def judge(examples: Mapping[str, Example], shapes: rdflib.Graph) -> dict[str, list[Finding]]:
    """What pySHACL finds wrong with the examples, by form, sorted. Raises `MissingExtraError` without it."""
    try:
        import pyshacl
    except ImportError as error:
        raise MissingExtraError("Validation", "shacl") from error
    data = _class_hierarchy(shapes)
    names: dict[rdflib.term.Node, str] = {}
    with _silenced("rdflib.term"):
        for number, (form, example) in enumerate(examples.items()):
            names[_add(data, number, example)] = form
        _, results, _ = pyshacl.validate(data, shacl_graph=shapes, inplace=True)
    if not isinstance(results, rdflib.Graph):
        raise GraphError(f"The shapes cannot be applied: {results}.")
    return _findings(results, names)


def _class_hierarchy(shapes: rdflib.Graph) -> rdflib.Graph:
    core = rdflib.Graph().parse(data=read_shipped("ontologies/kgtable.ttl"), format="turtle")
    data = rdflib.Graph()
    for graph in (shapes, core):
        for triple in graph.triples((None, RDFS.subClassOf, None)):
            data.add(triple)
    return data


def _add(data: rdflib.Graph, number: int, example: Example) -> rdflib.term.Node:
    """Adds an example under a name of its own; so are values renamed of which only the class matters."""
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


def _node(term: Term) -> rdflib.term.Node:
    if isinstance(term, NamedNode):
        return rdflib.URIRef(term.value)
    if isinstance(term, Literal):
        if term.language:
            return rdflib.Literal(term.value, lang=term.language)
        if term.datatype == _STRING:
            return rdflib.Literal(term.value)
        return rdflib.Literal(term.value, datatype=rdflib.URIRef(term.datatype.value), normalize=False)
    return rdflib.BNode()


def _findings(results: rdflib.Graph, names: Mapping[rdflib.term.Node, str]) -> dict[str, list[Finding]]:
    found: dict[str, set[Finding]] = defaultdict(set)
    for result in results.subjects(RDF.type, SH.ValidationResult):
        focus = results.value(result, SH.focusNode)
        if focus is None or focus not in names:
            continue
        form = names[focus]
        messages = sorted(map(str, results.objects(result, SH.resultMessage)))
        path, severity = results.value(result, SH.resultPath), results.value(result, SH.resultSeverity)
        found[form].add(
            Finding(
                " ".join(messages), "" if path is None else str(path), str(severity).removeprefix(str(SH))
            )
        )
    return {form: sorted(findings) for form, findings in found.items()}


@contextmanager
def _silenced(logger: str) -> Iterator[None]:
    """rdflib logs a traceback for each literal that is not well-formed; the report tells of them."""
    log = logging.getLogger(logger)
    before, log.disabled = log.disabled, True
    try:
        yield
    finally:
        log.disabled = before
