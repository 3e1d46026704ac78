"""Train the learned ranking of tables, and measure it on folders that were left out of training.

    python scripts/train_tables.py BENCH --kgs GRAPHS [--limit N] [--dry-run]

GRAPHS holds a graph of the tables of each folder in `FOLDERS`. Questions are those of all splits but ``test`` whose
gold tables are all in the graph. A folder weighs by the square root of its questions. The loss is the cross-entropy
of the gold tables among the first ones; the network's output is added to the score, so that it learns what the score
misses. For each folder the recall of tables (R@k) and of gold cells within k triples is printed without the learned
ranking, and the difference in points that a network trained on the other folders makes, with bootstrap intervals of
95 %. Writes the weights of a network trained on all folders into the package.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import kgtable
from kgtable.evaluation.benchmark import Benchmark, BenchmarkQuestion
from kgtable.index.graph_index import GraphIndex
from kgtable.resources import PACKAGE
from kgtable.retrieval.cell_scores import Scored
from kgtable.retrieval.hybrid import HybridRetriever
from kgtable.retrieval.learned_ranking import FIRST, NAMES, WEIGHTS, TableFeatures, TableNetwork
from kgtable.retrieval.question_terms import Query
from kgtable.retrieval.result import UNGUIDED, Clock, Guide

FOLDERS = ("everyday", "finqa", "hitab", "multitable", "spider", "tatqa", "wtq")
TABLES, TRIPLES = (1, 5, 10, 30), (100, 300, 1_000)
SEED = 20261128
UNITS, NETWORKS = 16, 2
"""Units of one network; the mean of several is written as one network of all their units."""
EPOCHS, BATCH, RATE, DECAY, DROPOUT = 6, 64, 0.003, 1.0, 0.1
SHARE = 0.7
"""Of what the network adds: a corpus of a kind it never saw needs less of it."""
SAMPLES = 1_000
Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Example:
    """A question: the first tables with their features, which are gold, and what the cells' recall needs."""

    first: Array
    features: Array
    ranked: Array
    gold: frozenset[int]
    any_of: bool
    scored: Scored
    hits: Array
    cells: int

    def measures(self, logits: Array) -> list[float]:
        """Recall of tables at `TABLES`, then of cells at `TRIPLES`, for these scores of tables."""
        order = np.argsort(-logits, kind="stable")[: max(TABLES)]
        hit = np.isin(order, list(self.gold))
        tables = [float(hit[:k].any()) if self.any_of else hit[:k].sum() / len(self.gold) for k in TABLES]
        if not self.cells:
            return [*tables, *[np.nan] * len(TRIPLES)]
        powers = np.exp(logits - logits.max())
        logs = np.log(np.maximum(powers / powers.sum(), 1e-30))[self.scored.cell_table] + self.scored.cell_logits
        found = np.cumsum(self.hits[np.argsort(-logs, kind="stable")[: max(TRIPLES)]])
        return [*tables, *(found[min(k, len(found)) - 1] / self.cells for k in TRIPLES)]


class Collector(HybridRetriever):
    """Keeps the query and the scores of the last question."""

    def regrouped(self, scored: Scored, query: Query, guide: Guide, clock: Clock, trace: dict[str, Any]) -> Scored:
        """The scores as they are."""
        self.last = query, scored
        return scored


def questions(folder: Path, limit: int) -> list[BenchmarkQuestion]:
    """Questions with gold tables, in a random order, each once."""
    benchmark = Benchmark(folder)
    found = {q.id: q for split in benchmark.splits() if split != "test" for q in benchmark.questions(split) if q.tables}
    return random.Random(SEED).sample(list(found.values()), min(limit, len(found)))


def examples(folder: Path, graph: Path, limit: int) -> Iterator[Example]:
    """The examples of a folder."""
    kg = kgtable.open(graph)
    index = GraphIndex(kg.generation.index_path)
    retriever, features = Collector(kg.store, kg.names, index, learned=False), TableFeatures(index)
    places, number = index.corpus.places, {id: place for place, id in enumerate(index.corpus.table_ids)}
    rows = places.cell_row
    cells = _code(places.row_table[rows], places.row_number[rows], places.column_number[places.cell_column])
    for question in questions(folder, limit):
        if not number.keys() >= set(question.tables):
            continue
        if retriever.score(question.text, max(TRIPLES), UNGUIDED, Clock(), {}) is None:
            continue
        query, scored = retriever.last
        first = np.argsort(-scored.table_logits, kind="stable")[:FIRST]
        gold = [(number[table], row, column) for table, row, column in question.cells if table in number]
        wanted = np.unique(_code(*np.array(gold, dtype=np.int64).reshape(-1, 3).T))
        yield Example(
            first, features.of(query, scored.table_logits[first], first), scored.table_logits,
            frozenset(number[table] for table in question.tables), question.any_of, scored,
            np.isin(cells[scored.cells], wanted), len(wanted),
        )  # fmt: skip


def _code(table: Array, row: Array, column: Array) -> Array:
    return (table.astype(np.int64) << 40) + (row.astype(np.int64) << 16) + column


