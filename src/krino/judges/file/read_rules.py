"""Reads `rules`: small expressions, each with an id and a message."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from krino.judges.file.cel import BOOL, DOUBLE, ExpressionProblem, Type, compile_expression
from krino.judges.file.cel import Expression as Compiled
from krino.judges.file.cel.functions import FUNCTIONS, Function
from krino.judges.file.cel.types import fits as is_of_type
from krino.judges.file.definition import ONLY_LABEL, FileRule, Input, Label, Output, RuleKind, label_names
from krino.judges.file.front_matter import Value
from krino.judges.file.json_schemas import schema_function
from krino.judges.file.problems import Place
from krino.judges.file.read_outputs import LONGER, POSITION, QUOTE, REASON, SCORE, WINNER
from krino.judges.file.values import NAME, Reader, is_scalar
from krino.text.guessing import did_you_mean

KINDS: tuple[RuleKind, ...] = get_args(RuleKind)
OURS = {
    "LABEL": "The labeller chose this value from the list in the judge's file; its quotation was found in the text.",
    "TABLE": "The score that the judge's file gives to the chosen values; of several labels their mean.",
    "FREE-TEXT": "The labeller wrote this as it liked: nothing checks it.",
    "NO-VALUE": "No rule and no label gave a value.",
    "TURNED": "Of two that are compared: the label turned with the order in which they were shown, so it is a tie.",
    "BOTH-ORDERS": "Of two that are compared: both orders were asked, and the labels held against each other.",
    "LENGTH": "Of two that are compared: whether the one that won has more words than the other.",
}
"""Rules that every judge has. Their ids cannot be given to others."""
_KEYS: Mapping[RuleKind, tuple[str, ...]] = {
    "refuse": ("refuse", "message"),
    "fact": ("fact", "set", "message"),
    "check": ("check", "message", "when"),
    "score": ("score", "of", "when", "message"),
    "cap": ("cap", "to", "of", "message"),
}
_MOST_RULES = 100
_EXAMPLE = 'rules: {EMPTY: {fact: "is_blank(text)", set: {label: rude}, message: It is empty.}}'


def read_rules(
    reader: Reader, values: Value, inputs: tuple[Input, ...], labels: tuple[Label, ...], outputs: tuple[Output, ...]
) -> tuple[FileRule, ...]:
    """Reads all rules, and notes outputs that get no value."""
    functions = {**FUNCTIONS, **schema_function(reader, values)}
    stated = values.data.get("rules")
    if stated is None or stated.data is None:
        _check_sources(reader, values, labels, outputs, ())
        return ()
    rules = _RuleReader(reader, inputs, labels, outputs, functions)
    found = []
    for name, value in reader.mapping(values, "rules", _EXAMPLE).items():
        rule = rules.read(name, value, stated.keys[name])
        if rule is not None:
            found.append(rule)
    if len(found) > _MOST_RULES:
        reader.problem(stated.place, f"more than {_MOST_RULES} rules")
    _check_sources(reader, values, labels, outputs, tuple(found))
    return tuple(found)


class _RuleReader:
    def __init__(
        self,
        reader: Reader,
        inputs: tuple[Input, ...],
        labels: tuple[Label, ...],
        outputs: tuple[Output, ...],
        functions: Mapping[str, Function],
    ) -> None:
        """Notes which names each kind of rule can use: inputs, then labels, then outputs."""
        self._reader = reader
        self._labels = labels
        self._outputs = outputs
        self._functions = functions
        self._before = {known.name: known.type for known in inputs}
        one = len(labels) == 1 and labels[0].name == ONLY_LABEL and labels[0].each is None
        self._labelled = label_names(labels, one) | self._before
        self._scored = {known.name: known.type for known in outputs} | self._labelled

    def read(self, name: str, value: Value, place: Place) -> FileRule | None:
        """Reads one rule (kind, expression, message, effect), or returns None if it cannot be used.

        Mistakes are noted.
        """
        reader = self._reader
        if not value.is_mapping:
            reader.problem(value.place, f"the rule `{name}` must say what it does; write `{_EXAMPLE}`")
            return None
        kinds = [kind for kind in KINDS if kind in value.data]
        if len(kinds) != 1:
            near = next((did_you_mean(word, KINDS) for word in value.data if did_you_mean(word, KINDS)), "")
            reader.problem(place, f"the rule `{name}` must have one of {', '.join(KINDS)}{near}")
            return None
        kind = kinds[0]
        reader.refuse_unknown(value, _KEYS[kind], f"a rule that is a {kind}")
        if name in OURS or not NAME.fullmatch(name.replace("-", "_").replace(".", "_")):
            reader.problem(place, f"no rule can be called {name!r:.80}; write a short name of letters, digits and `-`")
        names = {"refuse": self._before, "fact": self._before, "check": self._labelled}.get(kind, self._scored)
        wanted = DOUBLE if kind == "score" else BOOL
        of = self._find_output(value, kind)
        if kind == "score" and of is not None:
            wanted = of.type
        expression = self._compile(value.data[kind], names, wanted, f"`{kind}`")
        message = self._read_message(name, value, place, kind)
        when = self._compile(value.data["when"], names, BOOL, "`when`") if "when" in value.data else None
        sets = self._read_set(value, place) if kind == "fact" else {}
        to = self._read_limit(value, place) if kind == "cap" else 0.0
        if expression is None:
            return None
        return FileRule(name, kind, expression, message, when, of.name if of else SCORE, to, sets)

    def _compile(self, value: Value, names: Mapping[str, Type], wanted: Type, what: str) -> Compiled | None:
        """Compiles an expression.

        Returns None, and notes why, if it is wrong; another type than the wanted one is noted too.
        """
        if not is_scalar(value) or value.data is None:
            self._reader.problem(value.place, f"{what} must be an expression; put it between quotation marks")
            return None
        try:
            made = compile_expression(value.raw, names, self._functions)
        except ExpressionProblem as problem:
            self._reader.problem(value.at(problem.offset), problem.message)
            return None
        if not is_of_type(made.type, wanted):
            self._reader.problem(value.place, f"{what} must give {wanted.in_words()}, and gives {made.type.in_words()}")
        return made

    def _read_message(self, name: str, value: Value, place: Place, kind: RuleKind) -> str:
        """Returns the rule's message, by default its expression; rules that refuse or check must have one."""
        message = self._reader.text_of(value, "message", "")
        if not message and "message" not in value.data and kind in ("refuse", "check"):
            self._reader.problem(
                place, f"the rule `{name}` needs a `message`: it is what a labeller or a reader is shown"
            )
        return message or f"{kind}: {value.data[kind].raw.strip()[:300]}"

    def _find_output(self, value: Value, kind: RuleKind) -> Output | None:
        """Returns the output that a score or cap is for, or None; an unknown one is noted as a mistake."""
        if kind not in ("score", "cap"):
            return None
        stated = value.data.get("of")
        name = SCORE if stated is None else stated.raw
        place = value.place if stated is None else stated.place
        known = [output.name for output in self._outputs]
        for output in self._outputs:
            if output.name == name:
                if kind == "cap" and output.kind != "number":
                    self._reader.problem(place, f"`{name}` is no number, so nothing caps it")
                return output
        self._reader.problem(
            place, f"there is no output `{name}`{did_you_mean(name, known)}; there are {', '.join(known)}"
        )
        return None

    def _read_limit(self, value: Value, place: Place) -> float:
        """Returns the limit of a cap; 0, and a problem, if it is no number."""
        to = value.data.get("to")
        if to is None or not to.is_number:
            self._reader.problem(place if to is None else to.place, "a cap needs `to: NUMBER`")
            return 0.0
        return float(to.data)

    def _read_set(self, value: Value, place: Place) -> dict[str, Any]:
        """Reads which values a fact sets, by label or output.

        Names and values that do not fit are noted as mistakes.
        """
        found: dict[str, Any] = {}
        for name, given in self._reader.mapping(value, "set", "set: {score: 0}").items():
            label = next((label for label in self._labels if label.name == name and label.each is None), None)
            output = next((output for output in self._outputs if output.name == name), None)
            known = [*dict.fromkeys([*(item.name for item in self._labels), *(item.name for item in self._outputs)])]
            if label is not None and label.kind == "choice":
                choices = tuple(choice.value for choice in label.choices)
                read = self._read_choices if label.has_several else self._read_choice
                found[name] = read(given, choices)
            elif output is None and label is None:
                self._reader.problem(
                    value.data["set"].keys[name],
                    f"there is no label or output `{name}`{did_you_mean(name, known)}; there are {', '.join(known)}",
                )
            else:
                found[name] = self._read_value(name, given, output, label)
        if not value.data.get("set") or not value.data["set"].data:
            self._reader.problem(place, "a fact needs `set`; write `set: {label: rude}` or `set: {score: 0}`")
        return found

    def _read_value(self, name: str, given: Value, output: Output | None, label: Label | None) -> Any:
        """Returns the value that a fact sets; one that does not fit the label or output is noted as a mistake."""
        if given.data is None:
            return None
        kind = output.kind if output is not None else "number" if label and label.kind == "number" else "text"
        if output is not None and output.kind == "choice":
            return self._read_choice(given, output.choices)
        if kind == "text" and is_scalar(given):
            return given.raw
        fits = {
            "number": given.is_number,
            "boolean": isinstance(given.data, bool),
            "list": given.is_list,
        }
        if not fits.get(kind, False):
            self._reader.problem(given.place, f"`{name}` must be a {kind}")
            return None
        if given.is_number and output is not None and not _is_inside(given.data, output):
            self._reader.problem(given.place, f"`{name}` goes from {output.low:g} to {output.high:g}")
        return given.plain()

    def _read_choice(self, given: Value, choices: tuple[str, ...]) -> str | None:
        """Returns one of the choices, or null; another value is noted as a mistake."""
        if given.data is None:
            return None
        if not is_scalar(given) or given.raw not in choices:
            shown = given.raw if is_scalar(given) else "a list" if given.is_list else "a mapping"
            self._reader.problem(
                given.place, f"`{shown}` is none of the values{did_you_mean(shown, choices)}: {', '.join(choices)}"
            )
        return given.raw

    def _read_choices(self, given: Value, choices: tuple[str, ...]) -> list[str | None] | None:
        """Returns a list of the choices, or null. A single choice may be written without brackets."""
        if given.data is None:
            return None
        stated = given.data if given.is_list else [given]
        found = [self._read_choice(one, choices) for one in stated]
        if None in found:
            self._reader.problem(given.place, f"null is none of the values: {', '.join(choices)}")
        elif len(set(found)) < len(found):
            self._reader.problem(given.place, "a value is listed twice")
        return found


