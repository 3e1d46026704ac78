// The Ask page: a question, its answer as it arrives, the cells it rests on beside it, and what to ask next.

import { copyText, count, empty, events, failure, fetchJson, fill, h, links, localName, parameters, reference, remember } from "./shell.js";
import { chartView, formsView, rowsView } from "./chart-view.js";
import { documentAddress, documentLink, paragraphs, source, tablesBeside } from "./passage-view.js";
import { bringIntoSight, tableView } from "./table-view.js";

const form = document.querySelector("#ask");
const input = document.querySelector("#question");
const button = form.querySelector("button");
const output = document.querySelector("#answer");
const suggestions = document.querySelector("#suggestions");
const withText = document.querySelector("#with-text");
const page = document.querySelector("main");
const answered = new Map();
let running = null;
let before = null;

// ---- asking, stopping, and the way back ----

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const question = input.value.trim();
  if (question) go(question);
});

button.addEventListener("click", (event) => {
  if (!running) return;
  event.preventDefault();
  running.abort();
});

addEventListener("popstate", () => visit());

/** The method that the reader chose: tables alone, or the text of documents too. */
const methodAsked = () => (withText.checked ? "documents" : "");

withText.addEventListener("change", () => {
  answered.clear();
  remember({ method: methodAsked() });
  if (parameters().get("q")) ask(parameters().get("q"));
});

/** Asks a question as a new entry of the history. */
function go(question) {
  const search = new URLSearchParams({ q: question, ...(methodAsked() ? { method: methodAsked() } : {}) });
  if (parameters().get("q") !== question) history.pushState(null, "", `/?${search}`);
  else remember({ reading: "" });
  answered.delete(question);
  input.value = question;
  ask(question, before);
}

/** Shows what the address says: a question with its answer, as it was where it was asked before. */
function visit() {
  const question = parameters().get("q") ?? "";
  running?.abort();
  input.value = question;
  const method = parameters().get("method") === "documents";
  if (method !== withText.checked) answered.clear();
  withText.checked = method;
  if (question) ask(question);
  else {
    before = null;
    page.classList.remove("asked");
    document.title = "Ask · kgtable";
    fill(output);
  }
}

/** Asks; `after` is the question that was answered before, which this one may follow. */
async function ask(question, after = null) {
  running?.abort();
  const mine = (running = new AbortController());
  page.classList.add("asked");
  document.title = `${question} · kgtable`;
  if (answered.has(question)) {
    finish(mine);
    before = question;
    return show(answered.get(question));
  }
  const steps = h("ol", { class: "stages", "aria-label": "Stages", "aria-live": "polite" });
  const found = h("div", { class: "found" });
  const text = h("p", { class: "answer-text partial", dir: "auto" });
  fill(output, h("section", { class: "card running", "aria-busy": "true" }, steps, text, found));
  button.textContent = "Stop";
  button.classList.add("stop");
  const stage = (words) => {
    steps.querySelector(".now")?.classList.remove("now");
    steps.append(h("li", { class: "now" }, words));
  };
  stage("Reading the question");
  try {
    for await (const [event, data] of events("/api/ask", { question, ...(after ? { after } : {}), ...(methodAsked() ? { method: methodAsked() } : {}) }, mine.signal)) {
      if (event === "stage") stage(data.text);
      else if (event === "question") {
        question = data.question;
        remember({ q: question });
        input.value = question;
        document.title = `${question} · kgtable`;
        stage(`Understood as: ${question}`);
      }
      else if (event === "found") {
        stage(data.text);
        fill(found, ...retrieved(data));
      } else if (event === "text") {
        if (!text.textContent) stage("Reading the model's answer");
        text.append(data.text);
      } else if (event === "answer") {
        answered.set(question, data);
        before = question;
        finish(mine);
        await show(data);
      }
    }
  } catch (error) {
    if (error.name !== "AbortError") fill(output, h("section", { class: "card" }, failure(error), again(question)));
    else if (running === mine) fill(output, h("section", { class: "card", id: "stopped" }, h("p", { role: "status" }, "Stopped."), found, again(question)));
  } finally {
    finish(mine);
  }
}

