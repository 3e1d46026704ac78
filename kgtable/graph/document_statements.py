"""Encoding and decoding of documents: their paragraphs, passages and quantities as statements.

A document is a named graph of its own. A paragraph holds its exact text; a passage, which is what a search
finds, its own text, the paragraphs it covers, and the tables that it is next to or names (``kgt:describes``). A
number in a paragraph is a quantity as in a cell, with its words and where they begin.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property

import pyoxigraph as ox

from kgtable.graph.store import TripleStore, select
from kgtable.graph.table_decoder import NodeStatements, ObjectTerm, node_content, text_of
from kgtable.graph.terms import (
    DCTERMS,
    KGT,
    QUDT,
    RDF_TYPE,
    RDFS,
    UNIT,
    Block,
    Namespaces,
    Pair,
    Term,
    decimal_term,
    decimal_text,
    integer,
    text_literal,
)
from kgtable.text.passages import DocumentText, Paragraph, Passage, split_passages
from kgtable.text.text_quantities import TextQuantity, find_quantities

_TEXT, _ORDER, _PAGE = f"<{KGT}text>", f"<{KGT}order>", f"<{KGT}page>"
_DOCUMENT, _PARAGRAPH, _DESCRIBES = f"<{KGT}document>", f"<{KGT}coversParagraph>", f"<{KGT}describes>"
NO_UNIT = f"{UNIT}UNITLESS"


class DocumentShape:
    """The text of one document as blocks of statements.

    Args:
        id: the document's id, that of its file.
        path: the file's path.
        text: what is in it.
        tables: the ids of its tables, in the order of `text.tables`.
        names: the dataset's namespaces.
    """

    def __init__(self, id: str, path: str, text: DocumentText, tables: Sequence[str], names: Namespaces) -> None:
        self._id, self._path, self._text = id, path, text
        self._tables, self._names = tables, names
        self._iri = names.document_iri(id)
        self.passages = split_passages(text)
        self.quantities = 0
        """How many numbers the paragraphs held that were shaped so far."""

    @property
    def graph(self) -> Term:
        """The document's IRI, which is the name of its graph."""
        return f"<{self._iri}>"

    def batches(self) -> Iterator[Sequence[Block]]:
        """The document, its paragraphs with their quantities, and its passages."""
        yield ((self.graph, tuple(self._document_pairs())),)
        for number in range(len(self._text.paragraphs)):
            yield tuple(self._paragraph(number))
        for number, passage in enumerate(self.passages):
            yield ((f"<{self._iri}/passage/{number}>", tuple(self._passage_pairs(number, passage))),)

    def _document_pairs(self) -> Iterator[Pair]:
        yield RDF_TYPE, f"<{KGT}Document>"
        yield f"<{RDFS}label>", text_literal(self._text.title or self._id)
        yield f"<{DCTERMS}identifier>", text_literal(self._id)
        yield f"<{KGT}source>", text_literal(self._path)
        if self._text.pages is not None:
            yield f"<{KGT}pages>", integer(self._text.pages)

    def _paragraph(self, number: int) -> Iterator[Block]:
        paragraph = self._text.paragraphs[number]
        iri = f"{self._iri}/paragraph/{number}"
        pairs = [
            (RDF_TYPE, f"<{KGT}Paragraph>"),
            (_DOCUMENT, self.graph),
            (_ORDER, integer(number)),
            (_TEXT, text_literal(paragraph.text)),
        ]
        if paragraph.page is not None:
            pairs.append((_PAGE, integer(paragraph.page)))
        if paragraph.level:
            pairs.append((f"<{KGT}headingLevel>", integer(paragraph.level)))
        yield f"<{iri}>", pairs
        if not paragraph.level:
            for quantity in find_quantities(paragraph.text):
                self.quantities += 1
                yield f"<{iri}/quantity/{quantity.start}>", tuple(_quantity_pairs(quantity, f"<{iri}>"))

    def _passage_pairs(self, number: int, passage: Passage) -> Iterator[Pair]:
        yield RDF_TYPE, f"<{KGT}Passage>"
        yield _DOCUMENT, self.graph
        yield _ORDER, integer(number)
        yield _TEXT, text_literal(passage.text)
        if passage.page is not None:
            yield _PAGE, integer(passage.page)
        for paragraph in range(passage.first, passage.last + 1):
            yield _PARAGRAPH, f"<{self._iri}/paragraph/{paragraph}>"
        for table in passage.tables:
            yield _DESCRIBES, f"<{self._names.table_iri(self._tables[table])}>"


