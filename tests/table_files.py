"""Folders of small tables."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def write_files(folder: Path, tables: Mapping[str, str], suffix: str = ".csv") -> Path:
    """Write texts to files of a folder, by their names without the suffix; gives the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in tables.items():
        (folder / f"{name}{suffix}").write_text(text, encoding="utf-8")
    return folder
