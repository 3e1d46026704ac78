"""Answers by programs: the verdict says what it says."""

from __future__ import annotations

from decimal import Decimal

import pytest

from kgtable.errors import UnitMismatchError
from kgtable.programs.relation import Relation
from kgtable.programs.table_relation import relation_of
from kgtable.questions.by_rules import RankedAnswer, answer_by_programs
from kgtable.questions.relation_index import index_of
from kgtable.questions.sources import MOST_KEY_COLUMNS, _key_columns, shared_key
from kgtable.tables.layout.detect import make_table
from kgtable.tables.model import Grid, Source
from tests.graph.decoding import decode_in_memory
from tests.questions.test_candidates import BUDGET, PRODUCTS, SALES
from tests.questions.test_linking import GAMES, STAFF


def relation(name: str, *rows: tuple[str, ...]) -> Relation:
    return relation_of(decode_in_memory(make_table(Grid(name, Source(f"{name}.csv"), rows, max(map(len, rows))))))


FLEA = relation("flea-market", ("Item", "Seller", "Price"), ("Lamp", "Ilse", "€40"), ("Rug", "Basil", "£65"),
                ("Vinyl", "Ilse", "$8"), ("Tea set", "Yuki", "¥5400"))  # fmt: skip
APPLES = [
    relation("apples-2023", ("Variety", "Harvest (kg)"), ("Boskoop", "1840"), ("Elstar", "2310"), ("Topaz", "960")),
    relation("apples-2024", ("Variety", "Harvest (kg)"), ("Boskoop", "1525"), ("Elstar", "2680"), ("Topaz", "1120")),
]


def ask(text: str, *tables: Relation) -> RankedAnswer:
    return answer_by_programs(text, [(table, 1.0 - 0.1 * rank) for rank, table in enumerate(tables)])


def test_a_plain_question_is_answered_from_the_right_table() -> None:
    answer = ask("What is the average salary in IT?", STAFF, GAMES, BUDGET)
    assert answer.text == "67500"
    assert answer.grounded
    assert Decimal(answer.value or "0") == 67500
    assert answer.tables == ("employees",)
    assert "average" in answer.derivation


def test_totals_are_left_out() -> None:
    assert ask("Which item of the village budget was the highest in 2022?", BUDGET).text == "School"


def test_what_two_tables_answer_differently_is_never_sure() -> None:
    answer = ask("What was the harvest of Boskoop?", *APPLES)
    assert not answer.sure
    assert answer.ambiguous
    assert {answer.text, *(other.text for other in answer.alternatives)} >= {"1840", "1525"}


def test_mixed_currencies_are_refused_with_a_sentence() -> None:
    answer = ask("What is the total price of everything at the flea market?", FLEA)
    assert not answer.text
    assert not answer.sure
    assert any("EUR" in reason for reason in answer.reasons)


def test_words_that_are_not_found_keep_an_answer_from_being_sure() -> None:
    answer = ask("What is the phone number of Ida Brandt?", STAFF)
    assert not answer.sure
    assert any("phone" in reason for reason in answer.reasons)


BIRTHS = relation("births", ("Year", "Region", "Births"), ("2020", "Nordmark", "512"), ("", "Estholm", "388"),
                  ("2021", "Nordmark", "530"), ("", "Estholm", "371"))  # fmt: skip
SEXES = relation("sexes", ("Region", "Men", "Women"), ("2020",) * 3, ("Nordmark", "110", "120"),
                 ("Estholm", "70", "90"), ("2021",) * 3, ("Nordmark", "115", "118"),
                 ("Estholm", "72", "93"))  # fmt: skip


@pytest.mark.parametrize(
    ("question", "answer", "table"),
    [
        ("How many births were there in Estholm in 2020?", "388", BIRTHS),
        ("Which region had the most births in 2021?", "Nordmark", BIRTHS),
        ("What is the total of births in 2020?", "900", BIRTHS),
        ("How many women were in Estholm in 2021?", "93", SEXES),
        ("How many men were in Nordmark in 2020?", "110", SEXES),
    ],
)
def test_rows_know_the_year_that_heads_their_block(question: str, answer: str, table: Relation) -> None:
    assert ask(question, table).text == answer


