"""`kgtable retrieve` and `kgtable ask`: triples and answers for a question."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import click

from kgtable import api
from kgtable.answering.answer import Answer, as_text, evidence_text, printable
from kgtable.answering.context import local_name, one_line
from kgtable.cli.graph_commands import kg_option
from kgtable.config import load_settings
from kgtable.errors import UsageError
from kgtable.llm import connect
from kgtable.retrieval.result import Retrieval, ScoredTriple

FORMATS = ("table", "json", "jsonl", "csv", "turtle")
NOTHING_FOUND = 1
COLUMNS = ScoredTriple._fields


@click.command()
@click.argument("question", required=False)
@click.option(
    "--questions",
    type=click.File("r", encoding="utf-8"),
    help='JSON Lines with "question" and maybe "id"; - for standard input.',
)
@kg_option
@click.option("--method", default="hybrid", show_default=True, help="hybrid, bm25 or dense.")
@click.option("-k", type=click.IntRange(0), default=100, show_default=True, help="How many triples at most.")
@click.option("--model", help="A language model that names the labels for hybrid; by default none is asked.")
@click.option("--base-url", help="The endpoint of the model.")
@click.option("--rerank/--no-rerank", default=True, help="Whether the model orders the best tables too.")
@click.option("-f", "--format", type=click.Choice(FORMATS), help="By default table; jsonl for --questions.")
@click.option("-o", "--output", default="-", help="The file to write; - for standard output.")
def retrieve(
    question: str | None,
    questions: IO[str] | None,
    kg: Path,
    method: str,
    k: int,
    model: str | None,
    base_url: str | None,
    rerank: bool,
    format: str | None,
    output: str,
) -> None:
    """Find the triples of a graph that may answer a question, the best first.

    The exit status is 1 where nothing was found. With --questions one result a question is printed,
    in the order of the file.
    """
    if (question is None) == (questions is None):
        raise UsageError("Give a question, or a file with --questions.", hint="Not both.")
    graph = api.open(kg)
    llm = None if model is None else connect(load_settings(model=model, base_url=base_url))

    def found(text: str) -> Retrieval:
        return graph.retrieve(text, k, method, llm=llm, rerank=rerank)

    with click.open_file(output, "w", encoding="utf-8") as out:
        if questions is None:
            text = sys.stdin.read() if question == "-" else str(question)
            retrieval = found(text.strip())
            out.write(printed(retrieval, format or "table", graph))
            if not retrieval.triples:
                click.echo("Nothing in the graph fits the question.", err=True)
                sys.exit(NOTHING_FOUND)
            return
        for piece in batch(questions, format or "jsonl", found):
            out.write(piece)


def printed(retrieval: Retrieval, format: str, graph: api.KnowledgeGraph) -> str:
    """One question's triples in a format of `FORMATS`."""
    if format == "table":
        return "".join(_table(retrieval))
    if format == "turtle":
        return graph.rdf_of(retrieval.triples)
    if format == "csv":
        return _csv(COLUMNS, (triple._asdict() for triple in retrieval.triples))
    return _json_line(retrieval, None, indent=2 if format == "json" else None)


def batch(lines: IO[str], format: str, found: Callable[[str], Retrieval]) -> Iterator[str]:
    """The results for the questions of a JSON Lines file, piece by piece, each with its id."""
    if format not in ("json", "jsonl", "csv"):
        raise UsageError(f"Several questions cannot be printed as {format}.", hint="Use jsonl or csv.")
    if format == "csv":
        yield _csv(("id", *COLUMNS), ())
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        id, question = _question(line, number, lines.name)
        retrieval = found(question)
        if format == "csv":
            rows = ({"id": id, **triple._asdict()} for triple in retrieval.triples)
            yield _csv(("id", *COLUMNS), rows, header=False)
        else:
            yield _json_line(retrieval, id)


def _question(line: str, number: int, file: str) -> tuple[str, str]:
    try:
        given = json.loads(line)
        question = given["question"]
    except (ValueError, TypeError, KeyError) as error:
        raise UsageError(
            f'{file}, line {number}: not a JSON object with a "question".',
            hint='Each line is like {"id": "1", "question": "…"}.',
        ) from error
    if not isinstance(question, str):
        raise UsageError(f"{file}, line {number}: the question is no text.")
    return str(given.get("id", number)), question


