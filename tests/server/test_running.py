"""The end of a server: requests under way are answered, nothing is left behind, nothing is said."""

from __future__ import annotations

import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from kgtable.server import running as running_module
from kgtable.server.settings import ServerSettings
from tests.server.serving import running, store_with
from tests.server.test_pool import BOMB, NUMBERS
from tests.server.test_serving import command

SLOW = "SELECT (COUNT(*) AS ?n) {" + " ".join(NUMBERS.format(f"v{n}") for n in range(6)) + "}"


def ask(url: str, query: str) -> httpx.Response:
    return httpx.get(f"{url}sparql", params={"query": query}, timeout=60)


def test_requests_under_way_are_answered_before_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(running_module, "GRACE_SECONDS", 4)
    with ThreadPoolExecutor(2) as threads:
        with running(ServerSettings(port=0), store_with(tmp_path / "store")) as server:
            ends = threads.submit(ask, server.url, SLOW)
            never = threads.submit(ask, server.url, BOMB)
            deadline = time.monotonic() + 10
            while server.state.readers.running < 2 and not ends.done() and time.monotonic() < deadline:
                time.sleep(0.01)
        assert ends.result().status_code == 200
        assert ends.result().json()["results"]["bindings"][0]["n"]["value"] == str(10**6)
        answer = never.result()
    assert answer.status_code == 503
    assert answer.json()["type"].endswith("#busy")
    assert answer.headers["retry-after"]
    assert "Traceback" not in caplog.text


@pytest.mark.parametrize("seconds", [0.0, 0.4, 1.5])
def test_a_short_life_ends_without_a_word(graph_folder: Path, seconds: float) -> None:
    with command(graph_folder) as (process, _):
        time.sleep(seconds)
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) in (0, -signal.SIGTERM)
        assert process.stderr is not None
        assert process.stderr.read() == ""
