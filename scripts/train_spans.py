"""Learn the weights of spans (`kgtable.systems.documents.extraction`) from questions about texts.

    python scripts/train_spans.py BENCH/tatqa KG [--write]

Questions of TAT-QA's dev set that are answered by one span of the text train a conditional logit model over the
candidate spans of the passages that are retrieved. What it is worth is shown by cross-validation, no table in two
folds; the weights that are written come from all.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

import kgtable
from kgtable.evaluation.answer_metrics import exact_match
from kgtable.resources import PACKAGE
from kgtable.systems.documents.extraction import AskedText, CandidateSpan, candidate_spans

FOLDS = 5
ROUNDS, RATE, DECAY = 250, 0.3, 1e-2


def spans_of(graph: kgtable.KnowledgeGraph, question: str) -> list[CandidateSpan]:
    """The candidate spans of a question, as `extract` has them."""
    asked = AskedText(question, graph.retrieve(question, 50, "documents").passages[:3])
    ranked = sorted(asked.sentences(), key=lambda found: -found.fit)[:2]
    return [span for sentence in ranked for span in candidate_spans(asked, sentence)]


def trained(tables: list[tuple[int, np.ndarray, np.ndarray]], size: int) -> np.ndarray:
    """The weights of a conditional logit model with quadratic decay, by Adagrad."""
    weights, squares = np.zeros(size), np.full(size, 1e-6)
    train = [(table, right) for _, table, right in tables if right.any()]
    for _ in range(ROUNDS):
        gradient = -DECAY * len(train) * weights
        for table, right in train:
            logits = table @ weights
            powers = np.exp(logits - logits.max())
            shares = powers / powers.sum()
            among = shares * right / max((shares * right).sum(), 1e-12)
            gradient += (among - shares) @ table
        squares += gradient**2
        weights += RATE * gradient / np.sqrt(squares)
    return weights


def main() -> None:
    """Train, show the exact matches of the other half, and write the weights if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("benchmark", type=Path)
    parser.add_argument("graph", type=Path)
    parser.add_argument("--write", action="store_true")
    chosen = parser.parse_args()
    lines = (chosen.benchmark / "questions.dev.jsonl").read_text(encoding="utf-8").splitlines()
    asked = [json.loads(line) for line in lines]
    wanted = [
        (n, q) for n, q in enumerate(asked) if q["answer_from"] == "text" and q["answer_type"] == "span"
    ]
    names: dict[str, int] = {}
    sets: list[tuple[int, list[CandidateSpan], np.ndarray, np.ndarray]] = []
    with kgtable.open(chosen.graph) as graph:
        tables_met: dict[str, int] = {}
        for _, question in wanted:
            number = tables_met.setdefault(question["tables"][0], len(tables_met))
            spans = spans_of(graph, question["question"])
            right = np.array(
                [exact_match([span.extract.text], question["answers"]) for span in spans], dtype=bool
            )
            for span in spans:
                for name, _ in span.features:
                    names.setdefault(name, len(names))
            sets.append((number, spans, right, np.zeros(0)))
    tables = []
    hits: list[bool] = []
    for number, spans, right, _ in sets:
        table = np.zeros((len(spans), len(names)))
        for row, span in enumerate(spans):
            for name, value in span.features:
                table[row, names[name]] += value
        tables.append((number, table, right))
    for fold in range(FOLDS):
        weights = trained([item for item in tables if item[0] % FOLDS != fold], len(names))
        held_out = [item for item in tables if item[0] % FOLDS == fold]
        hits += [
            bool(len(right)) and bool(right[int(np.argmax(table @ weights))]) for _, table, right in held_out
        ]
    could = sum(bool(right.any()) for _, _, right in tables)
    print(f"cross-validated: {sum(hits)} of {len(tables)} exact, {could} among the candidates")
    weights = trained(tables, len(names))
    if chosen.write:
        known = {
            name: round(float(weights[at]), 4)
            for name, at in sorted(names.items())
            if abs(weights[at]) > 0.01
        }
        path = PACKAGE / "systems" / "documents" / "span_weights.json"
        path.write_text(json.dumps(known, indent=0) + "\n", encoding="utf-8")
        print(f"{len(known)} weights")


if __name__ == "__main__":
    main()
