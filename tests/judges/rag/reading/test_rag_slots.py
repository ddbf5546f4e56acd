"""One thing in the place of another is seen; lists, other words for the same and what opens a sentence are not."""

from __future__ import annotations

import pytest

from krino.judges.rag.reading.slots import in_place_of


@pytest.mark.parametrize(
    ("claim", "found", "told"),
    [
        ("Jonas Vik left for Rangers in 2012.", "Jonas Vik left for Celtic in 2012.", ("rangers", "celtic")),
        ("Manchester City won the cup.", "Manchester United won the cup, beating Leeds.", ("city", "united")),
        (
            "Brandt makes gearboxes.",
            "Brandt makes brake pads, while Orlo makes gearboxes.",
            ("gearboxes", "brake pads"),
        ),
        ("Metra lowers the pressure.", "Tarvo lowers the pressure, whereas Metra is given later.", ("metra", "tarvo")),
        (
            "Varna is governed from Rudd.",
            "Varna is governed from Kelme; Isto is governed from Rudd.",
            ("rudd", "kelme"),
        ),
        ("Clara studied law in Ghent.", "Mina studied art in Ghent, and Clara studied law in Bonn.", ("ghent", "bonn")),
        ("The office closes at 9.", "The office opens at 9 and closes at 4 on Fridays.", ("9", "4")),
        ("On Fridays the office closes at 9.", "The office opens at 9 and closes at 4 on Fridays.", ("9", "4")),
        ("Soak it for 15 minutes.", "First soak it for 20 minutes, then steam it for 15 minutes.", ("15", "20")),
    ],
)
def test_a_thing_in_the_place_of_another_is_told(claim: str, found: str, told: tuple[str, str]) -> None:
    assert in_place_of(claim, found) == told


@pytest.mark.parametrize(
    ("claim", "found"),
    [
        ("Brandt makes gearboxes.", "Brandt makes brake pads and gearboxes."),
        ("Clara studied law in Bonn.", "Mina studied art in Ghent, and Clara studied law in Bonn."),
        ("The town lies in the US.", "The town lies in the United States."),
        ("Scientists have used it to heal pigs.", "Researchers have used it to heal pigs."),
        ("The cage is reinforced with steel bars.", "The cage is made of mesh that is reinforced with steel bars."),
        ("It was signed on 1998-05-03.", "It was signed on 3 May 1998."),
        ("For joining two frames, use identical frames.", "For joining two together, use identical frames."),
    ],
)
def test_what_is_no_exchange_is_not_told(claim: str, found: str) -> None:
    assert in_place_of(claim, found) is None
