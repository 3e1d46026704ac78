// One table as printed: rows come as one scrolls, columns a window at a time, sorted and searched, with a panel
// for the chosen cell.

import { busy, count, empty, failure, fetchJson, fill, h, later, letters, links, parameters, remember, send } from "./shell.js";
import { showCell } from "./cell-panel.js";
import { showColumn } from "./column-panel.js";
import { buildWith, sheetOf } from "./mapping-editor.js";
import { TablePreview } from "./preview.js";
import { bringIntoSight, focusFirst, inferredName, rowView, tableFrame } from "./table-view.js";

const CHUNK = 100;
const KEPT = 12;
const COLUMNS = 40;
const MOST_SCROLLED = 400_000;
const ROW_HEIGHT = 33;
const MOST_HEAD = 20;
const MOST_CHIPS = 5;

const id = decodeURIComponent(location.pathname.slice("/tables/".length));
const address = `/tables/${encodeURIComponent(id)}`;
const output = document.querySelector("#table");
const panel = document.querySelector("#cell");
const split = document.querySelector("#split");

const given = parameters();
const wanted = /^(\d+),(\d+)$/.exec(given.get("cell") ?? "");
let chosen = wanted ? [Number(wanted[1]), Number(wanted[2])] : null;
const linked = chosen;
const sort = /^(\d+)(!?)$/.exec(given.get("sort") ?? "");
const state = {
  column: chosen && chosen[1] >= COLUMNS ? chosen[1] - 4 : 0,
  sorted: sort ? { column: Number(sort[1]), descending: sort[2] === "!" } : null,
  find: given.get("find") ?? "",
  where: conditions(given.get("where")),
};

/** The conditions of an address: pairs of a column and one of its values. */
function conditions(text) {
  try {
    return JSON.parse(text ?? "[]").filter((pair) => Array.isArray(pair) && pair.length === 2);
  } catch {
    return [];
  }
}

/** What narrows the rows, for the server and for the address. */
const narrowed = () => ({ find: state.find, where: state.where.length ? JSON.stringify(state.where) : "" });

function close() {
  panel.hidden = true;
  split.classList.remove("open");
  remember({ cell: "" });
  chosen = null;
  (output.querySelector(`[data-column="${lookedAt}"] button:last-of-type`) ?? output.querySelector('[aria-selected="true"]'))?.focus({ preventScroll: true });
  lookedAt = null;
}

let lookedAt = null;

/** Opens what a column means, with fields to decide otherwise. */
function openColumn(column) {
  close();
  lookedAt = column.index;
  split.classList.add("open");
  showColumn(panel, id, column, close, () => load());
}

function openCell(row, column, cell) {
  const part = cell.closest("tr.header") && shown.columns.find((one) => one.index === column);
  if (part) openColumn(part);
  else open(row, column, cell);
}

function open(row, column, cell) {
  chosen = [row, column];
  lookedAt = null;
  split.classList.add("open");
  remember({ cell: `${row},${column}` });
  showCell(panel, id, row, column, close);
  if (cell) keepInSight(cell);
}

/** Moves table and page so that the panel, a sheet from below on a phone, leaves the cell in sight. */
function keepInSight(cell) {
  bringIntoSight(cell);
  const top = document.querySelector(".top").getBoundingClientRect().bottom;
  const isSheet = getComputedStyle(panel).position === "fixed";
  const bottom = isSheet ? panel.getBoundingClientRect().top : innerHeight;
  const place = cell.getBoundingClientRect();
  if (place.top < top || place.bottom > bottom) scrollBy(0, place.top - (top + bottom - place.height) / 2);
  const box = cell.closest(".scroll").getBoundingClientRect();
  if (isSheet && box.top > bottom - 120) scrollBy(0, box.top - top - 8);
  bringIntoSight(cell);
}

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && !panel.hidden) close();
});

function fetchRows(position, rows, head) {
  const search = new URLSearchParams({ rows, column: state.column, columns: COLUMNS });
  const ordered = state.sorted || state.find || state.where.length;
  search.set("row", ordered ? position : position + head);
  if (state.sorted) {
    search.set("sort", state.sorted.column);
    if (state.sorted.descending) search.set("order", "descending");
  }
  for (const [name, value] of Object.entries(narrowed())) if (value) search.set(name, value);
  return fetchJson(`/api/tables/${encodeURIComponent(id)}?${search}`);
}

