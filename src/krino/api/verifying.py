"""Recomputes every verdict of a run from its recorded labels and its cases, with no model and no key.

Nothing that the folder says about its own judgements is believed: the journal is read and indexed again.
"""

from __future__ import annotations

import contextlib
import hashlib
import shlex
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, NamedTuple

from pydantic import TypeAdapter

from krino.api.judging import AnyKindOfJudge, ready_judge
from krino.api.recorded_run import Run, load_run
from krino.api.resettling import judge_of_run, kept_or_refused
from krino.cases import CaseItem, read_cases
from krino.contract import AnyJudge, Ballot, Finding, Status, Task, Usage
from krino.engine import sync
from krino.engine.case import carry, input_hash
from krino.errors import UsageProblem
from krino.labellers.replay import PanelReplay
from krino.results.formatting import judge_name
from krino.results.verification import NAMED, Fault, NamedCase, Verification, differences
from krino.runs.checking import ADVICE, LineCheck
from krino.runs.guarded_files import inside, read_lines
from krino.runs.index import JournalIndex
from krino.runs.inputs import Inputs, Source, inputs_of
from krino.runs.journal import parse_line
from krino.runs.manifest import JudgeCard, Manifest, Plan
from krino.runs.manifest import differences as plan_differences
from krino.text.clean import clean_line

_MOST_PROBLEMS = 20
_BALLOT = TypeAdapter(Ballot)
_FINDING = TypeAdapter(Finding)


def verify(
    run: str | PathLike[str] | Run,
    source: Source | None = None,
    *,
    judge: AnyKindOfJudge | None = None,
    trust: bool = False,
    named: int = NAMED,
) -> Verification:
    """Compute every verdict of a run again from its recorded labels and its cases. Nobody is asked.

    As for `resettle`, `source` names the files that the run was made of (stdin and records are kept in its folder), and
    `judge` its judge if that is none of Krino's own (`trust`: load whatever judge the folder names). `named`: how many
    cases that do not follow are named; all are counted.
    """
    known = run if isinstance(run, Run) else load_run(run)
    command = shlex.join(["krino", "verify", str(known.folder), *(source if isinstance(source, list) else [])])
    plan, about = known.manifest.plan, known.manifest.about
    chosen = judge if judge is not None else judge_of_run(known, trust, command)
    stored = plan.judge.get("options")
    ready = ready_judge(chosen, stored if isinstance(stored, Mapping) else {}, about.prompt or None)
    with kept_or_refused(known, command) if source is None else inputs_of(source) as inputs:
        return sync.run(_Check(known, ready, inputs, named).carry_out())


@dataclass(slots=True)
class _Recorded:
    """The recorded judgement that is being computed again: what a replay finds the labels in."""

    line: Mapping[str, Any] = field(default_factory=dict)

    def labels(self, task: Task[Any, Any, Any]) -> Mapping[str, Any] | None:
        labels = self.line.get("labels")
        return labels if isinstance(labels, dict) else None

    def ballots(self, task: Task[Any, Any, Any]) -> list[Ballot]:
        return [_BALLOT.validate_python(ballot) for ballot in self.line.get("ballots") or ()]

    def findings(self, task: Task[Any, Any, Any]) -> list[Finding]:
        count = self.line.get("labeller_findings") or 0
        return [_FINDING.validate_python(found) for found in self.line["findings"][-count:]] if count else []


class _IndexedLine(NamedTuple):
    number: int
    offset: int
    status: Status


