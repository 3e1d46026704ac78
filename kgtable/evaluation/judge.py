"""A model as judge of answers: exact, partial or no match with the gold (thesis, section 3.5.2)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from string import Template
from types import MappingProxyType
from typing import Any

from kgtable.llm.protocol import Message, Request
from kgtable.resources import PACKAGE

STAGE = "judge"
WEIGHTS: Mapping[str, float] = MappingProxyType({"exact": 1.0, "partial": 0.5, "none": 0.0})
"""What a verdict counts towards the weighted accuracy (equation 9)."""

_PROMPT = PACKAGE / "evaluation" / "prompts" / "judge.txt"
_REPLY: Mapping[str, Any] = {
    "title": "verdict",
    "type": "object",
    "properties": {
        "reason": {"type": "string"},
        "verdict": {"type": "string", "enum": list(WEIGHTS)},
    },
    "required": ["reason", "verdict"],
    "additionalProperties": False,
}


def judge_request(question: str, gold: Sequence[str], scale: str, answer: str) -> Request:
    """The request that compares an answer with the gold; `scale` is the gold's scale word or empty."""
    facts = {"question": question, "gold": list(gold), "scale": scale or None, "answer": answer}
    text = json.dumps(facts, ensure_ascii=False, indent=1)
    prompt = Template(_PROMPT.read_text(encoding="utf-8")).substitute(facts=text)
    message: Message = {"role": "user", "content": prompt}
    return Request((message,), schema=_REPLY, stage=STAGE, temperature=0.0, max_tokens=300)