/** The body in parts of some rows: those near what is in sight are there, the others are as high as they would be. */
function chunks(view, make, table, first) {
  const total = Math.min(table.rows_shown, MOST_SCROLLED);
  const parts = [];
  const box = view.parentElement;
  for (let start = 0; start < total; start += CHUNK) {
    const body = h("tbody", { "data-start": start });
    parts.push({ start, body, size: Math.min(CHUNK, total - start), loaded: false, height: 0 });
    view.append(body);
    vacate(parts.at(-1));
  }
  function vacate(part) {
    const cell = h("td", { colspan: make.span, class: "spacer" });
    cell.style.height = `${part.height || part.size * ROW_HEIGHT}px`;
    part.loaded = false;
    fill(part.body, h("tr", { "aria-hidden": "true" }, cell));
  }
  function put(part, rows) {
    part.loaded = true;
    const body = rows.filter((row) => row.index >= table.head).slice(0, part.size);
    fill(part.body, body.map((row) => rowView(row, make)));
  }
  async function load(part) {
    if (part.loaded || part.loading) return;
    part.loading = true;
    try {
      put(part, (await fetchRows(part.start, part.size, table.head)).rows);
    } catch (error) {
      fill(part.body, h("tr", {}, h("td", { colspan: make.span }, failure(error))));
    }
    part.loading = false;
    tidy(part);
  }
  function tidy(latest) {
    const there = parts.filter((part) => part.loaded && !part.inSight && part !== latest);
    const far = (part) => Math.abs(part.start - latest.start);
    there.sort((one, other) => far(other) - far(one));
    for (const part of there.slice(0, Math.max(0, there.length - KEPT))) {
      if (part.body.contains(document.activeElement)) continue;
      part.height = part.body.offsetHeight;
      vacate(part);
    }
  }
  const watcher = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) {
        const part = parts[Number(entry.target.dataset.start) / CHUNK];
        part.inSight = entry.isIntersecting;
        if (part.inSight) load(part);
      }
    },
    { root: box, rootMargin: "900px 0px" },
  );
  const start = Math.floor(first / CHUNK);
  if (parts[start]) put(parts[start], table.rows);
  for (const ruler of view.tHead.querySelectorAll("th")) ruler.style.minWidth = `${ruler.offsetWidth}px`;
  parts.forEach((part) => watcher.observe(part.body));
  return {
    async goTo(position) {
      const part = parts[Math.min(parts.length - 1, Math.floor(position / CHUNK))];
      if (!part) return null;
      await load(part);
      const row = part.body.rows[Math.min(part.body.rows.length - 1, position - part.start)];
      const cell = row?.querySelector("[data-cell]");
      if (cell) bringIntoSight(cell);
      return cell;
    },
  };
}

const found = h("span", { class: "quiet", role: "status", id: "place" });
const search = h("input", { type: "search", id: "find", placeholder: "Find in this table", autocomplete: "off", value: state.find });
const columnButtons = h("span", { class: "pair" });
const jump = h("input", { type: "text", inputmode: "numeric", id: "row", class: "short", placeholder: "row", autocomplete: "off" });
let shown = null;

function toolbar() {
  const field = h("form", { class: "find", role: "search" }, h("label", { class: "only-read", for: "find" }, "Find in this table"), search);
  field.addEventListener("submit", (event) => event.preventDefault());
  const go = h("form", { class: "jump", id: "jump" }, h("label", { class: "quiet", for: "row" }, "Go to row"), jump);
  go.addEventListener("submit", async (event) => {
    event.preventDefault();
    const number = Number.parseInt(jump.value, 10);
    if (number > 0 && shown) (await shown.goTo(number - 1 - shown.head))?.focus({ preventScroll: true });
  });
  search.addEventListener("input", later(() => {
    state.find = search.value.trim();
    remember({ find: state.find });
    load();
  }));
  return h("div", { class: "toolbar", id: "tools" }, field, found, columnButtons, go);
}

const facets = h("div", { class: "facets", id: "facets" });

/** The values of categories, flags and times as buttons; one that is pressed narrows the rows. */
async function showFacets() {
  const search = new URLSearchParams({ table: id });
  for (const [name, value] of Object.entries(narrowed())) if (value) search.set(name, value);
  const mine = turn;
  const known = await fetchJson(`/api/facets?${search}`).catch(() => ({ facets: [], spreads: [] }));
  if (mine !== turn) return;
  known.spreads.forEach(showSpread);
  const sheet = holder.querySelector("table.sheet");
  sheet?.style.setProperty("--head", `${sheet.tHead.offsetHeight}px`);
  const focused = facets.contains(document.activeElement) ? document.activeElement.dataset.facet : null;
  const { open = false } = facets.querySelector("details") ?? {};
  let left = MOST_CHIPS;
  const [first, rest] = [[], []];
  for (const facet of known.facets) {
    const values = Object.groupBy(facet.values, ({ value }) => (value === facet.chosen || left-- > 0 ? "first" : "rest"));
    if (values.first) first.push(chips({ ...facet, values: values.first, more: values.rest ? 0 : facet.more }));
    if (values.rest) rest.push(chips({ ...facet, values: values.rest }));
  }
  fill(facets, first, rest.length ? h("details", { open }, h("summary", {}, "More filters"), rest) : null);
  if (focused) [...facets.querySelectorAll("button")].find((button) => button.dataset.facet === focused)?.focus();
}

