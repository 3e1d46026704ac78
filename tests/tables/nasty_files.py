"""Further invented files that are easily misread, in the form of `reading_cases`."""

from __future__ import annotations

import datetime
import io
import json
from collections.abc import Iterator, Sequence
from typing import Any

import xlwt

from tests.tables.odd_files import old_workbook
from tests.tables.readers.files import styled_ods_bytes
from tests.tables.reading_cases import Case, case_of


def raised_workbook(rows: Sequence[Sequence[Any]]) -> bytes:
    """An .xls of one sheet; a cell is a value, or a text and the mark raised behind it."""
    book = xlwt.Workbook()
    sheet = book.add_sheet("S")
    plain, raised = xlwt.Font(), xlwt.Font()
    plain.height, raised.height = 202, 201
    raised.escapement = xlwt.Font.ESCAPEMENT_SUPERSCRIPT
    for row, cells in enumerate(rows):
        for column, cell in enumerate(cells):
            if isinstance(cell, tuple):
                sheet.write_rich_text(row, column, [(cell[0], plain), (cell[1], raised)])
            else:
                sheet.write(row, column, cell)
    content = io.BytesIO()
    book.save(content)
    return content.getvalue()


def _cases() -> Iterator[Case]:
    yield from _days_and_times()
    yield from _numbers()
    yield from _units()
    yield from _workbooks()
    yield from _layouts()
    yield from _json_and_html()


def _days_and_times() -> Iterator[Case]:
    yield case_of(
        "day: without a year",
        "B2: --01-01; B3: --05-01; B4: --07-04; B5: --12-25",
        "Holiday,Day\nNew Year,1 January\nLabour Day,May 1\nIndependence,4th of July\nChristmas,Wed 25 Dec\n",
    )
    yield case_of(
        "day: spans without a year",
        "B2: '12–14 July'; B5: 'october 1 through october 31'",
        "Festival,Days\nJazz,12–14 July\nFolk,30 June – 2 July\nFilm,Aug 3-9\nShares,october 1 through october 31\n",
    )
    yield case_of(
        "day: months with two figures of the year",
        "A2: 'Jan 23'; B3: 6 UNITLESS",
        "Month,Sales\nJan 23,5\nFeb 23,6\nMar 23,7\nApr 23,8\n",
    )
    yield case_of(
        "time: of the day under At",
        "B2: 12:30:00",
        {"S": [["Item", "At"], ["A", datetime.time(12, 30)], ["B", datetime.time(0, 5)]]},
        file="a.xlsx",
    )
    yield case_of(
        "time: a format with AM and PM",
        "B2: 12:30:00; C3: PT45M",
        {
            "S": [
                ["Item", "Lunch", "Break"],
                ["A", (datetime.time(12, 30), "h:mm AM/PM"), (datetime.timedelta(minutes=30), "[h]:mm:ss")],
                ["B", (datetime.time(13, 5), "h:mm AM/PM"), (datetime.timedelta(minutes=45), "[h]:mm:ss")],
            ]
        },
        file="a.xlsx",
    )
    yield case_of(
        "time: lengths in several forms",
        "B2: PT1H52M; B3: PT1H35M; B4: PT2H5M30S",
        "Film,Length,Rating\nA,1h 52m,PG-13\nB,95 min,R\nC,2:05:30,12+\n",
    )
    yield case_of(
        "day: two orders of figures",
        "A2: 2023-04-03; B4: 2023-06-01; C3: -300 CCY_USD @2023-04-04",
        'When,Due,Amount ($)\n03/04/2023,13/05/2023,"1,200.50"\n04/04/2023,14/05/2023,(300)\n'
        "05/04/2023,01/06/2023,$-5\n",
    )


