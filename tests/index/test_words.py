from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtable.index.postings import Postings
from kgtable.text.words import terms, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Song_Name petType StuID", ["song", "name", "pet", "type", "stu", "id"]),
        ("12,467 seats; 3.5%", ["12467", "seats", "3.5"]), ("São Tomé’s naïve café", ["sao", "tome", "naive", "cafe"]),
        ("Straße ΑΘΗΝΑΣ Москва", ["straße", "αθηνας", "москва"]),
        ("東京都の人口", ["東京", "京都", "都の", "の人", "人口"]),
        ("2019-20 (Q3)", ["2019", "20", "q", "3"]), ("", []), ("—", []),
    ],
)  # fmt: skip
def test_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_terms_are_stems_without_function_words() -> None:
    assert terms("Which of the bridges is the longest?") == ["bridg", "longest"]


def test_threads_get_the_same_stems() -> None:
    texts = [f"running nations {number} happily" for number in range(500)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(terms, texts)) == [terms(text) for text in texts]


pairs = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 20)), max_size=40)


@given(pairs, st.lists(st.integers(0, 6), max_size=8))
def test_postings_give_each_item_of_a_key_once(found: list[tuple[int, int]], keys: list[int]) -> None:
    array = np.array(found, dtype=np.int64).reshape(-1, 2)
    postings = Postings.build(array[:, 0], array[:, 1], 7)
    expected = [item for key in keys for item in sorted({item for k, item in found if k == key})]
    assert postings.of(np.array(keys, dtype=np.int64)).tolist() == expected
    assert [item for key in keys for item in postings.of_one(key).tolist()] == expected
