"""Asks a labeller, in one call, for a criterion for each pair of labels that a judge confuses."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files

from krino.api.judging import judge
from krino.contract import AnyJudge, Labeller
from krino.judges.file.judge import class_of_text
from krino.results.alignment.changes import Criterion, plain_criterion, quoted, written_criterion
from krino.results.alignment.scoring import Confusion
from krino.text.clean import cut

_SHOWN = 3
"""Cases shown of each pair."""
_LONGEST_CASE, _LONGEST_INSTRUCTIONS = 1_500, 20_000
_NUMBERED = re.compile(r"^\W*(\d{1,2})\W+(\S.*)$", re.MULTILINE)


def write_criteria(
    aligned: AnyJudge, field: str, confusions: Sequence[Confusion], labeller: Labeller, show: Callable[[int], str]
) -> tuple[list[Criterion], str | None]:
    """Returns one criterion for each pair, and why a model wrote none of them, if so.

    `show`: a case as text. Where no model answers, or not for a pair, the criterion says which label to prefer.
    """
    if not confusions:
        return [], None
    pairs = [_describe(one, field, show) for one in confusions]
    case = {"instructions": cut(aligned.prompt, _LONGEST_INSTRUCTIONS), "confused": pairs}
    asked = judge(_writer(), case, labeller=labeller)
    text = str((asked.verdict or {}).get("criteria") or "")
    written = {int(number): sentence for number, sentence in _NUMBERED.findall(text)}
    found = [
        written_criterion(one, written[number]) if number in written else plain_criterion(one, field)
        for number, one in enumerate(confusions, 1)
    ]
    return found, None if written else f"no model wrote the criteria ({asked.error or 'it wrote none'})"


@cache
def _writer() -> type[AnyJudge]:
    text = (files("krino.api") / "data" / "criteria.md").read_text("utf-8")
    return class_of_text(text, "align-criteria", "align-criteria")


def _describe(confusion: Confusion, field: str, show: Callable[[int], str]) -> str:
    """Describes a pair with some of its cases."""
    cases = "\n\n".join(cut(show(case), _LONGEST_CASE) for case in confusion.cases[:_SHOWN])
    return (
        f"`{field}`: people say {quoted(confusion.people)}, the judge says {quoted(confusion.judge)} "
        f"({len(confusion.cases)} of {confusion.of} cases that it labels so). Cases:\n\n{cases}"
    )
