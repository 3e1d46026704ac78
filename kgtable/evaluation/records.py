"""Records of a run: one for each question and system, kept on disk while it runs, and their usage."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any

from kgtable.errors import BenchmarkError, UsageError
from kgtable.storage import storage_errors

FORCED_EVERY = 1.0
"""Seconds after which records that cost nothing are forced to disk: each time takes milliseconds."""

PREPARATION = ""
"""The question id in the record of a system's preparation. No question has an empty id."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a question has no result: the failed stage, the kind of error, and its message.

    `passing`: the endpoint failed, and a retry may succeed. `table` names the table, if the failure concerns
    a table and not a question.
    """

    stage: str
    cause: str
    message: str
    passing: bool = False
    table: str = ""


@dataclass(frozen=True, slots=True)
class Record:
    """The result of one question under one system; with question `PREPARATION`, of the system's preparation.

    `tables` are the ids found, best first; `triples` the best few as text; `scores` the metrics by name;
    `answer` the output of `answer_json`; `verdict` the judge's verdict; `ms` the time of each stage; `usage`
    the output of `UsageMeter`, with unknown tokens and dollars as None; `size`, where sizes are measured, the
    ``cells`` below the first line of the gold tables, whether they were ``shown`` (0 or 1), estimated ``tokens``
    of the first prompt, and texts ``encoded``.
    """

    system: str
    question: str
    tables: tuple[str, ...] = ()
    scores: Mapping[str, float] = field(default_factory=dict)
    answer: Mapping[str, Any] | None = None
    verdict: str | None = None
    failures: tuple[Failure, ...] = ()
    ms: Mapping[str, float] = field(default_factory=dict)
    usage: Mapping[str, Any] = field(default_factory=dict)
    prompt: str = ""
    triples: tuple[str, ...] = ()
    size: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def from_json(cls, item: Mapping[str, Any]) -> Record:
        """The inverse of `asdict`."""
        failures = tuple(Failure(**failure) for failure in item["failures"])
        lists = {name: tuple(item[name]) for name in ("tables", "triples")}
        return cls(**{**item, **lists, "failures": failures})

    @property
    def to_be_tried_again(self) -> bool:
        """Whether a resumed run repeats this question."""
        return any(failure.passing for failure in self.failures)


class RecordFile:
    """The records of an unfinished run, on disk. Thread-safe."""

    def __init__(self, path: Path, fingerprint: str) -> None:
        self.path = path
        self._fingerprint = fingerprint
        self._handle: IO[bytes] | None = None
        self._lock = threading.Lock()
        self._forced = 0.0

    def start(self) -> None:
        """Start a new file. Raises `UsageError` if an unfinished run left one."""
        if self.path.exists():
            raise UsageError(
                f"{self.path} holds the records of a run that did not end.",
                hint="Continue it with --resume, or delete the file to start over.",
            )
        with storage_errors(self.path):
            self._handle = self.path.open("ab", buffering=0)
        self._write({"fingerprint": self._fingerprint})

    def resume(self) -> list[Record]:
        """The records of an unfinished run, which continues in the same file; otherwise a new file.

        Raises `UsageError` if the file belongs to other settings, `BenchmarkError` if it is damaged.
        """
        with storage_errors(self.path):
            content = self.path.read_bytes() if self.path.exists() else b""
        complete = content[: content.rfind(b"\n") + 1]
        if not complete:
            self.path.unlink(missing_ok=True)
            self.start()
            return []
        records: dict[tuple[str, str], Record] = {}
        for number, line in enumerate(complete.splitlines(), 1):
            try:
                item = json.loads(line)
                if number == 1:
                    self._check(item["fingerprint"])
                    continue
                record = Record.from_json(item)
            except (ValueError, TypeError, KeyError, RecursionError) as error:
                raise BenchmarkError(
                    f"{self.path}, line {number}: this is not a record of a run.", hint="Delete the file to start over."
                ) from error
            records[record.system, record.question] = record
        with storage_errors(self.path):
            os.truncate(self.path, len(complete))
            self._handle = self.path.open("ab", buffering=0)
        return [record for record in records.values() if not record.to_be_tried_again]

    def add(self, record: Record) -> None:
        """Append a record durably. Raises `StorageError` if it cannot be written."""
        self._write(asdict(record), paid=bool(record.usage.get("requests")))

    def close(self) -> None:
        """Close the file and keep it."""
        if self._handle is not None:
            self._handle.close()
            self._handle = None

    def _check(self, fingerprint: str) -> None:
        if fingerprint != self._fingerprint:
            raise UsageError(
                f"{self.path} belongs to a run with other settings, questions or tables.",
                hint="Give the same options as that run, or delete the file to start over.",
            )

    def _write(self, item: Mapping[str, Any], *, paid: bool = True) -> None:
        assert self._handle is not None
        line = json.dumps(item, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"
        with self._lock, storage_errors(self.path):
            while line:  # on a disk that is nearly full, less is written than was asked for
                line = line[self._handle.write(line) :]
            now = time.monotonic()
            if paid or now - self._forced > FORCED_EVERY:
                os.fsync(self._handle.fileno())
                self._forced = now


Used = dict[str, Any]
_COUNTED = ("requests", "prompt_tokens", "completion_tokens", "cost_usd")


def added(one: Mapping[str, Any], other: Mapping[str, Any]) -> Used:
    """The sum of two usages of `UsageMeter.to_json`; unknown values stay None.

    >>> added({"requests": 1, "cost_usd": 0.5}, {"requests": 1, "cost_usd": None})["cost_usd"] is None
    True
    """
    first, second = one.get("stages", {}), other.get("stages", {})
    stages = {name: _sum(first.get(name, {}), second.get(name, {})) for name in {**first, **second}}
    return _sum(one, other) | {"stages": stages}


def spent(records: Iterable[Record]) -> Used:
    """Requests, tokens and dollars of all records, in total and by stage (``stages``)."""
    total: Used = {**dict.fromkeys(_COUNTED, 0), "stages": {}}
    for record in records:
        if record.usage.get("requests"):
            total = added(total, record.usage)
    return total


def times(used: Mapping[str, Any], factor: float) -> Used:
    """A usage so many times, in whole requests and tokens."""
    found: Used = {name: None if used[name] is None else round(factor * used[name]) for name in _COUNTED[:-1]}
    cost = None if used["cost_usd"] is None else factor * used["cost_usd"]
    stages = {name: times(stage, factor) for name, stage in used.get("stages", {}).items()}
    return {**found, "cost_usd": cost, "stages": stages}


def _sum(one: Mapping[str, Any], other: Mapping[str, Any]) -> Used:
    pairs = {name: (one.get(name, 0), other.get(name, 0)) for name in _COUNTED}
    return {name: None if a is None or b is None else a + b for name, (a, b) in pairs.items()}
