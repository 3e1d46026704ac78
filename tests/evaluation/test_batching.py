from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest

from kgtable.errors import LLMError, LLMPendingError, LLMReplyError, StorageError
from kgtable.evaluation.session import BatchLLM
from kgtable.llm.protocol import Request

SCHEMA = {"type": "object", "required": ["total"]}
ASKED = [Request(({"role": "user", "content": f"q{n} ü"},), schema=SCHEMA) for n in range(3)]


def exported(path: Path, *requests: Request) -> list[str]:
    """The ids under which requests are written."""
    model = BatchLLM("m")
    for request in requests:
        with pytest.raises(LLMPendingError):
            model.complete(request)
    assert model.export(path) == len({request.fingerprint("m", "") for request in requests})
    return [json.loads(line)["custom_id"] for line in path.read_text(encoding="utf-8").splitlines()]


def result(id: str, content: str, status: int = 200) -> str:
    body = {"model": "m", "choices": [{"message": {"content": content}, "finish_reason": "stop"}]}
    return (
        json.dumps({"custom_id": id, "response": {"status_code": status, "body": body}, "error": None}) + "\n"
    )


def test_requests_are_collected_once_and_in_one_order(tmp_path: Path) -> None:
    one = exported(tmp_path / "one.jsonl", *ASKED, ASKED[0])
    other = exported(tmp_path / "other.jsonl", *ASKED[::-1])
    assert one == other == sorted(set(one))
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "other.jsonl").read_bytes()
    assert BatchLLM("m").export(tmp_path / "none.jsonl") == 0


def test_results_find_their_request_in_any_later_run(tmp_path: Path) -> None:
    ids = dict(zip(sorted(exported(tmp_path / "b.jsonl", ASKED[0])), [ASKED[0]], strict=True))
    (id,) = ids
    (tmp_path / "r.jsonl").write_text(result(id, '{"total": 3}'), encoding="utf-8")
    pieces: list[str] = []
    model = BatchLLM("m", [tmp_path / "r.jsonl"])
    assert model.complete(ASKED[0], on_text=pieces.append).data == {"total": 3}
    assert asyncio.run(model.complete_async(replace(ASKED[0], stage="other"))).data == {"total": 3}
    assert pieces == ['{"total": 3}']
    assert model.pending == {}
    with pytest.raises(LLMPendingError):
        model.complete(ASKED[1])
    with pytest.raises(LLMPendingError):
        BatchLLM("another", [tmp_path / "r.jsonl"]).complete(ASKED[0])


@pytest.mark.parametrize(("content", "status"), [("no object", 200), ('{"sum": 1}', 200), ("{}", 500)])
def test_results_that_cannot_be_used_are_errors_of_their_request(
    content: str, status: int, tmp_path: Path
) -> None:
    (id,) = exported(tmp_path / "b.jsonl", ASKED[0])
    (tmp_path / "r.jsonl").write_text(result(id, content, status), encoding="utf-8")
    with pytest.raises(LLMError) as caught:
        BatchLLM("m", [tmp_path / "r.jsonl"]).complete(ASKED[0])
    assert not isinstance(caught.value, LLMPendingError)


def test_files_that_are_no_results(tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").write_text("<html>", encoding="utf-8")
    with pytest.raises(LLMReplyError):
        BatchLLM("m", [tmp_path / "r.jsonl"])
    for path in (tmp_path / "nowhere", tmp_path):
        with pytest.raises((StorageError, LLMError)):
            BatchLLM("m", [path])
    with pytest.raises(StorageError):
        BatchLLM("m").export(tmp_path / "nowhere" / "b.jsonl")
