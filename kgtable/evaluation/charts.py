"""Charts of a report as SVG text: lines over cutoffs, and bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

COLOURS = 8
"""How many line colours the page's style has; after them, lines are dashed."""

_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP, _RIGHT = 480, 260, 40, 28, 10, 26
_GRID = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)


def line_chart(title: str, series: Mapping[str, Sequence[tuple[int, float]]]) -> str:
    """A figure of values between 0 and 1 over whole numbers, each series with its name in a legend."""
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
        colour = f"var(--s{index % COLOURS})"
        dash = ' stroke-dasharray="5 4"' if index >= COLOURS else ""
        path = " ".join(f"{across[x]:.1f},{_y(value):.1f}" for x, value in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>')
        for x, value in points:
            about = f"<title>{escape(name)}, {x:,}: {value:.3f}</title>"
            place = f'cx="{across[x]:.1f}" cy="{_y(value):.1f}"'
            parts.append(f'<circle {place} r="3" fill="{colour}">{about}</circle>')
        legend.append(f'<span><i style="background:{colour}"></i>{escape(name)}</span>')
    return _figure(title, _HEIGHT, parts, f'<div class="legend">{"".join(legend)}</div>')


def bar_chart(title: str, bars: Mapping[str, float], unit: str) -> str:
    """A figure with one horizontal bar a name, its value behind it."""
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
