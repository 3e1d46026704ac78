"""The commands that make, query, write, check and move graphs."""

from __future__ import annotations

import difflib
import json
import os
import shlex
import sys
import time
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click
from click.core import ParameterSource

import kgtable
from kgtable.building.catalogue import counted_rows
from kgtable.cli import common
from kgtable.cli.common import FORMATS, Command, ProgressLine, draw, note, say
from kgtable.errors import KgtableError, QueryError, UsageError
from kgtable.graph.terms import DEFAULT_BASE
from kgtable.storage import output_file
from kgtable.tables.model import spreadsheet_reference
from kgtable.values.text import harmless_text, single_line

if TYPE_CHECKING:
    from kgtable.building.conversion_report import ConversionReport
    from kgtable.index.inferred.relations import TableRelations


MOST_NOTES = 10
"""Notes on odd places in files that are printed; the report has all."""

MOST_TABLES = 50
"""Tables that `info` lists as text; its JSON has all."""

paths_argument = click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))


@click.command(cls=Command)
@paths_argument
@click.option("-o", "--output", required=True, help="The file to write; - for standard output.")
@click.option("-f", "--format", help=f"{FORMATS}; by default the suffix of the output tells.")
@click.option("--format-in", help="What standard input holds: csv, xlsx, html, …; by default its content tells.")
@common.mapping_option
@click.option("--base", default=DEFAULT_BASE, show_default=True, help="The IRI that generated IRIs begin with.")
@common.conversion_options
@common.report_option
def convert(paths: tuple[Path, ...], output: str, format: str | None, report: Path | None, **options: Any) -> None:
    """Write tables as RDF.

    The tables are in files and folders, or one file is on standard input (-). The exit status is 1 where a
    file could not be read as a table.
    """
    if output == "-" and format is None:
        raise UsageError("Standard output has no suffix.", hint="Say --format turtle, or another one.")
    target: Path | IO[bytes] = sys.stdout.buffer if output == "-" else Path(output)
    started = time.monotonic()
    with ProgressLine() as progress:
        done = kgtable.convert(common.standard_input(paths), target, format=format, progress=progress, **options)
    note(f"{done.summary}, {time.monotonic() - started:.1f} s.")
    _finish(done, report)


@click.command(cls=Command)
@paths_argument
@common.kg_option
@common.mapping_option
@click.option("--base", help="The IRI that generated IRIs begin with; kept from the last build.")
@click.option("--embedding", default="minilm", show_default=True, help="The model of the search index, or none.")
@common.conversion_options
@click.option("--model", help="Language model that is asked what is undecided about the tables.")
@click.option("--dry-run", is_flag=True, help="Estimate the usage without calling the model.")
@click.option("--json", "as_json", is_flag=True, help="Print what changed as one JSON object.")
@common.report_option
def build(
    paths: tuple[Path, ...],
    kg: Path,
    model: str | None,
    dry_run: bool,
    as_json: bool,
    report: Path | None,
    **options: Any,
) -> None:
    """Build a graph from tables, or bring it up to date.

    Only what changed is read again. A build that is interrupted leaves the graph as it was. The exit
    status is 1 where a file could not be read as a table.

    With --model, a model is asked about columns without a header, with an unsure meaning or without a unit, and
    tables without a title, once for each. What it proposes is in the mapping, and yields to what is printed or
    decided there; a model that fails leaves the graph as it is without one.
    """
    common.refuse_standard_input(paths)
    started = time.monotonic()
    with (
        ProgressLine() as progress,
        kgtable.build(paths, kg, model=model, dry_run=dry_run, progress=progress, **options) as graph,
    ):
        built = graph.built
    assert built is not None
    if as_json:
        say(json.dumps(built.to_json(), ensure_ascii=False))
    changes = built.changes
    note(
        f"{kg}: {len(changes.added):,} table{'s' * (len(changes.added) != 1)} added, {len(changes.changed):,} changed, "
        f"{len(changes.removed):,} removed, {changes.unchanged:,} unchanged."
    )
    note(f"{built.conversion.summary}, {time.monotonic() - started:.1f} s.")
    if common.verbosity() > 0:
        for stage, seconds in built.seconds.items():
            note(f"{stage}: {seconds:.1f} s")
    if built.annotation is not None:
        note(f"{model}: {built.annotation}{'; nothing was asked' if dry_run else ''}.")
        if built.annotation.failure is not None:
            note(f"Warning: the model failed, and the graph was built without it: {built.annotation.failure}")
    for message in built.messages:
        note(f"Warning: {message}")
    _finish(built.conversion, report)


