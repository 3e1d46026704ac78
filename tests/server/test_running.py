"""The start of a server, and its end: requests are answered, nothing is left behind, nothing is said."""

from __future__ import annotations

import signal
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from kgtable.errors import ServerError
from kgtable.server import running as running_module
from kgtable.server.options import ServerSettings
from kgtable.server.running import address, bind, with_token
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


def test_a_token_is_made_up_where_one_is_needed() -> None:
    assert with_token(ServerSettings()).token is None
    for settings in (ServerSettings(writable=True), ServerSettings(host="0.0.0.0")):
        made = with_token(settings).token
        assert made is not None
        assert len(made) >= 24
        assert with_token(settings).token != made
    assert with_token(ServerSettings(writable=True, token="long enough")).token == "long enough"


@pytest.mark.parametrize("token", ["", "short", "größenwahn", "line\nbreak", "tab\tulator"])
def test_tokens_that_no_request_could_carry(token: str) -> None:
    with pytest.raises(ServerError, match="at least 8"):
        with_token(ServerSettings(token=token))


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
def test_the_address_is_one_that_can_be_opened(host: str) -> None:
    try:
        listener = bind(ServerSettings(host=host, port=0))
    except ServerError:
        assert host == "::1", "this machine has no IPv6"
        return
    with listener:
        url = address(listener)
        assert url.startswith("http://[::1]:" if host == "::1" else "http://127.0.0.1:")
        with socket.create_connection((host, listener.getsockname()[1]), timeout=5):
            pass


def test_all_interfaces_are_shown_as_this_machine() -> None:
    with bind(ServerSettings(host="0.0.0.0", port=0)) as listener:
        assert address(listener).startswith("http://127.0.0.1:")


@pytest.mark.parametrize("host", ["no.such.host.invalid", "192.0.2.1", "x" * 70, ".."])
def test_addresses_that_cannot_be_had(host: str) -> None:
    with pytest.raises(ServerError, match=r"Cannot listen on .*--port"):
        bind(ServerSettings(host=host, port=0))


def test_a_port_that_is_taken() -> None:
    with bind(ServerSettings(port=0)) as taken, pytest.raises(ServerError, match="Cannot listen"):
        bind(ServerSettings(port=taken.getsockname()[1]))
