"""Further invented files of odd kinds that people have, in the form of `reading_cases`."""

from __future__ import annotations

import datetime
import io
from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd
import xlwt

from tests.tables.reading_cases import Case, case_of


def old_workbook(rows: Sequence[Sequence[Any]]) -> bytes:
    """An .xls of one sheet; a cell is a value or a pair of value and number format."""
    book = xlwt.Workbook()
    sheet = book.add_sheet("S")
    for row, cells in enumerate(rows):
        for column, cell in enumerate(cells):
            value, code = cell if isinstance(cell, tuple) else (cell, None)
            style = xlwt.XFStyle()
            if code:
                style.num_format_str = code
            if value is not None:
                sheet.write(row, column, value, style)
    content = io.BytesIO()
    book.save(content)
    return content.getvalue()


def parquet(frame: pd.DataFrame) -> bytes:
    """A data frame as a Parquet file."""
    content = io.BytesIO()
    frame.to_parquet(content, index=False)
    return content.getvalue()


def _cases() -> Iterator[Case]:
    yield from _scale_words()
    yield from _headers()
    yield from _several_tables()
    yield from _notes_and_totals()
    yield from _units()
    yield from _formats()
    yield from _values()
    yield from _contexts()
    yield from _kept_apart()


def _scale_words() -> Iterator[Case]:
    yield case_of(
        "scale: column T, md",
        "B2: 0.8 UNITLESS",
        "| T | recall |\n|---|---|\n| 5 | 0.8 |\n| 7 | 0.9 |\n",
        file="a.md",
    )
    yield case_of(
        "scale: json key m",
        "A2: 5 UNITLESS; B2: 0.5 UNITLESS",
        '[{"m":5,"b":0.5},{"m":6,"b":0.7}]',
        file="a.json",
    )
    yield case_of(
        'scale: caption "K"',
        "B2: 4 UNITLESS",
        "<table><caption>k</caption><tr><th>N</th><th>Score</th></tr><tr><td>A</td><td>4</td></tr><tr><td>B</td><td>5</td></tr></table>",
        file="a.html",
    )
    yield case_of(
        "scale: sheet Tsd",
        "B2: 4 UNITLESS",
        {"Tsd": [["Colour", "Stock"], ["Red", 4], ["Blue", 6]]},
        file="a.xlsx",
    )
    yield case_of(
        'scale: sheet "in Tsd. EUR"',
        "B2: 4000 CCY_EUR T @2022",
        {"in Tsd. EUR": [["Region", 2022, 2023], ["Nord", 4, 5], ["Süd", 6, 7]]},
        file="a.xlsx",
    )
    yield case_of("scale: Top-k, P@k", "B2: 0.5 UNITLESS; C3: 20 UNITLESS", "Model,P@k,Top-k\nA,0.5,10\nB,0.6,20\n")
    yield case_of(
        "scale: clothing sizes",
        "C2: 5 UNITLESS; D3: 3 UNITLESS",
        "Item,S,M,L,XL\nShirt,4,5,6,7\nCoat,1,2,3,4\n",
    )
    yield case_of("scale: gender m/f", "B2: 512 UNITLESS", "Town,m,f\nUlm,512,530\nKiel,480,495\n")


