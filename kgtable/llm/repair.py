"""Find the JSON object in a model's reply and repair small faults of it."""

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
    """The first mismatch of `value` and `schema`, or None where it fits.

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


_FENCE = re.compile(r"```[\w-]*[ \t]*\n(.*?)(?:```|\Z)", re.DOTALL)
_THOUGHT = re.compile(r"<(/?)think(?:ing)?>")
LONGEST_REPAIRED = 200_000
"""Characters of a reply beyond which its JSON is read as it is, and not repaired."""
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_BARE = re.compile(r"[\w.+-]+")
_LITERALS = frozenset({"true", "false", "null", "True", "False", "None"})


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

    Small faults are mended by ``json_repair``: missing and trailing commas, Python's literals and
    quotes, names without quotes, missing closing brackets. A string, number or word that
    breaks off is not, nor anything that would leave out what the reply says: the value would be wrong
    without a sign of it. Raises `ReplyFault` naming the first fault.

    >>> read_object('Here: ```json\\n{"a": [1, 2,],}\\n```', {"type": "object"})
    {'a': [1, 2]}
    """
    fault = "it holds no JSON object"
    for candidate in _candidates(without_thoughts(text)):
        if not candidate.lstrip().startswith("{"):
            continue
        try:
            found = whole_value(_loads(candidate))
        except (ValueError, RecursionError) as error:
            fault = f"its JSON cannot be read: {error}"
            continue
        if isinstance(found, dict):
            wrong = mismatch(found, schema)
            if wrong is None:
                return found
            fault = f"it does not fit the schema: {wrong}"
    raise ReplyFault(fault)


def without_thoughts(text: str) -> str:
    """The text without what stands between ``<think>`` and ``</think>``, in one pass.

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


def _candidates(text: str) -> Iterator[str]:
    """Pieces of the text that may be the object, the likeliest first."""
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
    """Read JSON as it is, or else repaired."""
    try:
        return json.loads(text, strict=False)
    except ValueError as error:
        if len(text) > LONGEST_REPAIRED:
            raise
        return _mended(text.strip(), error)


_MARK = "\uf8ff"


def _mended(text: str, error: ValueError) -> Any:
    """Read JSON with small faults; raises `error` where repairing would lose a part of it.

    ``json_repair`` sees a mark for each sound string: it takes the two halves of an escaped emoji for
    two characters that cannot be written, and guesses where strings end.
    """
    from json_repair import repair_json

    strings: list[str] = []
    gaps: list[str] = []
    position = 0
    while (start := text.find('"', position)) >= 0:
        found = _STRING.match(text, start)
        if found is None:
            raise ValueError("it breaks off inside a value") from error
        gaps.append(text[position:start])
        strings.append(json.loads(found.group(), strict=False))
        position = found.end()
    gaps.append(text[position:])
    signs = "".join(gaps)
    is_open = sum((sign in "{[") - (sign in "}]") for sign in signs) > 0
    if is_open and _BARE.fullmatch(gaps[-1][-1:]):
        raise ValueError("it breaks off inside a value") from error
    marked = "".join(f'{gap}"{_MARK}{number}"' for number, gap in enumerate(gaps[:-1])) + gaps[-1]
    mended = repair_json(marked, return_objects=True, skip_json_loads=True, strict=True)
    leaves = list(_leaves(mended))
    marks = [leaf for leaf in leaves if isinstance(leaf, str) and leaf.startswith(_MARK)]
    others = [leaf for leaf in leaves if leaf not in marks]
    if marks != [f"{_MARK}{number}" for number in range(len(strings))] or not _agree(
        [word for gap in gaps for word in _BARE.findall(gap)], others
    ):
        raise error
    return _unmarked(mended, iter(strings))


def _agree(words: Sequence[str], leaves: Sequence[Any]) -> bool:
    """Whether the words outside of strings and the values read from them are the same: none lost or new."""
    numbers = [leaf for leaf in leaves if isinstance(leaf, int | float)]
    texts = [leaf for leaf in leaves if isinstance(leaf, str)]
    kept = all(
        word in _LITERALS or _number(word) in numbers or any(word in text for text in texts) for word in words
    )
    return kept and "" not in texts and len(leaves) <= len(words)


def _number(word: str) -> float | None:
    try:
        return float(word)
    except ValueError:
        return None


def _leaves(value: Any) -> Iterator[Any]:
    """Every name and scalar of a JSON value, in order."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield name
            yield from _leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    else:
        yield value


def _unmarked(value: Any, strings: Iterator[str]) -> Any:
    """Put the strings back in place of their marks; both come in the same order."""
    if isinstance(value, dict):
        return {
            next(strings) if name.startswith(_MARK) else name: _unmarked(item, strings)
            for name, item in value.items()
        }
    if isinstance(value, list):
        return [_unmarked(item, strings) for item in value]
    return next(strings) if isinstance(value, str) and value.startswith(_MARK) else value
