"""The shape of a document's text in the graph: paragraphs as they stand, passages that are searched, quantities.

A document is a named graph of its own. A paragraph holds its text to the letter; a passage its own text, the
paragraphs it covers, and the tables that it stands beside or names (``kgt:describes``). A number in a paragraph
is a quantity as in a cell, with its words and where they begin.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kgtable.graph.terms import (
    DCTERMS,
    KGT,
    QUDT,
    RDF_TYPE,
    RDFS,
    UNIT,
    XSD,
    Block,
    Namespaces,
    Pair,
    Term,
    decimal_text,
    integer,
    text_literal,
    typed,
)
from kgtable.text.passages import DocumentText, Passage, split_passages
from kgtable.text.text_quantities import TextQuantity, find_quantities

_TEXT, _ORDER, _PAGE = f"<{KGT}text>", f"<{KGT}order>", f"<{KGT}page>"
_DOCUMENT, _PARAGRAPH, _DESCRIBES = f"<{KGT}document>", f"<{KGT}coversParagraph>", f"<{KGT}describes>"
NO_UNIT = f"{UNIT}UNITLESS"


class DocumentShape:
    """The text of one document as blocks of statements.

    Args:
        id: the document's id, that of its file.
        path: the file's path.
        text: what stands in it.
        tables: the ids of its tables, in the order of `text.tables`.
        names: the dataset's namespaces.
    """

    def __init__(
        self, id: str, path: str, text: DocumentText, tables: Sequence[str], names: Namespaces
    ) -> None:
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
    yield f"<{QUDT}numericValue>", typed(decimal_text(f"{quantity.value:f}"), f"{XSD}decimal")
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
