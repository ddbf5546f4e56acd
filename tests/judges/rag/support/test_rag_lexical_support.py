"""What code decides to the letter, and what it must leave to the models: sentences that only look opposed."""

from __future__ import annotations

import pytest

from krino.judges.rag.reading.grammar import word_list
from krino.judges.rag.support.draft_claims import lay_out
from krino.judges.rag.support.entailment_support import Weighing
from krino.judges.rag.support.lexical_support import Support, decide
from krino.models.entailment import Entailment
from rag_making import facts_of

ROWS = "| City | Founded |\n|---|---|\n| Arlen | 1214 |\n| Beek | 1380 |"


def decided(question: str, context: str, answer: str) -> Support | None:
    (draft,) = lay_out(facts_of(question=question, context=[context], answer=answer)).drafts
    return decide(draft.pair)


@pytest.mark.parametrize(
    ("context", "answer", "label"),
    [
        ("The hotel has 48 rooms and 12 suites.", "The hotel has 12 rooms and 48 suites.", "contradicted"),
        (
            "The path is closed to riders until spring.",
            "The path has been open to riders since spring.",
            "contradicted",
        ),
        ("The shop is always open.", "The shop is never open.", "contradicted"),
        ("Ida works as a nurse, while Alva works as a pilot.", "Ida works as a pilot.", "unsupported"),
        ("The tunnel is scheduled to open in May.", "The tunnel opened in May.", "unsupported"),
        ("Naps may improve memory, a study suggests.", "It is proven that naps improve memory.", "unsupported"),
        ("In this lake the pike feeds on young perch.", "Young perch feed on the pike in this lake.", "contradicted"),
        ("Three quarters of the glass is recycled.", "75 percent of the glass is recycled.", "supported"),
        ("Fees are paid each quarter.", "Fees are paid each month.", "contradicted"),
        ("Only guide dogs are allowed on board.", "All dogs are allowed on board.", "contradicted"),
        ("The mill is open every day except Monday.", "The mill is open on Monday.", "contradicted"),
        ("Patients must avoid driving after the test.", "You can drive after the test.", "contradicted"),
        ("TLS is disabled unless a key is set.", "TLS is enabled by default.", "contradicted"),
        ("An adult pays 12 euros and a child 6 euros.", "A child pays 12 euros.", "contradicted"),
        ("On Monday it opens at 8:00, on Friday at 9:00.", "On Friday it opens at 8:00.", "contradicted"),
        ("The owner pays for repairs. The tenant pays for bulbs.", "The tenant pays for repairs.", "unsupported"),
        ("The red line goes to the port and the blue line to the zoo.", "The red line goes to the zoo.", "unsupported"),
        ("Boys travel free, while girls pay 5 euros.", "Girls travel free, while boys pay 5 euros.", "contradicted"),
        ("Entries open on 2 March and close on 30 April.", "Entries close on 2 March.", "contradicted"),
        (
            "Interviews are in June in Leeds. Entries close in April.",
            "Interviews are in April in Leeds.",
            "contradicted",
        ),
        ("A visit takes 40 minutes in May and an hour in June.", "In June a visit takes 40 minutes.", "contradicted"),
        ("The play begins at 19:00 and ends at 21:00.", "The play lasts two hours.", "supported"),
        ("Only guide dogs are allowed on board.", "Dogs are not allowed on board, except guide dogs.", "supported"),
    ],
)
def test_what_a_sentence_says_otherwise_or_the_same_is_decided(context: str, answer: str, label: str) -> None:
    found = decided("What is it like?", context, answer)
    assert found is not None and found.label == label


