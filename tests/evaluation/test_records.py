from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgtable.errors import BenchmarkError, StorageError, UsageError
from kgtable.evaluation.records import Failure, Record, RecordFile, added

ONE = Record("bm25", "q1", ("a", "b"), {"recall@1": 1.0}, {"text": "x"}, ms={"retrieval": 1.5})
TWO = Record("bm25", "q2", failures=(Failure("answer", "LLMUnreachableError", "gone", passing=True),))


def resumed(path: Path) -> list[Record]:
    file = RecordFile(path, "abc")
    with closing(file):
        return file.resume()


def filled(path: Path) -> None:
    file = RecordFile(path, "abc")
    file.start()
    file.add(ONE)
    file.add(TWO)
    file.close()


def test_records_come_back_except_those_to_be_tried_again(tmp_path: Path) -> None:
    filled(tmp_path / "r.jsonl")
    file = RecordFile(tmp_path / "r.jsonl", "abc")
    assert file.resume() == [ONE]
    file.add(Record("bm25", "q2"))
    file.close()
    assert [r.question for r in resumed(tmp_path / "r.jsonl")] == ["q1", "q2"]


@pytest.mark.parametrize("kept", range(0, 200, 7))
def test_a_file_cut_anywhere_can_be_resumed(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "r.jsonl"
    filled(path)
    path.write_bytes(path.read_bytes()[:kept])
    file = RecordFile(path, "abc")
    assert file.resume() in ([], [ONE])
    file.add(ONE)
    file.close()
    assert resumed(path) == [ONE]


def test_another_run_and_a_damaged_file_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    filled(path)
    with pytest.raises(UsageError, match="other settings"):
        RecordFile(path, "xyz").resume()
    with pytest.raises(UsageError, match="--resume"):
        RecordFile(path, "abc").start()
    path.write_text(path.read_text().replace('"tables"', '"tabels"'))
    with pytest.raises(BenchmarkError, match="line 2"):
        RecordFile(path, "abc").resume()


def test_a_full_disk_is_told(tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    file = RecordFile(tmp_path / "r.jsonl", "abc")
    file.start()
    assert file._handle is not None
    file._handle.close()
    file._handle = Path("/dev/full").open("ab", buffering=0)  # noqa: SIM115
    with pytest.raises(StorageError, match="No space left"):
        file.add(ONE)
    file.close()


counts = st.fixed_dictionaries(
    {
        "requests": st.integers(0, 9), "prompt_tokens": st.none() | st.integers(0, 999),
        "completion_tokens": st.none() | st.integers(0, 999), "cost_usd": st.none() | st.integers(0, 99),
    }
)  # fmt: skip
usages = st.builds(
    lambda total, stages: {**total, "stages": stages}, counts, st.dictionaries(st.sampled_from("abc"), counts)
)


@settings(max_examples=40)
@given(usages, usages)
def test_what_is_not_known_stays_unknown_and_nothing_is_lost(one: dict[str, Any], other: dict[str, Any]) -> None:
    total = added(one, other)
    assert total == {**added(other, one), "stages": total["stages"]}
    for name in ("requests", "prompt_tokens", "completion_tokens", "cost_usd"):
        parts = (one[name], other[name])
        assert total[name] == (None if None in parts else sum(parts))
    assert set(total["stages"]) == {*one["stages"], *other["stages"]}
    assert added(other, one)["stages"] == total["stages"]


@settings(max_examples=40)
@given(usages, usages, usages)
def test_the_order_of_adding_does_not_matter(a: dict[str, Any], b: dict[str, Any], c: dict[str, Any]) -> None:
    assert added(added(a, b), c) == added(a, added(b, c))
