// What the graph says of one IRI: the statements that start from it and those that lead to it.

import { empty, fetchJson, fill, h, links, localName, parameters, showIn } from "./shell.js";
import { termView } from "./cell-panel.js";

const output = document.querySelector("#resource");
const iri = parameters().get("iri") ?? output.dataset.iri;

function statements(found, title) {
  if (!found.length) return null;
  const groups = new Map();
  for (const entry of found) groups.set(entry.predicate, [...(groups.get(entry.predicate) ?? []), entry]);
  return h("section", { class: "card" }, h("h2", {}, title),
    h("dl", { class: "facts" }, [...groups].map(([predicate, entries]) => [
      h("dt", {}, h("a", { href: links.resource(predicate), title: predicate }, localName(predicate))),
      h("dd", {}, entries.map((entry) => h("div", {}, termView(entry.term)))),
    ]).flat()));
}

await showIn(output, "Reading the graph…", async () => {
  const found = await fetchJson(`/api/resource?iri=${encodeURIComponent(iri)}`);
  document.title = `${found.label || localName(iri)} · kgtable`;
  if (!found.outgoing.length && !found.incoming.length) {
    return empty(h("h1", {}, "The graph has no statements about this IRI"), h("p", { class: "mono" }, iri));
  }
  const turtle = `/resource?iri=${encodeURIComponent(iri)}&format=turtle`;
  return [
    h("h1", { dir: "auto" }, found.label || localName(iri)),
    h("p", { class: "mono quiet" }, iri),
    h("p", { class: "toolbar" },
      found.table ? h("a", { class: "button", href: links.table(found.table, found.row ?? undefined, found.column ?? 0) }, "Show in its table") : null,
      h("a", { class: "button", href: links.graph(iri) }, "Show in graph"),
      h("a", { class: "button", href: turtle }, "Turtle"),
      h("a", { class: "button", href: turtle.replace("turtle", "jsonld") }, "JSON-LD")),
    statements(found.outgoing, "Statements"),
    statements(found.incoming, "Incoming statements"),
    found.more ? h("p", { class: "note" }, "Only the first statements are shown. ", h("a", { href: links.query(`DESCRIBE <${iri}>`) }, "Query for all.")) : null,
  ].filter(Boolean);
});