function finish(mine) {
  if (running !== mine) return;
  running = null;
  button.textContent = "Ask";
  button.classList.remove("stop");
}

const again = (question) => h("p", {}, h("button", { type: "button", onclick: () => go(question) }, "Ask again"));

/** What was retrieved, shown while the answer is made. */
function retrieved(data) {
  if (!data.tables.length) return [];
  return [
    data.labels.length ? h("p", { class: "quiet" }, "Looked for ", data.labels.map((label) => [h("span", { class: "chip" }, label), " "]).flat()) : null,
    h("h2", { class: "minor" }, "Tables that may hold the answer"),
    tableCards(data.tables),
  ];
}

// ---- the answer ----

async function show(answer) {
  const readings = [...(answer.answer ? [answer] : []), ...(answer.alternatives ?? [])];
  const leads = Boolean(answer.answer);
  const text = h("p", { class: "answer-text", id: "answer-text", tabindex: "-1", dir: "auto" });
  const body = h("div", { id: "reading" });
  const around = h("div", { id: "tables", class: "evidence" });
  const buttons = readings.map((reading, index) => choice(reading, readings[0], () => turnTo(index)));
  const status = h("p", { class: "status" }, said(answer));
  const offered = choices(answer, buttons, leads);
  const sure = leads && answer.status !== "several";
  const exact = h("div");
  const nearest = h("div", { id: "nearest" });
  const next = h("div", { id: "next" });
  const card = h("section", { class: "card said", "aria-labelledby": "answer-text" }, status, text, exact, nearest, sure ? null : offered, body, sure ? offered : null, next);
  const whole = h("div", { class: "answer" }, card, around);
  let chosen = -1;

  /** Shows a reading as a new entry of the history. */
  function turnTo(index) {
    const search = parameters();
    search.set("reading", index);
    history.pushState(null, "", `/?${search}`);
    choose(index);
  }

  async function choose(index) {
    if (index === chosen) return;
    chosen = index;
    const reading = readings[index];
    buttons.forEach((button, place) => button.setAttribute("aria-pressed", String(place === index)));
    fill(status, reading === answer && leads ? said(answer) : h("span", { class: "badge", "data-status": "alternative" }, "Another reading"));
    text.textContent = reading.headline ?? reading.answer;
    text.classList.toggle("longer", text.textContent.length > 160);
    fill(nearest);
    whole.classList.add("proven");
    const cited = citations(reading);
    fill(exact, exactly(reading));
    fill(body, reading.rows && reading.names.length > 1 ? rowsView(reading) : null, reading === answer && answer.remark ? h("p", { class: "quiet", dir: "auto" }, `The model remarks: ${answer.remark}`) : null, computed(reading), fieldsOf(reading, answer), reading === answer ? [answer.chart && chartView(answer.chart), reasons(answer)] : null, cited.element, formsView(reading), actions(answer, reading, index));
    const sections = await Promise.all([...evidence(reading, cited), ...passageCards(reading)]);
    if (chosen === index) {
      fill(around, ...sections);
      around.querySelectorAll(".scroll").forEach(showFirstCited);
      cited.connect(around);
    }
  }

  fill(output, whole);
  const wanted = Number.parseInt(parameters().get("reading") ?? "", 10);
  if (readings[wanted]) await choose(wanted);
  else if (leads) await choose(0);
  else {
    text.textContent = answer.nearest?.length ? "I found no answer; the nearest tables are:" : "I found no answer in these tables.";
    if (answer.nearest?.length) fill(nearest, tableCards(answer.nearest), whyNot(answer));
    else fill(nearest, whyNot(answer), h("p", {}, h("a", { class: "button", href: "/tables" }, "All tables")));
    const cited = citations(answer);
    fill(body, cited.element);
    fill(around, ...await Promise.all(passageCards(answer)));
    cited.connect(around);
  }
  text.focus({ preventScroll: true });
  await followUps(answer, readings[Math.max(0, chosen)], next);
  // Last: nothing that arrives later then moves it while it is being read.
  if (whole.isConnected) output.append(way(answer));
}

