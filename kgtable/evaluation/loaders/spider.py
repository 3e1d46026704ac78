"""Spider: questions about databases of several tables, with their SQL."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from kgtable.errors import BenchmarkError
from kgtable.evaluation.loaders.folder import BenchmarkFolder, read_json, reading

MOST_ROWS = 2_000
MOST_STEPS = 50_000_000
"""SQLite instructions a gold query may take before it is given up."""


def load_spider(source: Path, out: Path) -> int:
    """Spider: ``dev.json``, ``train_spider.json`` and ``database/<db>/<db>.sqlite``.

    The answers are what the gold SQL gives; the gold tables those it names.
    """
    folder, count = BenchmarkFolder(out), 0
    for split, name in (("dev", "dev.json"), ("train", "train_spider.json")):
        path = source / name
        if path.exists():
            with reading(path):
                items = read_json(path)
                tables = {db: _add_database(source, folder, db) for db in sorted({i["db_id"] for i in items})}
                questions = (
                    _spider(source, f"spider-{split}-{number}", item, tables[item["db_id"]])
                    for number, item in enumerate(items)
                )
                count += folder.write_questions(split, questions)
    return count


def _open(source: Path, database: str) -> sqlite3.Connection:
    path = source / "database" / database / f"{database}.sqlite"
    if not path.exists():
        raise BenchmarkError(f"{path} is not there.", hint="Unpack Spider's databases beside its questions.")
    connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
    return connection


def _add_database(source: Path, folder: BenchmarkFolder, database: str) -> tuple[str, ...]:
    with closing(_open(source, database)) as connection:
        names = [
            row[0]
            for row in connection.execute(
                "SELECT name FROM sqlite_master "
                "WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
            )
        ]
        for name in names:
            quoted = '"' + name.replace('"', '""') + '"'
            cursor = connection.execute(f"SELECT * FROM {quoted}")  # noqa: S608  (a name from the schema)
            header = [column[0] for column in cursor.description]
            folder.add_table(f"{database}__{name}", [header, *cursor], title=name, heading=[database])
    return tuple(names)


def _spider(source: Path, id: str, item: Mapping[str, Any], tables: tuple[str, ...]) -> dict[str, Any]:
    words = {word.lower() for word in re.findall(r"\w+", re.sub(r"'[^']*'|\"[^\"]*\"", " ", item["query"]))}
    rows, fault = _answers(source, item["db_id"], item["query"])
    question = {
        "id": id,
        "question": item["question"],
        "answers": ["" if value is None else str(value) for row in rows for value in row],
        "tables": [f"{item['db_id']}__{name}" for name in tables if name.lower() in words],
        "cells": [],
        "cells_from": None,
        "db": item["db_id"],
        "sql": item["query"],
    }
    return question | ({"sql_fault": fault} if fault else {})


def _answers(source: Path, database: str, sql: str) -> tuple[list[tuple[Any, ...]], str]:
    with closing(_open(source, database)) as connection:
        connection.set_progress_handler(lambda: 1, MOST_STEPS)
        try:
            return connection.execute(sql).fetchmany(MOST_ROWS), ""
        except sqlite3.Error as error:
            return [], str(error)
