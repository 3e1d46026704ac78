"""MultiTableQA (T-RAG): ``<name>_table.jsonl`` and ``<name>_query.jsonl``, one line a sub-table or query."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from kgtable.errors import BenchmarkError
from kgtable.evaluation.loaders.folder import BenchmarkFolder, read_json_lines, reading

FACTS = "tabfact"
"""The data set whose labels are 1 for true and 0 for false."""


def load_multitableqa(source: Path, out: Path) -> int:
    """Every data set of the collection in the folder is one split; all share the tables.

    The gold tables of a query are all sub-tables made from its source table, and all of them are needed,
    as T-RAG counts it. The queries of ``tabfact`` are statements. The example queries that come with the
    tables are left out: they are questions of the data set and would leak into retrieval.
    """
    folder, count = BenchmarkFolder(out), 0
    for path in sorted(source.rglob("*_table.jsonl")):
        name = path.name.removesuffix("_table.jsonl")
        with reading(path):
            parts = _add_tables(path, name, folder)
        queries = path.with_name(f"{name}_query.jsonl")
        with reading(queries):
            items = [
                _query(item, name, number, parts) for number, item in enumerate(read_json_lines(queries))
            ]
            count += folder.write_questions(name, items)
    return count


def _add_tables(path: Path, name: str, folder: BenchmarkFolder) -> dict[str, list[str]]:
    parts: dict[str, list[str]] = {}
    for item in read_json_lines(path):
        id = f"{name}_{item['table_idx']}"
        table = item["table"]
        folder.add_table(id, [table["header"], *table["rows"]], caption=item.get("caption"))
        parts.setdefault(str(item["source_table_idx"]), []).append(id)
    return parts


def _query(item: Mapping[str, Any], name: str, number: int, parts: Mapping[str, list[str]]) -> dict[str, Any]:
    answers = _answers(item["label"])
    question = {
        "id": f"{name}-{number}",
        "question": item["query"],
        "answers": answers,
        "tables": _gold(item["source_table_idx"], name, parts),
        "cells": [],
        "cells_from": None,
    }
    return question | ({"label": int(answers[0])} if name == FACTS else {})


def _answers(label: object) -> list[str]:
    """The answers in a query's ``label``: a list, a list written as text, or one value."""
    if isinstance(label, str) and label.startswith("["):
        with suppress(ValueError, SyntaxError):
            label = ast.literal_eval(label)
    return [str(answer) for answer in (label if isinstance(label, list) else [label])]


def _gold(source: object, name: str, parts: Mapping[str, list[str]]) -> list[str]:
    if str(source) not in parts:
        raise BenchmarkError(f"A query of {name} names the source table {source}, which no sub-table has.")
    return parts[str(source)]
