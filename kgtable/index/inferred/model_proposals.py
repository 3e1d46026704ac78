"""Ask a model what is undecided about tables: names, roles, kinds of measures, units and scales, titles.

One request shows a table's header and first rows; tables with the same headers share it. What was proposed is kept in
the graph directory (`kgtable.ontology.proposals`), and nothing is asked again until what is shown of a table changes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

from kgtable.building.catalogue import Catalogue, TableRecord
from kgtable.building.generations import GraphDirectory
from kgtable.errors import LLMError, LLMReplyError, MappingError
from kgtable.graph.store import EmbeddedStore
from kgtable.graph.table_content import TableContent
from kgtable.graph.table_source import TableReader
from kgtable.graph.terms import Namespaces
from kgtable.index.graph_index import GraphIndex, indexed_contents
from kgtable.llm.protocol import LLM, Message, Request, Usage
from kgtable.ontology.inferred_names import SURE_FROM, is_missing_header, is_missing_title, telling_words
from kgtable.ontology.mapping_rows import INFERRED, KIND, PARSERS, ROLE
from kgtable.ontology.meaning import SURE
from kgtable.ontology.naming import predicate_name
from kgtable.ontology.proposals import ColumnProposal, TableProposal, load_proposals, save_proposals
from kgtable.ontology.quantities import UNKNOWN
from kgtable.resources import PACKAGE
from kgtable.tables.model import MeasureKind, Role
from kgtable.text.passages import count_tokens
from kgtable.values.text import single_line

ROWS: Final = 5
"""Rows of a table that are shown."""

LONGEST_CELL: Final = 80
LONGEST_NAME: Final = 80

MOST_COLUMNS: Final = 60
"""Columns of a table that are shown."""

MOST_CALLS: Final = 1_000
"""Requests of one build; the next one goes on."""

WORKERS: Final = 8

_TEXTS = ("name", "role", "kind", "unit", "scale")
_COLUMN: dict[str, Any] = {
    "type": "object",
    "properties": {
        "column": {"type": "integer"},
        **{name: {"type": "string"} for name in _TEXTS},
        "confidence": {"type": "number"},
    },
    "required": ["column", *_TEXTS, "confidence"],
    "additionalProperties": False,
}
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"columns": {"type": "array", "items": _COLUMN}, "title": {"type": "string"}},
    "required": ["columns", "title"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class AnnotationReport:
    """What asking a model about tables came to, or would come to.

    Attributes:
        tables: how many tables something is undecided about that the model was not asked about before.
        calls: how many requests these take, or took.
        prompt_tokens: how many tokens the requests have, estimated before they are sent.
        proposals: how many columns and titles the model proposed something for.
        usage: requests, tokens and dollars as the model told them.
        failure: the error with which the model failed, after which nothing more was asked.
        messages: what went wrong otherwise.
    """

    tables: int = 0
    calls: int = 0
    prompt_tokens: int = 0
    proposals: int = 0
    usage: Usage = field(default_factory=Usage)
    failure: LLMError | None = None
    messages: tuple[str, ...] = ()

    def __str__(self) -> str:
        if not self.calls:
            return "nothing new to ask"
        calls = f"{self.calls:,} calls for {self.tables:,} tables"
        if not self.usage.requests:
            return f"{calls}, about {self.prompt_tokens:,} tokens"
        read, written, cost = self.usage.prompt_tokens, self.usage.completion_tokens, self.usage.cost
        tokens = "" if read is None or written is None else f", {read + written:,} tokens"
        spent = "" if cost is None else f", ${cost:.4f}"
        return f"{calls}, {self.proposals:,} proposals{tokens}{spent}"


@dataclass(frozen=True)
class SampledTable:
    """A table's id, title, headers, and its first rows as texts."""

    id: str
    title: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, content: TableContent) -> SampledTable:
        """The first rows and columns of a table's content."""
        width = min(len(content.columns), MOST_COLUMNS)
        rows = []
        for row in islice((row for row in content.rows if not row.is_header), ROWS):
            texts = [""] * width
            for column, cell in row.cells:
                if column < width:
                    texts[column] = single_line(cell.text)[:LONGEST_CELL]
            rows.append(tuple(texts))
        title = ". ".join(filter(None, (content.title, *content.heading, content.caption)))
        headers = tuple(single_line(name)[:LONGEST_CELL] for name, _ in content.columns[:width])
        return cls(content.id, single_line(title)[: 4 * LONGEST_CELL], headers, tuple(rows))

    def digest(self, model: str) -> str:
        """A hash of the model and of what it is shown."""
        shown = json.dumps([model, self.title, self.headers, self.rows])
        return hashlib.sha256(shown.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True)
