from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kgtable.tables.text import sound_text


@given(st.text(st.characters()))
def test_sound_text_can_be_encoded_and_keeps_sound_characters(text: str) -> None:
    sound = sound_text(text)
    sound.encode("utf-8")
    assert len(sound) == len(text)
    assert all(new in (old, "\ufffd") for old, new in zip(text, sound, strict=True))
