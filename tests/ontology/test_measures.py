from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtable.values.measures import Measure, denominator, duration_unit, find_measure

NAMES = [
    ("Gross margin %", Measure.PERCENT),
    ("% Change", Measure.PERCENT),
    ("Percentage of revenue", Measure.PERCENT),
    ("Effective tax rate", Measure.RATE),
    ("Discount rate (1)", Measure.RATE),
    ("Rate of compensation increase", Measure.RATE),
    ("Expected volatility", Measure.RATE),
    ("Basic earnings per share", Measure.PER_SHARE),
    ("Diluted EPS", Measure.PER_SHARE),
    ("Net income per common share - diluted", Measure.PER_SHARE),
    ("Weighted-average exercise price", Measure.PER_SHARE),
    ("Weighted Average Grant Date Fair Value", Measure.PER_SHARE),
    ("Number of shares", Measure.SHARES),
    ("Weighted average common shares outstanding", Measure.SHARES),
    ("Basic weighted average common shares outstanding", Measure.SHARES),
    ("Shares used in computing diluted earnings", Measure.SHARES),
    ("Number of employees", Measure.COUNT),
    ("Headcount", Measure.COUNT),
    ("Current ratio", Measure.RATIO),
    ("Interest cover (times)", Measure.RATIO),
    ("Weighted average remaining lease term (years)", Measure.DURATION),
    ("Expected life (in years)", Measure.DURATION),
    ("Fiscal year", Measure.YEAR),
]

AMOUNTS = [
    "",
    "Revenue",
    "Gross margin",
    "Income tax at statutory rate",
    "Foreign rate differential",
    "Interest rate swaps",
    "Share-based compensation",
    "Issuance of common shares",
    "5.25% senior notes",
    "Notes, 50 percent owned",
    "2019",
    "Years ended December 31,",
    "Total stockholders' equity",
    "Long-term debt",
    "Employee benefits",
]


@pytest.mark.parametrize(("name", "measure"), NAMES)
def test_measures(name: str, measure: Measure) -> None:
    assert find_measure(name) is measure


@pytest.mark.parametrize("name", AMOUNTS)
def test_amounts_state_no_measure(name: str) -> None:
    assert find_measure(name) is None


def test_denominators_and_terms() -> None:
    assert denominator("Revenue per employee") == "employee"
    assert denominator("Rainfall per year") is None
    assert duration_unit("Days sales outstanding") == "DAY"


@given(st.text(max_size=320) | st.text(alphabet="number of weighted average shares options ", max_size=300))
def test_any_name_is_read(name: str) -> None:
    find_measure(name)
    denominator(name)
