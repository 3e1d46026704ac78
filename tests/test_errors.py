from __future__ import annotations

import pickle

import pytest

from kgtable.errors import KgtableError, MissingExtraError, NoTableError
from kgtable.tables.model import Notice


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ({}, "a.csv: Bad."), ({"row": 0, "column": 0}, "a.csv, A1: Bad."),
        ({"sheet": "S 1", "row": 7}, "a.csv [S 1], row 8: Bad."), ({"column": 27}, "a.csv, column AB: Bad."),
        ({"sheet": ""}, "a.csv []: Bad."),
    ],
)  # fmt: skip
def test_errors_of_tables_begin_with_their_place(place: dict[str, object], text: str) -> None:
    raised = NoTableError("Bad.", path="a.csv", hint="Look.", **place)  # type: ignore[arg-type]
    assert str(raised) == f"{text} Look."
    assert str(Notice("code", "Bad.", "a.csv", **place)) == text  # type: ignore[arg-type]
    assert (raised.path, raised.row) == ("a.csv", place.get("row"))


def test_a_missing_extra_names_the_command_that_adds_it() -> None:
    assert str(MissingExtraError("Validation", "shacl")).endswith("pip install 'kgtable[shacl]'")


@pytest.mark.parametrize(
    "raised",
    [KgtableError("a", hint="b"), NoTableError("a", path="p", sheet="s", row=1, hint="b"), MissingExtraError("a", "b")],
    ids=lambda raised: type(raised).__name__,
)
def test_errors_cross_from_one_process_to_another(raised: KgtableError) -> None:
    again = pickle.loads(pickle.dumps(raised))
    assert type(again) is type(raised)
    assert str(again) == str(raised)
    assert vars(again) == vars(raised)
