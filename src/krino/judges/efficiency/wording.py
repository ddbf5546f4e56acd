"""Writes the reason from the labels, and checks a reason: one to three sentences, named steps, no opinions."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import cache

from krino.judges.efficiency.data_files import table
from krino.judges.efficiency.facts import EfficiencyFacts
from krino.judges.efficiency.labels import StepLabel
from krino.judges.efficiency.traces.content import to_text

NOTHING_FOUND = "No unnecessary step was found"
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)")
_UNSAFE = re.compile(r"[.!?](?=\s|$)|[`\"\u0000-\u001f]+")
_SPACE = re.compile(r"\s+")
_EXCERPT = 48
_LOOKED_AT = 400
_MOST_NAMED = 6
_MOST_SENTENCES = 3
_PHRASES = {
    "repeats": ("repeats", "repeat"),
    "asks alike": ("asks nearly the same as", "ask nearly the same as"),
    "known": ("brings what was known from", "bring what was known from"),
    "redundant": ("was not needed after", "were not needed after"),
    "unused": ("brings a result that nothing uses", "bring results that nothing uses"),
    "late": ("reads on after the answer", "read on after the answer"),
    "speculative": ("was not asked for", "were not asked for"),
    "restyled": ("rewords what was there", "reword what was there"),
    "enrichment": ("goes beyond the task", "go beyond the task"),
    "echo": ("gives back its input", "give back their input"),
    "indirect": ("takes a detour", "take a detour"),
    "error": ("ended in an error", "ended in an error"),
    "failed": ("brought nothing of use", "brought nothing of use"),
}
"""By what the facts show, else by the label: the phrase for one step, and for several."""
_WITH_SOURCE = ("repeats", "asks alike", "known", "redundant")


def _choose_phrase(facts: EfficiencyFacts, item: StepLabel) -> str:
    """Returns the phrase for a step: one that the facts support, else the one for its label."""
    place = facts.places[item.step]
    if item.label == "redundant":
        return _choose_redundant_phrase(facts, place, facts.places[item.because_of] if item.because_of else None)
    if item.label == "speculative":
        unneeded = facts.unneeded.get(place)
        unused = "unused" if unneeded is not None and unneeded.how == "unused" else "speculative"
        return "late" if place in facts.late else unused
    if item.label == "enrichment":
        return "restyled" if facts.is_restyling(place) else "enrichment"
    if item.label == "indirect":
        return "echo" if place in facts.echoes else "indirect"
    return "error" if facts.steps[place].error is not None else "failed"


def _choose_redundant_phrase(facts: EfficiencyFacts, place: int, of: int | None) -> str:
    """Chooses the phrase for a redundant step: repeated, known, or asked alike."""
    repeat = facts.repeats.get(place)
    if of is None or repeat is None or repeat.of != of:
        same = of is not None and facts.calls[place].normal == facts.calls[of].normal
        unneeded = facts.unneeded.get(place)
        return "repeats" if same else "known" if unneeded is not None and unneeded.of == of else "redundant"
    return "asks alike" if repeat.level == "near" else "repeats"


@cache
def _opinion() -> re.Pattern[str]:
    listed = [*table("reason")["subjective"], *table("reason")["subjective_phrases"]]
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, listed))})\b", re.IGNORECASE)


def check_reason(reason: str, score: float, named: Collection[str], tools: Collection[str] = ()) -> list[str]:
    """Returns what breaks the rubric in a reason. It must name at least one of the ids in `named`.

    `tools` are names of tools, which may hold words of opinion ("think").
    """
    problems = []
    sentences = len(_SENTENCE_END.findall(reason))
    if not 1 <= sentences <= _MOST_SENTENCES:
        problems.append(f"{sentences} sentences, not one to three")
    if found := sorted({match.group(0).lower() for match in _opinion().finditer(_without_names(reason, named, tools))}):
        problems.append(f"words of opinion: {', '.join(found)}")
    if score == 1.0 and NOTHING_FOUND.lower() not in reason.lower():
        problems.append("does not say that no unnecessary step was found")
    if score < 1.0 and named and not any(step in reason for step in named):
        problems.append("names no step")
    return problems


def _without_names(reason: str, named: Collection[str], tools: Collection[str]) -> str:
    """Removes ids and names of tools, which may hold words of opinion."""
    for tool in tools:
        reason = reason.replace(f'{tool}("', "").replace(f": {tool}.", ".").replace(f"first {tool}.", "first.")
    for step in sorted(named, key=len, reverse=True):
        reason = reason.replace(f"step {step}", "").replace(f"Step {step}", "")
    return reason


def write_reason(facts: EfficiencyFacts, wasted: Sequence[StepLabel], score: float) -> str:
    """Returns one to three sentences; without excerpts where a call's own words would break the rules of a reason."""
    if not wasted:
        count = len(facts.steps) - len(facts.unknown)
        hidden = f" Of {_count(len(facts.unknown), 'more step')} nothing was recorded." if facts.unknown else ""
        return f"{NOTHING_FOUND} in {_count(count, 'step')}.{hidden}"
    ids = [facts.display_id(item.step) for item in wasted]
    tools = {_tool(facts.steps[facts.places[item.step]].name) for item in wasted}
    for excerpts in (True, False):
        reason = " ".join(_write_sentences(facts, wasted, excerpts))
        if not check_reason(reason, score, ids, tools):
            return reason
    return f"Unnecessary: {_count(len(wasted), 'step')} of {len(facts.steps)}, step {_clean_id(ids[0])} first."


