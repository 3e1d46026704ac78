"""Measure T-RAG's retrieval of tables beside bm25, dense and hybrid, and what each of its parts adds.

    python scripts/bench_trag.py BENCH/multitable GRAPH
    python scripts/bench_trag.py BENCH/multitable GRAPH --splits squall --ablation

GRAPH is a graph built from the benchmark's tables; it is only read. Every figure is a mean over the questions
with gold tables, followed by its 95 % bootstrap interval (fixed seed); the last column is the mean difference of
the first recall to hybrid, question by question, with its interval. The gold is looked at for scoring only.
"""

from __future__ import annotations

import argparse
import os
import resource
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from kgtable import api
from kgtable.evaluation.benchmark import Benchmark, BenchmarkQuestion
from kgtable.evaluation.scoring import table_scores
from kgtable.evaluation.summary import compare, mean_interval
from kgtable.index.embedding import normalise
from kgtable.index.postings import FloatArray
from kgtable.retrieval.hybrid import Clock, HybridRetriever
from kgtable.systems.trag.coarse_to_fine import TragRetriever
from kgtable.systems.trag.hypergraph import Hypergraph, TableHypergraph, spread
from kgtable.systems.trag.table_features import FeatureSpace, installed_shape, similarities
from kgtable.systems.trag.table_graph import nearest_tables, personalised_pagerank, within
from kgtable.systems.trag.trag_options import Feature, PublishedOptions, Start, TableRelation, TragOptions

CUTOFFS = [10, 20, 50]
TRIPLES = 1_000
METRICS = ("recall", "any", "all")
PAPER, OURS = PublishedOptions(), TragOptions()

SYSTEMS: Mapping[str, TragOptions] = {
    "trag-paper": PAPER,
    "trag-paper, start by hybrid": replace(PAPER, start=Start.HYBRID),
    "trag": OURS,
}

ADDITIONS: Mapping[str, TragOptions] = {
    "paper": PAPER,
    "paper, edges: + subjects": replace(PAPER, subjects=True),
    "paper, edges: + predicates": replace(PAPER, predicates=True),
    "paper, edges: + parts": replace(PAPER, parts=True),
    "paper, edges: parts alone": replace(PAPER, parts=True, similarity=False),
    "paper, start by hybrid": replace(PAPER, start=Start.HYBRID),
    "start by hybrid, no walk": replace(OURS, pagerank=False),
    "start by hybrid, alpha 0.3: similarity": replace(OURS, similarity=True, parts=False),
    "start by hybrid, alpha 0.3: subjects": replace(OURS, subjects=True, parts=False),
    "start by hybrid, alpha 0.3: predicates": replace(OURS, predicates=True, parts=False),
    "start by hybrid, alpha 0.3: parts (trag)": OURS,
    "trag + subjects": replace(OURS, subjects=True),
    "trag + predicates": replace(OURS, predicates=True),
    "trag + similarity": replace(OURS, similarity=True),
    "trag, all edges": replace(OURS, similarity=True, subjects=True, predicates=True),
    "trag, without hyperedges": replace(OURS, semantic=False, structural=False, heuristic=False),
    "trag, 1,000 tables of hybrid": replace(OURS, candidates=1_000),
}

PARAMETERS: Mapping[str, TragOptions] = {
    "paper": PAPER,
    **{f"K = {n}": replace(PAPER, clusters=n) for n in (3, 5, 20)},
    **{f"k = {n}": replace(PAPER, typical=n) for n in (50, 150, 200)},
    "semantic alone": replace(PAPER, structural=False, heuristic=False),
    "structural alone": replace(PAPER, semantic=False, heuristic=False),
    "heuristic alone": replace(PAPER, semantic=False, structural=False),
    "semantic and heuristic": replace(PAPER, structural=False),
    "semantic and structural": replace(PAPER, heuristic=False),
    "structural and heuristic": replace(PAPER, semantic=False),
    **{
        f"K = {clusters}, k = {typical}": replace(PAPER, clusters=clusters, typical=typical)
        for clusters in (3, 5, 20)
        for typical in (50, 150)
    },
    "without PageRank": replace(PAPER, pagerank=False),
    "all tables, without PageRank (cosine)": replace(PAPER, pagerank=False, clusters=1),
    "all tables, PageRank": replace(PAPER, clusters=1),
    "one round": replace(PAPER, rounds=1),
    "three rounds": replace(PAPER, rounds=3),
    **{f"τ = {t}": replace(PAPER, threshold=t) for t in (0.0, 0.5, 0.7)},
    **{f"α = {a}": replace(PAPER, alpha=a) for a in (0.1, 0.3, 0.5, 0.7, 0.95)},
    "100 neighbours": replace(PAPER, neighbours=100),
    **{f"trag, α = {a}": replace(OURS, alpha=a) for a in (0.1, 0.2, 0.5, 0.7, 0.85)},
}

