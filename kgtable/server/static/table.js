// One table as printed, a window of rows and columns at a time, with a panel for the chosen cell.

import { count, fetchJson, fill, h, letters, parameters, remember, showIn } from "./shell.js";
import { showCell } from "./cell-panel.js";
import { tableView } from "./table-view.js";

const ROWS = 200;
const COLUMNS = 60;
const id = decodeURIComponent(location.pathname.slice("/tables/".length));
const output = document.querySelector("#table");
const panel = document.querySelector("#cell");
const split = document.querySelector("#split");

const wanted = /^(\d+),(\d+)$/.exec(parameters().get("cell") ?? "");
const chosen = wanted ? [Number(wanted[1]), Number(wanted[2])] : null;
let firstRow = chosen ? Math.max(0, chosen[0] - 40) : 0;
let firstColumn = chosen && chosen[1] >= COLUMNS ? chosen[1] - (chosen[1] % COLUMNS) : 0;

function close() {
  panel.hidden = true;
  split.classList.remove("open");
  remember({ cell: "" });
  output.querySelector('[aria-selected="true"]')?.focus();
}

function open(row, column) {
  split.classList.add("open");
  remember({ cell: `${row},${column}` });
  showCell(panel, id, row, column, close);
}

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && !panel.hidden) close();
});

function pager(table) {
  const buttons = [];
  const add = (text, action) => buttons.push(h("button", { type: "button", onclick: () => (action(), load()) }, text));
  if (firstRow > 0) add("↑ Earlier rows", () => (firstRow = Math.max(0, firstRow - ROWS)));
  if (firstRow + ROWS < table.rows_total) add("↓ Later rows", () => (firstRow += ROWS));
  if (firstColumn > 0) add("← Columns", () => (firstColumn = Math.max(0, firstColumn - COLUMNS)));
  if (firstColumn + COLUMNS < table.width) add("Columns →", () => (firstColumn += COLUMNS));
  const last = table.rows.at(-1)?.index ?? 0;
  const place = buttons.length
    ? `rows ${count(firstRow + 1)}–${count(last + 1)} of ${count(table.rows_total)}, columns ${letters(firstColumn)}–${letters(table.columns.at(-1)?.index ?? 0)} of ${count(table.width)}`
    : `${count(table.rows_total)} rows, ${count(table.width)} columns`;
  return h("p", { class: "toolbar" }, h("span", { class: "quiet" }, place), buttons);
}

function heading(table) {
  const context = [...table.heading, table.caption].filter(Boolean);
  return [
    h("h1", { dir: "auto" }, table.title),
    h("p", { class: "quiet" }, table.file, table.sheet ? ` · sheet ${table.sheet}` : "", table.title === table.id ? "" : ` · ${table.id}`),
    context.length ? h("p", { dir: "auto" }, context.join(" · ")) : null,
    table.before.map((text) => h("p", { dir: "auto" }, text)),
  ];
}

function below(table) {
  const texts = [...table.after, ...table.paragraphs];
  const marks = Object.entries(table.marks);
  const encoded = encodeURIComponent(table.iri);
  return [
    marks.length ? h("dl", { class: "facts" }, marks.map(([mark, text]) => [h("dt", {}, mark), h("dd", {}, text)]).flat()) : null,
    texts.length ? h("details", {}, h("summary", {}, "Text around the table"), texts.map((text) => h("p", { dir: "auto" }, text))) : null,
    h("p", { class: "toolbar" },
      h("a", { class: "button", href: `/store?graph=${encoded}` }, "Turtle"),
      h("a", { class: "button", href: `/api/tables/${encodeURIComponent(id)}?format=csv`, download: "" }, "CSV"),
      h("a", { class: "button", href: `/graph?iri=${encoded}` }, "Graph")),
  ];
}

async function load() {
  await showIn(output, "Reading the table…", async () => {
    const search = new URLSearchParams({ row: firstRow, rows: ROWS, column: firstColumn, columns: COLUMNS });
    const table = await fetchJson(`/api/tables/${encodeURIComponent(id)}?${search}`);
    document.title = `${table.title} · kgtable`;
    fill(document.querySelector("#heading"), ...heading(table).flat().filter(Boolean));
    const lit = new Set(chosen ? [chosen.join()] : []);
    return [pager(table), tableView(table, { lit, onCell: open }), ...below(table).filter(Boolean)];
  });
  if (!document.querySelector("h1")) {
    fill(document.querySelector("#heading"), h("h1", {}, "This table cannot be shown"));
    output.append(h("p", {}, h("a", { class: "button", href: "/tables" }, "All tables")));
  }
  const cell = output.querySelector(".lit");
  if (cell) {
    cell.scrollIntoView({ block: "center", inline: "center" });
    cell.setAttribute("aria-selected", "true");
  }
}

await load();
if (chosen) open(...chosen);
