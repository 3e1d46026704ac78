// The Ask page: a question, its answer as it arrives, the cells it rests on, and the way there.

import { count, empty, failure, fetchJson, fill, grouped, h, links, localName, parameters, reference, remember } from "./shell.js";
import { tableView } from "./table-view.js";

const form = document.querySelector("#ask");
const input = document.querySelector("#question");
const button = form.querySelector("button");
const output = document.querySelector("#answer");
let running = null;

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const question = input.value.trim();
  if (question) ask(question);
});

async function ask(question) {
  running?.abort();
  const stop = (running = new AbortController());
  remember({ q: question });
  const steps = h("ol", { class: "steps", "aria-label": "Steps" });
  const text = h("p", { class: "answer-text", "aria-live": "polite" });
  const waiting = h("p", { class: "busy", role: "status" }, "Searching the tables…");
  fill(output, h("section", { class: "card" }, text, steps, waiting));
  button.disabled = true;
  try {
    for await (const [event, data] of events(question, stop.signal)) {
      if (event === "text") waiting.textContent = "Checking the answer against the cells…";
      if (event === "step") steps.append(h("li", {}, data.text));
      else if (event === "text") text.append(data.text);
      else if (event === "problem") throw new Error(data.detail);
      else if (event === "answer") await show(data);
    }
  } catch (error) {
    if (error.name !== "AbortError") fill(output, failure(error));
  } finally {
    if (running === stop) button.disabled = false;
  }
}

/** The server-sent events of one question. */
async function* events(question, signal) {
  const response = await fetch("/api/ask", {
    method: "POST",
    signal,
    headers: { "content-type": "application/json", accept: "text/event-stream" },
    body: JSON.stringify({ question }),
  });
  if (!response.ok) throw new Error((await response.json().catch(() => ({}))).detail ?? "The server cannot answer now.");
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    rest += value;
    const blocks = rest.split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const name = /^event: (.*)$/m.exec(block)?.[1];
      const data = /^data: (.*)$/m.exec(block)?.[1];
      if (name && data) yield [name, JSON.parse(data)];
    }
  }
}

async function show(answer) {
  const readings = [...(answer.answer ? [answer] : []), ...(answer.alternatives ?? [])];
  const text = h("p", { class: "answer-text", id: "answer-text", tabindex: "-1", dir: "auto" }, "Nothing in the tables answers this.");
  const body = h("div", { id: "reading" });
  const around = h("div", { id: "tables" });
  const buttons = readings.map((reading, index) => choice(reading, () => choose(index)));
  const status = h("p", { class: "status" }, said(answer));
  const offered = choices(answer, buttons);
  const below = answer.status === "verified" || answer.status === "grounded";
  const card = h(
    "section",
    { class: "card", "aria-labelledby": "answer-text" },
    status,
    text,
    reasons(answer),
    below ? null : offered,
    body,
    below ? offered : null,
  );
  let chosen = -1;
  async function choose(index) {
    if (index === chosen) return;
    chosen = index;
    const reading = readings[index];
    buttons.forEach((button, place) => button.setAttribute("aria-pressed", String(place === index)));
    fill(status, reading === answer ? said(answer) : h("span", { class: "badge", "data-status": "alternative" }, "Another reading"));
    text.textContent = reading.headline ?? reading.answer;
    text.classList.toggle("longer", text.textContent.length > 160);
    fill(body, valueLine(reading), computed(reading), citations(reading));
    const sections = await Promise.all(tables(reading));
    if (chosen === index) fill(around, ...sections);
  }
  fill(output, card, around, way(answer));
  if (answer.answer) await choose(0);
  text.focus({ preventScroll: true });
}

const STATUS = {
  verified: ["good", "✓ Verified"],
  grounded: ["", "Grounded, not verified"],
  ambiguous: ["warn", "Ambiguous"],
  unverified: ["warn", "Not verified"],
  none: ["", "No answer"],
};

/** What is known of the answer, and who found it. */
function said(answer) {
  const rules = answer.offline && answer.answer ? "Found by kgtable's own rules, without a language model." : null;
  return [badge(answer), confidence(answer), rules ? h("small", {}, rules) : null].filter(Boolean);
}

