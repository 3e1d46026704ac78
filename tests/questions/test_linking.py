"""What a question names in a table."""

from __future__ import annotations

import gc
from weakref import ref

import pytest

from kgtable.programs.relation import Relation
from kgtable.programs.table_relation import relation_of
from kgtable.questions import relation_index
from kgtable.questions.conditions import Condition
from kgtable.questions.linking import Links
from kgtable.questions.reading import Question
from kgtable.questions.relation_index import index_of, stems_of
from kgtable.tables.layout.detect import make_table
from kgtable.tables.model import Grid, Source
from tests.graph.decoding import decode_in_memory


def relation(name: str, *rows: tuple[str, ...]) -> Relation:
    grid = Grid(name, Source(f"{name}.csv"), rows, max(map(len, rows)))
    return relation_of(decode_in_memory(make_table(grid)))


GAMES = relation(
    "board-games",
    ("Game", "Year", "Players", "Rating", "Designer"),
    ("Or", "2016", "4", "7.4", "Falk"),
    ("No", "2019", "2", "6.1", "Ionescu"),
    ("Up", "2011", "2", "8.2", "Duarte"),
    ("1815", "2016", "6", "7.9", "Falk"),
    ("Stone Bridge¹", "2020", "5", "5.9", "Sato"),
)
STAFF = relation(
    "employees",
    ("Name", "Department", "Salary (EUR)", "Start date", "Reports to"),
    ("Ida Brandt", "IT", "54000", "2018-04-01", "Omar Nasser"),
    ("Omar Nasser", "IT", "81000", "2013-09-16", "Vera Lind"),
    ("Jonas Weil", "HR", "47000", "2020-02-03", "Vera Lind"),
    ("Vera Lind", "Board", "120000", "2011-01-01", ""),
)


def links(text: str, table: Relation) -> Links:
    return Links(Question.read(text), index_of(table))


def exact(text: str, table: Relation) -> dict[str, Condition]:
    return {c.text: c for c in links(text, table).conditions if c.kind == "exact"}


def test_values_win_over_function_words_by_their_capitals() -> None:
    assert "Or" in exact("What is the rating of Or?", GAMES)
    assert "Up" in exact("Who is the designer of Up?", GAMES)
    assert "IT" in exact("What is the average salary in IT?", STAFF)


def test_function_words_in_lower_case_are_no_values() -> None:
    assert not exact("is it up to you or me, no?", GAMES)
    assert "No" not in exact("No game came out in 2019?", GAMES)


def test_footnote_marks_do_not_hide_a_value() -> None:
    assert stems_of("Stone Bridge¹") == stems_of("stone bridge")
    assert "Stone Bridge¹" in exact("the rating of Stone Bridge", GAMES)


def test_columns_by_header_stem_and_synonym() -> None:
    found = links("Who designed the games with the highest ratings?", GAMES).columns
    assert found[3].exact
    assert found[4].score == 1.0
    earning = links("How much does Jonas Weil earn?", STAFF).columns
    assert earning[2].derived
    assert earning[2].score >= 0.5


def test_times_bind_to_columns_of_times() -> None:
    found = [c for c in links("Which employees started before 2014?", STAFF).conditions if c.kind == "time"]
    assert {c.column for c in found} == {3}
    assert {c.relation for c in found} == {"in", "before"}


def test_thresholds_do_not_bind_to_columns_of_other_units() -> None:
    parts = relation("parts", ("Part", "Length", "Mass"), ("Bolt", "12 cm", "300 g"), ("Beam", "240 cm", "35 kg"),
                     ("Rod", "95 cm", "2 kg"))  # fmt: skip
    found = [c for c in links("Which parts are shorter than 1 m?", parts).conditions if c.kind == "threshold"]
    assert {c.column for c in found} == {1}


def test_title_words_come_from_the_tables_id() -> None:
    found = links("How many board games are there?", GAMES)
    assert found.question.words_of(found.title) == "board games"


def test_an_index_goes_with_its_relation() -> None:
    short_lived = relation("ports", ("Port", "Ships"), ("Fjell", "44"))
    kept = ref(short_lived)
    assert index_of(short_lived) is index_of(short_lived)
    del short_lived
    gc.collect()
    assert kept() is None


def test_a_question_leads_to_values_far_down_in_a_long_column(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relation_index, "MOST_VALUES", 3)
    rows = ((f"SO-{number}", str(number % 7)) for number in range(500, 600))
    orders = relation("orders", ("Order number", "Pieces"), *rows)
    assert set(exact("How many pieces has SO-577?", orders)) == {"SO-577"}
    assert set(exact("How many pieces has SO-501?", orders)) == {"SO-501"}
    assert not exact("How many pieces has an order?", orders)
