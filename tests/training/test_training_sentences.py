"""The texts that the sentence model is distilled on: nothing it is measured on, no text twice, glosses taken apart."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import prepare_sentences
from prepare_sentences import distinct, glosses, key, measured, pieces

SETS: dict[str, list[dict[str, object]]] = {
    "stsb/data": [
        {"split": "test", "s1": "A heron stands in the reeds.", "s2": "A bird is near water."},
        {"split": "train", "s1": "A tram waits.", "s2": "A tram stands still."},
    ],
    "evouna/sample_600q": [{"question": "who built the pier", "answer": None, "reference": "Ada Lund/A. Lund"}],
    "sas_answer_similarity/data": [{"answer1": "nine boats", "answer2": "9 boats"}],
    "clapnq_dev/data": [{"question": "when does it open", "context": "It opens at six. On Sundays it is closed."}],
}


def written(folder: Path) -> Path:
    for name, rows in SETS.items():
        path = folder / "rag" / f"{name}.jsonl.gz"
        path.parent.mkdir(parents=True)
        path.write_bytes(gzip.compress("\n".join(json.dumps(row) for row in rows).encode()))
    return folder


def test_what_the_model_is_measured_on_is_left_out_whatever_its_case_and_signs(tmp_path: Path) -> None:
    barred = measured(written(tmp_path))
    found = ["a heron stands in the reeds", "who built the pier?!", "A. Lund", "it opens at six!", "A tram waits."]
    assert distinct(iter(found), barred) == ["A tram waits."]


def test_no_text_is_taken_twice() -> None:
    found = ["the gate is shut", "the gate is shut!", "the gate is open"]
    assert distinct(iter(found), set()) == ["the gate is shut", "the gate is open"]


def test_a_text_gives_its_sentences_and_then_the_names_and_figures_in_it() -> None:
    assert pieces("The mayor of Varde met Ada Lund in 1904. They spoke of 12 boats.") == [
        "The mayor of Varde met Ada Lund in 1904.",
        "They spoke of 12 boats.",
        "The",
        "Varde",
        "Ada Lund",
        "1904.",
        "They",
        "12 boats",
    ]


def test_wordnet_gives_words_glosses_and_examples_but_not_its_licence(tmp_path: Path) -> None:
    for part in ("verb", "adj", "adv"):
        (tmp_path / f"data.{part}").write_text("", "utf-8")
    lines = ["  1 This software | is free", '00003553 03 n 02 sea_gull 0 gull(p) 0 000 | a bird; "the gull cried"  ']
    (tmp_path / "data.noun").write_text("\n".join(lines), "utf-8")
    assert list(glosses(tmp_path)) == ["sea gull", "gull", "a bird", "the gull cried"]


def test_texts_differ_only_where_their_letters_or_digits_do() -> None:
    assert key("It's 6 o'clock!") == key("it s 6 O clock") != key("It's 7 o'clock!")


def test_tokens_come_without_marks_and_no_longer_than_the_batches_allow() -> None:
    assert len(prepare_sentences.encode("boat")) == 1
    assert len(prepare_sentences.encode("boat " * 500)) == prepare_sentences.MOST_TOKENS - 2
