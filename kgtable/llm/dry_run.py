"""A model that is not asked: what a question would take is counted, and nothing is sent."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from kgtable.llm.protocol import Completion, OnText, Pricing, Request, Usage, prompt_tokens


class DryRunLLM:
    """An `LLM` that replies to each request with the least that its schema admits, and sends nothing.

    The usage it tells is an upper bound for the requests it gets: the tokens of the prompt, about, and a reply as long
    as the request allows. A real reply may lead to further requests, such as one to mend a program.

    >>> model = DryRunLLM("gpt-4o", lambda *_: None)
    >>> done = model.complete(Request(({"role": "user", "content": "How many?"},), max_tokens=200))
    >>> done.usage.prompt_tokens, done.usage.completion_tokens
    (3, 200)
    """

    def __init__(self, model: str, pricing: Pricing) -> None:
        self.model, self._pricing = model, pricing

    def complete(self, request: Request, *, on_text: OnText | None = None) -> Completion:
        """The least reply."""
        tokens = prompt_tokens(request), request.max_tokens
        usage = Usage(1, *tokens, self._pricing(self.model, *tokens))
        data = None if request.schema is None else _least(request.schema)
        return Completion("" if data is None else json.dumps(data), data, usage, self.model)

    def close(self) -> None:
        """No-op: nothing is kept open."""


def _least(schema: Mapping[str, Any]) -> Any:
    """The smallest value that a JSON Schema admits."""
    if choices := schema.get("anyOf") or schema.get("oneOf"):
        return min(map(_least, choices), key=lambda value: len(json.dumps(value)))
    if "enum" in schema:
        return schema["enum"][0]
    kinds = schema.get("type", "null")
    match kinds if isinstance(kinds, str) else "null" if "null" in kinds else kinds[0]:
        case "object":
            properties = schema.get("properties", {})
            return {name: _least(properties.get(name, {})) for name in schema.get("required", ())}
        case "array":
            return []
        case "string":
            return ""
        case "boolean":
            return False
        case "integer" | "number":
            return schema.get("minimum", 0)
    return None
