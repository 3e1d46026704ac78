"""SECURITY.md says what the defaults are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kgtable.config import Settings
from kgtable.graph.remote.http import HttpPolicy
from kgtable.graph.sparql_text import DEEPEST, MOST_PARTS
from kgtable.llm.client import MOST_RECEIVED
from kgtable.llm.repair import LONGEST_REPAIRED
from kgtable.server.options import MEBIBYTE, ConnectionLimits, QueueLimits, ServerLimits
from kgtable.server.workers.writer import BATCH
from kgtable.tables.limits import ReadLimits
from kgtable.tables.readers.json_records import MOST_LEVELS

PAGE = Path(__file__).parents[2] / "SECURITY.md"
OF, LIMITS, QUEUE, READ, MODEL = ConnectionLimits(), ServerLimits(), QueueLimits(), ReadLimits(), Settings()


@pytest.mark.parametrize(
    ("bound", "default"),
    [
        ("connections of all", f"{OF.total}"), ("headers of a request", f"{OF.headers}"),
        ("size of all headers", f"{OF.head_bytes >> 10} KiB"), ("address of a request", f"{OF.url_bytes >> 10} KiB"),
        ("time until the head", f"{OF.head_seconds:g} s"), ("time between two requests", f"{OF.idle_seconds} s"),
        ("parameters in the address", f"{OF.parameters}"), ("time of a query", f"{LIMITS.query_seconds:g} s"),
        ("time of a write", f"{LIMITS.write_seconds:g} s"), ("memory of a query", f"{LIMITS.memory // MEBIBYTE:,} MiB"),
        ("memory of an operation", f"{LIMITS.api_memory // MEBIBYTE:,} MiB"),
        ("size of a result", f"{LIMITS.result // MEBIBYTE} MiB"),
        ("a result that is made whole", f"{LIMITS.held // MEBIBYTE} MiB"),
        ("text of a query", f"{LIMITS.query_text // MEBIBYTE} MiB"), ("brackets open", f"{DEEPEST}"),
        ("joined patterns", f"{MOST_PARTS:,}"), ("body of an update", f"{LIMITS.upload // MEBIBYTE} MiB"),
        ("bodies of writes", f"{QUEUE.uploads}"), ("quads of an upload", f"{BATCH:,}"),
        ("waiting requests", f"{QUEUE.waiting}, {QUEUE.patience:g} s"), ("time of an attempt", f"{MODEL.timeout:g} s"),
        ("further attempts", f"{MODEL.retries}"), ("tokens of a reply", f"{MODEL.max_tokens:,}"),
        ("a reply, whole", f"{MOST_RECEIVED // MEBIBYTE} MiB"),
        ("a reply whose JSON", f"{LONGEST_REPAIRED:,} characters"),
        ("a response of a SPARQL endpoint", f"{HttpPolicy().most_sent // MEBIBYTE} MiB sent"),
        ("cells of a table", f"{READ.max_cells:,}"), ("columns of a table", f"{READ.max_columns:,}"),
        ("cells without a value", f"{READ.max_gaps}"),
        ("bytes of a page or document", f"{READ.max_unpacked // MEBIBYTE} MiB"),
        ("levels of nesting", f"{MOST_LEVELS}"), ("what a compressed file", f"{READ.max_unpacked // MEBIBYTE} MiB"),
        ("memory of the process that reads", f"{READ.max_memory // MEBIBYTE:,} MiB"),
        ("its processor time", f"{READ.base_seconds} s and as much for each MiB up to {READ.max_seconds} s"),
        ("the same for a PDF", f"{READ.base_seconds} s"), ("pages of a PDF", f"{READ.max_pages:,}"),
    ],
)  # fmt: skip
def test_the_page_gives_the_default(bound: str, default: str) -> None:
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith(f"| {bound}")]
    assert len(rows) == 1
    assert re.search(rf"(?<![\d,]){re.escape(default)}(?![\d,]*\d)", rows[0]), rows[0]
