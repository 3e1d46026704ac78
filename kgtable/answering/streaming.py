"""The answer's text out of a JSON reply while it is still arriving."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

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
