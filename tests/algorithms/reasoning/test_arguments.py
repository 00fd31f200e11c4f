"""Tests of extractive arguments."""

from tenure.algorithms.reasoning.arguments import (
    choose_min_similarity,
    compute_confidence,
    compute_similarities,
    extract_standalone_sentences,
    extract_subject,
    find_shared_phrase,
    has_shared_terms,
)
from tenure.roles.base import refuse_to_encode
from tests.support.passages import passage
from tests.support.worlds import encode

MADE = "Bread is made from flour and water by the baker."


def test_standalone_sentences_are_extracted_once() -> None:
    """Sentences with back references, back matter, code and repetitions are omitted."""
    found = extract_standalone_sentences(
        [
            passage(f"{MADE} This is done every morning by the same baker."),
            passage(MADE, "again"),
            passage("Thanks are given to the baker for the bread.", "credits", headings=("Credits",)),
            passage(MADE.replace("Bread", "Cake"), "code", kind="code"),
        ]
    )

    assert [(one.passage_number, one.text) for one in found] == [(1, MADE)]


def test_half_of_the_question_terms_are_sufficient() -> None:
    """Terms are compared by stem."""
    assert has_shared_terms("How does bread rise?", "The baker made breads.")
    assert not has_shared_terms("How does the bread of rye rise?", "The baker made breads.")


def test_no_texts_are_not_encoded() -> None:
    """Without texts the encoder is not called."""
    near, vectors = compute_similarities("bread", [], refuse_to_encode)

    assert (near, len(vectors), choose_min_similarity(near), compute_confidence(near)) == ([], 0, 0.4, 0.0)


def test_similarity_threshold_and_confidence() -> None:
    """The threshold follows the best sentence, and the confidence is that of the weakest step."""
    near, _ = compute_similarities("bread flour", ["bread flour", "bread water"], encode)

    assert [round(cosine, 2) for cosine in near] == [1.0, 0.5]
    assert (round(choose_min_similarity(near), 3), compute_confidence(near)) == (0.65, 0.5)


def test_shared_phrase_is_the_longest_run() -> None:
    """Consecutive shared words are returned as written."""
    assert (
        find_shared_phrase("the baker counts references and counts", ["refer", "count"])
        == "counts references and counts"
    )
    assert find_shared_phrase("a lack of flour and then of the rye", ["lack", "flour"]) == "lack of flour"
    assert find_shared_phrase("the baker", ["oven"]) == ""


def test_subject_omits_ubiquitous_names() -> None:
    """A name in most passages does not describe the subject of the question."""
    passages = [passage(f"Tenure holds loaf number {n}.", f"s{n}") for n in range(9)]

    assert extract_subject("How does Tenure bake?", passages) == "How does bake?"
