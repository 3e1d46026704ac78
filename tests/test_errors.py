from __future__ import annotations

import inspect
import pickle

import pytest

from kgtable import errors
from kgtable.errors import KgtableError, MissingExtraError, NoTableError, TableError

TREE = [
    found for _, found in inspect.getmembers(errors, inspect.isclass) if found.__module__ == errors.__name__
]
PLAIN = [found for found in TREE if not issubclass(found, TableError | MissingExtraError)]


@pytest.mark.parametrize("error", TREE, ids=lambda error: error.__name__)
def test_every_error_is_in_the_tree_and_says_when_it_is_raised(error: type[Exception]) -> None:
    assert issubclass(error, KgtableError)
    assert error.__name__.endswith("Error")
    assert error.__doc__


@pytest.mark.parametrize("error", PLAIN, ids=lambda error: error.__name__)
def test_a_message_and_a_next_step(error: type[KgtableError]) -> None:
    raised = error("It is <b>wrong</b>.", hint='Say "please".')
    assert str(raised) == 'It is <b>wrong</b>. Say "please".'
    assert (raised.message, raised.hint) == ("It is <b>wrong</b>.", 'Say "please".')
    assert str(error("Alone.")) == "Alone."


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ({}, "a.csv: Bad."),
        ({"row": 0, "column": 0}, "a.csv, row 0, column 0: Bad."),
        ({"sheet": "S 1", "row": 7}, "a.csv [S 1], row 7: Bad."),
        ({"sheet": ""}, "a.csv []: Bad."),
    ],
)
def test_errors_of_tables_begin_with_their_place(place: dict[str, object], text: str) -> None:
    raised = NoTableError("Bad.", path="a.csv", hint="Look.", **place)  # type: ignore[arg-type]
    assert str(raised) == f"{text} Look."
    assert (raised.path, raised.row) == ("a.csv", place.get("row"))


def test_a_missing_extra_names_the_command_that_adds_it() -> None:
    assert str(MissingExtraError("Validation", "shacl")).endswith("pip install 'kgtable[shacl]'")


@pytest.mark.parametrize(
    "raised",
    [
        KgtableError("a", hint="b"),
        NoTableError("a", path="p", sheet="s", row=1, hint="b"),
        MissingExtraError("a", "b"),
    ],
    ids=lambda raised: type(raised).__name__,
)
def test_errors_cross_from_one_process_to_another(raised: KgtableError) -> None:
    again = pickle.loads(pickle.dumps(raised))
    assert type(again) is type(raised)
    assert str(again) == str(raised)
    assert vars(again) == vars(raised)
