"""Turns facts and labels into the verdict by the rubric's formulas; pure, and the only place with scores.

Scores are exact fractions until the end; then they are rounded to two decimals, half to even. What is below 1 stays
below: 199 of 200 claims are 0.99.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from functools import cache, lru_cache
from typing import NamedTuple

from krino.contract import Finding, Ruling, Settlement
from krino.errors import CannotJudge
from krino.judges.rag.embedded.risk import hallucination_risk
from krino.judges.rag.facts import RagFacts
from krino.judges.rag.findings import find_remarks
from krino.judges.rag.labels import (
    AGREEING_STEPS,
    Directness,
    RagLabels,
    RefusalLabel,
    Similarity,
    answerable_refusal,
    is_declined_rightly,
    merge_copies,
)
from krino.judges.rag.reading.goals import read_goal
from krino.judges.rag.tables import table
from krino.judges.rag.unread import find_passed_over, list_unread
from krino.judges.rag.verdict import RagVerdict
from krino.judges.rag.wording import (
    category_name,
    claim_evidence,
    list_claims,
    list_lacking,
    list_numbers,
    list_quoted,
    list_some,
    plural,
    shorten,
    yes_no,
)
from krino.text.forms import is_blank

Number = int | float | Decimal | Fraction
_KEYS = tuple(RagVerdict.model_fields)
_BELOW_ONE = Fraction(99, 100)


class Score(NamedTuple):
    """A score with the rule that gave it, why in words, and the evidence."""

    value: float | None
    rule: str
    why: str
    evidence: tuple[str, ...] = ()
    from_labels: bool = False
    findings: tuple[Finding, ...] = ()


# --- formulas --------------------------------------------------------------------------------------


def two_decimals(value: Number) -> float:
    """Returns a score between 0 and 1, rounded half to even on the decimal value.

    So 0.125 is 0.12, and 0.285 is 0.28 as it reads, not as it is stored. Only what is 1 is 1.0: anything less is
    rounded down there.
    """
    exact = min(max(_as_it_reads(value), Fraction(0)), Fraction(1))
    return float(round(exact, 2) if exact == 1 else min(round(exact, 2), _BELOW_ONE))


def _as_it_reads(value: Number) -> Fraction:
    return Fraction(str(value))


@lru_cache(maxsize=4_096)
def faithfulness(supported: int, claims: int, critical: bool = False) -> float:
    """Returns supported claims over claims; 0.0 on a critical contradiction; 1.0 when there is nothing to check."""
    if critical:
        return 0.0
    return two_decimals(Fraction(supported, claims)) if claims else 1.0


def context_relevance(recall: Number, precision: Number, goal: str = "balanced") -> float:
    """Returns w·recall + (1−w)·precision, with the goal's w."""
    weight = read_goal(goal).recall_weight
    return two_decimals(weight * _as_it_reads(recall) + (1 - weight) * _as_it_reads(precision))


@lru_cache(maxsize=4_096)
def _shares(held: int, needs: int, useful: int, sentences: int, goal: str) -> float:
    """Context relevance from counts: the same few come back in case after case."""
    return context_relevance(Fraction(held, needs) if needs else 0, Fraction(useful, sentences), goal)


@lru_cache(maxsize=4_096)
def answer_relevance(answered: int, parts: int, direct: Directness) -> float:
    """Returns completeness times the worth of directness; 0.0 when no part is answered."""
    return two_decimals(Fraction(answered, parts) * _worth("directness")[direct]) if parts else 0.0


@cache
def similarity(step: Similarity) -> float:
    """Returns the score of a step of the similarity scale."""
    return two_decimals(_worth("similarity")[step])


@cache
def _worth(scale: str) -> dict[str, Fraction]:
    return {name: Fraction(value) for name, value in table("scoring")[scale].items()}


# --- the four metrics ------------------------------------------------------------------------------


