"""Models with a short context window: what is asked is made to fit, by the setting or by the server's refusals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

import kgtable
from kgtable.answering.evidence import Evidence
from kgtable.answering.prompting import estimate_tokens, make_context
from kgtable.answering.sub_tables import MOST_NAMED, SubTable
from kgtable.llm.protocol import MeteredLLM, Request
from kgtable.llm.scripted import ScriptedLLM
from kgtable.retrieval.result import Retrieval, ScoredTable
from kgtable.tables.layout.detect import make_table
from kgtable.tables.model import Grid, Source
from tests.answering.memory_tables import MemoryTables
from tests.llm.scripted_server import Act, Fail, ScriptedServer

WINDOW = 4_096
QUESTION = "How many visitors had Museum 7 in 2021?"
REFUSED = "the request exceeds the available context size, try increasing it"
ANSWER = {"reasoning": "", "citations": [], "program": None, "found": False, "answer": "", "alternatives": []}


@pytest.fixture(scope="module")
def kg(tmp_path_factory: pytest.TempPathFactory) -> Iterator[kgtable.KnowledgeGraph]:
    folder = tmp_path_factory.mktemp("museums")
    for city in ("Arlen", "Borg", "Corin", "Dalen"):
        rows = [f"Museum {n},{n * 37 % 900},{n * 53 % 800},{n * 71 % 700}" for n in range(1, 200)]
        (folder / f"visitors-{city}.csv").write_text("\n".join(["Museum,2020,2021,2022", *rows]), encoding="utf-8")
    with kgtable.build(folder, folder / "kg", embedding="none") as graph:
        yield graph


def tokens_of(messages: Any) -> int:
    return sum(estimate_tokens(message["content"]) for message in messages)


def within(window: int) -> Any:
    """A model that refuses what is longer than its window as llama.cpp does."""

    def act(body: Mapping[str, Any]) -> Act:
        if tokens_of(body["messages"]) + body.get("max_tokens", 0) > window:
            return Fail(400, REFUSED)
        wanted = body["response_format"]["json_schema"]["schema"]["required"]
        return ANSWER if "citations" in wanted else {"tables": []}

    return act


def asked(kg: kgtable.KnowledgeGraph, server: ScriptedServer, **options: Any) -> kgtable.Answer:
    return kg.ask(QUESTION, base_url=server.base_url, model="tiny", structured="schema", retries=0, **options)


def test_a_refused_prompt_is_shortened_until_it_fits(kg: kgtable.KnowledgeGraph) -> None:
    with ScriptedServer(within(WINDOW)) as server:
        answer = asked(kg, server, rerank=True, max_tokens=500)
    assert not answer.failure
    assert 200 < answer.context["tokens"] < WINDOW
    assert answer.context["cut_rows"] > 0
    lengths = [tokens_of(received.body["messages"]) for received in server.requests]
    assert max(lengths) > WINDOW
    assert lengths[-1] <= WINDOW


def test_with_the_window_set_nothing_is_refused(kg: kgtable.KnowledgeGraph) -> None:
    with ScriptedServer(within(WINDOW)) as server:
        answer = asked(kg, server, rerank=True, window=WINDOW)
    assert not answer.failure
    for received in server.requests:
        assert tokens_of(received.body["messages"]) + received.body["max_tokens"] <= WINDOW
    assert tokens_of(server.requests[-1].body["messages"]) > WINDOW / 2


def test_a_window_with_no_room_for_a_row_is_one_error(kg: kgtable.KnowledgeGraph) -> None:
    with (
        ScriptedServer(within(300)) as server,
        pytest.raises(kgtable.errors.LLMContextError, match="context window") as raised,
    ):
        asked(kg, server)
    assert "KGTABLE_WINDOW" in raised.value.hint
    assert len(server.requests) <= 12


def test_a_reply_gets_at_most_a_quarter_of_the_window() -> None:
    model = ScriptedLLM(["yes"])
    MeteredLLM(model, window=400).complete(Request(({"role": "user", "content": "Is it?"},), max_tokens=2_000))
    assert model.requests[0].max_tokens == 100


@pytest.mark.parametrize("width", [200, 2_000])
def test_a_very_wide_table_fits_with_fewer_cells_of_each_row(width: int) -> None:
    header = ("Station", *(f"Mean temperature of day {day}" for day in range(1, width)))
    rows = (header, *((f"Station {n}", *(f"{n + day / 10:.1f}" for day in range(1, width))) for n in range(30)))
    table = make_table(Grid("wide", Source("wide.csv"), rows, width))
    evidence = Evidence(Retrieval("?", (), (ScoredTable("wide", 1.0),)), MemoryTables([table]))
    context = make_context(evidence, SubTable(), 2_000)
    assert context.shown
    assert context.tokens <= 2_000
    assert "Mean temperature of day 40" in context.text
    assert f"and {width - 1 - MOST_NAMED} more" in context.text


def test_the_start_of_a_prompt_is_the_same_for_every_question(kg: kgtable.KnowledgeGraph) -> None:
    model = ScriptedLLM(lambda request: ANSWER)
    for question in (QUESTION, "Which museum of Borg had the most visitors in 2022?"):
        kg.ask(question, llm=model)
    first, second = (request.messages for request in model.requests if request.stage == "answer")
    assert first[0] == second[0]
    assert tokens_of(first[:1]) > 800
