// A table as it was printed: rulers as in a spreadsheet, headers, groups, totals, and cells to open.

import { h, letters, reference } from "./shell.js";

const NUMBER = /^[\s(+\-−–$€£¥~]*[\d.,\s  ']*\d[\d.,\s  '%)*†‡]*[a-zA-Z%]{0,3}\s*$/;
const LONG = 300;

/**
 * `table` is what /api/tables/{id} returns. `lit` holds the positions "row,column" to highlight;
 * `onCell(row, column, element)` is called when a cell is chosen by mouse or keyboard.
 */
export function tableView(table, { lit = new Set(), onCell = null, label = "" } = {}) {
  const columns = table.columns.map((column) => column.index);
  const corner = h("td", { class: "ruler" });
  const rulers = columns.map((index) => h("th", { class: "ruler", scope: "col" }, letters(index)));
  const body = h("tbody");
  let before = null;
  for (const row of table.rows) {
    if (before !== null && row.index > before + 1) {
      const missing = row.index - before - 1;
      const text = `${missing} more ${missing === 1 ? "row" : "rows"}`;
      body.append(h("tr", {}, h("td", { class: "gap", colspan: columns.length + 1 }, text)));
    }
    before = row.index;
    body.append(rowView(row, table, columns, lit));
  }
  const view = h(
    "table",
    { class: "sheet", role: onCell ? "grid" : null, "aria-label": label || table.title },
    h("thead", {}, h("tr", {}, corner, rulers)),
    body,
  );
  if (onCell) listen(view, onCell);
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label || table.title }, view);
}

function rowView(row, table, columns, lit) {
  const cells = columns.map((column, place) => {
    const text = row.cells[place] ?? "";
    const classes = ["cell"];
    if (column === table.label_column) classes.push("label");
    else if (NUMBER.test(text) && text.length < 40) classes.push("number");
    if (column === table.label_column && row.depth) classes.push(`indent-${Math.min(row.depth, 3)}`);
    const position = `${row.index},${column}`;
    const isLit = lit.has(position);
    if (isLit) classes.push("lit");
    const header = row.kind === "header";
    const name = header || (column === table.label_column && row.kind !== "title") ? "th" : "td";
    return h(
      name,
      {
        class: classes.join(" "),
        scope: name === "th" ? (header ? "col" : "row") : null,
        dir: "auto",
        "data-cell": position,
        "aria-description": isLit ? "cited by the answer" : null,
      },
      text.length > LONG ? `${text.slice(0, LONG)}…` : text,
    );
  });
  return h("tr", { class: row.kind }, h("th", { class: "ruler", scope: "row" }, row.index + 1), cells);
}

function listen(view, onCell) {
  const cells = [...view.querySelectorAll("[data-cell]")];
  let current = null;
  const focusable = (cell) => {
    if (current) current.tabIndex = -1;
    current = cell;
    cell.tabIndex = 0;
  };
  cells.forEach((cell) => (cell.tabIndex = -1));
  const start = view.querySelector(".lit") ?? cells[0];
  if (start) focusable(start);
  const choose = (cell) => {
    view.querySelector('[aria-selected="true"]')?.removeAttribute("aria-selected");
    cell.setAttribute("aria-selected", "true");
    const [row, column] = cell.dataset.cell.split(",").map(Number);
    onCell(row, column, cell);
  };
  view.addEventListener("click", (event) => {
    const cell = event.target.closest("[data-cell]");
    if (cell) {
      focusable(cell);
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
    const next = neighbour(cell, event.key);
    if (next) {
      event.preventDefault();
      focusable(next);
      next.focus();
    }
  });
}

function neighbour(cell, key) {
  const line = cell.parentElement;
  const place = [...line.children].indexOf(cell);
  const vertical = (direction) => {
    let row = line;
    do row = row[direction];
    while (row && !row.querySelector("[data-cell]"));
    return row?.children[place];
  };
  const inLine = [...line.querySelectorAll("[data-cell]")];
  const moves = {
    ArrowRight: () => cell.nextElementSibling,
    ArrowLeft: () => (inLine[0] === cell ? null : cell.previousElementSibling),
    ArrowDown: () => vertical("nextElementSibling"),
    ArrowUp: () => vertical("previousElementSibling"),
    Home: () => inLine[0],
    End: () => inLine.at(-1),
  };
  return moves[key]?.();
}

export { reference };
