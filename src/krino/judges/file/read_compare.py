"""Reads `compare`: the two inputs to choose the better one from."""

from __future__ import annotations

from krino.judges.file.definition import ONLY_LABEL, PLACES, TIE, Choice, Input, Label
from krino.judges.file.front_matter import Value
from krino.judges.file.values import Reader
from krino.text.guessing import did_you_mean

_CHOICES = (
    Choice(PLACES[0], 1.0, f"`{PLACES[0]}` is better"),
    Choice(PLACES[1], 0.0, f"`{PLACES[1]}` is better"),
    Choice(TIE, 0.5, "neither is better than the other", needs_quote=False),
)


def read_compare(reader: Reader, values: Value, inputs: tuple[Input, ...]) -> tuple[str, ...]:
    """Returns the names of the two inputs to compare; empty where nothing is compared, or `compare` is wrong."""
    stated = values.data.get("compare")
    if stated is None or stated.data is None:
        return ()
    names = reader.names(values, "compare")
    known = [item.name for item in inputs if item.kind == "text" and item.required and item.is_shown]
    if len(names) != 2 or names[0] == names[1]:
        reader.problem(stated.place, "`compare` names two inputs; write `compare: [answer_a, answer_b]`")
        return ()
    for name in names:
        if name not in known:
            reader.problem(
                stated.place,
                f"`compare` names `{name}`{did_you_mean(name, known)}, which is no required text of the prompt; "
                f"there are {', '.join(known) or 'none'}",
            )
            return ()
    if "labels" in values.data:
        reader.problem(
            values.keys["labels"],
            "a comparison has one label (`first`, `second`, `tie`); leave out `labels`: the prompt says what counts",
        )
    return names


def comparing_label(compare: tuple[str, ...], inputs: tuple[Input, ...]) -> tuple[Label, ...]:
    """Returns the one label of a comparison.

    `first` and `second` are places in the order that is shown; the verdict names the inputs.
    """
    return (Label(ONLY_LABEL, "choice", _CHOICES, quote_from=compare, about="Which of the two is better."),)
