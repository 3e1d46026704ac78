// The neighbourhood of a row, subject or predicate as a picture and, beside it, as a list.

import cytoscape from "./vendor/cytoscape.min.js";
import { count, empty, failure, fetchJson, fill, h, later, links, localName, parameters, remember, showIn } from "./shell.js";

const LIMIT = 40;
const canvas = document.querySelector("#canvas");
const side = document.querySelector("#side");
const input = document.querySelector("#start");
const landmarks = document.querySelector("#landmarks");
const picture = document.querySelector("#picture");
const hits = document.querySelector("#hits");
const status = document.querySelector("#status");
const colours = { table: "#4467c4", predicate: "#b5472f", row: "#0d8a84", cell: "#d89a1d", entity: "#9a5cc6", literal: "#8b93a0", other: "#7a8290" };
const ink = () => getComputedStyle(document.body).color;
const paper = () => getComputedStyle(canvas).backgroundColor;
const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;

const graph = cytoscape({
  container: canvas,
  style: [
    { selector: "node", style: { label: "data(short)", "font-size": 11, color: ink, "text-wrap": "ellipsis", "text-max-width": 130, "text-valign": "bottom", "text-margin-y": 4, "text-background-color": paper, "text-background-opacity": 0.85, "text-background-padding": 1, width: 22, height: 22, "background-color": (node) => colours[node.data("kind")] ?? colours.other } },
    { selector: 'node[kind="literal"]', style: { shape: "round-rectangle", width: 14, height: 14 } },
    { selector: 'node[kind="table"]', style: { "font-size": 13, "font-weight": "bold", "text-wrap": "wrap", "text-max-width": 150 } },
    { selector: 'node[kind="predicate"]', style: { shape: "diamond", width: 16, height: 16, "text-wrap": "wrap", "text-max-width": 110 } },
    { selector: "node.expanded", style: { "border-width": 3, "border-color": ink } },
    { selector: "node:selected", style: { width: 30, height: 30, "border-width": 4, "border-color": "#c58a00" } },
    { selector: "edge", style: { label: "data(short)", "font-size": 9, color: ink, "text-opacity": 0.75, "text-background-color": paper, "text-background-opacity": 0.85, width: 1.2, "line-color": "#98a1ad", "target-arrow-color": "#98a1ad", "target-arrow-shape": "triangle", "arrow-scale": 0.8, "curve-style": "bezier", "text-rotation": "autorotate" } },
    { selector: 'edge[short="has column"]', style: { label: "", "target-arrow-shape": "none", opacity: 0.6 } },
  ],
});

/** New neighbours start on a circle around their node; forces then spread what overlaps. */
function arrange(iri, added) {
  const centre = graph.getElementById(iri).position();
  const radius = 110 + 5 * added.length;
  added.forEach((node, place) => {
    const angle = (2 * Math.PI * place) / added.length;
    node.position({ x: centre.x + radius * Math.cos(angle), y: centre.y + radius * Math.sin(angle) });
  });
  const first = graph.nodes().length === added.length + 1;
  if (first) graph.animate({ fit: { padding: 45 } }, { duration: calm ? 0 : 300 });
  else graph.layout({ name: "cose", randomize: false, animate: calm ? false : "end", animationDuration: 350, nodeRepulsion: 60000, nodeOverlap: 30, idealEdgeLength: 110, padding: 45 }).run();
}

/** A label, of a long one of a column its end, as headers of several levels begin alike, of others the beginning. */
const short = ({ label, kind }) => (label.length <= 40 ? label : kind === "table" ? `${label.slice(0, 38)}…` : `…${label.slice(-38)}`);

/** The map of the tables, to begin with: their predicates, and the columns that join them. */
function draw(map) {
  picture.hidden = false;
  graph.resize();
  graph.add(map.nodes.map((node) => ({ group: "nodes", data: { ...node, short: short(node) } })));
  graph.add(map.edges.map(({ source, target, label }) => ({ group: "edges", data: { id: `${source} ${label} ${target}`, source, target, predicate: "", short: label || "has column" } })));
  graph.layout({ name: "cose", animate: false, nodeRepulsion: 9000, nodeOverlap: 20, idealEdgeLength: 50, componentSpacing: 30, padding: 24 }).run();
  const tables = map.nodes.filter(({ kind }) => kind === "table").length;
  status.textContent = `${count(tables)}${tables < map.tables ? ` of ${count(map.tables)}` : ""} table${map.tables === 1 ? "" : "s"}`;
  fill(side, h("p", { class: "quiet" }, "Choose a table or a column; open it by a double click."), h("ul", { class: "triples" }, graph.nodes('[kind="table"]').map((node) => h("li", {}, h("button", { class: "plain", type: "button", onclick: () => select(node.id()) }, node.data("label"))))));
}

async function expand(iri) {
  fill(landmarks);
  picture.hidden = false;
  status.textContent = "Reading the neighbourhood…";
  try {
    const found = await fetchJson(`/api/neighbours?${new URLSearchParams({ iri, limit: LIMIT })}`);
    const known = new Set(graph.elements().map((element) => element.id()));
    const added = [];
    for (const node of found.nodes) {
      if (known.has(node.id)) continue;
      const element = graph.add({ group: "nodes", data: { ...node, short: node.label.slice(0, 60) } });
      if (node.id !== iri) added.push(element);
    }
    for (const edge of found.edges) {
      const id = `${edge.source} ${edge.predicate} ${edge.target}`;
      if (!known.has(id)) graph.add({ group: "edges", data: { id, source: edge.source, target: edge.target, predicate: edge.predicate, short: found.names[edge.predicate] ?? localName(edge.predicate) } });
    }
    graph.getElementById(iri).addClass("expanded");
    arrange(iri, added);
    const total = graph.nodes().length;
    status.textContent = `${total} ${total === 1 ? "node" : "nodes"}${found.more ? "; only some neighbours are shown" : ""}`;
    select(iri);
  } catch (error) {
    status.textContent = "";
    fill(side, failure(error));
  }
}

