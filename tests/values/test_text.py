from __future__ import annotations

import datetime as dt
import random
import time
import unicodedata
from decimal import Decimal
from typing import Literal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtable.values.text import (
    LONGEST_CACHED,
    SPREADSHEET_DIGITS,
    normal_form,
    number_text,
    sound_text,
    text_cache,
    value_text,
    without_accents,
)


@given(st.text(st.characters()))
def test_sound_text_can_be_encoded_and_keeps_sound_characters(text: str) -> None:
    sound = sound_text(text)
    sound.encode("utf-8")
    assert len(sound) == len(text)
    assert all(new in (old, "\ufffd") for old, new in zip(text, sound, strict=True))


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_text_gives_the_same_number_back(value: float) -> None:
    assert float(number_text(value)) == value


@given(st.decimals(-(10**6), 10**6, places=4, allow_nan=False))
def test_printed_decimals_survive_a_spreadsheet(value: Decimal) -> None:
    assert Decimal(number_text(float(value), SPREADSHEET_DIGITS)) == value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""), (True, "TRUE"), (3.0, "3"), (-0.0, "0"), (float("nan"), ""), (float("inf"), "inf"),
        (9007199254740991.0, "9007199254740991"), (1e-7, "0.0000001"), (1e300, "1E+300"), (Decimal("1.50"), "1.50"),
        (Decimal("NaN"), ""), (dt.date(2024, 2, 29), "2024-02-29"),
        (dt.datetime(2024, 2, 29, 13, 5), "2024-02-29T13:05:00"),
        (dt.datetime(2024, 2, 29, tzinfo=dt.UTC), "2024-02-29T00:00:00+00:00"),
        (pd.Timestamp(1), "1970-01-01T00:00:00.000000001"), (pd.NaT, ""), (dt.time(9, 30), "09:30:00"),
        (dt.timedelta(hours=26, minutes=3, seconds=1.5), "26:03:01.5"), (dt.timedelta(minutes=-90), "-1:30:00"),
        (b"ok", "ok"), (b"\xff\x00", "ff00"), ([1, {"a": None, "b": float("nan")}], '[1,{"a":null,"b":null}]'),
        (np.array([1, 2]), "[1,2]"), (np.int64(5), "5"), ("a\ud800", "a\ufffd"),
    ],
)  # fmt: skip
def test_values_as_a_person_would_type_them(value: object, text: str) -> None:
    assert value_text(value) == text


Form = Literal["NFC", "NFD", "NFKC", "NFKD"]
FORMS: tuple[Form, ...] = ("NFC", "NFD", "NFKC", "NFKD")


@pytest.mark.parametrize("form", FORMS)
def test_runs_of_marks_are_put_in_order_in_linear_time(form: Form) -> None:
    text = "e" + "\u0301" * 300_000 + "\u0316" * 300_000
    started = time.process_time()
    found = normal_form(form, text)
    assert time.process_time() - started < 5
    assert found.replace("\u034f", "").count("\u0316") == 300_000
    assert without_accents(text) == "e"
    assert time.process_time() - started < 10


def test_texts_with_few_marks_have_their_normal_form() -> None:
    chosen = random.Random(5)
    signs = [chr(code) for code in range(0x20, 0x3000)] + ["İ", "ß", "ｅ", "한"]
    for _ in range(500):
        text = "".join(chosen.choices(signs, k=chosen.randrange(400)))
        for form in FORMS:
            assert normal_form(form, text) == unicodedata.normalize(form, text)
        plain = "".join(sign for sign in unicodedata.normalize("NFKD", text) if not unicodedata.combining(sign))
        assert without_accents(text) == plain


def test_a_cache_by_text_keeps_short_texts_alone() -> None:
    asked: list[str] = []

    @text_cache(2)
    def ends(text: str, count: int = 1) -> str:
        asked.append(text)
        return text[-count:]

    long = "a" * (LONGEST_CACHED + 1)
    assert [ends("ab", 2), ends("ab", 2), ends("ab"), ends(long), ends(long)] == ["ab", "ab", "b", "a", "a"]
    assert asked == ["ab", "ab", long, long]
