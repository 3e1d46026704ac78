"""Triples of an ontology as bytes that depend on the triples alone: Turtle, RDF/XML, N-Triples."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from itertools import groupby

import pyoxigraph
from pyoxigraph import Literal, NamedNode, RdfFormat, Triple

RDF_TYPE = NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
_XSD = "http://www.w3.org/2001/XMLSchema#"
_PLAIN_LOCAL = re.compile(r"[^\W\d]\w*(?:-\w+)*")
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
    lines = [f"@prefix {prefix}: <{iri}> ." for prefix, iri in prefixes.items()]
    short = _shortener(prefixes)
    for subject, block in groupby(triples, key=lambda triple: triple.subject):
        lines.append("")
        parts = []
        for predicate, group in groupby(block, key=lambda triple: triple.predicate):
            objects = ", ".join(short(triple.object) for triple in group)
            parts.append(f"{'a' if predicate == RDF_TYPE else short(predicate)} {objects}")
        lines.append(f"{short(subject)} " + " ;\n    ".join(parts) + " .")
    return ("\n".join(lines) + "\n").encode()


def ntriples(triples: Iterable[Triple]) -> bytes:
    """N-Triples in the order given."""
    return pyoxigraph.serialize(triples, format=RdfFormat.N_TRIPLES) or b""


def rdf_xml(triples: Iterable[Triple], prefixes: Mapping[str, str]) -> bytes:
    """RDF/XML in the order given."""
    written = pyoxigraph.serialize(triples, format=RdfFormat.RDF_XML, prefixes=dict(prefixes)) or b""
    return _XMLNS.sub(lambda match: match[1] + b" " + b" ".join(sorted(match[2].split())), written, count=1)


def _shortener(prefixes: Mapping[str, str]) -> Callable[[object], str]:
    namespaces = {iri: prefix for prefix, iri in prefixes.items()}

    @lru_cache(maxsize=1_000)
    def shortened(iri: str) -> str:
        cut = max(iri.rfind("#"), iri.rfind("/")) + 1
        prefix, local = namespaces.get(iri[:cut]), iri[cut:]
        return f"{prefix}:{local}" if prefix and _PLAIN_LOCAL.fullmatch(local) else str(NamedNode(iri))

    def short(term: object) -> str:
        if isinstance(term, NamedNode):
            return shortened(term.value)
        if isinstance(term, Literal) and term.datatype.value == f"{_XSD}integer":
            return term.value
        return str(term)

    return short
