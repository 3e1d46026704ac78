"""The editable mapping: a user's decisions about columns and tables, by name, and how they combine."""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from kgtable.errors import MappingError
from kgtable.ontology.mapping_rows import (
    COLUMNS,
    INFERRED,
    KIND,
    PARSERS,
    ROLE,
    SCALES,
    SPLIT,
    TABLE,
    TABLE_PARSERS,
    TABLES,
    VARIANT,
    read_rows,
    row_indexes,
)
from kgtable.ontology.proposals import TableProposal
from kgtable.tables.model import LayoutDecision

MappingKey: TypeAlias = tuple[str, str]
"""The subject of a mapping's row: a column name and the tables it is restricted to, or ``""``."""

_Key = TypeVar("_Key")


@dataclass(frozen=True, slots=True)
class ColumnMapping:
    """Decisions of a user about a column; None leaves a field to the generator.

    `predicate` is a local name or a full IRI, `unit` a QUDT local name, `scale` a power of ten,
    `datatype` one of `mapping_rows.DATATYPES`, `name` what a column without a header is called; `role`, `kind` and
    `variant` are those of its `Meaning`.
    """

    predicate: str | None = None
    unit: str | None = None
    scale: int | None = None
    datatype: str | None = None
    name: str | None = None
    role: str | None = None
    kind: str | None = None
    variant: str | None = None

    @property
    def texts(self) -> dict[str, str]:
        """The decisions, by the columns of the mapping: the inverse of `column_mapping`."""
        found = {named: getattr(self, own) for named, own in _OWN_NAMES.items()}
        found["scale"] = next((name for name, power in SCALES.items() if power == self.scale), None)
        return {name: text for name, text in found.items() if text is not None}


_OWN_NAMES = {"predicate": "predicate", "unit": "unit", "scale": "scale", "datatype": "datatype", INFERRED: "name",
              ROLE: "role", KIND: "kind", VARIANT: "variant"}  # fmt: skip
"""The field of `ColumnMapping` for each column of the mapping."""