def settle(facts: RagFacts, labels: RagLabels) -> Settlement:
    """Returns one ruling for each of the eleven keys, with findings, figures and unread texts.

    Raises `CannotJudge` if the labels call the case unreadable. The evidence stands with the score; its explanation
    is the same evidence in words.
    """
    if labels.unreadable is not None:
        raise CannotJudge(f"the labeller cannot read the case: {labels.unreadable.strip()}")
    labels, copies = merge_copies(labels)
    metrics = {
        "faithfulness": _score_faithfulness(facts, labels),
        "context_relevance": _score_context_relevance(facts, labels),
        "answer_relevance": _score_answer_relevance(facts, labels),
        "semantic_similarity": _score_similarity(facts, labels),
    }
    caveat = f" Less certain: {(labels.uncertain or '').strip()}" if not is_blank(labels.uncertain) else ""
    rulings: dict[str, Ruling] = {}
    findings: list[Finding] = []
    for name, score in metrics.items():
        why = score.why + (caveat if score.from_labels else "")
        rulings[name] = Ruling(score.value, score.rule, score.evidence, score.from_labels)
        rulings[f"{name}_explanation"] = Ruling(why, score.rule, (), score.from_labels)
        findings.extend(score.findings)
    rulings["evaluation_status"] = Ruling("success", "RAG-E1")
    rulings["reason"] = Ruling(None, "RAG-E1")
    rulings["error"] = Ruling(None, "RAG-E1")
    ordered = {key: rulings[key] for key in _KEYS}
    risk = hallucination_risk(labels, metrics["faithfulness"].rule)
    figures = {} if risk is None else {"hallucination_risk": risk}
    if copies:
        findings.append(Finding("RAG-N13", f"listed before with the same label, counted once: {', '.join(copies)}"))
    return Settlement(ordered, (*findings, *find_remarks(facts, labels)), figures, list_unread(facts, labels))


def _score_faithfulness(facts: RagFacts, labels: RagLabels) -> Score:
    """Scores how much of the answer the context supports.

    Sentences without a label, or wrongly set aside, count as unsupported.
    """
    if not facts.has_context:
        return _score_without_context(facts, labels)
    covered = {claim.sentence for claim in labels.claims}.union(labels.empty_sentences)
    missed = [number for number in range(1, len(facts.sentences) + 1) if number not in covered]
    findings = tuple(
        Finding("RAG-N3", f"answer sentence {number} got no label: counted as unsupported", f"sentence {number}")
        for number in missed
    )
    passed_over = find_passed_over(facts, labels)
    claims = labels.claims
    critical = [claim for claim in claims if claim.label == "contradicted" and claim.critical]
    supported = sum(claim.label == "supported" for claim in claims)
    total = len(claims) + len(missed) + len(passed_over)
    evidence = tuple(claim_evidence(facts, claim) for claim in claims)
    value = faithfulness(supported, total, bool(critical))
    if critical:
        why = f"Contradicts the context on a critical fact: {list_claims(facts, critical)}."
        return Score(value, "RAG-F3", why, evidence, True, findings)
    if not total:
        kind = (
            "it only declines"
            if labels.refusal is not None and labels.refusal.is_refusal
            else "it states nothing about the matter"
        )
        return Score(value, "RAG-F5", f"The answer makes no claim to check: {kind}.", (), True, findings)
    why = f"{supported} of {total} {plural('claim', total)} supported by the context."
    failing = [claim for claim in claims if claim.label != "supported"]
    if failing:
        why += f" Not supported: {list_claims(facts, failing)}."
    if missed:
        why += f" Unlabelled and counted as unsupported: {list_numbers('sentence', missed)}."
    if passed_over:
        why += (
            " Most of the answer was set aside as stating nothing though it states something; counted as unsupported: "
            f"{list_numbers('sentence', passed_over)}."
        )
    return Score(value, "RAG-F6" if passed_over else "RAG-F4", why, evidence, True, findings)


def _score_without_context(facts: RagFacts, labels: RagLabels) -> Score:
    """Scores faithfulness where no context was retrieved: 1 for a refusal that says so, else 0."""
    label = labels.refusal
    if label is not None and label.is_refusal and label.category == "insufficient_context":
        why = "No context was retrieved, and the answer admits that it has nothing to answer from."
        return Score(1.0, "RAG-F1", why, (), True)
    why = "No context was retrieved, so nothing in the answer rests on it, and the answer does not say so."
    return Score(0.0, "RAG-F2", why, (), True)


def _score_context_relevance(facts: RagFacts, labels: RagLabels) -> Score:
    """Scores how much of what is needed the context holds, and how much of it is useful."""
    if not facts.has_context:
        return Score(0.0, "RAG-C1", "No context was retrieved.")
    named = {item.passage: frozenset(item.useful_sentences) for item in labels.passages}
    useful = {
        item.number: sum(1 <= number <= len(item.sentences) for number in named.get(item.number, ()))
        for item in facts.passages
    }
    count, helpful = sum(len(item.sentences) for item in facts.passages), sum(useful.values())
    off_topic = [item for item in facts.passages if not useful[item.number]]
    missing = [item.need for item in labels.needs if not item.held]
    needs = len(labels.needs)
    goal = facts.goal
    why = (
        f"The context holds {needs - len(missing)} of {needs} needed {plural('point', needs)} "
        f"and {helpful} of its {count} {plural('sentence', count)} {'is' if helpful == 1 else 'are'} "
        f"useful (goal {goal.name}: recall weighs {float(goal.recall_weight)})."
    )
    if missing:
        why += f" Missing: {list_quoted(missing)}."
    if off_topic:
        why += f" Off topic: {list_some([item.label for item in off_topic])}."
    evidence = tuple(
        f"{item.label}: {useful[item.number]} of {len(item.sentences)} sentences useful" for item in facts.passages
    ) + tuple(f'need "{shorten(item.need)}": {"held" if item.held else "missing"}' for item in labels.needs)
    value = _shares(needs - len(missing), needs, helpful, count, goal.name)
    return Score(value, "RAG-C2", why, evidence, True)