def test_joins() -> None:
    answer = ask("How many pieces of the mug were sold?", PRODUCTS, SALES)
    assert "7" in {answer.text, *(other.text for other in answer.alternatives)}


def test_answers_are_deterministic() -> None:
    first, second = (ask("Which designer has the most board games?", GAMES, STAFF) for _ in range(2))
    assert (first.text, first.confidence, first.reasons) == (second.text, second.confidence, second.reasons)


REGIONS = relation("sales", ("Region", "2018", "2019"), ("North", "100", "140"), ("South", "50", "60"))


def test_a_look_up_of_the_period_that_was_named_is_sure_and_stands_alone() -> None:
    answer = ask("What were the sales of North in 2018?", REGIONS)
    assert (answer.text, answer.sure, answer.alternatives) == ("100", True, ())


STUDENTS = relation("students", ("student_id", "name", "town"), ("S1", "Lena Wolf", "Aarau"),
                    ("S2", "Marc Oth", "Bern"), ("S3", "Nadia Cruz", "Aarau"), ("S4", "Pia Roth", "Bern"))  # fmt: skip
COURSES = relation("enrolments", ("student", "course", "grade"), ("S1", "Algebra", "5.5"), ("S2", "Algebra", "4.5"),
                   ("S2", "History", "4.0"), ("S3", "Physics", "5.0"))  # fmt: skip
VOTES = relation("council-election", ("Party", "Votes 2018", "Votes 2023", "Seats 2018", "Seats 2023"),
                 ("Greens", "2140", "2890", "5", "7"), ("Union", "4020", "3510", "10", "8"))  # fmt: skip
SONGS = relation("playlist", ("Title", "Artist", "Length", "Released"), ("One", "Mara Vale", "4:05", "2021"),
                 ("Home", "Mara Vale", "3:29", "2019"), ("Why Not", "Kid Cobalt", "0:48", "2022"))  # fmt: skip


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Which students took Algebra?", "Lena Wolf; Marc Oth"),
        ("Which student has not enrolled in any course?", "Pia Roth"),
    ],
)
def test_rows_of_another_table_are_told_by_name_not_by_key(question: str, said: str) -> None:
    assert ask(question, COURSES, STUDENTS).text == said


def test_a_join_that_adds_nothing_is_no_other_reading() -> None:
    answer = ask("How many students come from Aarau?", STUDENTS, COURSES)
    assert answer.text == "2"
    assert "4" not in {other.text for other in answer.alternatives}


def test_differences_are_of_one_measure_and_a_loss_is_told_as_such() -> None:
    answer = ask("How many seats did the Union lose from 2018 to 2023?", VOTES)
    assert answer.text == "2"
    assert not {"3500", "-3500", "4010"} & {other.text for other in answer.alternatives}


def test_the_oldest_is_the_one_with_the_earliest_year_not_the_first_row() -> None:
    assert ask("Which song by Mara Vale is the oldest?", SONGS).text == "Home"


def test_half_a_minute_is_compared_with_durations() -> None:
    assert ask("Which songs have a length of less than a minute?", SONGS).text == "Why Not"


def test_a_time_between_two_is_no_contradiction() -> None:
    head = ("Trip", "Date", "Price (EUR)")
    trips = relation("trips", head, ("Lake", "2024-03-03", "40"), ("Peak", "2024-05-06", "55"),
                     ("Cave", "2024-07-01", "35"), ("Fjord", "2024-09-09", "90"))  # fmt: skip
    answer = ask("Which trips were after 1 April 2024 and before 1 August 2024?", trips)
    assert (answer.text, answer.sure) == ("Peak; Cave", True)
    assert not ask("Which trips were on 6 May 2024 and on 1 July 2024?", trips).sure


def test_a_year_before_a_name_is_no_number_of_things() -> None:
    cargo = relation(
        "cargo", ("Port", "Weight 2023", "Weight 2024"), ("Norrvik", "1795", "1820"), ("Tern Bay", "905", "920")
    )
    answer = ask("What was the 2024 weight of Tern Bay?", cargo)
    assert (answer.value, answer.sure) == ("920", True)


