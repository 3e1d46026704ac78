"""Damage of a graph that a build finds: what it makes again, and what it must not, since more would be lost."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from kgtable.building.assembly import BuildPlan
from kgtable.building.catalogue import Catalogue
from kgtable.building.generations import MADE_AGAIN, Generation
from kgtable.errors import DamagedGraphError, GraphVersionError
from kgtable.graph.store import can_be_rebuilt, damaged_files
from kgtable.ontology.inferred_names import InferredNames
from kgtable.tables.discovery import Walk

_NEXT_STEP = "Restore it from a copy, or build the graph again in an empty directory."


@dataclass(frozen=True)
class Damage:
    """Names of the files of a generation that are missing or not what was written: of its store, and its own parts."""

    store: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    has_catalogue: bool = True

    @property
    def is_total(self) -> bool:
        """Whether every table has to be built again."""
        return bool(self.store) or not self.has_catalogue

    @property
    def messages(self) -> tuple[str, ...]:
        """What a build made again."""
        found = []
        if self.parts:
            found.append(f"{' and '.join(self.parts)} of the graph was damaged, and made again.")
        if self.store:
            found.append(f"The store was damaged ({', '.join(self.store)}): every table was built again.")
        return tuple(found)


def find_damage(current: Generation) -> tuple[Catalogue, Damage]:
    """The catalogue of a generation, empty where it is damaged, and the damage that a build can repair without loss.

    Raises `DamagedGraphError` and `GraphVersionError` for other damage.
    """
    only_tables = current.is_from_sources
    try:
        path = current.store_path
    except DamagedGraphError as error:
        raise DamagedGraphError(error.message, hint=_NEXT_STEP) from error
    store = damaged_files(path)
    if not store and not (path / "CURRENT").exists():
        store = ("CURRENT",)
    if store and not (only_tables or can_be_rebuilt(store)):
        raise DamagedGraphError(
            f"The store in {path} is damaged: {store[0]} is not what was written, and without it nobody"
            " knows what updates have written there.",
            hint=_NEXT_STEP,
        )
    can_be_made = only_tables and all(name.basis != "model" for name in InferredNames.open(current.path))
    parts = current.damaged_parts()
    for name in parts:
        if name not in MADE_AGAIN and not (can_be_made and name == current.catalogue_path.name):
            raise DamagedGraphError(
                f"{current.path / name} is damaged: it is not what was written.", hint=_NEXT_STEP
            )
    try:
        known = Catalogue.load(current.catalogue_path)
    except GraphVersionError as error:
        if not can_be_made:
            raise GraphVersionError(error.message, hint=_NEXT_STEP) from error
        parts = sorted({*parts, current.catalogue_path.name})
        return Catalogue(), Damage(store, tuple(parts), has_catalogue=False)
    return known, Damage(store, tuple(parts))


def check_sources(damage: Damage, known: Catalogue, found: Walk, plan: BuildPlan) -> None:
    """Raise `DamagedGraphError` where every table has to be built again, and one that was built cannot be read now."""
    if not damage.is_total:
        return
    lost = {record.path for record in plan.unreadable if _may_hold_tables(record.path, damage, known)}
    if not damage.has_catalogue:
        lost.update(map(str, found.unreadable))
    lost.update(
        record.path
        for record in known.files.values()
        if record.is_read and _is_below(record.location, found.unreadable)
    )
    if lost:
        first, *others = sorted(lost)
        more = f" and {len(others)} more" if others else ""
        raise DamagedGraphError(
            f"The graph is damaged ({[*damage.store, *damage.parts][0]}), and {first}{more}, from which it was built,"
            " cannot be read now.",
            hint="Make it readable, or remove it, then build again.",
        )


def _may_hold_tables(path: str, damage: Damage, known: Catalogue) -> bool:
    record = known.files.get(path)
    return not damage.has_catalogue if record is None else record.is_read


def _is_below(location: str, folders: Iterable[Path]) -> bool:
    return any(Path(location).is_relative_to(folder) for folder in folders)
