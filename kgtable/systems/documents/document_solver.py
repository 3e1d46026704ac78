"""TableRAG's loop (Huawei, section 3.3): decompose, retrieve, query, compose, in at most five rounds.

In each round a model puts one subquery or the final answer. A subquery retrieves passages and tables again; the model
answers it from the text and by SQL over the tables, a query that fails comes back once for repair, and the two
answers are held against each other: they agree, one is silent, or they conflict.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping
from dataclasses import asdict, dataclass, replace
from decimal import Decimal, InvalidOperation
from functools import partial
from string import Template
from typing import Any

from kgtable.answering.answer import Answer, PassageCitation
from kgtable.answering.ask import Solver
from kgtable.answering.evidence import Citation, Evidence, TableSource
from kgtable.answering.grounding import plain, stated_numbers
from kgtable.answering.program_answers import answer_by_rules, relations_of
from kgtable.config import Settings
from kgtable.errors import EvaluationError, KgtableError, LLMReplyError, MissingExtraError, QueryError
from kgtable.graph.document_statements import StoredPassage
from kgtable.graph.table_source import TableReader
from kgtable.index.passage_index import PassageIndex
from kgtable.llm.protocol import LLM, OnText, Request
from kgtable.llm.request_parts import TEXT, object_schema, prompt_messages
from kgtable.programs.compiled.sql_tables import SqlDatabase, SqlRowsFound
from kgtable.resources import read_packaged
from kgtable.retrieval.registry import Choice, Method, Retrievers
from kgtable.retrieval.result import Retrieval, Retriever
from kgtable.systems.documents.passage_retrieval import DocumentOptions, DocumentRetriever, load_reranker
from kgtable.tables.linearize import TableFormat, chunks, format_table
from kgtable.text.passages import sentence_spans
from kgtable.text.words import terms, terms_asked

RELATIONS = {"agree": "text and table agree", "silent": "one source is silent", "conflict": "text and table conflict"}
"""What a verdict means, in words."""

SHOWN_ROWS, SHOWN_TEXT = 20, 1_000
"""Rows of a result, and characters of it, that a model is shown."""

LONGEST_PASSAGE = 4_500
LONGEST_WORDS = 600

STEP = object_schema("step", reasoning=TEXT, subquery=TEXT, answer=TEXT)
ANSWERS = object_schema("answers", sql=TEXT, text=TEXT, passage=TEXT, words=TEXT)
VERDICT = object_schema("verdict", verdict={**TEXT, "enum": ["agree", "silent", "conflict"]}, answer=TEXT, reason=TEXT)


@dataclass(frozen=True)
class SubAnswer:
    """The answer to one subquery, its evidence, and whether text and tables agree."""

    subquery: str
    text: str
    verdict: str
    reason: str = ""
    sql: str = ""
    rows: SqlRowsFound | None = None
    fault: str = ""
    tables: tuple[str, ...] = ()
    words: PassageCitation | None = None
    stated: str = ""

    def told(self, number: int) -> str:
        """The sub-answer as text for the prompt of the next round."""
        why = f"; {self.reason}" if self.reason else ""
        answer = self.text or "nothing was found"
        return f"Answer {number} to {self.subquery!r}: {answer} ({RELATIONS[self.verdict]}{why})"


class DocumentSolver:
    """Answers by the loop if there is a model, else by rules from the tables, along with the passages that fit."""

    def __init__(
        self, retriever: Retriever, database: SqlDatabase, options: DocumentOptions, markdown: Callable[[str], str]
    ) -> None:
        self._retriever, self._database, self.options, self.markdown = retriever, database, options, markdown

    def solve(self, evidence: Evidence, llm: LLM | None, *, on_text: OnText | None = None) -> Answer:
        """The answer. Raises leaves of `LLMError` if the model cannot be used at all."""
        if llm is None:
            return _by_tables(evidence, self.keep if self.options.text else 0)
        return _Loop(self, evidence, llm, on_text).run()

    def material(self, retrieval: Retrieval) -> tuple[list[str], list[StoredPassage]]:
        """The tables and passages that are read: the best `keep` places of the list, with what they are linked to."""
        keep = self.keep
        named = [item for item in retrieval.trace.get("evidence", ()) if item[0] == "table" or self.options.text]
        by_iri = {passage.passage: passage for passage in retrieval.passages}
        tables: dict[str, None] = {}
        passages: dict[str, StoredPassage] = {}
        for kind, id, _ in named[:keep]:
            if kind == "table":
                tables[id] = None
            elif id in by_iri:
                passages[id] = by_iri[id]
        beside = [p for p in retrieval.passages if self.options.text and set(p.tables) & set(tables)]
        for passage in beside[:keep]:
            passages.setdefault(passage.passage, passage)
        for passage in list(passages.values()):
            for table in passage.tables[:1]:
                tables.setdefault(table, None)
        return list(tables)[: 2 * keep], list(passages.values())[: 2 * keep]

    def retrieve(self, question: str, evidence: Evidence) -> Retrieval:
        """Retrieve for a subquery; for the question itself, reuse the existing retrieval."""
        if question.strip().casefold() == evidence.retrieval.question.strip().casefold():
            return evidence.retrieval
        return self._retriever.retrieve(question, max(len(evidence.retrieval.addresses), 100))

    @property
    def database(self) -> SqlDatabase:
        """The tables as a DuckDB database."""
        return self._database

    @property
    def keep(self) -> int:
        """How many tables and passages are read."""
        return self.options.keep

    @property
    def tables_as_text(self) -> bool:
        """Whether a model reads the tables as Markdown."""
        return self.options.chunks or not self.options.sql


class _Loop:
    """The rounds of one question."""

    def __init__(self, solver: DocumentSolver, evidence: Evidence, llm: LLM, on_text: OnText | None) -> None:
        self._solver, self._evidence, self._llm, self._on_text = solver, evidence, llm, on_text
        self._question = evidence.retrieval.question
        self._found: list[SubAnswer] = []
        self._prompts: list[str] = []
        self._rounds = 0

    def run(self) -> Answer:
        """Loops until there is a final answer; if the model fails midway, the results so far are kept."""
        most = self._solver.options.rounds
        while self._rounds < most:
            self._rounds += 1
            try:
                step = self._ask("step", STEP, self._decompose(last=self._rounds == most))
            except LLMReplyError as error:
                if not self._found:
                    return self._without_model(error)
                return self._final(self._found[-1].text, f"The model broke off: {error.message}")
            subquery, answer = step["subquery"].strip(), step["answer"].strip()
            asked = {found.subquery.casefold() for found in self._found}
            if answer and (not subquery or subquery.casefold() in asked):
                return self._final(answer, "")
            if not subquery or subquery.casefold() in asked:
                break
            try:
                self._found.append(self._solve(subquery))
            except LLMReplyError as error:
                return self._without_model(error)
        last = self._found[-1].text if self._found else ""
        return self._final(last, f"The rounds ended ({most}) before a final answer." if last else "")

    def _decompose(self, *, last: bool) -> str:
        tables, passages = self._solver.material(self._evidence.retrieval)
        progress = "\n".join(found.told(number) for number, found in enumerate(self._found, 1))
        if last:
            progress += "\nThis is the last round: give the final answer."
        shown = self._shown(tables, passages) if self._solver.options.context else "none"
        return _filled("decompose", question=self._question, materials=shown, progress=progress)

    def _solve(self, subquery: str) -> SubAnswer:
        retrieval = self._solver.retrieve(subquery, self._evidence)
        tables, passages = self._solver.material(retrieval)
        in_sql = self._solver.options.sql
        schemas = "\n\n".join(str(self._solver.database.card(table)) for table in tables if in_sql) or "none"
        written = self._written(tables) if self._solver.tables_as_text else ""
        read = "\n\n".join(filter(None, (written, _passages(passages))))
        prompt = _filled("subquery", subquery=subquery, schemas=_data(schemas), passages=read)
        replied = self._ask("subquery", ANSWERS, prompt)
        rows, fault = self._executed(replied["sql"])
        if fault:
            replied = self._ask("repair", ANSWERS, prompt, replied, _filled("repair", error=_data(fault)))
            rows, fault = self._executed(replied["sql"])
        words, stated = _checked_words(replied, passages, written)
        found = SubAnswer(subquery, "", "silent", "", replied["sql"].strip(), rows, fault, tuple(tables), words, stated)
        return self._composed(found)

    def _composed(self, found: SubAnswer) -> SubAnswer:
        """Holds the answer of the tables against that of the text; a model is asked where both speak."""
        by_sql = _result_text(found.rows)
        if not by_sql or not found.stated:
            return replace(found, text=by_sql or found.stated)
        if _same(by_sql, found.stated):
            return replace(found, text=found.stated, verdict="agree")
        words = found.words.words if found.words else ""
        prompt = _filled(
            "compose",
            subquery=found.subquery,
            sql=_data(found.sql),
            result=_data(by_sql),
            text=_data(found.stated),
            words=_data(words),
        )
        said = self._ask("compose", VERDICT, prompt)
        text = said["answer"].strip() or by_sql
        return replace(found, text=text, verdict=said["verdict"], reason=said["reason"].strip()[:300])

    def _executed(self, sql: str) -> tuple[SqlRowsFound | None, str]:
        if not sql.strip() or not self._solver.options.sql:
            return None, ""
        try:
            return self._solver.database.query(sql, seconds=10.0, most=1_000), ""
        except MissingExtraError:
            raise
        except (QueryError, EvaluationError) as error:
            return None, error.message

    def _ask(
        self,
        stage: str,
        schema: Mapping[str, Any],
        prompt: str,
        before: Mapping[str, Any] | None = None,
        more: str = "",
    ) -> Mapping[str, str]:
        messages = list(prompt_messages(_filled("system"), prompt))
        if before is not None:
            messages.append({"role": "assistant", "content": str(dict(before))})
            messages.append({"role": "user", "content": more})
        self._prompts.append(f"[{stage}]\n{prompt}{more}")
        on_text = self._on_text if stage == "step" else None
        reply = self._llm.complete(
            Request(tuple(messages), schema=schema, stage=stage, temperature=0.0), on_text=on_text
        )
        return {name: str(value) for name, value in (reply.data or {}).items()}

    def _shown(self, tables: list[str], passages: list[StoredPassage]) -> str:
        if self._solver.tables_as_text:
            return f"{self._written(tables)}\n\n{_passages(passages)}"
        parts = [_data(str(self._solver.database.card(table))) for table in tables]
        return "\n\n".join([*parts, _passages(passages)])

    def _written(self, tables: list[str]) -> str:
        """The tables as Markdown."""
        return "\n\n".join(_data(self._solver.markdown(table)[:LONGEST_PASSAGE]) for table in tables)

    def _without_model(self, error: LLMReplyError) -> Answer:
        """The answer without the model's help, where its replies cannot be used."""
        answer = _by_tables(self._evidence, self._solver.keep if self._solver.options.text else 0)
        return replace(answer, failure=str(error), reasons=(*answer.reasons, "The model's replies were of no use."))

    def _reads_a_table(self, found: SubAnswer) -> bool:
        """Whether a query that gave rows names a table: a constant is not read from a cell."""
        said = set(re.findall(r"\w+", found.sql.casefold()))
        return found.rows is not None and not said.isdisjoint(self._solver.database.names.values())

    def _final(self, text: str, note: str) -> Answer:
        cells = [cell for found in self._found for cell in _cells(found, self._evidence)]
        words = [found.words for found in self._found if found.words is not None]
        numbers = [number.value for number in stated_numbers(text)]
        known = {number.value for found in self._found for number in stated_numbers(f"{found.text} {found.stated}")}
        in_words = any(plain(text) and plain(text) in plain(cited.words) for cited in words)
        in_cells = any(plain(text) and plain(text) == plain(cell.text) for cell in cells)
        read = bool(words) or any(self._reads_a_table(found) for found in self._found)
        stated = read and bool(numbers) and all(number in known for number in numbers)
        grounded = bool(text) and (in_words or in_cells or stated)
        reasons = [note] if note else []
        for found in self._found:
            told = {"agree": "text and table agree", "conflict": f"text and table conflict: {found.reason}"}.get(
                found.verdict, "only the text speaks" if found.rows is None else "only the table speaks"
            )
            reasons.append(f"{found.subquery}: {told}.")
            if found.fault:
                reasons.append(f"Its query failed: {found.fault}")
        proof = answer_by_rules(self._evidence) if text and self._evidence.tables else None
        proven = proof is not None and proof.is_sure and _same(proof.text, text)
        conflict = any(found.verdict == "conflict" for found in self._found)
        retrieval = self._evidence.retrieval
        return Answer(
            question=self._question,
            text=text,
            value=proof.value if proven and proof else None,
            unit=proof.unit if proven and proof else None,
            verified=proven and not conflict,
            grounded=grounded or proven,
            reasons=tuple(reasons) or ("The model gave no answer.",),
            citations=(proof.citations if proven and proof else tuple(dict.fromkeys(cells))[:60]),
            calculation="; ".join(found.sql for found in self._found if found.rows is not None) or None,
            program=proof.program if proven and proof else None,
            cells_read=len(cells),
            method=retrieval.method,
            model=self._llm.model,
            prompt="\n\n".join(self._prompts),
            context={"rounds": self._rounds},
            timings_ms=dict(retrieval.timings_ms),
            retrieval=retrieval,
            passages=tuple(dict.fromkeys(words)),
        )


