"""The generated ontology as OWL, made with owlready2, and its serialisation with stable bytes.

A predicate whose cells are all numbers is an object property to QUDT quantity values, one whose cells
are all literals a datatype property. One that has both cannot be either in OWL DL: it is an annotation
property, and so is its family of numbered twins (``hasRank_2`` is a sub-property of ``hasRank``).
"""

from __future__ import annotations

import io
import re
import types
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import pyoxigraph
from pyoxigraph import Literal, NamedNode, RdfFormat, Triple

from kgtable.errors import OntologyError
from kgtable.ontology.column_stats import QUANTITY, ColumnFact, Summary, by_predicate, clean_text
from kgtable.ontology.naming import base_name, prefixed
from kgtable.resources import read_shipped

if TYPE_CHECKING:
    import owlready2

RDF_TYPE = NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
_PREFIX_LINES = re.compile(rb"(?:@prefix [^\n]*\n)+")
_SUBJECT = re.compile(rb"^(?=[^\s@])", re.MULTILINE)
_COMMA = re.compile(rb'"(?:[^"\\]|\\.)*"|<[^<>]*>| , ')
_XMLNS = re.compile(rb'(<rdf:RDF)((?: xmlns:\w+="[^"]*")+)')


def in_order(triples: Iterable[Triple], rank: Callable[[str], int]) -> list[Triple]:
    """Each triple once, sorted by the subject's rank, then by subject, type first, predicate, object."""

    def key(triple: Triple) -> tuple[int, str, bool, str, str]:
        subject = str(triple.subject)
        return (
            rank(subject[1:-1]),
            subject,
            triple.predicate != RDF_TYPE,
            str(triple.predicate),
            str(triple.object),
        )

    return sorted(set(triples), key=key)


def turtle(triples: Iterable[Triple], prefixes: Mapping[str, str]) -> bytes:
    """Turtle with one block a subject, in the order given; equal subjects have to stand together."""
    written = pyoxigraph.serialize(triples, format=RdfFormat.TURTLE, prefixes=dict(prefixes)) or b""
    # The prefixes come in any order. Line breaks and tabs of literals are escaped, so that all others are layout.
    head = _PREFIX_LINES.sub(lambda lines: b"".join(sorted(lines[0].splitlines(keepends=True))), written, count=1)
    spaced = _SUBJECT.sub(b"\n", head).replace(b"\n\t", b"\n    ")
    return _COMMA.sub(lambda found: b", " if found[0] == b" , " else found[0], spaced)


def ntriples(triples: Iterable[Triple]) -> bytes:
    """N-Triples in the order given."""
    return pyoxigraph.serialize(triples, format=RdfFormat.N_TRIPLES) or b""


def rdf_xml(triples: Iterable[Triple], prefixes: Mapping[str, str]) -> bytes:
    """RDF/XML in the order given."""
    written = pyoxigraph.serialize(triples, format=RdfFormat.RDF_XML, prefixes=dict(prefixes)) or b""
    return _XMLNS.sub(lambda match: match[1] + b" " + b" ".join(sorted(match[2].split())), written, count=1)


KGT: Final = "https://w3id.org/kgtable#"
CLASSES: Final = ("Table", "Column", "HeaderCell", "Row", "Group", "TotalRow")
ANNOTATIONS: Final = ("columnName", "tables", "unitCount", "rangeCount", "proposedEquivalent", "role", "measureKind")
MOST_NAMES: Final = 50
"""Column names listed at a predicate before the rest is left to the mapping."""

_ABOUT = (
    "The predicates generated from the column names of the dataset. One whose cells are all quantities is "
    "an object property, one whose cells are all literals a datatype property; one with both is neither in "
    "OWL DL and therefore an annotation property."
)
_NAMESPACE = re.compile(r"[A-Za-z][\w+.-]*:[^\s<>\"{}|^`\\]*[#/]")
_OWL = "http://www.w3.org/2002/07/owl#"
_RDFS = "http://www.w3.org/2000/01/rdf-schema#"
_PREFIXES = {
    "kgt": KGT,
    "owl": _OWL,
    "qudt": "http://qudt.org/schema/qudt/",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": _RDFS,
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}

_LABEL = NamedNode(f"{_RDFS}label")
_QUANTITY_KIND = NamedNode("http://qudt.org/schema/qudt/hasQuantityKind")
_COLUMN_NAME, _TABLES, _UNIT_COUNT, _RANGE_COUNT = (NamedNode(KGT + name) for name in ANNOTATIONS[:4])


