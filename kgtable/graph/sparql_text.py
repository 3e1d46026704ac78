"""SPARQL text: tokens, the order of selected variables, and values bound to variables."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, TypeAlias

import pyoxigraph as ox

from kgtable.errors import QueryError

if TYPE_CHECKING:
    import rdflib


_TOKEN = re.compile(
    r"""
    (?P<space>[ \t\r\n]+|\#[^\r\n]*)
  | (?P<iri><[^<>"{}|^`\x00-\x20]*>)
  | (?P<string>\"\"\"(?:[^"\\]|\\.|"(?!""))*\"\"\"
             | '''(?:[^'\\]|\\.|'(?!''))*'''
             | "(?:[^"\\\r\n]|\\.)*"
             | '(?:[^'\\\r\n]|\\.)*')
  | (?P<variable>[?$]\w+)
  | (?P<language>@[A-Za-z][A-Za-z0-9-]*)
  | (?P<name>[\w.\-]*:(?:[\w.:\-]|%[0-9A-Fa-f]{2}|\\.)*)
  | (?P<word>\w+)
  | (?P<sign>.)
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Token:
    """One piece of the text: its kind, the text itself and where it starts."""

    kind: str
    text: str
    start: int

    def is_word(self, *words: str) -> bool:
        """Whether the token is one of these keywords, in any case."""
        return self.kind == "word" and self.text.upper() in words


class AmbiguousTextError(ValueError):
    """The text can be read in two ways, one of which could hide a keyword."""


def tokens(text: str) -> Iterator[Token]:
    """The tokens of a query or update, without white space and comments.

    >>> [token.text for token in tokens("ASK { ?s a 'x # y' } # done")]
    ['ASK', '{', '?s', 'a', "'x # y'", '}']

    Raises `AmbiguousTextError` if ``<`` may open an IRI or compare with a quoted string.
    """
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or "sign"
        if kind == "space":
            continue
        if kind == "iri" and "'" in match.group():
            raise AmbiguousTextError("An IRI with an apostrophe can be read in two ways: write it as %27.")
        yield Token(kind, match.group(), match.start())


DEEPEST = 250
"""Maximum nesting of brackets in a query."""
MOST_PARTS = 1_500
"""Maximum joined patterns in a query; an operator counts as half of one."""

_JOINING = ("OPTIONAL", "MINUS", "UNION", "BIND", "FILTER", "GRAPH", "SERVICE", "EXISTS", "VALUES", "SELECT")
_OPERATORS = dict.fromkeys("+-*/!<>", 0.5) | dict.fromkeys("|&", 0.25)  # these come in pairs


class DeepTextError(ValueError):
    """The query is nested so deeply, or has so many parts, that the engine would run out of stack."""


def check_depth(query: str) -> None:
    """Raise `DeepTextError` for a query that would end the process: the engine works recursively.

    >>> check_depth("ASK { FILTER(" + "(" * 9_000 + "1" + ")" * 9_000 + ") }")
    Traceback (most recent call last):
    ...
    kgtable.graph.sparql_text.DeepTextError: The query is nested more than 250 levels deep.
    """
    if len(query) < 2 * MOST_PARTS and sum(map(query.count, "({[")) <= DEEPEST:
        return
    depth, parts = 0, 0.0
    for match in _TOKEN.finditer(query):
        kind, text = match.lastgroup, match.group()
        if kind == "word":
            parts += text.upper() in _JOINING
        elif kind == "sign":
            if text in "({[":
                depth += 1
                if depth > DEEPEST:
                    raise DeepTextError(f"The query is nested more than {DEEPEST} levels deep.")
            elif text in ")}]":
                depth -= 1
            elif text != "-" or not query[match.end() : match.end() + 1].isdigit():  # else a number's sign
                parts += _OPERATORS.get(text, 0)
        if parts > MOST_PARTS:
            raise DeepTextError(f"The query has more than {MOST_PARTS:,} joined patterns or operators.")


_STAR = re.compile(r"\bSELECT\s+(?:(?:DISTINCT|REDUCED)\s+)?\*", re.IGNORECASE)
_PROJECTED = ("SELECT", "DISTINCT", "REDUCED")


