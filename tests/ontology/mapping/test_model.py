from __future__ import annotations

from pathlib import Path

import pytest

from kgtable.errors import MappingError
from kgtable.ontology.mapping import ColumnMapping, UserMapping


def write(tmp_path: Path, *lines: str) -> Path:
    path = tmp_path / "m.csv"
    path.write_text(
        "\n".join(["column name,predicate,unit,scale,datatype,only in", *lines]), encoding="utf-8"
    )
    return path


def test_a_file_says_what_to_do(tmp_path: Path) -> None:
    mapping = UserMapping.load(write(tmp_path, "Sales,hasRevenue,EUR,millions,,", "Id,,,,text,", "Rest,,,,,"))
    assert mapping.lookup("Sales", "t") == ColumnMapping("hasRevenue", "CCY_EUR", 6)
    assert mapping.lookup("Id", "t") == ColumnMapping(datatype="text")
    assert mapping.lookup("Rest", "t") is None
    assert mapping.lookup("sales", "t") is None


def test_a_row_for_some_tables_wins(tmp_path: Path) -> None:
    mapping = UserMapping.load(write(tmp_path, "Sales,hasA,,,,", "Sales,hasB,,,,t1; x*", "Other,hasC,,,,t1"))
    assert [mapping.lookup("Sales", table).predicate for table in ("t1", "x9", "t2")] == [
        "hasB",
        "hasB",
        "hasA",
    ]  # type: ignore[union-attr]
    assert mapping.lookup("Other", "t2") is None


def test_scale_none_is_a_decision(tmp_path: Path) -> None:
    assert UserMapping.load(write(tmp_path, "a,,,none,,")).lookup("a", "t") == ColumnMapping(scale=0)


def test_fingerprint_changes_with_what_concerns_a_table_only() -> None:
    one = UserMapping({("a", ""): {"unit": "NUM"}, ("b", "u"): {"unit": "NUM"}})
    other = UserMapping({("a", ""): {"unit": "NUM"}, ("b", "u"): {"unit": "PERCENT"}})
    assert one.fingerprint(["a", "b"], "t") == other.fingerprint(["a", "b"], "t") != ""
    assert one.fingerprint(["a", "b"], "u") != other.fingerprint(["a", "b"], "u")
    assert one.fingerprint(["c"], "t") == ""


def test_one_mapping_over_another() -> None:
    low = UserMapping({("a", ""): {"unit": "NUM", "scale": "M"}, ("b", ""): {"unit": "NUM"}})
    high = UserMapping({("a", ""): {"unit": "PERCENT"}})
    assert high.over(low).lookup("a", "t") == ColumnMapping(unit="PERCENT", scale=6)
    assert high.over(low).lookup("b", "t") == ColumnMapping(unit="NUM")


def test_json_and_back() -> None:
    mapping = UserMapping({("a", "t"): {"unit": "NUM"}, ("b", ""): {"predicate": "hasB"}})
    assert UserMapping.from_json(mapping.to_json()) == mapping


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["a,,quux,,,"], "m.csv, line 2, column 'unit'"),
        (["a,hasA,,,,", "b,not good,,,,"], "m.csv, line 3, column 'predicate'"),
        (["a,,,huge,,"], "column 'scale'"),
        (["a,,,,blob,"], "column 'datatype'"),
        (["a,hasA,,,,", "a,hasB,,,,"], "line 3.*stands in line 2 already"),
    ],
)
def test_faults_name_file_line_and_column(tmp_path: Path, lines: list[str], message: str) -> None:
    with pytest.raises(MappingError, match=message):
        UserMapping.load(write(tmp_path, *lines))


def test_a_missing_file_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(MappingError, match="There is no mapping"):
        UserMapping.load(tmp_path / "none.csv")