@dataclass(frozen=True)
class GeneratedOntology:
    """An ontology as triples in a stable order, and in three syntaxes; the same facts give the same bytes."""

    triples: Sequence[Triple]
    prefixes: Mapping[str, str]

    @property
    def turtle(self) -> bytes:
        """The ontology as Turtle."""
        return turtle(self.triples, self.prefixes)

    @property
    def rdf_xml(self) -> bytes:
        """The ontology as RDF/XML."""
        return rdf_xml(self.triples, self.prefixes)

    @property
    def ntriples(self) -> bytes:
        """The ontology as N-Triples."""
        return ntriples(self.triples)


def generate(
    facts: Iterable[ColumnFact],
    namespace: str = "http://example.org/ontology#",
    *,
    equivalents: Mapping[str, Iterable[str]] | None = None,
) -> GeneratedOntology:
    """The ontology of the predicates that the columns use.

    `namespace` is that of the generated predicates; `equivalents` maps a predicate to those that are
    proposed as its equivalents. Raises `OntologyError` for a namespace that cannot be one.
    """
    if _NAMESPACE.fullmatch(namespace) is None:
        raise OntologyError(
            f"{namespace!r} cannot be the namespace of the ontology.", hint="Give an IRI that ends in # or /."
        )
    predicates = _Predicates(namespace, by_predicate(facts), equivalents or {})
    return _serialized([*_vocabulary(namespace), *predicates], namespace)


def owl_world(ntriples: bytes, namespace: str, *, accept_equivalents: bool = False) -> owlready2.World:
    """A generated ontology, given as N-Triples, as a world of owlready2 of its own.

    With `accept_equivalents` predicates that are proposed as equivalents become so, where both are object
    properties or both datatype properties. Raises `OntologyError` where owlready2 cannot read it.
    """
    import owlready2

    world = owlready2.World()
    try:
        ontology = world.get_ontology(namespace).load(fileobj=io.BytesIO(ntriples), format="ntriples")
        kinds = owlready2.ObjectProperty, owlready2.DataProperty
        with ontology:
            for one in list(world.properties()) if accept_equivalents else ():
                for other in one.proposedEquivalent:
                    if any(issubclass(one, kind) and issubclass(other, kind) for kind in kinds):
                        one.equivalent_to.append(other)
    except (ValueError, TypeError, AttributeError, owlready2.OwlReadyError) as error:
        world.close()
        raise OntologyError(f"owlready2 cannot read the ontology of {namespace}: {error}") from error
    return world


def _vocabulary(namespace: str) -> list[Triple]:
    """The ontology's header, kgtable's classes and annotation properties."""
    import owlready2  # takes a fifth of a second, which a build with nothing to do need not wait for

    world = owlready2.World()
    try:
        ontology = world.get_ontology(namespace)
        ontology.metadata.label = ["Ontology of the dataset"]
        ontology.metadata.comment = [_ABOUT]
        core, qudt = ontology.get_namespace(KGT), ontology.get_namespace(_PREFIXES["qudt"])
        classes = {name: _made(core, name, owlready2.Thing) for name in CLASSES}
        _made(qudt, "QuantityValue", owlready2.Thing).label = ["Quantity value"]
        annotations = {name: _made(core, name, owlready2.AnnotationProperty) for name in ANNOTATIONS}
        for name, entity in (*classes.items(), *annotations.items()):
            label, comment = _core_texts()[name]
            entity.label, entity.comment = [label], [comment]
        for name in ("Group", "TotalRow"):
            classes[name].is_a = [classes["Row"]]
        written = io.BytesIO()
        ontology.save(file=written, format="ntriples")
    except (ValueError, TypeError, AttributeError) as error:
        raise OntologyError(f"The ontology of {namespace} could not be built: {error}") from error
    finally:
        world.close()
    return [quad.triple for quad in pyoxigraph.parse(written.getvalue(), format=RdfFormat.N_TRIPLES)]


