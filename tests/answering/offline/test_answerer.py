from __future__ import annotations

from decimal import Decimal

import pytest

from kgtable.answering.answer import Answer
from kgtable.answering.evidence import Evidence, TableFrame, TableRow
from kgtable.answering.offline.answerer import RULES, answer_by_rules
from kgtable.answering.table_sources import MemoryTables
from kgtable.retrieval.result import Retrieval, ScoredTable
from kgtable.tables.layout.detect import make_table
from kgtable.tables.model import Area, Table
from tests.answering.offline.rows import ACCOUNT, CRAFT, MEDALS, ask
from tests.answering.sample import SOURCE, grid, retrieval, triple

MEDAL_ROWS = (
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
TABLES = {"medals": MEDAL_ROWS, "races": RACES, "report": REPORT, "games": GAMES}


def ask_tables(question: str, *ids: str) -> Answer:
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
    found = ask_tables(question, table)
    assert found.text == answer, found.reasons
    assert found.citations
    assert found.model == RULES


def test_a_calculation_is_shown_and_its_value_exact() -> None:
    found = ask_tables("What is the change in net sales from 2018 to 2019?", "report")
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
    found = ask_tables(question, "medals")
    assert found.found
    assert not found.verified
    assert reason in "; ".join(found.reasons)


def test_other_tables_that_answer_are_listed() -> None:
    found = ask_tables("How many gold medals did Norway win?", "medals", "races", "report")
    assert found.citations[0].table == "medals"
    assert found.alternatives == ()
    found = ask_tables("Which nation has the lowest total?", "medals", "games")
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
        found = ask_tables(question, table)
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


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Which boat has the smallest length?", "Auk"),
        ("Which boat has the highest rank?", "Skua"),
        ("Which boat has the lowest rank?", "Petrel"),
        ("Which boat built in Bergen has the greatest length?", "Skua"),
    ],
)
def test_the_row_of_the_extreme_is_found(question: str, answer: str) -> None:
    assert ask(question).text == answer


def test_rows_that_share_the_extreme_are_told() -> None:
    found = ask("Which boat has the greatest length?")
    assert "2 rows share the extreme" in found.reasons
    assert not found.verified


def test_the_second_of_an_extreme_is_not_computed_again() -> None:
    found = ask("Which boat has the second smallest length?")
    assert found.text == "Tern"
    assert not found.verified


def test_the_top_of_the_list_is_its_first_row() -> None:
    assert ask("Which boat is at the top of the list?", (CRAFT[0], *CRAFT[:0:-1])).text == "Petrel"


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("In which year were boats highest?", "2023"),
        ("Which year had the lowest total sales?", "2021"),
        ("In which year were boats below 45 million?", "2021"),
    ],
)
def test_the_year_is_that_of_the_extreme(question: str, answer: str) -> None:
    assert ask(question, ACCOUNT).text == answer


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Which boat has a greater length, Skua or Tern?", "Skua"),
        ("Does Tern have more or less length than Skua?", "less"),
    ],
)
def test_one_of_two_is_chosen(question: str, answer: str) -> None:
    found = ask(question)
    assert found.text == answer, found.reasons
    assert found.calculation


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What are the yard and rank of the boat with the smallest length?", "Moss; 4"),
        ("List the top 2 boats by rank.", "Skua; Gannet"),
        ("Which boat is the oldest?", "Auk"),
        ("What is the rank of the shortest boat?", "4"),
    ],
)
def test_what_is_told_of_the_extreme_row_is_what_is_asked_for(question: str, answer: str) -> None:
    assert ask(question).text == answer, ask(question).reasons


def test_the_first_few_are_added_up_where_a_number_is_asked_for() -> None:
    rows = (("Pos", "Driver", "Points"), ("1", "Eng", "20"), ("2", "Vik", "16"), ("3", "Dal", "14"))
    assert ask("How many points did the top 2 drivers get?", rows).text == "36"


def test_what_follows_the_total_takes_no_part() -> None:
    rows = (
        ("Candidate", "Votes"),
        ("Moe", "40"),
        ("Lie", "60"),
        ("Dal", "9"),
        ("Total", "109"),
        ("Electors", "300"),
    )
    assert ask("Which candidate had the most votes?", rows).text == "Lie"


