"""Actions in Python with pandas, run in a locked-down process of their own; state is kept in it.

The process reads and writes one JSON object per line, within limits of time and size.
"""

from __future__ import annotations

import ast
import importlib.util
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from string import Template
from typing import Any

from kgtable.answering.evidence import Evidence
from kgtable.answering.program_answers import relations_of
from kgtable.errors import KgtableError
from kgtable.llm.protocol import fence
from kgtable.processes import ChildProcess, ProcessEndedError
from kgtable.programs.scalars import Datum, text_of
from kgtable.systems.tablerag.actions import EMPTY, LONGEST, MOST_ROWS, Observation, read_prompt, rows_text
from kgtable.systems.tablerag.plain_tables import PlainTable, result_datum
from kgtable.systems.tablerag.vocabulary import cut


class SandboxError(KgtableError):
    """No sandbox for a model's code is available on this machine."""


SECONDS = 10.0
"""Seconds that an action may take."""

STARTING_SECONDS = 60.0
MOST_VALUES = 300
LONGEST_CODE = 20_000
_PACKAGES = ("numpy", "pandas", "dateutil", "six", "pytz", "tzdata")
"""The dependencies of pandas: the only installed packages in the sandbox."""

_LIBRARIES = ("/lib/", "/lib64/", "/lib32/", "/usr/lib/", "/usr/lib64/", "/usr/lib32/")


class PythonActions:
    """Actions in Python: the tables are handed to a process inside bubblewrap, which is started at the first action.

    A process that is ended, since an action took too long or too much, is started again with the tables as
    they were; the results of earlier actions are gone then, and the model is informed.
    """

    def __init__(self, evidence: Evidence, tables: Sequence[str], *, seconds: float = SECONDS) -> None:
        relations = relations_of(evidence.source)
        self._tables = [PlainTable.of(relations[id], evidence.alias(id)) for id in tables]
        self._seconds = seconds
        self._process: ChildProcess | None = None
        self._lost = False
        self._read: tuple[tuple[tuple[str, int, int], ...], int, str | None] = ((), 0, None)

    def instructions(self) -> str:
        """The language, and the columns of the tables."""
        columns = "\n".join(table.told() for table in self._tables)
        return Template(read_prompt("languages/python")).substitute(columns=columns, fence=fence(columns))

    def run(self, action: Any) -> Observation:
        """Run the code and return its result. Raises `SandboxError` without a sandbox."""
        code = str(action)
        if len(code) > LONGEST_CODE:
            return Observation(f"Error: the code is longer than {LONGEST_CODE:,} characters.", action=code)
        process = self._started()
        note = " What earlier actions had made is gone." if self._lost else ""
        try:
            reply = process.ask({"code": code}, self._seconds)
        except ProcessEndedError as error:
            process.release()
            self._process, self._lost = None, True
            return Observation(f"Error: {error}. Variables and tables of earlier actions are gone.", action=code)
        if "error" in reply:
            return Observation(f"Error: {cut(str(reply['error']), 600)}{note}", action=code)
        self._lost = False
        try:
            return self._observed(code, reply)
        except Exception:  # the code may have had its process send anything, and be none that can be parsed here
            return Observation("Error: the result cannot be read.", action=code)

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.release()
            self._process = None

    def _started(self) -> ChildProcess:
        if self._process is None:
            process = ChildProcess(sandbox_command(), {"PATH": "/usr/bin:/bin"})
            try:
                reply = process.ask({"tables": [table.to_json() for table in self._tables]}, STARTING_SECONDS)
            except ProcessEndedError as error:
                why = process.complaint() or str(error)
                process.release()
                raise SandboxError(f"The process for Python did not start: {why}") from error
            if "error" in reply:
                process.release()
                raise SandboxError(f"The process for Python did not start: {reply['error']}.")
            self._process = process
        return self._process

    def _observed(self, code: str, reply: Mapping[str, Any]) -> Observation:
        names = [str(name) for name in reply["names"]]
        rows = [[result_datum(cell) for cell in row] for row in reply["rows"]]
        size = int(reply["size"])
        printed = str(reply.get("printed") or "").strip()
        values = tuple(value for row in rows for value in row if value is not None)[:MOST_VALUES]
        cells, count, unit = self._cells(code, reply)
        if not values and not printed:
            return Observation("Done." if not names else EMPTY, action=code)
        told = rows_text(names, (map(_shown, row) for row in rows[:MOST_ROWS]), size) if values else ""
        text = "\n".join(filter(None, (_cut_lines(printed), told)))
        if not values:
            values = tuple(filter(None, (result_datum(line) for line in printed.splitlines()[:20])))
        return Observation(text, True, values, cells=cells, cells_read=count, unit=unit, action=code)

    def _cells(self, code: str, reply: Mapping[str, Any]) -> tuple[tuple[tuple[str, int, int], ...], int, str | None]:
        """The cells that the code read, how many, and their unit; of code that only goes on with what earlier
        actions made, those that these read."""
        columns, kept, counts = self._columns_read(code, reply)
        cells: list[tuple[str, int, int]] = []
        read = 0
        for table, places in columns:
            found, count = table.cells(places, kept)
            cells += found
            read += count
        if cells:
            self._read = tuple(cells), read, _common_unit(columns)
        return self._read[0], self._read[1], None if counts else self._read[2]

    def _columns_read(
        self, code: str, reply: Mapping[str, Any]
    ) -> tuple[list[tuple[PlainTable, list[int]]], Any, bool]:
        """The columns that the code read by table, the rows (None: all), and whether it counts."""
        words: set[str] = set()
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                words.add(node.value)
            elif isinstance(node, ast.Attribute):
                words.add(node.attr)
            elif isinstance(node, ast.Name):
                words.add(node.id)
        found = []
        for table in self._tables:
            places = [n for n, name in enumerate(table.names) if name in words]
            if table.alias in words:
                found.append((table, places or list(range(len(table.names)))))
        index = reply.get("index") or []
        known = set(found[0][0].rows) if len(found) == 1 else set()
        rows = index if index and known.issuperset(index) else None
        return found, rows, bool(words & {"count", "len", "nunique", "size", "shape", "value_counts"})


