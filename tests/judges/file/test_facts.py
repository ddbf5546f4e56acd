"""Facts that need no key: what rules know of texts from code and from the embedded models."""

from __future__ import annotations

from typing import Any

import pytest

import krino
from krino.judges.file.cel import DYN, STRING, ExpressionProblem, RuleFault, StepBudget, compile_expression, list_of
from krino.judges.file.judge import class_of_text

NAMES = {"text": STRING, "items": list_of(STRING), "data": DYN}


def value(source: str, text: str = "", **more: Any) -> Any:
    return compile_expression(source, NAMES).value(StepBudget({"text": text, "items": [], "data": None, **more}))


@pytest.mark.parametrize(
    ("source", "text", "expected"),
    [
        ("words(text)", "Don't stop — it's l’été, 42 times.", 6),
        ("words(text)", "", 0),
        ("lines(text)", "one\n\n  \ntwo\n", 2),
        ("count(text, 'a+')", "a aa baaa", 3),
        ("count(text, 'x*')", "abc", 0),
        ("text.matches('^[A-Z]{3}-\\\\d+$')", "ABC-12", True),
        ("text.matches('(?i)THANK')", "thank you", True),
        ("is_blank(text)", " \u200b\n", True),
        ("is_json(text)", '{"a": 1}', True),
        ("is_json(text)", "{a: 1}", False),
        ("json(text).a[1]", '{"a": [1, 2]}', 2),
        ("language(text)", "Le tribunal a rejeté la demande de la société.", "fr"),
        ("language(text)", "De rechtbank heeft de vordering van de vennootschap afgewezen.", "nl"),
        ("language(text)", "", ""),
        ("is_refusal(text)", "I cannot answer that from the documents.", True),
        ("is_refusal(text)", "I cannot help with that.", True),
        ("is_refusal(text)", "As an AI, I must decline to provide instructions for weapons.", True),
        ("is_refusal(text)", "Je ne peux pas répondre à cette question.", True),
        ("is_refusal(text)", "The tower is 102 metres tall.", False),
        pytest.param(
            "is_refusal(text)",
            "I cannot say when it opens, but the tower is 102 metres tall.",
            False,
            marks=pytest.mark.xfail(reason="the model reads the first half only", strict=True),
        ),
        ("is_refusal(text)", "You cannot park here.", False),
        ("is_refusal(text)", "The court declined to answer the question.", False),
        ("is_refusal(text)", "", False),
        ("text.trim().lowerAscii()", "  ÉTÉ Abc ", "ÉtÉ abc"),
    ],
)
def test_what_code_knows_of_a_text(source: str, text: str, expected: Any) -> None:
    found = value(source, text)
    assert found == expected
    assert type(found) is type(expected)


def test_an_embedded_model_supports_a_claim_or_does_not() -> None:
    text = "The tower is 102 metres tall and was built in 1887."
    assert value("supports(text, 'The tower was built in 1887.')", text) > 0.8
    assert value("supports(text, 'The tower is open on Sundays.')", text) < 0.3


def test_an_embedded_model_says_how_near_texts_are() -> None:
    near = value("similarity(text, 'How do I get my money back?')", "How can I get a refund?")
    far = value("similarity(text, 'The cat sat on the mat.')", "How can I get a refund?")
    assert near > far + 0.3


SCHEMAS = """---
inputs: {answer: text}
schemas:
  person:
    type: object
    properties: {name: {type: string, minLength: 1}, age: {type: integer, minimum: 0}}
    required: [name]
    additionalProperties: false
rules: {FITS: {score: "fits(answer, 'person') ? 1 : 0", message: The answer is a person.}}
---
"""


@pytest.mark.parametrize(
    ("answer", "score"),
    [
        ('{"name": "Ann", "age": 3}', 1.0),
        ('{"name": "Ann"}', 1.0),
        ('{"name": ""}', 0.0),
        ('{"name": "Ann", "age": -1}', 0.0),
        ('{"name": "Ann", "age": "3"}', 0.0),
        ('{"name": "Ann", "x": 1}', 0.0),
        ('{"age": 3}', 0.0),
        ("[]", 0.0),
        ("no JSON", 0.0),
        ("[" * 5_000, 0.0),
    ],
)
def test_a_judge_without_a_model_holds_json_against_a_schema(answer: str, score: float) -> None:
    judgement = krino.judge(class_of_text(SCHEMAS, "person", "person.md"), {"answer": answer})
    assert judgement.verdict == {"score": score}
    assert judgement.decided_by == {"score": "FITS"}


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ("{pattern: a}", "uses `pattern`"),
        ("{type: strin}", "uses `type: 'strin'`"),
        ("{properties: {a: {format: date}}}", "uses `a.format`"),
        ("{items: {not: {type: string}}}", "uses `items.not`"),
        ("{$ref: '#/$defs/a', $defs: {a: {$ref: '#/$defs/a'}}}", "makes no sense"),
        ("{$ref: 'https://example.org/x'}", "makes no sense"),
    ],
)
def test_a_schema_that_is_not_wholly_checked_is_refused(schema: str, told: str) -> None:
    text = f"---\ninputs: [a]\nschemas: {{s: {schema}}}\nrules: {{R: {{score: \"fits(a, 's') ? 1 : 0\"}}}}\n---\n"
    with pytest.raises(krino.UsageProblem) as found:
        class_of_text(text, "x", "x.md")
    assert told in str(found.value)


def test_a_schema_that_is_not_there_is_guessed() -> None:
    with pytest.raises(krino.UsageProblem, match="did you mean person"):
        class_of_text(SCHEMAS.replace("'person'", "'persn'"), "x", "x.md")


def test_a_pattern_that_is_wrong_is_found_before_any_case() -> None:
    with pytest.raises(ExpressionProblem, match="regular expression"):
        compile_expression("text.matches('(')", NAMES)
    with pytest.raises(RuleFault, match="regular expression"):
        value("text.matches(text)", "(")


def test_what_a_function_computes_with_is_part_of_the_judge() -> None:
    """A new model or table makes another judge of one whose rules ask it, and of no other."""

    def data_of(expression: str) -> str:
        text = f'---\ninputs: {{a: text}}\nrules: {{R: {{score: "{expression}"}}}}\n---\n'
        made: str = class_of_text(text, "x", "x.md")().fingerprint()["data"]
        return made

    plain = data_of("double(words(a))")
    assert data_of("size(a)") == plain
    assert data_of("supports(a, a)") == data_of("is_refusal(a) ? 1 : 0") != plain


def test_half_a_character_in_a_text_does_no_harm() -> None:
    broken = "a\ud800b"
    assert value("text.matches('^a.b$')", broken) in (True, False)
    assert value("count(text, 'b')", broken) == 1
    assert value("is_json(text)", broken) is False