def train(kinds: Sequence[Sequence[Example]]) -> TableNetwork:
    """A network for these folders."""
    known = [(example, len(kind) ** -0.5) for kind in kinds for example in kind if example.gold & {*example.first}]
    shape = (len(known), FIRST)
    x, base = np.zeros((*shape, len(NAMES)), dtype=np.float32), np.full(shape, -1e9, dtype=np.float32)
    gold, weights = np.zeros(shape, dtype=np.float32), np.array([weight for _, weight in known])
    for place, (example, _) in enumerate(known):
        size = len(example.first)
        x[place, :size], base[place, :size] = example.features, example.ranked[example.first] - example.ranked.max()
        gold[place, :size] = np.isin(example.first, list(example.gold))
    gold /= gold.sum(1, keepdims=True)
    real = base > -1e8
    empty = TableNetwork(x[real].mean(0), x[real].std(0) + 1e-3, *[np.zeros(0, dtype=np.float32)] * 3)
    x = empty.scaled(x) * real[..., None]
    fitted = [_fit(x, base, gold, weights / weights.sum(), SEED + place) for place in range(NETWORKS)]
    inputs, bias, output = (np.concatenate(parts, axis=-1) for parts in zip(*fitted, strict=True))
    return TableNetwork(empty.mean, empty.deviation, inputs, bias, output * np.float32(SHARE / NETWORKS))


def _fit(x: Array, base: Array, gold: Array, chances: Array, seed: int) -> list[Array]:
    """Inputs, bias and output of one hidden layer, by AdamW with dropout and a rate that rises and falls."""
    chance = np.random.default_rng(seed)
    size = x.shape[2]
    weights = [chance.normal(0, size**-0.5, (size, UNITS)), np.zeros(UNITS), chance.normal(0, 0.1, UNITS)]
    weights = [part.astype(np.float32) for part in weights]
    means, squares = [np.zeros_like(part) for part in weights], [np.zeros_like(part) for part in weights]
    steps = EPOCHS * -(-len(x) // BATCH)
    for step in range(steps):
        some = chance.choice(len(x), BATCH, p=chances)
        inside = x[some] @ weights[0] + weights[1]
        kept = (chance.random((BATCH, 1, UNITS)) > DROPOUT) / np.float32(1 - DROPOUT)
        units = np.maximum(inside, 0) * kept
        scores = units @ weights[2] + base[some]
        powers = np.exp(scores - scores.max(1, keepdims=True))
        wrong = (powers / powers.sum(1, keepdims=True) - gold[some]) / BATCH
        back = wrong[..., None] * weights[2] * kept * (inside > 0)
        gradients = (
            np.einsum("bmf,bmh->fh", x[some], back, optimize=True),
            back.sum((0, 1)),
            (units * wrong[..., None]).sum((0, 1)),
        )
        rate = RATE * min(1, (step + 1) / (0.1 * steps)) * (1 - step / steps)
        for place, gradient in enumerate(gradients):
            means[place] = 0.9 * means[place] + 0.1 * gradient
            squares[place] = 0.999 * squares[place] + 0.001 * gradient**2
            mean, square = means[place] / (1 - 0.9 ** (step + 1)), squares[place] / (1 - 0.999 ** (step + 1))
            change = mean / (np.sqrt(square) + 1e-8) + (0 if place == 1 else DECAY) * weights[place]
            weights[place] = (weights[place] - rate * change).astype(np.float32)
    return weights


def measured(network: TableNetwork, kind: Sequence[Example]) -> Array:
    """The measures of each question with the scores as they are and as the network orders them."""
    found = []
    for example in kind:
        scores = example.ranked[example.first]
        order = np.argsort(-(scores + network.added(network.scaled(example.features))), kind="stable")
        logits = example.ranked.copy()
        logits[example.first[order]] = scores
        found.append([example.measures(example.ranked), example.measures(logits)])
    return np.array(found)


def report(name: str, found: Array) -> None:
    """Print the measures of a folder and the differences in points."""
    change = 100 * (found[:, 1] - found[:, 0])
    chance = np.random.default_rng(SEED)
    samples = [np.nanmean(change[chance.integers(0, len(change), len(change))], axis=0) for _ in range(SAMPLES)]
    low, high = np.nanpercentile(samples, [2.5, 97.5], axis=0)
    print(name, len(found))
    labels = [*(f"R@{k}" for k in TABLES), *(f"cells @{k:,}" for k in TRIPLES)]
    for label, was, by, *ends in zip(labels, np.nanmean(found[:, 0], 0), np.nanmean(change, 0), low, high, strict=True):
        if not np.isnan(was):
            print(f"  {label:13}{was:.3f} {by:+.2f} [{ends[0]:+.2f}, {ends[1]:+.2f}]", flush=True)


def main() -> None:
    """Collect, measure with each folder left out, train on all, and write the weights."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench", type=Path)
    parser.add_argument("--kgs", type=Path, required=True, help="the folder of the graphs")
    parser.add_argument("--limit", type=int, default=1_000, help="questions of a folder at most")
    parser.add_argument("--dry-run", action="store_true", help="only measure")
    options = parser.parse_args()
    kinds: dict[str, list[Example]] = {}
    for name in FOLDERS:
        kinds[name] = list(examples(options.bench / name, options.kgs / name, options.limit))
    if not options.dry_run:
        network = train(list(kinds.values()))
        content: dict[str, Any] = {"about": "Made by scripts/train_tables.py.", "features": NAMES}
        for part in fields(TableNetwork):
            content[part.name] = np.vectorize(lambda value: float(f"{value:.4g}"))(getattr(network, part.name)).tolist()
        (PACKAGE / WEIGHTS).write_text(json.dumps(content) + "\n", encoding="utf-8")
    for name, kind in kinds.items():
        report(name, measured(train([other for key, other in kinds.items() if key != name]), kind))


if __name__ == "__main__":
    main()
