"""Type checks for the arguments of the public calls, with errors that name the argument."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Integral, Real

from kgtable.errors import ArgumentError, UsageError


@dataclass(frozen=True, slots=True)
class ArgumentRule:
    """The types an argument takes, in code and in words; `least` is the smallest number allowed."""

    kinds: tuple[type, ...]
    words: str
    required: bool = False
    least: float | None = None


_TEXT = ArgumentRule((str,), "a text")
_PATH = ArgumentRule((str, os.PathLike), "a path (text or pathlib.Path)")
_FLAG = ArgumentRule((bool,), "True or False")
_WHOLE = ArgumentRule((Integral,), "a whole number", least=0)
_NUMBER = ArgumentRule((Real,), "a number", least=0)
_TABLE = ArgumentRule((Mapping,), "a mapping")

RULES: Mapping[str, ArgumentRule] = {
    **dict.fromkeys(("question", "query", "url"), replace(_TEXT, required=True)),
    **dict.fromkeys(("directory", "path"), replace(_PATH, required=True)),
    **dict.fromkeys(("engine", "language"), replace(_TEXT, required=True)),
    "k": _WHOLE,
    "most": replace(_WHOLE, required=True),
    **dict.fromkeys(("workers", "clusters", "typical"), replace(_WHOLE, required=True, least=1)),
    "mapping": _PATH,
    "trace": _PATH,
    "tables": ArgumentRule((list, tuple), "a list of table ids"),
    "bindings": _TABLE,
    "prices": _TABLE,
    **dict.fromkeys(("max_tokens", "context_tokens", "retries"), _WHOLE),
    **dict.fromkeys(("temperature", "timeout"), _NUMBER),
    **dict.fromkeys(("rerank", "defuse", "accept_equivalents", "again"), _FLAG),
    **dict.fromkeys(
        ("api_key", "base", "base_url", "dialect", "embedding", "format", "format_in", "llm_cache", "method",
         "model", "presentation", "prompt", "store", "structured", "table", "scheduler", "parts"),
        _TEXT,
    ),
}  # fmt: skip
"""What each argument takes, by its name: one name means one thing in every call."""


def check_arguments(call: str, arguments: Mapping[str, object]) -> None:
    """Check the arguments of a public call, given by name; None passes where it stands for a default.

    Raises `ArgumentError` for an unknown name or a wrong type, `UsageError` for a number that is too small.

    >>> check_arguments("ask", {"k": "5"})
    Traceback (most recent call last):
    kgtable.errors.ArgumentError: ask: k takes a whole number, not '5' (str).
    """
    for name, value in arguments.items():
        rule = RULES.get(name)
        if rule is None:
            raise ArgumentError(f"{call}: there is no argument {name!r}.")
        if value is None and not rule.required:
            continue
        if not isinstance(value, rule.kinds) or (isinstance(value, bool) and bool not in rule.kinds):
            raise ArgumentError(f"{call}: {name} takes {rule.words}, not {_shown(value)}.")
        if rule.least is not None and isinstance(value, Real) and not float(value) >= rule.least:
            raise UsageError(f"{call}: {name} takes {rule.words} from {rule.least:g} on, not {value}.")


def _shown(value: object) -> str:
    text = repr(value)
    if value is None:
        return text
    return f"{text if len(text) <= 40 else text[:39] + '…'} ({type(value).__name__})"
