"""Mutated requests; ``scripts/fuzz_server.py`` sends as many as one likes."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from tests.server.serving import TOKEN, Running

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

import fuzz_server


def fuzz(server: Running, seed: int) -> None:
    statuses = asyncio.run(fuzz_server.fuzz(server.url, 150, seed, TOKEN, 8, 60.0))
    assert sum(statuses.values()) == 150
    assert {status for status in statuses if status in ("500", "hang") or status.startswith("no")} == set()
    assert server.query("ASK {}").status_code == 200


def test_mutated_requests_to_a_graph(exploring: Running) -> None:
    fuzz(exploring, 11)


def test_mutated_requests_to_a_writable_store(writing: Running) -> None:
    fuzz(writing, 12)
    assert writing.update("DROP ALL").status_code == 204


def test_the_templates_are_sound_requests(exploring: Running) -> None:
    for content in fuzz_server.templates("")[:20]:
        status = asyncio.run(fuzz_server.send("127.0.0.1", exploring.client.base_url.port or 0, content, 60))
        assert status in ("200", "406"), content
