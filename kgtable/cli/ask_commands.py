"""`kgtable retrieve`, `ask`, `chat`, `run` and `sql`: questions, programs and SQL queries over a graph."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

import kgtable
from kgtable.cli import common
from kgtable.cli.common import HEADLINE, Command, draw, lines_of, note, say, text_of_input, text_output
from kgtable.cli.folder_graphs import graph_for
from kgtable.config import DEFAULT_K, load_settings
from kgtable.errors import LLMError, LLMReplyError, ProgramCompilationError, UsageError, spreadsheet_reference
from kgtable.storage import output_file
from kgtable.values.text import delimited_text, harmless_text

if TYPE_CHECKING:
    from kgtable.answering.answer import Answer
    from kgtable.knowledge_graph import KnowledgeGraph
    from kgtable.programs.algebra import Program
    from kgtable.programs.compiled.sql_tables import SqlRowsFound
    from kgtable.retrieval.result import Retrieval


FORMATS = ("table", "json", "jsonl", "csv", "turtle")
NOTHING_FOUND = 1


@click.command(cls=Command)
@click.argument("question", required=False)
@click.option(
    "--questions",
    type=click.File("r", encoding="utf-8"),
    help='JSON Lines with "question" and, if wanted, "id"; - for standard input.',
)
@common.kg_option
@common.method_option
@common.tables_option
@click.option("-k", type=click.IntRange(0), help=f"How many triples at most.  [default: {DEFAULT_K}]")
@click.option("--model", help="A language model that names the labels for hybrid.  [default: none]")
@click.option("--base-url", help="The endpoint of the model.")
@click.option("--rerank/--no-rerank", default=True, help="Let the model order the best tables too.")
@click.option(
    "--explain", is_flag=True, help="Show labels, expansion, candidates and scores, with the time of each step."
)
@click.option("-f", "--format", type=click.Choice(FORMATS), help="[default: table; with --questions jsonl]")
@common.json_option
@click.option("-o", "--output", default="-", help="The file to write; - for standard output.")
def retrieve(
    question: str | None,
    questions: IO[str] | None,
    kg: Path,
    method: str,
    tables: tuple[str, ...],
    k: int,
    model: str | None,
    base_url: str | None,
    rerank: bool,
    explain: bool,
    format: str | None,
    output: str,
) -> None:
    """Find the triples that may answer a question.

    A question of - is read from standard input. With --questions one result is printed for each, in the
    order of the file. --explain is printed above a table, in the key "explanation" of JSON, and otherwise on
    standard error. The exit status is 1 where nothing was found.
    """
    if (question is None) == (questions is None):
        raise UsageError("Give a question, or a file with --questions.", hint="Not both.")
    with kgtable.open(kg) as graph:
        llm = None
        if model is not None or base_url is not None:
            from kgtable.llm import connect

            llm = connect(load_settings(model=model, base_url=base_url))

        def found(text: str) -> Retrieval:
            return graph.retrieve(text, k, method, llm=llm, rerank=rerank, tables=tables or None)

        if questions is not None:
            with graph.index_faults(), text_output(output) as write:
                for piece in batch(questions, format or "jsonl", found, explain=explain):
                    write(piece)
            return
        text = text_of_input() if question == "-" else str(question)
        retrieval = found(text.strip())
        with graph.index_faults(), text_output(output) as write:  # triples are read as they are printed
            write(printed(retrieval, format or "table", graph, explain=explain))
    if not retrieval.triples:
        note(str(retrieval.trace.get("refused") or "Nothing in the graph fits the question."))
        sys.exit(NOTHING_FOUND)


def printed(retrieval: Retrieval, format: str, graph: KnowledgeGraph, *, explain: bool = False) -> str:
    """One question's triples in a format of `FORMATS`."""
    if format in ("json", "jsonl"):
        return _json(retrieval, None, explain=explain, indent=2 if format == "json" else None)
    if explain:
        explanation = retrieval.explain()
        if format == "table":  # which lists the triples anyway
            return "".join((f"{replace(explanation, triples=())}\n\n", *_table(retrieval)))
        say(f"{explanation}\n", err=True)
    if format == "table":
        return "".join(_table(retrieval))
    if format == "turtle":
        return graph.rdf_of(retrieval.triples)
    return _csv(_columns(), (triple._asdict() for triple in retrieval.triples))


