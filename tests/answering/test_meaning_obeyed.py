"""Answers by rules obey the meaning of columns: flags, identifiers, levels, rates, variants, unreadable cells."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

import kgtable

TABLES = {
    "invoices": "Invoice,Paid,Amount\nA1,Y,100\nA2,N,200\nA3,Y,50\nA4,N,70\n",
    "members": "Member,Paid\nAnn,x\nBob,\nCy,x\nDee,\n",
    "spending": "Department,Budget 2023,Actual 2023\nParks,100,120\nRoads,300,280\n",
    "sales": "Region,Sales\nEurope,30\nGermany,10\nFrance,20\nAsia,70\nJapan,40\nChina,30\nWorld,100\n",
    "versions": "Version,Downloads\n1.1,100\n1.2,150\n1.10,300\n1.20,10\n",
    "weights": "Item;Weight (kg)\nA;1,250\nB;0,750\nC;12,000\n",
    "stock": "Date,Stock\n2023-01-31,100\n2023-02-28,120\n2023-03-31,90\n",
    "prices": "Year,Price index (2015=100)\n2019,105.2\n2020,106.0\n2021,109.5\n",
    "lines": (
        "Order,Customer,Order total,Item,Pieces\nO1,Ask,100,pen,5\nO1,Ask,100,ink,2\nO1,Ask,100,pad,1\n"
        "O2,Bil,60,pen,3\nO3,Ask,40,pad,4\nO3,Ask,40,ink,1\n"
    ),
    "exports": (
        "Name,State,Total,Item,Pieces\n#1,paid,70,mug,2\n#1,,,plate,3\n#2,refunded,45,mug,1\n#2,,,bowl,5\n"
        "#3,paid,20,mug,1\n"
    ),
    "turnout": "District,Turnout rate,Voters\nAlt,0.62,1000\nBru,0.48,3000\nCys,0.71,2000\nDor,0.55,4000\n",
    "regions": "Region,Sales\nNA,10\nEMEA,20\nAPAC,30\nNA,5\n",
    "fuels": "Fuel,Year,Price,Unit\ncoal,2020,6.25,USD/MWh\ngas,2020,7.75,USD/MWh\ngas,2025,9,USD/MWh\n",
    "energy": "Sector,Use (EJ/yr)\nMills,5\nFarms,7\n",
    "bills": "Invoice,Amount\nA1,100\nA2,250\nA3,1O0\nA4,approx 300\nA5,50\n",
}


@pytest.fixture(scope="module")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, kgtable.KnowledgeGraph]]:
    folder = tmp_path_factory.mktemp("meaning")
    with ExitStack() as opened:
        found = {}
        for name, text in TABLES.items():
            path = Path(folder, f"{name}.csv")
            path.write_text(text, encoding="utf-8")
            found[name] = opened.enter_context(kgtable.build(path, Path(folder, name), embedding="none"))
        yield found


@pytest.mark.parametrize(
    ("table", "question", "expected"),
    [
        ("invoices", "How many invoices are paid?", "2"),
        ("invoices", "What is the total amount of the paid invoices?", "150"),
        ("members", "How many members have paid?", "2"), ("spending", "How much was spent on Parks in 2023?", "120"),
        ("spending", "What was the budget of Parks in 2023?", "100"), ("sales", "What are total sales?", "100"),
        ("versions", "How many versions are there?", "4"),
        ("versions", "How many downloads does version 1.10 have?", "300"),
        ("weights", "What is the total weight?", "14"), ("lines", "What is the sum of the order totals?", "200"),
        ("lines", "How many pieces were ordered in total?", "16"), ("exports", "What is the sum of Total?", "135"),
        ("exports", "What is the total of pieces of refunded orders?", "6"),
    ],
)  # fmt: skip
def test_what_columns_mean_decides(
    table: str, question: str, expected: str, graphs: dict[str, kgtable.KnowledgeGraph]
) -> None:
    assert graphs[table].ask(question, model="none").value == expected


@pytest.mark.parametrize(
    ("table", "question", "expected"),
    [
        ("lines", "total order total by customer", "Ask: 140; Bil: 60"),
        ("turnout", "Which districts had a turnout above 60%?", "Alt; Cys"),
        ("regions", "sales by region", "APAC: 30; EMEA: 20; NA: 15"),
    ],
)
def test_what_columns_mean_decides_in_lists(
    table: str, question: str, expected: str, graphs: dict[str, kgtable.KnowledgeGraph]
) -> None:
    assert graphs[table].ask(question, model="none").text == expected


@pytest.mark.parametrize(
    ("table", "question", "never"),
    [("stock", "What is the total stock?", "310"), ("prices", "What is the sum of the price index?", "320.7")],
)
def test_levels_over_time_and_rates_are_not_summed(
    table: str, question: str, never: str, graphs: dict[str, kgtable.KnowledgeGraph]
) -> None:
    answer = graphs[table].ask(question, model="none")
    assert answer.value != never
    column = {"stock": "Stock", "prices": "Price index (2015=100)"}[table]
    program = {"op": "sum", "argument": {"column": column}, "rows": {"op": "table", "table": table}}
    with pytest.raises(kgtable.errors.ProgramTypeError, match="do not add up"):
        graphs[table].run(program)


def test_cells_left_out_of_a_sum_are_named(graphs: dict[str, kgtable.KnowledgeGraph]) -> None:
    answer = graphs["bills"].ask("What is the total amount?", model="none")
    assert (answer.value, answer.is_sure) == ("700", False)
    assert "left out: B4 '1O0'" in (answer.calculation or "")
    assert any("Left out" in reason for reason in answer.reasons), answer.reasons


def test_a_bound_that_an_extreme_leaves_out_is_named(tmp_path: Path) -> None:
    text = "Castle,Visitors\nArn,~5000\nBel,12000\nCor,>20000\nDun,9000\n"
    (tmp_path / "castles.csv").write_text(text, encoding="utf-8")
    with kgtable.build(tmp_path, tmp_path / "kg", embedding="none") as graph:
        answer = graph.ask("Which castle has the most visitors?", model="none")
        assert "left out: B4 '>20000'" in (answer.calculation or "")
        assert not answer.is_sure


def test_the_biggest_loss_is_the_lowest_result_or_the_highest_loss(tmp_path: Path) -> None:
    tables = {
        "results": "Company,Net income (EUR)\nAlfa,100\nBeta,(50)\nGamma,(200)\nDelta,300\n",
        "losses": "Company,Loss (EUR)\nAlfa,10\nBeta,40\nGamma,5\nDelta,7\n",
    }
    for (name, text), expected in zip(tables.items(), ("Gamma", "Beta"), strict=True):
        (tmp_path / f"{name}.csv").write_text(text, encoding="utf-8")
        kg = kgtable.build(tmp_path / f"{name}.csv", tmp_path / name, embedding="none")
        assert kg.ask("Which company made the biggest loss?", model="none").text == expected


@pytest.mark.parametrize(
    ("question", "shown"),
    [
        ("What was the price of coal in 2020?", "$6.25 per MWh"),
        ("What is the average price in 2020?", "$7 per MWh"),
        ("Which fuel has the highest price?", "gas"),
    ],
)
def test_what_a_unit_is_per_is_said_with_the_result_and_its_cells(
    graphs: dict[str, kgtable.KnowledgeGraph], question: str, shown: str
) -> None:
    answer = graphs["fuels"].ask(question, model="none")
    assert answer.display == shown
    assert {cited.per for cited in answer.citations if cited.value is not None} == {"MWh"}


def test_a_quotient_is_not_said_to_be_per_what_its_cells_are(graphs: dict[str, kgtable.KnowledgeGraph]) -> None:
    rows = {"op": "filter", "source": "fuels", "condition": {"op": "=", "left": {"column": "Fuel"}, "right": "gas"}}
    mean = {"op": "mean", "argument": {"column": "Price"}, "rows": rows}
    run = graphs["fuels"].run({"op": "divide", "left": mean, "right": 2})
    assert "per" not in run.text


def test_a_unit_per_something_that_qudt_lacks_can_be_decided(tmp_path: Path) -> None:
    (tmp_path / "cars.csv").write_text("Car,Consumption\nGolf,6.2\nPolo,5.2\n", encoding="utf-8")
    kgtable.build(tmp_path / "cars.csv", tmp_path / "kg", embedding="none").close()
    with pytest.raises(kgtable.KgtableError, match="not a unit"):
        kgtable.decide(tmp_path / "kg", "cars", {"unit": "wug/100 km"}, column="Consumption")
    with kgtable.decide(tmp_path / "kg", "cars", {"unit": "l/100 km"}, column="Consumption") as kg:
        answer = kg.ask("What is the average consumption?", model="none")
        assert (answer.display, answer.unit) == ("5.7 L per 100 km", "L")
        assert [one["decided"] for one in kg.decisions("cars")] == [{"unit": "L/100 km"}]
        assert kg.validate().conforms


def test_a_denominator_that_is_printed_with_a_unit_is_kept_whatever_the_unit(
    graphs: dict[str, kgtable.KnowledgeGraph],
) -> None:
    assert graphs["energy"].ask("What is the use of Mills?", model="none").display == "5 EJ per yr"
