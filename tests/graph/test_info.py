from __future__ import annotations

import json
from pathlib import Path

from kgtable import api
from kgtable.building.catalogue import Catalogue, FileRecord
from kgtable.building.generations import Generation, catalogue_info


def test_the_counts_add_up(folder: Path, graph_path: Path) -> None:
    (folder / "broken.csv").write_bytes(b"PK\x03\x04\x00binary\x00")
    kg = api.build(folder, graph_path, embedding="none")
    info = catalogue_info(kg.catalogue, kg.generation)
    assert (info["files"], info["tables"], info["table_ids"]) == (3, 2, ["income", "planets"])
    assert info["rows"] == 7 + 4
    assert info["cells"] == sum(info["kinds"].values()) == sum(r.cells for r in kg.catalogue.tables.values())
    assert info["quads_of_tables"] == len("".join(kg.rdf("nquads")).splitlines()) - sum(
        1 for _ in kg.store.graph(None)
    )
    assert sum(info["units"].values()) == info["kinds"]["number"]
    assert len(info["errors"]) == 1
    assert json.loads(json.dumps(info)) == info


def test_a_graph_of_nothing() -> None:
    files = [FileRecord("a.csv", "a", "", "", "", (), "a.csv: <b>damaged</b>")]
    info = catalogue_info(Catalogue(files), Generation(7, Path("x"), "https://b/"))
    assert (info["generation"], info["base"], info["cells"], info["kinds"]) == (7, "https://b/", 0, {})
    assert info["errors"] == ["a.csv: <b>damaged</b>"]
