"""Who does what to whom, how many, and what a sentence claims: tables entry by entry, and sentences of each kind."""

from __future__ import annotations

import pytest

from krino.judges.rag.reading.amounts import other_amount
from krino.judges.rag.reading.claims import clauses, parted_values, resolve, split_claims
from krino.judges.rag.reading.frames import compare_roles, of_another, other_subject, says_the_same, told_from_far_end
from krino.judges.rag.reading.grammar import DEGREES, all_forms, in_one_word, root_of, verb_form, word_list
from krino.judges.rag.reading.words import opposed_words, opposite_words, read_sentence
from krino.judges.rag.tables import table
from krino.text.words import stem, stop_words

GROUPS = table("synonyms")["groups"]
PHRASES = table("synonyms")["phrases"]


# --- tables, entry by entry ------------------------------------------------------------------------


@pytest.mark.parametrize("group", GROUPS)
def test_words_of_a_group_have_one_root(group: str) -> None:
    assert len({root_of(word) for word in group.split()}) == 1


@pytest.mark.parametrize("language", table("synonyms")["others"])
def test_words_of_a_group_of_another_language_have_one_root_and_stand_in_one_group(language: str) -> None:
    groups = table("synonyms")["others"][language]
    roots = [{root_of(word, language) for word in group.split()} for group in groups]
    assert all(len(told) == 1 for told in roots)
    assert len(set.union(*roots)) == len(groups)
    assert not any(word in stop_words(language) for group in groups for word in group.split())


def test_no_word_is_in_two_groups_and_none_says_how_to_answer() -> None:
    words = [stem(word) for group in GROUPS for word in group.split()]
    assert len(words) == len(set(words))
    asking = {stem(word) for word in table("questions")["words"].split()}
    assert not asking & {root_of(word) for group in GROUPS for word in group.split()}


@pytest.mark.parametrize("phrase", PHRASES)
def test_a_phrase_is_read_as_one_word(phrase: str) -> None:
    assert in_one_word(f"It {phrase} here.") == f"It {PHRASES[phrase]} here."


@pytest.mark.parametrize("entry", table("english")["verbs"]["irregular"].split(","))
def test_irregular_verbs_are_known_in_all_forms(entry: str) -> None:
    base, past, participle = entry.split()
    assert all(verb_form(form) is not None for form in (base, past, participle))


def test_regular_verbs_are_known_in_all_forms() -> None:
    for base, form in (("carry", "carried"), ("stop", "stopped"), ("visit", "visited"), ("catch", "catches")):
        found = verb_form(form)
        assert found is not None and found[0] == base


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Anna lent a car to Bela.", "Bela borrowed a car from Anna."),
        ("Anna sold a car to Bela.", "Bela bought a car from Anna."),
        ("Anna preceded Bela.", "Bela followed Anna."),
        ("Anna gave a car to Bela.", "Bela received a car from Anna."),
        ("Anna taught Bela.", "Bela learned from Anna."),
        ("Anna won against Bela.", "Bela lost to Anna."),
        ("Anna beat Bela.", "Bela lost to Anna."),
        ("Anna employed Bela.", "Bela worked for Anna."),
        ("Anna sent a car to Bela.", "Bela received a car from Anna."),
        ("Anna rented a car to Bela.", "Bela leased a car from Anna."),
        ("Anna owned Bela.", "Bela belonged to Anna."),
        ("Anna caused Bela.", "Bela resulted from Anna."),
        ("Anna came before Bela.", "Bela came after Anna."),
    ],
)
def test_one_deed_may_be_told_from_either_end(first: str, second: str) -> None:
    assert compare_roles(first, second) == "same"


def test_every_pair_of_verbs_that_turn_the_sides_round_has_an_example() -> None:
    assert len(table("english")["verbs"]["converse"]) == 13


@pytest.mark.parametrize("verb", sorted(word_list("symmetric") - {"be", "have", "lie", "sit"}))
def test_symmetric_verbs_have_no_direction(verb: str) -> None:
    assert compare_roles(f"Anna will {verb} Bela.", f"Bela will {verb} Anna.") != "turned"


