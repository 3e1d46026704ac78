"""Language models behind one protocol: any OpenAI-compatible endpoint, or a scripted one.

Nothing here imports the `openai` package before the first request is sent.
"""

from __future__ import annotations

from kgtable.llm.client import connect
from kgtable.llm.protocol import LLM, Completion, Message, Request, Usage, UsageMeter

__all__ = ["LLM", "Completion", "Message", "Request", "Usage", "UsageMeter", "connect"]
