"""A judge's file is read whole, and every mistake in it is reported with line and column."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

import pytest

from krino.judges.file.problems import FileProblem
from krino.judges.file.reading import LONGEST_FILE, read_file, read_text

SIX_LINES = """---
labels: {polite: 1, rude: 0}
rules: {EMPTY: {fact: is_blank(text), set: {label: rude}, message: An empty letter is rude.}}
---
Is the letter polite?
{text}
"""


def problems(text: str) -> list[str]:
    with pytest.raises(FileProblem) as found:
        read_text(text, "mine", "mine.md")
    return str(found.value).splitlines()


def test_the_smallest_useful_file_has_six_lines() -> None:
    assert len(SIX_LINES.splitlines()) == 6
    made = read_text(SIX_LINES, "polite", "polite.md")
    assert [(item.name, item.kind, item.required) for item in made.inputs] == [("text", "text", True)]
    assert [(choice.value, choice.score) for choice in made.labels[0].choices] == [("polite", 1.0), ("rude", 0.0)]
    assert [output.name for output in made.outputs] == ["label", "score", "reason"]
    assert made.name == "polite"
    assert made.summary == "Is the letter polite?"


@pytest.mark.parametrize("written", ["{{ question }}", "{{question}}", "{question}", "${question}", "${QUESTION}"])
def test_placeholders_are_written_in_three_ways(written: str) -> None:
    made = read_text(f"---\nlabels: [a, b]\n---\nJudge {written}.\n", "x", "x.md")
    assert [item.name for item in made.inputs] == ["question"]
    assert made.prompt == "Judge `question`."


def test_braces_of_json_and_escaped_ones_stay_as_they_are() -> None:
    text = '---\nlabels: [a, b]\n---\nJudge {text}. Like {"a": {"b": 1}} or {a b} or \\{name} or \\{{ name }}.\n'
    made = read_text(text, "x", "x.md")
    assert made.prompt == 'Judge `text`. Like {"a": {"b": 1}} or {a b} or {name} or {{ name }}.'


def test_labels_of_every_kind() -> None:
    text = """---
inputs: {answer: text, policies: list, note: optional text}
labels:
  tone: {polite: 1, rude: {score: 0, about: insults}}
  clear: {range: [1, 5], about: 5 is clear.}
  share: {range: [0, 1.0], nullable: true, about: x}
  kept:
    each: policies
    values: {kept: 1, broken: 0, absent: {about: not touched, quote: false}}
    quote_from: answer
    about: Is the policy kept?
  remark: text
