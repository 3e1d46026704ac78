// The Explore page: fields to choose from, their result beside them, and an address that keeps them.

import { busy, count, failure, fetchJson, fill, h, later, links, parameters } from "./shell.js";
import { chartView, formsView, rowsView } from "./chart-view.js";

const form = document.querySelector("#fields");
const output = document.querySelector("#results");
const VALUE = "@value";
const MOST_KEYS = 2;
const MOST_LISTED = 40;
const NAMES = { value: "Value", sum: "Sum", mean: "Average", median: "Median", min: "Lowest", max: "Highest", count: "Count", distinct: "Different values", share: "Share in %", list: "List of rows" };
const BUCKETS = { "": "each value", year: "year", quarter: "quarter", month: "month", season: "month of any year", weekday: "weekday" };
const RELATORS = { "=": "is", "!=": "is not", "<": "is less than", "<=": "is at most", ">": "is more than", ">=": "is at least", contains: "contains" };
let running = null;
let asked = {};
let known = null;
let tables = [];

/** A field as a parameter: a text as it is, everything else as JSON. */
const coded = (value) => (typeof value === "string" && !/^[[{"\-\p{Nd}]|^(true|false|null)$/u.test(value) ? value : JSON.stringify(value));
const isSet = (value) => value !== undefined && value !== null && value !== "" && value !== false && !(Array.isArray(value) && !value.length);
const address = (fields) => new URLSearchParams(Object.entries(fields).filter(([, value]) => isSet(value)).map(([name, value]) => [name, coded(value)])).toString();
const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);
const plain = (column) => (column?.bucket ? (column.table ? { column: column.column, table: column.table } : column.column) : column);
const offer = (column) => known.columns.find((one) => same(one.column, plain(column)));
const title = (column) => (column === VALUE ? "the value" : `${column?.bucket ? `${BUCKETS[column.bucket]} of ` : ""}${offer(column)?.title ?? plain(column)}`);

/** Fields without what no longer goes with the others. */
function tidy(fields) {
  const found = { ...fields };
  found.by = (found.by ?? []).slice(0, MOST_KEYS);
  const hows = howsOf(found);
  if (!hows.includes(found.how)) found.how = ["sum", "mean"].find((how) => hows.includes(how)) ?? hows[0];
  if (found.how === "list") Object.assign(found, { by: [], measure: null });
  else if (!found.by.length) Object.assign(found, { ask: [], first: null, order: null });
  if (found.by.length) {
    found.ask = [];
    const orders = [...found.by, VALUE];
    if (!orders.some((one) => same(one, found.order?.by))) {
      const time = found.by.find((key) => key.bucket) ?? found.by.find((key) => ["date", "period"].includes(offer(key)?.kind));
      found.order = time ? { by: time } : { by: VALUE, descending: true };
    }
  } else found.having = null;
  if (found.order?.by === VALUE && !found.by.length) found.order = null;
  if (!found.order) found.ties = null;
  if (!found.first) Object.assign(found, { skip: null, ties: null });
  return found;
}

/** How the measure may be told; as groups, where there are keys. */
function howsOf(fields) {
  const grouped = fields.by?.length;
  if (!isSet(fields.measure)) return grouped ? ["count", "share"] : ["count", "list", "share"];
  return (offer(fields.measure)?.hows ?? ["count"]).filter((how) => how !== "value" || !grouped);
}

function change(changes, focus) {
  history.pushState(null, "", `/explore?${address(tidy({ ...asked, ...changes }))}`);
  load(focus);
}

async function load(focus) {
  running?.abort();
  const mine = (running = new AbortController());
  const search = parameters();
  fill(output, busy("Computing…"));
  try {
    if (!search.get("table") && !search.get("tables")) {
      known = null;
      asked = {};
      drawForm();
      return fill(output, h("p", { class: "empty" }, tables.length ? "Choose a table." : "There are no tables here yet."));
    }
    known = await fetchJson(`/api/explore?${search}`, { signal: mine.signal });
    asked = known.asked;
    document.title = `Explore ${known.title} · kgtable`;
    drawForm();
    fill(output, ...shown());
    document.getElementById(focus)?.focus();
  } catch (error) {
    if (error.name !== "AbortError") fill(output, failure(error), h("p", {}, h("a", { class: "button", href: "/explore" }, "Start again")));
  }
}

// ---- the fields ----

/** A labelled choice among `options`, pairs of value and words; its value is JSON. */
function choice(id, label, options, value, onchange) {
  const listed = options.some(([one]) => same(one, value)) ? options : [[value, title(value)], ...options];
  const select = h("select", { id }, listed.map(([one, words]) => h("option", { value: JSON.stringify(one), selected: same(one, value) }, words)));
  select.addEventListener("change", () => onchange(JSON.parse(select.value)));
  return h("label", { for: id }, label, select);
}

const named = (columns) => columns.map(({ column, title, unit }) => [column, unit && !/[()[\]%€$£]/.test(title) ? `${title} (${unit})` : title]);

function drawForm() {
  const listed = tables.map(({ id, title, subtitle }) => [id, subtitle ? `${title} – ${subtitle}` : title]);
  if (asked.table && !tables.some(({ id }) => id === asked.table)) listed.unshift([asked.table, known.title]);
  const table = choice("table", "Table", [["", "Choose a table"], ...listed], asked.table ?? "", (id) => {
    history.pushState(null, "", id ? `/explore?${address({ table: id, how: "count" })}` : "/explore");
    load("table");
  });
  fill(form, table, ...(known ? fieldsOf() : []));
}

function fieldsOf() {
  const { columns, joins } = known;
  const parts = [];
  if (joins.length) {
    parts.push(choice("join", "Together with", [[null, "no other table"], ...joins.map(({ title, join }) => [join, title])], asked.join ?? null,
      (join) => change({ join, measure: null, by: [], where: [], ask: [], order: null, how: "count" }, "join")));
  }
  const measures = columns.filter(({ hows }) => hows.some((how) => how !== "value"));
  parts.push(choice("measure", "Measure", [[null, "Rows"], ...named(measures)], asked.measure ?? null, (measure) => change({ measure, how: ["count", "list", "value"].includes(asked.how) ? null : asked.how }, "measure")));
  parts.push(choice("how", "How", howsOf(asked).map((how) => [how, NAMES[how]]), asked.how, (how) => change({ how }, "how")));
  if (asked.how === "list") parts.push(adder("ask", "Columns shown", named(columns.filter(({ column }) => !(asked.ask ?? []).some((one) => same(one, column)))), asked.ask ?? [], "all"));
  else parts.push(...keys());
  parts.push(conditions());
  const orders = asked.by?.length ? [VALUE, ...asked.by] : asked.how === "list" ? columns.map(({ column }) => column) : [];
  if (orders.length) {
    const pairs = orders.flatMap((by) => [[{ by, descending: true }, `${title(by)}, highest first`], [{ by }, `${title(by)}, lowest first`]]);
    parts.push(choice("order", "Order", [[null, "as in the table"], ...pairs], asked.order ?? null, (order) => change({ order }, "order")));
    const first = h("input", { type: "text", id: "first", inputmode: "numeric", pattern: "[1-9][0-9]*", placeholder: "all", value: asked.first ?? "", autocomplete: "off" });
    first.addEventListener("change", () => first.reportValidity() && change({ first: Number(first.value) || null }, "first"));
    parts.push(h("label", { for: "first" }, "First", first));
  }
  return parts;
}

function keys() {
  const by = asked.by ?? [];
  const groups = named(known.columns.filter(({ groups, buckets }) => groups || buckets.length));
  const put = (place, key, focus) => change({ by: [...by.slice(0, place), ...(key === null ? [] : [key]), ...by.slice(place + 1)], how: asked.how === "value" ? null : asked.how }, focus);
  const start = (column) => (column !== null && offer(column).buckets.length ? { ...(column.column === undefined ? { column } : column), bucket: "month" } : column);
  const places = [...by, ...(by.length < MOST_KEYS && groups.length ? [null] : [])];
  return places.map((key, place) => h("div", { class: "pair" },
    choice(`by${place}`, place ? "And by" : "By", [[null, place ? "nothing more" : "no groups"], ...groups], plain(key), (column) => put(place, start(column), `by${place}`)),
    key !== null && offer(key)?.buckets.length
      ? choice(`bucket${place}`, "Per", ["", ...offer(key).buckets].map((bucket) => [bucket, BUCKETS[bucket]]), key.bucket ?? "",
          (bucket) => put(place, bucket ? { ...(key.column === undefined ? { column: key } : key), bucket } : plain(key), `bucket${place}`))
      : null));
}

const chip = (words, remove) => h("li", {}, h("button", { class: "chip", type: "button", "aria-label": `Remove: ${words}`, onclick: remove }, h("bdi", {}, words), " ✕"));

/** Chosen columns as chips that a click removes, and a choice that adds one. */
function adder(name, label, options, chosen, none) {
  return h("div", {},
    choice(name, label, [[null, chosen.length ? "Add a column" : none], ...options], null, (column) => column !== null && change({ [name]: [...chosen, column] }, name)),
    h("ul", { class: "chips" }, chosen.map((column, place) => chip(title(column), () => change({ [name]: chosen.toSpliced(place, 1) }, name)))));
}

// ---- conditions ----

const said = (value) => (typeof value === "object" ? String(value.value) : String(value));

function inWords({ column, values = [], relator = "=", negated }) {
  if (!values.length) return `${title(column)} is ${negated ? "given" : "blank"}`;
  return `${negated ? "not: " : ""}${title(column)} ${RELATORS[relator] ?? relator} ${values.map(said).join(relator === "!=" ? " or " : " or ")}`;
}

function conditions() {
  const where = asked.where ?? [];
  const place = h("div", { id: "condition" });
  return h("div", { role: "group", "aria-label": "Conditions" },
    choice("where", "Only rows where", [[null, where.length ? "Add a condition" : "all rows"], ...named(known.columns)], null, (column) => edit(column)),
    h("ul", { class: "chips" }, where.map((one, at) => chip(inWords(one), () => change({ where: where.toSpliced(at, 1) }, "where")))), place);

  async function edit(column) {
    if (column === null) return fill(place);
    const { kind } = offer(column);
    const add = (condition) => change({ where: [...where, { column, ...condition }] }, "where");
    const typed = (text) => (kind === "quantity" ? { value: text.replaceAll(",", ""), type: kind } : ["date", "period"].includes(kind) ? { value: text, type: "period" } : text);
    const relator = h("select", { "aria-label": "Comparison" }, Object.entries(RELATORS).map(([value, words]) => h("option", { value }, words)));
    const text = h("input", { type: "text", "aria-label": "Value", autocomplete: "off" });
    const list = h("div", { class: "values", role: "group", "aria-label": `Values of ${title(column)}` });
    const use = () => {
      const values = [...list.querySelectorAll(":checked")].map((box) => JSON.parse(box.value));
      if (text.value.trim() && (relator.value !== "=" || !values.length)) add({ values: [typed(text.value.trim())], relator: relator.value });
      else if (values.length) add({ values, ...(relator.value === "!=" ? { relator: "!=" } : {}) });
      else text.focus();
    };
    const show = async () => {
      const { table, column: name } = column?.column === undefined ? { column } : column;
      const search = new URLSearchParams({ table: table ?? asked.table ?? asked.tables[0], column: coded(name), find: relator.value === "=" ? text.value.trim() : "" });
      const { values } = await fetchJson(`/api/values?${search}`).catch(() => ({ values: [] }));
      fill(list, values.map(({ value, text, rows }) => h("label", { class: "choice-line" }, h("input", { type: "checkbox", value: JSON.stringify(value) }), h("bdi", {}, text), h("small", {}, count(rows)))),
        values.length >= MOST_LISTED && !text.value ? h("small", {}, "The most frequent ones: type to find others") : null);
    };
    text.addEventListener("input", later(show));
    text.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      use();
    });
    fill(place, h("div", { class: "pair" }, relator, text), list, h("p", { class: "toolbar" }, h("button", { type: "button", class: "primary", id: "add", onclick: use }, "Add"),
      h("button", { type: "button", onclick: () => add({ negated: true }) }, "Is given"), h("button", { type: "button", onclick: () => add({}) }, "Is blank")));
    await show();
    (list.querySelector("input") ?? text).focus();
  }
}

// ---- the result ----

function shown() {
  const { result, problem } = known;
  const titled = (name) => (/^column \d+$/.test(name) ? (known.columns.find(({ column }) => `column ${column}` === name)?.title ?? name) : name);
  if (!result) return [h("section", { class: "card" }, h("p", { class: "note warn", role: "alert" }, problem))];
  return [
    h("section", { class: "card" },
      h("p", { class: "quiet sentence", id: "words", dir: "auto" }, result.calculation),
      result.text === null ? rowsView(result, titled) : h("p", { class: "answer-text", id: "value", dir: "auto" }, result.text || "No value"),
      result.chart ? chartView(result.chart) : null),
    h("section", { class: "card" },
      cells(result),
      formsView(known),
      h("p", { class: "toolbar" }, h("a", { class: "button", href: links.table(asked.table ?? asked.tables[0]) }, "Open the table"))),
  ];
}

function cells({ citations, cells_read: read }) {
  if (!citations.length) return h("p", { class: "quiet" }, "No cells were read.");
  return h("details", { class: "way", open: true }, h("summary", {}, `${count(read)} ${read === 1 ? "cell" : "cells"} read`),
    h("ol", { class: "cited" }, citations.map(({ table, row, column, text, reference, label, header }, place) =>
      h("li", { value: place + 1 }, h("a", { href: links.table(table, row, column) }, h("span", { class: "cited-text", dir: "auto" }, text), h("small", { dir: "auto" }, [reference, label, header].filter(Boolean).join(" · ")))))),
    read > citations.length ? h("p", { class: "quiet" }, `and ${count(read - citations.length)} more`) : null);
}

form.addEventListener("submit", (event) => event.preventDefault());
addEventListener("popstate", () => load());
tables = await fetchJson("/api/tables?limit=200").then((found) => found.tables, () => []);
load(location.hash.slice(1));
