from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kgtable.server.state import ENTRY_LIMIT, AnswerCache, CachedResponse


def answer(size: int, type: bytes = b"text/plain") -> CachedResponse:
    return CachedResponse(type, None, b"x" * size)


def test_answers_belong_to_a_version() -> None:
    cache = AnswerCache(1_000)
    cache.put("1", "key", answer(1))
    assert cache.get("1", "key") == answer(1)
    assert cache.get("2", "key") is None
    assert cache.get("1", "other") is None
    cache.put("2", "other", answer(2))
    assert cache.get("1", "key") is None
    assert len(cache) == 1


def test_the_ones_used_longest_ago_go_first() -> None:
    cache = AnswerCache(30)
    for key in "abc":
        cache.put("1", key, answer(10))
    cache.get("1", "a")
    cache.put("1", "d", answer(10))
    assert [key for key in "abcd" if cache.get("1", key)] == ["a", "c", "d"]


def test_what_is_too_long_is_not_kept() -> None:
    cache = AnswerCache(10 * ENTRY_LIMIT)
    cache.put("1", "long", answer(ENTRY_LIMIT + 1))
    cache.put("1", "just", answer(ENTRY_LIMIT))
    assert cache.get("1", "long") is None
    assert cache.get("1", "just") is not None
    nothing = AnswerCache(0)
    nothing.put("1", "empty", answer(0))
    assert len(nothing) == 0


@given(st.lists(st.tuples(st.sampled_from("12"), st.sampled_from("abcd"), st.integers(0, 40)), max_size=30))
def test_it_never_holds_more_than_its_capacity_and_only_what_was_put_last(
    puts: list[tuple[str, str, int]],
) -> None:
    cache, last = AnswerCache(50), {}
    for version, key, size in puts:
        cache.put(version, key, answer(size))
        last[version, key] = size
        kept = [found for key in "abcd" if (found := cache.get(version, key))]
        assert sum(len(found.body) for found in kept) <= 50
        assert len(kept) == len(cache)
        for name in "abcd":
            found = cache.get(version, name)
            assert found is None or len(found.body) == last[version, name]
