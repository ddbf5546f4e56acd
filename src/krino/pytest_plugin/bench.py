"""What the fixtures share: one labeller and one set of options for the session, and a tally of what was judged."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import pytest

from krino.api.judging import AnyKindOfJudge, Case, ready_judge
from krino.api.judging import judge as judge_case
from krino.assertions import Expected, UnexpectedVerdict, assert_verdict
from krino.contract import AnyJudge, Judgement, Labeller, Usage
from krino.contract.identity import JudgedBy
from krino.engine import sync as portal
from krino.errors import UsageProblem
from krino.judges.registry import judge_names
from krino.results.formatting import format_count, format_usage
from krino.text.clean import clean_line
from krino.text.guessing import did_you_mean

_MOST_LISTED = 50
_REMEMBERED = 1_000
Options = Mapping[str, Mapping[str, str]]


# --- settings --------------------------------------------------------------------------------------


def labeller_of(config: pytest.Config) -> str | Labeller:
    """Makes the labeller that the flag or the ini key names. A model's replies are kept in pytest's cache folder:
    `--cache-clear` forgets them."""
    name = config.getoption("--krino-labeller") or config.getini("krino_labeller")
    base_url = config.getoption("--krino-base-url") or config.getini("krino_base_url") or None
    if name == "local":
        if base_url is not None:
            raise UsageProblem("a base URL is for a model, but none is named: add --krino-labeller MODEL")
        return "local"
    from krino.labellers.factory import labeller_from

    cache = getattr(config, "cache", None)  # not there under `-p no:cacheprovider`
    replies = cache.mkdir("krino") / "replies.sqlite" if cache is not None else "off"
    return labeller_from(name, base_url=base_url, cache=replies)


def closed(labeller: str | Labeller) -> None:
    """Closes a labeller that was made; a name is left alone."""
    if isinstance(labeller, Labeller):
        portal.run(labeller.aclose())


def options_of(config: pytest.Config) -> dict[str, dict[str, str]]:
    """Returns the options of each judge: those of the ini file, and over them those of the command line. Raises
    `UsageProblem` for a wrong one."""
    found: dict[str, dict[str, str]] = {}
    for pair in (*config.getini("krino_options"), *config.getoption("--krino-option")):
        where, equals, value = (part.strip() for part in pair.partition("="))
        judge, _, name = where.rpartition(".")
        if not (judge and name and equals):
            raise UsageProblem(f"option of a judge `{pair}`: write it as rag.goal=legal")
        if judge not in judge_names():
            known = sorted(judge_names())
            raise UsageProblem(f"option of a judge `{pair}`{did_you_mean(judge, known)}: there are {', '.join(known)}")
        found.setdefault(judge, {})[name] = value
    return found


# --- at work ---------------------------------------------------------------------------------------


@dataclass(slots=True)
class Tally:
    """What the session has judged: plain figures, so that processes can hand them on."""

    judged: int = 0
    statuses: dict[str, int] = field(default_factory=lambda: {"ok": 0, "failed": 0, "error": 0})
    unexpected: int = 0
    usage: Usage = field(default_factory=Usage)
    listed: list[str] = field(default_factory=list)

    def add(self, judgement: Judgement) -> None:
        self.judged += 1
        self.statuses[judgement.status] += 1
        self.usage.add(judgement.usage)

    def add_unexpected(self, node: str, judgement: Judgement, problems: list[str]) -> None:
        """Counts a judgement that was not as expected, and lists it with its test and reason, up to a limit."""
        self.unexpected += 1
        if len(self.listed) < _MOST_LISTED:
            case, why = clean_line(judgement.id, 60), clean_line("; ".join(problems), 200)
            self.listed.append(f"{clean_line(node, 200)}: {judgement.judge} on case `{case}`: {why}")

    def packed(self) -> dict[str, Any]:
        return asdict(self)

    def add_packed(self, packed: Mapping[str, Any]) -> None:
        """Adds the tally of a worker process of pytest-xdist."""
        self.judged += packed["judged"]
        self.unexpected += packed["unexpected"]
        self.usage.add(Usage(**packed["usage"]))
        for status, count in packed["statuses"].items():
            self.statuses[status] += count
        self.listed += packed["listed"][: _MOST_LISTED - len(self.listed)]

    def lines(self) -> list[str]:
        """Returns the lines of the summary."""
        ended = ", ".join(f"{count:,} {status}" for status, count in self.statuses.items())
        more = self.unexpected - len(self.listed)
        return [
            f"{format_count(self.judged)} judged: {ended}; {self.unexpected:,} not as expected",
            format_usage(self.usage),
            *self.listed,
            *([f"and {more:,} more"] if more else []),
        ]


class Bench:
    """What all tests of a session share: the labeller, the options, and the count."""

    def __init__(self, labeller: str | Labeller, options: Options, tally: Tally) -> None:
        self.labeller = labeller
        self.options = options
        self.tally = tally
        self._counted: deque[Judgement] = deque(maxlen=_REMEMBERED)

    def ready(self, judge: AnyKindOfJudge, options: Mapping[str, Any] | None, prompt: str | None) -> AnyJudge:
        """Returns the judge with its options: those of the call go over those of the session."""
        usual = self.options.get(judge, {}) if isinstance(judge, str) else {}
        return ready_judge(judge, {**usual, **(options or {})} or None, prompt)

    def judged(self, ready: AnyJudge, case: Case, labeller: str | Labeller | None) -> Judgement:
        """Judges a case with the call's labeller or that of the session, and counts it."""
        return self.counted(judge_case(ready, case, labeller=labeller or self.labeller))

    def counted(self, judgement: Judgement) -> Judgement:
        """Counts a judgement once, also if a judgement of `krino_judge` is asserted afterwards; returns it."""
        if not any(judgement is known for known in self._counted):
            self._counted.append(judgement)
            self.tally.add(judgement)
        return judgement