def _finish(done: ConversionReport, path: Path | None) -> None:
    """Write the report where one is wanted, and print notes and what could not be read.

    Ends with 1 where a file could not be read.
    """
    if path is not None:
        if path.suffix == ".json":
            text = json.dumps(done.to_json(), ensure_ascii=False, indent=1) + "\n"
        else:  # for people, whose terminal may show it
            text = harmless_text(done.to_text())
        with output_file(path) as handle:
            handle.write(text.encode("utf-8"))
    for notice in done.notices[:MOST_NOTES]:
        note(f"Note: {notice}.")
    if len(done.notices) > MOST_NOTES:
        note(f"Note: {len(done.notices) - MOST_NOTES:,} more; --report FILE has them all.")
    for error in done.errors:
        note(f"Warning: {error}")
    if done.errors and not done.tables:
        raise UsageError("None of the files could be read as a table.")
    if done.errors:
        sys.exit(1)


@click.command(cls=Command)
@click.argument("query", required=False)
@click.option("--file", type=click.File("r", encoding="utf-8"), help="Read the query from a file.")
@common.kg_option
@click.option("-f", "--format", help="table, json, csv, tsv, xml; turtle for triples.  [default: table, turtle]")
@common.json_option
@common.defuse_option
@common.plot_option
def sparql(
    query: str | None, file: IO[str] | None, kg: Path, format: str | None, defuse: bool, plot: Path | None
) -> None:
    """Query a graph in SPARQL.

    A query of - is read from standard input. The prefixes csvw, data, dcterms, ex, kgt, qudt, rdfs, unit and
    xsd need no declaration.
    """
    if (query is None) == (file is None):
        hint = "Use - to read it from standard input."
        if format is not None and Path(format).is_file():
            hint = f"-f is the format: name the file with --file {format}"
        raise UsageError("Give a query, or a file with one.", hint=hint)
    if file is not None:
        with common.reading(file.name):
            text = file.read()
    else:
        text = common.text_of_input() if query == "-" else str(query)

    def made() -> str:
        with kgtable.open(kg) as graph:
            if plot is not None:
                draw(graph.chart(text), plot)
            return graph.sparql_text(text, format, defuse=defuse)

    say(text_made_apart(made), nl=False)


@click.command(cls=Command)
@common.kg_option
@click.option("-o", "--output", required=True, help="The file or folder to write; - for standard output.")
@common.table_option
@click.option(
    "-f", "--format", "--as", "format", help=f"csv, xlsx, {FORMATS}; by default the suffix of the output tells."
)
@common.defuse_option
def export(kg: Path, output: str, table: str | None, format: str | None, defuse: bool) -> None:
    """Write a graph, or one table, as RDF, CSV or XLSX.

    As CSV each table is a file: the output is a folder for all, or a file for one. As XLSX each table is a
    sheet, with the number formats it was read with.
    """
    with kgtable.open(kg) as graph:
        if output != "-":
            graph.export(output, table=table, format=format, defuse=defuse)
            return
        if format is None:
            raise UsageError("Standard output has no suffix.", hint="Say --format turtle, or another one.")
        if format.lower() in ("csv", "text/csv"):
            if table is None and len(graph.tables) != 1:
                raise UsageError("Standard output takes one table as CSV.", hint="Name it with --table.")
            say(graph.tables[table or next(iter(graph.tables))].to_csv(defuse=defuse), nl=False)
            return
        for piece in graph.rdf(format, table=table):
            say(piece, nl=False)


@click.command(cls=Command)
@click.argument("path", required=False, type=click.Path(path_type=Path))
@common.optional_kg_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def validate(context: click.Context, path: Path | None, kg: Path | None, as_json: bool) -> None:
    """Check a graph, an RDF file or tables by SHACL.

    The shapes are QUDT's and kgtable's. The exit status is 1 where a shape is violated.
    """
    if path is not None and context.get_parameter_source("kg") is ParameterSource.ENVIRONMENT:
        kg = None
    if (path is None) == (kg is None):
        raise UsageError("Give a file or folder, or a graph.", hint="Name the graph with --kg.")
    if kg is None:
        report = kgtable.validate(str(path))
    else:
        with kgtable.open(kg) as graph:
            report = graph.validate()
    say(json.dumps(report.to_json(), ensure_ascii=False, indent=1) if as_json else report)
    if not report.conforms:
        sys.exit(1)


