"""A child process that answers by lines, such as one JSON object per request, within bounds of time and size."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

LONGEST_REPLY = 4 << 20
"""Bytes of a reply beyond which a process is ended."""

LONGEST_COMPLAINT = 2_000
_PIECE = 1 << 20


class ProcessEndedError(Exception):
    """The process ended, or was ended because it took too long or wrote too much; the message says which."""


class ChildProcess:
    """A child process that answers requests one by one; killed with all that it started.

    Args:
        command: what is run.
        environment: all the variables it gets.
        folder: where it runs; None for here.
        silent: whether what it writes to its standard error is dropped.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        *,
        folder: str | None = "/",
        silent: bool = False,
    ) -> None:
        self._child = subprocess.Popen(  # noqa: S603
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if silent else subprocess.PIPE,
            env=dict(environment),
            cwd=folder if os.name == "posix" else None,
            start_new_session=True,
        )
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._orders, self._replies = self._child.stdin, self._child.stdout
        self._received = bytearray()

    @property
    def pid(self) -> int:
        """The process id."""
        return self._child.pid

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self._child.poll() is None

    def ask(self, request: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """The reply to a request. Raises `ProcessEndedError`; the process is gone then."""
        if self._received:
            self.close()
            raise ProcessEndedError("it sent more than one reply and was stopped")
        line = json.dumps(request, ensure_ascii=True).encode("ascii") + b"\n"
        until = time.monotonic() + seconds
        writer = threading.Thread(target=self.send, args=(line,), daemon=True)
        writer.start()
        left = LONGEST_REPLY

        def spend(count: int) -> None:
            nonlocal left
            left -= count
            if left < 0:
                raise ProcessEndedError("it wrote too much output and was stopped")

        try:
            found = json.loads(self.line(until, spend))
            if not isinstance(found, dict):
                raise ValueError
        except ProcessEndedError:
            self.close()
            raise
        except (ValueError, RecursionError) as error:
            self.close()
            raise ProcessEndedError("its reply cannot be read") from error
        finally:
            writer.join(1.0)
        return found

    def send(self, line: bytes) -> bool:
        """Send a line; False where the process has ended."""
        try:
            self._orders.write(line)
            self._orders.flush()
        except (OSError, ValueError):
            return False
        return True

    def line(self, until: float | None = None, spend: Callable[[int], object] = bool, silence: float = 0.0) -> bytes:
        """The next line that it sends, without its end.

        Args:
            until: the time of the monotonic clock by which it is there, or None.
            spend: called with the bytes that arrive; may raise.
            silence: seconds for each piece of it, without `until`.

        Raises `ProcessEndedError` if the process has ended or takes too long.
        """
        searched = 0
        with selectors.DefaultSelector() as selector:
            selector.register(self._replies, selectors.EVENT_READ)
            while (end := self._received.find(b"\n", searched)) < 0:
                searched = len(self._received)
                left = silence if until is None else until - time.monotonic()
                if left <= 0 or not selector.select(left):
                    raise ProcessEndedError("it took too long and was stopped")
                piece = os.read(self._replies.fileno(), _PIECE)
                if not piece:
                    self._child.wait()
                    raise ProcessEndedError("it ended by itself, or memory ran out")
                spend(len(piece))
                self._received += piece
        line = bytes(memoryview(self._received)[:end])
        del self._received[: end + 1]
        return line

    def complaint(self) -> str:
        """The last line that it wrote to its standard error, after it ended."""
        stream = self._child.stderr
        if stream is None or self.alive:
            return ""
        with suppress(OSError, ValueError):
            os.set_blocking(stream.fileno(), False)
            text = (stream.read(LONGEST_COMPLAINT) or b"").decode("utf-8", "replace")
            return (text.strip().splitlines() or [""])[-1][:200]
        return ""

    def close(self) -> int:
        """Kill it and everything that it started; returns how it ended."""
        if self._child.poll() is None:
            with suppress(OSError):
                if os.name == "posix":
                    os.killpg(self._child.pid, signal.SIGKILL)
                else:
                    self._child.kill()
        for stream in (self._orders, self._replies):
            with suppress(OSError):
                stream.close()
        return self._child.wait()

    def release(self) -> None:
        """Kill the process and close its pipes."""
        self.close()
        if self._child.stderr is not None:
            self._child.stderr.close()
