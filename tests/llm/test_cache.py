from __future__ import annotations

import json
import logging
import sqlite3
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtable.config import ModelEndpoint, Secret
from kgtable.llm.client import CompletionCache, Trace
from kgtable.llm.conversation import ModelReply
from kgtable.llm.protocol import Completion, RequestFault, Usage

any_text = st.text(alphabet=st.characters(exclude_categories=()), max_size=20)
data = st.none() | st.dictionaries(any_text, st.none() | st.integers() | any_text | st.lists(any_text), max_size=3)
PAID = Usage(1, 100, 5, None)


@settings(max_examples=15)
@given(any_text, data, any_text)
def test_what_is_kept_comes_back_and_costs_nothing(text: str, data: dict[str, Any] | None, model: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        CompletionCache(Path(folder, "a", "ü.sqlite")).put("f", Completion(text, data, PAID, model))
        found = CompletionCache(Path(folder, "a", "ü.sqlite")).get("f")
    assert found == Completion(text, data, Usage(), model, from_cache=True)


def test_the_last_one_counts_and_others_are_not_known(tmp_path: Path) -> None:
    cache = CompletionCache(tmp_path / "c.sqlite")
    assert cache.get("f") is None
    for text in ("one", "two"):
        cache.put("f", Completion(text, None, PAID, "m"))
    found = cache.get("f")
    assert found is not None
    assert found.text == "two"
    assert cache.get("f'; DROP TABLE completions; --") is None


def test_threads_share_it(tmp_path: Path) -> None:
    cache = CompletionCache(tmp_path / "c.sqlite")
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: cache.put(str(n), Completion(str(n), None, PAID, "m")), range(20)))
        found = list(pool.map(lambda n: cache.get(str(n)), range(20)))
    assert [completion and completion.text for completion in found] == [str(n) for n in range(20)]


@pytest.mark.parametrize("kept", ["", "null", "[]", '{"text": 1}', "{"])
def test_damaged_content_is_a_warning_and_not_an_answer(
    kept: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cache = CompletionCache(tmp_path / "c.sqlite")
    cache.put("f", Completion("x", None, PAID, "m"))
    with closing(sqlite3.connect(cache.path)) as connection, connection:
        connection.execute("UPDATE completions SET reply = ?", (kept,))
    with caplog.at_level(logging.WARNING):
        assert cache.get("f") is None
    assert "c.sqlite: the cache of model replies cannot be read" in caplog.text


def test_a_cache_that_cannot_be_used_warns_and_does_not_stop(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_bytes(b"no database" * 100)
    for path in (tmp_path / "file", tmp_path / "file" / "below", tmp_path):
        caplog.clear()
        CompletionCache(path).put("f", Completion("x", None, PAID, "m"))
        assert CompletionCache(path).get("f") is None
        assert "cannot be written" in caplog.text
        assert "cannot be read" in caplog.text
    assert (tmp_path / "file").read_bytes() == b"no database" * 100


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
    trace.write(ENDPOINT, "answer", {"messages": ["my key is sk-secret"]}, RequestFault("bad key sk-secret"), 0)
    text = trace.path.read_text(encoding="utf-8")
    assert "sk-secret" not in text
    assert text.count("***") == 2


def test_threads_do_not_mix_their_lines(tmp_path: Path) -> None:
    trace = Trace(tmp_path / "t.jsonl")
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: trace.write(ENDPOINT, str(n), {}, ModelReply("x" * 5_000), 0), range(40)))
    lines = trace.path.read_text(encoding="utf-8").splitlines()
    assert sorted(int(json.loads(line)["stage"]) for line in lines) == list(range(40))


def test_lone_surrogates_do_not_stop_it(tmp_path: Path) -> None:
    trace = Trace(tmp_path / "t.jsonl")
    trace.write(ENDPOINT, "answer", {}, ModelReply("a\ud800"), 0)
    assert json.loads(trace.path.read_text(encoding="utf-8"))["reply"]["text"] == "a\ud800"
