"""Places of documents: tables ranked together with the passages beside them."""

from __future__ import annotations

import pytest

import kgtable
from kgtable.systems.documents.passage_retrieval import DocumentRetriever, merge
from kgtable.systems.documents.place_ranking import FEATURES

TABLE = "\n| Item | 2019 | 2018 |\n|---|---|---|\n| {} | 12 | 11 |\n| Total | 24 | 22 |\n"


@pytest.fixture(scope="module")
def retriever(tmp_path_factory: pytest.TempPathFactory) -> DocumentRetriever:
    folder = tmp_path_factory.mktemp("places")
    (folder / "in").mkdir()
    ports = "# Ports\n\nTolls of the harbour of Bergen are set by the county.\n"
    (folder / "in" / "ports.md").write_text(ports + TABLE.format("Berths"), encoding="utf-8")
    roads = "# Roads\n\nTolls of the bridge at Molde are set by the state.\n"
    (folder / "in" / "roads.md").write_text(roads + TABLE.format("Lanes closed"), encoding="utf-8")
    (folder / "in" / "note.md").write_text("# Note\n\nFerries to Bodo sail at noon.\n", encoding="utf-8")
    graph = kgtable.build(folder / "in", folder / "kg", embedding="none")
    found = graph.retrievers.get("documents")
    assert isinstance(found, DocumentRetriever)
    return found


def features(retriever: DocumentRetriever, question: str) -> dict[object, dict[str, float]]:
    places, rows = retriever.place_features(question, 20)
    return {
        place: dict(zip(FEATURES, row, strict=True)) for place, row in zip(places, rows.tolist(), strict=True)
    }


def test_words_of_table_and_text_count_together(retriever: DocumentRetriever) -> None:
    found = features(retriever, "How many lanes closed had Molde in 2019?")
    assert found["roads"]["words"] > found["ports"]["words"]
    assert found["roads"]["label"] > 0 == found["ports"]["label"]
    assert found["roads"]["header-years"] == found["roads"]["years"] == 1
    best = retriever.retrieve("How many lanes closed had Molde in 2019?", 20)
    assert best.tables[0].table == "roads"


def test_a_passage_lifts_the_table_beside_it(retriever: DocumentRetriever) -> None:
    """No word of the question stands in either table."""
    assert retriever.retrieve("What had the harbour of Bergen?", 20).tables[0].table == "ports"
    assert retriever.retrieve("What had the bridge at Molde?", 20).tables[0].table == "roads"


def test_words_side_by_side_count_more_than_apart(retriever: DocumentRetriever) -> None:
    pairs = {place: row["pairs"] for place, row in features(retriever, "closed lanes").items()}
    assert pairs["roads"] == 0
    assert features(retriever, "lanes closed")["roads"]["pairs"] > 0


def test_a_label_that_the_question_has_word_for_word_is_told_by_its_length(
    retriever: DocumentRetriever,
) -> None:
    found = features(retriever, "What were the lanes closed in 2018?")
    assert (found["roads"]["phrase-length"], found["ports"]["phrase-length"]) == (2, 0)
    apart = features(retriever, "Which lanes were closed in 2018?")
    assert apart["roads"]["phrase-length"] == 0 < apart["roads"]["label"]
    totals = features(retriever, "What was the total in 2018?")
    assert totals["roads"]["phrase-length"] == totals["ports"]["phrase-length"] == 1


def test_words_that_say_what_to_compute_do_not_count(retriever: DocumentRetriever) -> None:
    """No table or text has "increase", "percentage" or "million"."""
    found = features(retriever, "What is the percentage increase of berths above $5 million?")
    assert found["ports"]["words"] == found["ports"]["table-words"] == 1
    assert found["ports"]["text-words"] == 0


def test_words_in_one_sentence_count_more_than_in_several(retriever: DocumentRetriever) -> None:
    found = features(retriever, "tolls of the harbour")
    assert found["ports"]["sentence"] == 1 > found["roads"]["sentence"] > 0


def test_a_place_has_the_mean_of_what_it_cannot_have(retriever: DocumentRetriever) -> None:
    places, rows = retriever.place_features("How many lanes closed had Molde in 2019?", 20)
    of_tables = [row for place, row in zip(places, rows.tolist(), strict=True) if isinstance(place, str)]
    alone = [row for place, row in zip(places, rows.tolist(), strict=True) if isinstance(place, int)]
    label = FEATURES.index("label")
    assert alone
    assert alone[0][label] == pytest.approx(sum(row[label] for row in of_tables) / len(of_tables))


def test_a_passage_without_a_table_is_a_place_of_its_own(retriever: DocumentRetriever) -> None:
    found = retriever.retrieve("When do ferries to Bodo sail?", 20)
    kind, iri, _ = found.trace["evidence"][0]
    assert kind == "passage"
    assert iri == found.passages[0].passage
    assert found.passages[0].tables == ()


def test_the_second_of_two_linked_items_counts_alone() -> None:
    ranked = merge({"a": 0.4, "b": 0.35, "c": 0.01}, {0: 0.1}, {0: ["b"]})
    assert [key for key, _ in ranked] == ["b", "a", 0, "c"]
    assert dict(ranked)[0] == pytest.approx(0.06)
