"""The baseline without any table: what a model knows by itself (thesis, section 5.5)."""

from __future__ import annotations

from collections.abc import Mapping
from string import Template
from typing import Any

from kgtable.answering.answer import Answer
from kgtable.llm.protocol import Completion, Message, Request
from kgtable.llm.usage import UsageMeter
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


def zero_shot_request(question: str, *, temperature: float = TEMPERATURE, max_tokens: int = 1_000) -> Request:
    """The request that asks the question with no context."""
    text = Template((_FOLDER / "question.txt").read_text(encoding="utf-8")).substitute(question=question)
    messages: tuple[Message, ...] = (
        {"role": "system", "content": (_FOLDER / "system.txt").read_text(encoding="utf-8").strip()},
        {"role": "user", "content": text.strip()},
    )
    return Request(messages, schema=_REPLY, stage=STAGE, temperature=temperature, max_tokens=max_tokens)


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
