"""Which step asks the model right now, for those who watch a question being answered."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import TypeAlias

OnStage: TypeAlias = Callable[[str, str], None]
"""Receives the step's name, as `Request.stage` has it, and the model's."""

_told: ContextVar[OnStage | None] = ContextVar("kgtable_stages", default=None)


@contextlib.contextmanager
def stages_told(told: OnStage) -> Iterator[None]:
    """Call `told` before each request to a `MeteredLLM` made inside the block, in this context."""
    token = _told.set(told)
    try:
        yield
    finally:
        _told.reset(token)


def tell_stage(stage: str, model: str) -> None:
    """Say that a step asks a model now; nothing happens where nobody watches."""
    told = _told.get()
    if told is not None:
        told(stage, model)
