"""A check of an installation and of a graph: what is there, what is at fault, and the next step."""

from __future__ import annotations

import platform
import re
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from kgtable.building.catalogue import Catalogue
from kgtable.building.generations import GraphDirectory
from kgtable.config import load_settings
from kgtable.errors import KgtableError
from kgtable.graph.store import BUILD_AGAIN
from kgtable.index.embedding import load_embedder
from kgtable.index.graph_index import read_about
from kgtable.knowledge_graph import PathLike
from kgtable.llm.client import connect
from kgtable.resources import __version__, cache_folder
from kgtable.storage import differing, storage_errors

_EXTRA = re.compile(r"([\w.-]+).*\bextra == ['\"]([\w-]+)")
_OF_DEVELOPERS = ("all", "dev", "docs")


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at: what was found, or the fault and the next step."""

    name: str
    found: str = ""
    fault: str = ""
    next_step: str = ""


@dataclass(frozen=True, slots=True)
class Checkup:
    """The result of `kgtable.doctor`, in the order of the checks."""

    checks: tuple[Check, ...]

    @property
    def is_sound(self) -> bool:
        """Whether nothing is at fault."""
        return not any(check.fault for check in self.checks)

    def to_json(self) -> dict[str, Any]:
        """The checks as JSON."""
        return {"sound": self.is_sound, "checks": [asdict(check) for check in self.checks]}

    def to_text(self) -> str:
        """The checks as lines for people."""
        return "\n".join(
            f"{check.name}: fault: {check.fault} {check.next_step}".rstrip()
            if check.fault
            else f"{check.name}: {check.found}"
            for check in self.checks
        )

    __str__ = to_text


def doctor(directory: PathLike | None = None) -> Checkup:
    """Check the installation, and with `directory` whether the files of a graph are as they were written.

    No model and no endpoint is asked, and nothing is changed. A fault is part of the result, not an error.
    """
    looked_at: dict[str, Callable[[], str]] = {
        "kgtable": lambda: __version__,
        "python": lambda: f"{platform.python_version()} on {platform.system()} {platform.machine()}",
        "extras": _extras,
        "embedding": _embedding,
        "model": _model,
        "cache": lambda: _writable(cache_folder()),
        "temporary files": lambda: _writable(Path(tempfile.gettempdir())),
    }
    if directory is not None:
        looked_at["graph"] = lambda: _graph(Path(directory))
    return Checkup(tuple(_checked(name, look) for name, look in looked_at.items()))


def _checked(name: str, look: Callable[[], str]) -> Check:
    try:
        return Check(name, look())
    except KgtableError as error:
        return Check(name, fault=error.message, next_step=error.hint or "Check the path and its permissions.")
    except Exception as error:  # a damaged package may raise anything when it is imported
        return Check(name, fault=f"{type(error).__name__}: {error}.", next_step="Install kgtable again.")


def _extras() -> str:
    wanted: dict[str, list[str]] = {}
    for requirement in metadata.requires("kgtable") or ():
        if (found := _EXTRA.match(requirement)) and found[2] not in _OF_DEVELOPERS:
            wanted.setdefault(found[2], []).append(found[1])
    there = {extra for extra, names in wanted.items() if all(map(_is_installed, names))}
    missing = ", ".join(sorted(wanted.keys() - there))
    return f"{', '.join(sorted(there)) or 'none'}" + (f" (not installed: {missing})" if missing else "")


def _is_installed(name: str) -> bool:
    return next(iter(metadata.distributions(name=name)), None) is not None


def _embedding() -> str:
    model = load_embedder()
    assert model is not None
    return f"{model.name}, {model.dimension} dimensions"


def _model() -> str:
    settings = load_settings()
    if connect(settings) is None:
        return "none is configured; questions are answered by rules"
    return f"{settings.model} at {settings.endpoint.base_url} (not asked)"


def _writable(folder: Path) -> str:
    """The folder. Raises `StorageError` if it, or the parent in which it would be made, cannot be written."""
    with storage_errors(folder):
        there = next(path for path in (folder, *folder.parents) if path.exists())
        with tempfile.TemporaryFile(dir=there) as file:
            file.write(b"0")
    return f"{folder}, writable"


def _graph(path: Path) -> str:
    place = GraphDirectory(path)
    if (endpoint := place.endpoint()) is not None:
        return f"{path}, kept at {endpoint.url} (not asked)"
    generation = place.lease()
    try:
        damaged = [*generation.damaged_files(), *(f"index/{name}" for name in differing(generation.index_path))]
        if not damaged:
            read_about(generation.index_path)
            count = len(Catalogue.load(generation.catalogue_path).tables)
    finally:
        generation.release()
    if damaged:
        raise KgtableError(f"Files of {path} are not as written: {', '.join(damaged)}.", hint=BUILD_AGAIN)
    return f"{path}, {count:,} table{'s' * (count != 1)}, generation {generation.number}; its files are as written"
