"""Worker processes: start, stop while starting, one job after another, and the frames they exchange."""

from __future__ import annotations

import asyncio
import gc
import logging
import struct
from pathlib import Path
from typing import Any

import pytest
import uvloop
from hypothesis import given
from hypothesis import strategies as st

from kgtable.server.options import QueueLimits
from kgtable.server.workers import process
from kgtable.server.workers.messages import Decoder, encode
from kgtable.server.workers.pool import Pool
from kgtable.server.workers.process import WorkerDiedError
from tests.server.serving import store_with
from tests.server.test_pool import BOMB

LOOPS = (asyncio.new_event_loop, uvloop.new_event_loop)


def query(text: str) -> dict[str, Any]:
    return {"op": "query", "query": text, "union": False, "accept": "", "result_limit": 1 << 20}


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("seconds", [0.0, 0.001, 0.02, 0.3])
def test_a_pool_closed_while_it_starts_leaves_nothing(
    loop: Any, seconds: float, caplog: pytest.LogCaptureFixture
) -> None:
    async def run() -> Pool:
        pool = Pool("read", QueueLimits(processes=2), 0)
        starting = asyncio.create_task(pool.start())
        await asyncio.sleep(seconds)
        await pool.close()
        await asyncio.wait([starting])
        assert starting.cancelled() or starting.exception() is None
        return pool

    with caplog.at_level(logging.WARNING), asyncio.Runner(loop_factory=loop) as runner:
        pool = runner.run(run())
        assert pool.processes == 0
    gc.collect()
    assert caplog.messages == []


def test_processes_that_cannot_start_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_STARTER", "kgtable.no_such_module")

    async def run() -> None:
        pool = Pool("read", QueueLimits(processes=1), 0)
        with pytest.raises(WorkerDiedError):
            await pool.start()
        await pool.close()
        assert pool.processes == 0

    asyncio.run(run())


def test_requests_that_come_while_the_first_processes_start_make_no_more_of_them(tmp_path: Path) -> None:
    view = store_with(tmp_path / "store").view()

    async def run() -> None:
        pool = Pool("read", QueueLimits(processes=2), 0)
        starting = asyncio.create_task(pool.start())
        await asyncio.sleep(0)
        answers = await asyncio.gather(*(pool.run(query("ASK {}"), 5.0, view) for _ in range(8)))
        await starting
        assert [head["status"] for head, _ in answers] == [200] * 8
        assert pool.counts.started == 2
        await pool.close()

    asyncio.run(run())


def test_jobs_are_done_one_after_the_other(tmp_path: Path) -> None:
    view = store_with(tmp_path / "store").view()

    async def run() -> None:
        pool = Pool("read", QueueLimits(processes=1), 0)
        await pool.start()
        await asyncio.gather(*(pool.run(query("ASK {}"), 5.0, view) for _ in range(50)))
        loop = asyncio.get_running_loop()
        done: dict[str, float] = {}

        async def ask(name: str, text: str, seconds: float) -> None:
            try:
                await pool.run(query(text), seconds, view)
            finally:
                done[name] = loop.time()

        began = loop.time()
        tasks = [
            loop.create_task(ask("short", "ASK {}", 5.0)),
            loop.create_task(ask("long", BOMB, 1.0)),
            loop.create_task(ask("behind", "ASK {} # behind", 5.0)),
        ]
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert [result is None for result in results] == [True, False, True]
        assert done["short"] < done["long"] < done["behind"]
        assert done["long"] - began >= 1.0
        await pool.close()

    asyncio.run(run())


any_text = st.text(alphabet=st.characters(exclude_categories=()), max_size=9)
heads = st.dictionaries(any_text, st.none() | st.booleans() | st.integers() | any_text | st.lists(any_text), max_size=3)
messages = st.lists(st.tuples(heads, st.binary(max_size=40)), max_size=5)


@given(messages, st.lists(st.integers(1, 9), min_size=1))
def test_frames_come_back_however_they_are_cut(
    messages: list[tuple[dict[str, object], bytes]], sizes: list[int]
) -> None:
    data = b"".join(encode(*message) for message in messages)
    decoder, found, place = Decoder(), [], 0
    while place < len(data):
        size = sizes[place % len(sizes)]
        found += decoder.feed(data[place : place + size])
        place += size
    assert found == messages
    assert decoder.feed(b"") == []


def test_what_is_no_frame_is_an_error() -> None:
    with pytest.raises(ValueError, match="Expecting"):
        Decoder().feed(struct.pack(">II", 3, 0) + b"{{{")
