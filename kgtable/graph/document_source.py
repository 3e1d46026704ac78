"""Documents read back from a triple store: paragraphs, passages with the tables they describe, quantities."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

import pyoxigraph as ox

from kgtable.graph.store import TripleStore
from kgtable.graph.table_decoder import ObjectTerm, text_of
from kgtable.graph.terms import DCTERMS, KGT, QUDT, RDF_TYPE, RDFS, UNIT, Namespaces
from kgtable.text.passages import Paragraph
from kgtable.text.text_quantities import TextQuantity


@dataclass(frozen=True, slots=True)
class StoredPassage:
    """A passage of a document: its IRI, number and text, its first paragraph and page, the tables it describes."""

    iri: str
    document: str
    number: int
    text: str
    paragraphs: tuple[int, ...]
    page: int | None
    tables: tuple[str, ...]


@dataclass(frozen=True)
class StoredDocument:
    """A document as the graph holds it; `quantities` are those of each paragraph by its number."""

    id: str
    path: str
    title: str
    paragraphs: tuple[Paragraph, ...]
    passages: tuple[StoredPassage, ...]
    quantities: dict[int, tuple[TextQuantity, ...]]
    pages: int | None = None

    @cached_property
    def text(self) -> str:
        """The whole text, paragraphs parted by an empty line."""
        return "\n\n".join(paragraph.text for paragraph in self.paragraphs)


def read_document(store: TripleStore, id: str, names: Namespaces) -> StoredDocument | None:
    """The document with this id; None where the graph holds none."""
    iri = names.document_iri(id)
    said: dict[str, dict[str, list[ObjectTerm]]] = defaultdict(lambda: defaultdict(list))
    for triple in store.graph(iri):
        if isinstance(triple.subject, ox.NamedNode) and not isinstance(triple.object, ox.Triple):
            said[triple.subject.value][triple.predicate.value].append(triple.object)
    if iri not in said:
        return None
    about = said[iri]
    paragraphs: dict[int, Paragraph] = {}
    passages: dict[int, StoredPassage] = {}
    quantities: dict[int, list[TextQuantity]] = defaultdict(list)
    for subject, pairs in said.items():
        kinds = {str(term) for term in pairs.get(RDF_TYPE[1:-1], ())}
        if f"<{KGT}Paragraph>" in kinds:
            level = _integer(pairs, f"{KGT}headingLevel") or 0
            text = _text(pairs, f"{KGT}text")
            paragraphs[_number(subject)] = Paragraph(text, _integer(pairs, f"{KGT}page"), level)
        elif f"<{KGT}Passage>" in kinds:
            passages[_number(subject)] = _passage(subject, id, pairs, names)
        elif f"<{QUDT}QuantityValue>" in kinds:
            quantities[_number(subject.rpartition("/quantity/")[0])].append(_quantity(pairs))
    return StoredDocument(
        id,
        _text(about, f"{KGT}source"),
        _text(about, f"{RDFS}label"),
        tuple(paragraphs[number] for number in sorted(paragraphs)),
        tuple(passages[number] for number in sorted(passages)),
        {number: tuple(sorted(found, key=lambda q: q.start)) for number, found in sorted(quantities.items())},
        _integer(about, f"{KGT}pages"),
    )


def document_ids(store: TripleStore, names: Namespaces) -> list[str]:
    """The ids of all documents in a store, sorted."""
    query = (
        f"SELECT DISTINCT ?id WHERE {{ GRAPH ?document {{ ?document a <{KGT}Document> ; "
        f"<{DCTERMS}identifier> ?id }} }}"
    )
    solutions = store.query(query)
    assert isinstance(solutions, ox.QuerySolutions)
    return sorted(text_of(found["id"]) for found in solutions if isinstance(found["id"], ox.Literal))


Said = dict[str, list[ObjectTerm]]


def _passage(iri: str, document: str, pairs: Said, names: Namespaces) -> StoredPassage:
    covered = sorted(_number(str(term)[1:-1]) for term in pairs.get(f"{KGT}coversParagraph", ()))
    ids = (names.parse_table_iri(str(term)[1:-1]) for term in pairs.get(f"{KGT}describes", ()))
    tables = tuple(sorted(id for id in ids if id is not None))
    return StoredPassage(
        iri,
        document,
        _number(iri),
        _text(pairs, f"{KGT}text"),
        tuple(covered),
        _integer(pairs, f"{KGT}page"),
        tables,
    )


def _quantity(pairs: Said) -> TextQuantity:
    unit = next((str(term)[1:-1].removeprefix(UNIT) for term in pairs.get(f"{QUDT}hasUnit", ())), "UNITLESS")
    text, start = _text(pairs, f"{KGT}text"), _integer(pairs, f"{KGT}start") or 0
    return TextQuantity(
        Decimal(_text(pairs, f"{QUDT}numericValue") or "0"),
        None if unit == "UNITLESS" else unit,
        _text(pairs, f"{KGT}scale") or None,
        _text(pairs, f"{KGT}period") or None,
        text,
        start,
        start + len(text),
        _text(pairs, f"{KGT}signed_str"),
    )


def _number(iri: str) -> int:
    tail = iri.rpartition("/")[2]
    return int(tail) if tail.isdecimal() else 0


def _text(pairs: Said, predicate: str) -> str:
    return next((text_of(term) for term in _values(pairs, predicate) if isinstance(term, ox.Literal)), "")


def _integer(pairs: Said, predicate: str) -> int | None:
    text = _text(pairs, predicate)
    return int(text) if text.isdecimal() else None


def _values(pairs: Said, predicate: str) -> Iterable[ObjectTerm]:
    return pairs.get(predicate, ())
