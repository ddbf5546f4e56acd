"""A judge made of a file: the same contract as a judge that is a class."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

from pydantic import BaseModel, ValidationError

from krino.contract import AnyJudge, Bound, Judge, Passage, Questions, Settlement
from krino.contract.hooks import RecordFields
from krino.contract.labeller import describe_validation
from krino.contract.measured import Measured
from krino.errors import CannotJudge
from krino.judges.file.answers import check, texts_of
from krino.judges.file.cel.functions import FUNCTIONS
from krino.judges.file.definition import Definition
from krino.judges.file.facts import FileFacts, as_text, count_items, study
from krino.judges.file.models import make_case_model, make_labels_model, make_verdict_model
from krino.judges.file.prompt import write_prompt
from krino.judges.file.read_rules import OURS
from krino.judges.file.reading import read_file, read_text
from krino.judges.file.settling import settle

TEXT_ADDRESS = "text:"
"""Begins the address of a judge whose whole file is in the address: what another process or machine is sent."""
_MOST_LISTED = 40
_SHORT = ("text", "number", "boolean")
_LONGEST_SHORT = 200


class FileJudge(Judge[BaseModel, FileFacts, BaseModel, BaseModel]):
    """What every judge from a file does. A subclass is made for each file: `make_class`."""

    definition: ClassVar[Definition]

    def read(self, record: Mapping[str, Any]) -> BaseModel:
        """Reads the case; a missing field is reported with how to map another name to it."""
        try:
            return self.case_model.model_validate(record)
        except ValidationError as error:
            missing = [str(item["loc"][0]) for item in error.errors() if item["type"] == "missing"]
            if not missing:
                raise CannotJudge(describe_validation(error)) from None
            named = " and ".join(f"no `{name}`" for name in missing)
            raise CannotJudge(
                f"the record has {named}; what has another name there is mapped: --map {missing[0]}=NAME "
                "(`krino map` proposes names)"
            ) from None

    def study(self, case: BaseModel) -> FileFacts:
        """Returns the values of a case and what its rules decide; raises `CannotJudge` if a rule refuses it."""
        return study(self.definition, case)

    def leaves_open(self, case: BaseModel, facts: FileFacts) -> bool:
        """Is anything left to ask after what facts decided?"""
        return not facts.is_closed

    def ask(self, case: BaseModel, facts: FileFacts) -> Questions | None:
        """Returns the inputs that are shown and the request; None if facts have decided everything."""
        if facts.is_closed:
            return None
        return Questions(tuple(self._passages(facts)), self._request(facts))

    def _passages(self, facts: FileFacts) -> Iterator[Passage]:
        """Yields the inputs that are shown, numbered where there are several pieces."""
        for item in self.definition.inputs:
            value = facts.values[item.name]
            if value is None or not item.is_shown:
                continue
            if item.kind == "messages":
                yield from (Passage(_message_name(item.name, message), message["text"]) for message in value)
            elif item.kind == "list":
                yield from (Passage(f"{item.name} {number}", text) for number, text in enumerate(texts_of(value), 1))
            else:
                yield Passage(self.definition.shown_name(item.name), as_text(value))

    def _request(self, facts: FileFacts) -> str:
        """Returns the request that ends the prompt: what is missing, how many pieces there are, what to answer."""
        absent = [f"`{item.name}`" for item in self.definition.inputs if item.is_shown and not facts.values[item.name]]
        missing = f"Not given in this case: {', '.join(absent)}. " if absent else ""
        lists = {label.each: count_items(facts.values[label.each]) for label in self.definition.labels if label.each}
        counts = "".join(f"`{name}` has {count} {self._pieces(name)}. " for name, count in lists.items())
        named = ", ".join(f"`{label.name}`" for label in self.definition.labels)
        wanted = "Give reason, quotation and label." if self.definition.has_one_label else f"Answer {named}."
        return f"{missing}{counts}{wanted}"

    def _pieces(self, name: str) -> str:
        return "turns of the assistant" if self.definition.input(name).kind == "messages" else "pieces"

    def check(self, case: BaseModel, facts: FileFacts, labels: BaseModel) -> list[str]:
        """Returns what is wrong with labels about this case, by their quotes, items and the rules of the file."""
        return check(self.definition, facts, labels)

    def bounds(self, case: BaseModel, facts: FileFacts, asked: Questions, exact: bool) -> Bound | None:
        """Bounds the labels for each item to one entry per item; None if there are none."""
        found = {}
        for label in self.definition.labels:
            if label.each is not None:
                count = count_items(facts.values[label.each])
                items = [Bound.holding(item=Bound.only(number)) for number in range(1, count + 1)]
                found[label.name] = Bound.each(items) if count <= _MOST_LISTED else Bound.many(least=count, most=count)
        return Bound.holding(**found) if found else None

    def metadata(self, case: BaseModel) -> dict[str, Any]:
        """Returns short inputs that only rules see.

        They say where a case comes from, so results can be grouped by them.
        """
        hidden = (item.name for item in self.definition.inputs if not item.is_shown and item.kind in _SHORT)
        found = {name: getattr(case, name) for name in hidden}
        return {name: value for name, value in found.items() if value is not None and len(str(value)) <= _LONGEST_SHORT}

    def settle(self, case: BaseModel, facts: FileFacts, labels: BaseModel | None) -> Settlement:
        """Returns the rulings on all outputs, from facts, labels and rules."""
        return settle(self.definition, facts, labels)

    def fingerprint(self) -> dict[str, Any]:
        """Adds the text of the file to the fingerprint: the file is the source of its judge."""
        found = super().fingerprint()
        text = hashlib.blake2b(self.definition.text.encode("utf-8", "replace"), digest_size=16).hexdigest()
        both = f"{found['source']} {text}".encode()
        return {**found, "source": hashlib.blake2b(both, digest_size=16).hexdigest()}


def make_class(definition: Definition) -> type[FileJudge]:
    """Makes the class of a judge from what its file says."""
    from krino.judges.file.comparing import ComparingJudge

    base = ComparingJudge if definition.compare else FileJudge
    rules = {rule.id: rule.message for rule in definition.rules}
    members: dict[str, Any] = {
        "__module__": FileJudge.__module__,
        "__qualname__": f"FileJudge_{definition.name}",
        "__doc__": definition.summary,
        "definition": definition,
        "stated_measured": definition.measured,
        "name": definition.name,
        "version": definition.version,
        "summary": definition.summary,
        "default_prompt": write_prompt(definition),
        "rules": {**OURS, **rules},
        "fields": _make_fields(definition),
        "data_files": _list_files(definition),
        "case_model": make_case_model(definition),
        "labels_model": make_labels_model(definition),
        "verdict_model": make_verdict_model(definition),
    }
    return type("FileJudge", (base,), members)


def _message_name(name: str, message: dict[str, Any]) -> str:
    """`messages: assistant turn 2`, so that labels can name it."""
    turn = f" turn {message['turn']}" if message["turn"] else ""
    return f"{name}: {message['role']}{turn}"


def _make_fields(definition: Definition) -> RecordFields:
    """Returns the other names of the inputs, for reading; the same and what their values look like, for `krino map`."""
    words = {item.name: (item.name, *item.aliases) for item in definition.inputs}
    names = {item.name: words[item.name] for item in definition.inputs if item.aliases}
    shapes = {item.name: _SHAPES.get(item.kind, _ANYTHING) for item in definition.inputs}
    return RecordFields(names=names, main=_main(definition), words=words, shapes=shapes)


_ANYTHING: tuple[str, Callable[[Any], bool]] = ("values", lambda value: True)
_SHAPES: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "text": ("texts", lambda value: isinstance(value, str)),
    "list": ("lists or texts", lambda value: isinstance(value, str | list)),
    "messages": ("lists", lambda value: isinstance(value, list)),
}


def _main(definition: Definition) -> Sequence[str]:
    return [item.name for item in definition.inputs if item.kind == "text" and item.is_shown]


def _list_files(definition: Definition) -> tuple[str, ...]:
    """Returns models and tables behind the functions that its rules call, as paths from the folder of this module."""
    files = {file for name in definition.called if name in FUNCTIONS for file in FUNCTIONS[name].files}
    if "fits" in definition.called:
        files.add("contract/json_schema.py")
    return tuple(f"../../{file}" for file in sorted(files))


@lru_cache(maxsize=64)
def class_of_text(text: str, name: str, address: str, measured: Measured | None = None) -> type[FileJudge]:
    """Returns the class of the judge in a text, cached.

    `name`: what the judge is called where the text does not say it. `measured`: what its file states, if apart.
    """
    definition = read_text(text, name, address)
    return make_class(definition if measured is None else replace(definition, measured=measured))


def class_of_file(path: Path) -> type[FileJudge]:
    """Returns the class of the judge in a file. The file is read each time: an edited one is another judge.

    One that was not edited keeps its class.
    """
    definition = read_file(path)
    return class_of_text(definition.text, definition.name, str(path), definition.measured)


def portable_address(kind: type[AnyJudge]) -> str | None:
    """Returns an address that holds the whole judge; None for a judge that is no file."""
    if not issubclass(kind, FileJudge):
        return None
    return f"{TEXT_ADDRESS}{kind.definition.name}\n{kind.definition.text}"
