"""Make a benchmark of questions over text and tables out of a folder of documents (TableRAG, Huawei, section 4).

The paper has a model write multi-step questions with programs, verifies what those give, and lets people replace an
entity by what a text says of it. Here an entity is a row's label that a sentence beside the table names with a
number; a question joins a fact of the table with that sentence. Without a model questions come from templates; with
one it writes question and SQL, and what it says must be what its query gives.
"""

from __future__ import annotations

import random
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from kgtable.answering.program_answers import relations_of
from kgtable.api import build
from kgtable.errors import BenchmarkError, EvaluationError, LLMReplyError, ProgramError, QueryError
from kgtable.evaluation.scoring import exact_match, numbers_match
from kgtable.graph.document_statements import StoredDocument, read_document
from kgtable.knowledge_graph import KnowledgeGraph
from kgtable.llm.protocol import LLM, Message, Request
from kgtable.programs.algebra import (
    Arithmetic,
    ColumnRef,
    Compare,
    Constant,
    Expression,
    Filter,
    Limit,
    Lookup,
    Operator,
    Program,
    Relator,
    Sort,
    SortKey,
    TableRows,
    ValueKind,
)
from kgtable.programs.executor import ProgramResult
from kgtable.programs.executor import run as run_program
from kgtable.programs.relation import MemberKind, Relation
from kgtable.programs.syntax import program_to_json
from kgtable.tables.model import Role
from kgtable.text.passages import sentence_spans
from kgtable.text.text_quantities import TextQuantity, find_quantities
from scripts.benchmarks.folder import BenchmarkFolder, file_name

SPLIT = "dev"
BLANK = "___"
FEWEST_WORDS, MOST_WORDS = 5, 60
"""Words of a sentence that a question may be made of."""
FEWEST_MEMBERS = 3
"""Rows among which one is the extreme."""
_SCALES = {"T": "thousand", "M": "million", "B": "billion"}
SHOWN_ROWS = 30
"""Rows of a table that a model is shown."""


@dataclass(frozen=True)
class HeteroPlan:
    """Options of the benchmark: the seed, and how many questions of a table at most."""

    seed: int = 7
    per_table: int = 6


@dataclass
class HeteroCounts:
    """Counts of what was built: documents, tables, facts of texts, questions and why others were left out."""

    documents: int = 0
    tables: int = 0
    facts: int = 0
    questions: int = 0
    left_out: dict[str, int] = field(default_factory=dict)

    def leave(self, why: str) -> None:
        """Count a question that was left out."""
        self.left_out[why] = self.left_out.get(why, 0) + 1


@dataclass(frozen=True)
class TextFact:
    """A sentence beside a table that names one row's label and says a number.

    `row` is the row of the relation; the quantity's place counts from the sentence's beginning.
    """

    table: str
    row: int
    label: str
    sentence: str
    at: int
    quantity: TextQuantity
    paragraph: int

    def with_blank(self, entity: str | None = None) -> str:
        """The sentence with a blank for the number and, where it is given, other words for the entity."""
        start, end = self.quantity.start, self.quantity.end
        text = f"{self.sentence[:start]}{BLANK}{self.sentence[end:]}"
        if entity is None:
            return text
        at = self.at if self.at < start else self.at - (end - start) + len(BLANK)
        return f"{text[:at]}{entity}{text[at + len(self.label) :]}"

    @property
    def without_entity(self) -> str:
        """The sentence with a blank for the entity."""
        return f"{self.sentence[: self.at]}{BLANK}{self.sentence[self.at + len(self.label) :]}"


@dataclass(frozen=True)
class MadeQuestion:
    """A question with its answer, the program or query that gave it, and the cells that it read."""

    kind: str
    text: str
    answer: str
    fact: TextFact
    cells: tuple[tuple[str, int, int], ...]
    program: Mapping[str, Any] | None = None
    sql: str = ""
    scale: str = ""


