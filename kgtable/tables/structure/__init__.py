"""Where a table's header ends, which column names its rows, and how the rows are grouped."""

from __future__ import annotations

from kgtable.tables.structure.detect import detect_structure, make_table

__all__ = ["detect_structure", "make_table"]
