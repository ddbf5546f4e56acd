"""Statements inside frames: asserted by a question or a courtesy, denied by a label, taken back by a later sentence."""

from __future__ import annotations

import pytest

import krino
from krino.judges.rag.reading.framing import Stated, find_retraction, find_stated, is_reported_belief
from krino.judges.rag.reading.words import read_sentence

PASSAGE = "The swimming pool in Alden is closed on Mondays. Children under six swim for free."
QUESTION = "Is the pool in Alden open on Mondays?"
TRUE = "The pool is closed on Mondays."
FALSE = "The pool is open on Mondays."
MATTER = read_sentence(PASSAGE, "en").stems | read_sentence(QUESTION, "en").stems


def faithfulness(answer: str, passage: str = PASSAGE, question: str = QUESTION) -> float:
    judgement = krino.judge("rag", {"question": question, "context": [passage], "answer": answer})
    return float((judgement.verdict or {})["faithfulness"])


@pytest.mark.parametrize(
    "text",
    [
        "Did you know that the pool is open on Mondays?",
        "Were you aware that the pool is open on Mondays?",
        "Isn't it plain that the pool is open on Mondays?",
        "Who would have guessed that the pool is open on Mondays?",
        "As far as anyone can see, the pool is open on Mondays.",
        "Get in touch if you ever ask yourself why the pool is open on Mondays.",
        "The pool is open on Mondays, right?",
        "The pool is open on Mondays, isn't it?",
        "The pool is open on Mondays?",
        "Please bear in mind that the pool is open on Mondays.",
        "In a nutshell: the pool is open on Mondays.",
    ],
)
def test_a_frame_asserts_its_statement(text: str) -> None:
    assert find_stated(text, "en", MATTER) == Stated(FALSE, denied=False)


@pytest.mark.parametrize(
    "text",
    [
        "Would you like me to list when the pool opens?",
        "Is the pool open on Mondays?",
        "Does the text say that the pool is open on Mondays?",
        "The text does not say that the pool is open on Mondays.",
        "Some people believe that the pool is open on Mondays.",
        "The pool that opened in Alden is closed on Mondays.",
        "Ask at the desk whether the pool is open on Mondays.",
        "Reporters of the Guardian found that the pool is open on Mondays.",
        f"Note that the pool is open on Mondays, {'and so on and on ' * 70}.",
    ],
)
def test_questions_reports_and_conditions_assert_nothing(text: str) -> None:
    assert find_stated(text, "en", MATTER) is None


@pytest.mark.parametrize(
    "text",
    [
        "It is a lie that the pool is closed on Mondays.",
        "It is not true that the pool is closed on Mondays.",
        "Nobody should think that the pool is closed on Mondays.",
        "Myth: the pool is closed on Mondays.",
        "Not true: the pool is closed on Mondays.",
        "The pool is closed on Mondays: this is not the case.",
        "The pool is closed on Mondays, which is false.",
        "The pool is closed on Mondays (wrong).",
        "The pool is closed on Mondays.; Correct?: No",
        "~~The pool is closed on Mondays.~~",
        "<del>The pool is closed on Mondays.</del>",
    ],
)
def test_a_frame_denies_its_statement(text: str) -> None:
    assert find_stated(text, "en", MATTER) == Stated(TRUE, denied=True)


@pytest.mark.parametrize(
    ("text", "language", "statement"),
    [
        ("Il est faux que la piscine ferme le lundi.", "fr", "La piscine ferme le lundi."),
        ("Het is niet waar dat het zwembad op maandag dicht is.", "nl", "Het zwembad op maandag dicht is."),
        ("Es ist ein Irrtum, dass das Bad am Montag zu ist.", "de", "Das Bad am Montag zu ist."),
        ("Es mentira que la piscina cierra los lunes.", "es", "La piscina cierra los lunes."),
    ],
)
def test_denials_are_read_in_five_languages(text: str, language: str, statement: str) -> None:
    assert find_stated(text, language, read_sentence(statement, language).stems) == Stated(statement, denied=True)


def test_a_denial_ends_where_the_sentence_turns() -> None:
    text = "It is not true that the pool is open on Mondays; rather, the pool is closed then."
    assert find_stated(text, "en", MATTER) == Stated(FALSE, denied=True, rest="The pool is closed then.")