@dataclass(frozen=True)
class UserMapping:
    """A user's decisions: column name and the tables it is restricted to → canonical texts of the cells.

    A restriction is a list of table ids, separated by semicolons, in which ``*`` and ``?`` stand for
    any text and any character; a row whose restriction fits a table wins over the row without one.
    `tables` are the decisions about tables by id or pattern; an id wins over a pattern, a longer pattern
    over a shorter one. `places` holds the file and line of each of these. `proposed` is what a model proposed
    about tables, by id: it holds where nothing is printed or decided.
    """

    edits: Mapping[MappingKey, Mapping[str, str]] = field(default_factory=dict)
    tables: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    places: Mapping[str, str] = field(default_factory=dict, compare=False)
    proposed: Mapping[str, TableProposal] = field(default_factory=dict, compare=False)

    @classmethod
    def load(cls, path: Path) -> UserMapping:
        """The mapping in a file, CSV or XLSX; every cell that says something is a decision.

        Raises `MappingError` with file, line and column of the first cell that makes no sense.
        """
        if not path.is_file():
            raise MappingError(f"There is no mapping {path}.", hint="Give a CSV or XLSX file.")
        columns, tables = read_rows(path, COLUMNS), read_rows(path, TABLES)
        return cls(
            COLUMNS.decisions(columns),
            {pattern: decided for (pattern, _), decided in TABLES.decisions(tables).items()},
            {row.values[TABLE]: f"{row.path}, line {row.line}" for row in tables},
        )

    @classmethod
    def about(cls, table: str, decisions: Mapping[str, str], column: str = "") -> UserMapping:
        """Decisions about one table, by columns of the mapping's sheet ``tables``, or about one of its columns, by
        columns of the mapping; an empty text takes one back.

        Raises `MappingError` for another name, and for a text that makes no sense.
        """
        parsers = PARSERS if column else TABLE_PARSERS
        what = "a column" if column else "a table"
        for name in decisions:
            if name not in parsers:
                near = difflib.get_close_matches(name, parsers, n=1)
                hint = f"Did you mean '{near[0]}'?" if near else f"Use one of: {', '.join(parsers)}."
                raise MappingError(f"{name!r} is not what can be decided about {what}.", hint=hint)
        place = f"the decision about {column or table!r}"
        texts = {name: text.strip() for name, text in decisions.items()}
        values = {name: text and parsers[name](text, f"{place}, {name!r}") for name, text in texts.items()}
        if column:
            return cls({(column, table): values}, {}, {table: place})
        return cls({}, {table: values}, {table: place})

    @cached_property
    def _by_name(self) -> dict[str, list[tuple[tuple[str, ...], ColumnMapping]]]:
        found: dict[str, list[tuple[tuple[str, ...], ColumnMapping]]] = {}
        for (name, only_in), values in sorted(self.edits.items(), key=lambda item: (not item[0][1], item[0])):
            tables = tuple(filter(None, map(str.strip, only_in.split(";"))))
            found.setdefault(name, []).append((tables, column_mapping(values)))
        return found

    def lookup(self, column_name: str, table_id: str) -> ColumnMapping | None:
        """The decisions about a column by its `display_name`, None without any.

        A row that only names the column of a table leaves the rest to the others.
        """
        name: str | None = None
        for tables, decision in self._by_name.get(column_name, ()):
            if not tables or any(fnmatchcase(table_id, pattern) for pattern in tables):
                name = name or decision.name
                if decision != ColumnMapping(name=decision.name) or decision.name is None:
                    return replace(decision, name=name)
        return None if name is None else ColumnMapping(name=name)

    def about_table(self, table_id: str) -> Mapping[str, str]:
        """The decisions about a table: field of `TABLE_EDITABLE` → text; empty without any."""
        fitting = [pattern for pattern in self.tables if pattern == table_id or fnmatchcase(table_id, pattern)]
        found: dict[str, str] = {}
        for pattern in sorted(fitting, key=lambda pattern: (pattern == table_id, len(pattern), pattern)):
            found.update(self.tables[pattern])
        return found

    def layout(self, table_id: str, sha256: str = "") -> LayoutDecision | None:
        """What is decided about the rows, columns and title of a table, or else proposed about its header if its file
        has this hash."""
        decided = self.about_table(table_id)
        if not {"header rows", "label column", "skip rows", "note rows", "title"} & decided.keys():
            said = self.proposed.get(table_id)
            if said is None or not said.header or said.sha256 != sha256:
                return None
            return LayoutDecision(row_indexes(said.header), confidence=said.header_confidence)
        pattern = max(
            (p for p in self.tables if p == table_id or fnmatchcase(table_id, p)),
            key=lambda p: (p == table_id, len(p)),
        )
        header = decided.get("header rows")
        return LayoutDecision(
            None if header is None else row_indexes(header),
            decided.get("label column"),
            (*row_indexes(decided.get("skip rows", "")), *row_indexes(decided.get("note rows", ""))),
            decided.get("title"),
            self.places.get(pattern, "the mapping"),
            row_indexes(decided.get("note rows", "")),
        )

    def splits(self, file_id: str) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """The 0-based rows that begin tables in the sheets of a file, by patterns of ids; the last that fits holds."""
        return tuple(
            (pattern, row_indexes(decided[SPLIT]))
            for pattern, decided in sorted(self.tables.items(), key=lambda item: (len(item[0]), item[0]))
            if SPLIT in decided and (pattern.startswith(f"{file_id}#") or fnmatchcase(file_id, pattern.split("#")[0]))
        )

    def stated_unit(self, table_id: str) -> tuple[str | None, int | None]:
        """The unit and the power of ten that are decided for a whole table, each None if it is left open."""
        decided = self.about_table(table_id)
        scale = decided.get("scale")
        return decided.get("unit"), None if scale is None else SCALES[scale]

    def proposal(self, table_id: str, sha256: str, names: Sequence[str]) -> TableProposal:
        """A model's proposals about a table whose file has this hash and whose columns have these names."""
        found = self.proposed.get(table_id)
        if found is None or found.sha256 != sha256:
            return TableProposal(sha256, "")
        named = {at: one for at, one in found.columns.items() if at < len(names) and names[at] == one.header}
        return replace(found, columns=named)

    def unmatched(self, names: Iterable[str], tables: Iterable[str]) -> tuple[str, ...]:
        """A message for each column name and each table of the mapping that does not exist."""
        names, tables = sorted(set(names)), sorted(set(tables))
        sheets = {id.rpartition("#")[0] for id in tables if id.rpartition("#")[2].isdigit()}
        messages: list[str] = []
        for name, only_in in sorted(self.edits):
            if name not in names:
                messages.append(f"The mapping names a column '{name}' that no table has.{_nearest(name, names)}")
            for pattern in filter(None, map(str.strip, only_in.split(";"))):
                messages += _no_table(pattern, tables)
        for pattern in sorted(self.tables):
            messages += [] if SPLIT in self.tables[pattern] and pattern in sheets else _no_table(pattern, tables)
        return tuple(dict.fromkeys(messages))

    def fingerprint(self, column_names: Iterable[str], table_id: str) -> str:
        """A hash of the decisions about a table and its columns, empty without any: a change requires a conversion."""
        decisions = ((name, self.lookup(name, table_id)) for name in column_names)
        told = [
            (name, d.predicate, d.unit, d.scale, d.datatype, *filter(None, (d.name, d.role, d.kind, d.variant)))
            for name, d in decisions
            if d
        ]
        proposed = self.proposed.get(table_id)
        said = proposed.to_json() if proposed is not None and not proposed.is_empty else None
        parts = [told, sorted(self.about_table(table_id).items()), said]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest() if any(parts) else ""

    def over(self, other: UserMapping) -> UserMapping:
        """The two mappings merged; decisions of this one take precedence, and an empty one takes back."""
        return UserMapping(
            _merged(self.edits, other.edits),
            {pattern: told for pattern, told in _merged(self.tables, other.tables).items() if told},
            {**other.places, **self.places},
            {**other.proposed, **self.proposed},
        )

    def listed(self, table: str = "") -> list[dict[str, Any]]:
        """The decisions, or those that hold for a table, each with its tables and column, empty for all of them."""
        tables = [(only_in, "", said) for only_in, said in sorted(self.tables.items())]
        columns = [(only_in, name, said) for (name, only_in), said in sorted(self.edits.items())]
        return [
            {"table": only_in, "column": name, "decided": dict(said)}
            for only_in, name, said in (*tables, *columns)
            if not (table and only_in) or any(fnmatchcase(table, one.strip()) for one in only_in.split(";"))
        ]

    def to_json(self) -> list[Any]:
        """The decisions about columns as JSON lists."""
        return [[*key, dict(sorted(values.items()))] for key, values in sorted(self.edits.items())]

    @classmethod
    def from_json(cls, data: Iterable[Any]) -> UserMapping:
        """The inverse of `to_json`."""
        return cls({(name, only_in): dict(values) for name, only_in, values in data})