def _headers() -> Iterator[Case]:
    yield case_of(
        "header: Jan 2023 (EUR)",
        "header: 1; B2: 5 CCY_EUR @2023-01",
        "Shop,Jan 2023 (EUR),Feb 2023 (EUR)\nA,5,6\nB,7,8\n",
    )
    yield case_of(
        "header: 2023/24 tonnes",
        "header: 1; C2: 6 UNITLESS @2023/2024",
        "Crop,2022/23 (t),2023/24 (t)\nRye,5,6\nOats,7,8\n",
    )
    yield case_of(
        "header: FY2023 in $m xls",
        "header: 1; B2: 5000000 CCY_USD M @FY2022",
        old_workbook([["Item", "FY2022 ($m)", "FY2023 ($m)"], ["Cash", 5, 6], ["Debt", 7, 8]]),
        file="a.xls",
    )
    yield case_of("header: H1 2023", "header: 1; B2: 5 UNITLESS @2023-H1", "Item,H1 2023,H2 2023\nA,5,6\nB,7,8\n")
    yield case_of(
        "header: month dates xls",
        "B2: 5 UNITLESS @2023-01",
        old_workbook(
            [
                [
                    "Shop",
                    (datetime.datetime(2023, 1, 1), "mmm-yy"),
                    (datetime.datetime(2023, 2, 1), "mmm-yy"),
                ],
                ["A", 5, 6],
                ["B", 7, 8],
            ]
        ),
        file="a.xls",
    )
    yield case_of(
        "header: month-end dates xlsx",
        "B2: 5 UNITLESS @2023-01-31",
        {
            "S": [
                [
                    "Shop",
                    (datetime.datetime(2023, 1, 31), "mmm-yy"),
                    (datetime.datetime(2023, 2, 28), "mmm-yy"),
                ],
                ["A", 5, 6],
                ["B", 7, 8],
            ]
        },
        file="a.xlsx",
    )
    yield case_of(
        "header: int years as numbers xlsx",
        "header: 1; D3: 3 UNITLESS @2023",
        {"S": [["Shop", 2021, 2022, 2023], ["A", 5, 6, 3], ["B", 7, 8, 3]]},
        file="a.xlsx",
    )
    yield case_of(
        "header: year, two level",
        "header: 2; C3: 6 NUM @2022; D3: 7 UNITLESS @2023",
        {
            "S": [
                ["Shop", 2022, None, 2023, None],
                [None, "Sales", "Staff", "Sales", "Staff"],
                ["A", 5, 6, 7, 8],
                ["B", 7, 8, 9, 9],
            ]
        },
        file="a.xlsx",
    )
    yield case_of("header: W01 2024", "header: 1; B2: 5 UNITLESS @2024", "Shop,W01 2024,W02 2024\nA,5,6\nB,7,8\n")


def _several_tables() -> Iterator[Case]:
    yield case_of(
        "tables: three tables",
        "tables: 3; 2!B10: 5 CCY_EUR",
        "A,kg\nx,1\ny,2\n,\nB,m\nx,3\ny,4\n,\nC,EUR\nx,5\ny,6\n",
    )
    yield case_of(
        "tables: text rows in the middle",
        "tables: 1",
        "Runner,Heat 1,Heat 2\nAda,11.2,11.0\nBob,11.5,11.3\nCy,withdrew,injured\nDee,11.9,11.8\nEva,12.0,11.7\n",
    )
    yield case_of(
        "tables: same header again",
        "tables: 1; members: School | Roads | Parks | Pools",
        "Item,2021,2022\nSchool,420,455\nRoads,310,265\nItem,2021,2022\nParks,52,55\nPools,33,36\n",
    )
    yield case_of(
        "tables: side by side years",
        "tables: 2; 1!E2: 6 UNITLESS @2023",
        {
            "S": [
                ["City", "2022", None, "City", "2023"],
                ["Ulm", 5, None, "Ulm", 6],
                ["Kiel", 7, None, "Kiel", 8],
            ]
        },
        file="a.xlsx",
    )


def _notes_and_totals() -> Iterator[Case]:
    yield case_of(
        "notes: note beside header only",
        "names: Energy | GWh |  | ",
        {"S": [["Energy", "GWh", None, "Figures are provisional"], ["Wind", 12], ["Sun", 8]]},
        file="a.xlsx",
    )
    yield case_of(
        "notes: Word-like sup html",
        "B3: 8 GigaW-HR; members: Wind¹ | Sun",
        "<table><tr><th>Farm<th>GWh<tr><td>Wind<sup>1</sup><td>12<tr><td>Sun<td>8<sup>2</sup></table><p>1 on land</p>",
        file="a.html",
    )
    yield case_of(
        "notes: notes with dagger",
        "members: Wind† | Sun",
        "Energy,GWh\nWind†,12\nSun,8\n† offshore only\n‡ not audited\n",
    )
    yield case_of(
        "notes: of which indented",
        "members: Staff | Rent",
        "Post,2022\nStaff,500\n  of which: wages,400\n  of which: training,100\nRent,200\n",
    )
    yield case_of(
        "notes: Source row with link",
        "members: Wind | Sun",
        'Energy,GWh\nWind,12\nSun,8\n"Source: https://example.org/data, retrieved 2024",\n',
    )
    yield case_of(
        "notes: Stand: in german",
        "members: Wind | Sonne",
        "Energie;GWh\nWind;12\nSonne;8\n\nStand: 31.12.2023\nAlle Angaben ohne Gewähr.\n",
    )
    yield case_of(
        "notes: estimates (e)",
        "B3: 13 GigaW-HR @2023",
        "Year,GWh\n2022,12\n2023,13 (e)\n2024,14 (e)\n(e) estimate\n",
    )
    yield case_of("notes: total (1-12)", "members: 1 | 2 | 3", "Month,kWh\n1,12\n2,20\n3,4\nTOTAL (1-3),36\n")
    yield case_of("notes: sum of all", "members: A | B | C", "Shop,Sales\nA,12\nB,20\nC,4\nSum of all,36\n")


