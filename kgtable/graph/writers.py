"""RDF writers: N-Triples, N-Quads, Turtle, TriG and JSON-LD, in the order in which people read.

They take statements as texts, as the encoder makes them. pyoxigraph's serialiser takes objects, and making these takes
longer than writing them. Where there are objects already, as in query results and in the ontology, pyoxigraph writes.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from itertools import chain
from pathlib import PurePath
from typing import Any, NamedTuple, TypeAlias

import pyoxigraph as ox

from kgtable.errors import UsageError
from kgtable.graph.row_forms import ColumnRun, Form, FormSlot, Parts, RowChunk
from kgtable.graph.terms import (
    CSVW,
    DCTERMS,
    KGT,
    QUDT,
    RDF_TYPE,
    RDFS,
    ROW_CLASSES,
    WHOLE,
    XSD,
    Block,
    Blocks,
    Namespaces,
    Pair,
    Share,
    Term,
    decimal_text,
    text_literal,
    typed,
)

_LITERAL = re.compile(r'"(.*)"(?:\^\^<([^<>]*)>|@([A-Za-z0-9-]+))?', re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u([0-9A-F]{4})|(.))")
_PLAIN_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}
_NATIVE_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,14}")


class _AmbiguousIriError(Exception):
    """An IRI whose scheme is a prefix of the context, under which a reader would expand it."""


_SAMPLE = 12345678901230
"""Placeholder, with the number of a slot, for its text while a form is written. No suffix of it is also a prefix."""

_FEW = 5
"""Fewer rows are written as blocks: splitting a form costs as much as some cells."""

_PIECE, _JOINED = 100_000, 3_000
_MOST_REMEMBERED = 20_000


class _Pattern(NamedTuple):
    """A form as it is written: pieces of text, and which of them are slots, with their numbers and whether they are
    whole terms."""

    pieces: tuple[str, ...]
    slots: tuple[tuple[int, int, bool], ...] = ()


class RdfWriter(ABC):
    """Text pieces of a document: its start, its graphs with `between` between them, its end.

    Blocks are written one by one, rows by their forms: what rows share is written once, then slots are filled.
    """

    between = ""
    closing = ""

    def __init__(self) -> None:
        self._patterns: dict[Form, tuple[_Pattern, _Pattern]] = {}

    def start(self) -> str:
        """What precedes the first graph."""
        return ""

    @abstractmethod
    def graph(self, name: Term | None, parts: Parts, share: Share = WHOLE) -> Iterator[str]:
        """One graph, or a share of it, piece by piece; `name` None is the default graph."""

    def end(self) -> str:
        """The text after the last graph."""
        return ""

    @abstractmethod
    def opened(self, subject: Term, pairs: Iterable[Pair]) -> str:
        """A block to which pairs may be added."""

    @abstractmethod
    def added(self, subject: Term, predicate: Term, value: Term) -> str:
        """A pair of an open block, with a predicate unique within it."""

    def terms(self, terms: Sequence[Term]) -> Sequence[str]:
        """Terms as they are written in object position; the empty text for an empty one."""
        return terms

    def block(self, subject: Term, pairs: Iterable[Pair]) -> str:
        """A whole block."""
        return self.opened(subject, pairs) + self.closing

    def written(self, parts: Parts) -> Iterator[str]:
        """The text of the parts, in pieces."""
        self._patterns.clear()
        piece: list[str] = []
        size = 0
        for text in chain.from_iterable(map(self._texts, parts)):
            piece.append(text)
            size += len(text)
            if size > _PIECE:
                yield "".join(piece)
                piece, size = [], 0
        yield "".join(piece)

    def _texts(self, part: Block | RowChunk) -> Iterator[str]:
        if not isinstance(part, RowChunk):
            yield self.block(*part)
        elif len(part.numbers) < _FEW or not self.is_separable(part):
            yield from (self.block(*block) for blocks in part.rows() for block in blocks)
        else:
            yield from self._by_form(part)

    def is_separable(self, chunk: RowChunk) -> bool:
        """Whether each pair of a cell is written by itself, and not together with others of its predicate."""
        return chunk.is_distinct

    def _by_form(self, chunk: RowChunk) -> Iterator[str]:
        """The rows as one text: the pieces of the forms, once for each row, among which the texts of slots are put."""
        numbers, row = chunk.numbers, chunk.runs[0].form.subject
        assert row is not None
        pieces: list[str] = []
        columns: list[tuple[int, Sequence[str]]] = []
        spans: list[tuple[int, int, int, ColumnRun]] = []
        for part in (0, 1):
            for run in chunk.runs:
                pattern, start = self._pattern(run.form, row)[part], len(pieces)
                pieces += pattern.pieces
                for place, number, is_term in pattern.slots:
                    texts = run.slots[number - 1] if number else numbers
                    columns.append((start + place, self.terms(texts) if is_term else texts))
                if run.odd:
                    spans.append((part, start, len(pieces), run))
            if not part:
                pieces.append(self.closing)
        width = len(pieces)
        pieces *= len(numbers)
        for place, texts in columns:
            pieces[place::width] = texts
        for part, start, stop, run in spans:
            rest = [""] * (stop - start - 1)
            for index, (form, said) in run.odd.items():
                text = self._cell(part, form, (numbers[index], *said), row)
                pieces[index * width + start : index * width + stop] = [text, *rest]
        step = width * (1 + _JOINED // width)
        for start in range(0, len(pieces), step):
            yield "".join(pieces[start : start + step])

    def _cell(self, part: int, form: Form, texts: Sequence[str], row: FormSlot) -> str:
        """A cell by itself: its pairs of the row, or the block below."""
        if not (form.below if part else form.pairs):
            return ""
        pattern = self._pattern(form, row)[part]
        pieces = list(pattern.pieces)
        for place, number, is_term in pattern.slots:
            pieces[place] = self.terms(texts[number : number + 1])[0] if is_term else texts[number]
        return "".join(pieces)

    def _pattern(self, form: Form, row: FormSlot) -> tuple[_Pattern, _Pattern]:
        if len(self._patterns) > _MOST_REMEMBERED:
            self._patterns.clear()
        return self._patterns.get(form) or self._patterns.setdefault(form, self._made_pattern(form, row))

    def _made_pattern(self, form: Form, row: FormSlot) -> tuple[_Pattern, _Pattern]:
        values = [row, *(value for _, value in (*form.pairs, *form.below))]
        slots = {value.number: value for value in values if isinstance(value, FormSlot)}
        fixed = repr((row, form.pairs, form.below))
        sample = _SAMPLE
        while str(sample) in fixed:
            sample += 10
        texts = [f"{sample}{number}" for number in range(1 + max(slots))]
        shown: dict[str, tuple[int, bool]] = {}
        for number, slot in slots.items():
            is_term = not (slot.before or slot.after)
            texts[number] = f'"{texts[number]}"' if is_term else texts[number] + slot.like
            shown[texts[number]] = (number, is_term)
        pairs, block = form.statements(texts)
        subject = row.term(texts)
        opening = self.opened(subject, pairs) if form.is_head else "".join(self.added(subject, *pair) for pair in pairs)
        return _split(opening, shown), _split(self.block(*block) if block else "", shown)


def _split(written: str, shown: Mapping[str, tuple[int, bool]]) -> _Pattern:
    parts = re.split("(" + "|".join(map(re.escape, shown)) + ")", written)
    slots = tuple((place, *shown[part]) for place, part in enumerate(parts) if place % 2)
    return _Pattern(tuple("" if place % 2 else part for place, part in enumerate(parts)), slots)


class JsonLdWriter(RdfWriter):
    """Writes one document: the context, then nodes of the default graph and named graphs.

    A node with an IRI like ``data:text/plain,a`` is written in full, without the context that has ``data`` as a
    prefix; so are all nodes of a graph whose name is such an IRI.
    """

    between = ",\n"
    closing = "}"

    def __init__(self, names: Namespaces) -> None:
        super().__init__()
        self._context = names.prefixes
        self._compact: Callable[[str], str] = self._compacted
        self._between = self.between
        self._namespaces = sorted(names.prefixes.items(), key=lambda item: -len(item[1]))

    def start(self) -> str:
        return f'{{"@context": {_dumps(self._context)},\n"@graph": [\n'

    def end(self) -> str:
        return "\n]}\n"

    def graph(self, name: Term | None, parts: Parts, share: Share = WHOLE) -> Iterator[str]:
        self._compact, self._between = self._compacted, self.between
        is_start = name is None or share.is_first
        before = ""
        if name is not None:
            self._between = ",\n  "
            head: dict[str, Any] = {}
            try:
                head["@id"] = _reference(name, self._compact)
            except _AmbiguousIriError:
                self._compact = str
                head = {"@context": None, "@id": _reference(name, str)}
            if share.is_first:
                yield f'{_dumps(head)[:-1]}, "@graph": ['
                before = "\n  "
        for piece in self.written(parts):
            if is_start and piece:
                piece, is_start = before + piece[len(self._between) :], False
            yield piece
        if name is not None and share.is_last:
            yield "]}"

    def opened(self, subject: Term, pairs: Iterable[Pair]) -> str:
        return self._between + _dumps(_node(subject, pairs, self._compact))[:-1]

    def added(self, subject: Term, predicate: Term, value: Term) -> str:
        return f", {_dumps(self._compact(predicate[1:-1]))}: {_dumps(_value(value, self._compact))}"

    def terms(self, terms: Sequence[Term]) -> Sequence[str]:
        shown = {term: _dumps(_value(term, self._compact)) if term else "" for term in set(terms)}
        return list(map(shown.__getitem__, terms))

    def block(self, subject: Term, pairs: Iterable[Pair]) -> str:
        try:
            return super().block(subject, pairs)
        except _AmbiguousIriError:
            return self._between + _dumps({"@context": None, **_node(subject, pairs, str)})

    def is_separable(self, chunk: RowChunk) -> bool:
        """Whether no key of a row comes twice."""
        return chunk.is_distinct and sum(any(len(form.pairs) > 1 for form in run.sizes) for run in chunk.runs[1:]) < 2

    def _texts(self, part: Block | RowChunk) -> Iterator[str]:
        try:
            yield from super()._texts(part)
        except _AmbiguousIriError:
            assert isinstance(part, RowChunk)
            yield from (self.block(*block) for blocks in part.rows() for block in blocks)

    def _compacted(self, iri: str) -> str:
        for prefix, namespace in self._namespaces:
            if iri.startswith(namespace) and not iri.startswith("//", len(namespace)):
                return f"{prefix}:{iri[len(namespace) :]}"
        scheme, _, rest = iri.partition(":")
        if scheme in self._context and not rest.startswith("//"):
            raise _AmbiguousIriError
        return iri


def _node(subject: Term, pairs: Iterable[Pair], compact: Callable[[str], str]) -> dict[str, Any]:
    node: dict[str, Any] = {"@id": _reference(subject, compact)}
    for predicate, value in pairs:
        if predicate == RDF_TYPE and value[0] != '"':
            key, item = "@type", _reference(value, compact)
        else:
            key, item = compact(predicate[1:-1]), _value(value, compact)
        if key not in node:
            node[key] = item
        elif isinstance(node[key], list):
            node[key].append(item)
        else:
            node[key] = [node[key], item]
    return node


def _reference(term: Term, compact: Callable[[str], str]) -> str:
    return compact(term[1:-1]) if term[0] == "<" else term


def _value(term: Term, compact: Callable[[str], str]) -> Any:
    if term.startswith("<<"):
        raise UsageError("JSON-LD has no triples within triples.", hint="Choose trig or nquads.")
    if term[0] != '"':
        return {"@id": _reference(term, compact)}
    match = _LITERAL.fullmatch(term)
    assert match is not None, term
    text = _ESCAPE.sub(_unescaped, match[1]) if "\\" in match[1] else match[1]
    datatype, language = match[2], match[3]
    if language is not None:
        return {"@value": text, "@language": language}
    if datatype is None:
        return text
    if datatype == f"{XSD}integer" and _NATIVE_INTEGER.fullmatch(text):
        return int(text)
    if datatype == f"{XSD}boolean" and text in {"true", "false"}:
        return text == "true"
    return {"@value": text, "@type": compact(datatype)}


def _unescaped(match: re.Match[str]) -> str:
    if match[1]:
        return chr(int(match[1], 16))
    return _PLAIN_ESCAPES.get(match[2], match[2])


def _dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


_LOCAL_NAME = re.compile(
    r"(?:[A-Za-z0-9_\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u3001-\ud7ff]|%[0-9A-F]{2})"
    r"(?:[A-Za-z0-9_\-\u00b7\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u037d\u037f-\u1fff\u3001-\ud7ff]|%[0-9A-F]{2})*"
)
_IRI_PARTS = re.compile(r"<(.*[/#:])([^/#:]*)>", re.DOTALL)
_PLACE = re.compile(r"[a-z]+/[0-9]+(?:/[0-9]+)*>")
_TYPED = re.compile(r'(".*")\^\^(<[^<>]*>)', re.DOTALL)
_BARE = {
    f"<{XSD}integer>": re.compile(r"[+-]?[0-9]+"),
    f"<{XSD}decimal>": re.compile(r"[+-]?[0-9]*\.[0-9]+"),
    f"<{XSD}boolean>": re.compile(r"true|false"),
}


class TurtleWriter(RdfWriter):
    """Writes graphs as Turtle (all in one graph) or TriG (each in its own).

    The graph of a table or document is given a ``@base`` of its own, so that ``<row/3>`` and ``<cell/3/1>`` are short.
    """

    closing = " .\n"

    def __init__(self, names: Namespaces, *, with_graphs: bool) -> None:
        super().__init__()
        self._prefixes = {iri: prefix for prefix, iri in names.prefixes.items()}
        self._with_graphs = with_graphs
        self._own = re.compile(f"<{re.escape(names.data)}(?:table|document)/[^/#?.][^/#?]*>")
        self._base = ""
        self._remembered = lru_cache(_MOST_REMEMBERED)(self._abbreviate)

    def start(self) -> str:
        return "".join(f"@prefix {prefix}: <{iri}> .\n" for iri, prefix in self._prefixes.items())

    def graph(self, name: Term | None, parts: Parts, share: Share = WHOLE) -> Iterator[str]:
        self._base = ""
        if name is not None and self._own.fullmatch(name):
            self._base = name[1:-1] + "/"
            if share.is_first:
                yield f"\n@base <{self._base}> .\n"
        enclosed = self._with_graphs and name is not None
        if enclosed and share.is_first:
            yield f"\n{name} {{\n"
        yield from self.written(parts)
        if enclosed and share.is_last:
            yield "}\n"

    def opened(self, subject: Term, pairs: Iterable[Pair]) -> str:
        lines: list[str] = []
        previous = None
        for predicate, value in pairs:
            if predicate == previous:
                lines[-1] += f", {self.short(value)}"
            else:
                verb = "a" if predicate == RDF_TYPE else self.short(predicate)
                lines.append(f"{verb} {self.short(value)}")
            previous = predicate
        return f"\n{self.short(subject)} " + " ;\n    ".join(lines)

    def added(self, subject: Term, predicate: Term, value: Term) -> str:
        return f" ;\n    {self.short(predicate)} {self.short(value)}"

    def terms(self, terms: Sequence[Term]) -> Sequence[str]:
        return [self.short(term) if term else "" for term in terms]

    def short(self, term: Term) -> str:
        """The shortest way to write a term here."""
        if term[0] == "<":
            if self._base and term.startswith(self._base, 1) and _PLACE.fullmatch(term, 1 + len(self._base)):
                return f"<{term[1 + len(self._base) :]}"
            return self._remembered(term)
        if term[-1] == '"':
            return term
        return self._short_literal(term)

    def _abbreviate(self, term: Term) -> str:
        parts = _IRI_PARTS.fullmatch(term)
        prefix = None if parts is None else self._prefixes.get(parts[1])
        return term if not parts or prefix is None or not _LOCAL_NAME.fullmatch(parts[2]) else f"{prefix}:{parts[2]}"

    def _short_literal(self, term: Term) -> str:
        match = _TYPED.fullmatch(term)
        if match is None:
            return term
        bare = _BARE.get(match[2])
        if bare is not None and bare.fullmatch(match[1], 1, len(match[1]) - 1):
            return match[1][1:-1]
        return f"{match[1]}^^{self.short(match[2])}"


class Format(StrEnum):
    """An RDF syntax kgtable writes, by the name the command line uses.

    >>> Format.of("ttl"), Format.of("application/n-quads"), Format.from_suffix("out.jsonld")
    (<Format.TURTLE: 'turtle'>, <Format.NQUADS: 'nquads'>, <Format.JSONLD: 'jsonld'>)
    """

    TURTLE = "turtle"
    TRIG = "trig"
    NTRIPLES = "ntriples"
    NQUADS = "nquads"
    JSONLD = "jsonld"

    @property
    def media_type(self) -> str:
        """The registered media type."""
        known = ox.RdfFormat.from_extension(_SUFFIXES[self][0])
        assert known is not None
        return known.media_type

    @classmethod
    def of(cls, name: str) -> Format:
        """The format by its name, suffix or media type; raises `UsageError` for an unknown one."""
        wanted = name.lower().partition(";")[0].strip().lstrip(".")
        for found in cls:
            if wanted in {found.value, found.media_type, *_SUFFIXES[found]}:
                return found
        raise UsageError(f"Unknown format {name!r}.", hint=f"Choose one of: {', '.join(cls)}.")

    @classmethod
    def from_suffix(cls, path: str | PurePath) -> Format | None:
        """The format a file name's suffix stands for, if any."""
        suffix = PurePath(path).suffix.lower().lstrip(".")
        return next((found for found in cls if suffix in _SUFFIXES[found]), None)


