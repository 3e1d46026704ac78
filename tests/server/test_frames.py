from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtable.server.frames import Decoder, encode

any_text = st.text(alphabet=st.characters(exclude_categories=()), max_size=9)
heads = st.dictionaries(
    any_text, st.none() | st.booleans() | st.integers() | any_text | st.lists(any_text), max_size=3
)
messages = st.lists(st.tuples(heads, st.binary(max_size=40)), max_size=5)


@given(messages, st.lists(st.integers(1, 9), min_size=1))
def test_frames_come_back_however_they_are_cut(
    messages: list[tuple[dict[str, object], bytes]], sizes: list[int]
) -> None:
    data = b"".join(encode(*message) for message in messages)
    decoder, found, place = Decoder(), [], 0
    while place < len(data):
        size = sizes[place % len(sizes)]
        found += decoder.feed(data[place : place + size])
        place += size
    assert found == messages
    assert decoder.feed(b"") == []


def test_one_piece_may_hold_many_and_none() -> None:
    decoder = Decoder()
    assert decoder.feed(encode({"a": 1}) + encode({}, b"x") + encode({"b": 2})[:5]) == [
        ({"a": 1}, b""),
        ({}, b"x"),
    ]
    assert decoder.feed(encode({"b": 2})[5:]) == [({"b": 2}, b"")]


def test_what_is_no_frame_is_an_error() -> None:
    with pytest.raises(ValueError, match="Expecting"):
        Decoder().feed(struct.pack(">II", 3, 0) + b"{{{")
