"""What is shown of a table does not grow with it (paper, section 4.6)."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

from kgtable.answering.prompting import estimate_tokens
from kgtable.graph.table_content import CellContent, ContentRow, TableContent
from kgtable.resources import PACKAGE
from kgtable.retrieval.question_terms import plain_labels
from kgtable.systems.tablerag.actions import read_prompt
from kgtable.systems.tablerag.databases import DatabaseShelf, SearchMode
from kgtable.systems.tablerag.retriever import Asked, ExpandedQuestion, SchemaCellView

sys.path.insert(0, str(Path(__file__).parents[3] / "scripts"))

import eval_scaling

BUDGET = 200


def content(table: Sequence[Sequence[str]]) -> TableContent:
    def cell(text: str) -> CellContent:
        return (
            CellContent(text, True, text, "NUM")
            if text[:1].isdigit() and "-" not in text
            else CellContent(text)
        )

    rows = (
        ContentRow(number, number == 0, None, None, tuple((i, cell(text)) for i, text in enumerate(row)))
        for number, row in enumerate(table)
    )
    return TableContent("orders", columns=tuple((name, f"http://e/{name}") for name in table[0]), rows=rows)


def test_a_larger_table_needs_no_longer_prompt(tmp_path: Path) -> None:
    fixed = (
        read_prompt("system"),
        read_prompt("solve"),
        (PACKAGE / "answering/prompts/programs.txt").read_text(),
    )
    tokens: dict[int, int] = {}
    missing = 0
    for size in (50, 250):
        table = eval_scaling.grown_table(size)
        shelf = DatabaseShelf(
            lambda id, table=table: content(table),  # type: ignore[misc]
            lambda id: None,
            tmp_path,
            budget=BUDGET,
            columns=SearchMode.LEXICAL,
            cells=SearchMode.LEXICAL,
            embedder=lambda: None,
        )
        found = shelf.get("orders")
        assert len(found.vocabulary.cells) <= BUDGET
        assert found.vocabulary.size == size * size
        columns = {name: index for index, name in enumerate(table[0])}
        for question, named, cells in eval_scaling.QUESTIONS:
            labels = tuple((word, None) for word in (*plain_labels(question), question))
            asked = Asked(question, ExpandedQuestion((), ()), labels, labels)
            shown, _ = SchemaCellView(5).show(asked, found)
            tokens[size] = tokens.get(size, 0) + estimate_tokens("\n".join((*fixed, shown.text)))
            missing += sum(columns[name] not in shown.columns for name in named)  # by words alone
            if size == 50:
                assert {(columns[name], value) for name, value in cells} <= set(shown.cells)
    assert tokens[250] <= 1.2 * tokens[50]
    assert missing <= 6  # of 28


def test_the_generator_is_seeded_and_keeps_the_questions_columns() -> None:
    small, large = eval_scaling.grown_table(20), eval_scaling.grown_table(40)
    assert eval_scaling.grown_table(20) == small
    for name in eval_scaling.KEY_COLUMNS:
        columns = [[row[table[0].index(name)] for row in table[1:21]] for table in (small, large)]
        assert columns[0] == columns[1]


def test_figures_are_drawn_without_what_was_refused() -> None:
    measured = [
        eval_scaling.Measured(
            size, size**2, 10, method, refused, 100.0 * size, size, 1.0, 0.5, 1.0, 0.1, 0.01
        )
        for size in (50, 100)
        for method, refused in (("tablerag:tables=1", False), ("read-table:tables=1", size == 100))
    ]
    drawn = ElementTree.fromstring(eval_scaling.drawing(measured))
    told = [title.text or "" for title in drawn.iter("{http://www.w3.org/2000/svg}title")]
    assert "tablerag:tables=1, 100²: 10,000" in told
    assert any(text.startswith("read-table:tables=1, 50²") for text in told)
    assert not any(text.startswith("read-table:tables=1, 100²") for text in told)
