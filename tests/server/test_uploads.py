"""Tables are uploaded to an editable server: over HTTP and in a browser, previewed, corrected, built, removed."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select

import kgtable
from kgtable.building.catalogue import Catalogue
from kgtable.building.generations import LOCK, GraphDirectory
from kgtable.errors import UsageError
from kgtable.server import editing
from kgtable.server.editing import safe_name
from kgtable.server.options import ServerSettings
from kgtable.server.security import may_edit, require_edit
from kgtable.server.state import GraphFolder
from kgtable.server.workers.messages import Problem
from kgtable.server.workers.table_editor import check_decisions, source_paths
from kgtable.storage import exclusive_lock
from tests.server.accessibility import violations
from tests.server.browser import Chromium
from tests.server.refusals import refused
from tests.server.serving import TOKEN, Running, running

FERRIES = "Ferry,Length,Built\nSula,84,1998\nTerna,112,2011\n"
COSTS = "Costs of the ferries\nIn thousand EUR\n,2023,2024\nSula,410,455\nTerna,520,512\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("upload")
    (folder / "tables" / "deep").mkdir(parents=True)
    (folder / "tables" / "ports.csv").write_text("Port,Depth in m\nHalden,12\n", encoding="utf-8")
    (folder / "tables" / "deep" / "piers.csv").write_text("Pier,Length in m\nEast,80\n", encoding="utf-8")
    kgtable.build(folder / "tables", folder / "graph", embedding="none").close()
    return folder


@pytest.fixture(scope="module")
def editable(folder: Path) -> Iterator[Running]:
    with running(ServerSettings(port=0, editable=True), GraphFolder(folder / "graph")) as server:
        yield server


def upload(server: Running, name: str, text: str, **headers: str) -> Any:
    return server.client.post("/api/uploads", params={"name": name}, content=text, headers=headers)


def post(server: Running, path: str, value: Any) -> Any:
    return server.client.post(path, json=value)


def built(server: Running, value: Any) -> dict[str, Any]:
    """What a build ends with."""
    events = [part.split("\n") for part in post(server, "/api/build", value).text.strip().split("\n\n")]
    name, data = events[-1][0].removeprefix("event: "), json.loads(events[-1][1].removeprefix("data: "))
    assert name == "built", data
    return dict(data)


def tables(server: Running) -> set[str]:
    return {table["id"] for table in server.client.get("/api/tables").json()["tables"]}


def test_a_file_is_previewed_corrected_built_and_removed(editable: Running, folder: Path) -> None:
    answer = upload(editable, "../ferries.CSV", FERRIES)
    assert answer.status_code == 201
    found = answer.json()
    (table,) = found["preview"]["tables"]
    assert (found["name"], table["id"], table["header_rows"], table["rows"]) == ("ferries.csv", "ferries", "1", 3)
    length = table["columns"][1]
    assert (length["name"], length["kind"], length["units"][0]["name"]) == ("Length", "number", "UNITLESS")
    assert [row["kind"] for row in table["head"]] == ["header", "body", "body"]

    column = {"column name": "Length", "only in": "ferries", "unit": "metre", "scale": "T"}
    decisions = {"columns": [column], "tables": [{"table": "ferries", "title": "Our ferries"}]}
    again = post(editable, "/api/preview", {"upload": found["id"], "decisions": decisions}).json()
    length = again["tables"][0]["columns"][1]
    assert (length["units"][0]["name"], length["sample"]["value"]) == ("M", "84000")
    assert again["tables"][0]["title"] == "Our ferries"
    wrong = {"columns": [{**column, "unit": "wugs per pint"}], "tables": []}
    refused = post(editable, "/api/preview", {"upload": found["id"], "decisions": wrong})
    assert (refused.status_code, "is not a unit" in refused.json()["detail"]) == (400, True)

    report = built(editable, {"uploads": [found["id"]], "decisions": decisions})
    assert (report["added"], report["unchanged"], report["errors"]) == (["ferries"], 2, [])
    assert report["question"] == "What is the Length of Sula?"
    assert tables(editable) == {"ferries", "piers", "ports"}
    cell = editable.client.get("/api/cells", params={"table": "ferries", "row": 1, "column": 1}).json()
    assert (cell["value"], cell["unit"], cell["unit_from"]) == ("84000", "M", "mapping")
    assert (folder / "graph" / "uploads" / "ferries.csv").read_text(encoding="utf-8") == FERRIES

    changes = {"table": "ferries", "decisions": {"columns": [{**column, "unit": "KiloM"}], "tables": []}}
    changed = post(editable, "/api/preview", changes).json()
    assert changed["before"][0]["columns"][1]["units"][0]["name"] == "M"
    assert changed["tables"][0]["columns"][1]["units"][0]["name"] == "KiloM"
    assert built(editable, {"decisions": changes["decisions"]})["changed"] == ["ferries"]

    assert editable.client.get("/api/editing").json()["uploaded"] == ["ferries.csv"]
    assert built(editable, {"remove": ["ferries.csv"]})["removed"] == ["ferries"]
    assert tables(editable) == {"piers", "ports"}
    assert not (folder / "graph" / "uploads" / "ferries.csv").exists()


def test_what_cannot_be_read_is_refused_and_not_kept(editable: Running, folder: Path) -> None:
    for name, text, status in (
        ("x.exe", "MZ", 415), ("", FERRIES, 415), ("x.xlsx", "PK\x03\x04 broken", 400), ("x.csv", "", 400),
    ):  # fmt: skip
        assert upload(editable, name, text).status_code == status, name
    assert editable.client.get("/api/editing").json()["waiting"] == []
    assert list((folder / "graph" / "uploads" / ".waiting").iterdir()) == []
    for path, value, status in (
        ("/api/preview", {"upload": "none"}, 404), ("/api/preview", {"table": "none"}, 404),
        ("/api/build", {"uploads": ["none"]}, 404), ("/api/build", {"remove": ["../ports.csv"]}, 404),
        ("/api/build", {"uploads": "x"}, 400), ("/api/preview", {"file": "/etc/passwd"}, 400),
        ("/api/preview", {"table": "ports", "decisions": {"columns": [{"nothing": "x"}]}}, 400),
        ("/api/preview", {"table": "ports", "decisions": {"columns": [{"column name": 1}]}}, 400),
    ):  # fmt: skip
        assert post(editable, path, value).status_code == status, value
    assert editable.client.delete("/api/uploads/none").status_code == 404


def test_only_who_may_brings_tables(editable: Running, exploring: Running, folder: Path) -> None:
    for headers in ({"sec-fetch-site": "cross-site"}, {"origin": "https://evil.example"}):
        assert upload(editable, "a.csv", FERRIES, **headers).status_code == 403
    assert upload(exploring, "a.csv", FERRIES).status_code == 403
    assert exploring.client.get("/upload").status_code == 404
    assert exploring.client.get("/api/editing").json()["allowed"] is False
    assert "/upload" in editable.client.get("/tables/ports", headers={"accept": "text/html"}).text
    assert "/upload" not in exploring.client.get("/ontology", headers={"accept": "text/html"}).text


def test_a_writable_server_asks_for_its_token() -> None:
    settings = ServerSettings(editable=True, writable=True, token=TOKEN)
    cookie = {b"cookie": f'kgtable-token="{TOKEN}"'.encode()}
    assert may_edit(settings, {b"authorization": f"Bearer {TOKEN}".encode()})
    assert may_edit(settings, cookie)
    for headers in ({}, {b"cookie": b"kgtable-token=wrong"}, {**cookie, b"sec-fetch-site": b"cross-site"}):
        assert not may_edit(settings, headers)
        with refused("forbidden" if b"sec-fetch-site" in headers else "unauthorized"):
            require_edit(settings, headers)
    assert not may_edit(ServerSettings(writable=True, token=TOKEN), cookie)
    outside = ServerSettings(editable=True, host="0.0.0.0", token=TOKEN)
    assert not may_edit(outside, {})
    assert may_edit(outside, cookie)
    assert may_edit(ServerSettings(editable=True), {b"host": b"127.0.0.1", b"origin": b"http://127.0.0.1"})


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("Sales 2024.CSV", "Sales 2024.csv"), ("..\\..\\a:b|c.xlsx", "a b c.xlsx"), ("/etc/x\x00y\u202e.csv", "xy.csv"),
        (".hidden.csv", "hidden.csv"), ("con.csv", "_con.csv"), ("a.tsv.gz", "a.tsv.gz"),
        ("x" * 500 + ".md", "x" * 120 + ".md"),
    ],
)  # fmt: skip
def test_names_are_names_only(given: str, kept: str) -> None:
    assert safe_name(given) == kept


@pytest.mark.parametrize("name", ["", ".csv", "table", "a.py", "a.csv/", "..", "a.exe.gz"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(Problem):
        safe_name(name)


def test_decisions_are_texts_about_known_fields() -> None:
    assert check_decisions(None) == {"columns": [], "tables": []}
    for wrong in ([], {"rows": []}, {"columns": {}}, {"tables": [{"table": "a", "x": "y"}]}):
        with pytest.raises(UsageError):
            check_decisions(wrong)


def waiting(server: Running) -> dict[str, str]:
    """The ids of the files that wait, by name."""
    return {file["name"]: file["id"] for file in server.client.get("/api/editing").json()["waiting"]}


def test_what_a_killed_server_left_waits_at_the_next_start(folder: Path, tmp_path: Path) -> None:
    kgtable.build(folder / "tables", tmp_path / "graph", embedding="none").close()
    settings, source = ServerSettings(port=0, editable=True), GraphFolder(tmp_path / "graph")
    uploads = tmp_path / "graph" / "uploads"
    with running(settings, source) as server:
        built(server, {"uploads": [upload(server, "first.csv", FERRIES).json()["id"]]})
        upload(server, "kept.csv", FERRIES)
    # A build moves its uploads here before it has made tables of them; half an upload lies among those that wait.
    (uploads / "killed.csv").write_text(COSTS, encoding="utf-8")
    (uploads / ".waiting" / "upload-half").write_text("x", encoding="utf-8")
    (uploads / ".waiting" / "empty").mkdir()
    with running(settings, source) as server:
        found = waiting(server)
        assert set(found) == {"kept.csv", "killed.csv"}
        assert server.client.get("/api/editing").json()["uploaded"] == ["first.csv"]
        assert len(list((uploads / ".waiting").iterdir())) == 2
        assert built(server, {"uploads": [found["killed.csv"]]})["added"] == ["killed"]
        assert server.client.delete(f"/api/uploads/{found['kept.csv']}").status_code == 204
        assert waiting(server) == {}
        assert {"killed", "first"} <= tables(server)


@pytest.mark.parametrize("letter", ["船", "é", "a", "\U0001f6a2"])
def test_a_long_name_is_cut_to_what_a_file_system_takes(editable: Running, letter: str) -> None:
    answer = upload(editable, letter * 300 + ".csv", FERRIES)
    assert answer.status_code == 201
    assert answer.json()["name"].startswith(letter * 20)
    editable.client.delete(f"/api/uploads/{answer.json()['id']}")


def test_uploads_that_cannot_be_saved_say_so(folder: Path, tmp_path: Path) -> None:
    kgtable.build(folder / "tables" / "ports.csv", tmp_path / "graph", embedding="none").close()
    (tmp_path / "graph" / "uploads").write_text("not a folder", encoding="utf-8")
    with running(ServerSettings(port=0, editable=True), GraphFolder(tmp_path / "graph")) as server:
        answer = upload(server, "x.csv", FERRIES)
        assert "storage-failed" in answer.json()["type"]
        assert "could not be saved" in answer.json()["detail"]
        assert "Traceback" not in server.log.getvalue()


@pytest.mark.parametrize(
    "link", ["uploads", "uploads/.waiting", ".kgtable.lock", ".kgtable.writer", "ontology.tables.csv", "kgtable.json"]
)
def test_nothing_is_written_or_removed_through_a_link(folder: Path, tmp_path: Path, link: str) -> None:
    kgtable.build(folder / "tables" / "ports.csv", tmp_path / "graph", embedding="none").close()
    outside, place = tmp_path / "outside", tmp_path / "graph" / link
    is_folder = "uploads" in link
    if is_folder:
        (outside / "deep").mkdir(parents=True)
        (outside / "precious.csv").write_text(FERRIES, encoding="utf-8")
    elif place.exists():
        place.replace(outside)
    place.parent.mkdir(exist_ok=True)
    place.unlink(missing_ok=True)
    place.symlink_to(outside, target_is_directory=is_folder)

    def found() -> dict[Path, bytes]:
        return {path: path.read_bytes() if path.is_file() else b"" for path in [outside, *outside.rglob("*")]}

    before = found() if outside.exists() else None
    with pytest.raises(kgtable.errors.StorageError, match="is a link"):
        kgtable.serve(tmp_path / "graph", port=0, editable=True)
    with pytest.raises(kgtable.errors.StorageError, match="is a link"):
        kgtable.build(folder / "tables", tmp_path / "graph", embedding="none")
    assert (found() if outside.exists() else None) == before
    assert place.is_symlink()


def test_a_write_waits_for_a_build_to_end(folder: Path, tmp_path: Path) -> None:
    kgtable.build(folder / "tables" / "ports.csv", tmp_path / "graph", embedding="none").close()
    settings = ServerSettings(port=0, writable=True, token=TOKEN)
    with running(settings, GraphFolder(tmp_path / "graph")) as server, ThreadPoolExecutor(1) as thread:
        with exclusive_lock(tmp_path / "graph" / LOCK):
            answer = thread.submit(server.update, "INSERT DATA { <http://e/s> <http://e/p> 1 }")
            with pytest.raises(TimeoutError):
                answer.result(1.0)
        assert answer.result().status_code == 204


def test_slow_uploads_count_before_they_are_complete(editable: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(editing, "MOST_WAITING", 2)
    url = httpx.URL(editable.url)
    head = f"POST /api/uploads?name=x.csv HTTP/1.1\r\nHost: {url.host}:{url.port}\r\n"
    head += f"Content-Length: {len(FERRIES)}\r\n\r\n"
    with ExitStack() as held:
        slow = [held.enter_context(socket.create_connection((url.host, url.port or 80))) for _ in range(6)]
        for connection in slow:
            connection.sendall(head.encode() + FERRIES[:5].encode())
        for connection in slow:
            with suppress(OSError):
                connection.sendall(FERRIES[5:].encode())
        statuses = [connection.recv(12)[9:] for connection in slow]
    for file in editable.client.get("/api/editing").json()["waiting"]:
        editable.client.delete(f"/api/uploads/{file['id']}")
    assert sorted(statuses) == [b"201", b"201", b"503", b"503", b"503", b"503"]


def test_a_graph_knows_what_it_was_built_from(folder: Path, tmp_path: Path) -> None:
    current = GraphDirectory(folder / "graph").current()
    known = Catalogue.load(current.catalogue_path)
    assert set(source_paths(known)) == {folder / "tables" / "ports.csv", folder / "tables"}
    assert source_paths(known, [folder / "tables"]) == [folder / "tables"]
    (tmp_path / "one.csv").write_text(FERRIES, encoding="utf-8")
    kgtable.build(tmp_path / "one.csv", tmp_path / "graph", embedding="none").close()
    (tmp_path / "one.csv").unlink()
    gone = Catalogue.load(GraphDirectory(tmp_path / "graph").current().catalogue_path)
    with pytest.raises(UsageError, match="not there any more"):
        source_paths(gone)


def test_tables_are_dropped_corrected_and_asked_about(chromium: Chromium, editable: Running, tmp_path: Path) -> None:
    path = tmp_path / "costs.csv"
    path.write_text(COSTS, encoding="utf-8")
    browser = chromium.on(editable.url)
    folder = os.environ.get("KGTABLE_SCREENSHOTS")

    def shot(name: str) -> None:
        if folder:
            browser.driver.save_screenshot(str(Path(folder) / f"upload-{name}.png"))

    browser.open("/upload")
    assert any(link.text == "Upload" for link in browser.all("nav a"))
    browser.find("#kinds")
    browser.wait(lambda: "csv" in browser.find("#kinds").text)
    shot("empty")
    browser.find("#files").send_keys(str(path))
    browser.find('[data-table="costs"] table.list')
    assert "410,000 euros" in browser.find('[data-table="costs"] table.list').text
    for width, dark in ((1400, False), (1400, True), (390, False), (390, True)):
        browser.resize(width, 900, dark=dark)
        shot(f"{width}-{'dark' if dark else 'light'}")
        assert browser.script("document.documentElement.scrollWidth <= innerWidth")
        assert violations(browser) == []
    browser.resize(1280, 900)
    unit = browser.find('[aria-label="Unit of 2024"]')
    unit.send_keys("USD")
    browser.wait(lambda: "US dollars" in browser.find('[data-table="costs"] table.list').text)
    browser.find("#build").click()
    browser.wait(lambda: browser.all("#first-question"))
    shot("built")
    assert "costs" in browser.find("#built").text
    assert browser.complaints() == []
    browser.find('[aria-label="Remove costs.csv from the graph"]').click()
    browser.wait(lambda: "Removed: costs" in browser.find("#built").text)
    browser.wait(lambda: not browser.all("#uploaded li"))


def test_how_a_table_is_read_is_seen_and_changed_on_its_page(chromium: Chromium, editable: Running) -> None:
    browser = chromium.on(editable.url)
    browser.open("/tables/ports")
    browser.find("#reading summary").click()
    browser.wait(lambda: browser.all("#reading .preview"))
    browser.find('[aria-label="Header rows of ports"]').send_keys("none")
    browser.wait(lambda: not browser.all("#reading tr.header"))
    browser.find('[aria-label="Header rows of ports"]').clear()
    first = '[aria-label="Row 1 is read as"]'
    Select(browser.find(first)).select_by_value("note rows")
    fields = [browser.find(f'[aria-label="{name} of ports"]') for name in ("Header rows", "Rows of notes")]
    assert [field.get_attribute("value") for field in fields] == ["none", "1"]
    Select(browser.find(first)).select_by_index(0)
    browser.wait(lambda: browser.all("#reading tr.header"))
    browser.find('[aria-label="Title of ports"]').send_keys("Harbours")
    browser.wait(lambda: "Harbours" in browser.find("#reading h3").text)
    folder = os.environ.get("KGTABLE_SCREENSHOTS")
    if folder:
        browser.driver.save_screenshot(str(Path(folder) / "table-reading.png"))
    assert violations(browser) == []
    browser.find("#decide").click()
    browser.wait(lambda: browser.all("#mapped"))
    browser.open("/tables/ports")
    browser.wait(lambda: "Harbours" in browser.find("#heading").text)
    assert browser.complaints() == []


def test_a_newcomer_uploads_asks_looks_and_corrects(chromium: Chromium, editable: Running, tmp_path: Path) -> None:
    path = tmp_path / "budget.csv"
    lines = [f"{club},{spent},{spent + 7}" for club, spent in (("Rowing", 410), ("Chess", 52), ("Judo", 133))]
    path.write_text("\n".join(["Spending of the clubs,,", "Club,2023,2024", *lines]), encoding="utf-8")
    browser = chromium.on(editable.url)

    def asked(question: str, answer: str) -> None:
        field = browser.find("#question")
        field.clear()
        field.send_keys(question, Keys.ENTER)
        browser.wait(lambda: answer in browser.find("#answer-text").text)

    browser.open("/")
    next(link for link in browser.all("nav a") if link.text == "Upload").click()
    browser.find("#files").send_keys(str(path))
    browser.find('[data-table="budget"] table.list')
    browser.find("#build").click()
    browser.find("#first-question").click()
    browser.wait(lambda: browser.all("#answer-text"))
    asked("What did Chess spend in 2024?", "59")
    browser.find('.lit[data-cite="1"]').click()
    assert "C4" in browser.find("#cell h2").text
    browser.driver.back()
    asked("Which club spent the most in 2023?", "Rowing")
    browser.find(".chart img")
    assert violations(browser) == []
    assert browser.find(".chart a").get_attribute("download") == "chart.svg"
    for summary in browser.all("#way summary"):
        summary.click()
    assert "SELECT" in browser.find("#way pre.code").text

    browser.open("/tables/budget")
    browser.find("#reading summary").click()
    for year in ("2023", "2024"):
        browser.find(f'#reading [aria-label="Unit of {year}"]').send_keys("USD")
    browser.wait(lambda: "US dollars" in browser.find("#reading table.list").text)
    browser.find("#decide").click()
    browser.wait(lambda: browser.all("#mapped"))
    browser.open("/")
    asked("What did Chess spend in 2024?", "$59")
    assert browser.complaints() == []
