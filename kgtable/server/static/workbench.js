// What the SPARQL and the SQL page share: an editor with tabs and a history, a run that can be stopped, its rows, and an address that brings both back.

import { busy, copyText, count, failure, fetchJson, fill, h, later, parameters, remember } from "./shell.js";
import { chartView } from "./chart-view.js";
import { QueryEditor } from "./query-editor.js";
import { ResultTable } from "./result-table.js";

const MOST_TABS = 12;
const MOST_RUNS = 40;
const LONGEST_KEPT = 20_000;
const PLACE = /line (\d+), column (\d+)/i;
const output = document.querySelector("#results");
const status = document.querySelector("#status");
const buttons = Object.fromEntries(["run", "stop", "share"].map((name) => [name, document.querySelector(`#${name}`)]));
const [tabs, runs] = ["#queries", "#history"].map((selector) => document.querySelector(selector));

/** The rows of one query: counted, as a table or a chart, to copy and to download. `forms` are pairs of name and address. */
export class RowsView {
  constructor({ noun, terms, forms, chart }) {
    Object.assign(this, { noun, terms, forms, address: chart, table: null });
    this.number = h("strong", { id: "count" });
    this.said = h("span", { class: "quiet" });
  }

  say(rows, more, whole) {
    this.number.textContent = `${whole ? "" : "The first "}${count(rows.length)} ${this.noun}${rows.length === 1 ? "" : "s"}`;
    this.said.textContent = more;
  }

  frame(variables, rows) {
    const views = this.address && rows.length > 1 ? this.views() : null;
    const copy = h("button", { type: "button", id: "copy", onclick: async () => {
      if (await copyText(this.table.delimited())) status.textContent = "Rows copied.";
    } }, "Copy");
    const downloads = h("span", { class: "downloads" }, rows.length ? copy : null, h("span", { class: "quiet" }, "Download"),
      this.forms.map(([name, suffix, href]) => h("a", { class: "button", download: `result.${suffix}`, href }, name)));
    const bar = h("p", { class: "toolbar results-bar" }, this.number, this.said, views, downloads);
    if (!rows.length) return [bar, h("p", { class: "empty" }, "The query matches nothing.")];
    this.table = new ResultTable(variables, rows, this.terms);
    return [bar, this.table.element, this.chart];
  }

  /** Buttons that show the rows as a table or as a chart, which the server draws when it is first asked for. */
  views() {
    this.chart = h("div", { hidden: true });
    const choose = (chosen) => {
      choices.forEach((button) => button.setAttribute("aria-pressed", button.textContent === chosen));
      this.chart.hidden = chosen === "Table";
      this.table.element.hidden = chosen === "Chart";
      if (chosen === "Chart" && !this.chart.hasChildNodes()) this.draw();
    };
    const choices = ["Table", "Chart"].map((name) => h("button", { type: "button", "aria-pressed": String(name === "Table"), onclick: () => choose(name) }, name));
    return h("span", { class: "views", role: "group", "aria-label": "View" }, choices);
  }

  async draw() {
    fill(this.chart, busy("Drawing…"));
    const found = await fetchJson(this.address).catch((error) => ({ error }));
    const none = "There is nothing to draw: a chart needs a column of numbers beside one of texts or years.";
    fill(this.chart, found.error ? failure(found.error) : found.chart ? chartView(found.chart) : h("p", { class: "empty" }, none));
  }
}

/** A query on one line without its prefixes, which the page adds. */
const bare = (query) => query.split("\n").filter((line) => !/^\s*prefix\b/i.test(line)).join(" ").trim();

/** What the browser keeps of a page: its tabs, the one that is open, and the queries that were run. */
class Kept {
  constructor(name, start) {
    this.name = name;
    try {
      const { tabs, current, runs } = JSON.parse(localStorage.getItem(name));
      if (tabs.every(({ title, query }) => typeof title === "string" && typeof query === "string") && tabs[current] && Array.isArray(runs)) Object.assign(this, { tabs, current, runs });
    } catch {
      // nothing is kept, or not by this page
    }
    if (!this.tabs) Object.assign(this, { tabs: [{ title: "Query 1", query: start }], current: 0, runs: [] });
  }

  get query() {
    return this.tabs[this.current].query;
  }

  set query(query) {
    this.tabs[this.current].query = query;
    this.save();
  }

  open(query) {
    const number = 1 + Math.max(0, ...this.tabs.map(({ title }) => Number(title.slice(6)) || 0));
    this.tabs = [...this.tabs, { title: `Query ${number}`, query }].slice(-MOST_TABS);
    this.choose(this.tabs.length - 1);
  }

  close() {
    this.tabs.splice(this.current, 1);
    this.choose(Math.max(0, this.current - 1));
  }

  choose(current) {
    this.current = current;
    this.save();
  }

  ran(query) {
    if (query.length > LONGEST_KEPT) return;
    this.runs = [query, ...this.runs.filter((other) => other !== query)].slice(0, MOST_RUNS);
    this.save();
  }

  save() {
    const tabs = this.tabs.map(({ title, query }) => ({ title, query: query.slice(0, LONGEST_KEPT) }));
    try {
      localStorage.setItem(this.name, JSON.stringify({ tabs, current: this.current, runs: this.runs }));
    } catch {
      // the browser keeps nothing, or has no room left
    }
  }
}

