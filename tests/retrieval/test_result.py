from __future__ import annotations

import json
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import pytest

from kgtable.retrieval.result import Retrieval, ScoredTable, ScoredTriple

SCRIPT = "<script>alert(1)</script>"
TRIPLE = ScoredTriple("t", 1, 2, SCRIPT, "http://e/p", '5"\u202e', "5", "NUM", None, None, "http://e/c", 0.5)
FOUND = Retrieval("?", (TRIPLE,), (ScoredTable("t", 1.0),), {"labels": 1.23456}, trace={"labels": {1, 2}})


def test_json_has_all_of_a_triple_and_nothing_of_the_trace() -> None:
    told = json.loads(json.dumps(FOUND.to_json("q1")))
    assert (told["id"], told["question"], told["timings_ms"]) == ("q1", "?", {"labels": 1.235})
    assert ScoredTriple(**told["triples"][0]) == TRIPLE
    assert told["tables"] == [{"table": "t", "score": 1.0}]
    assert "trace" not in told
    assert FOUND.to_json()["id"] is None


def test_a_frame_has_a_row_a_triple() -> None:
    frame = FOUND.to_frame()
    told = json.loads(json.dumps(FOUND.to_json()))["triples"][0]
    assert frame.to_dict("records") == [told | {"value": Decimal(5)}]
    empty = Retrieval("?", (), ()).to_frame()
    assert (len(empty), list(empty.columns)) == (0, list(frame.columns))


@pytest.mark.parametrize(
    ("value", "unit", "typed"),
    [
        ("-1200.50", "CCY_EUR", Decimal("-1200.50")), ("5", None, Decimal(5)), ("2019-12-31", None, date(2019, 12, 31)),
        ("2019-12-31T10:30:00", None, datetime(2019, 12, 31, 10, 30)),
        ("2019-12-31T10:30:00Z", None, datetime.fromisoformat("2019-12-31T10:30:00+00:00")),
        ("10:30:00", None, time(10, 30)), ("2019-12", None, "2019-12"), ("2019-02-31", None, "2019-02-31"),
        ("true", None, True), ("false", None, False), ("a text", None, "a text"), (None, None, None),
    ],
)  # fmt: skip
def test_values_are_numbers_dates_and_booleans(value: str | None, unit: str | None, typed: Any) -> None:
    triple = TRIPLE._replace(value=value, unit=unit)
    found = Retrieval("?", (triple, TRIPLE._replace(value=None)), ()).to_frame()["value"].tolist()
    assert found == [typed, None]
    assert type(found[0]) is type(typed)


def test_markup_is_shown_not_run() -> None:
    assert SCRIPT not in FOUND._repr_html_()
    assert "&lt;script&gt;" in FOUND._repr_html_()
