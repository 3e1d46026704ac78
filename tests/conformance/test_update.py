"""W3C's SPARQL 1.1 update tests through the endpoint, beside the engine itself."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pyoxigraph as ox
import pytest

from tests.conformance.comparison import canonical
from tests.conformance.endpoint import load, writable_endpoint
from tests.conformance.evaluation import UPDATE_FOLDERS, EvaluationTest, evaluated_in, names
from tests.conformance.record import Record
from tests.server.serving import Running

SUITE = "SPARQL 1.1 Update"


@pytest.fixture(scope="module")
def tests() -> Iterator[dict[tuple[str, str], EvaluationTest]]:
    with evaluated_in(UPDATE_FOLDERS) as found:
        yield found


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with writable_endpoint(tmp_path_factory.mktemp("update")) as running:
        yield running


def held(server: Running) -> list[str]:
    """Everything in the server's store."""
    answer: httpx.Response = server.client.get("/store", headers={"accept": "application/n-quads"})
    assert answer.status_code == 200, answer.text
    return canonical(ox.Dataset(ox.parse(answer.content, ox.RdfFormat.N_QUADS)))


def updated(test: EvaluationTest, update: str) -> list[str]:
    """What the engine makes of it by itself."""
    store = ox.Store()
    store.extend(test.before.dataset())
    store.update(update)
    return canonical(ox.Dataset(store))


def refusal(update: str) -> str:
    """Why the engine does not take an update, empty if it does."""
    try:
        ox.Store().update(update, base_iri="http://example.org/")
    except SyntaxError as error:
        return " ".join(str(error).split())
    except (OSError, RuntimeError):
        return ""  # Sound, but what it names is not there.
    return ""


@pytest.mark.parametrize(("folder", "name"), [(folder, name) for folder in UPDATE_FOLDERS for name in names(folder)])
def test_update(
    server: Running, tests: dict[tuple[str, str], EvaluationTest], folder: str, name: str, conformance: Record
) -> None:
    test = tests[folder, name]
    with conformance.result(SUITE, f"{folder}/{name}", test.title) as note:
        text = test.text.read_text(encoding="utf-8")
        if "Syntax" in test.kind:
            refused = refusal(text)
            answer = server.update(text)
            status = answer.status_code
            # What is sound may still be forbidden, such as a LOAD, or name a graph that is not there.
            allowed = {400} if refused else {204, 404}
            assert status in allowed | ({403} if "load" in text.lower() else set()), answer.text
            if bool(refused) == test.kind.startswith("Positive"):
                note(f"the engine says otherwise: {refused}" if refused else "the engine takes it")
            return
        load(server, test.before.dataset())
        assert server.update(text).status_code == 204
        found = held(server)
        assert found == updated(test, text)
        if found != canonical(test.after.dataset()):
            note("the engine answers otherwise")
