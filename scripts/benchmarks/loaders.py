"""Convert official distributions to benchmark folders.

Of Wikipedia tables: WikiTableQuestions, FeTaQA, OTT-QA, HybridQA and TabFact; others: TAT-QA, FinQA, HiTab,
MultiTableQA, Spider.
"""

from __future__ import annotations

import ast
import csv
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any

from kgtable.errors import BenchmarkError
from scripts.benchmarks.folder import (
    BenchmarkFolder,
    file_name,
    inner,
    read_json,
    read_json_lines,
    reading,
)

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


def load_ottqa(source: Path, out: Path, tables: str = "data/traindev_tables_tok", passages: str = "") -> int:
    """OTT-QA: ``released_data/<split>.traced.json``, ``data/traindev_tables_tok/``; gold: answer nodes.

    A split without traces (``<split>.json``) has gold cells where its questions have answer nodes.
    """
    folder, count = BenchmarkFolder(out), 0
    for split in ("train", "dev"):
        paths = [source / "released_data" / f"{split}{kind}.json" for kind in (".traced", "")]
        for path in [path for path in paths if path.exists()][:1]:
            with reading(path):
                items = read_json(path)
                for id in dict.fromkeys(item["table_id"] for item in items):
                    linked = read_json(source / passages / f"{id}.json") if passages else {}
                    _add_ottqa_table(source / tables / f"{id}.json", folder, id, list(linked.values()))
                count += folder.write_questions(split, map(_ottqa, items))
    return count


def load_hybridqa(source: Path, out: Path) -> int:
    """HybridQA: as OTT-QA, with tables and the passages they link to in ``WikiTables-WithLinks/``."""
    return load_ottqa(source, out, "WikiTables-WithLinks/tables_tok", "WikiTables-WithLinks/request_tok")


def _add_ottqa_table(source: Path, folder: BenchmarkFolder, id: str, paragraphs: Sequence[str]) -> None:
    with reading(source) as path:
        table = read_json(path)
        rows = [[cell[0] for cell in row] for row in (table["header"], *table["data"])]
        heading = [table["section_title"]] if table.get("section_title") else []
        before = [text for text in (table.get("intro"), table.get("section_text")) if text]
        folder.add_table(id, rows, title=table.get("title"), heading=heading, pre_text=before, paragraphs=paragraphs)


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


def load_tatqa(source: Path, out: Path) -> int:
    """TAT-QA: ``dataset_raw/tatqa_dataset_<split>.json``; gold cells from ``mapping`` if present.

    The test split is read with its answers (``…_test_gold.json``) if they are there.
    """
    folder, count = BenchmarkFolder(out), 0
    for path in sorted(inner(source, "dataset_raw").glob("tatqa_dataset_*.json")):
        if path.with_name(f"{path.stem}_gold.json").exists():
            continue
        with reading(path):
            pages = read_json(path)
            for page in pages:
                texts = [p["text"] for p in sorted(page["paragraphs"], key=lambda p: p["order"])]
                folder.add_table(page["table"]["uid"], page["table"]["table"], paragraphs=texts)
            split = path.stem.removeprefix("tatqa_dataset_").removesuffix("_gold")
            count += folder.write_questions(split, (q for page in pages for q in _tatqa(page)))
    return count


