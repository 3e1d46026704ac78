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
_NOT_FOUND = re.compile(r"\bnot\s+found\b", re.IGNORECASE)
_THOUGHT = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)

LONGEST_ANSWER = 4_000
"""Characters of an answer that are kept."""

LONGEST_REASONING = 4_000

MOST_CITED = 200
"""Cells that a reply may cite."""

MOST_ALTERNATIVES = 10


@dataclass(frozen=True, slots=True)
class DraftAlternative:
    """What a model says of another table: an answer, and the program or the cells it comes from."""

    text: str
    program: Any = None
    citations: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Draft:
    """What a model says, unchecked: `program` is whatever stood in its place, `citations` are cell ids."""

    text: str
    citations: tuple[str, ...] = ()
    program: Any = None
    found: bool = True
    reasoning: str = ""
    alternatives: tuple[DraftAlternative, ...] = ()

    @property
    def too_long(self) -> bool:
        """Whether the answer was cut."""
        return len(self.text) > LONGEST_ANSWER


def draft_from_object(data: Mapping[str, Any]) -> Draft:
    """The draft in an object that fits `prompting.REPLY_SCHEMA`."""
    alternatives = tuple(
        DraftAlternative(_cut(item["answer"]), item["program"], _unique(item["citations"]))
        for item in data["alternatives"][:MOST_ALTERNATIVES]
        if item["answer"].strip()
    )
    text = _cut(data["answer"])
    return Draft(
        text,
        _unique(data["citations"]),
        data["program"],
        bool(data["found"] and text),
        _cut(data["reasoning"], LONGEST_REASONING),
        alternatives,
    )


def draft_from_text(text: str) -> Draft:
    """The draft in a free reply: the answer, and the ids of its cells in brackets.

    >>> draft = draft_from_text("Norway [T1.r3.c0, T1.r3.c2]")
    >>> draft.text, draft.citations
    ('Norway', ('T1.r3.c0', 'T1.r3.c2'))
    """
    said = _THOUGHT.sub("", text).strip()
    answer = _BRACKETED.sub("", said)
    answer = " ".join(CELL_ID.sub("", answer).replace("[]", "").split())
    return Draft(
        _cut(answer.strip(" []")),
        _unique(CELL_ID.findall(said)),
        found=bool(answer) and not _NOT_FOUND.search(answer[:60]),
    )


def _cut(text: str, longest: int = LONGEST_ANSWER) -> str:
    plain = text.strip()
    return plain if len(plain) <= longest else f"{plain[:longest]}…"


def _unique(ids: list[str]) -> tuple[str, ...]:
    found = dict.fromkeys(str(id).strip().strip("[]")[:40] for id in ids if str(id).strip())
    return tuple(found)[:MOST_CITED]