def _quantity_pairs(quantity: TextQuantity, paragraph: Term) -> Iterator[Pair]:
    sign = "NEGATIVE" if quantity.value < 0 else "POSITIVE" if quantity.value else "ZERO"
    yield RDF_TYPE, f"<{QUDT}QuantityValue>"
    yield f"<{QUDT}numericValue>", decimal_term(decimal_text(f"{quantity.value:f}"))
    yield f"<{QUDT}hasUnit>", f"<{UNIT}{quantity.unit}>" if quantity.unit else f"<{NO_UNIT}>"
    yield f"<{KGT}note>", text_literal(sign)
    yield f"<{KGT}signed_str>", text_literal(quantity.signed)
    if quantity.scale:
        yield f"<{KGT}scale>", text_literal(quantity.scale)
    if quantity.period:
        yield f"<{KGT}period>", text_literal(quantity.period)
    yield _TEXT, text_literal(quantity.text)
    yield f"<{KGT}start>", integer(quantity.start)
    yield f"<{KGT}paragraphOf>", paragraph


@dataclass(frozen=True, slots=True)
class StoredPassage:
    """A passage of a document: its IRI, file, text and place, and how well it fits a question that it was ranked for.

    `page` is the page it begins on, `tables` the ids of the tables that it describes, `title` the document's title and
    the headings above it.
    """

    passage: str
    document: str
    file: str
    page: int | None
    tables: tuple[str, ...]
    title: str
    text: str
    score: float = 0.0
    paragraphs: tuple[tuple[int, int | None], ...] = ()
    """The numbers of the paragraphs it has sentences of, each with the page it begins on."""
    offset: int = 0
    """Characters of its first paragraph that precede it."""

    def place_of(self, offset: int) -> tuple[int, int | None]:
        """The paragraph, and its page, that contains the character at this offset of the text."""
        at = self.text.count("\n\n", 0, offset)
        return self.paragraphs[min(at, len(self.paragraphs) - 1)] if self.paragraphs else (0, self.page)

    def start_of(self, offset: int) -> int:
        """How many characters of its paragraph precede the character at this offset of the text."""
        before = self.text.rfind("\n\n", 0, offset)
        return offset - before - 2 if before >= 0 else offset + self.offset


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
        """The whole text, paragraphs separated by an empty line."""
        return "\n\n".join(paragraph.text for paragraph in self.paragraphs)