def batch(lines: IO[str], format: str, found: Callable[[str], Retrieval], *, explain: bool = False) -> Iterator[str]:
    """The results for the questions of a JSON Lines file, piece by piece, each with its id."""
    if format not in ("json", "jsonl", "csv"):
        raise UsageError(f"Several questions cannot be printed as {format}.", hint="Use jsonl or csv.")
    columns = ("id", *_columns())
    if format == "csv":
        yield _csv(columns, ())
    for number, line in enumerate(lines_of(lines), start=1):
        if not line.strip():
            continue
        id, question = _question(line, number, lines.name)
        retrieval = found(question)
        if format == "csv":
            if explain:
                say(f"{id}: {retrieval.explain()}\n", err=True)
            rows = ({"id": id, **triple._asdict()} for triple in retrieval.triples)
            yield _csv(columns, rows, header=False)
        else:
            yield _json(retrieval, id, explain=explain)


def _question(line: str, number: int, file: str) -> tuple[str, str]:
    try:
        given = json.loads(line)
        question = given["question"]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise UsageError(
            f'{file}, line {number}: not a JSON object with a "question".',
            hint='Each line is like {"id": "1", "question": "…"}.',
        ) from error
    if not isinstance(question, str):
        raise UsageError(f"{file}, line {number}: the question is not text.")
    return str(given.get("id", number)), question


def _json(retrieval: Retrieval, id: str | None, *, explain: bool, indent: int | None = None) -> str:
    content = retrieval.to_json(id)
    if explain:
        content["explanation"] = retrieval.explain().to_json()
    return json.dumps(content, ensure_ascii=False, indent=indent) + "\n"


def _columns() -> tuple[str, ...]:
    from kgtable.retrieval.result import ScoredTriple

    return ScoredTriple._fields


def _csv(columns: tuple[str, ...], rows: Any, *, header: bool = True) -> str:
    lines = ([row[column] for column in columns] for row in rows)
    return delimited_text((columns, *lines) if header else lines)


def _table(retrieval: Retrieval) -> Iterator[str]:
    from kgtable.answering.prompting import local_name, one_line

    for triple in retrieval.triples:
        measure = " ".join(filter(None, (triple.scale, triple.unit)))
        words = [
            f"{triple.score:.4f}",
            f"{triple.table} {spreadsheet_reference(triple.row, triple.column)}",
            " | ".join((one_line(triple.subject), local_name(triple.predicate), one_line(triple.object))),
        ]
        if measure:
            words.append(f"({measure})")
        if triple.group:
            words.append(f"in {one_line(triple.group)}")
        yield "  ".join(words) + "\n"


ROW_FORMATS = ("table", "json", "csv", "tsv")
SHOWN = ("program", "sparql", "prompt", "triples", "queries")


_FOLDER = click.Path(path_type=Path, exists=True)
answering_options = common.option_group(
    common.optional_kg_option,
    common.tables_option,
    click.option("--method", shell_complete=common.complete_methods, help="The retrieval method.  [default: hybrid]"),
    click.option("-k", type=click.IntRange(1), help=f"How many triples to answer from.  [default: {DEFAULT_K}]"),
    click.option("--model", help="The language model; none answers by rules."),
    click.option(
        "--base-url",
        help="The endpoint of the model. A key is sent only to the endpoint it was set for: "
        "KGTABLE_API_KEY to KGTABLE_BASE_URL.",
    ),
    click.option("--rerank/--no-rerank", default=None, help="Let the model order the best tables."),
    common.presentation_option,
    common.prompt_option,
    click.option(
        "--second-reading/--no-second-reading",
        default=None,
        help="Ask the model again in another way, and call an answer verified where both agree.",
    ),
    click.option("--max-cost", type=click.FloatRange(0), help="The dollars that the model may cost at most."),
    click.option("--trace", type=click.Path(path_type=Path), help="Write each prompt and reply to this file."),
)
"""The options of `ask` and `chat`: the graph, the method and the model."""


