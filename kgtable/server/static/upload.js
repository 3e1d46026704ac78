// Uploads: files are dropped, shown as they were read, corrected, and built into the graph.

import { busy, count, events, failure, fetchJson, fill, h, links, send } from "./shell.js";
import { TablePreview } from "./preview.js";

const find = (id) => document.querySelector(`#${id}`);
const waiting = new Map();

function size(bytes) {
  return bytes < 1 << 20 ? `${Math.max(1, Math.round(bytes / 1024))} KiB` : `${(bytes / (1 << 20)).toFixed(1).replace(".0", "")} MiB`;
}

async function take(file) {
  const place = h("article", { class: "file" }, h("h2", {}, file.name), busy("Reading…"));
  find("files-read").append(place);
  try {
    const response = await fetch(`/api/uploads?${new URLSearchParams({ name: file.name })}`, { method: "POST", body: file });
    const found = await response.json();
    if (!response.ok) throw new Error(found.detail);
    shown(place, found);
  } catch (error) {
    const close = h("button", { class: "plain close", type: "button", "aria-label": `Put ${file.name} away`, onclick: () => place.remove() }, "✕");
    fill(place, close, h("h2", {}, file.name), failure(error));
  }
}

function shown(place, found) {
  const entry = { id: found.id, place, tables: [] };
  const problem = h("div");
  const again = async () => {
    fill(problem);
    try {
      const now = await send("/api/preview", { upload: found.id, decisions: decisions([entry]) });
      now.tables.forEach((table) => entry.tables.find((known) => known.id === table.id)?.show(table));
    } catch (error) {
      fill(problem, failure(error));
    }
  };
  entry.tables = found.preview.tables.map((table) => new TablePreview(table, again));
  waiting.set(found.id, entry);
  const remove = h("button", { class: "plain close", type: "button", "aria-label": `Remove ${found.name}`, onclick: async () => {
    await fetch(`/api/uploads/${found.id}`, { method: "DELETE" });
    waiting.delete(found.id);
    place.remove();
    refresh();
  } }, "✕");
  const more = found.preview.more ? h("p", { class: "quiet" }, `${count(found.preview.more)} more tables are not shown.`) : null;
  const text = found.preview.tables.length ? null : h("p", { class: "note" }, found.preview.has_text ? "A text without tables: its passages will be part of the graph." : "No table was found.");
  fill(place, remove, h("h2", {}, found.name, " ", h("small", {}, size(found.size))), text, problem, entry.tables.map((table) => table.element), more,
    found.preview.notes.map((note) => h("p", { class: "note warn" }, note)));
  refresh();
}

function decisions(entries) {
  const all = entries.flatMap((entry) => entry.tables.map((table) => table.decisions()));
  return { columns: all.flatMap((one) => one.columns), tables: all.flatMap((one) => one.tables) };
}

function refresh() {
  find("build-bar").hidden = !waiting.size;
  find("build").textContent = waiting.size > 1 ? `Add ${waiting.size} files to the graph` : "Add to the graph";
}

async function build(remove = []) {
  const entries = [...waiting.values()];
  find("build").disabled = true;
  find("progress").hidden = false;
  fill(find("built"));
  try {
    for await (const [name, data] of events("/api/build", { uploads: entries.map((entry) => entry.id), remove, decisions: decisions(entries) })) {
      if (name === "progress") {
        find("build-status").textContent = `${data.stage}: ${count(data.done)} of ${count(data.total)}`;
        find("progress").value = data.total ? data.done / data.total : 0;
      } else if (name === "built") done(data, entries);
    }
  } catch (error) {
    fill(find("built"), failure(error));
  } finally {
    find("build").disabled = false;
    find("progress").hidden = true;
    find("build-status").textContent = "";
  }
}

function done(report, entries) {
  for (const entry of entries) {
    waiting.delete(entry.id);
    entry.place.remove();
  }
  refresh();
  const tables = (ids, words) => ids.length ? h("p", {}, `${words}: `, ids.slice(0, 30).flatMap((id, place) => [place ? ", " : "", h("a", { href: links.table(id) }, id)])) : null;
  fill(find("built"), h("div", { class: "card" }, h("h2", { tabindex: "-1" }, "The graph is up to date"),
    tables(report.added, "Added"), tables(report.changed, "Changed"),
    report.removed.length ? h("p", {}, `Removed: ${report.removed.join(", ")}`) : null,
    [...report.errors, ...report.messages].map((text) => h("p", { class: "note warn" }, text)),
    report.question ? h("p", { class: "toolbar" }, h("a", { class: "button primary", id: "first-question", href: `/?${new URLSearchParams({ q: report.question })}` }, report.question)) : null));
  find("built").querySelector("h2").focus();
  uploaded();
}

async function uploaded() {
  const about = await fetchJson("/api/editing");
  fill(find("uploaded"), about.uploaded.length ? [h("h2", {}, "Uploaded files"),
    h("ul", { class: "uploaded" }, about.uploaded.map((name) => h("li", {}, h("span", { dir: "auto" }, name),
      h("button", { type: "button", "aria-label": `Remove ${name} from the graph`, onclick: () => build([name]) }, "Remove"))))] : []);
  return about;
}

const about = await uploaded().catch((error) => ({ error }));
if (about.error) fill(find("gate"), failure(about.error));
else if (!about.allowed) {
  fill(find("gate"), h("p", { class: "note warn" }, "Uploading needs the server's token. Open ", h("code", {}, "/?token=…"), " once, with the token that the server printed."));
} else {
  find("upload").hidden = false;
  find("kinds").textContent = `${about.suffixes.join(" ")} · up to ${size(about.most_bytes)} each`;
  find("files").addEventListener("change", () => {
    [...find("files").files].forEach(take);
    find("files").value = "";
  });
  for (const kind of ["dragover", "dragleave", "drop"]) {
    document.addEventListener(kind, (event) => {
      event.preventDefault();
      find("drop").classList.toggle("over", kind === "dragover");
      if (kind === "drop") [...event.dataTransfer.files].forEach(take);
    });
  }
  find("build").addEventListener("click", () => build());
}
