"""Messages between the server and its worker processes: a JSON head and a body of bytes.

Each frame is two big-endian lengths of four bytes, then the head, then the body.
"""

from __future__ import annotations

import json
import struct
from typing import Any, BinaryIO, TypeAlias

Head: TypeAlias = dict[str, Any]

_LENGTHS = struct.Struct(">II")


def encode(head: Head, body: bytes = b"") -> bytes:
    """One frame as bytes."""
    text = json.dumps(head, separators=(",", ":")).encode("ascii")
    return b"".join((_LENGTHS.pack(len(text), len(body)), text, body))


def read(stream: BinaryIO) -> tuple[Head, bytes] | None:
    """The next frame of a blocking stream, None at its end."""
    lengths = stream.read(_LENGTHS.size)
    if len(lengths) < _LENGTHS.size:
        return None
    head_size, body_size = _LENGTHS.unpack(lengths)
    content = stream.read(head_size + body_size)
    if len(content) < head_size + body_size:
        return None
    return json.loads(content[:head_size]), content[head_size:]


class Decoder:
    """Frames out of bytes that arrive in pieces."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[tuple[Head, bytes]]:
        """The frames that these bytes complete, in order."""
        self._buffer += data
        frames = []
        while len(self._buffer) >= _LENGTHS.size:
            head_size, body_size = _LENGTHS.unpack_from(self._buffer)
            body_start = _LENGTHS.size + head_size
            if len(self._buffer) < body_start + body_size:
                break
            with memoryview(self._buffer) as view:
                head = json.loads(bytes(view[_LENGTHS.size : body_start]))
                body = bytes(view[body_start : body_start + body_size])
            del self._buffer[: body_start + body_size]
            frames.append((head, body))
        return frames
