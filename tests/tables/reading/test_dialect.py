from __future__ import annotations

import csv
import io
import os
from pathlib import Path

import pytest

from kgtable.tables.readers.delimited import SAMPLE, TextDialect, detect_dialect

BENCHMARKS = Path(os.environ.get("KGTABLE_BENCHMARKS", Path(__file__).parents[4] / "shared" / "data"))


@pytest.mark.parametrize(
    ("sample", "delimiter"),
    [
        ("a,b\n1,2\n", ","),
        ("a;b\n1;2\n", ";"),
        ("a;b\n1,5;2,5\n", ";"),
        ("1,5;2\n3,5;4\n", ";"),
        ("name;text\nx;one, two\ny;three\n", ";"),
        ("name;value;unit\n", ";"),
        ("name\nSmith; John\n", ","),
        ("Just a note; nothing else", ","),
        ("a\tb\n1,000\t2\n", "\t"),
        ("a|b\n1|2\n", "|"),
        ("about\n~40\n~50\n", ","),
        ("name\nSmith; John\nDoe; Jane\nRoe; Ann\n", ","),
        ("Report\n\nName;2018;2019\nx;1;2\ny;3;4\n", ";"),
        ('"a;b",c\n"d;e",f\n', ","),
        ('a,"x;y"\nb,"z;w"\n', ","),
        ('"a,b";c\n"d,e";f\n', ";"),
        ("a,b;c\nd,e;f\n", ","),
        ("Total; net\n1; 2\n", ";"),
        ("", ","),
        ("\n\n", ","),
        ("one\ntwo\n", ","),
        ("12:30,a|b\n12:45,c|d\n", ","),
    ],
)
def test_the_delimiter_of_a_sample(sample: str, delimiter: str) -> None:
    assert detect_dialect(sample, whole=True) == TextDialect(delimiter)


def test_the_files_name_decides_where_nothing_else_does() -> None:
    assert detect_dialect("one\ntwo\n", whole=True, preferred="\t").delimiter == "\t"
    assert detect_dialect("a\tb,c\nd\te,f\n", whole=True, preferred="\t").delimiter == "\t"
    assert detect_dialect("a,b\nc,d\n", whole=True, preferred="\t").delimiter == ","


def test_a_sample_that_ends_within_a_cell() -> None:
    assert detect_dialect('a;b\n1;2\n3;"and so on', whole=False).delimiter == ";"


@pytest.mark.benchmarks
@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_real_tables_in_another_delimiter(delimiter: str) -> None:
    folder = BENCHMARKS / "wtq" / "tables"
    if not folder.is_dir():
        pytest.skip("the benchmark folder wtq is not here")
    wrong = []
    files = sorted(folder.glob("*.csv"))
    for path in files:
        with path.open(encoding="utf-8", newline="") as stream:
            rows = list(csv.reader(stream))
        text = io.StringIO(newline="")
        csv.writer(text, delimiter=delimiter).writerows(rows)
        if (
            detect_dialect(text.getvalue()[:SAMPLE], whole=len(text.getvalue()) <= SAMPLE).delimiter
            != delimiter
        ):
            wrong.append(path.name)
    assert len(wrong) <= len(files) / 1_000, wrong
