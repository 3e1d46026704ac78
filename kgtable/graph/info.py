"""What a graph on disk holds, from its catalogue."""

from __future__ import annotations

from typing import Any

from kgtable.graph.catalogue import Catalogue
from kgtable.graph.generation import Generation
from kgtable.graph.tally import Tally


def catalogue_info(catalogue: Catalogue, generation: Generation) -> dict[str, Any]:
    """Counts of files, tables, rows, cells by kind, quads and units, what could not be read or is odd."""
    tables = catalogue.tables
    tally = Tally()
    for record in tables.values():
        tally.add(Tally.from_json(record.tally))
    counts = tally.to_json()
    return {
        "generation": generation.number,
        "base": generation.base,
        "files": len(catalogue.files),
        "tables": len(tables),
        "rows": sum(record.rows for record in tables.values()),
        "cells": tally.cells,
        "quads_of_tables": tally.predicates.total(),
        "kinds": counts["kinds"],
        "units": {unit: sum(sources.values()) for unit, sources in counts["units"].items()},
        "errors": [file.error for file in catalogue.files.values() if file.error],
        "notices": [str(notice) for record in tables.values() for notice in record.notices],
        "table_ids": list(tables),
    }
