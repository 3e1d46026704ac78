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
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
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
    """Turtle with one block per subject, in the order given; equal subjects must be adjacent."""
    written = pyoxigraph.serialize(triples, format=RdfFormat.TURTLE, prefixes=dict(prefixes)) or b""
    # The prefixes come in any order. Line breaks and tabs of literals are escaped, so that all others are layout.
    head = _PREFIX_LINES.sub(lambda lines: b"".join(sorted(lines[0].splitlines(keepends=True))), written, count=1)
    spaced = _SUBJECT.sub(b"\n", head).replace(b"\n\t", b"\n    ")
    return _COMMA.sub(lambda found: b", " if found[0] == b" , " else found[0], spaced)


def rdf_xml(triples: Iterable[Triple], prefixes: Mapping[str, str]) -> bytes:
    """RDF/XML in the order given."""
    written = pyoxigraph.serialize(triples, format=RdfFormat.RDF_XML, prefixes=dict(prefixes)) or b""
    return _XMLNS.sub(lambda match: match[1] + b" " + b" ".join(sorted(match[2].split())), written, count=1)


KGT: Final = "https://w3id.org/kgtable#"
CLASSES: Final = ("Table", "Column", "HeaderCell", "Row", "Group", "TotalRow", "Role", "MeasureKind")
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

_QUANTITY_KIND = "http://qudt.org/schema/qudt/QuantityKind"
_QUANTITY_KINDS = "http://qudt.org/vocab/quantitykind/"
_HAS_KIND = "http://qudt.org/schema/qudt/hasQuantityKind"
_PYTHON_TYPES = {
    f"{_PREFIXES['xsd']}{name}": type_
    for name, type_ in (("string", str), ("boolean", bool), ("date", date), ("time", time), ("dateTime", datetime))
}
"""The datatypes that owlready2 has as types of Python."""


@dataclass(frozen=True)
class GeneratedOntology:
    """An ontology as triples in a stable order, and in two syntaxes; the same facts give the same bytes."""

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


def generate(
    facts: Iterable[ColumnFact],
    namespace: str = "http://example.org/ontology#",
    *,
    equivalents: Mapping[str, Iterable[str]] | None = None,
) -> GeneratedOntology:
    """The ontology of the predicates that the columns use, made as classes and properties of owlready2.

    `namespace` is that of the generated predicates; `equivalents` maps a predicate to those that are
    proposed as its equivalents. Raises `OntologyError` for a namespace that cannot be one.
    """
    if _NAMESPACE.fullmatch(namespace) is None:
        raise OntologyError(
            f"{namespace!r} cannot be the namespace of the ontology.", hint="Give an IRI that ends in # or /."
        )
    import owlready2  # takes a fifth of a second, which a build with nothing to do need not wait for

    world = owlready2.World()
    written = io.BytesIO()
    try:
        entities = _Entities(owlready2, world.get_ontology(namespace))
        entities.add_vocabulary()
        entities.add_predicates(by_predicate(facts))
        entities.add_equivalents(equivalents or {})
        entities.ontology.save(file=written, format="ntriples")
    except (ValueError, TypeError, AttributeError) as error:
        raise OntologyError(f"The ontology of {namespace} could not be built: {error}") from error
    finally:
        world.close()
    quads = pyoxigraph.parse(written.getvalue(), format=RdfFormat.N_TRIPLES)
    header, referred = namespace.rstrip("#/"), (KGT, "http://qudt.org/", _PREFIXES["xsd"])
    triples = in_order(
        (quad.triple for quad in quads),
        lambda subject: 0 if subject == header else 1 if subject.startswith(referred) else 2,
    )
    return GeneratedOntology(triples, dict(sorted({**_PREFIXES, "ex": namespace}.items())))


