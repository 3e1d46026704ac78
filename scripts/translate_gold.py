"""How much the algebra of programs can say: gold programs of benchmarks, translated and executed.

    python scripts/translate_gold.py ../shared/data
    python scripts/translate_gold.py ../shared/data --only spider --wrong 20

Translates the SQL of wtq ``squall`` and spider ``dev``, the programs of finqa and the derivations of
tatqa, executes them over the tables as kgtable reads them, and compares with the gold answers. Prints
per benchmark the share translated, and of these the share with the gold denotation (of squall only
questions whose SQL gives the answer in SQL, by `sql_ok`), then what cannot be said, by reason.

A number counts as the gold one where it equals it as printed, in full (scale applied) or, for shares,
as percentage or fraction; tatqa's and finqa's are rounded as the gold is.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from decimal import Decimal
from functools import cache
from itertools import combinations, islice
from pathlib import Path
from typing import Any

from gold_arithmetic import Cells, finqa_program, tatqa_program
from gold_sql import SqlTable, SqlTranslator, UntranslatableError

from kgtable.errors import ProgramError
from kgtable.evaluation.scoring import exact_match
from kgtable.graph.table_decoder import quantities_of
from kgtable.programs.algebra import Limit, Program, RowChoice, Sort, tables_of
from kgtable.programs.executor import ProgramResult, run
from kgtable.programs.relation import Relation
from kgtable.programs.scalars import SCALES, Datum, format_decimal, text_of
from kgtable.programs.table_relation import relation_of
from kgtable.tables.discovery import TableFile
from kgtable.tables.layout.detect import make_table
from kgtable.tables.loader import read_file

SPLITS = {"wtq": ("squall",), "spider": ("dev",), "finqa": ("dev", "train"), "tatqa": ("dev",)}
_TOLERANCE = Decimal("1e-6")


@dataclass(frozen=True)
class GoldProgram:
    """A question with its program, or with the reason why there is none."""

    question: Mapping[str, Any]
    program: Program | None
    reason: str = ""


@dataclass
class Tally:
    """What came of the gold programs of one benchmark."""

    questions: int = 0
    translated: int = 0
    compared: int = 0
    right: int = 0
    ties: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)


class GoldTables:
    """The tables of a benchmark folder as relations, read when first used."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.relation = cache(self._relation)
        self.header = cache(self._header)

    def _relation(self, id: str) -> Relation:
        sidecar = self.folder / "tables" / f"{id}.json"
        path = self.folder / "tables" / f"{id}.csv"
        file = TableFile(path, path.name, id, sidecar if sidecar.exists() else None)
        (grid,) = read_file(file)
        table = make_table(grid)
        return relation_of(table, quantities_of(table))

    def _header(self, id: str) -> tuple[str, ...]:
        """The names in the first line of the file, in lower case."""
        with (self.folder / "tables" / f"{id}.csv").open(encoding="utf-8", newline="") as stream:
            return tuple(name.lower() for name in next(csv.reader(stream)))


def questions_of(folder: Path, split: str) -> Iterator[dict[str, Any]]:
    """The questions of a split that have a gold program."""
    with (folder / f"questions.{split}.jsonl").open(encoding="utf-8") as stream:
        for line in stream:
            question = json.loads(line)
            derivation = str(question.get("derivation") or "")
            if question.get("sql") or (derivation and _is_formal(derivation, question["answer_type"])):
                yield question


def _is_formal(derivation: str, kind: str) -> bool:
    """Whether a derivation computes: TAT-QA's of spans may say in words where to look."""
    return kind in ("arithmetic", "count") or re.search(r"\d\s*[%)]*\s*[<>]", derivation) is not None


def translate(name: str, question: Mapping[str, Any], tables: GoldTables) -> GoldProgram:
    """The question's gold program in the algebra."""
    try:
        return GoldProgram(question, _TRANSLATORS[name](question, tables))
    except UntranslatableError as error:
        return GoldProgram(question, None, str(error))


def _squall(question: Mapping[str, Any], tables: GoldTables) -> Program:
    (id,) = question["tables"]
    table = SqlTable(tables.relation(id), tables.header(id))
    return SqlTranslator({"w": table}, squall=True).program(question["sql"])