@pytest.mark.parametrize("line", table("english")["degrees"]["pairs"])
def test_a_comparison_may_be_told_from_its_far_end(line: str) -> None:
    first, second = (side.split()[0] for side in line.split("/"))
    assert compare_roles(f"A is more {first} than B2.", f"B2 is more {second} than A.") != "turned"
    assert compare_roles(f"Arn is more {first} than Sor.", f"Arn is more {second} than Sor.") == "turned"


@pytest.mark.parametrize("line", table("words")["opposites"]["adjectives"])
def test_adjectives_and_their_adverbs_have_opposites(line: str) -> None:
    first, second = (side.split()[0] for side in line.split("/"))
    for ours, theirs in ((first, second), (DEGREES[0](first), DEGREES[0](second))):
        if "-" not in ours + theirs:
            readings = [read_sentence(f"The harbour is {word} today.", "en") for word in (ours, theirs)]
            assert opposite_words(*readings) is not None, (ours, theirs)


@pytest.mark.parametrize("line", table("words")["opposites"]["verbs"])
def test_verbs_have_opposites_in_all_forms(line: str) -> None:
    first, second = (side.split()[0] for side in line.split("/"))
    for ours, theirs in zip(all_forms(first), all_forms(second), strict=True):
        readings = [read_sentence(f"The mayor {word} the town.", "en") for word in (ours, theirs)]
        assert opposite_words(*readings) is not None, (ours, theirs)


@pytest.mark.parametrize("line", table("words")["opposites"]["sides"])
def test_one_side_of_a_matter_is_not_the_other(line: str) -> None:
    first, second = (side.split()[0] for side in line.split("/"))
    readings = [read_sentence(f"The old mayor is {word} the town.", "en") for word in (first, second)]
    assert opposite_words(*readings) is not None


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Anna sold a car to Bela.", "Bela bought a car from Anna."),
        ("Arn is deeper than Sor.", "Sor is shallower than Arn."),
    ],
)
def test_opposites_told_from_both_ends_agree(first: str, second: str) -> None:
    assert told_from_far_end(first, second)
    assert not told_from_far_end(first, first.replace("sold", "bought").replace("to Bela", "from Bela"))


@pytest.mark.parametrize("word", table("words")["denied_deed"]["words"].split())
def test_a_deed_that_is_refused_is_denied(word: str) -> None:
    told, stated = (read_sentence(f"The minister {verb} the decree.", "en") for verb in (f"{word} to sign", "signed"))
    assert opposed_words(told, stated) == ("sign",)


@pytest.mark.parametrize("word", table("words")["denied_deed"]["kept"].split())
def test_a_deed_that_someone_is_kept_from_is_denied(word: str) -> None:
    told = read_sentence(f"The guards {word} fans from entering.", "en")
    assert "enter" in told.negated


@pytest.mark.parametrize("name", ["all", "most", "many", "half", "third", "quarter", "some", "few", "none"])
def test_a_share_allows_itself_and_what_it_holds(name: str) -> None:
    word = {"none": "no", "third": "a third of", "quarter": "a quarter of"}.get(name, name)
    told = f"{word} rooms have a balcony."
    assert other_amount(told, told) is None
    other = "No rooms have a balcony." if name != "none" else "All rooms have a balcony."
    assert other_amount(told, other) is not None


# --- sentences -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("claim", "found", "told"),
    [
        ("Rome beat Carthage.", "Carthage beat Rome.", "turned"),
        ("It was Rome that beat Carthage.", "Carthage beat Rome.", "turned"),
        ("It was Carthage that Rome beat.", "Rome beat Carthage.", None),
        ("It is clear that Rome beat Carthage.", "Rome beat Carthage.", "same"),
        ("Rome was beaten by Carthage.", "Carthage beat Rome.", "same"),
        ("Rome was beaten by Carthage.", "Rome beat Carthage.", "turned"),
        ("In spring, Rome beat Carthage.", "Rome beat Carthage in spring.", "same"),
        ("Rome met Carthage.", "Carthage met Rome.", None),
        ("The barn is older than the mill.", "The mill is older than the barn.", "turned"),
        ("The barn is older than the mill.", "The mill is newer than the barn.", "same"),
        ("The vote came after the speech.", "The speech came before the vote.", "same"),
        ("Before the vote, he spoke.", "He spoke after the vote.", "turned"),
        ("Ann and Bob left.", "Bob and Ann left.", None),
        ("It runs from Lyon to Paris.", "It runs from Paris to Lyon.", "turned"),
        ("In the pond the frog eats the fly.", "In the pond the fly eats the frog.", "turned"),
        ("Ann leads Bob, while Cy follows.", "Ann leads Bob whereas Cy is led.", "same"),
    ],
)
def test_roles_and_order(claim: str, found: str, told: str | None) -> None:
    assert compare_roles(claim, found) == told


