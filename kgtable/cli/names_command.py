"""`kgtable names`: what columns without a header and tables without a title are probably called."""

from __future__ import annotations

import json
from pathlib import Path

import click

import kgtable
from kgtable.cli.common import Command, kg_option, note, say


@click.command(cls=Command)
@kg_option
@click.option("--model", help="Language model that proposes names; they are kept with the graph.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def names(kg: Path, model: str | None, as_json: bool) -> None:
    """Show names inferred for what has none.

    Columns without a telling header and tables without a title get a name from the columns and tables like them, or
    from a model. Headers stay as they are; a name is changed in the mapping, ontology.xlsx or .csv, column "inferred
    name".
    """
    if model is not None:
        note(f"{kg}: {kgtable.infer_names(kg, model=model):,} names proposed by {model}.")
    with kgtable.open(kg) as graph:
        found = graph.inferred_names
    if as_json:
        say(json.dumps(found.to_json(), ensure_ascii=False, indent=1))
        return
    for name in found:
        at = "title" if name.column is None else f"column {name.column + 1}"
        say(f"{name.table}, {at}: {name.name} ({name.confidence:.2f}, {name.basis})")
    if not len(found):
        say("no names are missing")


COMMANDS = (names,)
