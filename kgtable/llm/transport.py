"""Sending one body to an endpoint with the `openai` package, and naming what went wrong."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kgtable.config import Endpoint
from kgtable.llm.conversation import Reply
from kgtable.llm.faults import Fault, fault_from_response
from kgtable.llm.protocol import OnText
from kgtable.llm.wire import StreamReader, read_reply

if TYPE_CHECKING:
    import openai

_NO_KEY = "none"
_ERROR_NUMBER = re.compile(r"^\[Errno -?\d+\] ")


class Tap:
    """Passes streamed text on, for the first attempt only that brings any: text cannot be unsaid."""

    def __init__(self, on_text: OnText | None) -> None:
        self._on_text = on_text
        self._ran = False

    @property
    def open(self) -> bool:
        """Whether the next attempt is to be streamed."""
        return self._on_text is not None and not self._ran

    def close(self) -> None:
        """No further attempt is streamed."""
        self._ran = True

    def __call__(self, piece: str) -> None:
        self._ran = True
        if self._on_text is not None:
            self._on_text(piece)


def open_client(endpoint: Endpoint, timeout: float) -> openai.OpenAI:
    """A blocking client that sends nothing to the endpoint but its own key, and never retries by itself."""
    import openai

    client = openai.OpenAI(**_arguments(endpoint, timeout))
    if not endpoint.is_openai:
        client.organization = client.project = None
    return client


def open_async_client(endpoint: Endpoint, timeout: float) -> openai.AsyncOpenAI:
    """The async twin of `open_client`."""
    import openai

    client = openai.AsyncOpenAI(**_arguments(endpoint, timeout))
    if not endpoint.is_openai:
        client.organization = client.project = None
    return client


def post(client: openai.OpenAI, body: Mapping[str, Any], tap: Tap) -> Reply | Fault:
    """One attempt, streamed where `tap` is open."""
    try:
        if not tap.open:
            response = client.chat.completions.with_raw_response.create(**body)
            return read_reply(response.http_response.text)
        reader = StreamReader(tap)
        with client.chat.completions.with_streaming_response.create(**_streamed(body)) as streamed:
            for line in streamed.iter_lines():
                reader.take_line(line)
        return reader.reply()
    except Exception as error:
        fault = _fault(error)
    return post(client, body, tap) if _dislikes_streams(fault, tap) else fault


async def post_async(client: openai.AsyncOpenAI, body: Mapping[str, Any], tap: Tap) -> Reply | Fault:
    """The async twin of `post`."""
    try:
        if not tap.open:
            response = await client.chat.completions.with_raw_response.create(**body)
            return read_reply(response.http_response.text)
        reader = StreamReader(tap)
        async with client.chat.completions.with_streaming_response.create(**_streamed(body)) as streamed:
            async for line in streamed.iter_lines():
                reader.take_line(line)
        return reader.reply()
    except Exception as error:
        fault = _fault(error)
    return await post_async(client, body, tap) if _dislikes_streams(fault, tap) else fault


def _arguments(endpoint: Endpoint, timeout: float) -> dict[str, Any]:
    return {
        "api_key": endpoint.key.reveal() if endpoint.key else _NO_KEY,
        "base_url": endpoint.base_url,
        "timeout": timeout,
        "max_retries": 0,
    }


def _streamed(body: Mapping[str, Any]) -> dict[str, Any]:
    return {**body, "stream": True, "stream_options": {"include_usage": True}}


def _dislikes_streams(fault: Fault, tap: Tap) -> bool:
    """Whether a streamed attempt was refused for being one; the tap is closed then."""
    refused = tap.open and fault.status in (400, 422) and "stream" in fault.message.lower()
    if refused:
        tap.close()
    return refused


def _fault(error: Exception) -> Fault:
    """The fault that an exception of the client stands for; raises it again where it is none of those."""
    import openai

    if isinstance(error, openai.APIStatusError):
        return fault_from_response(error.status_code, error.response.headers, _body(error))
    if isinstance(error, openai.APITimeoutError):
        return Fault("the time limit passed", timed_out=True)
    if isinstance(error, openai.APIConnectionError):
        return Fault(_cause(error))
    if isinstance(error, openai.OpenAIError):
        return Fault(str(error) or type(error).__name__, 502)
    # the transport below the client (httpx, under either of its names) breaks off while a body is read
    if type(error).__module__.partition(".")[0].startswith(("httpx", "httpcore")):
        return Fault(_cause(error), timed_out="Timeout" in type(error).__name__)
    raise error


def _body(error: openai.APIStatusError) -> str:
    with contextlib.suppress(Exception):
        return error.response.text
    return json.dumps(error.body) if error.body is not None else error.message


def _cause(error: BaseException) -> str:
    """The innermost reason a connection failed for, in a few words."""
    while error.__cause__ is not None:
        error = error.__cause__
    return _ERROR_NUMBER.sub("", str(error) or type(error).__name__).rstrip(".")
