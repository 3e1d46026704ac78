"""From a question to an answer: retrieve, then answer by a language model or by rules."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from string import Template
from typing import Any, Protocol

from kgtable.answering.answer import Answer
from kgtable.answering.evidence import Evidence, TableSource
from kgtable.answering.generation import Generator
from kgtable.answering.presentations import presentation
from kgtable.answering.program_answers import RULES, answer_by_rules
from kgtable.answering.prompting import prompt_setting
from kgtable.config import Settings
from kgtable.errors import LLMReplyError, UsageError
from kgtable.index.inferred.relations import TableRelations
from kgtable.llm.protocol import LLM, Completion, Message, OnText, Request, UsageMeter, measured
from kgtable.resources import PACKAGE
from kgtable.retrieval.result import Retrieval

STAGE = "answer"
METHOD = "zero-shot"
TEMPERATURE = 0.9
"""The thesis's for answers without context; with context it is 0.3."""

_FOLDER = PACKAGE / "answering" / "prompts" / "zero_shot"
_REPLY: Mapping[str, Any] = {
    "title": "answer",
    "type": "object",
    "properties": {
        "reasoning": {"type": "string"},
        "found": {"type": "boolean"},
        "answer": {"type": "string"},
    },
    "required": ["reasoning", "found", "answer"],
    "additionalProperties": False,
}


def zero_shot_request(question: str, *, temperature: float = TEMPERATURE) -> Request:
    """The request that asks the question with no context."""
    text = Template((_FOLDER / "question.txt").read_text(encoding="utf-8")).substitute(question=question)
    messages: tuple[Message, ...] = (
        {"role": "system", "content": (_FOLDER / "system.txt").read_text(encoding="utf-8").strip()},
        {"role": "user", "content": text.strip()},
    )
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
        prompt="\n\n".join(f"[{message['role']}]\n{message['content']}" for message in request.messages),
        usage=meter.to_json(),
        retrieval=Retrieval(question, (), (), method=METHOD),
    )


LONGEST_QUESTION = 10_000
"""Characters a question may have."""

Retrieve = Callable[[str, int, str], Retrieval]
OnFound = Callable[[Retrieval], None]


class Solver(Protocol):
    """A procedure that answers from what its method retrieved, with a model or without."""

    def solve(self, evidence: Evidence, llm: LLM | None, *, on_text: OnText | None = None) -> Answer:
        """The answer; its text is empty where there is none. Raises leaves of `LLMError`."""
        ...


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
        self._model = RULES if llm is None else llm.model
        self._llm, self._solver, self._relations = llm, solver, relations

    def ask(self, question: str, *, on_text: OnText | None = None, on_found: OnFound | None = None) -> Answer:
        """The answer; its text is empty where nothing was found.

        `on_found` receives what was retrieved before anything is answered from it, `on_text` a model's
        answer as it arrives. Raises `UsageError` for an empty or overlong
        question, a leaf of `LLMError` where the model cannot be used, `RetrievalError`. A reply that
        is of no use, twice, is no error but no answer, with the reason.
        """
        asked = check_question(question)
        with measured() as meter:
            evidence = self._evidence(asked)
            if on_found is not None:
                on_found(evidence.retrieval)
            if not evidence.tables and not evidence.retrieval.passages:
                answer = nothing_found(evidence.retrieval, self._model)
            elif self._solver is not None:
                answer = self._solved(evidence, on_text)
            elif self._generator is None:
                answer = answer_by_rules(evidence)
            else:
                try:
                    answer = self._generator.answer(evidence, on_text=on_text)
                except LLMReplyError as error:
                    answer = unusable_reply(evidence.retrieval, self._model, error)
        return replace(answer, usage=meter.to_json())

    async def ask_async(
        self, question: str, *, on_text: OnText | None = None, on_found: OnFound | None = None
    ) -> Answer:
        """The async twin of `ask`; what reads the graph runs in a thread."""
        asked = check_question(question)
        with measured() as meter:
            evidence = await asyncio.to_thread(self._evidence, asked)
            if on_found is not None:
                on_found(evidence.retrieval)
            if not evidence.tables and not evidence.retrieval.passages:
                answer = nothing_found(evidence.retrieval, self._model)
            elif self._solver is not None:
                answer = await asyncio.to_thread(self._solved, evidence, on_text)
            elif self._generator is None:
                answer = await asyncio.to_thread(answer_by_rules, evidence)
            else:
                try:
                    answer = await self._generator.answer_async(evidence, on_text=on_text)
                except LLMReplyError as error:
                    answer = unusable_reply(evidence.retrieval, self._model, error)
        return replace(answer, usage=meter.to_json())

    def _solved(self, evidence: Evidence, on_text: OnText | None) -> Answer:
        assert self._solver is not None
        try:
            return self._solver.solve(evidence, self._llm, on_text=on_text)
        except LLMReplyError as error:
            return unusable_reply(evidence.retrieval, self._model, error)

    def _evidence(self, question: str) -> Evidence:
        found = self._retrieve(question, self._settings.k, self._settings.method)
        return Evidence(found, self._source, self._relations)


def nothing_found(retrieval: Retrieval, model: str) -> Answer:
    """The answer where no cell of the graph fits the question; no model is asked."""
    return Answer(
        question=retrieval.question,
        text="",
        reasons=("No cell of the graph fits the question.",),
        method=retrieval.method,
        model=model,
        timings_ms=dict(retrieval.timings_ms),
        retrieval=retrieval,
    )


def unusable_reply(retrieval: Retrieval, model: str, error: LLMReplyError) -> Answer:
    """The answer where the model replied, but with nothing that can be read.

    Raises the error itself where the endpoint gave no reply at all.
    """
    if error.usage is None:
        raise error
    return replace(nothing_found(retrieval, model), reasons=(str(error),), failure=str(error))


def check_question(question: str) -> str:
    """The question without the white space around it.

    Raises `UsageError` where nothing is left, or more than `LONGEST_QUESTION` characters.
    """
    asked = question.strip()
    if not asked:
        raise UsageError("The question is empty.", hint="Ask something, in quotes.")
    if len(asked) > LONGEST_QUESTION:
        raise UsageError(
            f"The question has {len(asked):,} characters.", hint=f"At most {LONGEST_QUESTION:,} are taken."
        )
    return asked