def check_column(table: str, column: str, names: Sequence[str]) -> None:
    """Raise `MappingError`, with the nearest names, unless a table has this column."""
    if column not in names:
        raise MappingError(f"{table} has no column {column!r}.{_nearest(column, names)}")


def _merged(
    mine: Mapping[_Key, Mapping[str, str]], others: Mapping[_Key, Mapping[str, str]]
) -> dict[_Key, dict[str, str]]:
    return {
        key: {name: text for name, text in {**others.get(key, {}), **mine.get(key, {})}.items() if text}
        for key in {**others, **mine}
    }


def _no_table(pattern: str, tables: Sequence[str]) -> list[str]:
    if any(pattern == table or fnmatchcase(table, pattern) for table in tables):
        return []
    return [f"The mapping names a table '{pattern}' that is not there.{_nearest(pattern, tables)}"]


def _nearest(name: str, names: Sequence[str]) -> str:
    folded = {other.casefold(): other for other in reversed(names)}
    near = difflib.get_close_matches(name.casefold(), folded, n=3, cutoff=0.6)
    return f" Did you mean {' or '.join(repr(folded[match]) for match in near)}?" if near else ""


def column_mapping(values: Mapping[str, str]) -> ColumnMapping:
    """The decisions in canonical texts of the mapping's columns."""
    found: dict[str, Any] = {own: values.get(named) for named, own in _OWN_NAMES.items()}
    return ColumnMapping(**{**found, "scale": SCALES.get(values.get("scale", ""))})