def owl_world(ntriples: bytes, namespace: str, *, accept_equivalents: bool = False) -> owlready2.World:
    """A generated ontology, given as N-Triples, as a world of owlready2 of its own.

    With `accept_equivalents` predicates that are proposed as equivalents become so, where both are object
    properties or both datatype properties. Raises `OntologyError` if owlready2 cannot read it.
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


class _Entities:
    """The classes, properties and individuals of one ontology of owlready2, by IRI.

    No attribute is set by its name: a predicate may be called ``label`` or ``domain``.
    """

    def __init__(self, owl: Any, ontology: Any) -> None:
        """`owl` is the module owlready2, which takes a fifth of a second to import."""
        self.owl, self.ontology = owl, ontology
        self._known: dict[str, Any] = {}

    def add_vocabulary(self) -> None:
        """The ontology's header, and the classes and annotation properties that predicates refer to."""
        self.ontology.metadata.label = ["Ontology of the dataset"]
        self.ontology.metadata.comment = [_ABOUT]
        for name in CLASSES:
            self._named(KGT + name, self._known[f"{KGT}Row"] if name in ("Group", "TotalRow") else self.owl.Thing)
        for name in ANNOTATIONS:
            self._named(KGT + name, self.owl.AnnotationProperty)
        self._named(QUANTITY, self.owl.Thing, ["Quantity value"])
        self._named(_QUANTITY_KIND, self.owl.Thing, ["Quantity kind"])
        self._named(_HAS_KIND, self.owl.AnnotationProperty, ["has quantity kind"])

    def add_predicates(self, summaries: Mapping[str, Summary]) -> None:
        """A property for each predicate, with its domain, range and statistics; existing ones are unchanged."""
        families = _families(summaries)
        for predicate, summary in summaries.items():
            iri, base = self._iri(predicate), base_name(predicate)
            if self.ontology.world[iri] is not None:  # as where a person chose rdfs:label
                continue
            ranges = families[base or predicate]
            kind = self._kind(ranges)
            family = self._known.get(self._iri(base)) if base else None
            names = [clean_text(name) for name in summary.names]
            made = self._named(iri, family if family is not None and issubclass(family, kind) else kind, names[:1])
            made.domain.append(self._known[f"{KGT}Row"])
            if len(ranges) == 1:
                made.range.append(_PYTHON_TYPES.get(only := next(iter(ranges))) or self._named(only, self.owl.Datatype))
            self._annotate(made, summary, names)

    def add_equivalents(self, equivalents: Mapping[str, Iterable[str]]) -> None:
        """The predicates that are proposed as equivalents of others."""
        for predicate, others in equivalents.items():
            if (one := self._known.get(self._iri(predicate))) is not None:
                found = [self._known[self._iri(other)] for other in others if self._iri(other) in self._known]
                self._known[f"{KGT}proposedEquivalent"][one] = found

    def _annotate(self, made: Any, summary: Summary, names: Sequence[str]) -> None:
        said = summary.meanings
        values: dict[str, list[Any]] = {
            f"{KGT}tables": [len(summary.tables)],
            f"{KGT}columnName": list(names[:MOST_NAMES]),
            f"{KGT}unitCount": [f"{unit} {count}" for unit, count in summary.units.items()],
            f"{KGT}rangeCount": [f"{prefixed(iri, _PREFIXES)} {count}" for iri, count in summary.ranges.items()],
            f"{KGT}role": self._individuals(KGT, (one.role for one in said), f"{KGT}Role"),
            f"{KGT}measureKind": self._individuals(KGT, (one.kind for one in said), f"{KGT}MeasureKind"),
            _HAS_KIND: self._individuals(_QUANTITY_KINDS, (one.quantity_kind for one in said), _QUANTITY_KIND),
        }
        for iri, found in values.items():
            if found:
                self._known[iri][made] = found

    def _individuals(self, space: str, names: Iterable[str | None], kind: str) -> list[Any]:
        return [self._named(space + name, self._known[kind], is_class=False) for name in dict.fromkeys(names) if name]

    def _named(self, iri: str, kind: Any, texts: Sequence[str] = (), *, is_class: bool = True) -> Any:
        """The entity, made as a class, property or individual of a `kind` where it is new, with label and comment."""
        if iri not in self._known:
            start = max(iri.rfind("#"), iri.rfind("/")) + 1
            space = self.ontology.get_namespace(iri[:start])
            with space:
                made = types.new_class(iri[start:], (kind,)) if is_class else kind(iri[start:], namespace=space)
            self._known[iri] = made
            texts = texts or (() if kind is self.owl.Datatype else _core_texts().get(iri.removeprefix(KGT), ()))
            for annotation, text in zip((self.owl.label, self.owl.comment), texts, strict=False):
                annotation[made] = [text]
        return self._known[iri]

    def _kind(self, ranges: Counter[str]) -> Any:
        if 0 < ranges[QUANTITY] == ranges.total():
            return self.owl.ObjectProperty
        return self.owl.AnnotationProperty if ranges[QUANTITY] else self.owl.DataProperty

    def _iri(self, predicate: str) -> str:
        return predicate if "://" in predicate else self.ontology.base_iri + predicate


def _families(summaries: Mapping[str, Summary]) -> dict[str, Counter[str]]:
    families: dict[str, Counter[str]] = {}
    for predicate, summary in summaries.items():
        families.setdefault(base_name(predicate) or predicate, Counter()).update(summary.ranges)
    return families


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
