// The SPARQL page: what the endpoint answers, as it arrives, and what there is to complete.

import { failure, fetchJson, fill, h, refusal } from "./shell.js";
import { statements, Terms } from "./terms.js";
import { RowsView, Workbench } from "./workbench.js";

const MOST_BYTES = 32 << 20;
const ENOUGH_TO_SHOW = 1 << 16;
const ACCEPT = "application/sparql-results+json, application/n-triples;q=0.9";
const START = "SELECT ?table ?label ?value ?unit WHERE {\n  GRAPH ?table {\n    ?row rdfs:label ?label ; ?predicate ?cell .\n    ?cell qudt:numericValue ?value ; qudt:hasUnit ?unit .\n  }\n}\nLIMIT 20";
const FORMATS = {
  table: { csv: "CSV", json: "JSON", tsv: "TSV", xml: "XML" },
  graph: { turtle: "Turtle", jsonld: "JSON-LD", ntriples: "N-Triples" },
};

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
    if (size > 1 << 20) bench.tell(`Receiving… ${(size / (1 << 20)).toFixed(0)} MiB`);
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

/** The result of one query as it is shown, which grows from its first rows to the whole. */
class Growing extends RowsView {
  constructor(query, kind) {
    const forms = Object.entries(FORMATS[kind]).map(([format, name]) => [name, { turtle: "ttl", ntriples: "nt" }[format] ?? format, `/sparql?${new URLSearchParams({ query, format })}`]);
    super({ noun: kind === "table" ? "result" : "statement", terms, forms, chart: kind === "table" ? `/api/chart?${new URLSearchParams({ query })}` : null });
    this.kind = kind;
  }

  /** The first rows of a long result, while the rest is under way. */
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
    bench.show(this.frame(variables, rows));
  }

  /** All that was received; `whole` is whether it is all there is. */
  end(text, whole, time) {
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
}

async function execute(query, { signal, isCurrent, time }) {
  const body = new URLSearchParams({ query });
  try {
    const response = await fetch("/sparql", { method: "POST", body, headers: { accept: ACCEPT }, signal });
    if (!response.ok) throw await refusal(response);
    const shown = new Growing(query, response.headers.get("content-type").includes("json") ? "table" : "graph");
    bench.view = shown;
    const { text, whole } = await received(response, (beginning) => isCurrent() && shown.begin(beginning));
    return isCurrent() ? shown.end(text, whole, time()) : null;
  } catch (error) {
    throw error instanceof TypeError ? new Error("The response broke off: the result is too large, or the server has gone.") : error;
  }
}

let terms = new Terms({});
const bench = new Workbench({ start: START, execute, language: {} });
const { editor } = bench;
const list = document.querySelector("#examples");
const dataset = await fetchJson("/api/dataset").catch((error) => {
  fill(list, h("li", {}, failure(error)));
  return { prefixes: {}, examples: [], properties: [], classes: [], units: [], uses: {} };
});
terms = new Terms(dataset.prefixes);
editor.know(dataset.prefixes, [...dataset.properties, ...dataset.classes, ...dataset.units].sort((a, b) => (dataset.uses[b] ?? 0) - (dataset.uses[a] ?? 0)));
if (editor.getValue() === (bench.asked ?? START) && !/\bprefix\b/i.test(editor.getValue())) editor.setValue(editor.withPrefixes(editor.getValue()));
bench.start = editor.withPrefixes(START);
fill(list, dataset.examples.map((example) =>
  h("li", {}, h("button", { type: "button", "data-example": example.name, title: example.comment || null, onclick: () => bench.load(editor.withPrefixes(example.query)) }, example.title))));
if (bench.toRun) bench.run({ push: false });
