"""The mapping in a graph directory, `ontology.csv` and `ontology.xlsx`: generated rows under a user's edits.

Both files are written with every build, and `ontology.state.json` next to them remembers what was
written: a cell that differs from it was edited, wins over the generator, and stays. Emptying a cell
gives it back to the generator. The state names what is about to be written before it is written, so
that a build killed half-way is never taken for a user's edit.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from kgtable.errors import MappingError, OntologyError, StorageError
from kgtable.ontology.column_stats import MISSING, QUANTITY, Summary
from kgtable.ontology.inferred_names import InferredName
from kgtable.ontology.mapping import MappingKey, UserMapping
from kgtable.ontology.mapping_rows import (
    COLUMNS,
    CONFIDENCE,
    EVIDENCE,
    INFERRED,
    KIND,
    NAME,
    ONLY_IN,
    ROLE,
    SCALES,
    TABLES,
    VARIANT,
    MappingRow,
    MappingSheet,
    csv_bytes,
    read_rows,
    xlsx_bytes,
)
from kgtable.ontology.proposals import load_proposals
from kgtable.storage import checksum_of_json, whole_file

MOST_TABLES: Final = 20
"""Tables named in a row before the rest is only counted."""

_XSD = "http://www.w3.org/2001/XMLSchema#"
_DATATYPES: Final = {
    QUANTITY: "number",
    f"{_XSD}string": "text",
    f"{_XSD}date": "date",
    f"{_XSD}dateTime": "date",
    f"{_XSD}gYearMonth": "date",
    f"{_XSD}gYear": "year",
    f"{_XSD}boolean": "boolean",
    f"{_XSD}dayTimeDuration": "duration",
}


def generated_rows(
    summaries: Mapping[str, Summary],
    mapping: UserMapping,
    proposals: Mapping[str, tuple[str, ...]],
    inferred: Mapping[MappingKey, InferredName] | None = None,
) -> dict[MappingKey, dict[str, str]]:
    """One row per column name, and those the user added, sorted by name.

    Unit, scale and datatype are filled in where all of a name's columns agree, and left empty where
    they do not; ``units found`` has the counts. A name `inferred` for a column of a table has a row of its own.
    """
    rows: dict[MappingKey, dict[str, str]] = {
        (name, ""): {NAME: name, **_found(summary), "same as": "; ".join(proposals.get(name, ()))}
        for name, summary in summaries.items()
    }
    for (name, only_in), found in (inferred or {}).items():
        rows[name, only_in] = {NAME: name, ONLY_IN: only_in, INFERRED: found.name, CONFIDENCE: found.sureness}
    for key, decisions in mapping.edits.items():
        name, only_in = key
        rows[key] = {**rows.get(key, {NAME: name, ONLY_IN: only_in}), **decisions}
        if INFERRED in decisions:
            rows[key].pop(CONFIDENCE, None)
    for said in (column for table in mapping.proposed.values() for column in table.columns.values()):
        row = rows.get((said.header, ""), {})
        fields = [name for name in ("predicate", "unit", "scale") if said.values.get(name) == row.get(name, "")]
        if fields and ";" not in row.get(EVIDENCE, ""):
            row[EVIDENCE] = f"{row.get(EVIDENCE, '')}; {', '.join(fields)}: model {said.confidence:.2f}".strip("; ")
    return dict(sorted(rows.items(), key=lambda item: (item[0][0].casefold(), item[0])))


def real_decisions(mapping: UserMapping, summaries: Mapping[str, Summary]) -> UserMapping:
    """The mapping without the generator's default predicates, as in a mapping it wrote."""
    kept: dict[MappingKey, dict[str, str]] = {}
    for (name, only_in), decisions in mapping.edits.items():
        summary = None if only_in else summaries.get(name)
        generated = _unanimous(list(summary.generated)) if summary else ""
        left = {field: text for field, text in decisions.items() if (field, text) != ("predicate", generated)}
        if left:
            kept[name, only_in] = left
    return replace(mapping, edits=kept)


def _found(summary: Summary) -> dict[str, str]:
    return {
        "predicate": next(iter(summary.generated)),
        "unit": _unanimous(list(summary.units)),
        "scale": _unanimous([mark for scale in summary.scales for mark, power in SCALES.items() if power == scale]),
        "datatype": _unanimous([_DATATYPES.get(range_, "") for range_ in summary.ranges if range_ != MISSING]),
        **_found_meaning(summary),
        "units found": "; ".join(f"{unit} {count}" for unit, count in summary.units.items()),
        "tables": _table_list(summary.tables),
    }


def _found_meaning(summary: Summary) -> dict[str, str]:
    """Role, kind and variant where all columns of a name agree, and the evidence for the first of them."""
    found = summary.meanings
    if not found:
        return {}
    return {
        ROLE: _unanimous([one.role.value for one in found]),
        KIND: _unanimous([one.kind.value if one.kind else "" for one in found]),
        VARIANT: _unanimous([one.variant or "" for one in found]),
        EVIDENCE: f"{', '.join(found[0].evidence)} {found[0].confidence:.2f}".strip(),
    }


