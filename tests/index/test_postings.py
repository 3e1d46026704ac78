from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kgtable.index.postings import Postings, ranges, runs

pairs = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 20)), max_size=40)


@given(pairs, st.lists(st.integers(0, 6), max_size=8))
def test_postings_give_each_item_of_a_key_once(found: list[tuple[int, int]], keys: list[int]) -> None:
    array = np.array(found, dtype=np.int64).reshape(-1, 2)
    postings = Postings.build(array[:, 0], array[:, 1], 7)
    expected = [item for key in keys for item in sorted({item for k, item in found if k == key})]
    assert postings.of(np.array(keys, dtype=np.int64)).tolist() == expected
    assert [item for key in keys for item in postings.of_one(key).tolist()] == expected


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 5)), max_size=10))
def test_ranges(found: list[tuple[int, int]]) -> None:
    starts = np.array([start for start, _ in found], dtype=np.int64)
    ends = np.array([start + length for start, length in found], dtype=np.int64)
    assert ranges(starts, ends).tolist() == [
        n for start, length in found for n in range(start, start + length)
    ]


@given(st.lists(st.integers(0, 9)).map(sorted))
def test_runs(values: list[int]) -> None:
    distinct, place = runs(np.array(values, dtype=np.int64))
    assert distinct.tolist() == sorted(set(values))
    assert distinct[place].tolist() == values
