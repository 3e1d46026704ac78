from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from kgtable.tables.discovery import TableFile
from kgtable.tables.limits import ReadLimits
from kgtable.tables.readers.delimited import read_delimited

TABLE = (("Name", "Qty", "Note"), ("Lamp, brass", "3", "new; boxed"), ("O'Neil", "12", 'a "b" c'), ("Rope", "7", ""))


def written(delimiter: str, **options: object) -> str:
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=delimiter, lineterminator="\n", **options).writerows(TABLE)  # type: ignore[call-overload]
    return text.getvalue()


@pytest.mark.parametrize("stream_above", [0, 1 << 20])
@pytest.mark.parametrize(
    ("content", "rows"),
    [
        pytest.param(written(" "), TABLE, id="space"),
        pytest.param("x y\n1.5 2.5\n3.5 4.25\n", (("x", "y"), ("1.5", "2.5"), ("3.5", "4.25")), id="space, figures"),
        pytest.param(
            "name   x    y\nab   1.5  2.0\ncd  10.5 12.0\n",
            (("name", "x", "y"), ("ab", "1.5", "2.0"), ("cd", "10.5", "12.0")),
            id="aligned",
        ),
        pytest.param(
            'Name, Qty\n"Lamp, brass", 3\nRope, 7\n',
            (("Name", "Qty"), ("Lamp, brass", "3"), ("Rope", "7")),
            id="comma and space",
        ),
        pytest.param(written(",", quotechar="'"), TABLE, id="single quotes where they are needed"),
        pytest.param("a;b\n'O''Neil';1\nx;2\n", (("a", "b"), ("O'Neil", "1"), ("x", "2")), id="one in single quotes"),
        pytest.param(written("\t", quotechar="'", quoting=csv.QUOTE_ALL), TABLE, id="single quotes everywhere"),
        pytest.param(written(",", doublequote=False, escapechar="\\"), TABLE, id="backslash before quotes"),
        pytest.param(
            "a,b\nx\\, y,1\nz,2\n", (("a", "b"), ("x, y", "1"), ("z", "2")), id="backslash before a delimiter"
        ),
        pytest.param(
            'Id\tPrice\n="007"\t1,50\n="008"\t2,25\n',
            (("Id", "Price"), ('="007"', "1,50"), ('="008"', "2,25")),
            id="tabs with formulas",
        ),
        pytest.param(
            'Party\tShare\n"Party "Home"\t18,7\n"Union "Ems"\t13,2\nOpen\t9,5\n',
            (("Party", "Share"), ('"Party "Home"', "18,7"), ('"Union "Ems"', "13,2"), ("Open", "9,5")),
            id="quotes that are not closed",
        ),
        pytest.param(
            "# x, y\n# z\n# u, v\n# w\na;b\n1,5;2\n2,5;3\n",
            (("# x, y",), ("# z",), ("# u, v",), ("# w",), ("a", "b"), ("1,5", "2"), ("2,5", "3")),
            id="comments above",
        ),
        pytest.param(
            "a,b,c\nx,1,2\ny;3;4\nz,5,6\nw,7,8\n",
            (("a", "b", "c"), ("x", "1", "2"), ("y", "3", "4"), ("z", "5", "6"), ("w", "7", "8")),
            id="a row with another delimiter",
        ),
        pytest.param(
            'a,b,c\nx,1,2\n"y, z", "3", "4"\nz,5,6\nw,7,8\n',
            (("a", "b", "c"), ("x", "1", "2"), ("y, z", "3", "4"), ("z", "5", "6"), ("w", "7", "8")),
            id="a row with spaces behind commas",
        ),
        pytest.param(
            "Item\tCode\tWeight\nA, old\tX\t545,3\nB, new\tY\t12,5\n\n"
            "Note: estimates, revised; see page 3\nSource: office, 2020\n",
            (
                ("Item", "Code", "Weight"), ("A, old", "X", "545,3"), ("B, new", "Y", "12,5"), (),
                ("Note: estimates, revised; see page 3",), ("Source: office, 2020",),
            ),
            id="notes with commas",
        ),
        pytest.param("\n".join(["Lamp; 1,5; x, y"] * 2), (("Lamp", "1,5", "x, y"),) * 2, id="no header"),
        pytest.param("Lamp;1,5;x, y\n", (("Lamp", "1,5", "x, y"),), id="one row"),
        pytest.param(
            "Bank,of\tthe\tNorth\nA\t1\nB\t2\n\nC\tD\tE\nx\t1,5\t2\ny\t2,5\t3\n",
            (
                ("Bank,of", "the", "North"), ("A", "1"), ("B", "2"), (), ("C", "D", "E"), ("x", "1,5", "2"),
                ("y", "2,5", "3"),
            ),
            id="several tables",
        ),
    ],
)  # fmt: skip
def test_a_dialect_is_found(tmp_path: Path, content: str, rows: tuple[tuple[str, ...], ...], stream_above: int) -> None:
    path = tmp_path / "t.csv"
    path.write_text(content, newline="")
    [grid] = read_delimited(TableFile(path, "t.csv", "t"), ReadLimits(stream_above=stream_above))
    assert tuple(grid.rows) == rows