@dataclass(frozen=True)
class _Predicates:
    """The triples that declare and describe the predicates.

    Written as they are: a Python class for each, as owlready2 makes, would take most of the time of
    bringing a large graph up to date with one changed table.
    """

    namespace: str
    summaries: Mapping[str, Summary]
    equivalents: Mapping[str, Iterable[str]]

    def __iter__(self) -> Iterator[Triple]:
        families = _families(self.summaries)
        for predicate, summary in self.summaries.items():
            yield from self._axioms(predicate, families[base_name(predicate) or predicate])
            yield from self._annotations(predicate, summary)
        for predicate, others in self.equivalents.items():
            for other in others:
                yield self._link(predicate, f"{KGT}proposedEquivalent", self._iri(other))

    def _axioms(self, predicate: str, ranges: Counter[str]) -> Iterator[Triple]:
        yield self._link(predicate, RDF_TYPE.value, _kind(ranges))
        base = base_name(predicate)
        if base is not None and base in self.summaries:
            yield self._link(predicate, f"{_RDFS}subPropertyOf", self._iri(base))
        yield self._link(predicate, f"{_RDFS}domain", f"{KGT}Row")
        if len(ranges) == 1:
            yield self._link(predicate, f"{_RDFS}range", next(iter(ranges)))

    def _annotations(self, predicate: str, summary: Summary) -> Iterator[Triple]:
        names = [clean_text(name) for name in summary.names]
        subject = NamedNode(self._iri(predicate))
        yield Triple(subject, _LABEL, Literal(names[0]))
        yield Triple(subject, _TABLES, Literal(len(summary.tables)))
        for name in names[:MOST_NAMES]:
            yield Triple(subject, _COLUMN_NAME, Literal(name))
        for unit, count in summary.units.items():
            yield Triple(subject, _UNIT_COUNT, Literal(f"{unit} {count}"))
        for range_, count in summary.ranges.items():
            yield Triple(subject, _RANGE_COUNT, Literal(f"{prefixed(range_, _PREFIXES)} {count}"))
        for name, values in (
            ("role", [one.role for one in summary.meanings]),
            ("measureKind", [one.kind for one in summary.meanings]),
        ):
            for value in dict.fromkeys(filter(None, values)):
                yield Triple(subject, NamedNode(KGT + name), NamedNode(KGT + value))
        for kind in dict.fromkeys(one.quantity_kind for one in summary.meanings if one.quantity_kind):
            yield Triple(subject, _QUANTITY_KIND, NamedNode(f"http://qudt.org/vocab/quantitykind/{kind}"))

    def _link(self, predicate: str, property_: str, object_: str) -> Triple:
        return Triple(NamedNode(self._iri(predicate)), NamedNode(property_), NamedNode(object_))

    def _iri(self, predicate: str) -> str:
        return predicate if "://" in predicate else self.namespace + predicate


def _made(namespace: Any, name: str, base: Any) -> Any:
    with namespace:
        return types.new_class(name, (base,))


def _families(summaries: Mapping[str, Summary]) -> dict[str, Counter[str]]:
    families: dict[str, Counter[str]] = {}
    for predicate, summary in summaries.items():
        families.setdefault(base_name(predicate) or predicate, Counter()).update(summary.ranges)
    return families


def _kind(ranges: Counter[str]) -> str:
    quantities = ranges[QUANTITY]
    if quantities == ranges.total() and quantities:
        return f"{_OWL}ObjectProperty"
    return f"{_OWL}AnnotationProperty" if quantities else f"{_OWL}DatatypeProperty"


@cache
def _core_texts() -> dict[str, tuple[str, str]]:
    texts: dict[str, dict[str, str]] = {}
    for quad in pyoxigraph.parse(read_shipped("ontologies/kgtable.ttl"), format=RdfFormat.TURTLE):
        if isinstance(quad.subject, NamedNode) and isinstance(quad.object, Literal):
            texts.setdefault(quad.subject.value.removeprefix(KGT), {})[quad.predicate.value] = quad.object.value
    return {
        name: (found[f"{_RDFS}label"], found[f"{_RDFS}comment"])
        for name, found in texts.items()
        if f"{_RDFS}label" in found
    }


def _serialized(triples: Iterable[Triple], namespace: str) -> GeneratedOntology:
    header = namespace.rstrip("#/")

    def rank(subject: str) -> int:
        return 0 if subject == header else 1 if subject.startswith((KGT, _PREFIXES["qudt"])) else 2

    return GeneratedOntology(in_order(triples, rank), dict(sorted({**_PREFIXES, "ex": namespace}.items())))