Ranking = Callable[[BenchmarkQuestion], Sequence[str]]
Measured = dict[str, list[float]]


class Bench:
    """The systems over one graph."""

    def __init__(self, graph: Path) -> None:
        self.kg = api.open(graph)
        self.hybrid = cast(HybridRetriever, self.kg.retrievers.get("hybrid"))
        self.tables = self.hybrid.index.corpus.table_ids
        made = cast(TragRetriever, self.kg.retrievers.get("trag-paper"))
        self.hypergraph: TableHypergraph = made.hypergraph
        self.spent: dict[str, float] = {}
        with self._watched("features"):
            space = self.hypergraph.space
        with self._watched("hyperedges"):
            self.hyperedges = Hypergraph.build(
                self.tables, self.hypergraph.texts, space, PAPER.clusters, PAPER.typical
            )
        self.hypergraph.hyperedges(PAPER.clusters, PAPER.typical)
        for relation in TableRelation:  # parts come last: they are made from the others
            with self._watched(f"edges by {relation}"):
                self.hypergraph.edges(relation, PAPER.threshold, PAPER.neighbours)
        self._scores: dict[str, FloatArray | None] = {}

    @contextmanager
    def _watched(self, step: str) -> Iterator[None]:
        """Keep the processor time of a step."""
        started = time.process_time()
        yield
        self.spent[step] = time.process_time() - started

    def hybrid_scores(self, question: BenchmarkQuestion) -> FloatArray | None:
        """The table scores of `hybrid`, remembered for the next system."""
        if question.text not in self._scores:
            scored = self.hybrid.score(question.text, TRIPLES, Clock(), {})
            self._scores[question.text] = None if scored is None else scored.table_logits
        return self._scores[question.text]

    def by_hybrid(self, question: BenchmarkQuestion) -> Sequence[str]:
        """The tables in the order of `hybrid`."""
        scores = self.hybrid_scores(question)
        return [] if scores is None else self._named(np.argsort(-scores, kind="stable"))

    def by_trag(self, options: TragOptions) -> Ranking:
        """The order of `trag` with these options."""
        retriever = TragRetriever(
            self.hypergraph, self.hybrid, self.kg.retrievers.material.triples_of, options
        )

        def ranked(question: BenchmarkQuestion) -> Sequence[str]:
            scores = self.hybrid_scores(question) if options.start is Start.HYBRID else None
            if options.start is Start.HYBRID and scores is None:
                return []
            return self._named(retriever.ranked_tables(question.text, scores)[0])

        return ranked

    def by_method(self, method: str) -> Ranking:
        """The order of another method."""
        return lambda question: [table.table for table in self.kg.retrieve(question.text, 1, method).tables]

    def _named(self, numbers: Any) -> Sequence[str]:
        return [self.tables[number] for number in numbers[: max(CUTOFFS)].tolist()]


def measured(questions: Sequence[BenchmarkQuestion], ranking: Ranking) -> Measured:
    """The scores of all questions by metric, and under ``ms`` and ``processor ms`` the times of each."""
    scores: Measured = {"ms": [], "processor ms": []}
    for question in questions:
        started, spent = time.perf_counter(), time.process_time()
        found = ranking(question)
        scores["ms"].append((time.perf_counter() - started) * 1e3)
        scores["processor ms"].append((time.process_time() - spent) * 1e3)
        for metric, value in table_scores(question, found, CUTOFFS).items():
            scores.setdefault(metric, []).append(value)
    return scores


def line(name: str, scores: Measured, hybrid: Measured, metrics: Sequence[str]) -> str:
    """The figures of one system."""
    cells = []
    for metric in metrics:
        for k in CUTOFFS:
            interval = mean_interval(scores[f"{metric}@{k}"])
            cells.append(f"{interval.mean:.3f} [{interval.low:.3f}, {interval.high:.3f}]")
    first = f"recall@{CUTOFFS[0]}"
    gain = compare(hybrid[first], scores[first]).difference
    return f"{name:<42}" + "  ".join(cells) + f"  {gain.mean:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}]"


