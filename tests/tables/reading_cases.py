"""Small invented tables as people write them, and what a careful reader makes of them.

A case names what it is about, holds a file, and says how it is to be read: a cell by its spreadsheet
reference (``1!B2`` in the second table of the file) as `read_cell` writes it, and of the structure
``tables`` (how many), ``header`` (how many header rows), ``members`` (labels of the rows that count),
``names`` (the columns), ``predicates``.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openpyxl import Workbook

from kgtable.ontology.annotate import AnnotatedTable, annotate
from kgtable.tables.column_profile import CellKind, type_cell
from kgtable.tables.layout.detect import make_table
from kgtable.tables.loader import find_files, read_file
from kgtable.tables.model import spreadsheet_reference
from kgtable.values.units import SCALE_LETTERS


@dataclass(frozen=True)
class Case:
    """A file and how it is to be read. `content` is text, or sheets of a workbook."""

    about: str
    file: str
    content: str | bytes | Mapping[str, Sequence[Sequence[Any]]]
    expected: Mapping[str, object]
    sidecar: str = ""


def write(case: Case, folder: Path) -> Path:
    """The case's file, written to a folder."""
    path = folder / case.file
    if isinstance(case.content, str):
        path.write_text(case.content, encoding="utf-8")
    elif isinstance(case.content, bytes):
        path.write_bytes(case.content)
    else:
        path.write_bytes(workbook(case.content))
    if case.sidecar:
        path.with_suffix(".json").write_text(case.sidecar, encoding="utf-8")
    return path


def workbook(sheets: Mapping[str, Sequence[Sequence[Any]]]) -> bytes:
    """An .xlsx; a cell is a value or a pair of value and number format."""
    book = Workbook()
    book.remove(book.worksheets[0])
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row, cells in enumerate(rows, 1):
            for column, value in enumerate(cells, 1):
                cell = sheet.cell(row, column)
                cell.value, code = value if isinstance(value, tuple) else (value, None)
                if code:
                    cell.number_format = code
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def read(path: Path) -> list[AnnotatedTable]:
    """The tables of a file as the graph is made from them."""
    (file,) = find_files([path])
    return [annotate(make_table(grid)) for grid in read_file(file)]


def read_cell(annotated: AnnotatedTable, row: int, column: int) -> str:
    """How a cell is read: ``1000 CCY_EUR T @2023``, ``2024-05-01``, ``missing``, or its text in quotes."""
    table = annotated.table
    cells = table.grid.head[row] if row < len(table.grid.head) else ()
    text = cells[column] if column < len(cells) else ""
    if row < table.structure.body_start:
        return "header"
    value = type_cell(text, annotated.styles[column])
    if value.kind is CellKind.NUMBER and value.number is not None:
        label = cells[table.structure.label_column]
        quantity = annotated.quantities.resolve(value.number, row, column, label)
        value_text = format(quantity.value, "f")
        parts = [value_text.rstrip("0").rstrip(".") if "." in value_text else value_text, quantity.unit]
        if quantity.denominator:
            parts.append(f"/{quantity.denominator}")
        if quantity.scale:
            parts.append(SCALE_LETTERS.get(quantity.scale, f"10^{quantity.scale}"))
        if period := annotated.quantities.period(row, column, label):
            parts.append(f"@{period}")
        return " ".join(parts)
    if value.kind in (CellKind.TEXT, CellKind.PERIOD):
        return repr(text)
    return value.lexical or value.kind.value


def observed(case: Case, tables: Sequence[AnnotatedTable]) -> dict[str, object]:
    """What is read of all that the case asks for."""
    found: dict[str, object] = {}
    for key in case.expected:
        number, _, name = key.rpartition("!")
        if name == "tables":
            found[key] = len(tables)
            continue
        if int(number or 0) >= len(tables):
            found[key] = "no such table"
            continue
        found[key] = _observed(name, tables[int(number or 0)])
    return found


def _observed(name: str, annotated: AnnotatedTable) -> object:
    table, structure = annotated.table, annotated.table.structure
    if name == "header":
        return len(structure.header)
    if name == "members":
        return " | ".join(_members(annotated))
    if name == "names":
        return " | ".join(column.name for column in structure.columns)
    if name == "predicates":
        return " ".join(annotated.predicates)
    places = {
        spreadsheet_reference(row, column): (row, column)
        for row in range(len(table.grid.head))
        for column in range(table.grid.width)
    }
    return read_cell(annotated, *places[name]) if name in places else "no such cell"


def _members(annotated: AnnotatedTable) -> Iterator[str]:
    structure = annotated.table.structure
    aside = structure.footnotes | structure.totals | getattr(structure, "of_which", frozenset())
    for index, row in annotated.table.body():
        others = [text for column, text in enumerate(row) if column != structure.label_column and text.strip()]
        heading = index in structure.groups and not others
        if any(map(str.strip, row)) and index not in aside and not heading:
            yield row[structure.label_column] if structure.label_column < len(row) else ""


