"""Answers by programs: the verdict says what it says.

A case of ``answers_by_rules.toml`` asks a question of tables, likeliest first, and gives what the answer is: its
``text``, ``value``, ``reasons`` and the like, what is ``among`` its texts and those of its alternatives and what they
are ``other_than``, words of a ``reason`` or of the ``first_reason`` and of its ``derivation``, whether it has a
``best`` program and ``has_reasons``, how its ``value_begins``, and the ``names`` of what it gives.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

import kgtable
from kgtable.errors import UnitMismatchError
from kgtable.programs.relation import Relation
from kgtable.questions.by_rules import RankedAnswer, answer_by_programs
from kgtable.questions.relation_index import index_of
from kgtable.questions.sources import MOST_KEY_COLUMNS, _key_columns, shared_key
from tests.questions.test_candidates import BUDGET, PRODUCTS, SALES
from tests.questions.test_linking import GAMES, STAFF, relation

FILE = tomllib.loads(Path(__file__).with_name("answers_by_rules.toml").read_text(encoding="utf-8"))
TABLES = {
    "village-budget": BUDGET, "products": PRODUCTS, "pieces sold": SALES, "board-games": GAMES, "employees": STAFF,
}  # fmt: skip
TABLES |= {
    key: relation(key.split()[0], *(tuple(line.split("|")) for line in text.split("\n")))
    for key, text in FILE["tables"].items()
}


def ask(text: str, *tables: Relation) -> RankedAnswer:
    return answer_by_programs(text, [(table, 1.0 - 0.1 * rank) for rank, table in enumerate(tables)])


@pytest.mark.parametrize("case", FILE["case"], ids=lambda case: f"{case['about']}: {case['question']}")
def test_what_rules_answer(case: dict[str, Any]) -> None:
    expected = {key: value for key, value in case.items() if key not in ("about", "question", "tables")}
    assert expected
    answer = ask(case["question"], *(TABLES[key] for key in case["tables"]))
    texts = {answer.text, *(other.text for other in answer.alternatives)}
    for key, value in expected.items():
        match key:
            case "among":
                assert texts >= set(value)
            case "other_than":
                assert not texts & set(value)
            case "reason":
                assert any(value in reason for reason in answer.reasons)
            case "first_reason":
                assert value in answer.reasons[0]
            case "derivation":
                assert value in answer.derivation
            case "best":
                assert (answer.best is not None) == value
            case "has_reasons":
                assert bool(answer.reasons) == value
            case "value_begins":
                assert str(answer.value).startswith(value)
            case "names":
                assert answer.best is not None
                assert list(answer.best.result.names) == value
            case "tables_are":
                assert list(answer.tables) == value
            case _:
                found = getattr(answer, key)
                assert (list(found) if isinstance(found, tuple) else found) == value


def test_answers_are_deterministic() -> None:
    first, second = (ask("Which designer has the most board games?", GAMES, STAFF) for _ in range(2))
    assert (first.text, first.confidence, first.reasons) == (second.text, second.confidence, second.reasons)


def test_words_of_a_short_table_above_another_are_said_of_both(tmp_path: Path) -> None:
    lines = ["Account details for:,FRANK Account 666", "Available balance,\"6,666.66\"", "", "Transaction history",
             "Date,Description,Withdrawals (EUR)", "2024-04-13,PURCHASE,13.32", "2024-04-16,FEE,6.60",
             "2024-04-16,PURCHASE,2.00"]  # fmt: skip
    (tmp_path / "statement.csv").write_text("\n".join(lines), encoding="utf-8")
    with kgtable.build(tmp_path, tmp_path / "graph", embedding="none") as graph:
        answer = graph.ask("What are the total withdrawals per date in the FRANK account?")
    assert answer.text == "2024-04-13: 13.32; 2024-04-16: 8.6"
    assert not any("FRANK" in reason for reason in answer.reasons)


def test_an_extreme_row_does_not_stand_for_the_sum_of_its_kind() -> None:
    answer = ask("Which genre had the most performances in total?", TABLES["plays"])
    assert answer.text == "comedy" or not answer.sure


@pytest.mark.parametrize("where", ["kgtable.questions.by_rules.sources_of", "kgtable.questions.ranker.candidates_of"])
def test_units_that_do_not_fit_are_never_an_error_of_the_question(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is raised beside the candidates that are tried abandons them, and refuses no question."""

    def refuse(*_: object) -> None:
        raise UnitMismatchError("USD cannot be converted to a plain number.")

    monkeypatch.setattr(where, refuse)
    answer = ask("Which item is over $50?", TABLES["flea-market"])
    assert (answer.best, answer.sure, answer.text) == (None, False, "")
    assert answer.reasons


def test_what_is_cut_off_is_never_sure() -> None:
    question = "What is the average salary in IT?"
    assert ask(question, STAFF).sure
    answer = ask(f"{question[:-1]} {'of the ' * 80} people who were hired after 2014?", STAFF)
    assert not answer.sure
    assert "The end of the question was not read: it is too long." in answer.reasons


def test_tables_of_very_many_columns_are_asked_without_comparing_all_of_them() -> None:
    width = 2_000
    towns = ("Bath", "York", "Ely")
    rates = [
        relation(
            name,
            ("Town", *(f"{word} {n}" for n in range(width))),
            *((town, *(f"{name} {n + row}" for n in range(width))) for row, town in enumerate(towns)),
        )
        for name, word in (("north", "Code"), ("south", "Sign"))
    ]
    left, right = map(index_of, rates)
    assert len(_key_columns(left)) == len(_key_columns(right)) == MOST_KEY_COLUMNS
    key = shared_key(left, right)
    assert key is not None
    assert (key.left, key.right) == (left.columns[0].ref, right.columns[0].ref)
