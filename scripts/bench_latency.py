"""Measure the time of a question: through the API, by the thesis's plain pipeline, and from a cold shell.

    python scripts/bench_latency.py ../shared/data/wtq --kg /tmp/graphs/wtq --plain 2
    python scripts/bench_latency.py ../shared/data/wtq --kg /tmp/graphs/wtq /tmp/graphs/everything --cold 0

With several graphs, each question is asked of all in turn, and the last columns are ratios of medians to the
first graph. The plain pipeline and the shell runs use the first graph. The plain pipeline finds the same
candidates by SPARQL's CONTAINS and embeds a sentence for each. No language model is used. `--build` also
times a fresh graph and index of the benchmark's tables.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence, Set
from pathlib import Path

import numpy as np

from kgtable import api
from kgtable.building.pipeline import build_graph
from kgtable.evaluation.benchmark import Benchmark
from kgtable.graph.terms import CellAddress
from kgtable.index.embedding import Embedder, load_embedder
from kgtable.index.graph_index import GraphIndex, index_step
from kgtable.retrieval.hybrid import containing_cells
from kgtable.retrieval.question_terms import extract_labels

WARM_UP = 10


def inside(graphs: Sequence[api.KnowledgeGraph], questions: Sequence[str], k: int) -> None:
    """Median and 95th percentile of each step over the questions; graphs alternate.

    ``total`` and ``processor`` are a whole retrieval; ``reading`` is what reading all its triples takes afterwards.
    """
    for question in questions[:WARM_UP]:
        for kg in graphs:
            kg.retrieve(question, k)
    steps: dict[str, list[list[float]]] = {}
    for question in questions:
        for number, kg in enumerate(graphs):
            started = time.process_time()
            found = kg.retrieve(question, k)
            times = dict(found.timings_ms)
            times["processor"] = (time.process_time() - started) * 1e3
            started = time.perf_counter()
            for _ in found.triples:
                pass
            times["reading"] = (time.perf_counter() - started) * 1e3
            for step, milliseconds in times.items():
                steps.setdefault(step, [[] for _ in graphs])[number].append(milliseconds)
    print(f"\ninside the API, k = {k:,}, {len(questions)} questions (ms): median, 95th percentile")
    for step, of_graphs in sorted(
        steps.items(), key=lambda item: item[0] in ("total", "processor", "reading")
    ):
        medians = [float(np.median(found)) for found in of_graphs]
        columns = zip(medians, of_graphs, strict=True)
        printed = "   ".join(f"{median:8.1f}{np.percentile(found, 95):8.1f}" for median, found in columns)
        growth = (f"{median / max(medians[0], 1e-9):8.2f}" for median in medians[1:])
        print(f"  {step:<12}{printed}{''.join(growth)}")


def plain(kg: api.KnowledgeGraph, questions: Sequence[str], k: int) -> None:
    """The thesis's pipeline without an index: CONTAINS, then a vector for every candidate."""
    index = GraphIndex(kg.generation.index_path)
    embedder = load_embedder("minilm")
    assert embedder is not None
    print("\nthe plain pipeline: labels, candidates, seconds by CONTAINS, seconds by embedding each")
    for question in questions:
        labels = extract_labels(question, index)
        started = time.perf_counter()
        cells = set().union(*containing_cells(labels, kg.store, kg.names).values())
        asked = time.perf_counter()
        _nearest(kg, embedder, question, cells, k)
        ended = time.perf_counter()
        print(
            f"  {len(labels)} {len(cells):8,} {asked - started:8.1f} {ended - asked:8.1f}  {question}",
            flush=True,
        )


def _nearest(
    kg: api.KnowledgeGraph, embedder: Embedder, question: str, cells: Set[CellAddress], k: int
) -> None:
    """The `k` candidates whose sentences (subject, predicate, object) are nearest to the question."""
    sentences = [
        f"{triple.subject} {triple.predicate} {triple.object}"
        for table in sorted({cell.table for cell in cells})
        for triple in kg.retrievers.material.triples_of(table)
        if (triple.table, triple.row, triple.column) in cells
    ]
    if sentences:
        np.argsort(-(embedder.embed(sentences) @ embedder.embed([question])[0]))[:k]


def cold(directory: Path, question: str, times: int) -> None:
    """Time commands from the shell, each in a new process."""
    commands = {
        "retrieve": ["retrieve", question, "--kg", str(directory)],
        "ask": ["ask", question, "--kg", str(directory), "--model", "none"],
    }
    print(f"\nfrom the shell, {times} times (s): least, median")
    for name, arguments in commands.items():
        found = [_seconds(lambda: _run(arguments)) for _ in range(times)]  # noqa: B023
        print(f"  kgtable {name:<10}{min(found):6.2f}{np.median(found):6.2f}")


def _run(arguments: Sequence[str]) -> None:
    done = subprocess.run([sys.executable, "-m", "kgtable", *arguments], capture_output=True, text=True)
    if done.returncode > 1:
        raise SystemExit(done.stderr)


def build(tables: Path) -> None:
    """Time a fresh graph, and its index with and without vectors."""
    print("\nbuilding (s): graph, its index")
    for embedding in ("none", "minilm"):
        with tempfile.TemporaryDirectory() as folder:
            spent: list[float] = []
            step = index_step(embedding, os.cpu_count() or 1)
            whole = _seconds(
                lambda: build_graph(
                    [tables],
                    Path(folder) / "kg",
                    workers=os.cpu_count() or 1,
                    after=[lambda generation: spent.append(_seconds(lambda: step(generation)))],  # noqa: B023
                )
            )
            print(f"  {embedding:<8}{whole - spent[0]:8.1f}{spent[0]:8.1f}", flush=True)


def _seconds(action: Callable[[], object]) -> float:
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("benchmark", type=Path, help="folder of a benchmark, for its questions")
    parser.add_argument("--kg", type=Path, nargs="+", required=True, help="graph directories")
    parser.add_argument("--split", default="squall")
    parser.add_argument(
        "--questions", type=int, default=200, help="number of questions, spread over the split"
    )
    parser.add_argument("-k", type=int, nargs="+", default=[100, 300, 1_000])
    parser.add_argument("--plain", type=int, default=0, help="number of questions for the plain pipeline")
    parser.add_argument("--cold", type=int, default=3, help="number of runs from the shell")
    parser.add_argument("--build", action="store_true", help="also time building")
    chosen = parser.parse_args(arguments)
    benchmark = Benchmark(chosen.benchmark)
    asked = [question.text for question in benchmark.questions(chosen.split)]
    asked = asked[:: max(1, len(asked) // chosen.questions)][: chosen.questions]
    graphs = [api.open(directory) for directory in chosen.kg]
    for kg in graphs:
        info = kg.info()
        print(f"{info['tables']:,} tables, {info['rows']:,} rows, {info['cells']:,} cells: {kg.path.name}")
    for k in chosen.k:
        inside(graphs, asked, k)
    if chosen.plain:
        plain(graphs[0], asked[WARM_UP : WARM_UP + chosen.plain], 1_000)
    if chosen.cold:
        cold(chosen.kg[0], asked[0], chosen.cold)
    if chosen.build:
        build(benchmark.tables)


if __name__ == "__main__":
    main()
