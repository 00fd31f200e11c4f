"""Tests of co-occurrences and grounded relations."""

from hypothesis import given
from hypothesis import strategies as st

from tenure.algorithms.retrieval.relations import (
    MAX_ENTITIES,
    MAX_PAIRED_ENTITIES,
    MAX_RELATIONS,
    EntityMention,
    GroundedRelation,
    StatedRelation,
    extract_cooccurrences,
    filter_grounded_relations,
    sort_pair,
)
from tenure.contracts.knowledge.graph import CO_OCCURRENCE

SOCIETY = "It is issued by the Apiary Society in Ghent. The Apiary Society owns a printing press in Ghent."
JOURNAL = "The Bee Journal is a review. It is issued\nby the Apiary Society."


def test_entities_of_a_sentence_are_paired() -> None:
    """Names, phrases and identifiers are paired within a sentence, and sentences are counted."""
    found = extract_cooccurrences(SOCIETY)

    assert found.entities["apiary society"] == EntityMention("Apiary Society", "name")
    assert found.entities["printing press"] == EntityMention("printing press", "concept")
    assert found.pairs["apiary society", "ghent"] == 2
    assert found.pairs["apiary society", "printing press"] == 1
    first = next(iter(found.relations.values()))
    assert first == GroundedRelation("Apiary Society", CO_OCCURRENCE, "Ghent", 2, 0, SOCIETY.index(" The"))
    assert found.phrases == ("printing press",)


def test_entities_of_different_sentences_are_not_paired() -> None:
    """Entities in two sentences of one paragraph do not co-occur."""
    assert extract_cooccurrences("We went to Ghent. He saw Bruges.").pairs == {}


def test_identifier_has_kind_code() -> None:
    """A word spelled like code is of the kind code."""
    assert extract_cooccurrences("In Lance, merge_insert writes rows.").entities["merge insert"].kind == "code"


def test_phrase_inside_a_name_is_no_entity() -> None:
    """A phrase between the function words of a name belongs to the name."""
    assert set(extract_cooccurrences("He went to the Ministry of Inner Affairs.").entities) == {
        "ministry of inner affairs"
    }


def test_name_is_not_paired_with_a_phrase_around_it() -> None:
    """A phrase that contains a name is not paired with it."""
    found = extract_cooccurrences("They crossed the old river Zenne at Halle.")

    assert {"zenne", "old river zenne", "halle"} == found.entities.keys()
    assert found.pairs.keys() == {("halle", "zenne"), ("halle", "old river zenne")}


def test_entities_and_relations_are_bounded() -> None:
    """Entities of a text and of a sentence, and relations of a text, are bounded."""
    names = [f"{a}{b}ton" for a in "BCDFGH" for b in "aeiou"]
    found = extract_cooccurrences(f"We saw {', '.join(names)}.")
    many = extract_cooccurrences(" ".join(f"We saw {', '.join(names[at : at + 8])}." for at in (0, 8, 16)))

    assert len(found.entities) == MAX_ENTITIES
    assert len(found.relations) == MAX_PAIRED_ENTITIES * (MAX_PAIRED_ENTITIES - 1) // 2
    assert len(many.relations) == MAX_RELATIONS


def test_pair_has_no_direction() -> None:
    """Two keys are one pair in either order."""
    assert sort_pair("b", "a") == sort_pair("a", "b") == ("a", "b")


def test_relations_in_the_text_are_kept() -> None:
    """Sentence and entities match in any case and across line breaks, and the position is returned."""
    [kept] = filter_grounded_relations(
        JOURNAL,
        [StatedRelation("bee journal", "is issued by", "apiary society", "it is issued by the apiary society.")],
    )

    assert (kept.subject, kept.predicate, kept.object, kept.sentence_count) == (
        "bee journal",
        "is issued by",
        "apiary society",
        1,
    )
    assert JOURNAL[kept.start : kept.end] == "It is issued\nby the Apiary Society."


def test_relations_not_in_the_text_are_rejected() -> None:
    """Relations with an invented sentence or entity, without a predicate or with one entity only are rejected."""
    issued = "It is issued by the Apiary Society."
    stated = [
        StatedRelation("Bee Journal", "is sold by", "Apiary Society", "It is sold by the Apiary Society."),
        StatedRelation("Wine Journal", "is issued by", "Apiary Society", issued),
        StatedRelation("Bee Journal", "is issued by", "Wine Society", issued),
        StatedRelation("Bee Journal", " ", "Apiary Society", issued),
        StatedRelation("Bee Journal", "is issued by", " ", issued),
        StatedRelation("Apiary Society", "is", "apiary society", issued),
        StatedRelation("…", "is", "Apiary Society", f"{issued} …"),
    ]

    assert filter_grounded_relations(f"{JOURNAL} …", stated) == ()
    assert (
        filter_grounded_relations(
            JOURNAL,
            [StatedRelation(".", "is", "Apiary Society", issued), StatedRelation("Bee Journal", "is", ".", issued)],
        )
        == ()
    )


def test_relation_counts_its_sentences() -> None:
    """Two sentences with the same relation count two; the same sentence twice counts one."""
    stated = [
        StatedRelation("Apiary Society", "sits in", "Ghent", "The Apiary Society owns a printing press in Ghent."),
        StatedRelation("Apiary Society", "Sits  in", "Ghent", "It is issued by the Apiary Society in Ghent."),
        StatedRelation("apiary society", "sits in", "Ghent", "It is issued by the Apiary Society in Ghent."),
    ]
    [kept] = filter_grounded_relations(SOCIETY, stated)

    assert (kept.predicate, kept.sentence_count, kept.start) == ("Sits in", 2, 0)


@given(st.text(max_size=300))
def test_cooccurrences_handle_any_text(text: str) -> None:
    """For any text, relations are between its entities and their sentences are within it."""
    found = extract_cooccurrences(text)

    assert all(one in found.entities and other in found.entities for one, other in found.relations)
    assert all(one < other for one, other in found.relations)
    assert all(0 <= kept.start < kept.end <= len(text) and kept.sentence_count > 0 for kept in found.relations.values())
    stated = [StatedRelation(k.subject, k.predicate, k.object, text[k.start : k.end]) for k in found.relations.values()]
    assert len(filter_grounded_relations(text, stated)) <= len(stated)
