// The SPARQL page: an editor, what the endpoint answers, and an address that brings both back.

import { busy, count, fetchJson, failure, fill, h, later, parameters, remember } from "./shell.js";
import { chartView } from "./chart-view.js";
import { ResultTable } from "./result-table.js";
import { QueryEditor } from "./query-editor.js";
import { statements, Terms } from "./terms.js";

const MOST_BYTES = 32 << 20;
const ENOUGH_TO_SHOW = 1 << 16;
const ACCEPT = "application/sparql-results+json, application/n-triples;q=0.9";
const START = "SELECT ?table ?label ?value ?unit WHERE {\n  GRAPH ?table {\n    ?row rdfs:label ?label ; ?predicate ?cell .\n    ?cell qudt:numericValue ?value ; qudt:hasUnit ?unit .\n  }\n}\nLIMIT 20";
const FORMATS = {
  table: { csv: "CSV", json: "JSON", tsv: "TSV", xml: "XML" },
  graph: { turtle: "Turtle", jsonld: "JSON-LD", ntriples: "N-Triples" },
};

const output = document.querySelector("#results");
const status = document.querySelector("#status");
const buttons = Object.fromEntries(["run", "stop", "share"].map((name) => [name, document.querySelector(`#${name}`)]));
const list = document.querySelector("#examples");
if (matchMedia("(max-width: 60rem)").matches) list.closest("details").open = false;
const kept = sessionStorage.getItem("kgtable-query");
sessionStorage.removeItem("kgtable-query");
const asked = parameters().get("query") ?? kept;

let terms = new Terms({});
let running = null;
let ran = null;

const note = later(() => {
  const query = editor.getValue();
  remember({ query, run: query === ran ? "1" : null });
}, 400);
const editor = new QueryEditor(document.querySelector("#editor"), { value: asked ?? START, changed: note, run: () => run() });
window.kgtableEditor = editor;

/**
 * What was read of a response, and whether it was all; reading stops at a size that a page can hold.
 * `begun` is called once with the beginning of a long one, before the rest is there.
 */
async function received(response, begun) {
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  const parts = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return { text: parts.join("") + decoder.decode(), whole: true };
    size += value.length;
    parts.push(decoder.decode(value, { stream: true }));
    if (begun && size > ENOUGH_TO_SHOW) {
      begun(parts.join(""));
      begun = null;
    }
    status.textContent = size > 1 << 20 ? `Receiving… ${(size / (1 << 20)).toFixed(0)} MiB` : status.textContent;
    if (size > MOST_BYTES) {
      await reader.cancel();
      return { text: parts.join(""), whole: false };
    }
  }
}

/** The rows of a JSON result, of which the end may be missing. */
function parsed(text, whole) {
  if (whole) return JSON.parse(text);
  for (let end = text.lastIndexOf('}},{"'); end > 0; end = text.lastIndexOf('}},{"', end - 1)) {
    try {
      return JSON.parse(`${text.slice(0, end)}}}]}}`);
    } catch {
      continue;
    }
  }
  throw new Error("The result is too long to be shown.");
}

function downloads(query, kind) {
  return h("span", { class: "downloads" }, h("span", { class: "quiet" }, "Download"),
    Object.entries(FORMATS[kind]).map(([format, name]) =>
      h("a", { class: "button", download: `result.${{ turtle: "ttl", ntriples: "nt" }[format] ?? format}`, href: `/sparql?${new URLSearchParams({ query, format })}` }, name)));
}

/** The result of one query as it is shown, which grows from its first rows to the whole. */
class Shown {
  constructor(query, kind) {
    Object.assign(this, { query, kind, noun: kind === "table" ? "result" : "statement", table: null });
    this.number = h("strong", { id: "count" });
    this.said = h("span", { class: "quiet" });
  }

  /** What stands first in a long result, while the rest is under way. */
  begin(text) {
    let beginning;
    try {
      beginning = this.read(text, false);
    } catch {
      return; // not one row is there as a whole
    }
    const { variables, rows } = beginning;
    if (!rows.length) return;
    this.say(rows, "The rest is under way…", false);
    fill(output, this.frame(variables, rows));
    intoView();
  }

  /** All that was received; `whole` is whether it is all there is. */
  end(text, whole, seconds) {
    const time = `${seconds.toFixed(seconds < 10 ? 2 : 0)} s`;
    const { variables, rows, verdict } = this.read(text, whole);
    if (verdict !== undefined) return [h("p", { class: "verdict" }, verdict ? "Yes" : "No"), h("p", { class: "quiet" }, time)];
    this.say(rows, whole ? time : "The download has all of them.", whole);
    if (!this.table) return this.frame(variables, rows);
    this.table.extend(rows);
    return null;
  }

  read(text, whole) {
    if (this.kind !== "table") return { variables: ["subject", "predicate", "object"], rows: statements(text) };
    const result = parsed(text, whole);
    return { variables: result.head.vars, rows: result.results?.bindings, verdict: result.boolean };
  }

  say(rows, more, whole) {
    const plural = rows.length === 1 ? "" : "s";
    this.number.textContent = whole ? `${count(rows.length)} ${this.noun}${plural}` : `The first ${count(rows.length)} ${this.noun}${plural}`;
    this.said.textContent = more;
  }

