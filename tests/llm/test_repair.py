from __future__ import annotations

import json
import time
from contextlib import suppress
from typing import Any

import json_repair
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtable.llm.repair import MOST_BRACKETS, ReplyFault, mismatch, read_object

ANY = {"type": "object"}

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), values), st.sampled_from(["{}", "Sure:\n```json\n{}\n```\nDone.", "I say {} so."]))
def test_an_object_is_found_wherever_it_stands(found: dict[str, object], place: str) -> None:
    assert read_object(place.replace("{}", json.dumps(found), 1), ANY) == found


@given(st.dictionaries(st.text(min_size=1), st.text(min_size=1), min_size=1, max_size=3), st.data())
def test_no_broken_off_reply_is_taken_for_another_value(found: dict[str, str], data: st.DataObject) -> None:
    text = json.dumps(found)
    cut = data.draw(st.integers(1, len(text) - 1))
    try:
        read = read_object(text[:cut], ANY)
    except ReplyFault:
        return
    assert read.items() <= found.items()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"a": [1, 2,], "b": {"c": 1,},}', {"a": [1, 2], "b": {"c": 1}}),
        ('{"a": True, "b": None, "c": "True, None,"}', {"a": True, "b": None, "c": "True, None,"}),
        ('{"a": "two\nlines"}', {"a": "two\nlines"}), ('<think>maybe {"a": 1}</think>{"a": 2}', {"a": 2}),
        ('```\n{"a": 1}', {"a": 1}), ('{"a": "he said "no" loudly"}', {"a": 'he said "no" loudly'}),
        ('{"a": "two\nlines",}', {"a": "two\nlines"}), ('{"a": "😀",}', {"a": "😀"}),
        ("{'a': 'x', 'b': True}", {"a": "x", "b": True}), ('{"a": "\\ud83d\\ude00 \\u00fc",}', {"a": "😀 ü"}),
        ('{"a": "brace } and \\" quote"} trailing }', {"a": 'brace } and " quote'}),
    ],
)  # fmt: skip
def test_small_faults_are_mended(text: str, found: dict[str, object]) -> None:
    assert read_object(text, ANY) == found


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("nothing here", "holds no JSON object"), ("[1, 2]", "holds no JSON object"),
        ('{"a": "never closed', "cannot be read"), ('{"a": 12', "cannot be read"), ('{"a": tru', "cannot be read"),
        ('{"a": "x", "b": ["y"', "cannot be read"), ('{"a" 1}', "cannot be read"),
        ('{"a": "5" million}', "cannot be read"), ('{"a": 1, /* not sure about 7 */ "b": 2}', "cannot be read"),
    ],
)  # fmt: skip
def test_what_cannot_be_mended_is_told(text: str, says: str) -> None:
    with pytest.raises(ReplyFault, match=says):
        read_object(text, ANY)


@settings(max_examples=10, deadline=None)
@given(st.dictionaries(st.text(), values), st.data())
def test_whatever_a_reply_holds_only_its_own_fault_is_raised(found: dict[str, object], data: st.DataObject) -> None:
    text = json.dumps(found, ensure_ascii=data.draw(st.booleans()))
    place = data.draw(st.integers(0, len(text)))
    piece = data.draw(st.text("{}[]\"':,\\/*#1e-.tfnT\uf8ff\n ", max_size=6))
    with suppress(ReplyFault):
        read_object("{" + text[:place] + piece + text[place:], ANY)
    with suppress(ReplyFault):
        read_object(text[:place] + piece + text[place + 1 :], ANY)


def test_a_repair_that_takes_long_is_given_up() -> None:
    started = time.monotonic()
    with pytest.raises(ReplyFault, match="cannot be read"):
        read_object('{"a":["' * 2_800 + "}", ANY)
    assert time.monotonic() - started < 5


@pytest.mark.parametrize("count", [40, 800, 40_000])
def test_a_long_reply_reaches_the_repair_once_or_not_at_all(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[int] = []
    monkeypatch.setattr(json_repair, "loads", lambda text: sent.append(len(text)))
    with pytest.raises(ReplyFault):
        read_object("{a:b," * count + "}", ANY)
    assert sent == ([len("{a:b," * count) + 1] if count < MOST_BRACKETS else [])


@pytest.mark.parametrize("text", ['{"a":["' * 199 + "x" * 18_000 + "}", '{"a":"' + '"x' * 9_900 + '"}'])
def test_the_longest_repairs_are_quick(text: str) -> None:
    started = time.monotonic()
    with suppress(ReplyFault):
        read_object(text, ANY)
    assert time.monotonic() - started < 5


SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string"}, "kind": {"enum": ["a", "b"]}, "value": {"type": ["number", "null"]},
        "cells": {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "integer"}]}},
    },
}  # fmt: skip


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ({"name": "x", "kind": "a", "value": 1.5, "cells": ["a", 1], "more": object()}, None),
        ({"name": "x", "value": None}, None), ({}, "$.name is missing"), ({"name": 1}, "$.name is not of type string"),
        ({"name": "x", "value": True}, "$.value is not of type number or null"),
        ({"name": "x", "kind": "c"}, "$.kind is none of ['a', 'b']"),
        ({"name": "x", "cells": ["a", 1.5]}, "$.cells[1] is not of type string"), ([], "$ is not of type object"),
    ],
)  # fmt: skip
def test_the_first_fault_is_named(value: Any, fault: str | None) -> None:
    assert mismatch(value, SCHEMA) == fault
