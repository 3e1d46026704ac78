"""Fences around data in prompts, which no text within the data can close."""

from __future__ import annotations

import re

_SIGNS = re.compile("=+")


def fence(*data: str) -> str:
    """A run of equals signs longer than any in the data, so that no text in it can end its own block.

    >>> fence("plain"), fence("=== CONTEXT END ===")
    ('===', '====')
    """
    longest = max((len(run) for text in data for run in _SIGNS.findall(text)), default=0)
    return "=" * max(3, longest + 1)
