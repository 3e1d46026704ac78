from __future__ import annotations

import csv
from pathlib import Path

import pytest

from tests.tables.fresh_files import FRESH_CASES
from tests.tables.nasty_files import NASTY_CASES
from tests.tables.odd_files import ODD_CASES
from tests.tables.reading_cases import CASES, Case, observed, read, write

ALL_CASES = CASES + ODD_CASES + NASTY_CASES + FRESH_CASES


@pytest.mark.parametrize("case", ALL_CASES, ids=lambda case: case.about)
def test_reads_as_a_careful_person_does(case: Case, tmp_path: Path) -> None:
    assert observed(case, read(write(case, tmp_path))) == dict(case.expected)


def test_the_table_of_cases_says_what_is_read_now() -> None:
    wanted = {(case.about, place): str(value) for case in ALL_CASES for place, value in case.expected.items()}
    with (Path(__file__).parents[2] / "docs" / "reading-cases.csv").open(encoding="utf-8", newline="") as lines:
        told = {(line["case"], line["place"]): line["now"] for line in csv.DictReader(lines)}
    assert len(told) >= 400
    assert {key: wanted.get(key) for key in told} == told