BRIDGE = (("", "Amount"), ("2010 net revenue", "400"), ("Volume", "30"), ("2011 net revenue", "440"))
LEASES = (("Due in", "Rents", "Leases"), ("2020", "7", "20"), ("2021", "8", "25"), ("2022", "9", "30"))


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How many boats are there?", "5"),
        ("How many boats were built in Bergen?", "2"),
        ("How many boats were built after 2000?", "3"),
        ("How many boats have a length of more than 9 m?", "4"),
        ("How many boats are racing?", "2"),
        ("How many boats are not racing?", "3"),
        ("How many different yards are there?", "3"),
        ("What is the average length of boats from Bergen?", "11"),
        ("What is the total length of Skua and Auk?", "20.5"),
        ("What is the average length of the boats that are racing?", "13.75"),
    ],
)
def test_the_rows_meant_are_counted_and_added(question: str, answer: str) -> None:
    found = ask(question)
    assert found.text == answer, (found.calculation, found.reasons)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What were boats in 2021 and 2023 combined?", "115"),
        ("What was the average of boats from 2021 to 2023?", "55"),
        ("What was the average of boats in 2021 and 2023?", "57.5"),
    ],
)
def test_years_are_added_as_the_question_spans_them(question: str, answer: str) -> None:
    found = ask(question, ACCOUNT)
    assert (found.text, found.verified) == (answer, True), (found.calculation, found.reasons)


def test_rows_under_a_merged_cell_count() -> None:
    rows = (
        ("Yard", "Boat", "Length"),
        ("Bergen", "Skua", "12"),
        ("", "Tern", "9"),
        ("Moss", "Auk", "8"),
    )
    found = ask("How many boats are from Bergen?", rows, merged=(Area(1, 0, 2, 0),))
    assert found.text == "2"


@pytest.mark.parametrize("question", ["How many engines are from Bergen?", "How many were there in 1998?"])
def test_what_is_counted_must_be_called_so(question: str) -> None:
    assert not ask(question, CRAFT).verified


def test_small_numbers_and_years_beside_a_column_pick_rows() -> None:
    rows = (("Name", "Grade", "Age"), ("Ida", "9", "15"), ("Bo", "10", "16"), ("Kim", "10", "17"))
    assert ask("How many are in grade 10?", rows).text == "2"
    assert ask("Show the names of everyone in grade 10.", rows).text == "Bo; Kim"
    assert ask("How many have an age between 15 and 16?", rows).text == "2"
    assert ask("What is the average age of those whose grade is not lower than 10?", rows).text == "16.5"


def test_what_asks_for_two_things_is_not_verified_by_one() -> None:
    found = ask("How many boats are from Moss and how many boats are racing?")
    assert not found.verified
    assert "the question asks for more than one thing" in found.reasons


GRANTS = (
    ("", "2022", "2023"),
    ("Options granted", "452", "188"),
    ("Options lapsed", "12", "14"),
)


@pytest.mark.parametrize(
    ("question", "rows", "answer"),
    [
        ("What was the number of options granted in 2023?", GRANTS, "188"),
        ("How many medals did Norway and Finland win in total?", MEDALS, "10"),
        ("How many gold medals did Norway and Sweden win?", MEDALS, "8"),
        ("What is the sum of leases from 2020 to 2022?", LEASES, "75"),
        ("What is the average of leases from 2020 to 2022?", LEASES, "25"),
        ("What was the average net revenue from 2010 to 2011?", BRIDGE, "420"),
    ],
)
def test_numbers_that_the_table_gives_are_not_counted(
    question: str, rows: tuple[tuple[str, ...], ...], answer: str
) -> None:
    assert ask(question, rows).text == answer, ask(question, rows).reasons


PLACES = (
    ("Year", "Meeting", "Position"),
    ("2001", "Oslo Games", "3rd"),
    ("2003", "Turku Games", "1st"),
    ("2004", "Riga Games", "12th"),
    ("2006", "Malmö Games", "1st"),
)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How many times did she finish first?", "2"),
        ("How many times did she finish in the top three?", "3"),
        ("At which meeting did she come third?", "Oslo Games"),
        ("Which meeting did she finish in 12th place at?", "Riga Games"),
    ],
)
def test_places_among_others_are_conditions(question: str, answer: str) -> None:
    assert ask(question, PLACES).text == answer, ask(question, PLACES).reasons


def test_one_row_counted_and_text_for_a_number_are_not_verified() -> None:
    rows = (("City", "Notes"), ("Lima", "43 districts"), ("Cusco", "8 districts"))
    found = ask("How many districts are in Lima?", rows)
    assert not found.verified
    assert "only one row is counted, which may itself say the number" in found.reasons
    assert not ask("How many notes has Lima?", rows).verified


