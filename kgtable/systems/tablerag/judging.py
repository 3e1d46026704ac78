"""The verdict on what a run of the solver answers: the words mean what they mean everywhere.

Where the steps were programs, the answer is judged by the program of the last step that bears it out. SQL
and Python are no programs of kgtable: what they gave grounds an answer, but it is verified only where a
program that the rules find computes the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kgtable.answering.answer import Citation
from kgtable.answering.by_rules import answer_by_programs
from kgtable.answering.evidence import Evidence
from kgtable.answering.grounding import Facts, check_text
from kgtable.answering.program_answers import MOST_CITATIONS, relations_of
from kgtable.answering.reply import Draft
from kgtable.answering.verdict import Verdict, answer_key, judge
from kgtable.programs.executor import ProgramResult
from kgtable.programs.scalars import Datum, format_decimal
from kgtable.programs.syntax import program_to_json
from kgtable.systems.tablerag.actions import Observation

CHECKED_ROWS = 300
UNCOMPUTED = "It was computed by code, and no program of kgtable was found that gives the same."


def judge_run(text: str, steps: Sequence[Observation], evidence: Evidence, tables: Sequence[str]) -> Verdict:
    """Execute and check an answer after the steps of a run.

    Args:
        text: the final answer.
        steps: the observations, in order.
        evidence: what was retrieved.
        tables: the ids of the tables that the steps could read.
    """
    succeeded = [step for step in reversed(steps) if step.succeeded]
    if not succeeded:
        return Verdict(reasons=("No action gave this answer.",))
    if succeeded[0].program is None:
        return _by_code(text, succeeded, evidence, tables)
    verdicts: list[Verdict] = []
    for step in succeeded:
        verdicts.append(judge(Draft(text, program=step.program), evidence))
        if verdicts[-1].grounded:
            return verdicts[-1]
    return verdicts[0]


def _by_code(text: str, steps: Sequence[Observation], evidence: Evidence, tables: Sequence[str]) -> Verdict:
    question = evidence.retrieval.question
    texts = _names(evidence, tables)
    first: Verdict | None = None
    for step in [variant for given in steps for variant in _variants(given)]:
        check = check_text(text, Facts(step.values, (), texts), question)
        citations = _citations(step, evidence)
        found = Verdict(
            grounded=not check.faults,
            reasons=(*check.faults, *check.doubts) or (UNCOMPUTED,),
            citations=citations,
            cells_read=step.cells_read,
            calculation=str(step.action)[:300],
            value=_value(step),
            unit=_unit(step),
        )
        if found.grounded:
            return _by_program(text, step, evidence, tables) or found
        first = first or found
    assert first is not None
    return replace(first, value=None, unit=None)


def _variants(step: Observation) -> list[Observation]:
    """The step with its numbers in the unit of what it read, and as they are."""
    if step.unit is None:
        return [step]
    values = tuple(v if v.number is None or v.unit else v._replace(unit=step.unit) for v in step.values)
    return [replace(step, values=values), step]


def _by_program(text: str, step: Observation, evidence: Evidence, tables: Sequence[str]) -> Verdict | None:
    """The verdict by a program of the rules that gives what the code gave, where there is one."""
    scores = {found.table: found.score for found in evidence.retrieval.tables}
    relations = relations_of(evidence.source)
    ranked = answer_by_programs(
        evidence.retrieval.question, [(relations[id], scores.get(id, 0.0)) for id in tables]
    )
    wanted = answer_key(step.values)
    for other in filter(None, (ranked.best, *ranked.alternatives)):
        if answer_key(_values(other.result)) == wanted:
            verdict = judge(Draft(text, program=program_to_json(other.program)), evidence)
            if verdict.grounded:
                return verdict
    return None


def _values(result: ProgramResult) -> list[Datum]:
    return [value for row in result.rows() for value in row if value is not None][:CHECKED_ROWS]


def _value(step: Observation) -> str | None:
    number = step.values[0].number if len(step.values) == 1 else None
    return None if number is None else format_decimal(number)


def _unit(step: Observation) -> str | None:
    only = step.values[0] if len(step.values) == 1 else None
    return None if only is None or only.number is None else only.unit


def _names(evidence: Evidence, tables: Sequence[str]) -> list[str]:
    """Titles and headers of the tables: what a text may say beside values."""
    found: dict[str, None] = {}
    relations = relations_of(evidence.source)
    for id in tables:
        context = relations[id].tables[0].context
        found.update(dict.fromkeys((context.title, context.caption, *context.heading)))
        found.update(dict.fromkeys(column.header for column in relations[id].columns))
    return [text for text in found if text]


def _citations(step: Observation, evidence: Evidence) -> tuple[Citation, ...]:
    cells = (evidence.cell(*place) for place in step.cells[:MOST_CITATIONS])
    return tuple(Citation.of(cell) for cell in cells if cell is not None)
