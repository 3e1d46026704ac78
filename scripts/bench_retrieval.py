"""Measure the recall of `hybrid` without a language model, and what each step and signal adds.

    python scripts/bench_retrieval.py ../shared/data --graphs /tmp/graphs
    python scripts/bench_retrieval.py ../shared/data --graphs /tmp/graphs --only tatqa --ablation --every 4

Graphs are built below ``--graphs`` if missing or out of date. A gold cell counts as found if it is among the
first k triples; a question that finds nothing counts 0.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from kgtable import api
from kgtable.evaluation.benchmark import Benchmark, BenchmarkQuestion
from kgtable.index.embedding import Embedder, embedder_or_lexical
from kgtable.index.graph_index import GraphIndex, RememberingEmbedder
from kgtable.retrieval.candidates_query import matching_cells
from kgtable.retrieval.cell_scores import CellWeights, Scored, TableWeights, Weights, score
from kgtable.retrieval.expansion import expand
from kgtable.retrieval.labels import extract_labels
from kgtable.retrieval.question_terms import Query

Numbers = npt.NDArray[np.integer]
EVERYTHING = Weights()


@dataclass(frozen=True)
class Task:
    """A split of a benchmark with the triple budgets and table cutoffs to report."""

    name: str
    split: str
    budgets: tuple[int, ...]
    tables: tuple[int, ...]


TASKS = (
    Task("wtq", "squall", (1_000, 11_000), (1, 10, 30)),
    Task("tatqa", "dev", (300, 1_000), (5, 30)),
    Task("finqa", "dev", (300, 1_000), (5, 30)),
    Task("multitable", "squall", (1_000, 3_000), (10, 20, 50)),
    Task("spider", "dev", (1_000,), (5,)),
    Task("hitab", "dev", (100, 300), (1, 5)),
)


@dataclass(frozen=True)
class Asked:
    """The parts of a question that do not depend on weights: its query and the cells found by its labels."""

    question: BenchmarkQuestion
    query: Query
    labels: Numbers
    expanded: Numbers
    gold_cells: Numbers
    gold_tables: frozenset[int]


class Bench:
    """One task over its graph."""

    def __init__(self, task: Task, folder: Path, graphs: Path, embedding: str, every: int) -> None:
        self.task = task
        benchmark = Benchmark(folder / task.name)
        graph = api.build(benchmark.tables, graphs / task.name, embedding=embedding, workers=os.cpu_count() or 1)
        self.index = GraphIndex(graph.generation.index_path, remembered)
        self.places = self.index.corpus.places
        self._tables = {id: number for number, id in enumerate(self.index.corpus.table_ids)}
        rows = self.places.cell_row
        self._codes = _code(
            self.places.row_table[rows],
            self.places.row_number[rows],
            self.places.column_number[self.places.cell_column],
        )
        self.questions = [q for q in benchmark.questions(task.split) if q.cells][::every]

    def asked(self) -> Iterator[Asked]:
        """Prepare the questions, one after the other."""
        for question in self.questions:
            vectors = self.index.embed([question.text])
            labels = extract_labels(question.text, self.index)
            terms = [term for found in expand(vectors, self.index).values() for term in found]
            gold = np.array([(self._tables[table], row, column) for table, row, column in question.cells])
            yield Asked(
                question,
                Query.of(question.text, self.index.corpus, None if vectors is None else vectors[0]),
                matching_cells(labels, self.index),
                matching_cells((*labels, *terms), self.index),
                np.unique(_code(*gold.T)),
                frozenset(self._tables[table] for table in question.tables),
            )

    def measures(self, asked: Asked, cells: Numbers, tables: Numbers) -> list[float]:
        """Cell recall at each budget, then table recall at each cutoff; 0 if nothing was found."""
        hits = np.cumsum(np.isin(self._codes[cells], asked.gold_cells))
        found = [float(hits[min(k, len(hits)) - 1]) if len(hits) else 0.0 for k in self.task.budgets]
        of_cells = [count / len(asked.gold_cells) for count in found]
        gold = asked.gold_tables
        of_tables = [len(gold & set(tables[:k].tolist())) / len(gold) for k in self.task.tables]
        if asked.question.any_of:
            of_tables = [float(share > 0) for share in of_tables]
        return of_cells + of_tables

    def header(self) -> str:
        """Column headings of the figures."""
        cells = " / ".join(f"{k:,}" for k in self.task.budgets)
        tables = " / ".join(map(str, self.task.tables))
        return f"cells @{cells}, tables R@{tables}"


Variant = Callable[[Bench, Asked], tuple[Numbers, Numbers]]


def whole(weights: Weights, *, candidates: str = "expanded") -> Variant:
    """The full ranking with these weights; `candidates` names the field of `Asked` with cells to add."""

    def run(bench: Bench, asked: Asked) -> tuple[Numbers, Numbers]:
        matching = getattr(asked, candidates) if candidates else np.zeros(0, dtype=np.int64)
        scored = score(asked.query, bench.index, matching, weights, max(bench.task.budgets))
        return _ranked(scored, max(bench.task.budgets))

    return run


def candidates_only(bench: Bench, asked: Asked) -> tuple[Numbers, Numbers]:
    """Only the thesis's candidates, ranked by all signals."""
    cells, tables = whole(EVERYTHING)(bench, asked)
    return cells[np.isin(cells, asked.expanded)], tables