/** Tables to open, each with what tells which it is. */
function tableCards(tables) {
  return h("ul", { class: "table-cards" }, tables.map((table) =>
    h("li", {},
      h("a", { href: links.table(table.id), dir: "auto" }, table.title),
      table.subtitle ? h("small", { dir: "auto" }, table.subtitle) : null,
      h("small", {}, `${table.file} · ${count(table.rows)} rows`),
      table.columns.length ? h("small", { class: "columns", dir: "auto" }, table.columns.slice(0, 6).join(" · ")) : null)));
}

const STATUS = {
  verified: ["good", "✓ Verified"],
  sure: ["good", "Sure"],
  likely: ["", "Likely"],
  several: ["warn", "Several readings"],
  "not found": ["", "Not found"],
};

/** What is known of the answer, and who found it. */
function said(answer) {
  const rules = answer.offline && answer.answer ? "Found by kgtable's own rules, without a language model." : null;
  const model = !answer.offline && answer.answer ? `Answered by ${answer.model}` : null;
  return [badge(answer), confidence(answer), h("small", {}, rules ?? model ?? "")].filter(Boolean);
}

function badge(answer) {
  const [kind, words] = answer.answer && !answer.grounded ? ["warn", "Not supported by cells"] : STATUS[answer.status];
  return h("span", { class: `badge ${kind}`.trim(), "data-status": answer.status, title: answer.sentence }, words);
}

function confidence(answer) {
  if (!answer.answer || typeof answer.confidence !== "number") return null;
  return h("small", { title: "How often answers of this kind are right" }, `Confidence ${Math.round(answer.confidence * 100)} %`);
}

/** The fields that a reading always shows, if only as empty ones, and the controls of Explore that change fields. */
const EMPTY = { Measure: "none", How: "", By: "no groups", Where: "all rows" };
const CONTROLS = { Measure: "measure", How: "how", By: "by0", Where: "where", Shown: "ask", Order: "order", First: "first", Joined: "join" };

/** The fields of a reading, each a link to where it is changed; null for a program that fields cannot say. */
function fieldsOf(reading, answer) {
  if (!reading.told) return null;
  const unused = reading === answer ? unaccounted(answer) : [];
  const field = ([name, words]) => [h("dt", {}, name), h("dd", { dir: "auto" }, h("a", { class: "field-link", "aria-label": `Change ${name}: ${words}`, href: `${reading.explore}#${CONTROLS[name] ?? "table"}` }, words))];
  return h("div", { id: "told" },
    h("dl", { class: "facts" }, Object.entries({ ...EMPTY, ...reading.told }).flatMap(field),
      unused.length ? [h("dt", {}, "Not used"), h("dd", {}, unused.map((word) => [h("span", { class: "badge warn", dir: "auto" }, word), " "]))] : null),
    h("p", {}, h("a", { class: "button", id: "explore", href: reading.explore }, "Change in Explore")));
}

const UNACCOUNTED = /^Not accounted for: (.*?)\.?$/;

/** The words of a question that no field took. */
const unaccounted = (answer) => (answer.reasons ?? []).flatMap((reason) => UNACCOUNTED.exec(reason)?.[1].split(", ") ?? []);

/** What tells the fields of one reading from those of the first. */
function differing(reading, first) {
  if (!reading.told || !first?.told) return null;
  const names = new Set([...Object.keys(first.told), ...Object.keys(reading.told)]);
  return [...names].filter((name) => reading.told[name] !== first.told[name]).map((name) => `${name}: ${reading.told[name] ?? "none"}`).join(" · ");
}

