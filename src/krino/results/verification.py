"""Whether the verdicts of a run follow from its labels and cases: the result, and how judgements are compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import orjson
from pydantic import BaseModel, computed_field

from krino.contract import Judgement
from krino.results.formatting import format_count
from krino.text.clean import clean_line, cut

NAMED = 20
"""Cases named by default; all are counted."""
_LONGEST_VALUE = 120
_BEFORE = 20
Fault = Literal["edited", "other judge", "input missing"]

COMPARED = (
    "status",
    "reason",
    "verdict",
    "figures",
    "decided_by",
    "rules",
    "roll_up",
    "evidence",
    "findings",
    "labeller_findings",
    "unread",
    "metadata",
    "inputs",
    "labels",
)
"""What follows from labels and case. Who labelled, what it cost and when is not computed again."""
_MOST_DIFFERENCES = 5


class Difference(BaseModel):
    """One recorded value that does not follow."""

    field: str
    recorded: str
    computed: str


class NamedCase(BaseModel):
    """A case whose verdict does not follow, or could not be checked."""

    id: str
    line: int | None = None
    """Of the journal."""
    fault: Fault
    differences: list[Difference] = []
    why: str = ""


class Verification(BaseModel):
    """What `krino verify` found."""

    run: str
    judge: str
    verdicts: int = 0
    """Cases with a verdict or with a reason why there can be none: what has to follow."""
    follow: int = 0
    edited: int = 0
    other_judge: int = 0
    """Do not follow by the rules of the installed judge, which is not the judge of the run."""
    not_at_hand: int = 0
    errors: int = 0
    """Cases that ended in an error: nothing is claimed of them."""
    not_judged: int = 0
    """Cases of an unfinished run without a judgement yet."""
    judge_changes: list[str] = []
    """What distinguishes the installed judge from that of the run."""
    problems: list[str] = []
    """What is wrong with the run folder itself."""
    cases: list[NamedCase] = []

    @property
    def verified(self) -> bool:
        """Whether every verdict follows and nothing in the folder contradicts it."""
        return self.follow == self.verdicts and not self.problems

    @computed_field  # type: ignore[prop-decorator]
    @property
    def sentence(self) -> str:
        """The result in one sentence."""
        if not self.verdicts:
            return "There are no verdicts to verify."
        follow = "follows" if self.verdicts == 1 else "follow"
        share = f"{self.follow:,} of {format_count(self.verdicts, 'verdict')}"
        head = f"{share if self.follow < self.verdicts else _all(self.verdicts)} {follow} from the recorded labels"
        faults = (
            (self.edited, "edited"),
            (self.other_judge, "made by other rules than those of the installed judge"),
            (self.not_at_hand, "of a case that the input does not have"),
        )
        named = "; ".join(f"{count:,} {'are' if count > 1 else 'is'} {words}" for count, words in faults if count)
        return f"{head} and the cases{': ' * bool(named)}{named}."

    def count(self, case: NamedCase, named: int) -> None:
        """Counts a case that does not follow; the first few are named."""
        match case.fault:
            case "edited":
                self.edited += 1
            case "other judge":
                self.other_judge += 1
            case "input missing":
                self.not_at_hand += 1
        if len(self.cases) < named:
            self.cases.append(case)


def differences(recorded: Mapping[str, Any], computed: Judgement) -> list[Difference]:
    """The recorded fields of a judgement that are not what was computed, the first few of them.

    Fields are compared as JSON has them. The verdict's own fields are named one by one.
    """
    made = orjson.loads(computed.to_json())
    found: list[Difference] = []
    for name in COMPARED:
        was, now = recorded.get(name), made.get(name)
        if was != now and (was or now):  # a field that is left out is empty
            found += _find_differences(name, was, now)
    if (votes := _ballots_without_usage(recorded)) != (now_votes := _ballots_without_usage(made)):
        found += _find_differences("ballots", votes, now_votes)
    return found[:_MOST_DIFFERENCES]


def _ballots_without_usage(judgement: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The ballots without what was paid for them: that is not computed again."""
    return [
        {name: value for name, value in ballot.items() if name != "usage"} for ballot in judgement.get("ballots") or ()
    ]


def _find_differences(name: str, was: Any, now: Any) -> Iterator[Difference]:
    """Yields where two values differ: key by key of objects, item by item of lists of the same length."""
    if isinstance(was, dict) and isinstance(now, dict):
        for key in dict.fromkeys([*was, *now]):
            if was.get(key) != now.get(key) or (key in was) != (key in now):
                yield from _find_differences(f"{name}.{key}", was.get(key), now.get(key))
    elif isinstance(was, list) and isinstance(now, list) and len(was) == len(now):
        for place, (one, other) in enumerate(zip(was, now, strict=True)):
            if one != other:
                yield from _find_differences(f"{name}.{place}", one, other)
    else:
        recorded, computed = _show_both(was, now)
        yield Difference(field=clean_line(name, _LONGEST_VALUE), recorded=recorded, computed=computed)


def _show_both(was: Any, now: Any) -> tuple[str, str]:
    """Returns both values as JSON; of long ones the part from shortly before they begin to differ."""
    one, other = (clean_line(orjson.dumps(value, default=repr).decode()) for value in (was, now))
    same = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    if same <= _BEFORE:
        return cut(one, _LONGEST_VALUE), cut(other, _LONGEST_VALUE)
    start = same - _BEFORE
    return cut(f"…{one[start:]}", _LONGEST_VALUE), cut(f"…{other[start:]}", _LONGEST_VALUE)


def _all(count: int) -> str:
    return "The verdict" if count == 1 else f"All {count:,} verdicts"
