"""Each distribution in miniature, laid out as the official one."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

GRID = [["Team", "Points"], ["Rovers", "12"], ["United", "9"]]


def write(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")


def lines(*items: object) -> str:
    return "".join(json.dumps(item) + "\n" for item in items)


def wikitablequestions(folder: Path) -> None:
    header = "id\tutterance\tcontext\ttargetValue\n"
    write(folder / "data" / "dev.tsv", f"{header}nt-1\twho leads?\tcsv/204-csv/5.csv\tRovers|a\\pb\n")
    write(folder / "csv" / "204-csv" / "5.tsv", "Team\tPoints\nRovers\\nFC\t12\n")
    write(folder / "page" / "204-page" / "5.json", {"title": "League"})


def tatqa(folder: Path) -> None:
    question = {"uid": "q", "question": "?", "answer": ["12"], "scale": "million"}
    page = {
        "table": {"uid": "t", "table": GRID},
        "paragraphs": [{"order": 2, "text": "after"}, {"order": 1, "text": "first"}],
        "questions": [question | {"mapping": {"table": [[1, 1]]}}],
    }
    write(folder / "dataset_raw" / "tatqa_dataset_dev.json", [page])


def finqa(folder: Path) -> None:
    gold = {"question": "?", "exe_ans": 0.5, "gold_inds": {"table_1": "x", "text_0": "y"}}
    page = {"id": "A/2008/p.pdf-1", "pre_text": ["a"], "post_text": ["b"], "table": GRID, "qa": gold}
    write(folder / "dataset" / "dev.json", [page])


def hitab(folder: Path) -> None:
    linked = {"entity_link": {"top": {"x": {"(0, 1)": "Points"}}}, "quantity_link": {"x": {"(2, 1)": 9.0}}}
    item = {"id": "h1", "table_id": "7", "question": "?", "answer": [9.0], "linked_cells": linked}
    write(folder / "data" / "dev_samples.jsonl", lines(item))
    write(folder / "data" / "tables" / "raw" / "7.json", {"title": "Clubs", "texts": GRID})


def fetaqa(folder: Path) -> None:
    item = {
        "feta_id": 4, "table_array": GRID, "question": "?", "answer": "Rovers lead.",
        "highlighted_cell_ids": [[1, 0], [1, 1]], "table_page_title": "League", "table_section_title": "Table",
    }  # fmt: skip
    write(folder / "data" / "fetaQA-v1_dev.jsonl", lines(item))


def ottqa(folder: Path) -> None:
    item = {
        "question_id": "o1", "question": "?", "table_id": "League_0", "answer-text": "12",
        "answer-node": [["12", [0, 1], None, "table"], ["12", [0, 0], "/wiki/R", "passage"]],
    }  # fmt: skip
    table = {
        "title": "League",
        "header": [["Team", []], ["Points", []]],
        "data": [[["Rovers", ["/wiki/R"]], ["12", []]]],
    }
    write(folder / "released_data" / "dev.traced.json", [item])
    del item["answer-node"]
    write(folder / "released_data" / "dev.json", [item])
    write(folder / "data" / "traindev_tables_tok" / "League_0.json", table)


def tabfact(folder: Path) -> None:
    statements = {"2-1-1.html.csv": [["rovers lead", "united lead"], [1, 0], "league"]}
    write(folder / "collected_data" / "r1_training_all.json", statements)
    write(folder / "data" / "all_csv" / "2-1-1.html.csv", 'team#points\n"rovers#12\n')
    write(folder / "data" / "val_id.json", ["2-1-1.html.csv"])


def spider(folder: Path) -> None:
    path = folder / "database" / "league" / "league.sqlite"
    path.parent.mkdir(parents=True)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE Team (name TEXT, points INT)")
        connection.execute("CREATE TABLE coach (name TEXT)")
        connection.executemany("INSERT INTO Team VALUES (?, ?)", [("Rovers", 12), ("United", None)])
    sql = "SELECT name FROM team WHERE name <> 'coach' ORDER BY name"
    items = [{"db_id": "league", "question": q, "query": s} for q, s in (("?", sql), ("??", "SELECT x"))]
    write(folder / "dev.json", items)


def multitableqa(folder: Path) -> None:
    part = {"source_table_idx": 3, "caption": "League", "example_query": ["a leak"]}
    tables = [part | {"table_idx": n, "table": {"header": GRID[0], "rows": [GRID[n]]}} for n in (1, 2)]
    write(folder / "wtq_table.jsonl", lines(*tables))
    write(folder / "wtq_query.jsonl", lines({"query": "?", "label": ["12"], "source_table_idx": 3}))