def case_of(about: str, expected: str, content: Any, *, file: str = "a.csv", sidecar: str = "") -> Case:
    """A case from what is expected, as ``B2: 5 KiloGM; 1!header: 2``."""
    pairs = [part.partition(": ")[::2] for part in expected.split("; ")]
    counts = ("tables", "header")
    read = {key: int(value) if key.endswith(counts) else value for key, value in pairs}
    return Case(about, file, content, read, sidecar)


def _cases() -> Iterator[Case]:
    yield from _scale_words()
    yield from _headers()
    yield from _units()
    yield from _notes()
    yield from _regions()
    yield from _formats()
    yield from _values()
    yield from _known_misses()
    yield from _nasty()


def _scale_words() -> Iterator[Case]:
    yield case_of("scale: a column k", "B2: 0.8 UNITLESS", "k,recall\n5,0.8\n10,0.9\n")
    yield case_of("scale: a column M", "B2: 0.8 UNITLESS; A3: 32 UNITLESS", "M,recall\n16,0.8\n32,0.9\n")
    yield case_of("scale: a column bn", "B2: 5 UNITLESS", "layer,bn\nfirst,5\nsecond,7\n")
    yield case_of("scale: a column Mio", "B2: 5 UNITLESS", "Mio,Wert\nEins,5\nZwei,7\n")
    yield case_of(
        "scale: a column mm between names",
        "B2: 5 MilliM; C2: 12 UNITLESS",
        "Size,mm,Stock\nSmall,5,12\nLarge,7,9\n",
    )
    rows = [["Colour", "Stock"], ["Red", 4], ["Blue", 6]]
    for name in ("M", "Mio", "Bn", "k", "Mrd"):
        yield case_of(f"scale: a sheet {name}", "B2: 4 UNITLESS", {name: rows, "Z": rows}, file="a.xlsx")
    yield case_of("scale: a row k", "B2: 5 UNITLESS; B3: 16 UNITLESS", "Parameter,Value\nk,5\nm,16\n")
    yield case_of("scale: Revenue (bn)", "B2: 5000000000 UNITLESS B", "Firm,Revenue (bn)\nAda,5\nBob,7\n")
    yield case_of("scale: EUR k", "B2: 5000 CCY_EUR T", "Firm,Sales EUR k\nAda,5\nBob,7\n")
    yield case_of("scale: kEUR", "B2: 5000 CCY_EUR T", "Firm,Sales (kEUR)\nAda,5\nBob,7\n")
    yield case_of("scale: Mio. EUR", "B2: 5500000 CCY_EUR M", "Firm;Umsatz in Mio. EUR\nAda;5,5\nBob;7,1\n")
    yield case_of("scale: in the corner", "B2: 5000 UNITLESS T @2022", "in thousands,2022,2023\nSales,5,6\nCosts,3,4\n")
    yield case_of(
        "scale: € millions in the corner",
        "C2: 6000000 CCY_EUR M @2023",
        "€ millions,2022,2023\nSales,5,6\nCosts,3,4\n",
    )
    yield case_of(
        "scale: on the number",
        "B2: 5000 UNITLESS T; C3: 7000000 CCY_USD M",
        "Firm,Users,Value\nAda,5k,$6m\nBob,8k,$7m\n",
    )


def _headers() -> Iterator[Case]:
    yield case_of(
        "header: year and unit",
        "header: 1; B2: 12000 CCY_EUR T @2023; C3: 25000 CCY_EUR T @2024",
        "Region,2023 (EUR thousand),2024 (EUR thousand)\nNorth,12,13\nSouth,20,25\n",
    )
    yield case_of(
        "header: year and kg",
        "header: 1; B2: 120 KiloGM @2023",
        "Crop,2023 (kg),2024 (kg)\nRye,120,130\nOats,20,25\n",
    )
    yield case_of(
        "header: year and %",
        "header: 1; C2: 28 PERCENT @2023",
        "Party,2019 %,2023 %\nReds,31.2,28\nBlues,20.5,25\n",
    )
    yield case_of(
        "header: year and code",
        "header: 1; C3: 250 CCY_EUR @2024",
        "Branch,2023 EUR,2024 EUR\nMain,1200,1300\nEast,200,250\n",
    )
    yield case_of(
        "header: Jan-23",
        "header: 1; B2: 1200 UNITLESS @2023-01",
        "Branch,Jan-23,Feb-23\nMain,1200,1300\nEast,200,250\n",
    )
    yield case_of(
        "header: 2023-01",
        "header: 1; B2: 1200 UNITLESS @2023-01",
        "Branch,2023-01,2023-02\nMain,1200,1300\nEast,200,250\n",
    )
    yield case_of(
        "header: Q1 2023",
        "header: 1; B2: 1200 UNITLESS @2023-Q1",
        "Branch,Q1 2023,Q2 2023\nMain,1200,1300\nEast,200,250\n",
    )
    yield case_of(
        "header: 2023Q1 (mn €)",
        "header: 1; B2: 12000000 CCY_EUR M @2023-Q1",
        "Branch,2023Q1 (mn €),2023Q2 (mn €)\nMain,12,13\nEast,2,5\n",
    )
    yield case_of(
        "header: two rows of years only",
        "header: 1; B2: 640 UNITLESS @2022",
        "Item,2022,2023\nPlums,640,655\nPears,120,98\n",
    )
    yield case_of(
        "header: days",
        "header: 1; B2: 640 UNITLESS @2022-12-31",
        "Item,31.12.2022,31.12.2023\nCash,640,655\nDebt,120,98\n",
    )
    yield case_of(
        "header: FY23 USD m",
        "header: 1; C3: 98000000 CCY_USD M @FY2023",
        "Item,FY22 USD m,FY23 USD m\nCash,640,655\nDebt,120,98\n",
    )
    yield case_of(
        "header: plan beside the year",
        "header: 1; C3: 98 UNITLESS @2023",
        "Item,2022,2023 (plan)\nCash,640,655\nDebt,120,98\n",
    )
    yield case_of(
        "header: year first, then unit below",
        "header: 2; B3: 120 KiloGM @2023",
        "Crop,2023,2024\n,kg,kg\nRye,120,130\nOats,20,25\n",
    )
    yield case_of(
        "header: no header, years are data",
        "header: 0",
        "Main,2019,12\nEast,2021,15\nWest,2020,19\nHill,2018,14\n",
    )


