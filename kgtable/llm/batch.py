"""Write requests as OpenAI Batch JSONL and read the results back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from kgtable.errors import LLMError, LLMReplyError
from kgtable.llm.conversation import ModelReply, understand
from kgtable.llm.faults import ChatDialect, RequestFault, fault_from_response
from kgtable.llm.protocol import Completion, Request
from kgtable.llm.repair import ReplyFault
from kgtable.llm.usage import Usage
from kgtable.llm.wire import read_reply

_URL = "/v1/chat/completions"


def write_batch(requests: Iterable[tuple[str, Request]], model: str, path: str | Path) -> int:
    """Write requests, each with an id of its own, and returns how many there were.

    Raises `LLMError` where an id comes twice, since results could not be told apart.
    """
    seen: set[str] = set()
    with Path(path).open("w", encoding="utf-8") as file:
        for identity, request in requests:
            if identity in seen:
                raise LLMError(f"Two requests of the batch have the id {identity!r}.")
            seen.add(identity)
            body = ChatDialect().body(model, request)
            line = {"custom_id": identity, "method": "POST", "url": _URL, "body": body}
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
    return len(seen)


def raw_results(path: str | Path) -> dict[str, dict[str, Any]]:
    """The results in a batch's output (or error) file by the id of their request, for `completion_of`.

    Raises `LLMReplyError` for a line that is no batch result.
    """
    return {identity: result for _, identity, result in _results(path)}


def read_batch(path: str | Path, requests: dict[str, Request]) -> Iterator[tuple[str, Completion | LLMError]]:
    """The results in a batch's output (or error) file, in its order, each with the id of its request.

    A request that failed, or whose reply is not of the form asked for, gives the error instead. Raises
    `LLMReplyError` for a line that is no batch result or answers none of `requests`.
    """
    for number, identity, result in _results(path):
        if identity not in requests:
            raise LLMReplyError(f"{path}, line {number}: not a result of this batch.")
        yield identity, completion_of(identity, result, requests[identity])


def _results(path: str | Path) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Number of the line, id of the request, and the result."""
    with Path(path).open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                result = json.loads(line)
                yield number, str(result["custom_id"]), result
            except (ValueError, TypeError, KeyError, RecursionError) as error:
                raise LLMReplyError(f"{path}, line {number}: this is no result of a batch.") from error


def completion_of(identity: str, result: dict[str, Any], request: Request) -> Completion | LLMError:
    """The completion in a batch result, or the error where the request failed or the reply is unusable."""
    response = result.get("response") or {}
    status = int(response.get("status_code") or 0)
    body = json.dumps(response.get("body") if response else {"error": result.get("error")})
    outcome: ModelReply | RequestFault = (
        read_reply(body) if status == 200 else fault_from_response(status, {}, body)
    )
    if isinstance(outcome, RequestFault):
        return LLMReplyError(f"Request {identity} of the batch failed: {outcome.message}.")
    usage = Usage(1, outcome.prompt_tokens, outcome.completion_tokens, None)
    try:
        data = understand(outcome, request)
    except ReplyFault as fault:
        failed: LLMError = LLMReplyError(f"The reply to request {identity} cannot be used: {fault}.")
    except LLMError as error:
        failed = error
    else:
        return Completion(outcome.text, data, usage, outcome.model)
    failed.usage = usage
    return failed
