"""A server beside builds: what it was asked is answered from the graph it saw then."""

from __future__ import annotations

import asyncio
import gc
from pathlib import Path

import kgtable
from kgtable.server.options import ServerSettings
from kgtable.server.state import GraphFolder, ServerState
from tests.server.conftest import QUEUE, SMALL

COUNT = {
    "op": "query", "query": "SELECT (COUNT(*) AS ?n) { ?row a kgt:Row }", "union": True, "accept": "text/csv",
    "result_limit": 999,
}  # fmt: skip


def rebuild(folder: Path, graph: Path, rows: int) -> None:
    folder.mkdir(exist_ok=True)
    lines = "".join(f"item {row},{row * 10}\n" for row in range(rows))
    (folder / "items.csv").write_text(f"Item,Amount\n{lines}", encoding="utf-8")
    kgtable.build(folder, graph, embedding="none")


def generations(graph: Path) -> list[str]:
    return sorted(entry.name for entry in (graph / "generations").iterdir())


def test_a_job_sees_the_graph_it_was_given_however_often_it_is_rebuilt(tmp_path: Path) -> None:
    folder, graph = tmp_path / "tables", tmp_path / "kg"
    rebuild(folder, graph, 3)
    settings = ServerSettings(port=0, limits=SMALL, queue=QUEUE)

    async def act() -> None:
        state = ServerState(settings, GraphFolder(graph))
        await state.start()
        try:
            early = state.view()
            for rows in (4, 5, 6):
                rebuild(folder, graph, rows)
            assert (await state.read(COUNT, early))[0].body == b"n\r\n3\r\n"
            assert (await state.read(COUNT, state.view()))[0].body == b"n\r\n6\r\n"
            assert generations(graph) == ["1", "4"]
            del early
            gc.collect()
            # Worker processes hold leases of their own until they open the next graph or end.
            for version in range(8):
                await state.read(COUNT | {"query": f"ASK {{}} # {version}"}, state.view())
            await state.readers.close()
            rebuild(folder, graph, 7)
            assert generations(graph) in (["4", "5"], ["5"])
        finally:
            await state.close()

    asyncio.run(act())
    gc.collect()  # what the loop held of the state is in cycles
    rebuild(folder, graph, 8)
    assert generations(graph) == ["6"]