@click.command(cls=Command)
@click.argument("question")
@click.argument("folder", required=False, type=_FOLDER)
@answering_options
@click.option("--dry-run", is_flag=True, default=None, help="Estimate the usage without calling the model.")
@click.option("--json", "as_json", is_flag=True, help="Print the answer as one JSON object.")
@click.option(
    "--show",
    type=click.Choice(SHOWN),
    multiple=True,
    help="Show the answer's program as JSON or SPARQL, the prompt, the triples found or the queries that found "
    "them; repeatable.",
)
@click.option("--program", is_flag=True, help="Print the answer's program alone, as JSON that kgtable run takes.")
@click.option("--cells", is_flag=True, help="Print every cited cell, not the first five.")
@common.plot_option
def ask(
    question: str,
    folder: Path | None,
    kg: Path | None,
    as_json: bool,
    program: bool,
    cells: bool,
    show: tuple[str, ...],
    plot: Path | None,
    **options: Any,
) -> None:
    """Answer a question, citing the cells it rests on.

    With a FOLDER of tables, its graph is built first, or brought up to date: in --kg, or in the user's cache.
    A question of - is read from standard input. Where no language model is configured, the answer is computed
    by rules. The exit status is 1 where nothing was found, 2 where a model gave no reply that can be used.
    """
    from kgtable.answering.answer import as_text, spent_text

    asked = text_of_input() if question == "-" else question
    options["tables"] = options["tables"] or None
    with graph_for(folder, kg) as graph:
        if program:
            answer = graph.ask(asked, **options)
            if answer.program is not None:
                click.echo(shown(answer, "program", graph))
            else:
                note("No program: the answer was not computed by a single one." if answer.found else as_text(answer))
        elif as_json:
            answer = graph.ask(asked, **options)
            query = compiled(graph, answer.program)[0] if "sparql" in show and answer.program is not None else None
            say(json.dumps(answer.to_json() | ({"sparql": query} if "sparql" in show else {}), ensure_ascii=False))
        elif sys.stdout.isatty() and not options["dry_run"]:
            answer = _stream(graph, asked, options, cells)
        else:
            answer = graph.ask(asked, **options)
            if options["dry_run"] and answer.usage.get("requests"):
                say(f"{answer.model} would take at most {spent_text(answer.usage)}.")
            elif not answer.failure:
                say(as_text(answer, cells), head=HEADLINE)
        for name in show:
            if not (as_json and name in ("program", "sparql")):  # which the JSON has
                say(f"\n{name}:\n{shown(answer, name, graph)}", err=as_json)
    if answer.failure:
        raise LLMReplyError(answer.failure)
    if plot is not None and answer.found:
        draw(answer.plot(), plot)
    if not (answer.found and (answer.program or not program)) and not options["dry_run"]:
        sys.exit(NOTHING_FOUND)


@click.command(cls=Command)
@click.argument("folder", required=False, type=_FOLDER)
@answering_options
@click.option("--json", "as_json", is_flag=True, help="Print each answer as one JSON object on a line.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write the conversation as Markdown.")
def chat(folder: Path | None, kg: Path | None, as_json: bool, output: Path | None, **options: Any) -> None:
    """Answer questions one after another; each may build on those before.

    Reads one question per line from standard input, up to its end or an empty line. "And in 2024?", "the same for Oslo"
    and "why?" are understood from the questions before. With a FOLDER of tables, its graph is built first, or
    brought up to date: in --kg, or in the user's cache.
    """
    from kgtable.answering.answer import as_text, spent_text

    options["tables"] = options["tables"] or None
    with graph_for(folder, kg) as graph:
        talk = graph.chat(**options)
        for line in _said():
            try:
                answer = talk.ask(line, on_question=lambda whole: note(f"({whole})"))
            except (LLMError, UsageError) as error:  # the next question may be answered
                note(f"Error: {error}")
                continue
            if as_json:
                say(json.dumps(answer.to_json(), ensure_ascii=False))
            else:
                say(f"{as_text(answer)}\n", head=HEADLINE)
    if output is not None:
        with output_file(output) as handle:
            handle.write(talk.to_markdown().encode("utf-8", "surrogatepass"))
    if talk.usage.requests:
        note(f"{len(talk.turns)} questions: {spent_text(talk.usage.to_json())}.")


def _said() -> Iterator[str]:
    """The lines of standard input, to its end or an empty line."""
    while True:
        if sys.stdin.isatty():
            click.echo("> ", nl=False, err=True)
        line = sys.stdin.readline()
        if not line.strip():
            return
        yield line


def _stream(graph: KnowledgeGraph, question: str, options: dict[str, Any], cells: bool) -> Answer:
    """Print the answer as it arrives, then its evidence."""
    from kgtable.answering.answer import as_text, evidence_text

    said: list[str] = []

    def tell(piece: str) -> None:
        said.append(piece)
        say(harmless_text(piece), nl=False)

    answer = graph.ask(question, on_text=tell, **options)
    if said:
        say()
    if answer.found and "".join(said).strip() == answer.text:
        say(evidence_text(answer, cells))
    elif not answer.failure:
        say(as_text(answer, cells), head=HEADLINE)
    return answer


def shown(answer: Answer, name: str, graph: KnowledgeGraph) -> str:
    """The basis of an answer as text: its program, its prompt, its triples by score, or what found them."""
    from kgtable.answering.prompting import local_name, one_line

    if name in ("program", "sparql"):
        if answer.program is None:
            return "No program: the answer was not computed by a single one."
        return program_shown(graph, answer.program, name)
    if name == "prompt":
        return answer.prompt or "No prompt: no language model was asked."
    if answer.retrieval is None:
        return ""
    if name == "triples":
        lines = (
            f"{found.score:8.3f}  {found.table} {spreadsheet_reference(found.row, found.column)}  "
            f"{one_line(local_name(found.subject))} | {local_name(found.predicate)} | "
            f"{one_line(found.object)}"
            for found in answer.retrieval.triples
        )
        return "\n".join(lines)
    return "\n\n".join(answer.retrieval.queries) or f"The method {answer.method} ran no SPARQL query."


