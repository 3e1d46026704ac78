"""The default graph: description of the dataset, its provenance, prefixes and example queries.

`sh:declare` with ``sh:prefix`` and ``sh:namespace``, and `sh:SPARQLExecutable` with a comment, are
what query editors read from the endpoint itself.

VoID (what is in it), DCAT (how to get it) and PROV (which file, which content) in terms other tools
read. It contains no date: the same files yield the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import dropwhile, groupby, takewhile

from pyoxigraph import Triple

from kgtable.building.catalogue import DocumentRecord, TableRecord
from kgtable.graph.tally import Tally
from kgtable.graph.terms import (
    DCAT,
    DCTERMS,
    KGT,
    PROV,
    RDF_TYPE,
    RDFS,
    VOID,
    XSD,
    Block,
    Namespaces,
    Pair,
    encode,
    integer,
    text_literal,
    typed,
)
from kgtable.resources import __version__, shipped_path

SH = "http://www.w3.org/ns/shacl#"

_FORM = re.compile(r"(?im)^\s*(SELECT|ASK|CONSTRUCT|DESCRIBE)\b")


@dataclass(frozen=True, slots=True)
class ExampleQuery:
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
def examples(folder: str = "examples") -> tuple[ExampleQuery, ...]:
    """The example queries in a folder of ``queries``, by file name."""
    paths = sorted(shipped_path(f"queries/{folder}").glob("*.rq"))
    return tuple(parse_example(path.stem, path.read_text(encoding="utf-8")) for path in paths)


def parse_example(name: str, text: str) -> ExampleQuery:
    """An example from the text of its file: comment lines, then the query.

    >>> parse_example("all", "# Everything\\n# Slow.\\nSELECT * { ?s ?p ?o }\\n").title
    'Everything'
    """
    lines = text.strip().splitlines()
    title, *comments = [line.lstrip("# ").rstrip() for line in takewhile(_is_comment, lines)] or [name]
    return ExampleQuery(name, title, " ".join(comments), "\n".join(dropwhile(_is_comment, lines)).strip())


def _is_comment(line: str) -> bool:
    return line.startswith("#")


def self_description(names: Namespaces) -> Iterator[Block]:
    """The dataset's prefixes and its example queries."""
    dataset = f"<{names.dataset_iri}>"
    yield dataset, [(f"<{SH}declare>", f"<{names.dataset_iri}/prefix/{name}>") for name in names.prefixes]
    for name, namespace in names.prefixes.items():
        pairs = [
            (RDF_TYPE, f"<{SH}PrefixDeclaration>"),
            (f"<{SH}prefix>", text_literal(name)),
            (f"<{SH}namespace>", typed(namespace, f"{XSD}anyURI")),
        ]
        yield f"<{names.dataset_iri}/prefix/{name}>", pairs
    for example in examples():
        pairs = [
            (RDF_TYPE, f"<{SH}SPARQLExecutable>"),
            (RDF_TYPE, f"<{SH}SPARQL{example.form.capitalize()}Executable>"),
            (f"<{RDFS}label>", text_literal(example.title)),
            (f"<{RDFS}comment>", text_literal(example.comment or example.title)),
            (f"<{SH}prefixes>", dataset),
            (f"<{SH}{example.form}>", text_literal(example.query)),
        ]
        yield f"<{names.dataset_iri}/example/{example.name}>", pairs


_SD_NAME = "<http://www.w3.org/ns/sparql-service-description#name>"