class UndecidedTable:
    """A table with the columns that have no name, no sure meaning, no unit; `untitled` where it has no title."""

    record: TableRecord
    sample: SampledTable
    unnamed: frozenset[int]
    unclear: frozenset[int]
    unmeasured: frozenset[int]
    untitled: bool

    @classmethod
    def of(
        cls, record: TableRecord, before: TableProposal | None, read: Callable[[str], TableContent]
    ) -> UndecidedTable | None:
        """What is undecided about a table, leaving aside what a model proposed `before`; None where all is decided."""
        unnamed, unclear, unmeasured = set(), set(), set()
        for fact in record.facts[:MOST_COLUMNS]:
            meaning = fact.meaning
            if is_missing_header(fact.name):
                unnamed.add(fact.index)
            if meaning is None:
                continue
            if meaning.confidence < SURE or meaning.evidence == ("model",):
                unclear.add(fact.index)
            is_plain = meaning.kind in (MeasureKind.COUNT, MeasureKind.SCORE) and fact.index not in unclear
            known = {} if before is None or fact.index not in before.columns else before.columns[fact.index].values
            lacks_unit = next(iter(fact.units), "") == UNKNOWN or "unit" in known or "scale" in known
            if lacks_unit and meaning.role is Role.MEASURE and not is_plain:
                unmeasured.add(fact.index)
        if not (unnamed or unclear or unmeasured or is_missing_title(record.title, record.id)):
            return None
        sample = SampledTable.of(read(record.id))
        filled = {at for at in range(len(sample.headers)) if any(row[at] for row in sample.rows)}
        names, meanings, units = (frozenset(found & filled) for found in (unnamed, unclear, unmeasured))
        table = cls(record, sample, names, meanings, units, is_missing_title(sample.title, record.id))
        return table if table.columns or table.untitled else None

    @property
    def columns(self) -> list[int]:
        """The columns about which something is undecided."""
        return sorted(self.unnamed | self.unclear | self.unmeasured)

    @property
    def group(self) -> tuple[str, ...]:
        """The headers; a table that lacks some stands alone."""
        return (self.record.id, *self.sample.headers) if self.unnamed else self.sample.headers


def _request(group: Sequence[UndecidedTable]) -> Request:
    """The request about tables with the same headers, of which the first is shown."""
    sample = group[0].sample
    wanted = []
    for at in range(len(sample.headers)):
        parts = ["name"] * any(at in one.unnamed for one in group)
        parts += ["role and kind"] * any(at in one.unclear for one in group)
        parts += ["unit and scale"] * any(at in one.unmeasured for one in group)
        wanted += [f"  column {at + 1}: {', '.join(parts)}"] if parts else []
    wanted += ["  title"] * any(one.untitled for one in group)
    headers = (
        f"[column {at + 1}]" if is_missing_header(name) else f"{at + 1}: {name}"
        for at, name in enumerate(sample.headers)
    )
    data = "\n".join(" | ".join(line) for line in (headers, *sample.rows)).replace("<<<", "<<").replace(">>>", ">>")
    title = (sample.title or telling_words(sample.id) or "none").replace("<<<", "<<").replace(">>>", ">>")
    said = "\n".join(("To decide:", *wanted, f"Title: <<<{title}>>>", "Columns:", "<<<", data, ">>>"))
    system = (PACKAGE / "index" / "inferred" / "prompts" / "describe_table.txt").read_text(encoding="utf-8")
    messages = (Message(role="system", content=system), Message(role="user", content=said))
    return Request(messages, schema=_SCHEMA, stage="annotate", max_tokens=min(300 + 60 * len(wanted), 4_000))


def _proposal(table: UndecidedTable, asked: str, reply: dict[str, Any]) -> TableProposal:
    """What a reply says of what is undecided about a table; what makes no sense is left out."""
    names = {fact.index: fact.name for fact in table.record.facts}
    columns: dict[int, ColumnProposal] = {}
    for found in reply.get("columns", ()):
        at, sure = found["column"] - 1, found["confidence"]
        sure = round(min(sure, 0.99), 2) if 0 < sure < 2 else 0.0
        if at in columns or at not in table.columns or not sure:
            continue
        values = {}
        name = single_line(found["name"])[:LONGEST_NAME].strip()
        if at in table.unnamed and not is_missing_header(name):
            values = {INFERRED: name, "predicate": predicate_name([name], at)}
        if at in table.unclear:
            values |= _parsed({ROLE: found["role"], KIND: found["kind"]})
            if values.get(ROLE, Role.MEASURE) != Role.MEASURE:
                values.pop(KIND, None)
            elif KIND not in values:
                values.pop(ROLE, None)
        if at in table.unmeasured and values.get(ROLE, Role.MEASURE) == Role.MEASURE:
            told = _parsed({"unit": found["unit"], "scale": found["scale"]})
            values |= {field: text for field, text in told.items() if text not in (UNKNOWN, "none")}
        if sure < SURE_FROM:
            values = {field: text for field, text in values.items() if field == INFERRED}
        if values:
            columns[at] = ColumnProposal(names[at], values, sure)
    title = single_line(str(reply.get("title", "")))[:LONGEST_NAME].strip() if table.untitled else ""
    return TableProposal(table.record.sha256, asked, columns, title)


