from __future__ import annotations

import json
from pathlib import Path

import pytest

from kgtable.errors import LLMError, LLMReplyError
from kgtable.llm.conversation import read_batch, write_batch
from kgtable.llm.protocol import Completion, Request

SCHEMA = {"title": "sum", "type": "object", "required": ["total"]}
REQUESTS = {
    name: Request(({"role": "user", "content": name},), schema=SCHEMA) for name in ("q1", "q2", "q3", "q4")
}


def result(identity: str, content: str, status: int = 200) -> str:
    message = {"role": "assistant", "content": content}
    body = {"model": "m", "choices": [{"message": message, "finish_reason": "stop"}]}
    response = {"status_code": status, "body": body if status == 200 else {"error": {"message": content}}}
    return json.dumps({"custom_id": identity, "response": response, "error": None})


def test_requests_are_written_as_the_batch_api_takes_them(tmp_path: Path) -> None:
    path = tmp_path / "batch.jsonl"
    assert write_batch(REQUESTS.items(), "gpt-4o", path) == 4
    first = json.loads(path.read_text().splitlines()[0])
    assert {key: first[key] for key in ("custom_id", "method", "url")} == {
        "custom_id": "q1",
        "method": "POST",
        "url": "/v1/chat/completions",
    }
    assert first["body"]["model"] == "gpt-4o"
    assert first["body"]["response_format"]["json_schema"]["schema"] == SCHEMA


def test_an_id_may_come_only_once(tmp_path: Path) -> None:
    with pytest.raises(LLMError, match="'q1'"):
        write_batch([("q1", REQUESTS["q1"])] * 2, "gpt-4o", tmp_path / "batch.jsonl")


def test_results_are_read_back_by_id_in_any_order(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    expired = json.dumps({"custom_id": "q4", "response": None, "error": {"message": "expired"}})
    lines = [result("q2", '{"total": 2}'), result("q1", "hm"), result("q3", "bad model", 404), expired]
    path.write_text("\n".join(lines) + "\n")
    found = dict(read_batch(path, REQUESTS))
    assert list(found) == ["q2", "q1", "q3", "q4"]
    good = found["q2"]
    assert isinstance(good, Completion)
    assert good.data == {"total": 2}
    assert "no JSON object" in str(found["q1"])
    assert "bad model" in str(found["q3"])
    assert "expired" in str(found["q4"])


@pytest.mark.parametrize("line", ["nonsense", "[]", result("unknown", "{}")])
def test_a_foreign_line_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text(result("q1", '{"total": 1}') + "\n" + line + "\n")
    with pytest.raises(LLMReplyError, match="line 2"):
        list(read_batch(path, REQUESTS))
