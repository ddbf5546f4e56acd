"""Computes the verdict of a judge in a file from facts, labels and rules: facts win, then labels, then `score` rules,
and `cap` rules last."""

from __future__ import annotations

import math
from typing import Any

from pydantic import BaseModel

from krino.contract import Ruling, Settlement
from krino.errors import CannotJudge
from krino.judges.file.answers import LabelAnswer, read_answers, values_of
from krino.judges.file.cel import StepBudget
from krino.judges.file.definition import ONLY_LABEL, PLACES, TIE, Definition, FileRule, Label, Output
from krino.judges.file.facts import FileFacts, applies, evaluate
from krino.judges.file.read_outputs import LONGER, POSITION, QUOTE, REASON, SCORE, WINNER
from krino.text.clean import cut

_LONGEST_EVIDENCE = 500
_NOTHING = Ruling(None, "NO-VALUE", (), False)


def settle(definition: Definition, facts: FileFacts, labels: BaseModel | None) -> Settlement:
    """Returns the rulings on all outputs: facts and labels first, then `score` rules, then caps.

    A rule that uses an answer that is missing is left out; so is a `score` rule whose output is decided.
    """
    answers = read_answers(definition, facts, labels)
    known = {**facts.values, **values_of(definition, answers)}
    of_labels = frozenset(known) - facts.values.keys() if labels is not None else frozenset[str]()
    rulings = {output.name: _make_first_ruling(definition, output, answers, facts) for output in definition.outputs}
    budget = StepBudget(known | {name: ruling.value for name, ruling in rulings.items() if name not in known})
    of_labels |= {name for name, ruling in rulings.items() if ruling.from_labels}
    outputs = {output.name: output for output in definition.outputs}
    absent = _absent(definition, answers)
    computed: set[str] = {name for name in rulings if name in facts.sets}
    for rule in definition.rules_of("score"):
        if rule.of in computed or rule.uses(absent) or not applies(rule, budget):
            continue
        computed.add(rule.of)
        value = _check_value(rule, outputs[rule.of], evaluate(rule, budget))
        rulings[rule.of] = Ruling(value, rule.id, (rule.message,), rule.uses(of_labels))
        budget.values[rule.of] = value
        of_labels |= {rule.of} if rulings[rule.of].from_labels else frozenset()
    for rule in definition.rules_of("cap"):
        before = rulings[rule.of]
        if before.value is None or rule.uses(absent):
            continue
        if evaluate(rule, budget) is True and before.value > rule.to:
            note = f"{rule.message} (was {before.value:g})"
            from_labels = bool(before.from_labels) or rule.uses(of_labels)
            rulings[rule.of] = Ruling(rule.to, rule.id, (note, *before.evidence), from_labels)
            budget.values[rule.of] = rule.to
    return Settlement(rulings)


def _absent(definition: Definition, answers: dict[str, Any]) -> frozenset[str]:
    """Where facts closed the case, there may be no labels; rules about these names then have nothing to say."""
    labels = {label.name for label in definition.labels if label.name not in answers}
    return frozenset(labels | {"quotes", "reasons", "scores", QUOTE, REASON}) if labels else frozenset()


def _make_first_ruling(definition: Definition, output: Output, answers: dict[str, Any], facts: FileFacts) -> Ruling:
    """Returns what facts and labels say of an output, before any rule computes."""
    name = output.name
    if name in facts.sets:
        fact = facts.sets[name]
        return Ruling(fact.value, fact.rule, (fact.message,), False)
    if definition.compare and name in (WINNER, SCORE, POSITION, LONGER):
        return _rule_on_comparison(definition, name, answers.get(ONLY_LABEL), facts)
    label = _label_of(definition, name)
    if label is not None:
        return _rule_on_label(label, answers.get(label.name))
    if name == SCORE and any(known.has_scores for known in definition.labels):
        return _rule_by_table(definition, answers)
    if definition.has_one_label and name in (REASON, QUOTE):
        return _rule_on_text(name, answers.get(definition.labels[0].name))
    if name == REASON and facts.sets:
        fact = next(iter(facts.sets.values()))
        return Ruling(fact.message, fact.rule, (), False)
    return _NOTHING


