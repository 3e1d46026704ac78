"""Version of the package, its shipped files (`ontologies/`, `queries/`, sample tables), and the cache folder."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

__version__ = "0.1.0"

PACKAGE = Path(__file__).parent


def shipped_path(name: str) -> Path:
    """The path of a shipped file or folder, such as ``queries/described.rq``.

    In an installed wheel these files are inside the package, in a checkout next to it.

    >>> shipped_path("queries").name
    'queries'
    """
    inside = PACKAGE / "shipped" / name
    return inside if inside.exists() else PACKAGE.parent / name


@cache
def read_shipped(name: str) -> str:
    """Read a shipped file; the text is cached."""
    return shipped_path(name).read_text(encoding="utf-8")


@cache
def read_packaged(name: str) -> str:
    """Read a text file of the package, such as ``answering/prompts/repair.txt``; the text is cached."""
    return (PACKAGE / name).read_text(encoding="utf-8")


@cache
def read_packaged_json(name: str) -> Any:
    """Read a JSON file of the package, such as ``questions/ranker.json``; what it holds is cached."""
    return json.loads(read_packaged(name))


def cache_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Folder for data that can be recomputed: exported models, embeddings, replies of language models.

    ``KGTABLE_CACHE`` names it; the default is the platform's cache folder. It need not exist.

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