def _numbers() -> Iterator[Case]:
    yield case_of(
        "number: amounts without cents",
        "B2: 1234567.5 CCY_CHF; B3: 987654 CCY_CHF; B4: 12000 CCY_CHF",
        "Kanton;Betrag CHF\nZürich;1'234'567.50\nBern;987'654.-\nUri;12'000.–\n",
    )
    yield case_of(
        "number: amounts without øre",
        "B2: 35 CCY_NOK; B3: 129.5 CCY_NOK; B4: 22 CCY_NOK",
        "Vare;Pris (NOK)\nBrød;35,-\nOst;129,50\nMelk;22,--\n",
    )
    yield case_of(
        "number: a minus behind",
        "B3: -12500.5 CCY_EUR; B4: -300.25 CCY_EUR; B2: 1200 CCY_EUR",
        'Account,Balance (EUR)\nCash,"1,200.00"\nLoan,"12,500.50-"\nTax,300.25-\n',
    )
    yield case_of(
        "number: ages that are open at one end",
        "A4: '80-'; C4: '80-'; B4: 300 NUM",
        "Age,People,From\n0-4,1200,0-\n5-9,1300,5-\n80-,300,80-\n85+,200,85+\n",
    )
    yield case_of(
        "number: runs of numbered things",
        "C2: '979–988'; B2: 30 UNITLESS",
        "Class,Built,Fleet numbers\nA,30,979–988\nB,25,999\nC,12,101-112\n",
    )
    yield case_of(
        "number: letters that a note explains",
        "C2: 1250 UNITLESS @2023; C3: 870 UNITLESS @2023; B3: missing; members: Sweden | Denmark",
        "Country,2022,2023\nSweden,1 300,1 250p\nDenmark,..,870p\n\np = preliminary figures\n.. = not available\n",
    )
    yield case_of(
        "number: letters that a note gives as a unit",
        "B2: 12 TONNE",
        "Quarry,Load\nAda,12 t\nBob,7 t\n\nt = tonnes\n",
    )
    yield case_of(
        "number: nearly and at least",
        "B2: 400 UNITLESS; B5: 100000 UNITLESS; B6: 1000000 UNITLESS M",
        "Species,Count\nLynx,c. 400\nWolf,<100\nBear,~120\nMoose,100 000+\nSeal,1–2 million\n",
    )
    yield case_of(
        "number: telephones, codes and an extension",
        "B2: '555-1234'; C3: '99999'; D2: 12 UNITLESS",
        "Name,Phone,Zip,Extension\nAda,555-1234,01234,12\nBo,555-9876,99999,7\n",
    )
    yield case_of(
        "number: odds and map scales",
        "B2: 12.1 UNITLESS @2021; C2: '3:1'; D3: '1:50000'",
        "Year,Price/Earnings,Odds,Scale\n2021,12.1x,3:1,1:25000\n2022,15.3x,5:2,1:50000\n",
    )
    yield case_of(
        "number: positions on the globe",
        "B2: '61°05′N'; C2: 12 M",
        "Place,Lat,Height\nVik,61°05′N,12 m\nMoss,59°26′N,5 m\n",
    )


