"""Questions about the columns of one row and about tables of one form: quarters, limits, shares, costs below zero."""

from __future__ import annotations

import pytest

from kgtable.programs.relation import Relation
from kgtable.semantic_parsing.reading import Question
from tests.answering.test_by_rules import ask, relation

QUARTERS = relation(
    "segments",
    ("Segment", "Q1", "Q2", "Q3", "Q4"),
    ("Packaging", "48.2", "51.6", "50.9", "57.3"),
    ("Coatings", "31.7", "29.4", "33.0", "30.8"),
    ("Services", "7.9", "8.3", "9.6", "11.4"),
)
GAUGES = relation(
    "gauges",
    ("Gauge", "Level (cm)", "Alarm level (cm)"),
    ("Oxbow", "318", "450"),
    ("Priory", "275", "400"),
    ("Confluence", "402", "390"),
)
ACCOUNTS = relation(
    "accounts",
    ("Heading", "2023 Budget", "2023 Outturn", "2024 Budget", "2024 Outturn"),
    ("Social care", "88.4", "91.2", "93", "97.5"),
    ("Schools", "64", "62.8", "66.5", "67.1"),
    ("Highways", "31.5", "28.9", "35", "30.4"),
)
FINANCE = relation(
    "finance",
    ("Position", "2023 Actual", "2024 Actual"),
    ("Property tax", "8512", "8645"),
    ("Personnel", "-15120", "-15985"),
    ("Social services", "-10240", "-10390"),
    ("Interest", "-1190", "-1212"),
)
FACULTIES = relation(
    "faculties",
    ("Faculty", "2022 Women", "2022 Men", "2023 Women", "2023 Men"),
    ("Law", "612", "488", "640", "471"),
    ("Engineering", "301", "1188", "331", "1150"),
)
SHIFTS = relation(
    "shifts",
    ("Shift", "Volunteer", "Kilometres"),
    ("3001", "Corinna", "12"),
    ("3002", "Dagmar", "3"),
    ("3003", "Dagmar", "4"),
    ("3004", "Emeka", "40"),
)
FLEET = relation(
    "fleet",
    ("Plate", "In service since", "Odometer (km)"),
    ("KX 114", "2019-03-01", "241700"),
    ("KX 305", "2016-09-12", "198300"),
)
STAFF = relation(
    "trainees",
    ("Name", "Began", "Branch"),
    ("Benedikt Aho", "2021-02-01", "Kiel"),
    ("Clara Osei", "2021-09-01", "Bonn"),
    ("Finn Moroney", "2023-02-01", "Kiel"),
)
EXAMS = relation(
    "exams",
    ("Module", "Title", "Sat", "Passed"),
    ("CH101", "Organic Chemistry", "118", "70"),
    ("BI140", "Genetics", "77", "66"),
)
ACTS = relation("acts", ("Act", "Stage"), ("No", "Barn"), ("The Pylons", "Main"), ("Up", "Tent"))
ROCKS = relation("rocks", ("Rock", "Mass"), ("Basalt", "2.4 kg"), ("Gneiss", "860 g"), ("Slate", "1.15 kg"))


@pytest.mark.parametrize(
    ("question", "table", "said"),
    [
        ("What was the average quarterly amount of Coatings?", QUARTERS, "31.225"),
        ("What was the amount of Coatings over the whole year?", QUARTERS, "124.9"),
        ("In which quarter was Coatings lowest?", QUARTERS, "Q2"),
        ("By how much, in per cent, did Services grow from Q1 to Q4?", QUARTERS, "44.303797%"),
        ("How much more did Coatings have in the third quarter than in the first?", QUARTERS, "1.3"),
        ("Which gauge is above its alarm level?", GAUGES, "Confluence"),
        ("Which headings came in under budget in 2023?", ACCOUNTS, "Schools; Highways"),
        ("Which position cost the most in 2024?", FINANCE, "Personnel"),
        ("Which position cost the least in 2024?", FINANCE, "Interest"),
        ("Was more spent on Social services in 2024 than in 2023?", FINANCE, "yes"),
        ("In which faculties do women outnumber men in 2023?", FACULTIES, "Law"),
        ("Who did the largest number of shifts?", SHIFTS, "Dagmar"),
        ("Has KX 114 been in service for longer than KX 305?", FLEET, "no"),
        ("Who began in 2021?", STAFF, "Benedikt Aho; Clara Osei"),
        ("I need to know who began in 2023.", STAFF, "Finn Moroney"),
        ("On what stage can I see the act called No?", ACTS, "Barn"),
        ("How much heavier is the basalt than the gneiss?", ROCKS, "1.54 kg"),
    ],
)
def test_rows_and_their_columns(question: str, table: Relation, said: str) -> None:
    assert ask(question, table).text == said


