from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kgtable.index.substring import Strings, encoded

texts = st.lists(st.text(st.sampled_from("abä\0\ud800 x"), max_size=6), max_size=12, unique=True)


@given(texts, st.text(st.sampled_from("abä\ud800 "), min_size=1, max_size=3))
def test_strings_are_found_where_they_lie(found: list[str], part: str) -> None:
    in_order = sorted(found, key=encoded)
    with TemporaryDirectory() as folder:
        Strings.write(in_order, Path(folder) / "strings")
        strings = Strings.open(Path(folder) / "strings")
        assert list(strings) == in_order
        assert [strings.find(text) for text in in_order] == list(range(len(in_order)))
        assert (strings.find(part) is None) == (part not in in_order)
        every = np.arange(len(in_order))[::-1]
        holding = [index for index in every.tolist() if encoded(part) in encoded(in_order[index])]
        assert list(strings.holding(encoded(part), every)) == holding
        del strings