@pytest.mark.parametrize(
    ("text", "language", "scope"),
    [
        ("None of this is true.", "en", "all_before"),
        ("All of the above is wrong.", "en", "all_before"),
        ("Just kidding, it is the reverse.", "en", "before"),
        ("That is incorrect: children pay.", "en", "before"),
        ("The following is not correct.", "en", "after"),
        ("Rien de tout cela n'est vrai.", "fr", "all_before"),
        ("Dit klopt niet.", "nl", "before"),
        ("Nichts davon stimmt.", "de", "all_before"),
        ("Das Gegenteil ist wahr.", "de", "before"),
        ("Todo esto es mentira.", "es", "all_before"),
        ("This is true.", "en", None),
        ("It is not wrong.", "en", None),
        ("Is that not true?", "en", None),
        ("Which of these statements is wrong?", "en", "after"),
        ("The pool is not closed.", "en", None),
    ],
)
def test_a_sentence_that_only_calls_others_false_takes_them_back(text: str, language: str, scope: str | None) -> None:
    assert find_retraction(text, language, MATTER) == scope


def test_a_passage_may_report_a_belief_without_sharing_it() -> None:
    assert is_reported_belief("Many people believe that the pool is closed on Mondays.", "en")
    assert not is_reported_belief("The pool is closed on Mondays.", "en")


@pytest.mark.parametrize(
    "answer",
    [
        f"{FALSE[:-1]}, right?",
        "Did you know that the pool is open on Mondays?",
        f"{PASSAGE} None of this is true.",
        f"False: {TRUE}",
        f"~~{TRUE}~~",
        f"❌ {TRUE}",
        f"{TRUE} This is false. None of this is true.",
        "**Minimum age at the pool: 12**\n\nChildren under six swim for free.",
        f"{'Children under six swim for free, ' * 9}Children under six pay 90 euros.",
        f"It is a lie that the {TRUE[4:]}",
        "Although some say the pool is closed on Mondays, the pool is open on Mondays.",
    ],
)
def test_a_lie_in_a_frame_is_no_faithful_answer(answer: str) -> None:
    assert faithfulness(answer) < 1.0


@pytest.mark.parametrize(
    "answer",
    [
        f"{TRUE} Would you like to know what children pay?",
        f"{QUESTION} No, {TRUE[0].lower()}{TRUE[1:]}",
        "It is not true that the pool is open on Mondays; rather, it is closed.",
        f"Please note that the {TRUE[4:]}",
    ],
)
def test_honest_questions_and_denials_raise_no_alarm(answer: str) -> None:
    assert faithfulness(answer) == 1.0


def test_a_myth_that_the_passage_itself_rejects_may_be_quoted() -> None:
    passage = "Many people believe that goldfish forget within seconds. In fact goldfish remember for months."
    answer = "It is a myth that goldfish forget within seconds: goldfish remember for months."
    assert faithfulness(answer, passage, "How long do goldfish remember?") == 1.0


def test_an_answer_in_another_language_than_its_passages_is_not_guessed_at() -> None:
    case = {"question": QUESTION, "context": [PASSAGE], "answer": "Het zwembad in Alden is op maandag gewoon open."}
    judgement = krino.judge("rag", case)
    assert judgement.status == "failed"
    assert judgement.reason is not None and "in Dutch and the passages are in English" in judgement.reason


def test_a_sentence_in_another_language_is_unsupported_and_says_why() -> None:
    answer = f"{PASSAGE} {TRUE} Honden mogen er niet in."
    judgement = krino.judge("rag", {"question": QUESTION, "context": [PASSAGE], "answer": answer})
    verdict = judgement.verdict or {}
    assert verdict["faithfulness"] < 1.0
    assert "cannot compare" in verdict["faithfulness_explanation"]


@pytest.mark.parametrize(
    "disguise",
    [
        FALSE.translate({code: code + 0xFEE0 for code in range(0x21, 0x7F)}),
        FALSE.replace("o", "о").replace("e", "е").replace("a", "а"),  # Cyrillic look-alikes
        "\u00ad".join(FALSE),
        "  ".join(" ".join(word) for word in FALSE.split()),
    ],
)
def test_look_alike_letters_are_read_as_what_they_look_like(disguise: str) -> None:
    assert faithfulness(disguise) < 1.0