def table_by_table(bench: Bench, asked: Asked) -> tuple[Numbers, Numbers]:
    """Cells of the best table in reading order, then of the next: whole-table retrieval."""
    scored = score(asked.query, bench.index, asked.expanded, EVERYTHING, max(bench.task.budgets))
    tables = np.argsort(-scored.table_logits, kind="stable")
    place = np.empty(len(tables), dtype=np.int64)
    place[tables] = np.arange(len(tables))
    order = np.argsort(place[scored.cell_table], kind="stable")
    return scored.cells[order][: max(bench.task.budgets)], tables


def _variants(ablation: bool) -> dict[str, Variant]:
    variants: dict[str, Variant] = {"everything": whole(EVERYTHING)}
    if not ablation:
        return variants
    lexical = replace(
        EVERYTHING,
        tables=replace(EVERYTHING.tables, vector=0.0),
        cells=replace(EVERYTHING.cells, header_vector=0.0),
    )
    variants["no vectors at all"] = whole(lexical, candidates="labels")
    variants["no expanded labels"] = whole(EVERYTHING, candidates="labels")
    variants["no labels at all"] = whole(EVERYTHING, candidates="")
    variants["cells of labels only"] = candidates_only
    variants["whole tables in order"] = table_by_table
    for part in fields(TableWeights):
        without = replace(EVERYTHING, tables=replace(EVERYTHING.tables, **{part.name: 0.0}))
        variants[f"table signal {part.name} out"] = whole(without)
    for part in fields(CellWeights):
        without = replace(EVERYTHING, cells=replace(EVERYTHING.cells, **{part.name: 0.0}))
        variants[f"cell signal {part.name} out"] = whole(without)
    return variants


def _ranked(scored: Scored, k: int) -> tuple[Numbers, Numbers]:
    return scored.best(k)[0], np.argsort(-scored.table_logits, kind="stable")


def _code(tables: Numbers, rows: Numbers, columns: Numbers) -> Numbers:
    return (tables.astype(np.int64) << 40) + (rows.astype(np.int64) << 16) + columns


_embedders: dict[str, Embedder] = {}


def remembered(name: str) -> Embedder | None:
    """The embedding model with a cache, shared by all benchmarks."""
    model = embedder_or_lexical(name)
    if model is None:
        return None
    return _embedders.setdefault(name, RememberingEmbedder(model))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("benchmarks", type=Path, help="folder of the benchmark folders")
    parser.add_argument("--graphs", type=Path, required=True, help="folder of the graphs; missing ones are built")
    parser.add_argument("--only", nargs="+", choices=[task.name for task in TASKS], help="benchmarks to run")
    parser.add_argument("--embedding", default="minilm")
    parser.add_argument("--every", type=int, default=1, help="use every n-th question")
    parser.add_argument(
        "--ablation",
        action="store_true",
        help="leave out each step and signal in turn; cells at the smallest budget only",
    )
    chosen = parser.parse_args(arguments)
    variants = _variants(chosen.ablation)
    for task in TASKS:
        if chosen.only and task.name not in chosen.only:
            continue
        if chosen.ablation:
            task = replace(task, budgets=task.budgets[:1])
        bench = Bench(task, chosen.benchmarks, chosen.graphs, chosen.embedding, chosen.every)
        found: dict[str, list[list[float]]] = {name: [] for name in variants}
        empty = 0
        for asked in bench.asked():
            for name, variant in variants.items():
                cells, tables = variant(bench, asked)
                found[name].append(bench.measures(asked, cells, tables))
                empty += name == "everything" and not len(cells)
        count = len(bench.questions)
        print(f"\n{task.name} {task.split}: {count:,} questions with gold cells, {empty} found nothing")
        print(f"{bench.header():>60}")
        for name, values in found.items():
            means = "  ".join(f"{mean:.3f}" for mean in np.mean(values, axis=0))
            print(f"{name:<36}{means:>24}", flush=True)


if __name__ == "__main__":
    main()