_SUFFIXES = {
    Format.TURTLE: ("ttl", "turtle"),
    Format.TRIG: ("trig",),
    Format.NTRIPLES: ("nt",),
    Format.NQUADS: ("nq",),
    Format.JSONLD: ("jsonld", "json-ld"),
}


class LineWriter(RdfWriter):
    """N-Triples and N-Quads: one line per statement, nothing abbreviated."""

    def __init__(self, *, with_graphs: bool) -> None:
        super().__init__()
        self._with_graphs = with_graphs
        self._tail = ""

    def graph(self, name: Term | None, parts: Parts, share: Share = WHOLE) -> Iterator[str]:
        self._tail = f" {name} .\n" if self._with_graphs and name else " .\n"
        return self.written(parts)

    def opened(self, subject: Term, pairs: Iterable[Pair]) -> str:
        return "".join([f"{subject} {predicate} {value}{self._tail}" for predicate, value in pairs])

    def added(self, subject: Term, predicate: Term, value: Term) -> str:
        return f"{subject} {predicate} {value}{self._tail}"

    def is_separable(self, chunk: RowChunk) -> bool:
        """Every pair has a line of its own."""
        return True


def writer_for(format: Format, names: Namespaces) -> RdfWriter:
    """A writer of the format that abbreviates by the dataset's prefixes."""
    match format:
        case Format.TURTLE:
            return TurtleWriter(names, with_graphs=False)
        case Format.TRIG:
            return TurtleWriter(names, with_graphs=True)
        case Format.JSONLD:
            return JsonLdWriter(names)
        case Format.NTRIPLES | Format.NQUADS:
            return LineWriter(with_graphs=format is Format.NQUADS)


