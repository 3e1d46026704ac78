"""Convert WikiTableQuestions, FeTaQA, OTT-QA and TabFact (Wikipedia tables) to benchmark folders."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from kgtable.evaluation.benchmark import BenchmarkFolder, inner, read_json, read_json_lines, reading

ESCAPES = {"\\n": "\n", "\\p": "|", "\\\\": "\\"}


def load_wikitablequestions(source: Path, out: Path) -> int:
    """WikiTableQuestions: ``data/*.tsv``, ``csv/*-csv/*.tsv``; titles from ``page/`` if present."""
    folder, count = BenchmarkFolder(out), 0
    with reading(source / "data"):
        for path in sorted((source / "data").glob("*.tsv")):
            lines = _tsv(path)
            if lines and lines[0][:2] == ["id", "utterance"]:
                questions = [_wikitablequestion(line) for line in lines[1:]]
                for table in dict.fromkeys(question["tables"][0] for question in questions):
                    _add_wikitable(source, folder, table)
                count += folder.write_questions(path.stem, questions)
    return count


def _wikitablequestion(line: Sequence[str]) -> dict[str, Any]:
    id, question, context, answers = line[:4]
    table = re.sub(r"csv/(\d+)-csv/(\d+)\.csv", r"\1_\2", context)
    return {
        "id": id,
        "question": _unescaped(question),
        "answers": [_unescaped(answer) for answer in answers.split("|")],
        "tables": [table],
        "cells": [],
        "cells_from": None,
    }


def _add_wikitable(source: Path, folder: BenchmarkFolder, table: str) -> None:
    group, number = table.split("_")
    with reading(source / "csv" / f"{group}-csv" / f"{number}.tsv") as path:
        rows = [[_unescaped(cell) for cell in line] for line in _tsv(path)]
        page = source / "page" / f"{group}-page" / f"{number}.json"
        title = read_json(page).get("title", "") if page.exists() else ""
        folder.add_table(table, rows, title=title)


def _tsv(path: Path) -> list[list[str]]:
    return [line.split("\t") for line in path.read_text(encoding="utf-8").split("\n") if line]


def _unescaped(text: str) -> str:
    return re.sub(r"\\[np\\]", lambda match: ESCAPES[match[0]], text)


def load_fetaqa(source: Path, out: Path) -> int:
    """FeTaQA: ``data/fetaQA-v1_<split>.jsonl``; gold cells are the highlighted ones."""
    folder, count = BenchmarkFolder(out), 0
    for path in sorted(inner(source, "data").glob("fetaQA-v1_*.jsonl")):
        with reading(path):
            items = list(read_json_lines(path))
            for item in items:
                folder.add_table(
                    f"feta_{item['feta_id']}",
                    item["table_array"],
                    title=item.get("table_page_title"),
                    heading=[item["table_section_title"]] if item.get("table_section_title") else [],
                )
            count += folder.write_questions(path.stem.removeprefix("fetaQA-v1_"), map(_fetaqa, items))
    return count


def _fetaqa(item: Mapping[str, Any]) -> dict[str, Any]:
    table = f"feta_{item['feta_id']}"
    return {
        "id": str(item["feta_id"]),
        "question": item["question"],
        "answers": [item["answer"]],
        "tables": [table],
        "cells": [[table, row - 1, column] for row, column in item["highlighted_cell_ids"]],
        "cells_from": "highlighted",
    }


def load_ottqa(source: Path, out: Path) -> int:
    """OTT-QA: ``released_data/<split>.traced.json``, ``data/traindev_tables_tok/``; gold: answer nodes.

    A split without traces (``<split>.json``) has no gold cells.
    """
    folder, count = BenchmarkFolder(out), 0
    for split in ("train", "dev"):
        paths = [source / "released_data" / f"{split}{kind}.json" for kind in (".traced", "")]
        for path in [path for path in paths if path.exists()][:1]:
            with reading(path):
                items = read_json(path)
                for id in dict.fromkeys(item["table_id"] for item in items):
                    _add_ottqa_table(source, folder, id)
                count += folder.write_questions(split, map(_ottqa, items))
    return count


def _add_ottqa_table(source: Path, folder: BenchmarkFolder, id: str) -> None:
    with reading(source / "data" / "traindev_tables_tok" / f"{id}.json") as path:
        table = read_json(path)
        rows = [[cell[0] for cell in row] for row in (table["header"], *table["data"])]
        heading = [table["section_title"]] if table.get("section_title") else []
        before = [text for text in (table.get("intro"), table.get("section_text")) if text]
        folder.add_table(id, rows, title=table.get("title"), heading=heading, pre_text=before)


def _ottqa(item: Mapping[str, Any]) -> dict[str, Any]:
    nodes = [node for node in item.get("answer-node", []) if node[3] == "table"]
    return {
        "id": item["question_id"],
        "question": item["question"],
        "answers": [item["answer-text"]] if "answer-text" in item else [],
        "tables": [item["table_id"]],
        "cells": [[item["table_id"], *node[1]] for node in nodes],
        "cells_from": "answer-node" if nodes else None,
    }


def load_tabfact(source: Path, out: Path) -> int:
    """TabFact: ``collected_data/r1_training_all.json`` and ``r2_…``; tables in ``data/all_csv``.

    A statement is a question whose answer is 1 (entailed) or 0 (refuted). Splits come from
    ``data/<split>_id.json`` if present; otherwise all statements form the split ``all``.
    """
    folder, statements = BenchmarkFolder(out), list[tuple[str, dict[str, Any]]]()
    counted: Counter[str] = Counter()
    for path in sorted((source / "collected_data").glob("r?_training_all.json")):
        with reading(path):
            for table, (texts, labels, caption) in read_json(path).items():
                _add_tabfact_table(source, folder, table, caption)
                statements += _tabfact(table, texts, labels, counted[table])
                counted[table] += len(texts)  # some tables have simple and complex statements
    splits = {path.stem.removesuffix("_id"): path for path in sorted((source / "data").glob("*_id.json"))}
    if not splits:
        return folder.write_questions("all", (item for _, item in statements))
    count = 0
    for split, path in splits.items():
        with reading(path):
            ids = set(read_json(path))
            count += folder.write_questions(split, (item for table, item in statements if table in ids))
    return count


def _add_tabfact_table(source: Path, folder: BenchmarkFolder, table: str, caption: str) -> None:
    with (
        reading(source / "data" / "all_csv" / table) as path,
        path.open(encoding="utf-8", newline="") as file,
    ):
        rows = list(csv.reader(file, delimiter="#", quoting=csv.QUOTE_NONE))
        folder.add_table(_tabfact_id(table), rows, caption=caption)


def _tabfact(
    table: str, texts: Sequence[str], labels: Sequence[int], first: int
) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, (text, label) in enumerate(zip(texts, labels, strict=True), first):
        id = _tabfact_id(table)
        yield (
            table,
            {
                "id": f"{id}-{number}",
                "question": text,
                "answers": [str(label)],
                "label": label,
                "tables": [id],
                "cells": [],
                "cells_from": None,
            },
        )


def _tabfact_id(table: str) -> str:
    return "tf_" + table.removesuffix(".html.csv")