def _json_line(retrieval: Retrieval, id: str | None, indent: int | None = None) -> str:
    return json.dumps(retrieval.to_json(id), ensure_ascii=False, indent=indent) + "\n"


def _csv(columns: tuple[str, ...], rows: Any, *, header: bool = True) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    if header:
        writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _table(retrieval: Retrieval) -> Iterator[str]:
    for triple in retrieval.triples:
        measure = " ".join(filter(None, (triple.scale, triple.unit)))
        words = [
            f"{triple.score:.4f}",
            f"{triple.table} r{triple.row} c{triple.column}",
            " | ".join((one_line(triple.subject), local_name(triple.predicate), one_line(triple.object))),
        ]
        if measure:
            words.append(f"({measure})")
        if triple.group:
            words.append(f"in {one_line(triple.group)}")
        yield "  ".join(words) + "\n"


SHOWN = ("prompt", "triples", "sparql")


@click.command()
@click.argument("question")
@kg_option
@click.option("--method", help="The retrieval method; by default hybrid.")
@click.option("-k", type=click.IntRange(1), help="How many triples to answer from.")
@click.option("--model", help="The language model; none answers by rules.")
@click.option(
    "--base-url", help="The endpoint of the model; its key is KGTABLE_API_KEY's with KGTABLE_BASE_URL."
)
@click.option("--rerank/--no-rerank", default=None, help="Whether the model orders the best tables.")
@click.option("--presentation", help="How triples are shown to the model.")
@click.option("--prompt", help="The prompt setting.")
@click.option("--trace", type=click.Path(path_type=Path), help="Write each prompt and reply to this file.")
@click.option("--json", "as_json", is_flag=True, help="Print the answer as one JSON object.")
@click.option("--show", type=click.Choice(SHOWN), multiple=True, help="Show what the answer was made from.")
def ask(question: str, kg: Path, as_json: bool, show: tuple[str, ...], **options: Any) -> None:
    """Answer a question from the graph; - reads it from standard input.

    The exit status is 1 where nothing was found.
    """
    asked = sys.stdin.read() if question == "-" else question
    graph = api.open(kg)
    if as_json:
        answer = graph.ask(asked, **options)
        click.echo(json.dumps(answer.to_json(), ensure_ascii=False))
    elif sys.stdout.isatty():
        answer = _stream(graph, asked, options)
    else:
        answer = graph.ask(asked, **options)
        click.echo(as_text(answer))
    for name in show:
        click.echo(f"\n{name}:\n{shown(answer, name)}", err=as_json)
    if not answer.found:
        sys.exit(NOTHING_FOUND)


def _stream(graph: api.KnowledgeGraph, question: str, options: dict[str, Any]) -> Answer:
    """Prints the answer as it arrives, then what it rests on."""
    said: list[str] = []

    def tell(piece: str) -> None:
        said.append(piece)
        click.echo(printable(piece), nl=False)

    answer = graph.ask(question, on_text=tell, **options)
    if said:
        click.echo()
    if answer.found and "".join(said).strip() == answer.text:
        click.echo(evidence_text(answer))
    else:
        click.echo(as_text(answer))
    return answer


def shown(answer: Answer, name: str) -> str:
    """What an answer was made from: its prompt, its triples by score, or the queries that found them."""
    if name == "prompt":
        return answer.prompt or "No prompt: no language model was asked."
    if answer.retrieval is None:
        return ""
    if name == "triples":
        lines = (
            f"{found.score:8.3f}  {found.table} r{found.row} c{found.column}  "
            f"{one_line(local_name(found.subject))} | {local_name(found.predicate)} | "
            f"{one_line(found.object)}"
            for found in answer.retrieval.triples
        )
        return "\n".join(lines)
    return "\n\n".join(answer.retrieval.queries) or f"The method {answer.method} ran no SPARQL query."


COMMANDS = (retrieve, ask)
