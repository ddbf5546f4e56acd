"""`krino new`, `check`, `import` and `judge --rubric`: from nothing to a judge of one's own."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from command_here import Done, krino, own_folder
from fake_llm import FakeServer
from krino.judges.file.reading import read_file
from krino.judges.registry import shelf_names

LABELS = {"reason": "It thanks.", "quote": "Thank you", "label": "polite"}
PROMPT = """\
You judge answers. Question: {{ input.question }} Answer: ${ANSWER}
{{ _fragments.house_rules }}

Return JSON:

```json
{
  "verdict": "PASS | FAIL",
  "clarity": 1-5,
  "confidence": 0.8,
  "safe": true,
  "cites_source": <string or null>,
  "errors": ["MISSING", "WRONG"],
  "explanation": "why",
}
```
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with own_folder(tmp_path, monkeypatch, str(tmp_path / "replies.sqlite")):
        yield


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Done]]:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    Path("letters.jsonl").write_text('{"id": "a", "text": "Thank you."}\n{"id": "b", "text": "Thank you again."}\n')
    with FakeServer(reply=lambda request: LABELS) as server:
        more = ("-l", "openai:fake", "--base-url", server.url, "--run", "run")
        yield lambda *args: krino("judge", *args, "letters.jsonl", *more)


def verdicts() -> dict[str, object]:
    shown = krino("show", "run", "--json").out.splitlines()
    return {line["id"]: line["verdict"] for line in map(json.loads, shown)}


POLITE = {"label": "polite", "score": 1.0, "reason": "It thanks."}


def test_one_line_judges_a_file_and_goes_on_where_it_stopped(judged: Callable[..., Done]) -> None:
    done = judged("--rubric", "Is {text} polite? polite=1 rude=0")
    assert done.code == 0, done.err
    assert verdicts() == {"a": POLITE, "b": POLITE}
    again = judged("--rubric", "Is {text} polite? polite=1 rude=0")
    assert "continuing" in again.err
    other = judged("--rubric", "Is {text} polite? polite=1 rude=0.1")
    assert other.code == 2
    assert "made with other settings" in other.err


def test_a_new_judge_is_checked_run_and_gated(judged: Callable[..., Done]) -> None:
    assert krino("new", "manners").code == 0
    checked = krino("check", "manners.md")
    assert checked.code == 0, checked.err
    assert "3 of 3 examples" in checked.out
    done = judged("manners.md", "--gate", "--min", "score=0.9", "--point")
    assert done.code == 0, done.err
    assert krino("judge", "manners.md", "letters.jsonl", "--dry-run").code in (0, 2)


def test_a_new_judge_overwrites_nothing() -> None:
    assert krino("new", "manners").code == 0
    again = krino("new", "manners.md")
    assert again.code == 2
    assert "exists already" in again.err


@pytest.mark.parametrize("name", shelf_names())
def test_a_ready_judge_can_be_copied_and_changed(name: str) -> None:
    assert krino("new", "mine", "--from", name).code == 0
    assert krino("check", "mine.md").code == 0


def test_a_ready_judge_that_does_not_exist_is_guessed() -> None:
    done = krino("new", "mine", "--from", "tonne")
    assert done.code == 2
    assert "there is no ready judge `tonne`" in done.err


def test_check_says_where_a_mistake_is_and_which_example_fails() -> None:
    Path("bad.md").write_text("---\nlabels: [a, b]\nrules: {R: {chek: t}}\n---\n{t}\n")
    bad = krino("check", "bad.md")
    assert bad.code == 2
    assert "bad.md:3:9: the rule `R` must have one of" in bad.err
    example = "examples: [{case: {t: x}, labels: {label: a}, expect: {score: 0.5}}]"
    Path("off.md").write_text(f"---\nlabels: {{a: 1, b: 0}}\n{example}\n---\n{{t}}\n")
    off = krino("check", "off.md", "--json")
    assert off.code == 1
    found = json.loads(off.out)
    assert found["found"] == ["off.md:3:12: example 1: `score` is 1.0 by TABLE, and 0.5 is expected"]


def test_an_example_without_labels_needs_a_labeller() -> None:
    Path("ask.md").write_text("---\nlabels: {a: 1, b: 0}\nexamples: [{case: {t: x}, expect: {score: 1}}]\n---\n{t}\n")
    done = krino("check", "ask.md")
    assert done.code == 0
    assert "not tried" in done.err


@pytest.mark.parametrize(
    ("labels", "expect"),
    [("{label: a, quote: y}", "refused"), ("{label: c}", "refused"), ("{label: a}", "{score: 1}")],
)
def test_an_example_may_expect_labels_to_be_refused(labels: str, expect: str) -> None:
    example = f"examples: [{{case: {{t: x x}}, labels: {labels}, expect: {expect}}}]"
    Path("one.md").write_text(f"---\nlabels: {{a: 1, b: 0}}\n{example}\n---\n{{t}}\n")
    assert krino("check", "one.md").code == 0


def test_a_prompt_becomes_a_draft() -> None:
    Path("prompt.txt").write_text(PROMPT)
    done = krino("import", "prompt.txt", "--out", "drafted.md")
    assert done.code == 0, done.err
    Path("fragments").mkdir()
    Path("fragments/house_rules.md").write_text("Be fair.")
    made = read_file(Path("drafted.md"))
    assert [item.name for item in made.inputs] == ["question", "answer"]
    kinds = {label.name: label.kind for label in made.labels}
    assert kinds == {
        "verdict": "choice",
        "clarity": "number",
        "confidence": "number",
        "safe": "choice",
        "cites_source": "text",
        "errors": "choice",
    }
    named = {label.name: label for label in made.labels}
    assert [choice.value for choice in named["verdict"].choices] == ["PASS", "FAIL"]
    assert named["cites_source"].is_nullable
    assert named["errors"].has_several
    assert '"clarity"' not in made.prompt
    assert "Be fair." in made.prompt
    assert "TODO" in krino("check", "drafted.md").err


