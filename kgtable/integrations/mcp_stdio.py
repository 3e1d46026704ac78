"""Standard input of `kgtable mcp` with bounds: long messages are skipped, and who reads no results is not heard."""

from __future__ import annotations

import io
import os
import select
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from kgtable.errors import UsageError

CHUNK = 1 << 16


class BoundedLines(io.BufferedIOBase):
    """The lines of a descriptor; what a line has beyond `most` bytes is thrown away.

    Such a line is no longer valid JSON, so that it is skipped like other invalid lines. Nothing is read while
    `results`, a descriptor that the answers are written to, takes nothing: else they would pile up.
    """

    def __init__(self, source: int, results: int, most: int) -> None:
        self._source, self._results, self._most = source, results, most
        self._length = 0

    def readable(self) -> bool:
        """See `io.IOBase.readable`."""
        return True

    def read1(self, size: int = -1) -> bytes:
        """At most `size` bytes of what comes next, empty at the end."""
        taken = select.poll()  # `select.select` refuses descriptors above 1,023
        taken.register(self._results, select.POLLOUT)
        while True:
            taken.poll()
            content = os.read(self._source, CHUNK if size < 0 else min(size, CHUNK))
            kept = self._kept(content)
            if kept or not content:
                return kept

    def _kept(self, content: bytes) -> bytes:
        """The bytes of a piece that lie within the bound of their lines."""
        kept, lines = [], content.split(b"\n")
        for number, line in enumerate(lines):
            is_last = number == len(lines) - 1
            room = max(self._most - self._length, 0)
            kept.append(line[:room] if is_last else line[:room] + b"\n")
            if self._length <= self._most < self._length + len(line):
                sys.stderr.write(f"A message of more than {self._most:,} bytes was passed over.\n")
            self._length = self._length + len(line) if is_last else 0
        return b"".join(kept)


@contextmanager
def bounded_input(most: int) -> Iterator[None]:
    """Let ``sys.stdin`` be `BoundedLines` for as long as the block lasts. Raises `UsageError` if it is closed."""
    stdin: TextIO | None = sys.stdin
    if stdin is None or sys.stdout is None:
        raise UsageError(
            "The client is spoken to on standard input and output, and one of them is closed.",
            hint="Let an assistant start the command, or serve with --http.",
        )
    source, results = os.dup(stdin.fileno()), os.dup(sys.stdout.fileno())
    try:
        sys.stdin = io.TextIOWrapper(BoundedLines(source, results, most), encoding="utf-8")
        yield
    finally:
        sys.stdin = stdin
        os.close(source)
        os.close(results)
