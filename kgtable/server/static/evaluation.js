// The last evaluation of the graph: metrics of each system, and every question with links to the cells it is about.

import { count, empty, failure, fetchJson, fill, h, later, links, parameters, reference, remember } from "./shell.js";

const PAGE = 25;
const find = (id) => document.querySelector(`#${id}`);
const decimals = (value) => value.toFixed(3);

function summary(report) {
  const best = new Map(report.metrics.map(({ name }) => [name, Math.max(...report.systems.map((system) => system.scores[name]?.mean ?? -1))]));
  const head = [h("th", { scope: "col" }, "System"), ...report.metrics.map((metric) => h("th", { scope: "col", class: "number" }, metric.label))];
  const rows = report.systems.map((system) => h("tr", {}, h("th", { scope: "row" }, system.name), report.metrics.map(({ name }) => {
    const score = system.scores[name];
    if (!score) return h("td", { class: "number" }, "–");
    const value = decimals(score.mean);
    return h("td", { class: "number" }, score.mean === best.get(name) && report.systems.length > 1 ? h("strong", {}, value) : value, h("div", {}, h("small", {}, `${decimals(score.low)} to ${decimals(score.high)}`)));
  })));
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Metrics" }, h("table", { class: "list" },
    h("caption", {}, "Means with 95 % bootstrap intervals; failures count as wrong."), h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows)));
}

const cellLink = (table, row, column, text) => h("a", { href: links.table(table, row, column), dir: "auto" }, `${table} ${reference(row, column)}`, text ? ` “${text}”` : "");

function list(items, between = ", ") {
  return items.flatMap((item, place) => (place ? [between, item] : [item]));
}

function side(found, question) {
  const match = found.scores.match;
  const answer = found.answer;
  const verdict = match === undefined ? null : h("span", { class: `badge ${match === 1 ? "good" : "warn"}` }, match === 1 ? "Right" : "Wrong");
  const cited = (answer?.citations ?? []).slice(0, 12).map(([table, row, column, text]) => cellLink(table, row, column, text));
  const tables = found.tables.slice(0, 5).map((id) => (question.tables.includes(id) ? h("strong", {}, h("a", { href: links.table(id) }, id)) : h("a", { href: links.table(id) }, id)));
  const rank = question.tables.length ? Math.min(...question.tables.map((id) => found.tables.indexOf(id)).map((place) => (place < 0 ? Infinity : place + 1))) : null;
  return h("section", { class: "system" }, h("h3", {}, found.system, " ", verdict),
    h("dl", { class: "facts" },
      answer ? [h("dt", {}, "Answer"), h("dd", { dir: "auto" }, answer.text || "none", answer.verified ? h("span", { class: "badge good" }, "✓ Verified") : null)] : null,
      answer?.calculation ? [h("dt", {}, "Computed"), h("dd", {}, answer.calculation)] : null,
      cited.length ? [h("dt", {}, "Cited"), h("dd", {}, list(cited))] : null,
      found.failures.length ? [h("dt", {}, "Failed"), h("dd", {}, found.failures.map((one) => `${one.stage}, ${one.cause}: ${one.message}`).join("; "))] : null,
      tables.length ? [h("dt", {}, "Tables found"), h("dd", {}, list(tables), rank !== null && rank !== Infinity ? h("small", {}, ` right one at ${rank}`) : null)] : null));
}

function entry(question) {
  const cells = question.cells.slice(0, 12).map(([table, row, column]) => cellLink(table, row, column));
  return h("details", { class: "way", "data-question": question.id },
    h("summary", {}, h("bdi", {}, question.text), " ", h("small", {}, question.id)),
    h("dl", { class: "facts" },
      question.answers.length ? [h("dt", {}, "Right answer"), h("dd", { dir: "auto" }, question.answers.join(" · "))] : null,
      cells.length ? [h("dt", {}, "Its cells"), h("dd", {}, list(cells))] : null,
      question.tables.length ? [h("dt", {}, "Its tables"), h("dd", {}, list(question.tables.map((id) => h("a", { href: links.table(id) }, id))))] : null),
    question.found.map((found) => side(found, question)),
    h("p", { class: "toolbar" }, h("a", { class: "button", href: `/?${new URLSearchParams({ q: question.text })}` }, "Ask again")));
}

const FILTERS = {
  all: () => true,
  right: (question) => question.found.some((found) => found.scores.match === 1),
  wrong: (question) => question.found.some((found) => found.scores.match !== undefined && found.scores.match !== 1),
  missed: (question) => question.found.some((found) => found.scores.no_table === 1),
  failed: (question) => question.found.some((found) => found.failures.length),
  differ: (question) => new Set(question.found.map((found) => JSON.stringify([found.scores.match, found.scores.no_table]))).size > 1,
};

function show(report) {
  fill(find("about"), `${report.benchmark}, ${report.split}: ${count(report.questions.length)} questions over ${count(report.tables)} tables`);
  fill(find("summary"), report.metrics.length ? summary(report) : h("p", { class: "note" }, "Nothing was measured: no question names the cells or tables it is about, and none was answered."));
  find("all-questions").hidden = false;
  const texts = report.questions.map((question) => `${question.id} ${question.text} ${question.answers.join(" ")}`.toLowerCase());
  let shown = [];
  const more = () => {
    const items = find("questions").firstElementChild;
    items.append(...shown.slice(items.childElementCount, items.childElementCount + PAGE).map(entry));
    find("more").hidden = items.childElementCount >= shown.length;
  };
  const select = () => {
    const words = find("search").value.trim().toLowerCase();
    const fits = FILTERS[find("filter").value];
    remember({ q: words, show: find("filter").value === "all" ? null : find("filter").value });
    shown = report.questions.filter((question, place) => texts[place].includes(words) && fits(question));
    find("count").textContent = `${count(shown.length)} of ${count(report.questions.length)}`;
    fill(find("questions"), shown.length ? h("div", { class: "card" }) : empty(h("p", {}, "No question matches.")));
    if (shown.length) more();
    else find("more").hidden = true;
  };
  find("search").value = parameters().get("q") ?? "";
  const chosen = parameters().get("show");
  if (chosen in FILTERS) find("filter").value = chosen;
  find("search").addEventListener("input", later(select));
  find("filter").addEventListener("change", select);
  find("more").addEventListener("click", more);
  select();
}

try {
  show(await fetchJson("/api/evaluation"));
} catch (error) {
  fill(find("summary"), failure(error));
}
