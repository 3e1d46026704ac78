"""Blocks of terms as text: the fast line formats here, the readable ones in `turtle` and `jsonld`."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from operator import itemgetter
from pathlib import PurePath
from typing import Protocol

from kgtable.errors import UsageError
from kgtable.graph import jsonld, turtle
from kgtable.graph.blocks import WHOLE, Blocks, Filled, Form, Share
from kgtable.graph.terms import Namespaces, Term


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
        return _MEDIA_TYPES[self]

    @property
    def has_graphs(self) -> bool:
        """Whether named graphs can be told apart in this format."""
        return self not in {Format.TURTLE, Format.NTRIPLES}

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


_MEDIA_TYPES = {
    Format.TURTLE: "text/turtle",
    Format.TRIG: "application/trig",
    Format.NTRIPLES: "application/n-triples",
    Format.NQUADS: "application/n-quads",
    Format.JSONLD: "application/ld+json",
}
_SUFFIXES = {
    Format.TURTLE: ("ttl", "turtle"),
    Format.TRIG: ("trig",),
    Format.NTRIPLES: ("nt",),
    Format.NQUADS: ("nq",),
    Format.JSONLD: ("jsonld", "json-ld"),
}


class Writer(Protocol):
    """Text pieces of a document: its start, its graphs with `between` between them, its end."""

    between: str

    def start(self) -> str:
        """What stands before the first graph."""
        ...

    def graph(self, name: Term | None, blocks: Blocks, share: Share = WHOLE) -> Iterator[str]:
        """One graph, or a share of it, piece by piece; `name` None is the default graph."""
        ...

    def end(self) -> str:
        """What stands after the last graph."""
        ...


_PIECE = 10_000


class _Pattern:
    """A form as the pieces of its lines: `pick` puts subject, terms and `constants` in writing order."""

    def __init__(self, form: Form, tail: str) -> None:
        slots = 1 + max((value for _, value in form.pairs if isinstance(value, int)), default=-1)
        constants: list[str] = []
        order: list[int] = []
        for predicate, value in form.pairs:
            order += (0, 1 + slots + len(constants))
            if isinstance(value, int):
                constants += (f" {predicate} ", tail)
                order += (1 + value, slots + len(constants))
            else:
                constants.append(f" {predicate} {value}{tail}")
        self.constants = tuple(constants)
        self.pick = itemgetter(*order)


class LineWriter:
    """N-Triples and N-Quads: one line a statement, nothing abbreviated."""

    between = ""

    def __init__(self, *, with_graphs: bool) -> None:
        self._with_graphs = with_graphs

    def start(self) -> str:
        """Nothing: lines have no preamble."""
        return ""

    def end(self) -> str:
        """Nothing."""
        return ""

    def graph(self, name: Term | None, blocks: Blocks, share: Share = WHOLE) -> Iterator[str]:
        """Pieces of some hundred blocks."""
        tail = f" {name} .\n" if self._with_graphs and name else " .\n"
        patterns: dict[Form, _Pattern] = {}
        piece: list[str] = []
        for subject, pairs in blocks:
            if type(pairs) is Filled:
                form = pairs.form
                pattern = patterns.get(form) or patterns.setdefault(form, _Pattern(form, tail))
                piece += pattern.pick((subject, *pairs.terms, *pattern.constants))
            else:
                piece += [f"{subject} {predicate} {value}{tail}" for predicate, value in pairs]
            if len(piece) > _PIECE:
                yield "".join(piece)
                piece.clear()
        yield "".join(piece)


def writer_for(format: Format, names: Namespaces) -> Writer:
    """A writer of the format that abbreviates by the dataset's prefixes."""
    match format:
        case Format.TURTLE:
            return turtle.TurtleWriter(names, with_graphs=False)
        case Format.TRIG:
            return turtle.TurtleWriter(names, with_graphs=True)
        case Format.JSONLD:
            return jsonld.JsonLdWriter(names)
        case Format.NTRIPLES | Format.NQUADS:
            return LineWriter(with_graphs=format is Format.NQUADS)
