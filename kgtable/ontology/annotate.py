"""Annotated tables: a table with the predicates, styles, units and scales of its columns.

The graph is encoded from them. A user's mapping wins over what is inferred.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from kgtable.ontology.column_stats import ColumnFact, display_name
from kgtable.ontology.mapping import ColumnMapping, UserMapping
from kgtable.ontology.meaning import bounded_columns, decide
from kgtable.ontology.naming import distinct_names, predicate_name, predicate_names
from kgtable.ontology.quantities import Override, QuantityResolver
from kgtable.tables.column_profile import ColumnStyle, profile_columns
from kgtable.tables.model import Column, Table


@dataclass(frozen=True)
class AnnotatedTable:
    """A table, and for each of its ``grid.width`` columns the predicate and the style of its cells.

    A predicate is a local name, or a full IRI that a user gave. `generated` are the predicates as
    they would be without a mapping. `quantities` resolves unit, scale and period of its numbers.
    """

    table: Table
    predicates: tuple[str, ...]
    generated: tuple[str, ...]
    names: tuple[str, ...]
    styles: tuple[ColumnStyle, ...]
    quantities: QuantityResolver

    def fact(
        self, index: int, ranges: Mapping[str, int], units: Mapping[str, int], scales: Mapping[int, int]
    ) -> ColumnFact:
        """The statistics of a converted column: cells by range, quantities by unit and by power of ten."""
        return ColumnFact(
            self.table.id,
            index,
            self.names[index],
            self.predicates[index],
            ranges,
            units,
            scales,
            self.generated[index],
            self.table.columns[index].meaning if index < len(self.table.columns) else None,
        )


def annotate(table: Table, mapping: UserMapping | None = None) -> AnnotatedTable:
    """The table with its predicates, styles and quantities, under a user's mapping if there is one."""
    columns = _all_columns(table)
    names = tuple(display_name(column) for column in columns)
    decided: dict[int, ColumnMapping] = {}
    if mapping is not None:
        found = ((index, mapping.lookup(name, table.id)) for index, name in enumerate(names))
        decided = {index: decision for index, decision in found if decision}
    profiled = [*profile_columns(table), *(ColumnStyle() for _ in columns[len(table.columns) :])]
    styles = tuple(
        styled(style, decided[index].datatype if index in decided else None) for index, style in enumerate(profiled)
    )
    quantities = QuantityResolver(
        table,
        {index: Override(decision.unit, decision.scale) for index, decision in decided.items()},
        Override(*mapping.stated_unit(table.id)) if mapping is not None else None,
    )
    quantities.bound(bounded_columns(table, styles, quantities))
    return AnnotatedTable(
        table=decide(table, styles, quantities, decided),
        predicates=_predicates(columns, decided),
        generated=predicate_names(columns),
        names=names,
        styles=styles,
        quantities=quantities,
    )


def _all_columns(table: Table) -> tuple[Column, ...]:
    further = (Column(index) for index in range(len(table.columns), table.grid.width))
    return (*table.columns, *further)


def _predicates(columns: tuple[Column, ...], decided: Mapping[int, ColumnMapping]) -> tuple[str, ...]:
    """A full IRI given to several columns goes to the first: numbering it would invent an IRI."""
    given: list[str] = []
    for column in columns:
        decision = decided.get(column.index)
        predicate = decision.predicate if decision else None
        if predicate is None or ("://" in predicate and predicate in given):
            predicate = predicate_name(column.path, column.index)
        given.append(predicate)
    return distinct_names(given)


def styled(style: ColumnStyle, datatype: str | None) -> ColumnStyle:
    """The style under a datatype of a mapping: text, number, date, year, boolean or duration."""
    if datatype is None:
        return style
    return replace(
        style,
        is_identifier=datatype == "text",
        is_year=datatype == "year",
        is_boolean=datatype == "boolean",
        is_duration=datatype == "duration",
        is_clock=style.is_clock and datatype == "date",
        cache={},
    )
