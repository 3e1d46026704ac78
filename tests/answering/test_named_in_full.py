"""What a question names in full is meant, and what it denies, counts or restricts is not passed over."""

from __future__ import annotations

import pytest

from kgtable.graph.table_decoder import quantities_of
from kgtable.programs.relation import Relation
from kgtable.programs.table_relation import relation_of
from kgtable.tables.layout.detect import make_table
from kgtable.tables.model import Grid, Source
from tests.answering.test_by_rules import ask


def relation(name: str, *rows: tuple[str, ...]) -> Relation:
    """A table with the units that its texts give."""
    table = make_table(Grid(name, Source(f"{name}.csv"), rows, max(map(len, rows))))
    return relation_of(table, quantities_of(table))


LESSONS = relation(
    "swim-lessons", ("Lesson No", "Lesson", "Teacher", "Minutes", "Last moved"),
    ("61", "Crawl", "Ana", "45", "2023-05-09"), ("62", "Diving", "Bo", "60", "2024-03-14"),
    ("64", "Floating", "Ana", "30", "2022-10-03"), ("67", "Rescue", "Cy", "75", "2021-01-20"),
)  # fmt: skip
DESK = relation(
    "call-desk", ("Day", "Calls", "Answered", "Abandoned"), ("Monday", "486", "421", "65"),
    ("Tuesday", "433", "402", "31"), ("Sunday", "131", "127", "4"),
)  # fmt: skip
MOWERS = relation(
    "mowers", ("No", "Make", "Model", "Built", "Price (EUR)", "Width (cm)"),
    ("1", "Olba", "SM9", "1964", "85", "40"), ("2", "Rowe", "De Luxe", "1949", "140", "52"),
    ("3", "Unda", "No. 5", "1921", "95", "38"),
)  # fmt: skip
PEAKS = relation("peaks", ("Peak", "Altitude (ft)", "Range"), ("Arn", "3800", "Nor"), ("Brae", "2900", "Sud"))
JOBS = relation(
    "jobs", ("Job", "From", "To", "Words"), ("T1", "NO", "EN", "420"), ("T2", "IT", "DE", "185"),
    ("T3", "DE", "IT", "300"), ("T4", "FR", "IT", "250"),
)  # fmt: skip
HEAT = relation(
    "steam-network", ("Indicator", "Unit", "2022", "2023"), ("Homes connected", "homes", "15180", "15925"),
    ("Average price", "EUR/t", "11.7", "12.3"), ("Heat loss", "%", "12.6", "11.9"), ("Pipes", "km", "101.2", "104.6"),
)  # fmt: skip
CLUB = relation(
    "club-accounts", ("Item", "2023 Budget", "2023 Actual", "2024 Budget", "2024 Actual"),
    ("Snacks", "150", "163", "160", "171"), ("Rent", "90", "92", "95", "97"), ("Prizes", "20", "18", "25", "31"),
)  # fmt: skip
GOATS = relation(
    "goats", ("Ear tag", "Name", "Breed", "Born", "Status"), ("2101", "Clover", "Alp", "2018-03-12", "kept"),
    ("2104", "May", "Alp", "2019-04-02", "sold"), ("2106", "Rusty", "Dun", "2023-03-25", "kept"),
    ("2110", "Duke", "Dun", "2020-03-30", "sold"), ("2117", "Ivy", "Dun", "2021-04-01", "kept"),
    ("2121", "Pip", "Alp", "2022-02-11", "kept"),
)  # fmt: skip
TRAINS = relation(
    "sleepers", ("Train", "Departs", "Travel time (h:mm)", "Next due"), ("NT 301", "20:10", "12:15", "2025-05-17"),
    ("NT 303", "22:45", "7:35", "2025-07-30"), ("NT 314", "21:00", "11:10", "2025-06-02"),
)  # fmt: skip
GALLERY = relation(
    "gallery-guests", ("Month", "2022", "2023"), ("January", "1120", "1385"), ("March", "1455", "1610"),
    ("May", "2310", "2198"), ("June", "1875", "2046"),
)  # fmt: skip
BILLS = relation(
    "cafe-orders", ("Bill", "Table", "Portions"), ("601", "5", "2"), ("601", "5", "1"), ("601", "5", "4"),
    ("602", "9", "1"), ("602", "9", "2"), ("603", "5", "2"), ("604", "1", "2"), ("604", "1", "3"), ("605", "4", "4"),
    ("605", "4", "3"), ("605", "4", "1"), ("606", "1", "1"),
)  # fmt: skip
CAR_PARK = relation(
    "car-park", ("Day", "Cars", "Takings"),
    ("Monday", "212", "1484"), ("Friday", "318", "2290"), ("Sunday", "96", "412"),
)  # fmt: skip
TRIPS = relation(
    "class-trips", ("Trip", "Bus", "", "Entry", ""), ("", "planned", "actual", "planned", "actual"),
    ("Castle", "380", "410", "96", "96"), ("Zoo", "720", "705", "528", "504"), ("Wall", "540", "585", "650", "676"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("question", "table", "text"),
    [
        ("How many guests did the gallery have in March 2023?", GALLERY, "1610"),
        ("How many guests came to the gallery in May 2022?", GALLERY, "2310"),
        ("Which class trip has the highest planned entry?", TRIPS, "Wall"),
        ("How many bills are there in the cafe orders?", BILLS, "6"),
        ("Which lesson takes the fewest minutes?", LESSONS, "Floating"),
        ("On which day were the most calls abandoned?", DESK, "Monday"),
        ("How many more calls were answered on Monday than on Sunday?", DESK, "294"),
        ("What make is the oldest mower?", MOWERS, "Unda"),
        ("How many jobs are into IT?", JOBS, "2"),
        ("How many homes were connected in 2022?", HEAT, "15180"),
        ("By how many percentage points did the heat loss come down between 2022 and 2023?", HEAT, "0.7%"),
        ("How much did the club's snacks actually bring in in 2024?", CLUB, "171"),
        ("Which goat was born last?", GOATS, "Rusty"),
        ("Which train has the longest travel time?", TRAINS, "NT 301"),
        ("At what time does NT 314 depart?", TRAINS, "21:00"),
    ],
)
def test_what_is_named_is_meant(question: str, table: Relation, text: str) -> None:
    answer = ask(question, table)
    assert answer.text == text
    assert answer.verified, answer.reasons


@pytest.mark.parametrize(
    ("question", "table", "text"),
    [
        ("What was the average price in 2023?", HEAT, "12.3"),
        ("Which lesson has gone the longest without being moved?", LESSONS, "Rescue"),
        ("How high is Arn, in metres?", PEAKS, "1158.24"),
        ("When is NT 303 next due?", TRAINS, "2025-07-30"),
    ],
)
def test_rows_and_headers_that_sound_like_operators(question: str, table: Relation, text: str) -> None:
    assert ask(question, table).text.startswith(text)


def test_what_is_still_so_is_not_verified_without_a_condition_that_says_it() -> None:
    answer = ask("How many goats of the breed Dun are still kept?", GOATS)
    assert not answer.verified
    assert ask("How many goats of the breed Dun are there?", GOATS).verified


def test_an_amount_is_never_compared_with_itself() -> None:
    answer = ask("What is Snacks as a percentage of the total Snacks in 2024 Actual?", CLUB)
    assert answer.text not in ("1", "100%")


@pytest.mark.parametrize(
    ("question", "table"),
    [
        ("How much did the car park take on Friday?", CAR_PARK),
        ("On which class trips did we pay less entry than planned?", TRIPS),
    ],
)
def test_a_column_named_by_a_word_of_something_else_is_doubted(question: str, table: Relation) -> None:
    answer = ask(question, table)
    assert not answer.verified
    assert any("does not" in reason for reason in answer.reasons), answer.reasons


POOL = relation(
    "swimming-pool", ("Day", "Opens", "Lane swimming", "Visitors"), ("Thursday", "06:30", "yes", "241"),
    ("Friday", "10:00", "yes", "305"), ("Saturday", "08:00", "no", "614"),
)  # fmt: skip


def test_a_word_of_the_title_asks_for_no_column_of_yes_and_no() -> None:
    answer = ask("Which day had the most visitors at the swimming pool?", POOL)
    assert (answer.text, answer.verified) == ("Saturday", True)
    assert ask("Which day with lane swimming had the most visitors?", POOL).text == "Friday"


TOOLS = relation(
    "tools", ("Tool", "Borrower", "Fee per day (EUR)"), ("Ladder", "Lucy", "4"), ("Chainsaw", "Per", "12"),
    ("Tile cutter", "Odile", "6"),
)  # fmt: skip


def test_money_is_no_answer_where_days_are_asked_for() -> None:
    answer = ask("How many days did Lucy keep the ladder?", TOOLS)
    assert "The answer is an amount of money, where the question asks for another unit." in answer.reasons
    assert not answer.verified
