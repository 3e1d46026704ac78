"""Evaluate `hybrid` with the recorded labels of ``scripts/benchmarks/labels.jsonl`` against labels by rules.

    python scripts/eval_labels.py FOLDER --kg DIR [--split NAME] [--half even|odd]

FOLDER is a benchmark folder that labels were recorded for, DIR its graph. Prints Recall@k of cells and tables, and
the difference to rules with a 95 % bootstrap interval, also for labels that hold nothing of the graph.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

import kgtable
from kgtable.evaluation.benchmark import Benchmark, BenchmarkQuestion
from kgtable.index.substring import folded
from kgtable.llm.scripted import ScriptedLLM
from kgtable.retrieval.cell_scores import Weights
from kgtable.retrieval.hybrid import HybridRetriever
from kgtable.retrieval.labels import extract_labels
from kgtable.retrieval.result import Clock, Guide

RECORDED = Path(__file__).parent / "benchmarks" / "labels.jsonl"
BUDGETS = (10, 100, 1_000)
TABLES = 10
NONSENSE = ("qzxv wlurp", "blorfington", "xqqz")
Labels = Callable[[BenchmarkQuestion], tuple[str, ...]]


def recorded(corpus: str) -> dict[str, tuple[str, ...]]:
    """The labels of a corpus by the id of the question, folded."""
    lines = map(json.loads, RECORDED.read_text(encoding="utf-8").splitlines())
    return {line["id"]: tuple(map(folded, line["labels"])) for line in lines if line["corpus"] == corpus}


def recalls(
    kg: kgtable.KnowledgeGraph,
    questions: Sequence[BenchmarkQuestion],
    labels: Labels,
    *,
    model: bool,
    weights: Weights | None = None,
) -> np.ndarray:
    """Recall of each question, shape (questions, 4): of cells at each budget, and of tables."""
    guide = Guide(ScriptedLLM([]) if model else None, rerank=False)
    retriever = HybridRetriever(kg.store, kg.names, kg.index, weights=weights)
    rows = []
    for question in questions:
        found = retriever.retrieve_labelled(question.text, labels(question), BUDGETS[-1], guide, Clock(), {})
        places = [tuple(at) for at in found.addresses]
        gold, tables = set(map(tuple, question.cells)), {cell[0] for cell in question.cells}
        of_cells = [len(gold & set(places[:k])) / len(gold) for k in BUDGETS]
        rows.append([*of_cells, len(tables & {table.table for table in found.tables[:TABLES]}) / len(tables)])
    return np.array(rows)


def told(name: str, found: np.ndarray, base: np.ndarray) -> str:
    """One line: each measure, its difference to `base` and the interval of that."""
    parts = [f"{name:<9}"]
    difference, random = found - base, np.random.default_rng(0)
    drawn = difference[random.integers(0, len(found), (2_000, len(found)))].mean(axis=1)
    low, high = np.percentile(drawn, (2.5, 97.5), axis=0)
    for place, measure in enumerate((*(f"cells@{k}" for k in BUDGETS), f"tables@{TABLES}")):
        parts.append(f"{measure} {found[:, place].mean():.3f}")
        if found is not base:
            parts.append(f"({difference[:, place].mean():+.3f} [{low[place]:+.3f}, {high[place]:+.3f}])")
    return "  ".join(parts)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kg", type=Path, required=True)
    parser.add_argument("--split", default="dev")
    parser.add_argument("--half", choices=("even", "odd"))
    options = parser.parse_args()
    known = recorded(options.folder.name)
    questions = [q for q in Benchmark(options.folder).questions(options.split) if q.id in known and q.cells]
    if options.half:
        questions = questions[options.half == "odd" :: 2]
    with kgtable.open(options.kg) as kg:
        base = recalls(kg, questions, lambda question: extract_labels(question.text, kg.index), model=False)
        print(f"{len(questions)} questions of {options.folder.name}")
        print(told("rules", base, base))
        print(told("recorded", recalls(kg, questions, lambda question: known[question.id], model=True), base))
        print(told("nonsense", recalls(kg, questions, lambda question: NONSENSE, model=True), base))


if __name__ == "__main__":
    main()
