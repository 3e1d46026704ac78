"""Limits, the queue and crashes: what a hostile or unlucky request may cost the others."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.server.serving import WRITER, Running

NUMBERS = "VALUES ?{0} {{ 0 1 2 3 4 5 6 7 8 9 }}"
BOMB = "SELECT (COUNT(*) AS ?n) {" + " ".join(NUMBERS.format(f"v{n}") for n in range(12)) + "}"
HUGE = "SELECT * {" + " ".join(NUMBERS.format(f"v{n}") for n in range(6)) + "}"
GREEDY = "SELECT * {" + " ".join(NUMBERS.format(f"v{n}") for n in range(8)) + "} ORDER BY ?v1 ?v0"


def workers(server: Running) -> list[int]:
    found = subprocess.run(["pgrep", "-P", str(os.getpid()), "-f", "server.worker"], capture_output=True, text=True)
    return [int(pid) for pid in found.stdout.split()]


def problem(answer: httpx.Response) -> str:
    return str(answer.json()["type"]).rpartition("#")[2]


def test_time_limit(reading: Running) -> None:
    answer = reading.query(BOMB)
    assert answer.status_code == 503
    assert problem(answer) == "timeout"
    assert reading.query("ASK {}").status_code == 200


def test_result_limit(reading: Running) -> None:
    answer = reading.query(HUGE)
    assert answer.status_code == 503
    assert problem(answer) == "result-too-large"


def test_memory_limit(reading: Running) -> None:
    answer = reading.query(GREEDY)
    assert answer.status_code == 503
    assert problem(answer) in ("memory-limit", "timeout")
    assert reading.query("ASK {}").status_code == 200


def test_short_queries_flow_beside_a_bomb(reading: Running) -> None:
    with ThreadPoolExecutor(4) as threads:
        bombs = [threads.submit(reading.query, BOMB)]
        time.sleep(0.5)
        short = [reading.query(f"ASK {{}} # {n}") for n in range(20)]
        assert [answer.text for answer in short if answer.status_code != 200] == []
        assert {bomb.result().status_code for bomb in bombs} == {503}
        assert {problem(bomb.result()) for bomb in bombs} == {"timeout"}


def test_a_full_queue_is_refused_with_an_invitation(reading: Running) -> None:
    with ThreadPoolExecutor(24) as threads:
        answers = list(threads.map(lambda n: reading.query(BOMB + f"# {n}"), range(24)))
    refused = [answer for answer in answers if problem(answer) == "busy"]
    assert {answer.status_code for answer in answers} == {503}
    assert refused
    assert all(answer.headers["retry-after"] for answer in refused)
    assert reading.query("ASK {}").status_code == 200


def test_a_killed_worker_costs_one_request(reading: Running) -> None:
    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(reading.query, BOMB)
        deadline = time.monotonic() + 1.0
        while reading.state.readers.running == 0 and time.monotonic() < deadline:
            time.sleep(0.01)
        for pid in workers(reading):
            os.kill(pid, signal.SIGKILL)
        answer = running.result()
    assert answer.status_code == 503
    assert problem(answer) == "crashed"
    for _ in range(5):
        assert reading.query("ASK {}").status_code == 200


def test_processes_stay_bounded(reading: Running) -> None:
    assert reading.state.readers.processes <= 2
    assert reading.state.readers.running == 0
    assert reading.state.readers.waiting == 0


def test_an_acknowledged_write_survives_a_killed_writer(writing: Running) -> None:
    for n in range(10):
        assert writing.update(f"INSERT DATA {{ <k:s> <k:p> {n} }}").status_code == 204
    for pid in workers(writing):
        os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + 10
    answer = writing.query("SELECT (COUNT(*) AS ?n) { <k:s> <k:p> ?o }")
    while answer.status_code != 200 and time.monotonic() < deadline:
        answer = writing.query("SELECT (COUNT(*) AS ?n) { <k:s> <k:p> ?o }")
    assert answer.json()["results"]["bindings"][0]["n"]["value"] == "10"
    answer = writing.update("INSERT DATA { <k:s> <k:p> 10 }")
    assert answer.status_code == 204, answer.text


@pytest.mark.parametrize("size", [100, 150_000])
def test_uploads_within_the_limit(writing: Running, size: int) -> None:
    body = f'<u:s> <u:p> "{"x" * size}" .'
    headers = {**WRITER, "content-type": "text/turtle"}
    assert writing.client.put("/store?graph=u:g", content=body, headers=headers).status_code in (201, 204)


def test_uploads_beyond_the_limit(writing: Running) -> None:
    headers = {**WRITER, "content-type": "text/turtle"}
    answer = writing.client.put("/store?graph=u:g", content=b"#" * 300_000, headers=headers)
    assert answer.status_code == 413
