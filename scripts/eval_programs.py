"""Evaluate programs by rules on a benchmark: right, confident, confident and wrong.

    python scripts/eval_programs.py FOLDER --kg DIR [--split NAME] [--oracle-tables] [--half even|odd] [--show N]

FOLDER is a benchmark folder, DIR its graph (``kgtable build FOLDER/tables --kg DIR``). Retrieval is asked
once for each question and kept beside the graph.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import os
import statistics
import sys
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import kgtable
from kgtable.answering.answer import WEAK
from kgtable.errors import KgtableError
from kgtable.evaluation.benchmark import Benchmark, BenchmarkQuestion
from kgtable.evaluation.scoring import answer_scores, number_of
from kgtable.graph.table_source import TableReader
from kgtable.programs.display import BLANK
from kgtable.programs.relation import Relation
from kgtable.programs.table_relation import relation_of
from kgtable.questions.by_rules import MOST_TABLES, answer_by_programs
from kgtable.questions.ranker_weights import read_weights

TABLES = MOST_TABLES
"""As many as an answer looks at."""


def is_even(table: str) -> bool:
    """Whether a table belongs to the half that weights are learned from."""
    return hashlib.sha256(table.encode()).digest()[-1] % 2 == 0


def for_training(question: BenchmarkQuestion) -> bool:
    """Whether a question is one that weights may be learned from: all its tables are even."""
    return bool(question.tables) and all(is_even(source_table(question, table)) for table in question.tables)


def source_table(question: BenchmarkQuestion, table: str) -> str:
    """The table that a part was cut from, or the table."""
    return str(question.extra.get("source_table") or table)


class Workplace:
    """A benchmark with its graph, its relations, and what is retrieved for each question."""

    def __init__(self, folder: Path, kg: Path, judge: Path | None = None) -> None:
        """`judge` is the folder whose ``score.py`` judges answers, by default the benchmark's own."""
        self.benchmark = Benchmark(folder)
        self.kg = kgtable.open(kg)
        self._reader = TableReader(self.kg.store, self.kg.names)
        self.ids = set(self.kg.catalogue.tables)
        self._kept = kg.parent / f"{kg.name}.retrieved.json"
        self.retrieved: dict[str, list[Any]] = json.loads(self._kept.read_text()) if self._kept.exists() else {}
        self._relations: OrderedDict[str, Relation] = OrderedDict()
        judge = judge or folder
        self.judge = everyday_judge(judge) if (judge / "score.py").exists() else benchmark_judge

    def questions(self, split: str) -> list[BenchmarkQuestion]:
        """The questions of a split, without the checks of a benchmark that a person made."""
        path = self.benchmark.folder / f"questions.{split}.jsonl"
        found = []
        for line in path.read_text(encoding="utf-8").splitlines():
            item = json.loads(line)
            known = {name: item.pop(name, None) for name in ("id", "question", "answers", "tables", "any_of")}
            item.pop("cells", None)
            found.append(
                BenchmarkQuestion(known["id"], known["question"], tuple(known["answers"] or ()),
                                  tuple(known["tables"] or ()), (), bool(known["any_of"]), item,
                                  known["answers"] == [])
            )  # fmt: skip
        return found

    def relation(self, id: str) -> Relation:
        """A table of the graph as a relation."""
        if id not in self._relations:
            self._relations[id] = relation_of(self._reader.decoded(id))
            if len(self._relations) > 3000:
                self._relations.popitem(last=False)
        self._relations.move_to_end(id)
        return self._relations[id]

    def gold(self, question: BenchmarkQuestion) -> list[str]:
        """The gold tables as the graph names them."""
        found = []
        for table in question.tables:
            stem, _, part = table.partition("#")
            names = sorted(id for id in self.ids if id.split("#")[0] == stem)
            if table in self.ids:
                found.append(table)
            elif part.isdigit() and int(part) < len(names):
                found.append(names[int(part)])
        return found

    def tables(self, question: BenchmarkQuestion, oracle: bool, most: int = TABLES) -> list[tuple[Relation, float]]:
        """The tables to answer from, with scores."""
        if oracle:
            return [(self.relation(id), 1.0) for id in self.gold(question)]
        if question.id not in self.retrieved:
            found = self.kg.retrieve(question.text, k=300)
            self.retrieved[question.id] = [(table.table, table.score) for table in found.tables[:12]]
            written = self._kept.with_suffix(f".{os.getpid()}")  # another process may read it now
            written.write_text(json.dumps(self.retrieved))
            written.replace(self._kept)
        return [(self.relation(id), score) for id, score in self.retrieved[question.id][:most]]


Judge = Callable[[BenchmarkQuestion, str, str | None, str | None], bool]


def benchmark_judge(question: BenchmarkQuestion, text: str, value: str | None, unit: str | None) -> bool:
    """Whether an answer is right by the benchmark's metric; groups are right with every key and its value."""
    if question.is_unanswerable:
        return not text
    told = question.answers[1::2]
    if question.extra.get("kind") == "group" and len(question.answers) == 2 * len(told) and all(map(number_of, told)):
        pairs = zip(question.answers[::2], question.answers[1::2], strict=True)
        return groups_in(text) == groups_in("; ".join(f"{key}: {value}" for key, value in pairs))
    return bool(text) and answer_scores(question, text, value)["match"] >= 1.0