def _units() -> Iterator[Case]:
    yield case_of(
        "unit: squares behind a name",
        "B2: 12 MI2; C2: 5 KiloM2; D2: 3 M3",
        "County,Land sq mi,Water sq. km,Tank cu m\nA,12,5,3\nB,14,6,4\n",
    )
    yield case_of("unit: feet behind a height", "B2: 12000 FT", "Peak,Height ft\nA,12000\nB,14010\n")
    yield case_of(
        "unit: a letter for hours of sun",
        "B2: 54 MilliM; C2: 38 HR",
        "Month,Rain (mm),Sun (h)\nJanuary,54,38\nFebruary,41,70\n",
    )
    yield case_of(
        "unit: knots of wind and kilotonnes",
        "B2: 12 KN; C2: 300 KiloTONNE",
        "Place,Wind (kt),Emissions (kt)\nA,12,300\nB,14,250\n",
    )
    yield case_of(
        "unit: dollars of a year",
        "B2: 12 CCY_USD; C2: 11 CCY_USD; D2: 5 CCY_EUR; E2: 104 UNITLESS",
        "Country,GDP (current US$),GDP (constant 2015 US$),Prix (€ HT),Index (2015=100)\n"
        "A,12,11,5,104\nB,14,13,6,101\n",
    )
    yield case_of(
        "unit: thousands in figures",
        "B2: 12000 TONNE T; C2: 5 UNITLESS",
        "Crop,Harvest (1000 t),Event (1000 m)\nRye,12,5\nOats,14,6\n",
    )
    yield case_of(
        "scale: a word behind a comma",
        "B2: 35600000 UNITLESS M; C2: 1234567000000 CCY_INR 10^7",
        'State,"Population, million","Outlay (₹ crore)"\nKerala,35.6,"1,23,456.7"\nGoa,1.5,"12,345"\n',
    )
    yield case_of(
        "unit: compounds of everyday",
        "B2: 120 GM-PER-KiloM; C2: 5 L-PER-SEC; D2: 3 MilliGM-PER-L; E2: 4000 MilliA-HR",
        "Car,CO2 g/km,Flow l/s,Nitrate (mg/l),Battery (mAh)\nA,120,5,3,4000\nB,99,6,2,5000\n",
    )
    yield case_of(
        "unit: what earnings per share are computed from",
        "B2: 6021000000 CCY_USD M @2022; B3: 1553000000 NUM M @2022; B4: 3.88 CCY_USD /share @2022",
        "(in millions),2022,2023\nNet earnings for basic and diluted EPS,$ 6021,$ 6948\n"
        "Weighted-average shares for diluted EPS,1553,1551\nDiluted EPS,$ 3.88,$ 4.48\n",
    )
    yield case_of(
        "unit: a header that is a unit alone, and one without a name beside it",
        "B2: 512300000 CCY_EUR M; C2: 498100000 CCY_EUR M; C3: 1201 NUM; C4: 11.7 PERCENT",
        "Key figures,in EUR million,\nRevenue,512.3,498.1\nEmployees (year-end),1250,1201\nEBIT margin,12.5%,11.7%\n",
    )
    yield case_of(
        "unit: a row of currencies",
        "B3: 1.5 CCY_EUR; C4: 0.21 CCY_USD; D3: 17000000 CCY_NOK M",
        "Item,Price,Price,Price\n,EUR,USD,NOK m\nShip,1.5,1.6,17\nBoat,0.2,0.21,2.3\n",
    )
    yield case_of(
        "unit: in the cells",
        "B2: 250 KiloCAL; B3: 980 KiloJ; C3: 500 MilliGM",
        "Dish,Energy,Fat\nSoup,250 kcal,3 g\nBread,980 kJ,500 mg\n",
    )
    yield case_of(
        "unit: a column of units, transposed",
        "C2: 1200 NUM; C3: 12.5 KiloM2; D4: 512000 CCY_NOK T; D5: 3.1 PERCENT",
        "Metric,Unit,Vik,Moss\nPopulation,persons,1200,3000\nArea,km²,12.5,30.1\nMean income,NOK thousand,450,512\n"
        "Unemployment,%,2.5,3.1\n",
    )
    yield case_of(
        "unit: a change and a change in percent",
        "D3: -0.4 UNITLESS; E3: -5 PERCENT",
        "Region,2022,2023,Change,Change %\nNorth,5.0,5.5,+0.5,+10.0\nSouth,8.0,7.6,−0.4,−5.0\n",
    )


