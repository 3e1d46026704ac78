// Terms of RDF as readers see them: prefixed IRIs that lead to their page or table, numbers with their thousands apart.

import { h, links } from "./shell.js";

const XSD = "http://www.w3.org/2001/XMLSchema#";
const NUMBERS = new Set(["integer", "decimal", "double", "float", "int", "long", "short", "byte", "nonNegativeInteger", "positiveInteger"].map((name) => XSD + name));
const PLAIN = new Set([`${XSD}string`, `${XSD}boolean`, `${XSD}date`, `${XSD}dateTime`, `${XSD}gYear`, `${XSD}gYearMonth`, "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"]);

/** How a dataset's IRIs are written and where they lead. */
export class Terms {
  constructor(prefixes) {
    this.names = Object.entries(prefixes).sort((a, b) => b[1].length - a[1].length);
    this.data = prefixes.data ?? null;
  }

  /** The IRI with the dataset's prefix, or as it is: `unit:KiloGM`, `data:table/cargo/row/2`. */
  short(iri) {
    const found = this.names.find(([, start]) => iri.startsWith(start) && iri.length > start.length);
    if (!found) return iri;
    return `${found[0]}:${readable(iri.slice(found[1].length))}`;
  }

  /** The page of an IRI: its table with the cell lit, or what the graph says of it. */
  address(iri) {
    const place = this.data && iri.startsWith(`${this.data}table/`) ? iri.slice(this.data.length + 6) : null;
    const parts = place?.split("/").map(readable);
    if (parts?.length === 1) return links.table(parts[0]);
    if (parts?.length === 4 && parts[1] === "cell") return links.table(parts[0], parts[2], parts[3]);
    if (parts?.length === 3 && parts[1] === "row") return links.table(parts[0], parts[2], 0);
    return links.resource(iri);
  }

  /** A term as an element. */
  view(term) {
    if (term.type === "uri") {
      return /^(https?|urn):/.test(term.value) ? h("a", { href: this.address(term.value), title: term.value }, this.short(term.value)) : h("span", {}, term.value);
    }
    if (term.type === "bnode") return h("span", { class: "quiet" }, `_:${term.value}`);
    if (term.type === "triple") {
      const { subject, predicate, object } = term.value;
      return h("span", {}, "«", this.view(subject), " ", this.view(predicate), " ", this.view(object), "»");
    }
    const language = term["xml:lang"];
    const note = language ? ` @${language}` : term.datatype && !PLAIN.has(term.datatype) && !isNumber(term) ? ` ${this.short(term.datatype)}` : "";
    return h("span", {}, h("bdi", { dir: "auto" }, isNumber(term) ? number(term.value) : term.value), note ? h("small", {}, note) : null);
  }

  /** The text of a term, as it is searched and copied. */
  text(term) {
    if (!term) return "";
    if (term.type === "triple") return ["subject", "predicate", "object"].map((name) => this.text(term.value[name])).join(" ");
    return term.type === "uri" ? this.short(term.value) : term.value;
  }
}

export const isNumber = (term) => term?.type === "literal" && NUMBERS.has(term.datatype);

/** Every digit of a number, its thousands apart; what is no plain number stays as it is. */
export function number(value) {
  const exponent = /^([-+]?)(\d+)(?:\.(\d+))?[eE]([-+]?\d+)$/.exec(value);
  const plain = exponent && Math.abs(exponent[4]) < 25 ? shifted(...exponent.slice(1)) : value;
  const found = /^([-+]?)(\d+)((?:\.\d+)?)$/.exec(plain);
  if (!found) return value;
  return (found[1] === "-" ? "−" : found[1]) + found[2].replace(/\B(?=(\d{3})+$)/g, ",") + found[3];
}

function shifted(sign, whole, fraction = "", power) {
  const digits = whole + fraction;
  const point = whole.length + Number(power);
  const padded = point <= 0 ? "0".repeat(1 - point) + digits : digits.padEnd(point, "0");
  const at = Math.max(point, 1);
  const rest = padded.slice(at).replace(/0+$/, "");
  return sign + (padded.slice(0, at).replace(/^0+(?=\d)/, "") || "0") + (rest ? `.${rest}` : "");
}

function readable(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const TRIPLE = /^(<[^>]*>|_:\S+) (<[^>]*>) (<[^>]*>|_:\S+|"(?:[^"\\]|\\.)*"(?:@[A-Za-z0-9-]+|\^\^<[^>]*>)?) \.$/;
const ESCAPES = { n: "\n", t: "\t", r: "\r", b: "\b", f: "\f" };

/** The statements of an N-Triples text as rows of terms; lines that are none are left out. */
export function statements(text) {
  const rows = [];
  for (const line of text.split("\n")) {
    const found = TRIPLE.exec(line);
    if (found) rows.push({ subject: term(found[1]), predicate: term(found[2]), object: term(found[3]) });
  }
  return rows;
}

function term(text) {
  if (text[0] === "<") return { type: "uri", value: unescaped(text.slice(1, -1)) };
  if (text[0] === "_") return { type: "bnode", value: text.slice(2) };
  const end = text.lastIndexOf('"');
  const rest = text.slice(end + 1);
  const value = unescaped(text.slice(1, end));
  if (rest[0] === "@") return { type: "literal", value, "xml:lang": rest.slice(1) };
  return { type: "literal", value, datatype: rest ? rest.slice(3, -1) : `${XSD}string` };
}

function unescaped(text) {
  return text.replace(/\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))/g, (_, four, eight, one) =>
    one ? (ESCAPES[one] ?? one) : String.fromCodePoint(parseInt(four ?? eight, 16)));
}
