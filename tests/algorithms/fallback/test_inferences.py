"""Tests of inferences and timelines."""

from tenure.algorithms.fallback.inferences import find_inferences, find_timeline
from tests.support.passages import passage
from tests.support.worlds import encode

COLD = "The dough of rye bread rises slowly in a cold kitchen."
SO = "Therefore the bakers of rye bread have to heat the kitchen before dawn."
SALT = "Salt makes the dough of rye bread rise slowly, too."
MEANS = "This means that bakers add salt to the dough of rye bread late."
QUESTION = "How do bakers make the dough of rye bread rise in a cold kitchen?"


def test_conclusion_follows_its_premise() -> None:
    """The pair nearest to the question is last."""
    found = find_inferences(QUESTION, [passage(f"{COLD} {SO}", "a"), passage(f"{SALT} {MEANS}", "b")], encode)

    assert [(step.kind, step.text, step.follows) for step in found.steps] == [
        ("premise", SALT, ()),
        ("inference", MEANS, (1,)),
        ("premise", COLD, ()),
    ]
    assert found.conclusion is not None
    assert (found.conclusion.text, found.conclusion.follows, found.conclusion.passage_number) == (SO, (3,), 1)


def test_sentence_with_premise_and_conclusion_is_split() -> None:
    """The connective may follow the subject."""
    itself = "The kitchen of the bakers is cold, so the dough of rye bread has to rise all night."
    middle = f"{SALT} The bakers of rye bread therefore add salt to the dough late."
    so = f"{COLD} So the bakers of rye bread have to heat the kitchen."
    one, other, third = (find_inferences(QUESTION, [passage(text)], encode) for text in (itself, middle, so))

    assert [step.text for step in one.steps] == ["The kitchen of the bakers is cold."]
    assert one.conclusion is not None and other.conclusion is not None
    assert one.conclusion.text == "The dough of rye bread has to rise all night."
    assert other.conclusion.text == "The bakers of rye bread therefore add salt to the dough late."
    assert third.conclusion is not None and third.conclusion.follows == (1,)


def test_conclusion_needs_words_of_the_question() -> None:
    """Less than half of the question's words is too little, whatever the similarity."""
    text = "The dough is cold at dawn, so the dough lies in the oven at night."

    assert find_inferences("Why do bakers of rye salt the dough?", [passage(text)], encode).steps == ()


def test_no_inferences() -> None:
    """Sentences without connective, in different paragraphs, or far from the question give no argument."""
    apart = passage(f"{COLD}\n\n{SO}")
    short = passage(f"Dough rises. {SO}")

    assert find_inferences(QUESTION, [passage(f"{COLD} {SALT}"), apart, short], encode).steps == ()
    assert find_inferences("Where do swallows sleep?", [passage(f"{COLD} {SO}")], encode).steps == ()


def test_timeline_is_chronological() -> None:
    """Timeline is chronological."""
    others = [
        "The guild of bakers wrote its rules down in 1848.",
        "The guild of bakers changed its rules on rye in 1871.",
        "The guild of bakers gave its rules up in 1890, after a strike.",
    ]
    found = find_timeline(
        "How did the rules of the guild of bakers change?",
        [passage(text, text[-5:]) for text in reversed(others)],
        encode,
    )

    assert [(step.link, step.text) for step in found.steps] == list(zip(("1848", "1871", "1890"), others, strict=True))
    assert found.conclusion is None


def test_timeline_needs_events() -> None:
    """Timeline needs events."""
    one = passage("The guild of bakers wrote its rules down in 1848.")

    assert find_timeline("How did the rules of the guild change?", [passage(COLD)], encode).steps == ()
    assert find_timeline("How did the rules of the guild of bakers change?", [one], encode).steps == ()
