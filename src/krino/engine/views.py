"""Makes the view of a case: how its judge shows it to people, and what a labeller is asked about it.

A view is made once, right after the case was judged, from the case and the facts that are still at hand. It is kept as
JSON data with its text cut to a bound, and everybody who shows the case (the report, `krino show`, the workbench) reads
it from there. Of a large run only some cases get one: see `ViewKeeper`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

import orjson

from krino.blocks import Block, Paragraph, as_data
from krino.contract import AnyJudge, Judgement, Questions
from krino.contract.code_limit import CASE_SECONDS, CodeLimit
from krino.text.clean import cut, sound

FIRST_VIEWS = 5_000
"""Of the cases that were judged well, those at the first places of the input get a view."""
ROOM_FOR_OK = ROOM_FOR_OTHERS = 20_000_000
"""Bytes for the views of these first cases, and for those of failures, errors and verdicts that roll up to `fail`. The
two are counted apart, so that neither can crowd out the other."""
LONGEST_VIEW = 2_000_000
"""Bytes of one view; a longer one loses its last blocks."""
MOST_BLOCK_ITEMS = 2_000  # the steps of a long trace: a judge's view says itself where it ends
_SHORT_LINE = 10_000
"""Bytes of a line in which no text, list or nesting can be long enough to be cut."""
_LONGEST_REQUEST = 20_000
_LONGEST_TEXT = 10_000
_MOST_ITEMS = 200
_DEEPEST = 12
_CONTAINERS = (dict, list, tuple)


class CaseView(NamedTuple):
    """What is kept of how one case looks."""

    blocks: list[dict[str, Any]]
    """As `blocks.as_data` gives them; none where the judge has no view of its own."""
    request: str | None
    """What a labeller is asked about the case, `TAG` in the place of the random word; None: nothing."""


class StudiedCase(NamedTuple):
    """A case with its facts. `questions`: what the labeller was asked, if the questions were written for it."""

    case: Any
    facts: Any
    questions: Questions | None = None
    has_questions: bool = False


EMPTY = CaseView([], None)
_LEFT_OUT = as_data([Paragraph("The rest of this view is left out: it is too long to be kept.", tone="warn")])


def make_view(
    judge: AnyJudge, studied: StudiedCase | None, judgement: Judgement, seconds: float = CASE_SECONDS
) -> CaseView:
    """The view of a judged case; an empty one where the judge could not read or study it, or broke on it."""
    if studied is None or broke_unlabelled(judgement.status, judgement.labeller):
        return EMPTY
    limit = CodeLimit(seconds)
    blocks = blocks_of(judge, studied, judgement, limit)
    request = request_of(judge, studied, limit)
    return CaseView(as_data(blocks), request)


def blocks_of(judge: AnyJudge, studied: StudiedCase, judgement: Judgement, limit: CodeLimit) -> list[Block]:
    """What `Judge.view` gives; where it raises, a line that says so."""
    try:
        with limit:
            return list(judge.view(studied.case, studied.facts, judgement))
    except Exception as fault:
        return [problem_with(judge, "view", fault)]


def request_of(judge: AnyJudge, studied: StudiedCase, limit: CodeLimit) -> str | None:
    """What a labeller is asked, in the form that a model reads. The questions are written here only if they were not
    written to be asked: the embedded labeller reads none."""
    questions = studied.questions
    if not studied.has_questions:
        try:
            with limit:
                questions = judge.ask(studied.case, studied.facts)
        except Exception:  # a case that cannot be judged was never asked about
            return None
    return None if questions is None else cut(request_text(questions), _LONGEST_REQUEST)


def request_text(questions: Questions) -> str:
    """The case's own part of a prompt; of a case that takes several calls, all of them."""
    if not questions.parts:
        return _one_request(questions)
    calls = len(questions.parts)
    return "\n\n".join(
        f"[call {number} of {calls}]\n\n{_one_request(part)}" for number, part in enumerate(questions.parts, 1)
    )


def _one_request(questions: Questions) -> str:
    from krino.labellers.llm.prompt import TAG_SLOT, shown_texts, user_text  # only those who show a case need it

    return user_text(questions, shown_texts(questions)).replace(TAG_SLOT, "TAG")


def broke_unlabelled(status: str, labeller: Mapping[str, Any] | None) -> bool:
    """Whether the judge broke on a case before anybody was asked about it: it may have taken its whole process with it,
    or hung, and could do so again to whoever makes a view of the case."""
    return status == "error" and labeller is None


def problem_with(judge: AnyJudge, method: str, fault: Exception) -> Paragraph:
    """In place of the blocks that a method of the judge should have given."""
    return Paragraph(f"`{method}` of judge `{judge.name}` failed: {type(fault).__name__}: {fault}", tone="warn")


