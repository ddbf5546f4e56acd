"""Fuzzes the reader of judges in files, their placeholders and their rules.

    python benchmarks/judge_files_fuzz.py [SECONDS] [SEED]

Every text must be read, checked and tried within two seconds of CPU time, into a judge or into problems with line and
column; no rule may raise anything but a `RuleFault`. The first text that breaks this is printed, and the exit code is
1. After a minute without an end the process prints where it hangs and ends.
"""

from __future__ import annotations

import argparse
import faulthandler
import random
import re
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from krino.api.checking import check_judge
from krino.errors import CannotJudge, UsageProblem
from krino.judges.file.cel import (
    DOUBLE,
    DYN,
    INT,
    STRING,
    ExpressionProblem,
    RuleFault,
    StepBudget,
    compile_expression,
    list_of,
)
from krino.judges.file.drafting import draft, new_file
from krino.judges.file.judge import make_class
from krino.judges.file.one_line import class_of_rubric
from krino.judges.file.placeholders import find_placeholders
from krino.judges.file.problems import FileProblem
from krino.judges.file.reading import read_text
from krino.judges.registry import SHELF

SLOW = 2.0
HANGS = 60.0
SIGNS = [
    *(
        "{",
        "}",
        "{{",
        "}}",
        "${",
        "[",
        "]",
        ":",
        ": ",
        ",",
        "-",
        "- ",
        "#",
        "&a ",
        "*a",
        "!!",
        "!x ",
        "|",
        "|\n",
        ">",
        "?",
        "? ",
    ),
    *(
        "'",
        '"',
        "\\",
        "\n",
        "\n---\n",
        "\n  ",
        "\t",
        "\x00",
        "\u200b",
        "\ud800",
        '"\\uD800"',
        "é",
        "🙂",
        "%",
        "@",
        "`",
        "<<: ",
        "~",
        "null",
    ),
    *(
        "labels",
        "inputs",
        "rules",
        "examples",
        "outputs",
        "schemas",
        "each",
        "values",
        "range",
        "fact",
        "check",
        "cap",
        "score",
    ),
    *(
        "true",
        "no",
        "1",
        "-1",
        "1e999",
        "0.5",
        "[1, 5]",
        "{a: 1, b: 0}",
        "{text}",
        "{{> x }}",
        "{{> big }}",
        "{{> itself }}",
        "{{ text }}",
        "${TEXT}",
    ),
]
PARTS = [
    *(
        "text",
        "n",
        "items",
        "data",
        "x",
        "1",
        "2.5",
        "'a'",
        "null",
        "true",
        "[",
        "]",
        "(",
        ")",
        "{",
        "}",
        ".",
        ",",
        ":",
        "?",
    ),
    *(
        "==",
        "!=",
        "<",
        ">=",
        "&&",
        "||",
        "!",
        "-",
        "+",
        "*",
        "/",
        "%",
        " in ",
        "size",
        "matches",
        "map",
        "filter",
        "all",
    ),
    *(
        "exists",
        "has",
        "count",
        "words",
        "json",
        "'(a|b)*'",
        "r'\\d+'",
        "'\\\\'",
        '"',
        "'",
        "//",
        "0x",
        "1e9",
        "é",
        "\x00",
    ),
]
NAMES = {"text": STRING, "n": INT, "x": DOUBLE, "items": list_of(STRING), "data": DYN}
VALUES: dict[str, Any] = {
    "text": "Thank you for the letter. " * 50,
    "n": 3,
    "x": 0.5,
    "items": ["a", "b"] * 20,
    "data": {"a": [1, None, "x"], "b": {"c": True}},
}
EXPRESSIONS = [
    "items.filter(i, i == 'a').size() > n && x < 1",
    "data.a.exists(i, i == null) ? text.matches('a+b*') : has(data.b.c)",
    "mean(items.map(i, double(size(i)))) * 2.0 - n % 2",
    "text + string(n) == 'a' || items[0] in ['a', \"b\"]",
    "json('{\"a\": [1, 2]}').a[1] + count(text, 'e') * words(text)",
]


