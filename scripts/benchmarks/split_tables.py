"""Make a benchmark with several tables a question from one with a single table a question (T-RAG, section 4).

Tables are split by rows or columns, the parts shuffled and given titles of their own; questions are filtered,
made understandable alone, and some joined in pairs. The gold cells move along.
"""

from __future__ import annotations

import csv
import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kgtable.errors import BenchmarkError
from kgtable.evaluation.benchmark import FIRST_LINE, Benchmark, BenchmarkQuestion
from kgtable.llm.protocol import LLM, reply_data
from kgtable.tables.layout.detect import make_table
from kgtable.tables.model import Grid, Source
from kgtable.text.words import is_empty_word
from scripts.benchmarks.folder import BenchmarkFolder, read_json

SEED = 7
SMALLEST = 3
"""Rows and columns up to which a table stays whole."""

FEWEST_WORDS = 4
MOST_EMPTY = 0.8
"""Share of function words beyond which a question is vague."""
MOST_ALIKE = 0.8
"""Share of common words beyond which two questions of a table are the same."""

CONNECTIVES = ("Also,", "Furthermore,", "In addition,")
TITLES = ("{}", "Data on {}", "{}: details", "Records: {}", "Overview of {}")
"""How titles are varied without a model."""

GridRows = Sequence[Sequence[str]]


@dataclass(frozen=True)
class SplitPlan:
    """Options of the benchmark: the seed, how many parts at most, and the share of questions joined in pairs."""

    seed: int = SEED
    most_parts: int = 3
    combined: float = 0.5


@dataclass(frozen=True)
class TablePart:
    """A part of a table: the rows (below the header) and columns of the source, in the order they stand in it."""

    id: str
    source: str
    split: str
    rows: tuple[int, ...]
    columns: tuple[int, ...]

    def place(self, row: int, column: int) -> tuple[int, int] | None:
        """The row and column of a source cell in the part, row -1 for the header; None if the part lacks the cell."""
        if column not in self.columns or (row >= 0 and row not in self.rows):
            return None
        return (self.rows.index(row) if row >= 0 else -1), self.columns.index(column)


@dataclass
class BuiltCounts:
    """Counts of what was built: tables, parts, questions and why others were left out."""

    tables: int = 0
    whole: int = 0
    parts: int = 0
    questions: int = 0
    left_out: dict[str, int] = field(default_factory=dict)

    def leave(self, why: str) -> None:
        """Count a question that was left out."""
        self.left_out[why] = self.left_out.get(why, 0) + 1


def split_benchmark(
    source: Path, out: Path, splits: Sequence[str] = (), plan: SplitPlan | None = None, llm: LLM | None = None
) -> BuiltCounts:
    """Build a benchmark folder from another one; gives what was built.

    Every question of the `splits` (all, if none are named) with one gold table is used at most once. Titles are
    varied and questions made understandable alone by `llm`, or by templates without one. The same seed, folder
    and model replies give the same files. Raises `BenchmarkError`, a leaf of `LLMError`.
    """
    plan, benchmark, folder = plan or SplitPlan(), Benchmark(source), BenchmarkFolder(out)
    if out.resolve() == source.resolve():
        raise BenchmarkError("The new benchmark would overwrite the old one.", hint="Name another folder.")
    asked = {split: benchmark.questions(split) for split in splits or benchmark.splits()}
    counts, parts = BuiltCounts(), dict[str, list[TablePart]]()
    sidecars: dict[str, Mapping[str, Any]] = {}
    headers: dict[str, Sequence[str]] = {}
    for table, mode in _modes(sorted(path.stem for path in benchmark.tables.glob("*.csv")), plan):
        rows = read_grid(benchmark.tables / f"{table}.csv")
        path = benchmark.tables / f"{table}.json"
        sidecars[table] = read_json(path) if path.exists() else {}
        headers[table] = rows[0] if rows else ()
        parts[table] = split_table(table, rows, mode, plan, bound_rows(table, rows))
        counts.tables += 1
        counts.parts += len(parts[table])
        counts.whole += len(parts[table]) == 1
        _write(folder, rows, parts[table], sidecars[table], plan, llm)
    for split, questions in asked.items():
        made = list(_questions(split, questions, parts, sidecars, headers, plan, llm, counts))
        counts.questions += folder.write_questions(split, made)
    return counts


def _modes(tables: Sequence[str], plan: SplitPlan) -> list[tuple[str, str]]:
    """Each table with the way it is split: half by rows, half by columns."""
    order = list(tables)
    seeded(plan.seed).shuffle(order)
    modes = {table: ("row", "column")[place % 2] for place, table in enumerate(order)}
    return [(table, modes[table]) for table in tables]


def seeded(seed: int | str) -> random.Random:
    """A random generator with this seed."""
    return random.Random(seed)


