"""Make tables in the wild out of the tables of databases (SpiderWild of DMRAL, section 6).

Large tables are cut into parts that join or can be put under each other, some headers and titles are masked,
some keys spelt otherwise, and tables about other things added. The gold tables and cells move along; what was
done to each table stands in ``truth.jsonl``, which no build reads.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

from kgtable.errors import BenchmarkError
from kgtable.evaluation.benchmark import FIRST_LINE, Benchmark, BenchmarkFolder, BenchmarkQuestion, read_json
from scripts.benchmarks.split_tables import (
    SEED,
    TITLES,
    BuiltCounts,
    GridRows,
    TablePart,
    read_grid,
    seeded,
)

MOST_COLUMNS = 5
"""Columns up to which a table is not cut by columns."""

MOST_ROWS = 50
"""Rows up to which a table is not cut by rows."""

GROUP = 3
"""Columns of a part beside its key; headers that stand side by side belong together."""

SHORTEST_TEXT = 5
"""Characters from which a key may be spelt otherwise: a code of three letters would become another code."""

MASKS = ("", "Column {one}", "Unnamed: {zero}", "c{one}", "X")
"""What stands in place of a masked header: nothing, or what programs write there."""

TRUTH = "truth.jsonl"


@dataclass(frozen=True)
class WildPlan:
    """Options of the benchmark: the seed, how it changes tables, and how many tables about other things it adds.

    `most_parts` is the number of parts that a table is cut into by rows at most, `masked` the share of headers and
    titles that are masked, `perturbed` the share of keys that are spelt otherwise.
    """

    seed: int = SEED
    most_parts: int = 3
    masked: float = 0.2
    perturbed: float = 0.2
    distractors: int = 5_000


@dataclass(frozen=True)
class WildPart:
    """A part of a table under its new id; `keys` are the columns of the source by which it joins others."""

    part: TablePart
    keys: frozenset[int]
    group: int
    is_home: bool
    """Whether it has all keys as they are spelt in the source."""


def wild_benchmark(
    source: Path, out: Path, others: Path | None, splits: Sequence[str] = (), plan: WildPlan | None = None
) -> BuiltCounts:
    """Build a benchmark folder of tables in the wild from a benchmark of databases; gives what was built.

    Sidecars name the ``primary_key`` where it is known; questions tell the ``columns`` they read, or gold cells.
    `others` is a benchmark folder whose tables are added, as they are and, where they are too few, rows and columns
    of them chosen anew. The same seed and folders give the same files. Raises `BenchmarkError`.
    """
    plan, benchmark, folder = plan or WildPlan(), Benchmark(source), BenchmarkFolder(out)
    if out.resolve() == source.resolve():
        raise BenchmarkError("The new benchmark would overwrite the old one.", hint="Name another folder.")
    asked = {split: benchmark.questions(split) for split in splits or benchmark.splits()}
    counts, parts = BuiltCounts(), dict[str, list[WildPart]]()
    truth: list[dict[str, Any]] = []
    for path in sorted(benchmark.tables.glob("*.csv")):
        rows, about = read_grid(path), _sidecar(path)
        if not rows:
            continue
        made = [
            _masked_id(part, f"table_{len(truth) + number}", plan)
            for number, part in enumerate(wild_parts(path.stem, rows, about, plan), 1)
        ]
        parts[path.stem] = made
        truth += [_write(folder, rows, about, part, plan) for part in made]
        counts.tables += 1
        counts.parts += len(made)
        counts.whole += len(made) == 1
    if others is not None:
        counts.parts += _add_others(folder, Benchmark(others).tables, plan)
    for split, questions in asked.items():
        items = list(_questions(questions, parts, counts))
        counts.questions += folder.write_questions(split, items)
    with (out / TRUTH).open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(one, ensure_ascii=False) + "\n" for one in truth)
    return counts


def _sidecar(path: Path) -> Mapping[str, Any]:
    beside = path.with_suffix(".json")
    found: Mapping[str, Any] = read_json(beside) if beside.exists() else {}
    return found


def wild_parts(id: str, rows: GridRows, about: Mapping[str, Any], plan: WildPlan) -> list[WildPart]:
    """The parts of a table: of one with more than `MOST_COLUMNS`, groups of columns each with one of its keys, and
    one with all keys where no group has them; each with more than `MOST_ROWS` cut by the values of a column."""
    chance = seeded(f"{plan.seed}:{id}")
    header, body = rows[0], rows[FIRST_LINE:]
    keys = key_columns(header, body, about)
    width = len(header)
    groups: list[tuple[int, ...]] = [tuple(range(width))]
    if width > MOST_COLUMNS and keys:
        rest = [column for column in range(width) if column not in keys]
        runs = [tuple(rest[start : start + GROUP]) for start in range(0, len(rest), GROUP)]
        groups = [tuple(sorted((chance.choice(keys), *run))) for run in runs]
        if not any(set(keys) <= set(group) for group in groups):
            groups.insert(0, tuple(keys))
    parts = []
    for number, group in enumerate(groups):
        name = id if len(groups) == 1 else f"{id}-c{number}"
        for run, chosen in enumerate(cuts := _row_parts(body, group, keys, chance, plan)):
            part = TablePart(name if len(cuts) == 1 else f"{name}-r{run}", id, "wild", chosen, group)
            parts.append(WildPart(part, frozenset(keys), number, set(keys) <= set(group)))
    return parts


def key_columns(header: Sequence[str], body: GridRows, about: Mapping[str, Any]) -> list[int]:
    """The columns without blank or repeated values: the primary key first, then names, no measures."""
    named = [str(name).casefold() for name in about.get("primary_key") or ()]
    found = []
    for column, name in enumerate(header):
        values = [row[column] for row in body]
        if not values or not all(values) or len(set(values)) < len(values):
            continue
        if [name.casefold()] == named or not any(map(_is_figure, values)):
            found.append(column)
    return sorted(found, key=lambda column: [header[column].casefold()] != named)


def _is_figure(text: str) -> bool:
    return not any(sign.isalpha() for sign in text)


def _row_parts(
    body: GridRows, group: Sequence[int], keys: Sequence[int], chance: Random, plan: WildPlan
) -> list[tuple[int, ...]]:
    """The rows by ranges of a measure, or by groups of categories, of a column that is no key."""
    everything = tuple(range(len(body)))
    choices = [c for c in group if c not in keys and len({row[c] for row in body}) > 1]
    if len(body) <= MOST_ROWS or not choices:
        return [everything]
    column, count = chance.choice(choices), chance.randint(2, plan.most_parts)
    try:
        order = sorted(everything, key=lambda row: (float(body[row][column] or "-inf"), row))
    except ValueError:
        categories = sorted({row[column] for row in body})
        chance.shuffle(categories)
        bucket = {text: place % count for place, text in enumerate(categories)}
        cuts = [tuple(row for row in everything if bucket[body[row][column]] == n) for n in range(count)]
    else:
        edges = [round(len(order) * n / count) for n in range(count + 1)]
        cuts = [tuple(sorted(order[edges[n] : edges[n + 1]])) for n in range(count)]
    return [cut for cut in cuts if cut]


def _masked_id(part: WildPart, anonymous: str, plan: WildPlan) -> WildPart:
    """The part, under an id that says nothing where its title is masked."""
    if seeded(f"{plan.seed}:title:{part.part.id}").random() >= plan.masked:
        return part
    return replace(part, part=replace(part.part, id=anonymous))


def _write(
    folder: BenchmarkFolder, rows: GridRows, about: Mapping[str, Any], part: WildPart, plan: WildPlan
) -> dict[str, Any]:
    """Write a part, and give what is true of it."""
    at, body = part.part, rows[FIRST_LINE:]
    untitled = not at.id.startswith(at.source)
    chance = seeded(f"{plan.seed}:cells:{at.source}:{at.columns}:{at.rows[:1]}")
    header = [rows[0][column] for column in at.columns]
    masked = [place for place in range(len(header)) if chance.random() < plan.masked]
    form = chance.choice(MASKS)
    shown = [
        form.format(one=place + 1, zero=place) if place in masked else text
        for place, text in enumerate(header)
    ]
    grid = [[body[row][column] for column in at.columns] for row in at.rows]
    changed: list[list[Any]] = []
    for place, column in enumerate(at.columns):
        if column in part.keys and not part.is_home:
            for number, line in enumerate(grid):
                other = line[place]
                if len(other) >= SHORTEST_TEXT and chance.random() < plan.perturbed:
                    line[place] = otherwise_spelt(other, chance)
                    if line[place] != other:
                        changed.append([number, place, other])
    named = {} if untitled else {key: about[key] for key in ("title", "heading") if about.get(key)}
    folder.add_table(at.id, [shown, *grid], **named)
    return {
        "table": at.id,
        "source": at.source,
        "title": about.get("title", ""),
        "columns": list(at.columns),
        "rows": [at.rows[0], at.rows[-1], len(at.rows)] if at.rows else [],
        "group": part.group,
        "header": header,
        "masked": masked,
        "untitled": untitled,
        "perturbed": changed,
    }


def otherwise_spelt(text: str, chance: Random) -> str:
    """The text with a typing error, in other case, or with its first words abbreviated."""
    letters = [place for place, sign in enumerate(text) if sign.isalpha()]
    if len(letters) < 3:
        return text
    words = text.split(" ")
    kind = chance.choice(("left out", "exchanged", "twice", "case", "short"))
    if kind == "short" and len(words) > 1 and len(words[0]) > 2:
        return " ".join((f"{words[0][0]}.", *words[1:]))
    if kind == "case":
        return text.lower() if text != text.lower() else text.upper()
    place = chance.choice(letters[1:-1])
    if kind == "left out":
        return text[:place] + text[place + 1 :]
    if kind == "twice":
        return text[:place] + text[place] + text[place:]
    exchanged = f"{text[:place]}{text[place + 1]}{text[place]}{text[place + 2 :]}"
    return exchanged if exchanged != text else text[:place] + text[place + 1 :]


def _add_others(folder: BenchmarkFolder, tables: Path, plan: WildPlan) -> int:
    """Add tables about other things; gives how many."""
    paths = sorted(tables.glob("*.csv"))
    chance = seeded(f"{plan.seed}:others")
    whole = sorted(chance.sample(paths, min(plan.distractors, len(paths))))
    for path in whole:
        folder.add_table(f"other_{path.stem}", read_grid(path), **_sidecar(path))
    more = plan.distractors - len(whole) if whole else 0
    for number in range(more):
        path = chance.choice(paths)
        rows, about = read_grid(path), _sidecar(path)
        width, height = len(rows[0]) if rows else 0, len(rows) - FIRST_LINE
        columns = sorted(chance.sample(range(width), chance.randint(min(2, width), width)))
        chosen = sorted(chance.sample(range(height), chance.randint(min(3, height), height))) if height > 0 else []  # fmt: skip  # noqa: E501
        grid = [[rows[row][column] for column in columns] for row in (0, *(FIRST_LINE + n for n in chosen))]
        title = chance.choice(TITLES).format(about["title"]) if about.get("title") else ""
        folder.add_table(f"other_{path.stem}_{number}", grid, **{**about, "title": title})
    return len(whole) + more


def _questions(
    questions: Sequence[BenchmarkQuestion], parts: Mapping[str, Sequence[WildPart]], counts: BuiltCounts
) -> Iterator[dict[str, Any]]:
    for question in questions:
        if not question.tables or any(table not in parts for table in question.tables):
            counts.leave("tables are missing")
            continue
        read: dict[str, set[int]] = {table: set() for table in question.tables}
        for table, column in [*question.extra.get("columns", ()), *((t, c) for t, _, c in question.cells)]:
            if table in read:
                read[table].add(column)
        needed = {table: _needed(parts[table], columns) for table, columns in read.items()}
        yield _item(question, parts, needed)


def _needed(parts: Sequence[WildPart], columns: set[int]) -> list[int]:
    """The groups of columns that a question needs which reads these columns of a table."""
    groups = {part.group: set(part.part.columns) for part in parts}
    chosen = sorted({group for group, own in groups.items() if columns & (own - parts[0].keys)})
    missing = columns - set().union(*(groups[group] for group in chosen))
    for group, own in groups.items():
        if missing & own:
            chosen.append(group)
            missing -= own
    return sorted(chosen)


def _item(
    question: BenchmarkQuestion, parts: Mapping[str, Sequence[WildPart]], needed: Mapping[str, Sequence[int]]
) -> dict[str, Any]:
    """The question over the parts: those with its cells, or all of a group where the cells are not known."""
    tables: list[str] = []
    cells: list[tuple[str, int, int]] = []
    any_of = False
    for table, groups in needed.items():
        own = parts[table]
        if not groups and len(needed) == 1:  # counts rows: any group of columns will do
            any_of = len({part.group for part in own}) == len(own) > 1
            groups = [part.group for part in own] if any_of else [own[0].group]
        chosen = [part.part for part in own if part.group in (groups or [own[0].group])]
        placed = [
            (part.id, *place)
            for part in chosen
            for of, row, column in question.cells
            if of == table and (place := part.place(row - FIRST_LINE, column)) is not None
        ]
        holding = {cell[0] for cell in placed if cell[1] >= 0}
        tables += [part.id for part in chosen if not holding or part.id in holding]
        cells += [cell for cell in placed if not holding or cell[0] in holding]
    return {
        **{key: value for key, value in question.extra.items() if key != "columns"},
        "id": f"wild-{question.id}",
        "question": question.text,
        "answers": list(question.answers),
        "tables": sorted(tables),
        "cells": cells,
        "any_of": any_of,
        "source_tables": list(question.tables),
    }
