from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from kgtable.errors import StorageError
from kgtable.evaluation.benchmark import BenchmarkQuestion
from kgtable.evaluation.report import COLOURS, PROMPT_SHOWN, bar_chart, line_chart, report_html, write_report
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
    assert "answer: LLMUnreachableError: 1 (q2); schema: LLMReplyError: 1 (ports)" in page
    assert "No model was asked." in page
    assert '<td class="best">0.750<small>[0.500, 1.000]</small></td>' in page


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


HOSTILE = '"><script>alert(1)</script>&\u202e'


def svg(figure: str) -> ElementTree.Element:
    """The figure's drawing, read as XML."""
    match = re.search(r"<svg.*</svg>", figure, re.DOTALL)
    assert match is not None
    return ElementTree.fromstring(match[0])


def test_lines_go_up_with_their_values_and_keep_the_order_of_their_places() -> None:
    drawing = svg(line_chart("Recall", {"a": [(1, 0.0), (30, 0.5), (5, 1.0)]}))
    (line,) = drawing.iter("polyline")
    points = [tuple(map(float, point.split(","))) for point in line.attrib["points"].split()]
    assert points[0][1] > points[1][1] > points[2][1]
    assert points[0][0] < points[2][0] < points[1][0]
    assert len(list(drawing.iter("circle"))) == 3


def test_every_series_is_in_the_legend_and_late_ones_are_dashed() -> None:
    series = {f"s{n}": [(1, n / 10)] for n in range(COLOURS + 1)}
    figure = line_chart("t", series)
    assert all(f"</i>s{n}</span>" in figure for n in range(COLOURS + 1))
    dashed = [line for line in svg(figure).iter("polyline") if "stroke-dasharray" in line.attrib]
    assert len(dashed) == 1


def test_bars_are_as_long_as_their_values() -> None:
    drawing = svg(bar_chart("Time", {"a": 10.0, "b": 20.0, "c": 0.0}, "ms"))
    a, b, c = (float(bar.attrib["width"]) for bar in drawing.iter("rect"))
    assert b == 2 * a > c > 0
    assert "20.0 ms" in "".join(drawing.itertext())


def test_names_cannot_break_out_and_long_ones_are_cut() -> None:
    for figure in (
        line_chart(HOSTILE, {HOSTILE: [(1, 0.5)]}),
        bar_chart(HOSTILE, {HOSTILE: 1.0, "x" * 99: 2.0}, HOSTILE),
    ):
        assert "<script>" not in figure
        svg(figure)
    assert "x" * 29 + "…" in bar_chart("t", {"x" * 99: 2.0}, "ms")


def test_charts_of_nothing() -> None:
    assert not list(svg(line_chart("t", {})).iter("polyline"))
    assert not list(svg(bar_chart("t", {}, "ms")).iter("rect"))
