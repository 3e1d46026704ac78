from __future__ import annotations

import json
from pathlib import Path

from kgtable.evaluation.benchmark import Benchmark
from scripts.benchmarks.loaders import load_dataset


def test_hybridqa_keeps_answer_cells_and_linked_passages(tmp_path: Path) -> None:
    nodes = [["12", [0, 1], None, "table"], ["Rovers", [0, 0], "/wiki/Rovers", "passage"]]
    question = {"question_id": "h", "question": "?", "table_id": "Clubs_0", "answer-text": "12", "answer-node": nodes}
    table = {
        "title": "Clubs",
        "header": [["Team", []], ["Points", []]],
        "data": [[["Rovers", ["/wiki/R"]], ["12", []]]],
    }
    files = {
        "released_data/dev.json": [question],
        "WikiTables-WithLinks/tables_tok/Clubs_0.json": table,
        "WikiTables-WithLinks/request_tok/Clubs_0.json": {"/wiki/R": "The Rovers play in Hull ."},
    }
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(json.dumps(content), encoding="utf-8")
    assert load_dataset("hybridqa", tmp_path, tmp_path / "out") == 1
    (found,) = Benchmark(tmp_path / "out").questions("dev")
    assert (found.answers, found.tables, found.cells) == (("12",), ("Clubs_0",), (("Clubs_0", 1, 1),))
    assert (tmp_path / "out/tables/Clubs_0.csv").read_text(encoding="utf-8").split() == ["Team,Points", "Rovers,12"]
    beside = json.loads((tmp_path / "out/tables/Clubs_0.json").read_text(encoding="utf-8"))
    assert beside == {"title": "Clubs", "paragraphs": ["The Rovers play in Hull ."]}
