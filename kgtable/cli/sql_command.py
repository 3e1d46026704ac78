"""`kgtable sql`: queries in SQL over the tables of a graph."""

from __future__ import annotations

import json
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

import kgtable
from kgtable.cli.common import Command, kg_option, say, table_option, text_of_input
from kgtable.errors import UsageError
from kgtable.values.text import delimited_text

if TYPE_CHECKING:
    from kgtable.programs.sql_tables import SqlRowsFound

FORMATS = ("table", "json", "csv", "tsv")


@click.command(cls=Command)
@click.argument("query", required=False)
@click.option("--file", type=click.File("r", encoding="utf-8"), help="Read the query from a file.")
@kg_option
@click.option(
    "-f", "--format", type=click.Choice(FORMATS), default="table", show_default=True, help="Form of the rows."
)
@click.option(
    "--schema", is_flag=True, help="Print the columns of the tables instead, or of the one named by --table."
)
@table_option
def sql(
    query: str | None, file: IO[str] | None, kg: Path, format: str, schema: bool, table: str | None
) -> None:
    """Query the tables of a graph in SQL.

    One SELECT in DuckDB's SQL over tables with exact decimals, dates and texts; --schema tells their names. A
    query of - is read from standard input. Needs the extra sql.
    """
    with kgtable.open(kg) as graph:
        if schema:
            ids = [table] if table else list(graph.catalogue.tables)
            cards = [graph.sql_schema(id) for id in ids]
            for card in cards:
                say(json.dumps(card.to_json(), ensure_ascii=False) if format == "json" else str(card))
            return
        if (query is None) == (file is None):
            raise UsageError(
                "Give a query, or a file with one.", hint="Use - to read it from standard input."
            )
        text = file.read() if file is not None else text_of_input() if query == "-" else str(query)
        found = graph.sql_database.query(text)
    say(_printed(found, format), nl=False)
    if not found.complete:
        say(f"Only the first {len(found.rows):,} rows are shown.", err=True)


def _printed(found: SqlRowsFound, format: str) -> str:
    rows = [["" if value is None else str(value) for value in row] for row in found.rows]
    if format == "json":
        values = ((None if value is None else str(value) for value in row) for row in found.rows)
        objects = [dict(zip(found.names, row, strict=True)) for row in values]
        return json.dumps(objects, ensure_ascii=False) + "\n"
    if format == "table":
        from kgtable.answering.answer import aligned

        return aligned([found.names, *rows]) + "\n" if found.names else ""
    return delimited_text([found.names, *rows], "," if format == "csv" else "\t")


COMMANDS = (sql,)
