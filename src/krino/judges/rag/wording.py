"""Puts evidence into words for explanations: claims, passages, parts, shortened and counted."""

from __future__ import annotations

from collections.abc import Sequence

from krino.judges.rag.facts import RagFacts
from krino.judges.rag.labels import Claim

_QUOTED = 160
_NAMED = 5


def list_lacking(reason: bool, category: str | None, validity: bool) -> str:
    """Returns the criteria of a refusal that are not met, as a list in words; empty if all are."""
    criteria = (("a clear reason", reason), ("a category", category is not None), ("shown validity", validity))
    lacking = [name for name, met in criteria if not met]
    return " and ".join(filter(None, (", ".join(lacking[:-1]), *lacking[-1:])))


def claim_evidence(facts: RagFacts, claim: Claim) -> str:
    """Returns a claim with its label and quotation, for the evidence of a score."""
    text = f'sentence {claim.sentence} "{shorten(claim.text)}": {claim.label}'
    if claim.critical:
        text += " (critical)"
    if claim.probability is not None:
        text += f", probability of support {claim.probability:.2f}"
    passage = facts.passage(claim.passage)
    if passage is None:
        return text
    place = facts.find_quote(claim.passage, claim.quote)
    if place is None:
        return f"{text}, {passage.label}"
    return f'{text}, {passage.label}[{place[0]}:{place[1]}] "{shorten(passage.text[place[0] : place[1]])}"'


def list_claims(facts: RagFacts, claims: Sequence[Claim]) -> str:
    """Returns claims with label and reason, the first few only."""
    shown = []
    for claim in claims[:_NAMED]:
        text = f'"{shorten(claim.text)}" ({claim.label}'
        passage = facts.passage(claim.passage)
        if passage is not None and claim.quote:
            text += f'; {passage.label} says "{shorten(claim.quote)}"'
        shown.append(f"{text}: {claim.why.strip().rstrip('.')})" if claim.why.strip() else f"{text})")
    if len(claims) > _NAMED:
        shown.append(f"and {len(claims) - _NAMED} more")
    return "; ".join(shown)


def list_some(items: Sequence[str]) -> str:
    """Returns the first few items, and how many more there are."""
    shown = ", ".join(items[:_NAMED])
    return shown if len(items) <= _NAMED else f"{shown} and {len(items) - _NAMED} more"


def list_quoted(items: Sequence[str]) -> str:
    """Returns the first few items, shortened and in quotation marks, and how many more there are."""
    return list_some([f'"{shorten(item)}"' for item in items])


def list_numbers(noun: str, numbers: Sequence[int]) -> str:
    """Returns a noun with its numbers, the first few: "sentences 1, 2 and 4 more"."""
    return f"{plural(noun, len(numbers))} {list_some([str(number) for number in numbers])}"


def category_name(category: str | None) -> str:
    """Returns the category of a refusal in words; "none" without one."""
    return "none" if category is None else category.replace("_", " ")


def yes_no(value: bool) -> str:
    return "yes" if value else "no"


def plural(noun: str, count: int) -> str:
    return noun if count == 1 else f"{noun}s"


def shorten(text: str) -> str:
    """Shortens a text for a quotation, and removes line ends and repeated spaces."""
    if (
        len(text) <= _QUOTED and text.isprintable() and "  " not in text
    ):  # most have no line breaks, only spaces at the ends
        return text.strip()
    flat = " ".join(text.split())
    return flat if len(flat) <= _QUOTED else f"{flat[: _QUOTED - 1]}…"
