"""Settings that Python keeps for the whole process, changed for a while and restored."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

_Value = TypeVar("_Value")


class ProcessSetting(Generic[_Value]):
    """A setting of the process, given by how it is read and written.

    Blocks that change it may overlap, in one thread or several: the first to begin notes the value
    it finds, the last to end puts it back.
    """

    def __init__(self, read: Callable[[], _Value], write: Callable[[_Value], object]) -> None:
        self._read, self._write = read, write
        # Re-entrant: the garbage collector may end a forgotten generator's block within this lock.
        self._lock = threading.RLock()
        self._blocks = 0
        self._before: _Value | None = None

    @contextmanager
    def changed(self, change: Callable[[_Value], _Value]) -> Iterator[None]:
        """Change the setting while the block lasts; within another block it is changed already."""
        with self._lock:
            self._blocks += 1
            if self._blocks == 1:
                self._before = self._read()
                self._write(change(self._before))
        try:
            yield
        finally:
            with self._lock:
                self._blocks -= 1
                if not self._blocks:
                    assert self._before is not None
                    self._write(self._before)
