"""Learn the weights of DMRAL's trained coverage scorer (section 4.1) from questions with gold tables.

    python scripts/train_coverage.py BENCH --kgs GRAPHS

Training questions are multitable ``squall`` and those of spider ``dev`` whose gold tables are all even
(`eval_programs.is_even`). Positives are the gold tables of a question, hard negatives the best wrong tables of
`hybrid`. The loss is the paper's, max(0, 1 - f(q, T+) + f(q, T-)), minimised by stochastic gradient descent; both
benchmarks weigh the same. While training, f includes the fit by `hybrid`, whose weight is then scaled to 1, as in the
score of a group. Writes the weights into the package and prints R@5 and nDCG@10 of each scorer on the other
questions of spider ``dev`` and on multitable ``dev``.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from eval_programs import for_training

import kgtable
from kgtable.evaluation.benchmark import Benchmark, BenchmarkQuestion
from kgtable.evaluation.scoring import ranking_scores, table_scores
from kgtable.index.graph_index import GraphIndex
from kgtable.resources import PACKAGE
from kgtable.retrieval.cell_scores import Scored
from kgtable.retrieval.question_terms import Query
from kgtable.retrieval.result import Clock
from kgtable.systems.dmral.coverage_retrieval import WEIGHTS, CoverageRetriever, CoverageScorer, DmralOptions
from kgtable.systems.dmral.needs import GroupFinder, NeedMatcher, information_needs

TRAINING, HELD_OUT = (("multitable", "squall"), ("spider", "dev")), (("spider", "dev"), ("multitable", "dev"))
NEGATIVES, PASSES, RATE, PENALTY, SEED = 5, 30, 0.05, 1e-3, 7
FIT = "fit"
Row = Mapping[str, float]


def main() -> None:
    """Train, write the weights, and measure them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench", type=Path)
    parser.add_argument("--kgs", type=Path, required=True, help="the folder of the graphs multitable and spider")
    options = parser.parse_args()
    found = [
        list(pairs(options.kgs / name, questions(options.bench / name, split, training=True)))
        for name, split in TRAINING
    ]
    weights = trained(found)
    about = f"Made by scripts/train_coverage.py from {sum(map(len, found))} pairs of multitable squall and spider dev."
    (PACKAGE / WEIGHTS).write_text(json.dumps({"about": about, "weights": weights}, indent=1) + "\n", encoding="utf-8")
    for name, split in HELD_OUT:
        asked = questions(options.bench / name, split, training=False)
        for scorer in CoverageScorer:
            print(name, split, len(asked), scorer, *measures(kgtable.open(options.kgs / name), asked, scorer))


def questions(folder: Path, split: str, *, training: bool) -> list[BenchmarkQuestion]:
    """The questions of a split with gold tables; of spider, those to train on or the others."""
    found = [question for question in Benchmark(folder).questions(split) if question.tables]
    return [question for question in found if folder.name != "spider" or for_training(question) is training]


class Collector(CoverageRetriever):
    """Puts the features of the tables that `hybrid` ranks first, and of the `gold` ones, in the trace."""

    gold: Sequence[str] = ()

    def regrouped(self, scored: Scored, query: Query, clock: Clock, trace: dict[str, Any]) -> Scored:
        """The scores of `hybrid`."""
        ids = self._index.corpus.table_ids
        fits = self._fits(scored.table_logits, self._options.candidates)
        matcher = NeedMatcher(information_needs(query.text, self._index), self._index)
        finder = GroupFinder(matcher, self._graph, fits)
        wanted = [*list(fits)[: NEGATIVES + len(self.gold)], *map(ids.index, self.gold)]
        trace["rows"] = {ids[table]: finder.features([table]) | {FIT: fits.get(table, 0.0)} for table in wanted}
        return scored


def pairs(folder: Path, asked: Sequence[BenchmarkQuestion]) -> Iterator[tuple[Row, Row]]:
    """The features of a gold table and of a wrong one, for each question."""
    kg = kgtable.open(folder)
    index = GraphIndex(kg.generation.index_path)
    collector = Collector(kg.store, kg.names, index, kg.relations, DmralOptions())
    for question in asked:
        collector.gold = question.tables
        rows: dict[str, Row] = collector.retrieve(question.text, 1).trace.get("rows", {})
        wrong = [row for table, row in rows.items() if table not in question.tables][:NEGATIVES]
        yield from ((rows[table], row) for table in question.tables if table in rows for row in wrong)


def trained(found: Sequence[Sequence[tuple[Row, Row]]]) -> dict[str, float]:
    """The weights of the features, from the pairs of each benchmark."""
    names = sorted(found[0][0][0])
    ahead = np.array([[right[n] - wrong[n] for n in names] for of_one in found for right, wrong in of_one])
    counts = np.repeat([len(ahead) / len(found) / len(of_one) for of_one in found], [*map(len, found)])
    weights, random = np.zeros(len(names)), np.random.default_rng(SEED)
    for number in range(PASSES):
        for pair in random.permutation(len(ahead)):
            step = PENALTY * weights - counts[pair] * ahead[pair] * (ahead[pair] @ weights < 1)
            weights -= RATE / (1 + number) * step
    weights /= weights[names.index(FIT)]
    return {name: round(float(weight), 3) for name, weight in zip(names, weights, strict=True) if name != FIT}


def measures(kg: kgtable.KnowledgeGraph, asked: Sequence[BenchmarkQuestion], scorer: str) -> tuple[str, str]:
    """R@5 and nDCG@10 of the tables that the method ranks."""
    found = {q.id: [t.table for t in kg.retrieve(q.text, 1, f"dmral:scorer={scorer}").tables] for q in asked}
    recall = np.mean([table_scores(q, found[q.id], [5])["recall@5"] for q in asked])
    gain = np.mean([ranking_scores(found[q.id], q.tables)["ndcg@10"] for q in asked])
    return f"R@5 {recall:.3f}", f"nDCG@10 {gain:.3f}"


if __name__ == "__main__":
    main()