def _spider(question: Mapping[str, Any], tables: GoldTables) -> Program:
    prefix = f"{question['db']}__"
    found = {}
    for path in sorted((tables.folder / "tables").glob(f"{prefix}*.csv")):
        types = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))["types"]
        texts = frozenset(index for index, type_ in enumerate(types.values()) if type_ == "TEXT")
        found[path.stem.removeprefix(prefix).lower()] = SqlTable(
            tables.relation(path.stem), tables.header(path.stem), RowChoice.ALL, texts
        )
    return SqlTranslator(found).program(question["sql"])


def _cells(question: Mapping[str, Any], tables: GoldTables) -> Cells:
    id = question["tables"][0]
    return Cells(tables.relation(id), [(row + 1, column) for _, row, column in question["cells"]])


def _finqa(question: Mapping[str, Any], tables: GoldTables) -> Program:
    return finqa_program(question["derivation"], _cells(question, tables))


def _tatqa(question: Mapping[str, Any], tables: GoldTables) -> Program:
    years = all(str(answer).isdecimal() and len(str(answer)) == 4 for answer in question["answers"])
    return tatqa_program(question["derivation"], question["answer_type"], _cells(question, tables), years)


_TRANSLATORS: dict[str, Callable[[Mapping[str, Any], GoldTables], Program]] = {
    "wtq": _squall,
    "spider": _spider,
    "finqa": _finqa,
    "tatqa": _tatqa,
}


def execute(gold: GoldProgram, tables: GoldTables) -> ProgramResult:
    """The result of a translated program. Raises `ProgramError`."""
    assert gold.program is not None
    return run(gold.program, {id: tables.relation(id) for id in tables_of(gold.program)})


def is_gold(name: str, question: Mapping[str, Any], rows: Sequence[Sequence[Datum | None]]) -> bool:
    """Whether a program's rows are the gold answer."""
    if name == "spider":
        return _same_rows(question, rows)
    values = [value for row in rows for value in row if value is not None]
    answers = [str(answer) for answer in question["answers"]]
    if name == "wtq":
        golds = [answers, [answer.strip("$€£%") for answer in answers]]
        return any(exact_match(texts, gold) for texts in _printings(values) for gold in golds)
    if len(values) == 1 and values[0].number is not None and len(answers) == 1:
        gold = question.get("answer_number") if name == "tatqa" else None
        return _same_number(values[0].number, str(answers[0] if gold is None else gold))
    return exact_match([text_of(value) for value in values], answers)


def _printings(values: Sequence[Datum]) -> Iterator[list[str]]:
    """The values as printed, in full, and in the scale of the print."""
    yield [text_of(value) for value in values]
    yield [_full(value) for value in values]
    yield [
        format_decimal(value.number.scaleb(-SCALES.get(value.scale or "ONE", 0)))
        if value.number is not None
        else text_of(value)
        for value in values
    ]


def _full(value: Datum) -> str:
    return format_decimal(value.number) if value.number is not None else text_of(value)


def _same_number(value: Decimal, gold: str) -> bool:
    text = gold.replace(",", "").replace("$", "").replace("%", "").strip()
    try:
        wanted = Decimal(text)
    except ArithmeticError:
        return False
    digits = -int(wanted.as_tuple().exponent)
    for power in (0, 2, -2, 3, -3, 6, -6, 9, -9, 4, -4, -12, 12):
        scaled = value.scaleb(power)
        if abs(scaled - wanted) <= Decimal("0.51").scaleb(-digits):
            return wanted != 0 or abs(value) < 1 or power == 0
    return False


