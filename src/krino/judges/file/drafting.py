"""Writes judge files: a commented one to begin with, and a draft from a prompt that somebody has already."""

from __future__ import annotations

import re
from collections.abc import Iterator

from krino.judges.file.reading import LONGEST_FILE
from krino.judges.file.values import NAME

COMMENTED = """\
---
# A judge in one file: what stands here says what is labelled and what it is worth, the text below is the prompt.
# `krino check {file}` finds mistakes and runs the examples. Everything but `labels` may be left out.
summary: Is a letter polite?
inputs:                       # a placeholder below that is not listed here is a text that every case must have
  text: {{aliases: [letter, body], about: The letter.}}
labels:                       # one label; several are `labels: {{tone: {{...}}, length: {{...}}}}`
  polite: {{score: 1, about: "it thanks, asks or greets as people do who respect each other"}}
  curt: {{score: 0.5, about: neither polite nor offensive}}
  rude: {{score: 0, about: it insults or orders about}}
rules:                        # CEL; each has an id that every verdict names
  EMPTY: {{fact: is_blank(text), set: {{label: rude}}, message: An empty letter is rude.}}
  SHOUTED: {{cap: "text.matches('[A-Z]{{5}}') && label != 'rude'", to: 0.5, message: It shouts.}}
examples:                     # run by `krino check` and by pytest
  - {{case: {{text: Thank you for your letter.}}, labels: {{label: polite}}, expect: {{score: 1}}}}
  - {{case: {{text: "ANSWER me, please."}}, labels: {{label: polite}}, expect: {{score: 0.5}}}}
  - {{case: {{text: " "}}, expect: {{label: rude, score: 0}}}}
---
Say how polite the letter is. Judge its words, not what it is about.

{{text}}
"""


def new_file(file: str) -> str:
    """Returns the text of a judge that runs, with comments that say what each part is for."""
    return COMMENTED.format(file=file)


# --- from a prompt -----------------------------------------------------------------------------------

_FRAGMENT = re.compile(r"\{\{\s*_?fragments?\.([A-Za-z0-9_-]+)\s*\}\}")
_DOTTED = re.compile(r"\{\{\s*(?:[A-Za-z_][A-Za-z0-9_]*\.)+([A-Za-z][A-Za-z0-9_]*)\s*\}\}")
_FIELD = re.compile(r'^\s*"([^"\n]{1,64})"\s*:\s*(.{1,600}?)\s*,?\s*(?://.*)?$', re.MULTILINE)
_KEY = re.compile(r'([{,]\s*)(?="[^"\n]{1,64}"\s*:)')
"""What stands before the name of a field, also of an object that is written in one line."""
_FENCE = re.compile(r"^\s*(?:\\?`){3}")
_RANGE = re.compile(r"(?<![\d.])(\d{1,3}(?:\.\d+)?)\s*(?:-|–|to|\.\.)\s*(\d{1,3}(?:\.\d+)?)(?![\d.])")
_WORD = re.compile(r"[\w][\w .-]{0,59}")
_FREE = ("reason", "explanation", "notes", "comment", "rationale", "justification", "suggestions", "evidence", "why")
_NO_LABEL = frozenset({"error", "status", "evaluation_status"})


def draft(prompt: str) -> tuple[str, list[str]]:
    """Returns a judge's file, and what is left to decide.

    It is made from a prompt with placeholders and a JSON example of its output.
    """
    prompt = prompt[:LONGEST_FILE].replace("\r\n", "\n").strip("\n")
    notes: list[str] = []
    body = _DOTTED.sub(r"{{ \1 }}", _FRAGMENT.sub(r"{{> \1 }}", prompt))
    if "{{>" in body:
        notes.append("the prompt includes fragments: put them into the folder `fragments` beside the file")
    body, fields = _cut_output_example(body)
    labels = list(_draft_labels(fields, notes))
    if not labels:
        notes.append("no JSON example of the output was found: the labels are a guess, so write your own")
        labels = ["  label: {values: {good: {score: 1, about: TODO}, bad: {score: 0, about: TODO}}}"]
    else:
        notes.append("what the prompt says about its output format can go: labels replace it")
    front = "\n".join(["---", "labels:", *labels, "---"])
    return f"{front}\n{body.strip()}\n", notes


