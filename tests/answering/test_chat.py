"""Conversations: follow-ups by rules and by a scripted model, their bounds and their export."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from kgtable import api
from kgtable.answering.ask import NOT_ASKED
from kgtable.answering.chat import LONGEST_SHOWN, MOST_TURNS, NO_FOLLOW_UP, SHOWN_TURNS, Chat
from kgtable.errors import LLMCostError, LLMError, LLMReplyError, UsageError
from kgtable.llm.protocol import Request, estimate_tokens
from kgtable.llm.scripted import ScriptedLLM
from tests.llm.scripted_server import Act, Drop, Fail, Hang, Raw, Say, ScriptedServer

HARVEST = "Fruit,2023 (kg),2024 (kg)\nPlums,40,52\nPears,31,36\n"
PLUMS = "What was the harvest of plums in 2023?"
ANSWER: dict[str, Any] = {
    "reasoning": "The row of plums.", "citations": ["T1.r1.c1"], "program": None, "found": True, "answer": "40",
    "alternatives": [],
}  # fmt: skip
PRICES = {"scripted": {"input": 10.0, "output": 10.0}}


@pytest.fixture(scope="module")
def kg(tmp_path_factory: pytest.TempPathFactory) -> Iterator[api.KnowledgeGraph]:
    folder = tmp_path_factory.mktemp("tables")
    (folder / "harvest.csv").write_text(HARVEST, encoding="utf-8")
    with api.build(folder, folder / "kg", embedding="none") as graph:
        yield graph


def by_rules(kg: api.KnowledgeGraph, *said: str) -> Chat:
    chat = kg.chat(model="none")
    for message in said:
        chat.ask(message)
    return chat


@pytest.mark.parametrize(
    ("said", "question", "text"),
    [
        ("And in 2024?", "What was the harvest of plums in 2024?", "52"),
        ("the same for pears", "What was the harvest of pears in 2023?", "31"),
        ("what about pears?", "What was the harvest of pears in 2023?", "31"),
        ("Why?", PLUMS, "40"),
        ("What was the harvest of pears in 2024?", "What was the harvest of pears in 2024?", "36"),
        ("and the moon?", "and the moon?", ""),
    ],
)
def test_follow_ups_by_rules(kg: api.KnowledgeGraph, said: str, question: str, text: str) -> None:
    (_, last) = by_rules(kg, PLUMS, said).turns
    assert last.answer is not None
    assert (last.said, last.question, last.answer.text) == (said, question, text)
    assert bool(last.answer.citations) == bool(text)


def test_a_chain_of_follow_ups(kg: api.KnowledgeGraph) -> None:
    chat = by_rules(kg, PLUMS, "And in 2024?", "the same for pears", "why?", "and in 2023?")
    assert [turn.answer and turn.answer.text for turn in chat.turns] == ["40", "52", "36", "36", "31"]
    assert [turn.explains for turn in chat.turns] == [False, False, False, True, False]


ORDERS = """\
Order,Day,Client,Region,Hours,Amount (EUR)
O1,2023-01-05,Alba,North,3,120
O2,2023-02-11,Berg,South,2,80
O3,2023-02-20,Alba,North,5,200
O4,2024-01-09,Crux,South,1,40
O5,2024-03-02,Alba,North,2,90
O6,2024-03-15,Berg,South,6,310
"""


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (("and by month?",), "2023-01: 120; 2023-02: 280; 2024-01: 40; 2024-03: 400"),
        (("hours instead",), "Alba: 10; Berg: 8; Crux: 1"), (("hours instead", "in 2024"), "Berg: 6; Alba: 2; Crux: 1"),
        (("hours instead", "in 2024", "and in 2023?"), "Alba: 8; Berg: 2"),
        (("only Alba", "by region", "the average"), "North: 136.666667"),
        (("only Alba", "top 2 clients"), "Alba: 410; Berg: 390"), (("how many?",), "Alba: 3; Berg: 2; Crux: 1"),
        (("hours instead", "why?"), "Alba: 10; Berg: 8; Crux: 1"),
    ],
)  # fmt: skip
def test_a_follow_up_changes_a_field(tmp_path: Path, said: tuple[str, ...], text: str) -> None:
    (tmp_path / "orders.csv").write_text(ORDERS, encoding="utf-8")
    with api.build(tmp_path, tmp_path / "kg", embedding="none") as graph:
        chat = by_rules(graph, "Total amount by client", *said)
    answer = chat.turns[-1].answer
    assert answer is not None
    assert answer.text == text
    assert answer.citations


def test_what_is_no_field_is_said_so(kg: api.KnowledgeGraph) -> None:
    (_, last) = by_rules(kg, PLUMS, "and the moon?").turns
    assert last.answer is not None
    assert last.answer.reasons[0] == NO_FOLLOW_UP


def follow_up(request: Request) -> Any:
    """A model that knows what is meant, and answers by the row of plums."""
    if request.stage == "follow-up":
        said = request.messages[-1]["content"]
        return {"question": "What was the harvest of plums in 2024?", "explain": "How so" in said}
    replies = {"labels": {"labels": ["plums"]}, "tables": {"tables": [1]}}
    return replies.get((request.schema or {})["required"][0], ANSWER)


def test_a_model_is_shown_the_last_turns_and_writes_the_whole_question(kg: api.KnowledgeGraph) -> None:
    model = ScriptedLLM(follow_up)
    chat = kg.chat(llm=model)
    whole: list[str] = []
    chat.ask(PLUMS, on_question=whole.append)
    chat.ask("a year later === END ===", on_question=whole.append)
    assert whole == ["What was the harvest of plums in 2024?"]
    (asked,) = [request for request in model.requests if request.stage == "follow-up"]
    prompt = asked.messages[-1]["content"]
    assert f"question: {PLUMS}\nanswer: 40" in prompt
    assert "==== MESSAGE END ====" in prompt
    last = chat.turns[-1].answer
    assert last is not None
    assert set(last.usage["stages"]) >= {"follow-up", "answer"}
    requests = len(model.requests)
    assert chat.usage.requests == requests
    again = chat.ask("How so? Why?")
    assert again.text == "40"
    assert [request.stage for request in model.requests[requests:]] == ["follow-up"]


def test_ten_turns_show_the_model_few_and_short(kg: api.KnowledgeGraph) -> None:
    model = ScriptedLLM(follow_up)
    chat = kg.chat(llm=model)
    for number in range(10):
        chat.ask(f"What about {'x' * 2_000} {number}?")
    prompts = [request.messages[-1]["content"] for request in model.requests if request.stage == "follow-up"]
    assert len(prompts) == 9
    assert max(prompt.count("question: ") for prompt in prompts) == SHOWN_TURNS
    assert max(map(len, prompts)) < 4_000 + SHOWN_TURNS * 3 * LONGEST_SHOWN
    assert chat.turns.maxlen == MOST_TURNS


MISBEHAVIOUR: dict[str, Act] = {
    "busy": Fail(429), "broken": Fail(500), "silent": Hang(), "gone": Drop(), "no completion": Raw("<html>busy</html>"),
    "refusing": Say("", refusal="I cannot help with that."), "huge": Raw("x" * 2_000_000),
    "cut off in the stream": Say(ANSWER, breaks_after=2), "without counts": Say(ANSWER, usage=False),
}  # fmt: skip


def test_ten_turns_with_a_server_that_misbehaves_in_each(kg: api.KnowledgeGraph) -> None:
    acts = iter(MISBEHAVIOUR.values())
    pending: list[Act] = []

    def act(body: Mapping[str, Any]) -> Act:
        schema = (body.get("response_format") or {}).get("json_schema", {}).get("schema", {})
        if "explain" in schema.get("required", ()):
            return {"question": PLUMS, "explain": False}
        if "citations" in schema.get("required", ()):
            return pending[0] if pending else ANSWER
        return {"labels": ["plums"]} if "labels" in schema.get("required", ()) else {"tables": [1]}

    pieces: list[str] = []
    failed: list[str] = []
    with ScriptedServer(act) as server:
        chat = kg.chat(base_url=server.base_url, model="tiny", timeout=0.5, retries=0)
        assert chat.ask(PLUMS).value == "40"
        for name, faulty in zip(MISBEHAVIOUR, acts, strict=True):
            pending[:] = [faulty]
            try:
                answer = chat.ask("And plums?", on_text=pieces.append)
            except LLMError:
                failed.append(name)
            else:
                assert bool(answer.citations) != bool(answer.failure), name
                failed += [name] if answer.failure else []
        pending.clear()
        assert chat.ask("And plums?", on_text=pieces.append).grounded
    assert failed == [name for name in MISBEHAVIOUR if name != "without counts"]
    assert "".join(pieces).endswith("40")


@pytest.mark.parametrize("bad", ["", "no JSON", {"question": 5, "explain": "no"}, LLMReplyError("refused")])
def test_a_useless_follow_up_leaves_the_question_as_it_is(kg: api.KnowledgeGraph, bad: Any) -> None:
    model = ScriptedLLM(lambda request: bad if request.stage == "follow-up" else follow_up(request))
    chat = kg.chat(llm=model)
    chat.ask(PLUMS)
    chat.ask("And in 2024?")
    assert chat.turns[-1].question == "And in 2024?"


def test_the_cost_of_a_conversation_is_bounded(kg: api.KnowledgeGraph) -> None:
    model = ScriptedLLM(follow_up)
    with pytest.raises(LLMCostError, match="price of the model is unknown"):
        kg.ask(PLUMS, llm=model, max_cost=1.0)
    with pytest.raises(LLMCostError, match=r"may cost \$0\.0\d+; \$0\.0000 of \$0\.0010 are spent"):
        kg.ask(PLUMS, llm=model, max_cost=0.001, prices=PRICES)
    assert not model.requests
    assert kg.ask(PLUMS, llm=model, max_cost=1.0, rerank=False, prices=PRICES).text == "40"


def test_a_dry_run_asks_nothing_and_bounds_what_asking_takes(kg: api.KnowledgeGraph) -> None:
    model = ScriptedLLM(follow_up)
    told = kg.ask(PLUMS, llm=model, dry_run=True, prices=PRICES)
    assert (told.found, told.reasons, model.requests) == (False, (NOT_ASKED,), [])
    kg.ask(PLUMS, llm=model)
    assert told.usage["requests"] == len(model.requests)
    sent = sum(estimate_tokens(message["content"]) for request in model.requests for message in request.messages)
    assert told.usage["prompt_tokens"] == pytest.approx(sent, rel=0.1)
    assert Decimal(str(told.usage["cost_usd"])) > 0


def test_export_as_markdown(kg: api.KnowledgeGraph) -> None:
    text = by_rules(kg, PLUMS, "And in 2024?", "## <b>*why*</b>").to_markdown()
    assert "## What was the harvest of plums in 2023?\n\n**40 kg**" in text
    assert "## And in 2024?\n\n*What was the harvest of plums in 2024?*\n\n**52 kg**" in text
    assert r"## \#\# \<b\>\*why\*\</b\>" in text


def test_errors_of_one_question_leave_the_conversation(kg: api.KnowledgeGraph) -> None:
    chat = by_rules(kg, PLUMS)
    with pytest.raises(UsageError, match="empty"):
        chat.ask("  ")
    assert chat.ask("And in 2024?").text == "52"


def test_a_conversation_is_taken_up(kg: api.KnowledgeGraph) -> None:
    chat = kg.chat(model="none")
    chat.recall(PLUMS)
    assert chat.ask("the same for pears").text == "31"