def _workbooks() -> Iterator[Case]:
    yield case_of(
        "ods: formats of days, numbers and lengths of time",
        "A2: 2023-01; B2: 1200 KiloGM @2023-01; C2: PT1H5M; C3: PT26H5M; D2: 1200000 CCY_EUR @2023-01",
        styled_ods_bytes(),
        file="a.ods",
    )
    yield case_of(
        "xls: raised marks",
        "A2: 'Wind¹'; A3: 'Łódź sun²'; A4: 'Area km2'; B2: 5 GigaW-HR",
        raised_workbook(
            [
                ["Energy", "GWh"],
                [("Wind", "1"), 5],
                [("Łódź sun", "2)"), 6],
                ["Area km2", 7],
                ["1 offshore too"],
            ]
        ),
        file="a.xls",
    )
    yield case_of(
        "xls: thousands in the title, a margin, a loss",
        "B3: 1200000 CCY_EUR T @2022; B4: -50000 CCY_EUR T @2022; C5: 36 PERCENT @2023",
        old_workbook(
            [
                ["Bilanz in TEUR", None, None],
                ["Posten", 2022, 2023],
                ["Anlagen", (1200.0, "#,##0"), (1300.0, "#,##0")],
                ["Vorräte", (-50, "#,##0;(#,##0)"), (0, '#,##0;(#,##0);"–"')],
                ["Quote", (0.355, "0.0%"), (0.36, "0.0%")],
            ]
        ),
        file="a.xls",
    )
    yield case_of(
        "xlsx: units in formats",
        "B2: 12 KiloGM; C3: 4 M-PER-SEC; D2: 1200000 UNITLESS",
        {
            "S": [
                ["Item", "Mass", "Speed", "Big"],
                ["A", (12, '0 "kg"'), (3, '0.0 "m/s"'), (1200000, '#,##0.0,,"M"')],
                ["B", (13, '0 "kg"'), (4, '0.0 "m/s"'), (2500000, '#,##0.0,,"M"')],
            ]
        },
        file="a.xlsx",
    )
    yield case_of(
        "xlsx: three tables around a corner",
        "0!tables: 3; 0!B3: 5000000 CCY_EUR M @2022; 1!F3: 50 UNITLESS @2022; 2!B8: 210 CCY_USD /t @2022",
        {
            "Dash": [
                ["Sales (EUR m)", None, None, None, "Staff", None, None],
                ["Region", 2022, 2023, None, "Region", 2022, 2023],
                ["North", 5, 6, None, "North", 50, 51],
                ["South", 7, 8, None, "South", 70, 69],
                [],
                ["Prices (USD per t)"],
                ["Crop", 2022, 2023],
                ["Rye", 210, 190],
                ["Oats", 180, 170],
            ]
        },
        file="a.xlsx",
    )


def _layouts() -> Iterator[Case]:
    yield case_of(
        "layout: groups with totals of their own",
        "members:  North |  South |  North |  South",
        "Dept,Q1,Q2\nSales,,\n North,5,6\n South,7,8\n Sales total,12,14\nService,,\n North,1,2\n South,3,4\n"
        " Service total,4,6\nGrand total,16,20\n",
    )
    yield case_of(
        "layout: a preamble, blank rows, a unit in the title",
        "header: 1; B6: 1200000000 CCY_NOK M @2021",
        "Statistics Office\nTable 12: Exports by country (NOK million)\nExtracted: 2024-05-01\n\nCountry,2021,2022\n"
        "Sweden,1 200,1 300\nDenmark,900,870\n",
    )
    yield case_of(
        "layout: a title, a row of units, a sum and a source",
        "B5: 12345.6 GigaW-HR; D6: 22.1 PERCENT; members: Wind | Sonne",
        "Energiebilanz 2023;;;\n;;;\nEnergieträger;Erzeugung;Verbrauch;Anteil\n;GWh;GWh;%\n"
        "Wind;12.345,6;10.000,0;45,2\nSonne;5.000,0;4.900,0;22,1\nSumme;17.345,6;14.900,0;67,3\n"
        "Quelle: Amt für Statistik;;;\n",
    )
    yield case_of(
        "layout: a blank row and a blank column first",
        "C3: 120 L; members: Diesel | Petrol",
        ",,\n,Fuel,Litres\n,Diesel,120\n,Petrol,80\n,Total,200\n",
    )
    yield case_of(
        "layout: ages across",
        "header: 1; D2: 90 UNITLESS",
        "Sex / Age,0–17,18–64,65+\nWomen,120,300,90\nMen,130,310,70\n",
    )
    yield case_of(
        "layout: notes with a star, a dagger and a sentence",
        "members: A1 | B2 | C3; B3: 15 M; C2: 3.4 M3-PER-SEC; B4: missing",
        "Station,Depth (m),Flow (m3/s)\nA1,12,3.4*\nB2,15†,4.0\nC3,n.m.,5.1\n* after rain.,,\n† estimated.,,\n"
        "Measured by the county in 2023.,,\n",
    )