class _Check:
    """One verification. Per content the index of the journal, the line number and one flag are held."""

    def __init__(self, run: Run, judge: AnyJudge, inputs: Inputs, named: int) -> None:
        self._run, self._judge, self._inputs, self._named = run, judge, inputs, named
        self._recorded = _Recorded()
        self._replay = PanelReplay(
            self._recorded.labels, self._recorded.ballots, self._recorded.findings, of=run.manifest.plan.labeller
        )
        self._found = Verification(run=str(run.folder), judge=judge_name(run.manifest))
        self._index = JournalIndex()
        self._seen = bytearray()

    async def carry_out(self) -> Verification:
        """Checks every verdict of the run, and returns what was found: what follows, what does not, and problems of the
        folder."""
        self._found.judge_changes = judge_changes(self._run.manifest, self._judge)
        for problem in card_problems(self._run.manifest, self._judge, changed=bool(self._found.judge_changes)):
            self._add_problem(problem)
        self._index_journal()
        self._compare_kept_index()
        self._seen = bytearray(len(self._index))
        shares = self._count_cases()
        await self._check_cases(shares)
        self._count_absent()
        self._number_lines()
        return self._found

    def _add_problem(self, text: str) -> None:
        """Adds a problem, up to a limit."""
        if len(self._found.problems) < _MOST_PROBLEMS:
            self._found.problems.append(text)

    # --- what the folder says ----------------------------------------------------------------------

    def _index_journal(self) -> None:
        """Indexes the journal. Lines that are no judgements of the run become problems; then their cases are missing
        from the journal."""
        path = self._run.journal
        check = LineCheck(self._run.folder, self._run.manifest)
        with self._as_problem():
            for line in read_lines(path, ADVICE):
                try:
                    check(line.data)
                except ValueError as problem:
                    self._add_problem(f"{path}:{line.number}: not a judgement of this run: {problem}")
                    continue
                data = line.data
                self._index.note(data["input_hash"], data["status"], Usage.of(data["usage"]), line.offset, line.size)

    def _compare_kept_index(self) -> None:
        """Reports a problem if the index that is kept beside the journal, by which every other reader finds lines,
        differs."""
        kept = JournalIndex.load(self._run.journal)
        if kept is not None and not kept.has_same_lines(self._index):
            self._add_problem(
                f"{self._run.folder}: judgements.index leads to other lines than those of the journal that count; "
                "delete it: it is made again"
            )

    def _count_cases(self) -> array[int]:
        """Counts how the cases on the roll ended, and reports counts that differ from the manifest. Returns for each
        content of the journal how many cases of the roll have it."""
        shares = array("I", bytes(4 * len(self._index)))
        ended = dict.fromkeys(("ok", "failed", "error"), 0)
        with self._as_problem():
            for entry in self._run.roll():
                line = self._find(entry.input_hash)
                if line is None:
                    self._found.not_judged += 1
                    continue
                ended[line.status] += 1
                shares[line.number] += 1
        self._found.verdicts, self._found.errors = ended["ok"] + ended["failed"], ended["error"]
        stated = self._run.manifest.counts.model_dump()
        if self._run.manifest.state == "finished" and (ended != stated or self._found.not_judged):
            self._add_problem(
                f"{self._run.folder}: the journal has {_counted(ended)}, and run.json says {_counted(stated)}"
            )
        return shares

    @contextlib.contextmanager
    def _as_problem(self) -> Iterator[None]:
        """Turns a `UsageProblem` into a problem of the run: a file that cannot be read to its end does not end the
        command."""
        try:
            yield
        except UsageProblem as problem:
            self._add_problem(str(problem))

    def _find(self, digest: str) -> _IndexedLine | None:
        """Returns the line of the journal that counts for a content; None if it was not judged."""
        number, status = self._index.number(digest), self._index.status(digest)
        if number is None or status is None:
            return None
        return _IndexedLine(number, self._index.offset_at(number), status)

    # --- the cases ---------------------------------------------------------------------------------

    def _read_cases(self) -> Iterator[CaseItem]:
        plan = self._run.manifest.plan
        reading: Any = {"format": plan.format, "mapping": plan.mapping, "split": plan.split}
        return read_cases(self._inputs.paths, **reading, judge=self._judge, files=self._inputs.files)

    async def _check_cases(self, shares: array[int]) -> None:
        """Judges each content again from its recorded labels, compares the verdict and counts the result; errors are
        passed over."""
        if not self._found.verdicts:
            return
        with inside(self._run.journal).open("rb") as journal:
            for item in self._read_cases():
                digest = input_hash(item, self._judge)
                line = self._find(digest)
                if line is None or line.status == "error" or self._seen[line.number] or not shares[line.number]:
                    continue
                self._seen[line.number] = True
                journal.seek(line.offset)
                fault = await self._check_line(item, digest, journal.readline(), line.offset)
                self._count(shares[line.number], fault)

    def _count(self, cases: int, fault: NamedCase | None) -> None:
        """Counts a result for each of the cases with the same content, which share one judgement."""
        for _ in range(cases):
            if fault is None:
                self._found.follow += 1
            else:
                self._found.count(fault, self._named)

    async def _check_line(self, item: CaseItem, digest: str, text: bytes, offset: int) -> NamedCase | None:
        """Judges a case again and compares; returns what differs, or None if the recorded judgement follows."""
        recorded, is_whole = parse_line(text)
        self._recorded.line = recorded
        computed = (await carry(self._judge, self._replay, item, digest)).judgement
        found = differences(recorded, computed)
        if not found and is_whole:
            return None
        changed = bool(self._found.judge_changes) and is_whole
        why = "" if is_whole else "the line was changed after it was written: its seal does not fit"
        if computed.status == "error":
            why = computed.error or why
        fault: Fault = "other judge" if changed else "edited"
        return NamedCase(id=clean_line(item.id), line=offset, fault=fault, differences=found, why=clean_line(why))

    def _count_absent(self) -> None:
        """Counts cases with a verdict whose content no case of the input has."""
        with self._as_problem():
            for entry in self._run.roll():
                line = self._find(entry.input_hash)
                if line is not None and line.status != "error" and not self._seen[line.number]:
                    self._found.count(
                        NamedCase(id=clean_line(entry.id), line=line.offset, fault="input missing"), self._named
                    )

    def _number_lines(self) -> None:
        """Replaces the offsets of the named lines by their numbers, in one reading."""
        wanted = {case.line for case in self._found.cases}
        if not wanted:
            return
        numbers, at = {}, 0
        with inside(self._run.journal).open("rb") as journal:
            for number, text in enumerate(journal, 1):
                if at in wanted:
                    numbers[at] = number
                at += len(text)
        for case in self._found.cases:
            case.line = numbers.get(case.line or 0)


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {status}" for status, count in counts.items())


