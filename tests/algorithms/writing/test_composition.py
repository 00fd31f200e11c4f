"""Tests of composition: behaviour, not tuned constants."""

from dataclasses import replace
from itertools import groupby

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.algorithms.text.passage import Passage
from tenure.algorithms.text.sentences import normalize_sentence, split_words
from tenure.algorithms.writing.composition import ComposedBlock, CompositionRequest, compose, compute_target_words
from tests.support.passages import passage
from tests.support.worlds import encode

BREAD = CompositionRequest("Bread", "How is bread made?")
ON_BREAD = [
    passage("Bread is made from flour, water, salt and yeast.\n\nWine is made of grapes.", "a"),
    passage("The bread is made by hand in a warm and quiet room.", "b", title="By hand"),
    passage("How bread is made in a factory is another story. It takes only an hour.", "b", 200, title="By hand"),
]


def said(blocks: list[ComposedBlock]) -> list[str]:
    return [sentence.text for block in blocks for sentence in block.sentences]


def test_text_quotes_evidence_on_the_topic() -> None:
    """Text quotes evidence on the topic."""
    blocks = compose(BREAD, ON_BREAD, encode)

    assert "Bread is made from flour, water, salt and yeast." in said(blocks)
    assert not any("Wine" in text for text in said(blocks))
    for block in blocks:
        for sentence in block.sentences:
            assert sentence.text in ON_BREAD[sentence.passage - 1].text


@pytest.mark.parametrize(
    ("question", "answer", "other"),
    [
        ("Wann wurde der Fährbetrieb eingestellt?", "Der Fährbetrieb wurde 1975 eingestellt.", "Käse reift im Keller."),
        ("Qui a construit le pont de Valmont ?", "Inès Faure a construit le pont de Valmont.", "Le sel est blanc."),
        ("Кто построил мост в Альтенфельсе?", "Мост в Альтенфельсе построила Инна Фельс.", "Соль белая."),
        ("谁建造了阿尔滕大桥？", "阿尔滕大桥由工程师林娜于1974年建造。", "盐是白色的。"),
    ],
)
def test_other_languages_are_quoted_by_their_words(question: str, answer: str, other: str) -> None:
    """A question that is not in English gets the sentences with its words, whatever rules for English say of them."""
    texts = [passage(f"{other}\n\n{question}\n\n{answer}", "a"), passage(other, "b")]

    assert said(compose(CompositionRequest("x", question), texts, encode)) == [answer]
    assert compose(CompositionRequest("x", question), texts[1:], encode) == []
    assert compose(CompositionRequest("x", question), texts, encode, used_sentences={normalize_sentence(answer)}) == []


def test_no_evidence_gives_no_text() -> None:
    """No evidence gives no text."""
    assert compose(BREAD, [], encode) == []
    assert compose(BREAD, [passage("# Only a heading")], encode) == []
    assert compose(BREAD, [passage("Wine is pressed from ripe grapes.", relevance=0.0)], encode) == []


def test_used_sentences_are_left_out() -> None:
    """Used sentences are left out."""
    all_of_it = said(compose(BREAD, ON_BREAD, encode))

    rest = said(compose(BREAD, ON_BREAD, encode, used_sentences={normalize_sentence(all_of_it[0])}))

    assert all_of_it[0] not in rest


def test_sentence_of_two_sources_appears_once() -> None:
    """Sentence of two sources appears once."""
    twice = [passage("Bread is made from flour and water.", "a"), passage("Bread is made from flour and water!", "b")]

    assert len(said(compose(BREAD, twice, encode))) == 1


def test_excerpt_belongs_to_its_nearest_topic() -> None:
    """Excerpt belongs to its nearest topic."""
    passages = [passage("Sourdough starter makes the bread rise slowly.", relevance=0.9)]
    alone = compose(CompositionRequest("Bread", "How does bread rise?"), passages, encode)
    beside = compose(
        CompositionRequest("Bread", "How does bread rise?", other_topics=("Sourdough starter",)), passages, encode
    )

    assert said(alone) == [passages[0].text]
    assert beside == []


