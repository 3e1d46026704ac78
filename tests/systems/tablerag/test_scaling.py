"""What is shown of a table does not grow with it (paper, section 4.6)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kgtable.answering.prompting import estimate_tokens
from kgtable.graph.table_content import CellContent, ContentRow, TableContent
from kgtable.resources import PACKAGE
from kgtable.retrieval.labels import plain_labels
from kgtable.systems.tablerag.actions import read_prompt
from kgtable.systems.tablerag.databases import DatabaseShelf, SearchMode
from kgtable.systems.tablerag.retriever import Asked, ExpandedQuestion, SchemaCellView
from scripts.benchmarks.grown_tables import QUESTIONS, grown_table

BUDGET = 200


def content(table: Sequence[Sequence[str]]) -> TableContent:
    def cell(text: str) -> CellContent:
        return CellContent(text, True, text, "NUM") if text[:1].isdigit() and "-" not in text else CellContent(text)

    rows = (
        ContentRow(number, number == 0, None, None, tuple((i, cell(text)) for i, text in enumerate(row)))
        for number, row in enumerate(table)
    )
    return TableContent("orders", columns=tuple((name, f"http://e/{name}") for name in table[0]), rows=rows)


def test_a_larger_table_needs_no_longer_prompt(tmp_path: Path) -> None:
    fixed = (read_prompt("system"), read_prompt("solve"), (PACKAGE / "answering/prompts/programs.txt").read_text())
    tokens: dict[int, int] = {}
    missing = 0
    for size in (50, 250):
        table = grown_table(size)
        shelf = DatabaseShelf(
            lambda id, table=table: content(table),  # type: ignore[misc]
            lambda id: None,
            tmp_path,
            budget=BUDGET,
            search=SearchMode.LEXICAL,
            embedder=lambda: None,
        )
        found = shelf.get("orders")
        assert len(found.vocabulary.cells) <= BUDGET
        assert found.vocabulary.size == size * size
        columns = {name: index for index, name in enumerate(table[0])}
        for question in QUESTIONS:
            labels = tuple((word, None) for word in (*plain_labels(question.text), question.text))
            asked = Asked(question.text, ExpandedQuestion((), ()), labels, labels)
            shown, _ = SchemaCellView(5).show(asked, found)
            tokens[size] = tokens.get(size, 0) + estimate_tokens("\n".join((*fixed, shown.text)))
            missing += sum(columns[name] not in shown.columns for name in question.columns)  # by words alone
            if size == 50:
                assert {(columns[name], value) for name, value in question.values.items()} <= set(shown.cells)
    assert tokens[250] <= 1.2 * tokens[50]
    assert missing <= 6  # of 28