def _units() -> Iterator[Case]:
    yield case_of(
        "unit: snake_case",
        "B2: 1.2 KiloGM; C2: 3.5 CCY_USD; D2: 20 DEG_C; E2: 40 MilliM; F2: 7 MilliSEC",
        "item,weight_kg,price_usd,temp_c,len_mm,time_ms\nBolt,1.2,3.5,20,40,7\nNut,0.1,0.5,21,8,9\n",
    )
    yield case_of(
        "unit: snake_case that is none",
        "B2: 1 UNITLESS; C2: 2 UNITLESS; D2: 3 UNITLESS",
        "item,plan_b,type_a,group_c,pct_m\nBolt,1,2,3,4\nNut,5,6,7,8\n",
    )
    yield case_of(
        "unit: snake_case share",
        "B2: 1.2 PERCENT; C2: 3.5 PERCENT",
        "item,share_pct,margin_percent\nBolt,1.2,3.5\nNut,0.1,0.5\n",
    )
    yield case_of(
        "unit: Price USD",
        "B2: 1.2 CCY_USD; C2: 3.5 CCY_CHF",
        "Item,Price USD,Betrag CHF\nBolt,1.2,3.5\nNut,0.1,0.5\n",
    )
    yield case_of("unit: Temp °C", "B2: -3 DEG_C; C2: 12 KiloM2", "Place,Temp °C,Area km²\nPeak,-3,12\nVale,9,40\n")
    yield case_of(
        "unit: €/MWh",
        "B2: 81.2 CCY_EUR /MWh; C2: 30 CCY_EUR /t",
        "Month,Price (€/MWh),Fee EUR/t\nJan,81.2,30\nFeb,79,31\n",
    )
    yield case_of("unit: per kg", "B2: 2.2 CCY_EUR /kg", "Apple,Price per kg (EUR)\nElstar,2.2\nTopaz,2.5\n")
    yield case_of(
        "unit: in a caption",
        "B2: 14 UNITLESS; C2: 88.4 GigaW-HR @2022",
        "<table><caption>Output in GWh</caption><tr><th>Farm</th><th>Turbines</th><th>2022</th></tr>"
        "<tr><td>Hill</td><td>14</td><td>88.4</td></tr><tr><td>Sea</td><td>6</td><td>31.7</td></tr></table>",
        file="a.html",
    )
    yield case_of(
        "unit: in a caption, brackets",
        "B2: 14 MilliM; C3: 31.7 MilliM",
        "<table><caption>Rainfall by station (mm)</caption><tr><th>Station</th><th>Jan</th><th>Feb</th></tr>"
        "<tr><td>Hill</td><td>14</td><td>88.4</td></tr><tr><td>Sea</td><td>6</td><td>31.7</td></tr></table>",
        file="a.html",
    )
    yield case_of(
        "unit: a column of units",
        "C2: 48200000 CCY_EUR M @2022; C3: 7.1 PERCENT @2022; D4: 655 NUM @2023; C5: 9800 M2 @2022; "
        "C6: 1450 MegaW-HR @2022; D7: 26.8 CCY_EUR /hour @2023",
        "Indicator,Unit,2022,2023\nRevenue,EUR million,48.2,57.4\nMargin,%,7.1,8\nStaff,persons,612,655\n"
        "Space,m²,9800,11250\nPower,MWh,1450,1295\nWage,EUR/hour,24.1,26.8\n",
    )
    yield case_of(
        "unit: a column of units beside a quantity",
        "B2: 25 KiloGM; B3: 40 L; D2: 14 CCY_EUR",
        "Good,Quantity,Unit,Price (EUR)\nFlour,25,kg,14\nMilk,40,l,36\n",
    )
    yield case_of("unit: Einheit", "B2: 3.5 M; B3: 12.25 TONNE", "Größe;Wert;Einheit\nHöhe;3,5;m\nMasse;12,25;t\n")
    yield case_of(
        "unit: a column of currencies",
        "B2: 40 CCY_EUR; B3: 65 CCY_GBP; D2: 2 UNITLESS",
        "Seller,Amount,Currency,Pieces\nAda,40,EUR,2\nBob,65,GBP,1\n",
    )
    yield case_of(
        "unit: letters without evidence",
        "B2: 5 UNITLESS; C2: 3 UNITLESS; D2: 1 UNITLESS",
        "Team,W,L,T\nReds,5,3,1\nBlues,2,6,1\n",
    )
    yield case_of(
        "unit: letters with evidence",
        "B2: 5 M; C2: 3 TONNE",
        "Hill,Height (m),Mass (t)\nReds,5,3\nBlues,2,6\n",
    )
    yield case_of(
        "unit: in brackets that are none",
        "B2: 5 UNITLESS; C2: 3 NUM",
        "Team,Points (a),Wins (W)\nReds,5,3\nBlues,2,6\n",
    )
    yield case_of("unit: million m³", "B2: 3100000 M3 M", "Month,Released (million m³)\nJan,3.1\nFeb,2.8\n")
    yield case_of("unit: ct/kWh", "B2: 0.312 CCY_EUR /kWh C @2021", "Year,Tariff (ct/kWh)\n2021,31.2\n2022,33.5\n")


