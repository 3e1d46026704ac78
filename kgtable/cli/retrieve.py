"""``kgtable retrieve``: the triples that may answer a question, or each question of a file."""

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
from kgtable.answering.wording import local_name, one_line
from kgtable.cli.graph import kg_option
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


COMMANDS = (retrieve,)
