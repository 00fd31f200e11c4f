"""Tests of bridge entities."""

from tenure.algorithms.retrieval.bridge_entities import MAX_NAME_CHARACTERS, find_bridge_entities
from tests.support.passages import passage

QUESTION = "Where was the author of Middlemarch born?"


def named(question: str, *texts: str, made: tuple[str, ...] = ()) -> list[str]:
    """Return the names of passages without titles, best first."""
    return [bridge.name for bridge in find_bridge_entities(question, [passage(text, title="") for text in texts], made)]


def test_a_bridge_query_is_the_question_about_the_name() -> None:
    """The name replaces the words of the question that describe it in its sentence."""
    found = find_bridge_entities(
        QUESTION, [passage("The author of Middlemarch was George Eliot. She liked Paris.", title="Novels")]
    )

    assert [bridge[:2] for bridge in found] == [
        ("George Eliot", "Where was George Eliot born?"),
        ("Novels", "Where was Novels born?"),
    ]
    assert found[0].covered == {"author", "middlemarch"}


def test_a_bridge_query_keeps_open_words_between_the_described_ones() -> None:
    """Without a description of its own in the question, the name is followed by the words that its sentence lacks."""
    (bridge,) = find_bridge_entities("Which miller bakes rye?", [passage("The miller of rye is Ann.", title="")])

    assert bridge[:2] == ("Ann", "Ann: bakes")


def test_a_bridge_query_of_a_long_question_is_one_clause() -> None:
    """The name is put before the clause of which it leaves most open, in the words of the question."""
    question = (
        "We bake rye bread in two towns and have to choose a mill. Which flour does rye need, how long must rye dough "
        "rest on cold days before the oven is lit, and who mills?"
    )
    (bridge,) = find_bridge_entities(question, [passage("Rye needs flour of the Zell Mill.", title="")])

    assert bridge.query == "Zell Mill: how long must rye dough rest on cold days before the oven is lit"


def test_bridge_query_contains_the_question_if_nothing_is_open() -> None:
    """A sentence with all question words still names an entity to ask about."""
    (bridge,) = find_bridge_entities("rye bread", [passage("Rye bread of Zell.", title="")])

    assert bridge[:2] == ("Zell", "Zell: rye bread")


def test_title_counts_with_its_sentences() -> None:
    """The subject of a document counts for each of its sentences and is not a bridge itself."""
    found = find_bridge_entities(QUESTION, [passage("Its author was George Eliot.", title="Middlemarch")])

    assert [bridge[:2] for bridge in found] == [("George Eliot", "Where was George Eliot born?")]


def test_bridges_are_ordered_by_question_coverage() -> None:
    """A name counts by the share of question words in its sentence; a single word counts half."""
    texts = ["Rye was in Zell. Rye bread was baked by Anna Miller. Yesterday rye bread was sold."]

    assert named("old rye bread", *texts) == ["Anna Miller", "Yesterday", "Zell"]


def test_bridges_of_better_passages_come_first() -> None:
    """The name of the better passage comes first; equal ones are in alphabetical order."""
    assert named("rye bread", "Rye bread of Zell.", "Rye bread of Aachen.") == ["Zell", "Aachen"]
    assert named("rye bread", "Rye bread of Zell and of Aachen.") == ["Aachen", "Zell"]


def test_unrelated_names_are_no_bridges() -> None:
    """A sentence without question words has no bridges."""
    assert named("wine", "Rye bread of Zell.") == []


def test_known_names_are_no_bridges() -> None:
    """Names in the question or an earlier query, stop words and overlong names are omitted."""
    long = "The " + "X" * MAX_NAME_CHARACTERS
    there = passage(f"However the Rye Bread of {'Y' * 90} is from Zell. However, rye.", title=long)

    assert [bridge.name for bridge in find_bridge_entities("rye bread", [there])] == ["Zell"]
    assert find_bridge_entities("rye bread", [there], ["bread of Zell"]) == []


def test_sentence_start_is_not_part_of_a_name() -> None:
    """Leading stop words of a sentence are not part of the name."""
    assert named("who owns the airline", "In the Rank Organisation the airline was small.") == ["Rank Organisation"]


def test_no_passages_have_no_bridges() -> None:
    """Without passages there are no bridges."""
    assert find_bridge_entities("rye bread", []) == []
