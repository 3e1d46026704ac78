from __future__ import annotations

from kgtable.answering.ask import read_zero_shot, zero_shot_request
from kgtable.llm.scripted import ScriptedLLM


def test_the_question_alone_is_asked_at_the_thesiss_temperature() -> None:
    request = zero_shot_request("How high is $5 in € & %?")
    assert "How high is $5 in € & %?" in request.messages[1]["content"]
    assert request.temperature == 0.9


def test_a_reply_is_an_answer_without_evidence() -> None:
    model = ScriptedLLM([{"reasoning": "Known.", "found": True, "answer": "Oslo"}])
    request = zero_shot_request("Which capital?")
    answer = read_zero_shot("Which capital?", request, model.complete(request))
    assert (answer.text, answer.verified, answer.method) == ("Oslo", False, "zero-shot")
    assert answer.citations == ()


def test_not_known_is_no_answer() -> None:
    model = ScriptedLLM([{"reasoning": "?", "found": False, "answer": "perhaps"}])
    request = zero_shot_request("Which capital?")
    assert not read_zero_shot("Which capital?", request, model.complete(request)).found
