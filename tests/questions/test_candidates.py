"""Candidate programs: what a question means is among them, and executes."""

from __future__ import annotations

import pytest

from kgtable.errors import KgtableError
from kgtable.index.inferred.relations import JoinableColumns, RelatedColumn, TableRelations
from kgtable.programs.batch_execution import Session
from kgtable.programs.display import text_of_rows
from kgtable.programs.relation import Relation
from kgtable.questions.ranker import MOST_CANDIDATES, candidates_of, sources_of
from kgtable.questions.reading import Question
from tests.questions.test_linking import GAMES, STAFF, relation

BUDGET = relation(
    "village-budget",
    ("Item", "2021", "2022", "2023"),
    ("School", "420", "455", "480"),
    ("Roads", "310", "265", "390"),
    ("Culture", "95", "110", "105"),
    ("Total", "825", "830", "975"),
)
PRODUCTS = relation("products", ("SKU", "Product", "Supplier"), ("P301", "Mug", "Norra"), ("P302", "Knife", "Kupfer"),
                    ("P303", "Clock", "Norra"))  # fmt: skip
SALES = relation("sales", ("Sale", "SKU", "Pieces"), ("1", "P301", "3"), ("2", "P302", "1"), ("3", "P301", "4"))


FAIRS = relation("fairs", ("Fair", "Held", "Visitors"), ("Spring", "Batth", "300"), ("Summer", "Yorck", "900"),
                 ("Autumn", "Hul", "450"))  # fmt: skip
TOWNS = relation("towns", ("Town", "County"), ("Bath", "Somerset"), ("York", "Yorkshire"), ("Hull", "East Riding"))
HELD = JoinableColumns(RelatedColumn("fairs", 1, "Held"), RelatedColumn("towns", 0, "Town"), 0.9, 1.0, 1.0, 1.0, 0.0, 3)

PUPILS = relation(
    "pupils", ("Pupil ID", "Name", "Class", "Age", "Weight (kg)", "Country"),
    ("11", "Ada", "9", "14", "48", "France"), ("12", "Bo", "10", "16", "60", "Italy"),
    ("13", "Ada", "9", "15", "52", "France"), ("14", "Cy", "11", "17", "70", "Spain"),
)  # fmt: skip
LOANS = relation(
    "loans", ("Loan", "Pupil ID", "Book"),
    ("1", "11", "Emma"), ("2", "11", "Ulysses"), ("3", "12", "Emma"), ("4", "13", "Dune"),
)  # fmt: skip
RACES = relation(
    "races", ("Year", "Rank", "Team", "Laps"), ("2019", "3", "Lund", "50"), ("2020", "12", "Vik", "47"),
    ("2021", "5", "Lund", "50"), ("2022", "1", "Aas", "49"),
)  # fmt: skip
ROOMS = relation("rooms", ("Room No", "Floor"), *((str(number), str(number % 3)) for number in range(9, 30)))


def answers(text: str, *tables: Relation, joins: TableRelations | None = None) -> dict[str, set[str]]:
    """The answers of the candidates by operator."""
    question = Question.read(text)
    session = Session({table.id: table for table in tables})
    found: dict[str, set[str]] = {}
    for source in sources_of(question, [(table, 1.0) for table in tables], joins):
        for candidate in candidates_of(source):
            try:
                denotation = session.denotation(candidate.program)
            except KgtableError:
                continue
            found.setdefault(candidate.op, set()).add(text_of_rows(denotation.rows))
    return found


@pytest.mark.parametrize(
    ("text", "table", "op", "answer"),
    [
        ("What is the rating of Or?", GAMES, "select", "7.4"),
        ("How many games are for 2 players?", GAMES, "count", "2"),
        ("How many designers are there?", GAMES, "count_distinct", "4"),
        ("Which game has the best rating?", GAMES, "extreme", "Up"),
        ("Name the two games with the lowest rating.", GAMES, "top", "Stone Bridge; No"),
        ("What is the average salary in IT?", STAFF, "mean", "67500"),
        ("Who is not in IT?", STAFF, "select", "Jonas Weil; Vera Lind"),
        ("Which employee reports to nobody?", STAFF, "select", "Vera Lind"),
        ("How much more does Omar Nasser earn than Jonas Weil?", STAFF, "difference/rows/reverse", "34000"),
        ("Does Omar Nasser earn more than Vera Lind?", STAFF, "compare_yes", "no"),
        ("Which designer has the most games?", GAMES, "group_extreme/count", "Falk"),
        ("By what percentage did roads rise from 2022 to 2023?", BUDGET, "percent_change/columns/time", "47.169811%"),
        ("What share of the total was the school in 2021?", BUDGET, "share/sum", "50.909091%"),
        ("In which year was culture highest?", BUDGET, "column_extreme", "2022"),
        ("Which item was higher in 2021 than in 2022?", BUDGET, "change_rows", "Roads"),
        ("How many pupils are in class 9 or 10?", PUPILS, "count", "3"),
        ("Which team is at the top of the table?", RACES, "first_last/first", "Lund"),
        ("Other than Lund, which team had 49 laps?", RACES, "select", "Aas"),
        ("What are the age and the class of the pupil called Bo?", PUPILS, "select/columns", "16; 10"),
    ],
)  # fmt: skip
def test_the_meaning_is_among_the_candidates(text: str, table: Relation, op: str, answer: str) -> None:
    found = answers(text, table)
    assert answer in set().union(*(found[name] for name in found if name.startswith(op.split("/")[0])))


def test_joins_by_a_shared_key() -> None:
    found = answers("How many pieces of the mug were sold?", PRODUCTS, SALES)
    assert "7" in found["sum"]
    never = answers("Which product has never been sold?", PRODUCTS, SALES)
    assert "Clock" in never["never"]


@pytest.mark.parametrize(
    ("text", "op", "answer"),
    [
        ("What is the average age of the pupils who have loans?", "ever/mean", "15"),
        ("What is the lowest age of the pupils without any loans?", "never/min", "17"),
        ("Which pupil has the most loans?", "group_extreme/count", "Ada"),
    ],
)  # fmt: skip
def test_rows_of_one_name_are_told_apart_by_their_key(text: str, op: str, answer: str) -> None:
    assert answer in answers(text, PUPILS, LOANS)[op]


def test_numbers_that_are_among_those_of_a_key_are_no_reference() -> None:
    found = answers("Show the number of pupils in each class.", PUPILS, ROOMS)
    assert "9: 2; 10: 1; 11: 1" in found["group/count"]


def test_totals_stay_out_of_sums() -> None:
    assert "830" in answers("What is the total in 2022?", BUDGET)["sum"]


def test_the_number_of_candidates_is_bounded() -> None:
    text = "Which Or No Up 1815 game of 2016 2019 2011 with more than 2 players and a rating over 5 and under 8 by Falk or Sato"  # noqa: E501
    for source in sources_of(Question.read(text), [(GAMES, 1.0)]):
        assert len(candidates_of(source)) <= MOST_CANDIDATES


@pytest.mark.parametrize("tables", [(FAIRS, TOWNS), (TOWNS, FAIRS)])
def test_a_join_that_the_graph_states_is_used_where_the_values_show_no_key(tables: tuple[Relation, ...]) -> None:
    question = "How many visitors did the fair in the county of Somerset have?"
    found = answers(question, *tables, joins=TableRelations([HELD]))
    assert any("300" in texts for texts in found.values())
    assert not any("300" in texts for texts in answers(question, *tables).values())