@click.command(cls=Command)
@click.argument("table", required=False)
@common.kg_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--relations", is_flag=True, help="Show which tables can be joined or are parts of one.")
@click.option("--columns", is_flag=True, help="Show the role, measure kind and units of each column, and why.")
def info(table: str | None, kg: Path, as_json: bool, relations: bool, columns: bool) -> None:
    """Show what a graph holds, or how a TABLE is read."""
    with kgtable.open(kg) as graph:
        if table is not None:
            seen = graph.preview(table)
            lines = _reasons if columns else _preview_lines
            say(json.dumps(seen, ensure_ascii=False, indent=1) if as_json else "\n".join(lines(seen)))
            return
        facts = graph.info(relations=relations, columns=columns)
        if relations and not as_json:
            _say_relations(graph.relations)
            return
    if as_json:
        say(json.dumps(facts, ensure_ascii=False, indent=1))
        return
    if columns:
        for one in facts["table_list"]:
            say(f"{one['id']}:")
            for column in one["column_list"]:
                say(f"  {_meant(column)}")
        return
    texts = _OF_DOCUMENTS if facts.get("documents") else ()
    for name in (*_FACTS, *texts):
        value = facts.get(name)
        if value is not None:
            shown = f"{value:,}" if isinstance(value, int) else value
            say(f"{name.replace('_', ' ')}: {shown}")
    for name in ("kinds", "units"):
        if name in facts:
            counts = ", ".join(f"{key} {count:,}" for key, count in list(facts[name].items())[:12])
            say(f"{name}: {counts}")
    if facts.get("hypergraph"):
        about = facts["hypergraph"]
        say(f"hyperedges: {about['hyperedges']:,} ({', '.join(about['features'])})")
    for error in facts.get("errors", ()):
        say(single_line(f"not read: {error}"))
    for notice in facts.get("notices", ()):
        say(single_line(f"note: {notice}"))
    for one in facts["table_list"][:MOST_TABLES]:
        say(f"table {_described(one)}")
    if len(facts["table_list"]) > MOST_TABLES:
        say(f"… and {len(facts['table_list']) - MOST_TABLES:,} more tables; --json lists them all")


def _say_relations(relations: TableRelations) -> None:
    for union in relations.unions[:MOST_TABLES]:
        say(f"parts of one: {', '.join(union.tables)} ({union.score:.2f})")
    for join in relations.joins[:MOST_TABLES]:
        spelt = f", {join.fuzzy:.0%} of them spelt differently" if join.fuzzy else ""
        examples = f": {', '.join(join.examples)}" if join.examples else ""
        say(
            f"join: {join.left} -> {join.right} ({join.score:.2f}; {join.containment:.0%} contained, "
            f"{join.matched:,} values{spelt}{examples})"
        )
    more = max(len(relations.joins) - MOST_TABLES, 0) + max(len(relations.unions) - MOST_TABLES, 0)
    if more:
        say(f"… and {more:,} more relations; --json lists them all")
    if not relations:
        say("no tables are related")


@click.command(cls=Command)
@click.argument("table", required=False)
@click.argument("decisions", nargs=-1, metavar="[NAME=TEXT...]")
@common.kg_option
@click.option("--column", default="", metavar="NAME", help="Decide about this column of the table.")
@click.option("--apply", "is_applied", is_flag=True, help="Decide it, and bring the graph up to date.")
def decide(table: str | None, decisions: tuple[str, ...], kg: Path, column: str, is_applied: bool) -> None:
    """Show or make a decision about how a TABLE is read.

    Without a decision, what was decided is listed. The lines that one changes are printed; with --apply the graph is
    brought up to date with it. NAME is a column of the mapping's sheet "tables": "header rows", "label column", "skip
    rows", "note rows", title, unit, scale, encoding, "tables begin at". Rows count from 1. With --column it is a column
    of the mapping: role, "measure kind", unit, scale, variant, datatype, predicate, "inferred name". An empty TEXT
    takes a decision back.
    """
    if table is None or not decisions:
        with kgtable.open(kg) as graph:
            made = graph.decisions(table or "")
        for one in made:
            names = [one["table"] or "*", *(f"{name}={text}" for name, text in one["decided"].items())]
            about = ["--column", one["column"]] if one["column"] else []
            say(single_line(shlex.join(["kgtable", "decide", *names, *about])))
        return
    decided = {name.strip(): text for name, _, text in (one.partition("=") for one in decisions)}
    with kgtable.open(kg) as graph:
        before = _preview_lines(graph.preview(table))
        after = _preview_lines(graph.preview(table, decided, column=column))
    changed = [line for line in difflib.ndiff(before, after) if line[0] in "+-"]
    say("\n".join(changed) if changed else "Nothing changes.")
    if is_applied:
        with kgtable.decide(kg, table, decided, column=column) as graph:
            assert graph.built is not None
            changes = graph.built.changes
            again, gone = len(changes.added) + len(changes.changed), len(changes.removed)
            note(f"{kg}: {again:,} tables read again, {gone:,} gone.")
    else:
        note("This is a preview: --apply decides it.")


