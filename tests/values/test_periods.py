from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtable.values.periods import find_period, is_temporal, parse_period


@pytest.mark.parametrize(
    ("text", "lexical"),
    [
        ("Q3 2020", "2020-Q3"), ("Q3'20", "2020-Q3"), ("3Q20", "2020-Q3"), ("2020 Q3", "2020-Q3"),
        ("third quarter of 2020", "2020-Q3"), ("H1 2019", "2019-H1"), ("1H19", "2019-H1"), ("FY2019", "FY2019"),
        ("FY19", "FY2019"), ("Fiscal 2019", "FY2019"), ("FY 2019/20", "FY2019/2020"), ("2016-17", "2016/2017"),
        ("2016/17", "2016/2017"), ("1999–2000", "1999/2000"), ("1999-00", "1999/2000"), ("1939–1945", "1939/1945"),
    ],
)  # fmt: skip
def test_periods(text: str, lexical: str) -> None:
    period = parse_period(text)
    assert period is not None
    assert period.lexical == lexical
    assert find_period(text) == lexical


def test_first_and_last_day() -> None:
    period = parse_period("Q1 2020")
    assert period is not None
    assert (period.start, period.end) == ("2020-01-01", "2020-03-31")


@pytest.mark.parametrize(
    ("text", "period"),
    [
        ("Years Ended September 30, 2019", "P1Y/2019-09-30"), ("Three months ended June 30, 2020", "P3M/2020-06-30"),
        ("Twelve Months Ended December 31, 2019", "P1Y/2019-12-31"),
        ("52 weeks ended 28 March 2020", "P52W/2020-03-28"), ("As of December 31, 2019", "2019-12-31"),
        ("december 31 2013 assetfairvalue ( a )", "2013-12-31"), ("December 31, 2019 $", "2019-12-31"),
        ("2019 (restated)", "2019"), ("2019 £m", "2019"), ("Fiscal year 2018", "FY2018"),
        ("Balance at 31 December 2018", "2018-12-31"), ("Year ended March 31, 2019", "P1Y/2019-03-31"),
        ("March 2019", "2019-03"), ("Year ended December 31, 2019", "P1Y/2019-12-31"),
        ("Years Ended December 31 2019", "P1Y/2019-12-31"),
    ],
)  # fmt: skip
def test_periods_in_headers(text: str, period: str) -> None:
    assert find_period(text) == period


@pytest.mark.parametrize(
    "text", ["", "Revenue", "2019 vs. 2018", "12,019", "$2019", "Item 7", "5-year average", "x" * 1000]
)
def test_headers_without_period(text: str) -> None:
    assert find_period(text) is None


@given(st.text(max_size=320) | st.text(alphabet="0123456789/-–' QHFYMarch,endedyears", max_size=320))
def test_any_text_is_searched(text: str) -> None:
    period = find_period(text)
    assert period is None or period
    parse_period(text)


@pytest.mark.parametrize(
    "path",
    [
        ["2013"], ["12/9/2013"], ["2013-09-12"], ["31.12.2024"], ["2016-17"], ["2017/2018"], ["Q3 2020"], ["3Q20"],
        ["H1 2021"], ["FY2019"], ["fiscal 2016"], ["Third quarter"], ["December 31, 2019"], ["december 312013"],
        ["Years Ended September 30,", "2019"], ["Three months ended", "March 31, 2019"], ["2019", "£m"],
        ["2019", "(in thousands)"], ["2018 (restated)"], ["2024E"], ["2018 (restated, Note 3)"], ["2019 $’000"],
    ],
)  # fmt: skip
def test_headers_that_say_when(path: list[str]) -> None:
    assert is_temporal(path)


@pytest.mark.parametrize(
    "path",
    [
        [], [""], ["Year"], ["Date"], ["Three months ended"], ["1500"], ["Population (2010)"], ["2019", "Revenue"],
        ["2000 m"], ["Class of 1"], ["Mayor"], ["Decision"], ["% change 2019"], ["$ millions"], ["$"], ["2019 " * 100],
    ],
)  # fmt: skip
def test_headers_that_say_what(path: list[str]) -> None:
    assert not is_temporal(path)