def spelt_out(query: str, variables: Sequence[str]) -> str | None:
    """The query with its ``SELECT *`` replaced by the `variables` in the order in which the query names them.

    None for a query without ``SELECT *``, or if they are in that order already.

    >>> spelt_out("SELECT * { ?town ?has ?fact }", ["fact", "has", "town"])
    'SELECT ?town ?has ?fact { ?town ?has ?fact }'
    """
    if not variables or "*" not in query or _STAR.search(query) is None:
        return None
    try:
        words = list(tokens(query))
    except AmbiguousTextError:
        return None
    first = next((place for place, word in enumerate(words) if word.is_word("SELECT")), None)
    if first is None or any(word.is_word("ASK", "CONSTRUCT", "DESCRIBE") for word in words[:first]):
        return None
    star = next(word for word in words[first:] if not word.is_word(*_PROJECTED))
    first_use: dict[str, int] = {}
    for place, word in enumerate(words):
        if word.kind == "variable":
            first_use.setdefault(word.text[1:], place)
    ordered = sorted(variables, key=lambda name: first_use.get(name, len(words)))
    if star.text != "*" or ordered == list(variables):
        return None
    names = " ".join(f"?{name}" for name in ordered)
    return f"{query[: star.start]}{names}{query[star.start + 1 :]}"


_WHOLE_VALUE = re.compile(r"(?:qudt:|<[^<>\s]*/qudt/)numericValue>?\s+[+-]?\d+(?![\w]|\.\w)")


def with_decimal_values(query: str) -> str:
    """The query with whole numbers after ``qudt:numericValue`` as decimals: a graph has no integers there.

    Terms match by their type, so that ``?cell qudt:numericValue 12`` would find nothing.

    >>> with_decimal_values("ASK { ?cell qudt:numericValue 12 ; qudt:hasUnit unit:KiloGM }")
    'ASK { ?cell qudt:numericValue 12.0 ; qudt:hasUnit unit:KiloGM }'
    """
    if _WHOLE_VALUE.search(query) is None:
        return query
    try:
        starts = {token.start for token in tokens(query) if token.kind in ("name", "iri")}
    except AmbiguousTextError:
        return query
    return _WHOLE_VALUE.sub(lambda found: found[0] + ".0" * (found.start() in starts), query)


BoundTerm: TypeAlias = ox.NamedNode | ox.BlankNode | ox.Literal
Bindable: TypeAlias = "BoundTerm | rdflib.URIRef | rdflib.Literal | str | bool | int | float | Decimal | date"

_XSD = "http://www.w3.org/2001/XMLSchema#"


def to_term(value: Bindable) -> BoundTerm:
    """The term a Python value stands for: a string is a plain literal, an `rdflib.URIRef` an IRI.

    Raises `QueryError` for a value that no term can be made from.

    >>> to_term("Earth")
    <Literal value=Earth datatype=<NamedNode value=http://www.w3.org/2001/XMLSchema#string>>
    """
    # A value can only be one of rdflib's where rdflib, slow to import, has been imported already.
    if "rdflib" in sys.modules and (term := _from_rdflib(value)) is not None:
        return term
    match value:
        case ox.NamedNode() | ox.BlankNode() | ox.Literal():
            return value
        case str() | bool() | int() | float():
            return ox.Literal(value)
        case Decimal():
            return _typed(f"{value:f}", "decimal")
        case datetime():
            return _typed(value.isoformat(), "dateTime")
        case date():
            return _typed(value.isoformat(), "date")
    raise QueryError(
        f"A {type(value).__name__} cannot be bound to a variable.",
        hint="Bind a text, a number, a date, a bool, or a term of rdflib or pyoxigraph.",
    )


def _from_rdflib(value: object) -> BoundTerm | None:
    import rdflib

    match value:
        case rdflib.URIRef():
            return ox.NamedNode(str(value))
        case rdflib.Literal():
            datatype = None if value.datatype is None else ox.NamedNode(str(value.datatype))
            return ox.Literal(str(value), datatype=datatype, language=value.language)
    return None


def _typed(text: str, datatype: str) -> ox.Literal:
    return ox.Literal(text, datatype=ox.NamedNode(_XSD + datatype))


_EMPTY = re.compile(r"(VALUES \((?:\?\w+ ?)+\) \{) \}")


