// The generated ontology: every predicate with its names, units and tables; the classes beside it.

import { count, empty, fetchJson, fill, h, later, links, parameters, remember, showIn } from "./shell.js";

const PAGE = 100;
const input = document.querySelector("#search");
const output = document.querySelector("#predicates");

function predicate(entry) {
  const units = entry.units.map((unit) => h("li", {}, h("span", { class: "chip" }, `${unit.name} · ${count(unit.cells)}`)));
  const query = `SELECT ?table ?row ?value WHERE {\n  GRAPH ?table { ?row <${entry.iri}> ?value }\n}\nLIMIT 100`;
  return h(
    "details",
    { class: "way" },
    h("summary", {}, entry.label, " ", h("small", {}, `${entry.name} · ${count(entry.tables_total)} ${entry.tables_total === 1 ? "table" : "tables"} · ${count(entry.cells)} cells`)),
    h("dl", { class: "facts" },
      h("dt", {}, "IRI"), h("dd", {}, h("a", { class: "mono", href: links.resource(entry.iri) }, entry.iri)),
      h("dt", {}, "Column names"), h("dd", { dir: "auto" }, entry.names.join(" · ")),
      h("dt", {}, "Holds"), h("dd", {}, entry.ranges.map((range) => `${range.name} (${count(range.cells)})`).join(", ")),
      h("dt", {}, "Tables"), h("dd", {}, entry.tables.map((id, place) => [place ? ", " : "", h("a", { href: links.table(id) }, id)]).flat(),
        entry.tables_total > entry.tables.length ? ` and ${count(entry.tables_total - entry.tables.length)} more` : "")),
    units.length ? h("ul", { class: "chips" }, units) : null,
    h("p", { class: "toolbar" }, h("a", { class: "button", href: links.query(query) }, "Query"), h("a", { class: "button", href: links.graph(entry.iri) }, "Graph")),
  );
}

async function list() {
  const words = input.value.trim();
  remember({ q: words });
  await showIn(output, "Reading the ontology…", async () => {
    let shown = 0;
    const get = () => fetchJson(`/api/ontology?${new URLSearchParams({ q: words, offset: shown, limit: PAGE })}`);
    const found = await get();
    if (!found.total) return empty(h("h2", {}, "No predicate matches"), h("p", {}, "Names and column names are searched."));
    const items = h("div", { class: "card" }, found.predicates.map(predicate));
    shown = found.predicates.length;
    const more = h("button", { type: "button", onclick: async () => {
      const next = await get();
      items.append(...next.predicates.map(predicate));
      shown += next.predicates.length;
      more.hidden = shown >= found.total;
    } }, "Show more");
    more.hidden = shown >= found.total;
    return [h("p", { class: "quiet", role: "status" }, `${count(found.total)} predicates`), items, more];
  });
}

async function classes() {
  const target = document.querySelector("#classes");
  await showIn(target, "Reading the classes…", async () => {
    const found = await fetchJson("/api/classes");
    const rows = found.classes.map((entry) =>
      h("tr", {}, h("td", {}, h("a", { href: links.resource(entry.iri) }, entry.name)), h("td", {}, entry.comment), h("td", { class: "number" }, count(entry.entities))));
    const head = ["Class", "What it is", "Entities"].map((name, place) => h("th", { scope: "col", class: place === 2 ? "number" : null }, name));
    return h("div", { class: "scroll" }, h("table", { class: "list" }, h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows)));
  });
}

input.value = parameters().get("q") ?? "";
input.addEventListener("input", later(list));
list();
classes();
