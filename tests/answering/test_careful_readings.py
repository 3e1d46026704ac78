"""Questions whose words stand close to two readings: what is meant is answered, and what may be is doubted."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import kgtable
from kgtable.programs.algebra import RowChoice
from kgtable.programs.relation import Relation
from tests.answering.test_by_rules import TEAM, ask, relation

BAKES = relation(
    "bakes",
    ("Bake", "Loaf", "Baked on", "Weight (kg)"),
    ("118", "Rye", "2024-01-04", "21.5"),
    ("119", "Spelt", "2024-01-11", "12"),
    ("120", "Rye", "2024-01-25", "22"),
    ("121", "Seeded", "2024-02-08", "8.75"),
    ("121", "Plain", "2024-02-08", "9.25"),
    ("122", "Spelt", "2024-02-22", "12.5"),
)
SONGS = relation(
    "songs",
    ("No", "Title", "Band", "Length", "Released"),
    ("1", "How", "The Pylons", "3:12", "2022-11-02"),
    ("2", "Total", "Mira Voss", "2:47", "2024-01-30"),
    ("3", "May", "The Pylons", "5:20", "2023-05-11"),
    ("4", "Under", "Mira Voss", "4:31", "2022-12-24"),
    ("5", "Also", "Dusk Choir", "3:38", "2024-02-14"),
)
FILMS = relation(
    "films",
    ("Film", "Running time (h:min)"),
    ("Harbour", "1:37"),
    ("Long Night", "2:04"),
    ("Small Hours", "1:52"),
)
BOATS = relation(
    "sailings",
    ("Sailing", "Passengers", "Cars"),
    ("S-101", "212", "34"),
    ("S-103", "265", "40"),
    ("S-108", "288", "41"),
)
PARTIES = relation(
    "vote",
    ("Party", "Votes", "Seats"),
    ("Harbour Party", "212480", "21"),
    ("Farm Union", "168735", "17"),
    ("Green Coast", "118740", "12"),
)
STAFF = relation(
    "staff",
    ("Name", "Trained by", "Joined"),
    ("Ada Holm", "Kit Rowe", "2019-05-01"),
    ("Ben Ort", "Kit Rowe", "2016-02-11"),
    ("Kit Rowe", "Lou Mann", "2011-09-30"),
    ("Lou Mann", "", "2008-01-02"),
)
DONORS = relation(
    "donors",
    ("Blood group", "Donors", "First-time donors"),
    ("A+", "70", "8"),
    ("O+", "64", "11"),
    ("A-", "16", "3"),
    ("O-", "50", "8"),
    ("Rh positive", "134", "19"),
    ("Rh negative", "66", "11"),
    ("All", "200", "30"),
)
LEARNERS = relation(
    "learners",
    ("Learner No", "Name", "Theory passed"),
    ("311", "Mia Tanner", "2024-02-12"),
    ("312", "Jens Aubel", "2024-03-05"),
    ("314", "Fatou Diop", ""),
)
BIRDS = relation(
    "bird-counts",
    ("Species", "2019", "2021", "2023"),
    ("Lapwing", "34", "29", "22"),
    ("Avocet", "58", "63", "71"),
    ("Redshank", "41", "41", "37"),
)
LOTS = relation(
    "lots",
    ("Lot", "Object", "Price"),
    ("201", "Portrait", "£2,400"),
    ("202", "Tray", "€1,150"),
    ("203", "Clock", "$890"),
)
DUES = relation(
    "dues",
    ("Sponsor", "Town", "Paid"),
    ("Bakery Stamm", "Lohr", "yes"),
    ("Optik Renz", "Lohr", "no"),
    ("Hotel Krone", "Wiesen", "yes"),
)
RIVER = relation(
    "river", ("Month", "Water (°C)"), ("April", "7.4"), ("May", "11.2"), ("June", "13.8"), ("July", "16.2")
)
GALA = relation(
    "gala",
    ("Swimmer", "Heat", "Final"),
    ("Nora", "10:42", "10:31"),
    ("Ludo", "9:58", "9:51"),
    ("Ole", "10:36", "10:20"),
)


@pytest.mark.parametrize(
    ("question", "table", "said"),
    [
        ("How many bakes were there in January 2024?", BAKES, "3"),
        ("How many bakes were there in all?", BAKES, "5"),
        ("What is the total length of the songs by Mira Voss?", SONGS, "7:18"),
        ("How many songs are from 2022?", SONGS, "2"),
        ("How many minutes longer is Long Night than Harbour?", FILMS, "27"),
        ("Did sailing S-103 carry more passengers than S-108?", BOATS, "no"),
        ("How many more votes did the Harbour Party get than Green Coast?", PARTIES, "93740"),
        ("Who was trained by Kit Rowe?", STAFF, "Ada Holm; Ben Ort"),
        ("Who reports to Omar?", TEAM, "Ida; Kai"),
        ("Which species became fewer between 2019 and 2023?", BIRDS, "Lapwing; Redshank"),
        ("Which blood group had the most donors?", DONORS, "A+"),
        ("Which learner has not passed the theory yet?", LEARNERS, "Fatou Diop"),
        ("How many driving learners are there?", LEARNERS, "3"),
        ("Which sponsor still has to pay?", DUES, "Optik Renz"),
        ("In which months was the water warmer than 10 °C?", RIVER, "May; June; July"),
        ("Which swimmer had the shortest time in the final?", GALA, "Ludo"),
        ("By how many percent did the Avocet rise from 2019 to 2023?", BIRDS, "22.413793%"),
    ],
)
def test_what_is_meant_is_answered(question: str, table: Relation, said: str) -> None:
    assert ask(question, table).text == said


def test_a_song_may_be_called_total() -> None:
    members = SONGS.select(RowChoice.MEMBERS)
    assert len(members) == 5


@pytest.mark.parametrize(
    ("question", "table"),
    [
        ("What did all the lots bring in together?", LOTS),
        ("What do all the lots come to?", LOTS),
    ],
)
def test_currencies_are_not_added_up(question: str, table: Relation) -> None:
    assert not ask(question, table).verified


def test_what_has_run_out_is_asked_in_three_words() -> None:
    shop = relation("shop", ("Item", "In stock", "Colour"), ("Lamp", "0", "red"), ("Vase", "4", "blue"))
    assert ask("Which items are out of stock?", shop).text == "Lamp"
    assert not ask("Out of stock?", shop).verified


def test_a_column_may_be_headed_by_the_word_that_asks() -> None:
    head = ("Tag", "Item", "Where", "Who")
    lost = relation("lost", head, ("5501", "Umbrella", "Tram 4", "Ada"), ("5502", "Scarf", "Library", "Ben"))
    assert ask("Where was the scarf found?", lost).text == "Library"
    assert not ask("Whose is the scarf?", lost).verified


def test_answers_of_no_are_added_up() -> None:
    head = ("Motion", "Voted yes", "Voted no")
    votes = relation("votes", head, ("Budget", "12", "5"), ("Park", "9", "8"), ("Road", "7", "10"))
    assert ask("How many voted no in total?", votes).text == "23"


def test_the_one_who_trains_is_not_the_one_who_is_trained() -> None:
    assert ask("Who was trained by Kit Rowe?", STAFF).text != "Lou Mann"


@pytest.fixture(scope="module")
def bills(tmp_path_factory: pytest.TempPathFactory) -> Iterator[kgtable.KnowledgeGraph]:
    """A graph of two bills of one form, whose months are in the names of their files."""
    place = tmp_path_factory.mktemp("bills")
    (place / "tables").mkdir()
    for month, storage, traffic in (("03", "42.55", "55.80"), ("04", "45.77", "61.20")):
        text = f"Service,Cost (USD)\nStorage,{storage}\nTraffic,{traffic}\nSupport,29.00\n"
        (place / "tables" / f"cloud-bill-2024-{month}.csv").write_text(text, encoding="utf-8")
    (place / "tables" / "pipeline.json").write_text(
        '[{"deal": "D-71", "value": {"amount": 18000, "currency": "EUR"}},'
        ' {"deal": "D-72", "value": {"amount": 32500, "currency": "GBP"}},'
        ' {"deal": "D-73", "value": {"amount": 27000, "currency": "USD"}}]',
        encoding="utf-8",
    )
    (place / "tables" / "turbines.csv").write_text(
        "Turbine,Downtime\nAlma,14 h\nBerta,3 d\nCarla,36 h\nDora,90 min\n", encoding="utf-8"
    )
    with kgtable.build(place / "tables", place / "kg", embedding="none") as kg:
        yield kg


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("What did the storage cost in the cloud in March 2024?", "42.55"),
        ("Was traffic more expensive in March or in April 2024?", "April"),
        ("What was the average downtime of the turbines in hours?", "30.875"),
    ],
)
def test_what_files_and_cells_say_of_time(bills: kgtable.KnowledgeGraph, question: str, said: str) -> None:
    answer = bills.ask(question, model="none")
    assert said in (answer.value, answer.text)


def test_a_currency_within_a_json_record_is_that_of_its_amount(bills: kgtable.KnowledgeGraph) -> None:
    answer = bills.ask("What is the total value of all the deals?", model="none")
    assert not answer.verified
    assert "77500" not in answer.text
