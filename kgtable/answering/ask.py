"""From a question to an answer: retrieve, then answer by a language model or by rules (thesis, section 4.5).

With a model: context, prompt, reply, program, verdict.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from string import Template
from typing import Protocol

from kgtable.answering.answer import Answer
from kgtable.answering.evidence import Evidence, TableSource
from kgtable.answering.presentations import presentation
from kgtable.answering.program_answers import RULES, answer_by_rules, changed_answer
from kgtable.answering.prompting import (
    REPLY_SCHEMA,
    AnswerStream,
    Presentation,
    PromptContext,
    PromptSetting,
    TokenCounter,
    draft_from_object,
    draft_from_text,
    make_context,
    make_prompt,
    prompt_setting,
    repair_message,
)
from kgtable.answering.verdict import NO_SECOND_READER, judge
from kgtable.config import Settings
from kgtable.errors import LLMContextError, LLMError, LLMReplyError, UsageError
from kgtable.index.inferred.relations import TableRelations
from kgtable.llm.protocol import LLM, Completion, Message, OnText, Request, UsageMeter, estimate_tokens, measured
from kgtable.llm.request_parts import TEXT, messages_text, object_schema, prompt_messages
from kgtable.programs.scalars import normal
from kgtable.resources import read_packaged
from kgtable.retrieval.result import Retrieval
from kgtable.values.decimals import in_own_context

log = logging.getLogger(__name__)

STAGE, REPAIR = "answer", "repair"

MOST_SHORTENED = 5
"""Attempts with ever shorter prompts if a model rejects them as too long."""
LONGEST_REPLY = 20_000
"""Maximum characters of a reply sent back for repair."""


@dataclass(frozen=True)
class Prepared:
    """A question ready to be sent: its evidence, the context made of it, and the request."""

    evidence: Evidence
    context: PromptContext
    request: Request
    setting: PromptSetting

    @property
    def prompt(self) -> str:
        """The messages as one text."""
        return messages_text(self.request.messages)


class Generator:
    """Answers questions with a model, in one presentation and prompt setting."""

    def __init__(
        self,
        llm: LLM,
        *,
        layout: Presentation,
        setting: PromptSetting = PromptSetting.CONTEXT_FIRST_SEPARATED,
        context_tokens: int = 12_000,
        max_tokens: int = 2_000,
        temperature: float = 0.0,
        count: TokenCounter = estimate_tokens,
    ) -> None:
        self._llm, self._layout, self._setting, self._count = llm, layout, setting, count
        self._context_tokens, self._max_tokens, self._temperature = context_tokens, max_tokens, temperature

    @classmethod
    def from_settings(cls, llm: LLM, settings: Settings, layout: Presentation | None = None) -> Generator:
        """Made from the settings, with the method's own layout if it has one.

        Raises `ConfigError` for an unknown presentation or prompt setting.
        """
        return cls(
            llm,
            layout=presentation(settings.presentation) if layout is None else layout,
            setting=prompt_setting(settings.prompt),
            context_tokens=settings.context_tokens,
            max_tokens=settings.max_tokens,
            temperature=settings.temperature,
        )

    def prepare(self, evidence: Evidence, budget: int | None = None) -> Prepared:
        """Context and prompt for the question, of at most `budget` tokens or the configured number.

        Raises `AnswerError` if nothing fits.
        """
        context = make_context(evidence, self._layout, self._context_tokens if budget is None else budget, self._count)
        messages = make_prompt(evidence.retrieval.question, context, self._layout, self._setting)
        return Prepared(evidence, context, self._request(messages), self._setting)

    def answer(self, evidence: Evidence, *, on_text: OnText | None = None) -> Answer:
        """The model's answer, executed and checked; a program that fails goes back to the model once.

        Raises a leaf of `LLMError`, or `AnswerError`.
        """
        started = time.perf_counter()
        prepared, completion = self._asked(evidence, on_text)
        answer, request = self._first(prepared, completion)
        if request is not None:
            try:
                answer = self._second(prepared, completion, self._llm.complete(request))
            except LLMReplyError as error:
                answer = _unmended(answer, error)
        return _timed(answer, started)

    def read(self, prepared: Prepared, completion: Completion) -> Answer:
        """The answer in a completion, its program executed and its text checked."""
        return self._judged(prepared, completion)[0]

    def _asked(self, evidence: Evidence, on_text: OnText | None) -> tuple[Prepared, Completion]:
        """Ask the model, with a shorter context where the prompt does not fit its window."""
        budget = self._context_tokens
        for left in reversed(range(MOST_SHORTENED)):
            prepared = self.prepare(evidence, budget)
            try:
                return prepared, self._llm.complete(prepared.request, on_text=self._stream(on_text))
            except LLMContextError as error:
                used = prepared.context.tokens
                budget = used // 2 if error.excess is None else used - error.excess
                if not left or budget <= 0:
                    raise
        raise AssertionError

    def _first(self, prepared: Prepared, completion: Completion) -> tuple[Answer, Request | None]:
        """The answer, and the request that mends its program where that cannot be executed."""
        answer, fault = self._judged(prepared, completion)
        if not fault:
            return answer, None
        said: Message = {"role": "assistant", "content": completion.text[:LONGEST_REPLY]}
        messages = (*prepared.request.messages, said, repair_message(fault))
        return answer, replace(prepared.request, messages=messages, stage=REPAIR)

    def _second(self, prepared: Prepared, completion: Completion, mended: Completion) -> Answer:
        """The answer after the repair, with the usage of both requests."""
        answer, _ = self._judged(prepared, mended)
        spent = UsageMeter()
        spent.add(STAGE, completion.usage)
        spent.add(REPAIR, mended.usage)
        return replace(answer, usage=spent.to_json())

    def _judged(self, prepared: Prepared, completion: Completion) -> tuple[Answer, str]:
        """The answer in a completion, and the error of its program."""
        spent = UsageMeter()
        spent.add(STAGE, completion.usage)
        draft = draft_from_text(completion.text) if completion.data is None else draft_from_object(completion.data)
        retrieval = prepared.evidence.retrieval
        answer = Answer(
            question=retrieval.question,
            text="",
            reasons=("The model found no answer in the context.",),
            method=retrieval.method,
            model=completion.model,
            reasoning=draft.reasoning,
            prompt=prepared.prompt,
            context=prepared.context.report(),
            usage=spent.to_json(),
            timings_ms=retrieval.timings_ms,
            retrieval=retrieval,
        )
        if not draft.found:
            return answer, ""
        judged = judge(draft, prepared.evidence, answer)
        return judged.answer, judged.fault

    def _request(self, messages: Sequence[Message]) -> Request:
        return Request(
            tuple(messages),
            schema=REPLY_SCHEMA if self._setting.asks_for_json else None,
            stage=STAGE,
            temperature=self._temperature,
            max_tokens=self._max_tokens,
        )

    def _stream(self, on_text: OnText | None) -> OnText | None:
        if on_text is None or not self._setting.asks_for_json:
            return on_text
        return AnswerStream(on_text)


def _unmended(answer: Answer, error: LLMReplyError) -> Answer:
    """The first answer, if the reply that should repair its program is unusable."""
    return replace(answer, reasons=(*answer.reasons, f"The model did not mend it: {error.message}"))


def _timed(answer: Answer, started: float) -> Answer:
    spent = round((time.perf_counter() - started) * 1000, 3)
    return replace(answer, timings_ms={**answer.timings_ms, "answer": spent})


METHOD = "zero-shot"
TEMPERATURE = 0.9
"""The thesis's for answers without context; with context it is 0.3."""