def _by_tables(evidence: Evidence, keep: int) -> Answer:
    """The answer of the tables by rules, with the best sentence of each of the first `keep` passages next to it."""
    asked = {term for term, only_asks in terms_asked(evidence.retrieval.question) if not only_asks}

    def fit(text: str) -> int:
        return len(asked.intersection(terms(text)))

    cited = []
    for passage in evidence.retrieval.passages[:keep]:
        spans = sentence_spans(passage.text)
        start, end = max(spans, key=lambda span: fit(passage.text[slice(*span)]), default=(0, 0))
        if fit(passage.text[start:end]):
            cited.append(_cited_words(passage, start, passage.text[start:end]))
    return replace(answer_by_rules(evidence), passages=tuple(cited))


def _cited_words(passage: StoredPassage, start: int, text: str) -> PassageCitation:
    """The citation of a text that is in a passage from `start` on."""
    paragraph, page = passage.place_of(start)
    offset = passage.start_of(start)
    return PassageCitation(passage.passage, passage.file, page, paragraph, offset, text[:LONGEST_WORDS])


def _filled(name: str, **texts: str) -> str:
    return Template(read_packaged(f"systems/documents/prompts/{name}.txt")).substitute(texts).strip()


def _data(text: str) -> str:
    """A text of the data without what could end its fence."""
    return re.sub(r"<(?=\s*/?\s*data\b)", "<\\\\", text, flags=re.IGNORECASE)


