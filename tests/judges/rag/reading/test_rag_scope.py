"""For whom and when something holds: what is said more widely than the passage does, and what only sounds so."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krino.judges.rag.reading.scope import (
    is_taken_out,
    may_be_wider,
    other_scope,
    read_scope,
    same_scope,
    supposed,
)
from krino.judges.rag.tables import table
from krino.text.language import READ_LANGUAGES

LANGUAGES = [name for name in table("scope") if name != "leave"]
NOUN = {"en": "members", "fr": "membres", "nl": "leden", "de": "mitglieder", "es": "socios"}


def test_every_language_that_is_read_has_its_words() -> None:
    assert sorted(LANGUAGES) == sorted(READ_LANGUAGES)


@pytest.mark.parametrize(
    ("language", "word"), [(name, word) for name in LANGUAGES for word in table("scope")[name]["all"].split()]
)
def test_a_word_that_says_all_goes_beyond_a_limit(language: str, word: str) -> None:
    only = table("scope")[language]["only"].split()[0]
    claim, found = f"x {word}", f"{only} {NOUN[language]}, x"
    assert other_scope(claim, found, language) == (word, f"{only} {NOUN[language]}")
    assert other_scope(f"{claim} {NOUN[language]}", found, language) is None


@pytest.mark.parametrize(
    ("language", "word"), [(name, word) for name in LANGUAGES for word in table("scope")[name]["only"].split()]
)
def test_a_word_that_narrows_sets_a_limit(language: str, word: str) -> None:
    limit = read_scope(f"x x {word} {NOUN[language]}.", language).only
    assert limit is not None
    assert limit.text == f"{word} {NOUN[language]}"


@pytest.mark.parametrize(
    ("language", "phrase"), [(name, phrase) for name in LANGUAGES for phrase in table("scope")[name]["kept"]]
)
def test_a_phrase_that_narrows_sets_a_limit(language: str, phrase: str) -> None:
    limit = read_scope(f"x x {phrase} {NOUN[language]}.", language).only
    assert limit is not None
    assert limit.text.endswith(NOUN[language])


@pytest.mark.parametrize(
    ("language", "phrase"), [(name, phrase) for name in LANGUAGES for phrase in table("scope")[name]["except"]]
)
def test_what_is_taken_out_is_not_said_of_all(language: str, phrase: str) -> None:
    every = table("scope")[language]["all"].split()[0]
    found = f"{every} x x, {phrase} {NOUN[language]}."
    assert other_scope(f"{every} x x.", found, language) is not None
    assert is_taken_out(f"{NOUN[language]} x x.", found, language) is not None
    assert is_taken_out("x x.", found, language) is None


@pytest.mark.parametrize(
    ("language", "name", "phrase"),
    [(code, name, phrase) for code in LANGUAGES for name in ("unless", "if") for phrase in table("scope")[code][name]],
)
def test_a_condition_is_no_always(language: str, name: str, phrase: str) -> None:
    every = table("scope")[language]["all"].split()[-1]
    found = f"x x {phrase} {NOUN[language]} y."
    assert other_scope(f"x {every} x.", found, language) is not None, name
    assert other_scope(f"x {every} x {phrase} {NOUN[language]} y.", found, language) is None


IDLE = table("scope")["en"]["not_all"]


@pytest.mark.parametrize(
    "told",
    [*(f"{word} all" for word in IDLE["behind"].split()), *(f"all {word}" for word in IDLE["before"].split())],
)
def test_an_all_that_speaks_of_nobody_says_nothing(told: str) -> None:
    assert read_scope(f"It is {told} is.", "en").all == ""
    assert read_scope("It is for all of it.", "en").all == "all"


def test_what_is_said_of_each_ones_part_is_not_said_of_each() -> None:
    assert read_scope("Each bar's height shows a size.", "en").all == ""
    assert read_scope("Each bar shows a size.", "en").all == "each"
    plural = "Alle auto's mogen hier staan."  # in Dutch the same sign makes a plural
    assert read_scope(plural, "nl").all == "alle"


@pytest.mark.parametrize(
    ("text", "language", "front"),
    [
        ("If the shoes get wet, wax them.", "en", "If the shoes get wet"),
        ("Wenn die Schuhe nass werden, wachsen Sie sie ein.", "de", "Wenn die Schuhe nass werden"),
        ("Als de schoenen nat zijn, zet ze in de was.", "nl", "Als de schoenen nat zijn"),
        ("Si les chaussures sont mouillées, cirez-les.", "fr", "Si les chaussures sont mouillées"),
        ("Si los zapatos están mojados, encérelos.", "es", "Si los zapatos están mojados"),
        ("Wax them if they get wet, please.", "en", ""),
        ("The shoes get wet, so wax them.", "en", ""),
    ],
)
def test_what_a_text_supposes_it_does_not_state(text: str, language: str, front: str) -> None:
    assert supposed(text, language) == front


@pytest.mark.parametrize("word", table("scope")["en"]["not_only"].split())
def test_an_only_behind_this_sets_no_limit(word: str) -> None:
    assert read_scope(f"It is {word} only members.", "en").only is None
    assert read_scope("It is only members.", "en").only is not None


def test_the_words_of_one_language_are_not_read_in_another() -> None:
    assert read_scope("Hij at alle appels.", "nl").all == "alle", "the Dutch word is a verb"


@pytest.mark.parametrize(
    ("claim", "found"),
    [
        ("All dogs are allowed.", "Only assistance dogs are allowed."),
        ("Dogs are allowed.", "Only assistance dogs are allowed."),
        ("The pool is open to everyone.", "The pool is open to members only."),
        ("It is open every day.", "It is open every day except Monday."),
        ("Delivery is always free.", "Delivery is free unless the order is small."),
    ],
)
def test_what_holds_more_widely_is_found(claim: str, found: str) -> None:
    assert other_scope(claim, found, "en") is not None


@pytest.mark.parametrize(
    ("claim", "found"),
    [
        ("Assistance dogs are allowed.", "Only assistance dogs are allowed."),
        ("Guide dogs are allowed.", "Only assistance dogs are allowed."),
        ("You are billed each month.", "You are billed each month unless you cancel."),
        ("That's all there is to it.", "If it rings, leave."),
        ("It is open every day but Monday.", "It is open every day except Monday."),
        ("All were found.", "Only eighteen people were found."),
        ("All staff must leave.", "If the alarm rings, all staff must leave."),
    ],
)
def test_what_only_sounds_wider_is_left(claim: str, found: str) -> None:
    assert other_scope(claim, found, "en") is None
    assert is_taken_out(claim, found, "en") is None


def test_a_limit_told_the_other_way_round_is_the_same() -> None:
    only = "Only assistance dogs are allowed."
    assert same_scope("Dogs are not allowed, except assistance dogs.", only, "en")
    assert not same_scope("Dogs are not allowed, except guide dogs.", only, "en")
    found = "Items can be returned, except underwear."
    assert same_scope("Items can be returned, but underwear cannot be returned.", found, "en")
    assert not same_scope("Items cannot be returned, but underwear can.", found, "en")


@pytest.mark.parametrize("word", table("scope")["en"]["people"].split())
def test_everyone_where_some_are_told_of_is_a_hint(word: str) -> None:
    assert may_be_wider(f"{word.capitalize()} gets a discount.", "Students get a discount.") is not None
    assert may_be_wider(f"{word.capitalize()} gets a discount.", "All visitors get a discount.") is None


def test_a_limit_that_the_passage_does_not_set_is_a_hint() -> None:
    assert may_be_wider("Only holders of the green pass pay less.", "Holders of either pass pay less.") is not None
    assert may_be_wider("Only eighteen people came.", "Eighteen people came.") is None


@given(st.text(max_size=60), st.text(max_size=60), st.sampled_from([*READ_LANGUAGES, "pt", None]))
def test_any_text_can_be_read(claim: str, found: str, language: str | None) -> None:
    assert other_scope(claim, claim, language) is None or read_scope(claim, language).all
    is_taken_out(claim, found, language)
    same_scope(claim, found, language)