/** The workbench of a page. `execute(query, run)` gives what is shown, `run` having its `signal`, `isCurrent()` and `time()`; `language` is what `QueryEditor` takes. */
export class Workbench {
  constructor({ start, execute, language }) {
    Object.assign(this, { start, execute, running: null, ran: null, view: null });
    this.asked = parameters().get("query");
    this.kept = new Kept(`kgtable-tabs:${location.pathname}`, this.asked ?? start);
    if (this.asked !== null && this.kept.query !== this.asked) {
      const known = this.kept.tabs.findIndex(({ query }) => bare(query) === bare(this.asked));
      if (known < 0) this.kept.open(this.asked);
      else {
        this.kept.choose(known);
        this.kept.query = this.asked;
      }
    }
    const note = later(() => {
      const query = this.editor.getValue();
      this.kept.query = query;
      remember({ query, run: query === this.ran ? "1" : null });
    }, 400);
    this.editor = new QueryEditor(document.querySelector("#editor"), { value: this.kept.query, changed: note, run: () => this.run(), ...language });
    window.kgtableEditor = this.editor;
    if (matchMedia("(max-width: 60rem)").matches) document.querySelectorAll(".workbench details").forEach((part) => { part.open = false; });
    buttons.run.addEventListener("click", () => this.run());
    buttons.stop.addEventListener("click", () => this.running?.abort());
    buttons.share.addEventListener("click", async () => {
      const link = `${location.origin}${this.address(this.editor.getValue())}`;
      status.textContent = (await copyText(link)) ? "Link copied." : link;
    });
    addEventListener("popstate", () => {
      const query = parameters().get("query");
      if (query === null) return;
      this.editor.setValue(query);
      if (parameters().has("run")) this.run({ push: false });
      else fill(output);
    });
    this.list();
    if (this.toRun) fill(output, busy("Running the query…"));
  }

  /** Whether the address asks for the result, too. */
  get toRun() {
    return this.asked && parameters().has("run");
  }

  address(query) {
    return `${location.pathname}?${new URLSearchParams({ query, run: "1" })}`;
  }

  /** The tabs above the editor and the queries that were run. */
  list() {
    const { kept } = this;
    const turn = (change) => {
      kept.query = this.editor.getValue();
      change();
      this.editor.setValue(kept.query);
      fill(output);
      this.list();
    };
    const tab = ({ title, query }, place) => h("button", { type: "button", title: query.slice(0, 200), "aria-pressed": String(place === kept.current), onclick: () => turn(() => kept.choose(place)) }, title);
    fill(tabs, kept.tabs.map(tab),
      h("button", { type: "button", class: "plain", id: "open-tab", "aria-label": "New query", title: "New query", onclick: () => turn(() => kept.open(this.start)) }, "+"),
      kept.tabs.length > 1 ? h("button", { type: "button", class: "plain", id: "close-tab", "aria-label": "Close this query", title: "Close this query", onclick: () => turn(() => kept.close()) }, "✕") : null);
    fill(runs, kept.runs.map((query) => h("li", {}, h("button", { type: "button", title: query.slice(0, 1000), onclick: () => this.editor.setValue(query) }, bare(query).slice(0, 80)))));
    runs.closest("details").hidden = !kept.runs.length;
  }

  load(query) {
    this.editor.setValue(query);
    this.run();
  }

  async run({ push = true } = {}) {
    this.running?.abort();
    const mine = (this.running = new AbortController());
    const query = (this.ran = this.editor.getValue());
    this.editor.clear();
    this.view = null;
    Object.assign(this.kept, { query });
    this.kept.ran(query);
    this.list();
    if (push && location.pathname + location.search !== this.address(query)) history.pushState(null, "", this.address(query));
    buttons.stop.hidden = false;
    status.textContent = "Running…";
    fill(output, busy("Running the query…"));
    const began = performance.now();
    const time = () => {
      const seconds = (performance.now() - began) / 1000;
      return `${seconds.toFixed(seconds < 10 ? 2 : 0)} s`;
    };
    const isCurrent = () => this.running === mine;
    const content = await this.execute(query, { signal: mine.signal, isCurrent, time }).catch((error) => this.failed(error));
    if (!isCurrent()) return;
    this.running = null;
    buttons.stop.hidden = true;
    status.textContent = "";
    if (!content) return;
    if (this.view?.table && output.contains(this.view.table.element)) {
      this.view.said.textContent = "";
      output.prepend(...content);
      return;
    }
    this.show(content);
  }

  show(content) {
    fill(output, content);
    const box = output.getBoundingClientRect();
    if (box.top > innerHeight - 160 || box.top < 0) output.scrollIntoView({ block: "start" });
  }

  tell(text) {
    status.textContent = text;
  }

  failed(error) {
    if (error.name === "AbortError") return [h("p", { class: "note", id: "stopped" }, "Stopped.")];
    const problem = error.problem ?? {};
    const place = PLACE.exec(error.message);
    if (problem.line) this.editor.mark(problem);
    else if (place) this.editor.mark({ line: Number(place[1]), column: Number(place[2]), detail: error.message });
    return [h("div", { class: "note bad", role: "alert" }, h("strong", {}, problem.title ?? "The query failed"), h("p", {}, error.message))];
  }
}
