"""Invented files of several languages and formats, in the form of `reading_cases`."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator

from tests.tables.odd_files import old_workbook
from tests.tables.reading_cases import Case, case_of


def _cases() -> Iterator[Case]:
    yield from _signs_and_letters()
    yield from _crowns_and_ringgit()
    yield from _languages()
    yield from _names()
    yield from _notes()
    yield from _several_formats()
    yield from _values()


def _signs_and_letters() -> Iterator[Case]:
    yield case_of(
        "number: whole amounts with a minus behind",
        "B2: -300 CCY_EUR; B4: -1200.5 CCY_EUR",
        'Item,Price (EUR)\nBook,300-\nLamp,45-\nChair,"1,200.50-"\n',
    )
    yield case_of(
        "number: a balance with a minus behind",
        "B2: -300 CCY_EUR; B3: 1250 CCY_EUR; C2: '80-'",
        "Konto;Saldo EUR;Ab Alter\nKasse;300-;80-\nBank;1250;18\n",
    )
    yield case_of(
        "scale: a letter that a note gives as millions",
        "B2: 12000000 CCY_USD M; C2: 40 NUM",
        "Project,Budget,Staff\nAtlas,12m,40\nBoreal,3m,12\n\nNote: m = million US dollars\n",
    )
    yield case_of(
        "scale: a letter that a note gives as metres",
        "B2: 12 M",
        "Hall,Length,Seats\nA,12m,400\nB,30m,120\n\nm = metres\n",
    )
    yield case_of(
        "scale: letters that one note lists",
        "B2: 12000000 CCY_EUR M; B3: 950000 CCY_EUR T; B4: 1200000000 CCY_EUR B; members: Alpha | Beta | Gamma",
        "Fund,Assets,Year\nAlpha,12m,2021\nBeta,950k,2022\nGamma,1.2bn,2023\n\n"
        "Amounts in EUR; k = thousand, m = million, bn = billion.\n",
    )
    yield case_of(
        "scale: millions beside billions",
        "B2: 12000000 UNITLESS M; B3: 1200000000 UNITLESS B",
        "Firm,Assets\nAda,12m\nBob,1.2bn\nCid,300m\n",
    )
    yield case_of(
        "scale: several currencies with letters",
        "B2: 12000000 CCY_USD M; B4: 950000 CCY_GBP T; C3: 40000000 CCY_EUR M",
        "Firm,Raised,Valuation\nA,$12m,$1.2bn\nB,€3m,€40m\nC,£950k,£7m\n",
    )


def _crowns_and_ringgit() -> Iterator[Case]:
    yield case_of(
        "unit: crowns of no country",
        "B2: 35 UNITLESS; B3: 129.5 UNITLESS; B4: 22 UNITLESS",
        "Vare;Pris;Antall\nBrød;35 kr;4\nOst;129,50 kr;2\nMelk;22,- kr;10\n",
    )
    yield case_of(
        "unit: crowns of a country that the title names",
        "B3: 129 CCY_NOK; C3: 310 CCY_NOK",
        "Prisliste Norge 2024\nVare,Pris (kr),Pris per kg\nLaks,129,kr 310\nBrød,35,kr 70\n",
    )
    yield case_of(
        "scale: millions of crowns",
        "B2: 1234500000 CCY_SEK M; C3: -15000 CCY_SEK T; members: Alfa | Beta",
        "Bolag;Omsättning (mkr);Resultat (tkr)\nAlfa;1 234,5;120\nBeta;98,7;-15\nKälla: svenska företagsregistret\n",
    )
    yield case_of(
        "scale: millions of crowns in a caption",
        "B2: 1204500000 CCY_NOK M @2022; C3: -12500000 CCY_NOK M @2023",
        "<table><caption>Omsetning i mkr (norske selskaper)</caption><tr><th>Selskap</th>"
        "<th>2022</th><th>2023</th></tr>"
        "<tr><td>A</td><td>1 204,5</td><td>1 310</td></tr><tr><td>B</td><td>98,7</td><td>(12,5)</td></tr></table>",
        file="a.html",
    )
    yield case_of(
        "unit: ringgit",
        "B2: 8.5 CCY_MYR; B3: 2.2 CCY_MYR; B4: 2 CCY_MYR",
        "Item,Price,Qty\nNasi lemak,RM 8.50,12\nTeh tarik,RM2.20,30\nRoti,RM 2,40\n",
    )
    yield case_of(
        "unit: ringgit in headers",
        "B2: 384000000000 CCY_MYR M; C2: 5 CCY_MYR @2023; D2: 500000 CCY_MYR T; E2: 300 UNITLESS",
        'State,GDP (RM million),2023 (RM),Sales RM\'000,RM\nSelangor,"384,000",5,500,300\nJohor,"148,000",6,200,100\n',
    )
    yield case_of(
        "unit: rooms and a variable are no ringgit",
        "B2: 'RM 101'; C2: 6.575 UNITLESS",
        "Course,Room,RM\nMaths,RM 101,6.575\nArt,RM 12,6.421\n",
    )


def _languages() -> Iterator[Case]:
    yield case_of(
        "unit: headers in German",
        "B2: 1200.5 KiloW; C2: 3456.78 MegaW-HR; D2: 1234500 CCY_EUR T; E2: 0.124 CCY_EUR /kWh C; "
        "F2: 540 M; G2: 12 HR; H2: 30 TONNE",
        "Anlage;Leistung [kW];Ertrag in MWh;Kosten in T€;Preis je kWh (ct);Höhe (m ü. M.);Dauer (Std.);Fracht (t)\n"
        "Nord;1.200,5;3.456,78;1.234,5;12,4;540;12;30\nSüd;987,25;2.100,00;950,0;11,9;610;14;28\n",
    )
    yield case_of(
        "unit: headers in French",
        "B2: 3394500 NUM T; C2: 1234500000 CCY_EUR M; D2: 12.3 PERCENT; E2: 27208 KiloM2; F2: 55 MIN",
        "Région;Population (en milliers);Dépenses (en M€);Part (en pourcentage);Surface (km²);Durée (min);Poids (kg)\n"
        "Bretagne;3 394,5;1 234,5;12,3;27 208;55;70\nCorse;349,3;98,7;1,2;8 680;40;65\n",
    )
    yield case_of(
        "scale: millions d'euros",
        "B2: 12500000 CCY_EUR M; C3: -20000 CCY_EUR T",
        "Poste;Budget (millions d'euros);Solde (milliers d’euros)\nÉcole;12,5;300\nRoute;7,25;-20\n",
    )
    yield case_of(
        "scale: headers in Italian",
        "B2: 1234500000 CCY_EUR M; C3: 290000 NUM T",
        "Regione;Spesa (milioni di euro);Abitanti (migliaia)\nLazio;1.234,5;5.720\nMolise;98,7;290\n",
    )
    yield case_of(
        "scale: headers in Spanish",
        "B2: 1204500 CCY_EUR T; C2: 12 PERCENT",
        "Producto;Ventas (miles de €);Margen (%)\nPan;1.204,5;12\nQueso;310,2;13\n",
    )
    yield case_of(
        "scale: Tausend in a title",
        "B5: 1200000 CCY_CHF T @2023; members: Flüssige Mittel",
        {
            "Bilanz": [
                ["Muster AG"],
                ["Bilanz zum 31. Dezember (in Tausend CHF)"],
                [],
                ["", "2023", "2022"],
                ["Flüssige Mittel", 1200, 1100],
                ["davon gebunden", 50, 40],
                ["Total", 1250, 1140],
            ]
        },
        file="a.xlsx",
    )
    yield case_of(
        "scale: sofern nicht anders angegeben",
        "B5: 1204500000 CCY_CHF M; C5: 12.5 PERCENT; D5: 340 NUM",
        {
            "Übersicht": [
                ["Kennzahlen 2024"],
                ["(Beträge in Mio. CHF, sofern nicht anders angegeben)"],
                [],
                ["Sparte", "Umsatz", "EBIT-Marge (%)", "Mitarbeitende (FTE)"],
                ["Bau", 1204.5, 12.5, 340],
                ["Handel", 310, 8, 120],
            ]
        },
        file="a.xlsx",
    )
    yield case_of(
        "number: groups and decimals of Switzerland with amounts without cents",
        "B2: 2024-01-31; C2: 1234.5 CCY_CHF; C3: 987 CCY_CHF; C4: -120 CCY_CHF",
        "Kunde,Fällig,Betrag (CHF),Skonto\nA,31.01.2024,1’234.50,2%\nB,28.02.2024,987.–,2%\nC,15.03.2024,-120.00,\n",
    )
    yield case_of(
        "number: crore, lakh and groups of India",
        "B2: 1386555000000 CCY_INR 10^7; C2: 34560000 NUM 10^5; D3: 472070 CCY_INR",
        'State,Budget (Rs. crore),Population (lakh),Per capita income (₹)\nKerala,"1,38,655.50",345.6,"2,28,767"\n'
        'Goa,"21,646.7",15.4,"4,72,070"\n',
    )


def _names() -> Iterator[Case]:
    yield case_of(
        "unit: names in camel case",
        "B2: 70.5 KiloGM; C2: 1200 CCY_USD; D2: 36.6 DEG_C; E2: 1500 FT2; F2: 88 KiloM-PER-HR; "
        "G2: 90 MIN; H2: 180 CentiM; I2: 7 UNITLESS; J2: 81 UNITLESS",
        "id,WeightKg,PriceUSD,TempC,SquareFootage,SpeedKmh,DurationMin,heightCm,PlayerNo,LifeExpectancy\n"
        "1,70.5,1200,36.6,1500,88,90,180,7,81\n2,65,900,37.1,2100,120,45,172,9,79\n",
    )
    yield case_of(
        "unit: a symbol in square brackets",
        "B2: 1042 M; C2: 1 UNITLESS",
        "Peak,Prominence [m],Rank [b]\nAlpha,1042,1\nBeta,694,2\n",
    )
    yield case_of(
        "unit: power within a label",
        "B2: 3955 MegaW @2022; B3: 120 GigaW-HR @2022; C4: 13 CCY_EUR /MW @2023",
        "Item,2022,2023\nNet MW in operation,3955,3445\nGWh sold,120,130\nRevenue per MW installed (EUR),12,13\n",
    )
    yield case_of(
        "unit: exchange rates have none",
        "B2: 1.0854 UNITLESS; B3: 151.2 UNITLESS; C3: -0.08 PERCENT C",
        "Pair,Rate,Change (bps)\nEUR/USD,1.0854,12\nUSD/JPY,151.20,-8\n",
    )
    yield case_of(
        "unit: an amount behind the name of a column",
        "B3: 3.55 CCY_USD; C4: 4.61 CCY_USD",
        "Quarter,Low,High\n2002 first quarter,low $ 4.11,high $ 17.84\nsecond quarter,3.55,9.17\n"
        "third quarter,1.56,4.61\n",
    )
    yield case_of(
        "unit: what amounts are per in the corner",
        "B2: 67.5 CCY_EUR /MWh @2024-Q1",
        "| Product (€/MWh) | Q1 2024 | Q2 2024 |\n|---|---|---|\n| Base | 67,5 | 72,1 |\n| Peak | 80,2 | 88,4 |\n",
        file="a.md",
    )
    yield case_of(
        "unit: years behind the unit of a caption",
        "B2: 1204 GigaW-HR @2019; B3: 300 GigaW-HR @2019; D4: 500 GigaW-HR @2021",
        "Production in GWh (2019–2021)\n\n| Source | 2019 | 2020 | 2021* |\n|---|---|---|---|\n"
        "| Wind | 1,204 | 1,310 | 1,290 |\n| of which offshore | 300 | 320 | 310 |\n| Solar | 400 | 450 | 500 |\n",
        file="a.md",
    )
    yield case_of(
        "unit: a column of units of key figures",
        "C2: 120000000 CCY_USD M; C3: 98 PERCENT; C4: 5 DAY; C6: 210 TONNE; D7: 312 NUM; D8: 61 PERCENT",
        "KPI,Unit,Target,Actual\nRevenue,USD m,120,118\nDelivery,%,98,97.2\nLead time,days,5,6\nDefects,ppm,50,43\n"
        "Emissions,t CO2e,210,205\nHeadcount,FTE,300,312\nDebt,% of GDP,60,61\n",
    )


def _notes() -> Iterator[Case]:
    yield case_of(
        "notes: lines that the delimiter cut",
        "members: Austria | Belgium | EU-27; B2: 12.3 PERCENT @2021; D2: 12.9 PERCENT @2023; D4: missing",
        "Country;2021;2022;2023\nAustria;12,3;12,5;12,9 (p)\nBelgium;10,1 b;10,4;10,6 (p)\nEU-27;11,2;11,5;..\n;;;\n"
        "(p) provisional; b: break in series; .. not available\nUnit: % of GDP\nLast update: 12.03.2024\n",
    )
    yield case_of(
        "notes: amounts in a currency below the table",
        "B2: 5000 CCY_GBP T @2022; members: North | South",
        "Shop,2022,2023\nNorth,5,6\nSouth,7,8\n\nAll amounts in GBP thousand, unaudited.\n",
    )
    yield case_of(
        "notes: a last line over the whole width",
        "members: Sales | Costs; C3: -850000 CCY_EUR T @2022",
        "<h3>Results (in &euro; thousand)</h3><table><tr><th></th><th>2023</th><th>2022</th></tr><tr><td>Sales</td>"
        "<td>1&#8239;204</td><td>1&#8239;100</td></tr><tr><td>Costs</td><td>(900)</td><td>(850)</td></tr>"
        "<tr><td colspan=3><i>Unaudited figures</i></td></tr></table>",
        file="a.html",
    )
    yield case_of(
        "notes: a last group without a member in one cell is no note",
        "members: Beta | Gamma | Delta",
        "Name,Founded,Staff\nBeta,1999,12\nGamma,2001,7\nDelta,,\n",
    )
    yield case_of(
        "notes: Hinweis between two tables",
        "0!tables: 2; 0!members: Miete | Löhne; 0!B3: 12000 CCY_EUR; 1!B10: 80 PERCENT; 1!C10: 2020-03-01",
        {
            "Plan": [
                ["Budget 2025 (€)"],
                ["Kategorie", "Q1", "Q2"],
                ["Miete", 12000, 12000],
                ["Löhne", 50000, 51000],
                ["Total", 62000, 63000],
                ["Hinweis: Löhne inkl. 13. Monatslohn"],
                [],
                ["Team"],
                ["Name", "Pensum (%)", "Eintritt"],
                ["Ana", 80, datetime.date(2020, 3, 1)],
                ["Ben", 100, datetime.date(2021, 7, 1)],
            ]
        },
        file="a.xlsx",
    )


def _several_formats() -> Iterator[Case]:
    yield case_of(
        "xlsx: two tables, a source and a star below",
        "0!tables: 2; 0!B3: 1200000 CCY_EUR T @2022; 1!members: Nord | Süd; 1!B9: 40 UNITLESS @2022",
        {
            "S": [
                ["Umsatz (TEUR)"],
                ["Region", "2022", "2023"],
                ["Nord", 1200, 1300],
                ["Süd", 900, 950],
                ["Summe", 2100, 2250],
                [],
                ["Personal (Köpfe)"],
                ["Region", "2022", "2023"],
                ["Nord", 40, 42],
                ["Süd", 30, 31],
                [],
                ["Quelle: Geschäftsbericht, S. 12"],
                ["* vorläufig"],
            ]
        },
        file="a.xlsx",
    )
    yield case_of(
        "xlsx: two tables side by side with their own units",
        "0!tables: 2; 0!B3: 5000000 CCY_USD M @2024-Q1; 1!F3: 70000 CCY_EUR T @2024-Q1",
        {
            "S": [
                ["Sales in USD m", None, None, None, "Head office costs (EUR k)"],
                ["Region", "Q1 2024", "Q2 2024", None, "Item", "Q1 2024", "Q2 2024"],
                ["North", 5, 6, None, "Rent", 70, 71],
                ["South", 3, 4, None, "Power", 12, 13],
            ]
        },
        file="a.xlsx",
    )
    yield case_of(
        "xls: formats and German headers",
        "B2: 1234500 CCY_EUR T; C2: 12.5 PERCENT; B3: -50000 CCY_EUR T; D2: 12.5 HR",
        old_workbook(
            [
                ["Zone", "Kosten (T€)", "Anteil", "Dauer (h)"],
                ["Nord", (1234.5, "#,##0.0"), (0.125, "0.0%"), 12.5],
                ["Süd", (-50, "#,##0.0;(#,##0.0)"), (0.875, "0.0%"), 7],
            ]
        ),
        file="a.xls",
    )
    yield case_of(
        "md: entities and percent of Europe",
        "B2: 1200000 CCY_EUR T; D2: -4.2 PERCENT; D3: 6.7 PERCENT; members: Personal | Material",
        "## Kosten (in Tsd. €)\n\n| Posten | Plan | Ist | Abw. |\n|:--|--:|--:|--:|\n"
        "| Personal | 1.200 | 1.150 | &minus;4,2 % |\n| Material | 900 | 960 | +6,7&nbsp;% |\n"
        "| **Summe** | 2.100 | 2.110 | +0,5 % |\n",
        file="a.md",
    )
    yield case_of(
        "html: headcount that the line above excepts",
        "B3: 1204500000 CCY_EUR M @2023; C4: missing; D3: 512 NUM @2023",
        "<h2>Segment results</h2><p>(in millions of euros, except headcount)</p><table><caption>Segments</caption>"
        "<tr><th rowspan=2></th><th colspan=2>Revenue</th><th colspan=2>Headcount</th></tr>"
        "<tr><th>2023</th><th>2022</th><th>2023</th><th>2022</th></tr>"
        "<tr><td>Wind<sup>1</sup></td><td>1,204.5</td><td>1,100.0</td><td>512</td><td>498</td></tr>"
        "<tr><td>Solar &amp; storage</td><td>(20.5)</td><td>&ndash;</td><td>77</td><td>70</td></tr></table>"
        "<p><sup>1</sup> restated</p>",
        file="a.html",
    )
    yield case_of(
        "json: units within nested records and null",
        "B3: -3 DEG_C; C2: 5.1 M-PER-SEC; E2: missing; E3: empty",
        json.dumps(
            [
                {"station": "A", "temp_c": 12.5, "wind": {"speed": 5.1, "unit": "m/s"}, "note": None},
                {"station": "B", "temp_c": -3, "wind": {"speed": 7, "unit": "m/s"}},
            ]
        ),
        file="a.json",
    )
    yield case_of(
        "csv: three tables with blank rows and units of their own",
        "0!tables: 3; 0!B3: 100000 CCY_USD T @2022; 1!B8: 12 UNITLESS @2022; 2!B13: 1.2 GigaW-HR @2022",
        "Balance sheet (USD thousand)\nItem,2022,2023\nCash,100,120\nDebt,50,40\n\nHeadcount\nSite,2022,2023\n"
        "Oslo,12,14\nRome,8,9\n\nEnergy use (GWh)\nSite,2022,2023\nOslo,1.2,1.4\nRome,0.8,0.9\n",
    )


def _values() -> Iterator[Case]:
    yield case_of(
        "time: records with split seconds",
        "C2: PT1M40.91S; C3: PT12M35.36S; B2: 800 M",
        "Race,Distance,Record\nSprint,800m,1:40.91\nMid,5000m,12:35.36\n",
    )
    yield case_of(
        "time: departures under a German header",
        "B2: 55 MIN; C2: 08:15:00; D3: 77.6 KiloM-PER-HR",
        "Strecke;Fahrzeit (Min.);Abfahrt;Tempo (km/h)\nA–B;55;08:15;65,5\nB–C;85;09:40;77,6\n",
    )
    yield case_of(
        "value: flags of Eurostat with a colon",
        "B2: 12.3 UNITLESS @2020; D2: missing; B3: missing; C4: 10.2 UNITLESS @2021",
        "geo\\time,2020,2021,2022\nBE,12.3 p,11.0,:\nBG,: c,4.5 e,4.6 b\nDE,10.1,10.2 bp,10.3\n",
    )
    yield case_of(
        "header: months, a sum and units of rows",
        "B2: 100000 CCY_EUR T @2024-01; C3: 2.1 PERCENT @2024-02; D4: 6141 NUM",
        "Measure,Jan-24,Feb-24,YTD\nSales (kEUR),100,120,220\nReturns (%),2.5,2.1,2.2\nOrders (#),2817,3324,6141\n",
    )
    yield case_of(
        "header: quarters and halves with an apostrophe",
        "B2: 5 UNITLESS @2023-Q1; D2: 11 UNITLESS @2023-H1; E3: 30 UNITLESS @FY2023",
        "Segment,Q1'23,Q2'23,1H23,FY23E\nA,5,6,11,23\nB,7,8,15,30\n",
    )
    yield case_of(
        "value: open ranges and a label column of ages",
        "B2: 20000 CCY_EUR; B4: 45000 CCY_EUR; C3: 35 PERCENT",
        "Age group,Salary (EUR),Share\n<25,20 000–30 000,10 %\n25–34,30 000–45 000,35 %\n35+,> 45 000,55 %\n",
    )
    yield case_of(
        "value: accounts and postcodes of one length",
        "A2: 'DE02120300000000202051'; B2: '0012345678'; C2: '01067'; D2: 12.5 UNITLESS",
        "IBAN,Kontonummer,PLZ,Betrag\nDE02120300000000202051,0012345678,01067,12.50\n"
        "DE02500105170137075030,0023456789,10115,7.25\n",
    )


FRESH_CASES = tuple(_cases())
