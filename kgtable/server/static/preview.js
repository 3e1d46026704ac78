// What was read of a table, with fields to decide otherwise: header rows, title, and each column's unit, scale, type and meaning.

import { decisionFields, sheetOf } from "./mapping-editor.js";
import { fill, grouped, h, later } from "./shell.js";

const KINDS = { number: "number", text: "text", date: "date", missing: "missing" };
/** What a person may say that a row is, by the field of the decisions that then names it. */
const ROWS = { "header rows": "header", "note rows": "note", "skip rows": "not data" };

/** A table's preview. `decide` is called when a decision changes; `decisions()` gives them, `{tables: [{…}], columns: [{…}]}`. */
export class TablePreview {
  constructor(table, decide) {
    this.id = table.id;
    this.table = {};
    this.columns = new Map();
    this.tell = later(() => decide(), 350);
    this.element = h("section", { class: "card preview", "data-table": table.id });
    this.head = h("div");
    this.rows = h("div", { class: "scroll preview-rows", tabindex: "0", role: "region", "aria-label": `First rows of ${table.title}` });
    this.notes = h("div");
    this.fields = new Map();
    this.said = new Map();
    this.header = new Set(table.head.filter((row) => row.kind === "header").map((row) => row.row));
    this.show(table);
    fill(this.element, this.head, this.settings(table), this.rows, h("details", { class: "way", open: true }, h("summary", {}, "Columns"), this.columnTable(table)), this.notes);
  }

  /** Shows what is read now; the fields keep what was typed. */
  show(table) {
    const size = table.rows === null ? "a long table" : `${grouped(String(table.rows))} rows`;
    fill(this.head, h("h3", { dir: "auto" }, table.title), h("p", { class: "quiet" }, `${table.sheet ? `Sheet ${table.sheet} · ` : ""}${size} · ${table.width} columns`));
    const letters = table.columns.map((column) => h("th", { scope: "col", class: "ruler" }, column.letters));
    fill(this.rows, h("table", { class: "sheet" },
      h("thead", {}, h("tr", {}, h("th", { class: "ruler" }, h("span", { class: "only-read" }, "Row")), letters)),
      h("tbody", {}, table.head.concat(table.tail).map((row) =>
        h("tr", { class: row.kind }, h("th", { scope: "row", class: "ruler" }, this.rowKind(row)), table.columns.map((column) => h("td", { class: column.kind === "number" && row.kind !== "title" ? "cell number" : "cell", dir: "auto" }, row.cells[column.index] ?? "")))))));
    fill(this.notes, table.notes.map((note) => h("p", { class: "note warn" }, note)));
    for (const column of table.columns) this.cells?.get(column.index)?.(column);
    this.fields.get("header rows")?.setAttribute("placeholder", table.header_rows);
  }

  /** A control that shows what a row is read as, and sets it. */
  rowKind(row) {
    const choices = [["", `${row.row} ${row.kind === "body" ? "data" : row.kind}`], ...Object.entries(ROWS), ...(this.header.has(row.row) ? [["data", "data"]] : [])];
    const select = h("select", { class: "kind", "aria-label": `Row ${row.row} is read as` },
      choices.map(([value, words]) => h("option", { value, selected: value === (this.said.get(row.row) ?? "") }, value ? `${row.row} ${words}, as you say` : words)));
    select.addEventListener("change", () => {
      if (select.value) this.said.set(row.row, select.value);
      else this.said.delete(row.row);
      this.tellRows();
    });
    return select;
  }

  /** Names in each field the rows that were said to be of its kind. */
  tellRows() {
    for (const name of Object.keys(ROWS)) {
      const isHeader = name === "header rows";
      const rows = [...this.said].filter(([, said]) => said === name).map(([row]) => row);
      if (isHeader) rows.push(...[...this.header].filter((row) => !this.said.has(row)));
      const text = rows.sort((one, other) => one - other).join("; ");
      this.table[name] = this.fields.get(name).value = isHeader && !text ? "none" : text;
    }
    this.tell();
  }

  settings(table) {
    const field = (name, label, placeholder) => {
      const input = h("input", { type: "text", placeholder, autocomplete: "off", "aria-label": `${label} of ${table.title}` });
      input.addEventListener("input", () => { this.table[name] = input.value.trim(); this.tell(); });
      this.fields.set(name, input);
      return h("label", {}, h("span", { class: "quiet" }, label), input);
    };
    return h("div", { class: "fields" }, field("title", "Title", table.title), field("header rows", "Header rows", table.header_rows),
      field("label column", "Label column", table.label_column), field("skip rows", "Rows without data", "none"), field("note rows", "Rows of notes", "as found"), field("unit", "Unit", "as found"),
      field("tables begin at", "Further tables begin at row", "as found"));
  }

  columnTable(table) {
    this.cells = new Map();
    const rows = table.columns.map((column) => this.column(column, table));
    const heads = ["", "Name", "Holds", "Is read as", "Unit", "Scale", "Type", "Role", "Measure kind", "Variant"].map((name) => h("th", { scope: "col" }, name || h("span", { class: "only-read" }, "Column")));
    return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Columns of ${table.title}` }, h("table", { class: "list" }, h("thead", {}, h("tr", {}, heads)), h("tbody", {}, rows)));
  }

  column(column, table) {
    const set = (name, text) => {
      this.columns.set(column.name, { ...this.columns.get(column.name), [name]: text });
      this.tell();
    };
    const fields = decisionFields(column, set, null, column.name || column.letters);
    const name = h("td", { dir: "auto" });
    const holds = h("td");
    const sample = h("td");
    this.cells.set(column.index, (now) => {
      fill(name, now.name || h("span", { class: "quiet" }, "no name"));
      fill(holds, [KINDS[now.kind] ?? now.kind, now.meaning].filter(Boolean).join(" · "));
      fill(sample, now.sample ? [h("span", { class: "quiet" }, `“${now.sample.text}” is `), h("strong", {}, grouped(now.sample.value)), ` ${unitName(now)}`] : h("span", { class: "quiet" }, "—"));
      fields[0].control.placeholder = now.units.map((entry) => entry.label).join(", ") || "none";
    });
    this.cells.get(column.index)(column);
    return h("tr", {}, h("th", { scope: "row", class: "mono" }, column.letters), name, holds, sample, fields.map(({ control }) => h("td", {}, control)));
  }

  /** The decisions as the server takes them. */
  decisions() {
    const columns = [...this.columns].filter(([name]) => name).map(([name, decided]) => ({ ...decided, "column name": name, "only in": this.id }));
    const { "tables begin at": begin, ...own } = this.table;
    const tables = begin === undefined ? [] : [{ "tables begin at": begin, table: sheetOf(this.id) }];
    if (tables.length && tables[0].table === this.id) Object.assign(own, tables.pop());
    return { columns, tables: [{ ...own, table: this.id }, ...tables] };
  }
}

const unitName = (column) => (column.sample.unit === "UNITLESS" ? "" : (column.units.find((entry) => entry.name === column.sample.unit)?.label ?? column.sample.unit));
