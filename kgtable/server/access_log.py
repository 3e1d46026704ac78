"""One JSON object a line for each request, written in batches so that it costs next to nothing."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime
from typing import TextIO


class AccessLog:
    """Writes to a text stream soon after the fact; `flush` writes what is left."""

    def __init__(self, stream: TextIO | None, delay: float = 0.5) -> None:
        self._stream, self._delay = stream, delay
        self._lines: list[str] = []
        self._timer: asyncio.TimerHandle | None = None

    def record(
        self, client: str, method: str, path: str, query: str, status: int, size: int, seconds: float
    ) -> None:
        """Notes one request. Long query strings are cut; bodies and tokens are never noted."""
        if self._stream is None:
            return
        entry = {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "client": client,
            "method": method,
            "path": path[:500],
            "query": query[:500],
            "status": status,
            "bytes": size,
            "ms": round(seconds * 1_000, 2),
        }
        self._lines.append(json.dumps(entry, separators=(",", ":")))
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._delay, self.flush)

    def flush(self) -> None:
        """Writes the lines noted so far."""
        self._timer = None
        if self._stream is not None and self._lines:
            self._stream.write("\n".join(self._lines) + "\n")
            self._stream.flush()
        self._lines.clear()
