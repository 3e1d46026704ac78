"""Which steps of one question ask the model: their tokens are counted, and who watches is told."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import TypeAlias

from kgtable.errors import LLMError
from kgtable.llm.protocol import LLM, Completion, OnText, Request
from kgtable.llm.usage import Usage, UsageMeter

OnStage: TypeAlias = Callable[[str, str], None]
"""Receives the step's name, as `Request.stage` has it, and the model's."""

_meter: ContextVar[UsageMeter | None] = ContextVar("kgtable_usage_meter", default=None)
_told: ContextVar[OnStage | None] = ContextVar("kgtable_stages", default=None)


@contextlib.contextmanager
def measured() -> Iterator[UsageMeter]:
    """Count the usage of every `MeteredLLM` that is asked inside the block, in this context."""
    meter = UsageMeter()
    token = _meter.set(meter)
    try:
        yield meter
    finally:
        _meter.reset(token)


@contextlib.contextmanager
def stages_told(told: OnStage) -> Iterator[None]:
    """Call `told` before each request to a `MeteredLLM` made inside the block, in this context."""
    token = _told.set(told)
    try:
        yield
    finally:
        _told.reset(token)


def _tell_stage(request: Request, model: str) -> None:
    if (told := _told.get()) is not None:
        told(request.stage, model)


class MeteredLLM:
    """A model whose usage is counted by stage where a `measured` block is open."""

    def __init__(self, llm: LLM) -> None:
        self._llm = llm
        self.model = llm.model

    def complete(self, request: Request, *, on_text: OnText | None = None) -> Completion:
        """See `LLM.complete`."""
        _tell_stage(request, self.model)
        with self._counting_failures(request):
            return self._count(request, self._llm.complete(request, on_text=on_text))

    async def complete_async(self, request: Request, *, on_text: OnText | None = None) -> Completion:
        """See `LLM.complete_async`."""
        _tell_stage(request, self.model)
        with self._counting_failures(request):
            return self._count(request, await self._llm.complete_async(request, on_text=on_text))

    def close(self) -> None:
        """See `LLM.close`."""
        self._llm.close()

    @contextlib.contextmanager
    def _counting_failures(self, request: Request) -> Iterator[None]:
        """Count the usage of a request that failed."""
        try:
            yield
        except LLMError as error:
            meter = _meter.get()
            if meter is not None and isinstance(error.usage, Usage):
                meter.add(request.stage, error.usage)
            raise

    def _count(self, request: Request, completion: Completion) -> Completion:
        meter = _meter.get()
        if meter is not None:
            meter.add(request.stage, completion.usage)
        return completion
