"""The whole flow on the tables that ship with kgtable: read, convert, store, query, ask."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from kgtable import api
from kgtable.answering.rendering import as_text
from kgtable.resources import PACKAGE, read_shipped

SAMPLES = PACKAGE / "samples"
SHOWN_ROW = "<row/5>"
QUESTIONS = ("Which port had the highest fees in 2023?", "What was the total revenue in 2023?")


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the flow: what it shows, the command that does it, and what comes out."""

    title: str
    command: str
    output: str


def steps(folder: Path | str) -> Iterator[Step]:
    """Run the flow in an empty or new `folder`, which then holds ``samples/`` and the graph ``graph/``.

    Raises what `kgtable.build` raises, `StorageError` where the folder cannot be written.
    """
    home = Path(folder)
    tables, graph = home / "samples", home / "graph"
    shutil.copytree(SAMPLES, tables, dirs_exist_ok=True)
    yield Step("Six tables as people make them", "ls samples", "\n".join(_files(tables)))

    kg = api.build(tables, graph)
    assert kg.built is not None
    yield Step(
        "Read, typed and stored as a graph",
        "kgtable build samples --kg graph",
        kg.built.conversion.to_text(),
    )
    yield Step(
        "A row and its first number as Turtle",
        "kgtable convert samples/norrvik-income-statement.csv -o - --format turtle",
        _row_of_turtle(tables / "norrvik-income-statement.csv"),
    )
    query = "queries/examples/largest-amounts.rq"
    yield Step(
        "Asked in SPARQL", f"kgtable sparql -f {query} --kg graph", kg.sparql_text(read_shipped(query))
    )
    for question in QUESTIONS:
        answer = kg.ask(question, model="none")
        yield Step("Asked in plain words", f"kgtable ask '{question}' --kg graph", as_text(answer))
    yield Step(
        "And back: every cell as it was",
        "kgtable export --kg graph --table halden-segments --as csv -o -",
        kg.tables["halden-segments"].to_csv(),
    )


def _files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.suffix != ".json")


def _row_of_turtle(path: Path) -> str:
    out = BytesIO()
    api.convert(path, out, format="turtle")
    blocks = out.getvalue().decode().split("\n\n")
    first = next(index for index, block in enumerate(blocks) if block.startswith(SHOWN_ROW))
    return "\n\n".join(blocks[first : first + 2])
