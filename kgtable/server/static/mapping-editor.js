// Deciding about the columns of a predicate: unit, scale, type and name; what would change is shown before it is built.

import { busy, events, failure, fill, grouped, h, links, send } from "./shell.js";

const named = (words) => words.split(" ").map((word) => [word, word]);
const FIELDS = [
  ["unit", "Unit"],
  ["scale", "Scale", Object.entries({ none: "as printed", T: "thousands", M: "millions", B: "billions", TN: "trillions" })],
  ["datatype", "Type", named("number text date year boolean period duration")],
  ["role", "Role", named("Identifier Label Category Flag Time Ordinal Measure Text")],
  ["measure kind", "Measure kind", named("Count Amount Level Rate Duration Score")],
  ["variant", "Variant", named("actual budget estimate forecast prior target")],
];
const SHOWN_TABLES = 5;

/** The id of the sheet that a table is on, which several tables may share. */
export const sheetOf = (id) => id.replace(/#\d+$/, "");

/**
 * Controls that decide about a column, each with its label. They show what is decided; what is found is offered beside
 * it, and choosing that takes a decision back. `set(name, text)` follows a change; `called` decides the name, if given.
 */
export function decisionFields(column, set, called = null, about = "") {
  const { decided = {}, units = [] } = column;
  const found = { unit: units.map((entry) => entry.label ?? entry.name).join(", "), "inferred name": "", ...column };
  return [...(called ? [[called, called === "predicate" ? "Name in the graph" : "Name"]] : []), ...FIELDS].map(([name, label, options]) => {
    const naming = { "aria-label": about ? `${label} of ${about}` : null, name };
    const control = options
      ? h("select", naming, [["", found[name] && !decided[name] ? `${found[name]} (as found)` : "as found"], ...options].map(([value, words]) => h("option", { value, selected: value === (decided[name] ?? "") }, words)))
      : h("input", { type: "text", autocomplete: "off", placeholder: found[name] || "none", value: decided[name], ...naming });
    control.addEventListener(options ? "change" : "input", () => set(name, control.value.trim()));
    return { label, control };
  });
}

/** Builds the graph with decisions; tells in `output` what became of it, and gives the report. */
export async function buildWith(decisions, output) {
  fill(output, busy("Building…"));
  try {
    let data = null;
    for await ([, data] of events("/api/build", { decisions }));
    const changed = data.changed.length + data.added.length;
    fill(output, h("p", { class: "note", id: "mapped" }, `The graph is up to date: ${changed} ${changed === 1 ? "table" : "tables"} changed.`));
    return data;
  } catch (error) {
    fill(output, failure(error));
    return null;
  }
}

/** The form for one predicate of the ontology. */
export function mappingEditor(entry) {
  const decided = {};
  const output = h("div", { "aria-live": "polite" });
  const decisions = () => ({ columns: entry.names.map((name) => ({ ...decided, "column name": name })), tables: [] });

  async function preview() {
    fill(output, busy("Reading the tables…"));
    try {
      const found = await Promise.all(entry.tables.slice(0, SHOWN_TABLES).map((table) => send("/api/preview", { table, decisions: decisions() })));
      const rows = found.flatMap((one) => one.tables.flatMap((table, place) => changes(one.before[place], table)));
      const more = entry.tables_total > SHOWN_TABLES ? h("p", { class: "quiet" }, `The first ${SHOWN_TABLES} of ${entry.tables_total} tables are compared.`) : null;
      if (!rows.length) return fill(output, h("p", { class: "note" }, "Nothing would change."), more);
      fill(output, h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "What would change" }, h("table", { class: "list" },
        h("thead", {}, h("tr", {}, ["Table", "Column", "Printed", "Now", "Then"].map((name) => h("th", { scope: "col" }, name)))), h("tbody", {}, rows))),
        more, h("p", { class: "toolbar" }, h("button", { class: "primary", type: "button", onclick: () => buildWith(decisions(), output) }, "Build with this")));
    } catch (error) {
      fill(output, failure(error));
    }
  }

  return h("details", { class: "way decide" }, h("summary", {}, "Change this"),
    h("div", { class: "fields" },
      decisionFields({ units: entry.units, predicate: entry.name }, (name, text) => { decided[name] = text; }, "predicate")
        .map(({ label, control }) => h("label", {}, h("span", { class: "quiet" }, label), control))),
    h("p", { class: "toolbar" }, h("button", { type: "button", class: "compare", onclick: preview }, "See what would change")), output);
}

/** The columns that are read otherwise than before, as rows. */
function changes(before, now) {
  return now.columns.flatMap((column, place) => {
    const was = before.columns[place];
    if (!was || JSON.stringify(was) === JSON.stringify(column)) return [];
    return [h("tr", {}, h("td", {}, h("a", { href: links.table(now.id), dir: "auto" }, now.title)), h("td", { dir: "auto" }, column.name),
      h("td", { dir: "auto" }, (column.sample ?? was.sample)?.text ?? ""), h("td", {}, read(was)), h("td", {}, h("strong", {}, read(column))))];
  });
}

function read(column) {
  const unit = column.units.find((entry) => entry.name === column.sample?.unit);
  const value = column.sample ? `${grouped(column.sample.value)} ${unit && unit.name !== "UNITLESS" ? unit.label : ""}`.trim() : column.kind;
  return [value, column.meaning, column.predicate].filter(Boolean).join(" · ");
}
