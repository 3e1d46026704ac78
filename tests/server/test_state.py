from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from kgtable.server.options import ServerSettings
from kgtable.server.state import ServerState
from tests.server.conftest import DATA, LANES, SMALL
from tests.server.refusals import refused
from tests.server.serving import TOKEN, store_with

ASK = {"op": "query", "query": "ASK {}", "union": True, "accept": "text/csv", "result_limit": 999}


def with_state(path: Path, act: Callable[[ServerState], Awaitable[Any]], *, writable: bool = False) -> Any:
    """What `act` gives on a state that is started before and closed after it."""
    settings = ServerSettings(port=0, writable=writable, token=TOKEN, limits=SMALL, lanes=LANES)

    async def run() -> Any:
        state = ServerState(settings, store_with(path, DATA))
        await state.start()
        try:
            return await act(state)
        finally:
            await state.close()

    return asyncio.run(run())


def test_reads_are_answered_and_problems_raised(tmp_path: Path) -> None:
    async def act(state: ServerState) -> None:
        answer, repeatable = await state.read(ASK, state.view())
        assert (answer.content_type, answer.encoding, answer.body) == (
            b"text/csv; charset=utf-8",
            None,
            b"true",
        )
        assert repeatable
        _, repeatable = await state.read(ASK | {"query": "ASK { FILTER(RAND() < 2) }"}, state.view())
        assert not repeatable
        with refused("syntax-error"):
            await state.read(ASK | {"query": "SELEKT"}, state.view())
        with refused("unavailable"):
            await state.explore({"op": "info"})
        with refused("forbidden"):
            await state.write({"op": "delete", "graph": None})

    with_state(tmp_path / "store", act)


def test_every_write_makes_a_new_version_that_readers_see(tmp_path: Path) -> None:
    job = {"op": "put", "graph": "http://e/g", "type": "text/turtle", "base": "http://e/"}

    async def act(state: ServerState) -> None:
        before = state.view().version
        assert await state.write(job, b"<a> <b> 1 .") == 201
        after = state.view().version
        assert after != before
        answer, _ = await state.read(ASK | {"query": "ASK { <http://e/a> <http://e/b> 1 }"}, state.view())
        assert answer.body == b"true"
        with refused("bad-data"):
            await state.write(job, b"broken")
        assert state.view().version != after

    with_state(tmp_path / "store", act, writable=True)


def test_two_runs_of_a_writable_server_do_not_share_their_versions(tmp_path: Path) -> None:
    source = store_with(tmp_path / "store")
    one, other = (ServerState(ServerSettings(writable=True, token=TOKEN), source) for _ in range(2))
    assert one.view().version != other.view().version
    reading = ServerState(ServerSettings(), source)
    assert reading.view() is source.view()


@pytest.mark.parametrize("writable", [True, False])
def test_only_a_writable_server_has_a_writer(writable: bool, tmp_path: Path) -> None:
    state = ServerState(ServerSettings(writable=writable, token=TOKEN), store_with(tmp_path / "store"))
    assert (state.writer is not None) == writable
