"""Writes observations with Langfuse's own model as JSON, JSONL and CSV; the service that exports them is not asked."""

import csv
import json
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from langfuse.api import ObservationsV2Response, ObservationV2

into = Path(sys.argv[1])
START = datetime(2026, 11, 1, 9, 30, tzinfo=UTC)


def observation(
    own: str, kind: str, name: str, given: object, output: object, second: int, **more: object
) -> ObservationV2:
    return ObservationV2(
        id=own,
        trace_id=more.pop("trace", "trace-1"),
        project_id="project",
        name=name,
        type=kind,
        start_time=START + timedelta(seconds=second),
        end_time=START + timedelta(seconds=second + 1),
        input=given if isinstance(given, str) else json.dumps(given),
        output=output if output is None or isinstance(output, str) else json.dumps(output),
        level=more.pop("level", "DEFAULT"),
        **more,
    )


found = [
    observation(
        "a", "AGENT", "agent", {"question": "How tall is it?"}, "It is 102 metres tall.", 0, metadata={"topic": "size"}
    ),
    observation(
        "b", "RETRIEVER", "search", "height", [{"content": "It is 102 metres tall."}], 1, parent_observation_id="a"
    ),
    observation(
        "z",
        "AGENT",
        "agent",
        {"question": "How wide is it?"},
        None,
        5,
        trace="trace-2",
        level="ERROR",
        status_message="the tool server is down",
    ),
    observation("c", "GENERATION", "model", "How tall is it?", "It is 102 metres tall.", 3, parent_observation_id="a"),
]
rows = [json.loads(one.model_dump_json(by_alias=True)) for one in found]
(into / "langfuse_observations.json").write_text(json.dumps(rows, indent=1))
(into / "langfuse_observations.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
page = ObservationsV2Response(data=found, meta={})
(into / "langfuse_page.json").write_text(page.model_dump_json(by_alias=True))
with (into / "langfuse_observations.csv").open("w", newline="") as file:
    table = csv.DictWriter(file, {name: None for row in rows for name in row})
    table.writeheader()
    for row in rows:
        table.writerow(
            {name: json.dumps(cell) if isinstance(cell, dict | list) else cell for name, cell in row.items()}
        )
