"""Shows one case in full, and the worst cases of a run."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from krino.blocks import Block, DataTable, Field, Fields, Heading, Paragraph, Tone, Verbatim
from krino.contract import Judgement
from krino.contract.identity import labeller_name
from krino.contract.judgement import as_word
from krino.render.summary import TONES, score_tone, status_mark
from krino.results.explanations import describe_rule, explain_value
from krino.results.field_kinds import ROLL_UP, comparison_key, fields_of, is_text, names_explanation
from krino.results.formatting import format_usage
from krino.results.stability import LABELLER
from krino.results.table import Record
from krino.results.verdict_schema import Scales
from krino.results.worst_cases import WorstCases
from krino.text.clean import clean_line

_LONGEST_INPUT = 200
_LONGEST_VALUE = 60
_LONGEST_PROBLEM = 200
_SHORT = 40  # shorter values are shown in bold
_NO_SCALES: Scales = {}


def case_blocks(
    judgement: Judgement,
    rules: Mapping[str, str] | None = None,
    scales: Scales = _NO_SCALES,
    own: Sequence[Block] = (),
    *,
    labels: bool = False,
) -> Iterator[Block]:
    """Yields a case in full: what was decided, by whom and on what evidence; or why the case was not judged.

    `own`: the judge's own view of the case, shown instead of its inputs. `labels`: show the labels too.
    """
    yield _make_heading(judgement)
    if own:
        yield from own
    elif judgement.inputs:
        yield Fields("Case", [Field(name, text) for name, text in judgement.inputs.items()])
    for title, text in (("Reason", judgement.reason), ("Error", judgement.error)):
        if text:
            yield Fields(title, [Field(judgement.status, text, TONES[judgement.status])])
    if judgement.status == "ok" and judgement.verdict is not None:
        yield Fields(
            "Verdict", [*_show_roll_up(judgement), *_list_fields(judgement, judgement.verdict, rules or {}, scales)]
        )
        if judgement.figures:
            yield Fields("Beside the verdict", list(_list_fields(judgement, judgement.figures, rules or {}, scales)))
    if (votes := votes_table(judgement.model_dump(mode="json", include={"ballots"}))) is not None:
        yield votes
    if findings := list(_list_findings(judgement, rules or {})):
        yield Fields("Findings", findings)
    if judgement.unread:
        yield Fields("Not read", [Field(left.where, left.text, "warn", left.why) for left in judgement.unread])
    if labels and judgement.labels is not None:
        yield Verbatim("Labels", _format_json(judgement.labels))
    if labels:
        for ballot in judgement.ballots:
            title = f"Labels of {ballot.member}, asked for time {ballot.repeat}"
            yield Verbatim(title, _format_json(ballot.labels))
    if judgement.raw_reply is not None:
        yield Verbatim("Reply that could not be used", judgement.raw_reply)
    yield Paragraph(format_usage(judgement.usage), tone="plain")


def votes_table(judgement: Mapping[str, Any]) -> DataTable | None:
    """Returns the votes of a panel, with one column for each seat and one that marks split votes; None without a panel.
    Texts and fields without any value have no row."""
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
        rows.append(("order shown", *(_format_order(ballot["order"]) for ballot in ballots), ""))
    if any(ballot["problem"] for ballot in ballots):
        rows.append(("problem", *(str(ballot["problem"] or "")[:_LONGEST_PROBLEM] for ballot in ballots), ""))
    tones: list[Tone | None] = ["warn" if row[-1] == "split" else None for row in rows]
    return DataTable("Votes", ("Field", *map(_seat_name, ballots), "Seats"), tuple(rows), tones=tones)


def _seat_name(ballot: Mapping[str, Any]) -> str:
    return str(ballot["member"]) if ballot["repeat"] == 1 else f"{ballot['member']} ({ballot['repeat']})"


def _format_order(order: Sequence[int] | None) -> str:
    return "as given" if order is None else " ".join(map(str, order))


def worst_blocks(found: WorstCases[Record], rules: Mapping[str, str], scales: Scales, folder: Path) -> Iterator[Block]:
    """Yields the worst cases of a run. Unjudged cases come first in a list of their own, since they have no value to
    rank by."""
    if found.all_not_judged:
        more = found.all_not_judged - len(found.not_judged)
        shown = f", the first {len(found.not_judged):,} here" if more else ""
        yield Heading(f"Not judged: {found.all_not_judged:,}{shown}")
        for record in found.not_judged:
            status = str(record["status"])
            yield Heading(str(record["id"]), *status_mark(status), level=3)
            yield _explain_case(record, "", rules)
    if not found.judged:
        yield Heading("No case to rank.")
    else:
        nulls = f"({found.nulls:,} more have no value)" if found.nulls else ""
        yield Heading(f"The worst {len(found.judged):,} of {found.ranked:,} {found.order.describe()}", note=nulls)
    for record in found.judged:
        yield _make_ranked_heading(record, found.order.field, scales)
        yield _explain_case(record, found.order.field, rules)
    name = shlex.quote(str(folder))
    yield Paragraph(f"krino show {name} ID shows a case in full; --by FIELD ranks by another field.", tone="plain")


def _make_heading(judgement: Judgement) -> Heading:
    """Returns the heading of a case: id, status, judge, source and labeller."""
    status = judgement.status
    facts = [f"{judgement.judge} {judgement.judge_version}"]
    if judgement.source is not None:
        facts.append(str(judgement.source))
    if judgement.labeller:
        facts.append(labeller_name(judgement.labeller))
    return Heading(judgement.id, *status_mark(status), " · ".join(facts), level=1)


def _list_fields(
    judgement: Judgement, values: Mapping[str, Any], rules: Mapping[str, str], scales: Scales
) -> Iterator[Field]:
    """Yields one field of the verdict after the other. A finding about a field is shown before its value, as a
    caveat."""
    decider = ""
    for name, value in values.items():
        before, decider = decider, _describe_decider(judgement, name, rules)
        yield Field(
            name,
            _format_value(value),
            score_tone(scales, name, value) or TONES.get(value if isinstance(value, str) else ""),
            "" if decider == before else decider,  # not repeated for the next field
            judgement.evidence.get(name, ()),
            [f"{finding.text} ({finding.rule})" for finding in judgement.findings if finding.where == name],
            strong=value is not None and len(str(value)) <= _SHORT,
        )


def _show_roll_up(judgement: Judgement) -> Iterator[Field]:
    """Yields the whole verdict in one word, if the judge has one."""
    if word := judgement.roll_up:
        yield Field(ROLL_UP, word, TONES.get(word), "of the whole verdict", strong=True)


def _describe_decider(judgement: Judgement, name: str, rules: Mapping[str, str]) -> str:
    """Says who decided a field: the labeller's labels or a rule, and which."""
    if name in judgement.figures:
        rule = judgement.rules.get(name, "")
        return describe_rule(rule, rules) if rule else "not known for this case"
    decider = judgement.decided_by.get(name, "")
    rule = judgement.rules.get(name) or (decider if decider != LABELLER else "")
    said = describe_rule(rule, rules)
    who = "by the labeller's labels" if decider == LABELLER else "by rule"
    return f"{who}, {said}" if decider == LABELLER and said else f"{who} {said}".strip()


