"""The JSON object in a model's reply, with small faults repaired."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from itertools import islice
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
    """The first mismatch of `value` and `schema`, or None if it fits.

    Understands `type`, `enum`, `properties`, `required`, `items` and `anyOf`. Further properties
    are accepted.

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


_THOUGHT = re.compile(r"<(/?)think(?:ing)?>")
LONGEST_REPAIRED = 20_000
"""Characters of a piece of a reply beyond which its JSON is not repaired."""
MOST_BRACKETS = 400
"""Opening brackets of such a piece: the time of a repair grows with the square of their number."""
_WORD = re.compile(r"\w+")
_DECODER = json.JSONDecoder(strict=False)
MOST_STARTS = 20
"""Maximum opening brackets of a reply at which an object is searched for."""
_LITERALS = frozenset({"True", "False", "None"})

_HALF = re.compile("[\ud800-\udfff]")


def whole_text(text: str) -> str:
    """The text with lone halves of surrogate pairs replaced, which JSON can hold and no file.

    >>> whole_text("a\\ud83d\\ude00b\\ud800") == "a\U0001f600b\ufffd"
    True
    """
    if _HALF.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def whole_value(value: Any) -> Any:
    """A JSON value with `whole_text` in place of every text and name."""
    if isinstance(value, str):
        return whole_text(value)
    if isinstance(value, list):
        return [whole_value(item) for item in value]
    if isinstance(value, dict):
        return {whole_text(name): whole_value(item) for name, item in value.items()}
    return value


class ReplyFault(ValueError):
    """A reply that is not of the form asked for; the text says what is wrong, for the model to read."""


def read_object(text: str, schema: Schema) -> dict[str, Any]:
    """Find the first object in `text` that fits `schema`, in a bare reply, a code fence or prose.

    Where none can be read as it is, small faults such as trailing commas and Python's quotes are repaired by
    ``json_repair``. A reply that breaks off is not repaired, nor is one of which the repair would leave something
    out: the value would be wrong without a sign of it. Raises `ReplyFault` naming the first fault.

    >>> read_object('Here: ```json\\n{"a": [1, 2]}\\n```', {"type": "object"})
    {'a': [1, 2]}
    """
    text = without_thoughts(text)
    fault, end, is_repaired = "it holds no JSON object", 0, False
    for start in (match.start() for match in islice(re.finditer(r"\{", text), MOST_STARTS)):
        if start < end:  # within an object that was read
            continue
        try:
            found, end = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError) as error:
            fault = f"its JSON cannot be read: {error}"
            if is_repaired:
                continue
            is_repaired = True
            try:
                found = _repaired(text[start:].partition("```")[0].strip())
            except (ValueError, RecursionError):
                continue
        wrong = mismatch(found, {"type": "object"}) or mismatch(found, schema)
        if wrong is None:
            whole: dict[str, Any] = whole_value(found)
            return whole
        fault = f"it does not fit the schema: {wrong}"
    raise ReplyFault(fault)


def _repaired(text: str) -> Any:
    """JSON with small faults, repaired. Raises an error where it cannot be, or would take long."""
    brackets = text.count("{") + text.count("[")
    if len(text) > LONGEST_REPAIRED or brackets > MOST_BRACKETS or not text.endswith("}"):
        raise ValueError("it is too long, or breaks off")
    from json_repair import loads  # takes long to import

    found = loads(text)
    written = [json.dumps(found), json.dumps(found, ensure_ascii=False)]
    written.append(written[1].replace(r"\n", " "))  # strings with line breaks that are not escaped
    if not _words(text) <= _words(" ".join(written)) | _LITERALS:
        raise ValueError("the repair would leave something out")
    return found


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text))


def without_thoughts(text: str) -> str:
    """The text without the parts between ``<think>`` and ``</think>``, in one pass.

    >>> without_thoughts("<think>a <think> b</think>c<thinking>d")
    'c<thinking>d'
    """
    kept: list[str] = []
    done, opened = 0, -1
    for sign in _THOUGHT.finditer(text):
        if sign[1] and opened >= 0:
            kept.append(text[done:opened])
            done, opened = sign.end(), -1
        elif not sign[1] and opened < 0:
            opened = sign.start()
    return "".join(kept) + text[done:]
