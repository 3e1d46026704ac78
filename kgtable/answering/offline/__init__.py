"""Answers without a language model: the question's form is recognised and computed over the cells."""

from __future__ import annotations

from kgtable.answering.offline.answerer import RULES, answer_by_rules

__all__ = ["RULES", "answer_by_rules"]