def _notes() -> Iterator[Case]:
    yield case_of(
        "notes: below",
        "members: Grau | Weiß¹ | Schaf*",
        "Peak,Height (m)\nGrau,2842\nWeiß¹,3106\nSchaf*,2410\nNote: heights above the old datum of 1875.\n"
        "¹ Includes the cross.\n* Earliest ascent.\n",
    )
    yield case_of(
        "notes: source and estimate",
        "members: Wind | Sun; C3: 9 UNITLESS @2023",
        "Energy,2022,2023\nWind,12,14\nSun,8,9*\n* estimate\nSource: invented by us\n",
    )
    yield case_of(
        "notes: after a blank row",
        "members: Wind | Sun",
        'Energy,2022,2023\nWind,12,14\nSun,8,9\n,,\n"Figures are provisional and were rounded",,\n',
    )
    yield case_of(
        "notes: of which",
        "members: School | Roads",
        "Item,2021,2022\nSchool,420,455\nRoads,310,265\nTotal,730,720\nof which wages,515,540\n",
    )
    yield case_of(
        "notes: davon",
        "members: Schule | Straßen",
        "Posten;2021;2022\nSchule;420;455\ndavon Löhne;310;265\nStraßen;100;120\n",
    )
    yield case_of(
        "notes: thereof in the middle",
        "members: School | Roads",
        "Item,2021,2022\nSchool,420,455\n  thereof wages,310,265\nRoads,100,120\n",
    )
    yield case_of(
        "notes: between header and body",
        "members: Wind | Sun",
        "Energy,2022,2023\nProvisional figures; see notes.,,\nWind,12,14\nSun,8,9\n",
    )
    yield case_of(
        "notes: in the second column",
        "members: Wind | Sun",
        "Energy,2022,2023\nWind,12,14\nSun,8,9\n,Source: our own survey,\n",
    )
    yield case_of(
        "notes: p provisional",
        "members: Wind | Sun; C2: 14 UNITLESS @2023",
        "Energy,2022,2023\nWind,12,14 p\nSun,8,9\np = provisional\n",
    )
    yield case_of(
        "notes: Quelle",
        "members: Wind | Sonne",
        "Energie;2022;2023\nWind;12;14\nSonne;8;9\nQuelle: eigene Erhebung\nStand: Mai 2024\n",
    )
    yield case_of(
        "notes: beside",
        "tables: 1; members: Wind | Sun; B2: 12 GigaW-HR",
        {"S": [["Energy", "GWh", None, "Figures are provisional"], ["Wind", 12], ["Sun", 8]]},
        file="a.xlsx",
    )
    yield case_of(
        "notes: marks in headers",
        "members: Wind; B2: 12 UNITLESS @2022; C2: 14 UNITLESS @2023; predicates: hasEnergy in2022 in2023",
        "Energy,2022¹,2023²\nWind,12,14\n¹ final\n² provisional\n",
    )
    yield case_of(
        "notes: labels that look like notes",
        "members: Note to Self | Source Code | Key Largo",
        "Song,Plays\nNote to Self,12\nSource Code,15\nKey Largo,19\n",
    )


_TWO = "Fruit,Crates,Weight (kg)\nPlum,46,552\nPear,31,434\n,,\n,,\nHelper,Hours,Paid (EUR)\nAda,7.5,97.5\nBob,9,117\n"