def _passages(passages: list[StoredPassage]) -> str:
    parts = []
    for number, passage in enumerate(passages, 1):
        page = "" if passage.page is None else f", page {passage.page}"
        parts.append(f"P{number} ({passage.file}{page}) {passage.title}\n{passage.text[:LONGEST_PASSAGE]}")
    return _data("\n\n".join(parts)) or "none"


def _checked_words(
    replied: Mapping[str, str], passages: list[StoredPassage], written: str
) -> tuple[PassageCitation | None, str]:
    """The passage's words that the reply copied, and its text answer; neither if they do not occur.

    Words of a table that is `written` as text are not a citation.
    """
    words = replied["words"].strip()
    if not replied["text"].strip() or len(words) < 2:
        return None, ""
    pattern = re.compile(r"\s+".join(map(re.escape, words.split())))
    for passage in passages:
        found = pattern.search(passage.text)
        if found is not None:
            return _cited_words(passage, found.start(), found[0]), replied["text"].strip()
    return None, replied["text"].strip() if pattern.search(written) else ""


def _result_text(rows: SqlRowsFound | None) -> str:
    """The rows of a result as one text, empty if there are none."""
    if rows is None:
        return ""
    lines = []
    for row in rows.rows[:SHOWN_ROWS]:
        cells = [_plain_value(value) for value in row if value is not None]
        if cells:
            lines.append(", ".join(cells))
    return "; ".join(lines)[:SHOWN_TEXT]


