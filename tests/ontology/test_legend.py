from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kgtable
from kgtable.ontology.legend import signs_of_legend


@pytest.mark.parametrize(
    ("note", "zeros", "missing"),
    [
        ("- = zero; .. = not available", set("-–—−"), {".."}),
        ("Note: - means zero, .. means not available", set("-–—−"), {".."}),
        ("– = nichts vorhanden; . = Zahlenwert unbekannt", set("-–—−"), {"."}), ("9 = no answer", set(), {"9"}),
        ("- no cases were left out", set(), set()), ("p = preliminary", set(), set()), ("Source: none", set(), set()),
        ("", set(), set()),
    ],
)  # fmt: skip
def test_what_a_legend_says_of_signs(note: str, zeros: set[str], missing: set[str]) -> None:
    assert signs_of_legend([note]) == (zeros, missing)


@given(st.lists(st.text(max_size=60) | st.text("-=.: zero;nodat", max_size=60), max_size=4))
def test_any_notes_are_read(notes: list[str]) -> None:
    zeros, missing = signs_of_legend(notes)
    assert all(0 < len(sign) <= 4 for sign in zeros | missing)


def test_signs_are_zero_or_missing_as_the_legend_below_says(tmp_path: Path) -> None:
    (tmp_path / "births.csv").write_text(
        'County,Births,Deaths\nAsh,10,4\nBay,-,6\nCob,..,2\nDun,14,-\n"Note: - means zero, .. means not available",,\n',
        encoding="utf-8",
    )
    (tmp_path / "survey.csv").write_text(
        "Person,Trust,Visits\n"
        + "".join(f"P{n},{n % 5 + 1},{n * 9}\n" for n in range(1, 6))
        + "P6,9,9\n9 = no answer,,\n",
        encoding="utf-8",
    )
    with kgtable.build(tmp_path, tmp_path / "kg", embedding="none") as kg:
        assert kg.ask("What is the average of births?", model="none").value == "8"
        assert kg.ask("What is the total deaths?", model="none").value == "12"
        assert kg.ask("What is the average trust?", model="none").value == "3"
        assert kg.ask("What is the total visits?", model="none").value == "144"
