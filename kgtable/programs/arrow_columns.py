"""pyarrow, in whose columns values go to DuckDB: a package of the extra ``sql``, imported when first needed."""

from __future__ import annotations

from typing import Any

from kgtable.errors import MissingExtraError


def arrow() -> Any:
    """The module ``pyarrow``. Raises `MissingExtraError` where it is not installed."""
    try:
        import pyarrow
    except ImportError as error:
        raise MissingExtraError("SQL", "sql") from error
    return pyarrow
