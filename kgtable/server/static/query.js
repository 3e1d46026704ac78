// The SPARQL editor, preset to this endpoint, with the dataset's examples, prefixes and completion.

import { failure, fetchJson, fill, h, parameters } from "./shell.js";

const Yasgui = window.Yasgui;
const { Yasqe } = Yasgui;
const list = document.querySelector("#examples");
if (matchMedia("(max-width: 40rem)").matches) list.closest("details").open = false;
const kept = sessionStorage.getItem("kgtable-query");
const asked = parameters().get("query") ?? kept;
sessionStorage.removeItem("kgtable-query");
const START = "SELECT ?table ?label ?value ?unit WHERE {\n  GRAPH ?table {\n    ?row rdfs:label ?label ; ?predicate ?cell .\n    ?cell qudt:numericValue ?value ; qudt:hasUnit ?unit .\n  }\n}\nLIMIT 20";

const dataset = await fetchJson("/api/dataset").catch((error) => {
  fill(list, h("li", {}, failure(error)));
  return { prefixes: {}, examples: [], properties: [], classes: [] };
});

function completer(base, iris) {
  Yasqe.forkAutocompleter(base, { name: `kgtable-${base}`, persistenceId: null, bulk: true, autoShow: false, get: () => iris });
}
completer("property", dataset.properties);
completer("class", dataset.classes);
Yasqe.defaults.autocompleters = ["prefixes", "variables", "kgtable-property", "kgtable-class"];
const prefixes = Yasqe.Autocompleters?.prefixes;
if (prefixes) {
  prefixes.persistenceId = null;
  prefixes.get = () => Object.entries(dataset.prefixes).map(([name, iri]) => `${name}: <${iri}>`);
}

const header = Object.entries(dataset.prefixes).map(([name, iri]) => `PREFIX ${name}: <${iri}>`);
const withPrefixes = (query) => {
  const used = header.filter((line) => {
    const name = line.split(" ")[1];
    return query.includes(name) && !new RegExp(`prefix\\s+${name}`, "i").test(query);
  });
  return used.length ? `${used.join("\n")}\n\n${query}` : query;
};

/** A problem document of this server as a sentence; anything else is left to the editor. */
async function problem(error) {
  try {
    const { title, detail } = JSON.parse(error.text);
    if (title) return h("div", { class: "note bad", role: "alert" }, h("strong", {}, title), h("p", {}, detail ?? ""));
  } catch {
    return undefined;
  }
}
Yasgui.Yasr.defaults.errorRenderers = [problem, ...(Yasgui.Yasr.defaults.errorRenderers ?? [])];

const editor = new Yasgui(document.querySelector("#editor"), {
  requestConfig: { endpoint: `${location.origin}/sparql`, method: "POST" },
  endpointCatalogueOptions: { getData: () => [] },
  persistenceId: null,
  populateFromUrl: false,
  copyEndpointOnNewTab: true,
  autofocus: false,
  yasqe: { value: withPrefixes(asked ?? START), createShareableLink: (yasqe) => `${location.origin}/query?query=${encodeURIComponent(yasqe.getValue())}` },
});
window.kgtableEditor = editor;

function load(query, run) {
  const tab = editor.getTab();
  tab.setQuery(withPrefixes(query));
  if (run) tab.query();
}

fill(list, dataset.examples.map((example) =>
  h("li", {}, h("button", { type: "button", "data-example": example.name, onclick: () => load(example.query, true) },
    h("strong", {}, example.title), example.comment ? h("div", {}, h("small", {}, example.comment)) : null))));
if (asked) load(asked, parameters().has("run"));
