// What the graph says of one IRI: the statements that start from it and those that lead to it.

import { count, empty, fetchJson, fill, h, links, localName, parameters, showIn } from "./shell.js";
import { termView } from "./cell-panel.js";

const output = document.querySelector("#resource");
const iri = parameters().get("iri") ?? output.dataset.iri;

/** A unit: what it is called, and where the tables use it. */
function unitCard(unit) {
  if (!unit) return null;
  const words = (name) => name.replace(/([a-z])([A-Z])/g, "$1 $2").toLowerCase();
  const kinds = unit.kinds.length ? [h("dt", {}, "Measures"), h("dd", {}, unit.kinds.map(words).join(", "))] : [];
  const currency = unit.currency ? [h("dt", {}, "ISO 4217"), h("dd", {}, unit.currency)] : [];
  return h("section", { class: "card", id: "unit" },
    h("p", { class: "big" }, unit.symbol || unit.label),
    h("dl", { class: "facts" }, h("dt", {}, "Name"), h("dd", {}, unit.label), h("dt", {}, "QUDT"), h("dd", { class: "mono" }, `unit:${unit.name}`), ...kinds, ...currency,
      h("dt", {}, "Used by"), h("dd", {}, `${count(unit.cells)} ${unit.cells === 1 ? "number" : "numbers"} in ${count(unit.tables_total)} ${unit.tables_total === 1 ? "table" : "tables"}`)),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Tables" }, h("table", { class: "list" },
      h("thead", {}, h("tr", {}, ["Table", "Columns", "Numbers"].map((name, place) => h("th", { scope: "col", class: place === 2 ? "number" : null }, name)))),
      h("tbody", {}, unit.tables.map((entry) => h("tr", {}, h("td", {}, h("a", { href: links.table(entry.table), dir: "auto" }, entry.title)),
        h("td", { dir: "auto" }, entry.columns.join(" · ")), h("td", { class: "number" }, count(entry.cells))))))));
}

function statements(found, title, names) {
  if (!found.length) return null;
  const groups = new Map();
  for (const entry of found) groups.set(entry.predicate, [...(groups.get(entry.predicate) ?? []), entry]);
  return h("section", { class: "card" }, h("h2", {}, title),
    h("dl", { class: "facts" }, [...groups].map(([predicate, entries]) => [
      h("dt", {}, h("a", { href: links.resource(predicate), title: predicate }, names[predicate] ?? localName(predicate))),
      h("dd", {}, entries.map((entry) => h("div", {}, termView(entry.term)))),
    ]).flat()));
}

await showIn(output, "Reading the graph…", async () => {
  const found = await fetchJson(`/api/resource?iri=${encodeURIComponent(iri)}`);
  document.title = `${found.unit?.label ?? (found.label || localName(iri))} · kgtable`;
  if (!found.outgoing.length && !found.incoming.length) {
    return empty(h("h1", {}, "The graph has no statements about this IRI"), h("p", { class: "mono" }, iri));
  }
  const turtle = `/resource?iri=${encodeURIComponent(iri)}&format=turtle`;
  return [
    h("h1", { dir: "auto" }, found.unit?.label ?? (found.label || localName(iri))),
    h("p", { class: "mono quiet" }, iri),
    h("p", { class: "toolbar" },
      found.table ? h("a", { class: "button", href: links.table(found.table, found.row ?? undefined, found.column ?? 0) }, "Show in its table") : null,
      h("a", { class: "button", href: links.graph(iri) }, "Show on the map"),
      h("a", { class: "button", href: turtle }, "Turtle"),
      h("a", { class: "button", href: turtle.replace("turtle", "jsonld") }, "JSON-LD")),
    unitCard(found.unit),
    statements(found.outgoing, "Statements", found.names),
    found.unit ? null : statements(found.incoming, "Incoming statements", found.names),
    found.more && !found.unit ? h("p", { class: "note" }, "Only the first statements are shown. ", h("a", { href: links.query(`DESCRIBE <${iri}>`) }, "Query for all.")) : null,
  ].filter(Boolean);
});
