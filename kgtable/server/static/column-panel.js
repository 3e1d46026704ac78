// A column of a table: what it means and why, and fields to decide otherwise, or the command where pages may not.

import { sourceOf } from "./cell-panel.js";
import { buildWith, decisionFields, sheetOf } from "./mapping-editor.js";
import { UNKNOWN } from "./table-view.js";
import { count, fetchJson, fill, h, letters, links, localName, send, showIn } from "./shell.js";

/** Fills the panel with a column as a window of the table has it; `close` ends it, `changed` follows a new decision. */
export async function showColumn(panel, table, column, close, changed) {
  panel.hidden = false;
  const content = h("div");
  const output = h("div");
  const heading = h("h2", { tabindex: "-1" }, `Column ${letters(column.index)}`);
  fill(panel, h("button", { class: "plain close", type: "button", "aria-label": "Close", onclick: close }, "✕"), heading, content);
  heading.focus({ preventScroll: true });
  const { allowed } = await fetchJson("/api/editing").catch(() => ({}));
  const draw = async () => {
    const read = allowed ? (await send("/api/preview", { table: sheetOf(table) })).tables.find((one) => one.id === table)?.columns[column.index] : null;
    return [facts(read ?? column, column), read ? editor(read, save) : command(table, column), output];
  };
  const save = async (decided) => {
    const columns = [{ ...decided, "column name": column.name, "only in": table }];
    if (!(await buildWith({ columns, tables: [] }, output))) return;
    await changed();
    await showIn(content, "Reading the column…", draw);
    heading.focus({ preventScroll: true });
  };
  await showIn(content, "Reading the column…", draw);
}

function facts({ role, "measure kind": kind, meaning, evidence, units }, { name, unit, predicate, meaning: said }) {
  const fact = (title, value, why) => (value ? [h("dt", {}, title), h("dd", {}, value, why ? h("small", {}, ` ${why}`) : null)] : []);
  return [
    h("p", { class: "big", dir: "auto" }, name || "No name"),
    h("dl", { class: "facts", id: "meant" },
      role && said !== UNKNOWN ? [fact("Role", role, evidence), fact("Kind", kind)] : fact("Meaning", said ?? meaning, evidence),
      units ? units.map((one) => fact("Unit", one.label || "none", [sourceOf(one.from), `${count(one.cells)} ${one.cells === 1 ? "cell" : "cells"}`].filter(Boolean).join(", "))) : fact("Unit", unit),
      fact("Predicate", predicate ? h("a", { href: links.resource(predicate) }, localName(predicate)) : null)),
  ];
}

function editor(column, save) {
  const decided = {};
  const isUnnamed = /^\[column \d+\]$/.test(column.name);
  const form = h("form", { class: "fields", "aria-label": `Decisions about ${column.name}` },
    decisionFields(column, (name, text) => { decided[name] = text; }, isUnnamed ? "inferred name" : "predicate").map(({ label, control }) => h("label", {}, label, control)),
    h("p", { class: "toolbar" }, h("button", { class: "primary", id: "save" }, "Save")));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    save(decided);
  });
  return form;
}

const quoted = (text) => (/^[\w./#-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

function command(table, { name }) {
  return [h("p", { class: "quiet" }, "To change it, type:"), h("pre", { class: "code", tabindex: "0" }, `kgtable decide ${quoted(table)} --column ${quoted(name)} role=… unit=… --kg DIRECTORY --apply`)];
}
