"""Ask a model what is undecided about tables: header rows, names, roles, kinds of measures, units and scales, titles.

One request shows a table's header and first rows; tables with the same headers share it. What was proposed is kept in
the graph directory (`kgtable.ontology.proposals`), and nothing is asked again until what is shown of a table changes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final

from kgtable.building.catalogue import Catalogue, TableRecord
from kgtable.building.generations import GraphDirectory
from kgtable.errors import LLMError, LLMReplyError, MappingError
from kgtable.graph.store import EmbeddedStore, select
from kgtable.graph.table_content import TableContent
from kgtable.graph.table_source import TableReader
from kgtable.graph.terms import Namespaces
from kgtable.index.graph_index import GraphIndex, indexed_contents
from kgtable.llm.protocol import LLM, Completion, Message, Request, Usage
from kgtable.ontology.cell_units import UNKNOWN
from kgtable.ontology.inferred_names import SURE_FROM, is_missing_header, is_missing_title, telling_words
from kgtable.ontology.mapping_rows import INFERRED, KIND, PARSERS, ROLE
from kgtable.ontology.meaning import SURE
from kgtable.ontology.naming import predicate_name
from kgtable.ontology.proposals import AnnotationReport, ColumnProposal, TableProposal, load_proposals, save_proposals
from kgtable.resources import PACKAGE, read_shipped
from kgtable.tables.model import MeasureKind, Role
from kgtable.text.passages import count_tokens
from kgtable.values.text import single_line

ROWS: Final = 5
"""Rows of a table that are shown."""

LINES: Final = 12
"""First rows of a sheet that are shown where its header is unsure."""

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
_FIELDS: dict[str, Any] = {"columns": {"type": "array", "items": _COLUMN}, "title": {"type": "string"}}
_HEADER_FIELDS: dict[str, Any] = {
    "header_rows": {"type": "array", "items": {"type": "integer"}},
    "header_confidence": {"type": "number"},
}


@dataclass(frozen=True)
class SampledTable:
    """A table with its title, headers and first rows, and its undecided properties, by column.

    `lines` are the first rows of its sheet by row number, where its header is unsure.
    """

    record: TableRecord
    title: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    undecided: Mapping[int, tuple[str, ...]]
    lines: Mapping[int, tuple[str, ...]]

    @classmethod
    def of(
        cls,
        record: TableRecord,
        content: TableContent,
        undecided: Mapping[int, tuple[str, ...]],
        lines: Mapping[int, tuple[str, ...]],
    ) -> SampledTable:
        """The first rows and columns of a table's content; nothing is undecided about columns that are empty there."""
        width = min(len(content.columns), MOST_COLUMNS)
        rows = []
        for row in islice((row for row in content.rows if not row.is_header), ROWS):
            texts = {column: single_line(cell.text)[:LONGEST_CELL] for column, cell in row.cells}
            rows.append(tuple(texts.get(column, "") for column in range(width)))
        title = single_line(". ".join(filter(None, (content.title, *content.heading, content.caption))))
        headers = tuple(single_line(name)[:LONGEST_CELL] for name, _ in content.columns[:width])
        filled = {at: parts for at, parts in undecided.items() if at < width and any(row[at] for row in rows)}
        return cls(record, title[: 4 * LONGEST_CELL], headers, tuple(rows), filled, lines)

    @property
    def is_untitled(self) -> bool:
        """Whether neither title nor id says what the table is about."""
        return is_missing_title(self.title, self.record.id)

    def digest(self, model: str) -> str:
        """A hash of the model and of what it is shown."""
        shown = json.dumps([model, self.title, self.headers, self.rows, *self.lines.items()])
        return hashlib.sha256(shown.encode("utf-8", "surrogatepass")).hexdigest()


_NAME, _MEANING, _UNIT = "name", "role and kind", "unit and scale"


def _undecided(record: TableRecord, before: TableProposal | None) -> dict[int, tuple[str, ...]]:
    """What is undecided about the columns of a table, leaving aside what a model proposed `before`."""
    found: dict[int, tuple[str, ...]] = {}
    for fact in record.facts[:MOST_COLUMNS]:
        meaning, parts = fact.meaning, [_NAME] * is_missing_header(fact.name)
        if meaning is not None:
            is_sure = meaning.confidence >= SURE and meaning.evidence != ("model",)
            parts += [_MEANING] * (not is_sure)
            is_plain = meaning.kind in (MeasureKind.COUNT, MeasureKind.SCORE) and is_sure
            known = before.columns[fact.index].values if before and fact.index in before.columns else {}
            lacks_unit = next(iter(fact.units), "") == UNKNOWN or "unit" in known or "scale" in known
            parts += [_UNIT] * (lacks_unit and meaning.role is Role.MEASURE and not is_plain)
        if parts:
            found[fact.index] = tuple(parts)
    return found


