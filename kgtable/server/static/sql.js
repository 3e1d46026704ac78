// The SQL page: a SELECT over the tables, its rows, and the tables with their columns.

import { count, failure, fetchJson, fill, h } from "./shell.js";
import { Terms } from "./terms.js";
import { RowsView, Workbench } from "./workbench.js";

const KEYWORDS = "SELECT DISTINCT FROM WHERE GROUP BY HAVING ORDER LIMIT OFFSET JOIN LEFT USING ON AS ASC DESC COUNT SUM AVG MIN MAX CASE WHEN THEN ELSE END AND OR NOT NULL LIKE ILIKE BETWEEN UNION ALL WITH OVER PARTITION CAST EXTRACT ROUND".split(" ");
const FORMS = { csv: "CSV", json: "JSON", tsv: "TSV" };
const DECIMAL = "http://www.w3.org/2001/XMLSchema#decimal";
const list = document.querySelector("#tables");

/** The rows as terms of results, a blank cell where there is null. */
async function execute(query, { signal, time }) {
  const { columns, rows, complete } = await fetchJson(`/api/sql?${new URLSearchParams({ query })}`, { signal });
  const names = columns.map(({ name }, place) => (columns.findIndex((other) => other.name === name) < place ? `${name} (${place + 1})` : name));
  const terms = rows.map((row) => Object.fromEntries(row.flatMap((value, place) =>
    value === null ? [] : [[names[place], { type: "literal", value, ...(columns[place].number ? { datatype: DECIMAL } : {}) }]])));
  const forms = Object.entries(FORMS).map(([format, name]) => [name, format, `/api/sql?${new URLSearchParams({ query, format })}`]);
  bench.view = new RowsView({ noun: "row", terms: new Terms({}), forms, chart: `/api/chart?${new URLSearchParams({ query, language: "sql" })}` });
  bench.view.say(rows, complete ? time() : "The download has up to 100,000.", complete);
  return bench.view.frame(names, terms);
}

const bench = new Workbench({ start: "", execute, language: { mode: "text/x-sql", label: "SQL query", keywords: KEYWORDS } });
const sample = (name) => `SELECT *\nFROM ${name}\nLIMIT 20`;

/** A table of the list: its name loads its first rows, each column's name is inserted where the cursor is. */
function entry({ id, name, title }) {
  const columns = h("ul", { class: "examples", hidden: true });
  const toggle = h("button", { type: "button", class: "plain", "aria-expanded": "false", "aria-label": `Columns of ${name}`, title: "Columns" }, "▸");
  toggle.addEventListener("click", async () => {
    columns.hidden = !columns.hidden;
    toggle.setAttribute("aria-expanded", String(!columns.hidden));
    if (columns.hasChildNodes()) return;
    const found = await fetchJson(`/api/sql/columns?${new URLSearchParams({ table: id })}`).catch((error) => ({ error }));
    if (found.error) return fill(columns, h("li", {}, failure(found.error)));
    bench.editor.words = [...new Set([...bench.editor.words, ...found.columns.map((column) => column.name)])];
    fill(columns, found.columns.map((column) => h("li", {}, h("button", { type: "button", "data-column": column.name, title: [column.header, ...column.examples].join("\n"), onclick: () => bench.editor.insert(column.name) },
      column.name, h("small", {}, [column.type, column.unit].filter(Boolean).join(" · "))))));
  });
  return h("li", {}, h("span", { class: "pair" }, toggle, h("button", { type: "button", "data-table": name, title, onclick: () => bench.load(sample(name)) }, name)), columns);
}

const { tables, total } = await fetchJson("/api/sql/tables?limit=200").catch((error) => {
  fill(list, h("li", {}, failure(error)));
  return { tables: [], total: 0 };
});
bench.editor.words = [...tables.map(({ name }) => name), "kgtable_tables", "kgtable_columns"];
fill(list, tables.map(entry), total > tables.length ? h("li", { class: "quiet" }, `and ${count(total - tables.length)} more in kgtable_tables`) : null);
if (tables.length) bench.start = sample(tables[0].name);
if (tables.length && bench.asked === null && !bench.editor.getValue()) bench.editor.setValue(bench.start);
if (bench.toRun) bench.run({ push: false });
