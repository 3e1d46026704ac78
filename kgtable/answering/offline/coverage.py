"""Which words of a question the cells of a finding leave unexplained."""

from __future__ import annotations

from kgtable.answering.offline import english
from kgtable.answering.offline.finding import Finding
from kgtable.answering.offline.question import Question
from kgtable.answering.offline.view import TableView
from kgtable.answering.offline.words import stems


def unexplained(question: Question, view: TableView, finding: Finding) -> tuple[str, ...]:
    """The words of the question that stand in none of the finding's rows, headers or titles, sorted."""
    known = set(stems(" ".join(english.words("form"))))
    for row, column in finding.cells:
        known |= view.row_words(row) if row in view.rows else frozenset()
        known |= view.headers[column]
    context = view.table.context
    for text in (context.title, context.caption, *context.heading):
        known.update(stems(text))
    return tuple(sorted(question.content - known))
