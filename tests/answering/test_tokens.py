from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtable.answering.context import estimate_tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        (" \n\t", 0),
        ("Net income | 1,234.5", 9),
        ("internationalisation", 4),
        ("1234567", 3),
        ("日本語", 3),
        ("größe", 3),
        ("<b>", 3),
        ("a_b", 3),
    ],
)
def test_estimates(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


@given(st.text(max_size=40), st.text(max_size=40))
def test_a_longer_text_never_costs_less(one: str, other: str) -> None:
    together = estimate_tokens(f"{one} {other}")
    assert together == estimate_tokens(one) + estimate_tokens(other)
    assert 0 <= estimate_tokens(one) <= len(one)
