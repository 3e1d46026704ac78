"""Language models behind one protocol: any OpenAI-compatible endpoint, or a scripted one.

Nothing here imports the `openai` package before the first request is sent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kgtable.llm.protocol import LLM, Completion, Message, Request, Usage, UsageMeter

if TYPE_CHECKING:
    from kgtable.llm.client import connect

__all__ = ["LLM", "Completion", "Message", "Request", "Usage", "UsageMeter", "connect"]


def __getattr__(name: str) -> Any:
    if name != "connect":
        raise AttributeError(f"module 'kgtable.llm' has no attribute {name!r}")
    from kgtable.llm.client import connect

    return connect
