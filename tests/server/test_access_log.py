from __future__ import annotations

import asyncio
import io
import json

from kgtable.server.monitoring import AccessLog


def logged(*requests: tuple[str, str], delay: float = 0.0) -> list[dict[str, object]]:
    """The lines for requests of these paths and queries."""
    stream = io.StringIO()

    async def run() -> None:
        log = AccessLog(stream, delay)
        for path, query in requests:
            log.record("127.0.0.1", "GET", path, query, 200, 5, 0.01234)
        await asyncio.sleep(0)
        log.flush()
        log.flush()

    asyncio.run(run())
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_request_is_a_line_of_json() -> None:
    (line,) = logged(("/sparql", "query=ASK"))
    assert str(line.pop("time")).endswith("+00:00")
    assert line == {
        "client": "127.0.0.1", "method": "GET", "path": "/sparql", "query": "query=ASK",
        "status": 200, "bytes": 5, "ms": 12.34,
    }  # fmt: skip


def test_hostile_requests_stay_in_their_line_and_are_cut() -> None:
    hostile = 'x"\n\r\x00\u2028\u202e<script>\ud800'
    line, other = logged((hostile, "q" * 10_000), ("/", ""))
    assert line["path"] == hostile
    assert len(str(line["query"])) == 500
    assert other["path"] == "/"


def test_lines_wait_for_each_other_and_none_is_written_twice() -> None:
    assert [line["path"] for line in logged(*((f"/{n}", "") for n in range(50)), delay=60.0)] == [
        f"/{n}" for n in range(50)
    ]


def test_without_a_stream_nothing_is_noted() -> None:
    log = AccessLog(None)
    log.record("", "GET", "/", "", 200, 0, 0.0)
    log.flush()
