"""Decides whether passages support a claim: the entailment model on windows of them, weighed with words and values."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from krino.judges.rag.embedded.evidence import Index, Window, coverage
from krino.judges.rag.embedded.values_against import ReadText, Values, compare_values
from krino.judges.rag.facts import PassageSentence, RagFacts
from krino.judges.rag.labels import ClaimLabel
from krino.judges.rag.reading.framing import is_reported_belief
from krino.judges.rag.reading.words import Reading, read_sentence
from krino.judges.rag.tables import table
from krino.judges.rag.values.value import Value

if TYPE_CHECKING:
    from krino.models.entailment import Entailment

_LEAST = 1e-4
_FARTHEST = 6.0
_FEWEST_WORDS = 4
"""A claim of fewer words may be a bare name or value, of which the model knows less than its words say."""
_MOST_CLAIMS = 8
"""Claims up to which an answer with more of them is given more leeway."""
_LONGEST = 2_000
"""Letters of a claim that is reworded: of a longer one the model reads only the beginning."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A claim with the windows of the passages that it could rest on, the likeliest first."""

    sentence: int
    text: str
    hypothesis: str
    """The claim as the model reads it: an item of a list with the line above it, values as the passage writes them."""
    reading: Reading
    weights: Mapping[str, float]
    windows: tuple[Window, ...]
    values: Values
    strangers: tuple[str, ...] = ()
    """Names that appear neither in a passage nor in the question."""
    misquoted: str = ""
    """What it puts in quotation marks though no passage has these words."""
    denied: bool = False
    """Whether the answer says that this is false, or takes it back later."""
    anywhere: float = 0.0
    """The share of its words that appear anywhere in the passages."""
    short: bool = False
    """Whether the model reads all passages whole, so that words say nothing more; not for a bare yes, name or value."""

    @property
    def best(self) -> PassageSentence | None:
        return self.windows[0].best if self.windows else None


class Support(NamedTuple):
    """`score` is how likely people would call the claim supported; `window` is the evidence that decided."""

    label: ClaimLabel
    score: float | None
    why: str
    window: Window | None


def draft_claim(facts: RagFacts, index: Index, number: int, text: str, above: str = "") -> Draft:
    reading = read_sentence(text, facts.language)
    states = bool(reading.content) and len(text.split()) >= _FEWEST_WORDS
    if not reading.content:
        reading = facts.question_reading  # a bare yes or no
    weights = index.weigh_claim(reading)
    windows = tuple(index.find_windows(weights))
    return Draft(
        sentence=number,
        text=text,
        hypothesis=_in_their_values(f"{above} {text}".strip(), reading.values, windows),
        reading=reading,
        weights=weights,
        windows=windows,
        values=_compare(facts, number, text, reading, weights, windows),
        strangers=tuple(name for name in facts.strangers.get(number, ()) if name in text),
        misquoted=facts.misquoted.get(number, ""),
        anywhere=index.share_anywhere(weights),
        short=index.is_short and states,
    )


def _compare(
    facts: RagFacts, number: int, text: str, reading: Reading, weights: Mapping[str, float], windows: Sequence[Window]
) -> Values:
    absent = [value for place, value in facts.absent_values if place == number]
    first = windows[0] if windows else None
    items = [] if first is None else [first.best, *(item for item in first.sentences if item is not first.best)]
    evidence = [ReadText(item.full_text, item.reading) for item in items]
    return compare_values(ReadText(text, reading), facts.question_reading, evidence, absent, weights)


def _in_their_values(text: str, values: Sequence[Value], windows: Sequence[Window]) -> str:
    """The text with each value as the evidence writes the same one: "two hours" as "120 minutes".

    That both are the same is for code to know; a model of this size often does not.
    """
    if len(text) > _LONGEST or not values or not windows:
        return text
    found = [value for item in reversed(windows[0].sentences) for value in item.reading.values]
    theirs = {value.keys: value.text for value in found}
    known = {value.text.lower() for value in found}
    for value in values:
        instead = theirs.get(value.keys)
        if instead is not None and value.text.lower() not in known:
            text = _replace_once(text, value.text, instead)
    return text


def _replace_once(text: str, old: str, new: str) -> str:
    """With the new for the old where that stands once as a word of its own; else it could be another thing."""
    places = list(re.finditer(rf"(?<!\w){re.escape(old)}(?!\w)", text))
    return f"{text[: places[0].start()]}{new}{text[places[0].end() :]}" if len(places) == 1 else text


# --- what the model says ---------------------------------------------------------------------------


class Look(NamedTuple):
    """What the model says of a claim beside one text, and the window that this text begins with."""

    window: Window
    said: Entailment


def read_claims(drafts: Sequence[Draft], copied: Collection[int] = ()) -> list[list[Look]]:
    """First the sentences of all passages nearest to a claim; where the model is unsure, windows of single ones."""
    looks: list[list[Look]] = [[] for _ in drafts]
    numbered = enumerate(drafts)
    firsts = [(place, draft.windows[0]) for place, draft in numbered if draft.windows and place not in copied]
    _ask(drafts, looks, [(place, window, window.text) for place, window in firsts])
    limits = table("local")["looks"]
    unsure = [
        place
        for place, found in enumerate(looks)
        if found and found[0].said.supported < limits["sure"] and found[0].said.contradicted < limits["against"]
    ]
    _ask(drafts, looks, [asked for place in unsure for asked in _further(place, drafts[place].windows)])
    return looks


