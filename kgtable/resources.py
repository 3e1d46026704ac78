"""Where the files that ship with kgtable lie: `ontologies/`, `queries/` and the sample tables."""

from __future__ import annotations

from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parent


def shipped_path(name: str) -> Path:
    """The path of a shipped file or folder, such as ``queries/cells.rq``.

    In an installed wheel they lie inside the package, in a checkout beside it.

    >>> shipped_path("queries").name
    'queries'
    """
    inside = PACKAGE / "shipped" / name
    return inside if inside.exists() else PACKAGE.parent / name


@cache
def read_shipped(name: str) -> str:
    """The text of a shipped file, read once."""
    return shipped_path(name).read_text(encoding="utf-8")
