"""A run in a process of its own, interrupted by a full disk or a model that stops, and resumed."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.evaluation.sample import build, write_benchmark
from tests.evaluation.test_session import reply, stage_of
from tests.llm.scripted_server import Fail, Say, ScriptedServer

Script = Callable[[Mapping[str, Any]], Say | Fail]
FULL_AT = 5_000


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    root = tmp_path_factory.mktemp("interrupted")
    benchmark = write_benchmark(root / "small")
    return str(benchmark.folder), str(build(benchmark, root / "graph").path)


def run(
    folders: tuple[str, str], result: Path, script: Script, *options: str, most_bytes: int | None = None
) -> subprocess.CompletedProcess[str]:
    """`kgtable eval` with answers and judge; no file it writes can be longer than `most_bytes`."""

    def limit() -> None:
        if most_bytes is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))

    with ScriptedServer(script) as server:
        environment = {
            **os.environ,
            "KGTABLE_BASE_URL": server.base_url,
            "KGTABLE_MODEL": "m",
            "KGTABLE_RETRIES": "0",
            "KGTABLE_CONCURRENCY": "1",
            "KGTABLE_LLM_CACHE": "off",
        }
        command = [sys.executable, "-m", "kgtable", "eval", folders[0], "--kg", folders[1]]
        command += ["--method", "bm25", "--format", "markdown", "--judge", "--json", str(result), *options]
        return subprocess.run(command, env=environment, capture_output=True, text=True, preexec_fn=limit, check=False)


@pytest.fixture(scope="module")
def undisturbed(folders: tuple[str, str], tmp_path_factory: pytest.TempPathFactory) -> bytes:
    result = tmp_path_factory.mktemp("undisturbed") / "r.json"
    assert run(folders, result, reply).returncode == 0
    return result.read_bytes()


def test_a_full_disk_stops_a_run_that_goes_on_when_there_is_room(
    folders: tuple[str, str], tmp_path: Path, undisturbed: bytes
) -> None:
    result = tmp_path / "r.json"
    failed = run(folders, result, reply, most_bytes=FULL_AT)
    assert failed.returncode == 2
    assert failed.stderr.splitlines()[-1].startswith("Error: ")
    assert "r.json.partial.jsonl" in failed.stderr
    assert "Traceback" not in failed.stderr
    assert not result.exists()
    assert (tmp_path / "r.json.partial.jsonl").stat().st_size == FULL_AT
    assert run(folders, result, reply, "--resume").returncode == 0
    assert result.read_bytes() == undisturbed
    assert [path.name for path in tmp_path.iterdir()] == ["r.json"]


def test_a_model_that_goes_away_half_way_leaves_a_run_that_ends_the_same(
    folders: tuple[str, str], tmp_path: Path, undisturbed: bytes
) -> None:
    result = tmp_path / "r.json"

    def dying(body: Mapping[str, Any]) -> Say | Fail:
        return reply(body) if stage_of(body)[1] == "How many ships" else Fail(503, "down")

    first = run(folders, result, dying)
    assert first.returncode == 0, first.stderr
    assert "| answer: LLMUnreachableError | 3 | q2, q3, q4 |" in first.stdout
    assert "could not be reached for 3 questions" in first.stdout
    assert result.read_bytes() != undisturbed
    asked: list[str] = []

    def recovered(body: Mapping[str, Any]) -> Say | Fail:
        asked.append(stage_of(body)[1])
        return reply(body)

    assert run(folders, result, recovered, "--resume").returncode == 0
    assert "How many ships" not in asked
    assert result.read_bytes() == undisturbed
    assert [path.name for path in tmp_path.iterdir()] == ["r.json"]