def _unanimous(values: list[str]) -> str:
    return values[0] if len(set(values)) == 1 else ""


def _table_list(tables: tuple[str, ...]) -> str:
    named = "; ".join(tables[:MOST_TABLES])
    return named if len(tables) <= MOST_TABLES else f"{named}; … ({len(tables)} in all)"


CSV: Final = "ontology.csv"
TABLES_CSV: Final = "ontology.tables.csv"
NAMES: Final = (CSV, "ontology.xlsx", TABLES_CSV)
STATE: Final = "ontology.state.json"
_VERSION: Final = 1


@dataclass(frozen=True)
class _State:
    """The last written state: digests of the files, the texts they show, the edits among them.

    While a build writes, `digests` and `shown` hold the old and the new. `generated` is a digest of
    the rows without the proposals.
    """

    digests: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    shown: tuple[Mapping[MappingKey, Mapping[str, str]], ...] = ()
    edits: UserMapping = field(default_factory=UserMapping)
    generated: str = ""


@dataclass(frozen=True)
class EditedMapping:
    """The user's decisions at the time the files were read, and the files' state."""

    mapping: UserMapping
    digests: Mapping[str, str]

    def under(self, explicit: UserMapping) -> EditedMapping:
        """The same files, with the decisions of a mapping given explicitly over the user's."""
        return EditedMapping(explicit.over(self.mapping), self.digests)


def load_edits(directory: Path) -> EditedMapping:
    """The user's decisions in a graph directory; none if there is no mapping yet.

    Raises `MappingError` if a file cannot be read, a cell makes no sense, or both files were
    edited and say different things.
    """
    state = _read_state(directory)
    digests = _digests(directory)
    edited = [name for name, digest in digests.items() if digest not in state.digests.get(name, ())]
    columns, _ = _edited(directory, COLUMNS, [name for name in edited if name != TABLES_CSV], state)
    tables, places = _edited(directory, TABLES, sorted(name for name in edited if name != CSV), state)
    about = {pattern: decided for (pattern, _), decided in tables.items()}
    return EditedMapping(UserMapping(columns, about, places, load_proposals(directory)), digests)


def _edited(
    directory: Path, sheet: MappingSheet, names: Sequence[str], state: _State
) -> tuple[Mapping[MappingKey, Mapping[str, str]], dict[str, str]]:
    """The decisions of a sheet, from the edited one of these files, and the place of each of them."""
    before, shown = state.edits.edits, state.shown
    if sheet is TABLES:  # which shows nothing that is not decided
        before, shown = {(pattern, ""): decided for pattern, decided in state.edits.tables.items()}, ()
    rows = {name: read_rows(directory / name, sheet) for name in names}
    found = {name: _decided(sheet, lines, before if shown else {}, shown) for name, lines in rows.items()}
    # Saving a file again without a change, as spreadsheet programs do, is not an edit.
    changed = [name for name in names if found[name] != before]
    for key in sorted(set().union(*(found[name] for name in changed))):
        for field_ in sheet.editable:
            texts = [found[name].get(key, {}).get(field_, "") for name in changed]
            if len(set(texts)) > 1:
                raise MappingError(
                    f"{directory / changed[0]} and {changed[1]} were both edited and differ: for "
                    f"{sheet.subject.removesuffix(' name')} '{key[0]}' the {field_} is {texts[0]!r} in one and "
                    f"{texts[1]!r} in the other.",
                    hint="Make them agree, or delete the one that is out of date.",
                )
    if not changed:
        return before, {}
    lines = rows[changed[0]]
    return found[changed[0]], {row.values[sheet.subject]: f"{row.path}, line {row.line}" for row in lines}


def _decided(
    sheet: MappingSheet,
    rows: Iterable[MappingRow],
    before: Mapping[MappingKey, Mapping[str, str]],
    shown: Sequence[Mapping[MappingKey, Mapping[str, str]]],
) -> dict[MappingKey, dict[str, str]]:
    """The cells that were edited since they were shown, and those that were before and still say the same."""
    edits: dict[MappingKey, dict[str, str]] = {}
    for row in rows:
        key = sheet.key_of(row)
        known, printed = before.get(key, {}), [found[key] for found in shown if key in found]
        for name in sheet.editable:
            text = row.values.get(name, known.get(name, ""))
            if text and (text == known.get(name) or all(one.get(name, "") != text for one in printed)):
                edits.setdefault(key, {})[name] = text
    return edits


def is_saved(directory: Path, edited: EditedMapping, summaries: Mapping[str, Summary]) -> bool:
    """Whether `save_mapping` would write the same files again, given proposals from the same summaries.

    It finds out without the proposals, which may need an embedding model.
    """
    state = _read_state(directory)
    mapping = real_decisions(edited.mapping, summaries)
    written = {name: digests[0] for name, digests in state.digests.items() if len(digests) == 1}
    return (
        set(written) == set(NAMES)
        and written == edited.digests
        and state.edits == mapping
        and state.generated == _generated_digest(summaries, mapping)
    )


