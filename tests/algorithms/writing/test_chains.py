"""Tests of chains of passages."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from tenure.algorithms.text.sentences import stem_words
from tenure.algorithms.writing.chains import Chain, ChainPassage, SentencePosition, find_chains

DUNE = ChainPassage("Dune (novel)", ["Dune is a novel by Frank Herbert.", "It sold millions of copies."])
HERBERT = ChainPassage("Frank Herbert", ["He was an American writer.", "He was born in Tacoma."])
TACOMA = ChainPassage("Tacoma", ["Tacoma, a town by the sea, was founded by Job Carr."])
OTHER = ChainPassage("Dune Messiah", ["Dune Messiah is a novel by Frank Herbert."])


def chain(question: str, *passages: ChainPassage) -> Chain | None:
    """Find the chain that answers; a sentence whose words, with its title, are five sixths of the question scores 1."""

    def score(asked: str, places: Sequence[SentencePosition]) -> list[float]:
        wanted = set(stem_words(asked))
        texts = (f"{passages[n].title} {passages[n].sentences[number]}" for n, number in places)
        return [1.2 * len(wanted.intersection(stem_words(text))) / len(wanted) for text in texts]

    places = [[(n, number) for number in range(len(one.sentences))] for n, one in enumerate(passages)]
    found = find_chains(question, passages, [score(question, own) for own in places], score)
    return next((one for one in found if one.answers), None)


def test_a_name_leads_to_the_answer() -> None:
    """The words that the first passage has are replaced by its name, and the next one answers this question."""
    found = chain("Where was the author of the novel Dune born?", OTHER, DUNE, HERBERT)

    assert found is not None and [found.passages, max(found.scores, key=found.scores.__getitem__)] == [(1, 2), 1]
    assert found.question == "Where was the author of the Frank Herbert born?"


def test_a_chain_may_have_three_passages() -> None:
    """The name that the second passage adds leads further if it does not answer itself."""
    found = chain("Who founded the town where the author of Dune was born?", DUNE, HERBERT, TACOMA)

    assert found is not None and found.passages == (0, 1, 2)


@pytest.mark.parametrize(
    ("question", "passages"),
    [
        ("Where was the author of the novel born?", (DUNE, HERBERT)),
        ("Is Dune a novel?", (DUNE, HERBERT)),
        ("Where was the author of the novel Dune born?", (DUNE, TACOMA)),
        ("Describe Dune and its author's birth.", (DUNE, HERBERT)),
    ],
    ids=["no name", "answered by the first passage", "no shared name", "no question word"],
)
def test_other_questions_have_no_chain(question: str, passages: Sequence[ChainPassage]) -> None:
    """A chain begins with a name of the question, and its next passage adds words that are still open."""
    assert chain(question, *passages) is None


def test_the_answer_is_nearest_to_the_question_word() -> None:
    """Of two passages that the question both names, the one with the words next to the question word is the last."""
    monsters = ChainPassage("Gila monster", ["The Gila monster is found in Mexico."])
    politician = ChainPassage("Sergio Tolento", ["Sergio Tolento is a politician from Mexico.", "His party is old."])
    found = chain("Where is the Gila monster found in the land of the party of Sergio Tolento?", monsters, politician)

    assert found is not None and found.passages == (1, 0)


def test_common_words_with_capitals_lead_nowhere() -> None:
    """The words of a heading that a passage also writes in small letters are no name."""
    flags = ChainPassage("Feature flags", ["Feature flags of Dune precede the Deprecated Features."])
    page = ChainPassage("Deprecated Features", ["Some deprecated features were removed once."])

    assert chain("Which features of Dune were removed?", flags, page) is None
    assert chain("Which features of Dune were removed?", flags, replace(page, sentences=["They were removed."]))
