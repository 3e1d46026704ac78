"""Figures of the method ``dmral``: retrieval beside other methods, and decomposition.

    python scripts/eval_dmral.py retrieval FOLDER --kg DIR [--method NAME ...] [--every N]
    python scripts/eval_dmral.py decomposition FOLDER --kg DIR [--every N]

FOLDER is a benchmark folder with ``questions.dev.jsonl``, DIR its graph. Retrieval prints recall and complete
recall (all gold tables) among the first 3 and 5, for all questions and for those of several tables.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
from eval_programs import Workplace

from kgtable.evaluation.benchmark import BenchmarkQuestion
from kgtable.index.graph_index import GraphIndex
from kgtable.systems.dmral.coverage_retrieval import CoverageRetriever
from kgtable.text.words import terms


def retrieval(place: Workplace, questions: Sequence[BenchmarkQuestion], methods: Sequence[str]) -> None:
    """Print recall at 3 and 5 of each method."""
    for method in methods:
        found = [
            [table.table for table in place.kg.retrieve(question.text, 50, method).tables[:5]]
            for question in questions
        ]
        for title, chosen in (
            ("all", range(len(questions))),
            ("several tables", [at for at, q in enumerate(questions) if len(q.tables) > 1]),
        ):
            cells = [f"{method:24} {title:15} n={len(chosen):4}"]
            for k in (3, 5):
                hits = [(set(found[at][:k]), set(questions[at].tables)) for at in chosen]
                recall = np.mean([len(got & gold) / max(len(gold), 1) for got, gold in hits])
                complete = np.mean([gold <= got for got, gold in hits])
                cells.append(f"R@{k} {recall:.3f} complete {complete:.3f}")
            print("  ".join(cells), flush=True)


def decomposition(place: Workplace, questions: Sequence[BenchmarkQuestion]) -> None:
    """Print the share of needs retained (IRR), redundancy (SR) and alignment with tables (SAR)."""
    retriever = place.kg.retrievers.get("dmral")
    assert isinstance(retriever, CoverageRetriever)
    index = GraphIndex(place.kg.generation.index_path)
    kept, alike, aligned = [], [], []
    for question in questions:
        if len(question.tables) < 2:
            continue
        trace = retriever.retrieve(question.text, 10).trace
        parts = [text.rpartition(" [")[0] for text in trace.get("subquestions", ())]
        words = {stem for need in trace.get("needs", ()) for stem in terms(need)}
        kept.append(words <= {stem for part in parts for stem in terms(part)})
        aligned.append(len(parts) == len(question.tables))
        vectors = index.embed(parts) if len(parts) > 1 else None
        if vectors is not None:
            alike += [
                float(vectors[one] @ vectors[other]) for one, other in combinations(range(len(parts)), 2)
            ]
    print(f"{len(kept)} questions of several tables: IRR {np.mean(kept):.3f}, SR {np.mean(alike):.3f}, "
          f"SAR {np.mean(aligned):.3f}")  # fmt: skip


def main() -> None:
    """Run one of the evaluations."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("retrieval", "decomposition"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kg", type=Path, required=True)
    parser.add_argument("--method", action="append")
    parser.add_argument("--every", type=int, default=1, help="take every n-th question")
    options = parser.parse_args()
    place = Workplace(options.folder, options.kg)
    questions = place.questions("dev")[:: options.every]
    if options.what == "retrieval":
        retrieval(place, questions, options.method or ["bm25", "dense", "hybrid", "dmral"])
    else:
        decomposition(place, questions)


if __name__ == "__main__":
    main()