def _units() -> Iterator[Case]:
    yield case_of(
        "unit: dist_km, area_ha",
        "B2: 1 KiloM; C2: 2 HA; D2: 3 KiloW; E2: 4 HectoPA",
        "id,dist_km,area_ha,power_kw,press_hpa\na,1,2,3,4\nb,2,3,4,5\n",
    )
    yield case_of(
        "unit: wind m/s",
        "B2: 5 M-PER-SEC; C2: 6 MilliM; D2: 70 PERCENT",
        "Place,Wind m/s,Rain mm,Humidity %\nA,5,6,70\nB,7,8,80\n",
    )
    yield case_of("unit: $/barrel", "B2: 81 CCY_USD /bbl", "Month,Brent ($/bbl)\nJan,81\nFeb,80\n")
    yield case_of(
        "unit: Unit column symbols",
        "B2: 5 CentiM; B4: 20 DEG_C; B5: 12 V",
        "Param,Value,Unit\nLength,5,cm\nMass,2,kg\nTemp,20,°C\nVolt,12,V\n",
    )
    yield case_of("unit: CO2 t", "B2: 5 TONNE; C2: 6 KiloTONNE", "Firm,CO2 (t),CO2e (kt)\nA,5,6\nB,7,8\n")
    yield case_of("unit: kWh/m²", "C2: 120 M2", "House,Demand (kWh/m²a),Area (m²)\nA,55,120\nB,70,90\n")
    yield case_of(
        "unit: unit with mark",
        "B2: 12 GigaW-HR; C2: 3 KiloGM",
        "Energy,GWh*,Weight (kg)¹\nWind,12,3\nSun,8,4\n* gross\n¹ net\n",
    )
    yield case_of(
        "unit: json unit parquet",
        "B2: 1.5 CCY_EUR; C2: 2 M",
        parquet(pd.DataFrame({"name": ["a", "b"], "price_eur": [1.5, 2.0], "height_m": [2.0, float("nan")]})),
        file="a.parquet",
    )
    yield case_of(
        "unit: mph", "B2: 120 MI-PER-HR; C2: 300 MI", "Car,Top speed (mph),Range (mi)\nA,120,300\nB,110,280\n"
    )
    yield case_of(
        "unit: thousands of acres",
        "B2: 120000 AC T @2022",
        "(In thousands),Net acres expiring 2022,Net acres expiring 2023\nEast,120,3\nWest,110,2\n",
    )
    yield case_of(
        "unit: acres in words",
        "B2: 120 AC; C2: 3 UNITLESS",
        "Block,Net acres expiring,Wells drilled\nA,120,3\nB,110,2\n",
    )


def _formats() -> Iterator[Case]:
    yield case_of(
        "format: xls percent",
        "B2: 2.5 PERCENT; B3: 50 PERCENT",
        old_workbook([["Rate", "Value"], ["A", (0.025, "0.0%")], ["B", (0.5, "0%")]]),
        file="a.xls",
    )
    yield case_of(
        "format: xls currency",
        "B2: 1200 CCY_EUR; B3: 3000 CCY_EUR T",
        old_workbook([["Post", "Value"], ["A", (1200, '#,##0 "€"')], ["B", (3, '#,##0 "k€"')]]),
        file="a.xls",
    )
    yield case_of(
        "format: xlsx accounting",
        "B2: 1200 CCY_GBP; B3: -3 CCY_GBP",
        {
            "S": [
                ["Post", "Value"],
                ["A", (1200, "_-[$£-809]* #,##0.00_-")],
                ["B", (-3, "_-[$£-809]* #,##0.00_-")],
            ]
        },
        file="a.xlsx",
    )
    yield case_of(
        "format: European csv",
        "B2: 1234567.89 CCY_EUR; B3: 12.5 CCY_EUR",
        "Ort;Betrag (€)\nUlm;1.234.567,89\nKiel;12,5\n",
    )
    yield case_of(
        "format: narrow no-break space",
        "B2: 522250 NUM; B3: 348085 NUM",
        "Ville;Population\nLyon;522\u202f250\nNice;348 085\n",
    )
    yield case_of(
        "format: permille and bp",
        "B2: 0.25 PERCENT C; C2: 3 PERMILLE",
        "Bond,Spread (bps),Rate (‰)\nA,25,3\nB,30,4\n",
    )
    yield case_of(
        "format: percent text and number",
        "B2: 12 PERCENT; B3: 8.5 PERCENT",
        'P,Share\nA,12%\nB,8.5 %\nC,"7,5%"\n',
    )
    yield case_of(
        "format: scientific",
        "B2: 5970000000000000000000000 KiloGM",
        "Body,Mass (kg)\nEarth,5.97e24\nMoon,7.35E+22\n",
    )
    yield case_of(
        "format: xlsx scientific format",
        "B3: 73500000000000000000000 KiloGM",
        {"S": [["Body", "Mass (kg)"], ["Earth", (5.97e24, "0.00E+00")], ["Moon", (7.35e22, "0.00E+00")]]},
        file="a.xlsx",
    )