function badge(answer) {
  const [kind, words] = STATUS[answer.status] ?? STATUS.unverified;
  return h("span", { class: `badge ${kind}`.trim(), "data-status": answer.status }, words);
}

function confidence(answer) {
  if (!answer.answer || typeof answer.confidence !== "number") return null;
  return h("small", { title: "How often answers of this kind are right" }, `Confidence ${Math.round(answer.confidence * 100)} %`);
}

/** A button that shows one reading of the question: its answer, and the file it comes from. */
function choice(reading, onclick) {
  const file = reading.citations[0]?.file ?? reading.table ?? "";
  return h(
    "button",
    { type: "button", class: "choice", "aria-pressed": "false", onclick },
    h("strong", { dir: "auto" }, shortened(reading.headline ?? reading.answer, 80)),
    h("small", {}, shortened([reading.calculation, file].filter(Boolean).join(" · "), 140)),
  );
}

const shortened = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

const CHOICES = { ambiguous: "Readings that fit about as well", none: "The nearest readings" };
const LESS = "Less likely readings";

function choices(answer, buttons) {
  if (buttons.length < 2 && answer.answer) return null;
  if (!buttons.length) return null;
  const title = CHOICES[answer.status] ?? LESS;
  return h("div", { class: "choices", role: "group", "aria-label": title }, h("h3", {}, title), h("div", {}, buttons));
}

function valueLine(reading) {
  if (reading.value === null || reading.value === undefined) return null;
  return h("p", { class: "quiet" }, "Exact value ", h("code", {}, grouped(String(reading.value))), reading.unit_label ? ` ${reading.unit_label}` : "");
}

/** How a reading was computed: the program in words, as JSON, and as SPARQL for the editor. */
function computed(reading) {
  if (!reading.calculation && !reading.program) return null;
  return h(
    "div",
    { class: "computed" },
    reading.calculation ? h("p", {}, h("small", {}, "Computed as "), h("q", { id: "words" }, reading.calculation)) : null,
    reading.sparql ? h("p", {}, inEditor(reading.sparql, "Open as SPARQL", "sparql")) : null,
    reading.program && !reading.sparql ? h("p", { class: "quiet" }, "No SPARQL here: it cannot say this program, or the table is too long to write it while you wait.") : null,
    reading.program
      ? h("details", { class: "way" }, h("summary", {}, "Program"), h("pre", { class: "code" }, JSON.stringify(reading.program, null, 2)))
      : null,
  );
}

function inEditor(query, words = "Open in the editor", id = null) {
  return h("a", { class: "button", id, href: "/query", onclick: () => sessionStorage.setItem("kgtable-query", query) }, words);
}

function reasons(answer) {
  if (!answer.reasons?.length) return null;
  return h("ul", { class: "quiet reasons" }, answer.reasons.map((reason) => h("li", {}, reason)));
}

const CITED = 12;

function citations(reading) {
  const cited = reading.citations;
  if (!cited.length) return null;
  const items = cited.map((cell) =>
    h(
      "li",
      {},
      h("a", { href: links.table(cell.table, cell.row, cell.column) }, `${cell.file || cell.table} · ${reference(cell.row, cell.column)}`),
      " ",
      h("bdi", { dir: "auto" }, `“${cell.text}”`),
    ),
  );
  const more = Math.max(cited.length, reading.cells_read ?? 0) - CITED;
  return h(
    "div",
    {},
    h("h3", {}, "Rests on"),
    h("ul", { class: "cited" }, items.slice(0, CITED)),
    more > 0 ? h("details", { class: "way" }, h("summary", {}, `${count(more)} more cells`), h("ul", { class: "cited" }, items.slice(CITED))) : null,
  );
}

