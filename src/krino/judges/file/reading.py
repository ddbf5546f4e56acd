"""Reads a judge's file. Everything that is wrong with it is reported at once, each mistake with its line and column."""

from __future__ import annotations

import re
from pathlib import Path

from krino.contract.measured import split_measured
from krino.errors import UsageProblem
from krino.judges.file.definition import PLACES, Definition, Input
from krino.judges.file.front_matter import Value, read_front_matter
from krino.judges.file.placeholders import Placeholder, find_placeholders, place_in, replace_placeholders
from krino.judges.file.problems import FileProblem, Place, Problem
from krino.judges.file.read_compare import comparing_label, read_compare
from krino.judges.file.read_examples import read_examples
from krino.judges.file.read_inputs import read_inputs
from krino.judges.file.read_labels import read_labels
from krino.judges.file.read_outputs import read_outputs
from krino.judges.file.read_rules import read_rules
from krino.judges.file.values import Reader
from krino.text.guessing import find_near

LONGEST_FILE = 200_000
_LONGEST_FRONT_MATTER = 60_000
_MOST_PLACEHOLDERS = 500
KEYS = ("name", "version", "summary", "card", "inputs", "compare", "labels", "outputs", "rules", "schemas", "examples")
FRAGMENTS = "fragments"
"""The folder beside a judge's file that holds texts which several judges share."""
_NAME = re.compile(r"[\w][\w.-]{0,63}")
_UNREAD_FRAGMENT = re.compile(r"(?<!\\)\{\{>(?![ \t]*[A-Za-z0-9_-]{1,64}[ \t]*\}\})")


def read_file(path: Path) -> Definition:
    """Returns the definition in a file; raises `FileProblem` with every mistake in it."""
    return read_text(read_judge_text(path), path.stem, str(path), path.parent / FRAGMENTS)


def read_judge_text(path: Path) -> str:
    """Reads a judge's file as UTF-8 text with plain line ends; raises `UsageProblem` if it cannot be read."""
    try:
        with path.open("rb") as file:
            written = file.read(LONGEST_FILE + 1)
    except OSError as error:
        raise UsageProblem(f"{path}: {error.strerror}; name a Markdown file with a judge in it") from None
    if len(written) > LONGEST_FILE:
        raise UsageProblem(f"{path}: more than {LONGEST_FILE:,} bytes; a judge is far smaller")
    try:
        text = written.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageProblem(f"{path}: {error}; write it as UTF-8") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_text(text: str, name: str, address: str, fragments: Path | None = None) -> Definition:
    """Returns the definition in a text; raises `FileProblem` with every mistake in it.

    `name`: what the judge is called where the text does not say it. `fragments`: the folder of its fragments.
    """
    problems: list[Problem] = []
    text, measured = split_measured(text)
    front, first_line, body, body_line = _split_front_matter(text, problems)
    values = read_front_matter(front, first_line, problems)
    reader = Reader(values, problems)
    reader.refuse_unknown(values, KEYS, "the front matter")
    _correct_keys(values)
    body, whole = _include_fragments(body, body_line, text, fragments, problems)
    placeholders = find_placeholders(body)
    if len(placeholders) > _MOST_PLACEHOLDERS:
        problems.append(Problem(Place(body_line, 1), f"the prompt has more than {_MOST_PLACEHOLDERS} placeholders"))
        placeholders = placeholders[:_MOST_PLACEHOLDERS]
    found = [item.name for item in placeholders if item.kind == "input"]
    inputs = read_inputs(reader, values, found)
    _check_placeholders(inputs, placeholders, body, body_line, problems)
    compare = read_compare(reader, values, inputs)
    labels = comparing_label(compare, inputs) if compare else read_labels(reader, values, inputs)
    outputs = read_outputs(reader, values, labels, compare)
    rules = read_rules(reader, values, inputs, labels, outputs)
    examples = read_examples(reader, values, inputs, labels, outputs)
    for clash in sorted({item.name for item in inputs} & {item.name for item in outputs}):
        problems.append(
            Problem(Place(first_line, 1), f"`{clash}` is an input and an output; call one of them otherwise")
        )
    if labels and not body.strip():
        problems.append(Problem(Place(body_line, 1), "the prompt below the front matter is empty: say what is judged"))
    if not labels and not rules and not problems:
        problems.append(
            Problem(Place(first_line, 1), "the file has neither labels nor rules; write `labels: {good: 1, bad: 0}`")
        )
    if not inputs and not problems:
        problems.append(
            Problem(Place(body_line, 1), "the prompt names no input; write `{text}` where the text belongs")
        )
    definition = Definition(
        name=_choose_name(reader, values, name),
        version=reader.text_of(values, "version", "1"),
        summary=reader.text_of(values, "summary", _first_line(body)),
        compare=compare,
        card=reader.text_of(values, "card", ""),
        inputs=inputs,
        labels=labels,
        outputs=outputs,
        rules=rules,
        examples=examples,
        prompt=_name_inputs(body, compare),
        text=whole,
        address=address,
        measured=measured,
        warnings=tuple(problem for problem in problems if not problem.fatal),
    )
    if any(problem.fatal for problem in problems):
        raise FileProblem(address.partition("\n")[0], problems)
    return definition


def _correct_keys(values: Value) -> None:
    """Adds the value of a misspelt key under the key that was meant.

    It was reported; without what it says everything that refers to it would be reported too.
    """
    for name in [name for name in values.data if name not in KEYS]:
        meant = find_near(name, KEYS)
        if meant is not None and meant not in values.data:
            values.data[meant], values.keys[meant] = values.data[name], values.keys[name]


