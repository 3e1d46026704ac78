// A table as it was printed: rulers as in a spreadsheet, frozen headers and labels, groups, totals, cells to open.

import { count, h, letters } from "./shell.js";

const NUMBER = /^[\s(+\-−–\p{Sc}~]*[\d.,\s  ']*\d[\d.,\s  '%)*†‡]*(?:[a-zA-Z%]{0,3}|\p{Sc})\s*$/u;
const MISSING = /^\s*(?:[-–—.…*]{1,3}|n\/?a|nil)\s*$/i;
const LONG = 300;
/** The meaning of a column of which there is only a guess. */
export const UNKNOWN = "not known";
/** A date, a code or a short word: it is no text that may be broken at its hyphens. */
const UNBROKEN = /^\S{1,20}$/;

/**
 * The frame of a table: its element, the table in it, and what makes its rows.
 *
 * `table` is what /api/tables/{id} returns. `lit` holds the positions "row,column" to highlight, `cites` their
 * numbers; `onCell(row, column, element)` is called when a cell is chosen by mouse or keyboard; `onSort(column)`
 * when a column's ruler is, `onColumn(column)` when its meaning is; `sorted` is the column and order now; `find` the text whose cells are marked.
 */
export function tableFrame(table, options = {}) {
  const { lit = new Set(), cites = new Map(), onCell = null, onSort = null, onColumn = null, sorted = null, find = "", label = "" } = options;
  const layout = columnLayout(table.columns);
  const span = layout.length + 1;
  const numeric = numericColumns(table);
  const make = { table, layout, lit, cites, find: find.toLowerCase(), span, numeric };
  const head = table.rows.filter((row) => row.index < table.head);
  const titles = head.filter((row) => row.kind === "title");
  const headers = head.filter((row) => row.kind !== "title");
  const view = h(
    "table",
    {
      class: "sheet",
      role: onCell ? "grid" : null,
      dir: table.direction,
      "aria-label": label || table.title,
      "aria-rowcount": table.rows_total,
      "aria-colcount": table.width,
    },
    h("thead", {}, h("tr", {}, h("td", { class: "ruler" }), layout.map((part) => ruler(part, table, { onSort, onColumn, sorted })))),
    titles.length ? h("tbody", { class: "titles" }, titles.map((row) => rowView(row, make))) : null,
    headers.length ? h("tbody", { class: "head" }, headers.map((row) => rowView(row, make))) : null,
  );
  view.style.setProperty("--ruler", `${1.4 + 0.46 * String(table.rows_total).length}rem`);
  if (onCell) listen(view, onCell);
  const element = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label || table.title }, view);
  return { element, view, make };
}

/** Some rows of a table, with what is left out between them said in a row of its own. */
export function tableView(table, options = {}) {
  const { element, view, make } = tableFrame(table, options);
  const body = h("tbody");
  let before = table.head - 1;
  for (const row of table.rows) {
    if (row.index < table.head) continue;
    if (row.index > before + 1) body.append(missing(row.index - before - 1, make.span));
    before = row.index;
    body.append(rowView(row, make));
  }
  const rest = table.rows_total - 1 - before;
  if (rest > 0) body.append(missing(rest, make.span));
  view.append(body);
  if (options.onCell) focusFirst(view);
  return element;
}

/** The columns whose first rows hold more numbers than other texts. */
function numericColumns(table) {
  const found = new Set();
  table.columns.forEach((column, place) => {
    const texts = table.rows.filter((row) => row.index >= table.head).slice(0, 60).map((row) => row.cells[place] ?? "").filter((text) => text.trim() && !MISSING.test(text));
    if (texts.filter((text) => NUMBER.test(text)).length * 2 > texts.length) found.add(column.index);
  });
  return found;
}

function missing(rows, span) {
  return h("tr", { class: "between" }, h("td", { class: "gap", colspan: span }, h("span", {}, `${count(rows)} more ${rows === 1 ? "row" : "rows"}`)));
}

/** The columns in order; between those that do not stand beside each other the number of those left out. */
function columnLayout(columns) {
  const layout = [];
  let before = null;
  columns.forEach((column, place) => {
    if (before !== null && column.index > before + 1) layout.push({ gap: column.index - before - 1 });
    layout.push({ ...column, place });
    before = column.index;
  });
  return layout;
}