# --- which cases get a view ------------------------------------------------------------------------


class ViewKeeper:
    """Chooses the cases that get a view, makes it, and hands it on as a line.

    A worker has one whose lines go to the process that started the run; that process has one whose lines go into the
    run folder. Each stops making views once its room is used up, so no run pays for more than a report can show.
    """

    def __init__(self, send: Callable[[bytes], None]) -> None:
        self._send = send
        self._room_for_ok, self._room_for_others = ROOM_FOR_OK, ROOM_FOR_OTHERS

    def wants(self, judgement: Judgement) -> bool:
        """Whether the case is among those that are shown in full: the worst always, as far as there is room."""
        if judgement.status != "ok" or judgement.roll_up == "fail":
            return self._room_for_others > 0
        return judgement.index < FIRST_VIEWS and self._room_for_ok > 0

    def keep(
        self, judge: AnyJudge, studied: StudiedCase | None, judgement: Judgement, seconds: float = CASE_SECONDS
    ) -> None:
        """Make the view of a case, if it is to have one, and hand it on."""
        if self.wants(judgement):
            self.keep_line(judgement, view_line(judgement.input_hash, make_view(judge, studied, judgement, seconds)))

    def keep_line(self, judgement: Judgement, line: bytes) -> None:
        """Hand on a view that is made already, if the case is to have one."""
        if not self.wants(judgement):
            return
        if judgement.status != "ok" or judgement.roll_up == "fail":
            self._room_for_others -= len(line)
        else:
            self._room_for_ok -= len(line)
        self._send(line)

    def take(self, line: bytes) -> None:
        """Hand on a view that a worker has made."""
        self._send(line)


def view_line(input_hash: str, view: CaseView) -> bytes:
    """As it is kept: JSON on one line, the hash of the case first, no longer than `LONGEST_VIEW`."""
    line = _line(input_hash, view.blocks, view.request)
    if len(line) <= _SHORT_LINE:  # nothing in it can be too long
        return line
    blocks, request = bounded(view.blocks, most=MOST_BLOCK_ITEMS), view.request
    line = _line(input_hash, blocks, request)
    while len(line) > LONGEST_VIEW:
        blocks = blocks[: len(blocks) // 2]
        line = _line(input_hash, [*blocks, *_LEFT_OUT], None)
    return line


def _line(input_hash: str, blocks: Sequence[Mapping[str, Any]], request: str | None) -> bytes:
    return _to_json({"input_hash": input_hash, "blocks": blocks, "request": request}) + b"\n"


def is_view_line(line: object) -> bool:
    """Whether this can be appended to the views of a run: one line, within bounds."""
    return isinstance(line, bytes) and len(line) <= LONGEST_VIEW and line.find(b"\n") == len(line) - 1


def _to_json(value: dict[str, Any]) -> bytes:
    try:
        return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS, default=str)
    except TypeError:  # half a character (a lone surrogate), or a number of more than 64 bits
        return orjson.dumps(_writable(value), option=orjson.OPT_NON_STR_KEYS, default=str)


def _writable(value: Any) -> Any:
    if isinstance(value, str):
        return sound(value)
    if isinstance(value, dict):
        return {sound(str(key)): _writable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_writable(item) for item in value]
    return str(value) if isinstance(value, int) and value.bit_length() >= 64 else value


# --- bounds ----------------------------------------------------------------------------------------


def bounded(value: Any, depth: int = 0, most: int = _MOST_ITEMS) -> Any:
    """A JSON value with long text, long lists and deep nesting cut, each with a word that it was."""
    if isinstance(value, str):
        return _cut_with_note(value)
    if not isinstance(value, _CONTAINERS):
        return value
    if depth >= _DEEPEST:
        return "…"
    if isinstance(value, dict):
        return {str(key): bounded(item, depth + 1, most) for key, item in islice(value.items(), most)}
    items = [bounded(item, depth + 1, most) for item in value[:most]]
    return items if len(value) <= most else [*items, f"… and {len(value) - most} more"]


def bounded_blocks(blocks: Sequence[Block]) -> list[dict[str, Any]]:
    """Blocks as JSON values, cut in the same way."""
    found: list[dict[str, Any]] = bounded(as_data(blocks), most=MOST_BLOCK_ITEMS)
    return found


def _cut_with_note(text: str) -> str:
    """In the view of one case nothing is cut in silence."""
    if len(text) <= _LONGEST_TEXT:
        return text
    note = f"cut: {_LONGEST_TEXT:,} of {len(text):,} characters; krino show RUN ID --json has all"
    return f"{text[:_LONGEST_TEXT]}… ({note})"
