"""Tests of the subject of a message and of its clauses."""

import pytest

from tenure.algorithms.text.grammar.subjects import MAX_CLAUSES, add_subject, find_subject, list_clauses

LAMPS = (
    "We light three towers with Fresnel lenses and have to choose between oil, gas and sparks for two uses: (a) fog; "
    "(b) calm nights of more than ten hours. How do the fuels compare on cost (oil; gas), and what stays dark?"
)


def test_the_subject_of_a_long_message_is_in_its_beginning() -> None:
    """A pasted log with thousands of names is not searched for its subject."""
    assert find_subject(f"Why did Zell stop? {'log line; ' * 200} {'Ulm ' * 9}") == "Zell"


@pytest.mark.parametrize(
    ("message", "subject"),
    [
        (LAMPS, "Fresnel"),
        ("How does Zell bake rye, what does Zell sell to Aachen, and who pays?", "Zell"),
        ("How did Zell's trade with Ulm grow, what did Ulm send to Zell, and who paid?", "Zell, Ulm"),
        ("Is an LED enough for Zell?", "Zell"),
        ("Is an LED enough?", "LED"),
        ("How do I bake rye bread, and what has to be prepared?", ""),
        ("and why?", ""),
    ],
)
def test_the_subject_is_what_a_message_repeats(message: str, subject: str) -> None:
    """Repeated names come first, then the first name that is no abbreviation."""
    assert find_subject(message) == subject


@pytest.mark.parametrize(
    ("part", "message", "expected"),
    [
        ("What stays dark?", LAMPS, "Fresnel: What stays dark?"),
        ("How far does a Fresnel lens shine?", LAMPS, "How far does a Fresnel lens shine?"),
        ("Who lit the towers of Ulm?", LAMPS, "Who lit the towers of Ulm?"),
        ("Who lit it in Ulm?", LAMPS, "Fresnel: Who lit it in Ulm?"),
        ("What has to be prepared?", "How do I bake rye bread, and …?", "What has to be prepared?"),
        ("What is sold?", "and why?", "What is sold?"),
    ],
)
def test_a_part_without_a_name_gets_the_subject(part: str, message: str, expected: str) -> None:
    """A part that names something and refers to nothing else stays as it is; a message without names has no subject."""
    assert add_subject(part, message) == expected


def test_clauses_are_sentences_items_and_questions() -> None:
    """Boundaries in brackets do not count, and pieces without content are left out."""
    assert list_clauses(LAMPS) == (
        "We light three towers with Fresnel lenses and have to choose between oil, gas and sparks for two uses",
        "calm nights of more than ten hours.",
        "How do the fuels compare on cost (oil; gas)",
        "what stays dark?",
    )
    assert list_clauses("and why?") == ("and why?",)
    assert len(list_clauses("".join(f"Which town {n} sells rye? " for n in range(20)))) == MAX_CLAUSES