def _is_inside(number: float, output: Output) -> bool:
    return (output.low is None or number >= output.low) and (output.high is None or number <= output.high)


def _check_sources(
    reader: Reader, values: Value, labels: tuple[Label, ...], outputs: tuple[Output, ...], rules: tuple[FileRule, ...]
) -> None:
    """Notes outputs that neither a label nor a rule gives a value: they would be null in every verdict."""
    scored = any(label.has_scores for label in labels)
    one = len(labels) == 1 and labels[0].name == ONLY_LABEL and labels[0].each is None and labels[0].kind != "text"
    given = {label.name for label in labels} | ({REASON, QUOTE} if one else set())
    if scored or (one and labels[0].kind == "number"):
        given.add(SCORE)
    if "compare" in values.data:
        given |= {WINNER, POSITION, LONGER, SCORE}
    by_rules = {rule.of for rule in rules if rule.kind == "score"} | {name for rule in rules for name in rule.sets}
    stated = values.data.get("outputs")
    for output in outputs:
        if output.name in given or output.name in by_rules:
            continue
        place = Place(2, 1) if stated is None else stated.keys.get(output.name, stated.place)
        if stated is not None or rules:
            reader.problem(
                place,
                f"nothing gives `{output.name}` a value; write a rule `{{score: EXPRESSION, of: {output.name}}}`, or "
                "give the labels scores",
            )