def _cut_output_example(body: str) -> tuple[str, list[tuple[str, str]]]:
    """Returns the prompt without the first example of its output, and the fields of that.

    An example has two fields or more, or is the only object. Without one the prompt stays whole.
    """
    for start, end in _find_objects(body):
        fields = _FIELD.findall(_KEY.sub(r"\1\n", body[start + 1 : end - 1]))
        if len(fields) >= 2 or (len(fields) == 1 and body.count("{") == 1):
            return _cut_out(body, start, end), fields
    return body, []


def _find_objects(body: str) -> Iterator[tuple[int, int]]:
    """Yields start and end of the braces that hold something like JSON, outermost first."""
    place = 0
    while (start := body.find("{", place)) >= 0:
        depth, end = 0, start
        for end in range(start, len(body)):
            depth += (body[end] == "{") - (body[end] == "}")
            if depth == 0:
                break
        if depth == 0 and '"' in body[start:end]:
            yield start, end + 1
        place = end + 1 if depth == 0 else start + 1
        if depth != 0:
            return


def _cut_out(body: str, start: int, end: int) -> str:
    """Returns the prompt without the JSON example and the fence around it."""
    before, after = body[:start].rstrip("\n").split("\n"), body[end:].lstrip("\n").split("\n")
    if before and after and _FENCE.match(before[-1]) and _FENCE.match(after[0]):
        before, after = before[:-1], after[1:]
    return "\n".join([*before, *after])


def _draft_labels(fields: list[tuple[str, str]], notes: list[str]) -> Iterator[str]:
    """Yields a draft of each label that a prompt asks for; reasons are left out, as every label has one."""
    seen: set[str] = set()
    for name, value in fields:
        if name in seen or not NAME.fullmatch(name) or name.lower() in _NO_LABEL:
            continue
        seen.add(name)
        if any(name.lower() == word or name.lower().endswith(f"_{word}") for word in _FREE):
            continue  # every label has a reason of its own
        yield _draft_label(name, value.strip(), notes)


def _draft_label(name: str, value: str, notes: list[str]) -> str:
    """Returns the draft of one label, guessed from how the prompt describes its value; a guess is noted in `notes`."""
    inside = value.strip("\"' ")
    words = [word.strip(" \"'") for word in re.split(r"\||\bor\b|/", inside)]
    is_nullable = "null" in inside.lower()
    nullable = ", nullable: true" if is_nullable else ""
    words = [word for word in words if word.lower() not in ("null", "none")]
    if len(words) > 1 and all(_WORD.fullmatch(word) for word in words):
        values = ", ".join(f"{word}: {{about: TODO}}" for word in words)
        return f"  {name}: {{values: {{{values}}}{nullable}}}"
    if (found := _RANGE.search(inside)) and "[" not in value:
        return f"  {name}: {{range: [{found.group(1)}, {found.group(2)}]{nullable}, about: TODO}}"
    if inside.lower() in ("true", "false", "<bool>", "<boolean>", "bool", "boolean", "true|false"):
        return f"  {name}: {{values: [true, false]{nullable}, about: TODO}}"
    if re.fullmatch(r"-?\d+(\.\d+)?", inside) or re.search(r"float|number|score", f"{inside} {name}".lower()):
        notes.append(f"`{name}` is a number: the range [0, 1] is a guess")
        return f"  {name}: {{range: [0.0, 1.0]{nullable}, about: TODO}}"
    if value.startswith("["):
        if len(words := re.findall(r'"([^"]+)"', value)) > 1:
            values = ", ".join(f"{word}: {{about: TODO}}" for word in words)
            notes.append(f"`{name}` is a list: complete the values that may be in it")
            return f"  {name}: {{values: {{{values}}}, several: true}}"
        notes.append(f"`{name}` is a list: a label with `several` or `each`, a rule that computes it, or text")
    return f"  {name}: {{type: text{nullable}, about: TODO}}"
