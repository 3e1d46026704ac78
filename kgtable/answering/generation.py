"""Answers by a language model: context, prompt, reply, program, verdict (thesis, section 4.5)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

from kgtable.answering.answer import Answer
from kgtable.answering.evidence import Evidence
from kgtable.answering.presentations import presentation
from kgtable.answering.prompting import (
    REPLY_SCHEMA,
    Presentation,
    PromptContext,
    PromptSetting,
    TokenCounter,
    estimate_tokens,
    make_context,
    make_prompt,
    prompt_setting,
    repair_message,
)
from kgtable.answering.reply import AnswerStream, draft_from_object, draft_from_text
from kgtable.answering.verdict import judge
from kgtable.config import Settings
from kgtable.errors import LLMReplyError
from kgtable.llm.protocol import LLM, Completion, Message, OnText, Request, UsageMeter

STAGE, REPAIR = "answer", "repair"

LONGEST_REPLY = 20_000
"""Characters of a reply that are sent back for repair."""


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
        return "\n\n".join(f"[{message['role']}]\n{message['content']}" for message in self.request.messages)


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
    def from_settings(cls, llm: LLM, settings: Settings) -> Generator:
        """As the settings say. Raises `ConfigError` for an unknown presentation or prompt setting."""
        return cls(
            llm,
            layout=presentation(settings.presentation),
            setting=prompt_setting(settings.prompt),
            context_tokens=settings.context_tokens,
            max_tokens=settings.max_tokens,
            temperature=settings.temperature,
        )

    def prepare(self, evidence: Evidence) -> Prepared:
        """Context and prompt for the question. Raises `AnswerError` where nothing fits the budget."""
        context = make_context(evidence, self._layout, self._context_tokens, self._count)
        messages = make_prompt(evidence.retrieval.question, context, self._layout, self._setting)
        return Prepared(evidence, context, self._request(messages), self._setting)

    def answer(self, evidence: Evidence, *, on_text: OnText | None = None) -> Answer:
        """The model's answer, executed and checked; a program that fails goes back to the model once.

        Raises a leaf of `LLMError`, or `AnswerError`.
        """
        started = time.perf_counter()
        prepared = self.prepare(evidence)
        completion = self._llm.complete(prepared.request, on_text=self._stream(on_text))
        answer, request = self._first(prepared, completion)
        if request is not None:
            try:
                answer = self._second(prepared, completion, self._llm.complete(request), answer, on_text)
            except LLMReplyError as error:
                answer = _unmended(answer, error)
        return _timed(answer, started)

    async def answer_async(self, evidence: Evidence, *, on_text: OnText | None = None) -> Answer:
        """The async twin of `answer`."""
        started = time.perf_counter()
        prepared = await asyncio.to_thread(self.prepare, evidence)
        completion = await self._llm.complete_async(prepared.request, on_text=self._stream(on_text))
        answer, request = await asyncio.to_thread(self._first, prepared, completion)
        if request is not None:
            try:
                mended = await self._llm.complete_async(request)
                answer = await asyncio.to_thread(self._second, prepared, completion, mended, answer, on_text)
            except LLMReplyError as error:
                answer = _unmended(answer, error)
        return _timed(answer, started)

    def read(self, prepared: Prepared, completion: Completion) -> Answer:
        """The answer that a completion gives, its program executed and its text checked."""
        return self._judged(prepared, completion)[0]

    def _first(self, prepared: Prepared, completion: Completion) -> tuple[Answer, Request | None]:
        """The answer, and the request that mends its program where that cannot be executed."""
        answer, fault = self._judged(prepared, completion)
        if not fault:
            return answer, None
        said: Message = {"role": "assistant", "content": completion.text[:LONGEST_REPLY]}
        messages = (*prepared.request.messages, said, repair_message(fault))
        return answer, replace(prepared.request, messages=messages, stage=REPAIR)

    def _second(
        self,
        prepared: Prepared,
        completion: Completion,
        mended: Completion,
        first: Answer,
        on_text: OnText | None,
    ) -> Answer:
        """The answer after the repair, with the usage of both requests."""
        answer, _ = self._judged(prepared, mended)
        spent = UsageMeter()
        spent.add(STAGE, completion.usage)
        spent.add(REPAIR, mended.usage)
        if on_text is not None and answer.text != first.text:
            on_text(f"\n{answer.text}")
        return replace(answer, usage=spent.to_json())

    def _judged(self, prepared: Prepared, completion: Completion) -> tuple[Answer, str]:
        """The answer that a completion gives, and the fault of its program."""
        spent = UsageMeter()
        spent.add(STAGE, completion.usage)
        draft = (
            draft_from_text(completion.text)
            if completion.data is None
            else draft_from_object(completion.data)
        )
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
        found = judge(draft, prepared.evidence)
        told = {field.name: getattr(found, field.name) for field in fields(found) if field.name != "fault"}
        return replace(answer, text=draft.text, **told), found.fault

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
    """The first answer, where the reply that was to mend its program is of no use."""
    return replace(answer, reasons=(*answer.reasons, f"The model did not mend it: {error.message}"))


def _timed(answer: Answer, started: float) -> Answer:
    spent = round((time.perf_counter() - started) * 1000, 3)
    return replace(answer, timings_ms={**answer.timings_ms, "answer": spent})