/** A button that shows one reading of the question: its answer, what its fields are, and its table. */
function choice(reading, first, onclick) {
  const title = reading.citations[0]?.title ?? reading.table ?? "";
  return h("button", { type: "button", class: "choice", "aria-pressed": "false", onclick },
    h("strong", { dir: "auto" }, shortened(reading.headline ?? reading.answer, 80)),
    h("small", { dir: "auto" }, shortened([(reading !== first && differing(reading, first)) || reading.words, reading.period].filter(Boolean).join(" · "), 140)),
    h("small", { dir: "auto" }, `in ${shortened(title, 80)}`));
}

const shortened = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

function choices(answer, buttons, leads) {
  if (!buttons.length || (leads && buttons.length < 2)) return null;
  const title = !leads ? "The nearest readings, none of them sure" : answer.status === "several" ? "Which did you mean?" : "Less likely readings";
  const group = h("div", { class: "choices", role: "group", "aria-label": title }, h("div", {}, buttons));
  if (leads && answer.status !== "several") return h("details", { class: "way" }, h("summary", {}, title), group);
  group.prepend(h("h2", { class: "minor" }, title));
  return group;
}

/** The whole number with its unit, and the period that it is of. */
function exactly(reading) {
  if (!reading.exact && !reading.period) return null;
  return h("p", { class: "exact" },
    reading.exact ? h("span", { id: "exact" }, reading.exact) : null,
    reading.exact && reading.period ? " · " : null,
    reading.period ? h("span", { id: "period" }, reading.period) : null);
}

/** How a reading was computed, in words. */
const computed = (reading) => (reading.words && reading.words !== reading.headline ? h("p", {}, h("small", {}, "Computed as "), h("q", { id: "words", dir: "auto" }, reading.words)) : null);


function reasons(answer) {
  const told = (answer.reasons ?? []).filter((reason) => !answer.told || !UNACCOUNTED.test(reason));
  return told.length ? h("ul", { class: "quiet reasons" }, told.map((reason) => h("li", { dir: "auto" }, reason))) : null;
}

/** Why there is no answer, on demand where it takes more than a line. */
function whyNot(answer) {
  const list = reasons(answer);
  return list && answer.reasons.length > 1 ? h("details", { class: "way" }, h("summary", {}, "Why there is none"), list) : list;
}

// ---- citations and their tables ----

const CITED = 6;
const MORE_CITED = 100;

