// The Ask page: a question, its answer as it arrives, the cells it rests on, and the way there.

import { empty, failure, fetchJson, fill, grouped, h, links, localName, parameters, reference, remember } from "./shell.js";
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
  const found = Boolean(answer.answer);
  const card = h(
    "section",
    { class: "card", "aria-labelledby": "answer-text" },
    h("p", {}, badge(answer), answer.offline ? h("small", {}, "  Found by kgtable's own rules, without a language model.") : null),
    h(
      "p",
      { class: `answer-text${(answer.answer ?? "").length > 160 ? " longer" : ""}`, id: "answer-text", tabindex: "-1", dir: "auto" },
      found ? answer.answer : "Nothing in the tables answers this.",
    ),
    valueLine(answer),
    answer.calculation ? h("p", {}, h("small", {}, "Calculated: "), h("code", {}, answer.calculation)) : null,
    reasons(answer),
    citations(answer.citations),
  );
  fill(output, card, ...(await Promise.all(tables(answer))), alternatives(answer), way(answer));
  document.querySelector("#answer-text").focus({ preventScroll: true });
}

function badge(answer) {
  if (!answer.answer) return h("span", { class: "badge" }, "No answer");
  return answer.verified
    ? h("span", { class: "badge good" }, "✓ Verified")
    : h("span", { class: "badge warn" }, "Not verified");
}

function valueLine(answer) {
  if (answer.value === null || answer.value === undefined) return null;
  return h("p", { class: "quiet" }, "Exact value ", h("code", {}, grouped(String(answer.value))), answer.unit ? ` in ${answer.unit}` : "");
}

function reasons(answer) {
  if (!answer.reasons?.length) return null;
  return h("ul", { class: "quiet" }, answer.reasons.map((reason) => h("li", {}, reason)));
}

function citations(cited) {
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
  return h("div", {}, h("h3", {}, "Rests on"), h("ul", { class: "cited" }, items));
}

/** The cited tables as printed: header rows and the rows around each cited cell. */
function tables(answer) {
  const byTable = new Map();
  for (const cell of answer.citations) byTable.set(cell.table, [...(byTable.get(cell.table) ?? []), cell]);
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

function alternatives(answer) {
  if (!answer.alternatives?.length) return null;
  const items = answer.alternatives.map((other) =>
    h("li", {}, h("a", { href: links.table(other.table) }, other.table), ": ", h("bdi", { dir: "auto" }, other.answer)),
  );
  return h("section", { class: "card" }, h("h2", {}, "Other tables answer as well"), h("ul", {}, items));
}

function way(answer) {
  const trace = answer.trace ?? {};
  const part = (title, content) =>
    content ? h("details", { class: "way" }, h("summary", {}, title), content) : null;
  const chips = (values) =>
    values?.length ? h("ul", { class: "chips" }, values.map((value) => h("li", {}, h("span", { class: "chip" }, value)))) : null;
  const queries = trace.queries?.map((query) =>
    h("div", {}, h("pre", { class: "code" }, query), h("p", {}, h("a", { class: "button", href: "/query", onclick: () => sessionStorage.setItem("kgtable-query", query) }, "Open in the editor"))),
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
