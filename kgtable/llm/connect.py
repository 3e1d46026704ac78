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
from kgtable.resources import cache_folder


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
        cache=_cache(settings.llm_cache),
        trace=Trace(settings.trace) if settings.trace else None,
        prices=settings.prices,
    )


def _cache(setting: str) -> CompletionCache | None:
    """The cache that is set: none, the one in the user's cache folder (``on``), or a file."""
    if setting.lower() in ("", "off"):
        return None
    return CompletionCache(cache_folder() / "replies.sqlite" if setting.lower() == "on" else setting)
