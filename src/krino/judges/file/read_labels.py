"""Reads `labels`: what a labeller may say, and what each value is worth."""

from __future__ import annotations

from krino.judges.file.definition import ONLY_LABEL, Choice, Input, Label
from krino.judges.file.front_matter import Value
from krino.judges.file.problems import Place
from krino.judges.file.values import Reader, is_scalar
from krino.text.guessing import did_you_mean

_KEYS = ("values", "range", "type", "nullable", "several", "quote_from", "each", "about")
_MARKS = frozenset({"values", "range", "type", "each", "quote_from", "nullable", "several"})
"""Keys of a label, none of which is likely to be a value that a label may have."""
_CHOICE_KEYS = frozenset({"score", "about", "quote"})
_EXAMPLE = "labels: {polite: 1, rude: 0}"
_MOST_LABELS, _MOST_CHOICES = 50, 100
NO_QUOTE = "none"
TURN = "turn"
"""In place of the name of the one input that is a conversation."""
RESERVED = frozenset({"quotes", "reasons", "scores", "item", "reason", "quote", "id", "metadata"})


def read_labels(reader: Reader, values: Value, inputs: tuple[Input, ...]) -> tuple[Label, ...]:
    """Reads all labels, notes mistakes, and warns of what is left vague.

    The keys may be names of labels, or the values of one label.
    """
    stated = values.data.get("labels")
    if stated is None or stated.data is None:
        return ()
    if is_scalar(stated):
        reader.problem(stated.place, f"`labels` must say which values there are; write `{_EXAMPLE}`")
        return ()
    if stated.is_list or _is_one_label(stated):
        found = [_read_label(reader, ONLY_LABEL, stated, stated.place, inputs)]
    else:
        named = stated.data.items()
        found = [_read_label(reader, name, value, stated.keys[name], inputs) for name, value in named]
    if len(found) > _MOST_LABELS:
        reader.problem(stated.place, f"more than {_MOST_LABELS} labels")
    for label in found:
        if label.name in {known.name for known in inputs}:
            reader.problem(label.place, f"`{label.name}` is an input and a label; call one of them otherwise")
        if label.name in RESERVED:
            reader.problem(label.place, f"no label can be called `{label.name}`: rules use that name")
        _warn_of_vague(reader, label)
    return tuple(found)


def _is_one_label(stated: Value) -> bool:
    """Are the keys values of one label, or words that describe one? Otherwise they are names of labels."""
    if _MARKS & stated.data.keys():
        return True
    inner = stated.data.values()
    described = [value for value in inner if value.is_mapping and _CHOICE_KEYS & value.data.keys()]
    choices = [value for value in described if not _MARKS & value.data.keys()]
    named = [value for value in inner if not is_scalar(value) and value not in choices]
    return not named and not (len(stated.data) == 1 and next(iter(inner)).data == "text")


def _read_label(reader: Reader, name: str, value: Value, place: Place, inputs: tuple[Input, ...]) -> Label:
    """Reads one label: a choice, a number or free text. Mistakes are noted."""
    reader.is_name(name, place, "a label")
    if is_scalar(value):
        if value.data != "text":
            reader.problem(value.place, f"write `{name}: {{good: 1, bad: 0}}`, or `{name}: text` for free text")
        return Label(name, "text", place=place)
    marked = value.is_mapping and bool(_MARKS & value.data.keys())
    if not marked:
        choices = _read_choices(reader, value, name)
        return Label(name, "choice", choices, quote_from=_all_texts(inputs), place=place)
    reader.refuse_unknown(value, _KEYS, f"the label `{name}`")
    kind = value.data.get("type")
    about = reader.text_of(value, "about", "")
    if kind is not None:
        if kind.data != "text":
            reader.problem(kind.place, "`type` of a label can be `text` only; a number has a `range`")
        return Label(name, "text", is_nullable=reader.yes_or_no(value, "nullable", False), about=about, place=place)
    shared = {
        "is_nullable": reader.yes_or_no(value, "nullable", False),
        "quote_from": _find_quote_sources(reader, value, inputs),
        "each": _find_each(reader, value, inputs),
        "has_several": reader.yes_or_no(value, "several", False),
        "about": about,
        "place": place,
    }
    if ("values" in value.data) == ("range" in value.data):
        reader.problem(place, f"the label `{name}` needs `values` or a `range`, and not both")
        return Label(name, "choice", (Choice("?"),), **shared)  # type: ignore[arg-type]
    if "range" in value.data:
        if shared["has_several"]:
            reader.problem(place, f"`{name}` is a number, and `several` is for words")
        low, high, is_whole = reader.range_of(value.data["range"]) or (0.0, 1.0, False)
        return Label(name, "number", (), low, high, is_whole, **shared)  # type: ignore[arg-type]
    return Label(name, "choice", _read_choices(reader, value.data["values"], name), **shared)  # type: ignore[arg-type]