function ruler(part, table, { onSort, onColumn, sorted }) {
  if (part.gap) {
    const words = `${count(part.gap)} more ${part.gap === 1 ? "column" : "columns"}`;
    return h("td", { class: "ruler gap", title: words }, h("span", { class: "only-read" }, words), "⋯");
  }
  const order = sorted?.column === part.index ? (sorted.descending ? "descending" : "ascending") : null;
  const mark = order ? h("span", { "aria-hidden": "true" }, order === "ascending" ? "↑" : "↓") : null;
  const unit = part.unit ? h("span", { class: "unit" }, part.unit) : null;
  const meaning = part.meaning && part.meaning !== UNKNOWN ? h("span", { class: "meaning", title: part.evidence }, part.meaning) : null;
  const name = letters(part.index);
  const guess = part.inferred ? inferredName(part.inferred) : null;
  const called = part.inferred ? `column ${name}, probably ${part.inferred.name}` : part.title || `column ${name}`;
  const words = `Sort by ${called}`;
  const button = (words, onclick, ...content) => h("button", { type: "button", class: "plain sort", title: words, "aria-label": `${name}. ${words}`, onclick }, content);
  const about = [guess, meaning, unit].some(Boolean) ? [guess, meaning, unit] : "…";
  const content = onSort
    ? [button(words, () => onSort(part.index), name, mark), button(["What this column means", part.meaning, part.unit, part.evidence].filter(Boolean).join(": "), () => onColumn(part), about)]
    : [name, guess, meaning, unit];
  const frozen = part.index === table.label_column ? "ruler frozen" : "ruler";
  return h("th", { class: frozen, scope: "col", "aria-sort": order, "data-column": part.index }, content);
}

const BASES = {
  columns: "like columns of other tables",
  values: "its values",
  tables: "like tables",
  headers: "its headers",
  model: "a language model",
};

/** A name that is not printed but inferred, marked as such, with its probability and what it was inferred from. */
export function inferredName({ name, confidence, basis }) {
  const source = basis === "user" ? "named in the mapping" : `inferred from ${BASES[basis] ?? basis}, probability ${Math.round(100 * confidence)} %`;
  return h("span", { class: "inferred", dir: "auto", title: `${name}: ${source}` }, h("span", { class: "only-read" }, "probably "), name);
}

/** One row of the table as an element. */
export function rowView(row, { table, layout, lit, cites, find, numeric }) {
  const spans = spansOf(row, layout);
  const cells = layout.map((part) => {
    if (part.gap) return h("td", { class: "gap" });
    const column = part.index;
    const span = spans.get(column) ?? 1;
    if (!span) return null;
    const text = row.cells[part.place] ?? "";
    const position = `${row.index},${column}`;
    const isLabel = column === table.label_column;
    const isLit = lit.has(position);
    const classes = ["cell"];
    if (isLabel) classes.push("label");
    else if ((NUMBER.test(text) && text.length < 40) || (numeric.has(column) && MISSING.test(text))) classes.push("number");
    else if (row.kind === "header" && numeric.has(column)) classes.push("end");
    if (isLabel && row.depth) classes.push(`indent-${Math.min(row.depth, 3)}`);
    if (UNBROKEN.test(text)) classes.push("unbroken");
    if (isLit) classes.push("lit");
    if (find && text.toLowerCase().includes(find)) classes.push("match");
    const header = row.kind === "header";
    const name = header || (isLabel && row.kind !== "title") ? "th" : "td";
    const cite = cites.get(position);
    return h(
      name,
      {
        class: classes.join(" "),
        scope: name === "th" ? (header ? (span > 1 ? "colgroup" : "col") : "row") : null,
        colspan: span > 1 ? span : null,
        dir: "auto",
        tabindex: "-1",
        "data-cell": position,
        "data-cite": cite,
        "aria-current": isLit ? "true" : null,
      },
      shown(text, isLabel),
    );
  });
  return h("tr", { class: row.kind, "aria-rowindex": row.index + 1 }, h("th", { class: "ruler", scope: "row" }, row.index + 1), cells);
}

/**
 * How many columns the cells of a row span, by column, 0 for those that one before them covers: a header's text covers
 * the blank cells of columns that it is a header of, the text of a title or note all that are blank behind it.
 */
function spansOf(row, layout) {
  const found = new Map();
  if (!["header", "title", "footnote"].includes(row.kind)) return found;
  let first = null;
  let said = "";
  for (const part of layout) {
    const text = part.gap ? "" : squeezed(row.cells[part.place] ?? "");
    if (part.gap) first = null;
    else if (text) [first, said] = [part, text];
    else if (first && (row.kind !== "header" || part.path?.some((header) => squeezed(header) === said))) {
      found.set(first.index, (found.get(first.index) ?? 1) + 1);
      found.set(part.index, 0);
    } else first = null;
  }
  return found;
}

