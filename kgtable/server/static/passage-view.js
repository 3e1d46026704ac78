// Paragraphs of a document with cited words lit, and the tables beside them, for the pages.

import { count, h, links } from "./shell.js";

/** The address of words in a document; `start` and `length` count characters of the paragraph. */
export function documentLink(id, { paragraph, start, length }) {
  const search = new URLSearchParams({ paragraph, start, length });
  return `/documents/${encodeURIComponent(id)}?${search}`;
}

/** The address of the API for paragraphs of a document from `first` on. */
export function documentAddress(id, first, number, { paragraph, start } = {}) {
  const search = new URLSearchParams({ first: Math.max(0, first), count: number });
  if (paragraph !== undefined) search.set("paragraph", paragraph);
  if (start !== undefined) search.set("start", start);
  return `/api/documents/${encodeURIComponent(id)}?${search}`;
}

/** Paragraphs as elements; `marks` are the lit places: paragraph, start, length, and the number of the citation. */
export function paragraphs(window, marks = [], { most = Infinity, heading = "h2" } = {}) {
  return window.paragraphs.map((paragraph) => {
    const own = marks.filter((mark) => mark.paragraph === paragraph.number).sort((one, other) => one.start - other.start);
    const holder = h(paragraph.level ? heading : "p", { dir: "auto", "data-paragraph": paragraph.number, class: own.length ? "cited" : null });
    if (paragraph.offset) holder.append("… ");
    const letters = [...paragraph.text];
    let [at, end] = [0, letters.length];
    if (own.length && end > most) {
      at = Math.max(0, own[0].start - paragraph.offset - most / 3);
      end = Math.min(end, at + most + own[0].length);
      if (at) holder.append("… ");
    } else if (end > most) end = most;
    for (const mark of own) {
      const from = Math.max(at, mark.start - paragraph.offset);
      const to = Math.min(end, from + mark.length);
      if (to <= from) continue;
      holder.append(letters.slice(at, from).join(""), h("mark", { class: "lit", tabindex: "-1", "data-cite": mark.cite }, letters.slice(from, to).join("")));
      at = to;
    }
    holder.append(letters.slice(at, end).join(""));
    if (end < letters.length || paragraph.offset + letters.length < paragraph.length) holder.append(" …");
    return holder;
  });
}

/** What stands where: file, page of the first paragraph, headings above. */
export function source(window, paragraph = null) {
  const page = paragraph?.page ? `page ${paragraph.page}${window.pages ? ` of ${count(window.pages)}` : ""}` : null;
  return [window.file, page, paragraph ? `paragraph ${count(paragraph.number + 1)} of ${count(window.total)}` : null, ...window.headings].filter(Boolean).join(" · ");
}

/** Links to the tables beside a text; none where there are none. */
export function tablesBeside(window) {
  if (!window.tables.length) return null;
  return h("div", { class: "tables-beside" },
    h("h2", { class: "minor" }, window.tables.length === 1 ? "The table beside this text" : "Tables beside this text"),
    h("ul", { class: "table-cards" }, window.tables.map((table) =>
      h("li", {},
        h("a", { href: links.table(table.id), dir: "auto" }, table.title),
        h("small", { dir: "auto" }, [table.subtitle, `${count(table.rows)} rows`].filter(Boolean).join(" · "))))));
}
