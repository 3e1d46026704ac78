from __future__ import annotations

from kgtable.tables.linearize import as_schema
from kgtable.tables.model import Context
from tests.tables.formats.figures import hierarchical, with_header


def test_the_four_parts() -> None:
    text = as_schema(hierarchical(Context(title="Accounts")))
    assert text == (
        "The table “Accounts” has 4 rows and 4 columns. Its columns are Account, 2016, 2017, 2018. "
        "The values of Account include Net Income, Profit, Costs, Sales. "
        "For example: Account is Net Income, 2016 is 615, 2017 is 585, 2018 is 595.\n"
    )


def test_a_table_without_body() -> None:
    assert as_schema(with_header((("a", "b"),))) == (
        "The table has 0 rows and 2 columns. Its columns are a, b.\n"
    )
