"""What a workbook says of a sheet beyond the values of its cells."""

from __future__ import annotations

from dataclasses import dataclass, field

from lxml import etree

from kgtable.tables.model import Area, Position


@dataclass(slots=True)
class SheetDetails:
    """The details of one sheet. `bottom` and `right` bound its cells that hold something; -1: none."""

    formats: dict[Position, str] = field(default_factory=dict)
    """Number formats other than General."""
    indents: dict[Position, int] = field(default_factory=dict)
    errors: dict[Position, str] = field(default_factory=dict)
    """Error values such as ``#N/A``."""
    unresolved: list[Position] = field(default_factory=list)
    """Formulas that were saved without a result."""
    header_cells: set[Position] = field(default_factory=set)
    """First rows of tables and filters that the author marked."""
    merged: list[Area] = field(default_factory=list)
    bottom: int = -1
    right: int = -1


def forget(element: etree._Element) -> None:
    """Frees what an element that has been read holds, and the siblings before it."""
    element.clear()
    parent = element.getparent()
    while parent is not None and parent[0] is not element:
        del parent[0]
