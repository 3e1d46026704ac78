"""Charts of a report as SVG figures; their colours are those of the page's style."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from math import floor, log10

from kgtable.evaluation.scaling import Growth

COLOURS = 8
"""How many line colours the page's style has; after them, lines are dashed."""

_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP, _RIGHT = 480, 260, 40, 28, 10, 26
_GRID = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)


def line_chart(title: str, series: Mapping[str, Sequence[tuple[int, float]]]) -> str:
    """Line chart of values between 0 and 1 over integers, with a legend."""
    places = sorted({x for points in series.values() for x, _ in points})
    step = (_WIDTH - _LEFT - _RIGHT) / max(1, len(places) - 1)
    across = {x: _LEFT + step * index for index, x in enumerate(places)}
    parts = []
    for value in _GRID:
        y = _y(value)
        parts.append(f'<line class="axis" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y}" y2="{y}"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{value:.1f}</text>')
    for x, at in across.items():
        parts.append(f'<text x="{at:.1f}" y="{_HEIGHT - 8}" text-anchor="middle">{x:,}</text>')
    legend = []
    for index, (name, points) in enumerate(series.items()):
        dots = [(f"{across[x]:.1f}", f"{_y(value):.1f}", f"{x:,}: {value:.3f}") for x, value in points]
        parts += _line(index, name, dots)
        legend.append(_entry(index, name))
    return _figure(title, _HEIGHT, parts, f'<div class="legend">{"".join(legend)}</div>')


def growth_chart(growth: Growth) -> str:
    """Line chart of figures over the size of tables, which is logarithmic; so are figures that are no shares."""
    points = [point for line in growth.series.values() for point in line]
    sizes = sorted({x for x, _ in points})
    across = _Axis([float(x) for x in sizes] or [1.0], _LEFT + 20, _WIDTH - _RIGHT, linear=False)
    up = _Axis([y for _, y in points] or [1.0], _HEIGHT - _BOTTOM, _TOP, linear=growth.share)
    parts = []
    for value, told in up.ticks():
        y = up.at(value)
        parts.append(f'<line class="axis" x1="{_LEFT + 20}" x2="{_WIDTH - _RIGHT}" y1="{y}" y2="{y}"/>')
        parts.append(f'<text x="{_LEFT + 14}" y="{y + 4:.1f}" text-anchor="end">{told}</text>')
    for value, told in across.ticks():
        place = f'x="{across.at(value)}" y="{_HEIGHT - 8}" text-anchor="middle"'
        parts.append(f"<text {place}>{told}</text>")
    legend = []
    for index, (name, line) in enumerate(growth.series.items()):
        dots = [(f"{across.at(x)}", f"{up.at(y)}", f"{x:,} cells: {growth.text(y)}") for x, y in line]
        parts += _line(index, name, dots)
        legend.append(_entry(index, name))
    return _figure(growth.label, _HEIGHT, parts, f'<div class="legend">{"".join(legend)}</div>')


def _line(index: int, name: str, places: Sequence[tuple[str, str, str]]) -> Iterator[str]:
    """A series as a line with a dot for each point; `places` are x, y, and what a dot says."""
    colour, dash = _stroke(index)
    path = " ".join(f"{x},{y}" for x, y, _ in places)
    yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>'
    for x, y, said in places:
        about = f"<title>{escape(name)}, {said}</title>"
        yield f'<circle cx="{x}" cy="{y}" r="3" fill="{colour}">{about}</circle>'


def _entry(index: int, name: str) -> str:
    """A series in the legend."""
    return f'<span><i style="background:{_stroke(index)[0]}"></i>{escape(name)}</span>'


class _Axis:
    """Places of values between two ends of a drawing: by their logarithm, or shares from 0 to 1.

    What is 0 stands at the lower end of a logarithmic axis, which then begins a power of ten below the least value.
    """

    def __init__(self, values: Sequence[float], first: float, last: float, *, linear: bool) -> None:
        self._first, self._last, self._linear = first, last, linear
        least = min((value for value in values if value > 0), default=1.0)
        lowest = floor(log10(least))
        self._low, self._high = lowest, max(log10(max(*values, least)), lowest + 1)
        self._zero = min(values) <= 0
        if self._zero and max(values) > 0:
            self._low -= 1

    def at(self, value: float) -> float:
        """The place of a value."""
        share = value if self._linear else 0.0
        if not self._linear and value > 0:
            share = (log10(value) - self._low) / (self._high - self._low)
        return round(self._first + (self._last - self._first) * share, 1)

    def ticks(self) -> list[tuple[float, str]]:
        """The values at which there is a line, with their texts: powers of ten, or fifths."""
        if self._linear:
            return [(value, f"{value:.1f}") for value in _GRID]
        powers = range(self._low, floor(self._high) + 1)
        told = [(10.0**power, f"{10**power:,}" if power >= 0 else f"{10.0**power:g}") for power in powers]
        return [(told[0][0], "0"), *told[1:]] if self._zero else told


def _stroke(index: int) -> tuple[str, str]:
    """The colour of a line, and what makes it dashed where its colour is used a second time."""
    return f"var(--s{index % COLOURS})", ' stroke-dasharray="5 4"' if index >= COLOURS else ""


def bar_chart(title: str, bars: Mapping[str, float], unit: str) -> str:
    """Horizontal bar chart with the values beside the bars."""
    most = max(bars.values(), default=0.0) or 1.0
    parts = []
    for index, (name, value) in enumerate(bars.items()):
        y = 26 * index + 6
        length = max(1.0, 170 * value / most)
        parts.append(f'<text x="206" y="{y + 13}" text-anchor="end">{escape(_short(name))}</text>')
        parts.append(f'<rect class="bar" x="212" y="{y}" width="{length:.1f}" height="16" rx="2"/>')
        parts.append(f'<text x="{218 + length:.1f}" y="{y + 13}">{value:,.1f} {escape(unit)}</text>')
    return _figure(title, 26 * len(bars) + 6, parts)


def _figure(title: str, height: int, parts: Sequence[str], below: str = "") -> str:
    name = escape(title)
    svg = f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{name}">{"".join(parts)}</svg>'
    return f"<figure><figcaption>{name}</figcaption>{svg}{below}</figure>"


def _y(value: float) -> float:
    return round(_TOP + (_HEIGHT - _TOP - _BOTTOM) * (1 - value), 1)


def _short(name: str) -> str:
    return name if len(name) <= 30 else f"{name[:29]}…"