def test_a_rate_is_not_the_number_of_those_who_passed() -> None:
    assert not ask("What was the pass rate in Organic Chemistry?", EXAMS).verified
    assert ask("How many passed Organic Chemistry?", EXAMS).text == "70"


def test_the_rank_of_the_tallest_is_not_the_highest_rank() -> None:
    players = relation(
        "players", ("Player", "Money rank", "Earnings"), ("Ann", "68", "900"), ("Bo", "166", "300")
    )
    assert not ask("What is the money rank of the tallest player?", players).verified


def test_tables_of_one_form_tell_what_is_in_one_of_them_alone() -> None:
    header = ("Farm", "Cows", "Litres")
    before = relation("milk-2022", header, ("Ellerby", "64", "498200"), ("Moss Side", "85", "640900"))
    after = relation(
        "milk-2023",
        header,
        ("Ellerby", "67", "521600"),
        ("Moss Side", "80", "629000"),
        ("Crag Top", "22", "151000"),
    )
    assert ask("Which farm delivered milk in 2023 but not in 2022?", after, before).text == "Crag Top"
    assert ask("How much more milk did Ellerby deliver in 2023 than in 2022?", after, before).text == "23400"


def test_a_draft_is_no_other_reading() -> None:
    header = ("Site", "Town", "Workers")
    sites = relation("sites#Sites", (*header, "Budget"), ("Bypass North", "Velden", "88", "14000"))
    draft = relation("sites#old", header, ("Bypass North", "Velden", "95"))
    answer = ask("How many workers are on the Bypass North site?", draft, sites)
    assert (answer.text, answer.verified) == ("88", True)
    assert ask("How many workers are on the Bypass North site in the old list?", draft, sites).text == "95"


BRIDGES = relation(
    "bridges",
    ("Bridge", "River", "Length (m)"),
    ("Long Span", "Tamsel", "612"),
    ("New Crossing", "Orle", "430"),
    ("Queen Ada Bridge", "Orle", "285"),
)


def test_a_bridge_over_a_river_is_compared_with_nothing() -> None:
    assert ask("Which bridge over the Orle is the longest?", BRIDGES).text == "New Crossing"
    assert ask("What is the total length of the bridges over the Orle?", BRIDGES).value == "715"


def test_those_whose_manager_somebody_is() -> None:
    staff = relation(
        "newsroom",
        ("Name", "Role", "Manager"),
        ("Gus Halloran", "Editor", ""),
        ("Peer Vogt", "Manager", "Gus Halloran"),
        ("Lise Arnaud", "Reporter", "Peer Vogt"),
        ("Femi Strand", "Reporter", "Peer Vogt"),
    )
    assert ask("Whose manager is Peer Vogt?", staff).text == "Lise Arnaud; Femi Strand"


DOUBTED = [
    (
        "How many parking fines are still open?",
        relation(
            "fines", ("Notice", "Fine (EUR)", "Status"), ("44017", "20", "open"), ("44020", "55", "paid")
        ),
    ),
    (
        "Who has the best maths grade?",
        relation("grades", ("Pupil", "Maths grade", "Art grade"), ("Cleo", "5", "2"), ("Dan", "1", "3")),
    ),
    (
        "Does the train to Lugano get in before the one to Trieste?",
        relation(
            "trains",
            ("To", "Departs", "Arrives", "Nights a week"),
            ("Lugano", "21:10", "07:45", "3"),
            ("Trieste", "20:05", "08:30", "7"),
        ),
    ),
    (
        "How long does the bus N3 take?",
        relation("buses", ("Bus", "Departs", "Arrives"), ("N3", "22:10", "06:45"), ("N4", "21:15", "05:20")),
    ),
    (
        "How much water did Cordes use between the two readings?",
        relation("meters", ("Tenant", "First (m³)", "Second (m³)"), ("Cordes", "2581.0", "2743.4")),
    ),
]


@pytest.mark.parametrize(("question", "table"), DOUBTED)
def test_what_the_columns_do_not_say_is_not_verified(question: str, table: Relation) -> None:
    assert not ask(question, table).verified


