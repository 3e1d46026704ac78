"""Reading files in a separate process: a file that crashes or hangs a library ends that process, not this one.

The libraries that read workbooks, pages and columnar files are native code: a damaged or hostile file can make
them ask for any amount of memory, loop, or crash. The process that runs them has bounds of memory and processor
time (`ReadLimits`); what it sends is counted while it arrives. It serves one file after another, since it takes
half a second to start, and ends when it is idle for a while. See `reading_worker` for its side.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, astuple, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from kgtable.errors import EmptyTableError, NoTableError, TableError, UnavailableTableError, UnreadableTableError
from kgtable.processes import ChildProcess, ProcessEndedError
from kgtable.resources import PACKAGE
from kgtable.tables.discovery import Apart, TableFile
from kgtable.tables.limits import ReadLimits
from kgtable.tables.model import Area, Context, Grid, Notice, ReadContent, Row, Source
from kgtable.text.passages import DocumentText, Paragraph, TextPlace

_HINT = "Get a complete copy, or save it as CSV."
_KINDS = {kind.__name__: kind for kind in (UnavailableTableError, UnreadableTableError, EmptyTableError, NoTableError)}


def is_read_apart(file: TableFile, limits: ReadLimits) -> bool:
    """Whether a file is read in another process: packed kinds always, pages and documents if large."""
    if file.format.apart is Apart.ALWAYS:
        return True
    try:
        return file.format.apart is Apart.LARGE and file.path.stat().st_size > limits.apart_above
    except OSError:
        return False


def read_apart(file: TableFile, limits: ReadLimits) -> ReadContent:
    """The tables and the text of a file, as returned by its reader, read in another process.

    Raises `TableError` as the reader does, and where the file asks for more than the limits.
    """
    process = _started(file, limits, "tables")
    grids: list[Grid] = []
    done = False
    try:
        budget = _Budget(file, limits)
        while (head := process.message(budget)) is not None:
            rows: Sequence[Row] | RowsApart = RowsApart(file, limits, head["rows"])
            if not head["streamed"]:
                held: list[Row] = []
                while (batch := process.message(budget)) is not None:
                    budget.spend_cells(sum(map(len, batch)))
                    held.extend(map(tuple, batch))
                rows = tuple(held)
            grids.append(_grid(head, rows))
        text = process.message(budget)
        done = True
    finally:
        process.release(done=done)
    paragraphs = tuple(Paragraph(*fields) for fields in text["paragraphs"])
    places = tuple(TextPlace(*fields) for fields in text["tables"])
    return ReadContent(
        tuple(grids),
        DocumentText(paragraphs, places, text["title"], text["pages"]),
        tuple(Notice(**notice) for notice in text["notices"]),
    )


def text_message(content: ReadContent) -> dict[str, Any]:
    """The text of a file and the notices that belong to none of its tables, as JSON values."""
    return {
        "paragraphs": [astuple(paragraph) for paragraph in content.text.paragraphs],
        "tables": [astuple(place) for place in content.text.tables],
        "title": content.text.title,
        "pages": content.text.pages,
        "notices": [asdict(notice) for notice in content.notices],
    }


@dataclass(frozen=True, slots=True)
class RowsApart:
    """The rows of a columnar file, read again on each walk in another process, a batch at a time."""

    file: TableFile
    limits: ReadLimits
    count: int

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[Row]:
        process = _started(self.file, self.limits, "rows")
        done = False
        try:
            while (batch := process.message(_Budget(self.file, self.limits))) is not None:
                try:
                    yield from map(tuple, batch)
                except GeneratorExit:
                    done = process.stop()
                    raise
                process.ask_for_more()
            done = True
        finally:
            process.release(done=done)


class _Budget:
    """What a file may still send."""

    def __init__(self, file: TableFile, limits: ReadLimits) -> None:
        self.file, self.limits = file, limits
        self._cells, self._bytes = limits.max_cells, limits.max_unpacked

    def spend_cells(self, count: int) -> None:
        """Raises `UnreadableTableError` if there are too many cells."""
        self._cells -= count
        if self._cells < 0:
            raise self._refusal(f"it has more than {self.limits.max_cells:,} cells.")

    def spend_bytes(self, count: int) -> None:
        """Raises `UnreadableTableError` if there are too many bytes."""
        self._bytes -= count
        if self._bytes < 0:
            raise self._refusal(f"its values take more than {self.limits.max_unpacked:,} bytes.")

    def _refusal(self, message: str) -> UnreadableTableError:
        return UnreadableTableError(message, path=self.file.relative, hint="Split it, or save it as CSV.")


class _ReadingProcess:
    """One process that reads, for one file at a time."""

    def __init__(self) -> None:
        paths = filter(None, (str(PACKAGE.parent), os.environ.get("PYTHONPATH")))
        command = [sys.executable, "-P", "-m", "kgtable.tables.readers.reading_worker"]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        self.child = ChildProcess(command, environment, folder=None, silent=True)
        self._file: TableFile | None = None
        self._seconds = self._longest = 0.0
        self._reported = False

    def order(self, file: TableFile, limits: ReadLimits, what: str) -> bool:
        """Ask for the tables or the rows of a file; False if the process has ended."""
        self._file, self._limits, self._seconds = file, limits, limits.seconds_for(file.path)
        self._longest = limits.seconds_for(file.path, limits.max_pages)
        self._reported = False
        order = {
            "what": what,
            "path": str(file.path),
            "relative": file.relative,
            "id": file.id,
            "encoding": file.encoding,
            "limits": asdict(limits),
            "seconds": self._seconds,
        }
        with suppress(ProcessEndedError):
            return self.child.send(json.dumps(order).encode("ascii") + b"\n") and not self._line()
        return False

    def ask_for_more(self) -> None:
        """Ask for the next rows."""
        self.child.send(b"1\n")

    def stop(self) -> bool:
        """Ask for no further rows; False if the process has ended."""
        return self.child.send(b"0\n")

    def message(self, budget: _Budget) -> Any:
        """The next message; None at the end of a table, of the rows or of all tables.

        Raises the `TableError` that the process reports or that its end is.
        """
        try:
            line = self._line(budget.spend_bytes)
        except ProcessEndedError as error:
            raise self._end() from error
        if line.startswith(b"!"):
            self._reported = True  # and waits for its next order
            raise _revived(json.loads(line[1:]), budget.file)
        return json.loads(line.decode("utf-8", "surrogatepass"))

    def _line(self, spend: Callable[[int], object] = bool) -> bytes:
        return self.child.line(spend=spend, silence=2 * (max(self._longest, 0) + _START_SECONDS))

    def _end(self) -> UnreadableTableError:
        assert self._file is not None
        code = self.child.close()
        message, hint = (
            "the file leads its reader astray: it needs too much memory or time, or contradicts itself.",
            _HINT,
        )
        if sys.platform != "win32" and code == -signal.SIGXCPU:
            message = f"reading it takes more than {self._seconds:,.0f} seconds."
            hint = "Split it, save it again, or allow more with --file-seconds."
        kind = UnavailableTableError if code == -signal.SIGKILL else UnreadableTableError
        return kind(message, path=self._file.relative, hint=hint)

    def release(self, *, done: bool) -> None:
        """Keep the process for the next file if it finished or refused this one, else end it."""
        with _LOCK:
            if (done or self._reported) and not _IDLE:
                _IDLE.append(self)
                return
        self.child.close()


_START_SECONDS = 30.0
"""How long a process may take to start on a busy machine, in addition to the time for the file."""
_LOCK = threading.Lock()
_IDLE: list[_ReadingProcess] = []


def _started(file: TableFile, limits: ReadLimits, what: str) -> _ReadingProcess:
    """A process that begins to read the file: one that is idle, or a new one."""
    with _LOCK:
        process = _IDLE.pop() if _IDLE else None
    if process is not None:
        if process.order(file, limits, what):
            return process
        process.child.close()
    process = _ReadingProcess()
    if not process.order(file, limits, what):
        process.child.close()
        raise UnavailableTableError(
            "the process that reads it does not start.", path=file.relative, hint="Is there memory left?"
        )
    return process


@atexit.register
def _end_idle() -> None:
    with _LOCK:
        while _IDLE:
            _IDLE.pop().child.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_IDLE.clear)


def grid_head(grid: Grid) -> dict[str, Any]:
    """All of a grid but its rows, as JSON values."""
    codes: dict[str, int] = {}
    formats = [part for (r, c), code in grid.formats.items() for part in (r, c, codes.setdefault(code, len(codes)))]
    return {
        "id": grid.id,
        "source": asdict(grid.source),
        "width": grid.width,
        "context": asdict(grid.context),
        "merged": [(area.top, area.left, area.bottom, area.right) for area in grid.merged],
        "codes": list(codes),
        "formats": formats,
        "indents": [part for (r, c), level in grid.indents.items() for part in (r, c, level)],
        "header": [part for place in sorted(grid.header_cells) for part in place],
        "notices": [asdict(notice) for notice in grid.notices],
        "streamed": grid.streamed,
        "rows": len(grid.rows),
    }


def _grid(head: dict[str, Any], rows: Sequence[Row] | RowsApart) -> Grid:
    context: dict[str, Any] = {
        name: value if isinstance(value, str) else tuple(value) for name, value in head["context"].items()
    }
    numbers, codes = iter(head["formats"]), head["codes"]
    indents, header = iter(head["indents"]), iter(head["header"])
    return Grid(
        head["id"],
        Source(**head["source"]),
        rows,
        head["width"],
        Context(**context),
        tuple(Area(*area) for area in head["merged"]),
        MappingProxyType({(r, c): codes[code] for r, c, code in zip(numbers, numbers, numbers, strict=True)}),
        MappingProxyType({(r, c): level for r, c, level in zip(indents, indents, indents, strict=True)}),
        frozenset(zip(header, header, strict=True)),
        tuple(Notice(**notice) for notice in head["notices"]),
    )


def error_line(error: TableError) -> bytes:
    """An error as a line of the process."""
    parts = {"kind": type(error).__name__, "message": error.message, "hint": error.hint}
    parts |= {name: getattr(error, name) for name in ("path", "sheet", "row", "column")}
    return b"!" + json.dumps(parts).encode("ascii") + b"\n"


def _revived(parts: dict[str, Any], file: TableFile) -> TableError:
    error = _KINDS.get(parts["kind"], UnreadableTableError)("", path=file.relative, hint=parts["hint"])
    error.message, error.args = parts["message"], (parts["message"],)
    error.sheet, error.row, error.column = parts["sheet"], parts["row"], parts["column"]
    return error


def file_of(order: dict[str, Any]) -> TableFile:
    """The file that an order names."""
    return TableFile(Path(order["path"]), order["relative"], order["id"], encoding=order["encoding"])
