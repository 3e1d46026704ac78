"""A benchmark of two tables and five questions, and the graph built of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import kgtable
from kgtable.evaluation.benchmark import Benchmark

TABLES = {
    "ports.csv": "Port,Country,Ships\nSkarv,Norway,31\nFjell,Norway,44\nHalden,Sweden,28\n",
    "rivers.csv": "River,Length in km\nRhine,1230\nElbe,1094\n",
    "prizes.csv": "Prize,Year\nPhysics,1903\nChemistry,1911\n",
}
QUESTIONS: tuple[dict[str, Any], ...] = (
    {"id": "q1", "question": "How many ships has the port Fjell?", "answers": ["44"], "tables": ["ports"],
     "cells": [["ports", 1, 2]], "cells_from": "squall"},
    {"id": "q2", "question": "How long is the river Rhine?", "answers": ["1230"], "tables": ["rivers"],
     "cells": [["rivers", 0, 1]], "cells_from": "answer"},
    {"id": "q3", "question": "Which ports of Norway are listed?", "answers": ["Skarv", "Fjell"],
     "tables": ["ports"], "cells": [["ports", 0, 0], ["ports", 1, 0]], "cells_from": "squall"},
    {"id": "q4", "question": "The prize of physics was given in 1911.", "answers": ["0"], "label": 0,
     "tables": ["prizes"], "cells": []},
    {"id": "q5", "question": "Which wind blows?", "answers": ["<b>none</b>"], "tables": ["rivers", "prizes"]},
)  # fmt: skip


def write_benchmark(folder: Path, questions: tuple[dict[str, Any], ...] = QUESTIONS) -> Benchmark:
    """The benchmark folder, with the questions as its split ``dev``."""
    (folder / "tables").mkdir(parents=True)
    for name, text in TABLES.items():
        (folder / "tables" / name).write_text(text, encoding="utf-8")
    lines = "".join(json.dumps(question) + "\n" for question in questions)
    (folder / "questions.dev.jsonl").write_text(lines, encoding="utf-8")
    return Benchmark(folder)


def build(benchmark: Benchmark, folder: Path) -> kgtable.KnowledgeGraph:
    """The graph of the benchmark's tables."""
    return kgtable.build(benchmark.tables, folder, embedding="none")


def answer(text: str, *citations: str, found: bool = True) -> dict[str, Any]:
    """A reply as the answer stage asks for."""
    return {
        "reasoning": "It is there.", "citations": list(citations), "program": None, "found": found, "answer": text,
        "alternatives": [],
    }  # fmt: skip
