"""The sub-table: a table's retrieved cells laid out as the fragment of the table they came from."""

from __future__ import annotations

from collections.abc import Sequence

from kgtable.answering.context import Kind, Unit, by_row
from kgtable.answering.evidence import Evidence
from kgtable.answering.wording import measure, one_line, table_line
from kgtable.resources import PACKAGE
from kgtable.retrieval.result import ScoredTriple
from kgtable.tables.model import Table

_READING = PACKAGE / "answering" / "prompts" / "presentations" / "subtable.txt"


class SubTable:
    """The rows and columns in which something was retrieved, with title, headers, groups and row numbers."""

    name = "subtable"
    kind: Kind = "triples"
    reading = _READING.read_text(encoding="utf-8").strip()

    def units(self, evidence: Evidence) -> Sequence[Unit]:
        """Each row's triples together."""
        return by_row(evidence.retrieval.triples)

    def render(self, units: Sequence[Unit], evidence: Evidence) -> str:
        """The fragments, the table of the best row first; rows and columns in the table's own order."""
        members: dict[str, list[Unit]] = {}
        for unit in units:
            members.setdefault(unit.table, []).append(unit)
        return "\n\n".join(_fragment(table, found, evidence) for table, found in members.items())


def _fragment(id: str, units: Sequence[Unit], evidence: Evidence) -> str:
    frame = evidence.source.frame(id)
    structure = frame.table.structure
    triples = [triple for unit in units for triple in unit.triples]
    columns = sorted({structure.label_column, *(triple.column for triple in triples)})
    rows = sorted({unit.row for unit in units if unit.row is not None})
    shown = sum(1 for row in rows if row >= structure.body_start and row not in structure.groups)
    lines = [
        f"{table_line(id, evidence)}, {shown} of {frame.body_rows} rows shown",
        "row | " + " | ".join(_header(frame.table, column, triples) for column in columns),
    ]
    path: tuple[int, ...] = ()
    for row in rows:
        groups = evidence.group_path(id, row)
        lines.extend(
            _group(frame.table, group) for group in groups if group not in path and group not in rows
        )
        path = groups
        found = evidence.source.row(id, row)
        cells = found.cells if found else ()
        texts = (one_line(cells[column]) if column < len(cells) else "" for column in columns)
        lines.append(f"r{row} | " + " | ".join(texts))
    return "\n".join(lines)


def _header(table: Table, column: int, triples: Sequence[ScoredTriple]) -> str:
    name = one_line(table.columns[column].name) if column < len(table.columns) else ""
    units = {
        measure(triple.unit, triple.scale) for triple in triples if triple.column == column and triple.unit
    }
    unit = f" ({units.pop()})" if len(units) == 1 and units != {""} else ""
    return f"c{column} {name}".rstrip() + unit


def _group(table: Table, row: int) -> str:
    texts = [one_line(text) for text in table.grid.head[row] if text.strip()]
    return f"r{row} | {texts[0] if texts else ''}:"
