"""Long results of CONSTRUCT in flat memory: the solutions of the pattern, put into the template one by one.

The engine keeps every triple of a CONSTRUCT in memory, to leave out those that it made before (SPARQL 1.1 Query,
section 16.2). Here the same pattern is evaluated as a SELECT, and only triples made lately are left out: a long
result may name a triple twice, which as a set of triples is the same graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import pyoxigraph as ox

from kgtable.graph.sparql_text import AmbiguousTextError, Token, tokens

Evaluate: TypeAlias = Callable[[str], Any]
Slot: TypeAlias = int | ox.NamedNode | ox.Literal
"""A place in the template: the number of a variable, or a term."""

LATELY = 1 << 13
"""Triples that are remembered, in some megabytes of memory."""
_MARK = "urn:kgtable-variable:"


def triples_of(query: str, evaluate: Evaluate) -> Iterator[ox.Triple] | None:
    """The triples of a CONSTRUCT as they are found, or None where the query cannot be taken apart.

    That is where the template makes blank nodes or holds triples within triples, or has no variable.
    """
    try:
        parts = _parts(query)
        if parts is None:
            return None
        prologue, template, rest = parts
        names = list(dict.fromkeys(t.text[1:] for t in tokens(template) if t.kind == "variable"))
        if not names or _MARK in query:
            return None
        pattern = _template(prologue, template, names, evaluate)
        if pattern is None:
            return None
        solutions = evaluate(f"{prologue}SELECT {' '.join(f'?{name}' for name in names)} {rest}")
    except (AmbiguousTextError, SyntaxError, ValueError):
        return None
    if not isinstance(solutions, ox.QuerySolutions):
        return None
    return _filled(solutions, pattern)


def _parts(query: str) -> tuple[str, str, str] | None:
    """The text before CONSTRUCT, the template with its braces, and what follows it."""
    words = list(tokens(query))
    start = next((n for n, token in enumerate(words) if token.is_word("CONSTRUCT")), None)
    if start is None or start + 2 >= len(words):
        return None
    short = words[start + 1].is_word("WHERE")  # CONSTRUCT WHERE: the pattern is the template
    opened = start + 2 if short else start + 1
    end = _closing(words, opened)
    if end is None:
        return None
    template = query[words[opened].start : words[end].start + 1]
    rest = query[words[start + 1].start :] if short else query[words[end].start + 1 :]
    return query[: words[start].start], template, rest


def _closing(words: list[Token], opened: int) -> int | None:
    """The place of the brace that closes the one at `opened`."""
    if words[opened].text != "{" or words[opened].kind != "sign":
        return None
    depth = 0
    for place in range(opened, len(words)):
        if words[place].kind == "sign":
            depth += {"{": 1, "}": -1}.get(words[place].text, 0)
            if not depth:
                return place
    return None


def _template(
    prologue: str, template: str, names: list[str], evaluate: Evaluate
) -> list[tuple[Slot, Slot, Slot]] | None:
    """The triples of the template, which the engine reads: each variable has a mark for its value."""
    marks = " ".join(f"<{_MARK}{number}>" for number in range(len(names)))
    values = f"VALUES ({' '.join(f'?{name}' for name in names)}) {{ ({marks}) }}"
    found = evaluate(f"{prologue}CONSTRUCT {template} WHERE {{ {values} }}")
    pattern = [(_slot(triple.subject), _slot(triple.predicate), _slot(triple.object)) for triple in found]
    if not pattern or any(slot is None for slots in pattern for slot in slots):
        return None
    return pattern  # type: ignore[return-value]


def _slot(term: Any) -> Slot | None:
    if isinstance(term, ox.NamedNode) and term.value.startswith(_MARK):
        return int(term.value.removeprefix(_MARK))
    return term if isinstance(term, ox.NamedNode | ox.Literal) else None


def _filled(solutions: ox.QuerySolutions, pattern: list[tuple[Slot, Slot, Slot]]) -> Iterator[ox.Triple]:
    lately: set[ox.Triple] = set()
    for solution in solutions:
        for slots in pattern:
            terms = [solution[slot] if isinstance(slot, int) else slot for slot in slots]
            try:
                triple = ox.Triple(*terms)  # type: ignore[arg-type]
            except TypeError:  # a variable without a value, or a term that may not stand there
                continue
            if triple not in lately:
                if len(lately) >= LATELY:
                    lately.clear()
                lately.add(triple)
                yield triple
