"""Questions that compare rows, columns and groups: what is answered, and what is doubted."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import kgtable
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
    assert (answer.verified, answer.value, answer.unit) == (True, "95", "MIN")


TRAINS = relation(
    "trains",
    ("Train", "From", "Departs", "To", "Arrives", "Fare (EUR)"),
    ("5601", "Aarau", "05:52", "Bern", "06:44", "9.80"),
    ("5603", "Aarau", "12:10", "Bern", "13:06", "9.80"),
    ("5605", "Aarau", "14:35", "Chur", "15:12", "6.40"),
    ("5602", "Bern", "12:20", "Aarau", "13:13", "9.80"),
)
FIELDS = relation(
    "fields",
    ("Field", "Area (ha)", "Yield (t)", "Organic"),
    ("Long Acre", "12.5", "100", "no"),
    ("Sandpit", "2", "90", "yes"),
    ("Hangar", "10", "45", "no"),
)
FILMS = relation(
    "films",
    ("Cat. no.", "Title", "Country", "Running time"),
    ("F1", "The Salt Road", "Italy", "1h 48m"),
    ("F2", "Nine Lanterns", "Japan", "2h 12m"),
    ("F3", "Paper Wolves", "Italy", "1h 33m"),
)
VISITS = relation(
    "appointments",
    ("Patient", "Doctor", "Days per week", "Status"),
    ("Amal", "Dr Okafor", "3", "attended"),
    ("Bea", "Dr Lind", "2", "no-show"),
    ("Cem", "Dr Lind", "4", "no-show"),
)
SEGMENTS = relation(
    "segments, CHF million",
    ("Segment", "Revenue 2024", "Revenue share 2024", "Result 2023", "Result 2024"),
    ("Coatings", "471.6", "16.8%", "38.7", "(4.1)"),
    ("Logistics", "254.9", "9.1%", "9.8", "41.5"),
)


@pytest.mark.parametrize(
    ("question", "table", "said"),
    [
        ("Which trains depart from Aarau after 12:00?", TRAINS, "5603; 5605"),
        ("Which trains leave before 9 am?", TRAINS, "5601"),
        ("How many trains depart between 12:00 and 13:00?", TRAINS, "2"),
        ("Which film has the longest running time?", FILMS, "Nine Lanterns"),
        ("How many Italian films are there?", FILMS, "2"),
        ("How many appointments were no-shows?", VISITS, "2"),
        ("Which patients come fewer than 3 days per week?", VISITS, "Bea"),
        ("What was the revenue of Coatings in 2024?", SEGMENTS, "471.6"),
        ("Which segment had a negative result in 2024?", SEGMENTS, "Coatings"),
    ],
)
def test_times_units_and_forms_of_names_are_read(question: str, table: Relation, said: str) -> None:
    assert ask(question, table).text == said


HOTEL = relation(
    "hotel",
    ("2024", "Room nights sold", "Rate (USD)"),
    ("Jan", "1110", "122.40"),
    ("Feb", "1204", "125.90"),
    ("Oct", "1697", "141.70"),
    ("Year", "4011", "130.00"),
)
RACE = relation(
    "race",
    ("Runner", "Age", "Joined", "Finish"),
    ("Erik", "34", "2023-05-01", "2:22:41"),
    ("Ingrid", "29", "2019-02-11", "2:36:18"),
    ("Olav", "51", "2024-01-20", "2:58:03"),
)
PARCELS = relation(
    "parcels",
    ("Parcel", "Loaded", "Delivered"),
    ("P1", "07:45", "09:12"),
    ("P2", "12:40", "17:18"),
    ("P3", "12:50", "18:22"),
)
LOANS_OUT = relation(
    "museum-loans",
    ("Object", "Lender", "Until"),
    ("Silver ewer", "Zuid", "30 April 2025"),
    ("Girl with Lute", "Serra", "15 June 2025"),
    ("Storm", "Nord", "30 April 2025"),
)
CALLS = relation("calls", ("Day", "Calls"), ("Mon 03.03.2025", "412"), ("Tue 04.03.2025", "365"))


ORDERED = relation(
    "shop",
    ("Ordered on", "City", "Quantity", "Item price"),
    ("2024-09-14", "Lund", "1", "30"),
    ("2024-02-26", "Lund", "5", "12"),
    ("2024-03-01", "Kiel", "2", "99"),
)


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("When was the first order from Lund?", "2024-02-26"),
        ("When was the last order from Lund?", "2024-09-14"),
        ("What is the highest price paid in Lund?", "30"),
    ],
)
def test_the_first_is_the_earliest_and_the_highest_of_what_is_named(question: str, said: str) -> None:
    assert ask(question, ORDERED).text == said


@pytest.mark.parametrize(
    ("question", "table", "said"),
    [
        ("How many room nights did the hotel sell in October?", HOTEL, "1697"),
        ("How many room nights were sold in total?", HOTEL, "4011"),
        ("Who is the oldest runner?", RACE, "Olav"),
        ("Which runners finished in under 2:30:00?", RACE, "Erik"),
        ("How many parcels were delivered after 6 pm?", PARCELS, "1"),
        ("How many calls were there on 4 March 2025?", CALLS, "365"),
    ],
)
def test_months_durations_and_days_are_read(question: str, table: Relation, said: str) -> None:
    assert ask(question, table).text == said


SPELT = relation("paints", ("Paint", "Colour", "Price (EUR)"), ("Aqua", "blue", "4"), ("Rosa", "red", "5"))
WINES = relation(
    "wines",
    ("Wine", "Bottle (EUR)", "Glass (EUR)"),
    ("Barolo", "89.00", "12.00"),
    ("Rioja", "44.00", "9.90"),
    ("Tavel", "33.00", "10.40"),
)
TRIPS = relation(
    "trips",
    ("Class", "Destination", "Date"),
    ("8a", "Hamburg", "2024-05-13"),
    ("6b", "Theatre", "2024-03-06"),
)
CLASSES = relation(
    "classes", ("Class", "Children", "With lunch"), ("5a", "27", "19"), ("5b", "26", "17"), ("6a", "27", "21")
)


STANDINGS = [
    relation(
        f"standings-{year}",
        ("Rank", "Club", "Points"),
        *((str(rank), club, points) for rank, (club, points) in enumerate(rows, 1)),
    )
    for year, rows in (
        (2023, (("Kiel", "36"), ("Lund", "33"), ("Turku", "14"))),
        (2024, (("Lund", "39"), ("Kiel", "30"), ("Turku", "24"))),
    )
]


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("How many more points did Lund get in 2024 than in 2023?", "6"),
        ("How many fewer points did Kiel get in 2024 than in 2023?", "6"),
        ("By how many points did Turku improve from 2023 to 2024?", "10"),
        ("Did Lund finish higher in 2024 than in 2023?", "yes"),
        ("Did Kiel have more points in 2024 than in 2023?", "no"),
        ("How many points did Turku get in 2023 and 2024 together?", "38"),
        ("How many points did Turku get in 2024?", "24"),
    ],
)
def test_two_tables_of_one_form_are_compared(question: str, said: str) -> None:
    answer = ask(question, *STANDINGS)
    assert (answer.value or answer.text) == said


def test_british_and_american_spelling_are_one() -> None:
    assert ask("What color is Aqua?", SPELT).text == "blue"


@pytest.mark.parametrize(
    ("question", "table"),
    [
        ("What is the cheapest bottle?", WINES),
        ("Where did classes go after 1 May 2024?", TRIPS),
        ("What percentage of the children in class 5a are with lunch?", CLASSES),
        ("Which train is fastest from Aarau to Bern?", TRAINS),
        ("How many seconds does Sandpit yield more than Hangar?", FIELDS),
        ("Did Erik finish the race?", RACE),
        ("What is the sum of his room nights sold?", HOTEL),
    ],
)
def test_amounts_places_and_shares_that_may_not_be_meant_are_doubted(question: str, table: Relation) -> None:
    assert not ask(question, table).verified


def test_what_ends_on_a_day_is_what_lasts_until_then() -> None:
    assert ask("Which loans end on 30 April 2025?", LOANS_OUT).text == "Silver ewer; Storm"


def test_no_rival_is_what_rounds_to_the_answer() -> None:
    answer = ask("What share of revenue in 2024 comes from Coatings?", SEGMENTS)
    assert answer.text.startswith("16.8")


FOLDER = {
    "fields": "Field,Area (ha),Yield (t),Organic\nLong Acre,12.5,100,no\nSandpit,2,90,yes\nHangar,10,45,no\n",
    "visits": "Library visits,,\n(thousands),,\nBranch,Q1 2024,Q2 2024\nCentral,48.2,44.9\nWestpark,17.5,18.1\n",
    "election": "Party,Votes,Share (%)\nGreen,4120,20.6\nSocial,3980,19.9\nYouth,620,3.1\n",
    "chemicals": "Substance,Stock (kg)\nBorax,2.5\nCitric acid,4\n",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[kgtable.KnowledgeGraph]:
    """A graph of tables whose units and scales matter."""
    place = tmp_path_factory.mktemp("units")
    (place / "tables").mkdir()
    for name, text in FOLDER.items():
        (place / "tables" / f"{name}.csv").write_text(text, encoding="utf-8")
    with kgtable.build(place / "tables", place / "kg", embedding="none") as kg:
        yield kg


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("How many tonnes per hectare did Sandpit yield?", "45"),
        ("Which field has the highest yield per hectare?", "Sandpit"),
        ("Which branches had more than 20,000 visits in the second quarter of 2024?", "Central"),
        ("Which parties got more than 15 % of the votes?", "Green; Social"),
        ("How many grams of citric acid are in stock?", "4000"),
    ],
)
def test_units_and_scales_of_the_graph_are_meant(
    folder: kgtable.KnowledgeGraph, question: str, said: str
) -> None:
    answer = folder.ask(question, model="none")
    assert said in (answer.value, answer.text)