def read_grid(path: Path) -> GridRows:
    """The cells of a CSV file, every row as wide as the widest."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    width = max(map(len, rows), default=0)
    return [row + [""] * (width - len(row)) for row in rows]


@dataclass(frozen=True, slots=True)
class BoundRows:
    """Rows of a table that cannot be moved: so many lines of the header below the first, and whether groups or
    blank rows give the rows their order."""

    header: int = 0
    ordered: bool = False


def bound_rows(id: str, rows: GridRows) -> BoundRows:
    """The rows whose order is fixed, by the table structure that kgtable detects."""
    grid = Grid(id, Source(id), tuple(map(tuple, rows)), len(rows[0]) if rows else 0)
    found = make_table(grid).structure
    grouped = bool(found.groups or found.parents)
    blank = any(not any(cell.strip() for cell in row) for row in rows[found.body_start :])
    return BoundRows(max(found.body_start - FIRST_LINE, 0), grouped or blank)


def split_table(id: str, rows: GridRows, mode: str, plan: SplitPlan, bound: BoundRows | None = None) -> list[TablePart]:
    """The parts of a table; one where it is too small. In a split by columns each part has the first one.

    A header of several lines may span columns: such a table is split by rows, its columns stay in order. Rows under
    groups stay together: such a table is split by columns. With both it stays whole.
    """
    bound = bound or BoundRows()
    height, width = len(rows) - FIRST_LINE, len(rows[0]) if rows else 0
    header, free = list(range(bound.header)), list(range(bound.header, max(height, 0)))
    if len(free) <= SMALLEST or width <= SMALLEST or (bound.header and bound.ordered):
        return [TablePart(id, id, "none", (*header, *free), tuple(range(width)))]
    chance = seeded(f"{plan.seed}:{id}")
    by_rows = bound.header > 0 or (mode == "row" and not bound.ordered)
    items = list(free) if by_rows else list(range(1, width))
    count = min(chance.randint(2, plan.most_parts), len(items))
    chance.shuffle(items)
    parts = []
    for number in range(count):
        chosen = sorted(items[number::count])
        others = list(range(1, width)) if by_rows else list(free)
        # What is split keeps its order, the other direction is permuted where nothing binds it.
        if not bound.header and not bound.ordered:
            chance.shuffle(others)
        kept_rows, kept_columns = ([*header, *chosen], [0, *others]) if by_rows else (others, [0, *chosen])
        name = f"{id}-{'r' if by_rows else 'c'}{number}"
        split = "row" if by_rows else "column"
        parts.append(TablePart(name, id, split, tuple(kept_rows), tuple(kept_columns)))
    return parts


def _write(
    folder: BenchmarkFolder,
    rows: GridRows,
    parts: Sequence[TablePart],
    sidecar: Mapping[str, Any],
    plan: SplitPlan,
    llm: LLM | None,
) -> None:
    title = str(sidecar.get("title") or "")
    titles = other_titles(title, len(parts), f"{plan.seed}:{parts[0].source}", llm)
    for number, (part, own) in enumerate(zip(parts, titles, strict=True)):
        about = {**sidecar, "title": own}
        if len(parts) > 1:
            about |= {"source_table": part.source, "split": part.split, "part": number, "parts": len(parts)}
            about |= {"rows": list(part.rows), "cols": list(part.columns)}
        body = rows[FIRST_LINE:]
        grid = [rows[0], *(body[row] for row in part.rows)] if rows else []
        folder.add_table(part.id, ([row[column] for column in part.columns] for row in grid), **about)


def other_titles(title: str, count: int, seed: str, llm: LLM | None = None) -> list[str]:
    """A title for each part in words of its own: by a model, or from `TITLES`."""
    if not title or count == 1:
        return [title] * count
    if llm is not None:
        text = "\n".join(f"{number}. {title}" for number in range(1, count + 1))
        titles = _ask(llm, "other_title", text, {"titles": {"type": "array", "items": {"type": "string"}}})
        given = [str(one).strip() for one in titles.get("titles", ())]
        if len(given) == count and all(given):
            return given
    forms = list(TITLES)
    seeded(seed).shuffle(forms)
    return [forms[number % len(forms)].format(title) for number in range(count)]


def _ask(llm: LLM, prompt: str, text: str, properties: Mapping[str, Any]) -> Mapping[str, Any]:
    system = (Path(__file__).parent / "prompts" / f"{prompt}.txt").read_text(encoding="utf-8")
    schema = {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }
    return reply_data(llm, system.strip(), text, schema=schema, stage=prompt, max_tokens=1_000)


_OF_THE_TABLE = re.compile(
    r"\b(?:in|on|from|of) (?:this|the) (?:above |following |given )?(?:table|list|chart)\b", re.IGNORECASE
)
_POINTING = re.compile(
    r"\b(?:this|these|that|those) (?!is\b|are\b|was\b|were\b|have\b|has\b|had\b|did\b|do\b|does\b)(\w+)",
    re.IGNORECASE,
)


def standalone(question: str, title: str, header: Sequence[str] = (), llm: LLM | None = None) -> str:
    """The question with what merely points at its table replaced by the table's title.

    By a model, or without one by templates for "in the table" and "this team".

    >>> standalone("how many games did this team win?", "2001 Bulls season")
    'how many games did the team of “2001 Bulls season” win?'
    """
    if not title:
        return question
    if llm is not None:
        text = f"Title: {title}\nColumns: {', '.join(filter(None, header))}\nQuestion: {question}"
        return str(_ask(llm, "standalone_question", text, {"question": {"type": "string"}})["question"]).strip()
    named = _OF_THE_TABLE.sub(lambda _: f"in “{title}”", question, count=1)
    if named != question:
        return named
    return _POINTING.sub(lambda found: f"the {found[1]} of “{title}”", question, count=1)


_WORD = re.compile(r"\w+")


def vague(question: str) -> bool:
    """Whether a question has too few words, or hardly any that say something."""
    words = _WORD.findall(question.lower())
    return len(words) < FEWEST_WORDS or sum(map(is_empty_word, words)) > MOST_EMPTY * len(words)


def alike(first: str, second: str) -> bool:
    """Whether two questions are made of nearly the same words."""
    one, other = ({*_WORD.findall(text.lower())} for text in (first, second))
    return len(one & other) >= MOST_ALIKE * max(len(one | other), 1)


def _questions(
    split: str,
    questions: Iterable[BenchmarkQuestion],
    parts: Mapping[str, Sequence[TablePart]],
    sidecars: Mapping[str, Mapping[str, Any]],
    headers: Mapping[str, Sequence[str]],
    plan: SplitPlan,
    llm: LLM | None,
    counts: BuiltCounts,
) -> Iterator[dict[str, Any]]:
    kept: dict[str, list[BenchmarkQuestion]] = {}
    for question in questions:
        table = question.tables[0] if len(question.tables) == 1 else ""
        if table not in parts:
            counts.leave("not of one table")
        elif vague(question.text):
            counts.leave("vague")
        elif any(alike(question.text, other.text) for other in kept.get(table, ())):
            counts.leave("repeats another")
        else:
            kept.setdefault(table, []).append(question)
    chance = seeded(f"{plan.seed}:{split}")
    for table in sorted(kept):
        waiting = list(kept[table])
        title, header = str(sidecars[table].get("title") or ""), headers[table]
        while waiting:
            first = waiting.pop(0)
            second = waiting.pop(0) if waiting and chance.random() < plan.combined else None
            joined = [first] if second is None else [first, second]
            texts = [standalone(one.text, title, header, llm) for one in joined]
            word = chance.choice(CONNECTIVES)
            yield _item(joined, f" {word} ".join(texts), parts[table])


def _item(joined: Sequence[BenchmarkQuestion], text: str, parts: Sequence[TablePart]) -> dict[str, Any]:
    """One question of the new benchmark, made of one or two of the old."""
    found = [_moved(question, parts) for question in joined]
    tables = sorted({table for tables, _, _ in found for table in tables})
    item: dict[str, Any] = {
        "id": "mt-" + "-".join(question.id for question in joined),
        "type": "single" if len(joined) == 1 else "multi",
        "question": text,
        "answers": [answer for question in joined for answer in question.answers],
        "tables": tables,
        "cells": [list(cell) for _, cells, _ in found for cell in cells],
        "any_of": all(any_of for _, _, any_of in found),
        "cells_from": joined[0].extra.get("cells_from"),
        "source_table": parts[0].source,
        "source_ids": [question.id for question in joined],
        "split_mode": parts[0].split,
    }
    if len(joined) > 1:
        item["answers_parts"] = [list(question.answers) for question in joined]
    return item


def _moved(
    question: BenchmarkQuestion, parts: Sequence[TablePart]
) -> tuple[list[str], list[tuple[str, int, int]], bool]:
    """Gold tables and cells among the parts, and whether any one of them is enough.

    A cell that every part has (of the first column in a split by columns, of the header in one by rows) goes to
    the parts with other gold cells; where there are none, any part will do. Without gold cells every part may
    be needed.
    """
    own: list[tuple[str, int, int]] = []
    common: list[tuple[str, int, int]] = []
    for _, row, column in question.cells:
        places = [(part.id, part.place(row - FIRST_LINE, column)) for part in parts]
        held = [(id, *place) for id, place in places if place is not None]
        (common if len(held) == len(parts) > 1 else own).extend(held)
    if not own and not common:
        return [part.id for part in parts], [], False
    if not own:
        return [part.id for part in parts], common, len(parts) > 1
    tables = {cell[0] for cell in own}
    return sorted(tables), own + [cell for cell in common if cell[0] in tables], False
