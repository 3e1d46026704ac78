"""The reasoner of DMRAL (section 5): a program that grows over the sub-questions, executed, repaired a few times.

With a language model it writes the program along the sub-questions, in kgtable's algebra; a program that
fails goes back with its error, `DmralOptions.steps` times at most, and what still fails is not an answer. Without one,
kgtable's rules answer from the retrieved tables and their joins.
"""

from __future__ import annotations

import json
from collections.abc import Hashable
from dataclasses import replace
from itertools import combinations, islice
from string import Template
from typing import Any

from kgtable.answering.answer import Answer
from kgtable.answering.ask import Solver
from kgtable.answering.evidence import Evidence, TableSource
from kgtable.answering.program_answers import answer_by_rules, read_program, reading_of, relations_of
from kgtable.answering.prompting import one_line
from kgtable.config import Settings
from kgtable.errors import KgtableError
from kgtable.index.inferred.relations import TableRelations
from kgtable.llm.protocol import LLM, OnText, Request, Schema, UsageMeter
from kgtable.llm.request_parts import TEXT, messages_text, object_schema, prompt_messages
from kgtable.programs.executor import run
from kgtable.resources import read_packaged
from kgtable.retrieval.registry import Choice, Method, Retrievers
from kgtable.retrieval.result import Retriever
from kgtable.systems.dmral.coverage_retrieval import CoverageRetriever, DmralOptions, unmarked
from kgtable.systems.tablerag.actions import EMPTY
from kgtable.tables.model import Role

ROWS_SHOWN, VALUES_SHOWN = 3, 6
LONGEST_CELL = 60
_PROGRAM: Schema = {"type": ["object", "null"]}
_SCHEMA = object_schema(steps={"type": "array", "items": TEXT}, program=_PROGRAM)
_PROGRAM_ALONE = object_schema(program=_PROGRAM)
_PROGRAMS = "answering/prompts/programs.txt"

UNCHECKED = "The program was written by a language model and its reading was not checked."
UNREAD = "No cell of the tables was read for it."


class StepwiseSolver:
    """Answers from retrieved tables and their relations."""

    def __init__(self, relations: TableRelations, options: DmralOptions, settings: Settings) -> None:
        self._relations, self._options, self._settings = options.likely(relations), options, settings

    def solve(self, evidence: Evidence, llm: LLM | None, *, on_text: OnText | None = None) -> Answer:
        """The answer; empty if no program can be executed. Raises leaves of `LLMError`."""
        evidence = evidence.best(self._options.tables)
        return answer_by_rules(evidence) if llm is None else self._by_model(evidence, llm, on_text)

    def _by_model(self, evidence: Evidence, llm: LLM, on_text: OnText | None) -> Answer:
        retrieval = evidence.retrieval
        meter = UsageMeter()
        steps: tuple[str, ...] = ()
        fault, found = "", None
        way = "reason" if self._options.reasoning else "single"
        system = _read(way, programs=read_packaged(_PROGRAMS).strip())
        messages = list(prompt_messages(system, self._shown(evidence)))
        schema = _SCHEMA if self._options.reasoning else _PROGRAM_ALONE
        for _ in range(self._options.steps + 1):
            request = Request(
                tuple(messages),
                schema=schema,
                stage="answer",
                temperature=self._settings.temperature,
                max_tokens=self._settings.max_tokens,
            )
            reply = llm.complete(request, on_text=on_text)
            meter.add("answer", reply.usage)
            data = reply.data or {}
            steps = tuple(str(step) for step in data.get("steps") or ())
            written = data.get("program")
            if written is None:
                fault = "The model found no program."
                break
            try:
                found = _by_program(written, evidence)
            except (KgtableError, ArithmeticError, RecursionError) as error:
                fault = error.message if isinstance(error, KgtableError) else str(error)
                messages += [
                    {"role": "assistant", "content": json.dumps(data, ensure_ascii=False)},
                    {"role": "user", "content": _read("refine", fault=_data(fault[:500]))},
                ]
            else:
                break
        failed = (f"No program could be executed: {fault}",)
        return replace(
            found or Answer(question=retrieval.question, text="", reasons=failed),
            method=retrieval.method,
            model=llm.model,
            reasoning="\n".join(steps),
            prompt=messages_text(messages),
            usage=meter.to_json(),
            retrieval=retrieval,
        )

    def _shown(self, evidence: Evidence) -> str:
        """The question, the sub-questions, the tables with their first rows, and how they join."""
        retrieval = evidence.retrieval
        ids = evidence.tables
        lines = [f"Question: <<<{_data(retrieval.question)}>>>"]
        if self._options.reasoning:
            lines.append("Sub-questions:")
            lines += [f"- <<<{_data(str(text))}>>>" for text in retrieval.trace.get("subquestions", ())]
        lines.append("Tables:\n<<<")
        for id in ids:
            relation = relations_of(evidence.source)[id]
            columns = range(len(relation.columns))
            headers = (_data(column.header) for column in relation.columns)
            lines.append(f"{evidence.alias(id)} ({_data(id)}): {' | '.join(headers)}")
            for row in range(min(ROWS_SHOWN, len(relation))):
                cells = (_data(relation.text(row, column)[:LONGEST_CELL]) for column in columns)
                lines.append(f"  {' | '.join(cells)}")
            for column in columns:
                if relation.columns[column].role in (Role.CATEGORY, Role.FLAG):
                    texts = (relation.text(row, column)[:LONGEST_CELL] for row in range(len(relation)))
                    values = islice(dict.fromkeys(filter(None, texts)), VALUES_SHOWN)
                    lines.append(f"  {_data(relation.columns[column].header)}: {_data('; '.join(values))}, …")
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
    return Template(read_packaged(f"systems/dmral/prompts/{prompt}.txt")).substitute(texts)


def _by_program(written: Any, evidence: Evidence) -> Answer:
    """The result of a program. Raises `KgtableError` if it cannot be executed or has no result."""
    program = read_program(written, evidence)
    result = run(program, relations_of(evidence.source))
    if result.empty:
        raise KgtableError(EMPTY)
    found = reading_of([result], evidence)
    reasons = (UNCHECKED,) if found.citations else (UNREAD, UNCHECKED)
    answer = Answer(evidence.retrieval.question, "", grounded=bool(found.citations), reasons=reasons, doubtful=True)
    return answer.reading(found)


def _data(text: str) -> str:
    """A text of the data on one line, without the marks around data."""
    return unmarked(one_line(text))


def make_retriever(retrievers: Retrievers, choice: Choice) -> Retriever:
    """The retriever of ``dmral``. Raises `RetrievalError` for a graph behind an endpoint, which has no index."""
    material = retrievers.material
    options = choice.options if isinstance(choice.options, DmralOptions) else DmralOptions()
    return CoverageRetriever(
        material.on_disk("dmral"), material.names, material.index, TableRelations.open(material.index_path), options
    )


def make_solver(retrievers: Retrievers, source: TableSource, options: Hashable | None, settings: Settings) -> Solver:
    """The solver of ``dmral``."""
    chosen = options if isinstance(options, DmralOptions) else DmralOptions()
    return StepwiseSolver(TableRelations.open(retrievers.material.index_path), chosen, settings)


METHODS = {"dmral": Method(make_retriever, DmralOptions)}
SOLVERS = {"dmral": make_solver}
OBEYED = ("temperature", "max_tokens")
