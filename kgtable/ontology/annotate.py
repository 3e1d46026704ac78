"""Annotated tables: a table with the predicates, styles, units and scales of its columns.

The graph is encoded from them. A user's mapping takes precedence over inference, and that over a model's proposals.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from kgtable.ontology.cell_units import Override, QuantityResolver
from kgtable.ontology.column_stats import ColumnFact, display_name
from kgtable.ontology.legend import under_legend
from kgtable.ontology.mapping import ColumnMapping, UserMapping, column_mapping
from kgtable.ontology.meaning import SURE, bounded_columns, decide
from kgtable.ontology.naming import column_names, distinct_names, predicate_names
from kgtable.ontology.proposals import ColumnProposal
from kgtable.tables.column_profile import ColumnStyle, profile_columns
from kgtable.tables.model import Column, Meaning, MeasureKind, Role, Table
from kgtable.values.units import quantity_kind


@dataclass(frozen=True)
class AnnotatedTable:
    """A table, and for each of its ``grid.width`` columns the predicate and the style of its cells.

    A predicate is a local name, or a full IRI that a user gave. `generated` are the predicates as
    they would be without a user's mapping. `quantities` resolves unit, scale and period of its numbers.
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
    proposed: Mapping[int, ColumnProposal] = {}
    if mapping is not None:
        found = ((index, mapping.lookup(name, table.id)) for index, name in enumerate(names))
        decided = {index: decision for index, decision in found if decision}
        proposed = mapping.proposal(table.id, table.grid.source.sha256, names).columns
    profiled = [*under_legend(table, profile_columns(table)), *(ColumnStyle() for _ in columns[len(table.columns) :])]
    styles = tuple(
        styled(style, decided[index].datatype if index in decided else None) for index, style in enumerate(profiled)
    )
    overrides = {index: Override(decision.unit, decision.scale) for index, decision in decided.items()}
    stated = Override(*mapping.stated_unit(table.id)) if mapping is not None else None
    quantities = QuantityResolver(table, overrides, stated)
    bounded = bounded_columns(table, styles, quantities)
    quantities.bound(bounded)
    table = decide(table, styles, quantities, decided)
    generated = predicate_names(columns)
    if proposed:
        said = {index: column_mapping(column.values) for index, column in proposed.items()}
        for index, one in said.items():
            own = overrides.get(index, Override())
            if own.unit is not None:
                said[index] = replace(one, unit=None, scale=None)
            overrides[index] = replace(own, supposed=(said[index].unit, said[index].scale))
        quantities = QuantityResolver(table, overrides, stated)
        quantities.bound(bounded)
        table = _meant(table, said, proposed)
        generated = _predicates(columns, said)
        decided = {index: _named(decided.get(index), said.get(index)) for index in {*decided, *said}}
    return AnnotatedTable(
        table=table,
        predicates=_predicates(columns, decided),
        generated=generated,
        names=names,
        styles=styles,
        quantities=quantities,
    )


def _meant(table: Table, said: Mapping[int, ColumnMapping], proposed: Mapping[int, ColumnProposal]) -> Table:
    """The table with the proposed meaning of columns whose own is not sure."""
    columns = tuple(
        replace(column, meaning=_under(column.meaning, said[column.index], proposed[column.index].confidence))
        if column.meaning is not None and column.index in said
        else column
        for column in table.columns
    )
    return replace(table, structure=replace(table.structure, columns=columns))


def _under(found: Meaning, said: ColumnMapping, confidence: float) -> Meaning:
    role = Role.MEASURE if said.kind else Role(said.role or found.role)
    is_decided = found.confidence < SURE and (said.role is not None or said.kind is not None)
    if is_decided and role is not Role.MEASURE:
        return Meaning(role, evidence=("model",), confidence=confidence)
    if said.unit and found.quantity_kind in (None, "Count"):
        found = replace(found, quantity_kind=quantity_kind(said.unit))
    if is_decided:
        kind = MeasureKind(said.kind) if said.kind else found.kind
        return replace(found, role=role, kind=kind, evidence=("model",), confidence=confidence)
    return replace(found, evidence=(*found.evidence, "model")) if said.unit or said.scale else found


def _named(decided: ColumnMapping | None, said: ColumnMapping | None) -> ColumnMapping:
    """A decision with the proposed predicate, where the user has neither chosen one nor another name."""
    decision = decided or ColumnMapping()
    if said is None or decision.predicate or (decision.name and decision.name != said.name):
        return decision
    return replace(decision, predicate=said.predicate)


def _all_columns(table: Table) -> tuple[Column, ...]:
    further = (Column(index) for index in range(len(table.columns), table.grid.width))
    return (*table.columns, *further)


def _predicates(columns: tuple[Column, ...], decided: Mapping[int, ColumnMapping]) -> tuple[str, ...]:
    """A full IRI given to several columns goes to the first: numbering it would invent an IRI."""
    given: list[str] = []
    for column, name in zip(columns, column_names(columns), strict=True):
        decision = decided.get(column.index)
        predicate = decision.predicate if decision else None
        if predicate is None or ("://" in predicate and predicate in given):
            predicate = name
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