def test_what_is_said_of_another_is_seen() -> None:
    assert other_subject("Ivo Lant paid for it.", "Mia Strand paid for it.")
    assert not other_subject("The EU paid for it.", "The European Union paid for it.")


def test_a_hedge_takes_agreement_back() -> None:
    assert says_the_same("The council closed the road.", "The road was closed by the council.")
    assert not says_the_same(
        "The council closed the road.", "The council tried to close the road, and may have closed."
    )


@pytest.mark.parametrize(
    ("claim", "found"),
    [
        ("At least 30 fit in.", "At most 30 fit in."),
        ("It costs 5 euros per month.", "It costs 5 euros per year."),
        ("It is open until 3 May.", "It is open from 3 May."),
        ("Trams always run late.", "Trams rarely run late."),
        ("All buses have ramps.", "Not all buses have ramps."),
        ("It may be sold after ten years.", "It may be sold within ten years."),
    ],
)
def test_other_amounts(claim: str, found: str) -> None:
    assert other_amount(claim, found) is not None
    assert other_amount(claim, claim) is None


@pytest.mark.parametrize(
    ("sentence", "claims"),
    [
        ("The statue is 50 m tall and made of gold.", ("The statue is 50 m tall.", "The statue is made of gold.")),
        ("The plan adds a line and lowers the fares.", ("The plan adds a line.", "The plan lowers the fares.")),
        ("The watch is good, and its case is steel.", ("The watch is good.", "The watch's case is steel.")),
        ("The tower, which is new, is tall.", ("The tower is new.", "The tower is tall.")),
        ("Dogs and cats may stay.", ("Dogs and cats may stay.",)),
        ("It lies between Oslo and Bergen.", ("It lies between Oslo and Bergen.",)),
        ("Is it red and was it built?", ("Is it red and was it built?",)),
    ],
)
def test_a_sentence_is_cut_where_each_half_can_be_wrong(sentence: str, claims: tuple[str, ...]) -> None:
    assert split_claims(sentence) == claims


@pytest.mark.parametrize(
    ("sentences", "told"),
    [
        (["Ivo Lant built it.", "He also paid."], ["Ivo Lant built it.", "Ivo Lant also paid."]),
        (["The mill is old.", "Its sails are new."], ["The mill is old.", "The mill's sails are new."]),
        (["The mill is old.", "It is known that it burned."], ["The mill is old.", "It is known that it burned."]),
        (["It is red."], ["It is red."]),
        (["Paula Strand builds bridges.", "They are divided."], ["Paula Strand builds bridges.", "They are divided."]),
        (["The Sisters of Mercy came.", "They left."], ["The Sisters of Mercy came.", "The Sisters of Mercy left."]),
        (["The fans are new.", "It is loud."], ["The fans are new.", "It is loud."]),
        (["James was ill.", "He paid."], ["James was ill.", "James paid."]),
    ],
)
def test_names_stand_where_pronouns_stood(sentences: list[str], told: list[str]) -> None:
    assert resolve(sentences) == told


def test_what_is_done_often_and_what_else_is_done_rarely_are_no_other_amounts() -> None:
    assert other_amount("It comes often following a wound.", "Fungi rarely lead to it.") is None


@pytest.mark.parametrize(
    ("sentence", "told"),
    [
        ("Ann Mo joined in 2011 and became head in 2017.", ("Ann Mo joined in 2011", "Ann Mo became head in 2017.")),
        ("Fishing is allowed; motor boats are banned.", ("Fishing is allowed", "motor boats are banned.")),
        ("The inn has 48 rooms and 12 suites.", ("The inn has 48 rooms and 12 suites.",)),
    ],
)
def test_a_sentence_of_a_passage_is_cut_wherever_a_verb_follows(sentence: str, told: tuple[str, ...]) -> None:
    assert clauses(sentence) == told