def _same_rows(question: Mapping[str, Any], rows: Sequence[Sequence[Datum | None]]) -> bool:
    width = question["width"]
    gold = [str(value) for value in question["answers"]]
    if question["rows"] * width > len(gold):
        gold = gold[: len(gold) // width * width]
        rows = rows[: len(gold) // width]
    wanted = Counter(tuple(map(_canonical, gold[i : i + width])) for i in range(0, len(gold), max(width, 1)))
    return any(
        wanted == Counter(tuple(_canonical("" if v is None else form(v)) for v in row) for row in rows)
        for form in (_plain, text_of)
    )


def _plain(value: Datum) -> str:
    if value.number is None:
        return text_of(value)
    return format_decimal(value.number.scaleb(-SCALES.get(value.scale or "ONE", 0)))


def _canonical(text: str) -> str:
    plain = " ".join(text.split()).casefold()
    if plain in ("none", "null"):
        return ""
    try:
        number = Decimal(plain)
    except ArithmeticError:
        return plain
    return format_decimal(round(number, 6)) if number.is_finite() and abs(number) < 10**20 else plain


def comparable(name: str, question: Mapping[str, Any]) -> bool:
    """Whether the gold program itself gives the gold answer, as far as the benchmark knows."""
    return name != "wtq" or question.get("sql_ok") is True


def measure(name: str, folder: Path, wrong: int, every: int = 1) -> Tally:
    """Translate and execute all gold programs of a benchmark."""
    tables, tally = GoldTables(folder), Tally()
    questions = [question for split in SPLITS[name] for question in questions_of(folder, split)]
    for question in questions[::every]:
        tally.questions += 1
        gold = translate(name, question, tables)
        if gold.program is None:
            tally.reasons[gold.reason] += 1
            continue
        tally.translated += 1
        if not comparable(name, question):
            continue
        tally.compared += 1
        try:
            result = execute(gold, tables)
        except ProgramError as error:
            tally.failures[type(error).__name__] += 1
            _show(wrong, tally, question, f"{type(error).__name__}: {error} [{error.path}]")
            continue
        if is_gold(name, question, list(result.rows())):
            tally.right += 1
        elif _is_among_ties(name, question, gold, tables):
            tally.ties += 1
        else:
            tally.failures["another answer"] += 1
            found = [[value and text_of(value) for value in row] for row in result.rows()][:6]
            _show(wrong, tally, question, f"{found}")
    return tally


def _is_among_ties(name: str, question: Mapping[str, Any], gold: GoldProgram, tables: GoldTables) -> bool:
    """Whether the gold rows are among those that a limit of the program could as well have kept."""
    assert gold.program is not None
    changed = _with_ties(gold.program.root)
    if changed == gold.program.root:
        return False
    try:
        result = execute(GoldProgram(question, Program(changed)), tables)
    except ProgramError:
        return False
    rows = list(result.rows())
    size = question.get("rows", len(question["answers"]))
    some = combinations(rows, size) if size <= 3 else ()
    return any(is_gold(name, question, list(part)) for part in islice(some, 5_000))


def _with_ties(node: Any) -> Any:
    """The tree with all limits over sorts keeping ties."""
    if isinstance(node, tuple):
        return tuple(map(_with_ties, node))
    if not is_dataclass(node) or isinstance(node, type):
        return node
    changed = replace(node, **{part.name: _with_ties(getattr(node, part.name)) for part in fields(node)})
    if isinstance(changed, Limit) and isinstance(changed.source, Sort):
        return replace(changed, ties=True)
    return changed


def _show(most: int, tally: Tally, question: Mapping[str, Any], outcome: str) -> None:
    if sum(tally.failures.values()) <= most:
        text = question.get("sql") or question["derivation"]
        print(f"  {question['id']} {question['tables']}\n    {text}")
        print(f"    {outcome[:300]} | {question['answers'][:6]}")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--only", choices=list(SPLITS))
    parser.add_argument("--wrong", type=int, default=0, help="show so many programs with another answer")
    parser.add_argument("--every", type=int, default=1, help="take every n-th question")
    arguments = parser.parse_args()
    tallies = {}
    for name in [arguments.only] if arguments.only else SPLITS:
        tallies[name] = measure(name, arguments.data / name, arguments.wrong, arguments.every)
    print(f"{'benchmark':12}{'programs':>10}{'translated':>20}{'compared':>10}{'gold answer':>20}{'ties':>8}")
    for name, tally in tallies.items():
        said = f"{tally.translated} ({tally.translated / max(tally.questions, 1):.1%})"
        right = f"{tally.right} ({tally.right / max(tally.compared, 1):.1%})"
        print(f"{name:12}{tally.questions:>10}{said:>20}{tally.compared:>10}{right:>20}{tally.ties:>8}")
    for name, tally in tallies.items():
        for reason, count in tally.reasons.most_common():
            print(f"{name}: cannot say {reason}: {count}")
        for reason, count in tally.failures.most_common():
            print(f"{name}: {reason}: {count}")


if __name__ == "__main__":
    main()
