"""The mapping as the converter asks it: what a user decided about the columns of a name."""

from __future__ import annotations

import hashlib
import json
import typing
from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

from kgtable.errors import MappingError
from kgtable.ontology.mapping.cells import PARSERS, SCALES
from kgtable.ontology.mapping.files import EDITABLE, NAME, ONLY_IN, MappingRow, read_rows

Key: TypeAlias = tuple[str, str]
"""What a row of a mapping is about: a column name and the tables it is restricted to, or ``""``."""


@dataclass(frozen=True, slots=True)
class ColumnMapping:
    """What a user decided about a column; None leaves it to the generator.

    `predicate` is a local name or a full IRI, `unit` a QUDT local name, `scale` a power of ten,
    `datatype` one of `cells.DATATYPES`.
    """

    predicate: str | None = None
    unit: str | None = None
    scale: int | None = None
    datatype: str | None = None


@dataclass(frozen=True)
class Mapping:
    """A user's decisions: column name and tables it is restricted to → canonical texts of the cells.

    A restriction is a list of table ids, separated by semicolons, in which ``*`` and ``?`` stand for
    any text and any character; a row whose restriction fits a table wins over the row without one.
    """

    edits: typing.Mapping[Key, typing.Mapping[str, str]] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path) -> Mapping:
        """The mapping in a file, CSV or XLSX; every cell that says something is a decision.

        Raises `MappingError` with file, line and column of the first cell that makes no sense.
        """
        if not path.is_file():
            raise MappingError(f"There is no mapping {path}.", hint="Give a CSV or XLSX file.")
        return cls({row.key: decisions for row in checked(read_rows(path)) if (decisions := _decisions(row))})

    @cached_property
    def _by_name(self) -> dict[str, list[tuple[tuple[str, ...], ColumnMapping]]]:
        found: dict[str, list[tuple[tuple[str, ...], ColumnMapping]]] = {}
        for (name, only_in), values in sorted(self.edits.items(), key=lambda item: (not item[0][1], item[0])):
            tables = tuple(filter(None, map(str.strip, only_in.split(";"))))
            found.setdefault(name, []).append((tables, _column_mapping(values)))
        return found

    def lookup(self, column_name: str, table_id: str) -> ColumnMapping | None:
        """What is decided about a column by its `display_name`, None where nothing is."""
        for tables, decision in self._by_name.get(column_name, ()):
            if not tables or any(fnmatchcase(table_id, pattern) for pattern in tables):
                return decision
        return None

    def fingerprint(self, column_names: Iterable[str], table_id: str) -> str:
        """Equal for equal decisions about a table's columns: whether it must be converted again."""
        decisions = ((name, self.lookup(name, table_id)) for name in column_names)
        told = [(name, d.predicate, d.unit, d.scale, d.datatype) for name, d in decisions if d]
        return hashlib.sha256(json.dumps(told).encode()).hexdigest() if told else ""

    def over(self, other: Mapping) -> Mapping:
        """This mapping's decisions, and the other's about what this one leaves open."""
        keys = {**other.edits, **self.edits}
        return Mapping({key: {**other.edits.get(key, {}), **self.edits.get(key, {})} for key in keys})

    def to_json(self) -> list[Any]:
        """The decisions as JSON lists."""
        return [[*key, dict(sorted(values.items()))] for key, values in sorted(self.edits.items())]

    @classmethod
    def from_json(cls, data: Iterable[Any]) -> Mapping:
        """The inverse of `to_json`."""
        return cls({(name, only_in): dict(values) for name, only_in, values in data})


def checked(rows: Iterable[MappingRow]) -> list[MappingRow]:
    """The rows with every decision in its canonical spelling.

    Raises `MappingError` for a cell that makes no sense, and for two rows about the same columns.
    """
    seen: dict[Key, MappingRow] = {}
    for row in rows:
        if row.key in seen:
            raise MappingError(
                f"{row.place(NAME)}: '{row.key[0]}' stands in line {seen[row.key].line} already.",
                hint=f"Remove one of the two, or restrict one to some tables in column '{ONLY_IN}'.",
            )
        canonical = {
            name: parse(text, row.place(name))
            for name, parse in PARSERS.items()
            if (text := row.values.get(name, ""))
        }
        seen[row.key] = MappingRow({**row.values, **canonical}, row.path, row.line)
    return list(seen.values())


def _decisions(row: MappingRow) -> dict[str, str]:
    return {name: row.values[name] for name in EDITABLE if row.values.get(name)}


def _column_mapping(values: typing.Mapping[str, str]) -> ColumnMapping:
    scale = values.get("scale")
    return ColumnMapping(
        predicate=values.get("predicate"),
        unit=values.get("unit"),
        scale=None if scale is None else SCALES[scale],
        datatype=values.get("datatype"),
    )
