"""How long the stages of a build take."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

_Item = TypeVar("_Item")


class Stopwatch:
    """Seconds by the name of a stage; a stage within another is counted for itself alone."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._running: list[str] = []
        self._since = time.perf_counter()

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Counts the block to the stage."""
        self._lap()
        self._running.append(name)
        self.seconds.setdefault(name, 0.0)
        try:
            yield
        finally:
            self._lap()
            self._running.pop()

    def waiting(self, name: str, items: Iterable[_Item]) -> Iterator[_Item]:
        """The items, the time it takes to get each counted to the stage."""
        iterator = iter(items)
        while True:
            with self.stage(name):
                try:
                    item = next(iterator)
                except StopIteration:
                    return
            yield item

    def _lap(self) -> None:
        now = time.perf_counter()
        if self._running:
            self.seconds[self._running[-1]] += now - self._since
        self._since = now
