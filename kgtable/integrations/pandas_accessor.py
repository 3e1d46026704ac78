"""``frame.kg``: a pandas data frame as a knowledge graph, once this module was imported.

Interface: https://pandas.pydata.org, ``pandas.api.extensions.register_dataframe_accessor``.
"""

from __future__ import annotations

import csv
import json
import weakref
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd

from kgtable.api import build
from kgtable.errors import ArgumentError
from kgtable.knowledge_graph import KnowledgeGraph, PathLike


@pd.api.extensions.register_dataframe_accessor("kg")
class FrameAccessor:
    """Accessor ``frame.kg`` of a data frame."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self._frame = frame

    def to_graph(
        self,
        directory: PathLike | None = None,
        *,
        name: str = "frame",
        title: str | None = None,
        index: bool = False,
        embedding: str = "minilm",
    ) -> KnowledgeGraph:
        """Build a graph of the frame as one table and open it.

        `directory` is where the graph is kept; None keeps it for as long as the graph is used. `name` becomes
        the table's id, `title` (or ``frame.attrs["title"]``) its title; with `index` the index is written as the
        first columns. Levels of column names become rows of the header. Missing values become empty
        cells, numbers stay as exact as they print. Raises as `kgtable.build`.
        """
        if not name or name != Path(name).name:
            raise ArgumentError(f"to_graph: name takes a plain name for the table, not {name!r}.")
        kept = TemporaryDirectory(prefix="kgtable-frame-") if directory is None else None
        with TemporaryDirectory(prefix="kgtable-frame-") as folder:
            path = Path(folder, f"{name}.csv")
            with path.open("w", encoding="utf-8", newline="") as file:
                csv.writer(file).writerows(rows_of(self._frame, index=index))
            shown = title or self._frame.attrs.get("title")
            if shown:
                path.with_suffix(".json").write_text(json.dumps({"title": str(shown)}), encoding="utf-8")
            graph = build(folder, Path(kept.name, "graph") if kept else directory or "", embedding=embedding)
        if kept is not None:
            weakref.finalize(graph, kept.cleanup)
        return graph


def rows_of(frame: pd.DataFrame, *, index: bool = False) -> Iterator[list[str]]:
    """A frame as rows of texts: the header's levels, then the body.

    >>> list(rows_of(pd.DataFrame({"port": ["Norrvik", None], "fees": [1.5, 2.0]})))
    [['port', 'fees'], ['Norrvik', '1.5'], ['', '2.0']]
    """
    shown = frame.reset_index() if index else frame
    columns = shown.columns
    for level in range(columns.nlevels):
        yield [_text(value) for value in columns.get_level_values(level)]
    for row in shown.itertuples(index=False, name=None):
        yield [_text(value) for value in row]


def _text(value: Any) -> str:
    if value is None or (pd.api.types.is_scalar(value) and pd.isna(value)):
        return ""
    if isinstance(value, pd.Timestamp) and value == value.normalize() and value.tz is None:
        return value.date().isoformat()
    return str(value)