/** The values of one facet. */
const chips = (facet) => h("div", { class: "facet", role: "group", "aria-label": facet.title },
  h("span", { class: "quiet", dir: "auto" }, facet.title),
  facet.values.map(({ value, rows }) => {
    const pressed = value === facet.chosen;
    return h("button", { type: "button", class: "chip", "aria-pressed": String(pressed), "data-facet": `${facet.column} ${value}`, onclick: () => narrow(facet.column, pressed ? null : value) }, h("bdi", {}, value), " ", h("small", {}, count(rows)));
  }),
  facet.more ? h("small", { class: "quiet" }, `and ${count(facet.more)} more`) : null);

/** A picture of how the numbers of a column lie, in its ruler. */
function showSpread({ column, low, high, rows, counts }) {
  const place = holder.querySelector(`thead [data-column="${column}"]`);
  if (!place) return;
  place.querySelector(".spread")?.remove();
  const most = Math.max(...counts);
  const bars = counts.map((number, at) => number ? `M${at * 6} 16v-${Math.max(1, (15 * number) / most).toFixed(1)}h5V16z` : "").join("");
  place.append(picture(bars, 6 * counts.length, `${count(rows)} numbers from ${low} to ${high}`));
}

function picture(path, width, words) {
  const make = (name, attributes) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  };
  const image = make("svg", { class: "spread", viewBox: `0 0 ${width} 16`, role: "img", "aria-label": words, preserveAspectRatio: "none" });
  const title = make("title", {});
  title.textContent = words;
  image.append(title, make("path", { d: path }));
  return image;
}

function narrow(column, value) {
  state.where = state.where.filter(([other]) => other !== column);
  if (value !== null) state.where.push([column, value]);
  remember({ where: narrowed().where });
  load();
}

function sortBy(column) {
  const now = state.sorted;
  if (now?.column !== column) state.sorted = { column, descending: false };
  else state.sorted = now.descending ? null : { column, descending: true };
  remember({ sort: state.sorted ? `${column}${state.sorted.descending ? "!" : ""}` : "" });
  load(column);
}

function place(table) {
  const rows = state.find || state.where.length
    ? `${count(table.rows_shown)} of ${count(table.members)} rows`
    : table.counted;
  const last = table.columns.at(-1)?.index ?? 0;
  const some = table.columns.length < table.width;
  const first = table.columns.find((column) => column.index >= state.column)?.index ?? 0;
  const columns = some ? `columns ${letters(first)}–${letters(last)} of ${count(table.width)}` : `${count(table.width)} ${table.width === 1 ? "column" : "columns"}`;
  found.textContent = `${rows}, ${columns}`;
  const move = (text, words, column) =>
    h("button", { type: "button", "aria-label": words, title: words, onclick: () => ((state.column = column), load()) }, text);
  fill(
    columnButtons,
    state.column > 0 ? move("← Columns", "Earlier columns", Math.max(0, state.column - COLUMNS)) : null,
    state.column + COLUMNS < table.width ? move("Columns →", "Later columns", state.column + COLUMNS) : null,
  );
  document.querySelector("#jump").hidden = Boolean(state.find || state.sorted || state.where.length) || table.rows_total <= CHUNK;
}

function heading(table) {
  const context = table.caption && table.caption !== table.title ? [table.caption] : [];
  const path = [table.file, table.sheet ? `sheet ${table.sheet}` : null].filter(Boolean).join(" · ");
  return [
    h("h1", { dir: "auto" }, table.title, table.inferred ? [" ", inferredName(table.inferred)] : null),
    h("p", { class: "quiet" }, table.subtitle ? h("span", { dir: "auto" }, `${table.subtitle} · `) : null, path),
    [...context, ...table.before].filter((text) => text !== table.title).map((text) => h("p", { dir: "auto", class: "beside" }, text)),
  ];
}

