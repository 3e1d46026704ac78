from __future__ import annotations

from dataclasses import replace
from html import escape
from pathlib import Path

import pytest

from kgtable.errors import StorageError
from kgtable.evaluation.benchmark import BenchmarkQuestion
from kgtable.evaluation.report import PROMPT_SHOWN, report_html, write_report
from kgtable.evaluation.run import Run
from kgtable.evaluation.summary import as_markdown
from tests.evaluation.test_summary import PLAN, RECORDS, SCHEMA

EVIL = "</script><script>x()</script>"


def test_sections_appear_with_what_they_are_about() -> None:
    page = report_html(Run(PLAN, RECORDS, (SCHEMA,)))
    for heading in ("Means", "Time", "Failures", "Questions"):
        assert f"<h2>{heading}</h2>" in page
    assert "<td>answer: LLMUnreachableError</td><td>1</td><td>q2</td>" in page
    assert "<td>schema: LLMReplyError</td><td>1</td><td>ports</td>" in page
    assert "<h2>Cost</h2>" not in page
    assert "<td>0.750 [0.500, 1.000]</td>" in page


def test_text_of_all_kinds_cannot_leave_its_place() -> None:
    question = BenchmarkQuestion(EVIL, EVIL, (EVIL,), (EVIL,))
    plan = replace(PLAN, benchmark=EVIL, questions=(question,))
    record = replace(RECORDS[0], question=EVIL, tables=(EVIL,), prompt=EVIL, triples=(EVIL,))
    page = report_html(Run(plan, (record,)))
    assert EVIL not in page
    assert "script>" not in page
    assert page.count(escape(EVIL)) >= 7
    assert "<script" not in as_markdown(Run(plan, (record,)))


def test_a_long_prompt_is_cut_and_says_so() -> None:
    record = replace(RECORDS[0], prompt="x" * (PROMPT_SHOWN + 1_500))
    page = report_html(Run(PLAN, (record,)))
    assert "1,500 more characters are omitted here" in page
    assert "x" * (PROMPT_SHOWN + 1) not in page


def test_a_report_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    run = Run(PLAN, RECORDS)
    write_report(run, tmp_path / "r.html")
    assert (tmp_path / "r.html").read_text() == report_html(run)
    write_report(run, tmp_path / "r.md")
    assert (tmp_path / "r.md").read_text() == as_markdown(run)
    with pytest.raises(StorageError):
        write_report(run, tmp_path / "absent" / "r.html")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r.html", "r.md"]


def test_lone_surrogates_do_not_break_it(tmp_path: Path) -> None:
    plan = replace(PLAN, questions=(BenchmarkQuestion("q1", "\ud800"),))
    write_report(Run(plan, RECORDS[:1]), tmp_path / "r.html")
