"""Bridges: names that passages bring up, and what is left to be asked about them."""

from tenure.algorithms.retrieval.bridge_entities import MAX_NAME, Bridge, bridges
from tests.passages import passage

QUESTION = "Where was the author of Middlemarch born?"


def named(question: str, *texts: str, made: tuple[str, ...] = ()) -> list[str]:
    """Names of passages without titles, best first."""
    return [bridge.name for bridge in bridges(question, [passage(text, title="") for text in texts], made)]


def test_a_name_leads_on_to_what_its_sentence_leaves_open() -> None:
    """The query is the name with the words of the question that are not answered where it stands."""
    found = bridges(QUESTION, [passage("The author of Middlemarch was George Eliot. She liked Paris.", title="Novels")])

    assert found == [Bridge("George Eliot", "George Eliot born"), Bridge("Novels", "Novels born")]


def test_where_nothing_is_open_the_whole_question_goes_along() -> None:
    """A sentence that has all of the question's words still names something to ask about."""
    (bridge,) = bridges("rye bread", [passage("Rye bread of Zell.", title="")])

    assert bridge == Bridge("Zell", "Zell: rye bread")


def test_a_title_answers_with_its_sentences() -> None:
    """What the document is about need not be said again in each of its sentences, and is no name of its own."""
    found = bridges(QUESTION, [passage("Its author was George Eliot.", title="Middlemarch")])

    assert found == [Bridge("George Eliot", "George Eliot born")]


def test_the_name_nearest_to_the_questions_words_comes_first() -> None:
    """A name counts by the share of the question in its sentence; a single word, which may begin it, counts half."""
    texts = ["Rye was in Zell. Rye bread was baked by Anna Miller. Yesterday rye bread was sold."]

    assert named("old rye bread", *texts) == ["Anna Miller", "Yesterday", "Zell"]


def test_a_later_passage_counts_less() -> None:
    """The name of the better passage comes first; equal ones stand in alphabetical order."""
    assert named("rye bread", "Rye bread of Zell.", "Rye bread of Aachen.") == ["Zell", "Aachen"]
    assert named("rye bread", "Rye bread of Zell and of Aachen.") == ["Aachen", "Zell"]


def test_a_name_beside_the_question_leads_nowhere() -> None:
    """Where a sentence shares nothing with the question, its names are not bridges."""
    assert named("wine", "Rye bread of Zell.") == []


def test_a_name_of_known_or_empty_words_is_none() -> None:
    """What the question or an earlier query has, stop words, and what is too long to be a name are left out."""
    long = "The " + "X" * MAX_NAME
    there = passage(f"However the Rye Bread of {'Y' * 90} is from Zell. However, rye.", title=long)

    assert [bridge.name for bridge in bridges("rye bread", [there])] == ["Zell"]
    assert bridges("rye bread", [there], ["bread of Zell"]) == []


def test_a_name_keeps_its_article_out_of_the_front() -> None:
    """What only begins a sentence is no part of the name."""
    assert named("who owns the airline", "In the Rank Organisation the airline was small.") == ["Rank Organisation"]


def test_nothing_to_read_names_nothing() -> None:
    """Without passages there are no names."""
    assert bridges("rye bread", []) == []
