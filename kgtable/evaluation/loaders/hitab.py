"""HiTab: questions about statistical tables with headers of several levels."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kgtable.evaluation.loaders.folder import BenchmarkFolder, inner, read_json, read_json_lines, reading


def load_hitab(source: Path, out: Path) -> int:
    """HiTab: ``data/<split>_samples.jsonl`` and ``data/tables/raw/``; cells of the answer are gold."""
    folder, count = BenchmarkFolder(out), 0
    data = inner(source, "data")
    for path in sorted(data.glob("*_samples.jsonl")):
        with reading(path):
            items = list(read_json_lines(path))
            for id in dict.fromkeys(item["table_id"] for item in items):
                with reading(data / "tables" / "raw" / f"{id}.json") as file:
                    table = read_json(file)
                    folder.add_table(id, table["texts"], title=table.get("title"))
            count += folder.write_questions(path.stem.removesuffix("_samples"), map(_hitab, items))
    return count


def _hitab(item: Mapping[str, Any]) -> dict[str, Any]:
    cells = sorted(set(_positions(item.get("linked_cells", {}).get("quantity_link", {}))))
    return {
        "id": item["id"],
        "question": item["question"],
        "answers": [str(answer) for answer in item["answer"]],
        "tables": [item["table_id"]],
        "cells": [[item["table_id"], row - 1, column] for row, column in cells],
        "cells_from": "linked" if cells else None,
        "aggregation": item.get("aggregation"),
    }


def _positions(linked: object) -> Iterator[tuple[int, int]]:
    if isinstance(linked, Mapping):
        for key, value in linked.items():
            if key.startswith("(") and not isinstance(value, Mapping):
                row, column = ast.literal_eval(key)
                yield int(row), int(column)
            else:
                yield from _positions(value)
