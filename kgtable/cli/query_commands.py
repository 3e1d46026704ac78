"""`kgtable run` and `kgtable sql`: programs and SQL queries that a person wrote, executed over a graph."""

from __future__ import annotations

import json
import sys
from contextlib import closing
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

import kgtable
from kgtable.cli.common import Command, kg_option, say, table_option, text_of_input
from kgtable.errors import ProgramCompilationError, UsageError
from kgtable.values.text import delimited_text

if TYPE_CHECKING:
    from kgtable.knowledge_graph import KnowledgeGraph
    from kgtable.programs.algebra import Program
    from kgtable.programs.compiled.sql_tables import SqlRowsFound


ENGINES = ("memory", "sparql", "sql")
SHOWN = ("program", "sparql", "sql")
NO_VALUE = 1


@click.command(cls=Command)
@click.argument("program")
@kg_option
@click.option(
    "--engine",
    type=click.Choice(ENGINES),
    default="memory",
    show_default=True,
    help="What computes the values: kgtable, the graph's store by SPARQL, or DuckDB by SQL.",
)
@click.option("--most", type=click.IntRange(1), help="How many rows to keep.  [default: 1000]")
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object.")
@click.option(
    "--show",
    type=click.Choice(SHOWN),
    multiple=True,
    help="Show the program as JSON, or as the query it becomes; repeatable.",
)
def run(program: str, kg: Path, engine: str, most: int | None, as_json: bool, show: tuple[str, ...]) -> None:
    """Execute a program, citing the cells it reads.

    PROGRAM is a file with JSON, the JSON itself, or - for standard input; docs/programs.md describes it.
    What --show adds stands below the result, or with --json in keys of the same name. The exit status is 1
    where the program gives no value.
    """
    from kgtable.answering.program_runs import read_given

    given = read_given(program_text(program))
    with kgtable.open(kg) as graph:
        result = graph.run(given, engine=engine, most=most)
        if as_json:
            added = {name: compiled(graph, given, name)[0] for name in show if name != "program"}
            click.echo(json.dumps({**result.to_json(), **added}, ensure_ascii=False))
        else:
            click.echo(str(result))
            for name in show:
                click.echo(f"\n{name}:\n{program_shown(graph, given, name)}")
    if not result.found:
        sys.exit(NO_VALUE)


def program_text(argument: str) -> str:
    """The JSON of a program: the argument itself, or what the file it names or standard input holds.

    Raises `UsageError` where there is no such file, or it cannot be read as text.
    """
    if argument == "-":
        return text_of_input()
    if not argument.strip():
        raise UsageError(
            "The program is empty.", hint="Give JSON, a file with JSON, or - for standard input."
        )
    if argument.lstrip().startswith(("{", "[", '"')):
        return argument
    try:
        return Path(argument).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise UsageError(
            f"There is no file {argument}.", hint="Give JSON, a file with JSON, or - for standard input."
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{argument} cannot be read: {error}.") from error


def program_shown(graph: KnowledgeGraph, program: Program, name: str) -> str:
    """A program as JSON, SPARQL or SQL; where it cannot be written in the language, the reason."""
    from kgtable.answering.program_runs import program_json

    if name == "program":
        return program_json(program)
    query, reason = compiled(graph, program, name)
    return reason if query is None else query.rstrip()


def compiled(graph: KnowledgeGraph, program: Program, language: str) -> tuple[str | None, str]:
    """The query that a program becomes; None where the language cannot say it, with the reason."""
    try:
        return graph.compile(program, language), ""
    except ProgramCompilationError as error:
        return None, str(error)


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
@click.option(
    "--engine",
    "sql_engine",
    metavar="URL",
    help="Write the tables into this SQL engine and query them there, as in sqlite:///tables.db; without a query, all.",
)
@table_option
def sql(
    query: str | None,
    file: IO[str] | None,
    kg: Path,
    format: str,
    schema: bool,
    sql_engine: str | None,
    table: str | None,
) -> None:
    """Query the tables of a graph in SQL.

    One SELECT in DuckDB's SQL over tables with exact decimals, dates and texts; --schema tells their names. A
    query of - is read from standard input. With --engine, the tables that the query names are written into that
    engine, and the query is in its SQL. Needs the extra sql.
    """
    from kgtable.programs.compiled.sql_engines import EngineTables

    with kgtable.open(kg) as graph:
        if schema:
            ids = [table] if table else list(graph.catalogue.tables)
            cards = [graph.sql_schema(id) for id in ids]
            for card in cards:
                say(json.dumps(card.to_json(), ensure_ascii=False) if format == "json" else str(card))
            return
        if sql_engine is not None and query is None and file is None:
            with closing(EngineTables(graph.sql_database, sql_engine)) as tables:
                count = tables.load([graph.sql_schema(table).id] if table else None)
            say(f"Wrote {count:,} table{'' if count == 1 else 's'} and their catalogue.")
            return
        if (query is None) == (file is None):
            raise UsageError(
                "Give a query, or a file with one.", hint="Use - to read it from standard input."
            )
        text = file.read() if file is not None else text_of_input() if query == "-" else str(query)
        if sql_engine is None:
            found = graph.sql_database.query(text)
        else:
            with closing(EngineTables(graph.sql_database, sql_engine)) as tables:
                found = tables.query(text)
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


COMMANDS = (run, sql)