/** The cited cells, numbered; beyond the first few they open on demand. `connect` ties them to the lit cells. */
function citations(reading) {
  const cited = reading.citations;
  const numbers = new Map(cited.map((cell, place) => [`${cell.table} ${cell.row},${cell.column}`, place + 1]));
  const several = new Set(cited.map((cell) => cell.table)).size > 1;
  const item = (cell, place) =>
    h("li", { value: place + 1, "data-cites": `${cell.table} ${cell.row},${cell.column}` },
      h("a", { href: links.table(cell.table, cell.row, cell.column) },
        h("bdi", { class: "cited-text", dir: "auto" }, shortened(cell.text, 120)),
        h("small", { dir: "auto" }, [several ? cell.title : null, cell.label && cell.label !== cell.text ? cell.label : null, cell.header, cell.reference].filter(Boolean).join(" · "))));
  const first = h("ol", { class: "cited" }, cited.slice(0, CITED).map(item));
  const rest = cited.slice(CITED);
  const unlisted = Math.max(cited.length, reading.cells_read ?? 0) - CITED;
  let tie = () => {};
  const more = unlisted > 0 ? h("details", { class: "way", id: "more-cited" }, h("summary", {}, `${count(unlisted)} more cells`)) : null;
  more?.addEventListener("toggle", () => {
    if (!more.open || more.querySelector("ol")) return;
    const list = h("ol", { class: "cited" });
    const button = h("button", { type: "button" }, "Show more");
    const add = () => {
      const start = list.children.length;
      list.append(...rest.slice(start, start + MORE_CITED).map((cell, place) => item(cell, CITED + start + place)));
      button.hidden = list.children.length >= rest.length;
      tie(list);
    };
    button.addEventListener("click", add);
    const unsaid = unlisted - rest.length;
    more.append(list, button, unsaid > 0 ? h("p", { class: "quiet" }, `The other ${count(unsaid)} cells were read by the same program.`) : "");
    add();
  }, { once: false });
  const element = cited.length ? h("div", { class: "rests" }, h("h2", { class: "minor" }, "Rests on"), first, more) : null;
  const passages = reading.passages?.length
    ? h("div", { class: "rests" },
        h("h2", { class: "minor" }, cited.length ? "And in the text" : "Said in the text"),
        h("ol", { class: "cited passages" }, reading.passages.map((words, place) => {
          const number = cited.length + place + 1;
          const light = (on) => {
            const mark = [...output.querySelectorAll("mark.lit")].find((one) => one.dataset.cite === String(number));
            mark?.classList.toggle("hot", on);
          };
          return h("li", { value: number, onpointerenter: () => light(true), onpointerleave: () => light(false), onfocusin: () => light(true), onfocusout: () => light(false) },
            h("a", { href: documentLink(words.document, placeOf(words)) },
              h("q", { class: "cited-text", dir: "auto" }, shortened(words.words, 240)),
              h("small", { dir: "auto" }, [words.file, words.page ? `page ${words.page}` : null, `paragraph ${words.paragraph + 1}`].filter(Boolean).join(" · "))));
        })))
    : null;
  return {
    element: element || passages ? h("div", {}, element, passages) : null,
    numbers,
    connect(around) {
      const cellOf = (key) => {
        const [table, position] = [key.slice(0, key.lastIndexOf(" ")), key.slice(key.lastIndexOf(" ") + 1)];
        const section = [...around.children].find((part) => part.dataset.table === table);
        return section?.querySelector(`[data-cell="${position}"]`);
      };
      tie = (list) => list.querySelectorAll("li").forEach((line) => {
        const light = (on) => {
          const cell = cellOf(line.dataset.cites);
          line.classList.toggle("hot", on);
          cell?.classList.toggle("hot", on);
          if (on && cell) bringIntoSight(cell);
        };
        line.addEventListener("pointerenter", () => light(true));
        line.addEventListener("pointerleave", () => light(false));
        line.addEventListener("focusin", () => light(true));
        line.addEventListener("focusout", () => light(false));
      });
      tie(first);
      for (const section of around.querySelectorAll("[data-table]")) {
        section.addEventListener("pointerover", (event) => {
          const cell = event.target.closest?.(".lit");
          output.querySelectorAll("li.hot").forEach((line) => line.classList.remove("hot"));
          if (!cell) return;
          const key = `${section.dataset.table} ${cell.dataset.cell}`;
          [...output.querySelectorAll("[data-cites]")].find((line) => line.dataset.cites === key)?.classList.add("hot");
        });
      }
    },
  };
}

const SHOWN_TABLES = 3;
const SHOWN_PASSAGES = 3;
const AROUND_WORDS = 2;
const LONGEST_AROUND = 700;

const placeOf = (words) => ({ paragraph: words.paragraph, start: words.start, length: [...words.words].length });

/** The cited words of documents where they stand, with the paragraphs around and the tables beside them. */
function passageCards(reading) {
  return (reading.passages ?? []).slice(0, SHOWN_PASSAGES).map(async (words, place) => {
    const section = h("section", { class: "card passage" });
    const cite = reading.citations.length + place + 1;
    try {
      const at = placeOf(words);
      const window = await fetchJson(documentAddress(words.document, at.paragraph - AROUND_WORDS, 2 * AROUND_WORDS + 1, at));
      const cited = window.paragraphs.find((one) => one.number === at.paragraph);
      fill(
        section,
        h("h2", { dir: "auto" }, h("a", { href: documentLink(words.document, at) }, window.title)),
        h("p", { class: "quiet source", dir: "auto" }, source(window, cited)),
        h("div", { class: "document", tabindex: "0", role: "region", "aria-label": "The text around the cited words" },
          paragraphs(window, [{ ...at, cite }], { most: LONGEST_AROUND, heading: "h3" })),
        tablesBeside(window),
      );
    } catch (error) {
      fill(section, failure(error));
    }
    return section;
  });
}