def whole_document(format: Format, names: Namespaces, graphs: Iterable[tuple[Term | None, Blocks]]) -> Iterator[str]:
    """A document of graphs with their names (None for the default graph), piece by piece."""
    writer = writer_for(format, names)
    yield writer.start()
    between = ""
    for name, blocks in graphs:
        yield between
        yield from writer.graph(name, blocks)
        between = writer.between
    yield writer.end()


_Key: TypeAlias = tuple[int, ...]

_POSITION = re.compile(r"/(heading|before|after|paragraph|column|row|cell)/([0-9]{1,9})(?:/([0-9]{1,9}))?>")
_PARTS = {name: place for place, name in enumerate(("heading", "before", "after", "paragraph", "column"))}
_BODY = len(_PARTS)
_CLASSES = ("Table", "Column", "Row", *ROW_CLASSES.values(), "HeaderRow", "TitleRow", "UnitRow")
_CLASS_ORDER = {f"<{KGT}{name}>": place for place, name in enumerate(_CLASSES)}
_PREDICATES = (
    RDF_TYPE, f"<{KGT}table>", f"<{QUDT}numericValue>", f"<{KGT}lowerBound>", f"<{KGT}upperBound>",
    f"<{QUDT}hasUnit>", f"<{KGT}note>", f"<{KGT}signed_str>", f"<{KGT}order>", f"<{KGT}row>",
    f"<{KGT}column>", f"<{KGT}predicate>", f"<{CSVW}titles>", f"<{KGT}path>",
    f"<{KGT}role>", f"<{KGT}measureKind>", f"<{KGT}variant>", f"<{QUDT}hasQuantityKind>", f"<{KGT}evidence>",
    f"<{KGT}confidence>", f"<{KGT}grain>", f"<{KGT}totals>", f"<{KGT}text>",
    f"<{KGT}scale>", f"<{KGT}period>", f"<{KGT}denominator>", f"<{KGT}approximate>", f"<{KGT}mark>",
    f"<{RDFS}label>", f"<{DCTERMS}identifier>", f"<{DCTERMS}title>", f"<{KGT}source>", f"<{KGT}sheet>",
    f"<{KGT}rows>", f"<{KGT}subject>", f"<{KGT}group>", f"<{KGT}width>", f"<{KGT}bodyStart>",
    f"<{KGT}labelColumn>", f"<{KGT}headerRow>", f"<{KGT}corner>", f"<{KGT}caption>", f"<{KGT}marks>",
    f"<{KGT}merged>", f"<{KGT}shared>", f"<{KGT}headerCells>", f"<{KGT}formats>", f"<{KGT}indents>", f"<{KGT}heading>",
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
        match = _POSITION.search(subject)
        if match is None or match[1] != "column":
            continue
        for predicate, value in pairs:
            if predicate == _PREDICATE:
                columns[value] = min(int(match[2]), columns.get(value, int(match[2])))
    for subject in sorted(nodes, key=_subject_key):
        yield subject, sorted(nodes[subject], key=lambda pair: (_pair_place(pair, columns), pair[1], pair[0]))


def plain_blocks(nodes: dict[Term, list[Pair]]) -> Iterator[Block]:
    """Statements of any kind, sorted by subject, each with its types first."""
    for subject in sorted(nodes):
        yield subject, sorted(nodes[subject], key=lambda pair: (pair[0] != RDF_TYPE, *pair))


def _subject_key(subject: Term) -> tuple[_Key, Term]:
    match = _POSITION.search(subject)
    if match is None:
        return (-1,), subject
    part, first = match[1], int(match[2])
    if part in _PARTS:
        return (_PARTS[part], first), subject
    return (_BODY, first, -1 if match[3] is None else int(match[3])), subject


def _pair_place(pair: Pair, columns: dict[Term, int]) -> _Key:
    predicate, value = pair
    if predicate == RDF_TYPE:
        return 0, _CLASS_ORDER.get(value, len(_CLASSES))
    place = _PREDICATE_ORDER.get(predicate)
    if place is not None:
        number = _POSITION.search(value) if value[0] == "<" else None
        return 1, place, int(number[2]) if number else _leading_number(value)
    if predicate == _PRINTED and (cell := _POSITION.search(value)) is not None and cell[3] is not None:
        return 2, int(cell[3]), 1
    return 2, columns.get(predicate, len(columns)), 0


def _leading_number(literal: Term) -> int:
    match = re.match(r'"([0-9]{1,9})"', literal)
    return int(match[1]) if match else 0
