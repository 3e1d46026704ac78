from __future__ import annotations

import socket

import pytest

from kgtable.errors import ServerError
from kgtable.server.running import address, bind, with_token
from kgtable.server.settings import ServerSettings


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
