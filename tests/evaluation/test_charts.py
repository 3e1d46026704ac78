from __future__ import annotations

import re
from xml.etree import ElementTree

from kgtable.evaluation.report import COLOURS, bar_chart, line_chart

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
