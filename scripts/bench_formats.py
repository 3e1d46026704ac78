"""Measure Recall@k of `bm25` and `dense` for each linearisation of tables (thesis, Figures 10 to 17).

    python scripts/bench_formats.py BENCHMARK... [--method bm25] [--format markdown] [--embedding minilm]
        [--limit N] [--json FILE]

Prints one Markdown table for each benchmark and method. Vectors are cached in kgtable's cache folder; the
JSON file is rewritten after each format.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from kgtable.evaluation.benchmark import Benchmark, BenchmarkQuestion
from kgtable.evaluation.scoring import table_scores
from kgtable.index.embedding import load_embedder
from kgtable.resources import cache_folder
from kgtable.retrieval.table_texts import Scores, TableTexts
from kgtable.retrieval.whole_table import BM25Retriever, DenseRetriever
from kgtable.tables.layout.detect import make_table
from kgtable.tables.linearize import CONTEXT_FORMATS, TABLE_FORMATS, TableFormat
from kgtable.tables.loader import read_folder
from kgtable.tables.model import Grid

CUTOFFS = (5, 10, 20, 25, 30)
SPLITS = {"wtq": "dev", "tatqa": "dev", "finqa": "dev"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("benchmarks", nargs="+", type=Path)
    parser.add_argument("--method", action="append", choices=("bm25", "dense"))
    parser.add_argument("--format", action="append", choices=[*map(str, TableFormat), "all"])
    parser.add_argument("--embedding", default="minilm")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    formats = options.format or list(TABLE_FORMATS)
    if "all" in formats:
        formats = [*TABLE_FORMATS, *CONTEXT_FORMATS]
    results: list[dict[str, Any]] = []
    for folder in options.benchmarks:
        benchmark = Benchmark(folder)
        questions = benchmark.questions(SPLITS.get(benchmark.name, benchmark.splits()[0]))[: options.limit]
        tables = [make_table(grid) for grid in read_folder([benchmark.tables]) if isinstance(grid, Grid)]
        for method in options.method or ["bm25"]:
            print(f"\n{benchmark.name}, {method}: {len(questions):,} questions, {len(tables):,} tables\n")
            print("| format | " + " | ".join(f"R@{k}" for k in CUTOFFS) + " | ms a question |")
            print("|---|" + "---|" * (len(CUTOFFS) + 1))
            for name in formats:
                texts = TableTexts.write(tables, name)
                found = measure(texts, scorer(method, texts, options.embedding), questions)
                cells = " | ".join(f"{found[f'recall@{k}']:.3f}" for k in CUTOFFS)
                print(f"| {name} | {cells} | {found['ms']:.1f} |", flush=True)
                results.append(
                    {"benchmark": benchmark.name, "method": method, "format": str(name), "scores": found}
                )
                if options.json:
                    options.json.write_text(json.dumps(results, indent=1) + "\n")


def scorer(method: str, texts: TableTexts, embedding: str) -> Callable[[str], Scores]:
    """Make the function that scores every chunk for a question."""
    if method == "bm25":
        return BM25Retriever(texts, _no_triples).scores
    embedder = load_embedder(embedding)
    assert embedder is not None
    return DenseRetriever(texts, embedder, _no_triples, cache_folder() / "vectors").scores


def measure(
    texts: TableTexts, scores: Callable[[str], Scores], questions: Sequence[BenchmarkQuestion]
) -> dict[str, float]:
    """Mean recall at each cutoff, and milliseconds per question."""
    started = time.perf_counter()
    rows = [
        table_scores(question, [table.table for table in texts.rank(scores(question.text))], CUTOFFS)
        for question in questions
    ]
    seconds = time.perf_counter() - started
    means = {f"recall@{k}": fmean(row[f"recall@{k}"] for row in rows) for k in CUTOFFS}
    return means | {"ms": 1000 * seconds / len(questions), "pieces": float(len(texts.texts))}


def _no_triples(table: str) -> Sequence[Any]:
    return ()


if __name__ == "__main__":
    main()
