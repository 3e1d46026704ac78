"""What an endpoint understands of the chat API, learnt from what it refuses."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from kgtable.llm.faults import Fault
from kgtable.llm.protocol import Message, Request, Schema

FORMS = ("schema", "object", "plain")


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a request is put: the way to ask for JSON, and the parameters the endpoint knows."""

    form: str = FORMS[0]
    limit_name: str = "max_tokens"
    without: frozenset[str] = frozenset()

    def body(self, model: str, request: Request, said: tuple[Message, ...] = ()) -> dict[str, Any]:
        """The JSON body of the HTTP request; `said` is what followed in the conversation so far."""
        messages = [*request.messages, *said]
        body: dict[str, Any] = {"model": model, "messages": messages}
        if request.schema is not None:
            if self.form == "schema":
                body["response_format"] = {"type": "json_schema", "json_schema": _named(request.schema)}
            else:
                messages[0] = _with_form(messages[0], request.schema)
                if self.form == "object":
                    body["response_format"] = {"type": "json_object"}
        if request.temperature is not None:
            body["temperature"] = request.temperature
        if request.max_tokens is not None:
            body[self.limit_name] = request.max_tokens
        return {name: value for name, value in body.items() if name not in self.without}

    def after(self, fault: Fault, body: Mapping[str, Any]) -> Dialect | None:
        """The dialect to try next after a refused request, or None where nothing is left to change."""
        if fault.status not in (400, 404, 415, 422, 501) or fault.code == "context_length_exceeded":
            return None
        said = fault.message.lower()
        if "max_completion_tokens" in said and "max_tokens" in body:
            return replace(self, limit_name="max_completion_tokens")
        if "temperature" in said and "temperature" in body:
            return replace(self, without=self.without | {"temperature"})
        if "response_format" in body and fault.status != 404:
            return replace(self, form=FORMS[FORMS.index(self.form) + 1])
        return None


def _named(schema: Schema) -> dict[str, Any]:
    return {"name": str(schema.get("title", "reply")), "strict": True, "schema": schema}


def _with_form(message: Message, schema: Schema) -> Message:
    """The first message with the form of the reply spelt out, for servers that cannot enforce it."""
    form = json.dumps(schema, ensure_ascii=False)
    told = f"Reply with one JSON object and nothing else. It must fit this JSON Schema:\n{form}"
    return {"role": message["role"], "content": f"{message['content']}\n\n{told}"}
