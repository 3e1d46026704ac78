"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const list = document.getElementById("list");
const search = document.getElementById("search");
const filter = document.getElementById("filter");
const count = document.getElementById("count");
const PAGE = 20;
let page = 0;

function element(tag, text, name) {
  const made = document.createElement(tag);
  if (text !== undefined && text !== null) made.textContent = text;
  if (name) made.className = name;
  return made;
}

function addVerdict(side, found) {
  const s = found.scores;
  if (s.match !== undefined) {
    const right = s.match === 1;
    side.append(element("div", right ? "right" : "wrong", right ? "right" : "wrong"));
  }
  if (found.verdict) side.append(element("div", "judge: " + found.verdict));
}

function addAnswer(side, found) {
  if (!found.answer) return;
  const line = element("p", null);
  line.append(element("strong", found.answer.text || "no answer"));
  if (found.answer.verified) line.append(element("span", " verified", "right"));
  side.append(line);
  addVerdict(side, found);
  if (found.answer.calculation) side.append(element("div", "= " + found.answer.calculation));
  for (const [table, row, column, text] of found.answer.citations) {
    side.append(element("div", `${table}, row ${row}, column ${column}: ${text}`, "note"));
  }
}

function addTables(side, found, gold) {
  if (!found.tables.length) return;
  const ranked = element("ol");
  for (const table of found.tables) {
    const item = element("li");
    item.append(element("span", table, gold.includes(table) ? "gold" : ""));
    ranked.append(item);
  }
  side.append(ranked);
  const triples = element("ul");
  for (const triple of found.triples) triples.append(element("li", triple));
  side.append(triples);
}

function sideOf(found, gold) {
  const side = element("div", null, "side");
  side.append(element("h3", found.system));
  addAnswer(side, found);
  for (const failure of found.failures) {
    side.append(element("div", `${failure.stage} failed, ${failure.cause}: ${failure.message}`, "failed"));
  }
  addTables(side, found, gold);
  if (found.prompt) {
    const more = element("details");
    more.append(element("summary", "Prompt"), element("pre", found.prompt));
    side.append(more);
  }
  return side;
}

function articleOf(question) {
  const article = element("article");
  const head = element("header");
  head.append(element("strong", question.text), element("span", question.id, "id"));
  const sides = element("div", null, "sides");
  head.lastChild.title = question.id;
  const gold = element("div", null, "side");
  gold.append(element("h3", "gold"));
  gold.append(element("p", question.answers.join("; ") || "no gold answer"));
  for (const table of question.tables) gold.append(element("div", table, "note"));
  for (const [table, row, column] of question.cells.slice(0, 12)) {
    gold.append(element("div", `${table}, row ${row}, column ${column}`, "note"));
  }
  if (question.cells.length > 12) gold.append(element("div", `… ${question.cells.length} cells in all`, "note"));
  sides.append(gold, ...question.found.map((found) => sideOf(found, question.tables)));
  article.append(head, sides);
  return article;
}

const TESTS = {
  all: () => true,
  missed: (f) => f.scores.no_table === 1,
  wrong: (f) => f.scores.match === 0,
  right: (f) => f.scores.match === 1,
  failed: (f) => f.failures.length > 0,
};

function differs(question) {
  const of = (f) => (f.scores.match !== undefined ? f.scores.match : f.scores["recall@10"]);
  return new Set(question.found.map(of)).size > 1;
}

function wanted(question) {
  const words = search.value.trim().toLowerCase();
  const text = `${question.id} ${question.text} ${question.answers.join(" ")}`.toLowerCase();
  if (words && !text.includes(words)) return false;
  if (filter.value === "differ") return differs(question);
  return question.found.some(TESTS[filter.value]);
}

function show() {
  const chosen = data.filter(wanted);
  const pages = Math.max(1, Math.ceil(chosen.length / PAGE));
  page = Math.min(Math.max(page, 0), pages - 1);
  list.replaceChildren(...chosen.slice(page * PAGE, (page + 1) * PAGE).map(articleOf));
  count.textContent = `${chosen.length} of ${data.length} questions, page ${page + 1} of ${pages}`;
  document.getElementById("back").disabled = page === 0;
  document.getElementById("on").disabled = page === pages - 1;
}

function turn(step) {
  page += step;
  show();
}

search.addEventListener("input", () => { page = 0; show(); });
filter.addEventListener("change", () => { page = 0; show(); });
document.getElementById("back").addEventListener("click", () => turn(-1));
document.getElementById("on").addEventListener("click", () => turn(1));
show();
