"""Recent answers, kept while the graph they came from is the current one."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass

ENTRY_LIMIT = 256 * 1024
"""Longer answers are not kept."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A response that can be given again: its content type, encoding and bytes."""

    content_type: bytes
    encoding: bytes | None
    body: bytes


class AnswerCache:
    """The answers used last, up to a number of bytes in all; nothing survives a new version."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._size = 0
        self._version: str | None = None
        self._answers: OrderedDict[Hashable, Answer] = OrderedDict()

    def __len__(self) -> int:
        return len(self._answers)

    def get(self, version: str, key: Hashable) -> Answer | None:
        """The answer given to the same request on the same version of the graph."""
        if version != self._version:
            return None
        answer = self._answers.get(key)
        if answer is not None:
            self._answers.move_to_end(key)
        return answer

    def put(self, version: str, key: Hashable, answer: Answer) -> None:
        """Keeps an answer, and lets go of the ones used longest ago."""
        if len(answer.body) > ENTRY_LIMIT or not self._capacity:
            return
        if version != self._version:
            self._answers.clear()
            self._size, self._version = 0, version
        old = self._answers.pop(key, None)
        self._size += len(answer.body) - (len(old.body) if old else 0)
        self._answers[key] = answer
        while self._size > self._capacity:
            _, dropped = self._answers.popitem(last=False)
            self._size -= len(dropped.body)
