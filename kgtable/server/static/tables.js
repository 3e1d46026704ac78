// The list of tables: searched as one types, a page at a time.

import { count, empty, fetchJson, fill, h, later, links, parameters, remember, showIn } from "./shell.js";

const PAGE = 50;
const input = document.querySelector("#search");
const output = document.querySelector("#list");
let shown = 0;

async function page(offset) {
  const search = new URLSearchParams({ q: input.value.trim(), offset, limit: PAGE });
  return fetchJson(`/api/tables?${search}`);
}

function row(table) {
  return h("tr", {},
    h("td", {}, h("a", { href: links.table(table.id) }, table.title), table.title === table.id ? null : h("div", {}, h("small", {}, table.id))),
    h("td", { class: "hide-narrow" }, table.file, table.sheet ? ` · ${table.sheet}` : ""),
    h("td", { class: "hide-narrow quiet" }, table.columns.slice(0, 6).join(" · ")),
    h("td", { class: "number" }, count(table.rows)),
    h("td", { class: "number" }, count(table.width)));
}

async function search() {
  remember({ q: input.value.trim() });
  await showIn(output, "Reading the catalogue…", async () => {
    const found = await page(0);
    shown = found.tables.length;
    if (!found.total) {
      return input.value.trim()
        ? empty(h("h2", {}, "No table matches"), h("p", {}, "Try fewer or other words: titles, file names and column names are searched."))
        : empty(h("h2", {}, "No tables yet"), h("p", {}, "Add some with ", h("code", {}, "kgtable build FOLDER --kg DIR"), "."));
    }
    const body = h("tbody", {}, found.tables.map(row));
    const more = h("button", { type: "button", onclick: () => add(body, more, found.total) }, "Show more");
    more.hidden = shown >= found.total;
    const head = ["Table", "File", "Columns", "Rows", "Width"].map((name, place) =>
      h("th", { scope: "col", class: [null, "hide-narrow", "hide-narrow", "number", "number"][place] }, name));
    return [
      h("p", { class: "quiet", role: "status" }, `${count(found.total)} ${found.total === 1 ? "table" : "tables"}`),
      h("div", { class: "scroll" }, h("table", { class: "list" }, h("thead", {}, h("tr", {}, head)), body)),
      h("p", { class: "toolbar" }, more),
    ];
  });
}

async function add(body, more, total) {
  more.disabled = true;
  const found = await page(shown);
  body.append(...found.tables.map(row));
  shown += found.tables.length;
  more.disabled = false;
  more.hidden = shown >= total || !found.tables.length;
}

input.value = parameters().get("q") ?? "";
input.addEventListener("input", later(search));
search();
