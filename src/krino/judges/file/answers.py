"""What a labeller said, label by label, and the checks that hold it against the case."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from krino.judges.file.cel import RuleFault, StepBudget
from krino.judges.file.cel.operators import truth
from krino.judges.file.definition import TIE, Definition, Label
from krino.judges.file.facts import Fact, FileFacts, as_text, count_items
from krino.text.clean import cut
from krino.text.forms import is_blank, locate
from krino.text.quoting import TOO_LITTLE, is_whole, says_too_little

_SHOWN = 80


@dataclass(frozen=True, slots=True)
class LabelAnswer:
    """One label. `fact`: a rule gave it, and nobody was asked."""

    value: Any
    reason: str = ""
    quote: str = ""
    item: int = 0
    fact: Fact | None = None
    has_turned: bool | None = None
    """Of a comparison: whether the other order got another label; None where one order was asked."""


Answers = Mapping[str, LabelAnswer | Sequence[LabelAnswer]]


def read_answers(definition: Definition, facts: FileFacts, labels: BaseModel | None) -> dict[str, Any]:
    """Returns the answer to each label by its name, or a list of them if the label is given for each item.

    What a fact decided goes before what was said; a label that neither gives is left out.
    """
    found: dict[str, Any] = {}
    for label in definition.labels:
        if label.name in facts.sets:
            fact = facts.sets[label.name]
            found[label.name] = LabelAnswer(fact.value, fact.message, fact=fact)
        elif labels is not None:
            given = labels if definition.has_one_label else getattr(labels, label.name)
            found[label.name] = _compared(given) if definition.compare else _read_label(label, given)
    return found


def _compared(given: Any) -> LabelAnswer:
    """A label that turned with the order is a tie."""
    other = given.other_order
    turned = None if other is None else other != given.label
    return LabelAnswer(TIE if turned else given.label, given.reason, given.quote, has_turned=turned)


def _read_label(label: Label, given: Any) -> LabelAnswer | list[LabelAnswer]:
    """Returns the answer that a label holds, or the list of answers if it is given for each item."""
    if label.kind == "text":
        return LabelAnswer(getattr(given, label.name) if isinstance(given, BaseModel) else given)
    if label.each is not None:
        return sorted((_one(item) for item in given), key=lambda answer: answer.item)
    return _one(given)


def _one(given: Any) -> LabelAnswer:
    return LabelAnswer(given.label, given.reason, getattr(given, "quote", ""), getattr(given, "item", 0))


def values_of(definition: Definition, answers: Answers) -> dict[str, Any]:
    """Returns what rules see of the answers: values by label, and their quotes, reasons and scores."""
    values: dict[str, Any] = {}
    quotes, reasons, scores = {}, {}, {}
    for label in definition.labels:
        answer = answers.get(label.name)
        if answer is None:
            continue
        if isinstance(answer, LabelAnswer):
            values[label.name] = answer.value
            quotes[label.name], reasons[label.name] = answer.quote, answer.reason
            scores[label.name] = label.score_of(answer.value)
        else:
            values[label.name] = [
                {
                    "item": one.item,
                    "label": one.value,
                    "reason": one.reason,
                    "quote": one.quote,
                    "score": label.score_of(one.value),
                }
                for one in answer
            ]
    values |= {"quotes": quotes, "reasons": reasons, "scores": scores}
    if definition.has_one_label and values.keys() & {definition.labels[0].name}:
        name = definition.labels[0].name
        values |= {"quote": quotes[name], "reason": reasons[name]}
    return values


# --- checks ------------------------------------------------------------------------------------------


def check(definition: Definition, facts: FileFacts, labels: BaseModel) -> list[str]:
    """Returns everything that is wrong with the labels of a case; the rules of the file are asked last."""
    answers = read_answers(definition, facts, labels)
    problems: list[str] = []
    for label in definition.labels:
        answer = answers[label.name]
        where = "" if definition.has_one_label else f"{label.name}."
        if label.kind == "text":
            if not label.is_nullable and is_blank(answer.value):
                problems.append(f"{label.name} is empty")
        elif isinstance(answer, LabelAnswer):
            problems += _check_parts(definition, label, answer, facts, where) if answer.fact is None else ()
        else:
            problems += _check_cover(label, answer, facts)
            for one in answer:
                problems += _check_parts(definition, label, one, facts, f"{label.name}[item {one.item}].")
    return problems or _check_rules(definition, facts, answers)


def _check_parts(
    definition: Definition, label: Label, answer: LabelAnswer, facts: FileFacts, where: str
) -> Iterator[str]:
    """Yields what is wrong with reason, value and quote of one answer."""
    if is_blank(answer.reason):
        yield f"{where}reason is empty"
    if not label.quote_from:
        return
    if label.has_several and answer.value is not None and len(set(answer.value)) < len(answer.value):
        yield f"{where}label lists a value twice"
    if is_blank(answer.quote):
        if label.needs_quote(answer.value):
            yield f"{where}quote is empty; copy the words that show it"
        return
    sources = [text for name in label.quote_from for text in texts_of(facts.values.get(name))]
    named = " or ".join(f"`{definition.shown_name(name)}`" for name in label.quote_from)
    places = [(text, place) for text in sources if (place := locate(answer.quote, text)) is not None]
    shown = cut(answer.quote, _SHOWN)
    if not places:
        yield f"{where}quote {shown!r} does not occur in {named}; copy words from there exactly, in one piece"
    elif not any(is_whole(text, *place) for text, place in places):
        yield f"{where}quote {shown!r} cuts a word or a number; copy whole words"
    elif all(says_too_little(text[place[0] : place[1]], text) for text, place in places):
        yield f"{where}quote {shown!r} {TOO_LITTLE}"


def texts_of(value: Any) -> list[str]:
    """Returns the texts of an input, as they are shown and quoted: its pieces, its messages, or the whole."""
    if value is None:
        return []
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return value
    is_conversation = isinstance(value, list) and all(isinstance(item, dict) and "turn" in item for item in value)
    return [item["text"] for item in value] if is_conversation else [as_text(value)]


def _check_cover(label: Label, answers: Sequence[LabelAnswer], facts: FileFacts) -> Iterator[str]:
    """Yields what is wrong with the items of a label: every item of the list must have exactly one entry."""
    count = count_items(facts.values[label.each or ""])
    given = Counter(answer.item for answer in answers)
    if missing := [number for number in range(1, count + 1) if number not in given]:
        yield f"{label.name}: no entry for item {', '.join(map(str, missing[:20]))} of `{label.each}`"
    if unknown := sorted(number for number in given if number > count):
        yield f"{label.name}: there is no item {', '.join(map(str, unknown[:20]))}; `{label.each}` has {count}"
    if twice := sorted(number for number, times in given.items() if times > 1):
        yield f"{label.name}: item {', '.join(map(str, twice[:20]))} has more than one entry"


def _check_rules(definition: Definition, facts: FileFacts, answers: Answers) -> list[str]:
    """Returns the messages of the `check` rules that these labels break."""
    problems = []
    budget = StepBudget({**facts.values, **values_of(definition, answers)})
    for rule in definition.rules_of("check"):
        try:
            if rule.when is not None and not truth(rule.when.value(budget)):
                continue
            if not truth(rule.expression.value(budget)):
                problems.append(f"{rule.message} ({rule.id})")
        except RuleFault as fault:
            problems.append(f"the rule {rule.id} has no value for these labels: {fault}")
    return problems
