"""All presentations by name, and the thesis's three of triples: one by one, by table, by subject (5.6)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from kgtable.answering.context import Kind, Presentation, Unit, by_row
from kgtable.answering.evidence import Evidence
from kgtable.answering.subtable import SubTable
from kgtable.answering.whole_tables import WHOLE_TABLES
from kgtable.answering.wording import local_name, measure, one_line, subject_text, table_line
from kgtable.errors import ConfigError
from kgtable.resources import PACKAGE
from kgtable.retrieval.result import ScoredTriple

_FOLDER = PACKAGE / "answering" / "prompts" / "presentations"


def reading_of(name: str) -> str:
    """How a presentation is to be read, from its file."""
    return (_FOLDER / f"{name}.txt").read_text(encoding="utf-8").strip()


class Sequential:
    """One triple a line, the best first."""

    name = "sequential"
    kind: Kind = "triples"
    reading = reading_of("sequential")

    def units(self, evidence: Evidence) -> Sequence[Unit]:
        """Each triple by itself."""
        return _single(evidence)

    def render(self, units: Sequence[Unit], evidence: Evidence) -> str:
        """A list of the tables, then the triples."""
        tables = [table for table in evidence.tables if any(unit.table == table for unit in units)]
        lines = [table_line(table, evidence) for table in tables]
        return "\n".join(
            [*lines, "", *(_line(triple, evidence) for unit in units for triple in unit.triples)]
        )


class ByTable:
    """One triple a line, under the table it belongs to."""

    name = "by-table"
    kind: Kind = "triples"
    reading = reading_of("by-table")

    def units(self, evidence: Evidence) -> Sequence[Unit]:
        """Each triple by itself."""
        return _single(evidence)

    def render(self, units: Sequence[Unit], evidence: Evidence) -> str:
        """The tables by their best triple, in each the triples by score."""
        parts = []
        for table, members in _by_table(units):
            lines = [_line(triple, evidence) for unit in members for triple in unit.triples]
            parts.append("\n".join([table_line(table, evidence), *lines]))
        return "\n\n".join(parts)


class BySubject:
    """The triples of a row together, under their table."""

    name = "by-subject"
    kind: Kind = "triples"
    reading = reading_of("by-subject")

    def units(self, evidence: Evidence) -> Sequence[Unit]:
        """Each row's triples together."""
        return by_row(evidence.retrieval.triples)

    def render(self, units: Sequence[Unit], evidence: Evidence) -> str:
        """The tables by their best triple, in each the rows by score."""
        parts = []
        for table, members in _by_table(units):
            lines = [table_line(table, evidence)]
            for unit in members:
                first = unit.triples[0]
                group = f" (in {one_line(local_name(first.group))})" if first.group else ""
                lines.append(f"{evidence.alias(table)}.r{unit.row} {subject_text(first, evidence)}{group}")
                lines.extend(f"  c{t.column} {local_name(t.predicate)}: {_object(t)}" for t in unit.triples)
            parts.append("\n".join(lines))
        return "\n\n".join(parts)


def _single(evidence: Evidence) -> list[Unit]:
    return [Unit(triple.table, triple.row, (triple,), triple.score) for triple in evidence.retrieval.triples]


def _by_table(units: Sequence[Unit]) -> list[tuple[str, list[Unit]]]:
    """Units under their tables, tables in the order in which they first appear."""
    order = {table: place for place, table in enumerate(dict.fromkeys(unit.table for unit in units))}
    ordered = sorted(units, key=lambda unit: order[unit.table])
    return [(table, list(members)) for table, members in groupby(ordered, key=lambda unit: unit.table)]


def _line(triple: ScoredTriple, evidence: Evidence) -> str:
    place = evidence.cell_id(triple.table, triple.row, triple.column)
    group = f" | in {one_line(local_name(triple.group))}" if triple.group else ""
    subject = subject_text(triple, evidence)
    return f"[{place}] {subject} | {local_name(triple.predicate)} | {_object(triple)}{group}"


def _object(triple: ScoredTriple) -> str:
    unit = measure(triple.unit, triple.scale)
    return one_line(triple.object) + (f" ({unit})" if unit else "")


PRESENTATIONS: dict[str, Presentation] = {
    found.name: found for found in (Sequential(), ByTable(), BySubject(), SubTable(), *WHOLE_TABLES)
}


def presentation(name: str) -> Presentation:
    """The presentation with this name. Raises `ConfigError` for another."""
    if name not in PRESENTATIONS:
        raise ConfigError(
            f"There is no presentation {name!r}.", hint=f"Those there are: {', '.join(PRESENTATIONS)}."
        )
    return PRESENTATIONS[name]