def _further(place: int, windows: Sequence[Window]) -> Iterator[tuple[int, Window, str]]:
    for window in windows[1:]:
        yield place, window, window.text


def _ask(drafts: Sequence[Draft], looks: list[list[Look]], asked: Sequence[tuple[int, Window, str]]) -> None:
    from krino.models.entailment import entail

    said = entail([(text, drafts[place].hypothesis) for place, _, text in asked])
    for (place, window, _), found in zip(asked, said, strict=True):
        looks[place].append(Look(window, found))


# --- the decision ----------------------------------------------------------------------------------


def weigh_claims(
    facts: RagFacts, drafts: Sequence[Draft], looks: Sequence[Sequence[Look]], lenience: float = 0.0
) -> list[Support]:
    """The label of each claim; `lenience` is added to the balance for and against it."""
    claims = len(drafts)
    return [
        _denied(facts, draft, _support(draft, found, claims, lenience))
        for draft, found in zip(drafts, looks, strict=True)
    ]


def _support(draft: Draft, looks: Sequence[Look], claims: int, lenience: float) -> Support:
    figures = table("local")["decided"]
    if draft.misquoted:
        return Support(
            "unsupported", figures["conflict"], "it is in quotation marks, but no passage has these words", None
        )
    if not looks:
        return Support("unsupported", figures["nothing"], "no passage comes near it", None)
    best = max(looks, key=lambda look: look.said.supported)
    conflict = draft.values.conflict
    if conflict is not None and conflict.plain:
        return Support("contradicted", figures["conflict"], conflict.text, draft.windows[0])
    balance = weigh(signs(draft, looks, claims)) + lenience
    label: ClaimLabel = "supported" if balance >= 0 else _label_of_unsupported(draft, looks)
    window = best.window if label == "supported" else max(looks, key=lambda look: look.said.contradicted).window
    return Support(label, _probability(balance), _why(draft, best, label), window)


def _label_of_unsupported(draft: Draft, looks: Sequence[Look]) -> ClaimLabel:
    if draft.values.conflict is not None:
        return "contradicted"
    limits = table("local")["contradiction"]
    against = max(look.said.contradicted for look in looks)
    near = coverage(draft.weights, [item.reading for item in draft.windows[0].sentences])
    return "contradicted" if against >= limits["against"] and near >= limits["words"] else "unsupported"


def signs(draft: Draft, looks: Sequence[Look], claims: int) -> dict[str, float]:
    """What is weighed, by the names of the weights in `[support]`; `claims` is how many the answer makes."""
    best = max(looks, key=lambda look: look.said.supported)
    values, entailed = draft.values, _log_odds(best.said.supported)
    shown_words = coverage(draft.weights, [item.reading for item in best.window.sentences])
    return {
        "entailed": entailed,
        "against": _log_odds(max(look.said.contradicted for look in looks)),
        "shown_words": 0.0 if draft.short else shown_words,
        "passage_words": 0.0 if draft.short else draft.anywhere,
        "short": float(draft.short),
        "entailed_in_short": entailed if draft.short else 0.0,
        "absent_value": float(bool(values.absent)),
        "derived": float(bool(values.derived) and not values.absent),
        "strange_name": float(bool(draft.strangers)),
        "conflict": float(values.conflict is not None),
        "claims": 0.0 if draft.short else math.log(min(claims, _MOST_CLAIMS)),
    }


def weigh(found: Mapping[str, float]) -> float:
    weights = table("local")["support"]
    balance: float = weights["start"] + sum(weights[name] * value for name, value in found.items())
    return balance


def _log_odds(share: float) -> float:
    odds = math.log(share + _LEAST) - math.log(1 - share + _LEAST)
    return max(-_FARTHEST, min(_FARTHEST, odds))


def _probability(balance: float) -> float:
    fit = table("local")["calibration"]
    return 1 / (1 + math.exp(-(fit["slope"] * balance + fit["start"])))


def _why(draft: Draft, best: Look, label: ClaimLabel) -> str:
    """What tipped the balance, with the figures behind it."""
    share = coverage(draft.weights, [item.reading for item in best.window.sentences])
    model = f"entailment model: supported {best.said.supported:.0%}, contradicted {best.said.contradicted:.0%}"
    figures = f"{share:.0%} of its weighted words found; {model}"
    if label == "supported":
        derived = ", ".join(value.text for value in draft.values.derived)
        return f"{derived} follows from the values of the passage; {figures}" if derived else figures
    if draft.values.conflict is not None:
        return f"{draft.values.conflict.text}; {figures}"
    absent = [*draft.strangers, *(value.text for value in draft.values.absent)]
    return f"no evidence for {', '.join(absent[:5])}; {figures}" if absent else figures


def _denied(facts: RagFacts, draft: Draft, support: Support) -> Support:
    """A statement that the answer calls false is right where the passages contradict it, or give it as a mere belief.

    How likely that is right was never measured.
    """
    if not draft.denied:
        return support
    turned: dict[ClaimLabel, ClaimLabel] = {"supported": "contradicted", "contradicted": "supported"}
    label = turned.get(support.label, "unsupported")
    best = draft.best
    if support.label == "supported" and best is not None and is_reported_belief(best.full_text, facts.matter_language):
        label = "supported"
    return support._replace(label=label, score=None, why=f"the answer says that this is false; {support.why}")


def deny(draft: Draft) -> Draft:
    return replace(draft, denied=True)
