"""What lets tools use an endpoint without being told about the dataset: prefixes and example queries.

`sh:declare` with ``sh:prefix`` and ``sh:namespace``, and `sh:SPARQLExecutable` with a comment, are
what query editors read from the endpoint itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from kgtable.graph.blocks import Block, Pair
from kgtable.graph.terms import RDF_TYPE, RDFS, XSD, Namespaces, quote, text_literal
from kgtable.resources import shipped_path

SH = "http://www.w3.org/ns/shacl#"

_FORM = re.compile(r"(?im)^\s*(SELECT|ASK|CONSTRUCT|DESCRIBE)\b")


@dataclass(frozen=True, slots=True)
class Example:
    """An example query: its file's stem, the first line of its comment, the rest, and the query."""

    name: str
    title: str
    comment: str
    query: str

    @property
    def form(self) -> str:
        """``select``, ``ask``, ``construct`` or ``describe``."""
        match = _FORM.search(self.query)
        return match[1].lower() if match else "select"


@cache
def examples() -> tuple[Example, ...]:
    """The example queries in ``queries/examples``, by file name."""
    paths = sorted(shipped_path("queries/examples").glob("*.rq"))
    return tuple(parse_example(path.stem, path.read_text(encoding="utf-8")) for path in paths)


def parse_example(name: str, text: str) -> Example:
    """An example from the text of its file: comment lines, then the query.

    >>> parse_example("all", "# Everything\\n# Slow.\\nSELECT * { ?s ?p ?o }\\n").title
    'Everything'
    """
    lines = text.strip().splitlines()
    head = 0
    while head < len(lines) and lines[head].startswith("#"):
        head += 1
    comments = [line.lstrip("# ").rstrip() for line in lines[:head]]
    return Example(
        name, comments[0] if comments else name, " ".join(comments[1:]), "\n".join(lines[head:]).strip()
    )


def self_description(names: Namespaces) -> Iterator[Block]:
    """The dataset's prefixes and its example queries."""
    dataset = f"<{names.dataset_iri}>"
    yield dataset, [(f"<{SH}declare>", f"<{names.dataset_iri}/prefix/{name}>") for name in names.prefixes]
    for name, namespace in names.prefixes.items():
        yield (
            f"<{names.dataset_iri}/prefix/{name}>",
            [
                (RDF_TYPE, f"<{SH}PrefixDeclaration>"),
                (f"<{SH}prefix>", text_literal(name)),
                (f"<{SH}namespace>", f"{quote(namespace)}^^<{XSD}anyURI>"),
            ],
        )
    for example in examples():
        yield f"<{names.dataset_iri}/example/{example.name}>", _example_pairs(example, dataset)


def _example_pairs(example: Example, dataset: str) -> list[Pair]:
    form = example.form
    pairs = [
        (RDF_TYPE, f"<{SH}SPARQLExecutable>"),
        (RDF_TYPE, f"<{SH}SPARQL{form.capitalize()}Executable>"),
        (f"<{RDFS}label>", text_literal(example.title)),
        (f"<{RDFS}comment>", text_literal(example.comment or example.title)),
        (f"<{SH}prefixes>", dataset),
        (f"<{SH}{form}>", text_literal(example.query)),
    ]
    return pairs