def _regions() -> Iterator[Case]:
    yield case_of(
        "tables: above each other",
        "tables: 2; C2: 552 KiloGM; 1!C7: 97.5 CCY_EUR; 1!members: Ada | Bob",
        _TWO,
    )
    above = [
        ["Sales (USD million)"],
        ["Region", 2022, 2023],
        ["North", 12, 13],
        ["South", 9, 8],
        [],
        [],
        ["Staff"],
        ["Name", "Salary (USD)", "Age"],
        ["Ada", 55000, 41],
        ["Bob", 61000, 29],
    ]
    yield case_of(
        "tables: with captions",
        "tables: 2; B3: 12000000 CCY_USD M @2022; 1!B9: 55000 CCY_USD; 1!C9: 41 YR",
        {"S": above},
        file="a.xlsx",
    )
    beside = [
        ["Fruit", "Weight (kg)", None, "Helper", "Paid (EUR)"],
        ["Plum", 552, None, "Ada", 97.5],
        ["Pear", 434, None, "Bob", 117],
    ]
    yield case_of(
        "tables: side by side",
        "tables: 2; B2: 552 KiloGM; 1!E2: 97.5 CCY_EUR; 1!members: Ada | Bob",
        {"S": beside},
        file="a.xlsx",
    )
    yield case_of(
        "tables: one with a blank row inside",
        "tables: 1; members: School | Roads | Culture | Parks",
        "Item,2021,2022\nSchool,420,455\nRoads,310,265\n,,\nCulture,100,120\nParks,30,35\n",
    )
    yield case_of(
        "tables: a heading after a blank row",
        "tables: 1; members: Cash | Loans",
        "Item,2021,2022\nAssets,,\nCash,420,455\n,,\nDebts,,\nLoans,100,120\n",
    )
    yield case_of(
        "tables: title, blank row, table",
        "tables: 1; B4: 420000 CCY_EUR T @2021",
        "Budget of Oberau (EUR thousand),,\n,,\nItem,2021,2022\nSchool,420,455\nRoads,310,265\n",
    )
    yield case_of(
        "tables: notes after a blank row",
        "tables: 1; members: School | Roads",
        "Item,2021,2022\nSchool,420,455\nRoads,310,265\n,,\nSource: invented,,\n",
    )
    yield case_of(
        "tables: a blank column inside",
        "tables: 1; D2: 455 UNITLESS @2022",
        "Item,2021,,2022\nSchool,420,,455\nRoads,310,,265\n",
    )
    yield case_of(
        "tables: the same header again",
        "tables: 2; 1!B6: 520 UNITLESS @2023",
        "Item,2021,2022\nSchool,420,455\nRoads,310,265\n,,\nItem,2023,2024\nSchool,520,555\nRoads,330,365\n",
    )


def _formats() -> Iterator[Case]:
    yield case_of(
        "format: percent",
        "B2: 2.5 PERCENT; B3: 50 PERCENT",
        {"S": [["Rate", "Value"], ["A", (0.025, "0.0%")], ["B", (0.5, "0%")]]},
        file="a.xlsx",
    )
    yield case_of(
        "format: euros and thousands",
        "B2: 1200 CCY_EUR; B3: 3000 CCY_EUR T",
        {"S": [["Post", "Value"], ["A", (1200, '#,##0 "€"')], ["B", (3, '#,##0 "k€"')]]},
        file="a.xlsx",
    )
    yield case_of(
        "format: kg",
        "B2: 1200 KiloGM",
        {"S": [["Post", "Value"], ["A", (1200, '0.0 "kg"')], ["B", (3, '0.0 "kg"')]]},
        file="a.xlsx",
    )
    yield case_of(
        "number: Europe",
        "B2: 987654.32 UNITLESS; B3: 231 UNITLESS; B4: 1234 UNITLESS",
        "Filiale;Umsatz\nKiel;987.654,32\nUlm;231,0\nJena;1.234\n",
    )
    yield case_of(
        "number: India",
        "B2: 1234567.89 CCY_INR; B3: 123456 CCY_INR",
        'State,Amount (₹)\nGoa,"12,34,567.89"\nAssam,"1,23,456"\n',
    )
    yield case_of(
        "number: Switzerland",
        "B2: 1234567.5 CCY_CHF; B3: 12500 CCY_CHF",
        "Ort,Betrag (CHF)\nBern,1'234'567.50\nChur,12’500\n",
    )


