"""The reasoner of DMRAL (section 5): a program that grows over the sub-questions, executed, repaired a few times.

With a language model it writes the program along the sub-questions, in kgtable's algebra or in SQL; a program that
fails goes back with its error, `DmralOptions.steps` times at most, and what still fails is no answer. Without one,
programs over two joined tables are composed (`kgtable.systems.dmral.joined_programs`) where the question speaks of
both, and kgtable's rules answer everything else.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import combinations
from string import Template
from typing import Any

from kgtable.answering.answer import Answer
from kgtable.answering.ask import Solver
from kgtable.answering.evidence import Evidence, TableSource
from kgtable.answering.program_answers import RULES, answer_by_rules, citations_of, read_program, relations_of
from kgtable.answering.prompting import one_line
from kgtable.errors import KgtableError, MissingExtraError
from kgtable.index.inferred.relations import TableRelations
from kgtable.llm.protocol import LLM, Message, OnText, Request, UsageMeter
from kgtable.programs.algebra import Program, tables_of
from kgtable.programs.batch_execution import Session, texts
from kgtable.programs.executor import ProgramResult, run
from kgtable.programs.relation import Relation
from kgtable.programs.scalars import format_decimal, text_of
from kgtable.resources import PACKAGE
from kgtable.retrieval.registry import Choice, Method, Retrievers
from kgtable.retrieval.result import Retriever
from kgtable.semantic_parsing.reading import Question
from kgtable.systems.dmral.coverage_retrieval import (
    CoverageRetriever,
    DmralOptions,
    ReasonerLanguage,
    unmarked,
)
from kgtable.systems.dmral.joined_programs import ComposedProgram, JoinComposer, joins_between
from kgtable.systems.tablerag.actions import EMPTY, Observation
from kgtable.systems.tablerag.code_actions import SandboxError, SqlActions
from kgtable.systems.tablerag.react import judge_run

TABLES_JOINED = 3
"""The best tables of which pairs are joined without a model."""

TABLES_SHOWN = 6
"""Tables that a model is shown: the best ones, as in the paper, and one more for the gap."""

ROWS_SHOWN = 3
LONGEST_CELL = 60
MOST_VALUES = 200
"""Values that an answer lists."""

_FOLDER = PACKAGE / "systems" / "dmral" / "prompts"
_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "steps": {"type": "array", "items": {"type": "string"}},
        "program": {"type": ["object", "null"]},
    },
    "required": ["steps", "program"],
    "additionalProperties": False,
}
_SQL_SCHEMA: Mapping[str, Any] = {
    **_SCHEMA,
    "properties": {"steps": _SCHEMA["properties"]["steps"], "sql": {"type": ["string", "null"]}},
    "required": ["steps", "sql"],
}
_PROGRAMS = "answering/prompts/programs.txt"

UNCHECKED = "The program was written by a language model and its reading was not checked."
UNREAD = "No cell of the tables was read for it."
LONGEST_STATEMENT = 2_000
"""Characters of a statement in SQL that an answer tells."""


@dataclass(frozen=True, slots=True)
class ComposedAnswer:
    """A composed program with what it gives as texts, in the order of the rows."""

    composed: ComposedProgram
    result: ProgramResult
    texts: tuple[str, ...]


class StepwiseSolver:
    """Answers from retrieved tables and their relations."""

    def __init__(self, relations: TableRelations, options: DmralOptions) -> None:
        self._relations, self._options = relations, options

    def solve(self, evidence: Evidence, llm: LLM | None, *, on_text: OnText | None = None) -> Answer:
        """The answer; empty where no program can be executed. Raises leaves of `LLMError`."""
        if llm is not None:
            return self._by_model(evidence, llm, on_text)
        plain = answer_by_rules(evidence)
        if plain.verified:
            return plain
        ids = evidence.tables[:TABLES_JOINED]
        tables = [relations_of(evidence.source)[id] for id in ids]
        composed = compose(evidence.retrieval.question, tables, self._relations)
        if composed is None or not _beats(composed, plain, ids):
            return plain
        return self._told(composed, plain, evidence)

    def _told(self, found: ComposedAnswer, plain: Answer, evidence: Evidence) -> Answer:
        """The composed answer: grounded, and not called verified, since forms are matched by their words."""
        citations, count = citations_of([found.result], evidence)
        value = found.result.value
        number = None if value is None or value.number is None else format_decimal(value.number)
        return replace(
            plain,
            text="; ".join(found.texts[:MOST_VALUES]),
            value=number,
            unit=value.unit if value is not None and number is not None else None,
            verified=False,
            grounded=True,
            ambiguous=bool(plain.text),
            reasons=("The tables are joined by columns that were found to fit, not declared to.",),
            citations=citations,
            calculation=found.result.derivation,
            program=found.composed.program,
            confidence=round(0.5 * found.composed.covered, 3),
            cells_read=count,
            model=RULES,
        )

    def _by_model(self, evidence: Evidence, llm: LLM, on_text: OnText | None) -> Answer:
        retrieval = evidence.retrieval
        tables = evidence.tables[:TABLES_SHOWN]
        in_sql = self._options.language is ReasonerLanguage.SQL
        meter = UsageMeter()
        steps: tuple[str, ...] = ()
        fault = ""
        with closing(SqlActions(evidence, tables if in_sql else ())) as sql:
            instructions = (
                _read("reason_sql", language=sql.instructions())
                if in_sql
                else _read("reason", programs=(PACKAGE / _PROGRAMS).read_text(encoding="utf-8").strip())
            )
            messages: list[Message] = [
                {"role": "system", "content": instructions},
                {"role": "user", "content": self._shown(evidence)},
            ]
            schema = _SQL_SCHEMA if in_sql else _SCHEMA
            for _ in range(self._options.steps + 1):
                request = Request(tuple(messages), schema=schema, stage="answer", max_tokens=2_000)
                reply = llm.complete(request, on_text=on_text)
                meter.add("answer", reply.usage)
                data = reply.data or {}
                steps = tuple(str(step) for step in data.get("steps") or ())
                written = data.get("sql" if in_sql else "program")
                if written is None:
                    fault = "The model found no program."
                    break
                try:
                    ran = sql.run(written) if in_sql else None
                    found = _by_sql(ran, evidence, tables) if ran else _by_program(written, evidence)
                except (KgtableError, ArithmeticError, RecursionError) as error:
                    if isinstance(error, (SandboxError, MissingExtraError)):
                        raise
                    fault = error.message if isinstance(error, KgtableError) else str(error)
                    messages += [
                        {"role": "assistant", "content": json.dumps(data, ensure_ascii=False)},
                        {"role": "user", "content": _read("refine", fault=_data(fault[:500]))},
                    ]
                    continue
                return replace(
                    found,
                    method=retrieval.method,
                    model=llm.model,
                    reasoning="\n".join(steps),
                    prompt=_as_text(messages),
                    usage=meter.to_json(),
                    retrieval=retrieval,
                )
        return Answer(
            question=retrieval.question,
            text="",
            reasons=(f"No program could be executed: {fault}",),
            method=retrieval.method,
            model=llm.model,
            reasoning="\n".join(steps),
            prompt=_as_text(messages),
            usage=meter.to_json(),
            retrieval=retrieval,
        )

    def _shown(self, evidence: Evidence) -> str:
        """The question, the sub-questions, the tables with their first rows, and how they join."""
        retrieval = evidence.retrieval
        ids = evidence.tables[:TABLES_SHOWN]
        lines = [f"Question: <<<{_data(retrieval.question)}>>>", "Sub-questions:"]
        lines += [f"- <<<{_data(str(text))}>>>" for text in retrieval.trace.get("subquestions", ())]
        lines.append("Tables:\n<<<")
        for id in ids:
            relation = relations_of(evidence.source)[id]
            lines.append(
                _data(f"{evidence.alias(id)} ({id}): {' | '.join(c.header for c in relation.columns)}")
            )
            for row in range(min(ROWS_SHOWN, len(relation))):
                cells = (relation.text(row, column)[:LONGEST_CELL] for column in range(len(relation.columns)))
                lines.append("  " + _data(" | ".join(cells)))
        lines.append(">>>\nJoins:\n<<<")
        for one, other in combinations(ids, 2):
            for join in self._relations.between(one, other)[:2]:
                ends = (f"{evidence.alias(end.table)}.{end.name}" for end in (join.left, join.right))
                lines.append(_data(" = ".join(ends)) + (" (fuzzy)" if join.fuzzy else ""))
            union = self._relations.union_of(one)
            if union is not None and other in union.tables:
                lines.append(f"{evidence.alias(one)} and {evidence.alias(other)} are parts of one table")
        lines.append(">>>")
        return "\n".join(lines)


def _read(prompt: str, **texts: str) -> str:
    return Template((_FOLDER / f"{prompt}.txt").read_text(encoding="utf-8")).substitute(texts)


def _by_program(written: Any, evidence: Evidence) -> Answer:
    """What a program gives. Raises `KgtableError` where it cannot be executed, or gives nothing."""
    program = read_program(written, evidence)
    result = run(program, relations_of(evidence.source))
    if result.empty:
        raise KgtableError(EMPTY)
    citations, count = citations_of([result], evidence)
    said = _texts(program, {id: relations_of(evidence.source)[id] for id in tables_of(program)})
    value = result.value
    number = None if value is None or value.number is None else format_decimal(value.number)
    return Answer(
        question=evidence.retrieval.question,
        text="; ".join(said[:MOST_VALUES]),
        value=number,
        unit=value.unit if value is not None and number is not None else None,
        grounded=bool(citations),
        reasons=(UNCHECKED,) if citations else (UNREAD, UNCHECKED),
        citations=citations,
        calculation=result.derivation,
        program=program,
        cells_read=count,
    )


def _by_sql(found: Observation, evidence: Evidence, tables: Sequence[str]) -> Answer:
    """What a statement gave, with the cells that it read. Raises `KgtableError` where it failed or gave nothing."""
    if not found.succeeded:
        raise KgtableError(found.text)
    text = "; ".join(text_of(value) for value in found.values[:MOST_VALUES])
    verdict = judge_run(text, [found], evidence, tables)
    grounded = verdict.grounded and bool(verdict.citations)
    faults = () if grounded else (verdict.reasons[:1] if verdict.citations else (UNREAD,))
    return Answer(
        question=evidence.retrieval.question,
        text=text,
        value=verdict.value,
        unit=verdict.unit,
        grounded=grounded,
        reasons=(*faults, UNCHECKED),
        citations=verdict.citations,
        calculation=str(found.action)[:LONGEST_STATEMENT],
        cells_read=verdict.cells_read,
    )


def _data(text: str) -> str:
    """A text of the data on one line, without the marks around data."""
    return unmarked(one_line(text))


def compose(
    question: str, tables: Sequence[Relation], relations: TableRelations | None
) -> ComposedAnswer | None:
    """The composed program over two of the tables that accounts for most of a question, with what it gives.

    Of several pairs the one that covers most counts, of equal ones that of the better tables. None where no
    two tables join, or the question does not speak of two.
    """
    asked = Question.read(question)
    known = {table.id: table for table in tables}
    best: ComposedAnswer | None = None
    for one, other in combinations(range(len(tables)), 2):
        for join in joins_between(relations, tables, one, other)[:2]:
            composer = JoinComposer(asked, tables, join)
            if not composer.speaks_of_both:
                continue
            found = _first_executed(composer.programs(), known)
            if found is not None and (best is None or found.composed.covered > best.composed.covered + 1e-9):
                best = found
    return best


def _first_executed(
    programs: Sequence[ComposedProgram], known: Mapping[str, Relation]
) -> ComposedAnswer | None:
    for composed in programs:
        try:
            said = _texts(composed.program, known)
            if said:
                return ComposedAnswer(composed, run(composed.program, known), said)
        except KgtableError:
            continue
    return None


def _texts(program: Program, known: Mapping[str, Relation]) -> tuple[str, ...]:
    return tuple(texts(Session(known).denotation(program)))


def _beats(composed: ComposedAnswer, plain: Answer, tables: Sequence[str]) -> bool:
    """Whether the composed answer goes before that of the rules: where these do not read both tables surely."""
    if not plain.text or plain.program is None:
        return True
    joined = set(tables_of(composed.composed.program))
    return not (joined <= set(tables_of(plain.program)) and (plain.confidence or 0.0) >= SURE)


SURE = 0.6
"""The confidence from which the rules' own join stands."""


def _as_text(messages: Sequence[Message]) -> str:
    return "\n\n".join(f"[{message['role']}]\n{message['content']}" for message in messages)


def make_retriever(retrievers: Retrievers, choice: Choice) -> Retriever:
    """The retriever of ``dmral``. Raises `RetrievalError` for a graph behind an endpoint, which has no index."""
    material = retrievers.material
    options = choice.options if isinstance(choice.options, DmralOptions) else DmralOptions()
    return CoverageRetriever(
        material.on_disk("dmral"),
        material.names,
        material.index,
        TableRelations.open(material.index_path),
        options,
        llm=material.llm,
    )


def make_solver(retrievers: Retrievers, source: TableSource, options: Hashable | None) -> Solver:
    """The solver of ``dmral``."""
    chosen = options if isinstance(options, DmralOptions) else DmralOptions()
    return StepwiseSolver(TableRelations.open(retrievers.material.index_path), chosen)


METHODS = {"dmral": Method(make_retriever, DmralOptions)}
SOLVERS = {"dmral": make_solver}
