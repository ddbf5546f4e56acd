"""Which sentences of an answer claim something, and which only pass between writer and reader."""

from __future__ import annotations

import pytest

from krino.judges.rag.case import RagCase
from krino.judges.rag.facts import RagFacts
from krino.judges.rag.support.draft_claims import lay_out


@pytest.mark.parametrize(
    ("answer", "count"),
    [
        ("De reiger nestelt in het riet. Veel plezier met je kijker!", 1),
        ("Wat een keuze! De reiger nestelt in het riet.", 1),
        ("Op maandag is de hut dicht. De reiger nestelt in het riet.", 2),
        ("De reiger nestelt in het riet. Je reiger houdt van riet!", 2),
        ("De reiger nestelt in het riet. Hij weegt 2 kg!", 2),
        ("De reiger nestelt in het riet. Je buurvrouw is Anna Bell.", 2),
        ("Je eten ziet er lekker uit.", 1),
        ("De reiger nestelt in het riet. Je mag hier niet zwemmen.", 2),
    ],
)
def test_an_aside_holds_nothing_of_the_matter_no_value_or_name_and_no_denial(answer: str, count: int) -> None:
    question = "Waar heeft de reiger zijn nest?"
    case = RagCase(question=question, context=["De reiger nestelt in het riet."], answer=answer)
    assert len(lay_out(RagFacts(case)).drafts) == count
