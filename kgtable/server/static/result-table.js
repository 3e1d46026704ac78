// A result of a query as a table of which only the rows in sight are in the page: sorted, searched, opened.

import { count, fill, h, later } from "./shell.js";
import { isNumber } from "./terms.js";

const BEYOND = 15;
const SAMPLE = 200;
const NARROWEST = 7;
const WIDEST = 44;

/** A table of `rows`, each an object of terms by variable; `terms` says how a term is shown. */
export class ResultTable {
  constructor(variables, rows, terms) {
    Object.assign(this, { variables, rows, terms, order: rows.map((_, place) => place), column: null, falling: false, first: -1, last: -1, height: 34 });
    this.words = "";
    this.numeric = variables.map((name) => {
      const sample = rows.slice(0, SAMPLE).map((row) => row[name]).filter(Boolean);
      return sample.length > 0 && sample.every(isNumber);
    });
    this.element = this.build();
  }

  build() {
    this.body = h("tbody");
    this.heads = this.variables.map((name, place) =>
      h("th", { scope: "col", class: this.numeric[place] ? "number" : null },
        h("button", { class: "plain", type: "button", title: `Sort by ${name}`, onclick: () => this.sort(place) }, name)));
    const widths = this.variables.map((name) => this.width(name));
    const columns = [h("col"), ...widths.map(() => h("col"))];
    this.widths = widths;
    this.numbers = columns[0];
    widths.forEach((width, place) => { columns[place + 1].style.width = `${width}ch`; });
    this.table = h("table", { class: "results windowed" },
      h("caption", { class: "only-read" }, "Results"),
      h("colgroup", {}, columns),
      h("thead", {}, h("tr", { "aria-rowindex": 1 }, h("th", { scope: "col" }, h("span", { class: "only-read" }, "Row")), this.heads)),
      this.body);
    this.measure();
    this.scroller = h("div", { class: "scroll windowed", tabindex: "0", role: "region", "aria-label": "Results" }, this.table);
    this.scroller.addEventListener("scroll", () => {
      this.waiting ??= requestAnimationFrame(() => {
        this.waiting = null;
        this.draw();
      });
    });
    new ResizeObserver(() => this.draw()).observe(this.scroller);
    this.details = h("section", { class: "card row-details", "aria-live": "polite", hidden: true });
    this.found = h("span", { class: "quiet", role: "status" });
    const search = h("input", { type: "search", placeholder: "Filter the rows", "aria-label": "Filter the rows", autocomplete: "off" });
    search.addEventListener("input", later(() => this.filter(search.value)));
    const tools = this.rows.length > 10 ? h("p", { class: "toolbar" }, h("span", { class: "grow" }, search), this.found) : null;
    return h("div", {}, tools, this.scroller, this.details);
  }

  /** Makes room for the number of the last row. */
  measure() {
    const first = count(this.rows.length).length + 5;
    this.numbers.style.width = `${first}ch`;
    this.table.style.minWidth = `${this.widths.reduce((sum, width) => sum + width, first)}ch`;
    this.table.setAttribute("aria-rowcount", this.rows.length + 1);
  }

  /** Takes all rows of a result of which the first were shown; what is in sight stays. */
  extend(rows) {
    this.rows = rows;
    this.texts = null;
    this.measure();
    if (this.words || this.column !== null) this.arrange();
    else {
      this.order = rows.map((_, place) => place);
      this.first = -1;
      this.draw();
    }
  }

  width(name) {
    let widest = name.length + 4;
    for (const row of this.rows.slice(0, SAMPLE)) {
      const term = row[name];
      if (term) widest = Math.max(widest, Math.min(this.terms.text(term).length * (isNumber(term) ? 1.3 : 0.97) + 4, WIDEST));
    }
    return Math.max(NARROWEST, Math.ceil(widest));
  }