  frame(variables, rows) {
    const views = this.kind === "table" && rows.length > 1 ? this.views() : null;
    const bar = h("p", { class: "toolbar results-bar" }, this.number, this.said, views, downloads(this.query, this.kind));
    if (!rows.length) return [bar, h("p", { class: "empty" }, "The query matches nothing.")];
    this.table = new ResultTable(variables, rows, terms);
    return [bar, this.table.element, this.chart];
  }

  /** Buttons that show the rows as a table or as a chart, which the server draws when it is first asked for. */
  views() {
    this.chart = h("div", { hidden: true });
    const choose = (chosen) => {
      buttons.forEach((button) => button.setAttribute("aria-pressed", button.textContent === chosen));
      this.chart.hidden = chosen === "Table";
      this.table.element.hidden = chosen === "Chart";
      if (chosen === "Chart" && !this.chart.hasChildNodes()) this.draw();
    };
    const buttons = ["Table", "Chart"].map((name) => h("button", { type: "button", "aria-pressed": String(name === "Table"), onclick: () => choose(name) }, name));
    return h("span", { class: "views", role: "group", "aria-label": "View" }, buttons);
  }

  async draw() {
    fill(this.chart, busy("Drawing…"));
    const found = await fetchJson(`/api/chart?${new URLSearchParams({ query: this.query })}`).catch((error) => ({ error }));
    const none = "There is nothing to draw: a chart needs a column of numbers beside one of texts or years.";
    fill(this.chart, found.error ? failure(found.error) : found.chart ? chartView(found.chart) : h("p", { class: "empty" }, none));
  }
}

function intoView() {
  const box = output.getBoundingClientRect();
  if (box.top > innerHeight - 160 || box.top < 0) output.scrollIntoView({ block: "start" });
}

async function problem(response) {
  const found = await response.json().catch(() => ({ detail: `The server answered ${response.status}.` }));
  if (found.line) editor.mark(found);
  return [h("div", { class: "note bad", role: "alert" }, h("strong", {}, found.title ?? "The query failed"), h("p", {}, found.detail ?? ""))];
}

async function run({ push = true } = {}) {
  running?.abort();
  const mine = new AbortController();
  running = mine;
  const query = editor.getValue();
  editor.clear();
  ran = query;
  const address = `/query?${new URLSearchParams({ query, run: "1" })}`;
  if (push && location.pathname + location.search !== address) history.pushState(null, "", address);
  buttons.stop.hidden = false;
  status.textContent = "Running…";
  fill(output, busy("Running the query…"));
  const began = performance.now();
  let content, shown;
  try {
    const body = new URLSearchParams({ query });
    const response = await fetch("/sparql", { method: "POST", body, headers: { accept: ACCEPT }, signal: mine.signal });
    if (response.ok) {
      const kind = response.headers.get("content-type").includes("json") ? "table" : "graph";
      shown = new Shown(query, kind);
      const { text, whole } = await received(response, (beginning) => running === mine && shown.begin(beginning));
      if (running !== mine) return;
      content = shown.end(text, whole, (performance.now() - began) / 1000);
    } else content = await problem(response);
  } catch (error) {
    if (running !== mine) return;
    content = [error.name === "AbortError" ? h("p", { class: "note", id: "stopped" }, "Stopped.") : failure(error instanceof TypeError ? new Error("The response broke off: the result is too large, or the server has gone.") : error)];
  }
  if (running !== mine) return;
  running = null;
  buttons.stop.hidden = true;
  status.textContent = "";
  if (!content) return;
  if (shown?.table && output.contains(shown.table.element)) {
    shown.said.textContent = "";
    output.prepend(...content);
    return;
  }
  fill(output, content);
  intoView();
}

function load(query) {
  editor.setValue(editor.withPrefixes(query));
  run();
}

buttons.run.addEventListener("click", () => run());
buttons.stop.addEventListener("click", () => running?.abort());
buttons.share.addEventListener("click", async () => {
  const link = `${location.origin}/query?${new URLSearchParams({ query: editor.getValue(), run: "1" })}`;
  await navigator.clipboard?.writeText(link).then(() => { status.textContent = "Link copied."; }, () => { status.textContent = link; });
});
addEventListener("popstate", () => {
  const query = parameters().get("query");
  if (query === null) return;
  editor.setValue(query);
  if (parameters().has("run")) run({ push: false });
  else fill(output);
});

if (asked && parameters().has("run")) fill(output, busy("Running the query…"));
const dataset = await fetchJson("/api/dataset").catch((error) => {
  fill(list, h("li", {}, failure(error)));
  return { prefixes: {}, examples: [], properties: [], classes: [], units: [] };
});
terms = new Terms(dataset.prefixes);
editor.know(dataset.prefixes, [...dataset.properties, ...dataset.classes, ...dataset.units]);
if (editor.getValue() === (asked ?? START) && !/\bprefix\b/i.test(editor.getValue())) editor.setValue(editor.withPrefixes(editor.getValue()));
fill(list, dataset.examples.map((example) =>
  h("li", {}, h("button", { type: "button", "data-example": example.name, title: example.comment || null, onclick: () => load(example.query) }, example.title))));
if (asked && parameters().has("run")) run({ push: false });