@pytest.mark.parametrize(
    ("context", "answer"),
    [
        ("Fungi can rarely lead to this, bacteria mostly do.", "Bacteria lead to this, often following a wound."),
        ("Change the sleep entry of the computer to go into sleep mode.", "From there, change the sleep entry."),
        (
            "Keep the nozzle at one distance so that no streaks occur.",
            "Keep the nozzle at one distance to avoid streaks.",
        ),
        ("On Sunday the museum is open from 12:00 to 17:00.", "On Sunday the museum closes at 17:00."),
        ("The pool opens at 7:00 on weekdays.", "The pool is closed until 7:00 on weekdays."),
        ("Only guide dogs are allowed on board.", "Guide dogs are welcome on board."),
        ("No pets are allowed here, with the exception of fish.", "Fish are allowed here."),
        ("Visitors may not enter without a ticket.", "Visitors with a ticket may enter."),
        ("Dogs are kept on a lead from April to July.", "Dogs have to be on a lead from April to July."),
        ("Check that the tray is not full.", "Check whether the tray is full."),
        ("The old mill was built in 1854. The mill was automated in 1986.", "The old mill was automated in 1986."),
        ("The 6% fall in sales followed a flood.", "Sales fell by 6% after a flood."),
        ("Between 2003 and 2008 he played for Ghent.", "He was at Ghent between 2003 and 2008."),
        (
            "A late payment fee of $29 applies if the minimum payment is not received by the due date.",
            "A late fee of $29 applies if we don't receive your minimum payment by the due date.",
        ),
        ("Fees: $0 to transfer money at home.", "There is no fee to transfer money at home."),
        ("No other birds are as famous as the gulls of Skar.", "The most famous birds are the gulls of Skar."),
        (
            "Alum is the slow form of it where as borax is the fast form.",
            "Alum is the slow form of it while borax is the fast form.",
        ),
        ("The station was built in 1887.", "The station was built in the 1880s."),
        ("Sure you can get your boots wet.", "If your Sparrows get wet, it is no big deal."),
    ],
)
def test_what_only_looks_opposed_is_left_to_the_models(context: str, answer: str) -> None:
    found = decided("What is it like?", context, answer)
    assert found is None or found.label == "supported"


def test_the_value_of_another_half_of_the_sentence_is_not_that_of_the_claim() -> None:
    context = "Ann Mo joined the firm in 2011 and became head of the unit in 2017."
    wrong = decided("When?", context, "Ann Mo became head of the unit in 2011.")
    assert wrong is not None and wrong.label == "contradicted"
    right = decided("When?", context, "Ann Mo became head of the unit in 2017.")
    assert right is None or right.label == "supported"


def test_the_value_of_another_row_is_not_that_of_the_one_asked_for() -> None:
    wrong = decided("When was Beek founded?", ROWS, "Beek was founded in 1214.")
    assert wrong is not None and wrong.label == "contradicted"
    right = decided("When was Beek founded?", ROWS, "Beek was founded in 1380.")
    assert right is None or right.label == "supported"


@pytest.mark.parametrize("word", sorted(word_list("words", "hours")))
def test_words_of_doors_are_opposites_but_for_a_time_that_both_have(word: str) -> None:
    for other in ("closes", "closed") if word.startswith("open") else ("opens", "open"):
        found = decided("When?", f"The gate {other} at 9:00 in May.", f"The gate {word} at 9:00 in May.")
        assert found is None or found.label != "contradicted"


@pytest.mark.parametrize("word", sorted(word_list("words", "light")))
def test_a_light_word_changes_nothing_in_what_is_opposed(word: str) -> None:
    found = decided("Is the pump on?", "The pump is disabled.", f"The pump is enabled {word}.")
    assert found is not None and found.label == "contradicted"


@pytest.mark.parametrize(
    ("context", "answer"),
    [
        ("Students get a discount on books.", "Everyone gets a discount on books."),
        ("In 2012 the bakery won the bread prize.", "The hotel won the bread prize in 2012."),
    ],
)
def test_a_hint_decides_nothing_by_itself(context: str, answer: str) -> None:
    (draft,) = lay_out(facts_of(question="What is it like?", context=[context], answer=answer)).drafts
    assert draft.pair.conflict is not None and draft.pair.conflict.hint
    assert decide(draft.pair) is None
    for against, counts in ((0.9, True), (0.1, False)):
        weighing = Weighing.of(draft.pair, Entailment(supported=1 - against, unsupported=0.0, contradicted=against))
        assert (weighing.conflict is not None) is counts


@pytest.mark.parametrize(
    ("context", "answer"),
    [
        ("Le menu du jour coûte 16 euros, le menu gourmand 34 euros.", "Le menu gourmand coûte 16 euros."),
        ("Een volwassene betaalt 12 euro, een kind 6 euro.", "Een kind betaalt 12 euro."),
        ("Für Mitglieder beträgt die Gebühr 20 Euro, für Gäste 35 Euro.", "Für Gäste beträgt die Gebühr 20 Euro."),
        ("La entrada general cuesta 12 euros, la entrada infantil 6 euros.", "La entrada infantil cuesta 12 euros."),
    ],
)
def test_the_value_of_a_later_part_belongs_to_it_in_any_language(context: str, answer: str) -> None:
    found = decided("?".join((context.split()[0], "")), context, answer)
    assert found is not None and found.label == "contradicted"
    right = context.split(",")[0] + "."
    assert (told := decided("?".join((context.split()[0], "")), context, right)) is None or told.label == "supported"
