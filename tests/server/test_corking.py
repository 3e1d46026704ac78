from __future__ import annotations

import asyncio
from typing import Any

from kgtable.server.corking import CorkedTransport


class Socket:
    """What a transport is asked to do."""

    def __init__(self, *, closing: bool = False) -> None:
        self.done: list[object] = []
        self._closing = closing

    def write(self, data: bytes) -> None:
        self.done.append(data)

    def is_closing(self) -> bool:
        return self._closing

    def close(self) -> None:
        self.done.append("closed")

    def get_extra_info(self, name: str) -> str:
        return name


async def corked(socket: Socket) -> CorkedTransport:
    transport: Any = socket
    return CorkedTransport(transport)


def test_what_is_written_in_one_turn_is_sent_at_once_and_in_order() -> None:
    async def run() -> list[object]:
        socket = Socket()
        transport = await corked(socket)
        transport.write(b"a")
        transport.writelines([b"b", b"c"])
        assert socket.done == []
        await asyncio.sleep(0)
        assert socket.done == [b"abc"]
        transport.write(b"d")
        await asyncio.sleep(0)
        return socket.done

    assert asyncio.run(run()) == [b"abc", b"d"]


def test_closing_sends_what_was_noted_first() -> None:
    async def run() -> list[object]:
        socket = Socket()
        transport = await corked(socket)
        transport.write(b"a")
        transport.close()
        await asyncio.sleep(0)
        return socket.done

    assert asyncio.run(run()) == [b"a", "closed"]


def test_nothing_is_written_to_a_connection_that_is_gone() -> None:
    async def run() -> list[object]:
        socket = Socket(closing=True)
        transport = await corked(socket)
        transport.write(b"a")
        await asyncio.sleep(0)
        return socket.done

    assert asyncio.run(run()) == []


def test_everything_else_is_the_transports() -> None:
    async def run() -> object:
        return (await corked(Socket())).get_extra_info("peername")

    assert asyncio.run(run()) == "peername"