/** Scrolls a table to the citation with its lowest number: what the answer says, not the label beside it. */
function showFirstCited(box) {
  const cells = [...box.querySelectorAll(".lit[data-cite]")].sort((one, other) => one.dataset.cite - other.dataset.cite);
  if (cells.length) bringIntoSight(cells[0]);
}

/** The cited tables as printed: header rows, and the rows and columns around each cited cell. */
function evidence(reading, cited) {
  const byTable = new Map();
  for (const cell of reading.citations) byTable.set(cell.table, [...(byTable.get(cell.table) ?? []), cell]);
  return [...byTable].slice(0, SHOWN_TABLES).map(async ([id, cells]) => {
    const section = h("section", { class: "card", "data-table": id });
    try {
      const distinct = (name) => [...new Set(cells.map((cell) => cell[name]))].slice(0, 40).join(",");
      const table = await fetchJson(`/api/tables/${encodeURIComponent(id)}?around=${distinct("row")}&across=${distinct("column")}`);
      const lit = new Set(cells.map((cell) => `${cell.row},${cell.column}`));
      const cites = new Map(cells.map((cell) => [`${cell.row},${cell.column}`, cited.numbers.get(`${id} ${cell.row},${cell.column}`)]));
      fill(
        section,
        h("h2", { dir: "auto" }, h("a", { href: links.table(id, cells[0].row, cells[0].column) }, table.title)),
        h("p", { class: "quiet source" }, [table.subtitle, table.file, table.sheet ? `sheet ${table.sheet}` : null].filter(Boolean).join(" · ")),
        tableView(table, { lit, cites, onCell: (row, column) => location.assign(links.table(id, row, column)) }),
        table.notes.length ? h("dl", { class: "facts notes" }, table.notes.map(({ mark, text }) => [h("dt", {}, mark), h("dd", { dir: "auto" }, text)]).flat()) : null,
      );
    } catch (error) {
      fill(section, failure(error));
    }
    return section;
  });
}

// ---- what to do with it ----

/** The answer as plain text, with its proof. */
function asText(answer, reading) {
  const cited = reading.citations.slice(0, CITED).map((cell, place) => `[${place + 1}] ${cell.text} – ${cell.file} ${cell.reference}`);
  const said = (reading.passages ?? []).map((words, place) => `[${cited.length + place + 1}] “${words.words}” – ${words.file}${words.page ? `, page ${words.page}` : ""}`);
  return [answer.question, reading.display ?? reading.answer, [reading.exact, reading.period].filter(Boolean).join(" · "), reading.words, ...cited, ...said]
    .filter(Boolean)
    .join("\n");
}

function actions(answer, reading, index) {
  const told = h("span", { class: "quiet", role: "status" });
  const address = () => `${location.origin}/?${new URLSearchParams({ q: answer.question, ...(methodAsked() ? { method: methodAsked() } : {}), ...(index ? { reading: index } : {}) })}`;
  const copy = async (text, words) => {
    told.textContent = (await copyText(text)) ? words : "The browser does not allow copying.";
  };
  const share = () =>
    navigator.share && matchMedia("(pointer: coarse)").matches
      ? navigator.share({ title: answer.question, text: reading.display ?? reading.answer, url: address() }).catch(() => {})
      : copy(address(), "Link copied");
  return h("p", { class: "toolbar actions" },
    h("button", { type: "button", id: "copy", onclick: () => copy(asText(answer, reading), "Copied") }, "Copy"),
    h("button", { type: "button", id: "share", onclick: share }, "Share"),
    told);
}

/** Questions near the answer that are answered too. */
async function followUps(answer, reading, place) {
  const cell = reading?.citations?.[0];
  if (!cell) return;
  const search = new URLSearchParams({ table: cell.table, row: cell.row, column: cell.column, question: answer.question });
  const found = await fetchJson(`/api/suggestions?${search}`).catch(() => null);
  if (!found?.questions.length || !place.isConnected) return;
  fill(place, h("h2", { class: "minor" }, "Ask next"), questionChips(found.questions));
}