def _values() -> Iterator[Case]:
    yield case_of(
        "value: durations of two lengths",
        "B2: PT1H4M20S; B3: PT57M45S",
        "Boat,Time\nKestrel,1:04:20\nHeron,57:45\nTeal,59:10\n",
    )
    yield case_of("value: clock times", "B2: 06:05:00; B3: 17:45:00", "Train,Departure\nIC 1,06:05\nIC 2,17:45\n")
    yield case_of(
        "value: durations in words",
        "B2: PT2H10M; B4: PT1H5M",
        "Film,Length\nOr,2h 10m\nUp,95 min\nNo,1 h 05 min\n",
    )
    yield case_of(
        "value: 30 digits",
        "B2: 123456789012345678901234567890 UNITLESS",
        "Name,Value\nA,123456789012345678901234567890\nB,5\nC,98765432109876543210\n",
    )
    yield case_of(
        "value: 30 digits as a key",
        "A2: '123456789012345678901234567890'",
        "Account number,Value\n123456789012345678901234567890,7\n123456789012345678901234567891,8\n",
    )
    yield case_of(
        "value: Eurostat flags",
        "B2: 12.3 UNITLESS @2022; C2: missing; C3: missing; C4: 12 UNITLESS @2023",
        "Geo,2022,2023\nAT,12.3 p,:\nBE,10.1,: c\nDE,11.5 b,12.0 e\n",
    )
    yield case_of(
        "value: markers",
        "C2: missing; B3: missing; B4: missing; C4: missing",
        "Geo,2022,2023\nAT,12.3,n/a\nBE,–,10.1\nDE,n.v.,k.A.\n",
    )
    yield case_of("value: parentheses", "B3: -215 UNITLESS @2022", "Item,2022,2023\nSales,640,655\nWages,(215),(221)\n")
    yield case_of(
        "value: entities",
        "B3: missing; predicates: hasItem hasValue",
        "Item,Value\nR&amp;D,5\nS&amp;P,&ndash;\n",
    )
    yield case_of("value: entities in headers", "B2: 5 CCY_EUR", "Item,R&amp;D (&euro;)\nA,5\nB,7\n")
    yield case_of(
        "value: JSON null and absent",
        "B2: missing; B3: empty; B4: 3 UNITLESS",
        '[{"a": "x", "b": null}, {"a": "y"}, {"a": "z", "b": 3}]',
        file="a.json",
    )


