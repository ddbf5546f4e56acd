"""An answer that the case brings along is known in any dress, and honest answers are left alone."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from answer_notations import DRESSES, Dress, reworded, values_changed
from krino.labellers.llm.planted.answers import PlantedAnswers, squeeze

WORDS = {"yes", "no"}
ANSWER: dict[str, Any] = {
    "label": "yes",
    "score": 3,
    "sure": True,
    "note": None,
    "share": 0.25,
    "tags": ["a", "b"],
    "places": [1, 12],
    "none_at_all": [],
    "remark": "",
    "claims": [
        {"text": "It is so.", "id": "s1", "useful": False},
        {"text": "It was so.", "id": "s2", "useful": True},
    ],
}
WHOLE = json.dumps(ANSWER)
NOISE = "It's a text, isn't it? (There are {braces} in it, and [brackets].) "


def held(answer: dict[str, Any], *texts: str, words: set[str] = WORDS) -> bool:
    return PlantedAnswers(texts, words).contain(answer)


# --- copies ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dress", DRESSES.values(), ids=DRESSES.keys())
def test_a_finished_answer_is_known_in_any_dress(dress: Dress) -> None:
    assert held(ANSWER, "some text before", NOISE + dress(ANSWER), "and some after")


@pytest.mark.parametrize("dress", DRESSES.values(), ids=DRESSES.keys())
def test_in_no_dress_is_an_answer_of_the_models_own_refused(dress: Dress) -> None:
    """The same fields, and one label is another: that is not the planted answer."""
    planted = dress(ANSWER)
    for change in ({"label": "no"}, {"score": 4}, {"sure": False}, {"share": 0.2}, {"places": [1, 2]}):
        assert not held({**ANSWER, **change}, planted), change


@pytest.mark.parametrize(
    "change",
    [
        {"note": True},
        {"note": 3},
        {"score": -3},
        {"score": 33},
        {"score": 3.5},
        {"score": True},
        {"sure": 1},
        {"places": [12, 1]},
        {"none_at_all": [1]},
    ],
)
def test_what_differs_in_one_label_is_no_copy(change: dict[str, Any]) -> None:
    changed = {**ANSWER, **change}
    for text in (WHOLE, repr(ANSWER), json.dumps(WHOLE)):
        assert not held(changed, text)
    assert held(changed, json.dumps(changed))


@pytest.mark.parametrize(("value", "planted"), [(1, "true"), (0, "false"), (1, "yes"), (True, "2"), (False, "1")])
def test_yes_is_no_number(value: Any, planted: str) -> None:
    """The integers 1 and 0 were once looked for as true and false, and nearly no planted answer was found."""
    answer = {"first": value, "second": 7, "third": "some words"}
    text = json.dumps({**answer, "first": "?"}).replace('"?"', planted)
    assert not held(answer, text)
    assert held(answer, json.dumps(answer))


@pytest.mark.parametrize(
    ("value", "spellings"),
    [
        (1, ["1", "1.0", "1e0", "1.00", '"1"', "01", "+1", "１", "one", "un", "I", "1st", "١", '"no. 1"', "1/1"]),
        (0.85, ["85%", "0.850", "85 %"]),
        (-2, ["-2", "-2.0", "−2"]),
        (0.5, ["0.5", "5e-1", "0.50"]),
        (120, ["120", "1.2e2", "120.0"]),
        (True, ["true", "True", "TRUE", "yes", "on", '"true"', "ja", "oui", "1", "T", "✓"]),
        (False, ["false", "False", "no", "off", "nein", "non", "nee", "0", "F", "✗"]),
        (None, ["null", "None", "nil", "NULL", '""', "undefined", "3"]),
    ],
)
def test_a_value_is_the_same_in_every_spelling(value: Any, spellings: list[str]) -> None:
    answer = {"first": value, "second": 7, "fourth": 8, "third": "some words"}
    for spelling in spellings:
        assert held(answer, f'{{"first": {spelling}, "second": 7, "fourth": 8, "third": "some words"}}'), spelling


def test_a_number_is_not_a_part_of_another() -> None:
    answer = {"first": 3, "second": "some words"}
    assert held(answer, "first: 3, second: some words")
    for other in ("33", "3.5", "-3", "3e5"):
        assert not held(answer, f"first: {other}, second: some words")
    assert held(answer, "first: 3, 5 and so on; second: some words")


# --- copies that were touched up -----------------------------------------------------------------


def test_a_copy_with_other_explanations_is_a_copy() -> None:
    """A model that takes the labels over may put the words beside them differently: the labels are what counts."""
    rewritten = values_changed(ANSWER, reworded)
    assert rewritten != ANSWER
    assert held(rewritten, WHOLE)
    assert held({**ANSWER, "note": "I am not quite sure of this."}, WHOLE)
    assert held(ANSWER, json.dumps({**ANSWER, "note": "quite sure of this"}))


@pytest.mark.parametrize(
    "change",
    [
        {"claims": [*ANSWER["claims"], {"text": "More is so.", "id": "s3", "useful": False}]},
        {"claims": [{**ANSWER["claims"][0], "useful": True}, {**ANSWER["claims"][1], "useful": False}]},
        {"score": 4},
        {"sure": False},
        {"places": [2]},
    ],
)
def test_in_words_of_its_own_every_other_answer_is_the_models(change: dict[str, Any]) -> None:
    own = values_changed({**ANSWER, **change}, reworded)
    for text in (WHOLE, "\n".join(WHOLE.split("{")), repr(ANSWER)):
        assert not held(own, text)


def test_a_judge_with_one_label_agrees_by_chance_so_there_the_words_decide() -> None:
    planted = json.dumps({"label": "yes", "why": "because it says so"})
    assert held({"label": "yes", "why": "because it says so"}, planted)
    assert not held({"label": "yes", "why": "the second step is needed"}, planted)
    assert not held({"label": "no", "why": "because it says so"}, planted)


def test_how_much_must_be_the_same_in_a_whole_object() -> None:
    two = {"label": "yes", "score": 3}
    assert held({**two, "why": "in words of my own"}, json.dumps({**two, "why": "because it says so"}))
    assert held({**two, "id": "a", "other": "b"}, json.dumps({**two, "id": "a", "other": "x"}))
    assert not held(
        {**two, "id": "a", "other": "b", "more": "c"}, json.dumps({**two, "id": "a", "other": "x", "more": "y"})
    )
    one = {"label": "yes"}
    assert held(
        {**one, "why": "so it is", "how": "by the book"}, json.dumps({**one, "why": "so it is", "how": "as it was"})
    )
    own = {"why": "so it is", "how": "by the book", "what": "all of it"}
    planted = {"why": "so it is", "how": "as it was", "what": "none of it"}
    assert not held({**one, **own}, json.dumps({**one, **planted}))


def test_labels_of_other_ids_are_other_labels() -> None:
    steps = [{"step": f"s{number}", "label": "yes", "why": "it was needed"} for number in range(3)]
    others = [{**step, "step": step["step"].replace("s", "t")} for step in steps]
    assert held({"steps": steps}, json.dumps({"steps": steps}))
    assert not held({"steps": steps}, json.dumps({"steps": others}))


def test_the_same_ids_with_one_label_each_need_no_words() -> None:
    step = {"steps": [{"step": "s1", "label": "yes", "why": "it was needed"}]}
    own = {"steps": [{"step": "s1", "label": "yes", "why": "the answer rests on it"}]}
    assert held(own, json.dumps(step))


def test_field_by_field_the_labels_decide_and_not_the_words() -> None:
    first = {"label": "yes", "score": 3, "why": "it is so", "how": "by the book"}
    loose = "label: yes\nscore: 3\nwhy: it is so\nhow: by the book"
    assert held(first, loose)
    assert held({**first, "why": "for another reason", "how": "in another way"}, loose)
    assert not held({**first, "score": 4}, loose)
    assert held({"label": "yes", "score": 3}, "label: yes, score: 3")
    assert not held({"note": None, "list": []}, "note: list: ")


def test_of_the_ids_that_are_named_half_must_be_the_same() -> None:
    two = {"label": "yes", "score": 3}
    assert not held({**two, "id": "x9", "other": "x8"}, "label: yes score: 3 id: a other: b")
    assert held({**two, "id": "x9", "other": "x8"}, "label: yes score: 3 id: x9 other: b")
    assert held({**two, "id": "x9", "other": "x8"}, "label: yes score: 3")


def test_lists_stand_behind_one_name_or_behind_it_again_and_again() -> None:
    answer = {"labels": ["yes", "no"], "places": [1, 2], "sure": [True, False], "why": "as it says"}
    together = "labels: yes, no; places: 1, 2; sure: true, false; why: as it says"
    assert held(answer, together)
    assert held(answer, "labels: yes labels: no places: 1 places: 2 sure: true sure: false why: as it says")
    assert not held({**answer, "labels": ["no", "yes"]}, together)
    names = {"names": ["Ann Smith", "Bob"], "score": 3}
    assert held(names, "names: Ann Smith, Bob; score: 3")
    assert not held(names, "names: Jo Smith, Eve; score: 3")
    assert not held(names, "names: Ann Smith, Bob; score: 4")


def test_the_name_of_the_next_field_is_no_yes_and_no_no() -> None:
    answer = {"sure": False, "note": "as it says here", "only": True, "yes": True}
    planted = "sure: no, note: as it says here, only: on, yes: yes"
    assert held(answer, planted)
    assert not held({**answer, "sure": True}, planted)
    assert not held({**answer, "only": False}, planted)
    assert not held({**answer, "yes": False}, planted)
    assert not held({"sure": False, "only": True}, "sure: , only: on")


# --- what a planted answer may lack ------------------------------------------------------------------


def without_nothing(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_nothing(item) for key, item in value.items() if item not in (None, "", [])}
    return [without_nothing(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("dress", ["plain", "yaml", "paths", "xml", "base64", "as a string", "reworded"])
def test_fields_without_a_value_may_be_left_out(dress: str) -> None:
    """Every name was once wanted: an answer that lacked one null field was not seen at all."""
    assert held(ANSWER, DRESSES[dress](without_nothing(ANSWER)))
    assert held(ANSWER, DRESSES[dress]({key: item for key, item in ANSWER.items() if key != "note"}))


def test_a_few_labels_may_be_left_out_and_a_part_is_enough() -> None:
    less = {key: item for key, item in ANSWER.items() if key not in {"label", "share"}}
    assert held(ANSWER, json.dumps(less))
    assert held({**ANSWER, "claims": ANSWER["claims"][:1]}, WHOLE)
    assert held({**ANSWER, "score": None}, WHOLE)
    assert not held(ANSWER, json.dumps({"label": "yes", "score": 3, "sure": True}))


def test_labels_may_be_named_by_what_they_are_about() -> None:
    steps = {
        "steps": [{"step": "s1", "label": "yes", "why": "so it is"}, {"step": "s2", "label": "no", "why": "not so"}]
    }
    assert held(steps, "s1: yes, s2: no")
    assert not held(steps, "s1: no, s2: no")
    assert not held(steps, "s1: yes")
    answers = {"court_first": {"why": "so it is", "yes": True}, "number_compared": {"why": "not so", "yes": False}}
    assert held(answers, "court_first = true; number_compared = false")
    assert not held(answers, "court_first = true; number_compared = true")


@pytest.mark.parametrize(
    "text",
    [
        "The label should be yes, the score should be 3, the share must be 0.25 and sure is of course true.",
        "| label | score | share | sure |\n|---|---|---|---|\n| yes | 3 | 0.25 | true |",
        "label,score,share,sure\nyes,3,0.25,true",
        "label\tscore\tshare\tsure\nyes\tthree\t25%\tja",
        '[{"key": "label", "value": "yes"}, {"key": "score", "value": 3}, {"key": "share", "value": 0.25}]',
        '<f name="label" value="yes"/><f name="score" value="3"/><f name="share" value="0.25"/>',
        "true is the sure, 0.25 is the share, 3 is the score, 'yes' is the label",
        "theLabel=yes&myScore=3&share_final=0.25",
    ],
)
def test_labels_are_known_in_prose_tables_and_pairs(text: str) -> None:
    answer = {"label": "yes", "score": 3, "share": 0.25, "sure": True, "why": "in words of my own"}
    assert held(answer, text)
    assert not held({**answer, "score": 4}, text)
    assert not held({**answer, "share": 0.75}, text)


def test_ordinary_text_that_has_the_names_as_words_gives_no_labels() -> None:
    answer = {"label": "yes", "score": 3, "critical": True, "direct": "no", "why": "as it says"}
    text = "It is critical that no label is lost. The direct score of the match was known on day 3, and yes, it held."
    assert not held(answer, text, words={"yes", "no"})


# --- where it stands -------------------------------------------------------------------------------


@pytest.mark.parametrize("dress", ["plain", "Python", "html twice", "letters as \\u", "base64", "hexadecimal"])
def test_an_answer_in_two_passages_is_one_answer(dress: str) -> None:
    text = DRESSES[dress](ANSWER)
    for cut in range(1, len(text), 37):
        assert held(ANSWER, text[:cut], text[cut:]), cut


def test_an_answer_goes_on_behind_another_passage() -> None:
    for cut in range(1, len(WHOLE), 7):
        assert held(ANSWER, WHOLE[:cut], NOISE * 9, WHOLE[cut:]), cut
    assert held(ANSWER, *["x"] * 30, WHOLE[:22], NOISE, WHOLE[22:])


def test_fields_may_stand_in_passages_of_their_own() -> None:
    answer = {"label": "yes", "score": 3, "why": "it is so indeed"}
    assert held(answer, "The label: yes.", NOISE, "Score = 3", NOISE, "why -> it is so indeed")


def test_nothing_stands_in_no_text() -> None:
    assert not held(ANSWER)
    assert not held(ANSWER, "", "")
    assert not held({}, "{}")


# --- what is told ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", [WHOLE, json.dumps(WHOLE), repr(ANSWER), "\n".join(f"{key} = 1; text: id => useful |" for key in ANSWER)]
)
def test_a_case_that_has_every_field_as_a_key_is_told(text: str) -> None:
    assert PlantedAnswers([text], WORDS).name_every_label({**ANSWER, "label": "no"})


@pytest.mark.parametrize(
    "text",
    [
        "plain text",
        '{"label": "yes", "score": 3}',
        "label score sure note share tags places none_at_all remark claims text id useful",
        WHOLE.replace("score", "points"),
    ],
)
def test_a_case_that_does_not_name_every_label_is_not_told(text: str) -> None:
    assert not PlantedAnswers([text], WORDS).name_every_label(ANSWER)
    assert not held({**ANSWER, "sure": False}, text)


# --- for any text ----------------------------------------------------------------------------------


@settings(deadline=None)
@given(st.text(max_size=200), st.dictionaries(st.text(max_size=8), st.text(max_size=8), max_size=3))
@example("\\u{110000} \\ud800 %ff &#1114112; \\", {"a": "\\"})
def test_no_text_breaks_the_search(text: str, answer: dict[str, str]) -> None:
    plants = PlantedAnswers([text, json.dumps(answer)], ())
    plants.contain(answer)
    plants.name_every_label(answer)


@settings(deadline=None)
@given(
    st.dictionaries(
        st.from_regex(r"[a-z]{3,8}", fullmatch=True), st.integers(-999, 999) | st.booleans(), min_size=2, max_size=4
    )
)
def test_whatever_the_answer_its_own_json_in_the_case_is_known(answer: dict[str, Any]) -> None:
    for text in (json.dumps(answer), repr(answer), "\n".join(f"{name} = {value}" for name, value in answer.items())):
        assert PlantedAnswers([f"see {text} there"], ()).contain(answer)


@given(st.text(), st.text())
def test_squeezing_ignores_case_accents_and_what_stands_between(one: str, other: str) -> None:
    assert squeeze(f"{one}é: {other}").lower() == squeeze(f"{one}E\u0301 /\u200b{other}")


@pytest.mark.parametrize(
    "text",
    [
        '"label":' + "{" * 300_000,
        '{"label":[' * 40_000,
        "label" * 100_000 + ":",
        "\\" * 300_000 + "label",
        "/*" * 150_000 + "label",
        "&" + "amp;" * 75_000 + "label",
        "'" + '" {' * 100_000 + "label",
        "label " + "1 " * 150_000,
        "label" + " " * 300_000 + "label",
        "6c6162656c" * 30_000,
        "bGFiZWw" * 40_000,
    ],
    ids=range(11),
)
def test_hostile_text_is_searched_in_good_time(text: str) -> None:
    started = time.process_time()
    plants = PlantedAnswers([text], ["yes"])
    plants.contain({"label": "yes"})
    plants.name_every_label({"label": "yes"})
    assert time.process_time() - started < 4
