from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from kgtable.errors import StorageError
from kgtable.evaluation.benchmark import BenchmarkQuestion
from kgtable.evaluation.evaluated_systems import System
from kgtable.evaluation.records import Record
from kgtable.evaluation.report import PROMPT_SHOWN, report_html, write_report
from kgtable.evaluation.run import Run
from tests.evaluation.test_summary import PLAN, RECORDS, SCHEMA

EVIL = "</script><script>x()</script>"


def data(page: str) -> list[dict[str, object]]:
    found = re.search(r'<script id="data" type="application/json">(.*?)</script>', page, re.DOTALL)
    assert found
    value: list[dict[str, object]] = json.loads(found[1])
    return value


def test_sections_appear_with_what_they_are_about() -> None:
    page = report_html(Run(PLAN, RECORDS, (SCHEMA,)))
    for heading in ("Summary", "Curves and time", "Failures", "Cost", "Questions"):
        assert f"<h2>{heading}</h2>" in page
    assert "by format and retriever" not in page
    assert "answer: LLMUnreachableError: 1 (q2); schema: LLMReplyError: 1 (ports)" in page
    assert "No model was asked." in page
    assert '<td class="best">0.750<small>[0.500, 1.000]</small></td>' in page


def test_formats_and_retrievers_make_a_heat_map() -> None:
    chosen = tuple(System(method, format) for method in ("bm25", "dense") for format in ("csv", "html"))
    records = [
        Record(system.name, "q1", scores={"recall@10": place / 4}) for place, system in enumerate(chosen)
    ]
    page = report_html(Run(replace(PLAN, systems=chosen), tuple(records)))
    table = page[page.index("Recall@10 by format and retriever") :]
    shown = re.findall(r'class="heat"[^>]*>([\d.]+)<', table)
    assert shown == ["0.000", "0.500", "0.250", "0.750"]


def test_text_of_all_kinds_cannot_leave_its_place() -> None:
    question = BenchmarkQuestion(EVIL, EVIL, (EVIL,), (EVIL,))
    plan = replace(PLAN, benchmark=EVIL, questions=(question,))
    record = replace(RECORDS[0], question=EVIL, tables=(EVIL,), prompt=EVIL, triples=(EVIL,))
    page = report_html(Run(plan, (record,)))
    assert EVIL not in page
    assert page.count("</script>") == 2
    (shown,) = data(page)
    assert (shown["id"], shown["text"], shown["answers"]) == (EVIL, EVIL, [EVIL])


def test_a_long_prompt_is_cut_and_says_so() -> None:
    record = replace(RECORDS[0], prompt="x" * (PROMPT_SHOWN + 1_500))
    page = report_html(Run(PLAN, (record,)))
    assert "1,500 more characters are left out here" in page
    assert "x" * (PROMPT_SHOWN + 1) not in page


def test_a_report_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    run = Run(PLAN, RECORDS)
    write_report(run, tmp_path / "r.html")
    assert (tmp_path / "r.html").read_text() == report_html(run)
    with pytest.raises(StorageError):
        write_report(run, tmp_path / "absent" / "r.html")
    assert [path.name for path in tmp_path.iterdir()] == ["r.html"]


def test_lone_surrogates_do_not_break_it(tmp_path: Path) -> None:
    plan = replace(PLAN, questions=(BenchmarkQuestion("q1", "\ud800"),))
    write_report(Run(plan, RECORDS[:1]), tmp_path / "r.html")
