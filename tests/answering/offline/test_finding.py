from __future__ import annotations

from decimal import Decimal

import pytest

from kgtable.answering.offline.linking import cell_id, cell_ids, printed
from tests.answering.offline.rows import MEDALS, REPORT, view


def test_cells_are_named_as_the_evidence_names_them() -> None:
    found = view(MEDALS)
    assert cell_id(found, 1, 2) == "T1.r1.c2"
    assert cell_ids(found, ((1, 2), (2, 3))) == "T1.r1.c2, T1.r2.c3"
    assert cell_ids(found, ()) == ""
    assert found.evidence.resolve(cell_id(found, 1, 1)) == found.evidence.cell("boats", 1, 1)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        ("300000000", "300"),
        ("1266666666.6666666", "1266.6666666667"),
        ("0", "0"),
        ("-60000000", "-60"),
        ("1e30", "1" + "0" * 24),
    ],
)
def test_numbers_are_printed_in_the_scale_of_their_cells(number: str, text: str) -> None:
    assert printed(view(REPORT), Decimal(number), ((1, 1), (1, 2))) == text


def test_without_one_scale_numbers_are_printed_in_full() -> None:
    assert printed(view(MEDALS), Decimal("12.50"), ((1, 2),)) == "12.5"
    assert printed(view(MEDALS), Decimal(7), ()) == "7"
