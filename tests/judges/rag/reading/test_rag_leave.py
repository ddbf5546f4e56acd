"""What may, must, need not and must not be done, in five languages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krino.judges.rag.reading.leave import other_leave, read_leave
from krino.judges.rag.tables import table
from krino.text.language import READ_LANGUAGES

KINDS = {
    "en": {
        "optional": ["You do not have to book.", "You needn't book.", "No need to book.", "Booking is optional."],
        "forbidden": [
            "You must not swim.",
            "Never swim.",
            "Avoid swimming.",
            "Swimming is prohibited.",
            "Do not swim.",
            "Nobody may swim.",
            "No one is allowed to swim.",
        ],
        "obliged": ["You must book.", "You have to book.", "Booking is mandatory."],
        "permitted": ["You may swim.", "It is fine to swim.", "Swimming is allowed.", "You are free to swim."],
    },
    "fr": {
        "optional": ["La réservation n'est pas obligatoire.", "Le casque est facultatif."],
        "forbidden": ["Il est interdit de nager.", "On ne peut pas nager.", "Personne ne peut nager."],
        "obliged": ["Il faut réserver.", "Vous devez réserver."],
        "permitted": ["On peut nager.", "La baignade est autorisée."],
    },
    "nl": {
        "optional": ["Reserveren is niet verplicht.", "De helm is facultatief."],
        "forbidden": ["Zwemmen is verboden.", "Je mag hier niet zwemmen.", "Niemand mag zwemmen."],
        "obliged": ["Je moet reserveren.", "Reserveren is verplicht."],
        "permitted": ["Je mag zwemmen.", "Zwemmen is toegestaan."],
    },
    "de": {
        "optional": ["Die Buchung ist freiwillig.", "Eine Buchung ist nicht nötig."],
        "forbidden": ["Schwimmen ist verboten.", "Man darf hier nicht schwimmen.", "Niemand darf schwimmen."],
        "obliged": ["Man muss buchen.", "Ein Helm ist vorgeschrieben."],
        "permitted": ["Man darf schwimmen.", "Schwimmen ist erlaubt."],
    },
    "es": {
        "optional": ["La reserva no es obligatoria.", "El casco es opcional."],
        "forbidden": ["Está prohibido nadar.", "No se puede nadar.", "Nadie puede nadar."],
        "obliged": ["Hay que reservar.", "El casco es obligatorio."],
        "permitted": ["Se puede nadar.", "Nadar está permitido."],
    },
}
EXCLUDED = [("permitted", "forbidden"), ("obliged", "optional")]


def test_every_language_and_kind_is_tried() -> None:
    data = table("scope")["leave"]
    assert sorted(KINDS) == sorted(READ_LANGUAGES) == sorted(name for name in data if name != "limits")
    assert sorted(data["limits"]) == sorted(KINDS)
    assert all(set(kinds) == set(data[code]) for code, kinds in KINDS.items())


@pytest.mark.parametrize(
    ("language", "kind", "text"),
    [(code, kind, text) for code, kinds in KINDS.items() for kind, texts in kinds.items() for text in texts],
)
def test_each_form_is_read_as_what_it_is(language: str, kind: str, text: str) -> None:
    leave = read_leave(text, language)
    assert leave is not None
    assert leave.kind == kind


@pytest.mark.parametrize("language", KINDS)
@pytest.mark.parametrize(("first", "second"), EXCLUDED)
def test_two_exclude_each_other_both_ways(language: str, first: str, second: str) -> None:
    ours, theirs = KINDS[language][first][0], KINDS[language][second][0]
    assert other_leave(ours, theirs, language) is not None
    assert other_leave(theirs, ours, language) is not None
    assert other_leave(ours, KINDS[language][first][1], language) is None


@pytest.mark.parametrize(
    ("claim", "found"),
    [
        ("Visitors with a ticket may enter.", "Visitors may not enter without a ticket."),
        ("You can drive again after a day.", "Do not drive until a day has passed."),
        ("You may swim but must not dive.", "Do not dive."),
        ("The lake is deep.", "Swimming is prohibited."),
    ],
)
def test_what_cannot_be_compared_is_left(claim: str, found: str) -> None:
    assert other_leave(claim, found, "en") is None


@pytest.mark.parametrize(
    ("language", "word"),
    [(code, word) for code, words in table("scope")["leave"]["limits"].items() for word in words.split()],
)
def test_a_word_that_bounds_a_leave_is_read_as_a_limit(language: str, word: str) -> None:
    leave = read_leave(f"{KINDS[language]['permitted'][0].rstrip('.')} {word} x.", language)
    assert leave is not None
    assert leave.limits == {word}


@given(st.text(max_size=80), st.sampled_from([*READ_LANGUAGES, "pt", None]))
def test_no_text_differs_from_itself(text: str, language: str | None) -> None:
    assert other_leave(text, text, language) is None
