"""Cells and areas of cells as text in the names of spreadsheets, such as `B2:B4`, and back."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby, product
from operator import itemgetter

from kgtable.tables.model import Area, Position, spreadsheet_reference

_REFERENCE = re.compile(r"([A-Z]+)([1-9][0-9]*)(?::([A-Z]+)([1-9][0-9]*))?")


def areas_text(areas: Iterable[Area]) -> str:
    """The areas in order, separated by spaces.

    >>> areas_text([Area(0, 1, 0, 2), Area(3, 0, 3, 0)])
    'B1:C1 A4'
    """
    return " ".join(map(_area_text, areas))


def _area_text(area: Area) -> str:
    first = spreadsheet_reference(area.top, area.left)
    last = spreadsheet_reference(area.bottom, area.right)
    return first if first == last else f"{first}:{last}"


def parse_areas(text: str) -> tuple[Area, ...]:
    """The areas that `areas_text` wrote; raises `ValueError` for any other text."""
    return tuple(map(_parse_area, text.split()))


def _parse_area(text: str) -> Area:
    match = _REFERENCE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a cell or an area of cells")
    left, top, right, bottom = match.groups()
    return Area(int(top) - 1, _column(left), int(bottom or top) - 1, _column(right or left))


def _column(letters: str) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - ord("A") + 1
    return number - 1


def positions_text(positions: Iterable[Position]) -> str:
    """Positions column by column, runs in a column as one area.

    >>> positions_text({(1, 1), (2, 1), (3, 1), (0, 0)})
    'A1 B2:B4'
    """
    return areas_text(_runs(sorted(positions, key=lambda position: (position[1], position[0]))))


def _runs(positions: Iterable[Position]) -> Iterator[Area]:
    # In a run, the number of a row rises as its place does.
    numbered = ((column, row - place, row) for place, (row, column) in enumerate(positions))
    for (column, _), run in groupby(numbered, key=itemgetter(0, 1)):
        rows = [row for _, _, row in run]
        yield Area(rows[0], column, rows[-1], column)


def parse_positions(text: str) -> Iterator[Position]:
    """Every position in the areas of a text."""
    for area in parse_areas(text):
        yield from product(range(area.top, area.bottom + 1), range(area.left, area.right + 1))
