from __future__ import annotations

from pathlib import Path

import pytest

from tests.tables.odd_files import ODD_CASES
from tests.tables.reading_cases import CASES, Case, observed, read, write


@pytest.mark.parametrize("case", CASES + ODD_CASES, ids=lambda case: case.about)
def test_reads_as_a_careful_person_does(case: Case, tmp_path: Path) -> None:
    assert observed(case, read(write(case, tmp_path))) == dict(case.expected)


def test_there_are_many_cases_of_each_kind() -> None:
    assert min(len(CASES), len(ODD_CASES)) >= 60
    assert len({case.about for case in CASES + ODD_CASES}) == len(CASES) + len(ODD_CASES)