def _plain_value(value: object) -> str:
    if isinstance(value, Decimal):
        text = f"{value:f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    return str(value)


def _same(one: str, other: str) -> bool:
    """Whether two answers say the same: equal words, or the same numbers with their scales."""
    if plain(one) == plain(other):
        return True
    numbers = [[number.value * 10 ** (number.power or 0) for number in stated_numbers(text)] for text in (one, other)]
    return bool(numbers[0]) and numbers[0] == numbers[1]


def _cells(found: SubAnswer, evidence: Evidence) -> list[Citation]:
    """The cells of the queried tables that hold what a query gave: the same number, or the same text."""
    if found.rows is None:
        return []
    values = {value for row in found.rows.rows[:SHOWN_ROWS] for value in row if value is not None}
    cited: list[Citation] = []
    for table in found.tables:
        try:
            quantities = evidence.source.quantities(table)
            rows = list(evidence.source.table(table).body())
        except KgtableError:
            continue
        for index, row in rows:
            for column, text in enumerate(row):
                quantity = quantities.get((index, column))
                hit = quantity.number in _decimals(values) if quantity else text.strip() in values
                cell = evidence.cell(table, index, column) if hit and text.strip() else None
                if cell is not None:
                    cited.append(cell)
    return cited[:60]


def _decimals(values: set[Any]) -> set[Decimal]:
    found: set[Decimal] = set()
    for value in values:
        try:
            found.add(Decimal(str(value)))
        except InvalidOperation:
            continue
    return found


