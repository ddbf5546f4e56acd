"""Makes the view of a case: how its judge shows it to people, and what a labeller is asked about it.

A view is made once, right after the case was judged, while its facts are still in memory. It is kept as JSON with its
texts cut to a bound, and the report, `krino show` and the workbench all read it from there. In a large run only some
cases get one: see `ViewKeeper`.
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
"""How many cases from the start of the input get a view if they were judged well."""
ROOM_FOR_OK = ROOM_FOR_OTHERS = 20_000_000
"""Bytes for the views of these first cases, and for those of failures, errors and verdicts that roll up to `fail`. They
are counted separately, so that neither can crowd out the other."""
LONGEST_VIEW = 2_000_000
"""Bytes of one view; a longer one loses its last blocks."""
MOST_BLOCK_ITEMS = 2_000  # for the steps of a long trace; a judge's view says itself what it leaves out
_SHORT_BLOCK = 4_000
"""Bytes of a block in which no text, list or nesting can be long enough to be cut."""
_ROOM_FOR_REST = 150_000
"""Bytes of a view for all but its blocks: a request of 20,000 characters may take six bytes for each."""
_LONGEST_REQUEST = 20_000
_LONGEST_TEXT = 10_000
_MOST_ITEMS = 200
_DEEPEST = 12
_CONTAINERS = (dict, list, tuple)


class CaseView(NamedTuple):
    """What is kept of how one case looks."""

    blocks: list[dict[str, Any]]
    """The blocks of `Judge.view` as JSON values; empty if the judge has no view of its own."""
    request: str | None
    """What a labeller is asked about the case, with `TAG` for the random word; None: nothing."""


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
    """Makes the view of a judged case; empty if the judge could not read or study it, or broke on it unlabelled."""
    if studied is None or broke_unlabelled(judgement.status, judgement.labeller):
        return EMPTY
    limit = CodeLimit(seconds)
    blocks = blocks_of(judge, studied, judgement, limit)
    request = request_of(judge, studied, limit)
    return CaseView(as_data(blocks), request)


def blocks_of(judge: AnyJudge, studied: StudiedCase, judgement: Judgement, limit: CodeLimit) -> list[Block]:
    """Returns what `Judge.view` returns, or a line that says how it failed."""
    try:
        with limit:
            return list(judge.view(studied.case, studied.facts, judgement))
    except Exception as fault:
        return [problem_with(judge, "view", fault)]


def request_of(judge: AnyJudge, studied: StudiedCase, limit: CodeLimit) -> str | None:
    """Returns what a labeller is asked, in the form that a model reads, cut to a bound; None if nothing is. The
    questions are written here if they were not written before: the embedded labeller reads none."""
    questions = studied.questions
    if not studied.has_questions:
        try:
            with limit:
                questions = judge.ask(studied.case, studied.facts)
        except Exception:  # a case that cannot be judged has no questions
            return None
    return None if questions is None else cut(request_text(questions), _LONGEST_REQUEST)


def request_text(questions: Questions) -> str:
    """Returns the part of the prompt that depends on the case; for a case that takes several calls, of all of them."""
    if not questions.parts:
        return _one_request(questions)
    calls = len(questions.parts)
    return "\n\n".join(
        f"[call {number} of {calls}]\n\n{_one_request(part)}" for number, part in enumerate(questions.parts, 1)
    )


def _one_request(questions: Questions) -> str:
    from krino.labellers.llm.prompt import TAG_SLOT, shown_texts, user_text  # loaded only when a case is shown

    return user_text(questions, shown_texts(questions)).replace(TAG_SLOT, "TAG")


def broke_unlabelled(status: str, labeller: Mapping[str, Any] | None) -> bool:
    """Whether the judge broke on a case before a labeller was asked. It may have killed its process or hung, and could
    do so again when a view is made."""
    return status == "error" and labeller is None


def problem_with(judge: AnyJudge, method: str, fault: Exception) -> Paragraph:
    """Returns what is shown in place of the blocks of a method that failed."""
    return Paragraph(f"`{method}` of judge `{judge.name}` failed: {type(fault).__name__}: {fault}", tone="warn")


# --- which cases get a view ------------------------------------------------------------------------


class ViewKeeper:
    """Chooses the cases that get a view, makes the views, and sends them on as lines.

    The keeper of a worker sends to the process that started the run; the keeper there writes into the run folder. Each
    stops when its room is used up, so no run makes more views than a report can show.
    """

    def __init__(self, send: Callable[[bytes], None]) -> None:
        self._send = send
        self._room_for_ok, self._room_for_others = ROOM_FOR_OK, ROOM_FOR_OTHERS

    def wants(self, judgement: Judgement) -> bool:
        """Whether the case gets a view: failures first of all, as long as there is room."""
        if judgement.status != "ok" or judgement.roll_up == "fail":
            return self._room_for_others > 0
        return judgement.index < FIRST_VIEWS and self._room_for_ok > 0

    def keep(
        self, judge: AnyJudge, studied: StudiedCase | None, judgement: Judgement, seconds: float = CASE_SECONDS
    ) -> None:
        """Makes the view of a case and sends it on, if the case gets one."""
        if self.wants(judgement):
            self.keep_line(judgement, view_line(judgement.input_hash, make_view(judge, studied, judgement, seconds)))

    def keep_line(self, judgement: Judgement, line: bytes) -> None:
        """Sends on a view that was made already, if the case gets one."""
        if not self.wants(judgement):
            return
        if judgement.status != "ok" or judgement.roll_up == "fail":
            self._room_for_others -= len(line)
        else:
            self._room_for_ok -= len(line)
        self._send(line)

    def take(self, line: bytes) -> None:
        """Sends on a view that a worker has made."""
        self._send(line)


def view_line(input_hash: str, view: CaseView) -> bytes:
    """Returns a view as it is kept: JSON on one line, the hash of the case first, no longer than `LONGEST_VIEW`. Blocks
    beyond that are replaced with a note."""
    blocks, room = [], LONGEST_VIEW - _ROOM_FOR_REST
    for block in view.blocks[:MOST_BLOCK_ITEMS]:
        written = _to_json(block)
        if len(written) > _SHORT_BLOCK:
            written = _to_json(bounded(block, 1, MOST_BLOCK_ITEMS))
        room -= len(written)
        if room < 0:
            break
        blocks.append(orjson.Fragment(written))
    else:
        if len(view.blocks) <= MOST_BLOCK_ITEMS:
            return _line(input_hash, blocks, view.request)
    return _line(input_hash, [*blocks, *_LEFT_OUT], view.request)


def _line(input_hash: str, blocks: Sequence[Any], request: str | None) -> bytes:
    return _to_json({"input_hash": input_hash, "blocks": blocks, "request": request}) + b"\n"


def is_view_line(line: object) -> bool:
    """Whether this is one line within the bounds, which can be appended to the views of a run."""
    return isinstance(line, bytes) and len(line) <= LONGEST_VIEW and line.find(b"\n") == len(line) - 1


def _to_json(value: Any) -> bytes:
    """Writes a value as JSON, whatever a judge has put into it."""
    try:
        return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS, default=str)
    except TypeError:  # half a character (a lone surrogate), or a number of more than 64 bits
        return orjson.dumps(_make_writable(value), option=orjson.OPT_NON_STR_KEYS, default=str)


def _make_writable(value: Any) -> Any:
    """Returns a value with what JSON cannot hold replaced: lone surrogates, keys that are no texts, very large whole
    numbers."""
    if isinstance(value, str):
        return sound(value)
    if isinstance(value, dict):
        return {sound(str(key)): _make_writable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_make_writable(item) for item in value]
    return str(value) if isinstance(value, int) and value.bit_length() >= 64 else value


# --- bounds ----------------------------------------------------------------------------------------


def bounded(value: Any, depth: int = 0, most: int = _MOST_ITEMS) -> Any:
    """Returns a JSON value with long texts, long lists and deep nesting cut, each with a mark; of a large object the
    later keys are dropped."""
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
    """Returns blocks as JSON values, cut as `bounded` does."""
    found: list[dict[str, Any]] = bounded(as_data(blocks), most=MOST_BLOCK_ITEMS)
    return found


def _cut_with_note(text: str) -> str:
    """Cuts a long text and says so: in the view of one case nothing is cut in silence."""
    if len(text) <= _LONGEST_TEXT:
        return text
    note = f"cut: {_LONGEST_TEXT:,} of {len(text):,} characters; krino show RUN ID --json has all"
    return f"{text[:_LONGEST_TEXT]}… ({note})"