def _known_misses() -> Iterator[Case]:
    yield case_of(
        "miss: the same header twice",
        "names: Fiscal 2019 | High | Low; B2: 11.2 UNITLESS @FY2019; B5: 8.2 UNITLESS @FY2018",
        "Fiscal 2019,High,Low\nFirst quarter,11.2,9.1\nSecond quarter,12.4,10.3\n"
        "Fiscal 2018,High,Low\nFirst quarter,8.2,7.1\nSecond quarter,9.4,8.3\n",
    )
    yield case_of(
        "miss: a row of data as a heading",
        "members: Ada | Spain | Bob",
        "Player,Club,Country\nAda,Reds,Norway\nSpain,Spain,Spain\nBob,Blues,Chile\n",
    )
    yield case_of(
        "miss: (a) beside a count",
        "B2: 120 UNITLESS; C2: 30 UNITLESS",
        "Plan,Securities (a),Left (b)\nApproved,120,30\nOther,5,6\n",
    )
    yield case_of(
        "miss: years in an amount's column",
        "B2: 640000000 CCY_USD M @2022; B3: 5 YR @2022; B4: 1.25 CCY_USD /share @2022; B5: 0.4 CCY_USD /share @2022",
        "(USD million),2022,2023\nSales,640,655\nUseful life in years,5,6\nEarnings per share,1.25,1.30\n"
        "Dividends per share,0.40,0.45\n",
    )
    yield case_of(
        "miss: cents per share",
        "B3: 1.25 CCY_USD /share C @2022",
        "USD million,2022,2023\nSales,640,655\nBasic earnings CENTS PER SHARE,125,130\n",
    )
    yield case_of(
        "miss: a number of things",
        "B2: 3 UNITLESS; C2: 655000000 CCY_USD M",
        "USD million,#,Value\nSales,3,655\nDeals,7,130\n",
    )
    yield case_of(
        "miss: Event (m)",
        "B2: 'Ada'; C2: 11.2 UNITLESS",
        "Event (m),Runner,Time\n100,Ada,11.2\n1500,Bob,250.1\n",
    )
    yield case_of(
        "unit: a corner beside a row that prints a currency",
        "B2: 804000 BBL_US-PER-DAY T @2022; B4: 77.76 CCY_USD /barrel @2022",
        "(thousands of barrels per day),2022,2023\nGasoline,804,836\nDistillates,375,385\n"
        "Average price ($ per barrel),$ 77.76,$ 66.42\n",
    )
    yield case_of(
        "unit: two in one name",
        "B2: 12.5 KiloM2; C2: 30 M",
        "City,Area km² (sq mi),Depth m (ft)\nFjell,12.5 (4.8),30\nVik,8.1 (3.1),42\n",
    )
    yield case_of(
        "unit: two in the names of rows",
        "B2: -6.2 DEG_C; C3: -9 DEG_C",
        'Month,Jan,Feb\nAverage high °C (°F),"−6.2\n(20.8)","3\n(37)"\nAverage low °C (°F),"−12\n(10)","−9\n(16)"\n',
    )
    yield case_of(
        "unit: a quantity as a header is a condition",
        "B2: 4.1 UNITLESS; C2: 2.2 UNITLESS",
        "Pump,35 °C,55 °C\nAir,4.1,2.2\nGround,5.0,3.1\n",
    )
    yield case_of(
        "unit: counted units in a header",
        "B2: 12000 GAL_US @2021; C2: 300 HR @2021",
        "Year,Gallons hedged,Hours worked\n2021,12000,300\n2022,9000,280\n",
    )
    yield case_of(
        "unit: a currency of several words",
        "B2: 7764000000 CCY_KWD M @2021",
        "Year,GDP (million Kuwaiti dinars)\n2021,7764\n2022,8114\n",
    )
    yield case_of(
        "scale: of things that are counted",
        "B2: 392500000 NUM M @2022",
        "(bottles in millions),2022,2023\nStill,392.5,401.1\nSparkling,288.4,250.0\n",
        sidecar='{"pre_text": ["Sales were $ 12,000 in 2023."]}',
    )
    yield case_of("scale: a lost space", "B2: 5000000 CCY_USD M @2022", "($ inmillions),2022\nSales,5\nCosts,3\n")
    yield case_of(
        "scale: per share with a lost space",
        "B2: 1.14 CCY_USD /share; C2: 170000000 CCY_USD M",
        "Date,Amountper share,Total (in millions)\nMay,$ 1.14,$ 170\nJune,$ 1.16,$ 172\n",
        sidecar='{"pre_text": ["Dividends were as follows (in millions):"]}',
    )
    yield case_of(
        "scale: in the second row of the corner",
        "B3: 1026000000 CCY_USD M @2022; B4: 3.85 CCY_USD /share @2022",
        'Pro forma expense,,\n"millions of dollars, except per share amounts",2022,2021\n'
        "Net income,$ 1026,$ 604\nEarnings per share,3.85,2.30\n",
    )
    yield case_of(
        "percent: a sign in the first row of every column",
        "B3: 26.3 PERCENT @2022; C4: 46.1 PERCENT @2023",
        "Region,2022,2023\nNorth,51.2%,48.3%\nSouth,26.3,24.4\nWest,45.3,46.1\n",
    )
    yield case_of(
        "other: seconds without a colon, and a record",
        "B2: PT39.998S; B4: PT4M11.388S",
        "Event,Time\n200 m,39.998\n500 m,1:47.066\n1000 m,4:11.388 WR\n5000 m,22:19.816\n",
    )
    yield case_of(
        "scale: what adds up to a number of shares",
        "B2: 1887800000 CCY_USD M @2022; B4: 3201000 NUM T @2022; C5: 442960000 NUM T @2023",
        "Item,2022,2023\nNet income,$ 1887.8,$ 1236.4\nBasic shares outstanding,442319,439606\n"
        "Dilutive securities,3201,3354\nDiluted shares outstanding,445520,442960\n",
        sidecar='{"pre_text": ["(amounts in millions, shares in thousands)"]}',
    )
    yield case_of(
        "unit: what adds up to a number of staff",
        "B2: 1612 NUM @2022; B4: -100 NUM @2022; B6: 51000 CCY_EUR @2022",
        "EUR,2022,2023\nNumber of employees on 1 January,1612,1655\nHired,143,60\nLeft,(100),(65)\n"
        "Number of employees on 31 December,1655,1650\nWages,51000,52000\n",
    )
    yield case_of(
        "unit: what does not add up is no count",
        "B3: 1434 CCY_EUR @2022",
        "EUR,2022,2023\nNumber of employees on 1 January,1612,1655\nBonuses,1434,6023\nFines,1100,6512\n"
        "Number of employees on 31 December,1655,1650\n",
    )
    yield case_of(
        "scale: the numerator of what is per share, and shares that take part",
        "B3: 31500000 CCY_USD M @2022; B5: 44800000 NUM M @2022",
        "Item,2022,2023\nNumerator of earnings per share:,,\nIncome,$ 31.5,$ 155.6\n"
        "Participating shares at end of year:,,\nCommon stock,44.8,44.3\nPreferred stock,2.1,4.9\n",
        sidecar='{"pre_text": ["(in millions, except per share amounts):"]}',
    )