def _values() -> Iterator[Case]:
    yield case_of(
        "value: excel times",
        "B2: 06:05:00; C2: PT26H3M",
        {
            "S": [
                ["Train", "Departure", "Run"],
                ["A", (datetime.time(6, 5), "hh:mm"), (datetime.timedelta(hours=26, minutes=3), "[h]:mm")],
                ["B", (datetime.time(17, 45), "hh:mm"), (datetime.timedelta(hours=1, minutes=3), "[h]:mm")],
            ]
        },
        file="a.xlsx",
    )
    yield case_of(
        "value: gap with split seconds",
        "C4: PT1M1.4S; C3: PT3.57S",
        "Pos,Crew,Difference\n1,Ada,0.0\n2,Bob,3.57\n3,Cy,1:01.40\n",
    )
    yield case_of(
        "value: day ranges",
        "B2: '16–21 January 2007'",
        "Race,Dates\nA,16–21 January 2007\nB,24 February – 9 March 2007\n",
    )
    yield case_of("value: cost in brackets", "B3: -300 CCY_EUR", "Item,EUR\nSales,500\nCost of sales,(300)\nTax,(50)\n")
    yield case_of("value: CR/DR", "B2: '500 CR'", "Item,Balance\nA,500 CR\nB,300 DR\n")
    yield case_of("value: booleans", "B2: true", "Item,Open\nA,yes\nB,no\n")
    yield case_of("value: ja/nein", "B2: true", "Stück;Offen\nA;ja\nB;nein\n")
    yield case_of(
        "value: iso datetime",
        "B2: 2024-05-01T10:00:00Z",
        "Id,When\n1,2024-05-01T10:00:00Z\n2,2024-05-02T11:30:00Z\n",
    )
    yield case_of(
        "value: long account",
        "A2: 'DE89370400440532013000'",
        "IBAN,Sum\nDE89370400440532013000,5\nDE75512108001245126199,6\n",
    )
    yield case_of(
        "value: flags ODS style",
        "B2: 12.3 UNITLESS @2022; C3: 9.9 UNITLESS @2023",
        "geo,2022,2023\nAT,12.3p,:z\nBE,10.1,9.9e\nFR,8.8,7.7\nDE,8.9,7.2\n",
    )
    yield case_of("value: feet and inches", "B2: '6\\'2\"'", 'Player,Height\nA,"6\'2"""\nB,"5\'11"""\n')


def _contexts() -> Iterator[Case]:
    yield case_of(
        "context: corner € thousands md",
        "B2: 5000 CCY_EUR T @2022",
        "| € thousands | 2022 | 2023 |\n|---|---|---|\n| Sales | 5 | 6 |\n| Costs | 3 | 4 |\n",
        file="a.md",
    )
    yield case_of(
        "context: entities md",
        "B2: 5 CCY_EUR",
        "| R&amp;D | &euro; |\n|---|---|\n| A | 5 |\n| B | 6 |\n",
        file="a.md",
    )


def _kept_apart() -> Iterator[Case]:
    yield case_of(
        "kept: Parquet NaN and null",
        "B2: 1.5 UNITLESS",
        parquet(pd.DataFrame({"name": ["a", "b", "c"], "v": [1.5, float("nan"), None]})),
        file="a.parquet",
    )
    yield case_of(
        "kept: json lines null",
        "B2: missing; B3: empty",
        '{"a":"x","b":null}\n{"a":"y"}\n{"a":"z","b":3}\n',
        file="a.jsonl",
    )


ODD_CASES = tuple(_cases())