def read_document(store: TripleStore, id: str, names: Namespaces) -> StoredDocument | None:
    """The document with this id; None if it is not in the graph."""
    iri = names.document_iri(id)
    said: dict[str, dict[str, list[ObjectTerm]]] = defaultdict(lambda: defaultdict(list))
    for triple in store.graph(iri):
        if isinstance(triple.subject, ox.NamedNode) and not isinstance(triple.object, ox.Triple):
            said[triple.subject.value][triple.predicate.value].append(triple.object)
    if iri not in said:
        return None
    about = said[iri]
    paragraphs: dict[int, Paragraph] = {}
    nodes: dict[int, tuple[str, NodeStatements]] = {}
    quantities: dict[int, list[TextQuantity]] = defaultdict(list)
    for subject, pairs in said.items():
        kinds = {str(term) for term in pairs.get(RDF_TYPE[1:-1], ())}
        if f"<{KGT}Paragraph>" in kinds:
            level = _integer(pairs, f"{KGT}headingLevel") or 0
            text = _text(pairs, f"{KGT}text")
            paragraphs[_number(subject)] = Paragraph(text, _integer(pairs, f"{KGT}page"), level)
        elif f"<{KGT}Passage>" in kinds:
            nodes[_number(subject)] = subject, pairs
        elif f"<{QUDT}QuantityValue>" in kinds:
            quantities[_number(subject.rpartition("/quantity/")[0])].append(_quantity(pairs))
    document = StoredDocument(
        id,
        _text(about, f"{KGT}source"),
        _text(about, f"{RDFS}label"),
        tuple(paragraphs[number] for number in sorted(paragraphs)),
        (),
        {number: tuple(sorted(found, key=lambda q: q.start)) for number, found in sorted(quantities.items())},
        _integer(about, f"{KGT}pages"),
    )
    above = _headings_above(document)
    passages = (_passage(*nodes[number], document, above, names) for number in sorted(nodes))
    return replace(document, passages=tuple(passages))


def _headings_above(document: StoredDocument) -> list[str]:
    """For each paragraph the title of its document and the headings above it."""
    title = "" if document.title == document.id else document.title
    headings: dict[int, str] = {}
    above = []
    for paragraph in document.paragraphs:
        texts = (title, " . ".join(text for _, text in sorted(headings.items())))
        above.append(" . ".join(dict.fromkeys(filter(None, texts))))
        if paragraph.level:
            headings = {level: text for level, text in headings.items() if level < paragraph.level}
            headings[paragraph.level] = paragraph.text
    return above


def document_ids(store: TripleStore, names: Namespaces) -> list[str]:
    """The ids of all documents in a store, sorted."""
    query = (
        f"SELECT DISTINCT ?id WHERE {{ GRAPH ?document {{ ?document a <{KGT}Document> ; <{DCTERMS}identifier> ?id }} }}"
    )
    return sorted(text_of(found["id"]) for found in select(store, query) if isinstance(found["id"], ox.Literal))


def _passage(
    iri: str, pairs: NodeStatements, document: StoredDocument, above: Sequence[str], names: Namespaces
) -> StoredPassage:
    covered = sorted(_number(str(term)[1:-1]) for term in pairs.get(f"{KGT}coversParagraph", ()))
    ids = (names.parse_table_iri(str(term)[1:-1]) for term in pairs.get(f"{KGT}describes", ()))
    text = _text(pairs, f"{KGT}text")
    first = covered[0] if covered else 0
    whole = document.paragraphs[first].text if document.paragraphs else ""
    return StoredPassage(
        iri,
        document.id,
        document.path,
        _integer(pairs, f"{KGT}page"),
        tuple(sorted(id for id in ids if id is not None)),
        above[first] if above else document.title,
        text,
        paragraphs=tuple((number, document.paragraphs[number].page) for number in covered),
        offset=max(whole.find(text.split("\n\n", 1)[0]), 0),
    )


def _quantity(pairs: NodeStatements) -> TextQuantity:
    number = node_content(pairs)
    text, start = _text(pairs, f"{KGT}text"), _integer(pairs, f"{KGT}start") or 0
    return TextQuantity(
        Decimal(number.value or 0),
        None if number.unit == "UNITLESS" else number.unit,
        number.scale,
        number.period,
        text,
        start,
        start + len(text),
        _text(pairs, f"{KGT}signed_str"),
    )


def _number(iri: str) -> int:
    tail = iri.rpartition("/")[2]
    return int(tail) if tail.isdecimal() else 0


def _text(pairs: NodeStatements, predicate: str) -> str:
    return next((text_of(term) for term in pairs.get(predicate, ()) if isinstance(term, ox.Literal)), "")


def _integer(pairs: NodeStatements, predicate: str) -> int | None:
    text = _text(pairs, predicate)
    return int(text) if text.isdecimal() else None
