"""``kgtable ask``: an answer, the cells it rests on, and whether they bear it out."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from kgtable import api
from kgtable.answering.answer import Answer
from kgtable.answering.rendering import as_text, evidence_text, printable
from kgtable.answering.wording import local_name, one_line
from kgtable.cli.graph import kg_option

NOTHING_FOUND = 1
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
    queries = answer.retrieval.trace.get("sparql") or ()
    return "\n\n".join(map(str, queries)) or f"The method {answer.method} ran no SPARQL query."


COMMANDS = (ask,)
