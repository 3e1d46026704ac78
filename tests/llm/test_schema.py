from __future__ import annotations

from typing import Any

import pytest

from kgtable.llm.repair import mismatch

SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string"},
        "kind": {"enum": ["a", "b"]},
        "value": {"type": ["number", "null"]},
        "cells": {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "integer"}]}},
    },
}


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ({"name": "x", "kind": "a", "value": 1.5, "cells": ["a", 1], "more": object()}, None),
        ({"name": "x", "value": None}, None),
        ({}, "$.name is missing"),
        ({"name": 1}, "$.name is not of type string"),
        ({"name": "x", "value": True}, "$.value is not of type number or null"),
        ({"name": "x", "kind": "c"}, "$.kind is none of ['a', 'b']"),
        ({"name": "x", "cells": ["a", 1.5]}, "$.cells[1] is not of type string"),
        ([], "$ is not of type object"),
    ],
)
def test_the_first_fault_is_named(value: Any, fault: str | None) -> None:
    assert mismatch(value, SCHEMA) == fault