def test_sums_of_sums_are_left_out() -> None:
    districts = relation(
        "districts",
        ("District", "2016", "2020", "2024"),
        ("Ambleford", "1890", "2740", "3310"),
        ("Brackwell", "1105", "1490", "1985"),
        ("Northern districts", "2995", "4230", "5295"),
        ("Cotterdale", "410", "395", "640"),
        ("Dunmere", "3120", "3980", "4405"),
        ("Southern districts", "3530", "4375", "5045"),
        ("The lot", "6525", "8605", "10340"),
    )
    assert ask("Which district had the most in 2024?", districts).text == "Dunmere"


MAYORS = relation(
    "mayors",
    ("Mayor", "From", "To"),
    ("Agnes Thorvald", "1978-05-01", "1986-04-30"),
    ("Henrik Sand", "1990-05-01", "1998-04-30"),
    ("Paul Ostrander", "2014-05-01", ""),
)
PLANETS = relation(
    "planets", ("Planet", "Mass (kg)"), ("Orlo b", "9.1"), ("Orlo c", "4.0"), ("Orlo d", "1.2")
)


@pytest.mark.parametrize(
    ("question", "table", "said"),
    [
        ("Who was mayor in 1995?", MAYORS, "Henrik Sand"),
        ("Who was mayor in 2020?", MAYORS, "Paul Ostrander"),
        ("List the planets from the lightest to the heaviest.", PLANETS, "Orlo d; Orlo c; Orlo b"),
    ],
)
def test_terms_and_orders(question: str, table: Relation, said: str) -> None:
    assert ask(question, table).text == said


def test_a_horse_may_be_called_total() -> None:
    horses = relation(
        "horses",
        ("Rank", "Horse", "Starts", "Trainer"),
        ("1", "Copper Lane", "21", "Duval"),
        ("2", "Grey Ledger", "14", "Keane"),
        ("3", "Total", "18", "Keane"),
        ("4", "It", "11", "Duval"),
    )
    assert ask("How many horses does Keane train?", horses).text == "2"


def test_a_month_said_twice_is_one_of_each_year() -> None:
    header = ("Month", "Adults", "Children")
    before = relation("pool-2022", header, ("May", "1240", "980"), ("June", "2310", "2650"))
    after = relation("pool-2023", header, ("May", "1310", "1010"), ("June", "2400", "2905"))
    question = "How many more children came in June 2023 than in June 2022?"
    assert ask(question, after, before).text == "255"


def test_people_are_no_days() -> None:
    days = relation(
        "blood-drive", ("Day", "Donors", "Litres"), ("Monday", "110", "52"), ("Tuesday", "90", "43")
    )
    answer = ask("How many people gave blood in all?", days)
    assert (
        answer.text == "200" or "Rows are counted, and none of them is said to be a person." in answer.reasons
    )


def test_what_came_up_is_not_what_was_sown() -> None:
    seeds = relation(
        "germination", ("Variety", "Seeds sown", "Days"), ("Roma", "80", "7"), ("Black Prince", "60", "9")
    )
    assert not ask("How many Roma seeds came up?", seeds).verified
    assert ask("How many Roma seeds were sown?", seeds).text == "80"


def test_a_question_that_supposes_something_is_not_verified() -> None:
    camp = relation(
        "camps", ("Camp", "Price (EUR)", "Days"), ("Ski camp", "265", "5"), ("Sailing", "310", "6")
    )
    assert not ask("If every pupil of 6a goes to the ski camp, what does it cost in total?", camp).verified


def test_two_rows_may_share_the_first_place_in_one_site() -> None:
    rocks = relation(
        "rocks",
        ("Rock", "Mass", "Site"),
        ("Basalt", "2.4 kg", "Crow Quarry"),
        ("Slate", "2.4 kg", "Crow Quarry"),
        ("Gneiss", "860 g", "Long Gully"),
    )
    assert ask("Which site has the heaviest rock?", rocks).text == "Crow Quarry"


def test_a_month_beside_an_amount_is_shown_as_a_month_alone() -> None:
    savings = relation(
        "savings",
        ("Month", "Balance (EUR)"),
        ("2024-03-01", "12345678.50"),
        ("2024-04-01", "9345678.25"),
        ("2024-05-01", "11345678.75"),
    )
    assert ask("In which month was the balance lowest?", savings).text == "2024-04"
    both = ask("Which month had the lowest balance, and what was the balance?", savings)
    assert "9345678" not in both.text or "9345678.25" in both.text


@pytest.mark.parametrize(
    ("question", "compares"),
    [
        ("Which bridges over the Orle are steel?", False),
        ("Which bridges lie over the River Orle?", False),
        ("Which countries are above the EU average?", True),
        ("Which gauges are over the Alarm level?", True),
    ],
)
def test_a_preposition_before_a_name_says_a_place(question: str, compares: bool) -> None:
    assert ("more_than" in Question.read(question).cues) is compares


