"""The program-aided solver: thought, action, observation, … answer (paper, section 3.3; ReAct, Yao et al. 2022).

A run has at most so many actions, with state kept between them. With several votes, runs are made until
one answer has a majority that the runs left could not change (self-consistency, paper, section 4.3).

The verdict on an answer: where the steps were programs, it is judged by the program of the last step that supports
it. Python code is not a program of kgtable: its results ground an answer, but it is verified only where a program
that the rules find computes the same.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from string import Template
from typing import Any

from kgtable.answering.answer import Answer
from kgtable.answering.evidence import Citation, Evidence
from kgtable.answering.grounding import Facts, check_text, plain
from kgtable.answering.program_answers import MOST_CITATIONS, ranked_answer, relations_of
from kgtable.answering.prompting import Draft
from kgtable.answering.verdict import Judgement, answer_key, judge
from kgtable.errors import LLMReplyError
from kgtable.llm.protocol import LLM, Completion, Message, OnText, Request, estimate_tokens, fence
from kgtable.llm.request_parts import TEXT, messages_text, object_schema, prompt_messages
from kgtable.programs.display import display, says_only, style_of
from kgtable.programs.executor import ProgramResult
from kgtable.programs.scalars import Datum, format_decimal
from kgtable.programs.syntax import program_to_json
from kgtable.questions.by_rules import MOST_TABLES, answer_by_programs
from kgtable.systems.tablerag.actions import NO_ACTION, Actions, Observation, ProgramActions, read_prompt
from kgtable.systems.tablerag.code_actions import PythonActions
from kgtable.systems.tablerag.vocabulary import ShownRetrieval, ShownTable, render
from kgtable.values.decimals import shortened

STAGE = "solve"
LONGEST_REPLY = 8_000
LONGEST_ANSWER = 4_000
MOST_TOKENS = 1_500
WIDE = 24
"""Columns up to which the rules look at a table as a whole."""

_ACTIONS = {
    "program": ({"type": ["object", "null"]}, "the program, an object"),
    "python": ({"type": ["string", "null"]}, "the code, a text"),
}


def reply_schema(language: str) -> Mapping[str, Any]:
    """The form of a reply in a language."""
    return object_schema("step", thought=TEXT, action=_ACTIONS[language][0], answer={"type": ["string", "null"]})


@dataclass(frozen=True)
class SolverRun:
    """One run of the solver: the final answer or None, the conversation, and the observations."""

    answer: str | None
    steps: tuple[Observation, ...]
    thoughts: tuple[str, ...]
    messages: tuple[Message, ...]
    model: str = ""
    failure: str = ""


class ReactSolver:
    """Answers from what was shown of the tables.

    Args:
        language: that of the actions: ``program`` or ``python``.
        tables: how many tables the actions may read.
        steps: actions of a run.
        votes: runs, at most; one run is made at temperature 0.
        temperature: that of several runs.
    """

    def __init__(
        self, *, language: str = "program", tables: int = 3, steps: int = 5, votes: int = 1, temperature: float = 0.8
    ) -> None:
        self._language, self._tables, self._steps = language, tables, steps
        self._votes, self._temperature = votes, temperature

    def solve(self, evidence: Evidence, llm: LLM | None, *, on_text: OnText | None = None) -> Answer:
        """The answer, executed and checked. Without a model the rules rank programs over the columns found.

        Raises leaves of `LLMError`, `LLMReplyError` if no run gave a usable reply; `SandboxError`.
        """
        started = time.perf_counter()
        shown = shown_of(evidence, self._tables)
        refused = getattr(evidence.retrieval, "refused", "")
        if not shown:
            answer = Answer(
                evidence.retrieval.question,
                "",
                reasons=(refused or "No table fits the question.",),
                method=evidence.retrieval.method,
                model="" if llm is None else llm.model,
                retrieval=evidence.retrieval,
            )
        elif llm is None:
            answer = answer_from_columns(evidence, shown)
        else:
            answer = self._voted(evidence, shown, llm)
        spent = round((time.perf_counter() - started) * 1000, 3)
        return replace(answer, timings_ms={**evidence.retrieval.timings_ms, "answer": spent})

    def prompt(self, evidence: Evidence, shown: Sequence[ShownTable], actions: Actions) -> tuple[Message, ...]:
        """The messages that a run begins with."""
        question = evidence.retrieval.question
        aliases = [evidence.alias(table.table) for table in shown]
        frames = (evidence.source.frame(table.table).table.context for table in shown)
        titles = [(frame.caption or frame.title)[:200] for frame in frames]
        text = render(shown, aliases, titles)
        user = Template(read_prompt("solve")).substitute(
            aliases=", ".join(aliases),
            shown=text,
            language=actions.instructions(),
            action=_ACTIONS[self._language][1],
            steps=self._steps,
            question=question,
            fence=fence(text, question),
        )
        return prompt_messages(read_prompt("system"), user)

    def _voted(self, evidence: Evidence, shown: Sequence[ShownTable], llm: LLM) -> Answer:
        runs: list[SolverRun] = []
        votes: Counter[tuple[str, ...]] = Counter()
        tables = [table.table for table in shown]
        failures: list[LLMReplyError] = []
        for number in range(self._votes):
            try:
                run = self._run(evidence, shown, llm, number)
            except LLMReplyError as error:
                failures.append(error)
                continue
            runs.append(run)
            if run.answer:
                votes[normalised(run.answer)] += 1
            if _decided(votes, self._votes - number - 1):
                break
        if not runs:
            raise failures[-1]
        if not votes:
            return _answer(evidence, runs[0], "", tables)
        ranked = votes.most_common()
        leader, count = ranked[0]
        chosen = [run for run in runs if run.answer and normalised(run.answer) == leader]
        answers = [_answer(evidence, run, run.answer or "", tables) for run in chosen[:3]]
        best = max(answers, key=lambda answer: (answer.verified, answer.grounded))
        made = len(runs) + len(failures)
        if made > 1:
            said = f"{count} of {made} runs gave this answer."
            sure = 2 * count > made
            best = replace(
                best,
                reasoning=f"{best.reasoning}\n{said}".strip(),
                verified=best.verified and sure,
                reasons=best.reasons if sure else (*best.reasons, said),
            )
        return best

    def _run(self, evidence: Evidence, shown: Sequence[ShownTable], llm: LLM, number: int) -> SolverRun:
        """One run from the question to its answer."""
        tables = [table.table for table in shown]
        with closing(self._actions(evidence, tables)) as actions:
            messages = list(self.prompt(evidence, shown, actions))
            steps: list[Observation] = []
            thoughts: list[str] = []
            model, mended = llm.model, False
            for left in range(self._steps, -1, -1):
                if not left:
                    messages.append({"role": "user", "content": read_prompt("last")})
                completion = llm.complete(self._request(messages, number))
                model = completion.model
                reply = _reply(completion)
                thoughts.append(reply.thought)
                messages.append({"role": "assistant", "content": completion.text[:LONGEST_REPLY]})
                if left and reply.action is not None:
                    observed = actions.run(reply.action)
                    steps.append(observed)
                if reply.answer is not None:
                    fault = "" if mended or left <= 1 else self._fault(reply.answer, steps, evidence, tables)
                    if not fault:
                        return SolverRun(reply.answer, tuple(steps), tuple(thoughts), tuple(messages), model)
                    mended = True
                    text = Template(read_prompt("mend")).substitute(fault=fault, fence=fence(fault))
                    messages.append({"role": "user", "content": text})
                elif left:
                    told = steps[-1].text if reply.action is not None else NO_ACTION
                    messages.append(_observation(told))
            failure = f"The model gave no answer after {self._steps} actions."
            return SolverRun(None, tuple(steps), tuple(thoughts), tuple(messages), model, failure)

    def _fault(self, text: str, steps: Sequence[Observation], evidence: Evidence, tables: Sequence[str]) -> str:
        """Why an answer does not follow from the actions; empty if it does, or says that there is none."""
        if not text.strip():
            return ""
        judged = judge_run(text, steps, evidence, tables)
        return (judged.contradiction or ("" if judged.answer.grounded else " ".join(judged.answer.reasons[:2])))[:600]

    def _actions(self, evidence: Evidence, tables: Sequence[str]) -> Actions:
        if self._language == "python":
            return PythonActions(evidence, tables)
        return ProgramActions(evidence, tables)

    def _request(self, messages: Sequence[Message], number: int) -> Request:
        warm = self._temperature if self._votes > 1 else 0.0
        return Request(
            tuple(messages),
            schema=reply_schema(self._language),
            stage=STAGE,
            temperature=warm,
            max_tokens=MOST_TOKENS,
            sample=number,
        )


@dataclass(frozen=True)
class _Reply:
    thought: str
    action: Any
    answer: str | None


def _reply(completion: Completion) -> _Reply:
    data = completion.data or {}
    answer = data.get("answer")
    action = data.get("action")
    if isinstance(action, str) and not action.strip():
        action = None
    return _Reply(
        str(data.get("thought", ""))[:LONGEST_ANSWER],
        action or None,
        None if answer is None or (not str(answer).strip() and action) else str(answer).strip()[:LONGEST_ANSWER],
    )


def _observation(text: str) -> Message:
    sign = fence(text)
    return {"role": "user", "content": f"Observation:\n{sign}\n{text}\n{sign}"}


def _decided(votes: Counter[tuple[str, ...]], left: int) -> bool:
    """Whether the runs left cannot change which answer has most votes.

    >>> _decided(Counter({("a",): 3, ("b",): 1}), 1), _decided(Counter({("a",): 2, ("b",): 1}), 1)
    (True, False)
    """
    ranked = [count for _, count in votes.most_common(2)]
    return bool(ranked) and ranked[0] - (ranked[1] if len(ranked) > 1 else 0) > left


def normalised(text: str) -> tuple[str, ...]:
    """The normal form by which answers are compared: parts without case and signs, numbers as such, sorted.

    >>> normalised("B; A"), normalised("1,200.0") == normalised("1200")
    (('a', 'b'), True)
    """
    return tuple(sorted(filter(None, map(_normal, text.split(";")))))


def _normal(part: str) -> str:
    bare = part.strip().replace(",", "").rstrip(".")
    try:
        number = Decimal(bare)
    except InvalidOperation:
        return plain(part) or part.strip()
    return f"{shortened(number):f}" if number.is_finite() else plain(part)


def _answer(evidence: Evidence, run: SolverRun, text: str, tables: Sequence[str]) -> Answer:
    """A run as an answer, executed and checked."""
    retrieval = evidence.retrieval
    first = "\n\n".join(message["content"] for message in run.messages[:2])
    answer = Answer(
        question=retrieval.question,
        text="",
        reasons=(run.failure or "The model found no answer in the tables.",),
        method=retrieval.method,
        model=run.model,
        reasoning="\n".join(filter(None, run.thoughts)),
        prompt=messages_text(run.messages),
        context={"tables": list(tables), "tokens": estimate_tokens(first), "steps": len(run.steps)},
        retrieval=retrieval,
    )
    if not text:
        return answer
    return judge_run(text, run.steps, evidence, tables, answer).answer


def shown_of(evidence: Evidence, most: int) -> tuple[ShownTable, ...]:
    """The tables that the model was shown; for a retrieval by another method, its best tables by name."""
    retrieval = evidence.retrieval
    if isinstance(retrieval, ShownRetrieval):
        return retrieval.shown
    return tuple(ShownTable(id, "") for id in evidence.tables[:most])


def answer_from_columns(evidence: Evidence, shown: Sequence[ShownTable]) -> Answer:
    """The answer by rules: candidate programs over the columns that are shown, ranked and executed.

    All columns of a table of up to `WIDE` take part, and so do the next tables of the retrieval: another
    column or table that fits as well must be seen for an answer to be verified.
    """
    scores = {found.table: found.score for found in evidence.retrieval.tables}
    relations = relations_of(evidence.source)
    columns = {table.table: table.columns for table in shown}
    tables = []
    for id in list(dict.fromkeys((*columns, *evidence.tables)))[:MOST_TABLES]:
        relation = relations[id]
        if len(relation.columns) > WIDE:
            if id not in columns:
                continue
            relation = relation.narrowed(columns[id]) if columns[id] else relation
        tables.append((relation, scores.get(id, 0.0)))
    return ranked_answer(answer_by_programs(evidence.retrieval.question, tables), evidence)


CHECKED_ROWS = 300
UNCOMPUTED = "It was computed by code, and no program of kgtable was found that gives the same."


def judge_run(
    text: str, steps: Sequence[Observation], evidence: Evidence, tables: Sequence[str], answer: Answer | None = None
) -> Judgement:
    """Execute and check an answer after the steps of a run.

    Where the steps are programs, the result of the last one that the text states is the answer; of the last one if the
    text states none.

    Args:
        text: the final answer.
        steps: the observations, in order.
        evidence: what was retrieved.
        tables: the ids of the tables that the steps could read.
        answer: what is known of the answer before.
    """
    base = answer or Answer(evidence.retrieval.question, "")
    succeeded = [step for step in reversed(steps) if step.succeeded]
    if not succeeded:
        return Judgement(replace(base, text=text, reasons=("No action gave this answer.",)))
    if succeeded[0].program is None:
        return _by_code(text, succeeded, evidence, tables, base)
    judged = [judge(Draft(text, program=step.program), evidence, base) for step in succeeded]
    first = next((found for found in judged if found.is_said), judged[0])
    if not first.contradiction:
        return first
    return first._replace(answer=replace(first.answer, verified=False, doubtful=True))


def _by_code(
    text: str, steps: Sequence[Observation], evidence: Evidence, tables: Sequence[str], base: Answer
) -> Judgement:
    question = evidence.retrieval.question
    texts = _names(evidence, tables)
    first: Answer | None = None
    for step in [variant for given in steps for variant in _variants(given)]:
        check = check_text(text, Facts(step.values, (), texts), question)
        style = style_of(value for value in step.values if value.number is not None)
        bare = len(step.values) == 1 and says_only(text, step.values[0])
        found = replace(
            base,
            text=text,
            shown=display(step.values[0], style) if bare else "",
            reasons=(*check.faults, *check.doubts) or (UNCOMPUTED,),
            citations=_citations(step, evidence),
            cells_read=step.cells_read,
            calculation=str(step.action)[:300],
            value=_value(step),
            unit=_unit(step),
            doubtful=True,
        )
        if not check.faults:
            known = _by_program(text, step, evidence, tables, base)
            return known or Judgement(replace(found, grounded=bool(found.citations)))
        first = first or found
    assert first is not None
    return Judgement(replace(first, value=None, unit=None))


def _variants(step: Observation) -> list[Observation]:
    """The step with its numbers in the unit of what it read, and as they are."""
    if step.unit is None:
        return [step]
    values = tuple(v if v.number is None or v.unit else v._replace(unit=step.unit) for v in step.values)
    return [replace(step, values=values), step]


def _by_program(
    text: str, step: Observation, evidence: Evidence, tables: Sequence[str], base: Answer
) -> Judgement | None:
    """The verdict by a program of the rules that returns the result of the code, if there is one."""
    scores = {found.table: found.score for found in evidence.retrieval.tables}
    relations = relations_of(evidence.source)
    ranked = answer_by_programs(evidence.retrieval.question, [(relations[id], scores.get(id, 0.0)) for id in tables])
    wanted = answer_key(step.values)
    for other in filter(None, (ranked.best, *ranked.alternatives)):
        if answer_key(_values(other.result)) == wanted:
            judged = judge(Draft(text, program=program_to_json(other.program)), evidence, base)
            if judged.answer.grounded:
                return judged
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
    """Titles and headers of the tables: what a text may say in addition to values."""
    found: dict[str, None] = {}
    relations = relations_of(evidence.source)
    for id in tables:
        context = relations[id].tables[0].context
        found.update(dict.fromkeys((context.title, context.caption, *context.heading)))
        found.update(dict.fromkeys(column.header for column in relations[id].columns))
    return [text for text in found if text]


def _citations(step: Observation, evidence: Evidence) -> tuple[Citation, ...]:
    cells = (evidence.cell(*place) for place in step.cells[:MOST_CITATIONS])
    return tuple(cell for cell in cells if cell is not None)
