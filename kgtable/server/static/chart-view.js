// A result: its rows as a table, the chart that the server drew of them, and the program in other languages.

import { count, h, links } from "./shell.js";

const DOTS = 2;

/** The figure of a chart: `{ svg, description }`. */
export function chartView({ svg, description }) {
  const source = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  const picture = h("img", { src: source, alt: description });
  const save = h("button", { type: "button", onclick: () => savePng(picture) }, "PNG");
  return h("figure", { class: "chart" }, picture,
    h("figcaption", { class: "downloads" }, h("span", { class: "quiet" }, "Download"), h("a", { class: "button", href: source, download: "chart.svg" }, "SVG"), save));
}

const way = (words, ...content) => h("details", { class: "way" }, h("summary", {}, words), ...content);
const code = (text) => h("pre", { class: "code", tabindex: "0" }, text);

/** A program as JSON, SPARQL, SQL and Python, each on demand. */
export function formsView({ program, sparql, sql, python }) {
  const query = (language, text, address, id) => way(language, text
    ? [code(text), h("p", {}, h("a", { class: "button", id, href: address }, "Open in the editor"))]
    : h("p", { class: "quiet" }, `${language} cannot express this program, or the table is too long to write it while you wait.`));
  return program ? h("div", { class: "computed" }, way("Program", code(JSON.stringify(program, null, 2))), query("SPARQL", sparql, links.query(sparql), "sparql"),
    query("SQL", sql, `/sql?${new URLSearchParams({ query: sql })}`, "sql"), way("Python", code(python))) : null;
}

/** The rows of a result, of which there may be more; `titled` words the names of its columns. */
export function rowsView({ names, rows, row_count: size }, titled = (name) => name) {
  const numeric = names.map((_, place) => rows.some((row) => row[place] && row[place].unit !== null));
  const kind = (place) => (numeric[place] ? "number" : null);
  return [
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Result" },
      h("table", { class: "list", id: "rows" },
        h("thead", {}, h("tr", {}, names.map((name, place) => h("th", { scope: "col", class: kind(place), dir: "auto" }, titled(name))))),
        h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell, place) => h("td", { class: kind(place), dir: "auto" }, cell?.display ?? "(blank)"))))))),
    size > rows.length ? h("p", { class: "quiet", id: "size" }, `The first ${count(rows.length)} of ${count(size)} rows`) : null,
  ];
}

function savePng(picture) {
  const canvas = h("canvas", { width: picture.naturalWidth * DOTS, height: picture.naturalHeight * DOTS });
  canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
  h("a", { href: canvas.toDataURL("image/png"), download: "chart.png" }).click();
}
