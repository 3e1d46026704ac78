"""Records of files that were shared out among processes, put together again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

from kgtable.graph.catalogue import FileRecord, TableRecord
from kgtable.graph.tally import Tally
from kgtable.ontology.facts import ColumnFact

_Key = TypeVar("_Key")


def merge_shares(records: Iterable[FileRecord]) -> tuple[FileRecord, ...]:
    """One record a file, from those of all jobs in order."""
    files: dict[str, FileRecord] = {}
    for record in records:
        before = files.get(record.path)
        files[record.path] = record if before is None else _merged(before, record)
    return tuple(files.values())


def _merged(one: FileRecord, other: FileRecord) -> FileRecord:
    error = one.error or other.error
    tables = () if error else tuple(map(_merged_table, one.tables, other.tables))
    return replace(one, tables=tables, error=error)


def _merged_table(one: TableRecord, other: TableRecord) -> TableRecord:
    tally = Tally.from_json(one.tally)
    tally.add(Tally.from_json(other.tally))
    return replace(
        one,
        rows=one.rows + other.rows,
        cells=one.cells + other.cells,
        quads=one.quads + other.quads,
        facts=tuple(map(_merged_fact, one.facts, other.facts)),
        tally=tally.to_json(),
        notices=one.notices + other.notices,
    )


def _merged_fact(one: ColumnFact, other: ColumnFact) -> ColumnFact:
    return replace(
        one,
        ranges=_sum(one.ranges, other.ranges),
        units=_sum(one.units, other.units),
        scales=_sum(one.scales, other.scales),
    )


def _sum(one: Mapping[_Key, int], other: Mapping[_Key, int]) -> dict[_Key, int]:
    return dict(Counter(one) + Counter(other))