def scale(bench: Bench, count: int, questions: Sequence[BenchmarkQuestion]) -> str:
    """What hyperedges, edges and walks cost over so many tables: those of the graph, repeated with noise (seeded)."""
    chance = np.random.default_rng(7)
    vectors = bench.hypergraph.space.rows[Feature.SEMANTIC]
    picked, mixed = chance.integers(len(bench.tables), size=(2, count))
    texts = [
        f"{bench.hypergraph.texts[a]} {bench.hypergraph.texts[b][:40]}"
        for a, b in zip(picked, mixed, strict=True)
    ]
    rows = normalise(np.asarray(vectors)[picked] + chance.normal(scale=0.02, size=(count, vectors.shape[1])))
    started = time.process_time()
    space = FeatureSpace.of(texts, rows)
    hypergraph = Hypergraph.build([str(number) for number in range(count)], texts, space)
    clustered = time.process_time()
    edges = nearest_tables(rows, PAPER.threshold, PAPER.neighbours)
    joined = time.process_time()
    spent: list[float] = []
    for question in questions[:100]:
        vector = bench.hypergraph.index.embed([question.text])
        assert vector is not None
        began = time.process_time()
        chosen = hypergraph.nearest(space.of_question(question.text, vector[0]))
        nodes = np.unique(np.concatenate([edge.members for edge in chosen]))
        start = np.clip(similarities(rows[nodes], vector[0]), 0, None)
        personalised_pagerank(within(edges, nodes), start)
        spent.append((time.process_time() - began) * 1e3)
    return (
        f"{count:,} tables: features and hyperedges {clustered - started:.1f} s, edges {joined - clustered:.1f} s, "
        f"{np.median(spent):.0f} ms a question (95th percentile {np.percentile(spent, 95):.0f} ms), processor time"
    )


def tagged(
    bench: Bench, model: str, questions: Sequence[BenchmarkQuestion], hybrid: Measured
) -> Iterator[str]:
    """The published procedure by each shape of texts: of words alone, of spaCy's tokens, of its parts of speech."""
    made = bench.hypergraph
    vectors = made.index.vectors
    for name in ("none", "blank", model):
        started = time.process_time()
        shape = installed_shape(name)
        space = FeatureSpace.of(made.texts, None if vectors is None else vectors.tables, shape)
        spent = time.process_time() - started
        other = TableHypergraph(made.index, made.texts)
        other.__dict__["space"] = space
        wanted = (PAPER.clusters, PAPER.typical)
        other._hypergraphs[wanted] = Hypergraph.build(bench.tables, made.texts, space, *wanted)
        bench.hypergraph = other
        yield f"{shape.name}: {spent:.1f} s of processor time for all features"
        for told, options in {
            "paper": PAPER,
            "structural alone": replace(PAPER, semantic=False, heuristic=False),
        }.items():
            yield line(f"  {told}", measured(questions, bench.by_trag(options)), hybrid, METRICS[:1])
    bench.hypergraph = made


