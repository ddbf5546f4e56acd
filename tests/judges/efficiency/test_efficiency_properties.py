"""What must hold for every trace: more waste never scores higher, ids mean nothing, strict is the stricter."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import krino
from krino import CannotJudge
from krino.judges.efficiency import EfficiencyJudge
from krino.judges.efficiency.case import EfficiencyCase
from krino.judges.efficiency.facts import EfficiencyFacts
from krino.judges.efficiency.labels import EfficiencyLabels, StepLabel

Record = dict[str, Any]
LEISURELY = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
STRICT, SCALED = EfficiencyJudge(), EfficiencyJudge({"mode": "scaled"})

names = st.sampled_from(["search", "get_user", "send_mail", "page_down", "weather", "summarize", "final_answer"])
inputs = st.sampled_from(
    [
        {"q": "library opening hours today"},
        {"q": "Library  opening hours TODAY"},
        {"q": "opening hours of the library today"},
        {"q": "train times on monday"},
        {"id": 7},
        {"id": "7"},
        {},
        "what the user said about the trip",
        None,
    ]
)
outputs: st.SearchStrategy[Any] = st.sampled_from(
    [
        "Mo-Fr 9-17, closed on Sunday and on public holidays",
        "The library opens at nine and closes at five on every working day of the week.",
        [],
        "no results found",
        None,
        "ok",
        {"user": "mia", "plan": "gold", "city": "Ghent", "since": 2019, "points": 4711, "state": "active"},
    ]
)
WRITES = ("send_mail", "update_user")
errors = st.sampled_from([None, None, None, None, "503 service unavailable", "unknown id"])
kinds = st.sampled_from(["tool", "tool", "tool", "llm", "retriever", "message", ""])
steps = st.builds(
    lambda kind, name, given, gave, error: {
        "type": kind,
        "name": name,
        "input": given,
        "output": None if error else gave,
        "error": error,
    },
    kinds,
    names,
    inputs,
    outputs,
    errors,
)
traces = (
    st.lists(steps, min_size=1, max_size=12)
    .map(lambda items: [{**item, "id": f"s{place}"} for place, item in enumerate(items)])
    .filter(lambda items: any(item["type"] != "message" and is_recorded(item) for item in items))
)


def is_recorded(step: Record) -> bool:
    return any(step[field] is not None for field in ("input", "output", "error"))


def labelled(judge: EfficiencyJudge, trace: list[Record]) -> tuple[float, list[str]]:
    """The score, and the ids of the steps that count as unnecessary."""
    return settled(judge, trace, labels_of(judge, trace))


def labels_of(judge: EfficiencyJudge, trace: list[Record]) -> EfficiencyLabels:
    case, facts = studied(judge, trace)
    labels = judge.label_locally([(case, facts)])[0]
    assert judge.check(case, facts, labels) == []
    return labels


def studied(judge: EfficiencyJudge, trace: list[Record]) -> tuple[EfficiencyCase, EfficiencyFacts]:
    case = judge.read({"task": "When does the library open?", "trace": trace})
    return case, judge.study(case)


def retries_in(judge: EfficiencyJudge, trace: list[Record]) -> set[str]:
    """The ids of the steps that made a failed call again with success."""
    facts = studied(judge, trace)[1]
    return {facts.steps[place].id for place in facts.recovered.values()}


def settled(judge: EfficiencyJudge, trace: list[Record], labels: EfficiencyLabels) -> tuple[float, list[str]]:
    settlement = judge.settle(*studied(judge, trace), labels)
    judge.verdict_model.model_validate({key: ruling.value for key, ruling in settlement.rulings.items()})
    score = settlement.rulings["score"]
    named = [line.split(" ")[1:3] for line in score.evidence if line.startswith("step ")]
    return score.value, [own[1:-1] if own.startswith("(") else called for called, own in named]


# How a trace scores is a matter of its labels: those of the other steps stay when one comes or goes, though a labeller
# may well see them differently then.


@LEISURELY
@given(traces, st.data())
def test_adding_a_duplicate_of_a_step_never_raises_the_score(trace: list[Record], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(trace) - 1))
    later = data.draw(st.integers(place + 1, len(trace)))
    assume(trace[place]["input"] is not None)  # else nobody knows that it is the same call
    assume(not any(step["name"] in WRITES for step in trace[place + 1 : later]))  # then it is a check after a change
    longer = [*trace[:later], {**trace[place], "id": "copy"}, *trace[later:]]
    for judge in (STRICT, SCALED):
        labels = labels_of(judge, trace)
        copy = StepLabel(step="copy", because_of=trace[place]["id"], why="the same call", label="redundant")
        steps = [*labels.steps[:later], copy, *labels.steps[later:]]
        assert settled(judge, longer, labels.model_copy(update={"steps": steps}))[0] <= settled(judge, trace, labels)[0]


@LEISURELY
@given(traces, st.data())
def test_removing_an_unnecessary_step_never_lowers_the_score(trace: list[Record], data: st.DataObject) -> None:
    for judge in (STRICT, SCALED):
        labels = labels_of(judge, trace)
        score, wasted = settled(judge, trace, labels)
        assume(wasted and len(trace) > 1)
        gone = data.draw(st.sampled_from(wasted))
        shorter = [step for step in trace if step["id"] != gone]
        assume(any(step["type"] != "message" and is_recorded(step) for step in shorter))  # else there is no score
        assume(next(step for step in trace if step["id"] == gone)["name"] not in WRITES)  # it may part two equal reads
        assume(all(label.because_of != gone for label in labels.steps))
        assume(gone not in retries_in(judge, trace))  # without it the failed attempts before it count
        fewer = labels.model_copy(update={"steps": [label for label in labels.steps if label.step != gone]})
        assert settled(judge, shorter, fewer)[0] >= score


@LEISURELY
@given(traces)
def test_renaming_ids_changes_nothing_but_the_names(trace: list[Record]) -> None:
    renamed = [{**step, "id": f"call_{hash(step['id']) % 10**9}_{place}"} for place, step in enumerate(trace)]
    mapping = {old["id"]: new["id"] for old, new in zip(trace, renamed, strict=True)}
    for judge in (STRICT, SCALED):
        score, wasted = labelled(judge, trace)
        assert labelled(judge, renamed) == (score, [mapping[step] for step in wasted])


@LEISURELY
@given(traces)
def test_strict_is_never_above_scaled(trace: list[Record]) -> None:
    assert labelled(STRICT, trace)[0] <= labelled(SCALED, trace)[0]


FIELDS = [
    "trace",
    "steps",
    "messages",
    "role",
    "content",
    "type",
    "name",
    "input",
    "output",
    "children",
    "spans",
    "resourceSpans",
    "scopeSpans",
    "attributes",
    "key",
    "value",
    "span_id",
    "run_type",
    "child_runs",
    "id",
    "tool_calls",
    "function",
    "arguments",
    "task",
    "log",
    "traj",
    "task_id",
    "error",
    "status",
    "events",
]
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.sampled_from(["", "a b", "user", "assistant", "tool", "llm", "[1]", "Error: x"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(FIELDS) | st.sampled_from(["", "x"]),
            inner,
            max_size=5,
        )
    ),
    max_leaves=25,
)


@settings(LEISURELY, max_examples=300)
@given(st.dictionaries(st.sampled_from(["task", "trace", "messages", "spans", "log", "steps"]), json_values))
def test_no_record_makes_the_judge_fall_over(record: Record) -> None:
    try:
        case = STRICT.read(record)
        facts = STRICT.study(case)
        STRICT.ask(case, facts)
        STRICT.settle(case, facts, STRICT.label_locally([(case, facts)])[0])
    except CannotJudge as reason:
        assert str(reason)


LONG_ID = "step-" + "z" * 700
workings = st.builds(
    lambda own, name, given, gave, error: {"id": own, "name": name, "input": given, "output": gave, "error": error},
    st.sampled_from(["", "again", LONG_ID, "the best. step!\n1"]),
    st.sampled_from(
        ["set_volume", "add_tag", "remove_tag", "append", "delete_last_line", "pick", "place", "open_door"]
    ),
    st.sampled_from([{"room": "hall", "level": 10}, {"room": "hall", "level": 30}, {"page": 4, "tag": "new"}, {}]),
    st.sampled_from(["ok", "level 30", "12", None]),
    st.sampled_from([None, None, None, "503 service unavailable", "no such page"]),
)


@LEISURELY
@given(
    st.lists(workings, min_size=1, max_size=8), st.sampled_from(["Set the volume in the hall to 30.", "Tag page 4."])
)
def test_the_embedded_labeller_gives_no_labels_that_its_own_check_refuses(trace: list[Record], task: str) -> None:
    judgement = krino.judge("efficiency", {"task": task, "trace": [*trace, {"type": "message", "output": "Done."}]})
    assert judgement.status in ("ok", "failed"), judgement.error