def groups_in(text: str) -> dict[str, Decimal | None]:
    """The groups of an answer's text by their keys, to two decimals; the one without a key is left out.

    >>> groups_in("Europe: 2021, 128.60; (blank): 2022, 4")
    {'europe, 2021': Decimal('128.60')}
    """
    found = {}
    for part in text.split("; "):
        key, _, rest = part.partition(": ")
        *more, value = rest.split(", ")
        if key != BLANK:
            number = number_of(value)
            found[", ".join([key, *more]).casefold()] = None if number is None else round(number, 2)
    return found


def everyday_judge(folder: Path) -> Judge:
    """The judge of the everyday tables."""
    spec = importlib.util.spec_from_file_location("everyday_score", folder / "score.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    def judge(question: BenchmarkQuestion, text: str, value: str | None, unit: str | None) -> bool:
        item = {"answers": list(question.answers), **question.extra}
        return bool(module.judge(item, {"text": text, "value": value, "unit": unit})[0])

    return judge


def questions_of(place: Workplace, split: str, half: str) -> Iterator[BenchmarkQuestion]:
    """The questions of a split: all, or those of one half of the tables."""
    for question in place.questions(split):
        even = for_training(question)
        if half == "all" or (half == "even") == even:
            yield question


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the evaluation and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kg", type=Path, required=True)
    parser.add_argument("--split", default="dev")
    parser.add_argument("--oracle-tables", action="store_true")
    parser.add_argument("--half", choices=("all", "even", "odd"), default="all")
    parser.add_argument("--limit", type=int, default=0)
    parser.add_argument("--weights", type=Path, help="a file of train_ranker.py, instead of the weights shipped")
    parser.add_argument("--show", type=int, default=15, help="how many wrong answers to print")
    parser.add_argument("--show-wrong", action="store_true", help="also those that are not confident")
    options = parser.parse_args(arguments)
    known = read_weights(json.loads(options.weights.read_text())) if options.weights else None
    place = Workplace(options.folder, options.kg)
    asked = list(questions_of(place, options.split, options.half))
    if options.limit:
        asked = asked[:: max(1, len(asked) // options.limit)][: options.limit]
    rows, times = [], []
    for question in asked:
        tables = place.tables(question, options.oracle_tables)
        began = time.perf_counter()
        try:
            answer = answer_by_programs(question.text, tables, known=known)
        except KgtableError as error:
            print(question.id, error, file=sys.stderr)
            continue
        times.append(1000 * (time.perf_counter() - began))
        text = "" if question.is_unanswerable and answer.confidence < WEAK else answer.text
        right = place.judge(question, text, answer.value, answer.unit)
        among = right or any(
            place.judge(question, other.text, other.value, other.unit) for other in answer.alternatives
        )
        never = question.extra.get("verify") == "never"
        rows.append((question, answer, right, among, answer.sure and (never or not right)))
    n = max(len(rows), 1)
    confident = [row for row in rows if row[1].sure]
    faults = [row for row in rows if row[4]]
    print(
        f"{place.benchmark.name} {options.split} {options.half}{' oracle' if options.oracle_tables else ''}: {len(rows)} questions"  # noqa: E501
    )
    print(
        f"  right {sum(r[2] for r in rows)} {sum(r[2] for r in rows) / n:.3f}   among alternatives {sum(r[3] for r in rows) / n:.3f}"  # noqa: E501
    )
    print(
        f"  confident {len(confident)} {len(confident) / n:.3f}   wrong {len(faults)}   precision {1 - len(faults) / max(len(confident), 1):.3f}"  # noqa: E501
    )
    must = [row for row in rows if row[0].extra.get("verify") == "must"]
    if must:
        print(
            f"  must {len(must)}: right {sum(r[2] for r in must)}, confident and right {sum(r[2] and r[1].sure for r in must)} {sum(r[2] and r[1].sure for r in must) / len(must):.3f}"  # noqa: E501
        )
    print(
        f"  median {statistics.median(times or [0]):.0f} ms, p90 {sorted(times)[int(0.9 * len(times))] if times else 0:.0f} ms"  # noqa: E501
    )
    unsure = ("Low confidence in this reading of the question.",)
    clean = sorted(
        ((a.confidence, r or (q.extra.get("verify") == "never" and not f)) for q, a, r, _, f in rows if a.sure or a.reasons == unsure),  # noqa: E501
        reverse=True,
    )  # fmt: skip
    for least in (0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95):
        found = [good for confidence, good in clean if confidence >= least]
        print(
            f"    confidence >= {least}: {len(found)} without other doubts, precision {sum(found) / max(len(found), 1):.3f}"  # noqa: E501
        )
    shown = rows if options.show_wrong else []
    for question, answer, _right, _, fault in [*faults, *(row for row in shown if not row[2] and not row[4])][
        : options.show
    ]:
        print(
            f"{'FAULT' if fault else 'wrong'} {question.id} {question.text}\n      got {answer.text[:90]!r} p={answer.confidence:.2f} [{answer.op}] {answer.derivation[:150]}\n      gold {list(question.answers)[:6]} {question.tables[:2]} got from {answer.tables} {'; '.join(answer.reasons)[:160]}"  # noqa: E501
        )


if __name__ == "__main__":
    main()