def test_part_of_the_question_is_the_anchor() -> None:
    """The answer to one of two joined questions comes before a text on both of them."""
    whole = "How does a worker survive a crash of its server, and how is bread made?"
    passages = [
        passage("A worker survives a crash of its server, whether bread is made or not.", "a", relevance=0.5),
        passage("Bread is made of flour.", "b", relevance=0.5),
    ]
    part, beside = (
        CompositionRequest("Bread", asked, report_question=whole) for asked in ("How is bread made?", "What is bread?")
    )

    assert said(compose(part, passages, encode))[0] == passages[1].text
    assert said(compose(beside, passages, encode))[0] == passages[0].text


def test_excerpt_belongs_to_its_heading() -> None:
    """The heading takes precedence over similarity."""
    rising = passage("Sourdough starter makes the bread rise slowly.", relevance=0.9)
    under = {heading: replace(rising, heading_path=("Guide", heading)) for heading in ("Bread", "Sourdough starter")}
    wish = CompositionRequest("bread", "How does bread rise?", other_topics=("Sourdough starter",))

    assert said(compose(wish, [under["Bread"]], encode)) == [rising.text]
    assert compose(wish, [under["Sourdough starter"]], encode) == []


def test_named_things_come_first() -> None:
    """Named things come first."""
    told = "{} lighthouse was first lit in {}. Its tower is {} metres high and built of {}."
    alike = [
        passage(told.format(name, year, high, stone), source, title=f"{name} lighthouse", relevance=near)
        for name, year, high, stone, source, near in (
            ("Ember Rock", 1822, 56, "brick", "a", 0.9),
            ("Gannet Head", 1830, 22, "granite", "b", 0.85),
            ("Marrow Point", 1828, 37, "limestone", "c", 0.8),
        )
    ]

    assert said(compose(CompositionRequest("Lighthouses", "When was Marrow Point lit?"), alike, encode))[0].startswith(
        "Marrow Point"
    )
    assert not said(compose(CompositionRequest("Lighthouses", "When was it lit?"), alike, encode))[0].startswith(
        "Marrow Point"
    )


def test_requested_excerpt_is_included() -> None:
    """Requested excerpt is included."""
    passages = [*ON_BREAD, passage("Sourdough starter is kept for many years.", "c")]
    wish = CompositionRequest(
        "Bread", "How is bread made?", other_topics=("Sourdough starter",), focus=("years a sourdough starter is kept",)
    )

    assert "Sourdough starter is kept for many years." not in said(compose(BREAD, passages, encode))
    assert "Sourdough starter is kept for many years." in said(compose(wish, passages, encode, target_words=10))


def test_requested_excerpt_survives_the_length_limit() -> None:
    """Requested excerpt survives the length limit."""
    passages = [*ON_BREAD, passage("Sourdough starter is kept for many years.", "c")]
    wish = CompositionRequest("Bread", "How is bread made?", focus=("For how many years is sourdough starter kept?",))

    assert said(compose(wish, passages, encode, target_words=1)) == ["Sourdough starter is kept for many years."]


def test_text_has_about_the_target_length() -> None:
    """Text has about the target length."""
    plenty = [
        passage(f"Bread is made by the baker called number {n} of the town{n} guild{n}.", f"s{n}") for n in range(30)
    ]

    short, long = (
        sum(len(split_words(t)) for t in said(compose(BREAD, plenty, encode, target_words=n))) for n in (20, 60)
    )

    assert 20 <= short < 40 < long < 80


def test_the_length_of_the_report_scales_the_target() -> None:
    """A section of a short report is shorter than that of a standard one, and that of a long report longer."""
    words = [compute_target_words(replace(BREAD, length=length)) for length in ("short", "standard", "long")]

    assert words == [160, 320, 512]
    assert compute_target_words(replace(BREAD, other_topics=tuple("abcde"))) == 180


