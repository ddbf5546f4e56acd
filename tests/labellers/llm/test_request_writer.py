"""What is written for every case: half a character must not stop it."""

from __future__ import annotations

import krino
from krino.labellers.llm.request_writer import JudgeSetup


def test_half_a_character_in_a_case_is_sent_as_a_mark() -> None:
    """From Python a record may hold one; the schema that quotes the case must still be written."""
    case = {
        "question": "Who?",
        "context": ["Ann \ud800 of Ghent came."],
        "answer": "Ann \ud800 came.",
        "reference": "Ann.",
    }
    judge = krino.load_judge("rag")
    read = judge.read(case)
    facts = judge.study(read)
    asked = judge.ask(read, facts)
    assert asked is not None
    bound = judge.bounds(read, facts, asked, True)
    setup = JudgeSetup.of(judge, ["json_schema"], {})
    assert b"Ann ? came." in setup.bind(bound, "exact").json