@dataclass(frozen=True, slots=True)
class JudgeCase:
    """The fixture `krino_judge`."""

    bench: Bench

    def __call__(
        self,
        judge: AnyKindOfJudge,
        case: Case,
        *,
        labeller: str | Labeller | None = None,
        options: Mapping[str, Any] | None = None,
        prompt: str | None = None,
    ) -> Judgement:
        """Judges a case with the labeller and options of the session."""
        return self.bench.judged(self.bench.ready(judge, options, prompt), case, labeller)


@dataclass(frozen=True, slots=True)
class AssertVerdict:
    """The fixture `assert_verdict`."""

    bench: Bench
    node: str
    properties: list[tuple[str, object]] = field(default_factory=list)
    """Those of the test in JUnit XML, where who judged is noted."""

    def __call__(
        self,
        judge: AnyKindOfJudge | Judgement,
        case: Case | None = None,
        *,
        min: Mapping[str, float] | None = None,  # noqa: A002
        max: Mapping[str, float] | None = None,  # noqa: A002
        equals: Mapping[str, Any] | None = None,
        roll_up: str | Collection[str] | None = None,
        labeller: str | Labeller | None = None,
        options: Mapping[str, Any] | None = None,
        prompt: str | None = None,
    ) -> Judgement:
        """Judges a case, or takes a judgement, and fails unless it is as expected."""
        __tracebackhide__ = True
        try:
            if isinstance(judge, Judgement) or case is None:
                if isinstance(judge, Judgement) and case is None:
                    about = {"name": judge.judge, "version": judge.judge_version}
                    self._note(JudgedBy.of(about, self.bench.counted(judge).labeller))
                # Of a call that is wrong it says what is wrong with it.
                return assert_verdict(judge, case, min=min, max=max, equals=equals, roll_up=roll_up)
            ready = self.bench.ready(judge, options, prompt)
            expected = Expected(min or {}, max or {}, equals or {}, roll_up)
            expected.check_names(ready)
            # Counted before it is checked: an expectation may be refused only then, and what was spent is spent.
            judgement = self.bench.judged(ready, case, labeller)
            chosen = labeller or self.bench.labeller
            with_settings = chosen.describe() if isinstance(chosen, Labeller) else judgement.labeller or {}
            self._note(JudgedBy.of_judge(ready, with_settings).with_labeller(judgement.labeller))
            return expected.hold(judgement, ready.rules)
        except UnexpectedVerdict as failure:
            self.bench.tally.add_unexpected(self.node, failure.judgement, failure.problems)
            raise

    def _note(self, who: JudgedBy) -> None:
        """Notes who judged, once for each judge and labeller of a test."""
        noted = [(f"krino.{name}", value) for name, value in who.named().items()]
        self.properties.extend(item for item in noted if item not in self.properties)
