"""One JSON object a line for each request, written in batches so that it costs next to nothing."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from json.encoder import encode_basestring_ascii
from typing import TextIO


class AccessLog:
    """Writes to a text stream soon after the fact; `flush` writes what is left."""

    def __init__(self, stream: TextIO | None, delay: float = 0.5) -> None:
        self._stream, self._delay = stream, delay
        self._lines: list[str] = []
        self._timer: asyncio.TimerHandle | None = None
        self._second, self._clock = 0, ""

    def record(
        self, client: str, method: str, path: str, query: str, status: int, size: int, seconds: float
    ) -> None:
        """Notes one request. Long query strings are cut; bodies and tokens are never noted."""
        if self._stream is None:
            return
        now = time.time()
        if int(now) != self._second:
            self._second = int(now)
            self._clock = datetime.fromtimestamp(self._second, UTC).strftime("%Y-%m-%dT%H:%M:%S")
        texts = ",".join(
            f'"{name}":{encode_basestring_ascii(text[:500])}'
            for name, text in (("client", client), ("method", method), ("path", path), ("query", query))
        )
        self._lines.append(
            f'{{"time":"{self._clock}.{int(now * 1_000) % 1_000:03d}+00:00",{texts},'
            f'"status":{status},"bytes":{size},"ms":{seconds * 1_000:.2f}}}'
        )
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._delay, self.flush)

    def flush(self) -> None:
        """Writes the lines noted so far."""
        self._timer = None
        if self._stream is not None and self._lines:
            self._stream.write("\n".join(self._lines) + "\n")
            self._stream.flush()
        self._lines.clear()
