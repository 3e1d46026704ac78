"""How often the answers by rules are exactly right, beside always giving the top cell.

    python scripts/bench_offline_answers.py BENCHMARK --kg DIR [--split NAME] [--limit N] [--wrong N]

BENCHMARK is a folder with ``tables/`` and ``questions.<split>.jsonl``, DIR a graph built from its
tables. Printed are exact match (texts, numbers and dates compared as WikiTableQuestions does), number
match (scale, percent and rounding allowed for), how many answers were verified and how many of those
match, and whether every citation resolves in the store. The top cell is the best triple's text.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections import Counter
from pathlib import Path

import pyoxigraph as ox

import kgtable
from kgtable.answering.answer import Answer
from kgtable.evaluation.answer_metrics import exact_match, numbers_match
from kgtable.evaluation.benchmark import Benchmark, Question
from kgtable.graph.terms import KGT


def exact(text: str, question: Question) -> bool:
    """Whether the answer, or the values it lists, are the gold answers."""
    return exact_match([text], question.answers) or exact_match(text.split("; "), question.answers)


def near(text: str, question: Question) -> bool:
    """Whether it is exact, or the gold number up to scale, percent and rounding."""
    scale = str(question.extra.get("scale", ""))
    return exact(text, question) or any(numbers_match(text, gold, scale) for gold in question.answers)


def unresolved(answer: Answer, kg: kgtable.KnowledgeGraph) -> int:
    """How many citations are of no cell in the store with the text they quote."""
    missing = 0
    for citation in answer.citations:
        row = ox.NamedNode(kg.names.row_iri(citation.table, citation.row))
        table = ox.NamedNode(kg.names.table_iri(citation.table))
        cell = ox.NamedNode(citation.cell)
        found = kg.store.query(
            f"SELECT ?table ?row ?cell ?text ?printed WHERE {{ GRAPH ?table {{ ?row ?p ?text . "
            f"OPTIONAL {{ ?cell <{KGT}text> ?printed }} }} }}",
            bindings={"table": table, "row": row, "cell": cell},
        )
        assert isinstance(found, ox.QuerySolutions)
        texts = {value.value for item in found for value in (item["text"], item["printed"]) if value}
        missing += citation.text not in texts
    return missing


def main() -> None:
    """Asks every question and prints the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("benchmark", type=Path)
    parser.add_argument("--kg", type=Path, required=True)
    parser.add_argument("--split", default="dev")
    parser.add_argument("--limit", type=int, help="the first so many questions only")
    parser.add_argument("--wrong", type=int, default=0, help="show so many wrong answers")
    arguments = parser.parse_args()
    kg = kgtable.open(arguments.kg)
    questions = Benchmark(arguments.benchmark).questions(arguments.split)[: arguments.limit]
    counts: Counter[str] = Counter()
    times: list[float] = []
    for question in questions:
        started = time.perf_counter()
        answer = kg.ask(question.text, model="none")
        times.append(time.perf_counter() - started)
        triples = answer.retrieval.triples if answer.retrieval else ()
        top = triples[0].object if triples else ""
        right = near(answer.text, question)
        counts["rules exact"] += exact(answer.text, question)
        counts["rules near"] += right
        counts["top exact"] += exact(top, question)
        counts["top near"] += near(top, question)
        counts["verified"] += answer.verified
        counts["verified and right"] += answer.verified and right
        counts["gold table"] += bool(answer.citations) and answer.citations[0].table in question.tables
        counts["nothing found"] += not answer.found
        counts["citations"] += len(answer.citations)
        counts["unresolved"] += unresolved(answer, kg)
        counts["shown"] += not right
        if not right and counts["shown"] <= arguments.wrong:
            print(f"{question.text!r}: {answer.text!r}, not {question.answers}; {answer.reasons[:1]}")
    total = len(questions)
    print(f"{arguments.benchmark.resolve().name} {arguments.split}: {total} questions")
    for name in ("rules", "top"):
        scores = [counts[f"{name} {kind}"] / total for kind in ("exact", "near")]
        print(f"  {name:5}  exact match {scores[0]:.3f}  up to scale and rounding {scores[1]:.3f}")
    print(f"  verified {counts['verified']}, of these right {counts['verified and right']}")
    print(f"  from a gold table {counts['gold table']}, nothing found {counts['nothing found']}")
    print(f"  citations {counts['citations']}, not resolved {counts['unresolved']}")
    print(f"  seconds a question: median {statistics.median(times):.3f}, most {max(times):.3f}")


if __name__ == "__main__":
    main()