def build_hetero_benchmark(
    source: Path, out: Path, plan: HeteroPlan | None = None, llm: LLM | None = None
) -> HeteroCounts:
    """Build a benchmark folder from a folder of documents; gives what was built.

    The same seed, folder and model replies give the same files. Raises `BenchmarkError` where no document of
    the folder holds a table with text beside it, a leaf of `LLMError`.
    """
    plan, counts = plan or HeteroPlan(), HeteroCounts()
    if out.resolve() == source.resolve():
        raise BenchmarkError("The benchmark would be written among the documents.", hint="Name another folder.")
    with tempfile.TemporaryDirectory() as place:
        graph = build(source, Path(place) / "kg", embedding="none")
        with graph:
            tables = list(_tables(graph, counts))
            if not tables:
                raise BenchmarkError(
                    f"No document in {source} holds a table with text beside it.",
                    hint="Give a folder of documents: DOCX, PDF, HTML, Markdown.",
                )
            folder = BenchmarkFolder(out)
            for table in tables:
                folder.add_table(table.id, table.grid, **table.sidecar)
            made: list[dict[str, Any]] = []
            for table in tables:
                questions = _by_model(table, graph, llm, plan, counts) if llm else _by_templates(table, plan)
                for number, question in enumerate(questions):
                    made.append(_item(f"{table.id}-{number}", question, table))
            counts.questions = folder.write_questions(SPLIT, made)
    return counts


@dataclass
class _DocumentTable:
    """A table of a document with the paragraphs beside it."""

    id: str
    relation: Relation
    grid: list[Sequence[str]]
    sidecar: dict[str, Any]
    paragraphs: tuple[str, ...]

    @cached_property
    def facts(self) -> list[TextFact]:
        """What the paragraphs say of rows of the table, in reading order."""
        labels = self._labels()
        if not labels:
            return []
        pattern = re.compile(
            r"(?<!\w)(?:" + "|".join(map(re.escape, sorted(labels, key=len, reverse=True))) + r")(?!\w)"
        )
        found: list[TextFact] = []
        for number, text in enumerate(self.paragraphs):
            for start, end in sentence_spans(text):
                sentence = " ".join(text[start:end].split())
                named = list(pattern.finditer(sentence))
                quantities = find_quantities(sentence)
                if len(named) != 1 or not quantities:
                    continue
                if not FEWEST_WORDS <= len(sentence.split()) <= MOST_WORDS:
                    continue
                label = named[0][0]
                outside = [q for q in quantities if q.end <= named[0].start() or q.start >= named[0].end()]
                row = labels[label]
                printed = {self.relation.text(row, column.index) for column in self.relation.columns}
                new = [q for q in outside if q.signed not in {_digits(text) for text in printed}]
                if new:
                    found.append(TextFact(self.id, row, label, sentence, named[0].start(), new[0], number))
        once = [fact for fact in found if sum(other.sentence == fact.sentence for other in found) == 1]
        return once

    def _labels(self) -> dict[str, int]:
        """The labels that name one member each, with their rows."""
        column = self.relation.label_column()
        rows: dict[str, list[int]] = {}
        for row in range(len(self.relation)):
            label = " ".join(self.relation.text(row, column).split())
            if MemberKind(int(self.relation.kinds[row])) is MemberKind.MEMBER and re.search(r"[^\W\d_]{3}", label):
                rows.setdefault(label, []).append(row)
        return {label: found[0] for label, found in rows.items() if len(found) == 1}

    @cached_property
    def measures(self) -> list[int]:
        """The columns of numbers that have a header of words and are no identifiers."""
        label = self.relation.label_column()
        return [
            column.index
            for column in self.relation.columns
            if column.index != label
            and column.header
            and column.kind is ValueKind.QUANTITY
            and column.role is Role.MEASURE
        ]

    def run(self, expression: Expression) -> ProgramResult | None:
        """The result of a program over the table; None where it gives nothing."""
        try:
            result = run_program(Program(expression), {self.id: self.relation})
        except (ProgramError, EvaluationError):
            return None
        return None if result.value is None else result

    def extreme(self, row: int) -> tuple[int, str, ProgramResult] | None:
        """A column in which a row alone is highest or lowest, with the word for it and the program's result."""
        rows = TableRows((self.id,))
        wanted = self.relation.data(self.relation.label_column())[row]
        for column in self.measures:
            data = self.relation.data(column)
            members = [at for at in range(len(self.relation)) if int(self.relation.kinds[at]) == MemberKind.MEMBER]
            if sum(data[at] is not None for at in members) < FEWEST_MEMBERS:
                continue
            for word, descending in (("highest", True), ("lowest", False)):
                ordered = Sort(rows, (SortKey(ColumnRef(column), descending),))
                # Of several extreme rows the lookup fails, unless they have one label.
                result = self.run(Lookup(Limit(ordered, ties=True), ColumnRef(self.relation.label_column())))
                if result is not None and result.value == wanted:
                    return column, word, result
        return None

    def cell(self, fact: TextFact, column: int) -> Lookup:
        """The program that reads a cell of a fact's row."""
        label = Compare(Relator.EQUAL, ColumnRef(self.relation.label_column()), Constant(fact.label))
        return Lookup(Filter(TableRows((self.id,)), label), ColumnRef(column))

    @property
    def kind_of_row(self) -> str:
        """What the rows are, by the header of the labels."""
        return self.relation.columns[self.relation.label_column()].header or "row"


