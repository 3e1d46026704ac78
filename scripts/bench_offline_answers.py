"""Measure the accuracy of answers by rules, compared with always answering the top cell.

    python scripts/bench_offline_answers.py BENCHMARK --kg DIR [--split NAME] [--sample N] [--wrong N]

BENCHMARK is a folder with ``tables/`` and ``questions.<split>.jsonl``, DIR a graph built from its tables.
Prints exact match (texts, numbers and dates compared as in WikiTableQuestions) and number match (up to scale,
percent and rounding), overall and separately for verified and unverified answers. The top cell is the text of
the best triple.

Each citation is looked up in the store, and each verified answer is recomputed from the stored numbers of the
cells it cites. Exits with 1 if either fails.

A sample is the same on every machine: the questions whose ids have the smallest SHA-256.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import statistics
import sys
import time
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pyoxigraph as ox

import kgtable
from kgtable.answering.answer import Answer
from kgtable.answering.arithmetic import CalculationFault, Operand, calculate
from kgtable.answering.grounding import decimal_string, plain
from kgtable.evaluation.answer_metrics import exact_match, numbers_match
from kgtable.evaluation.benchmark import Benchmark, BenchmarkQuestion
from kgtable.graph.terms import KGT, QUDT
from kgtable.values.numbers import parse_number

CELL = re.compile(r"T\d+\.r(\d+)\.c(\d+)")


def exact(text: str, question: BenchmarkQuestion) -> bool:
    """Whether the answer, or the list of values in it, is the gold answer."""
    return exact_match([text], question.answers) or exact_match(text.split("; "), question.answers)


def near(text: str, question: BenchmarkQuestion) -> bool:
    """Whether the answer is exact, or equals the gold number up to scale, percent and rounding."""
    scale, parts = str(question.extra.get("scale", "")), text.split("; ")
    if exact(text, question) or any(numbers_match(text, gold, scale) for gold in question.answers):
        return True
    if len(parts) < 2 or len(parts) != len(question.answers):
        return False
    return all(any(numbers_match(part, gold, scale) for part in parts) for gold in question.answers)


def unresolved(answer: Answer, kg: kgtable.KnowledgeGraph) -> int:
    """Number of citations whose cell is not in the store with the quoted text."""
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


class StoredNumbers:
    """Operands of an answer's calculation, read from the store."""

    def __init__(self, answer: Answer, kg: kgtable.KnowledgeGraph) -> None:
        self._cells = {(found.row, found.column): found for found in answer.citations}
        self._kg = kg

    def cell(self, cell_id: str) -> Operand:
        """The number of a cited cell."""
        cited = self._cells[self._place(cell_id)]
        rows = self._kg.store.query(
            f"SELECT ?cell ?number WHERE {{ ?cell <{QUDT}numericValue> ?number }}",
            bindings={"cell": ox.NamedNode(cited.cell)},
            union_default_graph=True,
        )
        assert isinstance(rows, ox.QuerySolutions)
        numbers = [Fraction(row["number"].value) for row in rows]
        if numbers:
            return Operand(numbers[0])
        parsed = parse_number(cited.text.strip())
        if parsed is None:
            raise CalculationFault(f"{cell_id} holds no number")
        return Operand(Fraction(parsed.value) * Fraction(10) ** parsed.scale)

    def counted(self, cell_id: str) -> object:
        """A counted cell; it must be cited."""
        return self._cells[self._place(cell_id)]

    def literal(self, number: Decimal) -> Operand:
        """A literal number."""
        return Operand(Fraction(number))

    def _place(self, cell_id: str) -> tuple[int, int]:
        match = CELL.fullmatch(cell_id)
        assert match is not None
        return int(match[1]), int(match[2])


def holds(answer: Answer, kg: kgtable.KnowledgeGraph) -> bool:
    """Whether the calculation gives the answer again or, without one, the cells contain it."""
    if answer.calculation is None:
        said = {plain(part) for part in answer.text.split("; ")}
        return said <= {plain(citation.text) for citation in answer.citations}
    expression, _, result = answer.calculation.partition(" = ")
    expression, _, truth = expression.partition(" is ")
    try:
        found = calculate(expression, StoredNumbers(answer, kg))
    except (CalculationFault, KeyError):
        return False
    if isinstance(found, bool):
        said_so = answer.text.lower() in ("yes", "no")
        return str(found).lower() == truth and (not said_so or found is (answer.text.lower() == "yes"))
    return decimal_string(found.number) == result


def sample(questions: tuple[BenchmarkQuestion, ...], size: int | None) -> list[BenchmarkQuestion]:
    """The sample of the questions, the same on every machine."""
    ranked = sorted(questions, key=lambda question: hashlib.sha256(question.id.encode()).hexdigest())
    return ranked[:size]


def share(part: int, whole: int) -> str:
    """A ratio with three decimals; a dash if the denominator is zero."""
    return f"{part / whole:.3f}" if whole else "-"


def main() -> None:
    """Ask every question and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("benchmark", type=Path)
    parser.add_argument("--kg", type=Path, required=True)
    parser.add_argument("--split", default="dev")
    parser.add_argument("--sample", type=int, help="number of questions, the same ones on every machine")
    parser.add_argument("--wrong", type=int, default=0, help="number of wrong answers to show")
    arguments = parser.parse_args()
    kg = kgtable.open(arguments.kg)
    questions = sample(tuple(Benchmark(arguments.benchmark).questions(arguments.split)), arguments.sample)
    counts: Counter[str] = Counter()
    times: list[float] = []
    for question in questions:
        started = time.perf_counter()
        answer = kg.ask(question.text, model="none")
        times.append(time.perf_counter() - started)
        triples = answer.retrieval.triples if answer.retrieval else ()
        top = triples[0].object if triples else ""
        right = near(answer.text, question)
        kind = "verified" if answer.verified else "unverified" if answer.found else "not found"
        counts[kind] += 1
        counts[f"{kind} right"] += right
        counts["rules exact"] += exact(answer.text, question)
        counts["rules near"] += right
        counts["top exact"] += exact(top, question)
        counts["top near"] += near(top, question)
        counts["gold table"] += bool(answer.citations) and answer.citations[0].table in question.tables
        counts["citations"] += len(answer.citations)
        counts["unresolved"] += unresolved(answer, kg)
        counts["fails again"] += answer.verified and not holds(answer, kg)
        counts["shown"] += not right
        if not right and counts["shown"] <= arguments.wrong:
            print(f"{question.text!r}: {answer.text!r}, not {question.answers}; {answer.reasons[:1]}")
    total = len(questions)
    print(f"{arguments.benchmark.resolve().name} {arguments.split}: {total} questions")
    for name in ("rules", "top"):
        scores = [share(counts[f"{name} {kind}"], total) for kind in ("exact", "near")]
        print(f"  {name:5}  exact match {scores[0]}  up to scale and rounding {scores[1]}")
    for kind in ("verified", "unverified"):
        precision = share(counts[f"{kind} right"], counts[kind])
        print(f"  {kind} {counts[kind]} ({share(counts[kind], total)}), of these right {precision}")
    print(f"  from a gold table {share(counts['gold table'], total)}, nothing found {counts['not found']}")
    print(f"  citations {counts['citations']}, not resolved {counts['unresolved']}")
    print(f"  verified answers that do not come out again {counts['fails again']}")
    median, late = statistics.median(times), sorted(times)[int(0.95 * len(times))]
    print(f"  seconds a question: median {median:.3f}, p95 {late:.3f}, most {max(times):.3f}")
    sys.exit(1 if counts["unresolved"] or counts["fails again"] else 0)


if __name__ == "__main__":
    main()
