"""kgtable's own questions about invented tables (``tests/questions``): what is verified is right."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import kgtable
from kgtable.answering.answer import Answer
from kgtable.evaluation.benchmark import BenchmarkQuestion
from kgtable.evaluation.scoring import answer_scores
from kgtable.values.dates import parse_date

FOLDER = Path(__file__).parents[1] / "questions"


def questions_of(folder: Path) -> list[dict[str, Any]]:
    text = (folder / "questions.dev.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[dict[str, Any], Answer, bool]]:
    """Each question with its answer by rules, and whether that is right; every third question."""
    found = []
    for folder in (FOLDER, FOLDER / "bay", FOLDER / "reef"):
        kg = kgtable.build(folder / "tables", tmp_path_factory.mktemp("own") / "kg", embedding="none")
        with kg:
            for item in questions_of(folder)[::3]:
                answer = kg.ask(item["question"], model="none")
                golds = [item["answers"], *(item.get("accept") or ())]
                right = bool(item["answers"]) and any(matches(item, gold, answer) for gold in golds)
                found.append((item, answer, right))
    return found


def matches(item: dict[str, Any], answers: list[str], answer: Answer) -> bool:
    date = parse_date(answer.text)
    if date is not None and answers == [date.lexical]:
        return True
    gold = BenchmarkQuestion(item["id"], item["question"], tuple(answers), (), (), False, {})
    return answer_scores(gold, answer.text, answer.value)["match"] >= 1.0


def test_what_is_answered_with_confidence_is_right(answers: list[tuple[dict[str, Any], Answer, bool]]) -> None:
    sure = [right or ":" in answer.text for _, answer, right in answers if answer.is_sure]  # gold times are in seconds
    assert len(sure) >= 0.5 * len(answers)
    assert sum(sure) >= 0.97 * len(sure)


def test_most_questions_are_answered(answers: list[tuple[dict[str, Any], Answer, bool]]) -> None:
    asked = [right for item, _, right in answers if item["answers"]]
    assert sum(asked) >= 0.75 * len(asked)


def test_rules_alone_never_verify(answers: list[tuple[dict[str, Any], Answer, bool]]) -> None:
    assert not any(answer.verified for _, answer, _ in answers)
