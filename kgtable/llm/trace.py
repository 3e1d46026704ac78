"""A file of every prompt and reply, one JSON object a line, for people who want to see them."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kgtable.config import Endpoint
from kgtable.errors import StorageError
from kgtable.llm.conversation import Reply
from kgtable.llm.faults import Fault


class Trace:
    """Appends attempts to a JSONL file, from any number of threads. Keys are never part of it."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._lock = threading.Lock()

    def write(
        self, endpoint: Endpoint, stage: str, body: Mapping[str, Any], outcome: Reply | Fault, seconds: float
    ) -> None:
        """One attempt and its outcome. Raises `StorageError` where the file cannot be written."""
        record = {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "stage": stage,
            "base_url": endpoint.base_url,
            "request": body,
            "reply" if isinstance(outcome, Reply) else "fault": asdict(outcome),
            "ms": round(seconds * 1000, 1),
        }
        line = json.dumps(record, ensure_ascii=False)
        if endpoint.key is not None:
            line = endpoint.key.scrub(line)
        try:
            with self._lock, self.path.open("a", encoding="utf-8", errors="backslashreplace") as file:
                file.write(line + "\n")
        except OSError as error:
            raise StorageError(
                f"The trace file {self.path} cannot be written: {error.strerror or error}.",
                hint="Name another with KGTABLE_TRACE.",
            ) from error