const squeezed = (text) => text.trim().replace(/\s+/g, " ");

/** A cell's text; the dash of a list stays beside its first word, and a label's indent is left to the style. */
function shown(text, isLabel) {
  const cut = text.length > LONG ? `${text.slice(0, LONG)}…` : text;
  return isLabel ? cut.trimStart().replace(/^([-–—•*]) +(?=\S)/, "$1\u00a0") : cut;
}

const tabbable = new WeakMap();

function focusable(view, cell) {
  const current = tabbable.get(view);
  if (current) current.tabIndex = -1;
  tabbable.set(view, cell);
  cell.tabIndex = 0;
}

/** Makes the lit cell, or else the first one, the one that the keyboard reaches. */
export function focusFirst(view) {
  if (tabbable.get(view)?.isConnected) return;
  const start = view.querySelector(".lit") ?? view.querySelector("[data-cell]");
  if (start) focusable(view, start);
}

function listen(view, onCell) {
  const choose = (cell) => {
    view.querySelector('[aria-selected="true"]')?.removeAttribute("aria-selected");
    cell.setAttribute("aria-selected", "true");
    const [row, column] = cell.dataset.cell.split(",").map(Number);
    onCell(row, column, cell);
  };
  view.addEventListener("click", (event) => {
    const cell = event.target.closest("[data-cell]");
    if (cell) {
      focusable(view, cell);
      choose(cell);
    }
  });
  view.addEventListener("keydown", (event) => {
    const cell = event.target.closest("[data-cell]");
    if (!cell) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      choose(cell);
      return;
    }
    const next = neighbour(cell, event.key, view.dir === "rtl");
    if (next) {
      event.preventDefault();
      focusable(view, next);
      next.focus();
    }
  });
}

function neighbour(cell, key, leftward) {
  const line = cell.parentElement;
  const columnOf = (one) => Number(one.dataset.cell.split(",")[1]);
  const along = (direction) => {
    let next = cell;
    do next = next[direction];
    while (next && !next.dataset.cell);
    return next;
  };
  const vertical = (direction, edge) => {
    let row = line;
    do row = row[direction] ?? row.parentElement[direction]?.[edge];
    while (row && !row.querySelector("[data-cell]"));
    const cells = [...(row?.querySelectorAll("[data-cell]") ?? [])];
    return cells.findLast((one) => columnOf(one) <= columnOf(cell)) ?? cells[0];
  };
  const inLine = [...line.querySelectorAll("[data-cell]")];
  const [right, left] = leftward ? ["previousElementSibling", "nextElementSibling"] : ["nextElementSibling", "previousElementSibling"];
  const moves = {
    ArrowRight: () => along(right),
    ArrowLeft: () => along(left),
    ArrowDown: () => vertical("nextElementSibling", "firstElementChild"),
    ArrowUp: () => vertical("previousElementSibling", "lastElementChild"),
    Home: () => inLine[0],
    End: () => inLine.at(-1),
  };
  return moves[key]?.();
}

/** Scrolls a table, not the page, until the cell is in sight beside what is frozen. */
export function bringIntoSight(cell) {
  const box = cell.closest(".scroll");
  const view = cell.closest("table");
  if (!box || !view) return;
  const [outer, inner] = [box.getBoundingClientRect(), cell.getBoundingClientRect()];
  const frozen = view.querySelector("tbody.head") ?? view.tHead;
  const top = Math.max(outer.top, Math.min(frozen.getBoundingClientRect().bottom, outer.top + outer.height / 2));
  const label = cell.parentElement.querySelector(".cell.label");
  const side = label && label !== cell && getComputedStyle(label).position === "sticky" ? label.getBoundingClientRect() : null;
  const leftward = view.dir === "rtl";
  const left = side && !leftward ? Math.min(side.right, outer.left + outer.width / 2) : outer.left;
  const right = side && leftward ? Math.max(side.left, outer.left + outer.width / 2) : outer.right;
  if (inner.top < top || inner.bottom > outer.bottom) box.scrollTop += inner.top - (top + outer.bottom - inner.height) / 2;
  if (inner.left < left || inner.right > right) box.scrollLeft += inner.left - (left + right - inner.width) / 2;
}
