from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from kgtable.index.words import asking_terms, is_empty_word, terms, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Song_Name petType StuID", ["song", "name", "pet", "type", "stu", "id"]),
        ("12,467 seats; 3.5%", ["12467", "seats", "3.5"]),
        ("São Tomé’s naïve café", ["sao", "tome", "naive", "cafe"]),
        ("Straße ΑΘΗΝΑΣ Москва", ["straße", "αθηνας", "москва"]),
        ("東京都の人口", ["東京", "京都", "都の", "の人", "人口"]),
        ("2019-20 (Q3)", ["2019", "20", "q", "3"]),
        ("", []),
        ("—", []),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_terms_are_stems_without_function_words() -> None:
    assert terms("Which of the bridges is the longest?") == ["bridg", "longest"]


def test_singular_and_plural_meet() -> None:
    assert terms("nations") == terms("Nation")


def test_words_that_only_ask() -> None:
    assert is_empty_word("how")
    assert is_empty_word("listed")
    assert not is_empty_word("bridge")
    assert "total" in asking_terms()


def test_threads_get_the_same_stems() -> None:
    texts = [f"running nations {number} happily" for number in range(500)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(terms, texts)) == [terms(text) for text in texts]