def test_an_attribute_that_no_column_has_gets_no_answer() -> None:
    assert not ask("What is the colour of the song Home?", SONGS).text


def test_names_written_in_two_cases_are_found_whole() -> None:
    bills = relation("invoices", ("No", "client", "net_eur"), ("1", "Almer GmbH", "1200.00"),
                     ("2", "Cine Rex", "980.00"), ("3", "Almer GmbH", "980.00"))  # fmt: skip
    assert ask("What is the average net amount of the invoices to Almer GmbH?", bills).value == "1090"


BLOOD = relation("blood-bank", ("Blood group", "Bags in stock", "Minimum stock"), ("A+", "164", "120"),
                 ("A−", "28", "30"), ("O+", "140", "150"), ("O−", "61", "60"))  # fmt: skip
SCOOPS = relation(
    "ice-cream", ("flavour", "scoops_2023", "scoops_2024", "on_menu_since"), ("Lemon", "3540", "4160", "2019"),
    ("Vanilla", "9120", "8870", "2024"), ("Mango", "2480", "2895", "2023"),
)  # fmt: skip
PLAYS = relation("plays", ("Play", "Genre", "Performances"), ("Ferry", "drama", "22"), ("Shoes", "comedy", "31"),
                 ("Lantern", "musical", "40"), ("Duck", "comedy", "27"))  # fmt: skip
SHARES = relation(
    "revenue", ("", "2019 % of total revenue", "2019 Amount ($)", "2018 % of total revenue", "2018 Amount ($)"),
    ("Services", "34%", "243,053", "38%", "246,548"), ("Maintenance", "2%", "16,499", "3%", "14,783"),
)  # fmt: skip


def test_a_sign_that_ends_a_name_tells_it_from_others() -> None:
    assert ask("How many bags of O− are in stock?", BLOOD).value == "61"
    assert ask("How many bags of A- are in stock?", BLOOD).value == "28"


def test_years_in_headers_are_compared_in_the_order_they_are_named() -> None:
    assert ask("Which flavours had fewer scoops in 2024 than in 2023?", SCOOPS).text == "Vanilla"
    assert ask("Which flavours had more scoops in 2024 than in 2023?", SCOOPS).text == "Lemon; Mango"


def test_a_year_that_heads_a_column_is_no_date_of_another() -> None:
    change = ask("By what percentage did the scoops of lemon go up from 2023 to 2024?", SCOOPS)
    assert change.value is not None
    assert change.value.startswith("17.5")


def test_an_extreme_row_does_not_stand_for_the_sum_of_its_kind() -> None:
    answer = ask("Which genre had the most performances in total?", PLAYS)
    assert answer.text == "comedy" or not answer.sure


def test_who_asks_for_an_amount_means_no_share_of_the_total() -> None:
    assert ask("What was the revenue of services in 2019 and 2018?", SHARES).text == "243,053; 246,548"


def test_a_cell_that_is_empty_is_not_answered_from_another() -> None:
    works = relation("road-works", ("Street", "Begins", "Ends"), ("Mill Lane", "2024-03-04", "2024-03-22"),
                     ("Elm Avenue", "2024-10-07", ""), ("Ring West", "2024-06-24", "2024-09-30"))  # fmt: skip
    assert ask("When do the works on Mill Lane end?", works).text == "2024-03-22"
    answer = ask("When do the works on Elm Avenue end?", works)
    assert not answer.text
    assert answer.reasons == ("road-works has no value of Ends there.",)


def test_a_name_of_number_and_letter_is_found_among_texts() -> None:
    cars = relation("cars", ("Model", "Battery (kWh)"), ("500 L", "38"), ("Dot", "20.5"), ("Fox", "61"))
    assert ask("What is the battery of the 500 L?", cars).value == "38"


def test_hours_worked_are_no_minutes_of_breaks() -> None:
    head = ("Person", "Break (min)", "Worked (h:mm)")
    sheet = relation("timesheet", head, ("Noor", "30", "7:30"), ("Noor", "45", "7:15"), ("Sven", "30", "8:00"))
    answer = ask("How many hours did Noor work in all?", sheet)
    assert answer.text == "14:45:00"