def _parsed(said: dict[str, str]) -> dict[str, str]:
    """The canonical texts of those that a mapping could hold."""
    found = {}
    for name, text in said.items():
        try:
            found[name] = PARSERS[name](single_line(text)[:LONGEST_NAME].strip(), "")
        except MappingError:
            continue
    return found


@dataclass
class _Answers:
    """The replies of a model, one request after another in several threads, until it fails."""

    llm: LLM
    usage: Usage = field(default_factory=Usage)
    failure: LLMError | None = None
    unusable: int = 0

    def ask(self, requests: Iterable[Request]) -> Iterator[dict[str, Any] | None]:
        """The reply to each request, None for one that cannot be used."""
        rest = iter(requests)
        with ThreadPoolExecutor(WORKERS) as pool:
            while self.failure is None and (batch := list(islice(rest, 4 * WORKERS))):
                sent = [pool.submit(copy_context().run, self.llm.complete, request) for request in batch]
                for reply in sent:
                    try:
                        completion = reply.result()
                    except LLMError as error:
                        self.usage += error.usage if isinstance(error.usage, Usage) else Usage()
                        if not isinstance(error, LLMReplyError):
                            self.failure = self.failure or error
                            pool.shutdown(wait=False, cancel_futures=True)
                            return
                        self.unusable += 1
                        yield None
                    else:
                        self.usage += completion.usage
                        yield dict(completion.data or {})


def propose_about_tables(directory: GraphDirectory, model: str, llm: LLM | None) -> AnnotationReport:
    """Ask a model what is undecided about the tables of a graph, and keep what it proposes for the next build.

    Args:
        directory: where the graph is.
        model: the model's name: another one is asked anew.
        llm: the model; without it nothing is asked, and the report says what asking would take.

    Raises `GraphNotFoundError`, `GraphLockedError`, `VocabularyIndexError`, `MappingError`, `OntologyError`. A failure
    of the model is in the report.
    """
    with directory.building():
        current = directory.current()
        spaces = Namespaces(current.base)
        store = EmbeddedStore(current.store_path, spaces.prefixes)
        read = indexed_contents(GraphIndex(current.index_path), TableReader(store, spaces), store)
        known = load_proposals(directory.path)
        shown = {said.asked: said for said in known.values()}
        kept: dict[str, TableProposal] = {}
        groups: dict[tuple[str, ...], list[tuple[UndecidedTable, str]]] = {}
        for record in Catalogue.load(current.catalogue_path).tables.values():
            before = known.get(record.id)
            if before is not None and before.sha256 == record.sha256:
                kept[record.id] = before
            table = UndecidedTable.of(record, kept.get(record.id), read)
            if table is None:
                continue
            asked = table.sample.digest(model)
            if asked in shown:
                said = shown[asked]
                kept[record.id] = TableProposal(record.sha256, asked, said.columns, said.title)
            else:
                groups.setdefault(table.group, []).append((table, asked))
        chosen = list(groups.values())[:MOST_CALLS]
        requests = [_request([table for table, _ in group]) for group in chosen]
        tokens = sum(count_tokens(message["content"]) for request in requests for message in request.messages)
        report = AnnotationReport(sum(map(len, chosen)), len(chosen), tokens)
        if llm is None:
            return report
        answers, proposals = _Answers(llm), 0
        for group, reply in zip(chosen, answers.ask(requests), strict=False):
            for table, asked in group if reply is not None else ():
                made = kept[table.record.id] = _proposal(table, asked, reply or {})
                proposals += len(made.columns) + bool(made.title)
        if kept != known:
            save_proposals(directory.path, kept)
        messages = []
        if answers.unusable:
            messages.append(f"The replies of {model} to {answers.unusable:,} requests could not be used.")
        if len(groups) > len(chosen):
            messages.append(f"{len(groups) - len(chosen):,} further requests to {model} are left to the next build.")
        return AnnotationReport(
            report.tables, report.calls, tokens, proposals, answers.usage, answers.failure, tuple(messages)
        )