_REPLY = object_schema("answer", reasoning=TEXT, found={"type": "boolean"}, answer=TEXT)


def zero_shot_request(question: str, *, temperature: float = TEMPERATURE) -> Request:
    """The request that asks the question with no context."""
    text = Template(read_packaged("answering/prompts/zero_shot/question.txt")).substitute(question=question)
    messages = prompt_messages(read_packaged("answering/prompts/zero_shot/system.txt").strip(), text.strip())
    return Request(messages, schema=_REPLY, stage=STAGE, temperature=temperature, max_tokens=1_000)


def read_zero_shot(question: str, request: Request, completion: Completion) -> Answer:
    """The answer in the reply; never verified, since there is nothing to check it by."""
    data = completion.data or {}
    meter = UsageMeter()
    meter.add(STAGE, completion.usage)
    return Answer(
        question=question,
        text=str(data.get("answer", "")).strip() if data.get("found") else "",
        reasons=("No table was looked at.",),
        method=METHOD,
        model=completion.model,
        reasoning=str(data.get("reasoning", "")).strip(),
        prompt=messages_text(request.messages),
        usage=meter.to_json(),
        retrieval=Retrieval(question, (), (), method=METHOD),
    )


NOT_ASKED = "Dry run: no model was called. Estimated usage is shown."
LONGEST_QUESTION = 10_000
"""Characters a question may have."""