def test_an_example_of_the_output_may_be_written_in_one_line() -> None:
    prompt = 'Rate {{answer}}. Reply as {"score": 1-5, "verdict": "pass|fail", "reason": "why, and where"} and no more.'
    Path("rate.txt").write_text(prompt)
    assert krino("import", "rate.txt").code == 0
    drafted = read_file(Path("rate.md"))
    assert [label.name for label in drafted.labels] == ["score", "verdict"]
    assert (drafted.labels[0].low, drafted.labels[0].high) == (1.0, 5.0)
    assert "reason" not in drafted.prompt


def test_a_prompt_without_an_example_of_its_output_says_so() -> None:
    Path("prompt.txt").write_text("Is {text} fine?")
    done = krino("import", "prompt.txt")
    assert done.code == 0
    assert "the labels are a guess" in done.err
    assert read_file(Path("prompt.md")).prompt == "Is `text` fine?"


def test_judges_lists_the_ready_ones() -> None:
    listed = {entry["name"] for entry in json.loads(krino("judges", "--json").out)}
    assert {*shelf_names(), "rag", "citation", "efficiency"} <= listed


@pytest.mark.parametrize("args", [("judge",), ("judge", "rag"), ("judge", "--rubric", "Is {text} polite?")])
def test_a_command_without_files_says_what_is_missing(args: tuple[str, ...]) -> None:
    done = krino(*args)
    assert done.code == 2
    assert "missing" in done.err


def test_the_name_of_a_ready_judge_is_taken() -> None:
    done = krino("new", "tone")
    assert done.code == 2
    assert "krino new my-tone" in done.err
    Path("tone.md").write_text("---\nlabels: [a, b]\n---\n{text}\n")
    checked = krino("check", "tone.md")
    assert checked.code == 2
    assert "write `name: my-tone`" in checked.err


def test_a_judge_is_attacked_from_the_command_line() -> None:
    Path("letters.jsonl").write_text('{"text": "Thank you."}\n')
    done = krino("attack", "tone", "letters.jsonl")
    assert done.code == 0, done.err
    assert "0 structural successes" in " ".join(done.out.split())
    found = json.loads(krino("attack", "tone", "letters.jsonl", "--json").out)
    assert found["tried"] == found["manipulations"] > 300
    assert found["structural"] == []


def test_an_attack_maps_columns_and_names_cases_that_the_model_gives_no_verdict(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    Path("letters.csv").write_text("Ticket,Body\n1,Thank you.\n2,Nothing that is quoted.\n")
    given = ("attack", "tone", "letters.csv", "--map", "text=Body", "--map", "id=Ticket", "-l", "openai:fake")
    with FakeServer(reply=lambda request: LABELS) as server:
        done = krino(*given, "--base-url", server.url, "--most", "2")
        assert done.code == 0, done.err
        words = " ".join(done.out.split())
        assert "Cases without a verdict, so that none can be moved" in words
        assert "2: no valid labels" in words
        cases = [request for request in server.requests if "Nothing that is quoted." in request.user_text]
        assert len(cases) <= 3, "its own question and two more tries: no attack is paid for where nothing can move"
        assert "By family" in words


@pytest.mark.parametrize(
    ("labels", "rule", "told"),
    [
        (
            "{a: 1, b: 0}",
            "1.0 / score",
            "where `label` is b: the rule R has no value for this case: a division by zero",
        ),
        ("{values: {a: 1, b: 0}, nullable: true}", "score * 2.0", "where `label` is None: the rule R has no value"),
        ("{range: [0, 4], about: x}", "4.0 / score", "where `label` is 0"),
        ("{a: 1, b: 0}", "1.0 - score", ""),
        ("{a: 1, b: 0}", "score + 1.0", "where `label` is a: the rule R gives 2, and `score` goes from 0 to 1"),
    ],
)
def test_check_tries_every_value_of_every_label(labels: str, rule: str, told: str) -> None:
    first = "0" if "range" in labels else "a"
    examples = f"[{{case: {{t: x}}, labels: {{label: {first}}}, expect: refused}}]"
    text = f"---\nlabels: {labels}\nrules: {{R: {{score: {rule}}}}}\nexamples: {examples}\n---\n{{t}}\n"
    Path("mine.md").write_text(text)
    said = krino("check", "mine.md").err
    assert (told in said) if told else "no verdict comes of it" not in said


def test_odd_column_names_are_proposed_for_a_judge_in_a_file_and_the_command_can_be_copied() -> None:
    Path("step.md").write_text("---\nlabels: {yes: 1, no: 0}\n---\nDoes {reply} help with {request}?\n")
    Path("tickets.csv").write_text("Ticket,Customer msg,Agent reply text\n1,Where is my parcel?,Open the link.\n")
    found = krino("map", "tickets.csv", "--judge", "step.md").out
    assert "krino judge step.md tickets.csv \\\n    --map 'reply=Agent reply text'" in found
    assert "Nothing is proposed for `request`, which every case must have: name a field, as --map" in found
    Path("plain.csv").write_text("Customer request,Agent reply text\nWhere is my parcel?,Open the link.\n")
    found = krino("map", "plain.csv", "--judge", "step.md").out
    assert "1 of 1 cases can be read with this mapping" in found
    assert "Nothing is proposed" not in found