---
{answer} {policies} {note}
"""
    made = read_text(text, "x", "x.md")
    tone, clear, share, kept, remark = made.labels
    assert tone.choices[1].about == "insults"
    assert (clear.low, clear.high, clear.is_whole) == (1, 5, True)
    assert share.is_nullable
    assert not share.is_whole
    assert (kept.each, kept.quote_from, kept.choices[2].needs_quote) == ("policies", ("answer",), False)
    assert remark.kind == "text"
    assert [output.name for output in made.outputs] == ["tone", "clear", "share", "kept", "remark", "score"]
    assert made.warnings == ()


def test_yes_and_no_are_words() -> None:
    made = read_text("---\nlabels: {yes: 1, no: 0}\n---\n{text}?\n", "x", "x.md")
    assert [choice.value for choice in made.labels[0].choices] == ["yes", "no"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("hello", "mine.md:1:1: the first line must be `---`"),
        ("---\nlabels: [a, b]\n", "mine.md:3:1: the front matter has no end"),
        ("---\nlabels: {a: 1, b: 0\n---\n{t}", "mine.md:2:20: this is no YAML"),
        ("---\nlabels: [a, b\n---\n{t}", "mine.md:2:14: this is no YAML: expected ',' or ']', but got the end of"),
        ("---\nlabels: &x [a, b]\ninputs: *x\n---\n{t}", "anchors and aliases are not read here"),
        ("---\nlabels: !!python/object/apply:os.system [ls]\n---\n{t}", "mine.md"),
        ("---\nlabls: [a, b]\n---\n{t}", "mine.md:2:1: the front matter has no `labls` (did you mean labels?)"),
        ("---\nlabels: [a, b]\nlabels: [c, d]\n---\n{t}", "mine.md:3:1: `labels` is given twice"),
        ("---\nlabels: [a]\n---\n{t}", "needs at least two values"),
        ("---\nlabels: {a: 1e999, b: 0}\n---\n{t}", "mine.md:2:13: the number 1e999 is too large"),
        ('---\nlabels: {"\\uD800": 1, b: 0}\n---\n{t}', "mine.md:2:10: half a character"),
        ("---\nlabels: [a, A ]\n---\n{t}", "the same but for capitals"),
        ("---\nlabels: good\n---\n{t}", "mine.md:2:9: `labels` must say which values there are"),
        ("---\nlabels: {t: [a, b]}\n---\n{t}", "mine.md:2:10: `t` is an input and a label"),
        ("---\nlabels: {quote: [a, b], x: [a, b]}\n---\n{t}", "no label can be called `quote`"),
        ("---\nlabels: {x: {range: [5, 1]}}\n---\n{t}", "mine.md:2:21: `range` goes from 5 to 1"),
        ("---\nlabels: {x: {range: [1, 5], each: t}}\n---\n{t}", "`each` must name an input that is a list"),
        ("---\nlabels: {x: {values: [a, b], quote_from: texts}}\n---\n{text}", "(did you mean text?)"),
        (
            "---\nlabels: [a, b]\ninputs: {t: txt}\n---\n{t}",
            "mine.md:3:13: there is no type `txt` (did you mean text?)",
        ),
        (
            "---\nlabels: [a, b]\ninputs: {t: What the customer wrote}\n---\n{t}",
            "mine.md:3:13: this is no type; to describe the input write `t: {about: What the customer wrote}`",
        ),
        (
            "---\nlabels: [a, b]\ninputs: {texts: text}\n---\n{text}",
            "mine.md:5:1: there is no input `text` (did you mean texts?)",
        ),
        ("---\nlabels: [a, b]\ninputs: {id: text}\n---\n{id}", "no input can be called `id`"),
        ("---\nlabels: [a, b]\ninputs: {model_config: text}\n---\n", "cannot be called `model_config`"),
        ("---\nlabels: [a, b]\ninputs: {s: {type: text, shown: false}}\n---\n{s}", "is for rules alone"),
        ("---\nlabels: [a, b]\n---\n", "mine.md:4:1: the prompt below the front matter is empty"),
        ("---\nlabels: [a, b]\n---\nNothing named.", "the prompt names no input"),
        ("---\ninputs: [t]\n---\n{t}", "neither labels nor rules"),
        ("---\nlabels: [a, b]\noutputs: [label, worth]\n---\n{t}", "mine.md:3:10: nothing gives `worth` a value"),
        ("---\nlabels: [a, b]\nname: a/b\n---\n{t}", "mine.md:3:7: `name` may hold"),
        ("---\nlabels: [a, b]\nrules: {R: {}}\n---\n{t}", "mine.md:3:9: the rule `R` must have one of"),
        ("---\nlabels: [a, b]\nrules: {R: {chek: t == ''}}\n---\n{t}", "(did you mean check?)"),
        ("---\nlabels: [a, b]\nrules: {R: {check: t == ''}}\n---\n{t}", "needs a `message`"),
        ("---\nlabels: [a, b]\nrules: {R: {check: tt == '', message: m}}\n---\n{t}", "mine.md:3:20: there is no `tt`"),
        ('---\nlabels: [a, b]\nrules: {R: {check: "size(tt) == 0", message: m}}\n---\n{t}', "mine.md:3:26: there is"),
        ("---\nlabels: [a, b]\nrules: {R: {check: size(t), message: m}}\n---\n{t}", "`check` must give true or false"),
        ("---\nlabels: [a, b]\nrules: {R: {fact: label == 'a', set: {label: a}}}\n---\n{t}", "there is no `label`"),
        ("---\nlabels: [a, b]\nrules: {R: {fact: t == '', set: {label: c}}}\n---\n{t}", "`c` is none of the values"),
        ("---\nlabels: [a, b]\nrules: {R: {fact: t == '', set: {labl: a}}}\n---\n{t}", "(did you mean label?)"),
        ("---\nlabels: [a, b]\nrules: {R: {fact: t == ''}}\n---\n{t}", "a fact needs `set`"),
        ("---\nlabels: {a: 1, b: 0}\nrules: {R: {cap: t == ''}}\n---\n{t}", "a cap needs `to: NUMBER`"),
        ("---\nlabels: {a: 1, b: 0}\nrules: {R: {cap: t == '', to: 0, of: label}}\n---\n{t}", "is no number"),
        ("---\nlabels: {a: 1, b: 0}\nrules: {R: {score: t}}\n---\n{t}", "`score` must give a number, and gives a text"),
        ("---\nlabels: {a: 1, b: 0}\nrules: {TABLE: {score: '1'}}\n---\n{t}", "no rule can be called 'TABLE'"),
        ("---\nlabels: [a, b]\nexamples: [{case: {x: 1}, expect: {label: a}}]\n---\n{t}", "there is no input `x`"),
        ("---\nlabels: [a, b]\nexamples: [{case: {t: x}}]\n---\n{t}", "mine.md:3:12: an example needs `expect`"),
        ("---\nlabels: [a, b]\nschemas: {s: {pattern: a}}\n---\n{t}", "uses `pattern`, which is not checked here"),
        ("---\nlabels: [a, b]\n---\n{{> tone }} {t}", "there is no folder `fragments`"),
    ],
)
def test_a_mistake_is_reported_with_its_place_and_what_to_write(text: str, told: str) -> None:
    found = problems(text)
    assert any(told in line for line in found), found
    assert all(line.startswith("mine.md:") for line in found)


def test_all_mistakes_are_reported_at_once_in_the_order_of_the_file() -> None:
    text = "---\nlabls: [a, b]\nlabels: [a]\nrules: {R: {check: tt == '', message: m}}\n---\n{t}\n"
    assert [line.split(":")[1] for line in problems(text)] == ["2", "3", "4"]


def test_a_misspelt_key_is_one_mistake_and_not_many() -> None:
    rule = "rules: {R: {fact: is_blank(t), set: {label: b}, message: m}}"
    found = problems(f"---\nlabls: {{a: 1, b: 0}}\n{rule}\n---\n{{t}}\n")
    assert [line.partition(";")[0] for line in found] == [
        "mine.md:2:1: the front matter has no `labls` (did you mean labels?)"
    ]


def test_a_rule_in_a_block_of_text_is_placed_in_its_line() -> None:
    text = "---\nlabels: [a, b]\nrules:\n  R:\n    check: |\n      size(tt) == 0\n    message: m\n---\n{t}\n"
    assert problems(text) == [
        "mine.md:6:12: there is no `tt`; there are label, quote, quotes, reason, reasons, scores, t"
    ]


@pytest.mark.parametrize(
    ("labels", "told"),
    [
        ("[good, fair, poor]", "'good', 'fair', 'poor' of `label` have no description"),
        ("{x: {range: [1, 5]}}", "number without `about`"),
        ("{good: it is fine, bad: It is fine}", "the same description"),
    ],
)
def test_vague_labels_are_warned_of(labels: str, told: str) -> None:
    (warning,) = read_text(f"---\nlabels: {labels}\n---\n{{t}}\n", "x", "x.md").warnings
    assert told in warning.text


def test_fragments_are_read_from_their_folder_and_from_nowhere_else(tmp_path: Path) -> None:
    (tmp_path / "fragments").mkdir()
    (tmp_path / "fragments" / "tone.md").write_text("Be strict about {text}.\n")
    (tmp_path / "secret.md").write_text("secret")
    (tmp_path / "fragments" / "link.md").symlink_to(tmp_path / "secret.md")
    judge = tmp_path / "mine.md"
    judge.write_text("---\nlabels: [a, b]\n---\n{{> tone }}\n")
    assert read_file(judge).prompt == "Be strict about `text`."
    for name in ("link", "missing"):
        judge.write_text(f"---\nlabels: [a, b]\n---\n{{{{> {name} }}}} {{text}}\n")
        with pytest.raises(FileProblem, match=r"leads out of the folder|there is no file fragments/missing.md"):
            read_file(judge)
    judge.write_text("---\nlabels: [a, b]\n---\n{{> ../secret }} {text}\n")
    outside = read_file(judge)
    assert "secret" not in outside.prompt.replace("../secret", "")
    assert next(warning.in_line("mine.md") for warning in outside.warnings).startswith(
        "mine.md:4:1: warning: this includes"
    )


def test_a_fragment_that_would_hang_or_fill_the_memory_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "fragments"
    folder.mkdir()
    (folder / "loop.md").symlink_to(folder / "loop.md")
    os.mkfifo(folder / "pipe.md")
    (folder / "folder.md").mkdir()
    (folder / "itself.md").write_text("{{> itself }}")
    (folder / "big.md").write_text("x" * 190_000)
    judge = tmp_path / "mine.md"
    for name, told in {
        "loop": "cannot be read|leads out",
        "pipe": "is no file",
        "folder": "is no file",
        "itself": "includes a fragment",
        "big": "more than 200,000 characters",
    }.items():
        judge.write_text(f"---\nlabels: [a, b]\n---\n{{text}} {f'{{{{> {name} }}}} ' * 5_000}")
        tracemalloc.start()
        with pytest.raises(FileProblem, match=told):
            read_file(judge)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 50_000_000


def test_a_question_between_braces_needs_no_quotation_marks() -> None:
    examples = "examples:\n  - {case: {t: Where is it?}, expect: failed}"
    text = f"---\nlabels: {{yes: {{about: Is it? Yes.}}, no: so?}}\n{examples}\n---\n{{t}}\n"
    definition = read_text(text, "mine", "mine.md")
    assert definition.examples[0].case == {"t": "Where is it?"}
    assert [choice.about for choice in definition.labels[0].choices] == ["Is it? Yes.", "so?"]
    assert "is no YAML" in problems("---\nlabels: {? [a, b] : 1\n---\n{t}\n")[0]


def test_a_file_of_windows_and_one_with_a_byte_order_mark_are_read(tmp_path: Path) -> None:
    file = tmp_path / "polite.md"
    file.write_bytes(b"\xef\xbb\xbf" + SIX_LINES.replace("\n", "\r\n").encode())
    assert read_file(file).text == SIX_LINES


def test_a_huge_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "huge.md"
    file.write_text("x" * (LONGEST_FILE + 1))
    with pytest.raises(Exception, match="a judge is far smaller"):
        read_file(file)


@pytest.mark.parametrize("inside", ["[" * 30, "{a: " * 30, "[" * 5_000, "- " * 5_000])
def test_a_front_matter_that_is_nested_without_end_is_refused(inside: str) -> None:
    assert (
        "nested deeper" in problems(f"---\nlabels: {inside}\n---\n{{t}}\n")[0]
        or "no YAML" in problems(f"---\nlabels: {inside}\n---\n{{t}}\n")[0]
    )


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("[terse, rued]", "`rued` is none of the values (did you mean rude?): terse, rude"),
        ("rued", "`rued` is none of the values (did you mean rude?): terse, rude"),
        ("[[terse]]", "`a list` is none of the values: terse, rude"),
        ("{terse: 1}", "`a mapping` is none of the values: terse, rude"),
        ("[terse, null]", "null is none of the values: terse, rude"),
        ("[terse, terse]", "a value is listed twice"),
    ],
)
def test_what_a_fact_sets_in_a_list_must_be_its_values(written: str, problem: str) -> None:
    text = (
        "---\nlabels: {faults: {values: [terse, rude], several: true}}\n"
        f"rules: {{EMPTY: {{fact: is_blank(text), set: {{faults: {written}}}, message: Empty.}}}}\n---\n{{text}}\n"
    )
    found = [line for line in problems(text) if "mine.md" in line]
    assert len(found) == 1
    assert found[0].endswith(problem)
