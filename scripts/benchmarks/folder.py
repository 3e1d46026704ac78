"""Writing of benchmark folders, and reading of the distributions that they are made from."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kgtable.errors import BenchmarkError


class BenchmarkFolder:
    """Writer of a benchmark folder. Rows of `cells` count from the line below the first."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._tables: dict[str, tuple[tuple[str, ...], ...]] = {}
        (folder / "tables").mkdir(parents=True, exist_ok=True)

    def add_table(self, id: str, rows: Iterable[Sequence[object]], /, **sidecar: object) -> None:
        """Write a table and its context; a second table with the same id must be identical.

        The id is the file's stem: make it with `file_name` if it may contain a slash.

        Raises `BenchmarkError` if two different tables share an id.
        """
        texts = tuple(tuple("" if cell is None else str(cell) for cell in row) for row in rows)
        name = file_name(id)
        if name in self._tables:
            if self._tables[name] != texts:
                raise BenchmarkError(f"Two different tables share the id “{id}”.")
            return
        self._tables[name] = texts
        path = self._folder / "tables" / f"{name}.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(texts)
        known = {key: value for key, value in sidecar.items() if value}
        if known:
            path.with_suffix(".json").write_text(json.dumps(known, ensure_ascii=False), encoding="utf-8")

    def write_questions(self, split: str, questions: Iterable[Mapping[str, Any]]) -> int:
        """Write a split and return its number of questions."""
        count = 0
        with (self._folder / f"questions.{split}.jsonl").open("w", encoding="utf-8") as file:
            for question in questions:
                file.write(json.dumps(question, ensure_ascii=False) + "\n")
                count += 1
        return count


def file_name(id: str) -> str:
    """Turn an id into a file name that cannot leave its folder.

    >>> file_name("csv/204-csv/590"), file_name("../x")
    ('csv_204-csv_590', '_x')
    """
    return id.replace("/", "_").replace("\\", "_").lstrip(".") or "_"


def inner(source: Path, name: str) -> Path:
    """The folder `name` of a distribution, or `source` itself if it is that folder."""
    return source / name if (source / name).is_dir() else source


@contextmanager
def reading(path: Path) -> Iterator[Path]:
    """Turn errors while a distribution's file is read into a `BenchmarkError` that names the file."""
    try:
        yield path
    except FileNotFoundError as error:
        raise BenchmarkError(
            f"{error.filename or path} is not there.",
            hint="Give the folder of the official distribution, unpacked.",
        ) from error
    except (KeyError, IndexError, TypeError, ValueError, RecursionError) as error:
        raise BenchmarkError(
            f"{path} is not laid out as its official distribution is: {type(error).__name__} {error}."
        ) from error


def read_json(path: Path) -> Any:
    """Read a JSON file."""
    return json.loads(path.read_text(encoding="utf-8"))


def read_json_lines(path: Path) -> Iterator[Any]:
    """Read a JSON Lines file."""
    with path.open(encoding="utf-8") as file:
        for line in file:
            if line.strip():
                yield json.loads(line)