def _digits(text: str) -> str:
    return re.sub(r"[^\d.()+-]", "", text)


def _tables(graph: KnowledgeGraph, counts: HeteroCounts) -> Iterator[_DocumentTable]:
    """The tables of the graph that have text beside them, by document."""
    relations = relations_of(graph.reader)
    for id in sorted(graph.catalogue.documents):
        document = read_document(graph.store, id, graph.names)
        if document is None:
            continue
        counts.documents += 1
        beside = _beside(document)
        for table in sorted(beside):
            source = graph.tables[table].table
            paragraphs = tuple(document.paragraphs[number].text for number in beside[table])
            context = source.context
            name = file_name(table)
            sidecar: dict[str, Any] = {
                "title": document.title if document.title != document.id else "",
                "heading": list(context.heading),
                "caption": context.caption,
                "paragraphs": list(paragraphs),
                "paragraph_orders": list(range(1, len(paragraphs) + 1)),
                "document": document.path,
            }
            made = _DocumentTable(table, relations[table], list(source.grid.head), sidecar, paragraphs)
            counts.tables += 1
            counts.facts += len(made.facts)
            if name != table:
                raise BenchmarkError(f"The table {table!r} has no name that a file can have.")
            yield made


def _beside(document: StoredDocument) -> dict[str, list[int]]:
    """The paragraphs of the passages that describe each table, without headings."""
    found: dict[str, dict[int, None]] = {}
    for passage in document.passages:
        for table in passage.tables:
            numbers = found.setdefault(table, {})
            numbers.update(dict.fromkeys(n for n, _ in passage.paragraphs if not document.paragraphs[n].level))
    return {table: sorted(numbers) for table, numbers in found.items() if numbers}


def _by_templates(table: _DocumentTable, plan: HeteroPlan) -> list[MadeQuestion]:
    """Questions from templates, of each kind in turn, facts in random order."""
    chance = random.Random(f"{plan.seed}:{table.id}")
    facts = list(table.facts)
    chance.shuffle(facts)
    kinds = [
        [made for fact in facts if (made := _text_by_table(table, fact)) is not None],
        [made for fact in facts if (made := _table_by_text(table, fact, chance)) is not None],
        [made for fact in facts if (made := _difference(table, fact)) is not None],
    ]
    chosen: list[MadeQuestion] = []
    while any(kinds) and len(chosen) < plan.per_table:
        for kind in kinds:
            if kind and len(chosen) < plan.per_table:
                chosen.append(kind.pop(0))
    return chosen


def _text_by_table(table: _DocumentTable, fact: TextFact) -> MadeQuestion | None:
    """The table says which entity is meant, the text the answer."""
    found = table.extreme(fact.row)
    if found is None:
        return None
    column, word, result = found
    entity = f"[the {table.kind_of_row} with the {word} {table.relation.columns[column].header}]"
    text = f"Which amount belongs in the blank: “{fact.with_blank(entity)}”?"
    return MadeQuestion("text by table", text, fact.quantity.text, fact, _read(result), program_to_json(result.program))


def _table_by_text(table: _DocumentTable, fact: TextFact, chance: random.Random) -> MadeQuestion | None:
    """The text says which entity is meant, the table the answer."""
    columns = [column for column in table.measures if table.relation.data(column)[fact.row] is not None]
    if not columns:
        return None
    column = chance.choice(columns)
    result = table.run(table.cell(fact, column))
    if result is None:
        return None
    header = table.relation.columns[column].header
    text = f"What is the {header} of the {table.kind_of_row} of which is said: “{fact.without_entity}”?"
    answer = " ".join(table.relation.text(fact.row, column).split())
    value = table.relation.data(column)[fact.row]
    scale = _SCALES.get(value.scale or "", "") if value is not None else ""
    return MadeQuestion(
        "table by text", text, answer, fact, _read(result), program_to_json(result.program), scale=scale
    )


