"""The part of JSON Schema that kgtable's own schemas use, checked without a further package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

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
