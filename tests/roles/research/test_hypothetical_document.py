"""The hypothetical document's twin."""

from dataclasses import replace

from tenure.roles.base import Evidence
from tenure.roles.research.hypothetical_document import HypotheticalDocumentInput, offline
from tests.passages import passage
from tests.roles.cases import EVIDENCE, MADE, QUESTION, RIPENS

ASKED = HypotheticalDocumentInput(question=QUESTION, topic="How bread is made")


def test_without_evidence_the_question_stands_for_the_answer() -> None:
    """Topic and question are imagined where nothing was found, and no encoder is needed."""
    assert offline(ASKED, Evidence()).text == f"How bread is made. {QUESTION}"


def test_the_nearest_sentences_stand_beside_the_question() -> None:
    """What was found on the topic sharpens the next search, the nearest first."""
    text = offline(ASKED, EVIDENCE).text

    assert text.startswith(f"How bread is made. {QUESTION} {MADE}")
    assert RIPENS not in text


def test_programs_are_not_imagined_from() -> None:
    """Passages of code give no sentences."""
    code = replace(EVIDENCE, passages=(passage(MADE, kind="code"),))

    assert MADE not in offline(ASKED, code).text


def test_the_text_keeps_to_its_limit() -> None:
    """However long the question, the imagined passage fits its schema."""
    assert len(offline(ASKED.model_copy(update={"question": "bread " * 3000}), Evidence()).text) <= 4000
