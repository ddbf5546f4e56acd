"""Reads `outputs`: the fields of the verdict; where they are not stated, they follow from the labels."""

from __future__ import annotations

from krino.judges.file.definition import ONLY_LABEL, TIE, Label, Output, OutputKind
from krino.judges.file.front_matter import Value
from krino.judges.file.values import Reader, is_scalar
from krino.text.guessing import did_you_mean

_KEYS = ("type", "range", "values", "about")
_KINDS: tuple[OutputKind, ...] = ("number", "text", "boolean", "list")
SCORE = "score"
REASON = "reason"
QUOTE = "quote"
WINNER, POSITION, LONGER = "winner", "position_bias", "longer_won"
"""Outputs of a comparison."""


def read_outputs(
    reader: Reader, values: Value, labels: tuple[Label, ...], compare: tuple[str, ...] = ()
) -> tuple[Output, ...]:
    """Reads the outputs, or takes those that follow from the labels."""
    usual = outputs_of_comparison(compare) if compare else usual_outputs(labels)
    stated = values.data.get("outputs")
    if stated is None or stated.data is None:
        return tuple(usual.values()) or (Output(SCORE, "number"),)
    if stated.is_list:
        named = dict.fromkeys(reader.names(values, "outputs"), Value(None, stated.place))
    else:
        named = reader.mapping(values, "outputs", "outputs: {score: {range: [0, 1]}}")
    found = []
    for name, value in named.items():
        if reader.is_name(name, stated.keys.get(name, stated.place), "an output"):
            found.append(_read_output(reader, name, value, usual))
    if not found:
        reader.problem(stated.place, "`outputs` names nothing; leave it out, or write `outputs: [score]`")
    return tuple(found)


def outputs_of_comparison(compare: tuple[str, ...]) -> dict[str, Output]:
    """Returns the outputs of a comparison by name.

    They are who won, what that is worth to the first of the two, and what may have decided it that should not.
    """
    outputs = (
        Output(WINNER, "choice", choices=(*compare, TIE), about="The better one; a label that turned is a tie."),
        Output(SCORE, "number", 0.0, 1.0, about=f"1 if {compare[0]} won, 0.5 for a tie, 0 if it lost."),
        Output(POSITION, "boolean", about="Whether the label turned with the order in which the two were shown."),
        Output(LONGER, "boolean", about="Whether the longer one won; null for a tie."),
        Output(REASON, "text"),
    )
    return {output.name: output for output in outputs}


def usual_outputs(labels: tuple[Label, ...]) -> dict[str, Output]:
    """Returns the outputs that follow from labels, by name.

    They are a field for each label, the score of the chosen values, and the reason if there is one label.
    """
    found: dict[str, Output] = {}
    for label in labels:
        name = SCORE if label.name == ONLY_LABEL and label.kind == "number" and label.each is None else label.name
        found[name] = _make_output(name, label)
    scored = [choice.score for label in labels for choice in label.choices if choice.score is not None]
    if scored and SCORE not in found:
        low, high = min(scored), max(scored)
        found[SCORE] = Output(SCORE, "number", *((low, high) if low < high else (None, None)))
    if len(labels) == 1 and labels[0].name == ONLY_LABEL and labels[0].kind != "text" and labels[0].each is None:
        found[REASON] = Output(REASON, "text")
    return found


def _make_output(name: str, label: Label) -> Output:
    """Returns the output that shows a label, under another name if it is given."""
    if label.kind == "choice":
        one = Output(name, "choice", choices=tuple(choice.value for choice in label.choices), about=label.about)
        one = Output(name, "list", item=one, about=label.about) if label.has_several else one
    elif label.kind == "number":
        one = Output(name, "number", label.low, label.high, is_whole=label.is_whole, about=label.about)
    else:
        one = Output(name, "text", about=label.about)
    return Output(name, "list", item=one, about=label.about) if label.each is not None else one


def _read_output(reader: Reader, name: str, value: Value, usual: dict[str, Output]) -> Output:
    """Reads one output; what is not stated is as usual for its name."""
    known = usual.get(name) or (Output(name, "text") if name in (REASON, QUOTE) else Output(name, "number"))
    if value.data is None:
        return known
    if is_scalar(value):
        return Output(name, _find_kind(reader, value), about=known.about)
    if value.is_list:
        return Output(name, "choice", choices=tuple(item.raw for item in value.data if is_scalar(item)))
    reader.refuse_unknown(value, _KEYS, f"the output `{name}`")
    about = reader.text_of(value, "about", known.about)
    if "values" in value.data:
        return Output(name, "choice", choices=reader.names(value, "values"), about=about)
    if "range" in value.data:
        low, high, _ = reader.range_of(value.data["range"]) or (0.0, 1.0, False)
        return Output(name, "number", low, high, about=about)
    if "type" in value.data:
        return Output(name, _find_kind(reader, value.data["type"]), about=about)
    return Output(name, known.kind, known.low, known.high, known.choices, True, about, known.is_whole, known.item)


def _find_kind(reader: Reader, value: Value) -> OutputKind:
    """Returns the type that a word names; an unknown one is noted as a mistake and read as a number."""
    for kind in _KINDS:
        if kind == value.raw:
            return kind
    reader.problem(
        value.place, f"there is no type `{value.raw}`{did_you_mean(value.raw, _KINDS)}; there are {', '.join(_KINDS)}"
    )
    return "number"