def _reasons(preview: dict[str, Any]) -> Iterator[str]:
    """Role, kind and units of each column, with what spoke for them."""
    for table in preview["tables"]:
        yield f"{table['id']}:"
        for column in table["columns"]:
            words = ", ".join(filter(None, (column["role"], column["measure kind"]))) or column["kind"]
            yield f"  {column['letters']} {column['name']}: {words} ({column['evidence']})"
            for unit in column["units"]:
                source = f"from the {unit['from']}, " if unit["from"] else ""
                count = f"{unit['cells']:,} {'cell' if unit['cells'] == 1 else 'cells'}"
                yield f"    {unit['label'] or 'no unit'}: {source}{count}"


def _preview_lines(preview: dict[str, Any]) -> list[str]:
    """What was found of each table: header rows, label column, columns with units, first rows with their kinds."""
    lines: list[str] = []
    for table in preview["tables"]:
        lines.append(table["id"] if table["title"] == table["id"] else f"{table['id']}: {table['title']}")
        lines.append(f"  header rows: {table['header_rows']}; label column: {table['label_column']}")
        for column in table["columns"]:
            units = ", ".join(unit["label"] or unit["name"] for unit in column["units"])
            scales = ", ".join(scale for scale in column["scales"] if scale != "none")
            read = [column["kind"], column["meaning"], units, scales and f"scale {scales}"]
            lines.append(f"  column {column['letters']} {column['name']}: {'; '.join(filter(None, read))}")
        for row in table["head"]:
            cells = " | ".join(" ".join(cell.split()) for cell in row["cells"])
            lines.append(f"  row {row['row']} ({row['kind']}): {cells}")
        lines += [f"  note: {text}" for text in table["notes"]]
    return lines


def _meant(column: dict[str, Any]) -> str:
    """One line on a column: position, name, role, kind, variant, units, evidence and confidence."""
    place = spreadsheet_reference(0, column["index"])[:-1]
    if "role" not in column:
        return f"{place} {column['name']}: not known"
    words = ", ".join(filter(None, (column["role"], column["kind"], column["variant"])))
    units = f" [{', '.join(column['units'])}]" if column["units"] else ""
    return f"{place} {column['name']}: {words}{units} ({', '.join(column['evidence'])} {column['confidence']:.2f})"


_FACTS = ("path", "endpoint", "dialect", "tables", "rows", "cells", "quads_of_tables", "base", "generation")
_OF_DOCUMENTS = ("documents", "passages", "quads_of_documents")


def _described(table: dict[str, Any]) -> str:
    """One line on a table: id, size, where it comes from, title."""
    source = table["file"] if table["sheet"] is None else f"{table['file']} [{table['sheet']}]"
    title = f", {table['title']}" if table["title"] else ""
    rows = counted_rows(table["rows"], table["totals"])
    return single_line(f"{table['id']}: {rows}, {table['columns']:,} columns, from {source}{title}")


@click.command(cls=Command)
@common.kg_option
@click.option("--clusters", default=10, show_default=True, help="Hyperedges for each feature.")
@click.option("--typical", default=100, show_default=True, help="Tables that stand for a hyperedge.")
def hypergraph(kg: Path, clusters: int, typical: int) -> None:
    """Write the hyperedges of T-RAG to a graph.

    Tables that are alike by meaning, shape or words are joined by kgt:hyperedge. Builds that follow keep them
    up to date.
    """
    with kgtable.write_hypergraph(kg, clusters=clusters, typical=typical) as graph:
        facts = graph.info()
    note(f"{kg}: {facts['hypergraph']['hyperedges']:,} hyperedges over {facts['tables']:,} tables.")


