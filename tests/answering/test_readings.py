"""Questions that compare rows, columns and groups: what is answered, and what is doubted."""

from __future__ import annotations

import pytest

from kgtable.programs.relation import Relation
from tests.answering.test_by_rules import ask, relation

CARS = relation(
    "cars",
    ("Car", "Power (hp)", "Weight (kg)", "Price (EUR)"),
    ("Ada", "90", "1100", "18000"),
    ("Bolt", "150", "1500", "32000"),
    ("Cleo", "110", "1250", "24500"),
    ("Dart", "75", "990", "15900"),
)
VENUES = relation(
    "venues",
    ("venue_id", "name", "seats"),
    ("V1", "Old Mill", "320"),
    ("V2", "Arena", "9000"),
    ("V3", "Barn", "150"),
    ("V4", "Pier", "800"),
)
CONCERTS = relation(
    "concerts",
    ("concert", "venue_id", "year"),
    ("Spring Gala", "V1", "2023"),
    ("Jazz Night", "V2", "2023"),
    ("Rock Day", "V2", "2024"),
    ("Autumn Gala", "V1", "2024"),
    ("Folk Fest", "V4", "2024"),
    ("Brass Day", "V2", "2022"),
)
ACCOUNTS = relation(
    "accounts",
    ("EUR million", "2022", "2023", "2024"),
    ("Revenue", "410", "455", "430"),
    ("Restructuring", "", "12", ""),
    ("Costs", "-300", "-310", "-305"),
)
LEAGUE = relation(
    "league",
    ("Team", "P", "W", "D", "L", "GF", "GA", "Pts"),
    ("Rovers", "5", "4", "1", "0", "11", "4", "13"),
    ("United", "5", "2", "1", "2", "12", "9", "7"),
    ("Albion", "5", "0", "2", "3", "3", "13", "2"),
)


@pytest.mark.parametrize(
    ("question", "tables", "said"),
    [
        ("How many cars are heavier than the car with the highest power?", [CARS], "0"),
        ("Which cars cost more than Cleo?", [CARS], "Bolt"),
        (
            "Show the name and the number of concerts for each venue.",
            [CONCERTS, VENUES],
            "Old Mill; 2; Arena; 3; Pier; 1",
        ),
        (
            "What is the name and the seats of the venue with the most concerts?",
            [CONCERTS, VENUES],
            "Arena; 9000",
        ),
        ("Which venues did not have a concert in 2024?", [VENUES, CONCERTS], "Barn"),
        (
            "What are the names of the venues with concerts in both 2023 and 2024?",
            [CONCERTS, VENUES],
            "Old Mill; Arena",
        ),
        ("In which years was restructuring reported?", [ACCOUNTS], "2023"),
        ("In which year was revenue the highest?", [ACCOUNTS], "2023"),
        ("In how many years was revenue more than 420?", [ACCOUNTS], "2"),
        ("How much lower was revenue in 2024 than in 2023?", [ACCOUNTS], "25"),
        ("What was the revenue in 2023 compared with the year before?", [ACCOUNTS], "455; 410"),
        ("Who scored the most goals?", [LEAGUE], "United"),
        ("Which team conceded fewer than 5 goals?", [LEAGUE], "Rovers"),
        ("How many more points than Albion did Rovers get?", [LEAGUE], "11"),
    ],
)
def test_readings(question: str, tables: list[Relation], said: str) -> None:
    answer = ask(question, *tables)
    assert said in [answer.text, *(other.text for other in answer.alternatives)], (
        answer.text,
        answer.reasons,
    )


CLASS = relation(
    "class", ("Pupil", "pH", "FreshHub"), ("Ito Hana", "7.1", "2.40"), ("Greco Lia", "6.8", "2.10")
)


def test_names_are_found_in_the_other_order_and_headers_as_they_are_written() -> None:
    assert ask("What is the pH of Hana Ito?", CLASS).text == "7.1"
    assert ask("What is the FreshHub of Lia Greco?", CLASS).text == "2.10"


