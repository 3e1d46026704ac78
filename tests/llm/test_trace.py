from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kgtable.config import ModelEndpoint, Secret
from kgtable.errors import StorageError
from kgtable.llm.cache import Trace
from kgtable.llm.conversation import ModelReply
from kgtable.llm.faults import RequestFault

ENDPOINT = ModelEndpoint("http://e/v1", Secret("sk-secret"))


def test_attempts_are_lines_of_json(tmp_path: Path) -> None:
    trace = Trace(tmp_path / "t.jsonl")
    trace.write(ENDPOINT, "labels", {"messages": ['a"\n\u2028\u202e']}, ModelReply("ü\n", model="m"), 0.0123)
    Trace(trace.path).write(ENDPOINT, "answer", {}, RequestFault("down", 500), 1.0)
    one, other = [json.loads(line) for line in trace.path.read_text(encoding="utf-8").split("\n")[:-1]]
    assert (one["stage"], one["base_url"], one["ms"]) == ("labels", "http://e/v1", 12.3)
    assert one["request"] == {"messages": ['a"\n\u2028\u202e']}
    assert one["reply"]["text"] == "ü\n"
    assert "fault" not in one
    assert (other["fault"]["status"], other["fault"]["message"]) == (500, "down")


def test_the_key_is_in_no_line(tmp_path: Path) -> None:
    trace = Trace(tmp_path / "t.jsonl")
    trace.write(
        ENDPOINT, "answer", {"messages": ["my key is sk-secret"]}, RequestFault("bad key sk-secret"), 0
    )
    text = trace.path.read_text(encoding="utf-8")
    assert "sk-secret" not in text
    assert text.count("***") == 2


def test_lone_surrogates_do_not_stop_it(tmp_path: Path) -> None:
    trace = Trace(tmp_path / "t.jsonl")
    trace.write(ENDPOINT, "answer", {}, ModelReply("a\ud800"), 0)
    assert json.loads(trace.path.read_text(encoding="utf-8"))["reply"]["text"] == "a\ud800"


def test_threads_do_not_mix_their_lines(tmp_path: Path) -> None:
    trace = Trace(tmp_path / "t.jsonl")
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: trace.write(ENDPOINT, str(n), {}, ModelReply("x" * 5_000), 0), range(40)))
    lines = trace.path.read_text(encoding="utf-8").splitlines()
    assert sorted(int(json.loads(line)["stage"]) for line in lines) == list(range(40))


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nowhere" / "t.jsonl"):
        with pytest.raises(StorageError, match="KGTABLE_TRACE") as caught:
            Trace(path).write(ENDPOINT, "answer", {}, ModelReply("x"), 0)
        assert str(path) in str(caught.value)