def _read_choices(reader: Reader, value: Value, name: str) -> tuple[Choice, ...]:
    """Reads the values of a choice, at least two different ones; mistakes are noted."""
    found: list[Choice] = []
    if is_scalar(value):
        reader.problem(value.place, f"`values` of `{name}` must be a list or a mapping; write `[good, bad]`")
    elif value.is_list:
        for item in value.data:
            if not is_scalar(item) or item.data is None:
                reader.problem(item.place, f"a value of `{name}` must be a word")
            else:
                found.append(Choice(item.raw))
    else:
        found = [_read_choice(reader, word, inner) for word, inner in value.data.items()]
    words = [choice.value.strip().casefold() for choice in found]
    if len(set(words)) < len(words):
        reader.problem(value.place, f"two values of `{name}` are the same but for capitals or spaces")
    if any(not word for word in words):
        reader.problem(value.place, f"a value of `{name}` is empty")
    if len(found) < 2:
        reader.problem(value.place, f"`{name}` needs at least two values; write `{_EXAMPLE}`")
    if len(found) > _MOST_CHOICES:
        reader.problem(value.place, f"`{name}` has more than {_MOST_CHOICES} values")
    return tuple(found) or (Choice("?"),)


def _read_choice(reader: Reader, word: str, value: Value) -> Choice:
    """Reads one value of a choice: its score, its description, and whether it needs a quote."""
    if value.data is None:
        return Choice(word)
    if value.is_number:
        return Choice(word, float(value.data))
    if isinstance(value.data, str):
        return Choice(word, about=value.data.strip())
    if not value.is_mapping:
        reader.problem(
            value.place, f"write `{word}: 1`, `{word}: what it means`, or `{word}: {{score: 1, about: ...}}`"
        )
        return Choice(word)
    reader.refuse_unknown(value, sorted(_CHOICE_KEYS), f"the value `{word}`")
    score = value.data.get("score")
    if score is not None and score.data is not None and not score.is_number:
        reader.problem(score.place, "`score` must be a number")
        score = None
    worth = None if score is None or score.data is None else float(score.data)
    return Choice(word, worth, reader.text_of(value, "about", ""), reader.yes_or_no(value, "quote", True))


def _all_texts(inputs: tuple[Input, ...]) -> tuple[str, ...]:
    kinds = ("text", "list", "json", "messages")
    return tuple(known.name for known in inputs if known.kind in kinds and known.is_shown)


def _find_each(reader: Reader, value: Value, inputs: tuple[Input, ...]) -> str | None:
    """Returns the list for each of whose items the label is given, or None; another name is noted as a mistake."""
    stated = value.data.get("each")
    if stated is None:
        return None
    lists = [known.name for known in inputs if known.kind in ("list", "messages")]
    conversations = [known.name for known in inputs if known.kind == "messages"]
    if stated.raw == TURN and TURN not in lists and len(conversations) == 1:
        return conversations[0]
    if stated.raw not in lists:
        there = f"there are {', '.join(lists)}" if lists else "none is; write `inputs: {steps: list}`"
        reader.problem(
            stated.place, f"`each` must name an input that is a list{did_you_mean(stated.raw, lists)}; {there}"
        )
        return None
    return str(stated.raw)


def _find_quote_sources(reader: Reader, value: Value, inputs: tuple[Input, ...]) -> tuple[str, ...]:
    """Returns the inputs that a quote may come from: by default any that is shown, also for a label of each item of a
    list; none if it says so."""
    stated = value.data.get("quote_from")
    if stated is None:
        return _all_texts(inputs)
    names = reader.names(value, "quote_from")
    if names == (NO_QUOTE,):
        return ()
    known = _all_texts(inputs)
    for name in names:
        if name not in known:
            there = ", ".join((*known, NO_QUOTE))
            reader.problem(stated.place, f"`quote_from` names `{name}`{did_you_mean(name, known)}; there are {there}")
    return tuple(name for name in names if name in known)


def _warn_of_vague(reader: Reader, label: Label) -> None:
    """Warns of values without a description or with a TODO: what a model must guess, two models guess differently."""
    if label.kind == "number" and not label.about:
        reader.warn(label.place, f"`{label.name}` is a number without `about`: say what its ends mean")
    if "TODO" in label.about:
        reader.warn(label.place, f"`{label.name}` still has a TODO")
    if label.kind != "choice" or label.about:
        return
    bare = [choice.value for choice in label.choices if not choice.about]
    if len(label.choices) > 2 and bare:
        reader.warn(
            label.place,
            f"{', '.join(map(repr, bare[:5]))} of `{label.name}` ha{'s' if len(bare) == 1 else 've'} no description: "
            "say when each holds (`value: {score: 1, about: ...}`), or models will draw the line differently",
        )
    if any("TODO" in choice.about for choice in label.choices):
        reader.warn(label.place, f"`{label.name}` still has a TODO")
        return
    about = [choice.about.casefold() for choice in label.choices if choice.about]
    if len(set(about)) < len(about):
        reader.warn(label.place, f"two values of `{label.name}` have the same description")
