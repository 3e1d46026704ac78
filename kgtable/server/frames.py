"""Messages between the server and its worker processes: a JSON head and a binary body.

Each frame is two big-endian lengths of four bytes, then the head, then the body.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from typing import Any, TypeAlias

Head: TypeAlias = dict[str, Any]
Emit: TypeAlias = Callable[[Head, bytes], None]
"""How a worker sends an event ahead of its answer."""

_LENGTHS = struct.Struct(">II")
_write = json.JSONEncoder(separators=(",", ":")).encode
_read = json.JSONDecoder().decode


def encode(head: Head, body: bytes = b"") -> bytes:
    """Encode one message as bytes."""
    text = _write(head).encode("ascii")
    return b"".join((_LENGTHS.pack(len(text), len(body)), text, body))


class Decoder:
    """Decode messages from bytes that arrive in pieces."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes | memoryview) -> list[tuple[Head, bytes]]:
        """Add received bytes and return the messages they complete, in order."""
        self._buffer += data
        frames = []
        while len(self._buffer) >= _LENGTHS.size:
            head_size, body_size = _LENGTHS.unpack_from(self._buffer)
            body_start = _LENGTHS.size + head_size
            if len(self._buffer) < body_start + body_size:
                break
            with memoryview(self._buffer) as view:
                head = _read(str(view[_LENGTHS.size : body_start], "ascii"))
                body = bytes(view[body_start : body_start + body_size])
            del self._buffer[: body_start + body_size]
            frames.append((head, body))
        return frames
