from __future__ import annotations

import pytest

from kgtable.values.periods import is_temporal


@pytest.mark.parametrize(
    "path",
    [
        ["2013"],
        ["12/9/2013"],
        ["2013-09-12"],
        ["31.12.2024"],
        ["2016-17"],
        ["2017/2018"],
        ["Q3 2020"],
        ["3Q20"],
        ["H1 2021"],
        ["FY2019"],
        ["fiscal 2016"],
        ["Third quarter"],
        ["December 31, 2019"],
        ["december 312013"],
        ["Years Ended September 30,", "2019"],
        ["Three months ended", "March 31, 2019"],
        ["2019", "£m"],
        ["2019", "(in thousands)"],
        ["2018 (restated)"],
        ["2024E"],
        ["2018 (restated, Note 3)"],
        ["2019 $’000"],
    ],
)
def test_headers_that_say_when(path: list[str]) -> None:
    assert is_temporal(path)


@pytest.mark.parametrize(
    "path",
    [
        [],
        [""],
        ["Year"],
        ["Date"],
        ["Three months ended"],
        ["1500"],
        ["Population (2010)"],
        ["2019", "Revenue"],
        ["2000 m"],
        ["Class of 1"],
        ["Mayor"],
        ["Decision"],
        ["% change 2019"],
        ["$ millions"],
        ["$"],
        ["2019 " * 100],
    ],
)
def test_headers_that_say_what(path: list[str]) -> None:
    assert not is_temporal(path)