def _generated_digest(summaries: Mapping[str, Summary], mapping: UserMapping) -> str:
    rows = generated_rows(summaries, mapping, {})
    lines = [[*key, *(row.get(name, "") for name in COLUMNS.fields)] for key, row in rows.items()]
    return _digest(json.dumps(lines, ensure_ascii=True).encode("ascii"))


def save_mapping(
    directory: Path,
    edited: EditedMapping,
    summaries: Mapping[str, Summary],
    proposals: Mapping[str, tuple[str, ...]] | None = None,
    inferred: Mapping[MappingKey, InferredName] | None = None,
) -> tuple[str, ...]:
    """Writes both files: what the generator found, under the user's decisions.

    `summaries` are those of `facts.by_name`, `proposals` the column names that may mean the same,
    `inferred` the names proposed for columns without a header (by `display_name` and table) and for tables without a
    title (by an empty name and the table).
    Files that were edited since `load_edits` are not changed, and the returned messages say so.
    Raises `OntologyError` if a file cannot be written.
    """
    if _digests(directory) != edited.digests:
        return ("The mapping was edited during the build; the next build applies and updates it.",)
    mapping = real_decisions(edited.mapping, summaries)
    ids = {table for summary in summaries.values() for table in summary.tables}
    unmatched = mapping.unmatched(summaries, ids)
    columns = {key: found for key, found in (inferred or {}).items() if key[0]}
    titles = {table: (found.name, found.sureness) for (name, table), found in (inferred or {}).items() if not name}
    rows = generated_rows(summaries, mapping, proposals or {}, columns)
    lines = [[row.get(field_, "") for field_ in COLUMNS.fields] for row in rows.values()]
    about_tables = [
        [
            pattern,
            *(mapping.tables.get(pattern, {}).get(field_, "") for field_ in TABLES.editable),
            *titles.get(pattern, ("", "")),
        ]
        for pattern in sorted({*mapping.tables, *titles})
    ]
    written = {CSV: csv_bytes(COLUMNS, lines), TABLES_CSV: csv_bytes(TABLES, about_tables)}
    shown = {key: {name: row.get(name, "") for name in COLUMNS.editable} for key, row in rows.items()}
    generated = _generated_digest(summaries, mapping)
    old = _read_state(directory)
    is_kept = set(edited.digests) == set(NAMES) and all(
        edited.digests[name] == _digest(written[name]) for name in written
    )
    if is_kept and (old.shown, old.edits, old.generated) == ((shown,), mapping, generated):
        return unmatched
    written["ontology.xlsx"] = xlsx_bytes((COLUMNS, lines), (TABLES, about_tables))
    new = {name: _digest(data) for name, data in written.items()}
    both = {name: (*([edited.digests[name]] if name in edited.digests else []), new[name]) for name in NAMES}
    _write_state(directory, _State(both, (*old.shown[-1:], shown), mapping))
    for name, data in written.items():
        _replace(directory / name, data)
    _write_state(directory, _State({name: (new[name],) for name in NAMES}, (shown,), mapping, generated))
    return unmatched


def _digests(directory: Path) -> dict[str, str]:
    try:
        return {name: _digest(path.read_bytes()) for name in NAMES if (path := directory / name).is_file()}
    except OSError as error:
        raise MappingError(f"The mapping in {directory} cannot be read: {error}") from error


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _read_state(directory: Path) -> _State:
    path = directory / STATE
    if not path.is_file():
        return _State()
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if data["version"] != _VERSION:
            raise ValueError(f"version {data['version']}")
        if "checksum" in data and data.pop("checksum") != checksum_of_json(data):
            raise ValueError("it is not what was written")
        return _State(
            digests={name: tuple(digests) for name, digests in data["digests"].items()},
            shown=tuple({(name, only): texts for name, only, texts in rows} for rows in data["shown"]),
            edits=UserMapping(UserMapping.from_json(data["edits"]).edits, data.get("tables", {})),
            generated=str(data.get("generated", "")),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise MappingError(
            f"{path} cannot be used: {error}.",
            hint="Delete it: every cell of the mapping then counts as your decision.",
        ) from error


def _write_state(directory: Path, state: _State) -> None:
    data: dict[str, Any] = {
        "version": _VERSION,
        "digests": state.digests,
        "edits": state.edits.to_json(),
        "generated": state.generated,
        "tables": {pattern: dict(decided) for pattern, decided in sorted(state.edits.tables.items())},
        "shown": [[[*key, texts] for key, texts in rows.items()] for rows in state.shown],
    }
    data = json.loads(json.dumps(data))
    data["checksum"] = checksum_of_json(data)
    _replace(directory / STATE, json.dumps(data, ensure_ascii=False).encode("utf-8"))


def _replace(path: Path, data: bytes) -> None:
    try:
        with whole_file(path) as file:
            file.write(data)
    except StorageError as error:
        raise OntologyError(
            f"{path} cannot be written: {error.__cause__ or error.message}.",
            hint="Close it in the spreadsheet program, or free some space, and build again.",
        ) from error