def _split_front_matter(text: str, problems: list[Problem]) -> tuple[str, int, str, int]:
    """Returns the front matter and the body, each with the line that it begins in.

    Notes a front matter that has no beginning or no end.
    """
    lines = text.split("\n")
    if lines[0].rstrip() != "---":
        problems.append(Problem(Place(1, 1), "the first line must be `---`: the front matter begins there"))
        return "", 1, text, 1
    end = next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() in ("---", "...")), None)
    if end is None:
        problems.append(Problem(Place(len(lines), 1), "the front matter has no end; write `---` below it"))
        return "", 1, "", len(lines)
    front = "\n".join(lines[1:end])
    if len(front) > _LONGEST_FRONT_MATTER:
        problems.append(Problem(Place(2, 1), f"the front matter has more than {_LONGEST_FRONT_MATTER:,} characters"))
        front = ""
    return front, 2, "\n".join(lines[end + 1 :]), end + 2


def _include_fragments(
    body: str, line: int, text: str, folder: Path | None, problems: list[Problem]
) -> tuple[str, str]:
    """Returns the body and the whole text with the fragments in them, and notes what cannot be included.

    A fragment is a file of the folder, and no other file.
    """
    if "{{>" not in body:
        return body, text
    found: dict[str, str] = {}
    length = len(body)

    def included(item: Placeholder) -> str:
        """Returns a fragment in place of its placeholder, each file being read once."""
        nonlocal length
        if item.kind != "fragment":
            return body[item.start : item.end]
        if item.name not in found:
            found[item.name] = _read_fragment(item.name, folder, place_in(body, item.start, line), problems)
        length += len(found[item.name])
        return found[item.name] if length <= LONGEST_FILE else ""  # a small file may include a large one many times

    whole = replace_placeholders(body, included)
    if length > LONGEST_FILE:
        problems.append(Problem(Place(line, 1), f"the prompt has more than {LONGEST_FILE:,} characters"))
        whole = ""
    for odd in _UNREAD_FRAGMENT.finditer(body):
        place = place_in(body, odd.start(), line)
        problems.append(
            Problem(place, "this includes nothing: a fragment's name has letters, digits, - and _ only", fatal=False)
        )
    return whole, text[: len(text) - len(body)] + whole


def _read_fragment(name: str, folder: Path | None, place: Place, problems: list[Problem]) -> str:
    """Returns a fragment. It is empty, with a problem, if it is missing, outside its folder, or includes one itself."""
    if folder is None:
        problems.append(Problem(place, f"there is no folder `{FRAGMENTS}` to take `{name}` from"))
        return ""
    path = folder / f"{name}.md"
    try:
        if path.resolve().parent != folder.resolve():
            problems.append(Problem(place, f"the fragment `{name}` leads out of the folder `{FRAGMENTS}`"))
            return ""
        if not path.is_file():  # a pipe would never end
            there = "is no file" if path.exists() else f"is missing: there is no file {FRAGMENTS}/{name}.md"
            problems.append(Problem(place, f"the fragment `{name}` {there}"))
            return ""
        found = read_judge_text(path).strip("\n")
    except (OSError, RuntimeError, UsageProblem) as error:  # RuntimeError: a link that leads to itself
        problems.append(Problem(place, f"the fragment `{name}` cannot be read: {error}"))
        return ""
    if any(item.kind == "fragment" for item in find_placeholders(found)):
        problems.append(Problem(place, f"the fragment `{name}` includes a fragment; only the judge's own file may"))
        return ""
    return found


def _check_placeholders(
    inputs: tuple[Input, ...], found: list[Placeholder], body: str, line: int, problems: list[Problem]
) -> None:
    """Notes placeholders that name no input, or one that is hidden from the labeller."""
    from krino.text.guessing import did_you_mean

    known = {item.name for item in inputs}
    hidden = {item.name for item in inputs if not item.is_shown}
    for item in found:
        if item.kind != "input":
            continue
        if item.name in hidden:
            place = place_in(body, item.start, line)
            problems.append(
                Problem(place, f"`{item.name}` is for rules alone (`shown: false`) and cannot be in the prompt")
            )
        elif item.name not in known:
            place = place_in(body, item.start, line)
            problems.append(
                Problem(
                    place,
                    f"there is no input `{item.name}`{did_you_mean(item.name, known)}; add it to `inputs`, or write "
                    f"\\{body[item.start : item.end]} for the braces themselves",
                )
            )


def _name_inputs(body: str, compare: tuple[str, ...] = ()) -> str:
    """Returns the body with names in the place of the data: what a case holds is never part of the instructions."""
    places = dict(zip(compare, PLACES, strict=False))

    def named(item: Placeholder) -> str:
        return f"`{places.get(item.name, item.name)}`" if item.kind == "input" else item.name

    return replace_placeholders(body, named).strip()


def _first_line(body: str) -> str:
    """The first line of the prompt that says something."""
    lines = (line.strip().lstrip("#").strip() for line in _name_inputs(body).splitlines())
    return next((line for line in lines if line), "")[:200]


def _choose_name(reader: Reader, values: Value, fallback: str) -> str:
    """Returns the judge's name: the stated one, or one made from the file's name."""
    if "name" in values.data:
        name = reader.text_of(values, "name", "")
        if not _NAME.fullmatch(name) or name.endswith("."):
            reader.problem(values.data["name"].place, "`name` may hold letters, digits, `-`, `_` and `.` only")
        return name
    fit = re.sub(r"[^\w.-]+", "-", fallback).strip("-.")[:64]
    return fit or "judge"