def test_list_follows_its_introduction() -> None:
    """List follows its introduction."""
    passages = [
        passage("Bread is made from flour, water, salt and yeast.", "a", relevance=0.4),
        passage(
            "What bread is made of at the mill:\n\n- flour of wheat that is bread flour\n- flour of rye for the bread",
            "a",
            100,
            relevance=0.4,
        ),
        passage("The bread is made by hand in the bread house.", "a", 400, relevance=0.4),
    ]

    blocks = compose(BREAD, passages, encode)

    assert [(block.kind, len(block.sentences)) for block in blocks] == [
        ("paragraph", 1),
        ("paragraph", 1),
        ("bullets", 2),
        ("paragraph", 1),
    ]


def test_excerpts_keep_the_order_of_their_source() -> None:
    """Excerpts keep the order of their source."""
    passages = [
        passage("Bread is made in the third place by the oven.", "a", 300, relevance=0.9),
        passage("Bread is made with flour by another author.", "b", 10, relevance=0.5),
        passage("Bread is made in the first place by a mill.", "a", 100, relevance=0.2),
    ]

    numbers = [sentence.passage for block in compose(BREAD, passages, encode) for sentence in block.sentences]

    assert numbers == [3, 1, 2]


def test_paragraphs_are_short() -> None:
    """Paragraphs are short."""
    texts = [" ".join(f"Bread is made in house{n} and yard{n} by baker{n}." for n in range(k, k + 8)) for k in (0, 8)]
    many = [passage(text, "a", 1000 * n) for n, text in enumerate(texts)]

    blocks = compose(BREAD, many, encode)

    assert len(blocks) >= 2
    assert max(len(block.sentences) for block in blocks) <= 6


SENTENCES = st.sampled_from(
    [
        "Bread is made from flour and water.",
        "However, bread is older than the oven.",
        "This gives the bread its taste.",
        "Cheese is made from milk and rennet.",
        "A bread needs the following things:\n\n- flour from a good mill\n- water from a deep well\n",
        "This guide is about bread of rye.",
    ]
)
PASSAGES = st.lists(
    st.builds(
        lambda texts, source, relevance: passage(" ".join(texts), source, relevance=relevance),
        st.lists(SENTENCES, min_size=1, max_size=4, unique=True),
        st.sampled_from("abc"),
        st.floats(0, 1),
    ),
    max_size=5,
)


@given(PASSAGES, st.integers(1, 100), st.lists(st.sampled_from(["milk", "oven age", "zebra"]), max_size=2))
@settings(deadline=None, max_examples=60)
def test_composition_is_deterministic_and_well_formed(passages: list[Passage], target: int, focus: list[str]) -> None:
    """Composition is deterministic and well formed."""
    wish = CompositionRequest("Bread", "How is bread made?", focus=tuple(focus))

    blocks = compose(wish, passages, encode, target_words=target)

    assert blocks == compose(wish, passages, encode, target_words=target)
    assert all(block.sentences for block in blocks)
    assert all(1 <= s.passage <= len(passages) for block in blocks for s in block.sentences)
    marks = sorted(normalize_sentence(text) for text in said(blocks))
    assert all(len(list(same)) == 1 for _, same in groupby(marks))


def test_unrelated_request_adds_nothing() -> None:
    """Unrelated request adds nothing."""
    passages = [passage("Wine is pressed from ripe grapes.", relevance=0.0)]

    assert (
        compose(CompositionRequest("Bread", "How is bread made?", focus=("Say more on zebras",)), passages, encode)
        == []
    )


def test_a_name_that_only_one_topic_has_is_required() -> None:
    """The section on a named thing quotes no passage without the name."""
    topic = CompositionRequest(
        "What is proposed for TLS",
        "What is proposed for TLS?",
        other_topics=("What is proposed for build requirements",),
        report_question="What is proposed for TLS and for build requirements?",
    )
    named = passage("What is proposed for TLS is a new interface.", "a")
    other = passage("What is proposed is a new protocol for clocks.", "b")

    blocks = compose(topic, [other, named], encode)

    assert {sentence.passage for block in blocks for sentence in block.sentences} == {2}
