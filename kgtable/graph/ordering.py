"""Statements from a store in the order people read them: that in which `kgtable.graph.shape` gives them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TypeAlias

import pyoxigraph as ox

from kgtable.graph.blocks import Block, Pair
from kgtable.graph.terms import (
    CSVW,
    DCTERMS,
    KGT,
    QUDT,
    RDF_TYPE,
    RDFS,
    XSD,
    Term,
    decimal_text,
    text_literal,
    typed,
)

_Key: TypeAlias = tuple[int, ...]

_PLACE = re.compile(r"/(heading|before|after|paragraph|column|row|cell)/([0-9]{1,9})(?:/([0-9]{1,9}))?>")
_PARTS = {name: place for place, name in enumerate(("heading", "before", "after", "paragraph", "column"))}
_BODY = len(_PARTS)
_CLASSES = ("Table", "Column", "Row", "Group", "TotalRow", "FootnoteRow", "HeaderRow", "TitleRow", "UnitRow")
_CLASS_ORDER = {f"<{KGT}{name}>": place for place, name in enumerate(_CLASSES)}
_PREDICATES = (
    RDF_TYPE, f"<{KGT}table>", f"<{QUDT}numericValue>", f"<{KGT}lowerBound>", f"<{KGT}upperBound>",
    f"<{QUDT}hasUnit>", f"<{KGT}note>", f"<{KGT}signed_str>", f"<{KGT}order>", f"<{KGT}row>",
    f"<{KGT}column>", f"<{KGT}predicate>", f"<{CSVW}titles>", f"<{KGT}path>", f"<{KGT}text>",
    f"<{KGT}scale>", f"<{KGT}period>", f"<{KGT}denominator>", f"<{KGT}approximate>", f"<{KGT}mark>",
    f"<{RDFS}label>", f"<{DCTERMS}identifier>", f"<{DCTERMS}title>", f"<{KGT}source>", f"<{KGT}sheet>",
    f"<{KGT}rows>", f"<{KGT}subject>", f"<{KGT}group>", f"<{KGT}width>", f"<{KGT}bodyStart>",
    f"<{KGT}labelColumn>", f"<{KGT}headerRow>", f"<{KGT}corner>", f"<{KGT}caption>", f"<{KGT}marks>",
    f"<{KGT}merged>", f"<{KGT}headerCells>", f"<{KGT}formats>", f"<{KGT}indents>", f"<{KGT}heading>",
    f"<{KGT}before>", f"<{KGT}after>", f"<{KGT}paragraph>",
)  # fmt: skip
_PREDICATE_ORDER = {predicate: place for place, predicate in enumerate(_PREDICATES)}
_PREDICATE, _PRINTED = f"<{KGT}predicate>", f"<{KGT}printed>"
_DECIMAL, _STRING = f"{XSD}decimal", f"{XSD}string"


def term_text(term: ox.NamedNode | ox.BlankNode | ox.Literal | ox.Triple) -> Term:
    """A term of the store as kgtable writes it: decimals with their point."""
    if not isinstance(term, ox.Literal):
        return str(term)
    datatype = term.datatype.value
    if datatype == _STRING:
        return text_literal(term.value)
    if datatype == _DECIMAL:
        return typed(decimal_text(term.value), datatype)
    return str(term) if term.language else typed(term.value, datatype)


def collect(triples: Iterable[ox.Triple]) -> dict[Term, list[Pair]]:
    """The triples by subject."""
    nodes: dict[Term, list[Pair]] = {}
    for triple in triples:
        pairs = nodes.setdefault(term_text(triple.subject), [])
        pairs.append((str(triple.predicate), term_text(triple.object)))
    return nodes


def table_blocks(triples: Iterable[ox.Triple]) -> Iterator[Block]:
    """The statements of one table's graph: description, columns, then rows with their cells below."""
    nodes = collect(triples)
    columns: dict[Term, int] = {}
    for subject, pairs in nodes.items():
        match = _PLACE.search(subject)
        if match is None or match[1] != "column":
            continue
        for predicate, value in pairs:
            if predicate == _PREDICATE:
                columns[value] = min(int(match[2]), columns.get(value, int(match[2])))
    for subject in sorted(nodes, key=_subject_key):
        yield subject, sorted(nodes[subject], key=lambda pair: _pair_key(pair, columns))


def plain_blocks(nodes: dict[Term, list[Pair]]) -> Iterator[Block]:
    """Statements of any kind, sorted by subject, each with its types first."""
    for subject in sorted(nodes):
        yield subject, sorted(nodes[subject], key=lambda pair: (pair[0] != RDF_TYPE, *pair))


def _subject_key(subject: Term) -> tuple[_Key, Term]:
    match = _PLACE.search(subject)
    if match is None:
        return (-1,), subject
    part, first = match[1], int(match[2])
    if part in _PARTS:
        return (_PARTS[part], first), subject
    return (_BODY, first, -1 if match[3] is None else int(match[3])), subject


def _pair_key(pair: Pair, columns: dict[Term, int]) -> tuple[_Key, Term, Term]:
    predicate, value = pair
    return _pair_place(predicate, value, columns), value, predicate


def _pair_place(predicate: Term, value: Term, columns: dict[Term, int]) -> _Key:
    if predicate == RDF_TYPE:
        return 0, _CLASS_ORDER.get(value, len(_CLASSES))
    place = _PREDICATE_ORDER.get(predicate)
    if place is not None:
        number = _PLACE.search(value) if value[0] == "<" else None
        return 1, place, int(number[2]) if number else _leading_number(value)
    if predicate == _PRINTED and (cell := _PLACE.search(value)) is not None and cell[3] is not None:
        return 2, int(cell[3]), 1
    return 2, columns.get(predicate, len(columns)), 0


def _leading_number(literal: Term) -> int:
    match = re.match(r'"([0-9]{1,9})"', literal)
    return int(match[1]) if match else 0
