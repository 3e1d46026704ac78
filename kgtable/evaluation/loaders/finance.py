"""TAT-QA and FinQA: questions about one table of an annual report and the text around it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kgtable.evaluation.loaders.folder import BenchmarkFolder, file_name, inner, read_json, reading


def load_tatqa(source: Path, out: Path) -> int:
    """TAT-QA: ``dataset_raw/tatqa_dataset_<split>.json``. Gold cells from ``mapping`` where it is given.

    The test split is read with its answers (``…_test_gold.json``) where they are there.
    """
    folder, count = BenchmarkFolder(out), 0
    for path in sorted(inner(source, "dataset_raw").glob("tatqa_dataset_*.json")):
        if path.with_name(f"{path.stem}_gold.json").exists():
            continue
        with reading(path):
            pages = read_json(path)
            for page in pages:
                texts = [p["text"] for p in sorted(page["paragraphs"], key=lambda p: p["order"])]
                folder.add_table(page["table"]["uid"], page["table"]["table"], paragraphs=texts)
            split = path.stem.removeprefix("tatqa_dataset_").removesuffix("_gold")
            count += folder.write_questions(split, (q for page in pages for q in _tatqa(page)))
    return count


def _tatqa(page: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    table = page["table"]["uid"]
    for question in page["questions"]:
        answer = question.get("answer", [])
        places = (question.get("mapping") or {}).get("table", [])
        yield {
            "id": question["uid"],
            "question": question["question"],
            "answers": [str(value) for value in (answer if isinstance(answer, list) else [answer])],
            "tables": [table],
            "cells": [[table, row - 1, column] for row, column in places],
            "cells_from": "mappings" if places else None,
            "scale": question.get("scale", ""),
            "derivation": question.get("derivation", ""),
            "answer_type": question.get("answer_type"),
            "answer_from": question.get("answer_from"),
        }


def load_finqa(source: Path, out: Path) -> int:
    """FinQA: ``dataset/<split>.json``. Gold cells are those of the rows named in ``gold_inds``."""
    folder, count = BenchmarkFolder(out), 0
    for split in ("train", "dev", "test"):
        path = inner(source, "dataset") / f"{split}.json"
        if path.exists():
            with reading(path):
                pages = read_json(path)
                for page in pages:
                    folder.add_table(
                        file_name(page["id"]),
                        page["table"],
                        pre_text=page["pre_text"],
                        post_text=page["post_text"],
                    )
                count += folder.write_questions(split, map(_finqa, pages))
    return count


def _finqa(page: Mapping[str, Any]) -> dict[str, Any]:
    gold = page["qa"]
    rows = sorted(int(key.split("_")[1]) for key in gold.get("gold_inds", {}) if key.startswith("table_"))
    answer = gold.get("exe_ans", gold.get("answer"))
    table = file_name(page["id"])
    return {
        "id": page["id"],
        "question": gold["question"],
        "answers": [str(answer)],
        "tables": [table],
        "cells": [[table, row - 1, c] for row in rows for c in range(1, len(page["table"][row]))],
        "cells_from": "gold_inds" if rows else None,
        "derivation": gold.get("program", ""),
    }