  draw() {
    const top = this.scroller.scrollTop;
    const first = Math.max(0, Math.floor(top / this.height) - BEYOND);
    const last = Math.min(this.order.length, Math.ceil((top + this.scroller.clientHeight) / this.height) + BEYOND);
    if (first === this.first && last === this.last) return;
    Object.assign(this, { first, last });
    const rows = [];
    for (let place = first; place < last; place += 1) rows.push(this.row(place));
    fill(this.body, this.gap(first), rows, this.gap(this.order.length - last));
    const drawn = rows[0]?.getBoundingClientRect().height;
    if (drawn && Math.abs(drawn - this.height) > 0.5) {
      this.height = drawn;
      this.first = -1;
      this.draw();
    }
  }

  gap(rows) {
    if (!rows) return null;
    const cell = h("td", { colspan: this.variables.length + 1 });
    cell.style.height = `${rows * this.height}px`;
    return h("tr", { class: "gap", "aria-hidden": "true" }, cell);
  }

  row(place) {
    const index = this.order[place];
    const row = this.rows[index];
    return h("tr", { "aria-rowindex": place + 2 },
      h("td", { class: "number" }, h("button", { class: "plain", type: "button", "aria-label": `Row ${index + 1}: every value in full`, onclick: () => this.open(index) }, count(index + 1))),
      this.variables.map((name, column) => {
        const term = row[name];
        return h("td", { class: this.numeric[column] ? "number" : null }, term ? this.terms.view(term) : null);
      }));
  }

  /** The rows as they are sorted and filtered, with tabs between the values. */
  delimited() {
    const line = (values) => values.map((value) => value.replace(/\s+/g, " ")).join("\t");
    return [line(this.variables), ...this.order.map((place) => line(this.variables.map((name) => this.terms.text(this.rows[place][name]))))].join("\n");
  }

  redraw() {
    Object.assign(this, { first: -1, last: -1 });
    this.scroller.scrollTop = 0;
    this.draw();
  }

  sort(column) {
    if (this.column !== column) Object.assign(this, { column, falling: false });
    else if (!this.falling) this.falling = true;
    else this.column = null;
    this.heads.forEach((head, place) => {
      if (place === this.column) head.setAttribute("aria-sort", this.falling ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    this.arrange();
  }

  filter(words) {
    this.words = words.trim().toLowerCase();
    this.arrange();
  }

  arrange() {
    this.texts ??= this.rows.map((row) => this.variables.map((name) => this.terms.text(row[name])).join("\n").toLowerCase());
    this.order = this.rows.map((_, place) => place).filter((place) => !this.words || this.texts[place].includes(this.words));
    if (this.column !== null) {
      const name = this.variables[this.column];
      const value = this.numeric[this.column] ? (row) => (row[name] ? Number(row[name].value) : -Infinity) : (row) => this.terms.text(row[name]);
      const keys = new Map(this.order.map((place) => [place, value(this.rows[place])]));
      const compare = new Intl.Collator(undefined, { numeric: true }).compare;
      const by = this.numeric[this.column] ? (a, b) => a - b : compare;
      this.order.sort((a, b) => by(keys.get(a), keys.get(b)) * (this.falling ? -1 : 1) || a - b);
    }
    this.found.textContent = this.words ? `${count(this.order.length)} of ${count(this.rows.length)}` : "";
    this.redraw();
  }

  /** Every value of a row in full, below the table. */
  open(index) {
    const row = this.rows[index];
    this.details.hidden = false;
    const close = h("button", { class: "plain close", type: "button", "aria-label": "Close", onclick: () => { this.details.hidden = true; } }, "✕");
    const heading = h("h3", { tabindex: "-1" }, `Row ${count(index + 1)}`);
    fill(this.details, close, heading, h("dl", { class: "facts" },
      this.variables.filter((name) => row[name]).flatMap((name) => [
        h("dt", {}, name),
        h("dd", {}, this.terms.view(row[name]), row[name].type === "uri" ? h("div", {}, h("small", { class: "mono" }, row[name].value)) : null),
      ])));
    heading.focus();
    this.details.scrollIntoView({ block: "nearest" });
  }
}
