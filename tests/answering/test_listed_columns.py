"""Questions for several columns at once, over two and three tables, and for parts and wholes of them."""

from __future__ import annotations

import pytest

from kgtable.programs.relation import Relation
from tests.answering.test_by_rules import ask, relation

AIRLINES = relation(
    "airlines",
    ("uid", "Airline", "Abbreviation", "Country"),
    ("1", "Nordwind", "NOW", "Norway"),
    ("2", "Alpina", "ALP", "Austria"),
    ("3", "Coastal Air", "CAI", "Ireland"),
)
FLIGHTS = relation(
    "flights",
    ("Airline", "Flight No", "From", "Seats"),
    ("1", "110", "Oslo", "80"),
    ("1", "111", "Bergen", "90"),
    ("2", "210", "Graz", "50"),
    ("3", "310", "Cork", "70"),
    ("3", "311", "Cork", "60"),
    ("3", "312", "Derry", "64"),
)
SCHOOL = (
    relation(
        "pupils",
        ("Pupil ID", "Pupil", "Age"),
        ("P1", "Ada", "9"),
        ("P2", "Ben", "11"),
        ("P3", "Cleo", "10"),
    ),
    relation(
        "lessons",
        ("Pupil ID", "Teacher ID"),
        ("P1", "T1"),
        ("P1", "T2"),
        ("P2", "T2"),
        ("P3", "T1"),
    ),
    relation(
        "teachers",
        ("Teacher ID", "Teacher", "Instrument"),
        ("T1", "Mr Hall", "violin"),
        ("T2", "Ms Roy", "piano"),
        ("T3", "Mr Lind", "flute"),
    ),
)
FILMS = relation(
    "films",
    ("Title", "Directed by", "Released", "Minutes", "Takings (EUR)"),
    ("Tidal", "A. Moe", "2019-03-01", "95", "1200"),
    ("Ember", "L. Sorel", "2017-06-09", "121", "5400"),
    ("Quarry", "A. Moe", "2021-11-12", "104", "3100"),
)
ARMS = relation(
    "trial arms",
    ("Arm", "Dose (mg)", "Enrolled", "Responders", "Mean age"),
    ("Placebo", "0", "62", "11", "54.1"),
    ("Low dose", "10", "60", "19", "52.8"),
    ("High dose", "50", "63", "31", "53.6"),
    ("All arms", "", "185", "61", "53.5"),
)
PLOTS = relation(
    "allotments",
    ("Plot", "Tenant", "Area (m²)", "Shed"),
    ("1", "Rost", "320", "yes"),
    ("2", "Dammann", "280", "no"),
    ("3", "", "310", "yes"),
    ("4", "Prinz", "295", "yes"),
)
LEVELS = relation(
    "gauges",
    ("Gauge", "Mon", "Tue", "Wed", "Thu", "Fri", "Alarm level"),
    ("Altbruck", "142", "148", "171", "214", "236", "230"),
    ("Niederau", "98", "101", "118", "150", "183", "200"),
    ("Klamm", "55", "58", "90", "121", "", "150"),
)
RUNS = relation(
    "runs",
    ("Runner", "Half marathon", "Finish"),
    ("Ida", "1:27:40", "2:59:21"),
    ("Karl", "1:44:00", "3:31:10"),
    ("Bea", "1:40:12", "3:24:05"),
)
SPONSORS = relation(
    "sponsors in EUR",
    ("Sponsor", "2021", "2022", "2023"),
    ("Brewery", "4500", "5000", "5200"),
    ("Bank", "3000", "0", "3100"),
)
SINGERS = relation(
    "choir",
    ("Singer", "Voice", "Dues per year (EUR)", "Concerts"),
    ("Gitta", "Alto", "60", "8"),
    ("Henrik", "Bass", "45", "6"),
)


@pytest.mark.parametrize(
    ("question", "table", "said"),
    [
        ("What are the title and the minutes of each film?", FILMS, "Tidal; 95; Ember; 121; Quarry; 104"),
        ("List the names and directors of the films.", FILMS, "Tidal; A. Moe; Ember; L. Sorel; Quarry; A. Moe"),
        ("Which arm of the trial has the most responders?", ARMS, "High dose"),
        ("How many arms does the trial have?", ARMS, "3"),
        ("What percentage of those enrolled in the placebo arm were responders?", ARMS, "17.741935%"),
        ("What was the level at Klamm on Thursday?", LEVELS, "121"),
        ("Which gauge has no reading for Friday?", LEVELS, "Klamm"),
        ("Which gauges went over their alarm level on Friday?", LEVELS, "Altbruck"),
        ("How many runners finished in under three and a half hours?", RUNS, "2"),
        ("How much has the Brewery given over the three years?", SPONSORS, "14700"),
    ],
)  # fmt: skip
def test_wordings(question: str, table: Relation, said: str) -> None:
    assert ask(question, table).text == said


def test_columns_side_by_side_are_shown_without_the_name_of_the_thing() -> None:
    answer = ask(
        "Find the abbreviation and country of the airline with the fewest flights.", AIRLINES, FLIGHTS
    )
    assert answer.text == "ALP; Austria"


def test_columns_of_two_tables_are_shown_together() -> None:
    answer = ask("Show the seats and the country of flight number 312.", AIRLINES, FLIGHTS)
    assert answer.text == "64; Ireland"


def test_three_tables_are_joined_by_the_one_between_and_that_is_not_verified() -> None:
    answer = ask("Which instrument does Ben learn with his teacher?", *SCHOOL)
    assert answer.text == "piano"
    assert set(answer.tables) == {"pupils", "lessons", "teachers"}
    assert not answer.verified


def test_rows_without_the_name_that_is_counted_are_told() -> None:
    answer = ask("How many allotments have a shed?", PLOTS)
    assert not answer.verified or answer.text == "3"


def test_a_number_of_nights_is_no_number_of_telescopes() -> None:
    table = relation(
        "observatories",
        ("Observatory", "Country", "Telescopes", "Public nights"),
        ("Kaltkogel", "Austria", "3", "yes"),
        ("Monte Fosco", "Italy", "5", "yes"),
    )
    answer = ask("How many telescope nights were there in Italy?", table)
    assert not answer.verified


def test_dues_per_year_say_nothing_of_who_has_been_there_longer() -> None:
    answer = ask("Has Gitta been a singer longer than Henrik?", SINGERS)
    assert not answer.verified
