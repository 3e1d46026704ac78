"""Answers by a language model: context, prompt, reply, check (thesis, section 4.5)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass

from kgtable.answering.answer import Alternative, Answer, Citation
from kgtable.answering.context import Presentation, PromptContext, TokenCounter, estimate_tokens, make_context
from kgtable.answering.evidence import Evidence
from kgtable.answering.grounding import check
from kgtable.answering.presentations import presentation
from kgtable.answering.prompting import REPLY_SCHEMA, PromptSetting, make_prompt, prompt_setting
from kgtable.answering.reply import AnswerStream, Draft, draft_from_object, draft_from_text
from kgtable.config import Settings
from kgtable.llm.protocol import LLM, Completion, Message, OnText, Request
from kgtable.llm.usage import UsageMeter

STAGE = "answer"


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
        """The model's answer, checked. Raises a leaf of `LLMError`, or `AnswerError`."""
        started = time.perf_counter()
        prepared = self.prepare(evidence)
        completion = self._llm.complete(prepared.request, on_text=self._stream(on_text))
        return self.read(prepared, completion, started=started)

    async def answer_async(self, evidence: Evidence, *, on_text: OnText | None = None) -> Answer:
        """The async twin of `answer`."""
        started = time.perf_counter()
        prepared = await asyncio.to_thread(self.prepare, evidence)
        completion = await self._llm.complete_async(prepared.request, on_text=self._stream(on_text))
        return await asyncio.to_thread(self.read, prepared, completion, started=started)

    def read(self, prepared: Prepared, completion: Completion, *, started: float | None = None) -> Answer:
        """The answer that a completion gives, its citations resolved and its numbers checked.

        `started` is the `time.perf_counter` value at which answering began, for the timings.
        """
        spent = UsageMeter()
        spent.add(STAGE, completion.usage)
        draft = (
            draft_from_text(completion.text)
            if completion.data is None
            else draft_from_object(completion.data)
        )
        retrieval = prepared.evidence.retrieval
        timings = dict(retrieval.timings_ms)
        if started is not None:
            timings["answer"] = round((time.perf_counter() - started) * 1000, 3)
        grounding = check(retrieval.question, draft, prepared.evidence)
        return Answer(
            question=retrieval.question,
            text=draft.text if draft.found else "",
            value=grounding.value if draft.found else None,
            unit=grounding.unit if draft.found else None,
            verified=draft.found and grounding.verified,
            reasons=grounding.reasons if draft.found else ("The model found no answer in the context.",),
            citations=tuple(map(Citation.of, grounding.cells)) if draft.found else (),
            calculation=grounding.calculation if draft.found else None,
            alternatives=_alternatives(draft, prepared.evidence) if draft.found else (),
            method=retrieval.method,
            model=completion.model,
            reasoning=draft.reasoning,
            prompt=prepared.prompt,
            context=prepared.context.report(),
            usage=spent.to_json(),
            timings_ms=timings,
            retrieval=retrieval,
        )

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


def _alternatives(draft: Draft, evidence: Evidence) -> tuple[Alternative, ...]:
    """What other tables answer; those that cite no cell that exists are left out."""
    found = []
    for text, ids in draft.alternatives:
        cells = [cell for cell in map(evidence.resolve, ids) if cell is not None]
        if cells:
            found.append(Alternative(text, cells[0].table, tuple(map(Citation.of, cells))))
    return tuple(found)
