from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtable.index.substring import LexicalIndex, Strings, StringsWriter, encoded, folded, write_grams

letters = st.sampled_from("abc\"'*%_-ßİ漢é \0\ud800")


def write(texts: list[str], path: Path) -> None:
    writer = StringsWriter(path)
    for text in texts:
        writer.add(text)
    writer.close()


def opened(texts: list[str], folder: Path) -> LexicalIndex:
    write(texts, folder / "texts")
    write_grams(texts, folder)
    return LexicalIndex(folder, Strings.open(folder / "texts"))


@settings(max_examples=60)
@given(
    st.lists(st.text(letters, max_size=9).map(folded), max_size=12, unique=True),
    st.lists(st.text(letters, max_size=5).map(folded), max_size=3),
)
def test_labels_of_any_length_are_found_as_substrings(texts: list[str], labels: list[str]) -> None:
    in_order = sorted(texts, key=encoded)
    expected = [number for number, text in enumerate(in_order) if any(label and label in text for label in labels)]
    with TemporaryDirectory() as folder:
        index = opened(in_order, Path(folder))
        assert index.containing(labels).tolist() == expected
        for label in labels:
            assert index.is_known(label) == any(label and label in text for text in in_order)
        del index


def test_many_threads_may_search(tmp_path: Path) -> None:
    index = opened(["net income", "net loss", "revenue"], tmp_path)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: index.containing(["net"]).tolist(), range(50)))
    assert found == [[0, 1]] * 50


texts = st.lists(st.text(st.sampled_from("abä\0\ud800 x"), max_size=6), max_size=12, unique=True)


@given(texts, st.text(st.sampled_from("abä\ud800 "), min_size=1, max_size=3))
def test_strings_are_found_where_they_lie(found: list[str], part: str) -> None:
    in_order = sorted(found, key=encoded)
    with TemporaryDirectory() as folder:
        write(in_order, Path(folder) / "strings")
        strings = Strings.open(Path(folder) / "strings")
        assert list(strings) == in_order
        assert [strings.find(text) for text in in_order] == list(range(len(in_order)))
        assert (strings.find(part) is None) == (part not in in_order)
        every = np.arange(len(in_order))[::-1]
        holding = [index for index in every.tolist() if encoded(part) in encoded(in_order[index])]
        assert list(strings.holding(encoded(part), every)) == holding
        del strings
