"""Failures of a request, and the dialect of the chat API that an endpoint understands."""

from __future__ import annotations

import email.utils
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from kgtable.config import ModelEndpoint
from kgtable.errors import LLMAuthError, LLMError, LLMRateLimitError, LLMReplyError, LLMUnreachableError
from kgtable.llm.protocol import Message, Request, Schema

_RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_SHOWN = 300
_KEPT = 20_000
"""Characters kept of a message: more than are shown, so that a key in it is masked before it is cut."""
GARBLED = "garbled"
"""The code of a fault that is an answer with status 200 which is no chat completion."""


@dataclass(frozen=True, slots=True)
class RequestFault:
    """A request that failed: the HTTP status, or None where no complete answer came.

    `retry_after` is the number of seconds the server asked to wait, if it did.
    """

    message: str
    status: int | None = None
    code: str = ""
    retry_after: float | None = None
    timed_out: bool = False

    @property
    def worth_retrying(self) -> bool:
        """Whether the same request may succeed later."""
        if self.code == "insufficient_quota":
            return False
        return self.status is None or self.status in _RETRIED

    def to_error(self, endpoint: ModelEndpoint, attempts: int) -> LLMError:
        """The error to raise, naming the endpoint and a next step, never the key."""
        where = endpoint.base_url
        said = endpoint.scrub(self.message)[:_SHOWN]
        tried = f" ({attempts} attempts)" if attempts > 1 else ""
        if self.status is None:
            what = "did not answer in time" if self.timed_out else "could not be reached"
            return LLMUnreachableError(
                f"The language model at {where} {what}{tried}: {said}.",
                hint="Check the address, or answer without a model: --model none.",
            )
        if self.code == GARBLED:
            return LLMReplyError(
                f"{where} does not answer in the form of the chat API{tried}: {said}.",
                hint="Check the base URL; it usually ends in /v1.",
            )
        if self.status in (401, 403):
            return LLMAuthError(f"{where} refused the key ({self.status}): {said}.", hint=_key_hint(endpoint))
        if self.status == 429:
            hint = (
                "The account's quota is used up."
                if self.code == "insufficient_quota"
                else "Wait, lower KGTABLE_CONCURRENCY, or raise KGTABLE_RETRIES."
            )
            return LLMRateLimitError(f"{where} is refusing further requests (429){tried}: {said}.", hint=hint)
        if self.status >= 500:
            return LLMUnreachableError(
                f"{where} failed ({self.status}){tried}: {said}.",
                hint="Try again later, or use --model none.",
            )
        if self.code == "context_length_exceeded":
            return LLMReplyError(
                f"The prompt is longer than the model's window: {said}.", hint="Lower KGTABLE_CONTEXT_TOKENS."
            )
        return LLMReplyError(
            f"{where} does not accept the request ({self.status}): {said}.",
            hint="Check the model's name (KGTABLE_MODEL) and the base URL.",
        )


def fault_from_response(status: int, headers: Mapping[str, str], body: str) -> RequestFault:
    """Read an HTTP error as a fault."""
    message, code = _error_of(body)
    return RequestFault(message, status, code, retry_after(headers))


def retry_after(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """Seconds the server asks to wait: `retry-after-ms`, or `retry-after` as seconds or a date."""
    found = {name.lower(): value for name, value in headers.items()}
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(found.get(name, "")) * unit
        except ValueError:
            continue
        if 0 <= seconds < float("inf"):
            return seconds
    try:
        when = email.utils.parsedate_to_datetime(found.get("retry-after", ""))
    except ValueError:
        return None
    return max(0.0, when.timestamp() - (time.time() if now is None else now))


def _error_of(body: str) -> tuple[str, str]:
    """Message and code of an error body in OpenAI's form, or the start of any other."""
    try:
        found = json.loads(body)
        error = found.get("error", found)
        if isinstance(error, str):
            return error[:_KEPT], ""
        message = error.get("message") or error.get("detail") or body
        return str(message)[:_KEPT], str(error.get("code") or "")
    except (ValueError, AttributeError, RecursionError):
        return " ".join(body.split())[:_KEPT] or "no message", ""


def _key_hint(endpoint: ModelEndpoint) -> str:
    if endpoint.key is not None:
        return "Check that the key is valid for this endpoint and model."
    if endpoint.is_openai:
        return "Set OPENAI_API_KEY."
    return (
        "No key was given for this base URL: set KGTABLE_BASE_URL and KGTABLE_API_KEY together "
        "(a key is sent only to the base URL it was given for)."
    )


FORMS = ("schema", "object", "plain")


@dataclass(frozen=True, slots=True)
class ChatDialect:
    """The form of requests to an endpoint: how to ask for JSON, which parameters it knows."""

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

    def after(self, fault: RequestFault, body: Mapping[str, Any]) -> ChatDialect | None:
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
    return {"name": str(schema.get("title", "reply")), "strict": _is_closed(schema), "schema": schema}


def _is_closed(schema: object) -> bool:
    """Whether each object in a schema names all its fields, without which servers refuse to enforce it."""
    if isinstance(schema, Mapping):
        kind = schema.get("type")
        is_object = kind == "object" or (isinstance(kind, list) and "object" in kind)
        if is_object and schema.get("additionalProperties") is not False:
            return False
        return all(map(_is_closed, schema.values()))
    return all(map(_is_closed, schema)) if isinstance(schema, list | tuple) else True


def _with_form(message: Message, schema: Schema) -> Message:
    """The first message with a description of the reply's form, for servers that cannot enforce it."""
    form = json.dumps(schema, ensure_ascii=False)
    told = f"Reply with one JSON object and nothing else. It must fit this JSON Schema:\n{form}"
    return {"role": message["role"], "content": f"{message['content']}\n\n{told}"}