def make_retriever(retrievers: Retrievers, choice: Choice) -> Retriever:
    """The retriever of ``documents``. Raises `RetrievalError` for a graph behind an endpoint."""
    material = retrievers.material
    material.on_disk("documents")
    options = choice.options if isinstance(choice.options, DocumentOptions) else DocumentOptions()
    passages = PassageIndex(material.index_path)
    reranker = load_reranker(options.reranker) if options.reranker else None
    chunked = Choice(format=TableFormat.MARKDOWN, embedding=material.index.embedding)
    tables = retrievers.get("dense", chunked) if options.chunks else retrievers.get("hybrid")
    markdown = partial(_markdown, material.reader)
    return DocumentRetriever(tables, material.index, passages, options, markdown, reranker)


def _markdown(reader: TableReader, id: str) -> str:
    """The first chunk of a table as Markdown."""
    return format_table(next(iter(chunks(reader.read(id)))), TableFormat.MARKDOWN)


def make_solver(retrievers: Retrievers, source: TableSource, options: Hashable | None, settings: Settings) -> Solver:
    """The solver of ``documents``."""
    del settings
    chosen = options if isinstance(options, DocumentOptions) else DocumentOptions()
    from kgtable.programs.compiled.sql_tables import SqlDatabase  # with packages of the extra sql

    database = SqlDatabase(relations_of(source), list(retrievers.material.tables()))
    method = "documents:" + ",".join(f"{name}={value}" for name, value in asdict(chosen).items())
    return DocumentSolver(retrievers.get(method), database, chosen, partial(_markdown, retrievers.material.reader))


METHODS = {"documents": Method(make_retriever, DocumentOptions)}
SOLVERS = {"documents": make_solver}
OBEYED = ()
