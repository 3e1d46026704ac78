"""From a question to an answer: retrieve, then answer by a language model or by rules."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

from kgtable.answering.answer import Answer
from kgtable.answering.evidence import Evidence, TableSource
from kgtable.answering.generation import Generator
from kgtable.answering.offline import RULES, answer_by_rules
from kgtable.config import Settings
from kgtable.errors import UsageError
from kgtable.llm.metering import measured
from kgtable.llm.protocol import LLM, OnText
from kgtable.retrieval.result import Retrieval

LONGEST_QUESTION = 10_000
"""Characters a question may have."""

Retrieve = Callable[[str, int, str], Retrieval]


class Asker:
    """Answers questions over one graph.

    `retrieve` takes question, number of triples and method. Without `llm` answers come from rules.
    Raises `ConfigError` for settings that name no presentation or prompt.
    """

    def __init__(self, retrieve: Retrieve, source: TableSource, settings: Settings, llm: LLM | None) -> None:
        self._retrieve, self._source, self._settings = retrieve, source, settings
        self._generator = None if llm is None else Generator.from_settings(llm, settings)
        self._model = RULES if llm is None else llm.model

    def ask(self, question: str, *, on_text: OnText | None = None) -> Answer:
        """The answer; its text is empty where nothing was found.

        `on_text` receives a model's answer as it arrives. Raises `UsageError` for an empty or overlong
        question, a leaf of `LLMError` where the model cannot be used, `RetrievalError`.
        """
        asked = check_question(question)
        with measured() as meter:
            evidence = self._evidence(asked)
            if not evidence.retrieval.triples:
                answer = nothing_found(evidence.retrieval, self._model)
            elif self._generator is None:
                answer = answer_by_rules(evidence)
            else:
                answer = self._generator.answer(evidence, on_text=on_text)
        return replace(answer, usage=meter.to_json())

    async def ask_async(self, question: str, *, on_text: OnText | None = None) -> Answer:
        """The async twin of `ask`; what reads the graph runs in a thread."""
        asked = check_question(question)
        with measured() as meter:
            evidence = await asyncio.to_thread(self._evidence, asked)
            if not evidence.retrieval.triples:
                answer = nothing_found(evidence.retrieval, self._model)
            elif self._generator is None:
                answer = await asyncio.to_thread(answer_by_rules, evidence)
            else:
                answer = await self._generator.answer_async(evidence, on_text=on_text)
        return replace(answer, usage=meter.to_json())

    def _evidence(self, question: str) -> Evidence:
        found = self._retrieve(question, self._settings.k, self._settings.method)
        return Evidence(found, self._source)


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