@pytest.mark.parametrize("word", sorted(word_list("by_when")))
def test_a_time_behind_by_does_nothing(word: str) -> None:
    for one in (word, "clerk"):
        claim = f"A fee applies if we don't receive your payment by the due {one}."
        found = f"A fee applies if the payment is not received by the due {one}."
        assert (compare_roles(claim, found) == "turned") == (one == "clerk")


@pytest.mark.parametrize(
    ("claim", "found"),
    [
        ("It shouldn't go over 40 mg.", "It must not exceed 40 mg."),
        ("Boards can't be larger than 90 cm.", "Boards must be no larger than 90 cm."),
        ("It may never weigh more than 3 kg.", "It weighs at most 3 kg."),
        ("Scores cannot fall below 20.", "Scores are at least 20."),
    ],
)
def test_a_bound_that_is_denied_bounds_from_the_other_side(claim: str, found: str) -> None:
    assert other_amount(claim, found) is None
    for word, other in (("go over", "go under"), ("larger", "smaller"), ("more", "less"), ("below", "above")):
        if word in claim:
            assert other_amount(claim.replace(word, other), found) is not None


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (
            "A ticket is 4 euros in the app and 5 euros on board",
            ("A ticket is 4 euros in the app", "A ticket 5 euros on board"),
        ),
        ("The frame lasts ten years, the battery two", ("The frame lasts ten years", "the battery two")),
        ("On Mondays it opens at 8:00, on Fridays at 9:00", ("On Mondays it opens at 8:00", "on Fridays at 9:00")),
        ("It stood between 1990 and 1995", ("It stood between 1990 and 1995",)),
        ("On Sunday and on Monday it is closed", ("On Sunday and on Monday it is closed",)),
        ("De balie is dinsdag tot en met zondag open", ("De balie is dinsdag tot en met zondag open",)),
        ("On Monday, the shop opens at 8:00", ("On Monday, the shop opens at 8:00",)),
        ("It has rooms and a bar", ("It has rooms and a bar",)),
    ],
)
def test_a_statement_is_cut_where_each_part_has_a_value_of_one_kind(text: str, parts: tuple[str, ...]) -> None:
    assert parted_values(text) == parts


def test_a_half_without_a_verb_has_that_of_the_first() -> None:
    told = clauses("The red line goes to the port and the blue line to the zoo.")
    assert told == ("The red line goes to the port", "the blue line goes to the zoo.")
    assert split_claims("Big repairs are paid for by the owner, and bulbs by the tenant.") == (
        "Big repairs are paid for by the owner.",
        "Bulbs are paid for by the tenant.",
    )
    assert split_claims("The clinic employs 12 doctors and nurses.") == ("The clinic employs 12 doctors and nurses.",)


def test_a_question_gives_no_subject() -> None:
    assert resolve(["Why don't more planets have rings?", "They may have lost them."])[1] == "They may have lost them."


def test_a_pronoun_behind_a_time_is_resolved() -> None:
    assert (
        resolve(["The pool opens at 7:00.", "At weekends it opens at 9:00."])[1]
        == "At weekends The pool opens at 9:00."
    )


@pytest.mark.parametrize(
    ("claim", "found", "told"),
    [
        ("The tenant pays for repairs.", [["The owner pays for repairs.", "The tenant pays for bulbs."]], "surely"),
        ("Passengers pay a fee.", [["Passengers travel free", "cars pay a fee."]], "surely"),
        ("The hotel won the prize.", [["The bakery won the prize."]], "perhaps"),
        ("The tenant pays for repairs.", [["The tenant pays for repairs and bulbs."]], None),
        ("They won the prize.", [["The bakery won the prize."]], None),
        ("The tower was built in iron.", [["The tower is a landmark that was built in iron."]], "perhaps"),
    ],
)
def test_what_is_said_of_another_is_told_from_what_may_be(claim: str, found: list[list[str]], told: str | None) -> None:
    assert of_another(claim, found) == told