def drift(bench: Bench, shares: Sequence[float]) -> Iterator[str]:
    """What bringing the hyperedges up to date costs, and what it gives, when a share of the tables changes.

    So many tables, drawn by a seeded generator, get text and vector of another one. The update is compared with a
    clustering made anew: the mean squared distance of tables from the centre of their hyperedge by feature, as a
    multiple of that of the new clustering.
    """
    before, texts = bench.hyperedges, list(bench.hypergraph.texts)
    vectors = bench.hypergraph.index.vectors
    for share in shares:
        chance = np.random.default_rng(14)
        count = max(1, round(share * len(texts)))
        changed = chance.choice(len(texts), size=count, replace=False)
        taken = chance.integers(len(texts), size=count)
        now = list(texts)
        for place, source in zip(changed.tolist(), taken.tolist(), strict=True):
            now[place] = f"{texts[source]} [Header] Revision {place}"
        rows = None if vectors is None else np.array(vectors.tables)
        if rows is not None:
            rows[changed] = rows[taken]
        space = FeatureSpace.of(now, rows)
        started = time.process_time()
        updated = before.updated(bench.tables, now, space)
        ended = time.process_time()
        anew = Hypergraph.build(bench.tables, now, space, before.clusters, before.typical)
        built = time.process_time() - ended
        fresh = {feature: made.spread for feature, made in anew.clusterings.items()}
        kept = {
            feature: spread(of_feature, updated.clusterings[feature].labels)
            for feature, of_feature in space.rows.items()
        }
        distances = ", ".join(f"{name} {kept[name] / max(fresh[name], 1e-9):.3f}" for name in kept)
        how = (
            "clustered anew"
            if updated.moved == 0
            else f"{updated.moved:,} tables moved, drift {updated.drift:.3f}"
        )
        yield (
            f"{share:.1%} changed: {how}, {ended - started:.1f} s (anew {built:.1f} s), processor time; "
            f"distance beside a new clustering: {distances}"
        )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("benchmark", type=Path, help="folder of the benchmark")
    parser.add_argument("graph", type=Path, help="the graph of its tables")
    parser.add_argument("--splits", nargs="+", default=["squall", "dev", "facts"])
    parser.add_argument("--ablation", action="store_true", help="vary parameters and additions one by one")
    parser.add_argument("--latency", action="store_true", help="time whole retrievals of trag and trag-paper")
    parser.add_argument("--without", nargs="*", default=[], choices=["bm25", "dense"], help="leave these out")
    parser.add_argument("--scale", nargs="*", type=int, default=[], help="time so many tables instead")
    parser.add_argument("--drift", nargs="*", type=float, default=[], help="change such shares of the tables")
    parser.add_argument("--spacy", help="compare the structural feature with one by this model of spaCy")
    parser.add_argument("--cutoffs", nargs=3, type=int, help="first so many tables")
    parser.add_argument("--every", type=int, default=1, help="use every n-th question")
    chosen = parser.parse_args(arguments)
    CUTOFFS[:] = chosen.cutoffs or CUTOFFS
    bench = Bench(chosen.graph)
    spent = ", ".join(f"{step} {seconds:.1f} s" for step, seconds in bench.spent.items())
    print(f"{len(bench.tables):,} tables; processor time: {spent}; peak memory {peak_memory():.0f} MiB")
    if chosen.drift:
        for line_of in drift(bench, chosen.drift):
            print(line_of, flush=True)
        return
    for count in chosen.scale:
        print(scale(bench, count, Benchmark(chosen.benchmark).questions(chosen.splits[0])), flush=True)
    for split in [] if chosen.scale else chosen.splits:
        asked = [q for q in Benchmark(chosen.benchmark).questions(split) if q.tables][:: chosen.every]
        print(
            f"\n{split}: {len(asked):,} questions; recall @{', @'.join(map(str, CUTOFFS))}, then any and all"
        )
        hybrid = measured(asked, bench.by_hybrid)
        if chosen.spacy:
            for line_of in tagged(bench, chosen.spacy, asked, hybrid):
                print(line_of, flush=True)
            continue
        if chosen.ablation:
            for options in (PARAMETERS, ADDITIONS):
                for name, option in options.items():
                    print(line(name, measured(asked, bench.by_trag(option)), hybrid, METRICS[:1]), flush=True)
                print()
            continue
        systems: dict[str, Ranking] = {name: bench.by_method(name) for name in ("bm25", "dense")}
        for name in chosen.without:
            del systems[name]
        systems |= {name: bench.by_trag(options) for name, options in SYSTEMS.items()}
        print(line("hybrid", hybrid, hybrid, METRICS))
        for name, ranking in systems.items():
            print(line(name, measured(asked, ranking), hybrid, METRICS), flush=True)
        for name in ("hybrid", "trag", "trag-paper") if chosen.latency else ():
            print(latency(name, measured(asked[:200], bench.by_method(name))))
    print(f"\npeak memory {peak_memory():.0f} MiB")


def latency(name: str, times: Measured) -> str:
    """Wall and processor time of whole retrievals, with the load of the machine."""
    told = [
        f"{np.median(times[kind]):.0f} ms (95th percentile {np.percentile(times[kind], 95):.0f} ms)"
        for kind in ("ms", "processor ms")
    ]
    load = f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    return f"{name}: {told[0]} a question, of the processor {told[1]}; {load}"


def peak_memory() -> float:
    """MiB that this process has held at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
