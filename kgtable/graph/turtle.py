"""Turtle and TriG for people: prefixes, one block a subject, relative IRIs within each table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from kgtable.graph.blocks import WHOLE, Blocks, Pair, Share
from kgtable.graph.terms import RDF_TYPE, XSD, Namespaces, Term

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
_MOST_REMEMBERED = 20_000


class TurtleWriter:
    """Writes graphs as Turtle (all in one graph) or TriG (each in its own).

    Each named graph is given a ``@base`` of its own, so that ``<row/3>`` and ``<cell/3/1>`` are short.
    """

    between = ""

    def __init__(self, names: Namespaces, *, with_graphs: bool) -> None:
        self._prefixes = {iri: prefix for prefix, iri in names.prefixes.items()}
        self._with_graphs = with_graphs
        self._base = ""
        self._remembered: dict[Term, str] = {}

    def start(self) -> str:
        """The prefixes."""
        return "".join(f"@prefix {prefix}: <{iri}> .\n" for iri, prefix in self._prefixes.items())

    def end(self) -> str:
        """Nothing."""
        return ""

    def graph(self, name: Term | None, blocks: Blocks, share: Share = WHOLE) -> Iterator[str]:
        """One piece a block."""
        self._base = ""
        if name is not None:
            self._base = name[1:-1] + "/"
            if share.is_first:
                yield f"\n@base <{self._base}> .\n"
        enclosed = self._with_graphs and name is not None
        if enclosed and share.is_first:
            yield f"\n{name} {{\n"
        for subject, pairs in blocks:
            yield self._block(subject, pairs)
        if enclosed and share.is_last:
            yield "}\n"

    def _block(self, subject: Term, pairs: Iterable[Pair]) -> str:
        lines: list[str] = []
        previous = None
        for predicate, value in pairs:
            if predicate == previous:
                lines[-1] += f", {self.short(value)}"
            else:
                verb = "a" if predicate == RDF_TYPE else self.short(predicate)
                lines.append(f"{verb} {self.short(value)}")
            previous = predicate
        return f"\n{self.short(subject)} " + " ;\n    ".join(lines) + " .\n"

    def short(self, term: Term) -> str:
        """The shortest way to write a term here."""
        if term[0] == "<":
            if self._base and term.startswith(self._base, 1) and _PLACE.fullmatch(term, 1 + len(self._base)):
                return f"<{term[1 + len(self._base) :]}"
            return self._remembered.get(term) or self._remember(term, self._abbreviate(term))
        if term[-1] == '"':
            return term
        return self._short_literal(term)

    def _remember(self, term: Term, short: str) -> str:
        if len(self._remembered) > _MOST_REMEMBERED:
            self._remembered.clear()
        self._remembered[term] = short
        return short

    def _abbreviate(self, term: Term) -> str:
        parts = _IRI_PARTS.fullmatch(term)
        if parts is None:
            return term
        prefix = self._prefixes.get(parts[1])
        if prefix is None or not _LOCAL_NAME.fullmatch(parts[2]):
            return term
        return f"{prefix}:{parts[2]}"

    def _short_literal(self, term: Term) -> str:
        match = _TYPED.fullmatch(term)
        if match is None:
            return term
        bare = _BARE.get(match[2])
        if bare is not None and bare.fullmatch(match[1], 1, len(match[1]) - 1):
            return match[1][1:-1]
        return f"{match[1]}^^{self.short(match[2])}"
