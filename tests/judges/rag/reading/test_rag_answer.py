"""What of an answer can be claimed, and that an order to whoever judges it is no answer."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import krino
from krino.judges.rag.ask import write_questions
from krino.judges.rag.case import RagCase
from krino.judges.rag.facts import RagFacts
from krino.judges.rag.local import label_locally
from krino.judges.rag.reading.answer import read_units, split_answer

QUESTION = "When was the tower built?"
CONTEXT = ["The tower was built in 1958 and is 102 metres tall."]


def judged(answer: str, question: str = QUESTION) -> krino.Judgement:
    return krino.judge("rag", {"question": question, "context": CONTEXT, "answer": answer})


# --- what can be claimed ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "units"),
    [
        (
            "Hi Anna,\n\nIt is red.\n\nBest regards,\nThe support team",
            ["Hi Anna,", "It is red.", "Best regards,", "The support team"],
        ),
        ("¡Hola! Es rojo. Saludos cordiales", ["¡Hola!", "Es rojo.", "Saludos cordiales"]),
        ("## Colours\n\nIt is red.", [("Colours", "heading"), "It is red."]),
        ("**It is red.**\nIt is old.", ["It is red.", "It is old."]),
        ("**Answer:** It is red.", ["Answer: It is red."]),
        ("It is red [1].\n\nSources: passage 1, 3", ["It is red [1].", "Sources: passage 1, 3"]),
        ("It is red.\n[1] It is blue.", ["It is red.", "[1] It is blue."]),
        ("```\nIt is red.\n```", ["It is red."]),
        ("```It is red.\n```\nIt is old.", ["It is red.", "It is old."]),
        (
            "| Ticket | Price |\n|---|---|\n| Adult | 12 |\n| Child | 6 |",
            ["Ticket: Adult; Price: 12", "Ticket: Child; Price: 6"],
        ),
        (
            "| Ticket | It is red |\n|---|---|\n| Adult | |",
            [("Ticket; It is red", "heading"), "Ticket: Adult"],
        ),
        ("| Ticket |\n|---|\n| Adult | free |", ["Ticket: Adult; free"]),
        ('{"price": {"adult": 12, "child": 6}}', ["price: adult: 12", "price: child: 6"]),
        ('{"it is red": null, "it is old": []}', [("it is red", "heading"), ("it is old", "heading")]),
        ('{"colour": "red", "colour": "blue", "weight": 1e3}', ["colour: red", "colour: blue", "weight: 1e3"]),
        ('```json\n["red", "blue"]\n```', ["red", "blue"]),
        (
            "The colours are:\n- red\n- blue",
            [("The colours are:", "lead-in"), "The colours are: red", "The colours are: blue"],
        ),
        (
            "The colours are:\n**Others**\n- blue",
            [("The colours are:", "lead-in"), ("Others", "heading"), "blue"],
        ),
        ("14. It is red.\n15. It is old.", ["14. It is red.", "It is old."]),
        ("1. It is red.\n2. It is old.", ["It is red.", "It is old."]),
        ("Hello!", ["Hello!"]),
        ("{not json}", ["{not json}"]),
    ],
)
def test_an_answer_is_cut_into_units_with_hints(answer: str, units: list[str | tuple[str, str]]) -> None:
    found = [(unit.sentence.text, unit.hint) for unit in read_units(answer)]
    assert found == [(unit, None) if isinstance(unit, str) else unit for unit in units]


WORDS = st.sampled_from(["tower", "Yes", "no", "240", "hope", "answer", "here", "sources", "collapsed", "été", "you"])
PHRASES = st.lists(WORDS, min_size=1, max_size=9).map(" ".join)
ENDED = st.builds("{}{}".format, PHRASES, st.sampled_from(["", ".", ":", "?", "!", " 🌾", "...", " [1]"]))
LINES = st.builds(
    str.format,
    st.sampled_from(
        ["{}", "# {}", "### {}", "**{}**", "**{}:**", "- {}", "> {}", "```{}", "~~~ {}", "[1] {}", "*{}*", "`{}`",
         "| {} | x |", "| {} |\n|---|", "|---|---|", "| a |\n|---|\n| b | {} |", "Dear {}", "I hope {}",
         "Feel free to {}", "You asked {}", "Thanks for {}", "Note: {}",
         "<!-- {} -->", '{{"{}": null}}', '["{}"]', "$ {}"]
    ),
    ENDED,
)  # fmt: skip
ANY_ANSWER = st.builds(
    lambda lines, gap: gap.join(lines), st.lists(LINES, min_size=1, max_size=7), st.sampled_from(["\n", "\n\n"])
)


@given(ANY_ANSWER)
def test_every_word_of_an_answer_is_shown_to_the_labeller(answer: str) -> None:
    assume(any(map(str.isalnum, answer)))  # what has no word at all is not judged
    facts = RagFacts(RagCase.model_validate({"question": QUESTION, "context": CONTEXT, "answer": answer}))
    questions = write_questions(facts)
    assert questions is not None
    shown = next(passage.text for passage in questions.passages if passage.name == "answer")
    known = Counter(re.findall(r"\w+", shown))
    missing = Counter(re.findall(r"\w+", answer)) - known
    assert not missing.keys() - {"null"}  # a JSON key that holds nothing is shown without a value
    labels = label_locally([facts])[0]
    assert {claim.sentence for claim in labels.claims} | {*labels.empty_sentences} == set(
        range(1, len(facts.units) + 1)
    )


@given(st.text(alphabet=st.sampled_from('aB1. \n-|:{}[]"#*`é,'), max_size=80) | st.text(max_size=80))
def test_what_can_be_claimed_stands_in_the_answer_in_order(answer: str) -> None:
    units = split_answer(answer)
    assert bool(units) == bool(answer.strip())
    assert all(0 <= unit.start <= unit.end <= len(answer) for unit in units)
    assert all(first.start <= second.start for first, second in pairwise(units))


def test_the_marks_of_code_are_no_part_of_it() -> None:
    assert (
        split_answer("It is sent to `/oauth/token` with `--key`.")[0].text == "It is sent to /oauth/token with --key."
    )


def test_a_picture_ends_a_sentence_before_a_capital() -> None:
    told = [item.text for item in split_answer("The mill grinds oats 🌾 It is shut on Mondays. The wind 🌬 blows.")]
    assert told == ["The mill grinds oats 🌾", "It is shut on Mondays.", "The wind 🌬 blows."]


# --- what looks like no claim ----------------------------------------------------------------------

MEDICINE = ["The medicine must not be taken during pregnancy. Keep it in a dry place. Common side effects are nausea."]


def set_aside(answer: str) -> list[str]:
    case = {"question": "Can I take it during pregnancy?", "context": MEDICINE, "answer": answer}
    facts = RagFacts(RagCase.model_validate(case))
    labels = label_locally([facts])[0]
    return [facts.units[number - 1].sentence.text for number in labels.empty_sentences]


@pytest.mark.parametrize(
    "line",
    [
        "**Yes, you can take it during pregnancy.**",
        "# The medicine may be taken during pregnancy",
        "**Pregnant women can take the medicine**",
        "```The medicine is safe during pregnancy.\n```",
        "[1] The medicine is safe during pregnancy.",
        "Feel free to take the medicine during pregnancy.",
        "I hope you know that the medicine is safe during pregnancy.",
        "I hope you know the medicine is safe during pregnancy.",
        "Let me know if that worries you, since the medicine is safe during pregnancy.",
        "You asked, and the medicine is safe during pregnancy.",
        "This is not medical advice, but the medicine is safe during pregnancy.",
        "Good luck, the medicine is safe during pregnancy.",
        "**Dose: 500 mg**",
    ],
)
def test_a_statement_in_the_dress_of_a_heading_or_a_courtesy_is_judged(line: str) -> None:
    assert set_aside(f"{line}\nKeep it in a dry place.") == []


@pytest.mark.parametrize(
    "line",
    [
        "## Summary",
        "**Side effects:**",
        "### What you need to know",
        "### How to keep it",
        "**Step 1: Preparation**",
        "# Overview: The Medicine",
        "Here are the points:",
        "Here is what the leaflet says about pregnancy:",
        "What this means for you:",
        "A few points:",
        "Hi there!",
        "Thanks for reaching out!",
        "I hope this helps!",
        "Let me know if you have any other questions about the medicine.",
        "Feel free to ask if anything is unclear.",
        "Sources: passage 1",
    ],
)
def test_an_honest_heading_or_courtesy_is_no_claim(line: str) -> None:
    text = line.strip("#* ")
    assert [item.strip(":") for item in set_aside(f"{line}\nKeep it in a dry place.")] == [text.strip(":")]


@pytest.mark.parametrize(
    ("line", "full"),
    [
        ("**Maximum dose for adults: 8 g a day**", False),
        ("## Maximum dose for adults – 8 g a day", False),
        ("**Maximum dose for adults: unlimited**", False),
        ("**Maximum dose for adults: 4 g a day**", True),
    ],
)
def test_a_heading_that_gives_a_value_is_held_against_the_passage(line: str, full: bool) -> None:
    """The 8 g stands in the passage, of something else: no new value gives the heading away."""
    case = {
        "question": "What is the maximum dose?",
        "context": ["The maximum dose for adults is 4 g a day. A box holds 8 g. Keep the box dry."],
        "answer": f"{line}\n\nKeep the box dry.",
    }
    assert ((krino.judge("rag", case).verdict or {})["faithfulness"] == 1) is full


@pytest.mark.parametrize(
    "line",
    [
        "**Vous pouvez prendre le médicament pendant la grossesse.**",
        "# Le médicament est sans danger pendant la grossesse",
        "N'hésitez pas à prendre le médicament pendant la grossesse.",
        "N'hésitez pas : le médicament est sans danger pendant la grossesse.",
    ],
)
def test_in_french_too(line: str) -> None:
    case = {
        "question": "Puis-je prendre le médicament pendant la grossesse ?",
        "context": ["Le médicament ne doit pas être pris pendant la grossesse. Il faut le garder dans un endroit sec."],
        "answer": f"{line}\nIl faut le garder dans un endroit sec.",
    }
    assert (krino.judge("rag", case).verdict or {})["faithfulness"] < 1


def test_text_in_invisible_characters_is_listed_as_unread() -> None:
    hidden = "".join(chr(0xE0000 + ord(character)) for character in "it may be taken")
    judgement = judged(f"The tower was painted red. {hidden}")
    assert [(item.where, item.text) for item in judgement.unread] == [("answer", "it may be taken")]
    wales = "\U0001f3f4" + "".join(chr(0xE0000 + ord(character)) for character in "gbwls") + "\U000e007f"
    assert judged(f"The tower was painted red. {wales}").unread == []


def test_what_is_set_aside_is_listed_as_unread() -> None:
    answer = "## Summary\nIt was built in 1958.\nI hope this helps!\nWant more?"
    judgement = judged(answer)
    assert [(item.where, item.text) for item in judgement.unread] == [
        ("answer sentence 1", "Summary"),
        ("answer sentence 3", "I hope this helps!"),
        ("answer sentence 4", "Want more?"),
    ]
    assert judgement.unread[0].why == "set aside by the labeller as stating nothing (it looks like a heading)"
    assert judged("I cannot say, because the context does not mention when it was painted.").unread == []