def _nasty() -> Iterator[Case]:
    """Variants that came up when each kind was tried in other formats and spellings."""
    yield case_of(
        "format: points of thousands beside whole numbers",
        "B2: 1200000 CCY_EUR T @2023; C3: 1000000 CCY_EUR T @2024",
        "Ort;2023 T€;2024 T€\nUlm;1.200;1.300\nKiel;900;1.000\n",
    )
    yield case_of(
        "format: points of decimals beside whole numbers",
        "B2: 1.234 KiloGM",
        "Item,Weight (kg)\nPlum,1.234\nPear,900\nFig,0.250\n",
    )
    yield case_of(
        "header: years that are estimates",
        "B2: 12 CCY_EUR @2023; C2: 13 CCY_EUR @2024; D3: 10 CCY_EUR @2025",
        "Item,2023A,2024e,2025F in EUR\nSales,12,13,14\nCosts,8,9,10\n",
    )
    yield case_of(
        "header: above few small numbers and many notes",
        "header: 1; members: A | B†; C3: 3 UNITLESS @2023",
        "Item,2022,2023\nA,1,2\nB†,2,3\n† restated\n\nSource: us\nLast updated: 2024-01-01\nContact: a@b.c\n",
    )
    yield case_of(
        "notes: plain marks that cells have",
        "members: Wind¹ | Sun (2) | Hydro a) | Gas [3]; C3: 9 UNITLESS @2023",
        "Energy,2022,2023\nWind¹,12,14\nSun (2),8,9*\nHydro a),5,6\nGas [3],7,8\n¹ onshore only\n(2) rooftop\n"
        "a) without pumped storage\n[3] with biogas\n* estimate\n",
    )
    yield case_of(
        "notes: raised marks in HTML join no number",
        "B3: 4110 M; C2: 5000 M2 T",
        "<table><tr><th>Peak</th><th>Height (m)</th><th>Area (10<sup>3</sup> m<sup>2</sup>)</th></tr>"
        "<tr><td>Eiger<sup>a</sup></td><td>3967</td><td>5</td></tr>"
        "<tr><td>Mönch</td><td>4110<sup><a href='#n1'>1</a></sup></td><td>6</td></tr></table>",
        file="a.html",
    )
    yield case_of(
        "number: fractions and ordinals in HTML",
        "members: 1st | 2nd; B2: 3.5 MI",
        "<table><tr><th>Place</th><th>Miles</th></tr><tr><td>1<sup>st</sup></td><td>3<sup>1</sup>/<sub>2</sub></td></tr>"
        "<tr><td>2<sup>nd</sup></td><td>4</td></tr></table>",
        file="a.html",
    )
    yield case_of(
        "unit: snake_case of compounds and denominators",
        "B2: 1 UNITLESS; C2: 2 GM-PER-KiloM; D2: 3000000 CCY_USD M; E2: 4 FT; F2: 5 M-PER-SEC; G2: 6 L; H2: 7 MIN",
        "item,price_per_kg,co2_g_km,rev_m_usd,depth_ft,speed_m_s,vol_l,dur_min\nA,1,2,3,4,5,6,7\nB,2,3,4,5,6,7,8\n",
    )
    yield case_of(
        "unit: a sign behind a word",
        "B2: 3.5 CCY_EUR; C2: 12 CCY_EUR /m²",
        "Artikel,Preis €,Price per m² (€)\nA,3.5,12\nB,4,13\n",
    )
    yield case_of(
        "unit: a column of units with scales",
        "B2: 500000000000 CCY_USD B; B3: 83000000 NUM M; B4: 357000 KiloM2 T; B5: 8 PERCENT; C5: '%'",
        "Indicator,Value,Unit\nGDP,500,USD billion\nPeople,83,million persons\nArea,357,1000 km²\nShare,8,%\n",
    )
    yield case_of(
        "unit: a unit beside the value within a record",
        "B2: 5 KiloGM; B3: 6 GM",
        '[{"name": "A", "weight": {"value": 5, "unit": "kg"}}, {"name": "B", "weight": {"value": 6, "unit": "g"}}]',
        file="a.json",
    )
    yield case_of(
        "unit: a title that bears out its letter",
        "B3: 5 TONNE @2022",
        "Harvest (t),\nFruit,2022\nPlum,5\nPear,6\n",
    )
    yield case_of(
        "unit: a line above the table",
        "B2: 12 GigaW-HR @2022",
        "**Output in GWh**\n\n| Plant | 2022 |\n|---|---|\n| A | 12 |\n| B | 13 |\n",
        file="a.md",
    )
    yield case_of(
        "unit: the end of the text above the table",
        "B2: 31 YR",
        "Segment,Buildings,Machines\nPlates,31,21\nParts,29,17\n",
        sidecar='{"pre_text": ["Lives of assets are as follows (numbers in years):"]}',
    )
    yield case_of(
        "unit: oil and gas count in Roman thousands",
        "B2: 12000000 BBL M; C2: 626000 FT3 T; D2: 140000 NUM T",
        "Place,Oil (MMbbl),Gas (Mcf),Total (MBOE)\nShore,12,626,140\nSea,8,68,20\n",
    )
    yield case_of(
        "tables: the caption of one is not the other's",
        "tables: 2; B3: 12000 CCY_EUR T; 1!B8: 3 UNITLESS",
        "Budget (EUR thousand),,\nItem,Plan,Actual\nRent,12,13\nPay,50,52\n,,\nHeadcount,,\nTeam,Plan,Actual\n"
        "Shop,3,4\nOffice,5,5\n",
    )
    yield case_of(
        "tables: a title set off holds for all",
        "tables: 2; 1!B10: 3000 CCY_EUR T",
        "Budget (EUR thousand),,\n,,\nNorth,,\nItem,Plan,Actual\nRent,12,13\nPay,50,52\n,,\nSouth,,\n"
        "Item,Plan,Actual\nRent,3,4\nPay,5,5\n",
    )


CASES = tuple(_cases())
