"""Tests of the hypothetical document's fallback."""

from dataclasses import replace

from tenure.roles.base import Evidence
from tenure.roles.research.hypothetical_document import (
    MAX_CHARACTERS,
    HypotheticalDocumentInput,
    ImaginedTopic,
    fallback,
)
from tests.roles.cases import EVIDENCE, MADE, QUESTION, RIPENS
from tests.support.passages import passage

BREAD = ImaginedTopic(heading="How bread is made", question="How is bread made?")
CHEESE = ImaginedTopic(heading="How cheese ripens", question="How does cheese ripen?")
ASKED = HypotheticalDocumentInput(question=QUESTION, topics=(BREAD, CHEESE))


def test_without_evidence_the_question_is_the_document() -> None:
    """Each document consists of its topic and the question, and no encoder is needed."""
    assert fallback(ASKED, Evidence()).texts == (f"How bread is made. {QUESTION}", f"How cheese ripens. {QUESTION}")


def test_the_nearest_sentences_are_added() -> None:
    """Sentences on its topic are added to each document, the nearest first."""
    bread, cheese = fallback(ASKED, EVIDENCE).texts

    assert bread.startswith(f"How bread is made. {QUESTION} {MADE}")
    assert RIPENS not in bread
    assert cheese.startswith(f"How cheese ripens. {QUESTION} {RIPENS}")


def test_code_is_not_used() -> None:
    """Passages of code give no sentences."""
    code = replace(EVIDENCE, passages=(passage(MADE, kind="code"),))

    assert all(MADE not in text for text in fallback(ASKED, code).texts)


def test_the_texts_keep_to_their_limit() -> None:
    """The documents fit their schema, also for a long question."""
    texts = fallback(ASKED.model_copy(update={"question": "bread " * 3000}), Evidence()).texts

    assert len(texts) == 2 and all(len(text) <= MAX_CHARACTERS for text in texts)
