// A document's text, with the words that a citation leads to lit among the paragraphs around them.

import { failure, fetchJson, fill, h, parameters, showIn } from "./shell.js";
import { documentAddress, paragraphs, source, tablesBeside } from "./passage-view.js";

const AT_ONCE = 40;
const ABOVE = 6;
const id = decodeURIComponent(location.pathname.replace(/^\/documents\//, ""));
const heading = document.querySelector("#heading");
const output = document.querySelector("#text");
const beside = document.querySelector("#beside");
const whole = (name) => {
  const number = Number.parseInt(parameters().get(name) ?? "", 10);
  return Number.isSafeInteger(number) && number >= 0 ? number : null;
};
const paragraph = whole("paragraph");
const start = whole("start") ?? 0;
const length = whole("length") ?? 0;
const marks = paragraph !== null && length ? [{ paragraph, start, length }] : [];
let first = Math.max(0, (paragraph ?? 0) - ABOVE);
let last = first;

/** More of the document before or behind what is shown; the focus goes to what came. */
async function more(button, from, number, place) {
  button.disabled = true;
  try {
    const window = await fetchJson(documentAddress(id, from, number));
    const come = paragraphs(window, marks);
    const [top, height] = [scrollY, document.documentElement.scrollHeight];
    place(come);
    if (come[0] && from < first) scrollTo(0, top + document.documentElement.scrollHeight - height);
    first = Math.min(first, window.first);
    last = Math.max(last, window.first + window.paragraphs.length);
    button.hidden = button.dataset.way === "earlier" ? first === 0 : last >= window.total;
    const next = button.dataset.way === "earlier" ? come.at(-1) : come[0];
    next?.setAttribute("tabindex", "-1");
    next?.focus({ preventScroll: true });
  } catch (error) {
    button.after(failure(error));
  }
  button.disabled = false;
}

await showIn(output, "Reading the document…", async () => {
  const window = await fetchJson(documentAddress(id, first, AT_ONCE, { paragraph: paragraph ?? 0, start }));
  first = window.first;
  last = first + window.paragraphs.length;
  document.title = `${window.title} · kgtable`;
  const cited = window.paragraphs.find((one) => one.number === paragraph);
  fill(heading, h("h1", { dir: "auto" }, window.title), h("p", { class: "quiet source", dir: "auto" }, source(window, cited)));
  fill(beside, tablesBeside(window));
  const earlier = h("button", { type: "button", "data-way": "earlier", hidden: first === 0 }, "Earlier paragraphs");
  const later = h("button", { type: "button", "data-way": "later", hidden: last >= window.total }, "Later paragraphs");
  earlier.addEventListener("click", () => more(earlier, Math.max(0, first - AT_ONCE), Math.min(first, AT_ONCE), (come) => earlier.after(...come)));
  later.addEventListener("click", () => more(later, last, AT_ONCE, (come) => later.before(...come)));
  if (!window.total) return h("p", { class: "quiet" }, "This document has no text.");
  return [earlier, ...paragraphs(window, marks), later];
});
const lit = output.querySelector("mark.lit");
if (lit) {
  lit.scrollIntoView({ block: "center" });
  lit.focus({ preventScroll: true });
} else if (paragraph !== null) {
  const place = output.querySelector(`[data-paragraph="${paragraph}"]`);
  place?.scrollIntoView({ block: "center" });
}
