"""The tokens of a calculation as people and models write it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kgtable.answering.evidence import CELL_ID

_TOKEN = re.compile(
    rf"\s*(?:(?P<cell>{CELL_ID.pattern})|(?P<number>\d+(?:,\d+)*\.?\d*|\.\d+)|(?P<word>[A-Za-z]+)"
    r"|(?P<sign>\*\*|<=|>=|==|!=|[-+*/^(),<>;]))"
)
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d*)?")
_NORMAL = str.maketrans({"×": "*", "·": "*", "÷": "/", "−": "-", "–": "-", "[": " ", "]": " ", "%": " "})
_CURRENCY = re.compile(r"[$€£¥]")


class CalculationFault(ValueError):
    """A calculation that cannot be read or has no result; the text says why."""


def read_tokens(expression: str) -> list[tuple[str, str]]:
    """Kind (``cell``, ``number``, ``word``, ``sign``) and text of each token.

    Raises `CalculationFault` at the first text that is none.

    >>> read_tokens("1,200 × T1.r2.c3")
    [('number', '1200'), ('sign', '*'), ('cell', 'T1.r2.c3')]
    """
    text = _CURRENCY.sub("", expression.translate(_NORMAL)).strip()
    tokens: list[tuple[str, str]] = []
    position = 0
    spaced = ", " in text
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise CalculationFault(f"{text[position : position + 20].strip()!r} is not arithmetic")
        kind = str(match.lastgroup)
        found = match.group(kind)
        position = match.end()
        if kind == "number" and "," in found:
            tokens.extend(_with_commas(found, in_call=not spaced and _inside_call(tokens)))
        else:
            tokens.append((kind, found))
    return tokens


def _with_commas(found: str, *, in_call: bool) -> list[tuple[str, str]]:
    """``1,234`` as one number; as several where the commas separate arguments."""
    if _THOUSANDS.fullmatch(found) and not in_call:
        return [("number", found.replace(",", ""))]
    return [("sign" if piece == "," else "number", piece) for piece in re.split(r"(,)", found) if piece]


def _inside_call(tokens: Sequence[tuple[str, str]]) -> bool:
    """Whether the innermost open bracket is a function's."""
    calls: list[bool] = []
    for place, (_, text) in enumerate(tokens):
        if text == "(":
            calls.append(place > 0 and tokens[place - 1][0] == "word")
        elif text == ")" and calls:
            calls.pop()
    return bool(calls) and calls[-1]
