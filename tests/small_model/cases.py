"""Short cases for the small model. Nothing is said about their verdicts: a model of this size judges by chance."""

from __future__ import annotations

from typing import Any

from citation_cases import candidate, citation, match


def _rag(question: str, context: list[str], answer: str, reference: str | None = None) -> dict[str, Any]:
    return {"question": question, "context": context, "answer": answer, "reference": reference}


RAG = [
    _rag("When does the pool open?", ["The pool opens at 9:00."], "It opens at 9:00."),
    _rag("Who wrote the report?", ["Anna Peeters wrote the report in 2021."], "Ben Maes wrote it."),
    _rag("What does a ticket cost?", ["A ticket costs 12 euros.", "The park is green."], "A ticket costs 12 euros."),
    _rag("How long is the bridge?", ["The bridge is 840 metres long."], "It is 840 metres long. It is made of steel."),
    _rag("Is the library open on Sunday?", ["The library is closed on Sunday."], "Yes, it is open.", "No."),
    _rag("Where is the office?", ["The office is in Ghent.", "It has 30 desks."], "It is in Ghent.", "In Ghent."),
    _rag("How many dogs live there?", ["Three dogs and a cat live on the farm."], "Three dogs live there."),
    _rag("What colour is the door?", ["The door was painted blue last year."], "The door is blue."),
    _rag("When was the school built?", ["The school was built in 1954."], "It was built in 1945. Pupils like it."),
    _rag("Which train goes to Bruges?", ["Train 5 goes to Bruges at noon."], "Train 5 goes there.", "Train 5."),
]


def _call(number: int, tool: str, arguments: dict[str, Any], result: str) -> list[dict[str, Any]]:
    call = {"id": f"c{number}", "type": "function", "function": {"name": tool, "arguments": str(arguments)}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": result},
    ]


def _trace(task: str, *calls: tuple[str, dict[str, Any], str], answer: str) -> dict[str, Any]:
    steps = [message for number, call in enumerate(calls) for message in _call(number, *call)]
    return {"trace": [{"role": "user", "content": task}, *steps, {"role": "assistant", "content": answer}]}


TRACES = [
    _trace(
        "What is the weather in Ghent?",
        ("get_weather", {"city": "Ghent"}, "12 degrees, rain"),
        answer="12 degrees, rain.",
    ),
    _trace(
        "Find the price of item 7.",
        ("search", {"item": 7}, "item 7: 30 euros"),
        ("search", {"item": 7}, "item 7: 30 euros"),
        answer="30 euros.",
    ),
    _trace(
        "Book room A at ten.",
        ("free_rooms", {"hour": 10}, "A, B"),
        ("book", {"room": "A", "hour": 10}, "booked"),
        answer="Room A is booked at ten.",
    ),
    _trace(
        "Add 3 and 4.",
        ("calculator", {"sum": "3+4"}, "7"),
        ("search", {"text": "history of addition"}, "a long story"),
        answer="7.",
    ),
    _trace("Read the file and count its lines.", ("read_file", {"path": "a.txt"}, "one\ntwo"), answer="2 lines."),
]


def _citation(snippet: str, *summaries: str) -> dict[str, Any]:
    shown = [candidate(f"D{number}", "Hof van Cassatie", None, text) for number, text in enumerate(summaries, 1)]
    reasons = "The court is the same for all candidates; candidate 1 fits the subject best."
    return citation("Hof van Cassatie", candidates=shown, matches=[match("D1", 0.8, reasons)], citation_snippet=snippet)


CITATIONS = [
    _citation("on the lease of a shop", "The lease of a shop ends with the notice.", "A driver did not stop in time."),
    _citation("on unpaid wages", "The employer owes the wages of March.", "The will was not signed by the witness."),
]
