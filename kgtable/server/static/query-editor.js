// The editor of queries: colours, completion from the dataset, marks at errors. CodeMirror does the editing.

import { fill, h } from "./shell.js";

const CodeMirror = window.CodeMirror;
const KEYWORDS = "SELECT DISTINCT REDUCED WHERE CONSTRUCT DESCRIBE ASK FROM NAMED GRAPH OPTIONAL UNION MINUS FILTER BIND VALUES SERVICE GROUP BY HAVING ORDER LIMIT OFFSET AS ASC DESC COUNT SUM AVG MIN MAX SAMPLE GROUP_CONCAT REGEX STR LANG DATATYPE BOUND CONTAINS STRSTARTS STRENDS LCASE UCASE IF COALESCE EXISTS NOT IN ROUND ABS YEAR PREFIX".split(" ");
const MOST_HINTS = 60;

export class QueryEditor {
  constructor(place, { value, changed, run, mode = "application/sparql-query", label = "SPARQL query", keywords = KEYWORDS }) {
    this.keywords = keywords;
    this.words = [];
    this.iris = [];
    this.prefixes = {};
    this.marks = [];
    this.widgets = [];
    this.mirror = CodeMirror(place, {
      value, mode, lineNumbers: true, lineWrapping: true, matchBrackets: true, viewportMargin: Infinity,
      screenReaderLabel: label, tabSize: 2,
      extraKeys: { "Ctrl-Enter": run, "Cmd-Enter": run, "Ctrl-Space": () => this.complete(), Tab: false, "Shift-Tab": false },
      hintOptions: { completeSingle: false, hint: () => this.hints(), container: place },
    });
    this.mirror.on("change", () => { this.clear(); changed(); });
    this.mirror.on("inputRead", (_, change) => {
      if (change.origin === "+input" && /[\w:?]$/.test(change.text.join(""))) this.complete();
    });
  }

  /** The dataset's prefixes, and the IRIs to complete. */
  know(prefixes, iris) {
    this.prefixes = prefixes;
    const names = Object.entries(prefixes).sort((a, b) => b[1].length - a[1].length);
    this.iris = iris.map((iri) => {
      const found = names.find(([, start]) => iri.startsWith(start));
      return { iri, name: found ? `${found[0]}:${iri.slice(found[1].length)}` : `<${iri}>` };
    });
  }

  getValue() {
    return this.mirror.getValue();
  }

  setValue(text) {
    this.mirror.setValue(text);
  }

  /** Puts text where the cursor is, and the cursor behind it. */
  insert(text) {
    this.mirror.replaceSelection(text);
    this.mirror.focus();
  }

  /** The query with a declaration of each of the dataset's prefixes that it uses: so it runs elsewhere too. */
  withPrefixes(query) {
    const missing = Object.entries(this.prefixes).filter(([name]) =>
      new RegExp(`(^|[^\\w:?$<"'-])${name}:`).test(query) && !new RegExp(`prefix\\s+${name}:`, "i").test(query));
    const lines = missing.map(([name, iri]) => `PREFIX ${name}: <${iri}>`);
    return lines.length ? `${lines.join("\n")}\n\n${query}` : query;
  }

  complete() {
    this.mirror.showHint();
  }

  hints() {
    const { line, ch } = this.mirror.getCursor();
    const before = this.mirror.getLine(line).slice(0, ch);
    const word = /([?$]\w*|<[^>\s]*|[A-Za-z][\w.-]*:[\w./%-]*|[A-Za-z]\w*)$/.exec(before)?.[0] ?? "";
    const list = word ? this.candidates(word).slice(0, MOST_HINTS) : [];
    return { list, from: CodeMirror.Pos(line, ch - word.length), to: CodeMirror.Pos(line, ch) };
  }

  candidates(word) {
    if (/^[?$]/.test(word)) {
      const used = new Set(this.getValue().match(/[?$]\w+/g) ?? []);
      used.delete(word);
      return [...used].filter((name) => name.startsWith(word)).sort();
    }
    if (word[0] === "<") return this.iris.filter(({ iri }) => `<${iri}`.startsWith(word)).map(({ iri }) => `<${iri}>`);
    const lower = word.toLowerCase();
    const [prefix, local] = lower.split(":");
    if (local !== undefined) {
      return this.iris.map(({ name }) => name).filter((name) => name.toLowerCase().startsWith(`${prefix}:`) && name.slice(prefix.length + 1).toLowerCase().includes(local))
        .sort((a, b) => b.toLowerCase().startsWith(lower) - a.toLowerCase().startsWith(lower));
    }
    const names = Object.keys(this.prefixes).filter((name) => name.startsWith(lower)).map((name) => `${name}:`);
    const keywords = this.keywords.filter((name) => name.startsWith(word.toUpperCase()) && name !== word.toUpperCase());
    const inside = lower.length > 2 ? this.iris.map(({ name }) => name).filter((name) => name.includes(":") && name.toLowerCase().split(":")[1].includes(lower)) : [];
    const words = this.words.filter((name) => name.toLowerCase().includes(lower) && name !== word);
    return [...words, ...keywords, ...names, ...inside];
  }

  clear() {
    this.marks.splice(0).forEach((mark) => mark.clear());
    this.widgets.splice(0).forEach((widget) => widget.clear());
  }

  /** Marks a problem at its line and column, which count from 1, and says it below the line. */
  mark({ line, column, detail, prefix, namespace }) {
    this.clear();
    const text = [...(this.mirror.getLine(line - 1) ?? "")];
    const start = text.slice(0, column - 1).join("").length;
    const rest = text.slice(column - 1).join("");
    const length = prefix ? (/^[\w.-]+:[\w.-]*/.exec(rest)?.[0].length ?? 1) : (/^[\w?:$]+/.exec(rest)?.[0].length ?? 1);
    const from = CodeMirror.Pos(line - 1, start);
    this.marks.push(this.mirror.markText(from, CodeMirror.Pos(line - 1, start + length), { className: "mistake" }));
    this.marks.push({ clear: () => this.mirror.removeLineClass(line - 1, "background", "mistaken") });
    this.mirror.addLineClass(line - 1, "background", "mistaken");
    const declare = namespace ? h("button", { type: "button", onclick: () => this.setValue(`PREFIX ${prefix}: <${namespace}>\n${this.getValue()}`) }, `Declare ${prefix}:`) : null;
    const note = h("div", { class: "mistake-note" });
    fill(note, h("span", {}, detail.replace(/^Line \d+, column \d+: /, "")), declare);
    this.widgets.push(this.mirror.addLineWidget(line - 1, note));
    this.mirror.setCursor(from);
  }
}
