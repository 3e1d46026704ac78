"""A grid of systems from one TOML file: every combination of what its lists name."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kgtable.errors import ConfigError
from kgtable.evaluation.systems import System, systems

LISTS = ("methods", "formats", "embeddings", "presentations", "prompts", "models", "assists")
SINGLE: dict[str, type | tuple[type, ...]] = {
    "split": str,
    "limit": int,
    "k": int,
    "answers": bool,
    "judge": bool,
    "temperature": (int, float),
}


@dataclass(frozen=True)
class Grid:
    """The systems of a grid, and the options that the file gives for the run."""

    systems: tuple[System, ...]
    options: dict[str, Any]


def read_grid(path: Path) -> Grid:
    """The grid in a file such as ``methods = ["bm25", "dense"]`` with ``formats = ["html", "csv"]``.

    Raises `ConfigError` for a file that cannot be read and for unknown or ill-typed entries, `UsageError`
    for names that do not exist.
    """
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror or error}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not readable as TOML: {error}.") from error
    unknown = [name for name in table if name not in (*LISTS, *SINGLE)]
    if unknown:
        known = ", ".join((*LISTS, *SINGLE))
        raise ConfigError(f"{path}: there is no entry {unknown[0]!r}.", hint=f"The entries are: {known}.")
    lists = {name: _texts(path, name, table.get(name, [])) for name in LISTS}
    for name, kind in SINGLE.items():
        wrong = isinstance(table.get(name), bool) and kind is not bool
        if name in table and (wrong or not isinstance(table[name], kind)):
            raise ConfigError(f"{path}: {name} = {table[name]!r} is of the wrong type.")
    found = systems(lists.pop("methods"), **lists)
    return Grid(found, {name: table[name] for name in SINGLE if name in table})


def _texts(path: Path, name: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ConfigError(f"{path}: {name} = {value!r} is no list of names.")
    return tuple(value)