def with_values(query: str, rows: Iterable[Iterable[str]]) -> str:
    """The query with the rows in its block ``VALUES (?a ?b) { }``, and the position of that block.

    Terms are written as in SPARQL.

    Raises `QueryError` if there is no such block.

    >>> with_values("VALUES (?s ?n) { }", [("<http://example.org/a>", "1")])
    'VALUES (?s ?n) { (<http://example.org/a> 1) }'
    """
    empty = _EMPTY.search(query)
    if empty is None:
        raise QueryError("The query has no empty block VALUES (?…) { }.")
    block = " ".join(f"({' '.join(row)})" for row in rows)
    return query.replace(empty[0], f"{empty[1]} {block} }}")


COMMON_PREFIXES = {
    "dbo": "http://dbpedia.org/ontology/",
    "dbr": "http://dbpedia.org/resource/",
    "dc": "http://purl.org/dc/elements/1.1/",
    "geo": "http://www.opengis.net/ont/geosparql#",
    "org": "http://www.w3.org/ns/org#",
    "schema": "https://schema.org/",
    "time": "http://www.w3.org/2006/time#",
    "vcard": "http://www.w3.org/2006/vcard/ns#",
    "wd": "http://www.wikidata.org/entity/",
    "wdt": "http://www.wikidata.org/prop/direct/",
}
"""Namespaces of common prefixes, shown in the error about an undeclared one."""


_PLACE = re.compile(r"error at (\d+):(\d+): (.*)", re.DOTALL)
_PREFIX = re.compile(r"[^\W\d][\w.-]*:")
QUERY_FORMS = ("SELECT", "ASK", "CONSTRUCT", "DESCRIBE")
_SHOWN = 30
_MOST_EXPECTED = 8


@dataclass(frozen=True, slots=True)
class SyntaxFault:
    """The error in a query: its place, counted from 1, and the undeclared prefix, if that is the cause."""

    line: int
    column: int
    message: str
    prefix: str = ""

    def one_line(self, query: str) -> str:
        """The fault with its place in the query, marked, in one line.

        >>> SyntaxFault(1, 10, "expected WHERE").one_line("SELECT * WERE { ?s ?p ?o }")
        'line 1, column 10, at "WERE { ?s ?p ?o }": expected WHERE'
        """
        lines = query.split("\n")
        rest = lines[self.line - 1][self.column - 1 :].strip() if self.line <= len(lines) else ""
        at = f'at "{rest[:_SHOWN]}{"…" * (len(rest) > _SHOWN)}"' if rest else "at the end of the line"
        return f"line {self.line}, column {self.column}, {at}: {self.message}"


def syntax_fault(error: SyntaxError, query: str) -> SyntaxFault | None:
    """The engine's syntax error in `query`, shortened for people; None if it names no place."""
    match = _PLACE.search(str(error))
    if match is None:
        return None
    if (start := _other_form(query)) is not None:
        before = query[:start]
        return SyntaxFault(before.count("\n") + 1, start - before.rfind("\n"), f"expected {', '.join(QUERY_FORMS)}")
    line, column = int(match[1]), int(match[2])
    name = _undeclared_prefix(query, line, column) if "Prefix not found" in match[3] else None
    if name is not None:
        column = query.split("\n")[line - 1][:column].rfind(f"{name}:") + 1 or column
        return SyntaxFault(line, column, f"the prefix {name}: is not declared", name)
    expected = [part.strip() for part in re.split(r",(?=\s)|\n", match[3].removeprefix("expected one of "))]
    readable = [part for part in expected if part and "[" not in part and "'\\u" not in part]
    if len(readable) == 1:
        return SyntaxFault(line, column, readable[0] if " " in readable[0] else f"expected {readable[0]}")
    more = " and others" if len(readable) > _MOST_EXPECTED else ""
    told = f"expected one of {', '.join(readable[:_MOST_EXPECTED])}{more}" if readable else "this is not expected here"
    return SyntaxFault(line, column, told)


def _other_form(query: str) -> int | None:
    """Where a query begins that is not of a form that queries have; None if it is of one."""
    try:
        words = (token for token in tokens(query) if token.kind == "word" and not token.is_word("PREFIX", "BASE"))
        first = next(words, None)
    except AmbiguousTextError:
        return None
    return first.start if first is not None and not first.is_word(*QUERY_FORMS) else None


def _undeclared_prefix(query: str, line: int, column: int) -> str | None:
    """The prefix at or before a place of a query, such as ``foaf``; None without one."""
    lines = query.split("\n")
    if not 0 < line <= len(lines):
        return None
    before = [match for match in _PREFIX.finditer(lines[line - 1]) if match.start() < column]
    return before[-1][0][:-1] if before else None