def _rule_on_comparison(definition: Definition, name: str, answer: LabelAnswer | None, facts: FileFacts) -> Ruling:
    """Returns the ruling on one output of a comparison: winner, order, length or score."""
    if answer is None:
        return _NOTHING
    rule = answer.fact.rule if answer.fact else "TURNED" if answer.has_turned else "LABEL"
    by_labels = answer.fact is None
    won = dict(zip((*PLACES, TIE), (*definition.compare, TIE), strict=True)).get(answer.value)
    if name == WINNER:
        return Ruling(won, rule, _evidence(answer), by_labels)
    if name == POSITION:
        return Ruling(answer.has_turned, "BOTH-ORDERS" if answer.has_turned is not None else "NO-VALUE", (), by_labels)
    if name == LONGER:
        return Ruling(_has_longer_won(definition, won, facts), "LENGTH", (), by_labels)
    score = definition.labels[0].score_of(answer.value)
    return Ruling(score, rule if rule != "LABEL" else "TABLE", (f"the winner is {won}",), by_labels)


def _has_longer_won(definition: Definition, won: str | None, facts: FileFacts) -> bool | None:
    """Did the longer of the two texts win? None if neither did or both are as long."""
    if won not in definition.compare:
        return None
    (lost,) = (name for name in definition.compare if name != won)
    words = {name: len(facts.values[name].split()) for name in definition.compare}
    return None if words[won] == words[lost] else words[won] > words[lost]


def _label_of(definition: Definition, name: str) -> Label | None:
    if name == SCORE and definition.has_one_label and definition.labels[0].kind == "number":
        return definition.labels[0]
    return next((label for label in definition.labels if label.name == name), None)


def _rule_on_label(label: Label, answer: Any) -> Ruling:
    """Returns the ruling on the output that shows a label."""
    if answer is None:
        return _NOTHING
    if not isinstance(answer, LabelAnswer):
        evidence = tuple(f"item {one.item}: {line}" for one in answer for line in _evidence(one))
        return Ruling([one.value for one in answer], "LABEL", evidence, True)
    if answer.fact is not None:
        return Ruling(answer.value, answer.fact.rule, (answer.fact.message,), False)
    return Ruling(answer.value, "FREE-TEXT" if label.kind == "text" else "LABEL", _evidence(answer), True)


def _evidence(answer: LabelAnswer) -> tuple[str, ...]:
    """The quotation, which was found in the text, and then the reason, which nothing checks."""
    lines = (f"“{answer.quote}”" if answer.quote else "", f"reason given: {answer.reason}" if answer.reason else "")
    return tuple(cut(line, _LONGEST_EVIDENCE) for line in lines if line)


def _rule_by_table(definition: Definition, answers: dict[str, Any]) -> Ruling:
    """Returns the ruling on the score: the mean of what the chosen values are worth; null if one has no score."""
    scores: list[float | None] = []
    evidence: list[str] = []
    facts = []
    for label in definition.labels:
        given = answers.get(label.name)
        if not label.has_scores:
            continue
        if given is None:
            return _NOTHING
        for one in [given] if isinstance(given, LabelAnswer) else given:
            score = label.score_of(one.value)
            scores.append(score)
            facts.append(one.fact)
            evidence.append(f"{label.name} {one.value}: {'no score' if score is None else f'{score:g}'}")
    whole = [score for score in scores if score is not None]
    value = None if not whole or len(whole) < len(scores) else math.fsum(whole) / len(whole)
    fact = facts[0] if facts and all(facts) else None
    if fact is not None:
        return Ruling(value, fact.rule, (fact.message, *evidence), False)
    return Ruling(value, "TABLE", tuple(evidence), True)


def _rule_on_text(name: str, answer: LabelAnswer | None) -> Ruling:
    """Returns the ruling on the output that shows a reason or a quote."""
    if answer is None:
        return _NOTHING
    text = answer.reason if name == REASON else answer.quote
    if answer.fact is not None:
        return Ruling(text, answer.fact.rule, (), False)
    return Ruling(text, "FREE-TEXT" if name == REASON else "LABEL", (), True)


def _check_value(rule: FileRule, output: Output, value: Any) -> Any:
    """Returns what a rule computed; raises `CannotJudge` if the output may not have it.

    A number outside its range is no verdict.
    """
    if value is None or output.kind != "number":
        known = output.choices or (output.item.choices if output.item is not None else ())
        for one in value if isinstance(value, list) else [value]:
            if known and one is not None and one not in known:
                raise CannotJudge(f"the rule {rule.id} gives {one!r:.60}, which is no value of `{output.name}`")
        return value
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise CannotJudge(f"the rule {rule.id} gives {value!r:.60}, which is no number")
    inside = (output.low is None or value >= output.low) and (output.high is None or value <= output.high)
    if not inside:
        raise CannotJudge(
            f"the rule {rule.id} gives {value:g}, and `{output.name}` goes from {output.low:g} to {output.high:g}"
        )
    return int(value) if output.is_whole and float(value).is_integer() else float(value)