def dataset_blocks(
    tables: Iterable[TableRecord], names: Namespaces, documents: Iterable[DocumentRecord] = ()
) -> Iterator[Block]:
    """The dataset with its partitions, then each table and document as a part of it with its source."""
    documents = sorted(documents, key=lambda document: document.id)
    tables = sorted(tables, key=lambda table: table.id)
    tally = Tally()
    for counts in (*(table.tally for table in tables), *(text.tally for text in documents)):
        tally.add(Tally.from_json(counts))
    dataset = f"<{names.dataset_iri}>"
    classes, properties = sorted(tally.classes), sorted(tally.predicates)
    pairs: list[Pair] = [
        (RDF_TYPE, f"<{VOID}Dataset>"),
        (RDF_TYPE, f"<{DCAT}Dataset>"),
        (RDF_TYPE, f"<{PROV}Entity>"),
        (f"<{VOID}triples>", integer(tally.predicates.total())),
        (f"<{VOID}classes>", integer(len(classes))),
        (f"<{VOID}properties>", integer(len(properties))),
        (f"<{VOID}uriSpace>", text_literal(names.data)),
        (f"<{VOID}vocabulary>", f"<{names.ex[:-1]}>"),
        (f"<{VOID}vocabulary>", f"<{KGT[:-1]}>"),
        (f"<{PROV}wasGeneratedBy>", f"<{names.base}conversion>"),
    ]
    pairs += ((f"<{VOID}classPartition>", f"<{names.dataset_iri}/class/{encode(iri)}>") for iri in classes)
    pairs += ((f"<{VOID}propertyPartition>", f"<{names.dataset_iri}/property/{encode(iri)}>") for iri in properties)
    pairs += ((f"<{DCTERMS}hasPart>", f"<{names.table_iri(table.id)}>") for table in tables)
    pairs += ((f"<{DCTERMS}hasPart>", f"<{names.document_iri(text.id)}>") for text in documents)
    yield dataset, pairs
    pairs = [(RDF_TYPE, f"<{PROV}Activity>"), (f"<{PROV}wasAssociatedWith>", f"<{names.base}kgtable>")]
    yield f"<{names.base}conversion>", pairs
    pairs = [(RDF_TYPE, f"<{PROV}SoftwareAgent>"), (f"<{RDFS}label>", text_literal(f"kgtable {__version__}"))]
    yield f"<{names.base}kgtable>", pairs
    for iri in classes:
        pairs = [(f"<{VOID}class>", f"<{iri}>"), (f"<{VOID}entities>", integer(tally.classes[iri]))]
        yield f"<{names.dataset_iri}/class/{encode(iri)}>", pairs
    for iri in properties:
        pairs = [(f"<{VOID}property>", f"<{iri}>"), (f"<{VOID}triples>", integer(tally.predicates[iri]))]
        yield f"<{names.dataset_iri}/property/{encode(iri)}>", pairs
    yield from self_description(names)
    yield from _sources((*tables, *documents), names)
    for table in tables:
        iri = names.table_iri(table.id)
        sheet = [] if table.sheet is None else [(f"<{KGT}sheet>", text_literal(table.sheet))]
        yield f"<{iri}>", [*_graph_pairs(table, iri, names), *sheet]
    for document in documents:
        iri = names.document_iri(document.id)
        yield f"<{iri}>", _graph_pairs(document, iri, names)


def _source_iri(path: str, names: Namespaces) -> str:
    return f"<{names.data}file/{'/'.join(map(encode, path.split('/')))}>"


def _sources(tables: Iterable[TableRecord | DocumentRecord], names: Namespaces) -> Iterator[Block]:
    described = {(table.path, table.media_type, table.sha256) for table in tables}
    for path, media_type, sha256 in sorted(described):
        pairs: list[Pair] = [
            (RDF_TYPE, f"<{PROV}Entity>"),
            (RDF_TYPE, f"<{DCAT}Distribution>"),
            (f"<{RDFS}label>", text_literal(path)),
            (f"<{DCAT}mediaType>", text_literal(media_type)),
        ]
        if sha256:
            pairs.append((f"<{KGT}sha256>", text_literal(sha256)))
        yield _source_iri(path, names), pairs


def _graph_pairs(record: TableRecord | DocumentRecord, iri: str, names: Namespaces) -> list[Pair]:
    """The statements about the named graph of a table or document."""
    return [
        (RDF_TYPE, f"<{VOID}Dataset>"),
        (RDF_TYPE, f"<{PROV}Entity>"),
        (f"<{DCTERMS}title>", text_literal(record.title or record.id)),
        (_SD_NAME, f"<{iri}>"),
        (f"<{VOID}triples>", integer(record.quads)),
        (f"<{PROV}wasDerivedFrom>", _source_iri(record.path, names)),
    ]


def ontology_blocks(triples: Iterable[Triple]) -> Iterator[Block]:
    """An ontology without blank nodes, from triples grouped by subject."""
    for subject, group in groupby(triples, key=lambda triple: triple.subject):
        yield str(subject), [(str(triple.predicate), str(triple.object)) for triple in group]