Retrieve = Callable[[str, int | None, str], Retrieval]
OnFound = Callable[[Retrieval], None]


class Solver(Protocol):
    """A procedure that answers from its method's retrieval, with or without a model."""

    def solve(self, evidence: Evidence, llm: LLM | None, *, on_text: OnText | None = None) -> Answer:
        """The answer; its text is empty if there is none. Raises leaves of `LLMError`."""
        ...


SECOND_PRESENTATION, SECOND_PROMPT = "by-subject", PromptSetting.INSTRUCTIONS_FIRST_SEPARATED
"""How the model is shown the evidence when it reads a question again: as triples, instructions first."""


def confirmed(first: Answer, second: Answer) -> Answer:
    """The first answer checked by a second reading: verified if both programs return the same from one table.

    Other reasons against the first answer stay. Both must be grounded, or nothing is confirmed.
    """
    if not first.grounded or first.verified:
        return first
    same = second.grounded and {c.table for c in first.citations} & {c.table for c in second.citations}
    if not same or _said(first) != _said(second):
        said = second.text[:60] or "nothing"
        return replace(first, reasons=(*first.reasons, f"A second reading by the model gives {said}."))
    left = tuple(reason for reason in first.reasons if reason != NO_SECOND_READER)
    if left or first.ambiguous:
        return replace(first, reasons=left or first.reasons)
    return replace(first, verified=True, reasons=("The model read the question twice, in different ways, and alike.",))


def _said(answer: Answer) -> object:
    if answer.value is not None:
        return answer.value, answer.unit
    return frozenset(normal(part) for part in answer.text.replace("\n", ";").split(";") if part.strip())


SMALL_COST = Decimal("0.01")
"""Maximum cost of a first request, in dollars, for the model to read a question twice in a conversation."""

FAULTS_OF_REPLIES = (
    ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, SyntaxError, TypeError, ValueError,
)  # fmt: skip
"""Errors that an unforeseen reply may raise; disk and connection errors are not among them."""


