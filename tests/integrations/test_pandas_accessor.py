from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pandas as pd
import pytest

import kgtable
import kgtable.integrations.pandas_accessor

PORTS = pd.DataFrame(
    {
        "Port": ["Norrvik", "Tern Bay", None],
        "Fees (EUR million)": [198.75, 61.0, float("nan")],
        "Opened": pd.to_datetime(["1901-05-04", "1950-01-31", None]),
    }
)


def test_a_frame_becomes_a_graph_that_answers() -> None:
    with PORTS.kg.to_graph(name="ports", title="Port fees", embedding="none") as graph:
        assert list(graph.tables) == ["ports"]
        assert graph.info()["table_list"][0]["title"] == "Port fees"
        answer = graph.ask("Which port had the highest fees?", model="none")
        assert answer.text == "Norrvik"
        run = graph.run({"op": "sum", "argument": {"column": 1}, "rows": "ports"})
        assert (run.value, run.unit) == (Decimal("259750000"), "CCY_EUR")
        assert graph.sparql('ASK { ?row ?p "1901-05-04"^^xsd:date }') is True
        folder = graph.path
    assert folder.exists()  # for as long as the graph object is there
    del graph
    assert not folder.exists()


def test_levels_of_columns_and_the_index_are_kept(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        [[1, 2], [3, 4]],
        columns=pd.MultiIndex.from_tuples([("2023", "Weight"), ("2023", "Fees")]),
        index=pd.Index(["Norrvik", "Tern Bay"], name="Port"),
    )
    with frame.kg.to_graph(tmp_path / "graph", index=True, embedding="none") as graph:
        table = graph.tables["frame"]
        assert [column.name for column in table.table.columns] == ["Port", "2023 Weight", "2023 Fees"]
        assert table.to_frame(text=True).values.tolist() == [["Norrvik", "1", "2"], ["Tern Bay", "3", "4"]]
    assert (tmp_path / "graph").exists()


@pytest.mark.parametrize("name", ["", "../up", "a/b"])
def test_the_name_is_that_of_a_table(name: str) -> None:
    with pytest.raises(kgtable.errors.ArgumentError, match="plain name"):
        PORTS.kg.to_graph(name=name)
