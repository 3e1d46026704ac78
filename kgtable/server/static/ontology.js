// The generated ontology: every predicate with its names, units and tables; the classes beside it.

import { count, empty, fetchJson, fill, h, later, links, parameters, remember, showIn } from "./shell.js";

import { mappingEditor } from "./mapping-editor.js";

const PAGE = 100;
const input = document.querySelector("#search");
const output = document.querySelector("#predicates");

function predicate(entry) {
  const units = entry.units.map((unit) => h("li", {}, h("a", { class: "chip", href: links.resource(unitIri(unit.name)) }, `${unitLabel(unit.name)} · ${count(unit.cells)}`)));
  const query = `SELECT ?table ?row ?value WHERE {\n  GRAPH ?table { ?row <${entry.iri}> ?value }\n}\nLIMIT 100`;
  const more = h("div");
  return h(
    "details",
    { class: "way", ontoggle: () => { if (editing?.allowed && !more.childElementCount) more.append(mappingEditor(entry)); } },
    h("summary", {}, entry.label, " ", h("small", {}, `${entry.name} · ${count(entry.tables_total)} ${entry.tables_total === 1 ? "table" : "tables"} · ${count(entry.cells)} cells`)),
    h("dl", { class: "facts" },
      h("dt", {}, "IRI"), h("dd", {}, h("a", { class: "mono", href: links.resource(entry.iri) }, entry.iri)),
      h("dt", {}, "Column names"), h("dd", { dir: "auto" }, entry.names.join(" · ")),
      h("dt", {}, "Holds"), h("dd", {}, entry.ranges.map((range) => `${range.name} (${count(range.cells)})`).join(", ")),
      h("dt", {}, "Tables"), h("dd", {}, entry.tables.map((id, place) => [place ? ", " : "", h("a", { href: links.table(id) }, id)]).flat(),
        entry.tables_total > entry.tables.length ? ` and ${count(entry.tables_total - entry.tables.length)} more` : "")),
    units.length ? h("ul", { class: "chips" }, units) : null,
    h("p", { class: "toolbar" }, h("a", { class: "button", href: links.query(query) }, "Query"), h("a", { class: "button", href: links.graph(entry.iri) }, "Map")),
    more,
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

async function unitTable() {
  const target = document.querySelector("#units");
  if (!known.units.length) return;
  const rows = known.units.map((unit) => h("tr", {}, h("td", {}, h("a", { href: links.resource(unit.iri) }, unit.label)), h("td", {}, unit.symbol), h("td", { class: "number" }, count(unit.cells)), h("td", { class: "number" }, count(unit.tables))));
  const head = ["Unit", "Symbol", "Numbers", "Tables"].map((name, place) => h("th", { scope: "col", class: place > 1 ? "number" : null }, name));
  fill(target, h("h2", {}, "Units"), h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Units" }, h("table", { class: "list" }, h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows))));
}

const [known, editing] = await Promise.all([fetchJson("/api/units").catch(() => ({ units: [] })), fetchJson("/api/editing").catch(() => null)]);
const byName = new Map(known.units.map((unit) => [unit.name, unit]));
const unitLabel = (name) => byName.get(name)?.label ?? name;
const unitIri = (name) => byName.get(name)?.iri ?? name;

input.value = parameters().get("q") ?? "";
input.addEventListener("input", later(list));
list();
classes();
unitTable();
