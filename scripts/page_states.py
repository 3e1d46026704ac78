"""Open every page of the server in every state, check it, time it and take a picture of it.

    python scripts/page_states.py --pictures /tmp/pictures

A graph of the samples, of a wide, a long and a right-to-left table and of a document is served. Each state is opened
at 1400 pixels in light and at 390 in dark colours: rules of axe-core, overflow to the side, messages of the console
and the time to the first paint are printed. Then a table and a result of 20,000 rows are timed until they can be used:
from the request (the click on *Run*) until rows are shown and the page reacts. Exits with 1 on a violation. Needs the
packages selenium and axe-core-python, Chromium and its driver.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

sys.path.insert(0, str(Path(__file__).parent.parent))

import kgtable
from kgtable.server.options import ServerSettings
from kgtable.server.state import GraphFolder
from tests.server.accessibility import violations
from tests.server.browser import Browser
from tests.server.serving import running

SAMPLES = Path(kgtable.__file__).parent / "samples"
SIZES = ((1400, False), (390, True))
ROWS = 20_000
ROW = "http://example.org/data/table/halden-segments/row/2"
RENT = "How much rent did the bakery in Oslo pay in 2019?"
SHOPS = (
    "# Bakeries\n\nFlour, yeast and ovens.\n\n## Rents\n\nShops are rented. In 2019 the bakery in Oslo paid a rent of "
    "$3.5 million to its landlord.\n\n| Shop | Sales |\n|---|---|\n| Oslo | 70 |\n| Rome | 50 |\n\n"
    "Sales are in thousands of kroner.\n"
)
EVERYTHING = "SELECT * { GRAPH ?graph { ?subject ?predicate ?object } } LIMIT 500"
LONG = f"SELECT ?row ?p ?value {{ GRAPH ?t {{ ?row ?p ?value }} }} LIMIT {ROWS}"
CELLS = "document.querySelectorAll('[data-cell]').length"


def make_tables(folder: Path) -> None:
    """Write the tables and documents that the pages show."""
    folder.mkdir()
    wide = [",".join(["Name", *(f"Day {day}" for day in range(1, 160))])]
    wide += [",".join([f"Row {row}", *(f"{row}.{day}" for day in range(1, 160))]) for row in range(1, 40)]
    (folder / "wide.csv").write_text("\n".join(wide), encoding="utf-8")
    long = [f"Station {row},{row * 37 % 1_000} km,{'north' if row % 3 else 'south'}" for row in range(ROWS)]
    (folder / "long.csv").write_text("\n".join(["Station,Distance,Side", *long]), encoding="utf-8")
    cities = "مدينة,سكان,بلد\nالقاهرة,9539000,مصر\nبيروت,361366,لبنان\n"
    (folder / "cities.csv").write_text(cities, encoding="utf-8")
    (folder / "shops.md").write_text(SHOPS, encoding="utf-8")
    ports = "Port,Depth (m)\n" + "".join(f"Port {n},{n + 5}\n" for n in range(7))
    ships = "Ship,Home port,Length (m)\n" + "".join(f"Ship {n},Port {n % 7},{n + 20}\n" for n in range(21))
    (folder / "ships.csv").write_text(ships, encoding="utf-8")
    (folder / "ports.csv").write_text(ports, encoding="utf-8")


def evaluate(graph: Path, folder: Path) -> None:
    """Evaluate a method on two questions, for the page of the evaluation."""
    (folder / "tables").mkdir(parents=True)
    (folder / "tables" / "halden-segments.csv").write_bytes((SAMPLES / "halden-segments.csv").read_bytes())
    (folder / "questions.dev.jsonl").write_text(
        '{"id": "q1", "question": "What was the revenue of Laboratory in 2024?", "answers": ["812400"], '
        '"table_id": "halden-segments"}\n'
        '{"id": "q2", "question": "What was the revenue of Calibration in 2023?", "answers": ["x"], '
        '"table_id": "halden-segments"}\n',
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "kgtable", "eval", str(folder), "--kg", str(graph), "--method", "hybrid"]
    done = subprocess.run([*command, "--report", str(folder / "report.html")], capture_output=True, text=True)
    if done.returncode:
        print("no evaluation:", done.stderr[-300:])


def states(browser: Browser) -> dict[str, tuple[str, str, Callable[[], object]]]:
    """Each state: its address, what shows that it is there, and what is done then."""

    def nothing() -> None:
        return None

    def click(selector: str, then: str) -> Callable[[], object]:
        def act() -> None:
            browser.find(selector).click()
            browser.find(then)

        return act

    def bring() -> None:
        browser.find("#files").send_keys(str(bring_file))
        browser.find('[data-table^="costs"] table.list')

    def built() -> None:
        bring()
        browser.find("#build").click()
        browser.find("#first-question")

    bring_file = Path(tempfile.mkdtemp()) / "costs.csv"
    bring_file.write_text("Costs of the ferries\nIn thousand EUR\n,2023,2024\nSula,410,455\nTerna,520,512\n")
    ask = "/?q="
    unit = quote("http://qudt.org/vocab/unit/KiloM", safe="")
    return {
        "ask-empty": ("/", "#suggestions button", nothing),
        "ask-verified": (ask + quote("What was the revenue of Laboratory in 2024?"), "#answer .lit", nothing),
        "ask-way": (
            ask + quote("What was the revenue of Laboratory in 2024?"),
            "#answer .lit",
            lambda: [one.click() for one in browser.all("#way summary")],
        ),
        "ask-ambiguous": (ask + quote("How much was services in 2023?"), "#answer .lit", nothing),
        "ask-sum": (ask + quote("What is the total length of all ships?"), "#answer-text", nothing),
        "ask-count": (ask + quote("How many planets have more than ten moons?"), "#answer-text", nothing),
        "ask-none": (ask + quote("Who is the president of France?"), "#way", nothing),
        "ask-document": (
            f"{ask}{quote(RENT)}&method=documents",
            "#answer-text",
            nothing,
        ),
        "tables": ("/tables", "table.list tbody tr", nothing),
        "tables-none": ("/tables?q=nothing-like-this", "#list .empty", nothing),
        "table": ("/tables/norrvik-income-statement", "table.sheet tr.header", nothing),
        "table-cell": ("/tables/norrvik-income-statement?cell=3,1", "#cell dl", nothing),
        "table-groups": ("/tables/halden-segments", "table.sheet tr.header", nothing),
        "table-workbook": ("/tables/harbour-cargo", "table.sheet tr.header", nothing),
        "table-wide": ("/tables/wide?cell=9,150", "#cell dl", nothing),
        "table-rtl": ("/tables/cities", "table.sheet tr.header", nothing),
        "table-of-document": ("/tables/shops", "main", nothing),
        "table-find": ("/tables/long", '[data-cell="1,0"]', nothing),
        "table-missing": ("/tables/no-such-table", "h1", nothing),
        "document": ("/documents/shops", "main p", nothing),
        "document-missing": ("/documents/no-such", "h1", nothing),
        "graph": ("/graph", "#joins li", nothing),
        "graph-row": (f"/graph?iri={quote(ROW, safe='')}", "#side ul.triples li", nothing),
        "ontology": ("/ontology", "#units tbody tr", nothing),
        "ontology-open": ("/ontology", "#predicates details", click("#predicates summary", "#predicates dl")),
        "unit": (f"/resource?iri={unit}", "#unit tbody tr", nothing),
        "resource": (f"/resource?iri={quote(ROW, safe='')}", "#resource dl", nothing),
        "query": ("/query", "#editor .CodeMirror", nothing),
        "query-result": (f"/query?query={quote(EVERYTHING)}&run=1", "table.results td", nothing),
        "query-graph": (
            f"/query?query={quote('CONSTRUCT { ?s ?p ?o } { ?s ?p ?o } LIMIT 30')}&run=1",
            "table.results td",
            nothing,
        ),
        "query-ask": (f"/query?query={quote('ASK { ?s ?p ?o }')}&run=1", "#results .verdict", nothing),
        "query-empty": (
            f"/query?query={quote('SELECT * { ?s <urn:nothing> ?o }')}&run=1",
            "#results .empty",
            nothing,
        ),
        "query-error": (
            f"/query?query={quote('SELECT * {' + chr(10) + '  ?s nope:x ?o }')}&run=1",
            ".mistake-note",
            nothing,
        ),
        "bring": ("/bring", "#kinds", nothing),
        "bring-preview": ("/bring", "#kinds", bring),
        "bring-built": ("/bring", "#kinds", built),
        "evaluation": ("/evaluation", "[data-question] summary", nothing),
        "evaluation-open": (
            "/evaluation",
            "[data-question] summary",
            click("[data-question] summary", "[data-question] a"),
        ),
        "not-found": ("/nowhere", "h1", nothing),
        "bad-request": ("/api/tables?q=a&limit=many", "body", nothing),
        "bad-query": ("/sparql?query=SELECT", "body", nothing),
    }


def painted(browser: Browser) -> float:
    """Milliseconds from the request to the first paint with content."""
    code = "(performance.getEntriesByType('paint').find((e) => e.name === 'first-contentful-paint')||{}).startTime"
    for _ in range(40):
        found = browser.script(code)
        if found is not None:
            return float(found)
        time.sleep(0.05)
    return float("nan")


def look(browser: Browser, pictures: Path | None, only: str) -> bool:
    """Check every state; true where one breaks a rule."""
    wrong, paints = False, []
    for width, dark in SIZES:
        browser.resize(width, 900, dark=dark)
        for name, (path, ready, act) in states(browser).items():
            if only and only not in name:
                continue
            browser.complaints()
            said: list[str] = []
            try:
                browser.open(path)
                browser.find(ready)
                act()
                time.sleep(0.4)
                paints.append(painted(browser))
            except Exception as error:
                said.append(f"not reached: {type(error).__name__} {str(error)[:200]}")
            said += violations(browser)
            if browser.script("document.documentElement.scrollWidth > innerWidth"):
                said.append("wider than the window")
            said += [line for line in browser.complaints() if " 404 " not in line and " 400 " not in line]
            wrong |= bool(said)
            print(f"{width:5} {name:20} {paints[-1]:6.0f} ms  {'; '.join(said) or 'ok'}", flush=True)
            if pictures:
                height = browser.script("document.documentElement.scrollHeight")
                shown = min(max(height, 900), 2_400)
                browser.resize(width, shown, dark=dark)
                time.sleep(0.2)
                browser.driver.save_screenshot(str(pictures / f"{name}-{width}.png"))
                browser.resize(width, 900, dark=dark)
    print(
        f"first paint: median {statistics.median(paints):.0f} ms, worst {max(paints):.0f} ms ({len(paints)} pages)"
    )
    return wrong


def usable(browser: Browser) -> None:
    """Time a table and a result of 20,000 rows until they can be used."""
    browser.resize(1400, 900)
    ready = (
        "const done = arguments[arguments.length - 1], shown = () => (%s) ? requestAnimationFrame(() => "
        "setTimeout(() => done(performance.now()), 0)) : setTimeout(shown, 5); shown();"
    )
    for name, path, shown in (
        ("table of 20,000 rows", "/tables/long", f"{CELLS} > 30"),
        ("its end", "/tables/long?cell=19999,1", "document.querySelector('[data-cell=\"19999,1\"]')"),
        (
            "result of 20,000 rows",
            f"/query?query={quote(LONG)}&run=1",
            "document.querySelectorAll('table.results td').length > 30",
        ),
        (
            "all of its rows",
            f"/query?query={quote(LONG)}&run=1",
            "document.querySelector('table.results[aria-rowcount=\"20001\"]')",
        ),
        (
            "answer",
            "/?q=" + quote("What was the revenue of Laboratory in 2024?"),
            "document.querySelector('#answer .lit')",
        ),
    ):
        taken = []
        for _ in range(7):
            browser.open(path)
            taken.append(browser.driver.execute_async_script(ready % shown))
        print(f"{name:24} median {statistics.median(taken):6.0f} ms, worst {max(taken):6.0f} ms")


def main() -> None:
    """Serve, look, time."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pictures", type=Path, help="a folder for the pictures")
    parser.add_argument("--only", default="", help="only states whose name contains this")
    parser.add_argument("--no-timing", action="store_true", help="skip the tables and results of 20,000 rows")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tables, graph = Path(folder, "tables"), Path(folder, "graph")
        make_tables(tables)
        kgtable.build([SAMPLES, tables], graph, embedding="none").close()
        evaluate(graph, Path(folder, "benchmark"))
        if options.pictures:
            options.pictures.mkdir(parents=True, exist_ok=True)
        with running(ServerSettings(port=0, editable=True), GraphFolder(graph)) as server:
            browser = Browser(server.url)
            try:
                wrong = look(browser, options.pictures, options.only)
                if not options.no_timing:
                    usable(browser)
            finally:
                browser.close()
    sys.exit(wrong)


if __name__ == "__main__":
    main()