def judge_changes(manifest: Manifest, judge: AnyJudge) -> list[str]:
    """Returns what distinguishes the installed judge from that of a run, one line each; empty if they are the same."""

    def plan(described: Mapping[str, Any]) -> Plan:
        return Plan(judge=dict(described), labeller={}, inputs=[]).identity()

    return plan_differences(plan(manifest.plan.judge), plan(judge.fingerprint()))


def card_problems(manifest: Manifest, judge: AnyJudge, *, changed: bool) -> Iterator[str]:
    """Yields a problem for each text in the manifest that was edited. `changed`: the judge differs, so only the prompt
    is checked."""
    card, about = JudgeCard.of(judge), manifest.about
    if hashlib.blake2b(about.prompt.encode(), digest_size=8).hexdigest() != manifest.plan.judge.get("prompt_hash"):
        yield "run.json: the prompt is not the one whose hash the run has"
    if changed:
        return
    for rule in sorted(card.rules.keys() | about.rules.keys()):
        if card.rules.get(rule) != about.rules.get(rule):
            yield clean_line(f"run.json: the text of rule {rule} is not that of the judge")
    for name in ("summary", "verdict_schema", "figures_schema", "labels_schema"):
        if getattr(card, name) != getattr(about, name):
            yield f"run.json: about.{name} is not that of the judge"