def _score_answer_relevance(facts: RagFacts, labels: RagLabels) -> Score:
    """Scores how much of the question the answer covers, and how directly."""
    refusal = labels.refusal
    if refusal is not None and refusal.is_refusal:
        return _score_refusal(facts, labels, refusal)
    declined = [item for item in labels.parts if is_declined_rightly(facts, labels, item)]
    unanswered = [item.part for item in labels.parts if not item.answered and item not in declined]
    parts = len(labels.parts)
    answered = sum(item.answered for item in labels.parts)
    value = answer_relevance(answered + len(declined), parts, labels.direct)
    manner = {"full": "directly", "partly": "partly beside the point", "no": "not directly"}[labels.direct]
    why = f"{answered} of {parts} {plural('part', parts)} of the question answered, {manner}."
    if not answered:
        why = "No part of the question is answered."
    if declined:
        why += f" Rightly declined, with its reason: {list_quoted([item.part for item in declined])}."
    if unanswered:
        why += f" Unanswered: {list_quoted(unanswered)}."
    evidence = tuple(
        f'part "{shorten(item.part)}": '
        f"{'answered' if item.answered else 'rightly declined' if item in declined else 'not answered'}"
        for item in labels.parts
    )
    return Score(value, "RAG-A4", why, (*evidence, f"directness: {labels.direct}"), True)


def _score_refusal(facts: RagFacts, labels: RagLabels, refusal: RefusalLabel) -> Score:
    """Scores a refusal: 1 if it is right and has reason, category and validity, else 0."""
    evidence = (
        f"reason stated: {yes_no(refusal.reason_stated)}",
        f"category: {category_name(refusal.category)}",
        f"validity shown: {yes_no(refusal.validity_shown)}",
        f"right to refuse: {yes_no(refusal.right_to_refuse)}",
    )
    why = refusal.why.strip().rstrip(".")
    lacking = list_lacking(refusal.reason_stated, refusal.category, refusal.validity_shown)
    if lacking:
        return Score(0.0, "RAG-A2", f"A refusal without {lacking}: {why}.", evidence, True)
    if not refusal.right_to_refuse or answerable_refusal(facts, labels, refusal):
        return Score(0.0, "RAG-A3", f"Refuses what could have been answered: {why}.", evidence, True)
    text = f"A right refusal ({category_name(refusal.category)}), with reason and validity: {why}."
    return Score(1.0, "RAG-A1", text, evidence, True)


def _score_similarity(facts: RagFacts, labels: RagLabels) -> Score:
    """Scores the similarity to the reference; null without one."""
    if facts.case.reference is None:
        return Score(None, "RAG-S1", "Not scored: no reference answer was given.")
    if facts.same_as_reference:
        return Score(1.0, "RAG-S2", "The answer is the reference, word for word.")
    if labels.similarity is None:
        raise ValueError("a similarity label is needed: the case has a reference")
    why = (labels.similarity_why or "no reason given").strip().rstrip(".")
    text = f"Meaning compared with the reference: {labels.similarity} ({why})."
    step = f"step: {labels.similarity}"
    measured = similarity(labels.similarity) if labels.similarity_score is None else labels.similarity_score
    difference = _find_capping_difference(facts, labels)
    if difference is not None and measured > (most := _worth("similarity_cap")["difference"]):
        explanation = f"{text} At most {float(most)}, because they differ literally: {difference}."
        return Score(two_decimals(most), "RAG-S5", explanation, (step, f"difference: {difference}"), True)
    if labels.similarity_score is None:
        return Score(similarity(labels.similarity), "RAG-S3", text, (step,), True)
    return Score(two_decimals(labels.similarity_score), "RAG-S4", text, (step, "measured within the step"), True)


def _find_capping_difference(facts: RagFacts, labels: RagLabels) -> str | None:
    """Returns the exact difference that limits the score, or None.

    Whoever chose `same` or `close` has read that both agree on the point asked, which code cannot know.
    """
    chosen = labels.similarity_score is None and labels.similarity in AGREEING_STEPS
    return None if chosen else facts.exact_difference
