"""Standard input of ``kgtable mcp``: what is too long, or comes from who reads nothing, is not taken in."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest

from kgtable.integrations.mcp_stdio import BoundedLines

pytest.importorskip("mcp", reason="the extra mcp is not installed")

MIB = 1 << 20
PING = b'{"jsonrpc":"2.0","id":"ping","method":"ping"}\n'


def lines_of(content: bytes, most: int, sizes: int) -> list[bytes]:
    """What is passed on of a content that arrives in pieces of so many bytes."""
    source, sink = os.pipe()
    with io.FileIO(sink, "w") as written, io.FileIO(source) as read, open(os.devnull, "wb") as results:
        threading.Thread(target=lambda: (written.write(content), written.close())).start()
        bounded = BoundedLines(read.fileno(), results.fileno(), most)
        return b"".join(iter(lambda: bounded.read1(sizes), b"")).splitlines(keepends=True)


@pytest.mark.parametrize("sizes", [1, 3, 7, 4_096])
def test_a_line_keeps_what_the_bound_lets_pass(sizes: int, capsys: pytest.CaptureFixture[str]) -> None:
    content = b"12345678\n\n" + b"x" * 1_000 + b"\n123456789\r\nlast, without an end"
    assert lines_of(content, 9, sizes) == [b"12345678\n", b"\n", b"xxxxxxxxx\n", b"123456789\n", b"last, wit"]
    assert capsys.readouterr().err == "A message of more than 9 bytes was passed over.\n" * 3


def test_descriptors_of_a_process_with_many_open_files_are_read() -> None:
    resource = pytest.importorskip("resource", reason="no limits on open files here")
    if resource.getrlimit(resource.RLIMIT_NOFILE)[0] < 2_048:
        pytest.skip("this process may not open that many files")
    with open(os.devnull, "wb") as results:
        many = [os.dup(results.fileno()) for _ in range(1_100)]
        try:
            source, sink = os.pipe()
            with io.FileIO(source) as read, io.FileIO(sink, "w") as written:
                written.write(b"a line\n")
                assert BoundedLines(read.fileno(), many[-1], 100).read1() == b"a line\n"
        finally:
            for descriptor in many:
                os.close(descriptor)


@contextmanager
def client(graph: Path) -> Iterator[tuple[subprocess.Popen[bytes], IO[bytes], IO[bytes]]]:
    """A server that was greeted, with the ends that its client writes to and reads from."""
    command = [sys.executable, "-m", "kgtable", "mcp", "--kg", str(graph)]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert server.stdin is not None
    assert server.stdout is not None
    greeting = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    server.stdin.write(request("initialize", greeting, 0) + b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
    server.stdin.flush()
    assert b"kgtable" in server.stdout.readline()
    try:
        yield server, server.stdin, server.stdout
    finally:
        server.kill()
        server.communicate()


def request(method: str, params: dict[str, Any], id: int) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).encode() + b"\n"


def resident(process: subprocess.Popen[bytes]) -> int:
    """The bytes of memory that a process has."""
    fields: Sequence[str] = Path(f"/proc/{process.pid}/statm").read_text(encoding="ascii").split()
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(sys.platform != "linux", reason="reads the memory that Linux tells")
def test_a_message_without_an_end_takes_no_memory(samples_path: Path) -> None:
    with client(samples_path) as (server, to, answers):
        before = resident(server)
        for _ in range(150):
            to.write(b"x" * MIB)
        to.write(b"\n" + PING)
        to.flush()
        assert json.loads(answers.readline())["id"] == "ping"
        assert resident(server) < before + 50 * MIB
        server.terminate()
        assert server.communicate()[1].count(b"A message of more than 4,194,304 bytes") == 1


def test_who_reads_no_results_is_not_heard_until_it_does(samples_path: Path) -> None:
    """2,000 answers of some 10 KiB: with none of them read, most requests stay in the pipe."""
    asked, sent = 2_000, 0
    call = {"name": "tables", "arguments": {"search": "", "limit": 200}}
    with client(samples_path) as (server, to, answers):

        def send() -> None:
            nonlocal sent
            for number in range(1, asked + 1):
                to.write(request("tools/call", call, number) + b" " * 8_192 + b"\n")
                to.flush()
                sent = number

        sender = threading.Thread(target=send)
        sender.start()
        sender.join(8)
        assert sender.is_alive()
        assert sent < asked / 2
        read = sorted(json.loads(answers.readline())["id"] for _ in range(asked))
        sender.join(30)
        assert read == list(range(1, asked + 1))
        assert server.poll() is None


@pytest.mark.parametrize("closed", ["<&-", ">&-"])
def test_without_a_client_the_command_ends_in_a_line(samples_path: Path, closed: str) -> None:
    line = f'"{sys.executable}" -m kgtable mcp --kg "{samples_path}" {closed}'
    done = subprocess.run(["sh", "-c", line], input="", capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert done.stderr.startswith("Error: The client is spoken to")
