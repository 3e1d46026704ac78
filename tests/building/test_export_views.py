from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path

import kgtable
from kgtable.building.catalogue import TableRecord
from kgtable.building.export import Tables, TableView
from kgtable.tables.layout.detect import make_table
from kgtable.tables.model import Grid
from tests.graph.support import grid

SCRIPT = "<script>alert(1)</script>"


def record(table: Grid, title: str = "") -> TableRecord:
    return TableRecord(table.id, f"{table.id}.csv", None, 0, "text/csv", "", title, len(table.head), table.width, 4, 9)


def view(table: Grid, title: str = "") -> TableView:
    return TableView(record(table, title), make_table(table))


def test_a_frame_has_the_body_under_the_column_names() -> None:
    frame = view(grid(("Name", "Mass (kg)", ""), ("x", "1,200", "n"), ("y", "", ""), ("z",))).to_frame(text=True)
    assert list(frame.columns) == ["Name", "Mass (kg)", "[column 3]"]
    assert frame.to_numpy().tolist() == [["x", "1,200", "n"], ["y", "", ""], ["z", "", ""]]


def test_a_typed_frame_has_numbers_and_dates(tmp_path: Path) -> None:
    (tmp_path / "lifts.csv").write_text(
        "Lift,Opened,Built,Rides (thousand),Open,Note\n"
        'Summit,2019-12-06,1998,"1,204.5",yes,n/a\nMeadow,2021-01-15,2003,80,no,\nGlade,2022-11-30,2011,95,yes,new\n',
        encoding="utf-8",
    )
    with kgtable.build(tmp_path / "lifts.csv", tmp_path / "kg", embedding="none") as kg:
        frame = kg.tables["lifts"].to_frame()
        said = kg.sparql("SELECT ?day { ?row rdfs:label 'Summit' ; ex:hasOpened ?day }")
    assert frame.to_numpy().tolist() == [
        ["Summit", date(2019, 12, 6), 1998, Decimal(1204500), True, None],
        ["Meadow", date(2021, 1, 15), 2003, Decimal(80000), False, None],
        ["Glade", date(2022, 11, 30), 2011, Decimal(95000), True, "new"],
    ]
    assert said["day"].tolist() == [date(2019, 12, 6)]


def test_columns_of_one_name_both_stay() -> None:
    frame = view(grid(("Name", "2019", "2019"), ("x", "1", "2"), ("y", "3", "4"))).to_frame(text=True)
    assert frame.shape == (2, 3)


def test_csv_holds_the_header_too() -> None:
    assert view(grid(("a", 'b"'), ("x\ny", "1"))).to_csv() == 'a,"b"""\n"x\ny",1\n'


def test_markup_in_a_table_is_shown_not_run() -> None:
    table = grid(("Name", SCRIPT), (SCRIPT, "1"), id=SCRIPT)
    shown = view(table, SCRIPT)._repr_html_() + view(table)._repr_html_()
    assert "<script" not in shown
    assert shown.count("&lt;script&gt;") >= 6
    assert "<script" not in Tables({SCRIPT: record(table, SCRIPT)}, lambda _: make_table(table))._repr_html_()