function questionChips(questions) {
  return h("ul", { class: "chips" }, questions.map((question) =>
    h("li", {}, h("button", { class: "chip", type: "button", dir: "auto", onclick: () => go(question) }, question))));
}

function way(answer) {
  const trace = answer.trace ?? {};
  const part = (title, content) => (content ? h("details", { class: "way" }, h("summary", {}, title), content) : null);
  const chips = (values) =>
    values?.length ? h("ul", { class: "chips" }, values.map((value) => h("li", {}, h("span", { class: "chip" }, value)))) : null;
  const queries = trace.queries?.map((query) =>
    h("div", {}, h("pre", { class: "code", tabindex: "0" }, query), h("p", {}, h("a", { class: "button", href: links.query(query) }, "Open in the editor"))));
  const triples = answer.triples?.length
    ? h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Triples" },
        h("table", { class: "results" },
          h("thead", {}, h("tr", {}, ["Subject", "Predicate", "Object", "Group", "Table", "Score"].map((name) => h("th", { scope: "col" }, name)))),
          h("tbody", {}, answer.triples.map((triple) =>
            h("tr", {},
              h("td", {}, triple.subject), h("td", {}, h("a", { href: links.resource(triple.predicate), title: triple.predicate }, localName(triple.predicate))), h("td", {}, triple.object), h("td", {}, triple.group ?? ""),
              h("td", {}, h("a", { href: links.table(triple.table, triple.row, triple.column) }, `${triple.table} ${reference(triple.row, triple.column)}`)),
              h("td", {}, triple.score.toFixed(3)))))))
    : null;
  const timings = Object.entries(answer.timings_ms ?? {});
  const content = h(
    "div",
    {},
    part("Labels of the question", chips(trace.labels)),
    part("Expanded terms", chips(trace.expanded)),
    part("Candidates by term", chips(trace.candidates)),
    part("SPARQL", queries?.length ? h("div", {}, queries) : null),
    part(`Triples (${answer.triples?.length ?? 0} best)`, triples),
    part("Prompt", answer.prompt ? h("pre", { class: "code", tabindex: "0" }, answer.prompt) : null),
    part(
      "Time and cost",
      h("dl", { class: "facts" },
        h("dt", {}, "Method"), h("dd", {}, answer.method),
        h("dt", {}, "Model"), h("dd", {}, answer.model || "none"),
        timings.filter(([name]) => name !== "total").map(([name, ms]) => [h("dt", {}, `Time: ${name}`), h("dd", {}, `${Math.round(ms)} ms`)]).flat(),
        timings.filter(([name]) => name === "total").map(([, ms]) => [h("dt", {}, "Total retrieval time"), h("dd", {}, `${Math.round(ms)} ms`)]).flat(),
        Object.entries(answer.usage ?? {}).filter(([, value]) => typeof value !== "object")
          .map(([name, value]) => [h("dt", {}, name === "cost_usd" ? "Cost (USD)" : name.charAt(0).toUpperCase() + name.slice(1).replaceAll("_", " ")), h("dd", {}, String(value))]).flat()),
    ),
  );
  return h("section", { class: "card", id: "way" }, h("h2", {}, "How this was found"), content);
}

// ---- the start ----

async function suggest() {
  const found = await fetchJson("/api/suggestions").catch(() => null);
  if (found) fill(suggestions, ...questionChips(found.questions).children);
}

async function start() {
  visit();
  const info = await fetchJson("/api/info").catch((error) => fill(output, failure(error)));
  if (info && !info.tables) {
    fill(output, empty(h("h2", {}, "There are no tables here yet"), h("p", {}, "Add some with ", h("code", {}, "kgtable build FOLDER --kg DIR"), ": they appear without a restart.")));
  } else if (info) {
    document.querySelector("#holds").textContent = info.summary;
    document.querySelector("#text-choice").hidden = !info.documents;
    suggest();
  }
}

start();
