"""The two tables of the thesis's Figures 5 (hierarchical) and 6 (normal)."""

from __future__ import annotations

from types import MappingProxyType

from kgtable.tables.model import Column, Context, Grid, Row, Source, Structure, Table

ACCOUNTS = (
    ("Account", "2016", "2017", "2018"), ("Net Income", "615", "585", "595"), ("Profit", "671", "654", "695"),
    ("Costs", "562", "678", "706"), ("Sales", "1233", "1332", "1401"),
)  # fmt: skip
PENSIONS = (
    ("Year", "Pension", "Retiree medical and other"), ("2011", "574", "173"), ("2012", "602", "170"),
    ("2013", "665", "169"), ("2014", "729", "170"), ("2015", "785", "173"),
)  # fmt: skip


def with_header(rows: tuple[Row, ...], context: Context | None = None, **structure: object) -> Table:
    """A table whose first row is the header."""
    columns = tuple(Column(index, (name,)) for index, name in enumerate(rows[0]))
    found = Structure(columns=columns, header=(0,), body_start=1, **structure)  # type: ignore[arg-type]
    return Table(Grid("t", Source("t.csv"), rows, len(rows[0]), context or Context()), found)


def hierarchical(context: Context | None = None) -> Table:
    """Figure 5: the first body row, shaded in print, heads the rows below it."""
    return with_header(ACCOUNTS, context, groups=frozenset({1}), parents=MappingProxyType({2: 1, 3: 1, 4: 1}))


def normal() -> Table:
    """Figure 6."""
    return with_header(PENSIONS)
