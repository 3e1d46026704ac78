// The neighbourhood of a row, subject or predicate as a picture and, beside it, as a list.

import cytoscape from "./vendor/cytoscape.min.js";
import { count, empty, failure, fetchJson, fill, h, later, links, localName, parameters, remember, showIn } from "./shell.js";

const LIMIT = 40;
const GAP = 8;
const ROUNDS = 600;
const LONGEST = 60;
const WIDE = 40;
const canvas = document.querySelector("#canvas");
const side = document.querySelector("#side");
const input = document.querySelector("#start");
const landmarks = document.querySelector("#landmarks");
const picture = document.querySelector("#picture");
const hits = document.querySelector("#hits");
const status = document.querySelector("#status");
const colours = { table: "#4467c4", group: "#4467c4", predicate: "#b5472f", row: "#0d8a84", cell: "#d89a1d", entity: "#9a5cc6", literal: "#8b93a0", other: "#7a8290" };
const ink = () => getComputedStyle(document.body).color;
const paper = () => getComputedStyle(canvas).backgroundColor;

const graph = cytoscape({
  container: canvas,
  style: [
    { selector: "node", style: { label: "data(short)", "font-size": 11, color: ink, "text-wrap": "wrap", "text-max-width": 120, "text-valign": "bottom", "text-margin-y": 4, "text-background-color": paper, "text-background-opacity": 0.85, "text-background-padding": 1, width: 22, height: 22, "background-color": (node) => colours[node.data("kind")] ?? colours.other } },
    { selector: 'node[kind="literal"]', style: { shape: "round-rectangle", width: 14, height: 14 } },
    { selector: 'node[kind="table"], node[kind="group"]', style: { "font-size": 12, "font-weight": "bold" } },
    { selector: 'node[kind="group"]', style: { shape: "round-rectangle", width: 32 } },
    { selector: 'node[kind="predicate"]', style: { shape: "diamond", width: 16, height: 16 } },
    { selector: "node.expanded", style: { "border-width": 3, "border-color": ink } },
    { selector: "node:selected", style: { width: 30, height: 30, "border-width": 4, "border-color": "#c58a00" } },
    { selector: "edge", style: { width: 1.4, "line-color": "#98a1ad", "target-arrow-color": "#98a1ad", "target-arrow-shape": "triangle", "arrow-scale": 0.8, "curve-style": "bezier" } },
    { selector: 'edge[kind="statement"]', style: { label: "data(short)", "font-size": 9, color: ink, "text-opacity": 0.75, "text-background-color": paper, "text-background-opacity": 0.85, "text-rotation": "autorotate" } },
    { selector: 'edge[kind="join"]', style: { width: 2.4, "line-color": "#0d8a84", "target-arrow-color": "#0d8a84" } },
    { selector: 'edge[kind="union"]', style: { "line-style": "dashed", "target-arrow-shape": "none" } },
    { selector: 'edge[kind="column"]', style: { "target-arrow-shape": "none", opacity: 0.6 } },
  ],
});

/** The room that a node and its label take around its position. */
function roomOf(node) {
  const { x1, y1, x2, y2 } = node.boundingBox({ includeOverlays: false });
  const { x, y } = node.position();
  return { node, x, y, left: x - x1 + GAP, right: x2 - x + GAP, up: y - y1 + GAP, down: y2 - y + GAP };
}

/** Moves nodes apart, each by half of the smaller overlap, until neither nodes nor labels overlap. */
function apart(nodes) {
  const rooms = nodes.map(roomOf);
  for (let round = 1, touching = true; touching && round < ROUNDS; round += 1) {
    touching = false;
    for (const [place, one] of rooms.entries()) {
      for (const other of rooms.slice(place + 1)) {
        const across = one.x <= other.x ? one.x + one.right - other.x + other.left : other.x + other.right - one.x + one.left;
        const along = one.y <= other.y ? one.y + one.down - other.y + other.up : other.y + other.down - one.y + one.up;
        if (across <= 0.01 || along <= 0.01) continue;
        touching = true;
        if (across < along) {
          const half = (one.x <= other.x ? across : -across) / 2;
          one.x -= half;
          other.x += half;
        } else {
          const half = (one.y <= other.y ? along : -along) / 2;
          one.y -= half;
          other.y += half;
        }
      }
    }
    if (round % 50 === 0) rooms.forEach((room) => { room.x *= 1.2; room.y *= 1.2; });
  }
  rooms.forEach(({ node, x, y }) => node.position({ x, y }));
}

/** Puts groups of nodes, each as it is laid out, beside each other in rows, the largest first. */
function inRows(groups) {
  const boxes = groups.map((nodes) => ({ nodes, ...nodes.boundingBox({ includeOverlays: false }) })).sort((a, b) => b.h - a.h || a.nodes[0].data("label").localeCompare(b.nodes[0].data("label")));
  const area = boxes.reduce((sum, { w, h }) => sum + (w + 2 * GAP) * (h + 2 * GAP), 0);
  const width = Math.max(...boxes.map(({ w }) => w), Math.sqrt(area * Math.max(0.6, canvas.clientWidth / canvas.clientHeight)));
  let [x, y, height] = [0, 0, 0];
  for (const { nodes, x1, y1, w, h } of boxes) {
    if (x && x + w > width) [x, y, height] = [0, y + height + 2 * GAP, 0];
    nodes.shift({ x: x - x1, y: y - y1 });
    x += w + 2 * GAP;
    height = Math.max(height, h);
  }
}

