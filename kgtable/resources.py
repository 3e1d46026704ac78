"""Where the files that ship with kgtable lie: `ontologies/`, `queries/` and the sample tables."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
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


def cache_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """The folder for what can be made again: exported models, embeddings, replies of language models.

    ``KGTABLE_CACHE`` names it; otherwise it is the platform's own place for caches. It need not exist yet.

    >>> cache_folder({"KGTABLE_CACHE": "/tmp/mine"}).as_posix()
    '/tmp/mine'
    """
    if chosen := environment.get("KGTABLE_CACHE"):
        return Path(chosen)
    if sys.platform == "win32":
        base = environment.get("LOCALAPPDATA") or str(Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = str(Path.home() / "Library" / "Caches")
    else:
        base = environment.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "kgtable"