function select(id) {
  const node = graph.getElementById(id);
  if (!node.length) return fill(side, empty(h("p", {}, "The graph has no statements about this IRI.")));
  graph.nodes().unselect();
  node.select();
  const data = node.data();
  const open = (target) => h("button", { class: "plain", type: "button", onclick: () => select(target.id()) }, target.data("label").slice(0, 120) || "(empty)");
  const lines = node.connectedEdges().map((edge) => {
    const outgoing = edge.source().id() === id;
    const other = outgoing ? edge.target() : edge.source();
    return h("li", {}, h("span", { class: "predicate" }, outgoing ? `${edge.data("short")} →` : `← ${edge.data("short")}`), open(other));
  });
  fill(side,
    h("h2", { dir: "auto" }, data.label || localName(id)),
    data.kind === "literal" ? null : h("p", { class: "mono quiet" }, id),
    h("p", { class: "toolbar" },
      data.kind === "literal" || node.hasClass("expanded") ? null : h("button", { class: "primary", type: "button", id: "expand", onclick: () => expand(id) }, "Expand"),
      data.kind === "literal" ? null : h("a", { class: "button", href: links.resource(id) }, "All statements"),
      data.table ? h("a", { class: "button", href: links.table(data.table, data.row ?? undefined, data.column ?? 0) }, "Table") : null),
    h("ul", { class: "triples" }, lines));
}

graph.on("tap", "node", (event) => select(event.target.id()));
graph.on("dbltap", "node", (event) => {
  if (event.target.data("kind") !== "literal") expand(event.target.id());
});

async function begin(iri) {
  graph.elements().remove();
  picture.hidden = false;
  graph.resize();
  remember({ iri });
  fill(hits);
  await expand(iri);
}

input.addEventListener("input", later(async () => {
  const words = input.value.trim();
  if (!words) return fill(hits);
  if (/^https?:\/\/\S+$/.test(words)) return begin(words);
  const found = await fetchJson(`/api/search?${new URLSearchParams({ q: words, limit: 12 })}`).catch((error) => ({ error, hits: [] }));
  if (found.error) return fill(hits, failure(found.error));
  if (!found.hits.length) return fill(hits, h("li", { class: "quiet" }, "No node has such a label."));
  fill(hits, found.hits.map((hit) => h("li", {}, h("button", { class: "chip", type: "button", onclick: () => begin(hit.iri) }, `${hit.label} `, h("small", {}, hit.kind)))));
}, 300));

input.addEventListener("keydown", (event) => {
  const only = hits.querySelectorAll("button");
  if (event.key === "Enter" && only.length === 1) only[0].click();
});

/** Where to begin: what tables share, and how they fit together. */
async function overview() {
  await showIn(landmarks, "Looking for what the tables share…", async () => {
    const found = await fetchJson("/api/landmarks");
    const title = (id) => found.titles[id] ?? id;
    const table = (id) => h("a", { href: links.table(id), dir: "auto" }, title(id));
    const end = (side) => [table(side.table), " · ", h("strong", { dir: "auto" }, side.name)];
    const joins = found.joins.map((join) => h("li", {}, h("div", {}, end(join.left), h("span", { class: "quiet" }, " = "), end(join.right)),
      h("div", { class: "quiet" }, `${count(join.matched)} ${join.matched === 1 ? "value" : "values"} in common`, join.fuzzy ? `, ${Math.round(100 * join.fuzzy)}% of them spelt otherwise` : "", join.examples.length ? [": ", h("bdi", {}, join.examples.join(", "))] : "", ` · score ${join.score.toFixed(2)} · `, h("a", { href: `${links.query(join.query)}&run=1` }, "Query"))));
    const unions = found.unions.map((union) => h("li", {}, union.tables.slice(0, 12).flatMap((id, place) => [place ? ", " : "", table(id)]), union.tables.length > 12 ? ` and ${count(union.tables.length - 12)} more` : "", h("div", { class: "quiet" }, `score ${union.score.toFixed(2)}`)));
    const subjects = found.subjects.map((subject) => h("li", {}, h("button", { class: "chip", type: "button", "data-subject": subject.iri, onclick: () => begin(subject.iri) }, h("bdi", {}, subject.label), " ", h("small", {}, `${count(subject.tables)} tables`))));
    if (found.map.nodes.length && !parameters().get("iri")) draw(found.map);
    if (found.map.nodes.length && !joins.length && !unions.length && !subjects.length) return null;
    if (!joins.length && !unions.length && !subjects.length) return empty(h("p", {}, "The tables share no subject and no column. Search for a row, a subject or a predicate."));
    return [
      subjects.length ? h("section", { class: "card" }, h("h2", {}, "Subjects of several tables"), h("ul", { class: "chips", id: "subjects" }, subjects)) : null,
      joins.length ? h("section", { class: "card" }, h("h2", {}, "Tables that can be joined"), h("ul", { class: "relations", id: "joins" }, joins)) : null,
      unions.length ? h("section", { class: "card" }, h("h2", {}, "Tables that are parts of one"), h("ul", { class: "relations", id: "unions" }, unions)) : null,
    ];
  });
}

const iri = parameters().get("iri");
if (iri) begin(iri);
else {
  picture.hidden = true;
  overview();
}
window.kgtableGraph = graph;
