// The list of documents, searched in titles and files as one types.

import { count, empty, fetchJson, fill, h, later, parameters, remember, showIn } from "./shell.js";

const PAGE = 50;
const input = document.querySelector("#search");
const output = document.querySelector("#list");
let turn = 0;

const page = (offset) => fetchJson(`/api/documents?${new URLSearchParams({ q: input.value.trim(), offset, limit: PAGE })}`);

const row = (found) => h("tr", {},
  h("td", {}, h("a", { href: `/documents/${encodeURIComponent(found.id)}`, dir: "auto" }, found.title)),
  h("td", { class: "hide-narrow" }, found.file),
  h("td", { class: "number" }, found.pages === null ? "" : count(found.pages)),
  h("td", { class: "number" }, count(found.paragraphs)));

const head = () => h("thead", {}, h("tr", {},
  h("th", { scope: "col" }, "Document"), h("th", { scope: "col", class: "hide-narrow" }, "File"),
  h("th", { scope: "col", class: "number" }, "Pages"), h("th", { scope: "col", class: "number" }, "Paragraphs")));

async function search() {
  const mine = ++turn;
  remember({ q: input.value.trim() });
  await showIn(output, "Reading the catalogue…", async () => {
    const found = await page(0);
    if (mine !== turn) return [...output.children];
    if (!found.total) return empty(h("h2", {}, input.value.trim() ? "No document matches" : "No documents"), h("p", {}, "Text comes from Word, PowerPoint, PDF, HTML and Markdown files."));
    const body = h("tbody", {}, found.documents.map(row));
    const more = h("button", { type: "button", hidden: found.total <= PAGE }, "Show more");
    more.addEventListener("click", async () => {
      body.append(...(await page(body.childElementCount)).documents.map(row));
      more.hidden = body.childElementCount >= found.total;
    });
    return [
      h("p", { class: "quiet", role: "status" }, `${count(found.total)} ${found.total === 1 ? "document" : "documents"}`),
      h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Documents" }, h("table", { class: "list" }, head(), body)),
      h("p", { class: "toolbar" }, more),
    ];
  });
}

input.value = parameters().get("q") ?? "";
input.addEventListener("input", later(search));
search();
