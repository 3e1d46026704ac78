"""Settings: defaults < `kgtable.toml` < environment < options, and which key may go to which endpoint.

Four sources may give an endpoint: `kgtable.toml`, `OPENAI_BASE_URL` with `OPENAI_API_KEY`,
`KGTABLE_BASE_URL` with `KGTABLE_API_KEY`, and options. A key belongs to the base URL of its own
source (OpenAI's where that source names none) and is used with no other, so that neither a
`kgtable.toml` found in a folder nor an option can draw a key to a foreign server.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, TypedDict
from urllib.parse import urlsplit

from kgtable.errors import ConfigError, UsageError

CONFIG_FILE = "kgtable.toml"
DEFAULT_K = 300
"""Triples retrieved where no number is given: by `retrieve` and `ask`, in Python, shell and HTTP API."""
MOST_LISTED = 1_000
"""Violations that a validation lists where no number is given; it counts them all."""
OPENAI_URL = "https://api.openai.com/v1"
NO_MODEL = "none"
_SHORTEST_SECRET = 8
"""Characters of a part of an extra header that is masked in messages."""


class Secret:
    """A key that is hidden in a repr, a log or a message; `reveal` returns it."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The key itself, for the one request header it is meant for."""
        return self._text

    def scrub(self, text: str) -> str:
        """`text` with every appearance of the key masked."""
        return text.replace(self._text, "***") if self._text else text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._text == self._text

    def __hash__(self) -> int:
        return hash((Secret, self._text))

    def __repr__(self) -> str:
        return "Secret('***')"

    def __reduce__(self) -> str:
        raise TypeError("A key is not written anywhere.")


@dataclass(frozen=True, slots=True)
class ModelEndpoint:
    """A base URL and the key that was given for it, if one was."""

    base_url: str = OPENAI_URL
    key: Secret | None = None

    @property
    def is_openai(self) -> bool:
        """Whether this is OpenAI's own endpoint."""
        return same_url(self.base_url, OPENAI_URL)

    def scrub(self, text: str) -> str:
        """`text` with the key, and what ``OPENAI_CUSTOM_HEADERS`` holds, masked: those may be secrets, too."""
        if self.key is not None:
            text = self.key.scrub(text)
        for line in os.environ.get("OPENAI_CUSTOM_HEADERS", "").splitlines():
            value = line.partition(":")[2].strip()
            for part in (
                value,
                *value.split(),
            ):  # of "Bearer abc…" the other side may repeat the second alone
                if len(part) >= _SHORTEST_SECRET:
                    text = text.replace(part, "***")
        return text


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings. Times in seconds; `context_tokens`, `max_tokens` and `window` (0 for unknown) in tokens.

    `endpoint_given`, `model_given` and `second_reading_given` say whether a source names a base URL, a model, and
    whether to ask it twice.

    `llm_cache` is a file, ``on`` for the user's cache folder, or empty; `trace` a file. `k` are the triples to answer
    from, 0 for the method's own number. `structured` is how the form of a reply is asked for: ``schema``, ``object`` or
    ``plain``; where a server refuses one, the next is tried. `prices` are US dollars per million tokens by model;
    `max_cost` are the dollars that a question or a conversation may take, 0 for any; with `dry_run` no model is asked.
    """

    endpoint: ModelEndpoint = field(default_factory=ModelEndpoint)
    endpoint_given: bool = False
    model_given: bool = False
    second_reading_given: bool = False
    model: str = "gpt-4o"
    temperature: float = 0.0
    max_tokens: int = 2_000
    timeout: float = 120.0
    retries: int = 4
    concurrency: int = 8
    structured: str = "schema"
    llm_cache: str = ""
    trace: str = ""
    method: str = "hybrid"
    k: int = 0
    rerank: bool = True
    presentation: str = "subtable"
    prompt: str = "context-first-separated"
    second_reading: bool = False
    context_tokens: int = 12_000
    window: int = 0
    max_cost: float = 0.0
    dry_run: bool = False
    prices: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    @property
    def uses_llm(self) -> bool:
        """Whether a language model is configured: not ``none``, and with a base URL or a key."""
        return self.model != NO_MODEL and (self.endpoint_given or self.endpoint.key is not None)


class AskOptions(TypedDict, total=False):
    """The settings that one question may override; fields that are None or missing are taken from `Settings`.

    `method` and `k` say how triples are retrieved. `model`, `base_url` and `api_key` name a model; the
    model ``"none"`` stands for rules. `rerank` lets the model order the best tables, `presentation` and
    `prompt` lay out what it is shown, `second_reading` asks it again in another way and verifies equal answers,
    `context_tokens` limits that, `max_tokens` the reply, `window` prompt and reply together. `structured` is
    how the form of the reply is asked for, `llm_cache` a file that keeps replies, `trace` a file that gets
    each prompt and reply, `prices` US dollars per million tokens by model, `timeout` in seconds. `max_cost` are the
    dollars that a question may take, None or 0 for any; with `dry_run` no model is asked, and the answer's `usage`
    holds the estimate.
    """

    method: str | None
    k: int | None
    model: str | None
    base_url: str | None
    api_key: str | None
    rerank: bool | None
    presentation: str | None
    prompt: str | None
    second_reading: bool | None
    temperature: float | None
    max_tokens: int | None
    context_tokens: int | None
    window: int | None
    timeout: float | None
    retries: int | None
    structured: str | None
    llm_cache: str | None
    trace: Path | str | None
    max_cost: float | None
    dry_run: bool | None
    prices: Mapping[str, Mapping[str, float]] | None


def same_url(one: str, other: str) -> bool:
    """Whether two base URLs name the same endpoint.

    >>> same_url("https://API.openai.com/v1/", "https://api.openai.com:443/v1")
    True
    """
    try:
        return _normal_url(one) == _normal_url(other)
    except ValueError:
        return False


def load_settings(
    *,
    file: str | Path | None = None,
    environment: Mapping[str, str] | None = None,
    **options: Any,
) -> Settings:
    """Settings from all sources, later ones winning; an option that is None counts as not given.

    `file` is the TOML file (default: `$KGTABLE_CONFIG`, else `kgtable.toml` in the working folder if
    there is one); `options` are the field names of `Settings`, and `base_url` and `api_key`. Raises
    `ConfigError` for an unknown name, a value of the wrong type, or a file that cannot be read.
    """
    env = os.environ if environment is None else environment
    table, where = _read_file(file, env)
    layers: list[tuple[Mapping[str, Any], str]] = [
        (table, where),
        ({"base_url": env.get("OPENAI_BASE_URL"), "api_key": env.get("OPENAI_API_KEY")}, "the environment"),
        (_from_environment(env), "the environment"),
        ({name: value for name, value in options.items() if value is not None}, "the options"),
    ]
    values: dict[str, Any] = {}
    pairs: list[tuple[str | None, str | None]] = []
    for layer, source in layers:
        pairs.append((layer.get("base_url") or None, layer.get("api_key") or None))
        for name, value in layer.items():
            if name not in ("base_url", "api_key"):
                values[name] = _typed(name, value, source)
    endpoint, given = _endpoint(pairs)
    return replace(
        Settings(),
        **values,
        endpoint=endpoint,
        endpoint_given=given,
        model_given="model" in values,
        second_reading_given="second_reading" in values,
    )


def _endpoint(pairs: list[tuple[str | None, str | None]]) -> tuple[ModelEndpoint, bool]:
    """The endpoint of the last source that names one, with the last key that belongs to it."""
    urls = [url for url, _ in pairs if url]
    base_url = urls[-1] if urls else OPENAI_URL
    if not _is_address(base_url):
        raise ConfigError(f"The base URL {base_url!r} is not an http or https address.")
    if urlsplit(base_url).password:
        raise ConfigError("The base URL holds a password.", hint="Give the key as KGTABLE_API_KEY instead.")
    keys = [
        key for url, key in pairs if key and _is_address(url or OPENAI_URL) and same_url(url or OPENAI_URL, base_url)
    ]
    return ModelEndpoint(base_url.rstrip("/"), Secret(keys[-1]) if keys else None), bool(urls)


def _is_address(url: str) -> bool:
    """Whether it is an http or https address with a host."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        return False


