"""Writes spans as a Phoenix server returns them: sends OpenTelemetry spans to it, then `get_spans_dataframe`.

Start the server in a folder of its own first: PHOENIX_WORKING_DIR=. phoenix serve
"""

import sys
import time
from pathlib import Path

from openinference.semconv.trace import OpenInferenceSpanKindValues as Kind
from openinference.semconv.trace import SpanAttributes as Name
from opentelemetry.trace import Status, StatusCode
from phoenix.client import Client
from phoenix.otel import register

into = Path(sys.argv[1])
PROJECT = "heights"
tracer = register(project_name=PROJECT, endpoint="http://localhost:6006/v1/traces", verbose=False).get_tracer("heights")

with tracer.start_as_current_span("agent") as agent:
    agent.set_attributes({Name.OPENINFERENCE_SPAN_KIND: Kind.AGENT.value, Name.INPUT_VALUE: "How tall is it?"})
    with tracer.start_as_current_span("search") as search:
        search.set_attributes({Name.OPENINFERENCE_SPAN_KIND: Kind.RETRIEVER.value, Name.INPUT_VALUE: "height"})
        search.set_attribute("retrieval.documents.0.document.content", "It is 102 metres tall.")
        search.set_attribute("retrieval.documents.0.document.id", "a")
    agent.set_attribute(Name.OUTPUT_VALUE, "It is 102 metres tall.")
with tracer.start_as_current_span("agent") as broken:
    broken.set_attributes({Name.OPENINFERENCE_SPAN_KIND: Kind.AGENT.value, Name.INPUT_VALUE: "How wide is it?"})
    broken.set_status(Status(StatusCode.ERROR, "the tool server is down"))
time.sleep(5)
frame = Client(base_url="http://localhost:6006").spans.get_spans_dataframe(project_identifier=PROJECT)
frame.to_parquet(into / "phoenix_spans.parquet")
frame.to_json(into / "phoenix_spans.json", orient="records", date_format="iso")
