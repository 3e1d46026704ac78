"""How many tokens a text takes, near enough to keep within a model's window."""

from __future__ import annotations

import re
from collections.abc import Callable

TokenCounter = Callable[[str], int]

_PIECE = re.compile(r"[^\W\d_]+|\d{1,3}|[^\w\s]|_")
_LETTERS_PER_TOKEN = 5


def estimate_tokens(text: str) -> int:
    """About how many tokens a model's tokenizer makes of `text`, rather too many than too few.

    Words count one token per five letters begun, runs of digits one per three, signs one each, and
    letters of scripts without spaces one each.

    >>> estimate_tokens("Net income | 1,234.5")
    9
    """
    return sum(_cost(piece) for piece in _PIECE.findall(text))


def _cost(piece: str) -> int:
    if len(piece) == 1 or piece.isdigit():
        return 1
    if piece.isascii():
        return -(-len(piece) // _LETTERS_PER_TOKEN)
    return sum(1 if ord(letter) > 0x2E7F else 0 for letter in piece) or -(-len(piece) // 2)