/** The cited tables as printed: header rows and the rows around each cited cell. */
function tables(reading) {
  const byTable = new Map();
  for (const cell of reading.citations) byTable.set(cell.table, [...(byTable.get(cell.table) ?? []), cell]);
  return [...byTable].slice(0, 3).map(async ([id, cells]) => {
    const section = h("section", { class: "card", "data-table": id });
    try {
      const rows = cells.map((cell) => cell.row).slice(0, 40).join(",");
      const table = await fetchJson(`/api/tables/${encodeURIComponent(id)}?around=${rows}`);
      const lit = new Set(cells.map((cell) => `${cell.row},${cell.column}`));
      fill(
        section,
        h("h2", {}, h("a", { href: links.table(id, cells[0].row, cells[0].column) }, table.title)),
        tableView(table, { lit, onCell: (row, column) => location.assign(links.table(id, row, column)) }),
      );
    } catch (error) {
      fill(section, failure(error));
    }
    return section;
  });
}

function way(answer) {
  const trace = answer.trace ?? {};
  const part = (title, content) =>
    content ? h("details", { class: "way" }, h("summary", {}, title), content) : null;
  const chips = (values) =>
    values?.length ? h("ul", { class: "chips" }, values.map((value) => h("li", {}, h("span", { class: "chip" }, value)))) : null;
  const queries = trace.queries?.map((query) =>
    h("div", {}, h("pre", { class: "code" }, query), h("p", {}, inEditor(query))),
  );
  const triples = answer.triples?.length
    ? h(
        "div",
        { class: "scroll", tabindex: "0", role: "region", "aria-label": "Triples" },
        h(
          "table",
          { class: "results" },
          h("thead", {}, h("tr", {}, ["Subject", "Predicate", "Object", "Group", "Table", "Score"].map((name) => h("th", { scope: "col" }, name)))),
          h("tbody", {}, answer.triples.map((triple) =>
            h("tr", {},
              h("td", {}, triple.subject), h("td", {}, h("a", { href: links.resource(triple.predicate), title: triple.predicate }, localName(triple.predicate))), h("td", {}, triple.object), h("td", {}, triple.group ?? ""),
              h("td", {}, h("a", { href: links.table(triple.table, triple.row, triple.column) }, `${triple.table} ${reference(triple.row, triple.column)}`)),
              h("td", {}, triple.score.toFixed(3)))))),
      )
    : null;
  const timings = Object.entries(answer.timings_ms ?? {});
  return h(
    "section",
    { class: "card", id: "way" },
    h("h2", {}, "The way there"),
    part("Labels of the question", chips(trace.labels)),
    part("Expanded terms", chips(trace.expanded)),
    part("SPARQL", queries?.length ? h("div", {}, queries) : null),
    part(`Triples (${answer.triples?.length ?? 0} best)`, triples),
    part("Prompt", answer.prompt ? h("pre", { class: "code" }, answer.prompt) : null),
    part(
      "Time and cost",
      h("dl", { class: "facts" },
        h("dt", {}, "Method"), h("dd", {}, answer.method),
        h("dt", {}, "Model"), h("dd", {}, answer.model || "none"),
        timings.map(([name, ms]) => [h("dt", {}, `Time: ${name}`), h("dd", {}, `${Math.round(ms)} ms`)]).flat(),
        Object.entries(answer.usage ?? {}).filter(([, value]) => typeof value !== "object")
          .map(([name, value]) => [h("dt", {}, name.replaceAll("_", " ")), h("dd", {}, String(value))]).flat()),
    ),
  );
}

async function start() {
  const info = await fetchJson("/api/info").catch((error) => fill(output, failure(error)));
  if (info && !info.tables) {
    fill(output, empty(h("h2", {}, "There are no tables here yet"), h("p", {}, "Add some with ", h("code", {}, "kgtable build FOLDER --kg DIR"), ": they appear without a restart.")));
  } else if (info) {
    document.querySelector("#holds").textContent = info.summary;
    const questions = info.questions.map((question) =>
      h("li", {}, h("button", { class: "chip", type: "button", onclick: () => ((input.value = question), ask(question)) }, question)),
    );
    fill(document.querySelector("#suggestions"), questions);
  }
  const question = parameters().get("q");
  if (question) {
    input.value = question;
    ask(question);
  }
}

start();
