"""Okapi BM25 over tables, each term's weight worked out when the index is built."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from kgtable.index.corpus import NONE, Places
from kgtable.index.postings import Flags, Floats, Integers, Postings, ranges

K1, B = 1.2, 0.75
"""The usual saturation of repeated terms, and how much longer tables are discounted."""

Lists: TypeAlias = tuple[Integers, Integers]
"""Terms by table: where each table's terms start, and the terms."""


def okapi(
    places: Places, text_terms: Postings, *, named: Lists, around: Lists, terms: int
) -> tuple[Floats, Postings, Flags, Floats]:
    """The weight of each term in each table that has it.

    A table's document is its title and headings (`named`), the texts around it, its header, and
    "column name: value" for each body cell, as tables are best written for BM25 (thesis, section 5.1).
    Gives the weights beside the postings from terms to tables, which of them stand in more than the
    surrounding texts, and each term's inverse document frequency.
    """
    keys: list[Integers] = []
    counts: list[Integers] = []

    def count(table: Integers, term: Integers, times: Integers) -> None:
        found, inverse = np.unique(term * places.tables + table, return_inverse=True)
        keys.append(found)
        counts.append(np.bincount(inverse, weights=times, minlength=len(found)))

    def count_texts(table: Integers, text: Integers, times: Integers) -> None:
        starts, ends = text_terms.starts[text], text_terms.starts[text + 1]
        lengths = ends - starts
        count(np.repeat(table, lengths), text_terms.items[ranges(starts, ends)], np.repeat(times, lengths))

    cell_table = places.row_table[places.cell_row]
    body = ~places.row_is_header[places.cell_row]
    count_texts(cell_table, places.cell_text, np.ones(len(cell_table), dtype=np.int64))
    known = np.flatnonzero(places.column_name != NONE)
    filled = np.bincount(places.cell_column[body], minlength=len(places.column_name))
    count_texts(places.column_table[known], places.column_name[known], filled[known])
    for starts, items in (named, around):
        table = np.repeat(np.arange(places.tables), np.diff(starts))
        count(table, items, np.ones(len(items), dtype=np.int64))

    inside = np.unique(np.concatenate(keys[:-1]))
    found, inverse = np.unique(np.concatenate(keys), return_inverse=True)
    frequency = np.bincount(inverse, weights=np.concatenate(counts), minlength=len(found))
    term, table = found // max(places.tables, 1), found % max(places.tables, 1)
    postings = Postings.build(term, table, terms)
    lengths = np.bincount(table, weights=frequency, minlength=places.tables)
    average = float(lengths.mean()) if len(lengths) else 1.0
    containing = np.diff(postings.starts)
    weight = np.log(1 + (places.tables - containing + 0.5) / (containing + 0.5))
    saturated = frequency * (K1 + 1) / (frequency + K1 * (1 - B + B * lengths[table] / max(average, 1.0)))
    return (
        (saturated * weight[term]).astype(np.float32),
        postings,
        np.isin(found, inside),
        weight.astype(np.float32),
    )
