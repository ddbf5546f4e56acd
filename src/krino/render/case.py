"""What is said of one case in full, and of the worst cases of a run."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from krino.blocks import Block, DataTable, Field, Fields, Heading, Paragraph, Tone, Verbatim
from krino.contract import Judgement
from krino.contract.judgement import as_word
from krino.render.summary import TONES, score_tone, status_mark
from krino.results.explanations import describe_rule, explain_value
from krino.results.field_kinds import comparison_key, is_text, names_explanation
from krino.results.formatting import format_usage, labeller_name
from krino.results.stability import LABELLER
from krino.results.table import Record
from krino.results.verdict_schema import Scales
from krino.results.worst_cases import WorstCases
from krino.runs.fields import ROLL_UP, fields_of
from krino.text.clean import clean_line

_LONGEST_INPUT = 200
_LONGEST_VALUE = 60
_LONGEST_PROBLEM = 200
_SHORT = 40  # a value of at most so many characters stands out
_NO_SCALES: Scales = {}


def case_blocks(
    judgement: Judgement,
    rules: Mapping[str, str] | None = None,
    scales: Scales = _NO_SCALES,
    own: Sequence[Block] = (),
    *,
    labels: bool = False,
) -> Iterator[Block]:
    """What was decided, by whom, on what evidence; or why it could not be.

    `own`: how the judge shows the case, which then needs no other form; `labels`: the labels too.
    """
    yield _case_heading(judgement)
    if own:
        yield from own
    elif judgement.inputs:
        yield Fields("Case", [Field(name, text) for name, text in judgement.inputs.items()])
    for title, text in (("Reason", judgement.reason), ("Error", judgement.error)):
        if text:
            yield Fields(title, [Field(judgement.status, text, TONES[judgement.status])])
    if judgement.status == "ok" and judgement.verdict is not None:
        yield Fields("Verdict", [*_roll_up(judgement), *_fields(judgement, judgement.verdict, rules or {}, scales)])
        if judgement.figures:
            yield Fields("Beside the verdict", list(_fields(judgement, judgement.figures, rules or {}, scales)))
    if (votes := votes_table(judgement.model_dump(mode="json", include={"ballots"}))) is not None:
        yield votes
    if findings := list(_findings(judgement, rules or {})):
        yield Fields("Findings", findings)
    if judgement.unread:
        yield Fields("Not read", [Field(left.where, left.text, "warn", left.why) for left in judgement.unread])
    if labels and judgement.labels is not None:
        yield Verbatim("Labels", _pretty(judgement.labels))
    if labels:
        for ballot in judgement.ballots:
            title = f"Labels of {ballot.member}, asked for time {ballot.repeat}"
            yield Verbatim(title, _pretty(ballot.labels))
    if judgement.raw_reply is not None:
        yield Verbatim("Reply that could not be used", judgement.raw_reply)
    yield Paragraph(format_usage(judgement.usage), tone="plain")


def votes_table(judgement: Mapping[str, Any]) -> DataTable | None:
    """The votes of a panel, all of them text, one column a seat; the last says where the seats differ. None where no
    panel was asked."""
    ballots: Sequence[Mapping[str, Any]] = judgement.get("ballots") or ()
    if not ballots:
        return None
    verdicts = [fields_of(ballot) for ballot in ballots]
    rows: list[tuple[str, ...]] = []
    for name in dict.fromkeys(name for verdict in verdicts for name in verdict):
        given = [verdict[name] for verdict in verdicts if name in verdict]
        if names_explanation(name) or any(map(is_text, given)) or all(value is None for value in given):
            continue
        cells = [as_word(verdict[name]) if name in verdict else "–" for verdict in verdicts]
        rows.append((name, *cells, "split" if len(set(map(comparison_key, given))) > 1 else ""))
    if any(ballot["order"] for ballot in ballots):
        rows.append(("order shown", *(_order(ballot["order"]) for ballot in ballots), ""))
    if any(ballot["problem"] for ballot in ballots):
        rows.append(("problem", *(str(ballot["problem"] or "")[:_LONGEST_PROBLEM] for ballot in ballots), ""))
    tones: list[Tone | None] = ["warn" if row[-1] == "split" else None for row in rows]
    return DataTable("Votes", ("Field", *map(_seat, ballots), "Seats"), tuple(rows), tones=tones)


def _seat(ballot: Mapping[str, Any]) -> str:
    return str(ballot["member"]) if ballot["repeat"] == 1 else f"{ballot['member']} ({ballot['repeat']})"


def _order(order: Sequence[int] | None) -> str:
    return "as given" if order is None else " ".join(map(str, order))


def worst_blocks(found: WorstCases[Record], rules: Mapping[str, str], scales: Scales, folder: Path) -> Iterator[Block]:
    """Those that were not judged come first, apart: they have no value to be ranked by."""
    if found.all_not_judged:
        more = found.all_not_judged - len(found.not_judged)
        shown = f", the first {len(found.not_judged):,} here" if more else ""
        yield Heading(f"Not judged: {found.all_not_judged:,}{shown}")
        for record in found.not_judged:
            status = str(record["status"])
            yield Heading(str(record["id"]), *status_mark(status), level=3)
            yield _reasons(record, "", rules)
    if not found.judged:
        yield Heading("No case to rank.")
    else:
        nulls = f"({found.nulls:,} more have no value)" if found.nulls else ""
        yield Heading(f"The worst {len(found.judged):,} of {found.ranked:,} {found.order.told()}", note=nulls)
    for record in found.judged:
        yield _ranked(record, found.order.field, scales)
        yield _reasons(record, found.order.field, rules)
    name = shlex.quote(str(folder))
    yield Paragraph(f"krino show {name} ID shows a case in full; --by FIELD ranks by another field.", tone="plain")


def _case_heading(judgement: Judgement) -> Heading:
    status = judgement.status
    facts = [f"{judgement.judge} {judgement.judge_version}"]
    if judgement.source is not None:
        facts.append(str(judgement.source))
    if judgement.labeller:
        facts.append(labeller_name(judgement.labeller))
    return Heading(judgement.id, *status_mark(status), " · ".join(facts), level=1)


def _fields(
    judgement: Judgement, values: Mapping[str, Any], rules: Mapping[str, str], scales: Scales
) -> Iterator[Field]:
    """A finding about a field of the verdict (`where` names it) stands before its value: who reads the value has read
    what was not looked for."""
    decider = ""
    for name, value in values.items():
        before, decider = decider, _decider(judgement, name, rules)
        yield Field(
            name,
            _value(value),
            score_tone(scales, name, value) or TONES.get(value if isinstance(value, str) else ""),
            "" if decider == before else decider,  # neighbours decided alike say so once
            judgement.evidence.get(name, ()),
            [f"{finding.text} ({finding.rule})" for finding in judgement.findings if finding.where == name],
            strong=value is not None and len(str(value)) <= _SHORT,
        )


def _roll_up(judgement: Judgement) -> Iterator[Field]:
    """The whole verdict in one word, where the judge gives one."""
    if word := judgement.roll_up:
        yield Field(ROLL_UP, word, TONES.get(word), "of the whole verdict", strong=True)


def _decider(judgement: Judgement, name: str, rules: Mapping[str, str]) -> str:
    if name in judgement.figures:
        rule = judgement.rules.get(name, "")
        return describe_rule(rule, rules) if rule else "not known for this case"
    decider = judgement.decided_by.get(name, "")
    rule = judgement.rules.get(name) or (decider if decider != LABELLER else "")
    said = describe_rule(rule, rules)
    who = "by the labeller's labels" if decider == LABELLER else "by rule"
    return f"{who}, {said}" if decider == LABELLER and said else f"{who} {said}".strip()


def _findings(judgement: Judgement, rules: Mapping[str, str]) -> Iterator[Field]:
    """Those that stand above a field of the verdict are not told twice."""
    shown = {*(judgement.verdict or ()), *judgement.figures} if judgement.status == "ok" else set()
    for finding in (finding for finding in judgement.findings if finding.where not in shown):
        where = f" ({finding.where})" if finding.where else ""
        yield Field("!", f"{finding.text}{where}", "warn", describe_rule(finding.rule, rules))


def _ranked(record: Record, field: str, scales: Scales) -> Heading:
    value = fields_of(record).get(field)
    tone = TONES.get(str(value)) if field == ROLL_UP else score_tone(scales, field, value)
    note = field
    if (beside := _ruled(record, field)) != field:
        note += f" · {beside} {_short((record.get('verdict') or {}).get(beside))}"
    return Heading(str(record["id"]), _short(value), tone, note, level=3)


def _reasons(record: Record, field: str, rules: Mapping[str, str]) -> Fields:
    """What the case is about, why it ended so, and the rule that said so."""
    about = [
        Field(str(name), clean_line(str(text), _LONGEST_INPUT)) for name, text in (record.get("inputs") or {}).items()
    ]
    rule = (record.get("rules") or {}).get(_ruled(record, field))
    said = describe_rule(str(rule), rules) if rule else ""
    return Fields("", [*about, Field("why", explain_value(record, field, rules) or "no reason is on record", by=said)])


def _ruled(record: Record, field: str) -> str:
    """The field whose rule explains: a roll-up has none of its own, the verdict's first field stands for it."""
    return next(iter(record.get("verdict") or ()), "") if field == ROLL_UP else field


def _value(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, list) and all(isinstance(item, str | int | float) for item in value):
        return ", ".join(map(str, value))
    return value if isinstance(value, str) else _pretty(value)


def _pretty(value: Any) -> str:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS, default=repr).decode()


def _short(value: Any) -> str:
    return clean_line(", ".join(map(str, value)) if isinstance(value, list) else str(value), _LONGEST_VALUE)
