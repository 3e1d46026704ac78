// What is known of one cell: text, value, unit, scale and where they came from, IRI and triples.

import { fetchJson, fill, grouped, h, links, localName, reference, showIn } from "./shell.js";

/** Fills the panel with a cell. `close` is called when the reader is done with it. */
export async function showCell(panel, table, row, column, close) {
  panel.hidden = false;
  const search = new URLSearchParams({ table, row, column });
  const content = h("div");
  const button = h("button", { class: "plain close", type: "button", "aria-label": "Close", onclick: close }, "✕");
  fill(panel, button, h("h2", { tabindex: "-1" }, `Cell ${reference(row, column)}`), content);
  await showIn(content, "Reading the cell…", async () => cellFacts(await fetchJson(`/api/cells?${search}`)));
  const { chart } = await fetchJson(`/api/row-chart?${search}`).catch(() => ({ chart: null }));
  if (!chart || !content.isConnected) return;
  const { chartView } = await import("./chart-view.js");
  content.querySelector(".facts")?.after(chartView(chart));
}

const SOURCES = {
  cell: "the cell itself",
  format: "the number format",
  column: "the column's header",
  "column cells": "the other cells of the column",
  row: "the row's label",
  group: "the group's heading",
  corner: "the header's corner",
  mapping: "the edited mapping",
  caption: "the caption",
  title: "the title",
  heading: "a heading",
  paragraph: "a paragraph beside the table",
  text: "the surrounding text",
};

export const sourceOf = (source) => (source ? `from ${SOURCES[source] ?? source}` : "");
const from = (source) => h("small", {}, ` ${sourceOf(source)}`);

function cellFacts(cell) {
  const facts = [];
  const fact = (name, ...values) => facts.push(h("dt", {}, name), h("dd", {}, ...values));
  if (cell.value !== null) fact("Value", h("strong", {}, grouped(cell.value)));
  if (cell.upper !== null) fact("Up to", h("strong", {}, grouped(cell.upper)));
  if (cell.unit) {
    const symbol = cell.unit_symbol && cell.unit_symbol !== cell.unit_label ? ` (${cell.unit_symbol})` : "";
    const name = cell.unit_label ? `${cell.unit_label}${symbol}` : "a plain number";
    fact("Unit", h("a", { href: links.resource(cell.unit_iri), title: cell.unit_iri }, name), from(cell.unit_from));
  }
  if (cell.scale) fact("Scale", cell.scale_label ?? cell.scale, from(cell.scale_from));
  if (cell.period) fact("Period", cell.period);
  if (cell.datatype) fact("Type", localName(cell.datatype));
  if (cell.header) fact("Column", cell.header);
  if (cell.label) fact("Row", cell.label);
  if (cell.groups.length) fact("Group", cell.groups.join(" › "));
  if (cell.predicate) fact("Predicate", h("a", { href: links.resource(cell.predicate) }, localName(cell.predicate)));
  fact("IRI", h("a", { class: "mono", href: links.resource(cell.iri) }, cell.iri));
  return h("div", {},
    h("p", { class: "big", dir: "auto" }, cell.text || "(empty)"),
    h("dl", { class: "facts" }, facts),
    h("p", { class: "toolbar" },
      h("a", { class: "button", href: links.graph(cell.row_iri) }, "Show on the map"),
      h("a", { class: "button", href: links.query(cell.query) }, "Query")),
    h("details", { class: "way" },
      h("summary", {}, `${cell.triples.length} ${cell.triples.length === 1 ? "statement" : "statements"} in the graph`),
      h("ul", { class: "triples" }, cell.triples.map((triple) =>
        h("li", {}, h("span", { class: "predicate" }, localName(triple.predicate)), termView(triple.object))))));
}

/** A term of a triple: IRIs lead to their page, literals show their text. */
export function termView(term) {
  if (term.type === "uri") {
    return h("a", { href: links.resource(term.value), title: term.value }, term.label || localName(term.value));
  }
  const type = term.datatype && !term.datatype.endsWith("#string") ? ` ${localName(term.datatype)}` : "";
  const text = term.value.length > 400 ? `${term.value.slice(0, 400)}…` : term.value;
  return h("span", {}, h("bdi", { dir: "auto" }, text || "(empty)"), h("small", {}, term.language ? ` @${term.language}` : type));
}
