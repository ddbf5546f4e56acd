"""An efficiency case: a task and a trace, under the names they commonly have, or a trace that is the whole record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, model_validator

from krino.contract.record_fields import Reads, find_rivals
from krino.judges.efficiency.traces.detect import Format, read_trace
from krino.judges.efficiency.traces.steps import TASK_NAMES, TRACE_NAMES, Trace

ANSWER_NAMES = ("answer", "final_answer", "actual_output")


class EfficiencyCase(BaseModel):
    """A blank task is kept: the trace may state it."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    task: str = Field("", description="what the agent was to do; needed where neither the trace nor the option says it")
    trace: Any = Field(None, description="the execution trace, in any format that a reader knows")
    answer: str | None = Field(None, description="what the agent answered, where the trace does not hold it")

    _read: dict[Format, Trace] = PrivateAttr(default_factory=dict)

    def read_as(self, wanted: Format) -> Trace:
        """Returns the parsed trace, cached. Raises `CannotJudge` if no reader recognises it."""
        if wanted not in self._read:
            self._read[wanted] = read_trace(self.trace, wanted)
        return self._read[wanted]

    @model_validator(mode="before")
    @classmethod
    def _from_any_names(cls, record: Any) -> Any:
        """Reads task, trace and answer under any of their known names.

        Without a named trace the record itself is the trace. Refuses two names that hold different traces.
        """
        if not isinstance(record, Mapping):
            return record
        named = next((name for name in TRACE_NAMES if record.get(name) is not None), None)
        if named is None:  # the record is the trace; its `input` and `answer` are for the reader to understand
            return {"task": _text(record, TASK_NAMES) or "", "trace": dict(record), "answer": None}
        if rivals := find_rivals(record, TRACE_NAMES):
            raise ValueError(
                f"`{rivals[0]}` and `{rivals[1]}` hold different traces: keep one of them, or say which it is with "
                "--map trace=FIELD"
            )
        task = _text(record, (*TASK_NAMES, "input"))
        return {"task": task or "", "trace": record[named], "answer": _text(record, ANSWER_NAMES)}


def list_read_fields(record: Mapping[str, Any]) -> Reads | None:
    """Returns the names that are read: the known ones if a trace is named; None (any) if the record is the trace."""
    if all(record.get(name) is None for name in TRACE_NAMES):
        return None
    return dict.fromkeys((*TASK_NAMES, "input", *TRACE_NAMES, *ANSWER_NAMES))


def _text(record: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    return next((value for name in names if isinstance(value := record.get(name), str) and value.strip()), None)
