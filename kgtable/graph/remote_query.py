"""A query as it is sent to a remote engine: prefixes declared, values bound.

The SPARQL 1.1 Protocol has no arguments for values, so they go into the text as a ``VALUES`` block at
the start of the outermost group pattern: there they join with everything in the group, filters and
aggregates included, which a ``VALUES`` clause after the query does not (SPARQL 1.1, section 18.2.4.3).
Like the substitutions of the embedded engine they do not reach a variable that a subquery keeps to
itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import pyoxigraph as ox

from kgtable.errors import QueryError
from kgtable.graph.binding import Bindable, to_term
from kgtable.graph.sparql_tokens import AmbiguousTextError, Token, tokens

_FORMS = ("SELECT", "ASK", "CONSTRUCT", "DESCRIBE")
_VARIABLE = re.compile(r"\w+")
_OPENING, _CLOSING = frozenset("{(["), frozenset("})]")


@dataclass(frozen=True)
class RemoteQuery:
    """The text to send, its form (``SELECT``, ``ASK``, …), and whether it names its dataset itself."""

    text: str
    form: str
    names_dataset: bool

    @property
    def gives_triples(self) -> bool:
        """Whether the result is a graph."""
        return self.form in ("CONSTRUCT", "DESCRIBE")


def prepare(text: str, bindings: Mapping[str, Bindable], prefixes: Mapping[str, str]) -> RemoteQuery:
    """The query with `bindings` as a VALUES block and the `prefixes` it uses declared.

    >>> prepare("ASK { ?s rdfs:label ?n }", {"n": "x"}, {"rdfs": "http://r#"}).text
    'PREFIX rdfs: <http://r#> ASK { VALUES (?n) {("x")} ?s rdfs:label ?n }'

    Raises `QueryError` for a text that is no query, or a value that cannot be bound.
    """
    try:
        words = list(tokens(text))
    except AmbiguousTextError as error:
        raise QueryError(f"The query cannot be parsed: {error}") from error
    place = next((place for place, word in enumerate(words) if word.is_word(*_FORMS)), None)
    if place is None:
        raise QueryError("The query cannot be parsed: it is no SELECT, ASK, CONSTRUCT or DESCRIBE.")
    names_dataset = any(word.is_word("FROM") for word in words[place:])
    declared = {after.text for word, after in pairwise(words) if word.is_word("PREFIX")}
    used = {word.text.partition(":")[0] for word in words if word.kind == "name"}
    head = "".join(
        f"PREFIX {name}: <{namespace}> "
        for name, namespace in prefixes.items()
        if name in used and f"{name}:" not in declared
    )
    form = words[place].text.upper()
    return RemoteQuery(head + _bound(text, words[place:], bindings), form, names_dataset)


def _bound(text: str, words: list[Token], bindings: Mapping[str, Bindable]) -> str:
    if not bindings:
        return text
    values = values_block(bindings)
    group = _outer_group(words)
    if group is None:
        return f"{text}\n{values}"
    opening, after, closing = group
    start = opening.start + 1
    if after.is_word("SELECT"):
        inner, end = text[start : closing.start], text[closing.start :]
        return f"{text[:start]} {values} {{{inner}}} {end}"
    return f"{text[:start]} {values}{text[start:]}"


def _outer_group(words: list[Token]) -> tuple[Token, Token, Token] | None:
    """The brace that opens the WHERE pattern, the token after it, and the brace that closes it."""
    if words[0].is_word("CONSTRUCT") and not (len(words) > 1 and words[1].text == "{"):
        return None  # the short form, whose pattern is the template: it takes triples only
    groups: list[tuple[Token, Token, Token]] = []
    opened: list[int] = []
    for place, word in enumerate(words):
        if word.kind == "sign" and word.text in _OPENING:
            opened.append(place)
        elif word.kind == "sign" and word.text in _CLOSING and opened:
            begin = opened.pop()
            if not opened and word.text == "}":
                groups.append((words[begin], words[begin + 1], word))
    wanted = 1 if words[0].is_word("CONSTRUCT") else 0
    return groups[wanted] if len(groups) > wanted else None


def values_block(bindings: Mapping[str, Bindable]) -> str:
    """``VALUES (?a ?b) {(term term)}`` for the bindings; raises `QueryError` for what it cannot hold."""
    for name in bindings:
        if _VARIABLE.fullmatch(name) is None:
            raise QueryError(f"{name!r} is not the name of a variable.")
    names = " ".join(f"?{name}" for name in bindings)
    return f"VALUES ({names}) {{({' '.join(map(_written, bindings.values()))})}}"


def _written(value: Bindable) -> str:
    term = to_term(value)
    if isinstance(term, ox.BlankNode):
        raise QueryError("A blank node cannot be bound in a query to a remote engine.", hint="Bind an IRI.")
    # Some engines decode \uXXXX in the whole text before they read strings, so that the two
    # characters of an escaped backslash and the u after it must not look like such a sequence.
    return re.sub(r"(?<=\\\\)([uU])", lambda match: f"\\u{ord(match[1]):04X}", str(term))
