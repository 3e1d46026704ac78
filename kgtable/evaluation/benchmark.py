"""Benchmark folders: ``tables/``, and one ``questions.<split>.jsonl`` for each split.

In the files, row 0 is the line below the first; in Python, every row is a grid row.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from kgtable.errors import BenchmarkError, MissingExtraError

FIRST_LINE = 1
"""Number of lines above row 0 of the files' coordinates."""

CellPlace = tuple[str, int, int]


@dataclass(frozen=True, slots=True)
class BenchmarkQuestion:
    """A question with its gold: answers, table ids, and cells as (table id, grid row, column).

    `any_of`: any one of the gold tables is enough. `extra` holds the other fields of the data set. `is_unanswerable`:
    its list of answers is empty, so that finding nothing is right.
    """

    id: str
    text: str
    answers: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    cells: tuple[CellPlace, ...] = ()
    any_of: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)
    is_unanswerable: bool = False


@dataclass(frozen=True, slots=True)
class QuestionFault:
    """A fault in a benchmark folder: file, 1-based line, and description."""

    path: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}, line {self.line}: {self.message}"


@dataclass(frozen=True)
class Benchmark:
    """A benchmark folder, for reading."""

    folder: Path

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.folder.resolve().name

    @property
    def tables(self) -> Path:
        """The folder with the tables."""
        return self.folder / "tables"

    def splits(self) -> tuple[str, ...]:
        """The names of the splits, in order.

        Raises `BenchmarkError` if the folder holds none.
        """
        found = sorted(path.name.split(".")[1] for path in self.folder.glob("questions.*.jsonl"))
        if not found:
            raise BenchmarkError(
                f"{self.folder}: there is no questions.<split>.jsonl.",
                hint="A benchmark is a folder with tables/ and questions.<split>.jsonl.",
            )
        return tuple(found)

    def questions(self, split: str) -> tuple[BenchmarkQuestion, ...]:
        """The questions of a split, in file order.

        Raises `BenchmarkError` for a split that is absent, and for the first faulty line.
        """
        if split not in self.splits():
            raise BenchmarkError(
                f"{self.folder}: there is no split “{split}”.", hint=f"There are: {', '.join(self.splits())}."
            )
        path = self.folder / f"questions.{split}.jsonl"
        questions: list[BenchmarkQuestion] = []
        lines: dict[str, int] = {}
        for line, item in _lines(path):
            if isinstance(item, QuestionFault):
                raise BenchmarkError(str(item), hint="Run `kgtable eval --check` to see every fault.")
            if item.id in lines:
                fault = QuestionFault(path.name, line, _duplicate(item.id, lines))
                raise BenchmarkError(f"{fault}.", hint="Give every question an id of its own.")
            lines[item.id] = line
            questions.append(item)
        return tuple(questions)


def check_benchmark(
    benchmark: Benchmark, shapes: Mapping[str, Sequence[int]], split: str | None = None
) -> list[QuestionFault]:
    """List the faults of the folder or of one split: malformed lines, duplicate ids, unknown tables,
    cells out of range, and questions without answers in a split where others have them.

    `shapes` has each table's number of grid rows and columns.
    """
    faults: list[QuestionFault] = []
    for name in benchmark.splits() if split is None else (split,):
        path = benchmark.folder / f"questions.{name}.jsonl"
        seen: dict[str, int] = {}
        unanswered: list[int] = []
        is_answered = False
        for line, question in _lines(path):
            if isinstance(question, QuestionFault):
                faults.append(question)
                continue
            if question.id in seen:
                faults.append(QuestionFault(path.name, line, _duplicate(question.id, seen)))
            seen.setdefault(question.id, line)
            faults += [QuestionFault(path.name, line, message) for message in _misplaced(question, shapes)]
            unanswered += [] if question.answers or question.is_unanswerable else [line]
            is_answered |= bool(question.answers)
        message = "there are no answers; an empty list says that nothing is to be found"
        faults += [QuestionFault(path.name, line, message) for line in unanswered if is_answered]
    return sorted(faults, key=lambda fault: (fault.path, fault.line))


def _duplicate(identity: str, lines: Mapping[str, int]) -> str:
    return f"the id “{identity}” is also in line {lines[identity]}"


def _misplaced(question: BenchmarkQuestion, shapes: Mapping[str, Sequence[int]]) -> Iterator[str]:
    for table in dict.fromkeys((*question.tables, *(cell[0] for cell in question.cells))):
        if table not in shapes:
            yield f"there is no table “{table}”"
    for table, row, column in question.cells:
        if table in shapes and not (row < shapes[table][0] and column < shapes[table][1]):
            rows, columns = shapes[table]
            yield (
                f"the cell [{table}, {row - FIRST_LINE}, {column}] lies outside its table "
                f"of {rows - FIRST_LINE} rows below the header and {columns} columns"
            )


def _lines(path: Path) -> Iterator[tuple[int, BenchmarkQuestion | QuestionFault]]:
    with path.open("rb") as file:
        for number, raw in enumerate(file, 1):
            if not raw.strip():
                continue
            try:
                item = json.loads(raw.decode("utf-8"))
            except (ValueError, RecursionError) as error:
                yield number, QuestionFault(path.name, number, f"this is not JSON in UTF-8: {error}")
                continue
            fault = next(iter(_schema_faults(item)), None)
            yield number, _question(item) if fault is None else QuestionFault(path.name, number, fault)


def _schema_faults(item: object) -> Iterator[str]:
    for error in _validator().iter_errors(item):
        place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.absolute_path)
        yield f"{place.lstrip('.') or 'the line'}: {error.message[:200]}"


@cache
def _validator() -> Any:
    try:
        from jsonschema import Draft202012Validator
    except ImportError:
        raise MissingExtraError("Evaluation", "eval") from None
    return Draft202012Validator(json.loads((Path(__file__).parent / "question.schema.json").read_text()))


def _question(item: Mapping[str, Any]) -> BenchmarkQuestion:
    known = {"id", "question", "answers", "tables", "cells", "any_of"}
    return BenchmarkQuestion(
        id=item["id"],
        text=item["question"],
        answers=tuple(item.get("answers", ())),
        is_unanswerable=item.get("answers") == [],
        tables=tuple(item.get("tables", ())),
        cells=tuple((table, row + FIRST_LINE, column) for table, row, column in item.get("cells", ())),
        any_of=item.get("any_of", False),
        extra={key: value for key, value in item.items() if key not in known},
    )