class Asker:
    """Answers questions over one graph.

    `retrieve` takes question, number of triples and method. Without `llm` answers come from rules.
    `solver` answers in place of rules and prompts, where the method brings one. Raises `ConfigError` for
    settings that name no presentation or prompt.
    """

    def __init__(
        self,
        retrieve: Retrieve,
        source: TableSource,
        settings: Settings,
        llm: LLM | None,
        solver: Solver | None = None,
        relations: Callable[[], TableRelations] | None = None,
    ) -> None:
        self._retrieve, self._source, self._settings = retrieve, source, settings
        # A name that means nothing is refused without a model too: one may be configured later.
        presentation(settings.presentation)
        prompt_setting(settings.prompt)
        self._generator = None if llm is None else Generator.from_settings(llm, settings)
        self._second: Generator | None = None
        if llm is not None and (settings.second_reading or not settings.second_reading_given):
            by_rows = settings.presentation != SECOND_PRESENTATION
            other = replace(settings, presentation=SECOND_PRESENTATION if by_rows else "subtable", prompt=SECOND_PROMPT)
            self._second = Generator.from_settings(llm, other)
        self._model = RULES if llm is None else llm.model
        self.max_cost = Decimal(str(settings.max_cost)) or None
        self.llm, self._solver, self._relations = llm, solver, relations

    @in_own_context
    def ask(
        self,
        question: str,
        *,
        on_text: OnText | None = None,
        on_found: OnFound | None = None,
        meter: UsageMeter | None = None,
        in_conversation: bool = False,
    ) -> Answer:
        """The answer; its text is empty if nothing was found.

        `meter` counts the usage, and bounds it; by default one for this question. `on_found` receives what was
        retrieved before anything is answered from it, `on_text` a model's answer as it arrives. `in_conversation`: a
        model is asked a second time where the first request cost at most `SMALL_COST`. Raises `UsageError`
        for an empty or overlong question, a leaf of `LLMError` if the model cannot be used, `RetrievalError`. A
        reply that is unusable twice is not an error but an answer without text, with the reason.
        """
        asked = check_question(question)
        with measured(meter or UsageMeter(self.max_cost)) as meter:
            evidence = self._evidence(asked)
            if on_found is not None:
                on_found(evidence.retrieval)
            answer = self._answer(evidence, on_text)
            if self._second is not None and self._solver is None and answer.grounded and not answer.verified:
                cost = meter.total.cost if in_conversation else None
                if self._settings.second_reading or (cost is not None and cost <= SMALL_COST):
                    answer = self._read_again(answer, evidence)
        if self._settings.dry_run and self.llm is not None:
            answer = replace(nothing_found(evidence.retrieval, self._model), reasons=(NOT_ASKED,), prompt=answer.prompt)
        return replace(answer, usage=meter.to_json())

    def follow(self, answer: Answer, said: str) -> Answer | None:
        """The answer of the previous program with the field that a follow-up changes; None if it names none."""
        if answer.retrieval is None:
            return None
        return changed_answer(answer, said, Evidence(answer.retrieval, self._source, self._relations))

    def _answer(self, evidence: Evidence, on_text: OnText | None) -> Answer:
        if not evidence.tables and not evidence.retrieval.passages:
            return nothing_found(evidence.retrieval, self._model)
        try:
            if self._solver is not None:
                return self._solver.solve(evidence, self.llm, on_text=on_text)
            if self._generator is None:
                return answer_by_rules(evidence)
            return self._generator.answer(evidence, on_text=on_text)
        except LLMReplyError as error:
            return unusable_reply(evidence.retrieval, self._model, error)
        except FAULTS_OF_REPLIES as error:
            if self.llm is None:
                raise
            log.warning("What a model replied could not be worked on", exc_info=True)
            fault = f"What the model replied could not be worked on: {type(error).__name__}: {str(error)[:200]}"
            return replace(nothing_found(evidence.retrieval, self._model), reasons=(fault,), failure=fault)

    def _read_again(self, answer: Answer, evidence: Evidence) -> Answer:
        """The answer in the light of a second reading; if that fails, the answer as it is, with the reason."""
        assert self._second is not None
        try:
            return confirmed(answer, self._second.answer(evidence))
        except (LLMError, *FAULTS_OF_REPLIES) as error:
            log.warning("The second reading by the model failed", exc_info=True)
            return replace(answer, reasons=(*answer.reasons, f"The second reading by the model failed: {error}"))

    def _evidence(self, question: str) -> Evidence:
        found = self._retrieve(question, self._settings.k or None, self._settings.method)
        return Evidence(found, self._source, self._relations)


def nothing_found(retrieval: Retrieval, model: str) -> Answer:
    """The answer if no cell of the graph fits the question, by its words or in the model's judgement."""
    refused = "The model found no table that fits the question."
    return Answer(
        question=retrieval.question,
        text="",
        reasons=(refused if retrieval.trace.get("none_fits") else "No cell of the graph fits the question.",),
        method=retrieval.method,
        model=model,
        timings_ms=dict(retrieval.timings_ms),
        retrieval=retrieval,
    )


def unusable_reply(retrieval: Retrieval, model: str, error: LLMReplyError) -> Answer:
    """The answer if the model's reply cannot be parsed.

    Raises the error itself where the endpoint gave no reply at all.
    """
    if error.usage is None:
        raise error
    return replace(nothing_found(retrieval, model), reasons=(str(error),), failure=str(error))


def check_question(question: str) -> str:
    """The question without surrounding white space.

    Raises `UsageError` if nothing is left, or more than `LONGEST_QUESTION` characters.
    """
    asked = question.strip()
    if not asked:
        raise UsageError("The question is empty.", hint="Ask something, in quotes.")
    if len(asked) > LONGEST_QUESTION:
        raise UsageError(
            f"The question has {len(asked):,} characters.", hint=f"At most {LONGEST_QUESTION:,} are taken."
        )
    return asked
