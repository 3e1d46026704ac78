"""A child process that answers requests, one JSON object per line, within bounds of time and size."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO, Any

LONGEST_REPLY = 4 << 20
"""Bytes of a reply beyond which a process is ended."""

LONGEST_COMPLAINT = 2_000


class ProcessEndedError(Exception):
    """The process ended, or was ended because it took too long or wrote too much; the message says which."""


class BoundedProcess:
    """A child process that answers requests one by one; killed with all that it started.

    Args:
        command: what is run.
        environment: all the variables it gets.
    """

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self._child = subprocess.Popen(  # noqa: S603
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(environment),
            cwd="/" if os.name == "posix" else None,
            start_new_session=True,
        )
        self._rest = b""

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self._child.poll() is None

    def ask(self, request: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """The reply to a request. Raises `ProcessEndedError`; the process is gone then."""
        assert self._child.stdin is not None
        if self._rest:
            self.close()
            raise ProcessEndedError("it sent more than one reply and was stopped")
        line = json.dumps(request, ensure_ascii=True).encode("ascii") + b"\n"
        until = time.monotonic() + seconds
        writer = threading.Thread(target=self._send, args=(self._child.stdin, line), daemon=True)
        writer.start()
        try:
            reply = self._line(until)
            found = json.loads(reply)
        except ProcessEndedError:
            self.close()
            raise
        except (ValueError, RecursionError) as error:
            self.close()
            raise ProcessEndedError("its reply cannot be read") from error
        finally:
            writer.join(1.0)
        if not isinstance(found, dict):
            self.close()
            raise ProcessEndedError("its reply cannot be read")
        return found

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

    def close(self) -> None:
        """Kill it and everything that it started."""
        if self._child.poll() is None:
            with suppress(OSError):
                if os.name == "posix":
                    os.killpg(self._child.pid, signal.SIGKILL)
                else:
                    self._child.kill()
            self._child.wait()
        for stream in (self._child.stdin, self._child.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()

    def release(self) -> None:
        """Kill the process and close its pipes."""
        self.close()
        if self._child.stderr is not None:
            self._child.stderr.close()

    @staticmethod
    def _send(stream: IO[bytes], line: bytes) -> None:
        with suppress(OSError, ValueError):
            stream.write(line)
            stream.flush()

    def _line(self, until: float) -> bytes:
        assert self._child.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._child.stdout, selectors.EVENT_READ)
            while b"\n" not in self._rest:
                left = until - time.monotonic()
                if left <= 0 or not selector.select(left):
                    raise ProcessEndedError("it took too long and was stopped")
                piece = os.read(self._child.stdout.fileno(), 1 << 16)
                if not piece:
                    self._child.wait()
                    raise ProcessEndedError("it ended by itself, or memory ran out")
                self._rest += piece
                if len(self._rest) > LONGEST_REPLY:
                    raise ProcessEndedError("it wrote too much output and was stopped")
        line, _, self._rest = self._rest.partition(b"\n")
        return line
