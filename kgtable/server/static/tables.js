// The list of tables: searched as one types, in cells too, narrowed by unit, kind and folder, sorted.

import { count, empty, fetchJson, fill, h, later, links, parameters, reference, remember, showIn } from "./shell.js";

const PAGE = 50;
const FACETS = { unit: "Unit", kind: "Kind", folder: "Folder" };
const input = document.querySelector("#search");
const output = document.querySelector("#list");
const narrowing = document.querySelector("#facets");
const given = parameters();
const state = { sort: given.get("sort") ?? "", order: given.get("order") ?? "" };
for (const name of Object.keys(FACETS)) state[name] = given.get(name) ?? "";
let shown = 0;
let turn = 0;

async function page(offset) {
  const search = new URLSearchParams({ q: input.value.trim(), offset, limit: PAGE });
  for (const [name, value] of Object.entries(state)) if (value) search.set(name, value);
  return fetchJson(`/api/tables?${search}`);
}

function row(table) {
  return h("tr", {},
    h("td", {},
      h("a", { href: links.table(table.id), dir: "auto" }, table.title),
      table.subtitle ? h("div", {}, h("small", { dir: "auto" }, table.subtitle)) : null,
      table.hits.length
        ? h("ul", { class: "hits" }, table.hits.map((hit) =>
            h("li", {}, h("a", { href: links.table(table.id, hit.row, hit.column) }, reference(hit.row, hit.column)), " ", h("bdi", { dir: "auto" }, hit.text))))
        : null),
    h("td", { class: "hide-narrow" }, table.file, table.sheet ? ` · ${table.sheet}` : ""),
    h("td", { class: "hide-narrow quiet", dir: "auto" }, table.columns.slice(0, 6).join(" · ")),
    h("td", { class: "hide-narrow" }, table.units.map((unit) => [h("span", { class: "unit" }, unit), " "]).flat()),
    h("td", { class: "number" }, count(table.rows)),
    h("td", { class: "number" }, count(table.width)));
}

const HEAD = [["title", "Table"], ["file", "File", "hide-narrow"], [null, "Columns", "hide-narrow"], [null, "Units", "hide-narrow"], ["rows", "Rows", "number"], ["columns", "Width", "number"]];

function heading([sort, words, kind = null]) {
  if (!sort) return h("th", { scope: "col", class: kind }, words);
  const now = state.sort === sort ? (state.order === "descending" ? "descending" : "ascending") : null;
  const mark = now ? h("span", { "aria-hidden": "true" }, now === "ascending" ? " ↑" : " ↓") : null;
  return h("th", { scope: "col", class: kind, "aria-sort": now },
    h("button", { type: "button", class: "plain sort", "data-sort": sort, onclick: () => sortBy(sort) }, words, mark));
}

/** Gives the focus back to what was replaced while it had it. */
function refocus(selector) {
  if (document.activeElement === document.body) document.querySelector(selector)?.focus();
}

function sortBy(sort) {
  if (state.sort !== sort) [state.sort, state.order] = [sort, ""];
  else if (!state.order) state.order = "descending";
  else [state.sort, state.order] = ["", ""];
  remember({ sort: state.sort, order: state.order });
  search().then(() => refocus(`[data-sort="${sort}"]`));
}

/** A choice for each facet that narrows the list, or is chosen. */
function facets(found) {
  return Object.entries(FACETS).map(([name, title]) => {
    const values = found.facets[name];
    if (!state[name] && values.every((value) => value.tables === found.total)) return null;
    const known = values.some((value) => value.value === state[name]);
    const options = [
      h("option", { value: "" }, `${title}: any`),
      ...values.map((value) => h("option", { value: value.value, selected: value.value === state[name] }, `${value.label} (${count(value.tables)})`)),
      state[name] && !known ? h("option", { value: state[name], selected: true }, state[name]) : null,
    ];
    const choice = h("select", { id: `facet-${name}`, "aria-label": title }, options);
    choice.addEventListener("change", () => {
      state[name] = choice.value;
      remember({ [name]: choice.value });
      search().then(() => refocus(`#facet-${name}`));
    });
    return choice;
  }).filter(Boolean);
}

async function search() {
  const mine = ++turn;
  remember({ q: input.value.trim() });
  const narrowed = () => input.value.trim() || Object.keys(FACETS).some((name) => state[name]);
  const fresh = output.childElementCount ? null : "Reading the catalogue…";
  const step = async () => {
    const found = await page(0);
    if (mine !== turn) return [...output.children];
    shown = found.tables.length;
    fill(narrowing, ...facets(found));
    if (!found.total) {
      return narrowed()
        ? [empty(h("h2", {}, "No table matches"), h("p", {}, "Try fewer or other words: titles, file names, column names and cells are searched."))]
        : [empty(h("h2", {}, "No tables yet"), h("p", {}, "Add some with ", h("code", {}, "kgtable build FOLDER --kg DIR"), "."))];
    }
    const body = h("tbody", {}, found.tables.map(row));
    const more = h("button", { type: "button", onclick: () => add(body, more, found.total) }, "Show more");
    more.hidden = shown >= found.total;
    return [
      h("p", { class: "quiet", role: "status" }, `${count(found.total)} ${found.total === 1 ? "table" : "tables"}`),
      h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Tables" }, h("table", { class: "list" }, h("thead", {}, h("tr", {}, HEAD.map(heading))), body)),
      h("p", { class: "toolbar" }, more),
    ];
  };
  if (fresh) await showIn(output, fresh, step);
  else {
    try {
      fill(output, ...(await step()));
    } catch (error) {
      await showIn(output, "…", () => Promise.reject(error));
    }
  }
}

async function add(body, more, total) {
  more.disabled = true;
  const found = await page(shown);
  body.append(...found.tables.map(row));
  shown += found.tables.length;
  more.disabled = false;
  more.hidden = shown >= total || !found.tables.length;
}

input.value = given.get("q") ?? "";
input.addEventListener("input", later(search));
search();
