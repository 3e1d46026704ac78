// What every page shares: building elements, fetching JSON, the theme switch, links to pages.

/** An element with attributes and children; text is always text, never markup. */
export function h(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat(2).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Replaces what an element holds. */
export function fill(element, ...children) {
  element.replaceChildren(...children.flat(2).filter(Boolean));
}

/** An error a person can read, from a problem document or from the network. */
export class RequestError extends Error {
  constructor(message, problem = {}) {
    super(message);
    this.problem = problem;
  }
}

/** The error of a response that is not what was asked for. */
export async function refusal(response) {
  const problem = await response.json().catch(() => ({}));
  return new RequestError(problem.detail ?? `The server answered ${response.status}.`, problem);
}

/** The JSON at an address of this server. */
export async function fetchJson(path, options = {}) {
  let response;
  try {
    response = await fetch(path, { ...options, headers: { accept: "application/json", ...options.headers } });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new RequestError("The server does not answer. Is it still running?");
  }
  if (!response.ok) throw await refusal(response);
  return response.json().catch(() => ({}));
}

/** Sends JSON and gives JSON. */
export const send = (path, value) => fetchJson(path, { method: "POST", body: JSON.stringify(value), headers: { "content-type": "application/json" } });

/** The server-sent events that answer JSON, as they arrive: pairs of name and data. One of a problem is an error. */
export async function* events(path, value, signal) {
  const headers = { "content-type": "application/json", accept: "text/event-stream" };
  const response = await fetch(path, { method: "POST", signal, headers, body: JSON.stringify(value) });
  if (!response.ok) throw await refusal(response);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value: text, done } = await reader.read();
    if (done) return;
    const blocks = (rest + text).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const name = /^event: (.*)$/m.exec(block)?.[1];
      const data = JSON.parse(/^data: (.*)$/m.exec(block)?.[1] ?? "null");
      if (name === "problem") throw new RequestError(data.detail);
      if (name && data) yield [name, data];
    }
  }
}

export const busy = (text) => h("p", { class: "busy", role: "status" }, text);
export const failure = (error) => h("p", { class: "note bad", role: "alert" }, error.message);
export const empty = (...children) => h("div", { class: "empty" }, ...children);

/** Runs an asynchronous step that fills an element, with its waiting and failing states. */
export async function showIn(element, waiting, step) {
  fill(element, busy(waiting));
  try {
    fill(element, await step());
  } catch (error) {
    if (error.name === "AbortError") return;
    fill(element, failure(error));
  }
}

export const links = {
  table: (id, row, column) =>
    `/tables/${encodeURIComponent(id)}` + (row === undefined ? "" : `?cell=${row},${column}`),
  resource: (iri) => `/resource?iri=${encodeURIComponent(iri)}`,
  graph: (iri) => `/graph?iri=${encodeURIComponent(iri)}`,
  query: (query) => `/query?query=${encodeURIComponent(query)}`,
};

/** The position as a spreadsheet shows it: row 3, column 1 is B4. */
export function reference(row, column) {
  return letters(column) + (row + 1);
}

export function letters(column) {
  let text = "";
  for (let rest = column + 1; rest > 0; rest = Math.floor((rest - 1) / 26)) {
    text = String.fromCharCode(65 + ((rest - 1) % 26)) + text;
  }
  return text;
}

/** A number with thousands separated. */
export const count = (number) => new Intl.NumberFormat().format(number);

/** A long number with its thousands apart; everything else as it is. */
export function grouped(value) {
  return /^[-+]?\d{5,}(\.\d+)?$/.test(value) ? value.replace(/\B(?=(\d{3})+(?!\d))(?<!\.\d*)/g, ",") : value;
}

/** The last part of an IRI, for people. */
export function localName(iri) {
  const name = iri.replace(/[/#]+$/, "").split(/[/#]/).pop() || iri;
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/** Waits until typing pauses. */
export function later(action, delay = 220) {
  let timer;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => action(...values), delay);
  };
}

/** Puts text on the clipboard; tells whether it could. */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = h("textarea", { class: "only-read", "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

export const parameters = () => new URLSearchParams(location.search);

/** Notes the page's state in its address without leaving it. */
export function remember(values) {
  const search = parameters();
  for (const [name, value] of Object.entries(values)) {
    if (value === "" || value === null || value === undefined) search.delete(name);
    else search.set(name, value);
  }
  history.replaceState(null, "", `${location.pathname}${search.size ? `?${search}` : ""}`);
}

// On a phone the pages are a row that is scrolled: the page one is on shall be in sight there.
const current = document.querySelector('nav [aria-current="page"]');
if (current) {
  const { parentElement: row } = current;
  const [outer, inner] = [row.getBoundingClientRect(), current.getBoundingClientRect()];
  if (inner.right > outer.right) row.scrollLeft += inner.right - outer.right + outer.width / 4;
}

const THEMES = ["system", "light", "dark"];
const toggle = document.querySelector("#theme");
if (toggle) {
  const show = () => {
    const theme = document.documentElement.dataset.theme ?? "system";
    toggle.textContent = { system: "◐", light: "☀", dark: "☾" }[theme];
    toggle.setAttribute("aria-label", `Colours: ${theme}. Change`);
    toggle.title = `Colours: ${theme}`;
  };
  toggle.addEventListener("click", () => {
    const root = document.documentElement;
    const next = THEMES[(THEMES.indexOf(root.dataset.theme ?? "system") + 1) % THEMES.length];
    if (next === "system") delete root.dataset.theme;
    else root.dataset.theme = next;
    localStorage.setItem("kgtable-theme", next);
    show();
  });
  show();
}
