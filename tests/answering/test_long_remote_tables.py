"""Long tables behind an endpoint: read in pages of rows, with the answers that the same tables give here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

import kgtable
from kgtable.graph.remote import endpoint
from kgtable.graph.remote.endpoint import RemoteStore
from kgtable.graph.remote.http import HttpReply
from tests.answering.test_long_tables import HEADER, _rows
from tests.graph.remote.engines import ENGINES, connected_graph

PAGE = 50
"""Rows of a page in these tests."""

SAID = 16
"""More statements than any row or cell of the table has, and more cells than any row."""

QUESTIONS = (
    "How many orders have the status open?",
    "What is the price of A-0017?",
    "What is the total weight of all orders?",
)


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[kgtable.KnowledgeGraph]:
    folder = tmp_path_factory.mktemp("long")
    (folder / "tables").mkdir()
    rows = [*_rows(400)]
    rows.insert(200, ",,,,,,,")
    (folder / "tables" / "orders.csv").write_text("\n".join((HEADER, *rows)) + "\n", encoding="utf-8")
    with kgtable.build(folder / "tables", folder / "kg", embedding="none") as kg:
        yield kg


@pytest.fixture(scope="module", params=ENGINES)
def far(
    request: pytest.FixtureRequest, local: kgtable.KnowledgeGraph, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[kgtable.KnowledgeGraph]:
    folder = tmp_path_factory.mktemp("remote")
    with connected_graph(request.param, local, folder) as graph:
        yield graph


@dataclass
class Replies:
    """How many rows the engine's replies had."""

    rows: list[int] = field(default_factory=list)


@pytest.fixture
def replies(far: kgtable.KnowledgeGraph, monkeypatch: pytest.MonkeyPatch) -> Replies:
    """The table counts as one that no query may give whole; nothing is known of it yet."""
    monkeypatch.setattr("kgtable.answering.program_answers.LONG", 50)
    monkeypatch.setattr("kgtable.graph.table_source.CELLS_AT_ONCE", 100)
    monkeypatch.setattr("kgtable.graph.table_source.AT_ONCE", PAGE)
    found, count = Replies(), endpoint.count_rows

    def counting(reply: HttpReply, url: str) -> int:
        found.rows.append(count(reply, url))
        return found.rows[-1]

    def never(*_: object) -> Any:
        raise AssertionError("The graph of the table was asked for as a whole.")

    monkeypatch.setattr(endpoint, "count_rows", counting)
    monkeypatch.setattr(RemoteStore, "graph", never)
    for name in ("reader", "retrievers"):
        far.__dict__.pop(name, None)
    far._kept_asker = None
    return found


@pytest.mark.parametrize("question", QUESTIONS)
def test_questions_have_the_answers_of_the_index(
    question: str, local: kgtable.KnowledgeGraph, far: kgtable.KnowledgeGraph, replies: Replies
) -> None:
    here, there = local.ask(question, model="none"), far.ask(question, model="none")
    assert (there.text, there.value, there.unit) == (here.text, here.value, here.unit)
    assert there.found
    assert there.citations == here.citations


def test_the_whole_table_comes_in_pages(
    local: kgtable.KnowledgeGraph, far: kgtable.KnowledgeGraph, replies: Replies
) -> None:
    here, there = local.reader.table("orders"), far.reader.table("orders")
    assert there == here
    assert far.reader.quantities("orders") == local.reader.quantities("orders")
    assert max(replies.rows) <= PAGE * SAID


def test_only_rows_with_a_label_are_scored(far: kgtable.KnowledgeGraph, replies: Replies) -> None:
    found = far.retrieve("What is the price of A-0017?", 3)
    assert {triple.row for triple in found.triples} == {18}
    assert far.retrieve("What is the price of A-0017?", 300, tables=["orders"]).triples[0].row == 18
