from __future__ import annotations

from decimal import Decimal

import pytest

from kgtable.answering.answer import Answer
from kgtable.answering.evidence import Evidence, TableFrame, TableRow
from kgtable.answering.offline.answerer import RULES, answer_by_rules
from kgtable.answering.table_sources import MemoryTables
from kgtable.retrieval.result import Retrieval, ScoredTable
from kgtable.tables.layout.detect import make_table
from kgtable.tables.model import Table
from tests.answering.sample import SOURCE, grid, retrieval, triple

MEDALS = (
    ("Rank", "Nation", "Gold", "Silver", "Total"),
    ("1", "Norway", "5", "2", "7"),
    ("2", "Sweden", "3", "6", "9"),
    ("3", "Finland", "3", "0", "3"),
    ("4", "Iceland", "1", "1", "2"),
)
RACES = (
    ("Year", "Race", "Winner", "Country", "Distance"),
    ("2008", "Fjord Cup", "Anna Berg", "Norway", "120"),
    ("2010", "Coast Tour", "Lena Holm", "Sweden", "150"),
    ("2012", "Fjord Cup", "Anna Berg", "Norway", "118"),
    ("2015", "Lake Race", "Maria Salo", "Finland", "90"),
)
REPORT = (
    ("EUR million", "2017", "2018", "2019"),
    ("Net sales", "1,100", "1,200", "1,500"),
    ("Cost of sales", "(500)", "(600)", "(660)"),
    ("Total assets", "9,000", "9,500", "10,000"),
    ("Inventories", "900", "950", "1,500"),
)
GAMES = (("Nation", "Total", "Open"), ("Norway", "5", "yes"), ("Denmark", "2", "no"), ("Latvia", "8", "yes"))
TABLES = {"medals": MEDALS, "races": RACES, "report": REPORT, "games": GAMES}


def ask(question: str, *ids: str) -> Answer:
    tables = [make_table(grid(id, TABLES[id])) for id in TABLES]
    ranked = tuple(ScoredTable(id, 9.0 - place) for place, id in enumerate(ids))
    return answer_by_rules(Evidence(Retrieval(question, (), ranked), MemoryTables(tables)))


@pytest.mark.parametrize(
    ("table", "question", "answer"),
    [
        ("medals", "How many gold medals did Sweden win?", "3"),
        ("medals", "Which nation won the most gold medals?", "Norway"),
        ("medals", "Which nation has the lowest total?", "Iceland"),
        ("medals", "How many nations won more than 1 silver medals?", "2"),
        ("medals", "How many more gold medals did Norway win than Iceland?", "4"),
        ("medals", "What is the average number of silver medals?", "2.25"),
        ("medals", "Which nation is ranked next after Sweden?", "Finland"),
        ("medals", "Who won more silver medals, Norway or Sweden?", "Sweden"),
        ("games", "How many nations are open?", "2"),
        ("games", "How many nations are not open?", "1"),
        ("races", "How many times did Anna Berg win?", "2"),
        ("races", "Who won the Lake Race?", "Maria Salo"),
        ("races", "In which year did Lena Holm win?", "2010"),
        ("races", "Which race was held first?", "Fjord Cup"),
        ("races", "How many races were held after 2009?", "3"),
        ("races", "What is the total distance of the Fjord Cup?", "238"),
        ("report", "What were net sales in 2018?", "1,200"),
        ("report", "What were net sales in 2018 and 2019, respectively?", "1,200; 1,500"),
        ("report", "What is the change in net sales from 2018 to 2019?", "300"),
        ("report", "What was the percentage change in net sales from 2018 to 2019?", "25%"),
        ("report", "What was the average net sales for 2017-2019?", "1266.6666666667"),
        ("report", "In which year were inventories larger?", "2019"),
        ("report", "What was the change in cost of sales from 2018 to 2019?", "-60"),
    ],
)
def test_forms_of_questions_are_computed(table: str, question: str, answer: str) -> None:
    found = ask(question, table)
    assert found.text == answer, found.reasons
    assert found.citations
    assert found.model == RULES


def test_a_calculation_is_shown_and_its_value_exact() -> None:
    found = ask("What is the change in net sales from 2018 to 2019?", "report")
    assert found.verified, found.reasons
    assert found.calculation == "T1.r1.c3 - T1.r1.c2 = 300000000"
    assert found.value is not None
    assert Decimal(found.value) == 300_000_000
    assert found.unit == "CCY_EUR"
    assert {citation.text for citation in found.citations} == {"1,200", "1,500"}


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ("Which nation is ranked next after Sweden?", "cannot be computed again"),
        ("How many gold medals did Sweden win flag?", "the cells say nothing of: flag"),
    ],
)
def test_what_the_cells_do_not_bear_out_is_not_verified(question: str, reason: str) -> None:
    found = ask(question, "medals")
    assert found.found
    assert not found.verified
    assert reason in "; ".join(found.reasons)


def test_other_tables_that_answer_are_listed() -> None:
    found = ask("How many gold medals did Norway win?", "medals", "races", "report")
    assert found.citations[0].table == "medals"
    assert found.alternatives == ()
    found = ask("Which nation has the lowest total?", "medals", "games")
    assert [(other.table, other.text) for other in found.alternatives] == [("games", "Denmark")]


def test_without_a_rule_the_best_cell_is_shown_unverified() -> None:
    found = answer_by_rules(Evidence(retrieval("zzz?", "ports"), SOURCE))
    assert found.text == "Skarv"
    assert not found.verified
    assert "no rule fits" in found.reasons[0]


@pytest.mark.parametrize(
    "question", ["?", "!!!", "or", "how many", "which or what", "Où est-ce?", "何ですか", "🎉" * 50]
)
def test_any_question_has_an_answer_or_none(question: str) -> None:
    for table in TABLES:
        found = ask(question, table)
        assert found.model == RULES


def test_of_a_long_table_only_the_rows_retrieved_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgtable.answering.evidence.MOST_CELLS", 5)

    class Long(MemoryTables):
        def table(self, id: str) -> Table:
            raise AssertionError(f"the whole table {id} is read")

        def frame(self, id: str) -> TableFrame:
            return SOURCE.frame(id)

        def row(self, id: str, row: int) -> TableRow | None:
            return SOURCE.row(id, row)

    shown = Retrieval(
        "How many ships has Fjell?", (triple("ports", 2, 2, 1.0),), (ScoredTable("ports", 1.0),)
    )
    found = answer_by_rules(Evidence(shown, Long([])))
    assert found.text == "44"
    assert not found.verified
    assert "2 further rows of this long table were not read" in found.reasons
