"""The protocol of language models: requests, completions, failures, and what the requests of a question cost.

Tokens and cost are counted by stage of a question; what is not known stays unknown. An endpoint understands a dialect
of the chat API, known from its error messages.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import threading
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, replace
from decimal import Context, Decimal
from functools import cache
from pathlib import Path
from typing import Any, Protocol, TypeAlias, TypedDict

from kgtable.config import ModelEndpoint
from kgtable.errors import (
    LLMAuthError,
    LLMContextError,
    LLMCostError,
    LLMError,
    LLMRateLimitError,
    LLMReplyError,
    LLMUnreachableError,
)

PRICES_FILE = Path(__file__).with_name("prices.toml")
_DATED = re.compile(r"-(\d{4}-\d{2}-\d{2}|\d{8})$")
_DOLLARS = Context(28)
_MILLION = Decimal(1_000_000)


@dataclass(frozen=True, slots=True)
class Usage:
    """Requests sent, tokens read and written, cost in US dollars; None if it is not known."""

    requests: int = 0
    prompt_tokens: int | None = 0
    completion_tokens: int | None = 0
    cost: Decimal | None = Decimal(0)

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.requests + other.requests,
            _sum(self.prompt_tokens, other.prompt_tokens),
            _sum(self.completion_tokens, other.completion_tokens),
            None if self.cost is None or other.cost is None else self.cost + other.cost,
        )

    def to_json(self) -> dict[str, Any]:
        """As plain JSON values; the cost as a number of dollars."""
        return {
            "requests": self.requests,
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "cost_usd": None if self.cost is None else float(self.cost),
        }


Pricing: TypeAlias = Callable[[str, int | None, int | None], Decimal | None]
"""The price in dollars of a model's prompt and completion tokens, None if it is not known."""


class UsageMeter:
    """Usage by stage, added up from any number of threads, and the dollars that may be spent; None for any."""

    def __init__(self, most: Decimal | None = None) -> None:
        self.most = most
        self._stages: dict[str, Usage] = {}
        self._lock = threading.Lock()

    def add(self, stage: str, usage: Usage) -> None:
        """Add `usage` to `stage`."""
        with self._lock:
            self._stages[stage] = self._stages.get(stage, Usage()) + usage

    def admit(self, cost: Callable[[], Decimal | None]) -> None:
        """Admit a request that may cost so much. Raises `LLMCostError` if that exceeds the remaining budget."""
        if self.most is None:
            return
        spent, wanted = self.total.cost, cost()
        if spent is None or wanted is None:
            raise LLMCostError(
                "The price of the model is unknown, so its cost cannot be limited.",
                hint="Give its prices in kgtable.toml, or leave the bound out.",
            )
        if spent + wanted > self.most:
            raise LLMCostError(
                f"The next request may cost ${wanted:.4f}; ${spent:.4f} of ${self.most:.4f} are spent.",
                hint="Raise --max-cost, or ask for a shorter context (KGTABLE_CONTEXT_TOKENS).",
            )

    @property
    def stages(self) -> dict[str, Usage]:
        """A copy of what each stage used so far."""
        with self._lock:
            return dict(self._stages)

    @property
    def total(self) -> Usage:
        """All stages together."""
        return sum(self.stages.values(), Usage())

    def to_json(self) -> dict[str, Any]:
        """The total, and each stage under ``stages``."""
        return self.total.to_json() | {"stages": {name: used.to_json() for name, used in self.stages.items()}}


def price(
    model: str,
    prompt: int | None,
    completion: int | None,
    *,
    own: Mapping[str, Mapping[str, float]] | None = None,
    shipped: bool = True,
) -> Decimal | None:
    """The price of the tokens in US dollars, or None if the model's price or a count is not known.

    `own` are prices per million tokens, ``{model: {"input", "output"}}``; they go before the shipped
    table's, which is consulted where `shipped`.

    >>> price("gpt-4o-2024-08-06", 1_000_000, 0)
    Decimal('2.5')
    >>> price("some-local-model", 10, 10) is None
    True
    """
    table = {**(shipped_prices() if shipped else {}), **(own or {})}
    rates = table.get(model) or table.get(_DATED.sub("", model))
    if not rates or prompt is None or completion is None:
        return None
    if "input" not in rates or "output" not in rates:
        return None
    spent = prompt * Decimal(str(rates["input"])) + completion * Decimal(str(rates["output"]))
    return _DOLLARS.normalize(_DOLLARS.divide(spent, _MILLION))


@cache
def shipped_prices() -> dict[str, Mapping[str, float]]:
    """The shipped price table: US dollars per million tokens."""
    found: dict[str, Mapping[str, float]] = tomllib.loads(PRICES_FILE.read_text(encoding="utf-8"))["models"]
    return found


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other


class Message(TypedDict):
    """One message of a chat; `role` is ``system``, ``user`` or ``assistant``."""

    role: str
    content: str


