from __future__ import annotations

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtable.values.dates import Order, figures_of, parse_date

DAYS = [
    ("2024-12-31", "2024-12-31"), ("2024/12/31", "2024-12-31"), ("12/31/2024", "2024-12-31"),
    ("31/12/2024", "2024-12-31"), ("31.12.2024", "2024-12-31"), ("31.12.24", "2024-12-31"),
    ("31 Dec. 2024", "2024-12-31"), ("31-Dec-24", "2024-12-31"), ("31 December 2024", "2024-12-31"),
    ("December 31, 2019", "2019-12-31"), ("december 31 2019", "2019-12-31"), ("Sept. 3, 2019", "2019-09-03"),
    ("3rd of May 2019", "2019-05-03"), ("Sunday, May 5, 2010", "2010-05-05"), ("May 5,2010", "2010-05-05"),
    ("12/31/69", "2069-12-31"), ("12/31/70", "1970-12-31"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "lexical"), DAYS)
def test_days(text: str, lexical: str) -> None:
    date = parse_date(text)
    assert date is not None
    assert date == (lexical, "xsd:date", lexical, lexical)


@pytest.mark.parametrize(
    ("text", "lexical", "datatype"),
    [
        ("December 2019", "2019-12", "xsd:gYearMonth"), ("Dec-2019", "2019-12", "xsd:gYearMonth"),
        ("2019-12-31T10:30:00Z", "2019-12-31T10:30:00Z", "xsd:dateTime"),
        ("2019-12-31 10:30", "2019-12-31T10:30:00", "xsd:dateTime"),
        ("2019-12-31 10:30:05.25+0200", "2019-12-31T10:30:05.25+02:00", "xsd:dateTime"),
        ("10:30 AM", "10:30:00", "xsd:time"), ("12:05 a.m.", "00:05:00", "xsd:time"),
        ("9:15:30 pm", "21:15:30", "xsd:time"),
    ],
)  # fmt: skip
def test_months_and_times(text: str, lexical: str, datatype: str) -> None:
    date = parse_date(text)
    assert date is not None
    assert (date.lexical, date.datatype) == (lexical, datatype)


@pytest.mark.parametrize(
    "text",
    ["", "2013", "May 5", "31/02/2024", "2019-13-01", "1.2.3", "1.2.10", "10-6-12", "2019-12", "99/99/2020",
     "13:00 pm",     "2019-12-31 25:00", "0000-01-01", "May 2019 to June 2019", "ſept 3, 2019", "1" * 1000],
)  # fmt: skip
def test_texts_are_no_dates(text: str) -> None:
    assert parse_date(text) is None


def test_order_decides_open_dates() -> None:
    assert parse_date("01/02/2003", Order.MONTH_FIRST) == ("2003-01-02", "xsd:date", "2003-01-02", "2003-01-02")
    day_first = parse_date("01/02/2003", Order.DAY_FIRST)
    assert day_first is not None
    assert day_first.lexical == "2003-02-01"
    assert figures_of("01/02/2003") == (1, 2)
    assert figures_of("2003") is None


@given(st.dates(min_value=datetime.date(1000, 1, 1), max_value=datetime.date(2999, 12, 31)))
def test_printed_dates_come_back(day: datetime.date) -> None:
    month = day.strftime("%B")
    for text in (
        day.isoformat(), f"{month} {day.day}, {day.year}", f"{day.day} {month[:3]}. {day.year}",
        f"{day.month}/{day.day}/{day.year}", f"{day.day:02d}.{day.month:02d}.{day.year}",
    ):  # fmt: skip
        date = parse_date(text)
        assert date is not None
        assert date.lexical == day.isoformat()


@given(st.text(max_size=70) | st.text(alphabet="0123456789/-.: TZapmJunDecſ", max_size=70))
def test_any_text_is_a_date_or_not(text: str) -> None:
    date = parse_date(text)
    assert date is None or date.lexical