@click.command(cls=Command)
@click.argument("url")
@common.kg_option
@click.option("--store", metavar="URL", help="Its Graph Store Protocol address, to read whole graphs from.")
@common.dialect_option
@click.option("--base", help="The IRI that generated IRIs begin with; by default the endpoint is asked.")
@click.option(
    "--index", metavar="EMBEDDING", help="Read the tables and index them here, with this embedding, such as minilm."
)
def connect(url: str, kg: Path, store: str | None, dialect: str, base: str | None, index: str | None) -> None:
    """Connect a directory to a SPARQL endpoint.

    The commands that read a graph then ask the endpoint. KGTABLE_SPARQL_TOKEN is the token for it, if
    it needs one, KGTABLE_SPARQL_ORIGIN the origins (https://host) the token may be sent to.
    """
    with kgtable.connect(url, kg, store=store, dialect=dialect, base=base, index=index) as graph:
        note(f"{kg}: {len(graph.tables):,} tables at {url}.")


@click.command(cls=Command)
@click.argument("url")
@common.kg_option
@common.dialect_option
@click.option("--again", is_flag=True, help="Send everything, whatever was sent before.")
def push(url: str, kg: Path, dialect: str, again: bool) -> None:
    """Copy a graph to another engine.

    URL is its Graph Store Protocol address. Each table's graph and the description replace what is there
    under their names. A push that was interrupted goes on when it is run again; one after a build sends what changed.
    """
    with kgtable.open(kg) as graph, ProgressLine() as progress:
        sent = graph.push(url, dialect=dialect, again=again, progress=progress)
        note(f"{url}: {len(graph.tables):,} tables and the description, {sent:,} triples.")


@click.command(cls=Command)
@common.kg_option
@click.option("--model", help="Language model that is asked about the tables first, as with build --model.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def names(kg: Path, model: str | None, as_json: bool) -> None:
    """Show the names inferred for columns and tables without one.

    Columns without a meaningful header and tables without a title get a name from similar columns and tables, or
    from a model. Headers stay as they are; a name is changed in the mapping, ontology.xlsx or .csv, column "inferred
    name".
    """
    if model is not None:
        note(f"{model}: {kgtable.annotate(kg, model=model)}.")
    with kgtable.open(kg) as graph:
        found = graph.inferred_names
    if as_json:
        say(json.dumps(found.to_json(), ensure_ascii=False, indent=1))
        return
    for name in found:
        at = "title" if name.column is None else f"column {name.column + 1}"
        say(f"{name.table}, {at}: {name.name} ({name.sureness})")
    if not len(found):
        say("no names are missing")


MEMORY_SHARE = 0.5
"""Part of the machine's memory that the process of a query may take."""


def text_made_apart(make: Callable[[], str]) -> str:
    """Call `make` in a forked process and return its text; where the system cannot fork, call it in this one.

    What exhausts the memory, or crashes in native code, ends that process alone.

    Errors of kgtable arrive as they were raised. Raises `QueryError` where the process ends without a text.
    """
    if not hasattr(os, "fork"):
        return make()
    context = get_context("fork")
    received, sending = context.Pipe(duplex=False)
    child = context.Process(target=_send_text, args=(make, sending), daemon=True)
    child.start()
    sending.close()
    try:
        kind, text, hint = received.recv()
    except EOFError:
        raise QueryError(
            "The query took more memory than there is, or crashed the engine.",
            hint="Ask for less; if it is a simple query, the store may be damaged: build the graph again.",
        ) from None
    finally:
        child.kill()
        child.join()
    if kind is None:
        return str(text)
    error = kind.__new__(kind, text)
    KgtableError.__init__(error, text, hint=hint)
    raise error


def _send_text(make: Callable[[], str], sending: Connection) -> None:
    """Send the text, or the kind, message and hint of an error."""
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    memory = int(MEMORY_SHARE * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # what the engine prints when it runs out of memory
    try:
        sending.send((None, make(), ""))
    except KgtableError as error:
        sending.send((type(error), error.message, error.hint))


@click.command(cls=Command)
@common.optional_kg_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def doctor(kg: Path | None, as_json: bool) -> None:
    """Check the installation, and a graph.

    Nothing is changed, and no model is asked. The exit status is 1 where something is at fault.
    """
    found = kgtable.doctor(kg)
    say(json.dumps(found.to_json(), ensure_ascii=False, indent=1) if as_json else found.to_text())
    if not found.is_sound:
        sys.exit(1)


COMMANDS = (convert, build, sparql, export, validate, info, decide, hypergraph, connect, push, names, doctor)
