"""The commands about graphs in other engines: connect, push."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import IO

import click

from kgtable import api
from kgtable.building.conversion_report import ConversionReport
from kgtable.errors import UsageError
from kgtable.graph.remote.dialects import DIALECTS
from kgtable.graph.terms import DEFAULT_BASE
from kgtable.graph.writers import Format
from kgtable.storage import whole_file


class ProgressLine:
    """One line that is written over again; silent where standard error is not a terminal."""

    def __init__(self) -> None:
        self._shown = False
        self._watched = sys.stderr.isatty()

    def __call__(self, stage: str, done: int, total: int) -> None:
        if self._watched:
            self._shown = True
            click.echo(f"\r{stage}: {done:,} of {total:,}\x1b[K", nl=False, err=True)

    def close(self) -> None:
        """Removes the line."""
        if self._shown:
            click.echo("\r\x1b[K", nl=False, err=True)

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


MOST_NOTES = 10
"""Notes on odd places in files that are printed; the report has all."""

paths_argument = click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
kg_option = click.option(
    "--kg", required=True, type=click.Path(path_type=Path), help="The directory of the graph."
)
mapping_option = click.option(
    "--mapping", type=click.Path(path_type=Path), help="A CSV or XLSX file of decisions about columns."
)
workers_option = click.option(
    "--workers", type=click.IntRange(1), default=os.cpu_count() or 1, help="Processes that convert tables."
)
report_option = click.option(
    "--report", type=click.Path(path_type=Path), help="Write the conversion report here: .json, or text."
)


@click.command()
@paths_argument
@click.option("-o", "--output", required=True, help="The file to write; - for standard output.")
@click.option("-f", "--format", help=f"{', '.join(Format)}; by default the suffix of the output tells.")
@mapping_option
@click.option(
    "--base", default=DEFAULT_BASE, show_default=True, help="The IRI that generated IRIs begin with."
)
@workers_option
@report_option
def convert(
    paths: tuple[Path, ...],
    output: str,
    format: str | None,
    mapping: Path | None,
    base: str,
    workers: int,
    report: Path | None,
) -> None:
    """Write the tables in files and folders as RDF."""
    if output == "-" and format is None:
        raise UsageError("Standard output has no suffix.", hint="Say --format turtle, or another one.")
    target: Path | IO[bytes] = sys.stdout.buffer if output == "-" else Path(output)
    with ProgressLine() as progress:
        done = api.convert(
            paths, target, format=format, mapping=mapping, base=base, workers=workers, progress=progress
        )
    _finish(done, report)


@click.command()
@paths_argument
@kg_option
@mapping_option
@click.option("--base", help="The IRI that generated IRIs begin with; kept from the last build.")
@click.option(
    "--embedding", default="minilm", show_default=True, help="The model of the search index, or none."
)
@workers_option
@report_option
def build(
    paths: tuple[Path, ...],
    kg: Path,
    mapping: Path | None,
    base: str | None,
    embedding: str,
    workers: int,
    report: Path | None,
) -> None:
    """Bring a graph up to date with the tables in files and folders.

    Only what changed is read again. A build that is interrupted leaves the graph as it was.
    """
    with ProgressLine() as progress:
        built = api.build(
            paths, kg, mapping=mapping, base=base, embedding=embedding, workers=workers, progress=progress
        ).built
    assert built is not None
    changes = built.changes
    click.echo(
        f"{kg}: {len(changes.added):,} tables added, {len(changes.changed):,} changed, "
        f"{len(changes.removed):,} removed, {changes.unchanged:,} unchanged.",
        err=True,
    )
    for message in built.messages:
        click.echo(f"Warning: {message}", err=True)
    _finish(built.conversion, report)


def _finish(done: ConversionReport, path: Path | None) -> None:
    """Writes the report where one is wanted; tells what is odd in files, and what could not be read.

    Ends with 1 where a file could not be read.
    """
    if path is not None:
        text = json.dumps(done.to_json(), ensure_ascii=False, indent=1) + "\n"
        with whole_file(path) as handle:
            handle.write((text if path.suffix == ".json" else done.to_text()).encode("utf-8"))
    for notice in done.notices[:MOST_NOTES]:
        click.echo(f"Note: {notice}.", err=True)
    if len(done.notices) > MOST_NOTES:
        click.echo(f"Note: {len(done.notices) - MOST_NOTES:,} more; --report FILE has them all.", err=True)
    for error in done.errors:
        click.echo(f"Warning: {error}", err=True)
    if done.errors and not done.tables:
        raise UsageError("None of the files could be read as a table.")
    if done.errors:
        sys.exit(1)


@click.command()
@click.argument("query", required=False)
@click.option(
    "-f",
    "--file",
    type=click.File("r", encoding="utf-8"),
    help="Read the query from a file; - for standard input.",
)
@kg_option
@click.option("--format", help="table, json, csv, tsv, xml; turtle for triples.")
def sparql(query: str | None, file: IO[str] | None, kg: Path, format: str | None) -> None:
    """Ask a graph in SPARQL.

    The prefixes csvw, data, dcterms, ex, kgt, qudt, rdfs, unit and xsd need no declaration.
    """
    if (query is None) == (file is None):
        raise UsageError("Give a query, or a file with one.", hint="Use - to read it from standard input.")
    text = file.read() if file is not None else sys.stdin.read() if query == "-" else str(query)
    click.echo(api.open(kg).sparql_text(text, format), nl=False)


@click.command()
@kg_option
@click.option("-o", "--output", required=True, help="The file or folder to write; - for standard output.")
@click.option("--table", help="One table, by its id.")
@click.option("--as", "format", help=f"csv, {', '.join(Format)}; by default the suffix of the output tells.")
def export(kg: Path, output: str, table: str | None, format: str | None) -> None:
    """Write a graph, or one table of it, to files: as RDF, or back to CSV."""
    graph = api.open(kg)
    if output != "-":
        graph.export(output, table=table, format=format)
        return
    if format is None:
        raise UsageError("Standard output has no suffix.", hint="Say --as turtle, or another format.")
    if format == "csv":
        if table is None:
            raise UsageError("Standard output takes one table as CSV.", hint="Name it with --table.")
        click.echo(graph.tables[table].to_csv(), nl=False)
        return
    for piece in graph.rdf(format, table=table):
        click.echo(piece, nl=False)


@click.command()
@click.argument("path", required=False, type=click.Path(path_type=Path))
@click.option("--kg", type=click.Path(path_type=Path), help="The directory of the graph.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def validate(path: Path | None, kg: Path | None, as_json: bool) -> None:
    """Check a graph, an RDF file, or what tables become, with QUDT's shapes and kgtable's (SHACL)."""
    if (path is None) == (kg is None):
        raise UsageError("Give a file or folder, or a graph.", hint="Name the graph with --kg.")
    report = api.open(kg).validate() if kg is not None else api.validate(str(path))
    click.echo(json.dumps(report.to_json(), ensure_ascii=False, indent=1) if as_json else report)
    if not report.conforms:
        sys.exit(1)


@click.command()
@kg_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def info(kg: Path, as_json: bool) -> None:
    """Tell what a graph holds."""
    facts = api.open(kg).info()
    if as_json:
        click.echo(json.dumps(facts, ensure_ascii=False, indent=1))
        return
    shown = (
        "path",
        "endpoint",
        "dialect",
        "tables",
        "rows",
        "cells",
        "quads_of_tables",
        "base",
        "generation",
    )
    for name in shown:
        if name not in facts:
            continue
        value = facts[name]
        click.echo(f"{name.replace('_', ' ')}: {value:,}" if isinstance(value, int) else f"{name}: {value}")
    for name in ("kinds", "units"):
        if name not in facts:
            continue
        counts = ", ".join(f"{key} {count:,}" for key, count in list(facts[name].items())[:12])
        click.echo(f"{name}: {counts}")
    for error in facts.get("errors", ()):
        click.echo(f"not read: {error}")
    for notice in facts.get("notices", ()):
        click.echo(f"note: {notice}")


dialect_option = click.option(
    "--dialect",
    type=click.Choice(list(DIALECTS), case_sensitive=False),
    default="generic",
    show_default=True,
    help="The engine behind the address.",
)


@click.command()
@click.argument("url")
@kg_option
@click.option("--store", metavar="URL", help="Its Graph Store Protocol address, to read whole graphs from.")
@dialect_option
@click.option("--base", help="The IRI that generated IRIs begin with; by default the endpoint is asked.")
def connect(url: str, kg: Path, store: str | None, dialect: str, base: str | None) -> None:
    """Make a directory stand for the graph behind a SPARQL endpoint.

    The commands that read a graph then ask the endpoint. KGTABLE_SPARQL_TOKEN holds the token it may
    want, KGTABLE_SPARQL_ORIGIN the origins (https://host) the token may be sent to.
    """
    graph = api.connect(url, kg, store=store, dialect=dialect, base=base)
    click.echo(f"{kg}: {len(graph.tables):,} tables at {url}.", err=True)


@click.command()
@click.argument("url")
@kg_option
@dialect_option
def push(url: str, kg: Path, dialect: str) -> None:
    """Copy a graph to another engine, at its Graph Store Protocol address.

    Each table's graph and the description take the place of what was there under their names. A push
    that was broken off is simply run again.
    """
    graph = api.open(kg)
    with ProgressLine() as progress:
        sent = graph.push(url, dialect=dialect, progress=progress)
    click.echo(f"{url}: {len(graph.tables):,} tables and the description, {sent:,} triples.", err=True)


COMMANDS = (convert, build, sparql, export, validate, info, connect, push)
