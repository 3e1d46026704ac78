"""Learn how places of documents, tables with the passages beside them, are ranked for the method `documents`.

    python scripts/train_places.py BENCH/tatqa KG [--write]

A conditional logit model over the places that were recalled for each question of TAT-QA's dev set, by the features of
`kgtable.systems.documents.place_ranking`. How often the right place is among the first is shown by cross-validation
over five folds, no table in two of them; the weights that are written come from all questions.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

import numpy as np
import scipy.optimize

import kgtable
from kgtable.evaluation.benchmark import Benchmark
from kgtable.resources import PACKAGE
from kgtable.systems.documents.passage_retrieval import DocumentRetriever
from kgtable.systems.documents.place_ranking import FEATURES

FOLDS, DECAY = 5, 0.003
SAID = ("words", "table-words", "sentence", "years", "header-years", "phrase-length")
"""What the question's words say of a place. Where several others have no less of any of these, the words cannot tell
which place is meant."""
DEPTHS = (1, 3, 5, 10, 30)


def loss(
    weights: np.ndarray, places: np.ndarray, there: np.ndarray, right: np.ndarray
) -> tuple[float, np.ndarray]:
    """Minus the mean logarithm of the right place's probability, and its slope."""
    scores = np.where(there, places @ weights, -1e9)
    shares = np.exp(scores - scores.max(1, keepdims=True))
    shares /= shares.sum(1, keepdims=True)
    rows = np.arange(len(right))
    lost = -float(np.log(np.maximum(shares[rows, right], 1e-12)).mean())
    shares[rows, right] -= 1
    slope = np.tensordot(shares, places, ((0, 1), (0, 1))) / len(right)
    return lost + DECAY * float(weights @ weights) / 2, slope + DECAY * weights


def main() -> None:
    """Collect the features, cross-validate, and write the weights if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("benchmark", type=Path)
    parser.add_argument("graph", type=Path)
    parser.add_argument("--write", action="store_true")
    chosen = parser.parse_args()
    os.environ["KGTABLE_MODEL"] = "none"
    rows, right, folds = [], [], []
    tables: dict[str, int] = {}
    with kgtable.open(chosen.graph) as graph:
        retriever = graph.retrievers.get("documents")
        assert isinstance(retriever, DocumentRetriever)
        for question in Benchmark(chosen.benchmark).questions("dev"):
            places, features = retriever.place_features(question.text, 50)
            gold = question.tables[0]
            rows.append(features)
            right.append(places.index(gold) if gold in places else -1)
            folds.append(tables.setdefault(gold, len(tables)) % FOLDS)
    most = max(map(len, rows))
    stacked = np.zeros((len(rows), most, len(FEATURES)))
    there = np.zeros((len(rows), most), dtype=bool)
    for number, features in enumerate(rows):
        stacked[number, : len(features)], there[number, : len(features)] = features, True
    gold_at, fold = np.array(right), np.array(folds)
    columns = [FEATURES.index(name) for name in SAID]
    rivals = [
        int((of[:, columns] >= of[at, columns] - 1e-6).all(1).sum()) - 1
        for of, at in zip(rows, right, strict=True)
        if at >= 0
    ]
    told = ", ".join(f"{least} or more: {sum(rival >= least for rival in rivals):,}" for least in (1, 5, 30))
    print(
        f"questions for which other places have no less of all that the words say: {told}, of {len(rows):,}"
    )
    deviation = stacked[there].std(0) + 1e-6
    stacked = (stacked - stacked[there].mean(0)) / deviation

    def learned(of: np.ndarray) -> np.ndarray:
        used = of[gold_at[of] >= 0]
        given = (stacked[used], there[used], gold_at[used])
        start = np.zeros(len(FEATURES))
        return scipy.optimize.minimize(loss, start, given, "L-BFGS-B", jac=True).x

    everything = np.arange(len(rows))
    scores = np.full(there.shape, -1e9)
    for number in range(FOLDS):
        weights = learned(everything[fold != number])
        scores[fold == number] = np.where(there, stacked @ weights, -1e9)[fold == number]
    own = np.where(gold_at >= 0, scores[everything, np.maximum(gold_at, 0)], -np.inf)
    before = (scores > own[:, None]).sum(1)
    before[gold_at < 0] = most
    print(
        f"{there.sum(1).mean():.0f} places a question, the right one among {(gold_at >= 0).mean():.3f} of them"
    )
    print("cross-validated: " + ", ".join(f"@{depth} {(before < depth).mean():.3f}" for depth in DEPTHS))
    known = dict(zip(FEATURES, (learned(everything) / deviation).round(3).tolist(), strict=True))
    print(json.dumps(known, indent=0))
    if chosen.write:
        path = PACKAGE / "systems" / "documents" / "place_weights.json"
        path.write_text(json.dumps(dict(sorted(known.items())), indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
