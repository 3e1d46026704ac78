from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kgtable.text.passages import DocumentText, Paragraph, TextPlace, count_tokens, sentence_spans, split_passages
from kgtable.text.text_quantities import find_quantities

SENTENCES = st.lists(
    st.sampled_from(["Revenue grew by 4.2 % to $5.", "Costs fell.", "See Table 2!", "x" * 40]), max_size=30
)


@given(st.lists(SENTENCES.map(" ".join).filter(bool), max_size=8))
def test_passages_hold_every_sentence_and_stay_short(texts: list[str]) -> None:
    document = DocumentText(tuple(Paragraph(text) for text in texts))
    passages = split_passages(document, size=30, overlap=8)
    for passage in passages:
        assert count_tokens(passage.text) <= 30
    for number, text in enumerate(texts):
        for start, end in sentence_spans(text):
            holding = [p for p in passages if p.first <= number <= p.last and text[start:end] in p.text]
            assert holding or count_tokens(text[start:end]) > 30


def test_a_passage_repeats_the_last_sentences_of_the_one_before() -> None:
    text = " ".join(f"This is sentence number {n} of the text." for n in range(40))
    first, second, *_ = split_passages(DocumentText((Paragraph(text),)), size=100, overlap=25)
    assert second.text.split(". ")[0] in first.text
    assert first.text.endswith(".")


def test_tables_beside_a_passage_or_named_by_it_are_described() -> None:
    paragraphs = tuple(Paragraph(f"Paragraph {n} says something of no weight. " * 8) for n in range(12))
    named = Paragraph("As Table 7 shows, sales fell.")
    places = (TextPlace(1), TextPlace(6, caption="Table 7: Sales"))
    document = DocumentText((*paragraphs, named), places)
    passages = split_passages(document, size=70, overlap=0)
    assert passages[0].tables == (0,)
    assert passages[-1].tables == (1,)
    assert {p.tables for p in passages if p.first >= 8 and p.last <= 11} == {()}


def test_quantities_have_unit_scale_and_period_and_their_words() -> None:
    text = "Sales were $5.1 million and $4.2 million in 2019 and 2018, respectively, up 12% (see Note 9)."
    found = find_quantities(text)
    assert [(q.text, f"{q.value:f}", q.unit, q.scale, q.period) for q in found] == [
        ("$5.1 million", "5100000", "CCY_USD", "M", "2019"),
        ("$4.2 million", "4200000", "CCY_USD", "M", "2018"),
        ("12%", "12", "PERCENT", None, "2018"),
    ]
    assert all(text[q.start : q.end] == q.text for q in found)


@given(st.text(max_size=300))
def test_any_text_is_read_without_an_error(text: str) -> None:
    for quantity in find_quantities(text):
        assert text[quantity.start : quantity.end] == quantity.text
