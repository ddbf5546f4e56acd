"""Judges each case once for all the scores that are made of it, whichever thread or event loop asks."""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from functools import cached_property
from typing import Any, Unpack

from krino.adapters.verdict_fields import Field, fields, score_names, value_names
from krino.api.judging import AnyKindOfJudge, Settings, ajudge, ready_judge
from krino.contract import Judgement
from krino.contract.code_limit import CASE_SECONDS
from krino.contract.identity import JudgedBy
from krino.contract.judgement import hash_record
from krino.engine import sync
from krino.errors import KrinoError, UsageProblem
from krino.labellers.factory import labeller_from
from krino.text.guessing import did_you_mean

MOST_KEPT = 1_000
"""Judgements kept for the other scores of their cases."""

_Judged = Future[Judgement[Any]]


class SharedJudge:
    """A judge and a labeller that are opened once, and what they said of the latest cases.

    Frameworks ask for one score at a time, from threads and event loops of their own. All judging happens on Krino's
    loop, so connections, limits and budgets are shared, and a case that is asked about again is not paid for again.
    """

    def __init__(self, judge: AnyKindOfJudge, names: Sequence[str] | None = None, **settings: Unpack[Settings]) -> None:
        """`names`: the fields that are wanted; one that is null is then a problem. `settings`: of `krino.judge`."""
        self.judge = ready_judge(judge, settings.get("options"), settings.get("prompt"))
        self.labeller = labeller_from(settings.get("labeller", "local"))
        self.chosen = None if names is None else tuple(names)
        self.check_names(self.chosen or ())
        self._mapping = settings.get("mapping")
        self._seconds = settings.get("case_timeout", CASE_SECONDS)
        self._kept: OrderedDict[str, tuple[_Judged, set[str]]] = OrderedDict()
        self._lock = threading.Lock()
        sync.remember(self.labeller)

    def check_names(self, names: Sequence[str]) -> None:
        """Raises `UsageProblem` for a field that verdicts of this judge do not have."""
        known = value_names(self.judge)
        for name in names:
            if name not in known:
                raise UsageProblem(
                    f"judge `{self.judge.name}` has no score or label `{name}`{did_you_mean(name, known)}; "
                    f"it has {', '.join(known)}"
                )

    @property
    def name(self) -> str:
        return self.judge.name

    @property
    def identity(self) -> str:
        """The judge with its version and who labels, for the place where a framework records the evaluator."""
        about = self.labeller.describe()
        return f"krino {self.judge.name} {self.judge.version}, {about.get('model') or about.get('kind')}"

    def judged_by(self, judgement: Judgement[Any]) -> dict[str, str]:
        """Who judged a case, for the metadata of its scores: judge, version, fingerprint, labeller, agreement."""
        return self._judged_by.with_labeller(judgement.labeller).named()

    @cached_property
    def _judged_by(self) -> JudgedBy:
        return JudgedBy.of_judge(self.judge, self.labeller.describe())

    @property
    def score_names(self) -> list[str]:
        """The chosen fields, or all that hold numbers, for frameworks that must know them before the first case."""
        return list(self.chosen if self.chosen is not None else score_names(self.judge))

    def fields(self, judgement: Judgement[Any]) -> list[Field]:
        """The chosen fields of a judgement.

        If none were chosen, all that have a value; for a case without a verdict all that hold numbers, with the
        problem.
        """
        if self.chosen is not None:
            return fields(judgement, self.chosen)
        if judgement.status != "ok":
            return fields(judgement, score_names(self.judge))
        return [field for field in fields(judgement, value_names(self.judge)) if field.value is not None]

    def field(self, judgement: Judgement[Any], name: str) -> Field:
        """One field of a judgement; one that is null has the problem, whether it was chosen or not."""
        (found,) = fields(judgement, [name])
        return found

    def decide(self, case: Mapping[str, Any], by: str = "") -> Judgement[Any]:
        """Judge a case, for code without an event loop.

        `by`: who asks. A verdict is given to everybody; that there is none is said to each once, and then the case is
        judged again.
        """
        return self._begin(case, by).result()

    async def adecide(self, case: Mapping[str, Any], by: str = "") -> Judgement[Any]:
        """Judge a case inside an event loop of asyncio. Others may wait for it too, so cancelling stops nothing."""
        return await asyncio.shield(asyncio.wrap_future(self._begin(case, by)))

    def _begin(self, case: Mapping[str, Any], by: str) -> _Judged:
        """Starts to judge a case, or returns the judging of an equal case that was started before.

        A case without a verdict is judged again if `by` asks a second time. The longest unused ones are forgotten.
        """
        key = hash_record(case)
        with self._lock:
            kept = self._kept.get(key)
            if kept is None or (by in kept[1] and _has_no_verdict(kept[0])):
                kept = self._kept[key] = (sync.start(self._judge(case)), set())
            kept[1].add(by)
            self._kept.move_to_end(key)
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
            return kept[0]

    async def _judge(self, case: Mapping[str, Any]) -> Judgement[Any]:
        """Judges a case; returns a judgement with status `error` instead of raising.

        A spent budget or a judge whose code is wrong stops a run of Krino's. A framework goes on to its next case, so
        here each case says it: some of them log an exception and forget it.
        """
        try:
            return await ajudge(
                self.judge, case, labeller=self.labeller, mapping=self._mapping, case_timeout=self._seconds
            )
        except KrinoError as problem:
            return Judgement(
                id="1",
                judge=self.judge.name,
                judge_version=self.judge.version,
                status="error",
                verdict=None,
                error=str(problem),
                input_hash=hash_record(case),
            )


def _has_no_verdict(judged: _Judged) -> bool:
    """Whether judging has ended, and without a verdict."""
    return judged.done() and (judged.exception() is not None or judged.result().status != "ok")
