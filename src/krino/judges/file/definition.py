"""What a judge's file says, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from krino.contract.measured import Measured
from krino.judges.file.cel import BOOL, DOUBLE, DYN, INT, STRING, Expression, Type, list_of, one_of, record
from krino.judges.file.problems import Place, Problem

InputKind = Literal["text", "list", "number", "boolean", "json", "messages"]
LabelKind = Literal["choice", "number", "text"]
OutputKind = Literal["choice", "number", "text", "boolean", "list"]
RuleKind = Literal["refuse", "fact", "check", "score", "cap"]

PLACES = ("first", "second")
"""How the two sides of a comparison are called where a labeller sees them."""
TIE = "tie"
ONLY_LABEL = "label"
"""The name of the label of a judge that has one."""


@dataclass(frozen=True, slots=True)
class Input:
    name: str
    kind: InputKind = "text"
    required: bool = True
    aliases: tuple[str, ...] = ()
    about: str = ""
    is_shown: bool = True
    """Whether a labeller is shown it; otherwise it is for rules alone."""

    @property
    def type(self) -> Type:
        """Returns the type of the input in expressions."""
        kinds: dict[InputKind, Type] = {
            "text": STRING,
            "list": list_of(STRING),
            "number": DOUBLE,
            "boolean": BOOL,
            "json": DYN,
            "messages": list_of(record({"role": STRING, "text": STRING, "turn": INT})),
        }
        known = kinds[self.kind]
        return known if self.required else known.or_null()


@dataclass(frozen=True, slots=True)
class Choice:
    """One value that a label may have."""

    value: str
    score: float | None = None
    about: str = ""
    needs_quote: bool = True


@dataclass(frozen=True, slots=True)
class Label:
    """`quote_from`: the inputs in which its quotation must occur; none: no quotation is asked for."""

    name: str
    kind: LabelKind
    choices: tuple[Choice, ...] = ()
    low: float = 0.0
    high: float = 0.0
    is_whole: bool = False
    is_nullable: bool = False
    quote_from: tuple[str, ...] = ()
    each: str | None = None
    """The input whose items each get a label."""
    has_several: bool = False
    """Whether it is a list of its values: none, one or more of them."""
    about: str = ""
    place: Place = field(default=Place(1, 1), compare=False)

    @property
    def value_type(self) -> Type:
        """Returns the type of the label's value in expressions."""
        if self.kind == "choice":
            known = one_of(tuple(choice.value for choice in self.choices))
            known = list_of(known) if self.has_several else known
        else:
            known = STRING if self.kind == "text" else INT if self.is_whole else DOUBLE
        return known.or_null() if self.is_nullable else known

    @property
    def has_scores(self) -> bool:
        return not self.has_several and any(choice.score is not None for choice in self.choices)

    def score_of(self, value: Any) -> float | None:
        """Returns what a value is worth; None if it has no score."""
        return next((choice.score for choice in self.choices if choice.value == value), None)

    def needs_quote(self, value: Any) -> bool:
        """Does a label of this value rest on words of the text? A null label rests on none."""
        given = value if isinstance(value, list) else [value]
        known = {choice.value: choice.needs_quote for choice in self.choices}
        return value is not None and bool(given) and any(known.get(one, True) for one in given)


@dataclass(frozen=True, slots=True)
class Output:
    name: str
    kind: OutputKind
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    is_nullable: bool = True
    about: str = ""
    is_whole: bool = False
    item: Output | None = None
    """Of a list: what its elements are."""

    @property
    def type(self) -> Type:
        """Returns the type of the output in expressions."""
        kinds: dict[OutputKind, Type] = {
            "choice": one_of(self.choices),
            "number": DOUBLE,
            "text": STRING,
            "boolean": BOOL,
            "list": list_of(self.item.type if self.item else DYN),
        }
        return kinds[self.kind].or_null()


@dataclass(frozen=True, slots=True)
class FileRule:
    """`of`: the output that a score or a cap is about. `sets`: what a fact says of labels and outputs."""

    id: str
    kind: RuleKind
    expression: Expression
    message: str
    when: Expression | None = None
    of: str = "score"
    to: float = 0.0
    sets: Mapping[str, Any] = field(default_factory=dict)

    def uses(self, names: frozenset[str]) -> bool:
        """Does the rule name any of these, in its expression or its `when`?"""
        used = self.expression.names | (self.when.names if self.when is not None else frozenset())
        return not names.isdisjoint(used)


@dataclass(frozen=True, slots=True)
class Example:
    """A case with the labels that it gets, if any, and what must come of it."""

    case: Mapping[str, Any]
    labels: Mapping[str, Any] | None
    expected: Mapping[str, Any] | Literal["failed", "refused"]
    place: Place = field(default=Place(1, 1), compare=False)


@dataclass(frozen=True, slots=True)
class Definition:
    """`text`: the file, with the fragments that it includes: all that a copy of the judge is made of."""

    name: str
    version: str
    summary: str
    card: str
    inputs: tuple[Input, ...]
    labels: tuple[Label, ...]
    outputs: tuple[Output, ...]
    rules: tuple[FileRule, ...]
    examples: tuple[Example, ...]
    prompt: str
    text: str
    address: str
    warnings: tuple[Problem, ...] = ()
    measured: Measured | None = None
    """The agreement with people that the file states, which is no part of `text`."""
    compare: tuple[str, ...] = ()
    """The two inputs that are compared, if any: a labeller is asked in both orders."""

    def shown_name(self, name: str) -> str:
        """Returns how a labeller is shown an input. Of two that are compared it must not know which is which."""
        return PLACES[self.compare.index(name)] if name in self.compare else name

    @property
    def has_one_label(self) -> bool:
        return len(self.labels) == 1 and self.labels[0].name == ONLY_LABEL and self.labels[0].each is None

    def rules_of(self, kind: RuleKind) -> tuple[FileRule, ...]:
        """Returns the rules of one kind, in their order."""
        return tuple(rule for rule in self.rules if rule.kind == kind)

    def input(self, name: str) -> Input:
        """Returns the input of this name, which must exist."""
        return next(known for known in self.inputs if known.name == name)

    @property
    def called(self) -> frozenset[str]:
        """The functions that its rules call."""
        expressions = [part for rule in self.rules for part in (rule.expression, rule.when) if part is not None]
        return frozenset[str]().union(*(expression.functions for expression in expressions))


def label_names(definition_labels: tuple[Label, ...], has_one: bool) -> dict[str, Type]:
    """Returns what rules can name once there are labels, with types."""
    names: dict[str, Type] = {}
    quotes, reasons, scores = {}, {}, {}
    for label in definition_labels:
        score = DOUBLE.or_null()
        if label.each is not None:
            fields = {"item": INT, "label": label.value_type, "reason": STRING, "quote": STRING, "score": score}
            names[label.name] = list_of(Type("map", DYN, fields=fields))
            continue
        names[label.name] = label.value_type
        if label.kind != "text":
            quotes[label.name], reasons[label.name], scores[label.name] = STRING, STRING, score
    known = {"quotes": quotes, "reasons": reasons, "scores": scores}
    names |= {name: Type("map", STRING if name != "scores" else DOUBLE, fields=of) for name, of in known.items() if of}
    if has_one and definition_labels and definition_labels[0].kind != "text":
        names |= {"quote": STRING, "reason": STRING}
    return names