@pytest.mark.parametrize("where", ["kgtable.questions.by_rules.sources_of", "kgtable.questions.ranker.candidates_of"])
def test_units_that_do_not_fit_are_never_an_error_of_the_question(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is raised beside the candidates that are tried abandons them, and refuses no question."""

    def refuse(*_: object) -> None:
        raise UnitMismatchError("USD cannot be converted to a plain number.")

    monkeypatch.setattr(where, refuse)
    answer = ask("Which item is over $50?", FLEA)
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


HOURS = relation(
    "hours", ("Project", "Client", "Hours"),
    ("Alder", "Acme", "120"), ("Birch", "Bolt", "300"), ("Cedar", "Acme", "200"), ("Dogwood", "Bolt", "510"),
)  # fmt: skip


@pytest.mark.parametrize(
    "question", ["Total hours by client", "Total hours for each client", "What is the sum of hours per client?"]
)
def test_a_word_of_grouping_before_a_column_groups_by_it(question: str) -> None:
    answer = ask(question, HOURS)
    assert answer.text == "Bolt: 810; Acme: 320"
    assert answer.best is not None
    assert answer.best.result.names == ("Client", "sum of Hours")


def test_by_a_measure_orders_and_top_is_the_most_also_of_durations() -> None:
    assert ask("top 2 projects by hours", HOURS).text == "Dogwood; Birch"


VISITS = relation(
    "visits", ("Visited on", "Guest", "Town", "Paid (EUR)", "Kind"),
    ("2024-01-08", "Ada", "Ely", "20", "tour"), ("2024-01-23", "Bo", "York", "30", "talk"),
    ("2024-02-05", "Ada", "Ely", "25", "tour"), ("2024-04-03", "Cy", "", "40", "tour"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("total paid per month", "2024-01: 50; 2024-02: 25; 2024-04: 40"),
        ("total paid by quarter", "2024-Q1: 75; 2024-Q2: 40"),
        ("visits by weekday", "Monday: 2; Tuesday: 1; Wednesday: 1"),
        ("total paid by town", "Ely: 45; York: 30; (blank): 40"),
        ("average paid for each guest", "Cy: 40; Bo: 30; Ada: 22.5"),
        ("guest-wise total paid", "Ada: 45; Cy: 40; Bo: 30"),
        ("total paid by gest", "Ada: 45; Cy: 40; Bo: 30"),
        ("top 2 guests by total paid", "Ada: 45; Cy: 40"),
        ("total paid by kind and guest", "tour: Ada, 45; talk: Bo, 30; tour: Cy, 40"),
    ],
)
def test_periods_several_keys_and_words_of_grouping(question: str, text: str) -> None:
    assert ask(question, VISITS).text == text


def test_per_before_a_unit_or_a_month_of_a_price_asks_for_no_groups() -> None:
    plans = relation(
        "plans", ("Plan", "Fee per month (EUR)", "From"), ("Basic", "9", "2024-01-01"), ("Gold", "19", "2024-02-01")
    )
    assert ask("How much does Gold cost per month?", plans).value == "19"


def test_a_list_of_numbers_keeps_equal_ones() -> None:
    rents = relation("rents", ("Flat", "Rent (EUR)"), ("A1", "620"), ("A2", "640"), ("A3", "620"))
    assert ask("What are the rents of A1, A2 and A3?", rents).text == "620; 640; 620"


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("total paid between 20 and 31 January 2024", "30"), ("How many visits were on a Monday?", "2"),
        ("Which weekday had the most visits?", "Monday"), ("total paid of Ada not for a talk", "45"),
        ("Which guests were from outside York?", "Ada"),
    ],
)  # fmt: skip
def test_days_weekdays_and_what_a_negation_is_of(question: str, text: str) -> None:
    assert ask(question, VISITS).text == text


@pytest.mark.parametrize("question", ["Wie viele Besuche gab es?", "Combien de visites ?", "¿Cuántas visitas hubo?"])
def test_a_question_in_another_language_is_told_so(question: str) -> None:
    answer = ask(question, VISITS)
    assert answer.best is None
    assert "English" in answer.reasons[0]


TRIPS = relation(
    "trips", ("Trip", "City", "Kind", "Month", "Paid on", "Cost (EUR)"),
    ("T1", "Lyon", "Hotel", "January", "2024-02-01", "200"), ("T2", "Lyon", "Hotel", "May", "", "150"),
    ("T3", "Lyon", "Meals", "May", "2024-06-02", "40"), ("T4", "Turin", "Hotel", "June", "2024-07-01", "90"),
    ("T5", "Turin", "Meals", "August", "", "30"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("hotel costs in Lyon", "350"), ("total cost in the second quarter", "280"),
        ("total cost from January to May", "390"), ("avarage cost in Turin", "60"),
        ("How many unpaid trips are there?", "2"), ("total cost, hotel excluded", "70"),
        ("total cost by city, hotel excluded", "Lyon: 40; Turin: 30"),
    ],
)  # fmt: skip
def test_amounts_of_several_rows_spans_of_months_and_what_was_not_done(question: str, text: str) -> None:
    assert ask(question, TRIPS).text == text


def test_a_measure_that_a_header_names_is_not_satisfied_by_the_title() -> None:
    stops = relation("machine-downtime", ("Machine", "Reason", "Downtime (min)"), ("Press", "Jam", "5"),
                     ("Press", "Jam", "7"), ("Lathe", "Tool", "90"), ("Press", "Jam", "3"))  # fmt: skip
    answer = ask("Which reason has the most downtime?", stops)
    assert answer.text == "Tool"
    assert "Downtime" in answer.derivation


@pytest.mark.parametrize(
    ("question", "text", "objection", "table"),
    [
        ("What is the sum of the amounts?", "440", "the same on all rows of one Order", LINES := relation(
            "lines", ("Order", "Amount", "Item"), ("O1", "100", "pen"), ("O1", "100", "ink"), ("O1", "100", "pad"),
            ("O2", "60", "pen"), ("O3", "40", "pad"), ("O3", "40", "ink"))),
        ("What is the total median rent?", "520", "not added up", relation(
            "suburbs", ("Suburb", "Median rent"), ("Ash", "400"), ("Birch", "520"), ("Cedar", "610"))),
        ("How many orders are there?", "3", "", LINES),
        ("What is the total amount?", "155", "are added together", BANK := relation(
            "bank", ("Name", "Way", "Amount"), ("Rent", "Debit", "70"), ("Pay", "Credit", "80"),
            ("Tea", "Debit", "5"))),
        ("What is the total amount by way?", "Credit: 80; Debit: 75", "", BANK),
        ("What is the average amount per month?", "2024-01: 20; 2024-02: 40", "average of the sums", relation(
            "sales", ("Day", "Amount"), ("2024-01-05", "10"), ("2024-01-07", "30"), ("2024-02-02", "40"))),
    ],
)  # fmt: skip
def test_what_does_not_add_up_is_never_sure(question: str, text: str, objection: str, table: Relation) -> None:
    answer = ask(question, table)
    assert answer.text == text
    assert any(objection in reason for reason in answer.reasons)
    assert not answer.sure or not objection


def test_an_amount_without_cells_that_hold_errors_is_never_sure() -> None:
    sheet = relation("sheet", ("Invoice", "Amount"), ("A1", "100"), ("A2", "250"), ("A3", "#REF!"), ("A4", "50"))
    answer = ask("What is the total amount?", sheet)
    assert (answer.text, answer.sure) == ("400", False)
    assert "B4 '#REF!'" in answer.reasons[0]


def test_names_spelt_in_several_ways_are_one_group() -> None:
    sales = relation("sales", ("Branch", "Month", "Sales"), ("North", "Jan", "10"), ("north", "Feb", "20"),
                     ("NORTH ", "Mar", "5"), ("South", "Jan", "40"), (" South", "Feb", "2"))  # fmt: skip
    assert ask("Which branch has the lowest total sales?", sales).text == "North"


def test_a_month_that_is_asked_for_is_a_group_of_days() -> None:
    sales = relation("sales", ("Date", "Sales"), ("2024-01-10", "36"), ("2024-02-03", "20"), ("2024-02-14", "25"))
    assert ask("Which month had the highest total sales?", sales).text == "2024-02"