Schema = Mapping[str, Any]
OnText = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Request:
    """A question to a model. With a `schema` (JSON Schema of an object) the reply must be of that form.

    `stage` names the step that asks, for usage and trace; it is not part of what is sent, nor is `sample`,
    which distinguishes equal requests whose replies should differ.
    """

    messages: tuple[Message, ...]
    schema: Schema | None = None
    stage: str = "answer"
    temperature: float | None = 0.0
    max_tokens: int | None = 2_000
    sample: int = 0

    def fingerprint(self, model: str, base_url: str) -> str:
        """A hash of everything that decides the reply; it contains no key."""
        parts = [base_url, model, list(self.messages), self.schema, self.temperature, self.max_tokens]
        if self.sample:
            parts.append(self.sample)
        text = json.dumps(parts, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's reply: its text and, where a schema was given, the checked object in it."""

    text: str
    data: Mapping[str, Any] | None
    usage: Usage
    model: str
    from_cache: bool = False


class LLM(Protocol):
    """A model that completes chats, called from any number of threads.

    `on_text` receives the reply's text piece by piece as it arrives. Raises a leaf of `kgtable.errors.LLMError`.
    """

    model: str

    def complete(self, request: Request, *, on_text: OnText | None = None) -> Completion:
        """The model's reply to `request`."""
        ...

    def close(self) -> None:
        """Close kept connections; the model can still be used."""
        ...


def reply_data(llm: LLM, system: str, text: str, *, schema: Schema, stage: str, max_tokens: int) -> Mapping[str, Any]:
    """The object that a model replies to a system prompt and one text; empty if it gives none.

    `schema` is the JSON Schema of the object, `stage` the name of the step that asks. Raises a leaf of `LLMError`.
    """
    messages = (Message(role="system", content=system), Message(role="user", content=text))
    request = Request(messages, schema=schema, stage=stage, max_tokens=max_tokens)
    return llm.complete(request).data or {}


OnStage: TypeAlias = Callable[[str, str], None]
"""Receives the step's name, as `Request.stage` has it, and the model's."""

_meter: ContextVar[UsageMeter | None] = ContextVar("kgtable_usage_meter", default=None)
_told: ContextVar[OnStage | None] = ContextVar("kgtable_stages", default=None)


@contextlib.contextmanager
def measured(meter: UsageMeter | None = None) -> Iterator[UsageMeter]:
    """Count the usage of every `MeteredLLM` that is asked inside the block, by `meter` or a new one."""
    meter = UsageMeter() if meter is None else meter
    token = _meter.set(meter)
    try:
        yield meter
    finally:
        _meter.reset(token)


@contextlib.contextmanager
def stages_told(told: OnStage) -> Iterator[None]:
    """Call `told` before each request to a `MeteredLLM` made inside the block, in this context."""
    token = _told.set(told)
    try:
        yield
    finally:
        _told.reset(token)


def _tell_stage(request: Request, model: str) -> None:
    if (told := _told.get()) is not None:
        told(request.stage, model)


class MeteredLLM:
    """A model whose usage is counted by stage inside a `measured` block, and bounded by its cost limit.

    `pricing` returns the price in dollars of so many prompt and completion tokens; without it prices are unknown.
    `window` is the maximum number of tokens of prompt and reply, 0 for any; a reply gets at most a quarter.
    With `dry_run` nothing is sent: each reply is the least that its schema admits, and the usage an upper bound for
    this request, with a reply as long as it allows. A real reply may lead to further requests.
    """

    def __init__(self, llm: LLM, pricing: Pricing | None = None, window: int = 0, *, dry_run: bool = False) -> None:
        self._llm, self._pricing, self._window, self._dry_run = llm, pricing, window, dry_run
        self.model = llm.model

    def complete(self, request: Request, *, on_text: OnText | None = None) -> Completion:
        """See `LLM.complete`. Raises `LLMContextError` if prompt and reply do not fit the window."""
        request = self._fitting(request)
        if (meter := _meter.get()) is not None:
            meter.admit(lambda: self._most(request))
        if self._dry_run:
            return self._count(request, self._least(request))
        _tell_stage(request, self.model)
        with self._counting_failures(request):
            return self._count(request, self._llm.complete(request, on_text=on_text))

    def close(self) -> None:
        """See `LLM.close`."""
        self._llm.close()

    def _fitting(self, request: Request) -> Request:
        """The request with a reply short enough for the window."""
        if not self._window:
            return request
        reply = min(request.max_tokens or self._window, self._window // 4)
        excess = prompt_tokens(request) + reply - self._window
        if excess > 0:
            raise _beyond_window(f"{excess:,} tokens more than the {self._window:,} that are set", excess)
        return replace(request, max_tokens=reply)

    def _most(self, request: Request) -> Decimal | None:
        """What a request may cost, with a reply as long as it may be."""
        if self._pricing is None:
            return None
        return self._pricing(self.model, prompt_tokens(request), request.max_tokens)

    def _least(self, request: Request) -> Completion:
        usage = Usage(1, prompt_tokens(request), request.max_tokens, self._most(request))
        data = None if request.schema is None else least_value(request.schema)
        return Completion("" if data is None else json.dumps(data), data, usage, self.model)

    @contextlib.contextmanager
    def _counting_failures(self, request: Request) -> Iterator[None]:
        """Count the usage of a request that failed."""
        try:
            yield
        except LLMError as error:
            meter = _meter.get()
            if meter is not None and isinstance(error.usage, Usage):
                meter.add(request.stage, error.usage)
            raise

    def _count(self, request: Request, completion: Completion) -> Completion:
        meter, usage = _meter.get(), completion.usage
        if meter is not None:
            if usage.cost is None and meter.most is not None:  # if the cost is not reported, its upper bound counts
                usage = replace(usage, cost=self._most(request))
            meter.add(request.stage, usage)
        return completion


def least_value(schema: Mapping[str, Any]) -> Any:
    """The smallest value that a JSON Schema admits.

    >>> least_value({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]})
    {'a': ''}
    """
    if choices := schema.get("anyOf") or schema.get("oneOf"):
        return min(map(least_value, choices), key=lambda value: len(json.dumps(value)))
    if "enum" in schema:
        return schema["enum"][0]
    kinds = schema.get("type", "null")
    match kinds if isinstance(kinds, str) else "null" if "null" in kinds else kinds[0]:
        case "object":
            properties = schema.get("properties", {})
            return {name: least_value(properties.get(name, {})) for name in schema.get("required", ())}
        case "array":
            return []
        case "string":
            return ""
        case "boolean":
            return False
        case "integer" | "number":
            return schema.get("minimum", 0)
    return None


_PIECE = re.compile(r"[^\W\d_]+|\d{1,3}|[^\w\s]|_")
_LETTERS_PER_TOKEN = 5


def estimate_tokens(text: str) -> int:
    """Estimated number of a model's tokens in `text`, rather too high than too low.

    Words count one token per five letters begun, runs of digits one per three, signs one each, and
    letters of scripts without spaces one each.

    >>> estimate_tokens("Net income | 1,234.5")
    9
    """
    return sum(_cost(piece) for piece in _PIECE.findall(text))


def _cost(piece: str) -> int:
    if len(piece) == 1 or piece.isdigit():
        return 1
    if piece.isascii():
        return -(-len(piece) // _LETTERS_PER_TOKEN)
    return sum(1 if ord(letter) > 0x2E7F else 0 for letter in piece) or -(-len(piece) // 2)


def prompt_tokens(request: Request) -> int:
    """About how many tokens the messages of a request have."""
    return sum(estimate_tokens(message["content"]) for message in request.messages)


_SIGNS = re.compile("=+")


def fence(*data: str) -> str:
    """A run of equals signs longer than any in the data, so that no text in it can end its own block.

    >>> fence("plain"), fence("=== CONTEXT END ===")
    ('===', '====')
    """
    longest = max((len(run) for text in data for run in _SIGNS.findall(text)), default=0)
    return "=" * max(3, longest + 1)


_BEYOND_WINDOW = re.compile(r"context[ _]?(length|size|window)|prompt is too long", re.IGNORECASE)
_RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_SHOWN = 300
_KEPT = 20_000
"""Characters kept of a message: more than are shown, so that a key in it is masked before it is cut."""
GARBLED = "garbled"
"""The code for an answer with status 200 that is not a chat completion."""


@dataclass(frozen=True, slots=True)
class RequestFault:
    """A request that failed: the HTTP status, or None if no complete answer came.

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

    @property
    def beyond_window(self) -> bool:
        """Whether the prompt has more tokens than the model takes, as the servers say it."""
        return self.status in (400, 413, 422) and bool(_BEYOND_WINDOW.search(f"{self.code} {self.message}"))

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
                f"{where} failed ({self.status}){tried}: {said}.", hint="Try again later, or use --model none."
            )
        if self.beyond_window:
            return _beyond_window(said)
        return LLMReplyError(
            f"{where} does not accept the request ({self.status}): {said}.",
            hint="Check the model's name (KGTABLE_MODEL) and the base URL.",
        )


def _beyond_window(told: str, excess: int | None = None) -> LLMContextError:
    error = LLMContextError(
        f"The prompt is longer than the model's context window: {told}.",
        hint="Set the window (KGTABLE_WINDOW), lower KGTABLE_CONTEXT_TOKENS, or start the server with a longer one.",
    )
    error.excess = excess
    return error


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
    from email.utils import parsedate_to_datetime  # most runs get no such header, and `email` is slow to import

    try:
        when = parsedate_to_datetime(found.get("retry-after", ""))
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
        """The dialect to try next after a refused request, or None if nothing is left to change."""
        if fault.status not in (400, 404, 415, 422, 501) or fault.beyond_window:
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