/** How the table is read, with what would change under other decisions, and a button that decides them. */
async function showReading(place) {
  if (place.querySelector(".preview")) return;
  fill(place, busy("Reading the file…"));
  try {
    if (!(await fetchJson("/api/editing")).allowed) throw new Error("Changing it needs the server's token: open /?token=… once.");
    const ask = (decisions) => send("/api/preview", { table: sheetOf(id), decisions });
    const output = h("div", { "aria-live": "polite" });
    const others = h("div");
    const known = await ask({ columns: [], tables: [] });
    const preview = new TablePreview(known.tables.find((table) => table.id === id), async () => {
      try {
        const now = await ask(preview.decisions());
        const same = now.tables.find((table) => table.id === id);
        if (same) preview.show(same);
        const made = now.tables.filter((table) => !known.tables.some((one) => one.id === table.id));
        fill(others, made.map((table) => [h("p", { class: "note" }, `Read as a table of its own: ${table.id}`), new TablePreview(table, () => {}).rows]).flat());
        fill(output);
      } catch (error) {
        fill(output, failure(error));
      }
    });
    const build = async () => {
      const report = await buildWith(preview.decisions(), output);
      if (report && !report.removed.includes(id)) load();
      else if (report) output.append(h("ul", {}, report.added.map((table) => h("li", {}, h("a", { href: links.table(table) }, table)))));
    };
    fill(place, preview.element, others, output, h("p", { class: "toolbar" }, h("button", { class: "primary", type: "button", id: "decide", onclick: build }, "Build with this")));
  } catch (error) {
    fill(place, failure(error));
  }
}

function below(table) {
  const iri = encodeURIComponent(table.iri);
  const reading = h("div");
  return [
    document.querySelector('a[href="/upload"]') ? h("details", { class: "way", id: "reading", ontoggle: (event) => event.target.open && showReading(reading) }, h("summary", {}, "How this table is read"), h("h2", { class: "only-read" }, "How this table is read"), reading) : null,
    table.notes.length
      ? h("dl", { class: "facts notes" }, table.notes.map(({ mark, text }) => [h("dt", {}, mark), h("dd", { dir: "auto" }, text)]).flat())
      : null,
    table.around.length
      ? h("details", { class: "beside" }, h("summary", {}, "Text around the table"), table.around.map((text) => h("p", { dir: "auto" }, text)))
      : null,
    h("p", { class: "toolbar" },
      h("a", { class: "button", href: `/explore?${new URLSearchParams({ table: JSON.stringify(id), how: "count" })}` }, "Explore"),
      h("a", { class: "button", href: `${address}.csv?defuse=1`, download: "" }, "CSV"),
      h("a", { class: "button", href: `${address}.xlsx`, download: "" }, "XLSX"),
      h("a", { class: "button", href: `${address}.parquet`, download: "" }, "Parquet"),
      h("a", { class: "button", href: `${address}.json`, download: "" }, "JSON"),
      h("a", { class: "button", href: `${address}.ttl`, download: "" }, "Turtle"),
      h("a", { class: "button", href: `/graph?iri=${iri}` }, "Map")),
  ].filter(Boolean);
}

const holder = h("div", { id: "holder" });
let turn = 0;

/** Reads the table anew, as it is sorted and searched now; `refocus` is the column whose ruler was used. */
async function load(refocus = null) {
  const mine = ++turn;
  const ordered = state.sorted || state.find || state.where.length;
  const head = shown?.head ?? (linked ? (await fetchRows(0, 1, 0)).head : 0);
  const position = linked && !ordered && chosen ? Math.max(0, Math.floor((linked[0] - head) / CHUNK) * CHUNK) : 0;
  const table = await fetchRows(position, CHUNK + MOST_HEAD, head);
  if (mine !== turn) return;
  document.title = `${table.title} · kgtable`;
  const lit = new Set(linked ? [linked.join()] : []);
  const { element, view, make } = tableFrame(table, { lit, onCell: openCell, onSort: sortBy, onColumn: openColumn, sorted: state.sorted, find: state.find });
  fill(holder, element);
  const body = chunks(view, make, table, position);
  shown = { head: table.head, columns: table.columns, goTo: body.goTo };
  if (!output.contains(holder)) {
    fill(document.querySelector("#heading"), ...heading(table).flat().filter(Boolean));
    fill(output, toolbar(), facets, holder, ...below(table));
  }
  place(table);
  showFacets();
  for (const ruler of view.tHead.querySelectorAll("th")) ruler.style.minWidth = `${ruler.offsetWidth}px`;
  if (!table.rows_shown && ordered) element.after(empty(h("p", {}, state.where.length ? "No row has all of this." : "No cell holds this text.")));
  focusFirst(view);
  if (refocus !== null && document.activeElement === document.body) view.querySelector(`[data-column="${refocus}"] button`)?.focus();
  const cell = view.querySelector(".lit");
  if (cell && chosen) {
    cell.setAttribute("aria-selected", "true");
    open(...chosen, cell);
  }
}

try {
  await load();
} catch (error) {
  fill(document.querySelector("#heading"), h("h1", {}, "This table cannot be shown"));
  fill(output, failure(error), h("p", {}, h("a", { class: "button", href: "/tables" }, "All tables")));
}
