"""Tests of the hypothetical document's fallback."""

from dataclasses import replace

from tenure.roles.base import Evidence
from tenure.roles.research.hypothetical_document import HypotheticalDocumentInput, fallback
from tests.roles.cases import EVIDENCE, MADE, QUESTION, RIPENS
from tests.support.passages import passage

ASKED = HypotheticalDocumentInput(question=QUESTION, topic="How bread is made")


def test_without_evidence_the_question_is_the_document() -> None:
    """The document consists of topic and question, and no encoder is needed."""
    assert fallback(ASKED, Evidence()).text == f"How bread is made. {QUESTION}"


def test_the_nearest_sentences_are_added() -> None:
    """Sentences on the topic are added to the question, the nearest first."""
    text = fallback(ASKED, EVIDENCE).text

    assert text.startswith(f"How bread is made. {QUESTION} {MADE}")
    assert RIPENS not in text


def test_code_is_not_used() -> None:
    """Passages of code give no sentences."""
    code = replace(EVIDENCE, passages=(passage(MADE, kind="code"),))

    assert MADE not in fallback(ASKED, code).text


def test_the_text_keeps_to_its_limit() -> None:
    """The document fits its schema, also for a long question."""
    assert len(fallback(ASKED.model_copy(update={"question": "bread " * 3000}), Evidence()).text) <= 4000
