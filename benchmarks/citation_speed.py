"""How many identifier-decided citation verdicts one core gives in a second, what memory does, and tokens per case.

Every case is new text (its own numbers, ECLIs and reasoning), so that no cache answers for the code.
"""

from __future__ import annotations

import random
import resource
import statistics
import sys
import time
from collections.abc import Iterator
from typing import Any

from krino.cli.runner import tune_memory
from krino.judges.citation.judge import CitationJudge
from krino.labellers.llm.prompt import shown_texts, system_text, user_text
from krino.labellers.llm.schema import strict_schema

BATCH, BATCHES = 1_000, 60
LEAST_PER_SECOND = 3_000
CHARACTERS_PER_TOKEN = 4
COURTS = ("Cass.", "Cour de cassation", "Hof van Cassatie", "het Hof van Cassatie, eerste kamer")
REASONS = (
    "Court alignment: NATIONAL court, all candidates valid. Case number: exact match {number} to Candidate {place}.",
    "La cour est la même. Le numéro de rôle {number} correspond exactement au candidat {place}.",
    "Hof van Cassatie, zelfde hof. Rolnummer {number} komt overeen met kandidaat {place}; de andere vallen af.",
)


def cases(seed: int, count: int) -> Iterator[dict[str, Any]]:
    """Citations of the Court of Cassation with three candidates, one of which carries the cited number."""
    chance = random.Random(seed)
    for _ in range(count):
        year, month, day = chance.randint(2004, 2019), chance.randint(1, 12), chance.randint(1, 28)
        sequences = chance.sample(range(1, 2000), 3)
        numbers = [
            f"{chance.choice('CPSF')}.{(year - 1) % 100:02}.{sequence:04}.{chance.choice('FN')}"
            for sequence in sequences
        ]
        place = chance.randrange(3)
        eclis = [f"ECLI:BE:CASS:{year}:ARR.{year}{month:02}{day:02}.{number}" for number in (1, 2, 3)]
        reason = chance.choice(REASONS).format(number=numbers[place], place=place + 1)
        yield {
            "citedCourtName": chance.choice(COURTS),
            "citedDate": f"{year}-{month:02}-{day:02}",
            "citedCaseNumber": f"RG {numbers[place]}",
            "candidates": [
                {"decision_id": ecli, "court_name": "Cour de cassation", "rol_number": number.replace(".", "")}
                for ecli, number in zip(eclis, numbers, strict=True)
            ],
            "modelOutput": {
                "matches": [{"decision_id": eclis[place], "score": 97, "confidence": 0.97, "reasoning": reason}]
            },
        }


def open_case() -> dict[str, Any]:
    """A case that only its context can decide."""
    return {
        "cited_court_name": "Tribunal du travail",
        "cited_date": "2019-06-21",
        "citation_snippet": "... sur le caractère manifestement déraisonnable du licenciement d'une employée ...",
        "candidates": [
            {
                "decision_id": "ECLI:BE:TTLIE:2019:JUG.20190621.1",
                "summaries": ["Licenciement manifestement déraisonnable"],
            },
            {
                "decision_id": "ECLI:BE:TTHAI:2019:JUG.20190621.2",
                "summaries": ["Accident du travail, événement soudain"],
            },
        ],
        "matches": [
            {"decision_id": "ECLI:BE:TTLIE:2019:JUG.20190621.1", "confidence": 0.85, "reasoning": "Same subject."}
        ],
    }


def judge_one(judge: CitationJudge, record: dict[str, Any]) -> None:
    case = judge.read(record)
    facts = judge.study(case)
    if judge.ask(case, facts) is not None:
        raise AssertionError("an identifier decides this case, and yet something is asked")
    settlement = judge.settle(case, facts, None)
    judge.verdict_model.model_validate({name: ruling.value for name, ruling in settlement.rulings.items()})


def print_tokens(judge: CitationJudge) -> None:
    case = judge.read(open_case())
    facts = judge.study(case)
    questions = judge.ask(case, facts)
    assert questions is not None
    data = sum(len(passage.name) + len(passage.text) for passage in questions.passages)
    schema = strict_schema(judge.labels_model)
    for channel in ("json_schema", "text"):
        static = len(system_text(judge.prompt, channel, schema))
        asked = len(user_text(questions, shown_texts(questions))) - data
        print(
            f"tokens, channel {channel}: {(static + asked) // CHARACTERS_PER_TOKEN} for prompt and request, "
            f"{data // CHARACTERS_PER_TOKEN} for this case's own text; 0 where identifiers decide"
        )


def main() -> int:
    tune_memory()  # as the command does
    judge = CitationJudge()
    for record in cases(0, 200):
        judge_one(judge, record)
    before, rates = memory(), []
    for batch in range(BATCHES):
        records = list(cases(batch + 1, BATCH))
        started = time.process_time()
        for record in records:
            judge_one(judge, record)
        rates.append(BATCH / (time.process_time() - started))
        if batch == BATCHES // 4:
            early = memory()
    median, best = statistics.median(rates), max(rates)
    print(f"{median:,.0f} verdicts a second of one core, {best:,.0f} in the best batch ({BATCHES * BATCH:,} new cases)")
    print(f"most memory: {before:.0f} MB at the start, {early:.0f} MB after a quarter, {memory():.0f} MB at the end")
    print_tokens(judge)
    return 0 if median >= LEAST_PER_SECOND else 1


def memory() -> float:
    """The most memory so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    sys.exit(main())
