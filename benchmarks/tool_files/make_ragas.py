"""Writes `ragas.csv` and `ragas_talk.jsonl` with Ragas: `EvaluationDataset.to_csv` and `to_jsonl`."""

import sys
from pathlib import Path

from ragas import EvaluationDataset, MultiTurnSample, SingleTurnSample
from ragas.messages import AIMessage, HumanMessage, ToolCall, ToolMessage

FOUND = ["It was built in 1958.", "It is 102 metres tall, and has nine spheres."]

into = Path(sys.argv[1])
asked = [
    SingleTurnSample(
        user_input="How tall is it?",
        retrieved_contexts=FOUND,
        response="It is 102 metres tall.",
        reference="102 metres",
    ),
    SingleTurnSample(user_input="When was it built?", retrieved_contexts=FOUND[:1], response=None, reference="1958"),
]
EvaluationDataset(asked).to_csv(into / "ragas.csv")
called = ToolCall(name="weather", args={"place": "Ghent"})
talk = MultiTurnSample(
    user_input=[
        HumanMessage(content="Will it rain in Ghent?"),
        AIMessage(content="I look it up.", tool_calls=[called]),
        ToolMessage(content="Rain from noon."),
        AIMessage(content="Yes, from noon."),
    ],
    reference="It will rain.",
)
EvaluationDataset([talk]).to_jsonl(into / "ragas_talk.jsonl")
EvaluationDataset([talk]).to_csv(into / "ragas_talk.csv")
