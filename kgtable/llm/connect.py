"""The model that the settings name."""

from __future__ import annotations

from kgtable.config import Settings
from kgtable.errors import ConfigError
from kgtable.llm.cache import CompletionCache
from kgtable.llm.client import ChatModel
from kgtable.llm.conversation import Policy
from kgtable.llm.dialect import FORMS
from kgtable.llm.protocol import LLM
from kgtable.llm.trace import Trace


def connect(settings: Settings) -> LLM | None:
    """The settings' model, or None where they name none that can be reached. Sends nothing yet."""
    if not settings.uses_llm:
        return None
    if settings.structured not in FORMS:
        raise ConfigError(f"structured = {settings.structured!r} is none of: {', '.join(FORMS)}.")
    return ChatModel(
        settings.model,
        settings.endpoint,
        timeout=settings.timeout,
        policy=Policy(retries=settings.retries),
        concurrency=settings.concurrency,
        structured=settings.structured,
        cache=CompletionCache(settings.cache) if settings.cache else None,
        trace=Trace(settings.trace) if settings.trace else None,
        prices=settings.prices,
    )