def _difference(table: _DocumentTable, fact: TextFact) -> MadeQuestion | None:
    """A number of the table and one of the text, subtracted."""
    unit = fact.quantity.unit
    for column in table.measures:
        value = table.relation.data(column)[fact.row]
        if unit is None or value is None or value.unit != unit:
            continue
        said = Constant(fact.quantity.value, ValueKind.QUANTITY, unit)
        result = table.run(Arithmetic(Operator.SUBTRACT, table.cell(fact, column), said))
        if result is None or result.value is None or result.value.number is None:
            continue
        header = table.relation.columns[column].header
        text = (
            f"By how much does the {header} of {fact.label} differ from the amount in the blank: “{fact.with_blank()}”?"
        )
        answer = f"{abs(result.value.number).normalize():f}"
        return MadeQuestion("difference", text, answer, fact, _read(result), program_to_json(result.program))
    return None


def _read(result: ProgramResult) -> tuple[tuple[str, int, int], ...]:
    cells = [cell for cell in result.cells() if cell.role == "selected"] or list(result.cells())
    return tuple(dict.fromkeys((cell.table, cell.row, cell.column) for cell in cells))


_REPLY = {
    "type": "object",
    "properties": {name: {"type": "string"} for name in ("question", "sql", "answer")},
    "required": ["question", "sql", "answer"],
    "additionalProperties": False,
}


def _by_model(
    table: _DocumentTable, graph: KnowledgeGraph, llm: LLM, plan: HeteroPlan, counts: HeteroCounts
) -> Iterator[MadeQuestion]:
    """Questions that a model writes, kept where its query gives the answer it says and the entity is not named."""
    chance = random.Random(f"{plan.seed}:{table.id}")
    facts = list(table.facts)
    chance.shuffle(facts)
    system = (Path(__file__).parent / "prompts" / "hetero_question.txt").read_text(encoding="utf-8")
    card = graph.sql_schema(table.id)
    rows = "\n".join(" | ".join(row) for row in table.grid[:SHOWN_ROWS])
    for fact in facts[: plan.per_table]:
        text = f"<data>\n{_fenced(f'{card}{chr(10)}{chr(10)}{rows}')}\n</data>\nEntity: {_fenced(fact.label)}\n"
        text += f"<data>\n{_fenced(fact.sentence)}\n</data>"
        messages: tuple[Message, ...] = (
            {"role": "system", "content": system.strip()},
            {"role": "user", "content": text},
        )
        try:
            reply = llm.complete(Request(messages, schema=_REPLY, stage="hetero question")).data or {}
        except LLMReplyError:
            counts.leave("the reply was of no use")
            continue
        question, sql, answer = (str(reply.get(name, "")).strip() for name in ("question", "sql", "answer"))
        why = _fault(graph, fact, question, sql, answer)
        if why:
            counts.leave(why)
            continue
        yield MadeQuestion("by a model", question, answer, fact, (), None, sql)


def _fault(graph: KnowledgeGraph, fact: TextFact, question: str, sql: str, answer: str) -> str:
    """What speaks against a question that a model wrote; empty where nothing does."""
    if not question or not answer:
        return "the reply was of no use"
    if re.search(rf"(?<!\w){re.escape(fact.label)}(?!\w)", question, re.IGNORECASE):
        return "the question names the entity"
    if fact.label.casefold() not in sql.casefold():
        return "the query does not need the text"
    try:
        found = graph.sql_database.query(sql, seconds=10.0, most=2)
    except (QueryError, EvaluationError):
        return "the query failed"
    if len(found.rows) != 1 or len(found.rows[0]) != 1 or found.rows[0][0] is None:
        return "the query gave no single value"
    given = str(found.rows[0][0])
    if not exact_match([given], [answer]) and not numbers_match(given, answer):
        return "the query gave another answer"
    return ""


def _fenced(text: str) -> str:
    """A text of the data without what could end its fence."""
    return text.replace("</data>", "<\\/data>").replace("<data>", "<data\\>")


def _item(id: str, made: MadeQuestion, table: _DocumentTable) -> dict[str, Any]:
    """One line of the benchmark; rows count from the line below the first."""
    item: dict[str, Any] = {
        "id": id,
        "question": made.text,
        "answers": [made.answer],
        "tables": [table.id],
        "cells": [[name, row - 1, column] for name, row, column in made.cells],
        "cells_from": "program" if made.cells else None,
        "answer_from": "text" if made.kind == "text by table" else "table-text",
        "kind": made.kind,
        "entity": made.fact.label,
        "sentence": made.fact.sentence,
        "rel_paragraphs": [made.fact.paragraph + 1],
    }
    if made.program is not None:
        item["program"] = made.program
    if made.scale:
        item["scale"] = made.scale
    if made.sql:
        item["sql"] = made.sql
    return item
