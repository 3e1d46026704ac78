"""RDF terms: namespaces, the IRIs kgtable mints, literals, and blocks of statements about one subject.

Every term in `kgtable.graph` is a `str` in N-Triples syntax (``<iri>`` or ``"text"^^<datatype>``):
that is what gets written, and building it is several times faster than building term objects.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from math import log10
from typing import NamedTuple, TypeAlias
from urllib.parse import unquote_to_bytes

from pyoxigraph import NamedNode

from kgtable.errors import UsageError
from kgtable.values.text import text_cache

Term: TypeAlias = str

DEFAULT_BASE = "http://example.org/"
KGT = "https://w3id.org/kgtable#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
XSD = "http://www.w3.org/2001/XMLSchema#"
QUDT = "http://qudt.org/schema/qudt/"
UNIT = "http://qudt.org/vocab/unit/"
QUANTITY_KIND = "http://qudt.org/vocab/quantitykind/"
CSVW = "http://www.w3.org/ns/csvw#"
DCTERMS = "http://purl.org/dc/terms/"
DCAT = "http://www.w3.org/ns/dcat#"
PROV = "http://www.w3.org/ns/prov#"
VOID = "http://rdfs.org/ns/void#"
OWL = "http://www.w3.org/2002/07/owl#"

FIXED_PREFIXES = {
    "csvw": CSVW,
    "dcat": DCAT,
    "dcterms": DCTERMS,
    "kgt": KGT,
    "owl": OWL,
    "prov": PROV,
    "qudt": QUDT,
    "rdf": RDF,
    "rdfs": RDFS,
    "unit": UNIT,
    "quantitykind": QUANTITY_KIND,
    "void": VOID,
    "xsd": XSD,
}

RDF_TYPE = f"<{RDF}type>"
ESCAPED = f"{KGT}escaped"

# RFC 3987 unreserved and ucschar, less the spaces and invisible direction marks among them.
_TO_ENCODE = re.compile(
    "[^A-Za-z0-9._~\\-"
    "\u00a1-\u00ac\u00ae-\u061b\u061d-\u167f\u1681-\u180d\u180f-\u1fff\u2010-\u2027\u2030-\u205e"
    "\u2070-\u2fff\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufefe\uff00-\uffef"
    "\U00010000-\U0001fffd\U00020000-\U0002fffd\U00030000-\U0003fffd]"
)
_TO_ESCAPE = re.compile('["\\\\\x00-\x1f\x7f\ufffe\uffff\ud800-\udfff]')
_SURROGATE = re.compile("[\ud800-\udfff]")
ROW_CLASSES = {
    "groups": "Group",
    "totals": "TotalRow",
    "footnotes": "FootnoteRow",
    "of_which": "OfWhichRow",
    "statistics": "StatisticRow",
    "changes": "ChangeRow",
}
"""The classes of body rows by the field of `Structure` that names their rows."""

_NAMED_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
# RFC 3987 has no private use and no tags in an IRI; stores refuse them when they read.
_FORBIDDEN_IN_IRI = re.compile(
    '[\x00-\x20<>"{}|^`\\\\\x7f\ud800-\uf8ff\ufdd0-\ufdef\ufff0-\uffff'
    "\U0001fffe-\U0001ffff\U0002fffe-\U0002ffff\U0003fffe-\U0003ffff\U000e0000-\U000e0fff\U000f0000-\U0010ffff]"
)
_ABSOLUTE_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")


class CellAddress(NamedTuple):
    """A cell of a dataset: table id and 0-based grid position."""

    table: str
    row: int
    column: int


@text_cache(65_536)
def encode(text: str) -> str:
    """The text as one IRI path segment, percent-encoded by RFC 3987; injective.

    >>> encode("Größe in m²/s")
    'Größe%20in%20m²%2Fs'
    >>> encode("..")
    '%2E%2E'
    """
    if text in {".", ".."}:
        return "%2E" * len(text)
    return _TO_ENCODE.sub(_percent_encoded, text)


def _percent_encoded(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match.group().encode("utf-8", "surrogatepass"))


def decode(segment: str) -> str:
    """The text that `encode` was given."""
    return unquote_to_bytes(segment.encode("utf-8")).decode("utf-8", "surrogatepass")


def is_valid_iri(iri: str) -> bool:
    """Whether the text is an absolute IRI that can be written between angle brackets."""
    return _ABSOLUTE_IRI.match(iri) is not None and _FORBIDDEN_IN_IRI.search(iri) is None


def _escape(match: re.Match[str]) -> str:
    character = match.group()
    return _NAMED_ESCAPES.get(character) or f"\\u{ord(character):04X}"


def quote(text: str) -> str:
    r"""The text between quotes, escaped for N-Triples and Turtle alike.

    >>> quote('a "b"\n')
    '"a \\"b\\"\\n"'
    """
    if _TO_ESCAPE.search(text) is None:
        return f'"{text}"'
    return f'"{_TO_ESCAPE.sub(_escape, text)}"'


def is_plain(text: str) -> bool:
    """Whether a text is in a literal of every format as it is.

    >>> is_plain("Größe in m²"), is_plain('a "b"')
    (True, False)
    """
    return (text.isprintable() and '"' not in text and "\\" not in text) or _TO_ESCAPE.search(text) is None


def text_literal(text: str) -> Term:
    """A plain literal; with lone surrogates, which RDF cannot hold, JSON-escaped as ``kgt:escaped``."""
    if _TO_ESCAPE.search(text) is None:
        return f'"{text}"'
    if _SURROGATE.search(text) is None:
        return f'"{_TO_ESCAPE.sub(_escape, text)}"'
    return f"{quote(json.dumps(text))}^^<{ESCAPED}>"


def literal_text(value: str, datatype: str | None) -> str:
    """The text of a literal made by `text_literal`."""
    return str(json.loads(value)) if datatype == ESCAPED else value


def typed(lexical: str, datatype: str) -> Term:
    """A literal with a datatype given by its full IRI."""
    return f"{quote(lexical)}^^<{datatype}>"


def integer(value: int) -> Term:
    """An ``xsd:integer``."""
    return f'"{value}"^^<{XSD}integer>'


def decimal_text(plain: str) -> str:
    """A decimal number's canonical text: always with a point, without trailing zeros.

    >>> decimal_text("574"), decimal_text("-0.50"), decimal_text("-0"), decimal_text("007")
    ('574.0', '-0.5', '0.0', '7.0')
    """
    sign = "-" if plain[:1] == "-" else ""
    whole, _, fraction = plain.lstrip("+-").partition(".")
    whole, fraction = whole.lstrip("0") or "0", fraction.rstrip("0") or "0"
    if whole == fraction == "0":
        sign = ""
    return f"{sign}{whole}.{fraction}"


LARGEST_DECIMAL, MOST_PLACES = Decimal("170141183460469231731.687303715884105727"), 18
"""The range of an ``xsd:decimal`` in Oxigraph: 128 bits, counted in units of 10^-18."""

_PRINTED_NUMBER = re.compile(r"\d[\d.,'’\s]*")


def decimal_term(text: str) -> Term:
    """An ``xsd:decimal`` of a canonical text; beyond what the store can compare and add, the nearest ``xsd:double``.

    >>> decimal_term("574.0").partition("^^")[0], decimal_term("1234567890123456789012345.0").partition("^^")[0]
    ('"574.0"', '"1234567890123456800000000"')
    """
    if len(text) <= MOST_PLACES or is_decimal(Decimal(text)):
        return f'"{text}"^^<{XSD}decimal>'
    double = min(max(float(text), -sys.float_info.max), sys.float_info.max)
    return f'"{_double_text(double)}"^^<{XSD}double>'


def is_decimal(number: Decimal) -> bool:
    """Whether an ``xsd:decimal`` of the store holds the number exactly."""
    return int(number.as_tuple().exponent) >= -MOST_PLACES and -LARGEST_DECIMAL <= number <= LARGEST_DECIMAL


def exact_decimal(double: str, printed: str) -> str:
    """The exact text of a number that is stored as a double and printed in a text: the digits there of that size.

    Where no number printed there rounds to the double, the double.

    >>> exact_decimal("1.2345678901234568e+24", "1,234,567,890,123,456,789.012345 million")
    '1234567890123456789012345.0'
    """
    size, sign = abs(float(double)), "-" * double.startswith("-")
    for run in _PRINTED_NUMBER.findall(printed):
        digits = re.sub(r"\D", "", run).lstrip("0")
        if size and digits:
            power = round(log10(size) - log10(int(digits)))
            if float(f"{digits}e{power}") == size:
                return decimal_text(f"{Decimal(f'{sign}{digits}e{power}'):f}")
    return decimal_text(_double_text(float(double)))


def _double_text(number: float) -> str:
    """A double as the store prints it: the fewest digits that round to it, without an exponent."""
    return f"{Decimal(repr(number)):f}".removesuffix(".0")


@dataclass(frozen=True)
class Namespaces:
    """The dataset's own namespaces below one base IRI: predicates in `ex`, data in `data`.

    Ids of tables are encoded here; names of predicates and entities come as local names from
    `kgtable.ontology.naming` and occur in an IRI as they are.

    Raises `UsageError` for a base that is not an absolute IRI, or one with a fragment.
    """

    base: str = DEFAULT_BASE

    def __post_init__(self) -> None:
        given = self.base
        if not self.base.endswith(("/", ":")):
            object.__setattr__(self, "base", self.base + "/")
        try:
            if not is_valid_iri(self.base):
                raise ValueError("no scheme, or a character that no IRI has")
            NamedNode(self.ex)
        except ValueError as error:
            raise UsageError(
                f"The base {given!r} is not an absolute IRI that names can be added to: {error}.",
                hint="Give one like https://example.org/.",
            ) from None

    @property
    def ex(self) -> str:
        """The namespace of the generated predicates."""
        return f"{self.base}ontology#"

    @property
    def data(self) -> str:
        """The namespace of the data."""
        return f"{self.base}data/"

    @cached_property
    def prefixes(self) -> dict[str, str]:
        """Every prefix kgtable writes, sorted by name."""
        return dict(sorted({**FIXED_PREFIXES, "data": self.data, "ex": self.ex}.items()))

    @property
    def dataset_iri(self) -> str:
        """The dataset as a whole."""
        return f"{self.base}dataset"

    def table_iri(self, table: str) -> str:
        """A table, and the named graph that holds its quads.

        >>> Namespaces().table_iri("balance 2016")
        'http://example.org/data/table/balance%202016'
        """
        return f"{self.data}table/{encode(table)}"

    def document_iri(self, document: str) -> str:
        """A document's text, and the named graph that holds it."""
        return f"{self.data}document/{encode(document)}"

    def parse_passage_iri(self, iri: str) -> str | None:
        """The id of the document whose passage has this IRI; None for any other IRI.

        >>> Namespaces().parse_passage_iri("http://example.org/data/document/a%2Fb/passage/3")
        'a/b'
        """
        start = f"{self.data}document/"
        document, _, number = iri.removeprefix(start).rpartition("/passage/")
        return decode(document) if iri.startswith(start) and document and number.isdecimal() else None

    def row_iri(self, table: str, row: int) -> str:
        """A row of a table."""
        return f"{self.table_iri(table)}/row/{row}"

    def column_iri(self, table: str, column: int) -> str:
        """A column of a table."""
        return f"{self.table_iri(table)}/column/{column}"

    def cell_iri(self, table: str, row: int, column: int) -> str:
        """A cell of a table: its quantity, its header text, or its printed text."""
        return f"{self.table_iri(table)}/cell/{row}/{column}"

    def entity_iri(self, slug: str) -> str:
        """The entity that a label names, shared by all tables with the label; `slug` is a local name."""
        return f"{self.data}{slug}"

    def predicate_iri(self, name: str) -> str:
        """A generated predicate by its local name; a full IRI from an edited mapping is returned as is."""
        return name if ":" in name and is_valid_iri(name) else f"{self.ex}{name}"

    @cached_property
    def _table_pattern(self) -> re.Pattern[str]:
        return re.compile(re.escape(self.data) + r"table/([^/#?]+)")

    @cached_property
    def _cell_pattern(self) -> re.Pattern[str]:
        return re.compile(re.escape(self.data) + r"table/([^/#?]+)/cell/([0-9]{1,9})/([0-9]{1,9})")

    def parse_table_iri(self, iri: str) -> str | None:
        """The id of the table with this IRI; None for any other IRI."""
        match = self._table_pattern.fullmatch(iri)
        return decode(match[1]) if match else None

    def parse_cell_iri(self, iri: str) -> CellAddress | None:
        """The cell with this IRI; None for any other IRI.

        >>> Namespaces().parse_cell_iri("http://example.org/data/table/a%2Fb/cell/3/1")
        CellAddress(table='a/b', row=3, column=1)
        """
        match = self._cell_pattern.fullmatch(iri)
        return CellAddress(decode(match[1]), int(match[2]), int(match[3])) if match else None


Pair: TypeAlias = tuple[Term, Term]
"""A predicate and an object."""


Block: TypeAlias = tuple[Term, Sequence[Pair]]
"""A subject and its pairs, in the order they are written."""

Blocks: TypeAlias = Iterable[Block]


@dataclass(frozen=True, slots=True)
class Share:
    """The `part`-th of `parts` pieces that one table is converted in, counted from 0."""

    part: int = 0
    parts: int = 1

    @property
    def is_first(self) -> bool:
        """Whether the table begins here."""
        return self.part == 0

    @property
    def is_last(self) -> bool:
        """Whether the table ends here."""
        return self.part == self.parts - 1


WHOLE = Share()