class Broken(Exception):
    """What must not happen."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seconds", nargs="?", type=float, default=60.0)
    parser.add_argument("seed", nargs="?", type=int, default=1)
    given = parser.parse_args()
    seconds, draw = given.seconds, random.Random(given.seed)
    files = [new_file("x.md"), *(path.read_text("utf-8") for path in Path(SHELF).glob("*.md"))]
    counts = {"files": 0, "of these judges": 0, "rules": 0, "of these valued": 0, "sentences": 0, "drafts": 0}
    load_models()
    folder = Path(tempfile.mkdtemp())
    (folder / "big.md").write_text("x {text} " * 20_000)
    (folder / "itself.md").write_text("{{> itself }} {text}")
    end = time.monotonic() + seconds
    slowest = 0.0
    while time.monotonic() < end:
        faulthandler.dump_traceback_later(HANGS, exit=True)
        text = damaged(draw, draw.choice(files), SIGNS)
        rule = damaged(draw, draw.choice(EXPRESSIONS), PARTS, most=2)
        begun = time.process_time()  # others may use the machine
        try:
            counts["of these judges"] += read_file(text, folder)
            counts["of these valued"] += evaluate(rule)
            one_line(draw, text)
            draft(text)
            find_placeholders(text)
        except (Broken, Exception) as fault:
            print(f"{type(fault).__name__}: {fault}\n--- text\n{text!r}\n--- rule\n{rule!r}")
            return 1
        slowest = max(slowest, time.process_time() - begun)
        if slowest > SLOW:
            print(f"{slowest:.1f} s\n--- text\n{text!r}\n--- rule\n{rule!r}")
            return 1
        for name in ("files", "rules", "sentences", "drafts"):
            counts[name] += 1
    print(", ".join(f"{count:,} {name}" for name, count in counts.items()), f"; slowest {slowest:.2f} s")
    return 0


def load_models() -> None:
    """Before the clock runs: the embedded models take seconds to load, once."""
    source = "similarity(text, text) + supports(text, text) > 0 && is_refusal(text) || language(text) == ''"
    for text in ("Thank you.", "I cannot answer that."):
        compile_expression(source, {"text": STRING}).value(StepBudget({"text": text}))


def damaged(draw: random.Random, text: str, signs: list[str], most: int = 6) -> str:
    """A text with a few places cut, doubled, or filled with signs that mean something."""
    for _ in range(draw.randint(1, most)):
        place = draw.randint(0, len(text))
        until = min(len(text), place + draw.choice((0, 0, 1, 3, 20, 200)))
        kind = draw.random()
        if kind < 0.5:
            filling = draw.choice(signs) * draw.choice((1, 1, 1, 2, 5, 100))
        elif kind < 0.7:
            filling = text[place:until] * 2
        else:
            start = draw.randint(0, len(text))
            filling = text[start : start + 30]
        text = text[:place] + filling + text[until:]
    return text


def read_file(text: str, folder: Path) -> bool:
    """Whether it is a judge; then one case goes through it."""
    try:
        definition = read_text(text, "mine", "mine.md", folder)
    except FileProblem as problem:
        for line in str(problem).splitlines():
            if not re.match(r"mine\.md:\d+:\d+: .|and \d+ more$", line):
                raise Broken(f"a problem without its place: {line}") from None
        return False
    try:
        judge = make_class(definition)()
    except UsageProblem:
        return True
    lines = check_judge(judge, "mine.md", definition).lines
    if misplaced := [line for line in lines if not re.match(r"mine\.md:\d+:\d+: .", line)]:
        raise Broken(f"a finding without its place: {misplaced[0]}")
    case = {item.name: "a b c" if item.kind in ("text", "json") else ["a b", "c"] for item in definition.inputs}
    try:
        facts = judge.study(judge.read(case))
        judge.ask(judge.read(case), facts)
        if facts.is_closed:
            judge.settle(judge.read(case), facts, None)
    except (CannotJudge, UsageProblem):
        pass
    return True


def evaluate(rule: str) -> bool:
    try:
        made = compile_expression(rule, NAMES)
        made.value(StepBudget(dict(VALUES)))
    except (ExpressionProblem, RuleFault):
        return False
    return True


def one_line(draw: random.Random, text: str) -> None:
    begun = draw.choice(("Is {text} polite? polite=1 rude=0", "Which is better, {a} or {b}? a=1 b=0 tie=0.5"))
    sentence = damaged(draw, begun, [*SIGNS, "=1", " a=2", "?"])
    try:
        class_of_rubric(sentence)
    except UsageProblem:
        return


if __name__ == "__main__":
    sys.exit(main())