def _list_findings(judgement: Judgement, rules: Mapping[str, str]) -> Iterator[Field]:
    """Yields the findings that are not shown with a field."""
    shown = {*(judgement.verdict or ()), *judgement.figures} if judgement.status == "ok" else set()
    for finding in (finding for finding in judgement.findings if finding.where not in shown):
        where = f" ({finding.where})" if finding.where else ""
        yield Field("!", f"{finding.text}{where}", "warn", describe_rule(finding.rule, rules))


def _make_ranked_heading(record: Record, field: str, scales: Scales) -> Heading:
    """Returns the heading of a ranked case: its id, the value it is ranked by, and for a roll-up the field that
    explains it."""
    value = fields_of(record).get(field)
    tone = TONES.get(str(value)) if field == ROLL_UP else score_tone(scales, field, value)
    note = field
    if (beside := _field_with_rule(record, field)) != field:
        note += f" · {beside} {_shorten((record.get('verdict') or {}).get(beside))}"
    return Heading(str(record["id"]), _shorten(value), tone, note, level=3)


def _explain_case(record: Record, field: str, rules: Mapping[str, str]) -> Fields:
    """Returns the inputs of the case, the reason for its value, and the rule."""
    about = [
        Field(str(name), clean_line(str(text), _LONGEST_INPUT)) for name, text in (record.get("inputs") or {}).items()
    ]
    rule = (record.get("rules") or {}).get(_field_with_rule(record, field))
    said = describe_rule(str(rule), rules) if rule else ""
    return Fields("", [*about, Field("why", explain_value(record, field, rules) or "no reason is on record", by=said)])


def _field_with_rule(record: Record, field: str) -> str:
    """Returns the field whose rule explains this one: a roll-up has no rule, so the first field of the verdict is
    used."""
    return next(iter(record.get("verdict") or ()), "") if field == ROLL_UP else field


def _format_value(value: Any) -> str:
    """Formats a value of a verdict for people."""
    if value is None:
        return "null"
    if isinstance(value, list) and all(isinstance(item, str | int | float) for item in value):
        return ", ".join(map(str, value))
    return value if isinstance(value, str) else _format_json(value)


def _format_json(value: Any) -> str:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS, default=repr).decode()


def _shorten(value: Any) -> str:
    return clean_line(", ".join(map(str, value)) if isinstance(value, list) else str(value), _LONGEST_VALUE)