@click.command(cls=Command)
@click.argument("program")
@common.kg_option
@click.option(
    "--engine",
    type=click.Choice(("memory", "sparql")),
    default="memory",
    show_default=True,
    help="What computes the values: kgtable, or the graph's store by SPARQL.",
)
@click.option("--most", type=click.IntRange(1), help="How many rows to keep.  [default: 1000]")
@click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON object.")
@click.option(
    "--show",
    type=click.Choice(("program", "sparql")),
    multiple=True,
    help="Show the program as JSON, or as the query it becomes; repeatable.",
)
@common.plot_option
def run(
    program: str, kg: Path, engine: str, most: int | None, as_json: bool, show: tuple[str, ...], plot: Path | None
) -> None:
    """Execute a program, citing the cells it reads.

    PROGRAM is a file with JSON, the JSON itself, or - for standard input; docs/programs.md describes it.
    The output of --show is below the result, or with --json in keys of the same name. The exit status is 1
    if the program returns no value.
    """
    from kgtable.answering.program_runs import read_given

    given = read_given(program_text(program))
    with kgtable.open(kg) as graph:
        result = graph.run(given, engine=engine, most=most)
        if as_json:
            added = {name: compiled(graph, given)[0] for name in show if name != "program"}
            click.echo(json.dumps({**result.to_json(), **added}, ensure_ascii=False))
        else:
            click.echo(str(result))
            for name in show:
                click.echo(f"\n{name}:\n{program_shown(graph, given, name)}")
        if plot is not None:
            draw(result.plot(), plot)
    if not result.found:
        sys.exit(NOTHING_FOUND)


def program_text(argument: str) -> str:
    """The JSON of a program: the argument itself, or what the file it names or standard input holds.

    Raises `UsageError` where there is no such file, or it cannot be read as text.
    """
    if argument == "-":
        return text_of_input()
    if not argument.strip():
        raise UsageError("The program is empty.", hint="Pass JSON, a file with JSON, or - for standard input.")
    if argument.lstrip().startswith(("{", "[", '"')):
        return argument
    try:
        return Path(argument).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise UsageError(
            f"There is no file {argument}.", hint="Pass JSON, a file with JSON, or - for standard input."
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{argument} cannot be read: {error}.") from error


def program_shown(graph: KnowledgeGraph, program: Program, name: str) -> str:
    """A program as JSON or SPARQL; where it does not map to SPARQL, the reason."""
    from kgtable.answering.program_runs import program_json

    if name == "program":
        return program_json(program)
    query, reason = compiled(graph, program)
    return reason if query is None else query.rstrip()


def compiled(graph: KnowledgeGraph, program: Program) -> tuple[str | None, str]:
    """The SPARQL that a program becomes; None if it does not map, with the reason."""
    try:
        return graph.compile(program), ""
    except ProgramCompilationError as error:
        return None, str(error)


@click.command(cls=Command)
@click.argument("query", required=False)
@click.option("--file", type=click.File("r", encoding="utf-8"), help="Read the query from a file.")
@common.kg_option
@click.option(
    "-f", "--format", type=click.Choice(ROW_FORMATS), default="table", show_default=True, help="Form of the rows."
)
@common.json_option
@click.option("--schema", is_flag=True, help="Print the columns of the tables instead, or of the one named by --table.")
@common.table_option
def sql(query: str | None, file: IO[str] | None, kg: Path, format: str, schema: bool, table: str | None) -> None:
    """Query the tables of a graph in SQL.

    One SELECT in DuckDB's SQL over tables with exact decimals, dates and texts; --schema tells their names. A
    query of - is read from standard input. Needs the extra sql.
    """
    with kgtable.open(kg) as graph:
        if schema:
            for card in [graph.sql_schema(table)] if table else graph.sql_schema():
                say(json.dumps(card.to_json(), ensure_ascii=False) if format == "json" else str(card))
            return
        if (query is None) == (file is None):
            raise UsageError("Give a query, or a file with one.", hint="Use - to read it from standard input.")
        text = file.read() if file is not None else text_of_input() if query == "-" else str(query)
        found = graph.sql_database.query(text)
    say(_printed(found, format), nl=False)
    if not found.complete:
        say(f"Only the first {len(found.rows):,} rows are shown.", err=True)


def _printed(found: SqlRowsFound, format: str) -> str:
    if format != "table":
        return found.to_text(format)
    from kgtable.answering.answer import aligned

    rows = (["" if value is None else str(value) for value in row] for row in found.rows)
    return aligned([found.names, *rows]) + "\n" if found.names else ""


COMMANDS = (retrieve, ask, chat, run, sql)