def _write_sentences(facts: EfficiencyFacts, wasted: Sequence[StepLabel], excerpts: bool) -> list[str]:
    """Returns one sentence per kind of waste, most frequent first; the last one counts the rest."""
    groups: dict[str, list[StepLabel]] = {}
    for item in wasted:
        groups.setdefault(_choose_phrase(facts, item), []).append(item)
    ranked = sorted(groups.items(), key=lambda group: -len(group[1]))
    shown_groups = ranked[:_MOST_SENTENCES] if len(ranked) <= _MOST_SENTENCES else ranked[: _MOST_SENTENCES - 1]
    sentences = [_write_sentence(facts, what, group, excerpts) for what, group in shown_groups]
    rest = [item for _, group in ranked[len(shown_groups) :] for item in group]
    if rest:
        named = _name_steps([facts.display_id(item.step) for item in rest])
        sentences.append(f"{named} {'was' if len(rest) == 1 else 'were'} unnecessary too.")
    return sentences


def _write_sentence(facts: EfficiencyFacts, what: str, group: Sequence[StepLabel], excerpts: bool) -> str:
    """Writes one sentence about steps that are unnecessary for the same reason."""
    one, many = _PHRASES[what]
    if len(group) == 1:
        item = group[0]
        of = f" step {_clean_id(facts.display_id(item.because_of))}" if what in _WITH_SOURCE and item.because_of else ""
        shown = f": {_quote_call(facts, item)}" if excerpts else ""
        return f"Step {_clean_id(facts.display_id(item.step))} {one}{of}{shown}."
    if what not in _WITH_SOURCE:
        shown = f", first {_quote_call(facts, group[0])}" if excerpts else ""
        return f"{_name_steps([facts.display_id(item.step) for item in group])} {many}{shown}."
    sources: dict[str, list[str]] = {}
    for item in group:
        sources.setdefault(facts.display_id(item.because_of or ""), []).append(facts.display_id(item.step))
    parts = [
        f"{_name_steps(ids, upper=False)} {one if len(ids) == 1 else many} step {_clean_id(of)}"
        for of, ids in sources.items()
    ]
    shown = f": {_quote_call(facts, group[0])}" if excerpts and len(parts) == 1 else ""
    kept = parts[:_MOST_NAMED]
    more = (
        f"; {_count(len(parts) - len(kept), 'more step')} {'is' if len(parts) - len(kept) == 1 else 'are'} repeated"
        if len(parts) > len(kept)
        else ""
    )
    joined = "; ".join(kept)
    return f"{joined[0].upper()}{joined[1:]}{shown}{more}."


def _name_steps(ids: Sequence[str], upper: bool = True) -> str:
    """Names steps, and counts those beyond the first few."""
    word = ("Step" if upper else "step") if len(ids) == 1 else ("Steps" if upper else "steps")
    named = ", ".join(_clean_id(step) for step in ids[:_MOST_NAMED])
    more = f" and {len(ids) - _MOST_NAMED} more" if len(ids) > _MOST_NAMED else ""
    return f"{word} {named}{more}"


def _count(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _clean_id(step: str) -> str:
    return _SPACE.sub(" ", _UNSAFE.sub(" ", step)).strip()


def _quote_call(facts: EfficiencyFacts, item: StepLabel) -> str:
    """Returns the call in few words, without sentence ends and words of opinion, which a reason must not have."""
    step = facts.steps[facts.places[item.step]]
    given = (
        ", ".join(to_text(value) for value in step.input.values())
        if isinstance(step.input, dict)
        else to_text(step.input)
    )
    text = _SPACE.sub(" ", _UNSAFE.sub(" ", given[:_LOOKED_AT])).strip()
    text = _opinion().sub("…", text)
    if len(text) > _EXCERPT:
        text = f"{text[: _EXCERPT - 1].rstrip()}…"
    name = _tool(step.name)
    return f'{name}("{text}")' if text else name


def _tool(name: str) -> str:
    """The name of a tool as it is (`think`); a name of several words is treated as text."""
    plain = _clean_id(name)
    return (plain if " " not in plain else _opinion().sub("…", plain))[:_EXCERPT]
