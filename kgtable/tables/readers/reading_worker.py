"""The separate process that reads files for `apart`: it takes orders and returns tables as lines.

It answers each order with an empty line as soon as it has it. For ``tables`` it sends each table's head, its
rows in batches and ``null``, then ``null`` and the text of the file; for ``rows`` a batch each time it is
asked. An error is a line that begins with ``!``. Its memory and its processor time are bounded again for each file.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
from collections.abc import Iterable, Iterator
from typing import IO, Any

from kgtable.errors import KgtableError, TableError, UnreadableTableError
from kgtable.tables.limits import RESIDENT, ReadLimits, faults_of, memory_in_use, this_process
from kgtable.tables.loader import reader_of
from kgtable.tables.model import Row
from kgtable.tables.readers.apart import error_line, file_of, grid_head, text_message

IDLE_SECONDS = 20.0
"""How long the process waits for another order before it ends."""
CELLS_A_LINE = 8_192
MOST_KEPT = 512 << 20
"""Memory above which the process ends after an order, so that the next one starts small."""

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def main() -> None:
    """Serve orders until none arrives for a while, or the process that sends them has ended."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # nothing that a library prints gets among the lines
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    this_process.is_bounded = True
    lines: queue.Queue[bytes] = queue.Queue()
    threading.Thread(target=_receive, args=(lines,), daemon=True).start()
    while True:
        try:
            line = lines.get(timeout=IDLE_SECONDS)
        except queue.Empty:
            os._exit(0)
        order = json.loads(line)
        out.write(b"\n")
        out.flush()
        try:
            _perform(order, lines, out)
        except TableError as error:
            out.write(error_line(error))
        out.flush()
        if memory_in_use(RESIDENT) > MOST_KEPT:
            os._exit(0)


def _receive(lines: queue.Queue[bytes]) -> None:
    for line in sys.stdin.buffer:
        lines.put(line)
    os._exit(0)


def _perform(order: dict[str, Any], lines: queue.Queue[bytes], out: IO[bytes]) -> None:
    file, limits = file_of(order), ReadLimits(**order["limits"])
    with faults_of(file):
        read = reader_of(file)
        this_process.bound(limits.max_memory, order["seconds"])
        if order["what"] == "rows":
            from kgtable.tables.readers.parquet import ColumnarRows

            for batch in _batches(ColumnarRows(file)):
                out.write(_line(batch))
                out.flush()
                if lines.get() == b"0\n":
                    return
            out.write(b"null\n")
            return
        try:
            content = read(file, limits)
            for grid in content.grids:
                out.write(_line(grid_head(grid)))
                if isinstance(grid.rows, tuple):
                    for batch in _batches(grid.rows):
                        out.write(_line(batch))
                    out.write(b"null\n")
            out.write(b"null\n")
            out.write(_line(text_message(content)))
        except TableError:
            raise
        except KgtableError as error:
            raise UnreadableTableError(error.message, path=file.relative, hint=error.hint) from error


def _line(value: object) -> bytes:
    return _encode(value).encode("utf-8", "surrogatepass") + b"\n"


def _batches(rows: Iterable[Row]) -> Iterator[list[Row]]:
    batch: list[Row] = []
    cells = 0
    for row in rows:
        batch.append(row)
        cells += len(row) + 1
        if cells >= CELLS_A_LINE:
            yield batch
            batch, cells = [], 0
    if batch:
        yield batch


if __name__ == "__main__":
    main()
