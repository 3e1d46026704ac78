// Charts of an evaluation's figures over the size of tables, each with its numbers as a table.

import { count, h } from "./shell.js";

const SVG = "http://www.w3.org/2000/svg";
const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [480, 260, 64, 26, 10, 28];
const COLOURS = 8;

function s(name, attributes, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children.flat());
  return element;
}

const told = (value, share) => (share ? value.toFixed(3) : value >= 100 ? count(Math.round(value)) : String(Number(value.toPrecision(3))));

/** Places of values between two ends: by their logarithm, or shares from 0 to 1; what is 0 stands at the lower end. */
function axis(values, first, last, linear) {
  const least = Math.min(...values.filter((value) => value > 0), Infinity);
  const zero = Math.min(...values) <= 0;
  const lowest = Math.floor(Math.log10(least === Infinity ? 1 : least));
  const low = zero && least !== Infinity ? lowest - 1 : lowest;
  const high = Math.max(Math.log10(Math.max(...values, 10 ** lowest)), lowest + 1);
  const share = (value) => (linear ? value : value > 0 ? (Math.log10(value) - low) / (high - low) : 0);
  const powers = Array.from({ length: Math.floor(high) - low + 1 }, (_, place) => 10 ** (low + place));
  const told = (value) => (zero && value === powers[0] ? "0" : value >= 1 ? count(value) : String(value));
  const ticks = linear ? [0, 0.2, 0.4, 0.6, 0.8, 1].map((value) => [value, value.toFixed(1)]) : powers.map((value) => [value, told(value)]);
  return { at: (value) => Math.round(10 * (first + (last - first) * share(value))) / 10, ticks };
}

function drawing(figure) {
  const lines = Object.entries(figure.series);
  const points = lines.flatMap(([, line]) => line);
  const across = axis(points.map(([cells]) => cells), LEFT, WIDTH - RIGHT, false);
  const up = axis(points.map(([, value]) => value), HEIGHT - BOTTOM, TOP, figure.share);
  const style = (place) => `s${place % COLOURS}${place >= COLOURS ? " late" : ""}`;
  return s("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `${figure.label}, by cells` },
    up.ticks.map(([value, text]) => [
      s("line", { class: "axis", x1: LEFT, x2: WIDTH - RIGHT, y1: up.at(value), y2: up.at(value) }),
      s("text", { x: LEFT - 6, y: up.at(value) + 4, "text-anchor": "end" }, text),
    ]).flat(),
    across.ticks.map(([value, text]) => s("text", { x: across.at(value), y: HEIGHT - 8, "text-anchor": "middle" }, text)),
    lines.flatMap(([name, line], place) => [
      s("polyline", { class: style(place), points: line.map(([cells, value]) => `${across.at(cells)},${up.at(value)}`).join(" ") }),
      ...line.map(([cells, value]) => s("circle", { class: style(place), cx: across.at(cells), cy: up.at(value), r: 3 },
        s("title", {}, `${name}, ${count(cells)} cells: ${told(value, figure.share)}`))),
    ]));
}

function numbers(figure) {
  const sizes = [...new Set(Object.values(figure.series).flatMap((line) => line.map(([cells]) => cells)))].sort((one, other) => one - other);
  const rows = Object.entries(figure.series).map(([name, line]) => {
    const values = new Map(line);
    return h("tr", {}, h("th", { scope: "row" }, name), sizes.map((cells) => h("td", { class: "number" }, values.has(cells) ? told(values.get(cells), figure.share) : "–")));
  });
  const head = [h("th", { scope: "col" }, "Cells"), ...sizes.map((cells) => h("th", { scope: "col", class: "number" }, count(cells)))];
  return h("details", {}, h("summary", {}, "Numbers"), h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `${figure.label}, numbers` },
    h("table", { class: "list" }, h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows))));
}

/** A figure of the evaluation: its drawing, which line is which system, and its numbers. */
export function growthChart(figure) {
  const legend = Object.keys(figure.series).map((name, place) => h("li", {}, h("i", { class: `s${place % COLOURS}` }), name));
  return h("figure", { "data-growth": figure.name }, h("figcaption", {}, figure.label), drawing(figure), h("ul", { class: "legend" }, legend), numbers(figure));
}
