"""Tests of the removal of repetition."""

import itertools
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.algorithms.text.sentences import normalize_sentence
from tenure.algorithms.writing import repetition
from tenure.algorithms.writing.repetition import remove_restatements
from tenure.contracts.base import SourceId
from tenure.contracts.evidence.passages import Block, Citation, Claim, Draft

SENTENCES = st.sampled_from(["Bread is old.", "bread IS old!", "Cheese is older.", "Milk is white.", "Rye is dark."])
BLOCKS = st.builds(
    lambda kind, texts: Block(kind=kind, claims=tuple(Claim(text=text) for text in texts)),
    st.sampled_from(["paragraph", "bullets"]),
    st.lists(SENTENCES, min_size=1, max_size=4),
)
DRAFTS = st.lists(st.builds(lambda blocks: Draft(blocks=tuple(blocks)), st.lists(BLOCKS, max_size=3)), max_size=4)


@given(DRAFTS)
@settings(deadline=None)
def test_first_occurrence_stays(drafts: list[Draft]) -> None:
    """First occurrence stays."""
    cleaned = remove_restatements(drafts)

    before = [claim for draft in drafts for claim in draft.claims]
    after = [claim for draft in cleaned for claim in draft.claims]
    first = {normalize_sentence(claim.text): claim for claim in reversed(before)}
    order = list(dict.fromkeys(normalize_sentence(claim.text) for claim in before))
    assert after == [first[mark] for mark in order]
    assert len(cleaned) == len(drafts)
    assert all(block.claims for draft in cleaned for block in draft.blocks)


def test_empty_blocks_are_removed() -> None:
    """Other blocks keep their kind."""
    once = Draft(blocks=(Block(claims=(Claim(text="Bread is old."),)),))
    again = Draft(
        blocks=(
            Block(claims=(Claim(text="Bread is old."),)),
            Block(kind="bullets", claims=(Claim(text="Bread is old."), Claim(text="Rye is dark."))),
        )
    )

    assert remove_restatements([once, again])[1] == Draft(
        blocks=(Block(kind="bullets", claims=(Claim(text="Rye is dark."),)),)
    )


def section(*texts: str, source: str = "a") -> Draft:
    """Return a section of one paragraph whose sentences each cite a source."""
    claims = (
        Claim(text=text, citations=(Citation(source=SourceId(source), start=n, end=n + 1, quote="x"),))
        for n, text in enumerate(texts)
    )
    return Draft(blocks=(Block(claims=tuple(claims)),))


LONG = "The worker writes every finished answer into the history before it goes on."


@pytest.mark.parametrize(
    "again",
    [
        LONG.upper(),
        "The workers write every finished answer into their history, before it goes on.",
        "Every worker writes the finished answers into its history before it goes on!",
    ],
)
def test_restatement_is_removed_and_its_citation_kept(again: str) -> None:
    """Restatement is removed and its citation kept."""
    first, second = remove_restatements([section(LONG), section(again, "Rye is dark.", source="b")])

    assert [claim.text for claim in (*first.claims, *second.claims)] == [LONG, "Rye is dark."]
    assert [citation.source for citation in first.claims[0].citations] == ["a", "b"]


@pytest.mark.parametrize(
    "other",
    [
        "The worker does not write every finished answer into the history before it goes on.",
        "The worker doesn’t write every finished answer into the history before it goes on.",
        "The worker writes every 2 finished answers into the history before it goes on.",
        "The history writes every finished worker into the answer before it goes on.",
        "The worker writes every finished answer into the history of its server before the next call.",
    ],
)
def test_similar_but_different_sentences_stay(other: str) -> None:
    """A negation, a figure, another order or further words make another statement."""
    kept = remove_restatements([section(LONG), section(other)])

    assert [draft.text for draft in kept] == [LONG, other]


def test_short_sentences_are_not_compared() -> None:
    """Short sentences are not compared."""
    kept = remove_restatements([section("Bread is old.", "…"), section("Old is the bread.", "…", "bread IS old")])

    assert [draft.text for draft in kept] == ["Bread is old. …", "Old is the bread. …"]


def test_citations_are_limited() -> None:
    """Citations are limited."""
    drafts = [section(LONG, source=name) for name in "abcdefghij"]

    assert [c.source for c in remove_restatements(drafts)[0].claims[0].citations] == list("abcdefgh")


@given(DRAFTS)
@settings(deadline=None)
def test_removal_is_idempotent(drafts: list[Draft]) -> None:
    """Removal is idempotent."""
    once = remove_restatements(drafts)

    assert remove_restatements(once) == once
    assert {c.text for d in once for c in d.claims} <= {c.text for d in drafts for c in d.claims}


def test_cells_of_a_table_are_no_repetition() -> None:
    """Equal cells of different rows stay, and a cell does not remove a sentence of the text."""
    cells = tuple(Claim(text="two megabytes", label=row, column="Limit") for row in ("Kafka", "Redis"))
    table = Draft(blocks=(Block(kind="table", claims=cells),))
    sentence = Draft(blocks=(Block(claims=(Claim(text="Two megabytes."),)),))

    assert remove_restatements([table, sentence, table]) == (table, sentence, table)


def test_similar_sentences_are_compared_with_a_limited_number_of_others() -> None:
    """The orders of a few words, as a model repeats them, and other sentences take linear time."""
    words = "rye bread bakes slowly inside brick ovens".split()
    orders = [" ".join(order) for order in itertools.islice(itertools.permutations(words), 0, 3_000, 10)]
    others = [f"Mill {name} grinds {name} wheat beside {name} river every {name} morning." for name in orders]
    has_order_of = repetition._Statement.has_order_of
    with mock.patch.object(repetition._Statement, "has_order_of", autospec=True, side_effect=has_order_of) as compare:
        for texts in (orders, [other.replace(" ", f" {n}") for n, other in enumerate(others)]):
            remove_restatements([Draft(blocks=(Block(claims=tuple(Claim(text=text) for text in texts)),))])

    assert compare.call_count <= (repetition._MAX_COMPARED + 1) * 600


def test_replaced_sentence_is_compared_once() -> None:
    """A sentence that has taken the place of another counts once among those that a sentence is compared with."""
    words = "bakers knead rye dough slowly dawn flour water salt oven stone heat"
    turned = " ".join(reversed(words.split()))
    drafts = [section(f"{text}.") for text in (words, f"{words} gladly", turned, f"{turned} gladly")]

    with mock.patch.object(repetition, "_MAX_COMPARED", 2):
        cleaned = remove_restatements(drafts, ("", "gladly", "", ""))

    assert [len(draft.blocks) for draft in cleaned] == [0, 1, 1, 0]
