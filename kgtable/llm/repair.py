"""Finding the JSON object in a model's reply, mending what servers without structured output get wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kgtable.llm.protocol import Schema

_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}


def mismatch(value: Any, schema: Mapping[str, Any], place: str = "$") -> str | None:
    """The first way in which `value` does not fit `schema`, or None where it fits.

    Understands `type`, `enum`, `properties`, `required`, `items` and `anyOf`. Further properties
    are let pass: a model that says more than was asked has still said what was asked.

    >>> mismatch({"a": "1"}, {"type": "object", "properties": {"a": {"type": "integer"}}})
    '$.a is not of type integer'
    """
    if "anyOf" in schema:
        faults = [mismatch(value, choice, place) for choice in schema["anyOf"]]
        return None if None in faults else faults[0]
    wanted = schema.get("type")
    if wanted is not None and not any(_is(value, name) for name in _names(wanted)):
        return f"{place} is not of type {' or '.join(_names(wanted))}"
    if "enum" in schema and value not in schema["enum"]:
        return f"{place} is none of {schema['enum']}"
    if isinstance(value, dict):
        return _object_mismatch(value, schema, place)
    if isinstance(value, list) and "items" in schema:
        for index, item in enumerate(value):
            fault = mismatch(item, schema["items"], f"{place}[{index}]")
            if fault is not None:
                return fault
    return None


def _object_mismatch(value: Mapping[str, Any], schema: Mapping[str, Any], place: str) -> str | None:
    for name in schema.get("required", ()):
        if name not in value:
            return f"{place}.{name} is missing"
    properties: Mapping[str, Any] = schema.get("properties", {})
    for name, item in value.items():
        fault = mismatch(item, properties[name], f"{place}.{name}") if name in properties else None
        if fault is not None:
            return fault
    return None


def _names(wanted: str | Sequence[str]) -> Sequence[str]:
    return [wanted] if isinstance(wanted, str) else wanted


def _is(value: Any, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    return isinstance(value, _TYPES[name])


_FENCE = re.compile(r"```[\w-]*[ \t]*\n(.*?)(?:```|\Z)", re.DOTALL)
_THOUGHT = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_TRAILING_COMMA = re.compile(r",(\s*[}\]])")
_PYTHON_WORDS = {"True": "true", "False": "false", "None": "null"}
_PYTHON_WORD = re.compile(r"\b(True|False|None)\b")


class ReplyFault(ValueError):
    """A reply that is not of the form asked for; the text says what is wrong, for the model to read."""


def read_object(text: str, schema: Schema) -> dict[str, Any]:
    """The first object in `text` that fits `schema`, from a bare reply, a code fence or prose.

    Trailing commas, Python's literals, raw line breaks in strings and missing closing brackets are
    mended. A string or number that breaks off is not: it would be wrong without a sign of it. Raises
    `ReplyFault` naming the first fault.

    >>> read_object('Here: ```json\\n{"a": [1, 2,],}\\n```', {"type": "object"})
    {'a': [1, 2]}
    """
    fault = "it holds no JSON object"
    for candidate in _candidates(_THOUGHT.sub("", text)):
        if not candidate.lstrip().startswith("{"):
            continue
        try:
            found = _loads(candidate)
        except (ValueError, RecursionError) as error:
            fault = f"its JSON cannot be read: {error}"
            continue
        if isinstance(found, dict):
            wrong = mismatch(found, schema)
            if wrong is None:
                return found
            fault = f"it does not fit the schema: {wrong}"
    raise ReplyFault(fault)


def _candidates(text: str) -> Iterator[str]:
    """The pieces of the text that may be the object, the likeliest first."""
    yield text
    yield from _FENCE.findall(text)
    starts = [match.start() for match in re.finditer(r"\{", text)][:20]
    for start in starts:
        yield _balanced(text[start:])


def _balanced(text: str) -> str:
    """`text`, which starts with a bracket, up to the bracket that closes it, or all of it."""
    depth, position = 0, 0
    while position < len(text):
        if text[position] == '"':
            string = _STRING.match(text, position)
            if string is None:
                return text
            position = string.end()
            continue
        depth += (text[position] in "{[") - (text[position] in "}]")
        position += 1
        if depth == 0:
            return text[:position]
    return text


def _loads(text: str) -> Any:
    """JSON read as it is, or else mended."""
    try:
        return json.loads(text, strict=False)
    except ValueError as error:
        mended = _mend(text.strip())
        if mended is None:
            raise ValueError("it breaks off inside a value") from error
        return json.loads(mended, strict=False)


def _mend(text: str) -> str | None:
    """The text with small faults mended and open brackets closed; None where a value is left open."""
    parts: list[str] = []
    closing: list[str] = []
    position = 0
    while position < len(text):
        if text[position] == '"':
            string = _STRING.match(text, position)
            if string is None:
                return None
            parts.append(string.group())
            position = string.end()
            continue
        end = text.find('"', position)
        end = len(text) if end < 0 else end
        gap = _PYTHON_WORD.sub(lambda word: _PYTHON_WORDS[word.group()], text[position:end])
        for sign in gap:
            if sign in "{[":
                closing.append("}" if sign == "{" else "]")
            elif sign in "}]" and closing:
                closing.pop()
        parts.append(_TRAILING_COMMA.sub(r"\1", gap))
        position = end
    whole = "".join(parts).rstrip()
    if closing and whole[-1:].isdigit():
        return None
    if closing:
        whole = whole.rstrip(",")
    return whole + "".join(reversed(closing))