def sandbox_command() -> list[str]:
    """The command that runs the Python process inside bubblewrap.

    Its file system is empty except for the interpreter, the C libraries that it loads, pandas with what it needs, and
    the two modules that run there, all of it read only; there is no network, no /proc, no /dev, and no variable of
    the environment. Raises `SandboxError` if bubblewrap is missing.
    """
    wrapper = shutil.which("bwrap")
    if wrapper is None:
        raise SandboxError(
            "Steps in Python run inside bubblewrap, which is not installed.",
            hint="Install bubblewrap (bwrap), or use language=program.",
        )
    if importlib.util.find_spec("pandas") is None:
        raise SandboxError("Steps in Python need pandas.")
    command = [wrapper, "--unshare-all", "--unshare-user", "--die-with-parent", "--new-session"]
    command += ["--uid", "65534", "--gid", "65534", "--hostname", "sandbox", "--cap-drop", "ALL", "--clearenv"]
    for name, value in (
        ("OPENBLAS_NUM_THREADS", "1"), ("OMP_NUM_THREADS", "1"), ("PYTHONHASHSEED", "0"),
        ("PYTHONDONTWRITEBYTECODE", "1"), ("LC_ALL", "C.UTF-8"), ("TZ", "UTC"),
    ):  # fmt: skip
        command += ["--setenv", name, value]
    interpreter = Path(sys.executable).resolve()
    standard = Path(sysconfig.get_path("stdlib"))
    bound = {str(path): str(path) for path in (interpreter, standard, *_libpython())}
    bound |= {library: library for library in _c_libraries(interpreter, standard)}
    for name in _PACKAGES:
        for source in _package(name):
            bound[str(source)] = f"/site/{source.name}"
    here = Path(__file__).parent
    for name in ("confinement.py", "python_process.py"):
        bound[str(here / name)] = f"/worker/kgtable/systems/tablerag/{name}"
    for place, target in bound.items():
        command += ["--ro-bind", place, target]
    for hidden in (standard / "site-packages", standard / "dist-packages"):
        if hidden.is_dir():
            command += ["--tmpfs", str(hidden), "--remount-ro", str(hidden)]
    start = (
        "import sys; sys.path[:0] = ['/worker', '/site']; "
        "from kgtable.systems.tablerag.python_process import main; main()"
    )
    command += ["--remount-ro", "/", "--chdir", "/", str(interpreter), "-I", "-S", "-c", start]
    return command


def _libpython() -> list[Path]:
    return sorted((Path(sys.base_prefix) / "lib").glob("libpython*.so*"))


@cache
def _c_libraries(interpreter: Path, standard: Path) -> tuple[str, ...]:
    """The libraries of the system that Python, its modules and the packages load. Raises `SandboxError`."""
    files = [interpreter, *_libpython(), *standard.glob("lib-dynload/*.so")]
    files += [file for name in _PACKAGES for source in _package(name) for file in source.rglob("*.so*")]
    command = [shutil.which("ldd") or "ldd", *map(str, files)]
    try:
        listed = subprocess.run(command, capture_output=True, text=True, timeout=STARTING_SECONDS)  # noqa: S603
    except (OSError, subprocess.SubprocessError) as error:
        raise SandboxError(f"Steps in Python need the program ldd: {error}") from error
    found = set(re.findall(r"(/\S+) \(0x", listed.stdout))
    return tuple(sorted(path for path in found if path.startswith(_LIBRARIES)))


def _package(name: str) -> list[Path]:
    """The folder or file of an installed package, and the libraries that lie next to it."""
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        return []
    origin = Path(spec.origin)
    if origin.name != "__init__.py":
        return [origin]
    folder = origin.parent
    beside = folder.parent / f"{name}.libs"
    return [folder, beside] if beside.is_dir() else [folder]


def _shown(value: Datum | None) -> str:
    return "" if value is None else text_of(value)


def _common_unit(columns: Sequence[tuple[PlainTable, Sequence[int]]]) -> str | None:
    """The unit of the columns of numbers that were read, where they have one."""
    units = {
        unit
        for table, places in columns
        for place in places
        if table.kinds[place] == "number"
        for unit in table.relation.columns[place].units[:1]
    }
    return units.pop() if len(units) == 1 else None


def _cut_lines(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}\n… cut: {LONGEST:,} of {len(text):,} characters"
