"""A model's reply: the JSON object it was asked for, or free text, whole or still arriving."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kgtable.answering.evidence import CELL_ID

_START = re.compile(r'"answer"\s*:\s*"')
_UNFINISHED = re.compile(
    r"\\(?:u[0-9a-fA-F]{0,3})?$|\\u[dD][89abAB][0-9a-fA-F]{2}(?:\\(?:u[0-9a-fA-F]{0,3})?)?$"
)
_END = re.compile(r'(?<!\\)(?:\\\\)*"')


class AnswerStream:
    r"""Takes the pieces of a JSON reply and passes on the value of its first ``answer`` field.

    >>> said = []
    >>> stream = AnswerStream(said.append)
    >>> for piece in ('{"found": true, "ans', 'wer": "12 ', 'mil', 'lion\\n", "x": 1}'):
    ...     stream(piece)
    >>> said
    ['12 ', 'mil', 'lion\n']
    """

    def __init__(self, on_text: Callable[[str], None]) -> None:
        self._on_text = on_text
        self._text = ""
        self._start: int | None = None
        self._told = 0
        self._done = False

    def __call__(self, piece: str) -> None:
        self._text += piece
        if self._done:
            return
        if self._start is None:
            match = _START.search(self._text)
            if match is None:
                return
            self._start = match.end()
        raw = self._text[self._start :]
        end = _END.search(raw)
        if end is not None:
            raw, self._done = raw[: end.end() - 1], True
        else:
            raw = _UNFINISHED.sub("", raw)
        try:
            text = json.loads(f'"{raw}"', strict=False)
        except ValueError:
            return
        if len(text) > self._told:
            self._on_text(text[self._told :])
            self._told = len(text)


_BRACKETED = re.compile(rf"\s*[\[(](?:{CELL_ID.pattern}[\s,;and]*)+[\])]")
_CALCULATION = re.compile(r"^\W*calculation\W*:[\s*]*(.+)$", re.IGNORECASE | re.MULTILINE)
_NOT_FOUND = re.compile(r"\bnot\s+found\b", re.IGNORECASE)
_THOUGHT = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Draft:
    """What a model says, unchecked. `citations` are cell ids as it wrote them."""

    text: str
    citations: tuple[str, ...] = ()
    calculation: str | None = None
    found: bool = True
    reasoning: str = ""
    alternatives: tuple[tuple[str, tuple[str, ...]], ...] = ()


def draft_from_object(data: Mapping[str, Any]) -> Draft:
    """The draft in an object that fits `prompting.REPLY_SCHEMA`."""
    alternatives = tuple(
        (item["answer"].strip(), _unique(item["citations"]))
        for item in data["alternatives"]
        if item["answer"].strip()
    )
    text = data["answer"].strip()
    calculation = (data["calculation"] or "").strip()
    return Draft(
        text,
        _unique(data["citations"]),
        calculation if calculation.lower() not in ("", "null", "none", "n/a") else None,
        bool(data["found"] and text),
        data["reasoning"].strip(),
        alternatives,
    )


def draft_from_text(text: str) -> Draft:
    """The draft in a free reply: answer, ids in brackets, perhaps a line with the calculation.

    >>> draft = draft_from_text("Norway [T1.r3.c0, T1.r3.c2]")
    >>> draft.text, draft.citations
    ('Norway', ('T1.r3.c0', 'T1.r3.c2'))
    """
    said = _THOUGHT.sub("", text).strip()
    calculation = _CALCULATION.search(said)
    answer = _CALCULATION.sub("", said)
    answer = _BRACKETED.sub("", answer)
    answer = " ".join(CELL_ID.sub("", answer).replace("[]", "").split())
    return Draft(
        answer.strip(" []"),
        _unique(CELL_ID.findall(said)),
        calculation.group(1).strip() if calculation else None,
        bool(answer) and not _NOT_FOUND.search(answer[:60]),
    )


def _unique(ids: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(str(found).strip().strip("[]") for found in ids if str(found).strip()))