def _json_and_html() -> Iterator[Case]:
    yield case_of(
        "json: units and currencies within records",
        "B2: 12.5 KiloGM; B3: 3 GM; D2: 3.5 CCY_EUR; D3: 4 CCY_USD",
        json.dumps(
            [
                {
                    "name": "A",
                    "size": {"value": 12.5, "unit": "kg"},
                    "price": {"amount": 3.5, "currency": "EUR"},
                },
                {"name": "B", "size": {"value": 3, "unit": "g"}, "price": {"amount": 4, "currency": "USD"}},
            ]
        ),
        file="a.json",
    )
    yield case_of(
        "json: lists by name, with units in the names",
        "B2: 1500000000 CCY_USD B @2021; C2: 2.1 PERCENT @2021; C3: missing",
        json.dumps({"year": [2021, 2022], "gdp_usd_bn": [1.5, 1.6], "growth_pct": [2.1, None]}),
        file="a.json",
    )
    yield case_of(
        "json: numbers as texts",
        "A2: 1234.5 CCY_EUR; B2: '0012'; C3: 8 PERCENT",
        json.dumps([{"k": "1.234,50 €", "n": "0012", "p": "12 %"}, {"k": "99,00 €", "n": "0013", "p": "8 %"}]),
        file="a.json",
    )
    yield case_of(
        "html: spans, a foot, a unit in the heading",
        "names: Site | 2022 Rye | 2022 Oats | 2023 Rye | 2023 Oats; B3: 5 TONNE @2022; members: Vik | Moss",
        "<h2>Output in tonnes</h2><table><thead><tr><th rowspan=2>Site</th><th colspan=2>2022</th><th colspan=2>2023"
        "</th></tr><tr><th>Rye</th><th>Oats</th><th>Rye</th><th>Oats</th></tr></thead><tbody><tr><th>Vik</th><td>5</td><td>6</td>"
        "<td>7</td><td>8</td></tr><tr><th>Moss</th><td>1</td><td>2</td><td>3</td><td>4</td></tr></tbody><tfoot><tr><th>All</th>"
        "<td>6</td><td>8</td><td>10</td><td>12</td></tr></tfoot></table>",
        file="a.html",
    )
    yield case_of(
        "html: tables within a table",
        "0!tables: 2; 0!B2: 0.25 PERCENT C; 1!B2: 2.5 PERCENT",
        "<table><tr><td><table><tr><th>Fund</th><th>Fee (bps)</th></tr><tr><td>A</td><td>25</td></tr></table></td><td>"
        "<table><tr><th>Bond</th><th>Yield, %</th></tr><tr><td>X</td><td>2.5</td></tr></table></td></tr></table>",
        file="a.html",
    )
    yield case_of(
        "html: raised marks, an exponent, a minus",
        "B2: 362 KiloM2 @2020; C2: 1000 KiloM2 @2021; C3: -5 KiloM2 @2021",
        "<table><caption>Area (km<sup>2</sup>)</caption><tr><th>Lake<sup>a</sup></th><th>2020</th><th>2021</th></tr>"
        "<tr><td>Mj&oslash;sa<sup>1</sup></td><td>362<sup>b</sup></td><td>10<sup>3</sup></td></tr>"
        "<tr><td>R&oslash;ssvatnet</td><td>219&nbsp;</td><td>&minus;5</td></tr></table><p>1 largest</p>",
        file="a.html",
    )
    yield case_of(
        "html: lines within headers",
        "B2: 12 UNITLESS @2023; C2: 3500000 CCY_EUR M; C3: missing",
        "<table><tr><th>Player<br>(club)</th><th>Goals<br>2023</th><th>Fee<br>(€m)</th></tr><tr><td>Ada<br>Reds</td>"
        "<td>12</td><td>3.5</td></tr><tr><td>Bo<br>Blues</td><td>9</td><td>–</td></tr></table>",
        file="a.html",
    )


NASTY_CASES = tuple(_cases())