def _read_file(file: str | Path | None, env: Mapping[str, str]) -> tuple[dict[str, Any], str]:
    named = file or env.get("KGTABLE_CONFIG")
    path = Path(named) if named else Path(CONFIG_FILE)
    if not named and not path.is_file():
        return {}, str(path)
    try:
        return tomllib.loads(path.read_text(encoding="utf-8")), str(path)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not readable as TOML: {error}.") from error
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror or error}.") from error


def _from_environment(env: Mapping[str, str]) -> dict[str, str]:
    names = [item.name for item in fields(Settings) if item.name in _TYPES and item.name != "prices"]
    variables = {name: f"KGTABLE_{name.upper()}" for name in [*names, "base_url", "api_key"]}
    return {name: env[variable] for name, variable in variables.items() if env.get(variable)}


_TYPES: Mapping[str, type] = {
    item.name: type(item.default)
    for item in fields(Settings)
    if isinstance(item.default, (str, int, float, bool)) and not item.name.endswith("_given")
} | {"prices": dict}
_YES, _NO = ("true", "yes", "on", "1"), ("false", "no", "off", "0")


def _typed(name: str, value: Any, source: str) -> Any:
    """The value as the type of its setting; the environment holds text only."""
    kind = _TYPES.get(name)
    if kind is None:
        raise ConfigError(
            f"{source}: there is no setting {name!r}.",
            hint=f"The settings are: base_url, api_key, {', '.join(_TYPES)}.",
        )
    if kind is bool and isinstance(value, str):
        word = value.strip().lower()
        value = True if word in _YES else False if word in _NO else value
    elif kind in (int, float) and isinstance(value, (str, int)) and not isinstance(value, bool):
        with contextlib.suppress(ValueError):
            value = kind(value)
    elif kind is str and isinstance(value, Path):
        value = str(value)
    if type(value) is not kind:
        raise ConfigError(f"{source}: {name} = {value!r} is not {_KINDS[kind]}.")
    if isinstance(value, float) and not math.isfinite(value):
        raise ConfigError(f"{source}: {name} = {value} is not a finite number.")
    if isinstance(value, (int, float)) and value < 0:
        raise ConfigError(f"{source}: {name} = {value} is negative.")
    return value


_KINDS = {bool: "true or false", int: "a whole number", float: "a number", str: "text", dict: "a table"}


def _normal_url(url: str) -> tuple[str, str, int | None, str]:
    parts = urlsplit(url)
    standard = {"http": 80, "https": 443}.get(parts.scheme)
    return parts.scheme, (parts.hostname or "").lower(), parts.port or standard, parts.path.rstrip("/")


_HALF = re.compile("[\ud800-\udfff]")
"""Surrogates: what becomes of bytes on the command line that are not UTF-8."""


def check_text(name: str, text: str) -> str:
    """The text of a question or query. Raises `UsageError` if it is not Unicode."""
    if _HALF.search(text):
        raise UsageError(f"The {name} holds lone surrogates: it is not valid Unicode text.")
    return text