def test_a_number_is_no_percentage() -> None:
    replies = relation(
        "survey", ("Reply", "Families"), ("Happy", "126"), ("Unhappy", "54"), ("Not sure", "18")
    )
    answer = ask("How many percent of the families replied Unhappy?", replies)
    assert answer.text != "54" or not answer.verified


def test_a_row_of_a_total_is_no_member() -> None:
    maps = relation("atlas", ("Volume", "Maps"), ("1", "20"), ("2", "31"), ("TOTAL (1-2)", "51"))
    answer = ask("Which volume has the most maps?", maps)
    assert answer.text == "2" or not answer.verified


def test_an_average_of_one_number_is_not_verified() -> None:
    held = relation("schemes", ("Scheme", "2019", "2018"), ("Benefit", "166", "178"), ("Health", "57", "44"))
    assert not ask("What is the 2019 average of Benefit?", held).verified


def test_the_highest_of_texts_is_not_that_of_another_column() -> None:
    provinces = relation(
        "provinces", ("Province", "Population", "Density", "Districts"),
        ("Alm", "702,819", "72.5 /km2 (188 /sq mi)", "8"), ("Sev", "1,900,224", "35.2 /km2 (91 /sq mi)", "15"),
    )  # fmt: skip
    assert not ask("Which province has the highest density?", provinces).verified


def test_a_film_called_if_supposes_nothing() -> None:
    films = relation("films", ("Film", "Rating"), ("If", "7.8"), ("Up", "8.1"), ("Roma", "6.9"))
    answer = ask("What is the rating of If?", films)
    assert (answer.text, answer.verified) == ("7.8", True)
    assert not ask("If every film had one point more, what was the average rating?", films).verified


def test_donors_are_not_donations() -> None:
    donors = relation("donors", ("Donor ID", "Name", "Town"), ("D1", "Ada", "Felden"), ("D2", "Bo", "Au"))
    gifts = relation(
        "donations", ("No", "Donor ID", "EUR"), ("1", "D1", "20"), ("2", "D1", "30"), ("3", "D2", "10")
    )
    answer = ask("How many of the donations came in from donors in Felden?", donors, gifts)
    assert answer.text == "2" or not answer.verified


def test_metres_are_named_by_the_unit_of_a_header() -> None:
    falls = relation(
        "waterfalls", ("Waterfall", "Drop (m)", "Platforms"), ("Donnerloch", "212", "1"), ("Ost", "96", "3")
    )
    assert ask("How many metres is the drop of the Donnerloch?", falls).verified


def test_the_column_before_of_is_what_is_asked_for() -> None:
    labels = relation(
        "orchestras", ("Orchestra", "Record company", "Founded"),
        ("Columbia Symphony", "RCA", "1957"), ("Kirov", "Philips", "1783"), ("Royal", "EMI", "1888"),
    )  # fmt: skip
    answer = ask(
        "Return the record companies of orchestras, sorted descending by the years when founded.", labels
    )
    assert answer.text == "RCA; EMI; Philips" or not answer.verified


def test_two_counts_are_not_answered_by_one() -> None:
    channels = relation(
        "channels",
        ("Channel", "Series", "Content"),
        ("A", "Sky", "Sport"),
        ("B", "Sun", "Sport"),
        ("C", "Sky", "News"),
    )
    assert not ask("How many different series and contents are there?", channels).verified


def test_numbers_of_courses_are_not_numbers_of_teachers() -> None:
    courses = relation("courses", ("Course ID", "Course"), ("1", "Math"), ("2", "Art"), ("3", "Law"))
    teachers = relation("teachers", ("Teacher ID", "Teacher"), ("1", "Ada"), ("2", "Bo"), ("3", "Cy"))
    assert ask("Which teacher teaches the course Math?", courses, teachers).text != "Ada"


def test_a_printed_amount_comes_before_a_sum_that_nobody_asked_for() -> None:
    halden = relation(
        "halden-costs", ("Branch", "Kind", "2023"), ("North", "Services", "20"), ("South", "Services", "30")
    )
    norrvik = relation("norrvik-costs", ("Item", "2023"), ("Services", "371"), ("Rent", "90"))
    answer = ask("How much was services in 2023?", halden, norrvik)
    assert answer.text == "371"
    assert "371" not in [other.text for other in answer.alternatives]
