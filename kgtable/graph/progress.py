"""How conversion and build tell how far they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

Progress: TypeAlias = Callable[[str, int, int], None]
"""Called with a stage's name, how many files are done, and how many there are."""


def silent(stage: str, done: int, total: int) -> None:
    """The progress report that says nothing."""
