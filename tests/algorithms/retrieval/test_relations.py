"""What stands beside what in a text, and which statements a text holds."""

from hypothesis import given
from hypothesis import strategies as st

from tenure.algorithms.retrieval.relations import (
    MOST_ENTITIES,
    MOST_IN_SENTENCE,
    MOST_RELATIONS,
    Held,
    Named,
    Stated,
    beside,
    held,
    pair,
)
from tenure.contracts.knowledge.graph import BESIDE

SOCIETY = "It is issued by the Apiary Society in Ghent. The Apiary Society owns a printing press in Ghent."
JOURNAL = "The Bee Journal is a review. It is issued\nby the Apiary Society."


def test_entities_of_a_sentence_stand_beside_each_other() -> None:
    """Names, phrases and identifiers are paired within a sentence, and sentences are counted."""
    found = beside(SOCIETY)

    assert found.entities["apiary society"] == Named("Apiary Society", "name")
    assert found.entities["printing press"] == Named("printing press", "concept")
    assert found.pairs["apiary society", "ghent"] == 2
    assert found.pairs["apiary society", "printing press"] == 1
    first = next(iter(found.relations.values()))
    assert first == Held("Apiary Society", BESIDE, "Ghent", 2, 0, SOCIETY.index(" The"))
    assert found.phrases == ("printing press",)


def test_entities_of_different_sentences_do_not() -> None:
    """What stands in two sentences of one paragraph is not related by that."""
    assert beside("We went to Ghent. He saw Bruges.").pairs == {}


def test_an_identifier_is_known_as_code() -> None:
    """What is spelt like code is of the kind code."""
    assert beside("In Lance, merge_insert writes rows.").entities["merge insert"].kind == "code"


def test_a_phrase_inside_a_name_is_no_entity_of_its_own() -> None:
    """A part of a name between its small words is left to the name."""
    assert set(beside("He went to the Ministry of Inner Affairs.").entities) == {"ministry of inner affairs"}


def test_a_name_is_not_related_to_a_phrase_around_it() -> None:
    """A phrase that contains a name tells nothing of what the name stands beside."""
    found = beside("They crossed the old river Zenne at Halle.")

    assert {"zenne", "old river zenne", "halle"} == found.entities.keys()
    assert found.pairs.keys() == {("halle", "zenne"), ("halle", "old river zenne")}


def test_long_lists_relate_little() -> None:
    """Entities of a text and of a sentence, and relations of a text, are bounded."""
    names = [f"{a}{b}ton" for a in "BCDFGH" for b in "aeiou"]
    found = beside(f"We saw {', '.join(names)}.")
    many = beside(" ".join(f"We saw {', '.join(names[at : at + 8])}." for at in (0, 8, 16)))

    assert len(found.entities) == MOST_ENTITIES
    assert len(found.relations) == MOST_IN_SENTENCE * (MOST_IN_SENTENCE - 1) // 2
    assert len(many.relations) == MOST_RELATIONS


def test_a_pair_has_no_direction() -> None:
    """Two keys are one pair in either order."""
    assert pair("b", "a") == pair("a", "b") == ("a", "b")


def test_what_a_text_holds_is_kept() -> None:
    """Sentence and entities are found whatever their case and line breaks, and where the sentence stands is told."""
    [kept] = held(
        JOURNAL, [Stated("bee journal", "is issued by", "apiary society", "it is issued by the apiary society.")]
    )

    assert (kept.subject, kept.predicate, kept.object, kept.times) == (
        "bee journal",
        "is issued by",
        "apiary society",
        1,
    )
    assert JOURNAL[kept.start : kept.end] == "It is issued\nby the Apiary Society."


def test_what_a_text_does_not_hold_is_refused() -> None:
    """A statement with an invented sentence or entity, without a predicate, or about one thing alone is left out."""
    issued = "It is issued by the Apiary Society."
    stated = [
        Stated("Bee Journal", "is sold by", "Apiary Society", "It is sold by the Apiary Society."),
        Stated("Wine Journal", "is issued by", "Apiary Society", issued),
        Stated("Bee Journal", "is issued by", "Wine Society", issued),
        Stated("Bee Journal", " ", "Apiary Society", issued),
        Stated("Bee Journal", "is issued by", " ", issued),
        Stated("Apiary Society", "is", "apiary society", issued),
        Stated("…", "is", "Apiary Society", f"{issued} …"),
    ]

    assert held(f"{JOURNAL} …", stated) == ()
    assert held(JOURNAL, [Stated(".", "is", "Apiary Society", issued), Stated("Bee Journal", "is", ".", issued)]) == ()


def test_a_statement_is_counted_by_its_sentences() -> None:
    """The same statement from two sentences is one with a count of two; from one sentence twice it counts once."""
    stated = [
        Stated("Apiary Society", "sits in", "Ghent", "The Apiary Society owns a printing press in Ghent."),
        Stated("Apiary Society", "Sits  in", "Ghent", "It is issued by the Apiary Society in Ghent."),
        Stated("apiary society", "sits in", "Ghent", "It is issued by the Apiary Society in Ghent."),
    ]
    [kept] = held(SOCIETY, stated)

    assert (kept.predicate, kept.times, kept.start) == ("Sits in", 2, 0)


@given(st.text(max_size=300))
def test_any_text_can_be_read(text: str) -> None:
    """Whatever the text, relations are between its entities, and their sentences lie within it."""
    found = beside(text)

    assert all(one in found.entities and other in found.entities for one, other in found.relations)
    assert all(one < other for one, other in found.relations)
    assert all(0 <= kept.start < kept.end <= len(text) and kept.times > 0 for kept in found.relations.values())
    stated = [Stated(k.subject, k.predicate, k.object, text[k.start : k.end]) for k in found.relations.values()]
    assert len(held(text, stated)) <= len(stated)
