from __future__ import annotations

from kgtable.tables.linearize import as_plaintext, as_text, chunks
from tests.tables.formats.figures import hierarchical, normal, with_header


def test_a_short_table_stays_whole() -> None:
    table = normal()
    assert list(chunks(table)) == [table]


def test_pieces_together_are_the_table_and_each_has_its_header() -> None:
    rows = (("n", "square"), *((str(n), str(n * n)) for n in range(25)))
    pieces = list(chunks(with_header(rows), rows=10))
    assert [len(as_plaintext(piece).splitlines()) for piece in pieces] == [10, 10, 5]
    assert "".join(map(as_plaintext, pieces)) == as_plaintext(with_header(rows))


def test_a_piece_names_the_group_its_rows_belong_to() -> None:
    second = list(chunks(hierarchical(), rows=2))[1]
    assert as_text(second).startswith("Group: Net Income\nCosts:\n- has 2016: 562")
    assert "Profit" not in as_text(second)


def test_a_table_without_body_is_one_piece() -> None:
    assert len(list(chunks(with_header((("a",),))))) == 1
