"""Logs with a label for every sentence: both forms are read alike, and what is asked is what was labelled."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from logs import Log, holds, introduced, read_logs, shown_for, windows_of

FEES = "Fees 2025. The annual fee is 40 euros. Students pay nothing until they are 26."
HOURS = "The branch in Ghent is open from 9 to 5. It is closed on Sundays."
SPAN = "The annual fee is 40 euros."
PIECES: list[list[Any]] = [
    ["", "Here is what it costs:", "lead_in", None, None, None],
    ["\n\n- ", "40 euros a year.", "claim", "supported", 2, SPAN],
    ["\n- ", "**Students** pay half.", "claim", "contradicted", 2, "Students pay nothing"],
    ["\n\n", "Ask your branch for more.", "pointer", None, None, None],
]
SET: dict[str, Any] = {
    "set": "ab-001",
    "language": "en",
    "passages": [HOURS, FEES, "Nothing of use."],
    "logs": [
        {
            "id": "a",
            "question": "what does it cost",
            "use": [3, 2],
            "answer": PIECES,
            "reference": "40 euros",
            "similarity": 0.8,
            "parts": [["the cost", True]],
        }
    ],
    "twins": [
        {
            "of": "a",
            "piece": 1,
            "text": "40 euros a month.",
            "label": "contradicted",
            "passage": 2,
            "span": SPAN,
            "similarity": 0.2,
        }
    ],
}


def read(tmp_path: Path) -> list[Log]:
    (tmp_path / "ab.jsonl.gz").write_bytes(gzip.compress(json.dumps(SET).encode()))
    return read_logs(tmp_path / "ab.jsonl.gz")


def test_a_set_gives_its_logs_and_twins_with_passages_as_they_were_used(tmp_path: Path) -> None:
    log, twin = read(tmp_path)
    assert log.passages == ("Nothing of use.", FEES)
    assert (log.author, log.useful, log.rewritten) == ("ab", frozenset({1}), None)
    assert (twin.rewritten, twin.similarity, twin.pieces[1].label) == (1, 0.2, "contradicted")
    assert twin.pieces[2] == log.pieces[2]


def test_a_log_alone_is_read_as_the_same_log_in_a_set(tmp_path: Path) -> None:
    in_set = read(tmp_path)[0]
    row = {
        "id": in_set.name,
        "language": "en",
        "question": in_set.question,
        "context": list(in_set.passages),
        "answer": "".join(before + text for before, text, *_ in PIECES),
        "reference": "40 euros",
        "similarity": 0.8,
        "sentences": [
            {"text": text, "role": role, "label": label, "passage": None if place is None else 2, "span": span}
            for _, text, role, label, place, span in PIECES
        ],
        "parts": [{"part": "the cost", "answered": True}],
    }
    (tmp_path / "ab.jsonl").write_text(json.dumps(row) + "\n")
    assert read_logs(tmp_path / "ab.jsonl") == [in_set]


def test_an_item_is_asked_about_behind_its_lead_in_and_other_pieces_as_they_stand(tmp_path: Path) -> None:
    log = read(tmp_path)[0]
    assert introduced(log, 1) == "Here is what it costs: 40 euros a year."
    assert introduced(log, 2) == "Here is what it costs: **Students** pay half."
    assert introduced(log, 3) == "Ask your branch for more."


def test_the_evidence_shown_is_what_shares_words_with_the_claim() -> None:
    shown = shown_for("Students have to pay an annual fee", [HOURS, FEES])
    assert shown == "The annual fee is 40 euros. Students pay nothing until they are 26."
    assert holds(shown, SPAN)
    assert not holds(shown, "closed on Sundays")


def test_a_long_passage_has_windows_that_overlap_and_cover_it() -> None:
    sentences = [f"Sentence {number} says that rule {number} holds for all ten of them." for number in range(40)]
    windows = windows_of(" ".join(sentences))
    assert windows_of(FEES) == [FEES]
    assert all(len(window.split()) <= 170 for window in windows)
    assert all(any(sentence in window for window in windows) for sentence in sentences)