def _tatqa(page: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    table = page["table"]["uid"]
    for question in page["questions"]:
        answer = question.get("answer", [])
        places = (question.get("mapping") or {}).get("table", [])
        yield {
            "id": question["uid"],
            "question": question["question"],
            "answers": [str(value) for value in (answer if isinstance(answer, list) else [answer])],
            "tables": [table],
            "cells": [[table, row - 1, column] for row, column in places],
            "cells_from": "mappings" if places else None,
            "scale": question.get("scale", ""),
            "derivation": question.get("derivation", ""),
            "answer_type": question.get("answer_type"),
            "answer_from": question.get("answer_from"),
        }


def load_finqa(source: Path, out: Path) -> int:
    """FinQA: ``dataset/<split>.json``; gold cells are the cells of the rows in ``gold_inds``."""
    folder, count = BenchmarkFolder(out), 0
    for split in ("train", "dev", "test"):
        path = inner(source, "dataset") / f"{split}.json"
        if path.exists():
            with reading(path):
                pages = read_json(path)
                for page in pages:
                    folder.add_table(
                        file_name(page["id"]),
                        page["table"],
                        pre_text=page["pre_text"],
                        post_text=page["post_text"],
                    )
                count += folder.write_questions(split, map(_finqa, pages))
    return count


def _finqa(page: Mapping[str, Any]) -> dict[str, Any]:
    gold = page["qa"]
    rows = sorted(int(key.split("_")[1]) for key in gold.get("gold_inds", {}) if key.startswith("table_"))
    answer = gold.get("exe_ans", gold.get("answer"))
    table = file_name(page["id"])
    return {
        "id": page["id"],
        "question": gold["question"],
        "answers": [str(answer)],
        "tables": [table],
        "cells": [[table, row - 1, c] for row in rows for c in range(1, len(page["table"][row]))],
        "cells_from": "gold_inds" if rows else None,
        "derivation": gold.get("program", ""),
    }


def load_hitab(source: Path, out: Path) -> int:
    """HiTab: ``data/<split>_samples.jsonl`` and ``data/tables/raw/``; gold cells are the answer's cells."""
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


FACTS = "tabfact"
"""The data set whose labels are 1 for true and 0 for false."""


def load_multitableqa(source: Path, out: Path) -> int:
    """MultiTableQA: each data set of the collection becomes a split; all splits share the tables.

    The gold tables of a query are all sub-tables of its source table, and all are required, as in T-RAG's
    evaluation. Queries of ``tabfact`` are statements. The example queries stored with the tables are left
    out: they are questions of the data set and would leak into retrieval.
    """
    folder, count = BenchmarkFolder(out), 0
    for path in sorted(source.rglob("*_table.jsonl")):
        name = path.name.removesuffix("_table.jsonl")
        with reading(path):
            parts = _add_tables(path, name, folder)
        queries = path.with_name(f"{name}_query.jsonl")
        with reading(queries):
            items = [_query(item, name, number, parts) for number, item in enumerate(read_json_lines(queries))]
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
    """The answers in a query's ``label``: a list, a list written as text, or a single value."""
    if isinstance(label, str) and label.startswith("["):
        with suppress(ValueError, SyntaxError):
            label = ast.literal_eval(label)
    return [str(answer) for answer in (label if isinstance(label, list) else [label])]


def _gold(source: object, name: str, parts: Mapping[str, list[str]]) -> list[str]:
    if str(source) not in parts:
        raise BenchmarkError(f"A query of {name} names the source table {source}, which no sub-table has.")
    return parts[str(source)]


MOST_ROWS = 2_000
MOST_STEPS = 50_000_000
"""SQLite instructions a gold query may take before it is given up."""


def load_spider(source: Path, out: Path) -> int:
    """Spider: ``dev.json``, ``train_spider.json`` and ``database/<db>/<db>.sqlite``.

    Answers are the results of the gold SQL; gold tables are the tables it names.
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
                "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
            )
        ]
        for name in names:
            quoted = '"' + name.replace('"', '""') + '"'
            cursor = connection.execute(f"SELECT * FROM {quoted}")
            header = [column[0] for column in cursor.description]
            folder.add_table(f"{database}__{name}", [header, *cursor], title=name, heading=[database])
    return tuple(names)


def _spider(source: Path, id: str, item: Mapping[str, Any], tables: tuple[str, ...]) -> dict[str, Any]:
    words = {word.lower() for word in re.findall(r"\w+", re.sub(r"'[^']*'|\"[^\"]*\"", " ", item["query"]))}
    rows, fault = _sql_answers(source, item["db_id"], item["query"])
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


def _sql_answers(source: Path, database: str, sql: str) -> tuple[list[tuple[Any, ...]], str]:
    with closing(_open(source, database)) as connection:
        connection.set_progress_handler(lambda: 1, MOST_STEPS)
        try:
            return connection.execute(sql).fetchmany(MOST_ROWS), ""
        except sqlite3.Error as error:
            return [], str(error)


LOADERS: Mapping[str, Callable[[Path, Path], int]] = MappingProxyType(
    {
        "fetaqa": load_fetaqa,
        "finqa": load_finqa,
        "hitab": load_hitab,
        "hybridqa": load_hybridqa,
        "multitableqa": load_multitableqa,
        "ottqa": load_ottqa,
        "spider": load_spider,
        "tabfact": load_tabfact,
        "tatqa": load_tatqa,
        "wikitablequestions": load_wikitablequestions,
    }
)


def load_dataset(name: str, source: Path, out: Path) -> int:
    """Convert the distribution in `source` to a benchmark folder `out`; returns the number of questions.

    Raises `BenchmarkError` for an unknown name, a file that is absent or laid out otherwise, and where
    the distribution holds no question.
    """
    if name not in LOADERS:
        raise BenchmarkError(f"There is no loader “{name}”.", hint=f"There are: {', '.join(LOADERS)}.")
    if not source.is_dir():
        raise BenchmarkError(f"{source} is not a folder.", hint="Unpack the distribution and give its folder.")
    count = LOADERS[name](source, out)
    if not count:
        raise BenchmarkError(f"{source} contains no question of {name}.", hint="Is it the right folder?")
    return count