def test_a_condition_on_a_column_that_is_not_named_is_told() -> None:
    rows = (("Uid", "Airline", "Seats"), ("8", "Tern Air", "70"), ("12", "Auk Air", "90"))
    found = ask("Which airlines have at least 10 flights?", rows)
    assert not found.verified
    assert "taken for its condition" in "; ".join(found.reasons)
    assert not ask("What are the names of the airlines and the total seats?", rows).verified


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What is the difference between boats and repairs in 2023?", "50"),
        ("What is the difference in boats between 2021 and 2023?", "35"),
        ("What was the increase in boats in 2023?", "25"),
        ("What was the percentage change in boats from 2021 to 2022?", "25%"),
        ("Boats increased by what percent in 2023?", "50%"),
        ("What percentage of total sales in 2023 came from boats?", "75%"),
        ("What were boats in 2023 as a percentage of total sales?", "75%"),
        ("What was the ratio of boats to repairs in 2023?", "3"),
        ("What was the ratio of boats in 2023 to 2022?", "1.5"),
    ],
)
def test_two_numbers_are_those_that_the_question_names(question: str, answer: str) -> None:
    found = ask(question, ACCOUNT)
    assert (found.text, found.verified) == (answer, True), (found.calculation, found.reasons)


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ("What is the difference between boats and engines in 2023?", "engines"),
        ("What is the difference in boats between 2020 and 2023?", "2020"),
        ("What is the difference between boats and repairs?", "does not tell the column"),
        ("What is the change in boats?", "does not name"),
    ],
)
def test_a_side_that_is_not_named_is_not_verified(question: str, reason: str) -> None:
    found = ask(question, ACCOUNT)
    assert not found.verified, found.calculation
    assert reason in "; ".join(found.reasons)


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ("What were boats?", "the question does not tell the column '2021' from '2022', '2023'"),
        ("Skua", "the question does not tell the column"),
        ("What is the length of the boat from Bergen?", "1 other row of the table fits as well"),
        ("Which yard is Bergen?", "only repeats"),
    ],
)
def test_what_fits_as_well_is_named(question: str, reason: str) -> None:
    found = ask(question, ACCOUNT if "were" in question else CRAFT)
    assert not found.verified
    assert reason in "; ".join(found.reasons)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What is the length of Tern?", "9.5"),
        ("How long is Tern?", "9.5"),
        ("When was Auk built?", "1990"),
        ("Which yard is Petrel from?", "Horten"),
        ("Which boat was built in 2001?", "Gannet"),
    ],
)
def test_what_fits_alone_is_verified(question: str, answer: str) -> None:
    found = ask(question)
    assert (found.text, found.verified) == (answer, True), found.reasons


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Is the length of Skua greater than that of Tern?", "yes"),
        ("Is Tern longer than Skua?", "no"),
        ("Is Skua shorter than Gannet?", "yes"),
        ("Is Skua longer than 12 m?", ""),
        ("Is Skua racing?", "yes"),
        ("Is Tern racing?", "no"),
    ],
)
def test_rows_and_cells_are_compared(question: str, answer: str) -> None:
    found = ask(question)
    assert found.text == answer or not answer
    assert not answer or found.verified, found.reasons


@pytest.mark.parametrize(
    ("question", "answer", "calculation"),
    [
        ("Did boats increase from 2021 to 2023?", "yes", "T1.r1.c3 > T1.r1.c1 is true"),
        ("Did boats decrease in 2022?", "no", "T1.r1.c2 < T1.r1.c1 is false"),
        ("Did repairs grow from 2022 to 2023?", "no", "T1.r2.c3 > T1.r2.c2 is false"),
        ("Were boats more than 60 million in 2023?", "yes", "T1.r1.c3 > 60000000 is true"),
        ("Were boats less than 60 million in 2023?", "no", "T1.r1.c3 < 60000000 is false"),
    ],
)
def test_a_comparison_is_computed(question: str, answer: str, calculation: str) -> None:
    found = ask(question, ACCOUNT)
    assert (found.text, found.calculation, found.verified) == (answer, calculation, True), found.reasons


def test_what_one_row_holds_is_no_computation() -> None:
    found = ask("Was Skua built by Moss?")
    assert found.text == "no"
    assert not found.verified
