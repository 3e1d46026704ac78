"""MultiTableQA (T-RAG): ``<name>_table.jsonl`` and ``<name>_query.jsonl``, one line a sub-table or query."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kgtable.errors import BenchmarkError
from kgtable.evaluation.loaders.folder import BenchmarkFolder, read_json_lines, reading


def load_multitableqa(source: Path, out: Path) -> int:
    """Every data set of the collection in the folder is one split; all share the tables.

    The gold tables of a query are the sub-tables it names or, where it names their source, all
    sub-tables made from that source. The example queries that come with the tables are left out: they
    are questions of the data set and would leak into retrieval.
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
    answers = item.get("answers", item.get("answer", []))
    return {
        "id": str(item.get("query_idx", item.get("id", f"{name}-{number}"))),
        "question": item["query"] if "query" in item else item["question"],
        "answers": [str(answer) for answer in (answers if isinstance(answers, list) else [answers])],
        "tables": _gold(item, name, parts),
        "cells": [],
        "cells_from": None,
    }


def _gold(item: Mapping[str, Any], name: str, parts: Mapping[str, list[str]]) -> list[str]:
    for key in ("ground_truth_sub_table_idx", "sub_table_idx", "table_idx"):
        if key in item:
            found = item[key] if isinstance(item[key], list) else [item[key]]
            return [f"{name}_{index}" for index in found]
    sources = item["source_table_idx"]
    found = sources if isinstance(sources, list) else [sources]
    unknown = [source for source in found if str(source) not in parts]
    if unknown:
        raise BenchmarkError(
            f"A query of {name} names the source table {unknown[0]}, which no sub-table has."
        )
    return [id for source in found for id in parts[str(source)]]