function onCircle(nodes, centre, radius) {
  nodes.forEach((node, place) => {
    const angle = (2 * Math.PI * place) / nodes.length;
    node.position({ x: centre.x + radius * Math.cos(angle), y: centre.y + radius * Math.sin(angle) });
  });
}

/** Shows everything, at most a little larger than it is. */
function overlook() {
  graph.fit(undefined, 24);
  if (graph.zoom() > 1.3) graph.zoom(1.3);
  graph.center();
}

/** New neighbours start on a circle around their node; forces then spread what overlaps. */
function arrange(iri, added) {
  onCircle(added, graph.getElementById(iri).position(), 110 + 5 * added.length);
  if (graph.nodes().length > added.length + 1) graph.layout({ name: "cose", randomize: false, animate: false, fit: false, nodeRepulsion: 60000, nodeOverlap: 30, idealEdgeLength: 110 }).run();
  apart(graph.nodes());
  overlook();
}

/** A label that is not too long, of which long words may be broken. */
const short = (label) => (label.length <= LONGEST ? label : `${label.slice(0, LONGEST - 1)}…`).replace(/\S{16}(?=\S)/g, "$&\u200b");
const drawnAs = (node) => ({ group: "nodes", data: { ...node, short: short(node.label) } });

/** Of the legend what is on the picture. */
function explain() {
  for (const part of document.querySelectorAll(".legend [data-kind]")) part.hidden = !graph.elements(`[kind="${part.dataset.kind}"]`).length;
}

/** The map of the tables, to begin with: the values that join them, and tables that are parts of one. */
function draw(map) {
  picture.hidden = false;
  picture.classList.toggle("wide", map.nodes.length > WIDE);
  graph.resize();
  graph.add(map.nodes.map(drawnAs));
  graph.add(map.edges.map(({ source, target, label, kind }) => ({ group: "edges", data: { id: `${source} ${label} ${target}`, source, target, kind, predicate: "", short: label || "has column" } })));
  const groups = graph.elements().components().map((part) => {
    const nodes = part.nodes();
    onCircle(nodes, { x: 0, y: 0 }, 30 * nodes.length);
    if (nodes.length > 1) part.layout({ name: "cose", randomize: false, animate: false, fit: false, nodeRepulsion: 20000, nodeOverlap: 30, idealEdgeLength: 70 }).run();
    apart(nodes);
    return nodes;
  });
  inRows(groups);
  overlook();
  explain();
  status.textContent = `${count(map.tables)} table${map.tables === 1 ? "" : "s"}`;
  fill(side, h("p", { class: "quiet" }, "Choose a node; a double click opens its neighbourhood."), h("ul", { class: "triples" }, graph.nodes('[kind="table"], [kind="group"]').map((node) => h("li", {}, h("button", { class: "plain", type: "button", onclick: () => select(node.id()) }, node.data("label"))))));
}

async function expand(iri) {
  fill(landmarks);
  picture.hidden = false;
  picture.classList.remove("wide");
  graph.resize();
  status.textContent = "Reading the neighbourhood…";
  try {
    const found = await fetchJson(`/api/neighbours?${new URLSearchParams({ iri, limit: LIMIT })}`);
    const known = new Set(graph.elements().map((element) => element.id()));
    const added = [];
    for (const node of found.nodes) {
      if (known.has(node.id)) continue;
      const element = graph.add(drawnAs(node));
      if (node.id !== iri) added.push(element);
    }
    for (const edge of found.edges) {
      const id = `${edge.source} ${edge.predicate} ${edge.target}`;
      if (!known.has(id)) graph.add({ group: "edges", data: { id, source: edge.source, target: edge.target, kind: "statement", predicate: edge.predicate, short: found.names[edge.predicate] ?? localName(edge.predicate) } });
    }
    graph.getElementById(iri).addClass("expanded");
    arrange(iri, added);
    explain();
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
  const named = !["literal", "group"].includes(data.kind);
  const open = (target) => h("button", { class: "plain", type: "button", onclick: () => select(target.id()) }, target.data("label").slice(0, 120) || "(empty)");
  const lines = node.connectedEdges().map((edge) => {
    const outgoing = edge.source().id() === id;
    const other = outgoing ? edge.target() : edge.source();
    return h("li", {}, h("span", { class: "predicate" }, outgoing ? `${edge.data("short")} →` : `← ${edge.data("short")}`), open(other));
  });
  fill(side,
    h("h2", { dir: "auto" }, data.label || localName(id)),
    named ? h("p", { class: "mono quiet" }, id) : null,
    h("p", { class: "toolbar" },
      !named || node.hasClass("expanded") ? null : h("button", { class: "primary", type: "button", id: "expand", onclick: () => expand(id) }, "Expand"),
      named ? h("a", { class: "button", href: links.resource(id) }, "All statements") : null,
      data.table ? h("a", { class: "button", href: links.table(data.table, data.row ?? undefined, data.column ?? 0) }, "Table") : null),
    h("ul", { class: "triples" }, lines),
    data.members ? h("ul", { class: "triples" }, data.members.map((member) => h("li", {}, h("a", { href: links.table(member.id), dir: "auto" }, member.title)))) : null);
}

graph.on("tap", "node", (event) => select(event.target.id()));
graph.on("dbltap", "node", (event) => {
  if (!["literal", "group"].includes(event.target.data("kind"))) expand(event.target.id());
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
