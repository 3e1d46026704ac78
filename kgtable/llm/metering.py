"""Count the tokens that one question uses, whichever step asks the model."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar

from kgtable.errors import LLMError
from kgtable.llm.protocol import LLM, Completion, OnText, Request
from kgtable.llm.stage_events import tell_stage
from kgtable.llm.usage import Usage, UsageMeter

_meter: ContextVar[UsageMeter | None] = ContextVar("kgtable_usage_meter", default=None)


@contextlib.contextmanager
def measured() -> Iterator[UsageMeter]:
    """Count the usage of every `MeteredLLM` that is asked inside the block, in this context."""
    meter = UsageMeter()
    token = _meter.set(meter)
    try:
        yield meter
    finally:
        _meter.reset(token)


class MeteredLLM:
    """A model whose usage is counted by stage where a `measured` block is open."""

    def __init__(self, llm: LLM) -> None:
        self._llm = llm
        self.model = llm.model

    def complete(self, request: Request, *, on_text: OnText | None = None) -> Completion:
        """See `LLM.complete`."""
        tell_stage(request.stage, self.model)
        with self._counting_failures(request):
            return self._count(request, self._llm.complete(request, on_text=on_text))

    async def complete_async(self, request: Request, *, on_text: OnText | None = None) -> Completion:
        """See `LLM.complete_async`."""
        tell_stage(request.stage, self.model)
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
