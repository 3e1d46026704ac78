// The SQL page: a SELECT over the tables, its rows, and an address that brings both back.

import { busy, count, failure, fetchJson, fill, h, later, parameters, remember } from "./shell.js";
import { QueryEditor } from "./query-editor.js";
import { ResultTable } from "./result-table.js";
import { Terms } from "./terms.js";

const KEYWORDS = "SELECT DISTINCT FROM WHERE GROUP BY HAVING ORDER LIMIT OFFSET JOIN LEFT USING ON AS ASC DESC COUNT SUM AVG MIN MAX CASE WHEN THEN ELSE END AND OR NOT NULL LIKE ILIKE BETWEEN UNION ALL WITH OVER PARTITION CAST EXTRACT ROUND".split(" ");
const output = document.querySelector("#results");
const status = document.querySelector("#status");
const buttons = Object.fromEntries(["run", "stop"].map((name) => [name, document.querySelector(`#${name}`)]));
const list = document.querySelector("#tables");
if (matchMedia("(max-width: 60rem)").matches) list.closest("details").open = false;
const asked = parameters().get("query");
let running = null;
let ran = null;

const note = later(() => remember({ query: editor.getValue(), run: editor.getValue() === ran ? "1" : null }), 400);
const editor = new QueryEditor(document.querySelector("#editor"), { value: asked ?? "", changed: note, run: () => run(), mode: "text/x-sql", label: "SQL query", keywords: KEYWORDS });
window.kgtableEditor = editor;

async function run() {
  running?.abort();
  const mine = (running = new AbortController());
  const query = (ran = editor.getValue());
  remember({ query, run: "1" });
  buttons.stop.hidden = false;
  status.textContent = "Running…";
  fill(output, busy("Running the query…"));
  try {
    const found = await fetchJson(`/api/sql?${new URLSearchParams({ query })}`, { signal: mine.signal });
    if (running === mine) fill(output, ...shown(found));
  } catch (error) {
    if (running === mine) fill(output, error.name === "AbortError" ? h("p", { class: "note", id: "stopped" }, "Stopped.") : failure(error));
  }
  if (running !== mine) return;
  running = null;
  buttons.stop.hidden = true;
  status.textContent = "";
}

/** The rows as terms of results, a blank cell where there is null. */
function shown({ columns, rows, complete }) {
  const names = columns.map(({ name }, place) => (columns.findIndex((other) => other.name === name) < place ? `${name} (${place + 1})` : name));
  const terms = rows.map((row) => Object.fromEntries(row.flatMap((value, place) =>
    value === null ? [] : [[names[place], { type: "literal", value, ...(columns[place].number ? { datatype: "http://www.w3.org/2001/XMLSchema#decimal" } : {}) }]])));
  const number = h("strong", { id: "count" }, `${complete ? "" : "The first "}${count(rows.length)} ${rows.length === 1 ? "row" : "rows"}`);
  const bar = h("p", { class: "toolbar results-bar" }, number);
  return rows.length ? [bar, new ResultTable(names, terms, new Terms({})).element] : [bar, h("p", { class: "empty" }, "The query matches nothing.")];
}

function load(name) {
  editor.setValue(`SELECT *\nFROM ${name}\nLIMIT 20`);
  run();
}

buttons.run.addEventListener("click", () => run());
buttons.stop.addEventListener("click", () => running?.abort());
addEventListener("popstate", () => {
  editor.setValue(parameters().get("query") ?? "");
  if (parameters().has("run")) run();
});

const { tables, total } = await fetchJson("/api/sql/tables?limit=200").catch((error) => {
  fill(list, h("li", {}, failure(error)));
  return { tables: [], total: 0 };
});
editor.words = [...tables.map(({ name }) => name), "kgtable_tables", "kgtable_columns"];
fill(list, tables.map(({ name, title }) => h("li", {}, h("button", { type: "button", "data-table": name, title, onclick: () => load(name) }, name))),
  total > tables.length ? h("li", { class: "quiet" }, `and ${count(total - tables.length)} more in kgtable_tables`) : null);
if (asked === null && tables.length) editor.setValue(`SELECT *\nFROM ${tables[0].name}\nLIMIT 20`);
if (asked && parameters().has("run")) run();