def _first_lines(reader: TableReader, id: str) -> dict[int, tuple[str, ...]]:
    """The first rows of a sheet that are not blank, by row number as a spreadsheet counts them."""
    rows = sorted(reader.rows(id, range(4 * LINES)).items())
    shown = ((at + 1, [single_line(text)[:LONGEST_CELL] for text in row.cells[:MOST_COLUMNS]]) for at, row in rows)
    return dict(islice(((at, tuple(cells)) for at, cells in shown if any(cells)), LINES))


def _request(tables: Sequence[SampledTable]) -> Request:
    """The request about tables with the same headers, the first of which is shown."""
    sample, wanted = tables[0], []
    for at in range(len(sample.headers)):
        parts = dict.fromkeys(part for table in tables for part in table.undecided.get(at, ()))
        wanted += [f"  column {at + 1}: {', '.join(parts)}"] if parts else []
    wanted += ["  title"] * any(table.is_untitled for table in tables)
    wanted += ["  header_rows"] * bool(sample.lines)
    headers = (
        f"[column {at + 1}]" if is_missing_header(name) else f"{at + 1}: {name}"
        for at, name in enumerate(sample.headers)
    )
    title = _quoted(sample.title or telling_words(sample.record.id) or "none")
    said = ["To decide:", *wanted, f"Title: <<<{title}>>>", "Columns:"]
    said += ["<<<", _quoted("\n".join(" | ".join(line) for line in (headers, *sample.rows))), ">>>"]
    if sample.lines:
        lines = (f"{number}: {' | '.join(cells)}" for number, cells in sample.lines.items())
        said += ["First rows of the sheet:", "<<<", _quoted("\n".join(lines)), ">>>"]
    prompts = ("describe_table.txt", *(["find_header.txt"] if sample.lines else []))
    folder = PACKAGE / "index" / "inferred" / "prompts"
    system = "".join((folder / name).read_text(encoding="utf-8") for name in prompts)
    messages = (Message(role="system", content=system), Message(role="user", content="\n".join(said)))
    fields = _FIELDS | _HEADER_FIELDS if sample.lines else _FIELDS
    schema = {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
    return Request(messages, schema=schema, stage="annotate", max_tokens=min(300 + 60 * len(wanted), 4_000))


def _quoted(data: str) -> str:
    """Text that cannot end the quotation it is in."""
    return data.replace("<<<", "<<").replace(">>>", ">>")


def _proposal(table: SampledTable, asked: str, reply: Mapping[str, Any]) -> TableProposal:
    """The parts of a reply about a table's undecided properties; nonsense is left out."""
    names = {fact.index: fact.name for fact in table.record.facts}
    columns: dict[int, ColumnProposal] = {}
    for found in reply.get("columns", ()):
        at, sure = found["column"] - 1, found["confidence"]
        parts = table.undecided.get(at, ())
        if at in columns or not parts or not 0 < sure <= 1:
            continue
        values = {}
        name = single_line(found["name"])[:LONGEST_NAME].strip()
        if _NAME in parts and not is_missing_header(name):
            values = {INFERRED: name, "predicate": predicate_name([name], at)}
        if _MEANING in parts:
            told = _parsed({ROLE: found["role"], KIND: found["kind"]})
            is_measure = told.get(ROLE, Role.MEASURE) == Role.MEASURE
            values |= ({} if KIND not in told else told) if is_measure else {ROLE: told[ROLE]}
        if _UNIT in parts and values.get(ROLE, Role.MEASURE) == Role.MEASURE:
            told = _parsed({"unit": found["unit"], "scale": found["scale"]})
            values |= {field: text for field, text in told.items() if text not in (UNKNOWN, "none")}
        if sure < SURE_FROM:
            values = {field: text for field, text in values.items() if field == INFERRED}
        if values:
            columns[at] = ColumnProposal(names[at], values, round(min(sure, 0.99), 2))
    title = single_line(str(reply.get("title", "")))[:LONGEST_NAME].strip() if table.is_untitled else ""
    return TableProposal(table.record.sha256, asked, columns, title, *_header(table, reply))


def _header(table: SampledTable, reply: Mapping[str, Any]) -> tuple[str, float]:
    """The header rows that a reply names, and its confidence; a row of data has to be left among those shown."""
    rows, sure = set(reply.get("header_rows", ())), reply.get("header_confidence", 0.0)
    if not table.lines or not SURE_FROM <= sure <= 1 or not rows <= table.lines.keys() - {max(table.lines)}:
        return "", 0.0
    return "; ".join(map(str, sorted(rows))) or "none", round(min(sure, 0.99), 2)


def _parsed(said: Mapping[str, str]) -> dict[str, str]:
    """The canonical texts of those that a mapping could hold."""
    found = {}
    for name, text in said.items():
        with suppress(MappingError):
            found[name] = PARSERS[name](single_line(text)[:LONGEST_NAME].strip(), "")
    return found


def _replies(llm: LLM, requests: Sequence[Request]) -> Iterator[Completion | LLMError]:
    """The reply to each request, or its error, asked in several threads; no more is asked once the model failed."""

    def replied(request: Request) -> Completion | LLMError:
        try:
            return llm.complete(request)
        except LLMError as error:
            return error

    with ThreadPoolExecutor(WORKERS) as pool:
        for start in range(0, len(requests), 4 * WORKERS):
            batch = list(pool.map(replied, requests[start : start + 4 * WORKERS]))
            yield from batch
            if any(_is_failure(reply) for reply in batch):
                return


def _is_failure(reply: Completion | LLMError) -> bool:
    return isinstance(reply, LLMError) and not isinstance(reply, LLMReplyError)


def propose_about_tables(directory: GraphDirectory, model: str, llm: LLM | None) -> AnnotationReport:
    """Ask a model about undecided properties of a graph's tables, and keep its proposals for the next build.

    Args:
        directory: where the graph is.
        model: the model's name: another one is asked again.
        llm: the model; without it nothing is asked, and the report says what asking would take.

    Raises `GraphNotFoundError`, `GraphLockedError`, `VocabularyIndexError`, `MappingError`, `StorageError`. A failure
    of the model is in the report.
    """
    with directory.building():
        current = directory.current()
        spaces = Namespaces(current.base)
        store = EmbeddedStore(current.store_path, spaces.prefixes)
        reader = TableReader(store, spaces)
        read = indexed_contents(GraphIndex(current.index_path), reader, store)
        unsure = {row["id"].value for row in select(store, read_shipped("queries/unsure-headers.rq"))}
        known = load_proposals(directory.path)
        shown = {said.asked: said for said in known.values()}
        kept: dict[str, TableProposal] = {}
        groups: dict[tuple[str, ...], list[tuple[SampledTable, str]]] = {}
        for record in Catalogue.load(current.catalogue_path).tables.values():
            before = known.get(record.id)
            if before is not None and before.sha256 == record.sha256:
                kept[record.id] = before
            undecided = _undecided(record, kept.get(record.id))
            asks_lines = record.id in unsure and not (before and before.sha256 == record.sha256 and before.header)
            if not undecided and not asks_lines and not is_missing_title(record.title, record.id):
                continue
            lines = _first_lines(reader, record.id) if asks_lines else {}
            table = SampledTable.of(record, read(record.id), undecided, lines)
            asked = table.digest(model)
            if asked in shown:
                kept[record.id] = replace(shown[asked], sha256=record.sha256)
            elif table.undecided or table.is_untitled or lines:
                alone = (record.id,) if lines or any(map(is_missing_header, table.headers)) else ()
                groups.setdefault((*alone, *table.headers), []).append((table, asked))
        chosen = list(groups.values())[:MOST_CALLS]
        requests = [_request([table for table, _ in group]) for group in chosen]
        tokens = sum(count_tokens(message["content"]) for request in requests for message in request.messages)
        report = AnnotationReport(sum(map(len, chosen)), len(chosen), tokens)
        if llm is None:
            return report
        usage, failures, proposals = Usage(), list[LLMError](), 0
        for group, reply in zip(chosen, _replies(llm, requests), strict=False):
            usage += reply.usage if isinstance(reply.usage, Usage) else Usage()
            if isinstance(reply, LLMError):
                failures.append(reply)
                continue
            for table, asked in group:
                made, held = _proposal(table, asked, reply.data or {}), kept.get(table.record.id)
                proposals += len(made.columns) + bool(made.title) + bool(made.header)
                if held is not None and held.header and not table.lines:
                    made = replace(made, header=held.header, header_confidence=held.header_confidence)
                kept[table.record.id] = made
        if kept != known:
            save_proposals(directory.path, kept)
        failure = next(filter(_is_failure, failures), None)
        messages = []
        if failures and failure is None:
            messages.append(f"{len(failures):,} replies of {model} could not be used: {failures[0].message}")
        if len(groups) > len(chosen):
            messages.append(f"{len(groups) - len(chosen):,} further requests to {model} are left to the next build.")
        return replace(report, proposals=proposals, usage=usage, failure=failure, messages=tuple(messages))
