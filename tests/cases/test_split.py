"""Texts that are several: split where the user says, lists where the judge wants them, told where nobody said so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from krino.cases import CaseItem, parse_splits, read_cases
from krino.cases.field_notes import note_separators
from krino.errors import UsageProblem
from krino.judges.registry import load_judge
from toy_judge import ToyJudge

HEAD = "id,question,context,answer\n"


def read(tmp_path: Path, text: str, **settings: Any) -> list[CaseItem]:
    path = tmp_path / "cases.csv"
    path.write_text(text, "utf-8")
    return list(read_cases([path], judge=load_judge("rag"), **settings))


def test_a_field_is_split_at_its_separator_and_blanks_are_left_out(tmp_path: Path) -> None:
    (item,) = read(tmp_path, f"{HEAD}a,q,One. ||| Two. |||  ,x\n", split={"context": "|||"})
    assert item.record is not None and item.record["context"] == ["One.", "Two."]


def test_a_field_is_split_by_its_mapped_name(tmp_path: Path) -> None:
    settings = {"mapping": {"context": "docs"}, "split": {"context": "|||"}}
    (item,) = read(tmp_path, "question,docs,answer\nq,One.|||Two.,x\n", **settings)
    assert item.record == {"question": "q", "context": ["One.", "Two."], "answer": "x"}


def test_what_is_no_text_is_left_as_it_is(tmp_path: Path) -> None:
    first, second = read(
        tmp_path, f'{HEAD}a,q,"[""One ||| and a half."", ""Two.""]",x\nb,q,,x\n', split={"context": "|||"}
    )
    assert first.record is not None and first.record["context"] == ["One ||| and a half.", "Two."]
    assert second.record is not None and second.record["context"] is None


def test_a_field_that_is_not_there_is_a_problem_of_the_record_that_says_so(tmp_path: Path) -> None:
    (item,) = read(tmp_path, f"{HEAD}a,q,One.|||Two.,x\n", split={"contxt": "|||"})
    assert item.record is None
    assert "field `contxt` (to split) is not there: the fields there are: id, question, context, answer" in str(
        item.problem
    )


@pytest.mark.parametrize("pair", ["context", "=|||", "context=", "  =x"])
def test_a_split_that_says_too_little_is_refused(pair: str) -> None:
    with pytest.raises(UsageProblem, match=r"write it as field=separator, for example 'context=\|\|\|'"):
        parse_splits([pair])


def test_a_separator_may_hold_an_equals_sign_blanks_and_line_breaks() -> None:
    assert parse_splits([r"context=\n---\n", "notes= == "]) == {"context": "\n---\n", "notes": " == "}
    with pytest.raises(UsageProblem, match="split twice"):
        parse_splits(["context=|", "context=;"])


# --- JSON in cells ---------------------------------------------------------------------------------


def test_json_in_a_cell_is_a_list_only_where_the_judge_wants_no_text(tmp_path: Path) -> None:
    text = f'{HEAD}a,"[""q""]","[""One."", ""Two.""]","{{""a"": 1}}"\n'
    (item,) = read(tmp_path, text)
    assert item.record is not None
    assert item.record["context"] == ["One.", "Two."]
    assert (item.record["question"], item.record["answer"]) == ('["q"]', '{"a": 1}')


def test_what_is_mapped_to_a_text_is_text_unless_a_path_leads_into_it(tmp_path: Path) -> None:
    text = 'q,reply,context\nq,"[""x""]",c\n'
    (plain,) = read(tmp_path, text, mapping={"question": "q", "answer": "reply"})
    (inside,) = read(tmp_path, text, mapping={"question": "q", "answer": "reply.0"})
    assert plain.record is not None and plain.record["answer"] == '["x"]'
    assert inside.record is not None and inside.record["answer"] == "x"


def test_without_a_judge_every_cell_of_json_is_parsed(tmp_path: Path) -> None:
    path = tmp_path / "cases.csv"
    path.write_text('answer\n"[1, 2]"\n')
    (item,) = read_cases([path])
    assert item.record == {"answer": [1, 2]}


# --- told ------------------------------------------------------------------------------------------


def told(*contexts: Any, judge: Any = None, field: str = "context") -> list[str]:
    said: list[str] = []
    items = [CaseItem(n, str(n), {"question": "a ||| b", field: value}) for n, value in enumerate(contexts)]
    assert list(note_separators(iter(items), judge or load_judge("rag"), said.append)) == items
    return said


@pytest.mark.parametrize(
    ("text", "separator"),
    [
        ("One. ||| Two.", "|||"),
        ("One.||Two.", "||"),
        ("One. [SEP] Two.", "[SEP]"),
        ("One. <sep> Two.", "<sep>"),
        ("One.\n---\nTwo.", "---"),
        ("One. ### Two.", "###"),
        ("One.<br><br>Two.", "<br><br>"),
    ],
)
def test_a_text_that_looks_like_several_is_told_with_the_flag_that_takes_it_apart(text: str, separator: str) -> None:
    (said,) = told(text, "One text.")
    assert f"`context` of 1 of the first 2 cases is one text that holds `{separator}`" in said
    assert said.endswith(f"--split 'context={separator}'")


@pytest.mark.parametrize("value", ["One. Two.", "a | b", "C# and F#", "- one\n- two", ["One. ||| Two."], None, 7])
def test_other_texts_and_lists_are_not_talked_about(value: Any) -> None:
    assert told(value) == []


def test_only_fields_that_are_lists_to_the_judge_are_looked_at() -> None:
    assert told("a ||| b", judge=ToyJudge(), field="text") == []
    assert len(told("a ||| b", field="retrieved_contexts")) == 1


def test_it_is_told_once_and_before_the_end_of_a_long_stream() -> None:
    said: list[str] = []
    stream = (CaseItem(n, str(n), {"context": "a ||| b"}) for n in range(1_000))
    watched = note_separators(stream, load_judge("rag"), said.append)
    for _ in range(101):
        next(watched)
    assert len(said) == 1 and "100 of the first 100 cases" in said[0]
    assert len(list(watched)) == 899 and len(said) == 1