def test_components_are_the_rows_that_a_total_adds_up() -> None:
    revenue = relation(
        "revenue", ("EUR thousand", "2024"), ("Services", "59"), ("Software", "41"), ("Total revenue", "100")
    )
    assert ask("What are the segments of revenue?", revenue).text == "Services; Software"


def test_equal_values_of_different_rows_are_all_told() -> None:
    visits = relation("visits", ("Town", "Year"), ("Aarau", "2021"), ("Bern", "2021"), ("Chur", "2022"))
    answer = ask("List the town and the year of each visit.", visits)
    assert "Aarau; 2021; Bern; 2021; Chur; 2022" in [answer.text, *(o.text for o in answer.alternatives)]


STOCK = relation(
    "stock",
    ("Item", "On hand", "Unit cost (USD)"),
    ("Cordless drill", "27", "89.00"),
    ("Jigsaw", "4", "65.00"),
)
ARRIVALS = relation(
    "arrivals", ("Flight", "Scheduled", "Expected"), ("KA 226", "10:45", "12:20"), ("NB 77", "08:40", "09:35")
)
SURVEY = relation(
    "survey, percent of people",
    ("Statement", "Agree", "No answer"),
    ("It is clean", "91%", "9%"),
    ("It is quiet", "96%", "4%"),
)
RATES = relation(
    "rates", ("Date", "USD"), ("01/02/2024", "1.08"), ("02/01/2024", "1.09"), ("03/04/2024", "1.10")
)
LOANS = relation(
    "loans", ("Title", "Author", "Borrower"), ("Iron", "T. Cole", "Hughes"), ("Moss", "R. Anand", "Silva")
)
TOWERS = relation(
    "tallest-towers",
    ("Tower", "City", "Height (m)"),
    ("One", "Ostrava", "318"),
    ("Two", "Varenna", "284"),
    ("Three", "Varenna", "261"),
)
QUAKES = relation(
    "quakes",
    ("Region", "Depth (km)", "Reports"),
    ("Korun", "10", "3"),
    ("Korun", "30", "9"),
    ("Ocho", "18", "30"),
)
ENROLMENT = relation(
    "enrolment",
    ("School year", "Girls", "Boys"),
    ("2021", "410", "400"),
    ("2022", "420", "411"),
    ("2020", "390", "402"),
)


BOOKS = relation(
    "books", ("Book", "Stock", "Pages", "Weight"), ("Salt", "30", "120", "4"), ("Reef", "2", "310", "7")
)
DIRECTORS = relation(
    "directors",
    ("Name", "Served under", "Names of districts"),
    ("Ida Moss", "Carter", "Upper, Lower and Old Town"),
    ("Punia", "Reagan", "North, South"),
)


@pytest.mark.parametrize(
    ("question", "table"),
    [
        ("What is the value of the cordless drill in stock?", STOCK),
        ("How many people gave no answer in the survey?", SURVEY),
        ("What was the USD rate on 1 February 2024?", RATES),
        ("Who had Moss on loan?", LOANS),
        ("Which city has the most towers on the list of the tallest towers?", TOWERS),
        ("Which region had the strongest quake?", QUAKES),
        ("Since which school year have there been more girls than boys?", ENROLMENT),
        ("What share of revenue were costs in 2023?", ACCOUNTS),
        ("What was the highest revenue in millions?", ACCOUNTS),
        ("In which year were costs the heaviest?", ACCOUNTS),
        ("Which books have more than two entries?", BOOKS),
        ("How much is Salt?", BOOKS),
        ("How many grams does Reef weigh?", BOOKS),
        ("How many cars have the same price as Cleo?", CARS),
        ("How long did Ida Moss serve?", DIRECTORS),
        ("How many districts does Punia have?", DIRECTORS),
        ("What is the number of games that Rovers have won against points?", LEAGUE),
    ],
)
def test_what_may_be_meant_otherwise_is_not_verified(question: str, table: Relation) -> None:
    assert not ask(question, table).verified


def test_times_of_the_day_are_subtracted_in_the_unit_asked_for() -> None:
    answer = ask("How many minutes late is KA 226 expected to be?", ARRIVALS)
    assert answer.verified and answer.value == "95" and answer.unit == "MIN"
